// SPDX-License-Identifier: GPL-2.0
// A path that moves to another link. It forgets the publishes in flight, and some of them have
// arrived, or are known to have arrived: bytes, flags and cursors reach the peer once nevertheless.
#include <utility>

#include "both.h"
// After what they are to be seen by.
#include "wire/cdc.h"

namespace stream {
namespace {

constexpr uint32_t kSize = 1024;
constexpr uint8_t kDone = SMC_CONN_DONE_WRITING;
constexpr uint8_t kClosed = SMC_CONN_CLOSED;
constexpr uint8_t kAbort = SMC_CONN_ABORT;

// The last station of a message when its link is lost.
enum Got {
  kPosted,
  kLanded,
  kDelivered,
};

const char* const kGotNames[] = {"Posted", "Landed", "Delivered"};

class Restart : public testing::Test {
 protected:
  explicit Restart(bool is_unsignaled = false)
      : both_({PAIR_WIRE, {kSize, kSize}, {kSize, kSize}, is_unsignaled}),
        a_(both_.a),
        b_(both_.b) {}
  ~Restart() override { both_.Check(); }

  void Run() { both_.Run(); }
  void Move(Side& side) {
    end_move(side.get());
    both_.Check();
  }
  // All messages that @from has under way get so far. None of them completes.
  void Get(Side& from, Got got) {
    if (got >= kLanded)
      while (pair_land(from.get()))
        ;
    if (got >= kDelivered)
      while (pair_deliver(from.get()))
        ;
    both_.Check();
  }
  // One message of @from, of which all is done.
  void Arrive(Side& from) {
    ASSERT_TRUE(pair_land(from.get()));
    ASSERT_TRUE(pair_deliver(from.get()));
    ASSERT_TRUE(pair_complete(from.get()));
  }
  // Ends that do as both applications have said, with nothing more to do.
  void ExpectOver() {
    for (Side* side : {&a_, &b_}) {
      EXPECT_TRUE(end_is_over(side->get()));
      if (end_tcp_is_released(side->get())) EXPECT_TRUE(end_is_freed(side->get()));
    }
  }
  // The stream works in both directions.
  void ExpectGoesOn() {
    for (int i = 0; i < 2; i++) {
      Side& from = i ? b_ : a_;
      Side& to = i ? a_ : b_;

      while (to.Recv(kSize) > 0) Run();
      EXPECT_EQ(to.read(), from.written());
      EXPECT_EQ(from.Send(10), 10);
      Run();
      EXPECT_EQ(to.Recv(20), 10);
      EXPECT_EQ(to.Recv(20), -EAGAIN);
      EXPECT_EQ(end_undelivered(from.get()), 0u);
    }
    EXPECT_EQ(both_.violations(), 0u);
  }

  Both both_;
  Side& a_;
  Side& b_;
};

class RestartAt : public Restart, public testing::WithParamInterface<Got> {};

INSTANTIATE_TEST_SUITE_P(, RestartAt, testing::Values(kPosted, kLanded, kDelivered),
                         [](const auto& info) { return kGotNames[info.param]; });

// Bytes and cursors.

TEST_P(RestartAt, BytesUnderWayArriveOnce) {
  a_.Send(10);
  Get(a_, GetParam());
  Move(a_);
  // The path writes the bytes again. The stream says only how far it has got.
  EXPECT_EQ(end_published(a_.get()), 2u);
  EXPECT_EQ(end_published_bytes(a_.get()), 10u);
  EXPECT_EQ(end_undelivered(a_.get()), 10u);
  Run();
  EXPECT_EQ(end_undelivered(a_.get()), 0u);
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), -EAGAIN);
  ExpectGoesOn();
}

TEST_P(RestartAt, BytesThatWaitedForACompletionGoAtOnce) {
  a_.Send(10);
  a_.Send(5);
  EXPECT_EQ(end_unsent(a_.get()), 5u);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_EQ(end_unsent(a_.get()), 0u);
  Run();
  EXPECT_EQ(b_.Recv(20), 15);
  ExpectGoesOn();
}

