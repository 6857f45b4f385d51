/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rendezvous: both ends agree over the TCP connection, before the application
 * sees it, whether and how its bytes go by SMC (RFC 7609 section 3).
 */
#ifndef SMC_HANDSHAKE_H
#define SMC_HANDSHAKE_H

#include <linux/string.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "admin/blackhole.h"
#include "path_kind.h"
#include "wire/clc.h"

struct mem_cgroup;
struct sock;
struct smc_client;
struct smc_stream;

/**
 * struct smc_handshake - one rendezvous
 * @wait: to be woken when @sk has something to read or changes state, and when it is over
 * @sk: TCP socket, connected, its peer having offered SMC
 * @memcg: control group to charge for buffers, or NULL; lives as long as the rendezvous
 * @aborted: the application gave up; set it before waking @wait
 * @interruptible: a signal ends the waits for the peer
 * @refusal: what a client declines with instead of proposing: a diagnosis, or 0
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
	wait_queue_head_t wait;
	struct sock *sk;
	struct mem_cgroup *memcg;
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
 * smc_handshake_init() - prepare for the next one of a socket
 * @hs: none is under way; @wait is initialised, and who waits there for the last one may
 *	still do so
 * @sk: TCP socket
 * @memcg: as above
 */
static inline void smc_handshake_init(struct smc_handshake *hs, struct sock *sk,
				      struct mem_cgroup *memcg)
{
	memset_after(hs, 0, wait);
	hs->sk = sk;
	hs->memcg = memcg;
}

/**
 * smc_handshake_propose() - begin it as the end that connected, unless it did
 * @hs: rendezvous
 *
 * Context: process, without the socket lock; waits for nobody.
 */
void smc_handshake_propose(struct smc_handshake *hs);

/**
 * smc_handshake_await() - wait for the answer
 * @hs: rendezvous that smc_handshake_propose() began
 * @timeo: how long, in jiffies; 0: do not wait
 *
 * Context: process, without the socket lock; a signal ends the wait.
 * Return: true if the rest, smc_handshake_client(), waits for nobody.
 */
bool smc_handshake_await(struct smc_handshake *hs, long timeo);

/**
 * smc_handshake_pair() - hold both ends' at once, without a message, and agree on SMC-D
 * @client: rendezvous of the end that connected
 * @server: of the other one, in the same namespace
 *
 * Memory that it takes is the other end's, and so is the time to find it. Where that takes time,
 * or the ends know nothing of each other yet, it is left to them.
 *
 * Context: process, without any socket lock; waits for nobody.
 * Return: whether both have their stream. If not, both can be held as if this had not been called.
 */
bool smc_handshake_pair(struct smc_handshake *client, struct smc_handshake *server);

/**
 * smc_handshake_client() - hold it as the end that connected
 * @hs: rendezvous
 *
 * Context: process, without the socket lock; sleeps while it waits for the peer.
 * Return: 0 with the result in @hs; or an error that ends the connection: -ECONNRESET
 * if the peer broke the protocol in the middle of it, so that the TCP
 * connection can't serve the application either.
 */
int smc_handshake_client(struct smc_handshake *hs);

/**
 * smc_handshake_server() - hold it as the end that was connected to
 * @hs: rendezvous
 */
int smc_handshake_server(struct smc_handshake *hs);

/**
 * smc_handshake_refuse() - decline one that did not begin, as the end that was connected to
 * @hs: rendezvous
 * @reason: diagnosis
 *
 * Context: process, without the socket lock; waits for nobody.
 * Return: 0 with TCP as the result, or an error that ends the connection.
 */
int smc_handshake_refuse(struct smc_handshake *hs, u32 reason);

/**
 * smc_handshake_decline_late() - answer the PROPOSAL that smc_handshake_drop_late() found
 * @hs: rendezvous that is over and had TCP as its result
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
 * @hs: rendezvous that is over and had TCP as its result
 *
 * Context: the socket is locked, or TCP calls its data_ready.
 * Return: true as long as nothing else came.
 */
bool smc_handshake_drop_late(struct smc_handshake *hs);

#endif
