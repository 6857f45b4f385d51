// SPDX-License-Identifier: GPL-2.0
#include "kernel.h"

#include "admin/stats.h"
#include "pair.h"
#include "stream/internal.h"

struct message {
	struct smc_cdc cdc;
	u64 begin;
	u64 end;
	bool is_unsignaled;		/* no completion follows */
	bool is_repeat;			/* bytes once more, of which the stream does not know */
};

struct end {
	struct smc_stream st;
	struct pair *pair;
	struct end *peer;
	spinlock_t own_lock;
	u8 *element;
	u8 *ring;

	/* Published, by number; PAIR_SLOTS are kept. */
	struct message sent[PAIR_SLOTS];
	unsigned int n_sent;
	unsigned int n_landed;
	unsigned int n_completed;
	unsigned int n_delivered;
	bool wants_slot;	/* the stream was told -EAGAIN */
	bool is_full;		/* it is told so even if slots are free */
	bool is_lost;
	bool resumes;		/* moved, and not all is sent again that may be lost */
	u64 repeat_from;	/* from where it is, while @resumes */
	bool omits;		/* bytes from there on are neither written again nor reported */
	u64 urgent_end;		/* of the last urgent byte that was published, or 0 */
	unsigned int n_published;
	u64 n_bytes;
	struct smc_cdc last;	/* of those published */

	bool is_over;
	bool is_over_in_order;
	bool is_freed;
	bool is_closed;
	bool is_orphan;

	struct socket sock;
	struct tcp_sock tcp;
	struct socket_wq wq;
};

struct pair {
	enum pair_kind kind;
	bool is_unsignaled;
	spinlock_t lock;
	struct net net;
	struct smc_net sn;
	struct smc_stats stats;
	struct end ends[2];
};

static struct end *end_of(struct smc_stream *st)
{
	return container_of(st, struct end, st);
}

/* The path. */

static void end_count(struct end *end, u64 pos, const struct smc_cdc *cdc)
{
	end->n_published++;
	end->n_bytes += pos - end->st.tx.sent;
	end->last = *cdc;
}

static bool end_has_slot(const struct end *end)
{
	return !end->is_full &&
	       end->n_sent - min(end->n_completed, end->n_delivered) < PAIR_SLOTS;
}

/* Return: whether there was room. */
static bool end_post(struct end *end, const struct message *message)
{
	end->wants_slot = !end_has_slot(end);
	if (end->wants_slot)
		return false;
	end->sent[end->n_sent++ % PAIR_SLOTS] = *message;
	return true;
}

/* As smc_rdma_resume() does it. Behind an urgent byte there is word of it, and of no other. */
static int wire_resume(struct end *from)
{
	const struct smc_stream *st = &from->st;

	for (;;) {
		struct message message = { .is_unsignaled = true, .is_repeat = true };

		from->repeat_from = max(from->repeat_from, st->tx.acked);
		from->omits = smc_stream_both_sent_final(st) && from->repeat_from < st->tx.sent;
		if (from->repeat_from == st->tx.sent || from->omits)
			break;
		message.begin = from->repeat_from;
		message.end = st->tx.sent;
		if (from->urgent_end > message.begin) {
			message.end = from->urgent_end;
			message.cdc.prod = smc_cursor_from_position(message.end, st->tx.peer_size);
			message.cdc.cons = st->rx.reported_cursor;
			message.cdc.prod_flags = SMC_PROD_URGENT;
		}
		if (!end_post(from, &message))
			return -EAGAIN;
		from->repeat_from = message.end;
	}
	from->resumes = false;
	return 0;
}