TEST_P(RestartAt, NoneOfThePublishesIsWaitedFor) {
  end_set_nodelay(a_.get());
  for (int i = 0; i < 3; i++) a_.Send(10);
  EXPECT_EQ(end_published(a_.get()), 3u);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_EQ(end_published(a_.get()), 4u);
  Get(a_, kDelivered);
  // One stands for all.
  EXPECT_TRUE(pair_complete(a_.get()));
  while (pair_complete(a_.get()))
    ;
  EXPECT_EQ(end_undelivered(a_.get()), 0u);
  EXPECT_EQ(b_.Recv(40), 30);
  // Nothing is in flight, so little goes at once, too.
  a_.Send(1);
  EXPECT_EQ(end_unsent(a_.get()), 0u);
  Run();
  ExpectGoesOn();
}

TEST_P(RestartAt, WindowIsReturnedAgain) {
  while (a_.Send(kSize) > 0) Run();
  EXPECT_EQ(end_unsent(a_.get()), kSize);
  EXPECT_EQ(b_.Recv(kSize), kSize);
  EXPECT_EQ(end_published(b_.get()), 1u);
  Get(b_, GetParam());
  Move(b_);
  EXPECT_EQ(end_published(b_.get()), 2u);
  Run();
  EXPECT_EQ(end_unsent(a_.get()), 0u);
  ExpectGoesOn();
}

// All that the peer has not consumed is under way, in a ring that has no room. Only a completion,
// or the peer's reading, can make any.
TEST_P(RestartAt, AWriterIsToldOfRoom) {
  EXPECT_EQ(a_.Send(kSize), kSize);
  EXPECT_EQ(a_.Send(1), -EAGAIN);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_FALSE(end_told(a_.get()) & EPOLLOUT);
  Run();
  EXPECT_TRUE(end_told(a_.get()) & EPOLLOUT);
  EXPECT_EQ(a_.Send(10), 10);
  Run();
  ExpectGoesOn();
}

// Newer bytes may be where the consumed ones were.
TEST_P(RestartAt, BytesThatWereConsumedAreNotWrittenAgain) {
  a_.Send(600);
  Get(a_, kDelivered);
  EXPECT_EQ(b_.Recv(600), 600);
  Run();
  a_.Send(900);
  Get(a_, GetParam());
  Move(a_);
  Run();
  ExpectGoesOn();
}

class UnsignaledRestart : public Restart {
 protected:
  UnsignaledRestart() : Restart(true) {}
};

// The stream takes them for delivered, but for their place in the ring.
TEST_F(UnsignaledRestart, BytesWithoutACompletionAreNotLost) {
  a_.Send(kSize);
  EXPECT_EQ(end_undelivered(a_.get()), 0u);
  EXPECT_EQ(a_.Send(1), -EAGAIN);
  Move(a_);
  Run();
  EXPECT_TRUE(end_told(a_.get()) & EPOLLOUT);
  EXPECT_EQ(a_.Send(kSize), kSize);
  Run();
  ExpectGoesOn();
}

TEST_F(Restart, WithNothingInFlightSaysNothingNew) {
  a_.Send(10);
  b_.Send(20);
  Run();
  b_.Recv(20);
  end_told(a_.get());
  end_told(b_.get());
  Move(a_);
  EXPECT_EQ(end_published(a_.get()), 2u);
  EXPECT_EQ(end_published_bytes(a_.get()), 10u);
  EXPECT_EQ(end_last_conn_flags(a_.get()), 0);
  Run();
  // Nor does it cause anything.
  EXPECT_EQ(end_told(a_.get()), 0u);
  EXPECT_EQ(end_told(b_.get()), 0u);
  EXPECT_EQ(end_published(a_.get()), 2u);
  EXPECT_EQ(end_published(b_.get()), 1u);
  ExpectGoesOn();
}

TEST_F(Restart, BeforeAnythingWasSaid) {
  Move(a_);
  Move(b_);
  Run();
  EXPECT_EQ(end_told(b_.get()), 0u);
  ExpectGoesOn();
}

TEST_P(RestartAt, TwiceInARow) {
  a_.Send(10);
  Get(a_, GetParam());
  Move(a_);
  Move(a_);
  EXPECT_EQ(end_published(a_.get()), 3u);
  Run();
  EXPECT_EQ(b_.Recv(20), 10);
  ExpectGoesOn();
}

TEST_P(RestartAt, OnceMoreWhenTheFirstHasGotSoFar) {
  a_.Send(10);
  Move(a_);
  Get(a_, GetParam());
  Move(a_);
  Run();
  EXPECT_EQ(b_.Recv(20), 10);
  ExpectGoesOn();
}

