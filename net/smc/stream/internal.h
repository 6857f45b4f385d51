/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files of stream/ share. */
#ifndef SMC_STREAM_INTERNAL_H
#define SMC_STREAM_INTERNAL_H

#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "publish.h"
#include "stream.h"
#include "tcp.h"

/* Events beside EPOLL*. This one: the stream is over, so ->over() has to be called. */
#define SMC_EVENTS_OVER	((__force __poll_t)BIT(16))
/* Bytes arrived, but fewer than SO_RCVLOWAT. They wake a reader in recv(), and no poller. */
#define SMC_EVENTS_FEW	((__force __poll_t)BIT(17))
/* A direction ended. This event wakes exclusive waiters, too, all of them. */
#define SMC_EVENTS_END	((__force __poll_t)BIT(18))
/*
 * Events that may have become true when a stream ends or fails. EPOLLHUP
 * reaches every sleeper and poller except a select() for writing. EPOLLIN is
 * not among them, because SIGIO would report bytes.
 */
#define SMC_EVENTS_ALL	(SMC_EVENTS_END | EPOLLHUP | EPOLLOUT | EPOLLWRNORM)
/* The peer's host has received all flags that end this direction. */
#define SMC_EVENTS_END_DELIVERED	((__force __poll_t)BIT(19))
/* A timestamp is due for bytes that were sent. */
#define SMC_EVENTS_STAMPS	((__force __poll_t)BIT(20))
/* The event that smc_stream_await() asked for has occurred. */
#define SMC_EVENTS_AWAITED	((__force __poll_t)BIT(21))

/* Events that no waiter at the socket waits for. */
#define SMC_EVENTS_MORE \
	(SMC_EVENTS_OVER | SMC_EVENTS_END_DELIVERED | SMC_EVENTS_STAMPS | SMC_EVENTS_AWAITED)

/*
 * Wake function of a thread that sleeps for @events. A wake-up without a key
 * may be for any of them.
 */
static inline int smc_wake_for(__poll_t events, struct wait_queue_entry *wait, unsigned int mode,
			       int sync, void *key)
{
	if (key && !(key_to_poll(key) & events))
		return 0;
	/*
	 * The thread is marked as woken already. Before it sleeps again, it
	 * clears the mark and checks its condition. The waker has stored its
	 * event before it checks for sleepers, see skwq_has_sleeper().
	 */
	if (READ_ONCE(wait->flags) & WQ_FLAG_WOKEN)
		return 0;
	return woken_wake_function(wait, mode, sync, key);
}

/* TCP_NOTSENT_LOWAT: too many written bytes are not published. Needs st->sk. */
static inline bool smc_tx_exceeds_lowat(const struct smc_stream *st)
{
	/* As with TCP, whoever waits is told when that is less than half of the limit. */
	return 2 * smc_tx_unsent(&st->tx) >= smc_tcp_notsent_lowat(st->sk);
}

/* There is enough room to wake a writer. */
static inline bool smc_tx_writable(const struct smc_stream *st)
{
	return smc_tx_has_room(&st->tx) && !smc_tx_exceeds_lowat(st);
}

/* Asks error and flags: nothing that this end writes will reach the peer's application. */
static inline bool smc_tx_shut(const struct smc_stream *st)
{
	/* Pairs with smc_stream_fail(): a thread that sees the end also sees its error. */
	if (smp_load_acquire(&st->err) || READ_ONCE(st->tx.end_flags))
		return true;
	/* Pairs with smc_stream_update(), for the same reason. */
	return smp_load_acquire(&st->rx.conn_flags) & SMC_CONN_GONE;
}

/* There is room, or waiting for it is useless. */
static inline bool smc_tx_ready(const struct smc_stream *st)
{
	return smc_tx_shut(st) || smc_tx_writable(st);
}

/*
 * Asks error and flags: the peer has closed in good order. TCP could not tell that from a shutdown
 * yet, so the next send succeeds and its bytes are discarded.
 */
static inline bool smc_tx_is_discarded(const struct smc_stream *st)
{
	/*
	 * SMC_CONN_ABORT alone does not mean that this application ended: it
	 * also answers a peer that stopped waiting.
	 */
	return !READ_ONCE(st->err) && !(READ_ONCE(st->tx.end_flags) & ~SMC_CONN_ABORT) &&
	       (READ_ONCE(st->rx.conn_flags) & SMC_CONN_CLOSED);
}

