// SPDX-License-Identifier: GPL-2.0
// A peer that writes anything into the control area: what becomes a position is within bounds.
#include <algorithm>
#include <cstring>

#include "fuzz/dmbe_input.h"
#include "fuzz/fuzz.h"

using namespace wire;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  DmbeInput in = {};
  std::memcpy(&in, data, std::min(size, sizeof(in)));
  const u32 ring =
      smc_size_class_bytes(in.size_class % (SMC_SIZE_CLASS_D_MAX + 1)) - SMC_DMBE_CONTROL_LEN;
  const u64 consumed = in.consumed >> 1;

  smc_cdc cdc = {};
  smc_dmbe_unpack(in.control.producer, in.control.consumer, &cdc);
  Require(smc_dmbe_pack(cdc.cons, cdc.prod_flags, cdc.conn_flags) == in.control.consumer,
          "the consumer word is the same");

  u32 arrived;
  smc_cursor last = smc_cursor_from_position(consumed, ring);
  if (smc_cursor_distance(cdc.prod, last, ring, ring, &arrived)) return 0;
  Require(arrived <= ring, "no more than the ring holds");
  Require((consumed + arrived) % ring == cdc.prod.offset, "the offset is the same");
  return 0;
}