TEST_P(RestartAt, OfBothEnds) {
  a_.Send(10);
  b_.Send(20);
  Get(a_, GetParam());
  Move(a_);
  Move(b_);
  Run();
  EXPECT_EQ(b_.Recv(30), 10);
  EXPECT_EQ(a_.Recv(30), 20);
  ExpectGoesOn();
}

TEST_P(RestartAt, OfThePeerDoesNotMatter) {
  a_.Send(10);
  Get(a_, GetParam());
  Move(b_);
  Run();
  EXPECT_EQ(b_.Recv(20), 10);
  ExpectGoesOn();
}

// A path without room.

TEST_P(RestartAt, WithoutRoomGoesOnWhenThereIs) {
  a_.Send(10);
  a_.Send(5);
  Get(a_, GetParam());
  end_set_full(a_.get(), true);
  Move(a_);
  EXPECT_EQ(end_published(a_.get()), 1u);
  Run();
  EXPECT_EQ(end_undelivered(a_.get()), 15u);
  end_set_full(a_.get(), false);
  EXPECT_EQ(end_published(a_.get()), 2u);
  Run();
  EXPECT_EQ(b_.Recv(20), 15);
  ExpectGoesOn();
}

TEST_P(RestartAt, WithoutRoomTwice) {
  a_.Send(10);
  Get(a_, GetParam());
  end_set_full(a_.get(), true);
  Move(a_);
  Move(a_);
  end_set_full(a_.get(), false);
  Run();
  EXPECT_EQ(b_.Recv(20), 10);
  ExpectGoesOn();
}

// The peer reads meanwhile what has arrived.
TEST_F(Restart, WithoutRoomWhileThePeerReads) {
  a_.Send(kSize);
  Get(a_, kDelivered);
  end_set_full(a_.get(), true);
  Move(a_);
  EXPECT_EQ(b_.Recv(kSize), kSize);
  Run();
  EXPECT_EQ(a_.Send(kSize), kSize);
  end_set_full(a_.get(), false);
  Run();
  ExpectGoesOn();
}

// The urgent byte.

TEST_P(RestartAt, AnUrgentByteIsReportedOnce) {
  a_.Send(3, MSG_OOB);
  Get(a_, GetParam());
  Move(a_);
  Run();
  EXPECT_EQ(end_urgent_signals(b_.get()), 1u);
  EXPECT_EQ(b_.Recv(1, MSG_OOB), 1);
  EXPECT_EQ(b_.Recv(20), 2);
  EXPECT_TRUE(end_at_mark(b_.get()));
  EXPECT_EQ(b_.Recv(20), -EAGAIN);
  b_.Skip(1);
  ExpectGoesOn();
}

TEST_P(RestartAt, AnUrgentByteAmongOthers) {
  a_.Send(3);
  a_.Send(3, MSG_OOB);
  a_.Send(3);
  Get(a_, GetParam());
  Move(a_);
  Run();
  EXPECT_EQ(end_urgent_signals(b_.get()), 1u);
  EXPECT_EQ(b_.Recv(20), 5);
  EXPECT_TRUE(end_at_mark(b_.get()));
  b_.Skip(1);
  EXPECT_EQ(b_.Recv(20), 3);
  ExpectGoesOn();
}

// It is published behind the restart, and is under way when the path moves once more.
TEST_P(RestartAt, AnUrgentByteThatFoundNoRoom) {
  a_.Send(10);
  Get(a_, GetParam());
  end_set_full(a_.get(), true);
  Move(a_);
  a_.Send(3, MSG_OOB);
  a_.Send(3);
  end_set_full(a_.get(), false);
  Move(a_);
  Run();
  EXPECT_EQ(end_urgent_signals(b_.get()), 1u);
  EXPECT_EQ(b_.Recv(20), 12);
  EXPECT_TRUE(end_at_mark(b_.get()));
  b_.Skip(1);
  EXPECT_EQ(b_.Recv(20), 3);
  ExpectGoesOn();
}

// The ends of a stream.

