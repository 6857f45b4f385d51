/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seam between a connection and what carries it: struct smc_path_type is for the handshake,
 * which sets the connection up, and struct smc_path_ops is for its byte stream.
 *
 * A path gives the stream two rings: one to copy outgoing bytes into, which may be the
 * peer's element itself, and one that the peer's bytes appear in. The stream moves its
 * positions and asks the path to publish them; the path tells the stream what the peer
 * published through the smc_stream_on_*() functions of stream/stream.h.
 *
 * Where the path reaches both ends, they share one lock, and a publish updates the
 * other end, the local peer, by smc_stream_update() before it returns.
 */
#ifndef SMC_PATH_H
#define SMC_PATH_H

#include <linux/types.h>
#include <linux/wait.h>

#include "path_kind.h"
#include "wire/clc.h"

struct mem_cgroup;
struct net;
struct smc_cdc;
struct smc_stream;
struct sock;

/**
 * struct smc_cancel - what else than the link ends a wait for it to be confirmed
 * @wait: is woken when that may be so
 * @is_over: whether it is; called between setting the task's state and sleeping
 * @has_left: whether the peer has taken its leave, though perhaps after it answered: that is why a
 *	wait was in vain
 * @arg: for both
 */
struct smc_cancel {
	wait_queue_head_t *wait;
	bool (*is_over)(const void *arg);
	bool (*has_left)(const void *arg);
	void *arg;
};

/**
 * struct smc_path_setup - a connection that is being set up; a path's own structure begins with it
 * @type: the path
 * @net: network namespace
 * @sk: TCP socket
 * @memcg: control group to charge for buffers, or NULL; lives as long as the setup
 * @role: of this end
 * @version: of SMC, the newest until another one is chosen
 * @offered: a bit for each version that the PROPOSAL offers
 * @is_direct: the route of the TCP connection has no gateway
 * @first_contact: the link group is made for this connection
 * @exposed: as server, the peer was told of the element here, and may believe that it is connected
 * @out_of_sync: as server, the peer does not know the link group
 * @eid: agreed on, version 2; else zero
 * @rcvbuf: bytes that the application asked for by SO_RCVBUF, or 0
 * @sndbuf: likewise, by SO_SNDBUF
 * @cancel: ends the wait for a link to be confirmed
 * @stream: the connection's, referenced, once there is one
 */
struct smc_path_setup {
	const struct smc_path_type *type;
	struct net *net;
	struct sock *sk;
	struct mem_cgroup *memcg;
	enum smc_role role;
	u8 version;
	u8 offered;
	bool is_direct;
	bool first_contact;
	bool exposed;
	bool out_of_sync;
	u8 eid[SMC_EID_LEN];
	u32 rcvbuf;
	u32 sndbuf;
	struct smc_cancel cancel;
	struct smc_stream *stream;
};

/**
 * struct smc_path_type - a path for the handshake: the steps between the CLC messages
 * @kind: for messages, statistics and diagnosis
 * @waits: the client's steps after the ACCEPT wait for the peer
 * @diagnosis: why a server can't use the path, whatever the reason; 0: the first reason counts
 * @setup_size: bytes of the structure that begins with struct smc_path_setup, zeroed at first
 * @offer: as client, before the PROPOSAL: find out whether the path can be had in @version. If so,
 *	fill in the path's part of @p and return true.
 * @reach: as server, after the PROPOSAL: find the device for s->version. It may be called again
 *	for an older version if that failed.
 * @server_reserve: before the ACCEPT: a group and an element. Sets @stream and @first_contact.
 * @describe: fill in the path's part of this end's ACCEPT or CONFIRM.
 * @client_join: after the ACCEPT, before the CONFIRM. Sets @stream.
 * @server_complete: after the CONFIRM: the connection is usable. Returns -EPIPE if it isn't, and
 *	the client, which believes that it is connected, looks for no DECLINE.
 * @client_complete: after the CONFIRM: the connection is usable. NULL if it is so anyway.
 * @pair: all steps of both ends of one namespace, in version 2, without a message. Returns false
 *	rather than take new memory for elements, or make a group. NULL if the path can't.
 * @end: release what the setup holds but for the stream. With @keep the connection is in use.
 * @learn: take note of why the peer declined, a diagnosis or 0, after @end; or NULL.
 *
 * All are called in process context without a lock, and may sleep, but @offer does not. A step
 * returns 0 or -errno, which smc_setup_diagnosis() translates for a DECLINE. @end follows in any
 * case.
 */
