/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between a connection and the path that carries its bytes, SMC-R or SMC-D. The
 * handshake sets up a connection by struct smc_path_type, and the connection's byte stream uses
 * struct smc_path_ops.
 *
 * A path gives the stream two rings: one to copy outgoing bytes into, which may be the
 * peer's element itself, and one in which the peer's bytes appear. The stream moves its
 * positions and asks the path to publish them. By smc_stream_update() of stream/stream.h, the path
 * tells the stream what the peer has published, and by the smc_stream_on_*() functions what has
 * become of this end's own publishes.
 *
 * With SMC-D both ends of a connection are in this kernel. Their streams share one lock, and a
 * publish updates the other end's stream, the local peer, by smc_stream_update() before it returns.
 */
#ifndef SMC_PATH_H
#define SMC_PATH_H

#include <linux/in6.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "path_kind.h"
#include "wire/clc.h"

struct dst_entry;
struct mem_cgroup;
struct net;
struct smc_cdc;
struct smc_lgr_kind;
struct smc_netlink_source;
struct smc_stream;

/**
 * struct smc_cancel - events outside the path that end the setup's wait for the peer
 * @wait: wait queue, woken when @is_over may have become true
 * @is_over: whether the wait is to end; called between setting the task's state and sleeping, so it
 *	must not take a lock
 * @has_left: whether the peer has closed its TCP connection. If so, a wait without an answer counts
 *	as cancelled, not as timed out
 * @arg: passed to both functions
 */
struct smc_cancel {
	wait_queue_head_t *wait;
	bool (*is_over)(const void *arg);
	bool (*has_left)(const void *arg);
	void *arg;
};

/**
 * struct smc_path_setup - a connection that is being set up
 * @type: the path
 * @net: network namespace
 * @saddr: address of this end of the TCP connection; an IPv4 address is mapped to IPv6
 * @daddr: address of the peer's end; an IPv4 address is mapped to IPv6
 * @dst: route of the TCP connection, with a reference; NULL if there is none, or if @pair of struct
 *	smc_path_type sets up both ends. It is looked up when the setup begins, and at the client
 *	again when the ACCEPT comes
 * @memcg: control group to charge for buffers, or NULL; lives as long as the setup
 * @role: role of this end
 * @version: SMC version, the newest until another one is chosen
 * @offered: a bit for each version that the PROPOSAL offers
 * @is_direct: there is a route, and it has no gateway
 * @first_contact: the link group is created for this connection
 * @exposed: as server: the peer knows this end's element, and may write into it already
 * @out_of_sync: as server: the peer does not know the link group, or has retired it
 * @eid: the agreed EID in version 2, otherwise zero
 * @rcvbuf: bytes that the application asked for by SO_RCVBUF, or 0
 * @sndbuf: bytes that the application asked for by SO_SNDBUF, or 0
 * @cancel: events that end waits for the peer
 * @stream: the connection's stream, referenced; NULL before a step sets it
 *
 * The structure of each path begins with this one. This structure has what a path needs to know of
 * the TCP connection, so that no path sees the socket.
 */
