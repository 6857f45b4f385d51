/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seam between a connection's byte stream and what carries it.
 *
 * A path gives the stream two rings: one to copy outgoing bytes into and one that
 * the peer's bytes appear in. The stream moves its positions and asks the path to
 * publish them; the path tells the stream what the peer published through the
 * smc_stream_on_*() functions of stream/stream.h.
 */
#ifndef SMC_PATH_H
#define SMC_PATH_H

#include <linux/types.h>

#include "path_kind.h"

struct smc_diag_conninfo;
struct smc_stream;

/**
 * struct smc_path_ops - what a path implements
 * @kind: for statistics and diagnosis
 * @publish: make the bytes from st->tx.sent up to position @end, and then the
 *	stream's cursors and flags, visible to the peer, in this order. Called with
 *	st->tx.lock held and softirqs disabled; must not sleep. Returns 0, and
 *	smc_stream_on_tx_done() follows; -EAGAIN if there is no room now, and
 *	smc_stream_on_tx_room() follows; another error if the path is dead, and
 *	smc_stream_on_lost() follows or has been called.
 * @over: the peer will not write to this stream any more and nothing will be
 *	published. Called once, in any context that is not hard interrupt.
 * @free: the last reference to the stream is gone. Not hard interrupt.
 */
struct smc_path_ops {
	enum smc_path_kind kind;
	int (*publish)(struct smc_stream *st, u64 end);
	void (*over)(struct smc_stream *st);
	void (*free)(struct smc_stream *st);
};

#endif
