// SPDX-License-Identifier: GPL-2.0
// Publishing: every short history of a small stream, and long random ones of larger streams,
// against a model of the path, and of a peer that tells of no more than it has to.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "meanwhile.h"
#include "random.h"
// After what they are to be seen by.
#include "stream/orphan.h"
#include "stream/publish.h"

namespace stream {
namespace {

using wire::Random;

constexpr u8 kDone = SMC_CONN_DONE_WRITING;
constexpr u8 kClosed = SMC_CONN_CLOSED;
constexpr u8 kAbort = SMC_CONN_ABORT;

struct Config {
  const char* name;
  u32 size;             // of the ring
  u32 peer_size;        // of the peer's element
  unsigned int enough;  // bytes that do not wait for a publish in flight
  bool nodelay;
  bool is_unsignaled;   // the path completes nothing that it need not
  bool has_local_peer;  // the ring is the peer's element
};

// A publish on its way.
struct Message {
  u64 end;
  u8 prod_flags;
  u8 conn_flags;
  bool completes;
  bool is_final;  // says something of the end that the peer's host may not know
};

// A stream that sends, and all that is around the decisions in stream/: the rest of the stream, its
// path, and its peer. Everything that they do is checked.
class World {
 public:
  explicit World(const Config& config) : is_unsignaled(config.is_unsignaled), config_(config) {
    tx.size = config.size;
    tx.peer_size = config.peer_size;
    tx.nodelay = config.nodelay;
  }

  // Events. Each returns whether it could happen.
  bool Write() { return Write(1, false, false); }
  bool WriteMore() { return Write(1, false, true); }  // MSG_MORE
  bool WriteUrgent() { return Write(2, true, false); }
  bool Fill();    // a write of more than there is room for, whose writer waits
  bool Credit();  // this end gives window back
  bool Uncork();
  bool Shutdown() { return !IsShut() && End(kDone); }
  bool Close() { return !(tx.end_flags & (kClosed | kAbort)) && End(kDone | kClosed); }
  bool Abort() { return !IsOver() && !(tx.end_flags & kAbort) && End(kAbort); }
  bool BeBusy() { return !std::exchange(is_busy_, true); }  // the path: there is no room,
  bool BeIdle() { return std::exchange(is_busy_, false); }  // now there is,
  bool TellRoom();                                          // and it says so
  bool Deliver();
  bool Complete();
  bool Move();  // the path, to another link: what is under way is lost, and written again
  bool Read() { return Read(peer_.received - peer_.consumed); }
  bool ReadOne() { return Read(1); }
  bool Report();  // the peer: how far it has read
  bool PeerShutdown() { return PeerSays(kDone); }
  bool PeerClose() { return PeerSays(kDone | kClosed); }
  bool PeerAbort() { return PeerSays(kAbort); }
  bool Expire();  // the timer of smc_stream_start_hold_timer()

  // The application writes in the middle of one of the others' events: it has only the socket lock.
  void WriteBeside();
  // And publishes once it has the stream's.
  bool PushBeside();
  // After each event.
  void Check(const World& before) const;
  // After each store.
  void CheckOrder() const;
  // Lets happen no more than has to, then closes: all bytes arrive, and all is said.
  void Finish();
  // Equal in worlds that go on alike.
  std::string State() const;

  smc_stream_tx tx = {};
  bool is_unsignaled;

 private:
  bool IsPeerGone() const { return peer_.said & SMC_CONN_FINAL; }
  bool IsOver() const { return IsPeerGone() && (tx.conn_flags & SMC_CONN_FINAL); }
  bool IsShut() const { return tx.end_flags || IsPeerGone(); }
  u64 Window() const { return peer_.reported + tx.peer_size; }
  u64 Sendable() const { return std::min(tx.written, Window()); }
  // No completion is to come for a writer, nor has the peer a reason to tell of its reading.
  bool LacksCompletion() const {
    return smc_tx_has_writer(&tx) && !tx.in_flight && !is_asking_ && !smc_tx_has_room(&tx);
  }
  bool IsLow(u64 end) const { return Window() - end < tx.peer_size / 3; }
  unsigned int MostInFlight() const { return tx.nodelay ? SMC_NODELAY_PUBLISHES : 1; }
  u8 Unsaid() const { return tx.end_flags & ~tx.conn_flags; }
  bool HasEnded() const;
  bool HasToReport() const;
  bool HasLeft() const { return (tx.conn_flags & SMC_CONN_FINAL) && !MayStillAbort(); }
  bool MayStillAbort() const;