struct smc_path_type {
	enum smc_path_kind kind;
	bool waits;
	u32 diagnosis;
	size_t setup_size;
	bool (*offer)(struct smc_path_setup *s, u8 version, struct smc_clc_proposal *p);
	int (*reach)(struct smc_path_setup *s, const struct smc_clc_proposal *p);
	int (*server_reserve)(struct smc_path_setup *s);
	void (*describe)(struct smc_path_setup *s, struct smc_clc_agreement *a);
	int (*client_join)(struct smc_path_setup *s, const struct smc_clc_agreement *accept);
	int (*server_complete)(struct smc_path_setup *s, const struct smc_clc_agreement *confirm);
	int (*client_complete)(struct smc_path_setup *s);
	bool (*pair)(struct smc_path_setup *client, struct smc_path_setup *server);
	void (*end)(struct smc_path_setup *s, bool keep);
	void (*learn)(struct smc_path_setup *s, u32 peer_reason);
};

/* The paths, the preferred one first; module.c registers them. */
extern const struct smc_path_type *const smc_path_types[SMC_N_PATHS];

#define SMC_PATH_NAME_LEN	64

/**
 * struct smc_path_info - what carries a stream, for those who watch sockets
 * @role: of this end in the link group
 * @link: number of the link in the group, or of the group
 * @port: of the device
 * @device: its name
 * @gid: this end's address on the path
 * @peer_gid: the peer's
 * @token: what the peer calls this end
 * @peer_token: what this end calls the peer; 0 while not known
 * @index: of the element that the peer writes into, as the peer knows it
 * @peer_index: of the peer's element, once that is known
 */
struct smc_path_info {
	enum smc_role role;
	u32 link;
	u8 port;
	char device[SMC_PATH_NAME_LEN];
	u8 gid[16];
	u8 peer_gid[16];
	u64 token;
	u64 peer_token;
	u8 index;
	u8 peer_index;
};

/* What a publish returns, if not an error. */
enum smc_publish {
	SMC_PUBLISH_BEGUN,	/* smc_stream_on_tx_done() follows, unless the path dies */
	SMC_PUBLISH_DONE,	/* no call: the peer's host has it, or will unless the path dies */
};

/**
 * struct smc_path_ops - what a path implements
 * @kind: for statistics and diagnosis
 * @publish: make the bytes from st->tx.sent up to position @end, and then the
 *	cursors and flags in @cdc, visible to the peer, in this order. The other fields of
 *	@cdc are for the path to fill. Called with st->lock held and softirqs disabled; must
 *	not sleep. Returns enum smc_publish; -EAGAIN if there is no room now, and
 *	smc_stream_on_tx_room() follows; another error if the path is dead, and
 *	smc_stream_on_lost() follows or has been called.
 * @describe: fill @info, which is zeroed, with what carries the stream. Called with
 *	st->lock held and softirqs disabled; must not sleep. Returns false, and what
 *	it wrote does not count, if the path is lost.
 * @over: the peer will not write to this stream any more and nothing will be
 *	published. No copy into its tx.ring begins any more; one may be under way, in a read-side
 *	section of RCU, unless the application has closed. Called once, in any context that is not
 *	hard interrupt.
 * @free: the last reference to the stream is gone. Not hard interrupt.
 */
struct smc_path_ops {
	enum smc_path_kind kind;
	int (*publish)(struct smc_stream *st, u64 end, struct smc_cdc *cdc);
	bool (*describe)(struct smc_stream *st, struct smc_path_info *info);
	void (*over)(struct smc_stream *st);
	void (*free)(struct smc_stream *st);
};

#endif
