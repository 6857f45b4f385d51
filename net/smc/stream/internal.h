/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of stream/ share among themselves. */
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

/* Beside EPOLL*: the stream ended, which ->over() is to be told. */
#define SMC_NEWS_OVER	((__force __poll_t)BIT(16))
/* Bytes arrived, too few for a poller. Who sleeps in recv() takes any. */
#define SMC_NEWS_FEW	((__force __poll_t)BIT(17))
/* An end of either direction, news also for all those of whom one is woken at a time. */
#define SMC_NEWS_END	((__force __poll_t)BIT(18))
/*
 * What may have become true when a stream ends or fails. All that sleep or poll wait for EPOLLHUP,
 * but for a select() that would write. It is no news of bytes, of which SIGIO tells.
 */
#define SMC_NEWS_ALL	(SMC_NEWS_END | EPOLLHUP | EPOLLOUT | EPOLLWRNORM)
/* The peer's host was told of the end of what this end writes. */
#define SMC_NEWS_ENDED	((__force __poll_t)BIT(19))
/* Something was sent that is to be stamped. */
#define SMC_NEWS_STAMPS	((__force __poll_t)BIT(20))
/* What smc_stream_await() awaits is there. */
#define SMC_NEWS_AWAITED	((__force __poll_t)BIT(21))

/* Those of these that nobody waits for at the socket. */
#define SMC_NEWS_MORE	(SMC_NEWS_OVER | SMC_NEWS_ENDED | SMC_NEWS_STAMPS | SMC_NEWS_AWAITED)

/* A wake function's work, for a thread that sleeps for @events. Without a key it may be any. */
static inline int smc_wake_for(__poll_t events, struct wait_queue_entry *wait, unsigned int mode,
			       int sync, void *key)
{
	if (key && !(key_to_poll(key) & events))
		return 0;
	/*
	 * It is marked already: before it sleeps again, it takes the mark off and looks. The waker
	 * has stored its news before it looked for sleepers, see skwq_has_sleeper().
	 */
	if (READ_ONCE(wait->flags) & WQ_FLAG_WOKEN)
		return 0;
	return woken_wake_function(wait, mode, sync, key);
}

/* TCP_NOTSENT_LOWAT: too much that is written is not published. The stream is a socket's. */
static inline bool smc_tx_is_held(const struct smc_stream *st)
{
	/* As with TCP, whoever waits is told when that is less than half of the limit. */
	return 2 * smc_tx_unsent(&st->tx) >= smc_tcp_notsent_lowat(st->sk);
}

/* Worth waking a writer for. */
static inline bool smc_tx_writable(const struct smc_stream *st)
{
	return smc_tx_has_room(&st->tx) && !smc_tx_is_held(st);
}

/* Nothing this end writes will reach the peer's application. */
static inline bool smc_tx_shut(const struct smc_stream *st)
{
	/* Pairs with smc_stream_fail(): who sees the end sees its error. */
	if (smp_load_acquire(&st->err) || READ_ONCE(st->tx.final_flags))
		return true;
	/* Pairs with smc_stream_update(), likewise. */
	return smp_load_acquire(&st->rx.conn_flags) & SMC_PEER_GONE;
}

/* There is room, or no use in waiting for it. */
static inline bool smc_tx_ready(const struct smc_stream *st)
{
	return smc_tx_shut(st) || smc_tx_writable(st);
}

/* The peer has closed in good order, which TCP would not tell from a shutdown yet. */
static inline bool smc_tx_in_vain(const struct smc_stream *st)
{
	/* SMC_CONN_ABORT alone is no end by the application: it answers a peer that gave up. */
	return !READ_ONCE(st->err) && !(READ_ONCE(st->tx.final_flags) & ~SMC_CONN_ABORT) &&
	       (READ_ONCE(st->rx.conn_flags) & SMC_CONN_CLOSED);
}

