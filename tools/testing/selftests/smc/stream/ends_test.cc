// SPDX-License-Identifier: GPL-2.0
// The ends of a stream: what each way to end it does, and all orders of both applications' ways.
#include <sstream>

#include "both.h"
// After what they are to be seen by.
#include "wire/cdc.h"

namespace stream {
namespace {

constexpr uint32_t kSize = 64;
// Longer than anybody waits for a peer, in milliseconds.
constexpr unsigned long kForever = 3600 * 1000;

class Ends : public testing::TestWithParam<pair_kind> {
 protected:
  Ends() : both_(SetupOf(GetParam(), kSize)), a_(both_.a), b_(both_.b) {}
  ~Ends() override { both_.Check(); }

  bool is_wire() const { return GetParam() == PAIR_WIRE; }
  void Run() { both_.Run(); }

  Both both_;
  Side& a_;
  Side& b_;
};

INSTANTIATE_TEST_SUITE_P(Path, Ends, testing::Values(PAIR_WIRE, PAIR_LOCAL),
                         [](const auto& info) { return KindName(info.param); });

TEST_P(Ends, AShutdownEndsOneDirection) {
  a_.Send(10);
  end_shutdown(a_.get(), kSendShutdown);
  EXPECT_EQ(a_.Send(1), -EPIPE);
  Run();
  EXPECT_TRUE(end_told(b_.get()) & EPOLLRDHUP);
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_FALSE(end_is_closed(a_.get()));
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
  EXPECT_FALSE(end_poll(b_.get()) & EPOLLHUP);
  // The other one goes on.
  EXPECT_EQ(b_.Send(10), 10);
  Run();
  EXPECT_EQ(a_.Recv(20), 10);
}

TEST_P(Ends, ShutdownsOfBothHangUp) {
  end_shutdown(a_.get(), kSendShutdown);
  Run();
  end_shutdown(b_.get(), kSendShutdown);
  Run();
  for (Side* side : {&a_, &b_}) {
    EXPECT_TRUE(end_is_closed(side->get()));
    EXPECT_TRUE(end_poll(side->get()) & EPOLLHUP);
    EXPECT_TRUE(end_told(side->get()) & EPOLLHUP);
    // The applications may still close in their own way.
    EXPECT_FALSE(end_is_over(side->get()));
  }
}

TEST_P(Ends, AShutdownOfTheReader) {
  end_shutdown(a_.get(), kReceiveShutdown);
  EXPECT_EQ(a_.Recv(10), 0);
  EXPECT_TRUE(end_poll(a_.get()) & EPOLLRDHUP);
  EXPECT_EQ(b_.Send(10), 10);
  Run();
  EXPECT_EQ(a_.Recv(20), 10);
  EXPECT_EQ(a_.Recv(20), 0);
}

TEST_P(Ends, BytesForAClosedEndResetTheStream) {
  end_shutdown(a_.get(), kReceiveShutdown | kSendShutdown);
  Run();
  EXPECT_EQ(b_.Send(10), 10);
  Run();
  EXPECT_TRUE(end_has_failed(a_.get()));
  EXPECT_EQ(end_error(b_.get()), EPIPE);
}

TEST_P(Ends, ClosesOfBoth) {
  a_.Send(10);
  end_close(a_.get(), 0);
  Run();
  EXPECT_FALSE(end_is_over(a_.get()));
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
  end_close(b_.get(), 0);
  Run();
  for (Side* side : {&a_, &b_}) {
    EXPECT_TRUE(end_is_over(side->get()));
    EXPECT_TRUE(end_is_freed(side->get()));
    EXPECT_TRUE(end_is_closed(side->get()));
    EXPECT_FALSE(end_is_reset(side->get()));
    EXPECT_TRUE(end_tcp_is_released(side->get()));
  }
}

TEST_P(Ends, ACloseIsPublishedBehindTheLastByte) {
  while (a_.Send(kSize) > 0) Run();
  end_close(a_.get(), 0);
  Run();
  EXPECT_EQ(end_has_ended(a_.get()), !is_wire());
  while (b_.read() < a_.written()) {
    ASSERT_GT(b_.Recv(kSize), 0);
    Run();
  }
  EXPECT_TRUE(end_has_ended(a_.get()));
  EXPECT_EQ(b_.Recv(1), 0);
}

TEST_P(Ends, ACloseWithUnreadBytesIsAReset) {
  b_.Send(10);
  Run();
  end_close(a_.get(), 0);
  Run();
  EXPECT_TRUE(end_last_conn_flags(a_.get()) & SMC_CONN_ABORT);
  EXPECT_FALSE(end_last_conn_flags(a_.get()) & SMC_CONN_CLOSED);
  EXPECT_EQ(end_error(b_.get()), ECONNRESET);
  EXPECT_EQ(b_.Recv(1), -ECONNRESET);
  EXPECT_EQ(b_.Send(1), -EPIPE);
  EXPECT_TRUE(end_is_over(a_.get()));
  EXPECT_TRUE(end_is_over(b_.get()));
}

// Nobody may wait for another end of the stream because of them.
TEST_P(Ends, FlagsWithoutAMeaningAreNoEnd) {
  end_forge(b_.get(), 0, 0, 0x1f);
  EXPECT_EQ(end_peer_conn_flags(b_.get()), 0);
  a_.Send(10);
  end_shutdown(a_.get(), kSendShutdown);
  Run();
  EXPECT_EQ(end_peer_conn_flags(b_.get()), SMC_CONN_DONE_WRITING);
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), 0);
}

