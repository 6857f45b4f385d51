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
#include "wire/cdc.h"
#include "wire/cursor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Either is an end's last word. */
#define SMC_PEER_GONE	(SMC_CONN_CLOSED | SMC_CONN_ABORT)

#define SMC_PROD_URGENT	(SMC_PROD_URGENT_PENDING | SMC_PROD_URGENT_PRESENT)
/* How a writer asks for its window back. Set together; a peer may set one alone. */
#define SMC_PROD_WANT_WINDOW	(SMC_PROD_WRITE_BLOCKED | SMC_PROD_UPDATE_REQUESTED)

struct smc_stream_tx {
	u8 *ring;		/* copied into at offset */
	u32 size;		/* of the ring; divides peer_size */
	u32 held;		/* of the memory that the ring is in */
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

/**
 * smc_tx_has_room() - whether there is room that is worth waking a writer for
 * @tx: of the stream
 *
 * A third of the ring is, as with TCP. But unasked a peer tells only of more than a tenth of its
 * element; where less than that is in a ring smaller than the element, what it told may be all that
 * it ever will.
 */
static inline bool smc_tx_has_room(const struct smc_stream_tx *tx)
{
	u32 free = smc_tx_free(tx);

	return free && (free >= tx->size / 3 || READ_ONCE(tx->any_room) ||
			tx->size - free <= tx->peer_size / 10);
}

/**
 * smc_tx_write() - so much was copied into the ring, and is there to be published
 * @tx: of the stream, whose socket is locked
 * @copied: bytes, no more than smc_tx_free()
 */
static inline void smc_tx_write(struct smc_stream_tx *tx, u32 copied)
{
	tx->offset = smc_offset_advanced(tx->offset, tx->size, copied);
	/* Pairs with the acquire in smc_publish_end(). */
	smp_store_release(&tx->written, tx->written + copied);
}

/*
 * The same, its last byte urgent. Under the stream's lock, too: a completion may push at any time,
 * and sees both, or neither.
 */
static inline void smc_tx_write_urgent(struct smc_stream_tx *tx, u32 copied)
{
	tx->urgent = tx->written + copied;
	/* As with TCP, a peer without window is told that it comes, too. */
	tx->control = true;
	smc_tx_write(tx, copied);
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

/**
 * smc_tx_acknowledge() - the peer says how far it consumed
 * @tx: of the stream, whose lock is held
 * @cons: the peer's cursor
 *
 * Return: 0, or -EPROTO if it can't be there.
 */
static inline int smc_tx_acknowledge(struct smc_stream_tx *tx, struct smc_cursor cons)
{
	u32 freed;

	if (smc_cursor_distance(cons, tx->acked_cursor, tx->peer_size, (u32)(tx->sent - tx->acked),
				&freed))
		return -EPROTO;
	if (!freed)
		return 0;
	tx->acked_cursor = cons;
	tx->acked += freed;
	smc_tx_reuse(tx, tx->acked);
	/* The next publish asks for no more. */
	if (!smc_tx_window_is_low(tx, tx->sent))
		tx->prod_flags &= ~SMC_PROD_WANT_WINDOW;
	return 0;
}

/* Say @flags behind the last byte. Under the stream's lock; who looks at them may have none. */
static inline void smc_tx_end(struct smc_stream_tx *tx, u8 flags)
{
	WRITE_ONCE(tx->final_flags, tx->final_flags | flags);
}

/**
 * smc_tx_has_ended() - whether the peer's host has been told all that is to be said of the end of
 * what this end writes
 * @tx: of the stream
 *
 * Context: any.
 */
static inline bool smc_tx_has_ended(const struct smc_stream_tx *tx)
{
	/* Pairs with smc_tx_publish(): who sees the last word sees it in flight. */
	u8 said = smp_load_acquire(&tx->conn_flags);

	return said && !READ_ONCE(tx->ends_in) &&
	       ((said & SMC_CONN_ABORT) || !(READ_ONCE(tx->final_flags) & ~said));
}

/**
 * smc_tx_publish() - the path has taken over a publish
 * @tx: of the stream, whose lock is held
 * @end: where it ends
 * @cdc: what the peer is told
 * @final: of the flags in it, those that are said of the end for the first time
 * @is_in_flight: smc_tx_complete() follows
 */
static inline void smc_tx_publish(struct smc_stream_tx *tx, u64 end, const struct smc_cdc *cdc,
				  u8 final, bool is_in_flight)
{
	if (end == tx->urgent)
		tx->urgent = 0;
	WRITE_ONCE(tx->sent, end);
	tx->sent_cursor = cdc->prod;
	tx->prod_flags = cdc->prod_flags & ~SMC_PROD_URGENT;
	tx->control = false;
	if (is_in_flight)
		WRITE_ONCE(tx->in_flight, tx->in_flight + 1);
	else
		WRITE_ONCE(tx->arrived, end);
	if (final)
		WRITE_ONCE(tx->ends_in, tx->in_flight);
	/* Pairs with smc_tx_has_ended(): who sees the last word sees it in flight. */
	smp_store_release(&tx->conn_flags, cdc->conn_flags);
}

/**
 * smc_tx_complete() - a publish completed: the peer's host has it
 * @tx: of the stream, whose lock is held
 * @end: where it ended
 *
 * It counts before anything else is published, which may be the last word.
 *
 * Return: whether the end of what this end writes is complete with it.
 */
static inline bool smc_tx_complete(struct smc_stream_tx *tx, u64 end)
{
	WRITE_ONCE(tx->in_flight, tx->in_flight - 1);
	WRITE_ONCE(tx->arrived, end);
	smc_tx_reuse(tx, end);
	if (!tx->ends_in)
		return false;
	WRITE_ONCE(tx->ends_in, tx->ends_in - 1);
	return smc_tx_has_ended(tx);
}

#ifdef __cplusplus
}
#endif
#endif
