/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seam between a connection's byte stream and what carries it.
 *
 * A path gives the stream two rings: one to copy outgoing bytes into, which may be the
 * peer's element itself, and one that the peer's bytes appear in. The stream moves its
 * positions and asks the path to publish them; the path tells the stream what the peer
 * published through the smc_stream_on_*() functions of stream/stream.h.
 *
 * Where the path reaches both ends, they share one lock, and a publish updates the
 * other end, the mate, by smc_stream_update() before it returns.
 */
#ifndef SMC_PATH_H
#define SMC_PATH_H

#include <linux/types.h>

#include "path_kind.h"

struct smc_cdc;
struct smc_stream;

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
