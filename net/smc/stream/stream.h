/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One connection's byte stream: sending, receiving, windows, the urgent byte
 * and close. It knows neither verbs nor shared memory: see path.h.
 *
 * Positions are 64-bit counts of bytes since the connection began; they never
 * wrap. What holds between them is at the top of rx.h and tx.h. An offset or a cursor that is
 * kept beside a position moves on with it, so that no copy or message needs a division.
 *
 * Locking: the calls of an application are serialised by the socket lock, which
 * protects tx.written and rx.consumed, with their offsets. The stream's lock (taken after
 * the socket lock, softirqs off) protects everything else: publishing, and what the peer
 * moves. Those that only look at positions do so without it, by the functions of rx.h and tx.h.
 *
 * Two streams that are the ends of one connection inside a host are mates: they have
 * one lock, so that whoever publishes also moves the positions of the other end. What
 * follows for either, answers, wake-ups and the end of the stream, happens in
 * smc_stream_settle(), which every holder of the lock releases it by.
 */
#ifndef SMC_STREAM_H
#define SMC_STREAM_H

#include <linux/kref.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "path.h"
#include "rx.h"
#include "spin.h"
#include "state.h"
#include "tx.h"
#include "wire/cdc.h"

struct msghdr;
struct net;
struct pipe_inode_info;
struct smc_arrivals;
struct smc_net;
struct smc_stamps;
struct sock;
struct socket;

/**
 * struct smc_stream - see the top of this file
 * @path: what carries it
 * @lock: the path's, shared with @mate; see above
 * @mate: other end, if the path reaches it; set by the path, which holds a reference
 * @ref: held by the path until ->over(), and by the socket
 * @state: where in their lives path and application are, see state.h
 * @sn: its namespace, whose statistics count it
 * @stats: of these, those of the kind of @path
 * @sk: the socket to wake, referenced, so that it and its namespace stay for as long as the stream;
 *	NULL until smc_stream_attach()
 * @tx: the sending side
 * @rx: the receiving side
 * @spin: what the reader's waits took, under the socket lock
 * @first_wait: where @sn keeps what the next stream begins with, see spin.c; NULL once this one has
 *	waited
 * @follow: called when smc_stream_has_ended(), so that TCP's connection follows, and likewise when
 *	what is awaited arrives; in any context but hard interrupt, with @sk referenced, which may
 *	be locked
 * @is_awaited: @follow is to be called when the peer says something, see smc_stream_await();
 *	under @lock
 * @err: positive errno that ended the stream, 0 while it lives
 * @is_err_told: the application has been given it by a call that transfers data
 * @rcv_shutdown: the application shut down its receiving side
 * @is_read: a reader waits, whom no signal is to tell of bytes
 * @updated: the peer published what there may be something to answer to
 * @news: EPOLL* events that became true and nobody was woken for yet; EPOLLERR: @err
 * @stamps: what is to be stamped once it is sent, under @lock; NULL until something is
 * @first_stamp: where the numbers of stamps begin (SOF_TIMESTAMPING_OPT_ID); under the socket lock
 * @arrivals: when bytes arrived, under @lock; NULL until the socket asks
 * @orphan: holds @sk once the application has closed, or NULL
 * @orphan_progress: what the peer had done when its present time began
 * @end_work: sees to it that a stream ends whose application has closed
 * @hold_timer: ends the wait for more of what is held back, see smc_stream_limit_wait()
 * @user_progress: what the peer had taken when its present time of TCP_USER_TIMEOUT began, see
 *	user_timeout.c
 * @user_since: jiffies then
 * @user_timer: looks whether that time is over
 */
struct smc_stream {
	const struct smc_path_ops *path;
	spinlock_t *lock;
	struct smc_stream *mate;
	struct kref ref;
	struct smc_stream_state state;
	struct smc_net *sn;
	struct smc_stat_path __percpu *stats;
	struct sock *sk;
	struct smc_stream_tx tx;
	struct smc_stream_rx rx;
	struct smc_spin spin;
	u64 *first_wait;
	void (*follow)(struct sock *sk);
	bool is_awaited;
	int err;
	bool is_err_told;
	bool rcv_shutdown;
	bool is_read;
	bool updated;
	__poll_t news;
	struct smc_stamps *stamps;
	int first_stamp;
	struct smc_arrivals *arrivals;
	struct socket *orphan;
	u64 orphan_progress;
	struct delayed_work end_work;
	struct timer_list hold_timer;
	u64 user_progress;
	unsigned long user_since;
	struct timer_list user_timer;
};

