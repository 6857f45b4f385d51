/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The byte stream of one connection: sending, receiving, windows, the urgent
 * byte, and close. The stream knows neither verbs nor shared memory: see
 * path.h.
 *
 * Positions are 64-bit counts of bytes since the connection began, and never
 * wrap. The relations between them are at the top of rx.h and tx.h. The offset
 * or the cursor that is kept beside a position is updated with it, so no copy
 * and no message needs a division.
 *
 * Locking: the socket lock serialises the application's calls. It protects
 * tx.written and rx.consumed, with their offsets, and the fields that name it
 * below. The stream's lock, which is taken after the socket lock and with softirqs
 * off, protects everything else: publishing, and the positions that the peer moves.
 * Code that only reads positions needs neither lock, but uses the functions of
 * rx.h and tx.h.
 *
 * With SMC-D, two streams of this kernel that are the ends of one connection are
 * local peers (@local_peer). They share one lock, so the end that publishes also moves the
 * positions of the other end. smc_stream_unlock() handles the consequences for both
 * ends (answers, wake-ups, the end of the stream). A thread that may have caused any
 * of these releases the lock by that function.
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
struct smc_rx_timestamps;
struct smc_net;
struct smc_tx_timestamps;
struct sock;
struct socket;

/**
 * struct smc_stream - the byte stream of one connection, see the top of this file
 * @path: the path that carries the stream
 * @lock: the path's lock, shared with @local_peer; see above
 * @local_peer: with SMC-D, stream of the other end, if that end is in this kernel; the path
 *	sets @local_peer and holds a reference
 * @ref: the path holds one reference until ->over(), and the socket holds one
 * @state: states of the path and of the application, see state.h
 * @sn: network namespace, whose statistics count the stream
 * @stats: the statistics of @sn for this kind of @path
 * @sk: socket to wake; referenced, so that it and its namespace stay as long as
 *	the stream; NULL until smc_stream_attach()
 * @tx: positions of the sending side
 * @rx: positions of the receiving side
 * @spin: durations of the reader's waits, under the socket lock
 * @first_wait: where @sn keeps the estimate for the first wait of the next
 *	stream, see spin.c; NULL once this stream has waited; under the socket lock
 * @notify: called when the peer's host has all flags by which this end stops sending, and when
 *	the stream is over, so that the socket shuts down its TCP connection. Also called
 *	once after smc_stream_await(). The context is any but hard interrupt; @sk is
 *	referenced, and perhaps locked
 * @is_awaited: smc_stream_await() has asked for a call of @notify, which is still
 *	to come; under @lock
 * @err: positive errno that ended the stream; 0 before that
 * @is_err_told: a call that transfers data has returned the error to the application
 * @rcv_shutdown: the application shut down its receiving side, or bytes of the peer are lost
 * @is_read: a reader waits, so bytes that arrive raise no SIGIO
 * @updated: the peer published something that this end may have to answer
 * @events: events (EPOLL* and SMC_EVENTS_*) that became true and that smc_stream_unlock()
 *	has not reported yet; EPOLLERR stands for @err
 * @stamps: timestamps that sent bytes will get, under @lock; NULL until one is requested
 * @first_stamp: position from which timestamps are numbered
 *	(SOF_TIMESTAMPING_OPT_ID); under the socket lock
 * @arrivals: arrival times of received bytes, under @lock; NULL until the
 *	socket asks for them
 * @orphan: kernel socket that holds @sk after the application has closed, or NULL
 * @orphan_progress: smc_orphan_progress() when the peer's current time limit began
 * @end_work: ends the stream after the application has closed
 * @hold_timer: limits the time for which something is held back, see
 *	smc_stream_start_hold_timer()
 * @user_progress: the peer's progress when its current TCP_USER_TIMEOUT began,
 *	see user_timeout.c
 * @user_since: jiffies when the current TCP_USER_TIMEOUT began
 * @user_timer: checks whether the current TCP_USER_TIMEOUT has expired
 */
struct smc_stream {
	const struct smc_path_ops *path;
	spinlock_t *lock;
	struct smc_stream *local_peer;
	struct kref ref;
	struct smc_stream_state state;
	struct smc_net *sn;
	struct smc_stat_path __percpu *stats;
	struct sock *sk;
	struct smc_stream_tx tx;
	struct smc_stream_rx rx;
	struct smc_spin spin;
	u64 *first_wait;
	void (*notify)(struct sock *sk);
	bool is_awaited;
	int err;
	bool is_err_told;
	bool rcv_shutdown;
	bool is_read;
	bool updated;
	__poll_t events;
	struct smc_tx_timestamps *stamps;
	int first_stamp;
	struct smc_rx_timestamps *arrivals;
	struct socket *orphan;
	u64 orphan_progress;
	struct delayed_work end_work;
	struct timer_list hold_timer;
	u64 user_progress;
	unsigned long user_since;
	struct timer_list user_timer;
};

