// SPDX-License-Identifier: GPL-2.0
/* Create, attach and end a stream, and handle the events that its path reports. */

#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/sock.h>

#include "admin/stats.h"
#include "internal.h"
#include "rx_timestamp.h"
#include "trace.h"

/* As with TCP's sk_data_ready, normal and urgent bytes alike wake the waiters for both. */
#define SMC_EVENTS_BYTES	(EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLRDBAND)

static void smc_stream_hold_expired(struct timer_list *timer);

static void smc_stream_end_work(struct work_struct *work)
{
	struct smc_stream *st = container_of(to_delayed_work(work), struct smc_stream, end_work);

	if (READ_ONCE(st->state.app) == SMC_APP_ORPHAN)
		smc_stream_check_orphan(st);
	else
		smc_stream_check_local_peer(st);
}

void smc_stream_init(struct smc_stream *st, const struct smc_path_ops *path, struct net *net,
		     spinlock_t *lock)
{
	st->path = path;
	st->sn = smc_net(net);
	st->stats = smc_stat_path(st->sn, path->kind);
	st->lock = lock;
	st->tx.publish_max = U32_MAX;
	/* Nothing is sent before the size of the peer's element is known, so any size will do. */
	st->tx.peer_size = SMC_SIZE_CLASS_MIN_BYTES;
	kref_init(&st->ref);
	INIT_DELAYED_WORK(&st->end_work, smc_stream_end_work);
	timer_setup(&st->hold_timer, smc_stream_hold_expired, 0);
	timer_setup(&st->user_timer, smc_stream_check_user_timeout, 0);
}

static void smc_stream_free(struct kref *ref)
{
	struct smc_stream *st = container_of(ref, struct smc_stream, ref);
	struct sock *sk = st->sk;

	kfree(st->stamps);
	kfree(st->arrivals);
	/*
	 * ->free() updates counters of the namespace. The socket holds the namespace, so put
	 * the socket last.
	 */
	st->path->free(st);
	if (sk)
		sock_put(sk);
}

void smc_stream_get(struct smc_stream *st)
{
	kref_get(&st->ref);
}

void smc_stream_put(struct smc_stream *st)
{
	kref_put(&st->ref, smc_stream_free);
}

/*
 * Record the arrival time of the bytes from @begin on, if the socket asks for it. The stream's lock
 * has been held since before the bytes became readable.
 */
static noinline void smc_stream_note_arrival(struct smc_stream *st, u64 begin)
{
	bool asks = smc_stream_asks_for_arrivals(st);

	lockdep_assert_held(st->lock);
	/*
	 * Nothing tells the stream when its socket begins to ask for arrival times, so check at
	 * each arrival.
	 */
	if (asks && !st->arrivals)
		WRITE_ONCE(st->arrivals, kzalloc(sizeof(*st->arrivals), GFP_ATOMIC));
	if (st->arrivals)
		smc_rx_timestamps_note(st->arrivals, begin, asks ? ktime_get_real_ns() : 0,
				       READ_ONCE(st->rx.consumed));
}

void smc_stream_attach(struct smc_stream *st, struct sock *sk, enum smc_role role,
		       void (*notify)(struct sock *sk))
{
	sock_hold(sk);
	smc_stream_spin_begin(st, role);

	spin_lock_bh(st->lock);
	st->notify = notify;
	/* Pairs with smc_stream_report(). */
	smp_store_release(&st->sk, sk);
	smc_state_advance_app(&st->state, st->lock, SMC_APP_ATTACHED);
	if (st->err)
		WRITE_ONCE(sk->sk_err, st->err);
	/*
	 * Without a socket, smc_stream_is_inline() was false, so smc_rx_mark() may have recorded a
	 * skip. Undo the skip: nothing has been read yet.
	 */
	if (sock_flag(sk, SOCK_URGINLINE))
		WRITE_ONCE(st->rx.urgent_skip, 0);
	/* Bytes that came earlier become readable only now, so they count as arriving now. */
	if (st->rx.received)
		smc_stream_note_arrival(st, 0);
	spin_unlock_bh(st->lock);
	/* SO_TIMESTAMPING numbers the stream's bytes from 0, not by TCP's sequence numbers. */
	atomic_set(&sk->sk_tskey, 0);
}

