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

/* Events in addition to EPOLL*. */

/* The stream is over: its path has to be told by ->over(). */
#define SMC_EVENTS_OVER	((__force __poll_t)BIT(16))
/* Bytes arrived, but fewer than SO_RCVLOWAT. This event wakes a reader in recv(), but no poller. */
#define SMC_EVENTS_FEW	((__force __poll_t)BIT(17))
/*
 * A direction ended. The EPOLL* events beside this one say which waiters to wake. With it all of
 * these wake, not only the first exclusive one.
 */
#define SMC_EVENTS_END	((__force __poll_t)BIT(18))
/*
 * Events that may have become true when a stream ends or fails. EPOLLHUP wakes
 * every sleeper and poller except a select() for writing, which EPOLLOUT wakes.
 * EPOLLIN is left out, because smc_stream_signal() would send a SIGIO for bytes.
 */
#define SMC_EVENTS_ALL	(SMC_EVENTS_END | EPOLLHUP | EPOLLOUT | EPOLLWRNORM)
/* The peer's host has received all flags by which this end stops sending, or the stream is over. */
#define SMC_EVENTS_END_DELIVERED	((__force __poll_t)BIT(19))
/* A timestamp is due for bytes that were sent. */
#define SMC_EVENTS_STAMPS	((__force __poll_t)BIT(20))
/* The event that smc_stream_await() asked for has occurred. */
#define SMC_EVENTS_AWAITED	((__force __poll_t)BIT(21))

/* Events that wake no waiter of the socket: smc_stream_report_sock() handles them. */
#define SMC_EVENTS_MORE \
	(SMC_EVENTS_OVER | SMC_EVENTS_END_DELIVERED | SMC_EVENTS_STAMPS | SMC_EVENTS_AWAITED)

/*
 * Do the work of a wait queue function: wake a thread that sleeps for @events. A
 * wake-up without a key may be for any event.
 */
static inline int smc_wake_for(__poll_t events, struct wait_queue_entry *wait, unsigned int mode,
			       int sync, void *key)
{
	if (key && !(key_to_poll(key) & events))
		return 0;
	/*
	 * The thread has been woken already, and will see this event, too. The
	 * thread clears WQ_FLAG_WOKEN before it checks its condition again, and
	 * the waker stored the event before it reads the flag here: the barrier
	 * is in skwq_has_sleeper().
	 */
	if (READ_ONCE(wait->flags) & WQ_FLAG_WOKEN)
		return 0;
	return woken_wake_function(wait, mode, sync, key);
}

/* Whether too many bytes are unpublished to wake a writer (TCP_NOTSENT_LOWAT). Needs @st->sk. */
static inline bool smc_tx_exceeds_lowat(const struct smc_stream *st)
{
	/* As with TCP, a writer is woken once less than half of the limit is unpublished. */
	return 2 * smc_tx_unsent(&st->tx) >= smc_tcp_notsent_lowat(st->sk);
}

/* Whether to wake a writer: there is enough room, and TCP_NOTSENT_LOWAT permits more bytes. */
static inline bool smc_tx_writable(const struct smc_stream *st)
{
	return smc_tx_has_room(&st->tx) && !smc_tx_exceeds_lowat(st);
}

/* Whether the error or one end's flags show that new bytes can't reach the peer's application. */
static inline bool smc_tx_shut(const struct smc_stream *st)
{
	/* Pairs with smc_stream_fail(): a thread that sees st->err also sees sk_err. */
	if (smp_load_acquire(&st->err) || READ_ONCE(st->tx.end_flags))
		return true;
	/* Pairs with smc_stream_update(): the error that the peer's flags cause is visible, too. */
	return smp_load_acquire(&st->rx.conn_flags) & SMC_CONN_FINAL;
}

/* Whether a writer need not wait: there is room, or waiting for room is useless. */
static inline bool smc_tx_ready(const struct smc_stream *st)
{
	return smc_tx_shut(st) || smc_tx_writable(st);
}

/*
 * Whether the next send() succeeds although its bytes are discarded: the peer has closed in good
 * order, the stream has no error, and this end's application has not ended its own direction. With
 * TCP the next send() would succeed, too: this end would have seen only a FIN, which does not tell
 * a close from a shutdown.
 */
