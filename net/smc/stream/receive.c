// SPDX-License-Identifier: GPL-2.0
/*
 * recvmsg() and splice(): copy bytes from the ring to the application, and
 * return window to the peer.
 */

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/pipe_fs_i.h>
#include <linux/sched/clock.h>
#include <linux/splice.h>
#include <linux/tcp.h>
#include <net/sock.h>

#include "admin/stats.h"
#include "internal.h"
#include "rx_timestamp.h"
#include "trace.h"

static bool smc_stream_credit_is_due(const struct smc_stream *st)
{
	u8 wants = READ_ONCE(st->rx.prod_flags) & SMC_PROD_WANT_WINDOW;
	u64 freed = smc_rx_freed(st);
	struct smc_rx_snapshot at;

	if (!freed)
		return false;
	if (freed >= st->rx.size / 4)
		return true;
	/* SMC_PROD_UPDATE_REQUESTED alone asks for a report of each read. */
	if (wants == SMC_PROD_UPDATE_REQUESTED)
		return true;
	/*
	 * A peer whose own ring is small may never use a quarter of the
	 * element. The bytes that were unreported when the peer asked for
	 * window show how much of the element it uses.
	 */
	if (!wants)
		return false;
	if (freed >= READ_ONCE(st->rx.unreported_at_request) / 4)
		return true;
	at = smc_stream_take_snapshot(st);
	return !smc_snapshot_readable(&at);
}

bool smc_stream_note_credit(struct smc_stream *st)
{
	if (smc_stream_credit_is_due(st)) {
		smc_tx_request_update(&st->tx);
		return true;
	}
	if (smc_rx_window_is_wanted(st))
		smc_stream_start_hold_timer(st);
	return false;
}

static void smc_stream_give_credit(struct smc_stream *st)
{
	if (!smc_stream_credit_is_due(st) &&
	    (!smc_rx_window_is_wanted(st) || timer_pending(&st->hold_timer)))
		return;

	spin_lock_bh(st->lock);
	/* A publish may have returned the credit meanwhile. */
	if (smc_stream_note_credit(st))
		smc_stream_push(st, SMC_PUSH_AUTOCORK);
	smc_stream_unlock(st);
}

/*
 * Do the work of recv(MSG_OOB): read the urgent byte ahead of the bytes before
 * it. Functions that few reads call, like this one, are out of line, so that
 * other reads need not save registers for them.
 */
static noinline int smc_stream_recv_urgent(struct smc_stream *st, struct msghdr *msg, size_t len,
					   int flags)
{
	struct smc_stream_rx *rx = &st->rx;
	bool unread, is_lost;
	u8 byte;

	if (sock_flag(st->sk, SOCK_URGINLINE) || !READ_ONCE(rx->urgent))
		return -EINVAL;

	spin_lock_bh(st->lock);
	unread = rx->urgent_unread;
	byte = rx->urgent_byte;
	/* As with TCP, a reset makes the byte unreadable, but an orderly end does not. */
	is_lost = smc_stream_has_failed(st) && !smc_stream_peer_has_ended(st);
	if (!(flags & MSG_PEEK) && !is_lost)
		rx->urgent_unread = false;
	spin_unlock_bh(st->lock);

	if (!unread)
		return -EINVAL;
	if (is_lost)
		return -ENOTCONN;

	msg->msg_flags |= MSG_OOB;
	if (!len) {
		msg->msg_flags |= MSG_TRUNC;
		return 0;
	}
	/* As with TCP, MSG_TRUNC discards the byte. */
	if (flags & MSG_TRUNC)
		return 1;
	return memcpy_to_msg(msg, &byte, 1) ? -EFAULT : 1;
}

/* Wake a reader only for a reader's events: room in the ring is for other threads. */
static int smc_stream_wake_reader(struct wait_queue_entry *wait, unsigned int mode, int sync,
				  void *key)
{
	return smc_wake_for(EPOLLIN | SMC_EVENTS_FEW | EPOLLRDHUP | EPOLLHUP | EPOLLERR, wait, mode,
			    sync, key);
}