bool smc_stream_await(struct smc_stream *st)
{
	bool is_awaited;

	spin_lock(st->lock);
	is_awaited = !st->rx.received && !st->rx.conn_flags && !st->err &&
		     !smc_stream_is_down(st);
	st->is_awaited = is_awaited;
	spin_unlock(st->lock);
	return is_awaited;
}

void smc_stream_report_urgent(struct smc_stream *st)
{
	spin_lock_bh(st->lock);
	if (st->rx.urgent_unread)
		st->events |= EPOLLPRI;
	smc_stream_unlock(st);
}

static void smc_wake(struct sock *sk, __poll_t events)
{
	struct socket_wq *wq;

	if (events & SMC_EVENTS_BYTES)
		events |= SMC_EVENTS_BYTES;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	/* Orders the stores that made @events true before the check for sleepers. */
	if (skwq_has_sleeper(wq)) {
		if (events & SMC_EVENTS_END)
			__wake_up(&wq->wait, TASK_INTERRUPTIBLE, 0, poll_to_key(events));
		else
			/*
			 * Not a sync wake-up: this thread may continue, or busy
			 * poll, instead of sleeping.
			 */
			wake_up_interruptible_poll(&wq->wait, events);
	}
	rcu_read_unlock();
}

void smc_stream_wake(struct smc_stream *st, __poll_t events)
{
	struct sock *sk = READ_ONCE(st->sk);

	if (sk && events)
		smc_wake(sk, events);
}

/* Return the band for SIGIO. As with TCP's FIN, it is POLL_HUP if both directions have ended. */
static int smc_event_band(const struct smc_stream *st, __poll_t events)
{
	return (events & EPOLLRDHUP) && READ_ONCE(st->tx.end_flags) ? POLL_HUP : POLL_IN;
}

/* Wake waiters and send SIGIO for events that the application has not caused itself. */
static void smc_stream_signal(const struct smc_stream *st, struct sock *sk, __poll_t events)
{
	if (!sk || !events)
		return;
	/*
	 * Send SIGIO before the wake-up: a waiting reader has set @st->is_read,
	 * to get no SIGIO, and clears it once it wakes. (The socket's own flag
	 * for a waiting reader has another use, to keep TCP from sending SIGIO,
	 * see smc_sock_mute_sigio().)
	 */
	if ((events & SMC_EVENTS_BYTES) && !READ_ONCE(st->is_read))
		sk_wake_async(sk, SOCK_WAKE_IO, smc_event_band(st, events));
	if (events & EPOLLOUT)
		sk_wake_async(sk, SOCK_WAKE_SPACE, POLL_OUT);
	smc_wake(sk, events);
}

void smc_stream_notify_readers(struct smc_stream *st)
{
	/* As with TCP after a FIN, each new SO_RCVLOWAT reports the end once more. */
	if (smc_stream_has_enough(st) || smc_stream_peer_has_ended(st))
		smc_stream_signal(st, READ_ONCE(st->sk), EPOLLIN | EPOLLRDNORM);
}

void smc_stream_notify_writers(struct smc_stream *st)
{
	spin_lock_bh(st->lock);
	smc_stream_note_room(st);
	smc_stream_unlock(st);
}

void smc_stream_fail(struct smc_stream *st, int err)
{
	lockdep_assert_held(st->lock);

	if (st->err)
		return;
	st->events |= EPOLLERR;
	/*
	 * No call has returned this error yet, even if an earlier call has returned an error of TCP
	 * (IP_RECVERR).
	 */
	WRITE_ONCE(st->is_err_told, false);
	if (st->sk)
		WRITE_ONCE(st->sk->sk_err, err);
	/*
	 * Pairs with smc_rx_shut() and smc_tx_shut(): a thread that sees st->err
	 * also sees sk_err, and the bytes that arrived before.
	 */
	smp_store_release(&st->err, err);
}

static void smc_stream_report_error(struct smc_stream *st)
{
	struct sock *sk = READ_ONCE(st->sk);

	/* smc_wake() wakes the sleepers. sk_error_report() is reserved for TCP's errors. */
	if (sk && !sock_flag(sk, SOCK_DEAD))
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_ERR);
}

