// SPDX-License-Identifier: GPL-2.0
#include "fuzz/fuzz.h"

using namespace wire;

static void Check(const smc_clc_agreement& a) {
  Require(a.type == SMC_CLC_ACCEPT || a.type == SMC_CLC_CONFIRM, "type");
  Require(a.version == SMC_VERSION_1 || a.version == SMC_VERSION_2, "version");
  Require(a.n_gids <= SMC_CLC_MAX_GIDS, "count of GIDs");
  if (a.is_d) {
    Require(a.d.dmbe_size_code <= 15, "size class");
    return;
  }
  Require(a.r.qpn <= 0xffffff && a.r.psn <= 0xffffff, "24-bit fields");
  Require(a.r.rmbe_size_code <= 15 && a.r.qp_mtu <= 15, "size class and MTU");
}

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  FuzzClcParser<smc_clc_agreement>({data, size}, Check);
  return 0;
}