/* Functions for a path: create, update and end a stream. */

/**
 * smc_stream_init() - initialise the stream of a connection that a path just made
 * @st: zeroed memory
 * @path: operations of the path that carries the stream
 * @net: network namespace, which outlives the stream's use of it: a socket holds
 *	its namespace, and the path ends its streams before the namespace goes
 * @lock: initialised by the path; lives as long as the stream
 *
 * Before anything can arrive, the path has to set the rings and their sizes.
 * The reference count starts at one. The path owns this first reference, and
 * drops it at the end of ->over().
 */
void smc_stream_init(struct smc_stream *st, const struct smc_path_ops *path, struct net *net,
		     spinlock_t *lock);

/**
 * smc_stream_get() - take a reference
 * @st: stream; the caller has a reference already, or holds the lock of a table
 *	of the path that contains the stream
 *
 * Context: any.
 */
void smc_stream_get(struct smc_stream *st);

/**
 * smc_stream_put() - drop a reference; the path frees the stream with the last one
 * @st: stream, which the caller must not use afterwards
 *
 * Context: any but hard interrupt, without the stream's lock.
 */
void smc_stream_put(struct smc_stream *st);

/**
 * smc_stream_update() - handle what the peer has published
 * @st: stream in any state, whose rings and sizes are set
 * @cdc: the peer's cursors and flags, of a CDC message or of SMC-D's control area; they are
 *	validated here
 *
 * Context: softirqs off, @st->lock held. smc_stream_unlock() of @st, or of its local peer, handles
 * the consequences.
 */
void smc_stream_update(struct smc_stream *st, const struct smc_cdc *cdc);

/**
 * smc_stream_unlock() - release @st->lock and handle the consequences of what
 * was done under it
 * @st: stream whose lock is held, and that cannot be freed meanwhile
 *
 * For this end and for the local peer: answer the other end's publish, wake
 * waiters, and end the stream if its path is lost or has nothing more to do.
 */
void smc_stream_unlock(struct smc_stream *st) __releases(st->lock);

/**
 * smc_stream_watches_delivery() - whether the stream has to know when its bytes
 * reach the peer's host
 * @st: stream, its lock held
 *
 * SO_TIMESTAMPING and TCP_USER_TIMEOUT need that.
 */
bool smc_stream_watches_delivery(const struct smc_stream *st);

/**
 * smc_stream_on_tx_done() - note that a publish completed: its bytes are in the peer's host
 * @st: stream that the caller has a reference to, its lock not held
 * @end: position where the publish ended
 */
void smc_stream_on_tx_done(struct smc_stream *st, u64 end);

/**
 * smc_stream_on_tx_room() - retry a publish: the path returned -EAGAIN, and has room now
 * @st: stream that the caller has a reference to, its lock not held
 */
void smc_stream_on_tx_room(struct smc_stream *st);

/**
 * smc_stream_restart() - publish again what may be lost, because the path has moved
 * @st: stream, its lock held; the caller releases it by smc_stream_unlock()
 *
 * None of the earlier publishes completes any more. The path itself brings the bytes from
 * tx.reusable up to tx.sent to the peer again, before the next publish, unless the peer needs none.
 */
void smc_stream_restart(struct smc_stream *st);

/**
 * smc_stream_break_gap() - reset the stream, because bytes of the peer are lost for good
 * @st: stream that is not down, its lock held; the caller releases it by smc_stream_unlock()
 * @err: positive errno for the application at this end
 *
 * Bytes that arrive later are refused. If final flags come in the same message, they count as a
 * reset.
 */
void smc_stream_break_gap(struct smc_stream *st, int err);

/**
 * smc_stream_on_lost() - note that the path failed: nothing arrives or leaves any more
 * @st: stream that cannot be freed meanwhile, its lock not held; in any state
 * @err: positive errno for the application
 */
void smc_stream_on_lost(struct smc_stream *st, int err);

/* Functions for the socket: the application's calls. The caller has locked @st->sk. */

/**
 * smc_stream_attach() - attach the stream to its socket
 * @st: stream; the socket gets the caller's reference
 * @sk: TCP socket whose connection the stream replaces
 * @role: role of this end in SMC's handshake
 * @notify: see struct smc_stream
 */