TEST_P(RestartAt, AShutdownUnderWay) {
  a_.Send(10);
  Arrive(a_);
  end_shutdown(a_.get(), kSendShutdown);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_EQ(end_last_conn_flags(a_.get()), kDone);
  EXPECT_FALSE(end_has_ended(a_.get()));
  Run();
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_EQ(end_peer_conn_flags(b_.get()), kDone);
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
  // The other direction goes on.
  EXPECT_EQ(b_.Send(10), 10);
  Run();
  EXPECT_EQ(a_.Recv(20), 10);
}

TEST_P(RestartAt, AShutdownBehindBytesUnderWay) {
  a_.Send(10);
  a_.Send(5);
  end_shutdown(a_.get(), kSendShutdown);
  Get(a_, GetParam());
  Move(a_);
  Run();
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_EQ(b_.Recv(20), 15);
  EXPECT_EQ(b_.Recv(20), 0);
}

TEST_P(RestartAt, AShutdownWithoutRoom) {
  a_.Send(10);
  Get(a_, GetParam());
  end_set_full(a_.get(), true);
  Move(a_);
  end_shutdown(a_.get(), kSendShutdown);
  Run();
  EXPECT_FALSE(end_has_ended(a_.get()));
  end_set_full(a_.get(), false);
  EXPECT_FALSE(end_has_ended(a_.get()));
  Run();
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
}

// The peer's host has it, whatever becomes of later messages.
TEST_F(Restart, AShutdownThatHasArrivedStaysSo) {
  end_shutdown(a_.get(), kSendShutdown);
  Run();
  end_told(b_.get());
  Move(a_);
  EXPECT_TRUE(end_has_ended(a_.get()));
  Run();
  EXPECT_EQ(end_told(b_.get()), 0u);
  EXPECT_EQ(end_peer_conn_flags(b_.get()), kDone);
}

TEST_P(RestartAt, ACloseUnderWay) {
  a_.Send(10);
  end_close(a_.get(), 0);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_EQ(end_last_conn_flags(a_.get()), kDone | kClosed);
  EXPECT_FALSE(end_has_ended(a_.get()));
  EXPECT_FALSE(end_tcp_is_released(a_.get()));
  Run();
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_TRUE(end_tcp_is_released(a_.get()));
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
  EXPECT_EQ(end_error(b_.get()), 0);
  end_close(b_.get(), 0);
  Run();
  ExpectOver();
}

TEST_P(RestartAt, ACloseUnderWayTwice) {
  a_.Send(10);
  end_close(a_.get(), 0);
  Move(a_);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_FALSE(end_has_ended(a_.get()));
  Run();
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
}

TEST_P(RestartAt, ACloseUnderWayWithoutRoom) {
  end_close(a_.get(), 0);
  Get(a_, GetParam());
  end_set_full(a_.get(), true);
  Move(a_);
  Run();
  EXPECT_FALSE(end_has_ended(a_.get()));
  EXPECT_EQ(end_published(a_.get()), 1u);
  // So it is after another one.
  Move(a_);
  EXPECT_FALSE(end_has_ended(a_.get()));
  end_set_full(a_.get(), false);
  EXPECT_EQ(end_published(a_.get()), 2u);
  Run();
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_EQ(b_.Recv(20), 0);
}

// The peer may have freed its element.
TEST_F(Restart, ACloseThatHasArrivedIsNotSaidAgain) {
  a_.Send(10);
  end_close(a_.get(), 0);
  Run();
  unsigned int published = end_published(a_.get());
  Move(a_);
  Move(a_);
  EXPECT_EQ(end_published(a_.get()), published);
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_EQ(b_.Recv(20), 10);
  end_close(b_.get(), 0);
  Run();
  EXPECT_EQ(end_published(a_.get()), published);
  ExpectOver();
}

TEST_P(RestartAt, AnAbortUnderWay) {
  a_.Send(10);
  Arrive(a_);
  end_abort(a_.get(), ECONNABORTED);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_EQ(end_last_conn_flags(a_.get()), kAbort);
  Run();
  EXPECT_EQ(end_error(b_.get()), ECONNRESET);
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), -ECONNRESET);
  ExpectOver();
}

TEST_F(Restart, AnAbortThatHasArrivedIsNotSaidAgain) {
  end_abort(a_.get(), ECONNABORTED);
  Arrive(a_);
  EXPECT_FALSE(end_is_over(a_.get()));
  Move(a_);
  EXPECT_EQ(end_published(a_.get()), 1u);
  Run();
  EXPECT_EQ(end_published(a_.get()), 1u);
  ExpectOver();
}

