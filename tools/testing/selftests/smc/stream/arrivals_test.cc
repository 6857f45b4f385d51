// SPDX-License-Identifier: GPL-2.0
// The times when bytes arrived. They are exact while there is room for them, and never too early.
#include <gtest/gtest.h>

#include <vector>

#include "random.h"
#include "stream/rx_timestamp.h"

namespace stream {
namespace {

using wire::Random;

// The true time of each byte, beside the times that are noted.
class Arrivals {
 public:
  void Arrive(u32 bytes, u64 time) {
    smc_rx_timestamps_note(&noted, times_.size(), time, consumed);
    times_.insert(times_.end(), bytes, time);
  }
  u64 Received() const { return times_.size(); }
  u64 Time(u64 pos) const { return times_[pos]; }
  u64 Find(u64 pos) const { return smc_rx_timestamps_find(&noted, pos); }
  void ExpectExact() const {
    for (u64 pos = consumed; pos < Received(); pos++) ASSERT_EQ(Find(pos), Time(pos)) << pos;
  }

  smc_rx_timestamps noted = {};
  u64 consumed = 0;

 private:
  std::vector<u64> times_;
};

TEST(Arrivals, NoneNoTime) { EXPECT_EQ(Arrivals().Find(0), 0u); }

TEST(Arrivals, EachByteHasItsOwn) {
  Arrivals all;

  for (u32 i = 0; i < SMC_ARRIVALS_MAX; i++) all.Arrive(i + 1, 1000 + i);
  all.ExpectExact();
}

TEST(Arrivals, WhatCameBeforeAnybodyAskedHasNone) {
  Arrivals all;

  smc_rx_timestamps_note(&all.noted, 100, 1000, 0);
  EXPECT_EQ(all.Find(99), 0u);
  EXPECT_EQ(all.Find(100), 1000u);
}

TEST(Arrivals, WhatCameWhileNobodyAskedHasNone) {
  Arrivals all;

  all.Arrive(10, 1000);
  all.Arrive(10, 0);
  all.Arrive(10, 2000);
  all.ExpectExact();
}

TEST(Arrivals, TheLastPlaceTakesWhatIsTooMuch) {
  Arrivals all;

  for (u32 i = 0; i < SMC_ARRIVALS_MAX + 5; i++) all.Arrive(1, 1000 + i);
  for (u32 i = 0; i < SMC_ARRIVALS_MAX - 1; i++) EXPECT_EQ(all.Find(i), 1000 + i);
  for (u32 i = SMC_ARRIVALS_MAX - 1; i < all.Received(); i++)
    EXPECT_EQ(all.Find(i), 1000u + SMC_ARRIVALS_MAX + 4);
}

TEST(Arrivals, WhatIsReadMakesRoom) {
  Arrivals all;

  for (u32 i = 0; i < 100; i++) {
    all.Arrive(3, 1000 + i);
    // In the middle of an arrival, so that this one is needed still.
    if (i % 8 == 7) all.consumed = all.Received() - 4;
    all.ExpectExact();
  }
}

TEST(Arrivals, NoByteBeforeItCame) {
  Random random(1);
  Arrivals all;
  u64 last;

  for (u64 time = 1; time < 10000; time++) {
    all.Arrive(1 + static_cast<u32>(random.UpTo(4)), time);
    if (!random.UpTo(9)) all.consumed += random.UpTo(all.Received() - all.consumed);
    last = 0;
    for (u64 pos = all.consumed; pos < all.Received(); pos++) {
      ASSERT_GE(all.Find(pos), all.Time(pos));
      ASSERT_GE(all.Find(pos), last);
      ASSERT_LE(all.Find(pos), time);
      last = all.Find(pos);
    }
    if (last) ASSERT_EQ(last, time);
  }
}

}  // namespace
}  // namespace stream
