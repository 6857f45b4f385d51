/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SMC's handshake, also called the CLC handshake: before the application sees the TCP connection,
 * both ends exchange CLC messages over it, and agree whether and how SMC carries the application's
 * bytes (RFC 7609 section 3). In handshake/ "the handshake" always means SMC's, not TCP's.
 */
#ifndef SMC_HANDSHAKE_H
#define SMC_HANDSHAKE_H

#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "admin/blackhole.h"
#include "path_kind.h"
#include "quota.h"
#include "wire/clc.h"

struct mem_cgroup;
struct sock;
struct smc_client;
struct smc_handshake;
struct smc_stream;

enum smc_handshake_state {
	SMC_HANDSHAKE_NONE,	/* no handshake is under way */
	SMC_HANDSHAKE_RUNS,	/* a thread runs the handshake, or is about to run it */
	SMC_HANDSHAKE_OVER,	/* the handshake is over, and ->conclude() is to be called */
};

/* How to treat CLC messages that come once the handshake is over, and the connection is TCP. */
enum smc_late_clc {
	SMC_LATE_NONE,		/* nothing: all bytes are those of the peer's application */
	SMC_LATE_DROPPED,	/* drop them, so that the application does not read them */
	SMC_LATE_DECLINED,	/* as server: drop them, and answer a PROPOSAL by a DECLINE */
};

/**
 * struct smc_handshake_ops - functions of the socket that the handshake calls
 * @conclude: takes the result; called with the socket locked. The application can use the
 *	connection only afterwards
 * @release: called without the socket lock once the worker no longer uses a server's handshake
 */
struct smc_handshake_ops {
	void (*conclude)(struct smc_handshake *hs);
	void (*release)(struct smc_handshake *hs);
};

/**
 * enum smc_refusal - whether this end declines a handshake without trying any path
 * @SMC_REFUSAL_NONE: no
 * @SMC_REFUSAL_AFTER_PROPOSAL: this server sends the DECLINE once the PROPOSAL has come. If a
 *	device between the hosts removed the SMC option from the SYN-ACK, the client uses TCP, and
 *	its application would read the DECLINE. No thread waits for the PROPOSAL
 * @SMC_REFUSAL_AT_ONCE: this end sends the DECLINE at once
 */
enum smc_refusal {
	SMC_REFUSAL_NONE,
	SMC_REFUSAL_AFTER_PROPOSAL,
	SMC_REFUSAL_AT_ONCE,
};

/**
 * struct smc_handshake - one handshake
 * @ops: functions of the socket
 * @sk: TCP socket; during a handshake it is connected, and its peer has offered SMC
 * @memcg: control group to charge for buffers, or NULL; lives as long as the handshake
 * @work: runs the handshake, or calls ->conclude() after it
 * @wait: woken when @sk has something to read or changes state, when the handshake is aborted, and
 *	when the handshake is over
 * @state: see enum smc_handshake_state; changes from and to SMC_HANDSHAKE_NONE with the socket
 *	locked
 * @role: client or server
 * @pingpong: what smc_tcp_pingpong() is to be if the connection falls back
 * @quota: the counts that include this handshake
 * @result: 0, or the error that the handshake broke off with
 * @aborted: the application gave up; set before @wait is woken
 * @interruptible: a signal ends the waits for the peer
 * @refusal: whether and when this end declines because too many handshakes are under way
 * @client: the client's state, made by smc_handshake_propose(); NULL before that, once the
 *	handshake is over, and for a server
 * @head: header of the peer's next message if @has_head is set, else of the one taken last
 * @has_head: @head was read from a message that has not been taken yet
 * @due: time in jiffies after which the peer's next message is late
 * @agreed: the CONFIRM was exchanged, so the peer may send only a DECLINE from now on
 * @stream: result: the stream, with a reference; NULL means TCP
 * @reason: diagnosis code that says why the connection falls back to TCP
 * @peer_reason: diagnosis code of the peer's DECLINE, or 0
 * @out_of_sync: the peer's DECLINE says that no connection can join the link group
 * @timed_out: a message of the peer was due, and no byte of it came in time
 * @late: result: what to do with late CLC messages. The thread of the handshake sets it. After that
 *	only smc_handshake_drop_late() changes it: from SMC_LATE_DECLINED to SMC_LATE_DROPPED when a
 *	PROPOSAL comes, and to SMC_LATE_NONE when bytes of the peer's application do
 * @late_left: bytes of a late message that are still to be dropped; 0 until its header has come
 * @blackhole_key: key of the blackhole entry that a failure of this handshake adds
 * @written: TCP's write_seq when @late became SMC_LATE_DECLINED. Once the application sends data or
 *	a FIN, write_seq differs from @written
 * @late_version: SMC version of the late PROPOSAL that is to be declined, or 0
 */