void smc_stream_attach(struct smc_stream *st, struct sock *sk, enum smc_role role,
		       void (*notify)(struct sock *sk));

/**
 * smc_stream_await() - request a call of @st->notify when the peer's first bytes
 * arrive, the peer stops sending, or the stream fails
 * @st: stream that is attached
 *
 * Context: any, softirqs off.
 * Return: true if the call will follow; false if bytes or flags have arrived already, or the stream
 * has failed.
 */
bool smc_stream_await(struct smc_stream *st);

/**
 * smc_stream_report_urgent() - raise SIGURG for an urgent byte that came before
 * the socket was attached
 * @st: stream that is attached, its lock not held
 *
 * Context: any but hard interrupt; the socket may be locked.
 */
void smc_stream_report_urgent(struct smc_stream *st);

/**
 * smc_stream_send() - do the work of sendmsg()
 * @st: stream in any state; it may end meanwhile
 * @msg: data, and MSG_* flags in msg_flags
 * @len: number of bytes in @msg
 *
 * Context: process; releases the socket lock while it waits.
 * Return: number of bytes accepted, or the socket's error, -EAGAIN, -EPIPE,
 * -EFAULT, or the errno of a signal. As with TCP, -EINVAL for an invalid control
 * message, and -ENOBUFS if MSG_ZEROCOPY would keep too much memory.
 */
int smc_stream_send(struct smc_stream *st, struct msghdr *msg, size_t len);

/**
 * smc_stream_recv() - do the work of recvmsg()
 * @st: stream in any state; it may end meanwhile
 * @msg: destination
 * @len: bytes wanted
 * @flags: MSG_* flags
 * @arrival: set to the arrival time of the last byte read, in nanoseconds since
 *	1970, if the socket asks for it; otherwise to 0
 *
 * Context: process; releases the socket lock while it waits.
 * Return: bytes copied, 0 at the end of the stream, or -errno.
 */
int smc_stream_recv(struct smc_stream *st, struct msghdr *msg, size_t len, int flags,
		    u64 *arrival);

/**
 * smc_stream_splice() - do the work of splice() from the stream
 * @st: stream in any state; it may end meanwhile
 * @pipe: destination, locked by the caller
 * @len: bytes wanted, at least one
 * @timeo: how long to wait for the first byte, in jiffies
 *
 * As with TCP, splice() moves only the bytes in front of an urgent byte, never
 * steps over an urgent byte, and leaves the offset of SO_PEEK_OFF alone.
 *
 * Context: process; releases the socket lock while it waits.
 * Return: bytes moved; 0 at the end of the stream or in front of an urgent byte; or -errno.
 */
ssize_t smc_stream_splice(struct smc_stream *st, struct pipe_inode_info *pipe, size_t len,
			  long timeo);

/**
 * smc_stream_put_cmsg() - add the control messages that TCP's recvmsg() would return
 * @st: attached stream; its socket's options are read
 * @msg: destination; a control message that does not fit is left out, with MSG_CTRUNC
 * @arrival: arrival time from smc_stream_recv(), which has succeeded
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_stream_put_cmsg(const struct smc_stream *st, struct msghdr *msg, u64 arrival);

/**
 * smc_stream_poll() - return the events that are true now
 * @st: attached stream, in any state
 *
 * Context: after poll_wait(), without the socket lock.
 */
__poll_t smc_stream_poll(struct smc_stream *st);

/**
 * smc_stream_uncork() - publish the bytes that TCP_CORK or MSG_MORE held back
 * @st: attached stream, its lock not held; the socket lock is not needed
 */
void smc_stream_uncork(struct smc_stream *st);

/**
 * smc_stream_set_user_timeout() - apply the socket's current TCP_USER_TIMEOUT
 * @st: attached stream, its lock not held
 *
 * Context: the socket lock is not needed.
 */
void smc_stream_set_user_timeout(struct smc_stream *st);

/**
 * smc_stream_notify_readers() - wake readers if the unread bytes satisfy the current
 * SO_RCVLOWAT, or the peer has stopped sending
 * @st: attached stream; the socket lock is not needed
 */
void smc_stream_notify_readers(struct smc_stream *st);

/**
 * smc_stream_notify_writers() - wake writers if there is enough room for the current
 * TCP_NOTSENT_LOWAT
 * @st: attached stream, its lock not held; the socket lock is not needed
 */
void smc_stream_notify_writers(struct smc_stream *st);