/* Publish the answer to the peer's publish. Return: true if an answer was due. */
static bool smc_stream_answer(struct smc_stream *st)
{
	if (!st || !st->updated)
		return false;
	st->updated = false;
	smc_stream_push(st, SMC_PUSH_AUTOCORK);
	return true;
}

/*
 * Send SIGURG. This is called under the stream's lock, so a reader that sees
 * the urgent byte and then takes the lock sees the signal, too.
 */
static noinline void smc_stream_signal_urgent(const struct smc_stream *st)
{
	struct sock *sk = st->sk;

	if (!sk)
		return;
	/* sk_callback_lock protects sk_socket, which is cleared before its file is freed. */
	read_lock_bh(&sk->sk_callback_lock);
	sk_send_sigurg(sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

/*
 * Take the events that are to be reported once the stream's lock is released. If there
 * are any, take a reference, which smc_stream_report() drops. This function is
 * inline, because each publish calls it for both ends, mostly without a result.
 */
static __always_inline __poll_t smc_stream_take_events(struct smc_stream *st)
{
	__poll_t events;

	if (!smc_stream_is_over(st) && (smc_stream_is_down(st) || smc_stream_needs_no_path(st))) {
		smc_state_advance_path(&st->state, st->lock, SMC_PATH_STATE_OVER);
		/* SMC_EVENTS_END_DELIVERED makes the socket shut down the TCP connection. */
		st->events |= SMC_EVENTS_OVER | SMC_EVENTS_END_DELIVERED;
	}
	if (st->is_awaited && (st->events & (EPOLLIN | SMC_EVENTS_FEW | SMC_EVENTS_END))) {
		st->is_awaited = false;
		st->events |= SMC_EVENTS_AWAITED;
	}
	if (st->state.app == SMC_APP_ORPHAN)
		smc_stream_update_orphan(st);
	if (st->stamps && smc_tx_timestamps_are_due(st))
		st->events |= SMC_EVENTS_STAMPS;
	if (smc_stream_has_undelivered(st))
		smc_stream_update_user_timeout(st);
	events = st->events;
	if (!events)
		return 0;
	if (unlikely(events & EPOLLPRI))
		smc_stream_signal_urgent(st);
	st->events = 0;
	smc_stream_get(st);
	return events;
}

/* Stop @timer, which owns a reference to the stream while it is pending. */
static void smc_stream_stop_timer(struct smc_stream *st, struct timer_list *timer)
{
	/* timer_pending() is cheap, and suffices because a stream that is over starts no timer. */
	if (timer_pending(timer) && timer_delete(timer))
		smc_stream_put(st);
}

/* Cancel the work of a closed stream. The work of an orphan ends by itself. */
static void smc_stream_stop_end_work(struct smc_stream *st)
{
	if (READ_ONCE(st->state.app) == SMC_APP_GONE && cancel_delayed_work(&st->end_work))
		smc_stream_put(st);
}

/* Handle events beyond a wake-up: errors, timestamps, and the end of the stream. */
static noinline void smc_stream_report_sock(struct smc_stream *st, struct sock *sk, __poll_t events)
{
	if (events & EPOLLERR)
		smc_stream_report_error(st);
	if (events & SMC_EVENTS_STAMPS)
		smc_tx_timestamps_report(st);
	smc_stream_signal(st, sk, events & ~SMC_EVENTS_MORE);
	if ((events & (SMC_EVENTS_END_DELIVERED | SMC_EVENTS_AWAITED)) && sk)
		st->notify(sk);
	if (events & SMC_EVENTS_OVER) {
		smc_stream_stop_timer(st, &st->hold_timer);
		smc_stream_stop_timer(st, &st->user_timer);
		smc_stream_stop_end_work(st);
		st->path->over(st);
	}
}

static void smc_stream_report(struct smc_stream *st, __poll_t events)
{
	/* Pairs with smc_stream_attach(): @st->notify is visible, too. */
	struct sock *sk = smp_load_acquire(&st->sk);

	if (events & (SMC_EVENTS_MORE | EPOLLERR))
		smc_stream_report_sock(st, sk, events);
	else
		smc_stream_signal(st, sk, events);
	smc_stream_put(st);
}

void smc_stream_unlock(struct smc_stream *st)
	__releases(st->lock)
{
	struct smc_stream *local_peer = st->local_peer;
	__poll_t own, local_peers = 0;

	/*
	 * One end's answer may be something that the other end has to answer. The loop
	 * ends, because no answer is sent twice.
	 */
	while (smc_stream_answer(st) || smc_stream_answer(local_peer))
		;
	own = smc_stream_take_events(st);
	if (local_peer)
		local_peers = smc_stream_take_events(local_peer);
	spin_unlock(st->lock);

	if (own)
		smc_stream_report(st, own);
	if (local_peers)
		smc_stream_report(local_peer, local_peers);
	/*
	 * Only now can this thread be preempted: the local peer may belong to another user, whose
	 * threads must not wait until this one gets CPU time again.
	 */
	local_bh_enable();
}

void smc_stream_on_lost(struct smc_stream *st, int err)
{
	smc_stream_get(st);
	spin_lock_bh(st->lock);
	smc_state_advance_path(&st->state, st->lock, SMC_PATH_STATE_LOST);
	/*
	 * The loss of the path is no error in three cases. First, no more bytes would
	 * arrive, and the peer's host has this end's flags. Second, the peer has closed,
	 * and this end has not ended its direction: all bytes of the peer have arrived,
	 * and the peer reads no more. Third, both ends have sent their final flags.
	 */
	if (!smc_stream_both_sent_final(st) && !smc_tx_is_discarded(st) &&
	    (!smc_rx_shut(st) || !smc_stream_end_is_delivered(st)))
		smc_stream_fail(st, err);
	st->events |= SMC_EVENTS_ALL;
	smc_stream_unlock(st);
	smc_stream_put(st);
}

void smc_stream_break(struct smc_stream *st, int err)
{
	lockdep_assert_held(st->lock);
	smc_stream_fail(st, err);
	smc_tx_end(&st->tx, SMC_CONN_ABORT);
	st->events |= SMC_EVENTS_ALL;
	smc_stream_push(st, SMC_PUSH_NOW);
}

void smc_stream_break_gap(struct smc_stream *st, int err)
{
	smc_stream_break(st, err);
	WRITE_ONCE(st->rcv_shutdown, true);
}

void smc_stream_abort(struct smc_stream *st, int err)
{
	spin_lock_bh(st->lock);
	smc_stream_break(st, err);
	smc_stream_unlock(st);
}

/* Return the error that TCP would set for a reset: it depends on whether a FIN came before. */
static int smc_stream_reset_error(const struct smc_stream *st)
{
	return (st->rx.conn_flags & SMC_CONN_DONE_WRITING) && !st->tx.end_flags ? EPIPE :
										    ECONNRESET;
}

/*
 * Whether the stream takes no more bytes, for one of three reasons: this end's application has
 * closed in good order; it has shut down both directions, or disconnected; or bytes of the peer are
 * lost for good (smc_stream_break_gap()).
 */
static bool smc_stream_reads_no_more(const struct smc_stream *st)
{
	u8 final = READ_ONCE(st->tx.end_flags);

	return final && ((final & SMC_CONN_CLOSED) || READ_ONCE(st->rcv_shutdown));
}

/* Handle the peer's producer cursor. Return: 0, -EPROTO, or -ECONNRESET if bytes come too late. */
static int smc_stream_take_producer(struct smc_stream *st, const struct smc_cdc *cdc)
{
	bool is_urgent = cdc->prod_flags & SMC_PROD_URGENT_PRESENT;
	struct smc_stream_rx *rx = &st->rx;
	u32 arrived;

	if (smc_cursor_distance(cdc->prod, rx->received_cursor, rx->size,
				rx->size - (u32)(rx->received - rx->reported), &arrived))
		return -EPROTO;
	/* As with TCP, bytes that the application will neither read nor answer cause a reset. */
	if (unlikely(smc_stream_reads_no_more(st)) && arrived) {
		/* As with TCP, an urgent byte among them is still reported. */
		if (is_urgent && !st->err) {
			smc_rx_mark(rx, cdc->prod, arrived, smc_stream_is_inline(st));
			st->events |= EPOLLPRI;
		}
		return -ECONNRESET;
	}
	smc_rx_arrive(rx, cdc->prod, arrived, is_urgent, is_urgent && smc_stream_is_inline(st));
	return 0;
}

void smc_stream_note_room(struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	if (!smc_tx_free(&st->tx))
		return;
	/* Pairs with smc_stream_want_room(): one of the two threads sees the other's store. */
	smp_mb();
	if (!smc_tx_has_writer(&st->tx))
		return;
	if (!smc_tx_writable(st)) {
		smc_stream_start_hold_timer(st);
		return;
	}
	WRITE_ONCE(st->tx.writer, SMC_WRITER_NONE);
	st->events |= EPOLLOUT | EPOLLWRNORM;
}

/* Return the event for bytes that have arrived. Unless SO_RCVLOWAT is set, one byte is enough. */
static __poll_t smc_stream_arrival(const struct smc_stream *st)
{
	bool is_few = st->sk && READ_ONCE(st->sk->sk_rcvlowat) > 1 && !smc_stream_has_enough(st);

	return is_few ? SMC_EVENTS_FEW : EPOLLIN | EPOLLRDNORM;
}

/*
 * Whether there are unread bytes, but fewer than SO_RCVLOWAT, so that their arrival woke no poller.
 * If the peer is short of window, the application has to read the bytes, because the peer may be
 * unable to send more.
 */
static noinline bool smc_stream_has_few(const struct smc_stream *st)
{
	struct smc_rx_snapshot at = smc_stream_take_snapshot(st);
	u64 readable = smc_snapshot_readable(&at);

	return readable && st->sk && readable < READ_ONCE(st->sk->sk_rcvlowat);
}

/*
 * Return the events for the peer's new connection @flags. If an earlier message
 * ended the peer's bytes (@ended), readers get no second SIGIO. If only the
 * peer's direction ends, no writer is woken.
 */
static __poll_t smc_stream_end_events(const struct smc_stream *st, u8 flags, bool ended)
{
	__poll_t events = SMC_EVENTS_END;

	if (!ended && smc_stream_peer_has_ended(st))
		events |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if ((flags & SMC_CONN_FINAL) || READ_ONCE(st->tx.end_flags))
		events |= SMC_EVENTS_ALL;
	return events;
}

void smc_stream_update(struct smc_stream *st, const struct smc_cdc *cdc)
{
	struct smc_stream_rx *rx = &st->rx;
	u64 received = rx->received;
	u64 acked = st->tx.acked;
	u8 conn_flags = cdc->conn_flags & SMC_CONN_FLAGS;
	bool ended = smc_stream_peer_has_ended(st);
	bool wants;
	u8 events;
	int rc;

	lockdep_assert_held(st->lock);
	trace_smc_update(st, cdc);
	wants = cdc->prod_flags & ~rx->prod_flags & SMC_PROD_WANT_WINDOW;

	rc = smc_tx_acknowledge(&st->tx, cdc->cons) ? : smc_stream_take_producer(st, cdc);
	if (rc == -EPROTO)
		smc_stat_violation(st->sn, SMC_VIOLATION_CURSOR);
	if (unlikely(rc)) {
		smc_stream_fail(st, ECONNRESET);
		smc_tx_end(&st->tx, SMC_CONN_ABORT);
		st->events |= SMC_EVENTS_ALL;
		st->updated = true;
		/* Bytes may be missing, so final flags in this message count as a reset. */
		conn_flags = conn_flags & SMC_CONN_FINAL ? SMC_CONN_ABORT : 0;
	}
	events = conn_flags & ~rx->conn_flags;
	if (cdc->prod_flags & SMC_PROD_WANT_WINDOW)
		WRITE_ONCE(rx->unreported_at_request, rx->received - rx->reported);
	WRITE_ONCE(rx->prod_flags, cdc->prod_flags);
	/*
	 * Pairs with the barrier in smc_stream_consume(): this thread sees how
	 * far the reader is, or the reader sees that the peer asks for window.
	 */
	smp_mb();
	if (unlikely(events & SMC_CONN_ABORT)) {
		/*
		 * If SMC_CONN_CLOSED comes before SMC_CONN_ABORT, or with it, all bytes of the peer
		 * have arrived. The abort then means that the peer no longer waits for this end to
		 * close, which is no error. But if the peer has not consumed all bytes of this end,
		 * the abort is an error: the bytes that the peer got after its close are lost. One
		 * message has both flags if the link had no free slot when SMC_CONN_CLOSED was due.
		 */
		if (!((rx->conn_flags | conn_flags) & SMC_CONN_CLOSED) ||
		    st->tx.acked != st->tx.sent)
			smc_stream_fail(st, smc_stream_reset_error(st));
		/* The peer can't reuse its element before it knows that this end writes no more. */
		if (!(st->tx.conn_flags & SMC_CONN_FINAL))
			smc_tx_end(&st->tx, SMC_CONN_ABORT);
	}
	/*
	 * Pairs with smc_rx_shut() and smc_tx_shut(): a thread that sees the
	 * flags also sees the bytes and the error that came with them.
	 */
	smp_store_release(&rx->conn_flags, rx->conn_flags | conn_flags);

	if (wants && smc_stream_has_few(st))
		st->events |= EPOLLIN | EPOLLRDNORM;
	if (rx->received != received) {
		if (unlikely(smc_stream_times_arrivals(st)))
			smc_stream_note_arrival(st, received);
		st->events |= smc_stream_arrival(st);
		if (rx->received - READ_ONCE(rx->consumed) == rx->size)
			smc_stat_buffer_event(st->stats, SMC_STAT_RX, SMC_STAT_FULL);
		if (unlikely(rx->urgent == rx->received))
			st->events |= EPOLLPRI;
	}
	if (st->tx.acked != acked) {
		smc_stream_note_room(st);
		/*
		 * Remaining bytes may be sent now. Or a waiting writer may need
		 * one more message, see smc_publish_lacks_completion().
		 */
		if (smc_tx_unsent(&st->tx) || smc_tx_has_writer(&st->tx))
			st->updated = true;
	}
	if (smc_stream_note_credit(st))
		st->updated = true;
	if (unlikely(events)) {
		st->events |= smc_stream_end_events(st, events, ended);
		st->updated = true;
	}
}

void smc_stream_on_tx_done(struct smc_stream *st, u64 end)
{
	bool has_ended;

	spin_lock_bh(st->lock);
	has_ended = smc_tx_complete(&st->tx, end);
	smc_stream_note_room(st);
	smc_stream_push(st, SMC_PUSH_AUTOCORK);
	if (has_ended)
		st->events |= SMC_EVENTS_END_DELIVERED;
	smc_stream_unlock(st);
	/* Wake an application that lingers in close() until the peer's host has everything. */
	if (has_ended)
		smc_stream_wake(st, EPOLLHUP);
}

void smc_stream_on_tx_room(struct smc_stream *st)
{
	spin_lock_bh(st->lock);
	smc_stream_push(st, SMC_PUSH_AUTOCORK);
	smc_stream_unlock(st);
}

void smc_stream_restart(struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	smc_tx_restart(&st->tx);
	smc_stream_push(st, SMC_PUSH_NOW);
}

/* Function of hold_timer, which owns a reference to the stream while it is pending. */
static void smc_stream_hold_expired(struct timer_list *timer)
{
	struct smc_stream *st = container_of(timer, struct smc_stream, hold_timer);

	spin_lock_bh(st->lock);
	if (smc_rx_window_is_wanted(st))
		smc_tx_request_update(&st->tx);
	if (smc_tx_has_writer(&st->tx) && smc_tx_free(&st->tx) && !smc_tx_exceeds_lowat(st)) {
		WRITE_ONCE(st->tx.writer, SMC_WRITER_ANY_ROOM);
		st->events |= EPOLLOUT | EPOLLWRNORM;
	}
	smc_stream_push(st, SMC_PUSH_NOW);
	smc_stream_unlock(st);
	smc_stream_put(st);
}

void smc_stream_start_hold_timer(struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	/* Nothing would stop a timer that starts once the stream is over. */
	if (smc_stream_is_over(st) || timer_pending(&st->hold_timer))
		return;
	smc_stream_get(st);
	/* The time for which TCP_CORK may hold back data, see tcp(7). */
	mod_timer(&st->hold_timer, jiffies + msecs_to_jiffies(200));
}
