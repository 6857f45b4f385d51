// SPDX-License-Identifier: GPL-2.0
/* How an application ends a stream (RFC 7609 section 4.8). */

#include <linux/net.h>
#include <net/sock.h>

#include "internal.h"
#include "workqueue.h"

/* Publish @flags after the last byte. */
static void smc_stream_send_end(struct smc_stream *st, u8 flags)
{
	spin_lock_bh(st->lock);
	smc_tx_end(&st->tx, flags);
	smc_stream_push(st, SMC_PUSH_NOW);
	smc_stream_unlock(st);
}

void smc_stream_shutdown(struct smc_stream *st, int how)
{
	__poll_t events = SMC_EVENTS_END;

	if (how & RCV_SHUTDOWN) {
		WRITE_ONCE(st->rcv_shutdown, true);
		events |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	}
	if (how & SEND_SHUTDOWN) {
		smc_stream_send_end(st, SMC_CONN_DONE_WRITING);
		events |= EPOLLOUT | EPOLLWRNORM;
	}
	if (smc_rx_shut(st) && READ_ONCE(st->tx.end_flags))
		events |= EPOLLHUP;
	smc_stream_wake(st, events);
}

bool smc_stream_disconnect(struct smc_stream *st, int *err)
{
	bool by_reset, both_shut;

	spin_lock_bh(st->lock);
	*err = xchg(&st->sk->sk_err, 0);
	/*
	 * As with TCP, nothing is reset once both ends have shut down writing. It is enough that
	 * this end has published SMC_CONN_DONE_WRITING: the flag need not have arrived, because the
	 * peer gets flags in order.
	 */
	both_shut = !st->err && smc_stream_peer_has_ended(st) &&
		   (st->tx.conn_flags & SMC_CONN_DONE_WRITING);
	by_reset = !st->err && !both_shut;
	smc_tx_end(&st->tx, both_shut ? SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED : SMC_CONN_ABORT);
	/*
	 * Set st->err, so that smc_stream_fail() does nothing any more. Otherwise a later
	 * flag of the peer could set an error for the socket's next connection.
	 */
	if (!st->err)
		/* Pairs with smc_rx_shut() and smc_tx_shut(). */
		smp_store_release(&st->err, ECONNABORTED);
	WRITE_ONCE(st->rcv_shutdown, true);
	st->events |= SMC_EVENTS_ALL;
	smc_stream_push(st, SMC_PUSH_NOW);
	smc_stream_unlock(st);
	smc_stream_wake(st, SMC_EVENTS_END | EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLHUP);
	return by_reset;
}

static bool smc_stream_has_left(const struct smc_stream *st)
{
	return smc_stream_is_down(st) || READ_ONCE(st->err) || smc_stream_end_is_delivered(st);
}

static void smc_stream_linger(struct smc_stream *st, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = st->sk;

	add_wait_queue(sk_sleep(sk), &wait);
	while (timeo && !smc_stream_has_left(st) && !signal_pending(current))
		sk_wait_event(sk, &timeo, smc_stream_has_left(st), &wait);
	remove_wait_queue(sk_sleep(sk), &wait);
}

/*
 * Whether a closed stream waits only for its local peer. The local peer's element
 * already has all bytes that the peer will get, and when the local peer closes, both
 * streams are over.
 */
static bool smc_stream_awaits_local_peer(const struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	return st->local_peer && (st->tx.conn_flags & SMC_CONN_FINAL);
}

/*
 * Record that the application is gone. The socket and its namespace must not
 * stay for as long as the local peer's application likes. So the local peer has
 * to close within the time for which TCP waits for a FIN. A local peer that is late
 * can still read all bytes that were written to it. A peer that is not local has
 * closed already, and the path limits the time to deliver this end's flags.
 */
static void smc_stream_detach_app(struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	smc_state_advance_app(&st->state, st->lock, SMC_APP_GONE);
	if (smc_stream_is_over(st) || !st->local_peer)
		return;
	/* The work owns this reference, see smc_stream_stop_end_work(). */
	smc_stream_get(st);
	queue_delayed_work(smc_wq, &st->end_work, smc_stream_fin_time(st));
}

void smc_stream_check_local_peer(struct smc_stream *st)
{
	bool is_early;

	spin_lock_bh(st->lock);
	/* A local peer whose SMC handshake is under way can't read yet, so it gets more time. */
	is_early = !smc_stream_is_over(st) && st->local_peer && !st->local_peer->tx.ring;
	if (is_early)
		queue_delayed_work(smc_wq, &st->end_work, smc_stream_fin_time(st));
	else
		smc_state_advance_path(&st->state, st->lock, SMC_PATH_STATE_LOST);
	smc_stream_unlock(st);
	if (!is_early)
		smc_stream_put(st);
}

bool smc_stream_closes_by_reset(const struct smc_stream *st)
{
	struct smc_rx_snapshot at = smc_stream_take_snapshot(st);

	if (smc_stream_is_closed(st))
		return false;
	return smc_snapshot_readable(&at) ||
	       (sock_flag(st->sk, SOCK_LINGER) && !st->sk->sk_lingertime);
}

bool smc_stream_close(struct smc_stream *st, bool by_reset, long linger)
{
	bool done;

	smc_stream_send_end(st, by_reset ? SMC_CONN_ABORT :
					   SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED);
	if (linger)
		smc_stream_linger(st, linger);
	spin_lock_bh(st->lock);
	/* If both ends have closed, only the delivery of this end's flags is awaited. */
	done = smc_stream_is_over(st) || smc_stream_both_sent_final(st) ||
	       smc_stream_awaits_local_peer(st);
	if (done)
		smc_stream_detach_app(st);
	spin_unlock_bh(st->lock);
	return done;
}
