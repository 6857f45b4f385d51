// SPDX-License-Identifier: GPL-2.0
/* sendmsg(): copy bytes from the application into the ring. */

#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/sock.h>

#include "admin/stats.h"
#include "compat.h"
#include "internal.h"
#include "tcp.h"
#include "trace.h"

/*
 * Limit of bytes in one copy. If the stream ends during a copy, its ring can be reused only after
 * the copy, so a copy must not take long.
 */
#define SMC_FILL_BYTES	((size_t)SZ_64K)

void smc_stream_want_room(struct smc_stream *st, bool has_bytes)
{
	bool waited;

	/* SIGIO for room is sent only to a program that has found no room before. */
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, st->sk);
	spin_lock_bh(st->lock);
	waited = smc_tx_has_writer(&st->tx);
	smc_tx_want_room(&st->tx, has_bytes);
	/* Pairs with smc_stream_note_room(): one of the two threads sees the other's store. */
	smp_mb();
	smc_stream_push(st, SMC_PUSH_NOW);
	if (smc_tx_free(&st->tx) && !smc_tx_writable(st))
		smc_stream_start_hold_timer(st);
	/* If there is room now, the send() that asked does not sleep. */
	if (st->tx.writer == SMC_WRITER_BLOCKED && smc_tx_writable(st))
		WRITE_ONCE(st->tx.writer, SMC_WRITER_WAITS);
	if (!waited && !smc_tx_writable(st))
		smc_stat_buffer_event(st->stats, SMC_STAT_TX,
				      st->tx.sent == st->tx.acked + st->tx.peer_size ?
				      SMC_STAT_FULL_PEER : SMC_STAT_FULL);
	smc_stream_unlock(st);
}

/* Wake a writer only for a writer's events: bytes that arrive are for other threads. */
static int smc_stream_wake_writer(struct wait_queue_entry *wait, unsigned int mode, int sync,
				  void *key)
{
	return smc_wake_for(EPOLLOUT | EPOLLHUP | EPOLLERR, wait, mode, sync, key);
}

static bool smc_stream_may_write(const struct smc_stream *st)
{
	return READ_ONCE(st->sk->sk_err) || smc_tx_ready(st);
}

/*
 * Wait until there is room, or nothing can be sent any more. Return: 0, or an error.
 *
 * Functions that few sends call, like this one, are out of line, so that all
 * other sends save no registers for them.
 */
static noinline int smc_stream_wait_for_room(struct smc_stream *st, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, smc_stream_wake_writer);
	struct sock *sk = st->sk;
	int rc = 0;

	/*
	 * The thread joins the wait queue before it requests room. Otherwise it
	 * could miss the wake-up, and another sender could take the room.
	 */
	add_wait_queue(sk_sleep(sk), &wait);
	smc_stream_want_room(st, true);
	/* Room that came before the request raised no event, and will raise none. */
	if (smc_stream_may_write(st))
		goto out;
	if (!*timeo)
		rc = -EAGAIN;
	else if (signal_pending(current))
		rc = sock_intr_errno(*timeo);
	else
		sk_wait_event(sk, timeo, smc_stream_may_write(st), &wait);
out:
	remove_wait_queue(sk_sleep(sk), &wait);
	return rc;
}

/* Record that @copied bytes were copied into the ring, the last of which is urgent. */
static noinline void smc_stream_commit_urgent(struct smc_stream *st, u32 copied)
{
	spin_lock_bh(st->lock);
	smc_tx_write_urgent(&st->tx, copied);
	spin_unlock_bh(st->lock);
	smc_stat_call(st->stats, SMC_STAT_URGENT);
}

/*
 * Copy into the ring without sleeping: the copy stops at memory that is not
 * present. The ring may be the peer's element, which is reused one grace period
 * after the stream is over.
 */
static size_t smc_ring_fill(struct smc_stream *st, u32 offset, size_t len, struct iov_iter *from)
{
	size_t copied = 0;

	rcu_read_lock();
	/* While the stream is not over, the grace period before reuse has not begun. */
	if (!smc_stream_is_over(st)) {
		pagefault_disable();
		copied = _copy_from_iter(st->tx.ring + offset, len, from);
		pagefault_enable();
	}
	rcu_read_unlock();
	return copied;
}

/* Copy @len bytes, for which there is room, after the written ones. Return: bytes copied. */
static size_t smc_stream_fill(struct smc_stream *st, size_t len, struct iov_iter *from)
{
	u32 offset = st->tx.offset;
	size_t copied, piece;
	size_t done = 0;

	for (;;) {
		piece = min3(len - done, (size_t)(st->tx.size - offset), SMC_FILL_BYTES);
		copied = smc_ring_fill(st, offset, piece, from);
		done += copied;
		if (copied < piece || done == len)
			return done;
		offset = smc_offset_advanced(offset, st->tx.size, copied);
	}
}