/**
 * smc_stream_shutdown() - do the work of shutdown()
 * @st: attached stream, its lock not held
 * @how: RCV_SHUTDOWN, SEND_SHUTDOWN or both
 */
void smc_stream_shutdown(struct smc_stream *st, int how);

/**
 * smc_stream_closes_by_reset() - whether TCP's close() would reset the connection
 * @st: attached stream; its own lock is not needed
 *
 * If both ends have shut down, and the peer's host knows it, TCP does not reset the
 * connection. Otherwise TCP does so if data is unread, or SO_LINGER is set to zero seconds.
 */
bool smc_stream_closes_by_reset(const struct smc_stream *st);

/**
 * smc_stream_close() - do the work of close()
 * @st: stream that was attached and is not closed yet, its lock not held
 * @by_reset: send SMC_CONN_ABORT instead of the flags of an orderly end
 * @linger: limit, in jiffies, of the wait until the peer's host has all bytes and flags
 *
 * Return: true if nothing is left to do; false if close continues in the
 * background, for which the caller calls smc_stream_orphan().
 */
bool smc_stream_close(struct smc_stream *st, bool by_reset, long linger);

/**
 * smc_stream_disconnect() - end the stream as TCP's disconnect() does: the
 * socket becomes TCP's again
 * @st: stream; its socket is locked, and smc_stream_close() is still to be called
 * @err: set to the socket's pending error, which is cleared
 *
 * Context: process.
 * Return: true if the end is a reset; false if both ends had shut down writing, or the stream had
 * failed.
 */
bool smc_stream_disconnect(struct smc_stream *st, int *err);

/**
 * smc_stream_abort() - reset the stream and send the peer SMC_CONN_ABORT
 * @st: stream in any state, its lock not held
 * @err: positive errno for the application at this end
 *
 * Context: any but hard interrupt; the socket lock is not needed.
 */
void smc_stream_abort(struct smc_stream *st, int err);

/**
 * smc_stream_may_be_orphan() - whether the limits of the host allow one more orphan
 * @st: stream that smc_stream_close() left unfinished
 *
 * Return: true, or false if the caller has to reset the stream by
 * smc_stream_abort(). A result of false is counted.
 */
bool smc_stream_may_be_orphan(const struct smc_stream *st);

/**
 * smc_stream_orphan() - let the stream finish its close without the application
 * @st: stream that smc_stream_close() left unfinished, or that was aborted; the
 *	caller's reference goes to the orphan
 * @sock: kernel socket that now holds the TCP connection; it is released once
 *	the peer's host has this end's flags, or can't get them any more; NULL
 *	if the TCP connection is closed
 */
void smc_stream_orphan(struct smc_stream *st, struct socket *sock);

/**
 * smc_stream_quarantine() - account for ended streams whose memory a peer may still write to
 * @n: change of their number; negative once their memory can be used again
 * @pages: change of the pages that they keep: all pages of each buffer with an element of theirs.
 *	A buffer with several such elements counts once
 *
 * Context: any.
 * Return: false if the host now has more such streams, or pages, than its limits allow.
 */
bool smc_stream_quarantine(int n, long pages);

/**
 * smc_stream_may_quarantine() - whether a peer is within its part of the limits for quarantine
 * @n: number of the peer's streams that smc_stream_quarantine() counts
 * @pages: pages of the buffers that their elements are in
 *
 * One peer may take a quarter of the host's limits. A peer beyond that gets only TCP for new
 * connections, so that the host need not end link groups.
 *
 * Context: any.
 */
bool smc_stream_may_quarantine(int n, long pages);

/*
 * Ways in which a stream may have ended. None of these functions checks the state of the
 * application.
 *
 * smc_stream_is_down(), smc_stream_is_over()	the path's state
 * smc_stream_has_failed()			the error
 * smc_stream_end_is_delivered()		this end's flags, delivered to the peer's host
 * smc_stream_peer_has_ended()		the peer's flags of an orderly end
 * smc_stream_both_sent_final()			both ends' final flags: closed, or aborted
 * smc_stream_needs_no_path()			both ends' final flags, this end's delivered
 * smc_stream_is_closed()			no error; both orderly ends, this one delivered
 * smc_stream_is_reset()			the error, or this end's flag of an abort
 */

/**
 * smc_stream_is_down() - whether the path is no longer up, which prevents any publish
 * @st: stream; without its lock the path may fail right afterwards
 */
static inline bool smc_stream_is_down(const struct smc_stream *st)
{
	return READ_ONCE(st->state.path) != SMC_PATH_STATE_UP;
}

