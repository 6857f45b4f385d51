/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The positions of a stream's send side. At any time
 *
 *	acked <= sent <= written, sent <= acked + peer_size, written <= reusable + size
 *
 * holds, and delivered and reusable are no further than sent. The application
 * moves written, under the socket lock; the other positions move under the
 * stream's lock. Code that holds neither lock may load one position earlier
 * than another. The functions below order their loads so that no distance is
 * negative, and the ring never has more room than its size.
 */
#ifndef SMC_STREAM_TX_H
#define SMC_STREAM_TX_H

#include "platform.h"
#include "wire/cdc.h"
#include "wire/cursor.h"
#include "wire/size_class.h"

/* The final flags: an end that has sent one of them sends no more bytes. */
#define SMC_CONN_FINAL	(SMC_CONN_CLOSED | SMC_CONN_ABORT)

#define SMC_PROD_URGENT	(SMC_PROD_URGENT_PENDING | SMC_PROD_URGENT_PRESENT)
/*
 * A writer's request for window. This end sets both flags, or, if an orphan asks,
 * only UPDATE_REQUESTED (smc_publish_prod_flags()). A peer may set either one.
 */
#define SMC_PROD_WANT_WINDOW	(SMC_PROD_WRITE_BLOCKED | SMC_PROD_UPDATE_REQUESTED)

/*
 * Whether a writer, in send() or poll(), has asked to be woken when there is room in the ring. The
 * writer is woken when there is enough room, or when there is little room and the hold timer
 * expires.
 */
enum smc_writer {
	SMC_WRITER_NONE,	/* no writer waits: none asked, or enough room woke the last one */
	SMC_WRITER_ANY_ROOM,	/* the hold timer woke the last writer: any room is enough now */
	SMC_WRITER_WAITS,	/* a poller waits, or a send() asked but found room at once */
	SMC_WRITER_BLOCKED,	/* a send() that has bytes left waits */
};

/* The news that the next publish must have for the peer besides new bytes. */
enum smc_tx_update {
	SMC_UPDATE_NONE,
	SMC_UPDATE_PENDING,	/* flags or a cursor that changed */
	SMC_UPDATE_AGAIN,	/* all cursors and flags: the path has moved, and lost publishes */
};

struct smc_stream_tx {
	u8 *ring;		/* bytes are copied into it at @offset */
	u32 size;		/* bytes in the ring; divides @peer_size */
	u32 peer_size;		/* bytes in the peer's element */
	u64 written;		/* end of the bytes that the application wrote */
	u64 sent;		/* end of the published bytes */
	u32 publish_max;	/* most bytes of the next publish; the path sets it at any time */
	u64 due;		/* end of the bytes to publish as soon as the path has room */
	u64 delivered;		/* end of the bytes delivered, or published without a completion */
	u64 acked;		/* end of the bytes that the peer has consumed */
	u64 reusable;		/* end of the bytes in the ring that may be overwritten */
	u64 urgent;		/* end of an urgent byte not yet published, or 0 */
	u32 offset;		/* offset of @written in the ring */
	struct smc_cursor sent_cursor;	/* cursor last sent: of @sent, unless bytes are left out */
	struct smc_cursor acked_cursor;	/* cursor of @acked in the peer's element */
	unsigned int in_flight;	/* publishes that the path has not completed */
	unsigned int ends_in;	/* completions until the peer's host has all of @conn_flags */
	bool nodelay;		/* TCP_NODELAY at the time of the last write */
	u8 prod_flags;		/* for the next publish */
	u8 conn_flags;		/* published so far */
	u8 end_flags;		/* to be published with the last byte */
	enum smc_tx_update update;
	enum smc_writer writer;	/* written under the stream's lock; without it use READ_ONCE() */
};

/**
 * smc_tx_free() - number of free bytes in the ring
 * @tx: send positions of the stream
 *
 * Context: any. Under the socket lock, or the stream's, the result is never too large.
 */
static inline u32 smc_tx_free(const struct smc_stream_tx *tx)
{
	/* Load tx->written first, so that it is at most a ring ahead of tx->reusable. */
	u64 written = smp_load_acquire(&tx->written);
	/* Pairs with the release in smc_tx_reuse(): the bytes may be overwritten. */
	u64 reusable = smp_load_acquire(&tx->reusable);

	/*
	 * Without a lock, more bytes may have been written, sent and made reusable since @written
	 * was loaded. @reusable is then ahead of @written.
	 */
	return written > reusable ? tx->size - (u32)(written - reusable) : tx->size;
}

