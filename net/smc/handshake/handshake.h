/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SMC's handshake, also called the CLC handshake: before the application sees the TCP connection,
 * both ends exchange CLC messages over it, and agree whether and how SMC carries the application's
 * bytes (RFC 7609 section 3). In handshake/ "the handshake" always means SMC's, not TCP's.
 */
#ifndef SMC_HANDSHAKE_H
#define SMC_HANDSHAKE_H

#include <linux/string.h>
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

/**
 * struct smc_handshake_ops - functions that tell a socket of its handshake
 * @conclude: takes the result; called with the socket locked. The application can't use the
 *	connection before
 * @release: called without the socket lock when the worker that ran a server's handshake is done
 *	with it
 */
struct smc_handshake_ops {
	void (*conclude)(struct smc_handshake *hs);
	void (*release)(struct smc_handshake *hs);
};

/**
 * struct smc_handshake - one handshake
 * @ops: functions of the socket
 * @sk: TCP socket, connected, whose peer has offered SMC
 * @memcg: control group to charge for buffers, or NULL; lives as long as the handshake
 * @work: runs the handshake, or tells the socket of its end
 * @wait: woken when @sk has something to read or changes state, and when the handshake is over
 * @state: see enum smc_handshake_state; changes from and to SMC_HANDSHAKE_NONE with the socket
 *	locked
 * @role: client or server
 * @quota: the counts that include this handshake
 * @result: 0, or the error that the handshake broke off with
 * @aborted: the application gave up; set before @wait is woken
 * @interruptible: a signal ends the waits for the peer
 * @refusal: diagnosis to decline with at once, or 0
 * @client: state of a client's handshake that smc_handshake_propose() began; else NULL
 * @head: header of the peer's message that was taken last or, with @has_head, comes next
 * @has_head: @head was read from a message that has not been taken yet
 * @due: time in jiffies after which the peer's next message is late
 * @agreed: the CONFIRM was exchanged: the peer may send nothing more but a DECLINE
 * @stream: result: the stream, with a reference; NULL means TCP
 * @reason: diagnosis code that says why the connection falls back to TCP
 * @peer_reason: diagnosis code of the peer's DECLINE, or 0
 * @out_of_sync: the peer's DECLINE says that no connection can join the link group
 * @timed_out: a message of the peer's did not come in time
 * @owed: result: CLC messages of the peer's may still come, which the application must not read
 * @late_left: bytes still to be dropped of a late message whose header has come
 * @blackhole_key: key of the blackhole entry that a failure of this handshake makes
 * @may_decline: the peer has got no answer, so a late PROPOSAL is to be declined
 * @written: TCP's write_seq when @may_decline was set
 * @declines: a late PROPOSAL has come, of @late_version, and is to be declined
 * @late_version: SMC version of the late PROPOSAL
 */
struct smc_handshake {
	const struct smc_handshake_ops *ops;
	struct sock *sk;
	struct mem_cgroup *memcg;
	struct delayed_work work;
	wait_queue_head_t wait;
	enum smc_handshake_state state;
	enum smc_role role;
	struct smc_quota quota;
	int result;
	bool aborted;
	bool interruptible;
	u32 refusal;
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
	bool owed;
	size_t late_left;
	struct smc_blackhole_key blackhole_key;
	bool may_decline;
	u32 written;
	bool declines;
	u8 late_version;
};

/**
 * smc_handshake_init() - prepare for the handshakes of a socket, which has one at a time
 * @hs: handshake
 * @sk: TCP socket
 * @memcg: control group to charge for buffers, or NULL
 * @ops: functions of the socket
 */
void smc_handshake_init(struct smc_handshake *hs, struct sock *sk, struct mem_cgroup *memcg,
			const struct smc_handshake_ops *ops);

/**
 * smc_handshake_reset() - prepare for the next handshake of a socket
 * @hs: handshake, not under way; threads that waited for the last one may still be in @hs->wait
 */
static inline void smc_handshake_reset(struct smc_handshake *hs)
{
	memset_after(hs, 0, wait);
}

/**
 * smc_handshake_start() - start a handshake: TCP is connected, and the peer has offered SMC
 * @hs: handshake; its socket is locked, or in one of TCP's callbacks
 * @role: of this end
 *
 * If too many handshakes are under way, this one is to decline at once. The caller must run or
 * queue the handshake; until then smc_handshake_stop() waits.
 */
void smc_handshake_start(struct smc_handshake *hs, enum smc_role role);