struct smc_handshake {
	const struct smc_handshake_ops *ops;
	struct sock *sk;
	struct mem_cgroup *memcg;
	struct delayed_work work;
	wait_queue_head_t wait;
	enum smc_handshake_state state;
	enum smc_role role;
	u8 pingpong;
	struct smc_quota quota;
	int result;
	bool aborted;
	bool interruptible;
	enum smc_refusal refusal;
	struct smc_client *client;
	struct smc_clc_header head;
	bool has_head;
	unsigned long due;
	bool agreed;
	struct smc_stream *stream;
	u32 reason;
	u32 peer_reason;
	bool out_of_sync;
	bool timed_out;
	enum smc_late_clc late;
	size_t late_left;
	struct smc_blackhole_key blackhole_key;
	u32 written;
	u8 late_version;
};

/**
 * smc_handshake_init() - prepare for the handshakes of a socket, which has one at a time
 * @hs: handshake, part of the socket's own structure
 * @sk: TCP socket, which outlives @hs
 * @memcg: control group to charge for buffers, or NULL
 * @ops: functions of the socket
 */
void smc_handshake_init(struct smc_handshake *hs, struct sock *sk, struct mem_cgroup *memcg,
			const struct smc_handshake_ops *ops);

/**
 * smc_handshake_reset() - prepare for the next handshake of a socket
 * @hs: handshake that is not under way. Its @wait stays as it is, because threads that waited for
 *	the end of the last handshake may still be in it
 */
void smc_handshake_reset(struct smc_handshake *hs);

/**
 * smc_handshake_start() - start a handshake once TCP is connected and the peer has offered SMC
 * @hs: handshake; the caller holds the socket lock, or is a callback of TCP
 * @role: role of this end
 * @pingpong: what smc_tcp_pingpong() is to be if the connection falls back
 *
 * If too many handshakes are under way, this one is refused. In either case the caller must run or
 * queue the handshake afterwards, because smc_handshake_stop() waits for its end.
 */
void smc_handshake_start(struct smc_handshake *hs, enum smc_role role, u8 pingpong);

/**
 * smc_handshake_run() - run the handshake, or the steps that are left after the PROPOSAL
 * @hs: handshake that was started, and that no other thread runs
 *
 * If the user keeps the socket locked at the end, a work calls ->conclude() once the socket is
 * unlocked. A connection that waits for accept() has no such user, so this function calls
 * ->conclude() itself.
 *
 * Context: process, without the socket lock; sleeps while it waits for the peer.
 * Return: true if the handshake is over; false if it is refused, and a work that this function has
 * queued tries again. The caller must not use a server's handshake then.
 */
bool smc_handshake_run(struct smc_handshake *hs);

/**
 * smc_handshake_queue() - have a worker run the handshake
 * @hs: handshake, which the caller must not run or queue after this call
 *
 * Context: any.
 */
void smc_handshake_queue(struct smc_handshake *hs);

/**
 * smc_handshake_run_for() - run a client's handshake, but wait no longer than @timeo for the answer
 * @hs: handshake, which the caller must not run or queue after this call
 * @timeo: how long to wait for the server's answer, in jiffies; 0: do not wait
 *
 * A worker runs the remaining steps in these cases:
 * - The answer does not come within @timeo, or a signal or an error ends the wait.
 * - The PROPOSAL was not sent, because there was no memory for the client's state, or because the
 *   handshake is refused.
 * - The next steps may have to wait until the server confirms a link, or confirms that it has the
 *   key of new memory.
 *
 * Context: process, without the socket lock.
 */
void smc_handshake_run_for(struct smc_handshake *hs, long timeo);

/**
 * smc_handshake_abort() - abort the handshake if it is under way, and keep it from starting again
 * @hs: handshake; the caller holds the socket lock
 *
 * The handshake ends by itself. It waits for no further CLC message, but a step of the path may
 * still wait for the peer for some seconds.
 *
 * Context: process.
 * Return: whether the handshake was under way. If so, ->conclude() is called after the unlock.
 */