/* Asks error and flags: nothing more will arrive. */
static inline bool smc_rx_shut(const struct smc_stream *st)
{
	/*
	 * Pairs with smc_stream_fail(): a thread that sees the end also sees
	 * the bytes before it.
	 */
	if (smp_load_acquire(&st->err) || READ_ONCE(st->rcv_shutdown))
		return true;
	/* Pairs with smc_stream_update(), for the same reason. */
	return smp_load_acquire(&st->rx.conn_flags) & (SMC_CONN_DONE_WRITING | SMC_CONN_GONE);
}

/*
 * Asks the peer's flags: all that it wrote has arrived. As with TCP, that remains true if the
 * peer aborts later.
 */
static inline bool smc_rx_ended(const struct smc_stream *st)
{
	return READ_ONCE(st->rx.conn_flags) & (SMC_CONN_CLOSED | SMC_CONN_DONE_WRITING);
}

/* Urgent bytes are read in line. Before a socket is attached, false; attaching corrects that. */
static inline bool smc_stream_is_inline(const struct smc_stream *st)
{
	return st->sk && sock_flag(st->sk, SOCK_URGINLINE);
}

/* Take a snapshot for a reader. */
static inline struct smc_rx_snapshot smc_stream_take_snapshot(const struct smc_stream *st)
{
	return smc_rx_take_snapshot(&st->rx, smc_stream_is_inline(st));
}

/* Bytes after @pos have arrived. */
static inline bool smc_rx_is_beyond(const struct smc_stream *st, u64 pos)
{
	/* Pairs with smc_rx_arrive(): the bytes are there. */
	return smp_load_acquire(&st->rx.received) > pos;
}

/* A reader at @pos need not wait: there are bytes, the end, or an error. */
static inline bool smc_stream_may_read(const struct smc_stream *st, u64 pos)
{
	return smc_rx_is_beyond(st, pos) || smc_rx_shut(st) || READ_ONCE(st->sk->sk_err);
}

/*
 * Take the socket's error for a call that transfers data. The reset of the TCP
 * connection, which follows, is no second error then.
 */
static inline int smc_stream_take_error(struct smc_stream *st)
{
	int rc = sock_error(st->sk);

	if (rc)
		WRITE_ONCE(st->is_err_told, true);
	return rc;
}

/**
 * smc_stream_note_credit() - schedule a credit message to the peer, if it is due
 * @st: stream, its lock held
 *
 * Credit is returned lazily, so that one message returns much of the window: a
 * quarter of the element or, while the peer is short of window, a quarter of
 * the bytes that were not reported when it said so. Less than that is returned
 * only after a delay.
 *
 * Return: true if the next push sends the credit.
 */
bool smc_stream_note_credit(struct smc_stream *st);

/**
 * smc_stream_spin() - busy poll for something to read, if that seems worthwhile
 * @st: stream
 * @pos: end of what was read so far
 * @began: local_clock() when the wait began
 *
 * Context: the socket lock is held; it is released during the polling.
 * Return: true if there is something to read; the wait has been noted then.
 * False if the caller has to sleep, and to note the wait afterwards.
 */
bool smc_stream_spin(struct smc_stream *st, u64 pos, u64 began);

/**
 * smc_stream_spin_begin() - start with the estimate that another stream's first wait left
 * @st: stream
 * @role: role of this end
 */
void smc_stream_spin_begin(struct smc_stream *st, enum smc_role role);

/**
 * smc_stream_has_enough() - whether enough bytes have arrived to wake a reader,
 * urgent ones included
 * @st: stream of a socket
 *
 * Context: any.
 */
bool smc_stream_has_enough(const struct smc_stream *st);

/**
 * smc_stream_note_wait() - record how long a reader's wait took
 * @st: stream, its socket locked
 * @took: nanoseconds
 */
void smc_stream_note_wait(struct smc_stream *st, u64 took);

/* The socket currently asks for arrival times. */
static inline bool smc_stream_asks_for_arrivals(const struct smc_stream *st)
{
	return st->sk && (READ_ONCE(st->sk->sk_flags) & SK_FLAGS_TIMESTAMP);
}

