// SPDX-License-Identifier: GPL-2.0
// The place of a reader, whatever its peer and other readers do while it looks. It is compared with
// a model that knows of every byte how it was sent, and with a model of TCP.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "meanwhile.h"
#include "random.h"
// After what it is to be seen by.
#include "stream/rx.h"
#include "stream/tx.h"

namespace stream {
namespace {

using wire::Random;

// A stream as its receiving end has it, and what was sent.
class Stream {
 public:
  explicit Stream(u32 size, bool is_inline = false) : is_inline_(is_inline), ring_(size) {
    rx.size = size;
  }
  bool IsFull() const { return rx.received - rx.consumed == rx.size; }
  u32 Room() const { return rx.size - static_cast<u32>(rx.received - rx.reported); }
  void Publish(u32 bytes, bool is_urgent) {
    smc_cursor prod = smc_cursor_advanced(rx.received_cursor, rx.size, bytes);

    rx.ring = ring_.data();
    smc_rx_arrive(&rx, prod, bytes, is_urgent, is_inline_);
    is_urgent_.resize(rx.received);
    if (is_urgent && bytes) is_urgent_.back() = true;
  }
  void Consume(u64 pos) {
    EXPECT_TRUE(smc_rx_may_consume(&rx, pos));
    rx.offset = smc_offset_advanced(rx.offset, rx.size, static_cast<u32>(pos - rx.consumed));
    smp_store_release(&rx.consumed, pos);
  }
  void Report() { WRITE_ONCE(rx.reported, rx.consumed); }
  smc_rx_snapshot Look() const { return smc_rx_take_snapshot(&rx, is_inline_); }
  bool IsInline() const { return is_inline_; }
  bool WasUrgent(u64 byte) const { return is_urgent_[byte]; }
  u64 LastUrgent() const {
    auto last = std::find(is_urgent_.rbegin(), is_urgent_.rend(), true);
    return is_urgent_.rend() - last;  // its end, or 0
  }

  smc_stream_rx rx = {};

 private:
  bool is_inline_;
  std::vector<u8> ring_;
  std::vector<bool> is_urgent_;
};

void ExpectOrder(const smc_rx_snapshot& at) {
  ASSERT_LE(at.consumed, at.start);
  ASSERT_LE(at.start, at.received);
  ASSERT_LE(at.received, at.reported + at.size);
}

// An event beside a reader.
struct Event {
  enum { kPublish, kPublishUrgent, kConsume, kReport, kConsumeAndReport } what;
  u32 bytes;