/*
 * Allow the ring's bytes up to @end to be overwritten: the peer has consumed
 * them, or the path is done with them.
 */
static inline void smc_tx_reuse(struct smc_stream_tx *tx, u64 end)
{
	if (end > tx->reusable)
		/* Pairs with the acquire in smc_tx_free(). */
		smp_store_release(&tx->reusable, end);
}

/**
 * smc_tx_has_room() - whether there is enough room to wake a writer
 * @tx: send positions of the stream
 *
 * As with TCP, a third of the ring is enough. But if the ring is smaller than the
 * peer's element, a third may never become free: a peer that was not asked for
 * window may report its reads only once they are a tenth of the element. So there
 * is also enough room if the bytes in use are no more than a tenth of the element.
 * By this rule alone, a hostile peer that claims a huge element could have the
 * writer woken for each byte of room. So the element counts as no larger than the
 * largest one of this module.
 */
static inline bool smc_tx_has_room(const struct smc_stream_tx *tx)
{
	const u32 largest = SMC_SIZE_CLASS_MIN_BYTES << SMC_SIZE_CLASS_R_MAX;
	u32 free = smc_tx_free(tx);
	u32 used = tx->size - free;

	return free && (free >= tx->size / 3 || READ_ONCE(tx->writer) == SMC_WRITER_ANY_ROOM ||
			(used <= tx->peer_size / 10 && used <= largest / 10));
}

/* Request that a writer is woken when there is room. Needs the stream's lock. */
static inline void smc_tx_want_room(struct smc_stream_tx *tx, bool has_bytes)
{
	const enum smc_writer writer = has_bytes ? SMC_WRITER_BLOCKED : SMC_WRITER_WAITS;

	if (tx->writer < writer)
		WRITE_ONCE(tx->writer, writer);
}

/* Whether a writer waits for room. */
static inline bool smc_tx_has_writer(const struct smc_stream_tx *tx)
{
	return READ_ONCE(tx->writer) >= SMC_WRITER_WAITS;
}

/**
 * smc_tx_write() - record that bytes were copied into the ring, to be published
 * @tx: send positions of the stream, whose socket is locked
 * @copied: number of bytes, no more than smc_tx_free()
 */
static inline void smc_tx_write(struct smc_stream_tx *tx, u32 copied)
{
	tx->offset = smc_offset_advanced(tx->offset, tx->size, copied);
	/* Pairs with the acquire in smc_publish_end(). */
	smp_store_release(&tx->written, tx->written + copied);
}

/* Request a publish even if no bytes wait. The caller holds the stream's lock. */
static inline void smc_tx_request_update(struct smc_stream_tx *tx)
{
	if (tx->update == SMC_UPDATE_NONE)
		tx->update = SMC_UPDATE_PENDING;
}

/*
 * Record bytes of which the last one is urgent. The caller holds the stream's lock in addition to
 * the socket lock: a completion may push at any time, and has to see both tx->urgent and
 * tx->written moved, or neither.
 */
static inline void smc_tx_write_urgent(struct smc_stream_tx *tx, u32 copied)
{
	tx->urgent = tx->written + copied;
	/*
	 * Tell the peer at once, even without window for the byte: the next publish
	 * has SMC_PROD_URGENT_PENDING, as TCP's window probe has the urgent pointer.
	 * (The receiving side of this module ignores the flag: unlike TCP, it reports
	 * an urgent byte only when the byte arrives.)
	 */
	smc_tx_request_update(tx);
	smc_tx_write(tx, copied);
}

/* Whether less than a third of the peer's element is window once all bytes up to @end are sent. */
static inline bool smc_tx_window_is_low(const struct smc_stream_tx *tx, u64 end)
{
	return tx->peer_size - (u32)(end - tx->acked) < tx->peer_size / 3;
}

/* Return the distance from *@from to *@to, never a negative one; other threads may move both. */
static inline u64 smc_tx_distance(const u64 *from, const u64 *to)
{
	/* Load *@from first, so that it is not ahead of *@to. */
	u64 begin = smp_load_acquire(from);

	/* Pairs with the release in smc_tx_write(). */
	return smp_load_acquire(to) - begin;
}

