// SPDX-License-Identifier: GPL-2.0
// Random events at both ends of a stream and on its path, which may move. After each event the
// invariants of the positions hold. No byte is lost or changed, and nobody waits for an event that
// has happened already.
#include "random.h"

#include <memory>

#include "both.h"

namespace stream {
namespace {

using wire::Random;

constexpr int kMore = MSG_MORE;
// The longest time for which a stream holds anything back, in milliseconds.
constexpr unsigned long kHold = 200;
constexpr int kMostSteps = 100000;
// Longer than anybody waits for a peer.
constexpr unsigned long kForever = 3600 * 1000;

pair_setup RandomSetup(Random& random) {
  static constexpr uint32_t kSizes[] = {8, 16, 64, 256, 1024};
  pair_setup setup = {random.UpTo(2) ? PAIR_WIRE : PAIR_LOCAL, {}, {}, random.Coin()};
  for (uint32_t& size : setup.element) size = kSizes[random.UpTo(4)];
  for (int which : {0, 1})
    setup.ring[which] = std::min(setup.element[!which], kSizes[random.UpTo(4)]);
  return setup;
}

// One thing that the path does, if there is any of the kind.
bool MovePath(Random& random, end* from) {
  switch (random.UpTo(2)) {
    case 0:
      return pair_land(from);
    case 1:
      return pair_complete(from);
    default:
      return pair_deliver(from);
  }
}

bool MovePathAnyhow(end* from) {
  return pair_land(from) || pair_complete(from) || pair_deliver(from);
}

// An application that writes so much and then ends its direction, and reads to the end. Once it has
// been told to wait, it does so until it is told to look again.
class Application {
 public:
  Application(Side& side, Random& random, uint64_t total)
      : side_(side),
        random_(random),
        total_(total),
        shuts_(random.Coin()),
        is_inline_(random.Coin()) {
    if (is_inline_) end_set_oobinline(side.get());
    if (random.UpTo(3) == 0) end_set_nodelay(side.get());
    if (random.UpTo(3) == 0) end_set_notsent_lowat(side.get(), 1 + random.UpTo(64));
  }

  bool reads_inline() const { return is_inline_; }
  void SetUrgent(bool may) { may_urge_ = may; }
  bool is_done() const { return has_ended_ && has_read_end_; }
  uint64_t total() const { return total_; }

  void Listen() {
    unsigned int told = end_told(side_.get());
    if (told & (EPOLLOUT | EPOLLHUP)) may_write_ = true;
    if (told & (EPOLLIN | EPOLLRDHUP | EPOLLHUP)) may_read_ = true;
  }

  // Return: whether there was anything to do.
  bool Act() {
    if (random_.Coin()) return Write() || Read();
    return Read() || Write();
  }

 private:
  bool Write() {
    if (has_ended_ || !may_write_) return false;
    if (side_.written() == total_) {
      if (shuts_)
        end_shutdown(side_.get(), kSendShutdown);
      else
        End();
      has_ended_ = true;
      return true;
    }
    int flags = random_.UpTo(4) ? 0 : kMore;
    if (may_urge_ && random_.UpTo(9) == 0) flags = MSG_OOB;
    uint64_t len = 1 + random_.UpTo(random_.Coin() ? 4 : 300);
    ssize_t rc = side_.Send(std::min(len, total_ - side_.written()), flags);
    if (rc < 0) EXPECT_EQ(rc, -EAGAIN);
    may_write_ = rc > 0;
    return true;
  }

  void End() {
    // Also in two steps.
    end_shutdown(side_.get(), kSendShutdown);
    end_shutdown(side_.get(), kSendShutdown);
  }

  bool Read() {
    if (has_read_end_ || !may_read_) return false;
    uint64_t len = 1 + random_.UpTo(random_.Coin() ? 4 : 300);
    ssize_t rc = random_.UpTo(9) ? side_.Recv(len) : side_.Recv(len, MSG_PEEK);
    if (rc < 0) EXPECT_EQ(rc, -EAGAIN);
    may_read_ = rc > 0;
    has_read_end_ = !rc;
    return true;
  }

  Side& side_;
  Random& random_;
  uint64_t total_;
  bool shuts_;
  bool is_inline_;
  bool may_urge_ = false;
  bool may_write_ = true;
  bool may_read_ = true;
  bool has_ended_ = false;
  bool has_read_end_ = false;
};

class Transfer {
 public:
  explicit Transfer(uint64_t seed)
      : random_(seed),
        both_(RandomSetup(random_)),
        a_(both_.a, random_, random_.UpTo(3000)),
        b_(both_.b, random_, random_.UpTo(3000)),
        moves_(random_.UpTo(5)) {
    // Read out of line, its byte would be missing among the others.
    a_.SetUrgent(b_.reads_inline());
    b_.SetUrgent(a_.reads_inline());
  }

  void Play() {
    for (int n = 0; !a_.is_done() || !b_.is_done(); n++) {
      // Many times what any seed takes.
      ASSERT_LT(n, kMostSteps) << Where();
      bool any = Step();
      both_.Check();
      if (testing::Test::HasFailure()) return;
      if (!any) ASSERT_TRUE(Last()) << Where();
    }
    EXPECT_EQ(both_.b.read(), a_.total());
    EXPECT_EQ(both_.a.read(), b_.total());
    Close();
  }