/**
 * smc_stream_is_over() - whether the path's state is SMC_PATH_STATE_OVER
 * @st: stream; no lock is needed, because a stream that is over stays so
 *
 * If so, the path has been told, or will be when the stream's lock is released.
 */
static inline bool smc_stream_is_over(const struct smc_stream *st)
{
	/* Pairs with smc_state_advance_path(). */
	return smp_load_acquire(&st->state.path) == SMC_PATH_STATE_OVER;
}

/**
 * smc_stream_both_sent_final() - whether both ends have sent their final flags
 * @st: stream; no lock is needed, because flags stay set
 *
 * If they have not, and the stream is over, it has lost its path, or has given up on its peer.
 */
static inline bool smc_stream_both_sent_final(const struct smc_stream *st)
{
	return (READ_ONCE(st->rx.conn_flags) & SMC_CONN_FINAL) &&
	       (READ_ONCE(st->tx.conn_flags) & SMC_CONN_FINAL);
}

/**
 * smc_stream_needs_no_path() - whether the path has nothing more to do
 * @st: stream, its lock held, or over
 *
 * Both ends have sent their final flags, and those of this end have arrived. Until then the path
 * may have to publish them again, see smc_stream_restart().
 */
static inline bool smc_stream_needs_no_path(const struct smc_stream *st)
{
	return smc_stream_both_sent_final(st) && !st->tx.in_flight &&
	       st->tx.update != SMC_UPDATE_AGAIN;
}

/**
 * smc_stream_has_failed() - whether the stream has an error
 * @st: stream; no lock is needed, because the first error stays
 *
 * The error is that of a reset, a time limit, the loss of the path, a send() after the peer's
 * close, or a disconnect by this end's application.
 */
static inline bool smc_stream_has_failed(const struct smc_stream *st)
{
	return READ_ONCE(st->err);
}

/**
 * smc_stream_tcp_patience() - how long TCP's packets may be lost before that ends the stream
 * @st: stream; no lock is needed
 *
 * Context: any but hard interrupt.
 * Return: as @tcp_patience of struct smc_path_ops.
 */
static inline unsigned long smc_stream_tcp_patience(struct smc_stream *st)
{
	return st->path->tcp_patience ? st->path->tcp_patience(st) : 0;
}

/**
 * smc_stream_end_is_delivered() - whether the peer's host has all flags by which this end
 * stops sending
 * @st: stream with or without its lock
 *
 * Context: any.
 */
static inline bool smc_stream_end_is_delivered(const struct smc_stream *st)
{
	return smc_tx_end_is_delivered(&st->tx);
}

/**
 * smc_stream_peer_has_ended() - whether the peer's flags show that all its bytes have arrived
 * @st: stream; no lock is needed, because flags stay set
 *
 * As with TCP, this remains true if the peer aborts later.
 */
static inline bool smc_stream_peer_has_ended(const struct smc_stream *st)
{
	return READ_ONCE(st->rx.conn_flags) & (SMC_CONN_CLOSED | SMC_CONN_DONE_WRITING);
}

/**
 * smc_stream_is_closed() - whether error and flags say that both ends shut down in good order
 * @st: stream with or without its lock
 *
 * The peer's host has this end's flags by then.
 *
 * TCP would not reset such a connection, even if data is unread.
 */
static inline bool smc_stream_is_closed(const struct smc_stream *st)
{
	return !smc_stream_has_failed(st) && smc_stream_end_is_delivered(st) &&
	       (READ_ONCE(st->tx.end_flags) & ~SMC_CONN_ABORT) &&
	       smc_stream_peer_has_ended(st);
}

/**
 * smc_stream_is_reset() - whether error and flags say that a plain TCP connection would be reset
 * @st: stream; no lock is needed, because errors and flags stay
 */
static inline bool smc_stream_is_reset(const struct smc_stream *st)
{
	return smc_stream_has_failed(st) || (READ_ONCE(st->tx.end_flags) & SMC_CONN_ABORT);
}

/**
 * smc_stream_queued() - count the bytes to read (SIOCINQ)
 * @st: attached stream; the caller holds its lock to compare this count with other answers
 *
 * As with TCP, only the bytes before the urgent byte count, unless urgent bytes are read in line.
 */
u64 smc_stream_queued(const struct smc_stream *st);

/**
 * smc_stream_at_mark() - whether the next byte to read is the urgent one (SIOCATMARK)
 * @st: attached stream, its lock held
 */
bool smc_stream_at_mark(const struct smc_stream *st);

#endif