/* Nothing more will arrive. */
static inline bool smc_rx_shut(const struct smc_stream *st)
{
	/* Pairs with smc_stream_fail(): what came before the end is seen by who sees the end. */
	if (smp_load_acquire(&st->err) || READ_ONCE(st->rcv_shutdown))
		return true;
	/* Pairs with smc_stream_update(), likewise. */
	return smp_load_acquire(&st->rx.conn_flags) & (SMC_CONN_DONE_WRITING | SMC_PEER_GONE);
}

/* All that the peer wrote was here. That holds, as with TCP, even if the peer then gave up. */
static inline bool smc_rx_ended(const struct smc_stream *st)
{
	return READ_ONCE(st->rx.conn_flags) & (SMC_CONN_CLOSED | SMC_CONN_DONE_WRITING);
}

/* Urgent bytes are read in line. Whether a socket not there yet wants that is found out later. */
static inline bool smc_stream_is_inline(const struct smc_stream *st)
{
	return st->sk && sock_flag(st->sk, SOCK_URGINLINE);
}

/* Take a snapshot for a reader. */
static inline struct smc_place smc_stream_place(const struct smc_stream *st)
{
	return smc_rx_look(&st->rx, smc_stream_is_inline(st));
}

/* Something arrived behind @pos. */
static inline bool smc_rx_is_beyond(const struct smc_stream *st, u64 pos)
{
	/* Pairs with smc_rx_arrive(): the bytes are there. */
	return smp_load_acquire(&st->rx.received) > pos;
}

/* A reader at @pos need not wait: for bytes, the end, or an error. */
static inline bool smc_stream_may_read(const struct smc_stream *st, u64 pos)
{
	return smc_rx_is_beyond(st, pos) || smc_rx_shut(st) || READ_ONCE(st->sk->sk_err);
}

/* The socket's error, for a call that transfers data: TCP's reset to come is not another one. */
static inline int smc_stream_take_error(struct smc_stream *st)
{
	int rc = sock_error(st->sk);

	if (rc)
		WRITE_ONCE(st->is_err_told, true);
	return rc;
}

/**
 * smc_stream_note_credit() - see to it that the peer is told what was consumed
 * @st: stream, its lock held
 *
 * Lazily, so that one message gives back a good piece of the window: a quarter of the
 * element or, while the peer is short of window, of all that it had not got back when it said so;
 * less than that only after a while.
 *
 * Return: whether the next push tells it.
 */
bool smc_stream_note_credit(struct smc_stream *st);

/**
 * smc_stream_spin() - watch for something to read, if that may be worth it
 * @st: stream
 * @pos: what was read so far
 * @began: local_clock() when the wait began
 *
 * Context: the socket lock is held, but for the time of watching.
 * Return: true if there is something; the wait is noted then. False if the caller should sleep,
 * and note it.
 */
bool smc_stream_spin(struct smc_stream *st, u64 pos, u64 began);

/**
 * smc_stream_spin_begin() - begin with what another stream has learnt by its first wait
 * @st: stream
 * @role: of this end
 */
void smc_stream_spin_begin(struct smc_stream *st, enum smc_role role);

/**
 * smc_stream_has_enough() - whether there is enough to tell a reader of, urgent bytes counted
 * @st: stream of a socket
 *
 * Context: any.
 */
bool smc_stream_has_enough(const struct smc_stream *st);

/**
 * smc_stream_note_wait() - note how long a wait took
 * @st: stream, its socket locked
 * @took: nanoseconds
 */
void smc_stream_note_wait(struct smc_stream *st, u64 took);

/* The socket asks when bytes arrive. */
static inline bool smc_stream_asks_for_arrivals(const struct smc_stream *st)
{
	return st->sk && (READ_ONCE(st->sk->sk_flags) & SK_FLAGS_TIMESTAMP);
}

/* Or has asked. The first arrival is noted after its bytes can be read, but with the lock. */
static inline bool smc_stream_times_arrivals(const struct smc_stream *st)
{
	return READ_ONCE(st->arrivals) || smc_stream_asks_for_arrivals(st);
}