  bool Write(u32 bytes, bool is_urgent, bool is_more);
  void WantRoom();
  void NoteRoom();
  bool End(u8 flags);
  bool Read(u64 bytes);
  bool PeerSays(u8 flags);
  void Push(smc_push how);
  void PushOnce(smc_push how);
  bool Publish(u64 end, u8 final);

  void CheckPushed(const smc_stream_tx& before, smc_push how) const;
  void CheckConnFlags(u64 end, u8 fresh) const;
  void CheckProdFlags(u64 end, u8 flags, u8 fresh) const;
  void CheckWaits() const;
  void CheckOrphan(const World& before) const;
  void Settle();

  Config config_;
  bool is_busy_ = false;
  bool is_starved_ = false;  // the path is to say when there is room
  bool has_timer_ = false;
  bool is_pushed_ = true;           // bytes written beside something else are
  bool is_end_lost_ = false;        // flags of the end were under way when the path moved
  bool has_word_ = false;           // beside bytes and the end there is something to say
  bool is_asking_ = false;          // for window, since the last time when there was enough
  u64 urgent_ = 0;                  // end of the last urgent byte, while it is not published; or 0
  u64 arrived_ = 0;                 // end of what nothing more will be heard of
  u64 completed_ = 0;               // end of what the path needs no more
  std::vector<Message> posted_;     // not delivered
  std::vector<Message> delivered_;  // not completed
  // The peer, and its last message.
  struct {
    u64 received, consumed, reported;
    u8 prod_flags, conn_flags;
    u8 said;
  } peer_ = {};
};

void World::CheckOrder() const {
  ASSERT_TRUE(tx.acked <= tx.sent && tx.sent <= tx.written && tx.sent <= tx.acked + tx.peer_size &&
              tx.written <= tx.reusable + tx.size && tx.delivered <= tx.sent &&
              tx.acked <= tx.reusable && tx.reusable <= tx.sent)
      << "acked " << tx.acked << " sent " << tx.sent << " written " << tx.written << " delivered "
      << tx.delivered << " reusable " << tx.reusable;
  ASSERT_LE(tx.written, std::max(completed_, peer_.reported) + tx.size) << "overwritten";
}

bool World::HasEnded() const {
  auto is_final = [](const Message& m) { return m.is_final; };

  return tx.conn_flags && !is_end_lost_ && std::none_of(posted_.begin(), posted_.end(), is_final) &&
         std::none_of(delivered_.begin(), delivered_.end(), is_final) &&
         ((tx.conn_flags & kAbort) || !Unsaid());
}

// It was asked to, or unasked it is more than a tenth.
bool World::HasToReport() const {
  u64 unreported = peer_.consumed - peer_.reported;

  return unreported && !IsPeerGone() &&
         ((peer_.prod_flags & SMC_PROD_WANT_WINDOW) || unreported > tx.peer_size / 10);
}

bool World::MayStillAbort() const {
  return (tx.conn_flags & SMC_CONN_FINAL) == kClosed && (tx.end_flags & kAbort) && !IsPeerGone();
}

// As smc_stream_write() and smc_stream_push_sent() do.
bool World::Write(u32 bytes, bool is_urgent, bool is_more) {
  if (IsShut() || bytes > smc_tx_free(&tx)) return false;
  if (is_urgent) {
    urgent_ = tx.written + bytes;
    has_word_ = true;
    smc_tx_write_urgent(&tx, bytes);
  } else {
    smc_tx_write(&tx, bytes);
  }
  if (is_more && smc_tx_unsent(&tx) < tx.size / 2)
    has_timer_ = true;
  else
    Push(SMC_PUSH_AUTOCORK);
  return true;
}

bool World::Fill() {
  u32 bytes = smc_tx_free(&tx);

  if (IsShut()) return false;
  if (bytes) smc_tx_write(&tx, bytes);
  WantRoom();
  return true;
}

void World::WriteBeside() {
  if (IsShut() || !smc_tx_free(&tx)) return;
  smc_tx_write(&tx, 1);
  is_pushed_ = false;
}

bool World::PushBeside() {
  if (std::exchange(is_pushed_, true)) return false;
  Push(SMC_PUSH_AUTOCORK);
  return true;
}

// As smc_stream_want_room() does.
void World::WantRoom() {
  smc_tx_want_room(&tx, false);
  Push(SMC_PUSH_NOW);
  if (smc_tx_free(&tx) && !smc_tx_has_room(&tx)) has_timer_ = true;
}

// As smc_stream_note_room() does.
void World::NoteRoom() {
  if (!smc_tx_free(&tx) || !smc_tx_has_writer(&tx)) return;
  if (smc_tx_has_room(&tx))
    WRITE_ONCE(tx.writer, SMC_WRITER_NONE);
  else
    has_timer_ = true;
}

bool World::Credit() {
  smc_tx_request_update(&tx);
  has_word_ = true;
  Push(SMC_PUSH_AUTOCORK);
  return true;
}

bool World::Uncork() {
  Push(SMC_PUSH_NOW);
  return true;
}

bool World::End(u8 flags) {
  smc_tx_end(&tx, flags);
  Push(SMC_PUSH_NOW);
  return true;
}

// As smc_stream_hold_expired() does.
bool World::Expire() {
  if (!std::exchange(has_timer_, false)) return false;
  if (smc_tx_has_writer(&tx) && smc_tx_free(&tx)) {
    WRITE_ONCE(tx.writer, SMC_WRITER_ANY_ROOM);
    EXPECT_TRUE(smc_tx_has_room(&tx) || !is_pushed_);
  }
  Push(SMC_PUSH_NOW);
  return true;
}

bool World::TellRoom() {
  if (is_busy_ || !std::exchange(is_starved_, false)) return false;
  Push(SMC_PUSH_AUTOCORK);
  return true;
}

bool World::Deliver() {
  if (posted_.empty()) return false;
  Message message = posted_.front();

  posted_.erase(posted_.begin());
  if (message.completes) delivered_.push_back(message);
  peer_.received = message.end;
  peer_.prod_flags = message.prod_flags;
  peer_.conn_flags = message.conn_flags;
  return true;
}

// As smc_stream_on_tx_done() does.
bool World::Complete() {
  if (delivered_.empty()) return false;
  Message message = delivered_.front();
  bool had_ended = HasEnded();

  delivered_.erase(delivered_.begin());
  completed_ = arrived_ = message.end;
  bool completes_end = smc_tx_complete(&tx, message.end);
  EXPECT_EQ(completes_end, HasEnded() && !had_ended);
  NoteRoom();
  Push(SMC_PUSH_AUTOCORK);
  return true;
}

// As smc_rdma_conn_move() does.
bool World::Move() {
  if (config_.has_local_peer) return false;
  for (const auto* messages : {&posted_, &delivered_})
    for (const Message& message : *messages) is_end_lost_ |= message.is_final;
  posted_.clear();
  delivered_.clear();
  if (!(tx.conn_flags & SMC_CONN_FINAL) || is_end_lost_) has_word_ = true;
  smc_tx_restart(&tx);
  Push(SMC_PUSH_NOW);
  return true;
}

bool World::Read(u64 bytes) {
  if (IsPeerGone() || !bytes || bytes > peer_.received - peer_.consumed) return false;
  peer_.consumed += bytes;
  return true;
}

// As smc_stream_update() does.
bool World::Report() {
  if (IsPeerGone() || peer_.reported == peer_.consumed) return false;
  peer_.reported = peer_.consumed;
  EXPECT_EQ(smc_tx_acknowledge(&tx, smc_cursor_from_position(peer_.reported, tx.peer_size)), 0);
  EXPECT_EQ(tx.acked, peer_.reported);
  if (!IsLow(tx.sent)) is_asking_ = false;
  NoteRoom();
  if (smc_tx_unsent(&tx) || smc_tx_has_writer(&tx)) Push(SMC_PUSH_AUTOCORK);
  return true;
}

bool World::PeerSays(u8 flags) {
  // Its kernel says no more after its last word, but for a reset that this end can hear of.
  if (!(flags & ~peer_.said) || (peer_.said & kAbort) ||
      (IsPeerGone() && (flags != kAbort || (peer_.conn_flags & SMC_CONN_FINAL))))
    return false;
  peer_.said |= flags;
  if ((flags & kAbort) && !(tx.conn_flags & SMC_CONN_FINAL)) smc_tx_end(&tx, kAbort);
  Push(SMC_PUSH_AUTOCORK);
  return true;
}

void World::Push(smc_push how) {
  smc_stream_tx before = tx;

  PushOnce(how);
  // Bytes that are written beside it may be published or not.
  if (tx.written == before.written && is_pushed_) CheckPushed(before, how);
}

// As smc_stream_push() does.
void World::PushOnce(smc_push how) {
  for (int i = 0; smc_publish_is_allowed(&tx, peer_.said); i++) {
    u64 end = smc_publish_end(&tx);
    u8 final = smc_publish_final(&tx, end, peer_.said);

    if (end == tx.sent && smc_publish_lacks_completion(&tx) && !smc_tx_has_room(&tx))
      smc_tx_request_update(&tx);
    switch (smc_publish_decide(&tx, how, end, final, &config_.enough)) {
      case SMC_DUE_LIMITED:
        has_timer_ = true;
        return;
      case SMC_DUE_NOTHING:
      case SMC_DUE_HELD:
        return;
      case SMC_DUE_NOW:
        break;
    }
    if (!Publish(end, final) || end == READ_ONCE(tx.written)) return;
    ASSERT_LT(i, 100) << "publishes without end";
  }
}

// As smc_publish_once() does, and the path below it. Return: whether it had room.
bool World::Publish(u64 end, u8 final) {
  smc_cdc cdc = {};

  if (is_busy_) {
    is_starved_ = true;
    return false;
  }
  cdc.prod = smc_cursor_advanced(tx.sent_cursor, tx.peer_size, static_cast<u32>(end - tx.sent));
  cdc.prod_flags = smc_publish_prod_flags(&tx, end, final, config_.has_local_peer);
  cdc.conn_flags = tx.conn_flags | final;
  EXPECT_TRUE(end > tx.sent || final || has_word_ || LacksCompletion()) << "says nothing";
  EXPECT_LE(tx.sent, end);
  EXPECT_LE(end, Window());
  CheckConnFlags(end, final);
  CheckProdFlags(end, cdc.prod_flags, final);

  // As smc_rdma_may_be_unsignaled() has it.
  bool quietly = is_unsignaled && !tx.in_flight && !cdc.conn_flags && !smc_tx_has_writer(&tx) &&
                 tx.update != SMC_UPDATE_AGAIN;
  bool completes = !config_.has_local_peer && !quietly;

  bool is_final = std::exchange(is_end_lost_, false) || final;
  posted_.push_back({end, cdc.prod_flags, cdc.conn_flags, completes, is_final});
  is_asking_ |= cdc.prod_flags & SMC_PROD_WANT_WINDOW;
  if (end == urgent_) urgent_ = 0;
  if (!completes) arrived_ = end;
  has_word_ = false;
  smc_tx_publish(&tx, end, &cdc, final, completes);
  if (config_.has_local_peer) Deliver();
  return true;
}

// Nothing is said twice, too early, or after the last word.
void World::CheckConnFlags(u64 end, u8 fresh) const {
  bool is_all = end == tx.written;

  if ((tx.conn_flags & SMC_CONN_FINAL) && is_end_lost_) {
    ASSERT_EQ(end, tx.sent) << "bytes with the last word";
    ASSERT_FALSE(fresh & ~Unsaid());
    ASSERT_FALSE(fresh && (tx.conn_flags & kAbort)) << "after a reset";
    return;
  }
  if (tx.conn_flags & SMC_CONN_FINAL) {
    ASSERT_TRUE(MayStillAbort() && fresh == kAbort && end == tx.sent) << "after the last word";
    return;
  }
  ASSERT_FALSE(fresh & ~Unsaid());
  if (tx.end_flags & kAbort) {
    ASSERT_EQ(end, tx.sent) << "bytes with a reset";
    ASSERT_TRUE(fresh & kAbort);
    // A byte that another thread writes meanwhile is never published.
    ASSERT_TRUE(is_all || !is_pushed_ || fresh == kAbort) << "in good order, without all bytes";
  } else if (is_all || IsPeerGone()) {
    ASSERT_EQ(fresh, Unsaid()) << "with the last byte";
  } else {
    ASSERT_FALSE(fresh) << "before the last byte";
  }
}

void World::CheckProdFlags(u64 end, u8 flags, u8 fresh) const {
  u8 wants = flags & SMC_PROD_WANT_WINDOW;

  if (!urgent_)
    ASSERT_FALSE(flags & SMC_PROD_URGENT);
  else if (end == urgent_)
    ASSERT_EQ(flags & SMC_PROD_URGENT, SMC_PROD_URGENT);
  else
    ASSERT_EQ(flags & SMC_PROD_URGENT, SMC_PROD_URGENT_PENDING);
  ASSERT_TRUE(!urgent_ || end <= urgent_) << "an urgent byte ends its own publish";

  if (((fresh | tx.conn_flags) & kClosed) && end != tx.acked && !config_.has_local_peer)
    ASSERT_EQ(wants, SMC_PROD_UPDATE_REQUESTED);
  else if (IsLow(end))
    ASSERT_EQ(wants, SMC_PROD_WANT_WINDOW);
  else
    ASSERT_TRUE(!wants || is_asking_);
}

// A push leaves nothing that could go, but for little that may wait.
void World::CheckPushed(const smc_stream_tx& before, smc_push how) const {
  u8 unsaid = before.end_flags & ~before.conn_flags;
  u64 end = Sendable();

  if (is_busy_ || IsPeerGone() || (before.conn_flags & SMC_CONN_FINAL) || (tx.end_flags & kAbort))
    return;
  if (how == SMC_PUSH_NOW || before.update != SMC_UPDATE_NONE || (unsaid && end == tx.written)) {
    if (how == SMC_PUSH_NOW || !before.urgent) ASSERT_EQ(tx.sent, end);
  } else if (!before.urgent) {
    bool is_small = end - before.sent < config_.enough;
    bool waits = before.in_flight >= MostInFlight() && is_small;
    bool waits_for_window = end < tx.written && IsLow(before.sent);

    ASSERT_EQ(tx.sent, waits || waits_for_window ? before.sent : end);
    ASSERT_TRUE(waits || !waits_for_window || end == before.sent || has_timer_) << "without limit";
  }
  // The urgent byte goes at once, and what follows it may wait.
  if (before.urgent) {
    u64 first = std::min(before.urgent, Window());

    ASSERT_TRUE(tx.sent == first || tx.sent == end);
  }
}

// Bytes and writers wait for nothing but what will happen.
void World::CheckWaits() const {
  if (is_busy_ || is_starved_) return;
  ASSERT_FALSE(is_end_lost_);
  if (HasLeft() || !is_pushed_) return;
  ASSERT_FALSE(has_word_);
  if (tx.end_flags & kAbort) {
    ASSERT_TRUE(tx.conn_flags & kAbort);
    return;
  }
  if (IsPeerGone()) {
    ASSERT_FALSE(Unsaid());
    return;
  }
  bool is_asked = (tx.prod_flags & SMC_PROD_WANT_WINDOW) && tx.sent > peer_.reported;
  bool is_limited = tx.in_flight || has_timer_;

  if (tx.sent == tx.written)
    ASSERT_FALSE(Unsaid());
  else
    ASSERT_TRUE(is_limited || (tx.sent == Window() && is_asked)) << "bytes";
  if (smc_tx_has_writer(&tx) && !smc_tx_has_room(&tx) && !IsShut())
    ASSERT_TRUE(is_limited || is_asked || tx.sent - peer_.reported > tx.peer_size / 10) << "writer";
}

// An orphan's time begins anew whenever its peer has done something, or is to do something else.
void World::CheckOrphan(const World& before) const {
  smc_orphan_wait wait = smc_orphan_waits_for(&tx);
  u64 now = smc_orphan_progress(&tx, false);
  u64 then = smc_orphan_progress(&before.tx, false);

  ASSERT_LE(then, now);
  ASSERT_LT(now, smc_orphan_progress(&tx, true));
  if (wait != smc_orphan_waits_for(&before.tx)) ASSERT_NE(then, now);
  ASSERT_EQ(wait == SMC_ORPHAN_ANSWER, (tx.end_flags & kAbort) != 0);
  if (wait == SMC_ORPHAN_ANSWER) return;
  ASSERT_EQ(then != now, tx.acked != before.tx.acked ||
                             ((tx.conn_flags ^ before.tx.conn_flags) & SMC_CONN_FINAL));
  ASSERT_EQ(wait == SMC_ORPHAN_END, (tx.conn_flags & kClosed) && peer_.reported == tx.sent);
}

void World::Check(const World& before) const {
  smc_cursor sent = smc_cursor_from_position(tx.sent, tx.peer_size);

  CheckOrder();
  ASSERT_TRUE(tx.sent_cursor.wrap == sent.wrap && tx.sent_cursor.offset == sent.offset);
  ASSERT_EQ(tx.offset, tx.written % tx.size);
  ASSERT_EQ(tx.delivered, arrived_);
  ASSERT_EQ((tx.prod_flags & SMC_PROD_WANT_WINDOW) != 0, is_asking_);
  ASSERT_EQ(smc_tx_end_is_delivered(&tx), HasEnded());
  CheckWaits();
  CheckOrphan(before);
}

void World::Settle() {
  BeIdle();
  for (int i = 0;
       TellRoom() || Deliver() || Complete() || Read() || (HasToReport() && Report()) || Expire();
       i++)
    ASSERT_LT(i, 1000) << "there is no end to it";
}

void World::Finish() {
  World before = *this;

  Settle();
  Check(before);
  if (!IsPeerGone() && !(tx.end_flags & kAbort)) {
    ASSERT_EQ(peer_.received, tx.written);
    ASSERT_TRUE(IsShut() || !smc_tx_has_writer(&tx) || smc_tx_has_room(&tx))
        << "a writer waits for ever";
  }

  if (Close()) Settle();
  Check(before);
  ASSERT_TRUE(HasEnded() || IsOver());
  if (tx.end_flags & kAbort) return;
  ASSERT_EQ(tx.conn_flags, kDone | kClosed);
  if (IsPeerGone()) return;
  ASSERT_EQ(peer_.received, tx.written);
  if (!config_.has_local_peer) ASSERT_EQ(smc_orphan_waits_for(&tx), SMC_ORPHAN_END);

  Abort();
  Settle();
  Check(before);
  ASSERT_TRUE(peer_.conn_flags & kAbort);
}

std::string World::State() const {
  std::string state;
  auto add = [&state](u64 value) { state += static_cast<char>(value); };

  for (u64 value : {tx.written, tx.sent, tx.delivered, tx.acked, tx.reusable, tx.urgent})
    add(value);
  add(tx.in_flight);
  add(tx.ends_in);
  for (u8 flags : {tx.prod_flags, tx.conn_flags, tx.end_flags}) add(flags);
  add(is_end_lost_);
  add(tx.update | tx.writer << 2 | is_busy_ << 4 | is_starved_ << 5 | has_timer_ << 6 |
      has_word_ << 7);
  add(urgent_);
  add(completed_);
  for (u64 value : {peer_.received, peer_.consumed, peer_.reported}) add(value);
  for (u8 flags : {peer_.prod_flags, peer_.conn_flags, peer_.said}) add(flags);
  for (const auto* messages : {&posted_, &delivered_}) {
    add(messages->size());
    for (const Message& m : *messages) {
      add(m.end);
      add(m.prod_flags);
      add(m.conn_flags);
      add(m.completes | m.is_final << 1);
    }
  }
  return state;
}

struct Event {
  const char* name;
  bool (World::*happen)();
};

#define EVENT(name) \
  { #name, &World::name }
// Under the socket lock, in which the application does nothing else.
const Event kCalls[] = {EVENT(Write), EVENT(WriteMore), EVENT(WriteUrgent),
                        EVENT(Fill),  EVENT(Uncork),    EVENT(Credit)};
const Event kOthers[] = {EVENT(BeBusy),   EVENT(BeIdle), EVENT(TellRoom), EVENT(Deliver),
                         EVENT(Complete), EVENT(Read),   EVENT(ReadOne),  EVENT(Report),
                         EVENT(Expire),   EVENT(Move)};
const Event kEnds[] = {EVENT(Shutdown),     EVENT(Close),     EVENT(Abort),
                       EVENT(PeerShutdown), EVENT(PeerClose), EVENT(PeerAbort)};
#undef EVENT

const Config kConfigs[] = {
    {"Corking", 2, 4, 2, false, false, false},   {"Nodelay", 8, 8, 3, true, false, false},
    {"NeverHeld", 4, 4, 0, false, false, false}, {"Quiet", 2, 32, 2, false, true, false},
    {"Local", 4, 4, 2, false, false, true},
};

// The positions of the current world are in order after each store.
class OrderedStores : public testing::Test {
 protected:
  OrderedStores() {
    after_store = [this](const void*) { current->CheckOrder(); };
  }
  ~OrderedStores() override { after_store = nullptr; }

  World* current = nullptr;
};

class RandomPublishing : public OrderedStores {};

class Publishing : public OrderedStores, public testing::WithParamInterface<Config> {
 protected:
  void Finish(const World& world) {
    World end = world;

    current = &end;
    end.Finish();
  }
};

template <size_t N>
const Event& Any(const Event (&events)[N], Random& random) {
  return events[random.UpTo(N - 1)];
}

Config RandomConfig(Random& random) {
  Config config = {};

  config.size = 4 + random.UpTo(28);
  config.peer_size = config.size << random.UpTo(3);
  config.enough = random.UpTo(config.size);
  config.nodelay = random.Coin();
  config.has_local_peer = config.size == config.peer_size && random.Coin();
  return config;
}

INSTANTIATE_TEST_SUITE_P(, Publishing, testing::ValuesIn(kConfigs),
                         [](const auto& info) { return info.param.name; });

// Every history of so many events; those that lead to the same go on as one.
TEST_P(Publishing, InEveryShortHistory) {
  constexpr int kLength = 5;
  struct Past {
    World world;
    std::string events;
  };
  std::vector<Past> pasts = {{World(GetParam()), ""}};
  std::unordered_set<std::string> seen;
  std::vector<Event> events(std::begin(kCalls), std::end(kCalls));

  events.insert(events.end(), std::begin(kOthers), std::end(kOthers));
  events.insert(events.end(), std::begin(kEnds), std::end(kEnds));
  for (int i = 0; i < kLength; i++) {
    std::vector<Past> longer;

    for (const Past& past : pasts) {
      for (const Event& event : events) {
        World next = past.world;

        current = &next;
        if (!(next.*event.happen)()) continue;
        next.Check(past.world);
        bool is_new = seen.insert(next.State()).second;
        if (is_new) Finish(next);
        ASSERT_FALSE(HasFailure()) << past.events << event.name;
        if (is_new && i + 1 < kLength) longer.push_back({next, past.events + event.name + " "});
      }
    }
    pasts = std::move(longer);
  }
}

// Long histories of larger streams, while another thread writes whenever something is looked at.
TEST_F(RandomPublishing, WhileAnotherThreadWrites) {
  for (u64 seed = 0; seed < 500; seed++) {
    Random random(seed);
    Config config = RandomConfig(random);
    World world(config);
    std::string events;

    current = &world;
    for (int i = 0; i < 200; i++) {
      u64 kind = random.UpTo(99);
      const Event& event = !kind       ? Any(kEnds, random)
                           : kind < 36 ? Any(kCalls, random)
                                       : Any(kOthers, random);
      World before = world;

      world.is_unsignaled = random.Coin();
      // A call has the socket lock.
      if (kind >= 36 && random.Coin()) {
        before_load = [&] {
          if (!random.UpTo(5)) world.WriteBeside();
        };
      }
      bool could = (world.*event.happen)();
      before_load = nullptr;
      if (could) {
        world.Check(before);
        events = events + " " + event.name;
      }
      before = world;
      if (world.PushBeside()) world.Check(before);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << events;
    }
    world.Finish();
    ASSERT_FALSE(HasFailure()) << "seed " << seed << events;
  }
}

// It may come again, without the bytes that it left out.
TEST(LastWord, HasNoBytes) {
  for (u8 said : {kClosed, kAbort}) {
    smc_stream_tx tx = {};

    tx.size = tx.peer_size = 8;
    tx.sent = 4;
    tx.written = 8;
    tx.conn_flags = tx.end_flags = said;
    EXPECT_FALSE(smc_publish_is_allowed(&tx, kClosed));
    tx.update = SMC_UPDATE_AGAIN;
    EXPECT_TRUE(smc_publish_is_allowed(&tx, kClosed));
    EXPECT_EQ(smc_publish_end(&tx), 4u);
  }
}

// A writer is not woken for a little room, unless there is no more to come.
TEST(Room, IsWorthWaking) {
  for (u32 size : {1, 2, 3, 8, 32}) {
    for (u32 peer_size : {size, 4 * size, 16 * size}) {
      for (u32 used = 0; used <= size; used++) {
        smc_stream_tx tx = {};
        bool is_third = size - used >= size / 3;

        tx.size = size;
        tx.peer_size = peer_size;
        tx.reusable = 100;
        tx.written = 100 + used;
        EXPECT_EQ(smc_tx_has_room(&tx), used < size && (is_third || used <= peer_size / 10))
            << used << " of " << size << ", " << peer_size;
        tx.writer = SMC_WRITER_ANY_ROOM;
        EXPECT_EQ(smc_tx_has_room(&tx), used < size);
      }
    }
  }
}

// A peer may claim an element of half a GiB, of which a tenth is more than any ring.
TEST(Room, IsNotWhatTheElementIsClaimedToBe) {
  constexpr u32 kSize = 512 << 10;
  smc_stream_tx tx = {};

  tx.size = kSize;
  tx.peer_size = smc_size_class_bytes(SMC_SIZE_CLASS_PEER_MAX);
  tx.written = kSize - 1;
  EXPECT_FALSE(smc_tx_has_room(&tx));
  tx.written = kSize * 2 / 3;
  EXPECT_TRUE(smc_tx_has_room(&tx));
}

// A peer that says it consumed what it was not sent, or consumes it twice, changes nothing.
TEST(Acknowledging, TakesOnlyWhatIsSent) {
  constexpr u32 kSize = 8;

  for (u64 acked = 0; acked < 2 * kSize; acked++) {
    for (u64 sent = acked; sent <= acked + kSize; sent++) {
      smc_stream_tx tx = {};

      tx.size = tx.peer_size = kSize;
      tx.acked = tx.reusable = acked;
      tx.sent = tx.written = sent;
      tx.acked_cursor = smc_cursor_from_position(acked, kSize);
      for (u16 wrap = 0; wrap < 5; wrap++) {
        for (u32 offset = 0; offset < 2 * kSize; offset++) {
          u64 pos = wrap * kSize + offset;
          bool is_good = offset < kSize && acked <= pos && pos <= sent;
          smc_stream_tx after = tx;

          EXPECT_EQ(smc_tx_acknowledge(&after, {wrap, offset}), is_good ? 0 : -EPROTO);
          EXPECT_EQ(after.acked, is_good ? pos : acked);
          EXPECT_EQ(after.reusable, after.acked);
        }
      }
    }
  }
}

}  // namespace
}  // namespace stream