/* Count the written bytes that are not yet published. */
static inline u64 smc_tx_unsent(const struct smc_stream_tx *tx)
{
	return smc_tx_distance(&tx->sent, &tx->written);
}

/* Count the written bytes that the path has not delivered yet. */
static inline u64 smc_tx_undelivered(const struct smc_stream_tx *tx)
{
	return smc_tx_distance(&tx->delivered, &tx->written);
}

/**
 * smc_tx_acknowledge() - record how far the peer consumed
 * @tx: send positions of the stream, whose lock is held
 * @cons: the peer's cursor
 *
 * Return: 0, or -EPROTO if the cursor is impossible.
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
	/* Move tx->reusable first: tx->acked is never beyond it. */
	smc_tx_reuse(tx, tx->acked + freed);
	WRITE_ONCE(tx->acked, tx->acked + freed);
	/* There is enough window, so the next publish need not ask for it. */
	if (!smc_tx_window_is_low(tx, tx->sent))
		tx->prod_flags &= ~SMC_PROD_WANT_WINDOW;
	return 0;
}

/* Request that @flags follow the last byte. Needs the stream's lock; loads of the flags don't. */
static inline void smc_tx_end(struct smc_stream_tx *tx, u8 flags)
{
	WRITE_ONCE(tx->end_flags, tx->end_flags | flags);
}

/**
 * smc_tx_end_is_delivered() - whether the peer's host has received all flags by which
 * this end stops sending
 * @tx: send positions of the stream
 *
 * Context: any.
 */
static inline bool smc_tx_end_is_delivered(const struct smc_stream_tx *tx)
{
	/*
	 * Pairs with smc_tx_publish(): a thread that sees a new flag also sees, in
	 * tx->ends_in, that the flag is in flight.
	 */
	u8 said = smp_load_acquire(&tx->conn_flags);

	return said && !READ_ONCE(tx->ends_in) &&
	       ((said & SMC_CONN_ABORT) || !(READ_ONCE(tx->end_flags) & ~said));
}

/**
 * smc_tx_publish() - record that the path has accepted a publish
 * @tx: send positions of the stream, whose lock is held
 * @end: position where the publish ends
 * @cdc: message that the peer gets
 * @final: connection flags of @cdc that are sent for the first time
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
	tx->update = SMC_UPDATE_NONE;
	if (is_in_flight)
		WRITE_ONCE(tx->in_flight, tx->in_flight + 1);
	else
		WRITE_ONCE(tx->delivered, end);
	if (final)
		WRITE_ONCE(tx->ends_in, tx->in_flight);
	/*
	 * Pairs with smc_tx_end_is_delivered(): a thread that sees a new flag in
	 * tx->conn_flags also sees tx->ends_in, which says that the flag is in flight,
	 * and tx->sent, the position where the bytes end.
	 */
	smp_store_release(&tx->conn_flags, cdc->conn_flags);
}

/**
 * smc_tx_complete() - record that a publish completed: its bytes are in the peer's host
 * @tx: send positions of the stream, whose lock is held
 * @end: position where the publish ended
 *
 * A publish may come between the completion and this call: in_flight and ends_in
 * count these calls, not the completions.
 *
 * Return: true if the peer's host now has all flags by which this end stops sending.
 */
static inline bool smc_tx_complete(struct smc_stream_tx *tx, u64 end)
{
	WRITE_ONCE(tx->in_flight, tx->in_flight - 1);
	WRITE_ONCE(tx->delivered, end);
	smc_tx_reuse(tx, end);
	if (!tx->ends_in)
		return false;
	WRITE_ONCE(tx->ends_in, tx->ends_in - 1);
	return smc_tx_end_is_delivered(tx);
}

/**
 * smc_tx_restart() - forget the publishes in flight: the path has moved, and none of them completes
 * @tx: send positions of the stream, whose lock is held
 *
 * The next publish has the newest cursors and all flags. If the peer's host already has this end's
 * final flags, nothing is published again: the peer may have freed its element.
 */
static inline void smc_tx_restart(struct smc_stream_tx *tx)
{
	WRITE_ONCE(tx->in_flight, 0);
	if ((tx->conn_flags & SMC_CONN_FINAL) && !tx->ends_in)
		return;
	if (tx->ends_in)
		WRITE_ONCE(tx->ends_in, 1);
	tx->update = SMC_UPDATE_AGAIN;
}

#endif
