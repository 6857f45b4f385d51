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
  u64 to = in.from + std::min<u64>(in.range % (u64{in.size} + 1), UINT64_MAX - in.from);

  u64 position;
  smc_cursor cursor = {static_cast<u16>(in.wrap), in.offset};
  if (smc_cursor_to_position(cursor, in.size, in.from, to, &position)) return 0;
  Require(position >= in.from && position <= to, "the position is in its range");
  smc_cursor again = smc_cursor_from_position(position, in.size);
  Require(again.wrap == cursor.wrap && again.offset == cursor.offset, "the cursor is the same");
  return 0;
}
