// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <cstring>

#include "fuzz/cursor_input.h"
#include "fuzz/fuzz.h"

using namespace wire;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  CursorInput in = {};
  std::memcpy(&in, data, std::min(size, sizeof(in)));
  if (!in.size) return 0;
  u64 most = std::min<u64>(in.range % (u64{in.size} + 1), UINT64_MAX - in.from);

  u32 distance;
  smc_cursor last = smc_cursor_from_position(in.from, in.size);
  smc_cursor cursor = {static_cast<u16>(in.wrap), in.offset};
  if (smc_cursor_distance(cursor, last, in.size, static_cast<u32>(most), &distance)) return 0;
  Require(distance <= most, "it moved no farther than it may");
  smc_cursor again = smc_cursor_from_position(in.from + distance, in.size);
  Require(again.wrap == cursor.wrap && again.offset == cursor.offset, "the cursor is the same");
  again = smc_cursor_advanced(last, in.size, distance);
  Require(again.wrap == cursor.wrap && again.offset == cursor.offset, "and by moving there");
  return 0;
}
