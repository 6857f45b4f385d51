// SPDX-License-Identifier: GPL-2.0
/* recvmsg(): from the ring to the application, and the window back to the peer. */

#include <linux/sched/clock.h>
#include <linux/tcp.h>
#include <net/sock.h>

#include "admin/stats.h"
#include "internal.h"

static bool smc_stream_credit_is_due(const struct smc_stream *st)
{
	u64 freed = smc_rx_freed(st);
	u8 wants = READ_ONCE(st->rx.prod_flags) & SMC_PROD_WANT_WINDOW;

	if (!freed)
		return false;
	if (freed >= st->rx.size / 4)
		return true;
	/* An update asked for by itself does not wait for more to be read. */
	if (wants == SMC_PROD_UPDATE_REQUESTED)
		return true;
	/* The peer's window may be smaller than the element: what it has sent tells how small. */
	return wants && (freed >= READ_ONCE(st->rx.asked) / 4 || !smc_stream_readable(st));
}

bool smc_stream_note_credit(struct smc_stream *st)
{
	if (smc_stream_credit_is_due(st)) {
		st->tx.control = true;
		return true;
	}
	if (smc_rx_window_is_wanted(st))
		smc_stream_limit_wait(st);
	return false;
}

static void smc_stream_give_credit(struct smc_stream *st)
{
	if (!smc_stream_credit_is_due(st) &&
	    (!smc_rx_window_is_wanted(st) || timer_pending(&st->hold_timer)))
		return;

	spin_lock_bh(st->lock);
	/* A publish may have told it meanwhile. */
	if (smc_stream_note_credit(st))
		smc_stream_push(st, SMC_PUSH_AUTOCORK);
	smc_stream_settle(st);
}

/* recv(MSG_OOB): the urgent byte, ahead of what precedes it. */
static int smc_stream_recv_urgent(struct smc_stream *st, struct msghdr *msg, size_t len, int flags)
{
	struct smc_stream_rx *rx = &st->rx;
	bool unread;
	u8 byte;

	if (sock_flag(st->sk, SOCK_URGINLINE) || !READ_ONCE(rx->urgent))
		return -EINVAL;

	spin_lock_bh(st->lock);
	unread = rx->urgent_unread;
	byte = rx->urgent_byte;
	if (!(flags & MSG_PEEK))
		rx->urgent_unread = false;
	spin_unlock_bh(st->lock);

	if (!unread)
		return -EINVAL;

	msg->msg_flags |= MSG_OOB;
	if (!len) {
		msg->msg_flags |= MSG_TRUNC;
		return 0;
	}
	/* MSG_TRUNC discards, as with TCP. */
	if (flags & MSG_TRUNC)
		return 1;
	return memcpy_to_msg(msg, &byte, 1) ? -EFAULT : 1;
}

/*
 * Bytes that may be copied in one piece from @pos: up to what arrived, to the end of
 * the ring, or to the urgent byte, before which a read stops (tcp(7)). An urgent byte
 * that was read out of line is stepped over.
 */
static size_t smc_stream_piece(struct smc_stream *st, u64 *pos, u32 *offset, bool first)
{
	u64 received = smc_rx_received(st);
	/* After the bytes, so that their mark is seen; before what is to be skipped ahead of it. */
	u64 urgent = smp_load_acquire(&st->rx.urgent);

	*pos = max(*pos, smc_rx_position(st));
	/* What is to be skipped came in this moment. */
	if (*pos > received)
		return 0;
	if (urgent > *pos && urgent <= received) {
		if (urgent - 1 > *pos)
			received = urgent - 1;
		else if (!first)
			return 0;
		else if (!sock_flag(st->sk, SOCK_URGINLINE))
			++*pos;
	}
	*offset = smc_offset_advanced(st->rx.offset, st->rx.size, *pos - st->rx.consumed);
	return min_t(u64, received - *pos, st->rx.size - *offset);
}

static bool smc_stream_urgent_stops(const struct smc_stream *st, u64 pos)
{
	return READ_ONCE(st->rx.urgent) == pos + 1;
}

static bool smc_rx_ended(const struct smc_stream *st)
{
	u8 flags = READ_ONCE(st->rx.conn_flags);

	return (flags & (SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED)) && !(flags & SMC_CONN_ABORT);
}

/* What else happens to the socket, room for a writer above all, is not what a reader sleeps for. */
static int smc_stream_wake_reader(struct wait_queue_entry *wait, unsigned int mode, int sync,
				  void *key)
{
	return smc_wake_for(EPOLLIN | SMC_NEWS_FEW | EPOLLRDHUP | EPOLLHUP | EPOLLERR, wait, mode,
			    sync, key);
}

/*
 * How far others moved the reader's place from @position. Who peeks is further on, at @pos, and may
 * have stepped over the byte that ends at @urgent before they did: that is counted once.
 */
static u64 smc_stream_moved(const struct smc_stream *st, u64 position, u64 pos, u64 urgent)
{
	u64 moved = max(st->rx.consumed, position) - position;

	if (urgent > position && urgent <= min(pos, st->rx.consumed) &&
	    !sock_flag(st->sk, SOCK_URGINLINE))
		moved--;
	return moved;
}

/*
 * Wait for bytes after *@pos, which moves on if another reader takes bytes meanwhile.
 * Return: 0 to look again, 1 at the end of the stream, in good order or by the socket's error; or
 * an error.
 */