/**
 * smc_stream_note_arrival() - note the time, if the socket asks for it
 * @st: stream, its lock held since the bytes were to be seen
 * @begin: position of the first byte that arrived
 */
void smc_stream_note_arrival(struct smc_stream *st, u64 begin);

/**
 * smc_stream_arrived_at() - when a byte arrived
 * @st: stream
 * @pos: of the byte, which was not consumed before
 *
 * Context: any, without @st->lock.
 * Return: nanoseconds since 1970; 0 if it is not there, or nobody asked for its time.
 */
u64 smc_stream_arrived_at(struct smc_stream *st, u64 pos);

/**
 * smc_stream_take_cmsg() - look at the control messages of a sendmsg()
 * @st: stream of a socket
 * @msg: message
 * @tsflags: becomes what is to be stamped, SOF_TIMESTAMPING_TX_*, among other flags
 *
 * Return: 0 or -EINVAL.
 */
int smc_stream_take_cmsg(const struct smc_stream *st, struct msghdr *msg, u32 *tsflags);

/**
 * smc_zerocopy_begin() - before a send: take a number for the notification, if one is asked for
 * @sk: socket, locked
 * @msg: message
 * @len: its bytes
 * @notice: becomes the notification, for smc_zerocopy_end(), or NULL
 *
 * Return: 0, or -ENOBUFS if too many are not read yet, or too much memory is locked.
 */
int smc_zerocopy_begin(struct sock *sk, const struct msghdr *msg, size_t len,
		       struct ubuf_info **notice);

/**
 * smc_zerocopy_end() - after it: tell that the bytes were copied
 * @notice: notification, or NULL
 * @is_sent: some were; otherwise its number is given back
 *
 * Context: process, the socket locked.
 */
void smc_zerocopy_end(struct ubuf_info *notice, bool is_sent);

/**
 * smc_stamps_number() - before a send: number its bytes, if the socket has begun to want that
 * @st: stream, its socket locked
 * @tsflags: of the socket
 */
void smc_stamps_number(struct smc_stream *st, u32 tsflags);

/**
 * smc_stamps_ask() - have the last byte written stamped, as asked for
 * @st: stream, its socket locked
 * @tsflags: SOF_TIMESTAMPING_TX_*, among other flags
 *
 * The next smc_stream_settle() looks whether it is time. Without memory there is no stamp.
 */
void smc_stamps_ask(struct smc_stream *st, u32 tsflags);

/**
 * smc_stamps_are_due() - whether there is something for smc_stamps_report()
 * @st: stream with stamps, its lock held
 */
bool smc_stamps_are_due(const struct smc_stream *st);

/**
 * smc_stamps_report() - put into the error queue what is due
 * @st: stream
 *
 * Context: any but hard interrupt, without @st->lock.
 */
void smc_stamps_report(struct smc_stream *st);

/* What the application has read and the peer was not told of. Under either lock. */
static inline u64 smc_rx_freed(const struct smc_stream *st)
{
	return READ_ONCE(st->rx.consumed) - READ_ONCE(st->rx.reported);
}

/* The peer is short of window, and there is some for it. */
static inline bool smc_rx_window_is_wanted(const struct smc_stream *st)
{
	return smc_rx_freed(st) && (READ_ONCE(st->rx.prod_flags) & SMC_PROD_WANT_WINDOW);
}

/**
 * smc_stream_push() - publish what is written and what is to be said
 * @st: stream
 * @how: whether it may wait
 *
 * Context: softirqs off, @st->lock held.
 */
void smc_stream_push(struct smc_stream *st, enum smc_push how);

/**
 * smc_stream_settle() - release @st->lock and do what follows from what was done under it
 * @st: stream
 *
 * At this end and at the mate's: answer what was published, wake who waits, and end
 * the stream if both ends closed.
 */
void smc_stream_settle(struct smc_stream *st) __releases(st->lock);

