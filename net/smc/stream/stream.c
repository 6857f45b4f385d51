// SPDX-License-Identifier: GPL-2.0
/* Life of a stream, and what the path tells it. */

#include <linux/slab.h>
#include <net/sock.h>

#include "admin/stats.h"
#include "internal.h"
#include "workqueue.h"

static void smc_stream_release_orphan(struct work_struct *work);
static void smc_stream_cork_expired(struct timer_list *timer);

void smc_stream_init(struct smc_stream *st, const struct smc_path_ops *path, struct net *net)
{
	st->path = path;
	st->net = net;
	kref_init(&st->ref);
	spin_lock_init(&st->tx.lock);
	INIT_WORK(&st->orphan_work, smc_stream_release_orphan);
	timer_setup(&st->cork_timer, smc_stream_cork_expired, 0);
}

static void smc_stream_free(struct kref *ref)
{
	struct smc_stream *st = container_of(ref, struct smc_stream, ref);
	struct sock *sk = st->sk;

	/* The socket keeps the namespace alive, which the path still counts in. */
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

void smc_stream_attach(struct smc_stream *st, struct sock *sk)
{
	sock_hold(sk);

	spin_lock_bh(&st->tx.lock);
	st->sk = sk;
	if (st->err)
		WRITE_ONCE(sk->sk_err, st->err);
	spin_unlock_bh(&st->tx.lock);
}

void smc_stream_wake(struct smc_stream *st, __poll_t events)
{
	struct sock *sk = READ_ONCE(st->sk);
	struct socket_wq *wq;

	if (!sk || !events)
		return;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	/* Orders what became true before the check for sleepers. */
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_sync_poll(&wq->wait, events);
	rcu_read_unlock();

	if (events & EPOLLIN)
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	if (events & EPOLLOUT)
		sk_wake_async(sk, SOCK_WAKE_SPACE, POLL_OUT);
}

void smc_stream_fail(struct smc_stream *st, int err)
{
	lockdep_assert_held(&st->tx.lock);

	if (st->err)
		return;
	WRITE_ONCE(st->err, err);
	if (st->sk)
		WRITE_ONCE(st->sk->sk_err, err);
}

static void smc_stream_report_error(struct smc_stream *st)
{
	struct sock *sk = READ_ONCE(st->sk);

	if (sk && !sock_flag(sk, SOCK_DEAD))
		sk_error_report(sk);
	smc_stream_wake(st, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT | EPOLLWRNORM |
			EPOLLERR | EPOLLHUP);
}

/* Both ends are through with the connection, or it can't be talked over any more. */
static bool smc_stream_finished(const struct smc_stream *st)
{
	return st->dead ||
	       ((st->tx.conn_flags & SMC_PEER_GONE) && (st->rx.conn_flags & SMC_PEER_GONE));
}

void smc_stream_settle(struct smc_stream *st)
	__releases(&st->tx.lock)
{
	bool over = !st->is_over && smc_stream_finished(st);

	if (over) {
		st->is_over = true;
		if (st->orphan)
			queue_work(smc_wq, &st->orphan_work);
	}
	spin_unlock_bh(&st->tx.lock);

	if (!over)
		return;
	if (del_timer(&st->cork_timer))
		smc_stream_put(st);
	st->path->over(st);
}

void smc_stream_on_lost(struct smc_stream *st, int err)
{
	smc_stream_get(st);
	spin_lock_bh(&st->tx.lock);
	st->dead = true;
	/* A connection that both ends had closed already has nothing to lose. */
	if (!smc_rx_shut(st) || !st->tx.final_flags)
		smc_stream_fail(st, err);
	smc_stream_settle(st);
	smc_stream_report_error(st);
	smc_stream_put(st);
}

void smc_stream_abort(struct smc_stream *st, int err)
{
	spin_lock_bh(&st->tx.lock);
	smc_stream_fail(st, err);
	st->tx.final_flags |= SMC_CONN_ABORT;
	smc_stream_push(st, SMC_PUSH_NOW);
	smc_stream_settle(st);
	smc_stream_report_error(st);
}

/* The peer says more bytes arrived; the urgent one is read now, before it can be overwritten. */
static int smc_stream_take_producer(struct smc_stream *st, const struct smc_cdc *cdc)
{
	struct smc_stream_rx *rx = &st->rx;
	u64 received;
	u32 offset;

	if (smc_cursor_to_position(cdc->prod, rx->size, rx->received,
				   READ_ONCE(rx->consumed) + rx->size, &received))
		return -EPROTO;

	if ((cdc->prod_flags & SMC_PROD_URGENT_PRESENT) && received > rx->received) {
		div_u64_rem(received - 1, rx->size, &offset);
		rx->urgent_byte = READ_ONCE(rx->ring[offset]);
		rx->urgent_unread = true;
		/* TCP, too, steps over the one that its reader has stopped at. */
		if (rx->urgent == READ_ONCE(rx->consumed) + 1 &&
		    !(st->sk && sock_flag(st->sk, SOCK_URGINLINE)))
			WRITE_ONCE(rx->urgent_skip, rx->urgent);
		WRITE_ONCE(rx->urgent, received);
	}
	/* Pairs with smc_stream_readable(). */
	smp_store_release(&rx->received, received);
	return 0;
}

static int smc_stream_take_consumer(struct smc_stream *st, const struct smc_cdc *cdc)
{
	u64 acked;

	if (smc_cursor_to_position(cdc->cons, st->tx.peer_size, st->tx.acked, st->tx.sent, &acked))
		return -EPROTO;
	/* Pairs with smc_tx_free(). */
	smp_store_release(&st->tx.acked, acked);
	return 0;
}

/* The window opened: stop asking for that, and find out whether a writer waits for it. */
static bool smc_stream_window_opened(struct smc_stream *st)
{
	if (!smc_tx_writable(st))
		return false;
	st->tx.prod_flags &= ~(SMC_PROD_WRITE_BLOCKED | SMC_PROD_UPDATE_REQUESTED);
	/* Pairs with the barrier in smc_stream_want_window(). */
	smp_mb();
	if (!READ_ONCE(st->tx.waiting))
		return false;
	WRITE_ONCE(st->tx.waiting, false);
	return true;
}

void smc_stream_on_update(struct smc_stream *st, const struct smc_cdc *cdc)
{
	const __poll_t all = EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLOUT | EPOLLWRNORM;
	struct smc_stream_rx *rx = &st->rx;
	__poll_t events = 0;
	bool urgent = false;
	bool failed = false;
	u64 before;
	u8 news;

	spin_lock_bh(&st->tx.lock);
	before = rx->received;
	news = cdc->conn_flags & ~rx->conn_flags;

	if (smc_stream_take_consumer(st, cdc) || smc_stream_take_producer(st, cdc)) {
		smc_stat_violation(st->net, SMC_VIOLATION_CURSOR);
		smc_stream_fail(st, ECONNRESET);
		st->tx.final_flags |= SMC_CONN_ABORT;
		failed = true;
	}
	rx->prod_flags = cdc->prod_flags;
	WRITE_ONCE(rx->conn_flags, rx->conn_flags | cdc->conn_flags);

	if (rx->received != before) {
		events |= EPOLLIN | EPOLLRDNORM;
		if (rx->received - READ_ONCE(rx->consumed) == rx->size)
			smc_stat_rx_full(st->net, st->path->kind);
		if (rx->urgent == rx->received) {
			events |= EPOLLPRI;
			urgent = true;
		}
	}
	if (smc_stream_window_opened(st))
		events |= EPOLLOUT | EPOLLWRNORM;
	if ((rx->prod_flags & SMC_PROD_UPDATE_REQUESTED) && READ_ONCE(rx->consumed) != rx->reported)
		st->tx.control = true;
	if (news)
		events |= all;
	if (news & SMC_CONN_ABORT) {
		smc_stream_fail(st, ECONNRESET);
		failed = true;
		/* The peer may reuse its element once it knows that this end wrote its last. */
		if (!(st->tx.conn_flags & SMC_PEER_GONE))
			st->tx.final_flags |= SMC_CONN_ABORT;
	}
	smc_stream_push(st, SMC_PUSH_AUTOCORK);
	smc_stream_settle(st);

	if (failed)
		smc_stream_report_error(st);
	else
		smc_stream_wake(st, events);
	if (urgent && st->sk)
		sk_send_sigurg(st->sk);
}

void smc_stream_on_tx_done(struct smc_stream *st, u64 end)
{
	spin_lock_bh(&st->tx.lock);
	st->tx.in_flight--;
	WRITE_ONCE(st->tx.arrived, end);
	smc_stream_push(st, SMC_PUSH_AUTOCORK);
	smc_stream_settle(st);
	/* A closing application may wait for the last byte to leave. */
	if (READ_ONCE(st->tx.final_flags) && !st->tx.in_flight)
		smc_stream_wake(st, EPOLLHUP);
}

void smc_stream_on_tx_room(struct smc_stream *st)
{
	spin_lock_bh(&st->tx.lock);
	smc_stream_push(st, SMC_PUSH_AUTOCORK);
	smc_stream_settle(st);
}

/* The timer owns a reference while it is pending. */
static void smc_stream_cork_expired(struct timer_list *timer)
{
	struct smc_stream *st = container_of(timer, struct smc_stream, cork_timer);

	spin_lock_bh(&st->tx.lock);
	smc_stream_push(st, SMC_PUSH_NOW);
	smc_stream_settle(st);
	smc_stream_put(st);
}

void smc_stream_arm_cork_timer(struct smc_stream *st)
{
	smc_stream_get(st);
	/* Nagle's limit on how long TCP_CORK may hold data back, see tcp(7). */
	if (timer_pending(&st->cork_timer) ||
	    mod_timer(&st->cork_timer, jiffies + msecs_to_jiffies(200)))
		smc_stream_put(st);
}

static void smc_stream_release_orphan(struct work_struct *work)
{
	struct smc_stream *st = container_of(work, struct smc_stream, orphan_work);

	sock_release(st->orphan);
	smc_stream_put(st);
}

void smc_stream_orphan(struct smc_stream *st, struct socket *sock)
{
	spin_lock_bh(&st->tx.lock);
	st->orphan = sock;
	if (st->is_over)
		queue_work(smc_wq, &st->orphan_work);
	spin_unlock_bh(&st->tx.lock);
}