/* For a path: making, ending and feeding a stream. */

/**
 * smc_stream_init() - prepare the stream in a connection that a path just made
 * @st: zeroed memory
 * @path: the path
 * @net: network namespace; the path ends its streams before it goes, and @sk, once there is
 *	one, holds it
 * @lock: initialised by the path; lives as long as the stream
 *
 * The path then sets the rings and their sizes before anything can arrive. The
 * reference count starts at one, the path's, which it drops after ->over().
 */
void smc_stream_init(struct smc_stream *st, const struct smc_path_ops *path, struct net *net,
		     spinlock_t *lock);

/**
 * smc_stream_get() - take a reference
 * @st: stream that the caller has one of, or that a lock of the path's holds in a table
 *
 * Context: any.
 */
void smc_stream_get(struct smc_stream *st);

/**
 * smc_stream_put() - drop a reference; with the last one the path frees the stream
 * @st: stream
 *
 * Context: any but hard interrupt, without the stream's lock.
 */
void smc_stream_put(struct smc_stream *st);

/**
 * smc_stream_on_update() - the peer published its cursors and flags
 * @st: stream
 * @cdc: what it said; everything in it is checked here
 *
 * Context: softirq or process; one caller at a time per stream.
 */
void smc_stream_on_update(struct smc_stream *st, const struct smc_cdc *cdc);

/**
 * smc_stream_update() - the same, from the publish of the mate
 * @st: stream
 * @cdc: message of the mate
 *
 * Context: softirqs off, @st->lock held. The mate's smc_stream_settle() does what follows.
 */
void smc_stream_update(struct smc_stream *st, const struct smc_cdc *cdc);

/**
 * smc_stream_watches_arrival() - whether it is of use to know when the peer's host has what was
 * published: for SO_TIMESTAMPING or TCP_USER_TIMEOUT
 * @st: stream, its lock held
 */
bool smc_stream_watches_arrival(const struct smc_stream *st);

/**
 * smc_stream_on_tx_done() - a publish completed: the peer's host has it
 * @st: stream
 * @end: where it ended
 */
void smc_stream_on_tx_done(struct smc_stream *st, u64 end);

/**
 * smc_stream_on_tx_room() - a path that had answered -EAGAIN has room again
 * @st: stream
 */
void smc_stream_on_tx_room(struct smc_stream *st);

/**
 * smc_stream_on_lost() - the path is gone; nothing arrives or leaves any more
 * @st: stream
 * @err: positive errno for the application
 */
void smc_stream_on_lost(struct smc_stream *st, int err);

/* For the socket: what an application does. @st->sk is locked by the caller. */

/**
 * smc_stream_attach() - hand the stream to its socket
 * @st: stream, with a reference that becomes the socket's
 * @sk: TCP socket whose connection it replaces
 * @role: of this end in the rendezvous
 * @follow: see struct smc_stream
 */
void smc_stream_attach(struct smc_stream *st, struct sock *sk, enum smc_role role,
		       void (*follow)(struct sock *sk));

/**
 * smc_stream_await() - have @st->follow called when the peer sends its first bytes, or ends
 * @st: stream that is attached
 *
 * Context: any, softirqs off.
 * Return: false if it has done so already.
 */
bool smc_stream_await(struct smc_stream *st);

/**
 * smc_stream_tell_urgent() - signal an urgent byte that came before the stream was the socket's
 * @st: stream
 *
 * Context: any; the socket may be locked.
 */
void smc_stream_tell_urgent(struct smc_stream *st);

/**
 * smc_stream_send() - sendmsg()
 * @st: stream
 * @msg: data, and MSG_* flags in msg_flags
 * @len: bytes
 *
 * Context: process; releases and takes the socket lock again while it waits.
 * Return: bytes taken, or -EAGAIN, -EPIPE, -ECONNRESET, -EFAULT, a signal's errno; as with TCP,
 * -EINVAL for a control message that is wrong, -ENOBUFS where MSG_ZEROCOPY would keep too much.
 */
int smc_stream_send(struct smc_stream *st, struct msghdr *msg, size_t len);

