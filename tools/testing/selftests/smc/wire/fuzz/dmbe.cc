// SPDX-License-Identifier: GPL-2.0
// A peer that writes anything into the control area: what becomes a position is within bounds.
#include <algorithm>
#include <cstring>

#include "fuzz/dmbe_input.h"
#include "fuzz/fuzz.h"

using namespace wire;

// Checks the step from @position to @cursor that the stream takes: it has @most bytes at most.
static void Check(smc_cursor cursor, u64 position, u32 ring, u32 most) {
  u32 step;
  if (smc_cursor_distance(cursor, smc_cursor_from_position(position, ring), ring, most, &step))
    return;
  Require(step <= most, "it is no longer than it may be");
  Require((position + step) % ring == cursor.offset, "the offset is the same");
}

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  DmbeInput in = {};
  std::memcpy(&in, data, std::min(size, sizeof(in)));
  const u32 ring =
      smc_size_class_bytes(in.size_class % (SMC_SIZE_CLASS_D_MAX + 1)) - SMC_DMBE_CONTROL_LEN;
  smc_cdc cdc = {};
  smc_dmbe_unpack(in.control.producer, in.control.consumer, &cdc);
  Require(smc_dmbe_pack(cdc.cons, cdc.prod_flags, cdc.conn_flags) == in.control.consumer,
          "the consumer word is the same");

  Check(cdc.prod, in.consumed / 2 + in.unread % (ring + 1), ring, ring - in.unread % (ring + 1));
  Check(cdc.cons, in.acked / 2, ring, in.outstanding % (ring + 1));
  return 0;
}