/* Out of line, because a reader that finds bytes by busy polling needs no wait queue entry. */
static noinline void smc_stream_sleep_for_data(struct smc_stream *st, u64 pos, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, smc_stream_wake_reader);
	struct sock *sk = st->sk;

	add_wait_queue(sk_sleep(sk), &wait);
	sk_wait_event(sk, timeo, smc_stream_may_read(st, pos), &wait);
	remove_wait_queue(sk_sleep(sk), &wait);
}

/*
 * Wait for bytes after @pos. The wait releases the socket lock, so another
 * reader may take the bytes.
 * Return: 0 to check again, 1 at the end of the stream (orderly, or by the
 * socket's error), or an error.
 */
static int smc_stream_wait_for_data(struct smc_stream *st, u64 pos, long *timeo)
{
	u64 began;

	/* The bytes that arrived before the end are read first. */
	if (smc_rx_shut(st) || READ_ONCE(st->sk->sk_err))
		return !smc_rx_is_beyond(st, pos);
	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);

	began = local_clock();
	WRITE_ONCE(st->is_read, true);
	if (!smc_stream_spin(st, pos, began)) {
		smc_stream_sleep_for_data(st, pos, timeo);
		smc_stream_note_wait(st, local_clock() - began);
	}
	WRITE_ONCE(st->is_read, false);
	return 0;
}

/* Whether a signal is pending, such as the SIGURG of an urgent byte that has arrived. */
static noinline bool smc_stream_urgent_signals(struct smc_stream *st)
{
	/*
	 * Pairs with smc_stream_signal_urgent(), which sends the signal under
	 * this lock after the byte is visible.
	 */
	spin_lock_bh(st->lock);
	spin_unlock_bh(st->lock);
	return signal_pending(current);
}

/* As with TCP, withdraw the urgent byte from recv(MSG_OOB) once the reader has passed it. */
static void smc_stream_pass_urgent(struct smc_stream *st, u64 pos)
{
	if (likely(!READ_ONCE(st->rx.urgent_unread)))
		return;
	spin_lock_bh(st->lock);
	if (pos >= st->rx.urgent)
		WRITE_ONCE(st->rx.urgent_unread, false);
	spin_unlock_bh(st->lock);
}

/*
 * Reset a stream because of a bug: the reader's position is outside the
 * published bytes. The memory beyond the ring belongs to other connections, so
 * this end must neither read it nor return window for it.
 */
static noinline int smc_stream_abort_bad_position(struct smc_stream *st)
{
	smc_stat_violation(st->sn, SMC_VIOLATION_POSITION);
	smc_stream_abort(st, ECONNRESET);
	return -ECONNRESET;
}

/* Move rx.consumed to the reader's position @pos: the peer may reuse the room before it. */
static void smc_stream_consume(struct smc_stream *st, u64 pos)
{
	if (pos == st->rx.consumed)
		return;
	if (unlikely(!smc_rx_may_consume(&st->rx, pos))) {
		smc_stream_abort_bad_position(st);
		return;
	}
	smc_stream_pass_urgent(st, pos);
	st->rx.offset = smc_offset_advanced(st->rx.offset, st->rx.size, pos - st->rx.consumed);
	/* The copy out of the ring is complete before the peer may overwrite the bytes. */
	smp_store_release(&st->rx.consumed, pos);
	/* Pairs with smc_stream_update(): store rx.consumed, then check what the peer asks for. */
	smp_mb();
	smc_stream_give_credit(st);
}

/*
 * Copy some of the @len bytes at @pos, or discard them. The copy may sleep in a
 * page fault with the socket locked: the ring is this end's own memory, so the
 * peer does not wait for the copy. This function and smc_stream_read() are
 * inline, so that the snapshot stays in registers.
 * Return: number of bytes, or an error.
 */
static __always_inline ssize_t smc_stream_take(struct smc_stream *st,
					       const struct smc_rx_snapshot *at,
					       u64 pos, size_t len, struct msghdr *msg, int flags)
{
	u32 offset;

	if (unlikely(!smc_snapshot_holds(at, pos, len)))
		return smc_stream_abort_bad_position(st);
	offset = smc_offset_advanced(st->rx.offset, st->rx.size, pos - at->consumed);
	len = min_t(size_t, len, st->rx.size - offset);
	/* As with TCP, MSG_TRUNC discards the bytes. */
	if (likely(!(flags & MSG_TRUNC)) &&
	    _copy_to_iter(st->rx.ring + offset, len, &msg->msg_iter) != len)
		return -EFAULT;
	return len;
}