bool smc_handshake_abort(struct smc_handshake *hs);

/**
 * smc_handshake_stop() - do what smc_handshake_abort() does, and wait until the handshake is over
 * @hs: handshake in any state, whose socket the caller has not locked
 *
 * Context: process; may sleep. Takes the socket lock, and returns with it held.
 */
void smc_handshake_stop(struct smc_handshake *hs);

/**
 * smc_handshake_end() - abort the handshake, and wait until its work no longer uses the socket
 * @hs: handshake of a socket that no other thread can call
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_handshake_end(struct smc_handshake *hs);

/**
 * smc_handshake_propose() - send the PROPOSAL, as client, unless the handshake has begun or is
 * refused
 * @hs: handshake of a client, which the calling thread runs
 *
 * Context: process, without the socket lock, for which it may wait; does not wait for the peer.
 */
void smc_handshake_propose(struct smc_handshake *hs);

/**
 * smc_handshake_await() - wait for the answer to the PROPOSAL
 * @hs: handshake for which smc_handshake_propose() was called
 * @timeo: how long to wait, in jiffies; 0: do not wait
 *
 * Context: process, without the socket lock; a signal ends the wait.
 * Return: whether smc_handshake_client() can now run without a wait for the peer. If not, a worker
 * has to run it.
 */
bool smc_handshake_await(struct smc_handshake *hs, long timeo);

/**
 * smc_handshake_local() - perform the handshakes of both ends without CLC messages, for SMC-D
 * @client: handshake of the client
 * @server: handshake of the server, in the same namespace
 *
 * The calling thread allocates elements for both ends, although the ends may belong to different
 * users. So that no user spends time or memory for another, the function fails if an end needs new
 * memory for elements or a new link group. Each end then runs its own handshake, with messages.
 *
 * Context: process, without any socket lock; waits for nobody.
 * Return: whether both ends have their stream. If not, both handshakes can be run as if this
 * function had not been called.
 */
bool smc_handshake_local(struct smc_handshake *client, struct smc_handshake *server);

/**
 * smc_handshake_client() - perform the handshake as client
 * @hs: handshake of a client, which the calling thread runs
 *
 * Context: process, without the socket lock; sleeps while it waits for the peer.
 * Return: 0 with the result in @hs; or an error that ends the connection. -ECONNRESET says that the
 * TCP connection can't serve the application either. Either the peer closed or broke the protocol
 * during the handshake, or this end failed when the peer may already have begun to use SMC.
 */
int smc_handshake_client(struct smc_handshake *hs);

/**
 * smc_handshake_server() - perform the handshake as server
 * @hs: handshake of a server, which the calling thread runs
 *
 * Context: as smc_handshake_client().
 * Return: as smc_handshake_client().
 */
int smc_handshake_server(struct smc_handshake *hs);

/**
 * smc_handshake_refuse() - decline a handshake at once
 * @hs: handshake in which this end has sent no message
 *
 * Context: process, without the socket lock; does not wait for the peer, nor for the socket's user.
 * Return: 0 with TCP as the result; -EBUSY if the user has the socket locked, and the caller is to
 *	try again later; or an error that ends the connection.
 */
int smc_handshake_refuse(struct smc_handshake *hs);

/**
 * smc_handshake_decline_late() - decline the PROPOSAL that smc_handshake_drop_late() has found
 * @hs: handshake that is over and had TCP as its result
 *
 * If the application has sent bytes or a FIN, no DECLINE is sent: the DECLINE would end up in the
 * middle of the application's bytes. A client that still waits for the answer then finds bytes that
 * are not a CLC message, and ends the connection.
 *
 * Context: process, the socket is locked; waits for nobody.
 */
void smc_handshake_decline_late(struct smc_handshake *hs);

/**
 * smc_handshake_drop_late() - drop late CLC messages, so that the application does not read them
 * @hs: handshake that is over and had TCP as its result
 *
 * Context: the socket is locked, or TCP calls its data_ready.
 * Return: true while more late CLC messages may come. The result turns false when the first byte of
 *	the peer's application comes, or earlier. If the result is true and bytes are left, they are
 *	too few to tell whether a CLC header begins with them. The application may read them,
 *	because the peer may send no more.
 */
bool smc_handshake_drop_late(struct smc_handshake *hs);

#endif