static int wire_publish(struct smc_stream *st, u64 end, struct smc_cdc *cdc)
{
	struct message message = { .cdc = *cdc, .begin = st->tx.sent, .end = end };
	struct end *from = end_of(st);

	KERNEL_EXPECT(!from->is_over);
	if (from->is_lost)
		return -ENOLINK;
	if (from->resumes && wire_resume(from))
		return -EAGAIN;
	if (from->omits)
		message.cdc.prod = smc_cursor_from_position(from->repeat_from, st->tx.peer_size);
	message.is_unsignaled = from->pair->is_unsignaled && !st->tx.in_flight &&
				!cdc->conn_flags && !smc_tx_has_writer(&st->tx) &&
				st->tx.update != SMC_UPDATE_AGAIN &&
				!smc_stream_watches_delivery(st);
	if (!end_post(from, &message))
		return -EAGAIN;
	if (!message.is_unsignaled)
		smc_stream_get(st);
	if (cdc->prod_flags & SMC_PROD_URGENT_PRESENT)
		from->urgent_end = end;
	end_count(from, end, cdc);
	return message.is_unsignaled ? SMC_PUBLISH_DONE : SMC_PUBLISH_BEGUN;
}

static int mates_publish(struct smc_stream *st, u64 end, struct smc_cdc *cdc)
{
	struct end *from = end_of(st);

	KERNEL_EXPECT(!from->is_over && st->local_peer);
	end_count(from, end, cdc);
	smc_stream_update(st->local_peer, cdc);
	return SMC_PUBLISH_DONE;
}

static bool pair_describe(struct smc_stream *st, struct smc_path_info *info)
{
	(void)st;
	(void)info;
	return false;
}

static void pair_orphan(struct smc_stream *st)
{
	struct end *end = end_of(st);

	KERNEL_EXPECT(end->is_closed && !end->is_orphan && !st->lock->is_held);
	end->is_orphan = true;
}

static void end_note_over(struct end *end)
{
	KERNEL_EXPECT(!end->is_over && !end->st.lock->is_held);
	end->is_over = true;
	end->is_over_in_order = !smc_stream_has_failed(&end->st) && !end->is_lost;
}

static void wire_over(struct smc_stream *st)
{
	end_note_over(end_of(st));
	smc_stream_put(st);
}

/* The local peer of one that ends before both have had their last word loses its path, too. */
static void mates_over(struct smc_stream *st)
{
	struct smc_stream *local_peer;
	bool is_lost;

	end_note_over(end_of(st));
	spin_lock_bh(st->lock);
	local_peer = st->local_peer;
	st->local_peer = NULL;
	is_lost = local_peer && !smc_stream_is_over(local_peer);
	spin_unlock_bh(st->lock);
	if (is_lost)
		smc_stream_on_lost(local_peer, ECONNRESET);
	if (local_peer)
		smc_stream_put(local_peer);
	smc_stream_put(st);
}

static void pair_free_end(struct smc_stream *st)
{
	struct end *end = end_of(st);

	KERNEL_EXPECT(end->is_over && end->is_closed && !end->is_freed);
	KERNEL_EXPECT(!timer_pending(&st->hold_timer) && !timer_pending(&st->user_timer) &&
		      !delayed_work_pending(&st->end_work));
	end->is_freed = true;
}

static const struct smc_path_ops wire_ops = {
	.kind	  = SMC_PATH_R,
	.publish  = wire_publish,
	.describe = pair_describe,
	.orphan	  = pair_orphan,
	.over	  = wire_over,
	.free	  = pair_free_end,
};

static const struct smc_path_ops mates_ops = {
	.kind	  = SMC_PATH_D,
	.publish  = mates_publish,
	.describe = pair_describe,
	.orphan	  = pair_orphan,
	.over	  = mates_over,
	.free	  = pair_free_end,
};

/* The bytes are still the sender's to read, and the receiver's element is still to be written. */
static void message_land(struct end *from, const struct message *message)
{
	struct end *to = from->peer;
	u64 pos;

	/* It may be over before this end hears of it. Nobody has got its element yet. */
	if (to->is_over && message->is_repeat)
		return;
	KERNEL_EXPECT(!to->is_over_in_order || message->begin == message->end);
	for (pos = message->begin; pos < message->end; pos++)
		to->element[pos % to->st.rx.size] = from->ring[pos % from->st.tx.size];
}

