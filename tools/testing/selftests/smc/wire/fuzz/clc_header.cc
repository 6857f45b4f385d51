// SPDX-License-Identifier: GPL-2.0
#include "fuzz/fuzz.h"

using namespace wire;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  if (size < SMC_CLC_HEADER_LEN) return 0;
  auto h = ParseHeader(std::span<const u8, SMC_CLC_HEADER_LEN>(data, SMC_CLC_HEADER_LEN));
  if (h.error) {
    Require(h.error == -EPROTO, "known error");
    return 0;
  }
  Require(h.value.type >= SMC_CLC_PROPOSAL && h.value.type <= SMC_CLC_DECLINE, "type");
  Require(h.value.version >= 1 && h.value.version <= 15, "version");
  Require(h.value.flags <= 15, "flags");
  Require(h.value.length >= 28 && h.value.length <= SMC_CLC_MAX_LEN, "length");
  return 0;
}