// Bytes that an abort leaves out stay out.
TEST_P(RestartAt, AnAbortWithBytesUnderWay) {
  a_.Send(10);
  a_.Send(5);
  end_abort(a_.get(), ECONNABORTED);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_EQ(end_published_bytes(a_.get()), 10u);
  Run();
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), -ECONNRESET);
  ExpectOver();
}

// The closed end waits no longer.
TEST_P(RestartAt, AnAbortAfterAClose) {
  a_.Send(10);
  end_close(a_.get(), 0);
  Arrive(a_);
  EXPECT_EQ(b_.Recv(10), 10);
  Run();
  end_abort(a_.get(), ETIMEDOUT);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_EQ(end_last_conn_flags(a_.get()), kDone | kClosed | kAbort);
  EXPECT_FALSE(end_has_ended(a_.get()));
  Run();
  EXPECT_TRUE(end_peer_conn_flags(b_.get()) & kAbort);
  EXPECT_EQ(end_error(b_.get()), 0);
  EXPECT_EQ(b_.Recv(20), 0);
  ExpectOver();
}

TEST_P(RestartAt, AnAbortAfterACloseBothUnderWay) {
  a_.Send(10);
  end_close(a_.get(), 0);
  Get(a_, GetParam());
  end_abort(a_.get(), ETIMEDOUT);
  Move(a_);
  EXPECT_EQ(end_last_conn_flags(a_.get()), kDone | kClosed | kAbort);
  Run();
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
  ExpectOver();
}

TEST_P(RestartAt, AnAbortWhileACloseFindsNoRoom) {
  end_close(a_.get(), 0);
  Get(a_, GetParam());
  end_set_full(a_.get(), true);
  Move(a_);
  end_abort(a_.get(), ETIMEDOUT);
  Run();
  EXPECT_EQ(end_published(a_.get()), 1u);
  end_set_full(a_.get(), false);
  // One message has both.
  EXPECT_EQ(end_published(a_.get()), 2u);
  EXPECT_EQ(end_last_conn_flags(a_.get()), kDone | kClosed | kAbort);
  Run();
  EXPECT_EQ(end_error(b_.get()), 0);
  EXPECT_EQ(b_.Recv(20), 0);
  ExpectOver();
}

// The close has arrived, and the abort has not been said: it is as if nothing had moved.
TEST_F(Restart, AnAbortThatFoundNoRoomAfterAClose) {
  end_close(a_.get(), 0);
  Run();
  end_set_full(a_.get(), true);
  end_abort(a_.get(), ETIMEDOUT);
  Move(a_);
  EXPECT_EQ(end_published(a_.get()), 1u);
  end_set_full(a_.get(), false);
  EXPECT_EQ(end_published(a_.get()), 2u);
  Run();
  EXPECT_TRUE(end_peer_conn_flags(b_.get()) & kAbort);
  ExpectOver();
}

TEST_F(Restart, ALingeringCloseWaitsForWhatIsSaidAgain) {
  struct {
    Both& both;
    bool has_moved;
  } world = {both_, false};
  auto meanwhile = [](void* arg) {
    auto* at = static_cast<decltype(world)*>(arg);

    if (!std::exchange(at->has_moved, true)) {
      end_move(at->both.a.get());
      return true;
    }
    EXPECT_FALSE(end_has_ended(at->both.a.get()));
    at->both.Run();
    return false;
  };
  a_.Send(10);
  pair_meanwhile(meanwhile, &world);
  end_close(a_.get(), 1000);
  pair_meanwhile(nullptr, nullptr);
  EXPECT_TRUE(world.has_moved);
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
}

// The stream is over.

TEST_F(Restart, TheStreamIsOverOnlyWhenItsFinalFlagsHaveArrived) {
  end_close(a_.get(), 0);
  Run();
  end_close(b_.get(), 0);
  EXPECT_FALSE(end_is_over(b_.get()));
  EXPECT_TRUE(pair_land(b_.get()));
  EXPECT_FALSE(end_is_over(b_.get()));
  EXPECT_TRUE(pair_deliver(b_.get()));
  // It has heard of the other's, and knows that its own have arrived.
  EXPECT_TRUE(end_is_over(a_.get()));
  EXPECT_FALSE(end_is_over(b_.get()));
  EXPECT_TRUE(pair_complete(b_.get()));
  EXPECT_TRUE(end_is_over(b_.get()));
  Run();
  ExpectOver();
}