 private:
  bool Step() {
    a_.Listen();
    b_.Listen();
    if (moves_ && random_.UpTo(50) == 0) {
      Move();
      return true;
    }
    switch (random_.UpTo(9)) {
      case 0:
      case 1:
        return a_.Act();
      case 2:
      case 3:
        return b_.Act();
      case 4:
        return random_.UpTo(20) == 0 && kernel_advance(random_.UpTo(kHold));
      default:
        return MovePath(random_, random_.Coin() ? both_.a.get() : both_.b.get());
    }
  }

  // A move would make up for things that an end has failed to do, so there are few moves.
  void Move() {
    if (moves_) moves_--;
    for (Side* side : {&both_.a, &both_.b})
      if (random_.Coin()) end_move(side->get());
  }

  // Anything at all. Time passes only when nothing else happens.
  bool Last() {
    a_.Listen();
    b_.Listen();
    return a_.Act() || b_.Act() || MovePathAnyhow(both_.a.get()) || MovePathAnyhow(both_.b.get()) ||
           kernel_advance_to_timer(kHold);
  }

  void Close() {
    both_.Run();
    for (Side* side : {&both_.a, &both_.b}) {
      EXPECT_TRUE(end_is_closed(side->get()));
      EXPECT_EQ(end_error(side->get()), 0);
      end_close(side->get(), 0);
      if (random_.Coin()) both_.Run();
      if (random_.Coin()) Move();
    }
    both_.Run();
    EXPECT_TRUE(end_is_freed(both_.a.get()));
    EXPECT_TRUE(end_is_freed(both_.b.get()));
    EXPECT_EQ(both_.violations(), 0u);
  }

  std::string Where() const {
    return "stuck at " + std::to_string(both_.b.read()) + " of " + std::to_string(a_.total()) +
           " and " + std::to_string(both_.a.read()) + " of " + std::to_string(b_.total());
  }

  Random random_;
  Both both_;
  Application a_, b_;
  uint64_t moves_;  // of paths to another link that are still to come
};

TEST(Random, TransfersEnd) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Transfer(seed).Play();
    if (HasFailure()) return;
  }
}

// Applications without any sense, whose paths may be lost.
class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed), both_(RandomSetup(random_)) {
    for (Side* side : {&both_.a, &both_.b}) {
      end_set_oobinline(side->get());
      if (random_.UpTo(3) == 0) end_set_user_timeout(side->get(), 1 + random_.UpTo(2000));
    }
  }

  void Play() {
    for (uint64_t n = random_.UpTo(200); n; n--) {
      int which = random_.Coin();
      Act(which);
      MovePath(random_, side(!which).get());
      both_.Check();
    }
    for (int which : {0, 1}) {
      end_set_full(side(which).get(), false);
      if (!is_closed_[which]) Close(which, false);
    }
    for (int i = 0; i < 4; i++) {
      both_.Run();
      kernel_advance(kForever);
    }
    both_.Run();
    EXPECT_TRUE(end_is_freed(both_.a.get()));
    EXPECT_TRUE(end_is_freed(both_.b.get()));
    EXPECT_EQ(both_.violations(), 0u);
  }

 private:
  Side& side(int which) { return which ? both_.b : both_.a; }

  void Close(int which, bool by_reset) {
    is_closed_[which] = true;
    if (by_reset)
      end_close_by_reset(side(which).get());
    else
      end_close(side(which).get(), 0);
  }

  void Act(int which) {
    Side& self = side(which);
    if (end_is_freed(self.get())) return;
    if (random_.UpTo(150) == 0) return end_lose(self.get(), ECONNRESET);
    if (random_.UpTo(150) == 0) return end_abort(self.get(), ECONNABORTED);
    if (random_.UpTo(30) == 0) kernel_advance(random_.UpTo(500));
    if (random_.UpTo(30) == 0) Move(self);
    if (random_.UpTo(20) == 0) end_set_full(self.get(), random_.Coin());
    if (!is_closed_[which]) Call(which, self);
  }

  void Move(Side& self) { end_move(self.get()); }

  void Call(int which, Side& self) {
    switch (random_.UpTo(60)) {
      case 0:
        return Close(which, random_.Coin());
      case 1:
        return end_shutdown(self.get(), 1 + random_.UpTo(2));
      case 2:
        if (random_.UpTo(3) == 0) end_disconnect(self.get());
        return;
      case 3:
        return end_set_cork(self.get(), random_.Coin());
      case 4:
        return end_set_notsent_lowat(self.get(), 1 + random_.UpTo(200));
      case 5:
        return end_set_rcvlowat(self.get(), 1 + random_.UpTo(200));
      case 6:
      case 7:
        end_poll(self.get());
        return;
      case 8:
      case 9:
        self.Splice(1 + random_.UpTo(100));
        return;
      default:
        if (random_.Coin())
          self.Send(random_.UpTo(100), random_.UpTo(9) ? random_.Coin() * kMore : MSG_OOB);
        else
          self.Recv(random_.UpTo(100), random_.UpTo(9) ? 0 : MSG_PEEK);
    }
  }

  Random random_;
  Both both_;
  bool is_closed_[2] = {};
};

TEST(Random, WhateverHappensEnds) {
  for (uint64_t seed = 0; seed < 5000; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chaos(seed).Play();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stream