TEST_P(Ends, ASendInVainTellsOfTheClose) {
  end_close(a_.get(), 0);
  Run();
  EXPECT_TRUE(end_poll(b_.get()) & EPOLLOUT);
  EXPECT_EQ(b_.Send(10), 10);
  EXPECT_EQ(b_.Send(10), -EPIPE);
}

TEST_P(Ends, AnAbortKeepsWhatCame) {
  a_.Send(10);
  Run();
  end_abort(a_.get(), ECONNABORTED);
  Run();
  EXPECT_EQ(end_error(a_.get()), ECONNABORTED);
  EXPECT_EQ(end_error(b_.get()), ECONNRESET);
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), -ECONNRESET);
  EXPECT_TRUE(end_is_over(a_.get()));
  EXPECT_TRUE(end_is_over(b_.get()));
}

TEST_P(Ends, ADisconnectIsAResetUnlessBothHadEnded) {
  EXPECT_TRUE(end_disconnect(a_.get()));
  Run();
  EXPECT_EQ(end_error(b_.get()), ECONNRESET);
}

TEST_P(Ends, ADisconnectAfterBothHadEnded) {
  end_shutdown(a_.get(), kSendShutdown);
  end_shutdown(b_.get(), kSendShutdown);
  Run();
  EXPECT_FALSE(end_disconnect(a_.get()));
  Run();
  EXPECT_EQ(end_error(b_.get()), 0);
}

TEST_P(Ends, ALostPathIsAnError) {
  a_.Send(10);
  Run();
  end_lose(b_.get(), ECONNRESET);
  EXPECT_TRUE(end_is_over(b_.get()));
  EXPECT_TRUE(end_told(b_.get()) & EPOLLHUP);
  EXPECT_EQ(b_.Recv(20), 10);
  EXPECT_EQ(b_.Recv(20), -ECONNRESET);
}

TEST_P(Ends, ALostPathOfAnEndedStreamIsNone) {
  end_shutdown(a_.get(), kSendShutdown);
  end_shutdown(b_.get(), kSendShutdown);
  Run();
  end_lose(a_.get(), ECONNRESET);
  EXPECT_EQ(end_error(a_.get()), 0);
  EXPECT_TRUE(end_is_over(a_.get()));
}

TEST_P(Ends, ALingeringCloseWaitsUntilTheEndHasLeft) {
  a_.Send(10);
  pair_meanwhile(
      [](void* both) {
        static_cast<Both*>(both)->Run();
        return false;
      },
      &both_);
  end_close(a_.get(), 1000);
  pair_meanwhile(nullptr, nullptr);
  EXPECT_TRUE(end_has_ended(a_.get()));
}

TEST_P(Ends, AnOrphanLeavesTcpWhenItsEndIsTold) {
  end_close(a_.get(), 0);
  EXPECT_EQ(end_tcp_is_released(a_.get()), !is_wire());
  Run();
  EXPECT_TRUE(end_tcp_is_released(a_.get()));
  EXPECT_FALSE(end_is_over(a_.get()));
}

// The application at the other end never closes.
TEST_P(Ends, AnOrphanIsGivenUp) {
  end_close(a_.get(), 0);
  Run();
  for (int i = 0; i < 3; i++) {
    kernel_advance(kForever);
    Run();
  }
  EXPECT_TRUE(end_is_freed(a_.get()));
}

// And neither reads.
TEST_P(Ends, AnOrphanWhosePeerReadsNothingIsGivenUp) {
  while (a_.Send(kSize) > 0) Run();
  end_close(a_.get(), 0);
  for (int i = 0; i < 3; i++) {
    Run();
    kernel_advance(kForever);
  }
  Run();
  EXPECT_TRUE(end_is_freed(a_.get()));
  EXPECT_TRUE(end_is_over(b_.get()));
}