/**
 * smc_handshake_run() - run the handshake, or the rest of it
 * @hs: handshake that the caller started, or that its work runs
 *
 * If the user keeps the socket locked at the end, a work calls ->conclude() once the socket is
 * unlocked. For a connection that waits for accept(), ->conclude() is called at once.
 *
 * Context: process, without the socket lock; sleeps while it waits for the peer.
 */
void smc_handshake_run(struct smc_handshake *hs);

/**
 * smc_handshake_queue() - have a worker run the handshake
 * @hs: handshake, which the caller must not run after this
 *
 * Context: any.
 */
void smc_handshake_queue(struct smc_handshake *hs);

/**
 * smc_handshake_run_for() - run a client's handshake; after a time, queue the rest of it
 * @hs: handshake, which the caller must not run after this
 * @timeo: how long to wait for the answer, in jiffies; 0: do not wait
 *
 * The rest is also queued on a signal or an error, or if the peer has a link or memory to confirm.
 *
 * Context: process, without the socket lock.
 */
void smc_handshake_run_for(struct smc_handshake *hs, long timeo);

/**
 * smc_handshake_stop() - end the handshake, if one is under way, and let none begin
 * @hs: handshake
 *
 * Context: process; may sleep. Takes the socket lock, and returns with it held.
 */
void smc_handshake_stop(struct smc_handshake *hs);

/**
 * smc_handshake_end() - end the handshake, and wait until its work does not use the socket any more
 * @hs: handshake of a socket that no other thread can call
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_handshake_end(struct smc_handshake *hs);

/**
 * smc_handshake_propose() - send the PROPOSAL, as client, unless the handshake has begun
 * @hs: handshake
 *
 * Context: process, without the socket lock; waits for nobody.
 */
void smc_handshake_propose(struct smc_handshake *hs);

/**
 * smc_handshake_await() - wait for the answer to the PROPOSAL
 * @hs: handshake that smc_handshake_propose() began
 * @timeo: how long, in jiffies; 0: do not wait
 *
 * Context: process, without the socket lock; a signal ends the wait.
 * Return: true if the rest of the handshake, smc_handshake_client(), waits for nobody.
 */
bool smc_handshake_await(struct smc_handshake *hs, long timeo);

/**
 * smc_handshake_local() - perform the handshakes of both ends without a message, with SMC-D
 * @client: handshake of the client
 * @server: handshake of the server, in the same namespace
 *
 * One thread performs both handshakes, and allocates elements for both ends. It must not spend time
 * or memory that is the other end's to spend. So if an end needs new memory for elements or a new
 * link group, the function fails, and each end runs its own handshake, with messages.
 *
 * Context: process, without any socket lock; waits for nobody.
 * Return: whether both ends have their stream. If not, both handshakes can be run as if this
 * function had not been called.
 */
bool smc_handshake_local(struct smc_handshake *client, struct smc_handshake *server);

/**
 * smc_handshake_client() - perform the handshake as client
 * @hs: handshake
 *
 * Context: process, without the socket lock; sleeps while it waits for the peer.
 * Return: 0 with the result in @hs; or an error that ends the connection. It is -ECONNRESET if the
 * peer broke the protocol in the middle of the handshake, so that the TCP connection can't serve
 * the application either.
 */
int smc_handshake_client(struct smc_handshake *hs);

/**
 * smc_handshake_server() - perform the handshake as server
 * @hs: handshake
 *
 * Context: as smc_handshake_client().
 * Return: as smc_handshake_client().
 */
int smc_handshake_server(struct smc_handshake *hs);

/**
 * smc_handshake_refuse() - decline a handshake that has not begun, as server
 * @hs: handshake
 * @reason: diagnosis
 *
 * Context: process, without the socket lock; waits for nobody.
 * Return: 0 with TCP as the result, or an error that ends the connection.
 */
int smc_handshake_refuse(struct smc_handshake *hs, u32 reason);

/**
 * smc_handshake_decline_late() - answer the PROPOSAL that smc_handshake_drop_late() found
 * @hs: handshake that is over and had TCP as its result
 *
 * No DECLINE is sent if the application has sent anything: the DECLINE would come in the middle of
 * the application's bytes. A client that still waits for the answer finds that those bytes are no
 * CLC message, and ends the connection.
 *
 * Context: process, the socket is locked; waits for nobody.
 */
void smc_handshake_decline_late(struct smc_handshake *hs);

/**
 * smc_handshake_drop_late() - drop CLC messages that come too late, before the application reads
 * @hs: handshake that is over and had TCP as its result
 *
 * Context: the socket is locked, or TCP calls its data_ready.
 * Return: true as long as no byte for the application came.
 */
bool smc_handshake_drop_late(struct smc_handshake *hs);

#endif