/**
 * smc_stream_recv() - recvmsg()
 * @st: stream
 * @msg: where to
 * @len: bytes wanted
 * @flags: MSG_* flags
 * @arrival: when the last byte of them arrived, in nanoseconds since 1970, if the socket asks for
 *	that; 0 otherwise
 *
 * Context: process; releases and takes the socket lock again while it waits.
 * Return: bytes copied, 0 at the end of the stream, or -errno.
 */
int smc_stream_recv(struct smc_stream *st, struct msghdr *msg, size_t len, int flags,
		    u64 *arrival);

/**
 * smc_stream_splice() - splice() from the stream
 * @st: stream
 * @pipe: where to, locked by the caller
 * @len: bytes wanted, at least one
 * @timeo: how long to wait for some, in jiffies
 *
 * As with TCP, it gives what is there before an urgent byte, and moves neither that of SO_PEEK_OFF
 * nor past an urgent byte.
 *
 * Context: process; releases and takes the socket lock again while it waits.
 * Return: bytes moved; 0 at the end of the stream or in front of an urgent byte; or -errno.
 */
ssize_t smc_stream_splice(struct smc_stream *st, struct pipe_inode_info *pipe, size_t len,
			  long timeo);

/**
 * smc_stream_put_cmsg() - add to what recvmsg() returns the control messages that TCP would
 * @st: stream
 * @msg: where to; what does not fit is left out, with MSG_CTRUNC
 * @arrival: of smc_stream_recv(), which has not failed
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_stream_put_cmsg(const struct smc_stream *st, struct msghdr *msg, u64 arrival);

/**
 * smc_stream_poll() - the events that hold now
 * @st: stream
 *
 * Called after poll_wait(), without the socket lock.
 */
__poll_t smc_stream_poll(struct smc_stream *st);

/**
 * smc_stream_uncork() - publish what TCP_CORK or MSG_MORE held back
 * @st: stream
 */
void smc_stream_uncork(struct smc_stream *st);

/**
 * smc_stream_set_user_timeout() - heed what the socket's TCP_USER_TIMEOUT is now
 * @st: stream
 *
 * Context: the socket lock is not needed.
 */
void smc_stream_set_user_timeout(struct smc_stream *st);

/**
 * smc_stream_look() - tell readers of what is there, if that is enough for them now
 * @st: stream
 */
void smc_stream_look(struct smc_stream *st);

/**
 * smc_stream_look_for_room() - have writers look again whether there is room for them
 * @st: stream
 */
void smc_stream_look_for_room(struct smc_stream *st);

/**
 * smc_stream_shutdown() - shutdown()
 * @st: stream
 * @how: RCV_SHUTDOWN, SEND_SHUTDOWN or both
 */
void smc_stream_shutdown(struct smc_stream *st, int how);

/**
 * smc_stream_closes_by_reset() - whether TCP's close would be a reset: for unread data, or because
 * of SO_LINGER with zero seconds, unless both ends have shut down
 * @st: stream
 */
bool smc_stream_closes_by_reset(const struct smc_stream *st);

/**
 * smc_stream_close() - the application closes
 * @st: stream
 * @by_reset: not in good order
 * @linger: jiffies to wait until the last byte left
 *
 * Return: true if nothing is left to do here; false if close continues in the background,
 * for which smc_stream_orphan() provides.
 */
bool smc_stream_close(struct smc_stream *st, bool by_reset, long linger);

/**
 * smc_stream_disconnect() - end the stream as TCP's disconnect() does: its socket becomes TCP's
 * @st: stream of a socket that is locked; smc_stream_close() is still to be called
 * @err: the socket's error until then, which is taken from it
 *
 * Context: process.
 * Return: whether by a reset; false: both ends had closed, or it had failed.
 */
bool smc_stream_disconnect(struct smc_stream *st, int *err);

/**
 * smc_stream_abort() - end the stream at once, telling the peer
 * @st: stream
 * @err: positive errno for the application at this end
 *
 * Context: any but hard interrupt; the socket lock is not needed.
 */
void smc_stream_abort(struct smc_stream *st, int err);

/**
 * smc_stream_may_be_orphan() - whether the host bears one more
 * @st: stream that smc_stream_close() left unfinished
 *
 * Return: false, counted, if smc_stream_abort() is to end it at once.
 */
bool smc_stream_may_be_orphan(const struct smc_stream *st);