static inline bool smc_tx_is_discarded(const struct smc_stream *st)
{
	/*
	 * SMC_CONN_ABORT alone in end_flags does not show that this end's
	 * application ended the stream. The flag may be this end's answer to the
	 * peer's SMC_CONN_ABORT, by which a peer that has closed says that it no
	 * longer waits for this end to close.
	 */
	return !READ_ONCE(st->err) && !(READ_ONCE(st->tx.end_flags) & ~SMC_CONN_ABORT) &&
	       (READ_ONCE(st->rx.conn_flags) & SMC_CONN_CLOSED);
}

/* Whether the error, shutdown() or the peer's flags make it useless to wait for more bytes. */
static inline bool smc_rx_shut(const struct smc_stream *st)
{
	/*
	 * Pairs with smc_stream_fail(): a thread that sees st->err also sees
	 * the bytes that arrived before.
	 */
	if (smp_load_acquire(&st->err) || READ_ONCE(st->rcv_shutdown))
		return true;
	/* Pairs with smc_stream_update(): the bytes before the flags are visible, too. */
	return smp_load_acquire(&st->rx.conn_flags) & (SMC_CONN_DONE_WRITING | SMC_CONN_FINAL);
}

/*
 * Whether urgent bytes are read in line. Without a socket the answer is no, so smc_rx_mark() may
 * record that a reader steps over an urgent byte. smc_stream_attach() undoes that step if the
 * socket reads urgent bytes in line.
 */
static inline bool smc_stream_is_inline(const struct smc_stream *st)
{
	return st->sk && sock_flag(st->sk, SOCK_URGINLINE);
}

/* Take a snapshot of the receive positions for one decision of a reader. */
static inline struct smc_rx_snapshot smc_stream_take_snapshot(const struct smc_stream *st)
{
	return smc_rx_take_snapshot(&st->rx, smc_stream_is_inline(st));
}

/* Whether bytes after @pos have arrived. */
static inline bool smc_rx_is_beyond(const struct smc_stream *st, u64 pos)
{
	/* Pairs with smc_rx_arrive(): the bytes are in the ring. */
	return smp_load_acquire(&st->rx.received) > pos;
}

/* Whether a reader at @pos need not wait: there are bytes, the end, or an error. */
static inline bool smc_stream_may_read(const struct smc_stream *st, u64 pos)
{
	return smc_rx_is_beyond(st, pos) || smc_rx_shut(st) || READ_ONCE(st->sk->sk_err);
}

/*
 * Take the socket's error for a call that transfers data, and record that the
 * application has the error. If the TCP connection is reset afterwards,
 * smc_sock_tcp_failed() then sets no second error.
 */
static inline int smc_stream_take_error(struct smc_stream *st)
{
	int rc = sock_error(st->sk);

	if (rc)
		WRITE_ONCE(st->is_err_told, true);
	return rc;
}

/**
 * smc_stream_note_credit() - schedule a credit message to the peer, if one is due
 * @st: stream, its lock held
 *
 * Credit is due when it is a quarter of the element, so that one message
 * returns much of the window. Less credit is due only while the peer asks for
 * window. If the peer asks for updates alone (SMC_PROD_UPDATE_REQUESTED), any
 * credit is due. If the peer is blocked (SMC_PROD_WRITE_BLOCKED), credit is due
 * in three cases: it is a quarter of the bytes that were unreported when the peer
 * asked, the reader has emptied the ring, or the hold timer expires.
 *
 * Return: true if the next push sends the credit.
 */
bool smc_stream_note_credit(struct smc_stream *st);

/**
 * smc_stream_spin() - busy poll for something to read, if that seems worthwhile
 * @st: attached stream, which had nothing to read beyond @pos
 * @pos: position of the reader
 * @began: local_clock() when the wait began
 *
 * Context: the socket lock is held; it is released during the polling.
 * Return: true if there are bytes, the end, or an error; the wait is recorded already.
 * False if the caller has to sleep, and to call smc_stream_note_wait() afterwards.
 */
bool smc_stream_spin(struct smc_stream *st, u64 pos, u64 began);

/**
 * smc_stream_spin_begin() - expect the first wait to take as long as the first
 * waits of earlier streams
 * @st: stream that is being attached, and has not waited yet
 * @role: role of this end
 */