/**
 * smc_stream_want_room() - have a writer woken when there is room
 * @st: stream, its lock not held
 * @has_bytes: it is a send() that has bytes left
 *
 * Publishes what was written, for only that makes room. Room that was there before wakes nobody, so
 * look again after it.
 */
void smc_stream_want_room(struct smc_stream *st, bool has_bytes);

/**
 * smc_stream_note_room() - what a writer waited for may be there
 * @st: stream, its lock held; smc_stream_settle() wakes the writer
 */
void smc_stream_note_room(struct smc_stream *st);

/**
 * smc_stream_wake() - wake those who wait for some of @events
 * @st: stream
 * @events: EPOLL* that became true
 */
void smc_stream_wake(struct smc_stream *st, __poll_t events);

/**
 * smc_stream_fail() - note the error that ends the stream
 * @st: stream, its lock held
 * @err: positive errno
 *
 * Only the first error counts. smc_stream_settle() tells the application.
 */
void smc_stream_fail(struct smc_stream *st, int err);

/**
 * smc_stream_break() - end the stream at once, telling the peer
 * @st: stream, its lock held; smc_stream_settle() follows
 * @err: positive errno for the application at this end
 */
void smc_stream_break(struct smc_stream *st, int err);

/**
 * smc_stream_fin_time() - how long to wait for the peer's end after this one's
 * @st: stream of a socket
 *
 * As TCP does for a FIN, but for no more than TCP_FIN_TIMEOUT_MAX: the memory is the host's, and
 * the sysctl is in the hands of whoever owns the namespace.
 *
 * Return: jiffies.
 */
unsigned long smc_stream_fin_time(const struct smc_stream *st);

/**
 * smc_stream_check_orphan() - the end_work of an orphan
 * @st: stream, of which the work has a reference
 *
 * It runs when the peer's time is over, and when the stream is.
 */
void smc_stream_check_orphan(struct smc_stream *st);

/**
 * smc_stream_check_mate() - the end_work of a stream that awaits nothing but its mate's end
 * @st: stream, of which the work has a reference
 */
void smc_stream_check_mate(struct smc_stream *st);

/**
 * smc_stream_follow_orphan() - after anything that happened to an orphan: is it progress
 * @st: stream, its lock held
 */
void smc_stream_follow_orphan(struct smc_stream *st);

/* Without bytes that wait now or did before, there is nothing that the peer owes. */
static inline bool smc_stream_may_be_owed(const struct smc_stream *st)
{
	return st->user_progress || smc_stream_undelivered(st) || st->tx.blocked;
}

/**
 * smc_stream_follow_user_timeout() - after anything that happened to a stream: what the peer owes
 * @st: stream, its lock held
 */
void smc_stream_follow_user_timeout(struct smc_stream *st);

/**
 * smc_stream_check_user_timeout() - the timer of TCP_USER_TIMEOUT
 * @timer: in its stream, of which it holds a reference
 */
void smc_stream_check_user_timeout(struct timer_list *timer);

/**
 * smc_stream_limit_wait() - what is held back now is not for longer than a while
 * @st: stream, its lock held
 *
 * Small amounts, a small window, and a wake-up for a little room wait for more of their kind;
 * but the other end may wait for just them before it goes on.
 */
void smc_stream_limit_wait(struct smc_stream *st);

/*
 * The functions that each transfer runs through do not cross from one page into another, wherever
 * the linker puts them, for each is smaller than what it is aligned to. Under an emulator that
 * links jumps only within pages, as QEMU does, a round trip takes a twentieth more if they cross.
 * Each has a section of its own, for in one that they share the assembler fills the gaps by jumps,
 * which objtool warns of.
 */
__typeof__(smc_stream_recv) smc_stream_recv
	__section(".text.smc_stream_recv") __aligned(SZ_4K);
__typeof__(smc_stream_push) smc_stream_push
	__section(".text.smc_stream_push") __aligned(SZ_2K);
__typeof__(smc_stream_update) smc_stream_update
	__section(".text.smc_stream_update") __aligned(SZ_2K);

#endif