bool pair_land(struct end *from)
{
	if (from->is_lost || from->n_landed == from->n_sent)
		return false;
	message_land(from, &from->sent[from->n_landed % PAIR_SLOTS]);
	from->n_landed++;
	return true;
}

static void end_offer_slot(struct end *end)
{
	if (!end->wants_slot || !end_has_slot(end))
		return;
	end->wants_slot = false;
	if (!end->is_over)
		smc_stream_on_tx_room(&end->st);
}

bool pair_complete(struct end *from)
{
	const struct message *message = &from->sent[from->n_completed % PAIR_SLOTS];

	if (from->is_lost || from->n_completed == from->n_landed)
		return false;
	from->n_completed++;
	if (!message->is_unsignaled) {
		smc_stream_on_tx_done(&from->st, message->end);
		smc_stream_put(&from->st);
	}
	end_offer_slot(from);
	return true;
}

/* Of bytes that come once more there is only word of an urgent one, unless it has come before. */
static bool message_is_news(const struct end *to, const struct message *message)
{
	return !message->is_repeat ||
	       (message->cdc.prod_flags && message->end > to->st.rx.received);
}

static void end_hear(struct end *end, const struct smc_cdc *cdc)
{
	spin_lock_bh(end->st.lock);
	smc_stream_update(&end->st, cdc);
	smc_stream_unlock(&end->st);
}

bool pair_deliver(struct end *from)
{
	const struct message *message = &from->sent[from->n_delivered % PAIR_SLOTS];
	struct smc_cdc cdc = message->cdc;
	struct end *to = from->peer;

	if (from->n_delivered == from->n_landed)
		return false;
	/* As smc_rdma_conn_hold_producer() does it. */
	if (from->omits)
		cdc.prod = to->st.rx.received_cursor;
	if (!to->is_over && !to->is_lost && message_is_news(to, message))
		end_hear(to, &cdc);
	from->n_delivered++;
	end_offer_slot(from);
	return true;
}

void pair_run(struct pair *pair)
{
	bool any;
	int i;

	do {
		any = false;
		for (i = 0; i < 2; i++) {
			any |= pair_land(&pair->ends[i]);
			any |= pair_deliver(&pair->ends[i]);
			any |= pair_complete(&pair->ends[i]);
		}
		any |= kernel_advance(0);
	} while (any);
}

/* None of them completes any more. */
static void end_drop_completions(struct end *end)
{
	for (; end->n_completed != end->n_sent; end->n_completed++)
		if (!end->sent[end->n_completed % PAIR_SLOTS].is_unsignaled)
			smc_stream_put(&end->st);
}

void end_move(struct end *end)
{
	struct smc_stream *st = &end->st;

	if (end->pair->kind != PAIR_WIRE || end->is_lost || end->is_over)
		return;
	smc_stream_get(st);
	end_drop_completions(end);
	end->n_sent = end->n_landed;
	end->n_completed = end->n_landed;
	spin_lock_bh(st->lock);
	/* As smc_rdma_conn_move() does it. */
	end->resumes = true;
	end->repeat_from = st->tx.reusable;
	smc_stream_restart(st);
	smc_stream_unlock(st);
	smc_stream_put(st);
}

void end_set_full(struct end *end, bool is_full)
{
	end->is_full = is_full;
	end_offer_slot(end);
}

/* Messages under way arrive nowhere, and do not complete. */
static void end_drop_messages(struct end *end)
{
	end_drop_completions(end);
	end->n_landed = end->n_sent;
	end->n_delivered = end->n_sent;
}

void end_lose(struct end *end, int err)
{
	if (end->is_lost || end->is_over)
		return;
	end->is_lost = true;
	smc_stream_on_lost(&end->st, err);
	end_drop_messages(end);
}

void end_forge(struct end *end, u32 ahead, u8 prod_flags, u8 conn_flags)
{
	struct smc_cdc cdc = {
		.prod = smc_cursor_advanced(end->st.rx.received_cursor, end->st.rx.size, ahead),
		.cons = end->st.tx.acked_cursor,
		.prod_flags = prod_flags,
		.conn_flags = conn_flags,
	};

	end_hear(end, &cdc);
}