struct smc_path_setup {
	const struct smc_path_type *type;
	struct net *net;
	struct in6_addr saddr;
	struct in6_addr daddr;
	struct dst_entry *dst;
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
 * struct smc_path_type - a path, and its part of the handshake: the steps between the CLC messages
 * @kind: kind of path, for messages, statistics and diagnosis
 * @lgrs: the path's link groups
 * @source: shows the path's objects by netlink
 * @init: prepare what the path needs besides @lgrs and @source, such as devices. Returns 0 or
 *	-errno. NULL if there is nothing
 * @exit: undo @init, once no group of the path is left; NULL if there is nothing
 * @waits: the client's steps after the ACCEPT may wait for the peer, or make other threads wait, so
 *	only a worker runs them
 * @diagnosis: an end sends this diagnosis if it has no device for the path; a server also sends it
 *	if no offered version works on the path, whatever the reason. If @diagnosis is 0, the end
 *	without a device sends SMC_DIAG_NO_DEVICE_R, and the server tells why the newest offered
 *	version does not work
 * @setup_size: bytes of the path's structure that begins with struct smc_path_setup; zeroed before
 *	the first step
 * @offer: step of a client before the PROPOSAL: find out whether the path can be offered in
 *	@version. If so, fill in the path's part of @p and return true. The caller may be a user's
 *	thread that then gets no CPU time. So on return @offer has released everything that other
 *	threads could wait for.
 * @reach: step of a server after the PROPOSAL: find the device for the setup's version. If @reach
 *	fails, the server may call it again for an older version.
 * @server_reserve: step before the ACCEPT: get a group and an element. Sets @stream and
 *	@first_contact. If it fails, no other path is tried.
 * @describe: fill in the path's part of this end's ACCEPT or CONFIRM.
 * @client_join: step after the ACCEPT, before the CONFIRM. Sets @stream.
 * @server_complete: step after the CONFIRM: make the connection usable. Returns -EPIPE if this
 *	fails once the client may use the connection: the client would not read a DECLINE any more.
 * @client_complete: step after the CONFIRM: make the connection usable. NULL if there is nothing to
 *	do.
 * @pair: do all steps of version 2 for two ends in one namespace, without messages. Returns false
 *	rather than allocate new memory for elements, or create a group. NULL if the path can't do
 *	this.
 * @end: release everything that the setup holds, except the stream. @keep is true if the
 *	connection remains in use.
 * @learn: learn from the diagnosis of the peer's DECLINE, 0 if there was none. Called after @end.
 *	NULL if there is nothing to learn.
 *
 * All functions are called in process context without a lock. They may sleep, except @offer. A step
 * returns 0 or -errno, which smc_setup_diagnosis() translates for a DECLINE. @end is called after
 * the last step, whether or not that step succeeded.
 */
struct smc_path_type {
	enum smc_path_kind kind;
	struct smc_lgr_kind *lgrs;
	const struct smc_netlink_source *source;
	int (*init)(void);
	void (*exit)(void);
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

extern const struct smc_path_type smc_ism_path, smc_rdma_path;
/* The paths, the preferred one first; in module.c, which also calls their @init and @exit. */
extern const struct smc_path_type *const smc_path_types[SMC_N_PATHS];

#define SMC_PATH_NAME_LEN	64

/**
 * struct smc_path_info - description of the path of a stream, for smc_diag
 * @role: role of this end in the link group
 * @link: number of the link in its group with SMC-R, id of the group with SMC-D
 * @port: port number of the device
 * @device: name of the device
 * @gid: this end's address on the path
 * @peer_gid: the peer's address on the path
 * @token: token by which the peer addresses this end
 * @peer_token: token by which this end addresses the peer; 0 while not known
 * @index: index of this end's element, as CLC messages count it
 * @peer_index: index of the peer's element, once that is known
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

/* Results of a publish that did not fail. */
enum smc_publish {
	SMC_PUBLISH_BEGUN,	/* smc_stream_on_tx_done() follows, unless the path is lost */
	SMC_PUBLISH_DONE,	/* no call follows: the bytes arrive unless the path is lost */
};

/**
 * struct smc_path_ops - a path's operations for a stream
 * @kind: kind of path, for statistics and diagnosis
 * @publish: make the bytes from st->tx.sent up to position @end, and then the
 *	cursors and flags in @cdc, visible to the peer, in this order. The other fields of
 *	@cdc are for the path to fill. Called with st->lock held and softirqs disabled; must
 *	not sleep. Returns enum smc_publish; -EAGAIN if there is no room now, and
 *	smc_stream_on_tx_room() follows; another error if the path is lost, and
 *	smc_stream_on_lost() follows or has been called.
 * @describe: fill @info, which is zeroed, with the path's description. Called with
 *	st->lock held and softirqs disabled; must not sleep. Returns false if the path is
 *	lost; then the content of @info does not count.
 * @tcp_patience: for how many jiffies TCP's packets may be lost, at the least, before that ends the
 *	stream. A part of the path may share a network with them, and be lost with it, while the
 *	rest of the path carries on. ULONG_MAX means that it is lost now; a smaller number is how
 *	long the path may take to find that out. Called in any context but hard interrupt, with any
 *	locks. NULL means 0.
 * @orphan: count the memory of the stream's elements as that of an orphan, until they are returned.
 *	Called at most once, in process context without a lock, when the application has closed and
 *	the peer has not.
 * @over: release what the path holds for a stream, once neither the peer writes to the stream nor
 *	this end publishes any more. No thread begins a copy into the stream's tx.ring any more.
 *	Unless the application has closed the socket, a copy may still be under way, in an RCU
 *	read-side critical section. Called once, in any context but hard interrupt.
 * @free: free a stream whose last reference is gone. Called in any context but hard interrupt.
 */
struct smc_path_ops {
	enum smc_path_kind kind;
	int (*publish)(struct smc_stream *st, u64 end, struct smc_cdc *cdc);
	bool (*describe)(struct smc_stream *st, struct smc_path_info *info);
	unsigned long (*tcp_patience)(struct smc_stream *st);
	void (*orphan)(struct smc_stream *st);
	void (*over)(struct smc_stream *st);
	void (*free)(struct smc_stream *st);
};

#endif