/*
 * Return the result of a read that got no bytes. @rc is the result of
 * smc_stream_wait_for_data(): 1 at the end of the stream, which is an error
 * unless the end is orderly.
 */
static int smc_stream_end_of_read(struct smc_stream *st, int rc)
{
	return rc > 0 && !smc_stream_peer_has_ended(st) ? smc_stream_take_error(st) : min(rc, 0);
}

/*
 * Read up to @len bytes, from the reader's position or from *@pos, whichever is
 * further on. Set *@pos to the end of the bytes that were read or skipped.
 * Return: bytes, 0 at the end of the stream, or -errno.
 */
static __always_inline ssize_t smc_stream_read(struct smc_stream *st, struct msghdr *msg,
					       size_t len, int flags, u64 *pos)
{
	long timeo = sock_rcvtimeo(st->sk, flags & MSG_DONTWAIT);
	size_t target = sock_rcvlowat(st->sk, flags & MSG_WAITALL, len);
	bool peek = flags & MSG_PEEK;
	struct smc_rx_snapshot at;
	size_t done = 0;
	ssize_t rc = 0;
	size_t piece;

	do {
		at = smc_stream_take_snapshot(st);
		/* Another reader may have moved the position while this one slept. */
		*pos = max(*pos, at.start);
		/* As with TCP, even a read of zero bytes waits once for something to arrive. */
		if (unlikely(!len) && at.received > *pos)
			break;
		/* As with TCP, the handler of SIGURG runs before a read passes the urgent byte. */
		if (unlikely(smc_snapshot_is_mark(&at, *pos)) && !done &&
		    smc_stream_urgent_signals(st)) {
			rc = timeo ? sock_intr_errno(timeo) : -EAGAIN;
			break;
		}
		piece = smc_snapshot_piece(&at, pos, done, len);
		if (piece) {
			rc = smc_stream_take(st, &at, *pos, piece, msg, flags);
			if (unlikely(rc < 0))
				break;
			*pos += rc;
			done += rc;
			continue;
		}
		if (smc_snapshot_ends_read(&at, *pos, done, target, peek))
			break;
		/* Before it sleeps, the reader returns the window of the bytes that it read. */
		if (!peek)
			smc_stream_consume(st, *pos);
		rc = smc_stream_wait_for_data(st, *pos, &timeo);
		if (rc)
			break;
	} while (done < len);
	/* While a read of zero bytes waited, another reader may have moved the position. */
	if (unlikely(!len))
		*pos = max(*pos, smc_stream_take_snapshot(st).start);
	/* A read that has bytes leaves the error to the next call. */
	return done ? : smc_stream_end_of_read(st, rc);
}

/*
 * Return the arrival time of the byte at @pos, which was unread when the caller's read began, in
 * nanoseconds since 1970; or 0 if the byte has not arrived, or its time was not recorded.
 */
static noinline u64 smc_stream_arrived_at(struct smc_stream *st, u64 pos)
{
	u64 time = 0;

	spin_lock_bh(st->lock);
	if (st->arrivals && pos < st->rx.received)
		time = smc_rx_timestamps_find(st->arrivals, pos);
	spin_unlock_bh(st->lock);
	return time;
}

int smc_stream_recv(struct smc_stream *st, struct msghdr *msg, size_t len, int flags,
		    u64 *arrival)
{
	bool peek = flags & MSG_PEEK;
	struct sock *sk = st->sk;
	int peek_offset = sk_peek_offset(sk, flags);
	u64 pos = 0;
	ssize_t rc;

	*arrival = 0;
	if (unlikely(flags & MSG_OOB)) {
		/*
		 * A program that only reads urgent bytes has to return the
		 * window of the bytes that it skips, too.
		 */
		if (!peek)
			smc_stream_consume(st, smc_stream_take_snapshot(st).start);
		return smc_stream_recv_urgent(st, msg, len, flags);
	}
	/* The offset is negative while SO_PEEK_OFF is not in use. */
	if (unlikely(peek_offset > 0))
		pos = smc_stream_take_snapshot(st).start + peek_offset;
	if (unlikely(len > st->rx.size))
		smc_stat_buffer_event(st->stats, SMC_STAT_RX, SMC_STAT_SMALL);

	rc = smc_stream_read(st, msg, len, flags, &pos);
	/* As with TCP, a read of zero bytes reports the arrival of the next byte. */
	if (unlikely(smc_stream_times_arrivals(st)) && (rc > 0 || (!rc && !len)))
		*arrival = smc_stream_arrived_at(st, len ? pos - 1 : pos);
	if (unlikely(peek)) {
		sk_peek_offset_fwd(sk, max_t(ssize_t, rc, 0));
	} else {
		smc_stream_consume(st, pos);
		sk_peek_offset_bwd(sk, max_t(ssize_t, rc, 0));
	}
	if (rc > 0) {
		smc_stat_bytes(st->stats, SMC_STAT_RX, rc);
		trace_smc_rx_recvmsg(st, rc);
	}
	return rc;
}

