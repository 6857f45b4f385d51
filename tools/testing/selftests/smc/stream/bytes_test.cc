// SPDX-License-Identifier: GPL-2.0
// The bytes of a stream: windows, what is held back and for how long, urgent bytes, and who is
// told.
#include <utility>

#include "both.h"
// After what they are to be seen by.
#include "wire/cdc.h"

namespace stream {
namespace {

constexpr uint32_t kSize = 1024;
// The longest time for which something may be held back, in milliseconds.
constexpr unsigned long kHold = 200;

class Bytes : public testing::TestWithParam<pair_kind> {
 protected:
  Bytes() : both_(SetupOf(GetParam(), kSize)), a_(both_.a), b_(both_.b) {}
  ~Bytes() override { both_.Check(); }

  bool is_wire() const { return GetParam() == PAIR_WIRE; }
  void Run() { both_.Run(); }

  // The number of bytes that the writer's ring and the reader's element take together.
  uint64_t most() const { return is_wire() ? 2 * kSize : kSize; }

  // Writes until nothing more is taken, all delivered meanwhile.
  uint64_t Fill() {
    uint64_t before = a_.written();
    for (;;) {
      ssize_t rc = a_.Send(kSize);
      Run();
      if (rc < 0) {
        EXPECT_EQ(rc, -EAGAIN);
        return a_.written() - before;
      }
    }
  }