  bool IsByReader() const { return what == kConsume || what == kConsumeAndReport; }
};

using Events = std::vector<Event>;

const Event kEvents[] = {{Event::kPublish, 4},       {Event::kPublishUrgent, 1},
                         {Event::kPublishUrgent, 4}, {Event::kConsume, 0},
                         {Event::kReport, 0},        {Event::kConsumeAndReport, 0}};

// Another reader takes all that one read gives.
void ReadAll(Stream& s) {
  smc_rx_snapshot at = s.Look();
  u64 pos = at.start;

  s.Consume(pos + smc_snapshot_step(&at, &pos, true));
}

void Happen(Stream& s, const Event& event) {
  if (event.IsByReader()) ReadAll(s);
  if (event.what == Event::kReport || event.what == Event::kConsumeAndReport) s.Report();
  if (event.bytes && event.bytes <= s.Room())
    s.Publish(event.bytes, event.what == Event::kPublishUrgent);
}

// The states that rx goes through, store by store, while @events happen.
std::vector<smc_stream_rx> StatesOf(Stream& s, const Events& events) {
  std::vector<smc_stream_rx> states = {s.rx};

  after_store = [&](const void*) { states.push_back(s.rx); };
  for (const Event& event : events) Happen(s, event);
  after_store = nullptr;
  return states;
}

// Looks in every way that @states can pass meanwhile: each load sees one no older than the last.
template <typename Check>
void LookInEveryWay(const std::vector<smc_stream_rx>& states, bool is_inline, Check check) {
  constexpr size_t kLoads = 6;  // later loads, of a look that repeats, see the last state
  std::vector<size_t> seen(kLoads, 0);
  size_t most = kLoads;

  // It repeats four of them, and only for what is to be skipped that moved meanwhile.
  for (size_t i = 1; i < states.size(); i++)
    if (states[i].urgent_skip != states[i - 1].urgent_skip) most += 4;

  for (;;) {
    smc_stream_rx rx = states[0];
    size_t load = 0;

    before_load = [&] {
      rx = load < kLoads ? states[seen[load]] : states.back();
      load++;
    };
    smc_rx_snapshot at = smc_rx_take_snapshot(&rx, is_inline);
    before_load = nullptr;
    ASSERT_LE(load, most);
    check(at);
    if (testing::Test::HasFatalFailure()) return;

    // The next sequence that never goes back.
    size_t i = kLoads;
    while (i && seen[i - 1] == states.size() - 1) i--;
    if (!i) return;
    std::fill(seen.begin() + (i - 1), seen.end(), seen[i - 1] + 1);
  }
}

template <typename Use>
void ForEveryHistory(size_t length, Use use) {
  size_t n = std::size(kEvents), histories = 1;

  for (size_t i = 0; i < length; i++) histories *= n;
  for (size_t history = 0; history < histories; history++) {
    Events events;

    for (size_t i = 0, rest = history; i < length; i++, rest /= n)
      events.push_back(kEvents[rest % n]);
    use(events);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// A read that goes by @at gives no byte that it should not.
void CheckRead(const smc_rx_snapshot& at, const Stream& end, u64 stood_at) {
  u64 pos = at.consumed;
  u64 len = smc_snapshot_step(&at, &pos, true);

  ASSERT_TRUE(smc_snapshot_holds(&at, pos, len)) << pos << "+" << len;
  ASSERT_LE(pos + len, end.rx.received);
  if (end.IsInline()) return;
  for (u64 byte = pos; byte < pos + len; byte++) {
    if (!end.WasUrgent(byte)) continue;
    // One that another has replaced is like any, unless the reader stood there when it
    // was.
    ASSERT_LT(byte + 1, end.LastUrgent());
    ASSERT_NE(byte, stood_at);
  }
}

class Looking : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(, Looking, testing::Bool(),
                         [](const auto& info) { return info.param ? "Inline" : "OutOfBand"; });

// Under the socket lock: only the peer does anything meanwhile.
TEST_P(Looking, WhileThePeerPublishes) {
  ForEveryHistory(4, [](const Events& events) {
    auto middle = events.begin() + 2;
    Stream s(8, GetParam());

    if (std::any_of(middle, events.end(), [](auto& e) { return e.IsByReader(); })) return;
    for (auto event = events.begin(); event != middle; event++) Happen(s, *event);

    smc_rx_snapshot before = s.Look();
    // Not without limit: the window is the reader's to give back.
    bool stands =
        smc_snapshot_at_mark(&before) && before.urgent - before.consumed < before.size / 2;
    u64 stood_at = stands ? before.start : UINT64_MAX;
    auto states = StatesOf(s, Events(middle, events.end()));

    LookInEveryWay(states, GetParam(), [&](const smc_rx_snapshot& at) {
      ExpectOrder(at);
      CheckRead(at, s, stood_at);
    });
  });
}

// With no lock, as poll() does: another reader reads, too.
TEST_P(Looking, WhileAnythingHappens) {
  ForEveryHistory(4, [](const Events& events) {
    auto middle = events.begin() + 2;
    Stream s(8, GetParam());

    for (auto event = events.begin(); event != middle; event++) Happen(s, *event);

    auto states = StatesOf(s, Events(middle, events.end()));

    LookInEveryWay(states, GetParam(), [&](const smc_rx_snapshot& at) {
      ExpectOrder(at);
      ASSERT_LE(smc_snapshot_queued(&at), smc_snapshot_readable(&at));
      ASSERT_TRUE(!smc_snapshot_at_mark(&at) || smc_snapshot_readable(&at));
    });
  });
}

// TCP's behaviour with the same bytes: see tcp_check_urg() and tcp_recvmsg_locked().
class Tcp {
 public:
  Tcp(u32 size, bool is_inline) : size_(size), is_inline_(is_inline) {}
  void Publish(u32 bytes, bool is_urgent) {
    if (is_urgent && bytes) {
      // Not without limit, which is this module's: the window is the reader's to
      // give back.
      if (!is_inline_ && AtMark() && urgent_ - consumed_ < size_ / 2) copied_++;
      urgent_ = received_ + bytes;
    }
    received_ += bytes;
  }
  std::vector<u64> Read(size_t len, bool peek) {
    u64 at = copied_;
    std::vector<u64> bytes;

    while (bytes.size() < len && at < received_) {
      if (urgent_ == at + 1) {
        if (!bytes.empty()) break;
        if (!is_inline_) {
          at++;
          continue;
        }
      }
      bytes.push_back(at++);
      // In line, too, nothing but this read stops in front of it.
    }
    if (!peek) consumed_ = copied_ = at;
    return bytes;
  }
  bool AtMark() const { return urgent_ == copied_ + 1 && urgent_ <= received_; }
  u64 Readable() const { return received_ - copied_; }

 private:
  u32 size_;
  bool is_inline_;
  u64 copied_ = 0, consumed_ = 0, received_ = 0, urgent_ = 0;
};

// As smc_stream_read() does. It waits for @target bytes until @wait says that no more will come.
// Return: the bytes' positions.
std::vector<u64> Read(Stream& s, size_t len, u64* pos, bool peek, size_t target,
                      const std::function<bool()>& wait) {
  std::vector<u64> bytes;

  for (int waits = 0; bytes.size() < len;) {
    smc_rx_snapshot at = s.Look();
    u64 piece = smc_snapshot_piece(&at, pos, bytes.size(), len);

    if (!piece) {
      if (smc_snapshot_ends_read(&at, *pos, bytes.size(), target, peek)) break;
      if (!peek) s.Consume(std::max(*pos, s.rx.consumed));
      EXPECT_LT(bytes.size(), target);
      if (!wait()) break;
      EXPECT_LT(++waits, 1000) << "for what is there";
      if (waits == 1000) break;
      continue;
    }
    EXPECT_TRUE(smc_snapshot_holds(&at, *pos, piece));
    for (; piece; piece--) bytes.push_back((*pos)++);
  }
  if (!peek) s.Consume(std::max(*pos, s.rx.consumed));
  return bytes;
}

bool NoMoreComes() { return false; }

TEST_P(Looking, GivesWhatTcpGives) {
  for (u64 seed = 0; seed < 500; seed++) {
    Random random(seed);
    u32 size = 4 + random.UpTo(60);
    Stream s(size, GetParam());
    Tcp tcp(size, GetParam());

    for (int i = 0; i < 100; i++) {
      u32 bytes = random.UpTo(std::min<u32>(s.Room(), 5));
      bool is_urgent = !random.UpTo(2);
      bool peek = !random.UpTo(2);
      size_t len = random.UpTo(10);
      u64 pos;

      switch (random.UpTo(3)) {
        case 0:
        case 1:
          s.Publish(bytes, is_urgent);
          tcp.Publish(bytes, is_urgent);
          break;
        case 2:
          pos = 0;
          ASSERT_EQ(Read(s, len, &pos, peek, 1, NoMoreComes), tcp.Read(len, peek))
              << "seed " << seed;
          break;
        case 3:
          s.Report();
          break;
      }
      smc_rx_snapshot at = s.Look();
      ASSERT_EQ(smc_snapshot_at_mark(&at), tcp.AtMark()) << "seed " << seed;
      ASSERT_EQ(smc_snapshot_readable(&at), tcp.Readable()) << "seed " << seed;
      ASSERT_EQ(s.rx.offset, s.rx.consumed % size);
    }
  }
}

// A reader, others that peek, one behind an offset, and a peer that publishes at any moment: bytes
// come in order, each of them once, and none that was urgent and is not replaced. A read has as
// many as it waits for, but for those that an urgent byte ends, or whose bytes leave no room for
// more.
TEST_P(Looking, LosesNothing) {
  for (u64 seed = 0; seed < 300; seed++) {
    Random random(seed);
    Stream s(4 + random.UpTo(30), GetParam());
    std::vector<u64> got;
    u64 pos = 0, peek_pos = 0;

    before_load = [&] {
      if (random.UpTo(3)) return;
      if (random.Coin()) s.Report();
      s.Publish(random.UpTo(std::min<u32>(s.Room(), 4)), random.Coin());
    };
    for (int i = 0; i < 200; i++) {
      bool peek = random.Coin();
      u64* where = peek ? &peek_pos : &pos;

      // Some begin far behind what is there.
      if (peek && !random.UpTo(3)) peek_pos = s.rx.consumed + random.UpTo(2 * s.rx.size);
      size_t len = random.UpTo(8), target = 1 + random.UpTo(std::max<size_t>(len, 1) - 1);
      bool is_full = false;
      auto wait = [&] {
        if (s.rx.received > *where) return true;
        // One publish at a time.
        auto meanwhile = std::exchange(before_load, nullptr);
        s.Report();
        is_full = !s.Room();
        if (!is_full) s.Publish(1 + random.UpTo(std::min<u32>(s.Room(), 4) - 1), random.Coin());
        before_load = std::move(meanwhile);
        return !is_full;
      };
      std::vector<u64> bytes = Read(s, len, where, peek, target, wait);

      // Only one that peeks from behind all that the ring holds waits for others to read that.
      if (is_full) ASSERT_TRUE(peek && bytes.empty());
      ASSERT_LE(bytes.size(), len);
      if (len && bytes.size() < target && !is_full) {
        ASSERT_FALSE(bytes.empty());
        ASSERT_TRUE((peek && s.IsFull()) || (*where < s.rx.received && s.WasUrgent(*where)));
      }
      for (u64 byte : bytes) {
        ASSERT_TRUE(s.IsInline() || !s.WasUrgent(byte) || byte + 1 < s.LastUrgent());
        if (!peek) got.push_back(byte);
      }
      if (random.Coin()) s.Report();
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
    before_load = nullptr;
    for (u64 byte = 0, next = 0; byte < s.rx.consumed; byte++) {
      if (next < got.size() && got[next] == byte)
        next++;
      else
        ASSERT_TRUE(s.WasUrgent(byte) && !s.IsInline()) << "seed " << seed << " byte " << byte;
    }
  }
}

// The check before a copy is the whole order, and nothing that wraps gets by.
TEST(Place, HoldsOnlyInOrder) {
  smc_rx_snapshot good = {.reported = 10, .consumed = 12, .start = 12, .received = 20, .size = 10};

  EXPECT_TRUE(smc_snapshot_holds(&good, 12, 8));
  EXPECT_TRUE(smc_snapshot_holds(&good, 20, 0));
  EXPECT_FALSE(smc_snapshot_holds(&good, 12, 9));
  EXPECT_FALSE(smc_snapshot_holds(&good, 12, UINT64_MAX));
  EXPECT_FALSE(smc_snapshot_holds(&good, 11, 1));
  EXPECT_FALSE(smc_snapshot_holds(&good, 21, 0));
  EXPECT_FALSE(smc_snapshot_holds(&good, UINT64_MAX, 1));

  smc_rx_snapshot too_much = good, reported_too_much = good;

  too_much.received = 21;
  EXPECT_FALSE(smc_snapshot_holds(&too_much, 12, 1));
  reported_too_much.reported = 13;
  EXPECT_FALSE(smc_snapshot_holds(&reported_too_much, 12, 1));
}

// So is the check before consumed moves, which nothing that wraps gets by either.
TEST(Place, IsConsumedOnlyInOrder) {
  smc_stream_rx good = {.size = 10, .received = 20, .consumed = 12};

  EXPECT_TRUE(smc_rx_may_consume(&good, 12));
  EXPECT_TRUE(smc_rx_may_consume(&good, 20));
  EXPECT_FALSE(smc_rx_may_consume(&good, 11));
  EXPECT_FALSE(smc_rx_may_consume(&good, 21));
  EXPECT_FALSE(smc_rx_may_consume(&good, 0));
  EXPECT_FALSE(smc_rx_may_consume(&good, UINT64_MAX));

  smc_stream_rx too_much = good, ahead = good;

  too_much.received = 30;
  EXPECT_TRUE(smc_rx_may_consume(&too_much, 22));
  EXPECT_FALSE(smc_rx_may_consume(&too_much, 23));
  ahead.consumed = 21;
  EXPECT_TRUE(smc_rx_may_consume(&ahead, 21));
  EXPECT_FALSE(smc_rx_may_consume(&ahead, 20));
}

// Room in the ring is never more than the ring, whatever moves while it is looked at.
TEST(Room, IsBounded) {
  for (u64 seed = 0; seed < 500; seed++) {
    Random random(seed);
    smc_stream_tx tx = {};
    auto move = [&] {
      tx.written += random.UpTo(tx.size - (tx.written - tx.reusable));
      tx.sent += random.UpTo(tx.written - tx.sent);
      tx.delivered = tx.sent;
      if (random.Coin()) smc_tx_reuse(&tx, tx.reusable + random.UpTo(tx.sent - tx.reusable));
    };

    tx.size = tx.peer_size = 1 + random.UpTo(100);
    for (int i = 0; i < 50; i++) {
      before_load = move;
      ASSERT_LE(smc_tx_free(&tx), tx.size);
      ASSERT_LT(smc_tx_unsent(&tx), u64{1} << 32);
      ASSERT_LT(smc_tx_undelivered(&tx), u64{1} << 32);
      before_load = nullptr;
      ASSERT_EQ(smc_tx_free(&tx), tx.size - (tx.written - tx.reusable));
      ASSERT_EQ(smc_tx_unsent(&tx), tx.written - tx.sent);
    }
  }
}

}  // namespace
}  // namespace stream