/* Making both. */

static void pair_follow(struct sock *sk)
{
	(void)sk;
}

static void end_make_socket(struct end *end)
{
	struct sock *sk = &end->tcp.icsk.sk;

	sk->ref.n = 1;
	sk->sk_wq = &end->wq;
	sk->sk_rcvlowat = 1;
	sk->sk_peek_off = -1;
	end->tcp.notsent_lowat = UINT_MAX;
	end->sock.sk = sk;
	smc_stream_get(&end->st);
	smc_stream_attach(&end->st, sk, end == end->pair->ends ? SMC_CLIENT : SMC_SERVER,
			  pair_follow);
}

static void end_make(struct end *end, const struct pair_setup *setup, int which)
{
	struct pair *pair = end->pair;
	bool is_wire = pair->kind == PAIR_WIRE;
	struct smc_stream *st = &end->st;

	smc_stream_init(st, is_wire ? &wire_ops : &mates_ops, &pair->net,
			is_wire ? &end->own_lock : &pair->lock);
	st->rx.ring = end->element;
	st->rx.size = setup->element[which];
	st->tx.peer_size = setup->element[!which];
	st->tx.size = is_wire ? setup->ring[which] : st->tx.peer_size;
	if (is_wire)
		st->tx.publish_max = 4096;
	if (is_wire)
		end->ring = calloc(1, st->tx.size);
	st->tx.ring = is_wire ? end->ring : end->peer->element;
}

struct pair *pair_make(const struct pair_setup *setup)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	int i;

	pair->kind = setup->kind;
	pair->is_unsignaled = setup->is_unsignaled;
	pair->net.smc = &pair->sn;
	pair->sn.stats = &pair->stats;
	pair->sn.sysctl.autocorking_size = 64;
	for (i = 0; i < 2; i++) {
		pair->ends[i].pair = pair;
		pair->ends[i].peer = &pair->ends[!i];
		pair->ends[i].element = calloc(1, setup->element[i]);
	}
	for (i = 0; i < 2; i++)
		end_make(&pair->ends[i], setup, i);
	for (i = 0; i < 2 && pair->kind == PAIR_LOCAL; i++) {
		smc_stream_get(&pair->ends[!i].st);
		pair->ends[i].st.local_peer = &pair->ends[!i].st;
	}
	for (i = 0; i < 2; i++)
		end_make_socket(&pair->ends[i]);
	return pair;
}

void pair_free(struct pair *pair)
{
	int i;

	for (i = 0; i < 2; i++)
		end_lose(&pair->ends[i], ECONNRESET);
	for (i = 0; i < 2; i++)
		if (!pair->ends[i].is_closed)
			end_close(&pair->ends[i], 0);
	for (i = 0; i < 2; i++)
		end_drop_messages(&pair->ends[i]);
	kernel_advance(0);
	for (i = 0; i < 2; i++) {
		KERNEL_EXPECT(pair->ends[i].is_freed);
		KERNEL_EXPECT(pair->ends[i].tcp.icsk.sk.ref.n == 1);
		free(pair->ends[i].element);
		free(pair->ends[i].ring);
	}
	KERNEL_EXPECT(!atomic_read(&pair->sn.orphans) && !tcp_orphan_count);
	KERNEL_EXPECT(!kernel_has_timers());
	free(pair);
}

struct end *pair_end(struct pair *pair, int which)
{
	return &pair->ends[which];
}

/* The application. */

ssize_t end_send(struct end *end, const void *bytes, size_t len, int flags)
{
	struct msghdr msg = { .msg_iter = { (u8 *)bytes, len }, .msg_flags = flags };
	ssize_t rc;

	lock_sock(end->st.sk);
	rc = smc_stream_send(&end->st, &msg, len);
	release_sock(end->st.sk);
	return rc;
}