/*
 * The socket asks for arrival times, or did before. The first arrival is
 * recorded after its bytes became readable, but under the same hold of the
 * lock.
 */
static inline bool smc_stream_times_arrivals(const struct smc_stream *st)
{
	return READ_ONCE(st->arrivals) || smc_stream_asks_for_arrivals(st);
}

/**
 * smc_stream_note_arrival() - record an arrival time, if the socket asks for it
 * @st: stream, its lock held since before the bytes became readable
 * @begin: position of the first byte that arrived
 */
void smc_stream_note_arrival(struct smc_stream *st, u64 begin);

/**
 * smc_stream_arrived_at() - return the arrival time of a byte
 * @st: stream
 * @pos: position of the byte, which was not consumed before the read
 *
 * Context: any, without @st->lock.
 * Return: nanoseconds since 1970; 0 if the byte has not arrived, or its time
 * was not recorded.
 */
u64 smc_stream_arrived_at(struct smc_stream *st, u64 pos);

/**
 * smc_stream_take_cmsg() - parse the control messages of a sendmsg()
 * @st: stream of a socket
 * @msg: message
 * @tsflags: set to the SOF_TIMESTAMPING_TX_* that are requested, among other flags
 *
 * Return: 0 or -EINVAL.
 */
int smc_stream_take_cmsg(const struct smc_stream *st, struct msghdr *msg, u32 *tsflags);

/**
 * smc_zerocopy_begin() - before a send: allocate its MSG_ZEROCOPY notification,
 * if one is requested
 * @sk: socket, locked
 * @msg: message
 * @len: its bytes
 * @notice: set to the notification, for smc_zerocopy_end(), or to NULL
 *
 * Return: 0, or -ENOBUFS if too many notifications are unread, or too much
 * memory is locked.
 */
int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct ubuf_info **notice);

/**
 * smc_zerocopy_end() - after a send: notify that its bytes were copied
 * @notice: notification, or NULL
 * @is_sent: some bytes were sent; otherwise the number of the notification is returned
 *
 * Context: process, the socket locked.
 */
void smc_zerocopy_end(struct ubuf_info *notice, bool is_sent);

/**
 * smc_tx_timestamps_number() - before a send: begin to number bytes, if the socket has
 * just asked for that
 * @st: stream, its socket locked
 * @tsflags: the socket's flags
 */
void smc_tx_timestamps_number(struct smc_stream *st, u32 tsflags);

/**
 * smc_tx_timestamps_ask() - request timestamps for the last byte written
 * @st: stream, its socket locked
 * @tsflags: SOF_TIMESTAMPING_TX_*, among other flags
 *
 * The next smc_stream_unlock() checks whether one is due. If memory is short,
 * there is no timestamp.
 */
void smc_tx_timestamps_ask(struct smc_stream *st, u32 tsflags);

/**
 * smc_tx_timestamps_are_due() - whether a timestamp is ready for smc_tx_timestamps_report()
 * @st: stream with timestamps, its lock held
 */
bool smc_tx_timestamps_are_due(const struct smc_stream *st);

/**
 * smc_tx_timestamps_report() - put the timestamps that are due into the error queue
 * @st: stream
 *
 * Context: any but hard interrupt, without @st->lock.
 */
void smc_tx_timestamps_report(struct smc_stream *st);

/*
 * Bytes that the application has read and that were not reported to the peer.
 * Either lock suffices.
 */
static inline u64 smc_rx_freed(const struct smc_stream *st)
{
	return READ_ONCE(st->rx.consumed) - READ_ONCE(st->rx.reported);
}

/* The peer is short of window, and this end has some to return. */
static inline bool smc_rx_window_is_wanted(const struct smc_stream *st)
{
	return smc_rx_freed(st) && (READ_ONCE(st->rx.prod_flags) & SMC_PROD_WANT_WINDOW);
}

/**
 * smc_stream_push() - publish bytes, flags and cursors that wait for it
 * @st: stream
 * @how: whether they may be held back
 *
 * Context: softirqs off, @st->lock held.
 */
void smc_stream_push(struct smc_stream *st, enum smc_push how);

/**
 * smc_stream_unlock() - release @st->lock and handle the consequences of what
 * was done under it
 * @st: stream
 *
 * For this end and for the local peer: answer the other end's publish, wake
 * waiters, and end the stream if both ends have closed.
 */