TEST_P(RestartAt, TheStreamIsNotOverWhileFinalFlagsAreSaidAgain) {
  end_close(a_.get(), 0);
  Run();
  end_close(b_.get(), 0);
  Get(b_, GetParam());
  Move(b_);
  EXPECT_EQ(end_published(b_.get()), 2u);
  EXPECT_EQ(end_is_over(a_.get()), GetParam() == kDelivered);
  EXPECT_FALSE(end_is_over(b_.get()));
  Get(b_, kDelivered);
  EXPECT_FALSE(end_is_over(b_.get()));
  Run();
  ExpectOver();
}

TEST_P(RestartAt, TheStreamIsNotOverWhileFinalFlagsFindNoRoom) {
  end_close(a_.get(), 0);
  Run();
  end_close(b_.get(), 0);
  Get(b_, GetParam());
  end_set_full(b_.get(), true);
  Move(b_);
  Run();
  EXPECT_FALSE(end_is_over(b_.get()));
  end_set_full(b_.get(), false);
  EXPECT_FALSE(end_is_over(b_.get()));
  Run();
  ExpectOver();
}

TEST_P(RestartAt, BothEndsWithAllFinalFlagsUnderWay) {
  a_.Send(10);
  b_.Send(10);
  Run();
  a_.Recv(10);
  b_.Recv(10);
  end_close(a_.get(), 0);
  end_close(b_.get(), 0);
  Get(a_, GetParam());
  Get(b_, GetParam());
  Move(a_);
  Move(b_);
  EXPECT_FALSE(end_is_over(a_.get()));
  EXPECT_FALSE(end_is_over(b_.get()));
  Run();
  ExpectOver();
  for (Side* side : {&a_, &b_}) {
    EXPECT_TRUE(end_is_closed(side->get()));
    EXPECT_EQ(end_error(side->get()), 0);
  }
}

TEST_P(RestartAt, AnAnswerToAnAbortUnderWay) {
  end_abort(a_.get(), ECONNABORTED);
  Arrive(a_);
  EXPECT_EQ(end_last_conn_flags(b_.get()), kAbort);
  Get(b_, GetParam());
  Move(b_);
  EXPECT_EQ(end_last_conn_flags(b_.get()), kAbort);
  EXPECT_FALSE(end_is_over(b_.get()));
  Run();
  ExpectOver();
}

// Bytes are left out, so the peer must not read of an orderly end.
TEST_P(RestartAt, AnAbortThatLeavesOutBytes) {
  while (a_.Send(kSize) > 0) Run();
  end_close(a_.get(), 0);
  Run();
  end_abort(a_.get(), ETIMEDOUT);
  EXPECT_EQ(end_last_conn_flags(a_.get()), kAbort);
  Get(a_, GetParam());
  Move(a_);
  EXPECT_EQ(end_last_conn_flags(a_.get()), kAbort);
  Run();
  EXPECT_EQ(end_error(b_.get()), ECONNRESET);
}

// It may still read what has arrived, and Recv() checks that these are the right bytes.
TEST_P(RestartAt, TheProgramAtAnAbortedEndReadsNoOtherBytes) {
  a_.Send(100);
  end_abort(b_.get(), ETIMEDOUT);
  Arrive(b_);
  Get(a_, GetParam());
  Move(a_);
  Run();
  b_.Recv(200);
  ExpectOver();
}

TEST_P(RestartAt, AnOrphanStillAsksForEachRead) {
  a_.Send(kSize - 100);
  end_close(a_.get(), 0);
  const uint8_t flags = end_last_prod_flags(a_.get());
  Get(a_, GetParam());
  Move(a_);
  if (GetParam() != Got::kDelivered) EXPECT_EQ(end_last_prod_flags(a_.get()), flags);
}

// There is nothing left to say, and nobody to say it to.
TEST_F(Restart, OfALostStreamIsNone) {
  a_.Send(10);
  Run();
  end_close(a_.get(), 0);
  end_lose(a_.get(), ECONNRESET);
  unsigned int published = end_published(a_.get());
  Move(a_);
  EXPECT_EQ(end_published(a_.get()), published);
  EXPECT_TRUE(end_is_over(a_.get()));
}

}  // namespace
}  // namespace stream