ssize_t end_recv(struct end *end, void *bytes, size_t len, int flags)
{
	struct msghdr msg = { .msg_iter = { bytes, len }, .msg_flags = flags };
	u64 arrival;
	ssize_t rc;

	lock_sock(end->st.sk);
	rc = smc_stream_recv(&end->st, &msg, len, flags, &arrival);
	release_sock(end->st.sk);
	return rc;
}

ssize_t end_splice(struct end *end, void *bytes, size_t len, bool may_wait)
{
	struct pipe_inode_info pipe = { .to = { bytes, len } };
	ssize_t rc;

	lock_sock(end->st.sk);
	rc = smc_stream_splice(&end->st, &pipe, len, may_wait ? LONG_MAX : 0);
	release_sock(end->st.sk);
	return rc;
}

void end_shutdown(struct end *end, int how)
{
	lock_sock(end->st.sk);
	smc_stream_shutdown(&end->st, how);
	release_sock(end->st.sk);
}

static void end_finish(struct end *end, bool by_reset, long linger, struct socket *sock)
{
	struct smc_stream *st = &end->st;
	bool is_done;

	KERNEL_EXPECT(!end->is_closed);
	lock_sock(st->sk);
	is_done = smc_stream_close(st, by_reset || smc_stream_closes_by_reset(st), linger);
	release_sock(st->sk);
	end->is_closed = true;
	if (is_done) {
		end->sock.is_released = true;
		smc_stream_put(st);
		return;
	}
	if (!smc_stream_may_be_orphan(st))
		smc_stream_abort(st, ECONNABORTED);
	smc_stream_orphan(st, sock);
}

void end_close(struct end *end, long linger)
{
	end_finish(end, false, linger, &end->sock);
}

void end_close_by_reset(struct end *end)
{
	end_finish(end, true, 0, &end->sock);
}

bool end_disconnect(struct end *end)
{
	bool by_reset;
	int err;

	lock_sock(end->st.sk);
	by_reset = smc_stream_disconnect(&end->st, &err);
	release_sock(end->st.sk);
	return by_reset;
}

void end_abort(struct end *end, int err)
{
	smc_stream_abort(&end->st, err);
}

unsigned int end_poll(struct end *end)
{
	return smc_stream_poll(&end->st);
}

bool end_at_mark(const struct end *end)
{
	return smc_stream_at_mark(&end->st);
}

uint64_t end_queued(const struct end *end)
{
	return smc_stream_queued(&end->st);
}

uint64_t end_unsent(const struct end *end)
{
	return smc_tx_unsent(&end->st.tx);
}

uint64_t end_undelivered(const struct end *end)
{
	return smc_tx_undelivered(&end->st.tx);
}

void end_set_cork(struct end *end, bool is_corked)
{
	end->tcp.nonagle = is_corked ? TCP_NAGLE_CORK : 0;
	if (!is_corked)
		smc_stream_uncork(&end->st);
}

void end_set_nodelay(struct end *end)
{
	end->tcp.nonagle |= TCP_NAGLE_OFF;
}

void end_set_oobinline(struct end *end)
{
	end->tcp.icsk.sk.sk_flags |= BIT(SOCK_URGINLINE);
}

void end_set_rcvlowat(struct end *end, int bytes)
{
	end->tcp.icsk.sk.sk_rcvlowat = bytes;
	smc_stream_notify_readers(&end->st);
}

void end_set_user_timeout(struct end *end, unsigned int ms)
{
	end->tcp.icsk.icsk_user_timeout = ms;
	smc_stream_set_user_timeout(&end->st);
}

void end_set_notsent_lowat(struct end *end, u32 bytes)
{
	end->tcp.notsent_lowat = bytes;
	smc_stream_notify_writers(&end->st);
}

/* The state of an end, for tests. */

unsigned int end_told(struct end *end)
{
	return xchg(&end->wq.wait.told, 0);
}

int end_error(const struct end *end)
{
	return end->tcp.icsk.sk.sk_err;
}

unsigned int end_urgent_signals(const struct end *end)
{
	return end->tcp.icsk.sk.urgent_signals;
}