  Both both_;
  Side& a_;
  Side& b_;
};

INSTANTIATE_TEST_SUITE_P(Path, Bytes, testing::Values(PAIR_WIRE, PAIR_LOCAL),
                         [](const auto& info) { return KindName(info.param); });

// Tests of things that local peers lack: messages in flight, and a ring beside the peer's element.
class WireBytes : public Bytes {};

INSTANTIATE_TEST_SUITE_P(Path, WireBytes, testing::Values(PAIR_WIRE),
                         [](const auto& info) { return KindName(info.param); });

TEST_P(Bytes, WhatIsWrittenIsRead) {
  EXPECT_EQ(b_.Recv(10), -EAGAIN);
  EXPECT_EQ(a_.Send(10), 10);
  Run();
  EXPECT_TRUE(end_told(b_.get()) & EPOLLIN);
  EXPECT_TRUE(end_poll(b_.get()) & EPOLLIN);
  EXPECT_EQ(end_queued(b_.get()), 10u);
  EXPECT_EQ(b_.Recv(4, MSG_PEEK), 4);
  EXPECT_EQ(b_.Recv(4), 4);
  EXPECT_EQ(b_.Splice(3), 3);
  EXPECT_EQ(b_.Recv(10), 3);
  EXPECT_EQ(b_.Recv(10), -EAGAIN);
}

TEST_P(Bytes, TheWindowIsFull) {
  EXPECT_EQ(Fill(), most());
  EXPECT_EQ(end_published_bytes(a_.get()), kSize);
  EXPECT_EQ(end_queued(b_.get()), kSize);
  EXPECT_FALSE(end_poll(a_.get()) & EPOLLOUT);
}

// The element is full, and what is written ahead of it stays with the sender.
TEST_P(Bytes, WrittenAheadOfTheWindow) {
  Fill();
  EXPECT_EQ(end_unsent(a_.get()), most() - kSize);
  EXPECT_EQ(end_undelivered(a_.get()), most() - kSize);
  while (b_.read() < a_.written()) {
    ASSERT_GT(b_.Recv(kSize), 0);
    Run();
  }
  EXPECT_EQ(end_unsent(a_.get()), 0u);
  EXPECT_EQ(end_undelivered(a_.get()), 0u);
}

TEST_P(Bytes, AWriterIsToldOfRoom) {
  Fill();
  end_told(a_.get());
  EXPECT_EQ(b_.Recv(kSize), static_cast<ssize_t>(kSize));
  Run();
  EXPECT_TRUE(end_told(a_.get()) & EPOLLOUT);
  EXPECT_GT(a_.Send(1), 0);
}

TEST_P(Bytes, AWriterIsToldOfALittleRoomAfterAWhile) {
  Fill();
  end_told(a_.get());
  EXPECT_EQ(b_.Recv(1), 1);
  Run();
  EXPECT_FALSE(end_told(a_.get()) & EPOLLOUT);
  for (int i = 0; i < 2; i++) {
    kernel_advance(kHold);
    Run();
  }
  // On the wire, what was written ahead takes the window, and the ring has no room for more.
  EXPECT_EQ(!!(end_told(a_.get()) & EPOLLOUT), !is_wire());
  EXPECT_EQ(end_unsent(a_.get()), is_wire() ? kSize - 1 : 0);
}

TEST_P(Bytes, WindowIsGivenBackByAQuarter) {
  unsigned int before = end_published(b_.get());
  for (int i = 0; i < 4; i++) {
    EXPECT_EQ(a_.Send(80), 80);
    Run();
    EXPECT_EQ(b_.Recv(80), 80);
    Run();
    // 320 bytes are more than a quarter.
    EXPECT_EQ(end_published(b_.get()) - before, i < 3 ? 0u : 1u);
  }
}

TEST_P(Bytes, LittleWindowIsGivenBackAfterAWhile) {
  EXPECT_EQ(a_.Send(kSize), static_cast<ssize_t>(kSize));
  Run();
  EXPECT_TRUE(end_last_prod_flags(a_.get()) & SMC_PROD_WRITE_BLOCKED);
  EXPECT_EQ(b_.Recv(1), 1);
  Run();
  EXPECT_EQ(end_published(b_.get()), 0u);
  kernel_advance(kHold);
  Run();
  EXPECT_EQ(end_published(b_.get()), 1u);
}

TEST_P(Bytes, WindowIsGivenBackOnceAllIsRead) {
  pair_setup setup = SetupOf(GetParam(), kSize);
  Both both(setup);
  EXPECT_EQ(both.a.Send(kSize), static_cast<ssize_t>(kSize));
  both.Run();
  EXPECT_EQ(both.b.Recv(kSize), static_cast<ssize_t>(kSize));
  EXPECT_EQ(end_published(both.b.get()), 1u);
  both.Run();
  // There is room for all again, and the next publish does not ask for any.
  EXPECT_EQ(both.a.Send(1), 1);
  EXPECT_FALSE(end_last_prod_flags(both.a.get()) & SMC_PROD_WRITE_BLOCKED);
}

TEST_P(Bytes, WrapCountsWrap) {
  // The wire's count of wraps has sixteen bits.
  constexpr uint32_t kTiny = 8;
  Both both(SetupOf(GetParam(), kTiny));
  for (int i = 0; i < 66000; i++) {
    ASSERT_EQ(both.a.Send(kTiny), static_cast<ssize_t>(kTiny));
    pair_run(both.get());
    ASSERT_EQ(both.b.Recv(kTiny), static_cast<ssize_t>(kTiny));
    pair_run(both.get());
  }
  both.Check();
}

TEST_P(Bytes, MessageMoreIsHeldBackForAWhile) {
  EXPECT_EQ(a_.Send(10, MSG_MORE), 10);
  Run();
  EXPECT_EQ(end_published(a_.get()), 0u);
  EXPECT_EQ(end_unsent(a_.get()), 10u);
  kernel_advance(kHold);
  Run();
  EXPECT_EQ(end_published(a_.get()), 1u);
  EXPECT_EQ(b_.Recv(10), 10);
}

TEST_P(Bytes, ACorkHoldsUntilItIsTaken) {
  end_set_cork(a_.get(), true);
  EXPECT_EQ(a_.Send(10), 10);
  EXPECT_EQ(a_.Send(10), 10);
  EXPECT_EQ(end_published(a_.get()), 0u);
  end_set_cork(a_.get(), false);
  EXPECT_EQ(end_published(a_.get()), 1u);
  Run();
  EXPECT_EQ(b_.Recv(20), 20);
}

TEST_P(Bytes, ACorkHoldsNoMoreThanHalfARing) {
  end_set_cork(a_.get(), true);
  EXPECT_EQ(a_.Send(kSize / 2), static_cast<ssize_t>(kSize / 2));
  EXPECT_EQ(end_published(a_.get()), 1u);
}

TEST_P(Bytes, AnEndTakesTheCork) {
  EXPECT_EQ(a_.Send(10, MSG_MORE), 10);
  end_shutdown(a_.get(), kSendShutdown);
  Run();
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
}

TEST_P(WireBytes, SmallWritesWaitForThoseInFlight) {
  for (int i = 0; i < 3; i++) EXPECT_EQ(a_.Send(10), 10);
  EXPECT_EQ(end_published(a_.get()), 1u);
  Run();
  EXPECT_EQ(end_published(a_.get()), 2u);
  EXPECT_EQ(b_.Recv(30), 30);
}

TEST_P(WireBytes, WithNodelayFourAreInFlight) {
  end_set_nodelay(a_.get());
  for (int i = 0; i < 6; i++) EXPECT_EQ(a_.Send(10), 10);
  EXPECT_EQ(end_published(a_.get()), 4u);
}

TEST_P(WireBytes, ThePathHasNoSlot) {
  unsigned int n = 0;
  for (; n < PAIR_SLOTS + 2; n++) EXPECT_EQ(a_.Send(100), 100);
  EXPECT_EQ(end_published(a_.get()), static_cast<unsigned int>(PAIR_SLOTS));
  Run();
  EXPECT_EQ(b_.Recv(kSize), 1000);
}

TEST_P(WireBytes, TheRingIsNotReusedBeforeCompletion) {
  EXPECT_EQ(a_.Send(kSize), static_cast<ssize_t>(kSize));
  EXPECT_EQ(a_.Send(1), -EAGAIN);
  EXPECT_TRUE(pair_land(a_.get()));
  EXPECT_EQ(a_.Send(1), -EAGAIN);
  end_told(a_.get());
  EXPECT_TRUE(pair_complete(a_.get()));
  EXPECT_TRUE(end_told(a_.get()) & EPOLLOUT);
  EXPECT_EQ(a_.Send(1), 1);
}

TEST_P(WireBytes, NotSentLowatHoldsWriters) {
  end_set_notsent_lowat(a_.get(), 100);
  EXPECT_EQ(a_.Send(kSize), static_cast<ssize_t>(kSize));
  Run();
  EXPECT_EQ(a_.Send(100), 100);
  EXPECT_EQ(a_.Send(100), -EAGAIN);
  Run();
  EXPECT_EQ(b_.Recv(kSize), static_cast<ssize_t>(kSize));
  end_told(a_.get());
  Run();
  EXPECT_TRUE(end_told(a_.get()) & EPOLLOUT);
}

TEST_P(Bytes, AReaderIsToldOfEnough) {
  end_set_rcvlowat(b_.get(), 20);
  EXPECT_EQ(a_.Send(19), 19);
  Run();
  EXPECT_FALSE(end_told(b_.get()) & EPOLLIN);
  EXPECT_FALSE(end_poll(b_.get()) & EPOLLIN);
  EXPECT_EQ(a_.Send(1), 1);
  Run();
  EXPECT_TRUE(end_told(b_.get()) & EPOLLIN);
  EXPECT_TRUE(end_poll(b_.get()) & EPOLLIN);
}

TEST_P(Bytes, AReaderIsToldOfFewWhenThePeerLacksWindow) {
  end_set_rcvlowat(b_.get(), 20);
  EXPECT_EQ(a_.Send(10), 10);
  Run();
  EXPECT_FALSE(end_told(b_.get()) & EPOLLIN);
  end_forge(b_.get(), 0, SMC_PROD_WRITE_BLOCKED, 0);
  EXPECT_TRUE(end_told(b_.get()) & EPOLLIN);
  EXPECT_TRUE(end_poll(b_.get()) & EPOLLIN);
}

// However often the peer says that it lacks window.
TEST_P(Bytes, AMessageWithoutBytesTellsNobody) {
  for (ssize_t bytes : {0, 10}) {
    if (bytes) EXPECT_EQ(a_.Send(bytes), bytes);
    Run();
    EXPECT_EQ(!(end_told(b_.get()) & EPOLLIN), !bytes);
    for (int flags : {+SMC_PROD_WRITE_BLOCKED, 0, +SMC_PROD_UPDATE_REQUESTED, 0}) {
      end_forge(b_.get(), 0, static_cast<uint8_t>(flags), 0);
      EXPECT_FALSE(end_told(b_.get()) & EPOLLIN);
    }
  }
}

TEST_P(Bytes, AnUrgentByteIsAheadOfOthers) {
  EXPECT_EQ(a_.Send(3, MSG_OOB), 3);
  Run();
  EXPECT_TRUE(end_told(b_.get()) & EPOLLPRI);
  EXPECT_TRUE(end_poll(b_.get()) & EPOLLPRI);
  EXPECT_EQ(end_urgent_signals(b_.get()), 1u);
  uint8_t byte;
  EXPECT_EQ(end_recv(b_.get(), &byte, 1, MSG_OOB), 1);
  EXPECT_EQ(end_recv(b_.get(), &byte, 1, MSG_OOB), -EINVAL);
  EXPECT_FALSE(end_at_mark(b_.get()));
  EXPECT_EQ(b_.Recv(10), 2);
  EXPECT_TRUE(end_at_mark(b_.get()));
  EXPECT_EQ(byte, b_.NextByte());
  EXPECT_EQ(b_.Recv(10), -EAGAIN);
  b_.Skip(1);
  EXPECT_EQ(a_.Send(4), 4);
  Run();
  EXPECT_EQ(b_.Recv(10), 4);
}

TEST_P(Bytes, AnUrgentByteInLine) {
  end_set_oobinline(b_.get());
  EXPECT_EQ(a_.Send(3, MSG_OOB), 3);
  EXPECT_EQ(a_.Send(2), 2);
  Run();
  EXPECT_EQ(b_.Recv(10), 2);
  EXPECT_TRUE(end_at_mark(b_.get()));
  EXPECT_EQ(b_.Recv(10), 3);
  EXPECT_EQ(b_.Recv(10, MSG_OOB), -EINVAL);
}

TEST_P(Bytes, ALaterUrgentByteTakesTheOthersPlace) {
  EXPECT_EQ(a_.Send(1, MSG_OOB), 1);
  Run();
  EXPECT_TRUE(end_at_mark(b_.get()));
  EXPECT_EQ(a_.Send(2, MSG_OOB), 2);
  Run();
  EXPECT_FALSE(end_at_mark(b_.get()));
  b_.Skip(1);
  EXPECT_EQ(b_.Recv(10), 1);
  EXPECT_TRUE(end_at_mark(b_.get()));
}

TEST_P(Bytes, SpliceStopsAtAnUrgentByte) {
  EXPECT_EQ(a_.Send(3, MSG_OOB), 3);
  Run();
  EXPECT_EQ(b_.Splice(10), 2);
  EXPECT_EQ(b_.Splice(10), -EAGAIN);
}

// A peer without window is told that the byte comes, as by TCP.
TEST_P(WireBytes, AnUrgentByteIsAnnounced) {
  EXPECT_EQ(a_.Send(kSize), static_cast<ssize_t>(kSize));
  Run();
  EXPECT_EQ(a_.Send(1, MSG_OOB), 1);
  Run();
  EXPECT_TRUE(end_last_prod_flags(a_.get()) & SMC_PROD_URGENT_PENDING);
  EXPECT_FALSE(end_last_prod_flags(a_.get()) & SMC_PROD_URGENT_PRESENT);
  EXPECT_EQ(b_.Recv(kSize), static_cast<ssize_t>(kSize));
  Run();
  EXPECT_TRUE(end_last_prod_flags(a_.get()) & SMC_PROD_URGENT_PRESENT);
  EXPECT_TRUE(end_at_mark(b_.get()));
}

TEST_P(Bytes, APeerThatTakesNothingTimesOut) {
  end_set_user_timeout(a_.get(), 1000);
  Fill();
  kernel_advance(1000);
  EXPECT_FALSE(end_has_failed(a_.get()));
  kernel_advance(1000);
  EXPECT_EQ(end_error(a_.get()), ETIMEDOUT);
  Run();
  EXPECT_EQ(end_error(b_.get()), ECONNRESET);
}

TEST_P(Bytes, ACursorBeyondTheWindowEndsTheStream) {
  EXPECT_EQ(a_.Send(10), 10);
  Run();
  // Local peers are one kernel, but the check is the same.
  end_forge(b_.get(), kSize - 5, 0, 0);
  EXPECT_EQ(both_.violations(), 1u);
  EXPECT_EQ(end_error(b_.get()), ECONNRESET);
  Run();
  EXPECT_EQ(end_error(a_.get()), ECONNRESET);
  // The bytes that came before are there.
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), -ECONNRESET);
}

TEST_P(WireBytes, AReaderThatSleepsIsWoken) {
  EXPECT_EQ(a_.Send(10), 10);
  struct {
    Both* both;
    bool ran;
  } once = {&both_, false};

  /* A reader that this does not wake is never woken. */
  pair_meanwhile(
      [](void* arg) {
        auto* meanwhile = static_cast<decltype(once)*>(arg);
        meanwhile->both->Run();
        return !std::exchange(meanwhile->ran, true);
      },
      &once);
  EXPECT_EQ(b_.Recv(10, 0, true), 10);
  pair_meanwhile(nullptr, nullptr);
}

TEST_P(Bytes, AWriterThatSleepsIsWoken) {
  pair_meanwhile(
      [](void* arg) {
        Both* both = static_cast<Both*>(arg);
        both->Run();
        return both->b.Recv(kSize) > 0 || kernel_advance_to_timer(kHold);
      },
      &both_);
  EXPECT_EQ(a_.Send(10 * kSize, 0, true), static_cast<ssize_t>(10 * kSize));
  pair_meanwhile(nullptr, nullptr);
  Run();
  while (b_.read() < a_.written()) {
    ASSERT_GT(b_.Recv(kSize), 0);
    Run();
  }
}

}  // namespace
}  // namespace stream
