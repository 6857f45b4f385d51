/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The positions of what a stream sends. At any time
 *
 *	acked <= sent <= written, sent <= acked + peer_size, written <= reusable + size
 *
 * and arrived and reusable are no further than sent. The application moves written, under the
 * socket lock; the others move under the stream's lock. Whoever has neither may see one of two
 * positions as it was before the other: what is between them is then no less than nothing, and no
 * more than the ring holds.
 */
#ifndef SMC_STREAM_TX_H
#define SMC_STREAM_TX_H

#include "platform.h"
#include "wire/cursor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct smc_stream_tx {
	u8 *ring;		/* copied into at offset */
	u32 size;		/* of the ring; divides peer_size */
	u32 peer_size;		/* of the peer's element */
	u64 written;		/* end of what the application wrote */
	u64 sent;		/* end of what was published */
	u64 arrived;		/* end of what nothing more will be told of, see enum smc_publish */
	u64 acked;		/* end of what the peer consumed */
	u64 reusable;		/* end of what may be overwritten in the ring */
	u64 urgent;		/* end of an urgent byte not yet published, or 0 */
	u32 offset;		/* of written, in the ring */
	struct smc_cursor sent_cursor;	/* of sent, in the peer's element */
	struct smc_cursor acked_cursor;	/* of acked, likewise */
	unsigned int in_flight;	/* publishes that the path has not completed */
	unsigned int ends_in;	/* of those, up to the last one that said something of the end */
	bool nodelay;		/* TCP_NODELAY, as the last write found it */
	u8 prod_flags;		/* for the next publish */
	u8 conn_flags;		/* published so far */
	u8 final_flags;		/* to be published with the last byte */
	bool control;		/* flags or a cursor wait to be published */
	bool waiting;		/* somebody waits for room in the ring */
	bool blocked;		/* of those, a send() that has bytes left */
	bool any_room;		/* and has waited for long enough to be told of a little */
};

/**
 * smc_tx_free() - free bytes in the ring
 * @tx: of the stream
 *
 * Context: any. Under the socket lock, or the stream's, no more than there are.
 */
static inline u32 smc_tx_free(const struct smc_stream_tx *tx)
{
	/* Loaded first: it is no more than the ring ahead of what reusable is later. */
	u64 written = smp_load_acquire(&tx->written);
	/* Pairs with the release in smc_tx_reuse(): the bytes may be overwritten. */
	u64 reusable = smp_load_acquire(&tx->reusable);

	/* Another thread may have written meanwhile, and the peer read it. */
	return written > reusable ? tx->size - (u32)(written - reusable) : tx->size;
}

/* Up to @end, the peer has consumed the ring's bytes, or the path holds them no more. */
static inline void smc_tx_reuse(struct smc_stream_tx *tx, u64 end)
{
	if (end > tx->reusable)
		/* Pairs with the acquire in smc_tx_free(). */
		smp_store_release(&tx->reusable, end);
}

/* The peer's window, if everything up to @end is sent, is less than a third of its element. */
static inline bool smc_tx_window_is_low(const struct smc_stream_tx *tx, u64 end)
{
	return tx->peer_size - (u32)(end - tx->acked) < tx->peer_size / 3;
}

/* From one position to another that is never behind it, whoever moves them meanwhile. */
static inline u64 smc_tx_distance(const u64 *from, const u64 *to)
{
	/* Loaded first, it is not ahead of the other. */
	u64 begin = smp_load_acquire(from);

	/* Pairs with what releases the bytes up to there. */
	return smp_load_acquire(to) - begin;
}

/* Bytes written that are not yet published. */
static inline u64 smc_tx_unsent(const struct smc_stream_tx *tx)
{
	return smc_tx_distance(&tx->sent, &tx->written);
}

/* Bytes written that the path has not taken over yet. */
static inline u64 smc_tx_undelivered(const struct smc_stream_tx *tx)
{
	return smc_tx_distance(&tx->arrived, &tx->written);
}

#ifdef __cplusplus
}
#endif
#endif