static void smc_splice_release(struct splice_pipe_desc *spd, unsigned int i)
{
	put_page(spd->pages[i]);
}

/*
 * Copy some of the @len bytes at @pos into a page of @pipe. Return: number of
 * bytes, or an error.
 */
static ssize_t smc_splice_page(struct smc_stream *st, const struct smc_rx_snapshot *at, u64 pos,
			       size_t len, struct pipe_inode_info *pipe)
{
	struct page *page = alloc_page(GFP_USER | __GFP_ACCOUNT);
	struct partial_page part = {};
	struct splice_pipe_desc spd = {
		.pages = &page,
		.partial = &part,
		.nr_pages = 1,
		.nr_pages_max = 1,
		.ops = &nosteal_pipe_buf_ops,
		.spd_release = smc_splice_release,
	};
	struct msghdr msg = {};
	struct kvec to;
	ssize_t rc;

	if (!page)
		return -ENOMEM;
	to = (struct kvec){ page_address(page), min_t(size_t, len, PAGE_SIZE) };
	iov_iter_kvec(&msg.msg_iter, ITER_DEST, &to, 1, to.iov_len);
	rc = smc_stream_take(st, at, pos, to.iov_len, &msg, 0);
	if (rc < 0) {
		put_page(page);
		return rc;
	}
	part.len = rc;
	return splice_to_pipe(pipe, &spd);
}

/*
 * Wait for bytes to splice. Any number is enough, whatever SO_RCVLOWAT says. As
 * with TCP, an urgent byte is neither spliced nor stepped over, so the wait
 * ends in front of one.
 * Return: 0 if @at has bytes, or an urgent byte is next; 1 at the end of the
 * stream (orderly, or by the socket's error); or an error.
 */
static int smc_splice_wait(struct smc_stream *st, struct smc_rx_snapshot *at, long timeo)
{
	int rc;

	do {
		*at = smc_stream_take_snapshot(st);
		if (smc_snapshot_spliceable(at))
			return 0;
		if (smc_snapshot_at_mark(at)) {
			if (smc_rx_shut(st) || READ_ONCE(st->sk->sk_err))
				return 1;
			return timeo ? 0 : -EAGAIN;
		}
		rc = smc_stream_wait_for_data(st, at->start, &timeo);
	} while (!rc);
	return rc;
}

ssize_t smc_stream_splice(struct smc_stream *st, struct pipe_inode_info *pipe, size_t len,
			  long timeo)
{
	struct smc_rx_snapshot at;
	size_t done = 0;
	ssize_t rc;

	rc = smc_splice_wait(st, &at, timeo);
	if (rc)
		return smc_stream_end_of_read(st, rc);
	len = min_t(u64, len, smc_snapshot_spliceable(&at));
	while (done < len) {
		rc = smc_splice_page(st, &at, at.start + done, len - done, pipe);
		if (rc < 0)
			break;
		done += rc;
	}
	if (!done)
		return rc;
	smc_stream_consume(st, at.start + done);
	smc_stat_bytes(st->stats, SMC_STAT_RX, done);
	return done;
}

u64 smc_stream_queued(const struct smc_stream *st)
{
	struct smc_rx_snapshot at = smc_stream_take_snapshot(st);

	return smc_snapshot_queued(&at);
}

bool smc_stream_at_mark(const struct smc_stream *st)
{
	struct smc_rx_snapshot at = smc_stream_take_snapshot(st);

	/* As with TCP, true even if the urgent byte came too late and this end refused it. */
	return at.urgent == at.start + 1;
}
