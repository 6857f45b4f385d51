// SPDX-License-Identifier: GPL-2.0
#include "fuzz/fuzz.h"

using namespace wire;

static void Check(const smc_clc_proposal& p) {
  Require(p.version >= 1 && p.version <= 15, "version");
  Require(p.version > 1 || p.offer_v2 == SMC_OFFER_NONE, "version 1 has no version 2 offer");
  Require(p.n_prefixes6 <= SMC_CLC_MAX_PREFIXES6, "count of prefixes");
  Require(p.prefix4_len <= 32, "length of IPv4 prefix");
  for (const smc_prefix6& prefix : p.prefixes6) Require(prefix.len <= 128, "length of prefix");
  Require(p.n_eids <= SMC_CLC_MAX_EIDS, "count of EIDs");
  Require(p.n_ism <= SMC_CLC_MAX_ISM, "count of devices");
  Require(p.has_dv2 || (!p.has_seid && !p.n_ism), "no SMC-D without its extension");
  Require(!p.has_dv2 || smc_offer_has(p.offer_v2, SMC_OFFER_D),
          "no SMC-D extension without its offer");
}

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  FuzzClcParser<smc_clc_proposal>({data, size}, Check);
  return 0;
}