// The kernel at the other end says nothing any more.
TEST_P(Ends, AnOrphanOfASilentPeerIsGivenUp) {
  a_.Send(10);
  end_close(a_.get(), 0);
  for (int i = 0; i < 3; i++) kernel_advance(kForever);
  EXPECT_TRUE(end_is_over(a_.get()));
}

// Every order. An application takes these ways one after the other, and closes at the latest when
// all have been taken.
enum Way {
  kNone,
  kShutWrite,
  kShutRead,
  kShutBoth,
  kClose,
  kCloseByReset,
  kDisconnect,
  kAbort,
  kLose,
  kMove,
  kWays,
};

const char* const kWayNames[] = {"none",           "shut write", "shut read", "shut both", "close",
                                 "close by reset", "disconnect", "abort",     "lose",      "move"};

bool IsInOrder(Way way) { return way < kCloseByReset || way == kMove; }

struct Step {
  int which;
  Way way;
};

class History {
 public:
  History(pair_kind kind, const std::vector<Step>& steps, int mode)
      : both_(SetupOf(kind, kSize)),
        steps_(steps),
        delivers_(mode & 1),
        reads_(mode & 2),
        writes_(mode & 4) {}

  void Play() {
    if (writes_)
      for (Side* side : {&both_.a, &both_.b}) side->Send(10);
    Deliver();
    for (const Step& step : steps_) {
      Take(step);
      both_.Check();
      Deliver();
    }
    for (int which : {0, 1})
      if (!is_closed_[which]) Take({which, kClose});
    Finish();
  }

 private:
  Side& side(int which) { return which ? both_.b : both_.a; }

  void Deliver() {
    if (delivers_) both_.Run();
    if (!reads_) return;
    for (int which : {0, 1})
      while (!is_closed_[which] && side(which).Recv(kSize) > 0)
        ;
  }

  void Take(const Step& step) {
    end* end = side(step.which).get();
    // The path may move at any time.
    if (step.way == kMove) return end_move(end);
    if (is_closed_[step.which]) return;
    is_in_order_ &= IsInOrder(step.way);
    switch (step.way) {
      case kShutWrite:
        return end_shutdown(end, kSendShutdown);
      case kShutRead:
        return end_shutdown(end, kReceiveShutdown);
      case kShutBoth:
        return end_shutdown(end, kReceiveShutdown | kSendShutdown);
      case kClose:
        is_closed_[step.which] = true;
        return end_close(end, 0);
      case kCloseByReset:
        is_closed_[step.which] = true;
        return end_close_by_reset(end);
      case kDisconnect:
        end_disconnect(end);
        return;
      case kAbort:
        return end_abort(end, ECONNABORTED);
      case kLose:
        return end_lose(end, ECONNRESET);
      default:
        return;
    }
  }

  // Nobody acts any more, so nothing stays.
  void Finish() {
    both_.Run();
    bool is_clean = is_in_order_ && !writes_;
    for (int i = 0; i < 4; i++) {
      if (is_clean)
        // Nor does it take any time.
        EXPECT_TRUE(end_is_over(both_.a.get()) && end_is_over(both_.b.get()));
      kernel_advance(kForever);
      both_.Run();
    }
    for (int which : {0, 1}) {
      end* end = side(which).get();
      EXPECT_TRUE(end_is_over(end));
      EXPECT_TRUE(end_is_freed(end));
      EXPECT_TRUE(end_tcp_is_released(end));
      if (is_clean) EXPECT_TRUE(end_is_closed(end) && !end_is_reset(end));
    }
    EXPECT_EQ(both_.violations(), 0u);
  }

  Both both_;
  std::vector<Step> steps_;
  bool delivers_, reads_, writes_;
  bool is_closed_[2] = {};
  bool is_in_order_ = true;
};

std::string Describe(const std::vector<Step>& steps, int mode) {
  std::ostringstream out;
  out << "mode " << mode << ":";
  for (const Step& step : steps)
    out << " "
        << "ab"[step.which] << " " << kWayNames[step.way] << ",";
  return out.str();
}

TEST_P(Ends, InEveryOrder) {
  constexpr int kSteps = 3;
  // A path inside the host does not move.
  const int choices = 2 * (is_wire() ? kWays - 1 : kMove - 1);
  for (int code = 0; code < choices * choices * choices; code++)
    for (int mode = 0; mode < 8; mode++) {
      std::vector<Step> steps;
      for (int i = 0, rest = code; i < kSteps; i++, rest /= choices)
        steps.push_back({rest % 2, static_cast<Way>(1 + rest % choices / 2)});
      SCOPED_TRACE(Describe(steps, mode));
      History(GetParam(), steps, mode).Play();
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace stream
