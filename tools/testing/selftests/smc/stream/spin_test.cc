// SPDX-License-Identifier: GPL-2.0
// The time for which a reader watches for its peer's bytes.
#include "stream/spin.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stream {
namespace {

constexpr u64 kMost = 400'000;

class Spin : public testing::Test {
 protected:
  // A wait of @took begins and ends. Returns for how long it is watched.
  u64 Wait(u64 took, u64 most = kMost) {
    u64 budget = smc_spin_budget(&spin_, most);

    spin_.last = took;
    return budget;
  }
  // Returns the time for which a reader would watch next.
  u64 Budget(u64 most = kMost) const {
    smc_spin copy = spin_;

    return smc_spin_budget(&copy, most);
  }
  // The waits that a watching reader sleeps in, of some that take so long.
  int Sleeps(u64 took, int waits) {
    int slept = 0;

    for (int i = 0; i < waits; i++) slept += Wait(took) < took;
    return slept;
  }
  smc_spin spin_ = {};
};

TEST_F(Spin, KnowsNothingAtFirst) { EXPECT_EQ(Budget(), 0U); }

TEST_F(Spin, IsForTwiceAsLongAsTheLastWait) {
  Wait(10'000);
  EXPECT_EQ(Budget(), 20'000U);
  Wait(30'000);
  EXPECT_EQ(Budget(), 60'000U);
}

TEST_F(Spin, IsLimited) {
  Wait(kMost / 2 + 1);
  EXPECT_EQ(Budget(), kMost);
  Wait(kMost);
  EXPECT_EQ(Budget(), kMost);
  EXPECT_EQ(Budget(100), 0U);
  EXPECT_EQ(Budget(0), 0U);
}

TEST_F(Spin, OneEarlyAnswerCostsNoSleep) {
  Wait(20'000);
  Wait(0);
  EXPECT_EQ(Sleeps(20'000, 1), 0);
}

TEST_F(Spin, ForgetsALongWait) {
  Wait(kMost);
  for (int i = 0; i < 200; i++) Wait(100);
  EXPECT_LE(Budget(), 1'000U);
}

TEST_F(Spin, DoesNotWatchAfterAWaitThatWasTooLong) {
  Wait(20'000);
  Wait(kMost + 1);
  EXPECT_EQ(Budget(), 0U);
}

// Like a server between two bursts of requests: the first sleeps, and no other.
TEST_F(Spin, APauseCostsOneSleep) {
  Wait(40'000);
  Wait(1'000'000'000);
  EXPECT_EQ(Sleeps(100, 1), 1);
  EXPECT_EQ(Sleeps(40'000, 10), 0);
}

TEST_F(Spin, AnotherStreamBeginsWithWhatItLearnt) {
  smc_spin next = {};

  Wait(40'000);
  Wait(1'000);
  next.last = smc_spin_learnt(&spin_, kMost);
  EXPECT_EQ(next.last, 40'000U - 40'000 / 16);
  EXPECT_EQ(smc_spin_budget(&next, kMost), 2 * next.last);

  Wait(kMost + 1);
  next = {};
  next.last = smc_spin_learnt(&spin_, kMost);
  EXPECT_EQ(smc_spin_budget(&next, kMost), 0U);
  // The first wait of its own counts, not one that nobody could watch for.
  next.last = 5'000;
  EXPECT_EQ(smc_spin_budget(&next, kMost), 10'000U);
}

// One long answer does not have a client that pauses between its requests watch for long.
TEST_F(Spin, PausesForgetALongWait) {
  Wait(kMost / 2);
  for (int i = 0; i < 100; i++) {
    Wait(1'000);
    Wait(1'000'000'000);
  }
  Wait(1'000);
  EXPECT_LE(Budget(), 10'000U);
}

// The part of the time in which a reader watches, for the length of waits and of pauses between.
class SpinShare : public Spin {
 protected:
  double Share(u64 took, u64 pause) {
    constexpr int waits = 10'000;
    u64 watched = 0, now = 1'000'000'000;

    for (int i = 0; i < waits; i++, now += took + pause) {
      u64 budget = smc_spin_afford(&spin_, Wait(took), kMost, now);

      smc_spin_pay(&spin_, std::min(budget, took));
      watched += std::min(budget, took);
    }
    return double(watched) / double(waits * (took + pause));
  }
};

TEST_F(SpinShare, ShortWaitsAreFree) {
  EXPECT_GT(Share(3'000, 100), 0.9);
  EXPECT_GT(Share(SMC_SPIN_SHORT, 100), 0.9);
}

TEST_F(SpinShare, LongWaitsHaveAPart) {
  for (u64 took : {SMC_SPIN_SHORT + 1, 200'000, 350'000})
    EXPECT_NEAR(Share(took, 1'000), 1.0 / SMC_SPIN_PARTS, 0.05) << took;
}

TEST_F(SpinShare, LongWaitsThatAreRareAreFree) {
  EXPECT_NEAR(Share(200'000, 1'800'000), 0.1, 0.01);
}

// A program that connects for every request waits for one answer on each.
TEST_F(SpinShare, ANewStreamHasCredit) {
  EXPECT_EQ(smc_spin_afford(&spin_, kMost, kMost, 1'000'000'000), kMost);
  smc_spin_pay(&spin_, 300'000);
  EXPECT_EQ(smc_spin_afford(&spin_, kMost, kMost, 1'000'300'000), 0U);
}

}  // namespace
}  // namespace stream