void smc_stream_unlock(struct smc_stream *st) __releases(st->lock);

/**
 * smc_stream_want_room() - have a writer woken when there is room
 * @st: stream, its lock not held
 * @has_bytes: the writer is a send() that has bytes left
 *
 * Publishes the written bytes, since only that makes room. Room that exists
 * already wakes no writer, so the caller has to check again afterwards.
 */
void smc_stream_want_room(struct smc_stream *st, bool has_bytes);

/**
 * smc_stream_note_room() - wake a waiting writer if there is enough room now
 * @st: stream, its lock held; smc_stream_unlock() does the wake-up
 */
void smc_stream_note_room(struct smc_stream *st);

/**
 * smc_stream_wake() - wake the threads that wait for any of @events
 * @st: stream
 * @events: EPOLL* that became true
 */
void smc_stream_wake(struct smc_stream *st, __poll_t events);

/**
 * smc_stream_fail() - set the error that ends the stream
 * @st: stream, its lock held
 * @err: positive errno
 *
 * Only the first error counts. smc_stream_unlock() reports it to the application.
 */
void smc_stream_fail(struct smc_stream *st, int err);

/**
 * smc_stream_break() - reset the stream and send the peer SMC_CONN_ABORT
 * @st: stream, its lock held; smc_stream_unlock() follows
 * @err: positive errno for the application at this end
 */
void smc_stream_break(struct smc_stream *st, int err);

/**
 * smc_stream_fin_time() - how long to wait for the peer's end after this end's
 * @st: stream of a socket
 *
 * This is the time that TCP waits for a FIN, but at most TCP_FIN_TIMEOUT_MAX:
 * the memory is the host's, and the sysctl belongs to the owner of the
 * namespace.
 *
 * Return: jiffies.
 */
unsigned long smc_stream_fin_time(const struct smc_stream *st);

/**
 * smc_stream_check_orphan() - the end_work of an orphan
 * @st: stream; the work holds a reference
 *
 * The work runs when the peer's time is over, and when the stream is over.
 */
void smc_stream_check_orphan(struct smc_stream *st);

/**
 * smc_stream_check_local_peer() - the end_work of a closed stream that only waits for
 * its local peer's end
 * @st: stream; the work holds a reference
 */
void smc_stream_check_local_peer(struct smc_stream *st);

/**
 * smc_stream_update_orphan() - after each change of an orphan: restart the
 * peer's time on progress
 * @st: stream, its lock held
 */
void smc_stream_update_orphan(struct smc_stream *st);

/* Bytes wait for the peer now, or did before. Otherwise there is nothing to time. */
static inline bool smc_stream_has_undelivered(const struct smc_stream *st)
{
	return st->user_progress || smc_stream_undelivered(st) || st->tx.blocked;
}

/**
 * smc_stream_update_user_timeout() - after each change of a stream: start or
 * restart its user timeout
 * @st: stream, its lock held
 */
void smc_stream_update_user_timeout(struct smc_stream *st);

/**
 * smc_stream_check_user_timeout() - the timer of TCP_USER_TIMEOUT
 * @timer: timer in its stream; it holds a reference
 */
void smc_stream_check_user_timeout(struct timer_list *timer);

/**
 * smc_stream_start_hold_timer() - limit the time for which something is held back
 * @st: stream, its lock held
 *
 * Small amounts of data, a small window, and a wake-up for a little room are
 * held back until there is more of them. But the other end may need exactly
 * these to continue.
 */
void smc_stream_start_hold_timer(struct smc_stream *st);

/*
 * The functions that each transfer runs through never cross from one page into
 * another, wherever the linker puts them, because each is smaller than its
 * alignment. An emulator that links jumps only within pages, as QEMU does,
 * takes a twentieth more time for a round trip if they cross. Each function has
 * a section of its own: in a shared section the assembler would fill the gaps
 * with jumps, and objtool warns about those.
 */
__typeof__(smc_stream_recv) smc_stream_recv
	__section(".text.smc_stream_recv") __aligned(SZ_4K);
__typeof__(smc_stream_push) smc_stream_push
	__section(".text.smc_stream_push") __aligned(SZ_2K);
__typeof__(smc_stream_update) smc_stream_update
	__section(".text.smc_stream_update") __aligned(SZ_2K);

#endif
