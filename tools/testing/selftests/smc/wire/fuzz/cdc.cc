// SPDX-License-Identifier: GPL-2.0
#include "fuzz/fuzz.h"

using namespace wire;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  FuzzParser<smc_cdc>({data, size}, [](const smc_cdc&) {});
  return 0;
}
