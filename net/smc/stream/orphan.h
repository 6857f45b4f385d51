/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The decisions of orphan.c. They depend on a stream's positions and flags
 * alone, under its lock.
 */
#ifndef SMC_STREAM_ORPHAN_H
#define SMC_STREAM_ORPHAN_H

#include "tx.h"

/* The events that an orphan waits for. */
enum smc_orphan_wait {
	SMC_ORPHAN_READING,	/* the peer consumes some of the bytes */
	SMC_ORPHAN_END,		/* the peer has consumed all, and sends its final flags */
	SMC_ORPHAN_ANSWER,	/* the peer's kernel answers SMC_CONN_ABORT */
};

/* Return the event that an orphan waits for now. */
static inline enum smc_orphan_wait smc_orphan_waits_for(const struct smc_stream_tx *tx)
{
	if (tx->end_flags & SMC_CONN_ABORT)
		return SMC_ORPHAN_ANSWER;
	if ((tx->conn_flags & SMC_CONN_FINAL) && tx->acked == tx->sent)
		return SMC_ORPHAN_END;
	return SMC_ORPHAN_READING;
}

/**
 * smc_orphan_progress() - compute a value that changes when the peer's time limit restarts
 * @tx: send positions of the stream
 * @is_over: the stream is over, and no longer waits
 *
 * The value never decreases.
 */
static inline u64 smc_orphan_progress(const struct smc_stream_tx *tx, bool is_over)
{
	if (is_over)
		return ~0ULL;
	if (tx->end_flags & SMC_CONN_ABORT)
		return ~0ULL - 1;
	/* Publishing the final flags changes the value even if all bytes were consumed before. */
	return 2 * tx->acked + !!(tx->conn_flags & SMC_CONN_FINAL);
}

#endif
