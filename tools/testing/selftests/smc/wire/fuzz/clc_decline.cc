// SPDX-License-Identifier: GPL-2.0
#include "fuzz/fuzz.h"

using namespace wire;

static void Check(const smc_clc_decline& d) {
  Require(d.version >= 1 && d.version <= 15, "version");
  Require(d.os_type <= 15, "OS type");
}

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  FuzzClcParser<smc_clc_decline>({data, size}, Check);
  return 0;
}