void smc_stream_spin_begin(struct smc_stream *st, enum smc_role role);

/**
 * smc_stream_has_enough() - whether enough bytes, normal and urgent, have arrived to wake a poller
 * @st: stream of a socket
 *
 * A reader in recv() wakes for any number of bytes (SMC_EVENTS_FEW).
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

/* Whether the socket currently asks for arrival times. */
static inline bool smc_stream_asks_for_arrivals(const struct smc_stream *st)
{
	return st->sk && (READ_ONCE(st->sk->sk_flags) & SK_FLAGS_TIMESTAMP);
}

/*
 * Whether the socket asks for arrival times, or did before. A reader may find
 * the first bytes before @arrivals is set, so check the socket's flag, too. The
 * reader still gets the time: smc_stream_arrived_at() takes the stream's lock,
 * which is held from the arrival until @arrivals is set.
 */
static inline bool smc_stream_times_arrivals(const struct smc_stream *st)
{
	return READ_ONCE(st->arrivals) || smc_stream_asks_for_arrivals(st);
}

/**
 * smc_stream_take_cmsg() - parse the control messages of a sendmsg()
 * @st: stream of a socket
 * @msg: message of the application; its bytes are not read
 * @tsflags: set to the socket's SOF_TIMESTAMPING_*; TX flags in @msg replace the socket's
 *
 * Return: 0 or -EINVAL.
 */
int smc_stream_take_cmsg(const struct smc_stream *st, struct msghdr *msg, u32 *tsflags);

/**
 * smc_zerocopy_begin() - allocate the MSG_ZEROCOPY notification for a send, if
 * one is requested
 * @sk: socket, locked
 * @msg: message of the application, whose flags are looked at
 * @len: number of bytes in @msg
 * @notice: set to the notification, for smc_zerocopy_end(), or to NULL
 *
 * Return: 0, or -ENOBUFS if too many notifications are unread, or too much
 * memory is locked.
 */
int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct ubuf_info **notice);

/**
 * smc_zerocopy_end() - notify the application that the bytes of a send were copied
 * @notice: notification, or NULL
 * @is_sent: bytes were sent; otherwise there is no notification, and its number is used again
 *
 * Context: process, the socket locked.
 */
void smc_zerocopy_end(struct ubuf_info *notice, bool is_sent);

/**
 * smc_tx_timestamps_number() - number the bytes from the next one on, if
 * SOF_TIMESTAMPING_OPT_ID was set after the last send()
 * @st: stream, its socket locked
 * @tsflags: SOF_TIMESTAMPING_* of the send() that begins
 */
void smc_tx_timestamps_number(struct smc_stream *st, u32 tsflags);

/**
 * smc_tx_timestamps_ask() - request timestamps for the last byte written
 * @st: stream, its socket locked
 * @tsflags: SOF_TIMESTAMPING_TX_*, among other flags
 *
 * The next smc_stream_unlock() checks whether a timestamp is due. If memory is
 * short, there is no timestamp.
 */
void smc_tx_timestamps_ask(struct smc_stream *st, u32 tsflags);

/**
 * smc_tx_timestamps_are_due() - whether a timestamp is ready for smc_tx_timestamps_report()
 * @st: stream with timestamps, its lock held
 */
bool smc_tx_timestamps_are_due(const struct smc_stream *st);

/**
 * smc_tx_timestamps_report() - put the timestamps that are due into the error queue
 * @st: attached stream with timestamps
 *
 * Context: any but hard interrupt, without @st->lock.
 */
void smc_tx_timestamps_report(struct smc_stream *st);

/*
 * Count the bytes that the application has read and that this end has not yet
 * reported to the peer. The socket lock or the stream's lock is held.
 */
static inline u64 smc_rx_freed(const struct smc_stream *st)
{
	return READ_ONCE(st->rx.consumed) - READ_ONCE(st->rx.reported);
}

/* Whether the peer asks for window, and this end has some to return. */
static inline bool smc_rx_window_is_wanted(const struct smc_stream *st)
{
	return smc_rx_freed(st) && (READ_ONCE(st->rx.prod_flags) & SMC_PROD_WANT_WINDOW);
}