/*
 * Return how many bytes to accept now. As with TCP, a piece is accepted if fewer
 * bytes than TCP_NOTSENT_LOWAT are unpublished before it. The piece itself may
 * exceed the limit, but is then no longer than TCP's longest segment.
 */
static u32 smc_stream_room(const struct smc_stream *st)
{
	u32 lowat = smc_tcp_notsent_lowat(st->sk);
	u64 unsent = smc_tx_unsent(&st->tx);

	if (unsent >= lowat)
		return 0;
	return min_t(u64, smc_tx_free(&st->tx), max_t(u64, lowat - unsent, SMC_FILL_BYTES));
}

/*
 * Fault in the next @len bytes. The program that serves the page faults
 * (userfaultfd) may take as long as it likes. So release the socket lock, for which
 * other threads wait. One of them may be about to end the stream, and a local peer
 * gets its element back only once this end's stream is over.
 * If some bytes can't be faulted in, truncate @msg before them.
 */
static noinline int smc_stream_fault_in(struct smc_stream *st, struct msghdr *msg, size_t len)
{
	size_t missing;

	release_sock(st->sk);
	missing = fault_in_iov_iter_readable(&msg->msg_iter, len);
	lock_sock(st->sk);
	if (missing == len)
		return -EFAULT;
	if (missing) {
		iov_iter_truncate(&msg->msg_iter, len - missing);
		msg->msg_flags &= ~MSG_OOB;
	}
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/*
 * Accept as many bytes as there is room for. As with TCP, which keeps the socket
 * locked, bytes of another thread do not come between them. So if some bytes are
 * not in memory, none is accepted before all of them are faulted in.
 * Return: bytes accepted, 0 to try again, or an error.
 */
static ssize_t smc_stream_accept(struct smc_stream *st, struct msghdr *msg, u32 free)
{
	size_t len = min_t(size_t, free, msg_data_left(msg));
	size_t copied = smc_stream_fill(st, len, &msg->msg_iter);

	if (copied < len) {
		iov_iter_revert(&msg->msg_iter, copied);
		/* The caller determines why the stream is over. */
		return smc_stream_is_over(st) ? 0 : smc_stream_fault_in(st, msg, len);
	}
	/* Only the last byte of the whole send() is urgent, not the last one of each piece. */
	if ((msg->msg_flags & MSG_OOB) && !msg_data_left(msg))
		smc_stream_commit_urgent(st, copied);
	else
		smc_tx_write(&st->tx, copied);
	return copied;
}

/* Whether the application wants small data joined with its next write. */
static bool smc_stream_is_corked(const struct smc_stream *st, unsigned int flags)
{
	if (!(flags & MSG_MORE) && !smc_tcp_is_corked(st->sk))
		return false;
	return smc_tx_unsent(&st->tx) < st->tx.size / 2;
}

/*
 * Discard bytes for a peer that has closed. With TCP only the reset in answer to
 * data reveals the close: the first send succeeds for as many bytes as the send
 * buffer has room for, and the next send fails. Here the free room of the ring
 * is the limit of the first send. Its bytes are discarded, because the ring may
 * belong to another connection by now.
 * Return: bytes accepted; -EPIPE if there is no room for any, or another send() was
 * first; or the error of smc_stream_fault_in().
 */
static noinline ssize_t smc_stream_send_discard(struct smc_stream *st, struct msghdr *msg)
{
	size_t len = min_t(size_t, smc_tx_free(&st->tx), msg_data_left(msg));
	int rc;

	if (!msg_data_left(msg))
		return 0;
	rc = len ? smc_stream_fault_in(st, msg, len) : 0;
	if (rc)
		return rc;
	/*
	 * Only the first send() after the peer's close succeeds. While the socket was unlocked,
	 * another thread's send() may have been first, or the stream may have ended in another way.
	 */
	if (!smc_tx_is_discarded(st))
		return -EPIPE;
	len = min(len, msg_data_left(msg));
	iov_iter_advance(&msg->msg_iter, len);
	spin_lock_bh(st->lock);
	smc_stream_fail(st, EPIPE);
	smc_stream_unlock(st);
	return len ? len : -EPIPE;
}

static void smc_stream_push_sent(struct smc_stream *st, unsigned int flags)
{
	bool nodelay = smc_tcp_is_nodelay(st->sk);

	if (!(flags & MSG_OOB) && smc_stream_is_corked(st, flags)) {
		smc_stat_call(st->stats, SMC_STAT_CORK);
		spin_lock_bh(st->lock);
		smc_stream_start_hold_timer(st);
		/* Some push may have published the bytes already, so timestamps may be due. */
		smc_stream_unlock(st);
		return;
	}
	if (nodelay)
		smc_stat_call(st->stats, SMC_STAT_NODELAY);

	spin_lock_bh(st->lock);
	st->tx.nodelay = nodelay;
	smc_stream_push(st, SMC_PUSH_AUTOCORK);
	smc_stream_unlock(st);
}

/* The function has a section of its own for the reason given at the end of internal.h. */
static int smc_stream_write(struct smc_stream *st, struct msghdr *msg, size_t len, u32 tsflags)
	__section(".text.smc_stream_write") __aligned(SZ_2K);

/* Copy the bytes and publish them. @tsflags request timestamps for the last one. */
static int smc_stream_write(struct smc_stream *st, struct msghdr *msg, size_t len, u32 tsflags)
{
	struct sock *sk = st->sk;
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	size_t done = 0;
	ssize_t rc;
	u32 free;

	if (len > st->tx.size)
		smc_stat_buffer_event(st->stats, SMC_STAT_TX, st->tx.size == st->tx.peer_size ?
				      SMC_STAT_SMALL_PEER : SMC_STAT_SMALL);
	if (msg->msg_flags & MSG_SPLICE_PAGES)
		smc_stat_call(st->stats, SMC_STAT_SENDPAGE);
	do {
		rc = 0;
		if (sk->sk_err || smc_tx_shut(st)) {
			rc = smc_tx_is_discarded(st) ? smc_stream_send_discard(st, msg) : -EPIPE;
			done += max_t(ssize_t, rc, 0);
			/* The last byte is discarded or refused, so no timestamp is due for it. */
			tsflags = 0;
			break;
		}
		/* A send of zero bytes only checks for errors. */
		if (!len)
			break;
		free = smc_stream_room(st);
		if (!free) {
			rc = smc_stream_wait_for_room(st, &timeo);
			if (rc)
				break;
			continue;
		}
		rc = smc_stream_accept(st, msg, free);
		if (rc < 0)
			break;
		done += rc;
	} while (msg_data_left(msg));

	if (!done) {
		if (rc == -EPIPE)
			rc = smc_stream_take_error(st) ? : rc;
		return rc < 0 ? sk_stream_error(sk, msg->msg_flags, rc) : 0;
	}
	if (tsflags)
		smc_tx_timestamps_ask(st, tsflags);
	smc_stream_push_sent(st, msg_data_left(msg) ? msg->msg_flags & ~MSG_OOB : msg->msg_flags);
	smc_stat_bytes(st->stats, SMC_STAT_TX, done);
	trace_smc_tx_sendmsg(st, done);
	return done;
}

/* Whether the send, like most, has nothing that smc_stream_send_special() handles. */
static bool smc_send_is_plain(const struct smc_stream *st, const struct msghdr *msg)
{
	return !(msg->msg_flags & MSG_ZEROCOPY) && !msg->msg_controllen &&
	       !READ_ONCE(st->sk->sk_tsflags);
}

/* Send with MSG_ZEROCOPY, control messages, or timestamps. */
static noinline int smc_stream_send_special(struct smc_stream *st, struct msghdr *msg, size_t len)
{
	struct ubuf_info *notice;
	u32 tsflags = 0;
	int rc;

	rc = smc_zerocopy_begin(st->sk, msg, len, &notice);
	if (rc)
		return rc;
	/* As with TCP, the end of the stream is reported before an invalid control message. */
	if (!smc_tx_shut(st) || smc_tx_is_discarded(st))
		rc = smc_stream_take_cmsg(st, msg, &tsflags);
	if (!rc) {
		smc_tx_timestamps_number(st, tsflags);
		rc = smc_stream_write(st, msg, len, tsflags);
	}
	smc_zerocopy_end(notice, rc > 0);
	return rc;
}

int smc_stream_send(struct smc_stream *st, struct msghdr *msg, size_t len)
{
	if (smc_send_is_plain(st, msg))
		return smc_stream_write(st, msg, len, 0);
	return smc_stream_send_special(st, msg, len);
}

void smc_stream_uncork(struct smc_stream *st)
{
	spin_lock_bh(st->lock);
	smc_stream_push(st, SMC_PUSH_NOW);
	smc_stream_unlock(st);
}