bool end_is_over(const struct end *end)
{
	return end->is_over;
}

bool end_is_freed(const struct end *end)
{
	return end->is_freed;
}

bool end_is_closed(const struct end *end)
{
	return smc_stream_is_closed(&end->st);
}

bool end_is_reset(const struct end *end)
{
	return smc_stream_is_reset(&end->st);
}

bool end_has_failed(const struct end *end)
{
	return smc_stream_has_failed(&end->st);
}

bool end_has_ended(const struct end *end)
{
	return smc_stream_end_is_delivered(&end->st);
}

bool end_tcp_is_released(const struct end *end)
{
	return end->sock.is_released;
}

unsigned int end_published(const struct end *end)
{
	return end->n_published;
}

uint64_t end_published_bytes(const struct end *end)
{
	return end->n_bytes;
}

uint8_t end_last_prod_flags(const struct end *end)
{
	return end->last.prod_flags;
}

uint8_t end_last_conn_flags(const struct end *end)
{
	return end->last.conn_flags;
}

uint8_t end_peer_conn_flags(const struct end *end)
{
	return end->st.rx.conn_flags;
}

unsigned int pair_violations(const struct pair *pair)
{
	unsigned int i, n = 0;

	for (i = 0; i < SMC_N_VIOLATIONS; i++)
		n += pair->stats.violation[i];
	return n;
}

/* The conditions that have to hold. */

#define MUST_HOLD(x)		\
	do {			\
		if (!(x))	\
			return #x;	\
	} while (0)

static bool cursor_is_at(struct smc_cursor cursor, u64 pos, u32 size)
{
	struct smc_cursor want = smc_cursor_from_position(pos, size);

	return cursor.wrap == want.wrap && cursor.offset == want.offset;
}

static const char *tx_broken(const struct smc_stream_tx *tx)
{
	MUST_HOLD(tx->acked <= tx->sent);
	MUST_HOLD(tx->sent <= tx->written);
	MUST_HOLD(tx->sent <= tx->acked + tx->peer_size);
	MUST_HOLD(tx->written <= tx->reusable + tx->size);
	MUST_HOLD(tx->delivered <= tx->sent);
	MUST_HOLD(tx->reusable <= tx->sent);
	MUST_HOLD(tx->offset == tx->written % tx->size);
	MUST_HOLD(cursor_is_at(tx->sent_cursor, tx->sent, tx->peer_size));
	MUST_HOLD(cursor_is_at(tx->acked_cursor, tx->acked, tx->peer_size));
	return NULL;
}

static const char *rx_broken(const struct smc_stream_rx *rx)
{
	MUST_HOLD(rx->reported <= rx->consumed);
	MUST_HOLD(rx->consumed <= rx->received);
	MUST_HOLD(rx->received <= rx->reported + rx->size);
	MUST_HOLD(rx->urgent_skip <= rx->received);
	MUST_HOLD(rx->offset == rx->consumed % rx->size);
	MUST_HOLD(cursor_is_at(rx->received_cursor, rx->received, rx->size));
	MUST_HOLD(cursor_is_at(rx->reported_cursor, rx->reported, rx->size));
	return NULL;
}

/* Neither end knows more of the other than that has done. */
static const char *end_broken(const struct end *end)
{
	const struct smc_stream_tx *tx = &end->st.tx;
	const struct smc_stream_rx *rx = &end->peer->st.rx;

	MUST_HOLD(!end->st.lock->is_held && !end->tcp.icsk.sk.is_owned);
	MUST_HOLD(rx->received <= tx->sent);
	MUST_HOLD(tx->acked <= rx->reported);
	MUST_HOLD(!end->is_freed || end->is_over);
	return NULL;
}

const char *pair_broken(const struct pair *pair)
{
	const char *broken = NULL;
	int i;

	for (i = 0; i < 2 && !broken; i++)
		broken = tx_broken(&pair->ends[i].st.tx) ? : rx_broken(&pair->ends[i].st.rx) ? :
			 end_broken(&pair->ends[i]);
	return broken;
}
