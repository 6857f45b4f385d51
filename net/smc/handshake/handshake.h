/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The handshake: both ends agree over the TCP connection, before the application
 * sees it, whether and how its bytes go by SMC (RFC 7609 section 3).
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
	SMC_HANDSHAKE_NONE,	/* none is under way */
	SMC_HANDSHAKE_RUNS,	/* or is about to */
	SMC_HANDSHAKE_OVER,	/* its socket has still to be told */
};

/**
 * struct smc_handshake_ops - what a socket does about its handshake
 * @conclude: take the result; with the socket locked, which is not the user's before
 * @release: the worker that ran a server's handshake is done with it; without the socket lock
 */
struct smc_handshake_ops {
	void (*conclude)(struct smc_handshake *hs);
	void (*release)(struct smc_handshake *hs);
};

/**
 * struct smc_handshake - one handshake
 * @ops: of the socket
 * @sk: TCP socket, connected, its peer having offered SMC
 * @memcg: control group to charge for buffers, or NULL; lives as long as the handshake
 * @work: runs it, or tells the socket of its end
 * @wait: to be woken when @sk has something to read or changes state, and when it is over
 * @state: see enum; a handshake starts, and is over for good, with the socket locked
 * @role: client or server
 * @quota: counts it
 * @result: 0, or the error that it broke off with
 * @aborted: the application gave up; set it before waking @wait
 * @interruptible: a signal ends the waits for the peer
 * @refusal: diagnosis to decline with at once, or 0
 * @client: what smc_handshake_propose() began
 * @head: of the peer's message that was taken last, or is next
 * @has_head: it is next
 * @due: when the peer's next message is late, in jiffies
 * @agreed: a CONFIRM was exchanged: a DECLINE is all that the peer may still say
 * @stream: result: the stream, with a reference; NULL means TCP
 * @reason: why TCP, as a diagnosis code
 * @peer_reason: what the peer said to that, or 0
 * @out_of_sync: the peer wants the link group dropped
 * @timed_out: a message of the peer's was waited for in vain
 * @owed: result: messages of the peer's may still come, and are not the application's
 * @late_left: bytes still to be dropped of one whose header has come
 * @place: whom to spare SMC for a while, if this harms them
 * @may_decline: the peer was told nothing: a PROPOSAL that comes late is to be declined
 * @written: TCP's place in what is sent when @may_decline was set
 * @declines: such a PROPOSAL has come, of @late_version
 * @late_version: of SMC
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
	struct smc_blackhole_key place;
	bool may_decline;
	u32 written;
	bool declines;
	u8 late_version;
};

/**
 * smc_handshake_init() - prepare for the handshakes of a socket, of which there is one at a time
 * @hs: handshake
 * @sk: TCP socket
 * @memcg: as above
 * @ops: of the socket
 */
void smc_handshake_init(struct smc_handshake *hs, struct sock *sk, struct mem_cgroup *memcg,
			const struct smc_handshake_ops *ops);

/**
 * smc_handshake_reset() - prepare for the next one of a socket
 * @hs: none is under way; threads that waited for the last one may still do so
 */
static inline void smc_handshake_reset(struct smc_handshake *hs)
{
	memset_after(hs, 0, wait);
}

/**
 * smc_handshake_start() - TCP is connected and the peer offered SMC
 * @hs: handshake; its socket is locked, or in one of TCP's callbacks
 * @role: of this end
 *
 * If too many are under way, the handshake declines at once. It is the caller's to run or to queue.
 * Until then nobody can stop it.
 */
void smc_handshake_start(struct smc_handshake *hs, enum smc_role role);

/**
 * smc_handshake_run() - run the handshake, or what is left of it
 * @hs: handshake, the caller's
 *
 * If the user keeps the socket locked at the end, a work tells the socket of the end as soon as it
 * is not. A connection that waits for accept() is told at once.
 *
 * Context: process, without the socket lock; sleeps while it waits for the peer.
 */
void smc_handshake_run(struct smc_handshake *hs);

/**
 * smc_handshake_queue() - have a worker run it
 * @hs: handshake, the caller's no more
 *
 * Context: any.
 */
void smc_handshake_queue(struct smc_handshake *hs);

/**
 * smc_handshake_run_for() - run a client's handshake; after a time, queue what is left of it
 * @hs: handshake, the caller's no more
 * @timeo: how long to wait for the answer, in jiffies; 0: do not wait
 *
 * A signal, and a peer that has a link or memory to confirm, have it queued, too.
 *
 * Context: process, without the socket lock.
 */
void smc_handshake_run_for(struct smc_handshake *hs, long timeo);

/**
 * smc_handshake_stop() - end the handshake, if one is under way, and have none begin
 * @hs: handshake
 *
 * Context: process; may sleep. Takes the socket lock, and returns with it.
 */
void smc_handshake_stop(struct smc_handshake *hs);

/**
 * smc_handshake_end() - the same of a socket that nobody else calls, until no work has it
 * @hs: handshake
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_handshake_end(struct smc_handshake *hs);

/**
 * smc_handshake_propose() - begin it as the end that connected, unless it did
 * @hs: handshake
 *
 * Context: process, without the socket lock; waits for nobody.
 */
void smc_handshake_propose(struct smc_handshake *hs);

/**
 * smc_handshake_await() - wait for the answer
 * @hs: handshake that smc_handshake_propose() began
 * @timeo: how long, in jiffies; 0: do not wait
 *
 * Context: process, without the socket lock; a signal ends the wait.
 * Return: true if the rest, smc_handshake_client(), waits for nobody.
 */
bool smc_handshake_await(struct smc_handshake *hs, long timeo);

/**
 * smc_handshake_local() - hold both ends' at once, without a message, and agree on SMC-D
 * @client: handshake of the end that connected
 * @server: of the other one, in the same namespace
 *
 * Memory that it takes is the other end's, and so is the time to find it. Where that takes time,
 * or the ends know nothing of each other yet, it is left to them.
 *
 * Context: process, without any socket lock; waits for nobody.
 * Return: whether both have their stream. If not, both can be held as if this had not been called.
 */
bool smc_handshake_local(struct smc_handshake *client, struct smc_handshake *server);

/**
 * smc_handshake_client() - hold it as the end that connected
 * @hs: handshake
 *
 * Context: process, without the socket lock; sleeps while it waits for the peer.
 * Return: 0 with the result in @hs; or an error that ends the connection: -ECONNRESET
 * if the peer broke the protocol in the middle of it, so that the TCP
 * connection can't serve the application either.
 */
int smc_handshake_client(struct smc_handshake *hs);

/**
 * smc_handshake_server() - hold it as the end that was connected to
 * @hs: handshake
 */
int smc_handshake_server(struct smc_handshake *hs);

/**
 * smc_handshake_refuse() - decline one that did not begin, as the end that was connected to
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
 * Not if the application has sent anything: the client, which may still wait for the answer, would
 * read a DECLINE in the middle of that. It finds bytes that are no CLC message, and ends the
 * connection.
 *
 * Context: process, the socket is locked; waits for nobody.
 */
void smc_handshake_decline_late(struct smc_handshake *hs);

/**
 * smc_handshake_drop_late() - take messages that come too late from what the application reads
 * @hs: handshake that is over and had TCP as its result
 *
 * Context: the socket is locked, or TCP calls its data_ready.
 * Return: true as long as nothing else came.
 */
bool smc_handshake_drop_late(struct smc_handshake *hs);

#endif