/**
 * smc_stream_push() - publish bytes, flags and cursors that are due
 * @st: stream in any state; nothing is published once the path is down
 * @how: whether small amounts may be held back
 *
 * Context: softirqs off, @st->lock held.
 */
void smc_stream_push(struct smc_stream *st, enum smc_push how);

/**
 * smc_stream_want_room() - request that a writer is woken when there is room
 * @st: stream, its lock not held
 * @has_bytes: the writer is a send() that has bytes left
 *
 * Publishes the written bytes, because only published bytes can make room. Room
 * that exists already wakes no writer, so the caller has to check again.
 */
void smc_stream_want_room(struct smc_stream *st, bool has_bytes);

/**
 * smc_stream_note_room() - wake a waiting writer if there is enough room now
 * @st: stream, its lock held; smc_stream_unlock() does the wake-up
 */
void smc_stream_note_room(struct smc_stream *st);

/**
 * smc_stream_wake() - wake the threads that wait for any of @events
 * @st: stream, attached or not; its lock is not needed
 * @events: events that became true: EPOLL* and SMC_EVENTS_END
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
 * smc_stream_fin_time() - return how long a closed stream waits for its peer to close
 * @st: stream of a socket
 *
 * The time is that for which TCP waits for a FIN, but at most TCP_FIN_TIMEOUT_MAX:
 * the stream takes memory of the host, and the owner of a namespace may set
 * net.ipv4.tcp_fin_timeout to any time.
 *
 * Return: jiffies.
 */
unsigned long smc_stream_fin_time(const struct smc_stream *st);

/**
 * smc_stream_check_orphan() - end an orphan that is over or whose peer is late (end_work)
 * @st: stream; the work holds a reference
 *
 * The work runs when the peer's time limit has expired, and when the stream is over. It also runs
 * when the peer's host has this end's flags, to close the TCP connection.
 */
void smc_stream_check_orphan(struct smc_stream *st);

/**
 * smc_stream_check_local_peer() - end a closed stream whose local peer is late to
 * close (end_work)
 * @st: stream; the work holds a reference
 */
void smc_stream_check_local_peer(struct smc_stream *st);

/**
 * smc_stream_update_orphan() - restart the time limit of an orphan's peer on progress
 * @st: stream that may have changed, its lock held
 */
void smc_stream_update_orphan(struct smc_stream *st);

/*
 * Whether bytes wait for the peer, or did at the last call of
 * smc_stream_update_user_timeout(). Otherwise that function has nothing to do.
 */
static inline bool smc_stream_has_undelivered(const struct smc_stream *st)
{
	return st->user_progress || smc_tx_undelivered(&st->tx) ||
	       st->tx.writer == SMC_WRITER_BLOCKED;
}

/**
 * smc_stream_update_user_timeout() - start the user timeout, or restart it on progress
 * @st: stream that may have changed, its lock held
 */
void smc_stream_update_user_timeout(struct smc_stream *st);

/**
 * smc_stream_check_user_timeout() - reset a stream whose TCP_USER_TIMEOUT has expired
 * @timer: the stream's user_timer, which owns a reference to the stream
 */
void smc_stream_check_user_timeout(struct timer_list *timer);

/**
 * smc_stream_start_hold_timer() - limit the time for which something is held back
 * @st: stream, its lock held
 *
 * While there is little data, credit or room, this end holds back the data, the
 * credit, or the wake-up of a writer for the room, and waits for more. But an
 * application may need just that little to continue. The timer also reports
 * timestamps that smc_tx_timestamps_report() left.
 */
void smc_stream_start_hold_timer(struct smc_stream *st);

/*
 * Keep each function that every transfer calls within one page, by an alignment
 * of more than its size. An emulator such as QEMU makes a jump fast only if it stays
 * within a page: if these functions cross pages, a round trip takes a twentieth
 * longer there.
 * Each function has a section of its own. In a shared section the assembler
 * would fill the gaps with jumps, of which objtool warns.
 */
__typeof__(smc_stream_recv) smc_stream_recv
	__section(".text.smc_stream_recv") __aligned(SZ_4K);
__typeof__(smc_stream_push) smc_stream_push
	__section(".text.smc_stream_push") __aligned(SZ_2K);
__typeof__(smc_stream_update) smc_stream_update
	__section(".text.smc_stream_update") __aligned(SZ_2K);

#endif