/**
 * smc_stream_orphan() - let the stream finish its close without the application
 * @st: stream that smc_stream_close() left unfinished, or that was aborted
 * @sock: kernel socket that now holds the TCP connection, released once the end is published, or
 *	will never be; NULL if TCP's is closed
 *
 * Takes over the caller's reference.
 */
void smc_stream_orphan(struct smc_stream *st, struct socket *sock);

/**
 * smc_stream_pages() - what both rings take, in pages
 * @st: stream; what its elements have, which never changes
 */
static inline long smc_stream_pages(const struct smc_stream *st)
{
	return (st->rx.size + st->tx.held) / PAGE_SIZE;
}

/**
 * smc_stream_give_up() - count streams that are over, and whose memory a peer may still write to
 * @n: so many more, or less once their memory can be used again
 * @pages: smc_stream_pages() of all, likewise
 *
 * Context: any.
 * Return: false if the host has more of them than it bears.
 */
bool smc_stream_give_up(int n, long pages);

/* No publish is possible any more. */
static inline bool smc_stream_is_down(const struct smc_stream *st)
{
	return smc_state_is_down(&st->state);
}

/* The same, and the path is told, or will be by whoever has held the lock. */
static inline bool smc_stream_is_over(const struct smc_stream *st)
{
	return smc_state_is_over(&st->state);
}

/**
 * smc_stream_has_parted() - whether both ends have said their last word
 * @st: stream
 *
 * Otherwise one that is over has lost its path, or has given its peer up.
 */
static inline bool smc_stream_has_parted(const struct smc_stream *st)
{
	return (READ_ONCE(st->rx.conn_flags) & SMC_PEER_GONE) &&
	       (READ_ONCE(st->tx.conn_flags) & SMC_PEER_GONE);
}

/* Reset or lost, as opposed to closed. */
static inline bool smc_stream_has_failed(const struct smc_stream *st)
{
	return READ_ONCE(st->err);
}

/* Nothing depends on the peer any more: the stream failed, or the peer has said its last word. */
static inline bool smc_stream_is_left_alone(const struct smc_stream *st)
{
	return smc_stream_has_failed(st) || (READ_ONCE(st->rx.conn_flags) & SMC_PEER_GONE);
}

/**
 * smc_stream_has_ended() - whether the peer's host has been told all that is to be said of the end
 * of what this end writes
 * @st: stream
 *
 * Context: any.
 */
static inline bool smc_stream_has_ended(const struct smc_stream *st)
{
	return smc_tx_has_ended(&st->tx);
}

/**
 * smc_stream_is_closed() - whether both ends have said, in good order, that they write no more
 * @st: stream
 *
 * A connection of TCP has nothing to reset then, whatever is unread.
 */
static inline bool smc_stream_is_closed(const struct smc_stream *st)
{
	return !smc_stream_has_failed(st) && smc_stream_has_ended(st) &&
	       (READ_ONCE(st->tx.final_flags) & ~SMC_CONN_ABORT) &&
	       (READ_ONCE(st->rx.conn_flags) & (SMC_CONN_CLOSED | SMC_CONN_DONE_WRITING));
}

/**
 * smc_stream_is_reset() - whether TCP would have reset the connection, instead of closing it
 * @st: stream
 */
static inline bool smc_stream_is_reset(const struct smc_stream *st)
{
	return smc_stream_has_failed(st) || (READ_ONCE(st->tx.final_flags) & SMC_CONN_ABORT);
}

/**
 * smc_stream_unsent() - bytes written that are not yet published
 * @st: stream
 */
static inline u64 smc_stream_unsent(const struct smc_stream *st)
{
	return smc_tx_unsent(&st->tx);
}

/**
 * smc_stream_undelivered() - bytes written that the path has not taken over yet (SIOCOUTQ)
 * @st: stream
 */
static inline u64 smc_stream_undelivered(const struct smc_stream *st)
{
	return smc_tx_undelivered(&st->tx);
}

/**
 * smc_stream_queued() - bytes that one read would give: up to the urgent one (SIOCINQ)
 * @st: stream
 */
u64 smc_stream_queued(const struct smc_stream *st);

/**
 * smc_stream_at_mark() - whether the next byte to read is the urgent one (SIOCATMARK)
 * @st: stream
 */
bool smc_stream_at_mark(const struct smc_stream *st);

#endif
