// SPDX-License-Identifier: GPL-2.0
// Cursors against a model that counts with integers of 128 bits and tries every candidate.
#include "wire/cursor.h"

#include <gtest/gtest.h>

#include <optional>

#include "random.h"
#include "wire/size_class.h"

namespace wire {
namespace {

using Wide = unsigned __int128;

constexpr u32 kControlArea = 32;  // bytes by which an SMC-D ring is smaller than its element

std::vector<u32> Sizes() {
  std::vector<u32> sizes = {1, 2, 3, 7, 1000, 65535, 65536, 65537, 0x7fffffff, UINT32_MAX};
  for (u8 c = 0; c <= SMC_SIZE_CLASS_PEER_MAX; c++) {
    sizes.push_back(smc_size_class_bytes(c));
    sizes.push_back(smc_size_class_bytes(c) - kControlArea);
  }
  return sizes;
}

// The position in [from, to] with this cursor.
std::optional<u64> Model(smc_cursor cursor, u32 size, u64 from, u64 to) {
  for (Wide round = from / size; round <= to / size; round++) {
    Wide position = round * size + cursor.offset;
    if (cursor.offset < size && round % 65536 == cursor.wrap && position >= from && position <= to)
      return static_cast<u64>(position);
  }
  return std::nullopt;
}

std::optional<u64> Actual(smc_cursor cursor, u32 size, u64 from, u64 to) {
  u32 distance = 0;
  int error = smc_cursor_distance(cursor, smc_cursor_from_position(from, size), size,
                                  static_cast<u32>(to - from), &distance);
  if (!error) return from + distance;
  EXPECT_EQ(error, -EPROTO);
  return std::nullopt;
}

// Positions where something happens for the size, and arbitrary ones.
u64 InterestingPosition(Random& random, u32 size) {
  u64 jitter = random.UpTo(2) + UINT64_MAX;  // -1, 0 or 1
  switch (random.UpTo(4)) {
    case 0:
      return random.UpTo(3ull * size);
    case 1:  // at a return to zero
      return random.UpTo(1 << 20) * size + size + jitter;
    case 2:  // where the wrap count returns to zero
      return 65536ull * size * (1 + random.UpTo(3)) + jitter;
    case 3:
      return random.U64() >> random.UpTo(40);
    default:
      return 65535ull * size + random.UpTo(2ull * size);
  }
}

TEST(Cursor, BeginsAtZero) {
  smc_cursor cursor = smc_cursor_from_position(0, 16384);
  EXPECT_EQ(cursor.wrap, 0);
  EXPECT_EQ(cursor.offset, 0u);
}

TEST(Cursor, WrapsAtTheElementsEnd) {
  EXPECT_EQ(smc_cursor_from_position(16383, 16384).offset, 16383u);
  EXPECT_EQ(smc_cursor_from_position(16383, 16384).wrap, 0);
  EXPECT_EQ(smc_cursor_from_position(16384, 16384).offset, 0u);
  EXPECT_EQ(smc_cursor_from_position(16384, 16384).wrap, 1);
}

TEST(Cursor, WrapCountItselfWraps) {
  for (u32 size : Sizes()) {
    u64 end = 65536ull * size;
    EXPECT_EQ(smc_cursor_from_position(end - 1, size).wrap, 65535);
    EXPECT_EQ(smc_cursor_from_position(end, size).wrap, 0);
    EXPECT_EQ(smc_cursor_from_position(end, size).offset, 0u);
    EXPECT_EQ(Actual({0, 0}, size, end - 1, end - 1 + size), end);
  }
}

TEST(Cursor, EveryPositionSurvivesTheRoundTrip) {
  Random random(8);
  for (u32 size : Sizes())
    for (int round = 0; round < 3000; round++) {
      u64 from = InterestingPosition(random, size);
      u64 to = from + random.UpTo(std::min<u64>(size, UINT64_MAX - from));
      u64 position = from + random.UpTo(to - from);
      smc_cursor cursor = smc_cursor_from_position(position, size);
      ASSERT_EQ(cursor.offset, position % size);
      ASSERT_EQ(cursor.wrap, position / size % 65536);
      ASSERT_EQ(Actual(cursor, size, from, to), position)
          << "size " << size << " from " << from << " to " << to;
    }
}

TEST(Cursor, MovesOnAsItsPosition) {
  Random random(10);
  for (u32 size : Sizes())
    for (int round = 0; round < 3000; round++) {
      u64 from = InterestingPosition(random, size);
      u32 by = random.Coin() ? random.UpTo(size) : size - random.UpTo(std::min(size, 2u));
      if (by > UINT64_MAX - from) continue;
      smc_cursor cursor = smc_cursor_advanced(smc_cursor_from_position(from, size), size, by);
      ASSERT_EQ(cursor.offset, (from + by) % size) << "size " << size << " from " << from;
      ASSERT_EQ(cursor.wrap, (from + by) / size % 65536) << "size " << size << " from " << from;
    }
}

TEST(Cursor, OnlyTheRangeIsAccepted) {
  Random random(9);
  for (u32 size : Sizes())
    for (int round = 0; round < 3000; round++) {
      u64 from = InterestingPosition(random, size);
      u64 to = from + random.UpTo(std::min<u64>(size, UINT64_MAX - from));
      // Near the range's ends, in wrap and in offset, or anywhere.
      u64 end = random.Coin() ? from : to;
      smc_cursor cursor = smc_cursor_from_position(end + random.UpTo(4) - 2, size);
      if (random.Coin()) cursor.wrap = static_cast<u16>(cursor.wrap + random.UpTo(4) - 2);
      if (!random.UpTo(7)) cursor.offset = random.U32();
      if (!random.UpTo(7)) cursor.wrap = random.U16();
      ASSERT_EQ(Actual(cursor, size, from, to), Model(cursor, size, from, to))
          << "size " << size << " from " << from << " to " << to << " wrap " << cursor.wrap
          << " offset " << cursor.offset;
    }
}

TEST(Cursor, EveryCursorOfASmallRingIsJudgedAsByTheModel) {
  for (u32 size : {1u, 2u, 3u, 5u})
    for (u64 from : std::initializer_list<u64>{0, 1, 4, 65535ull * size, 65536ull * size - 1})
      for (u64 to = from; to <= from + size; to++)
        for (u32 wrap = 0; wrap < 65536; wrap++)
          for (u32 offset = 0; offset <= size; offset++) {
            smc_cursor cursor = {static_cast<u16>(wrap), offset};
            // Not ASSERT_EQ(), which takes longer than all the rest.
            if (Actual(cursor, size, from, to) != Model(cursor, size, from, to))
              FAIL() << "size " << size << " from " << from << " to " << to << " wrap " << wrap
                     << " offset " << offset;
          }
}

TEST(Cursor, OffsetBeyondTheElementIsRejected) {
  for (u32 size : Sizes()) {
    EXPECT_EQ(Actual({0, size}, size, 0, size), std::nullopt);
    EXPECT_EQ(Actual({0, UINT32_MAX}, size, 0, size), std::nullopt);
  }
}

TEST(Cursor, FullAndEmptyWindowsDiffer) {
  for (u32 size : Sizes()) {
    EXPECT_EQ(Actual({0, 0}, size, 0, size), 0u);
    EXPECT_EQ(Actual({1, 0}, size, 0, size), u64{size});
    EXPECT_EQ(Actual({1, 0}, size, 0, size - 1), std::nullopt);
  }
}

}  // namespace
}  // namespace wire