static int smc_stream_wait_for_data(struct smc_stream *st, u64 *pos, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, smc_stream_wake_reader);
	u64 position = smc_rx_position(st);
	u64 urgent = READ_ONCE(st->rx.urgent);
	struct sock *sk = st->sk;
	u64 began;

	/* What arrived before the end was announced is to be read first. */
	if (smc_rx_shut(st) || READ_ONCE(sk->sk_err))
		return smc_rx_received(st) <= *pos;
	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);

	began = local_clock();
	if (!smc_stream_spin(st, *pos, began)) {
		add_wait_queue(sk_sleep(sk), &wait);
		sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
		sk_wait_event(sk, timeo, smc_stream_may_read(st, *pos), &wait);
		sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
		remove_wait_queue(sk_sleep(sk), &wait);
	}
	smc_stream_spin_adapt(st, local_clock() - began);
	/* Not by what is to be skipped now, which who peeks may have stepped over, too. */
	*pos += smc_stream_moved(st, position, *pos, urgent);
	return 0;
}

/* As with TCP, an urgent byte that was read past is not there any more. */
static void smc_stream_pass_urgent(struct smc_stream *st, u64 pos)
{
	if (!READ_ONCE(st->rx.urgent_unread))
		return;
	spin_lock_bh(st->lock);
	/* Who only stepped over it may be about to hear of it by a signal. */
	if (pos > st->rx.urgent || (pos == st->rx.urgent && sock_flag(st->sk, SOCK_URGINLINE)))
		WRITE_ONCE(st->rx.urgent_unread, false);
	spin_unlock_bh(st->lock);
}

/* The reader's position moved: everything behind it belongs to the peer again. */
static void smc_stream_consume(struct smc_stream *st, u64 pos)
{
	if (pos == st->rx.consumed)
		return;
	smc_stream_pass_urgent(st, pos);
	st->rx.offset = smc_offset_advanced(st->rx.offset, st->rx.size, pos - st->rx.consumed);
	/* The copy out of the ring is complete before the peer may overwrite it. */
	smp_store_release(&st->rx.consumed, pos);
	/* And the window is, before it is looked whether the peer waits for it. */
	smp_mb();
	smc_stream_give_credit(st);
}

/* Nothing more can arrive before something is read, and who peeks reads nothing. */
static bool smc_stream_is_full(const struct smc_stream *st)
{
	return smc_rx_received(st) - st->rx.consumed == st->rx.size;
}

int smc_stream_recv(struct smc_stream *st, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = st->sk;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	size_t target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	bool peek = flags & MSG_PEEK;
	u64 pos = smc_rx_position(st);
	size_t done = 0;
	size_t piece;
	u32 offset;
	int rc = 0;

	if (flags & MSG_OOB) {
		/* Who reads nothing else gives back what it steps over, too. */
		if (!peek)
			smc_stream_consume(st, pos);
		return smc_stream_recv_urgent(st, msg, len, flags);
	}
	if (peek)
		/* Negative while SO_PEEK_OFF is not in use. */
		pos += max(sk_peek_offset(sk, flags), 0);
	if (len > st->rx.size)
		smc_stat_rx_small(st->sn, st->path->kind);

	do {
		/* As with TCP, even a read of nothing waits for something. */
		if (!len && smc_rx_received(st) > pos)
			break;
		/* As with TCP, a signal's handler has the urgent byte before a read passes it. */
		if (!done && smc_stream_urgent_stops(st, pos) && signal_pending(current)) {
			rc = timeo ? sock_intr_errno(timeo) : -EAGAIN;
			break;
		}
		piece = smc_rx_received(st) > pos ?
			min(smc_stream_piece(st, &pos, &offset, !done), len - done) : 0;
		if (piece) {
			/* MSG_TRUNC discards, as with TCP. */
			if (!(flags & MSG_TRUNC) &&
			    smc_ring_drain(st->rx.ring + offset, piece, &msg->msg_iter) != piece) {
				rc = -EFAULT;
				break;
			}
			pos += piece;
			done += piece;
			continue;
		}
		if (done >= target || (done && smc_stream_urgent_stops(st, pos)))
			break;
		/* Before sleeping, let the peer refill what was read. */
		if (!peek)
			smc_stream_consume(st, pos);
		if (done && peek && smc_stream_is_full(st))
			break;
		rc = smc_stream_wait_for_data(st, &pos, &timeo);
		if (rc)
			break;
	} while (done < len || !len);

	if (!peek) {
		smc_stream_consume(st, pos);
		sk_peek_offset_bwd(sk, done);
	} else {
		sk_peek_offset_fwd(sk, done);
	}
	if (done) {
		smc_stat_rx(st->sn, st->path->kind, done);
		return done;
	}
	/* Only who gets nothing else gets the error, and nobody after an orderly end. */
	return rc > 0 && !smc_rx_ended(st) ? sock_error(sk) : min(rc, 0);
}

u64 smc_stream_queued(const struct smc_stream *st)
{
	/* First: without the socket lock it is never ahead of what was received before. */
	u64 position = smc_rx_position(st);
	u64 received = smc_rx_received(st);
	u64 urgent = READ_ONCE(st->rx.urgent);

	if (!sock_flag(st->sk, SOCK_URGINLINE) && urgent > position && urgent <= received)
		return urgent - 1 - position;
	return received - position;
}
