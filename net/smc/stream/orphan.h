/* SPDX-License-Identifier: GPL-2.0 */
/* The decisions of orphan.c, by a stream's positions and flags alone, under its lock. */
#ifndef SMC_STREAM_ORPHAN_H
#define SMC_STREAM_ORPHAN_H

#include "tx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an orphan's wait for its peer can end. */
enum smc_orphan_wait {
	SMC_ORPHAN_READING,	/* the peer consumes some of what it was sent */
	SMC_ORPHAN_END,		/* it has consumed all, and says its last word */
	SMC_ORPHAN_ANSWER,	/* its kernel answers that this end has gone */
};

/* How the present wait of an orphan can end. */
static inline enum smc_orphan_wait smc_orphan_waits_for(const struct smc_stream_tx *tx)
{
	if (tx->final_flags & SMC_CONN_ABORT)
		return SMC_ORPHAN_ANSWER;
	if ((tx->conn_flags & SMC_PEER_GONE) && tx->acked == tx->sent)
		return SMC_ORPHAN_END;
	return SMC_ORPHAN_READING;
}

/**
 * smc_orphan_progress() - a value that changes when the peer's time begins anew
 * @tx: of the stream
 * @is_over: the stream is, and waits no more
 *
 * It never becomes less.
 */
static inline u64 smc_orphan_progress(const struct smc_stream_tx *tx, bool is_over)
{
	if (is_over)
		return ~0ULL;
	if (tx->final_flags & SMC_CONN_ABORT)
		return ~0ULL - 1;
	/* The last byte's is another value before the end is said than after. */
	return 2 * tx->acked + !!(tx->conn_flags & SMC_PEER_GONE);
}

#ifdef __cplusplus
}
#endif
#endif
