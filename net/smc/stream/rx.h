/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The positions of a stream's receive side, and of its reader.
 *
 * At any time
 *
 *	reported <= consumed <= received <= reported + size
 *
 * holds. While a reader copies or peeks, its own position is ahead of consumed,
 * but the reader copies nothing beyond received: smc_snapshot_holds() checks each
 * copy. smc_rx_may_consume() checks each move of consumed.
 *
 * Only the reader moves consumed, under the socket lock. The peer moves
 * received. If a new urgent byte arrives while the reader is at the previous
 * one, the reader has to step over the previous one. The peer's publish does not
 * move consumed, but records in urgent_skip how far to step. While a socket is
 * attached, urgent_skip never decreases. At no time is urgent_skip beyond received.
 *
 * Each decision uses one snapshot of all positions, from smc_rx_take_snapshot(),
 * because positions that are loaded at different moments need not be in the
 * order above.
 */
#ifndef SMC_STREAM_RX_H
#define SMC_STREAM_RX_H

#include "platform.h"
#include "wire/cursor.h"

struct smc_stream_rx {
	u8 *ring;
	u32 size;
	u64 received;		/* end of the bytes that the peer published */
	u64 consumed;		/* end of the bytes that the application read */
	u64 reported;		/* value of @consumed that was last sent to the peer */
	u32 offset;		/* offset of @consumed in the ring */
	struct smc_cursor received_cursor;	/* cursor of @received */
	struct smc_cursor reported_cursor;	/* cursor of @reported */
	u64 unreported_at_request;	/* @received - @reported at the peer's last request */
	u64 urgent;		/* end of the last urgent byte, or 0 */
	u64 urgent_skip;	/* end of replaced urgent bytes that the reader steps over, or 0 */
	u8 urgent_byte;
	bool urgent_unread;
	u8 prod_flags;		/* of the peer's last message */
	u8 conn_flags;		/* of all messages of the peer */
};

/**
 * struct smc_rx_snapshot - a snapshot of the receive positions for a reader
 * @reported: value of @consumed that was sent to the peer last
 * @consumed: end of the bytes that the application read
 * @start: the reader's position: @consumed, or the end of the urgent bytes that a later urgent byte
 *	replaced, whichever is further on
 * @received: end of the bytes that the peer published
 * @urgent: end of the last urgent byte, or 0; if it is beyond @received, the
 *	byte has not arrived yet
 * @size: size of the ring in bytes
 * @is_inline: the application reads urgent bytes in line (SO_OOBINLINE)
 */
struct smc_rx_snapshot {
	u64 reported;
	u64 consumed;
	u64 start;
	u64 received;
	u64 urgent;
	u32 size;
	bool is_inline;
};

/**
 * smc_rx_take_snapshot() - load all positions in an order that preserves their relations
 * @rx: positions, which the peer may be moving
 * @is_inline: urgent bytes are read in line
 *
 * Context: any. Without the socket lock another reader may move rx->consumed
 * meanwhile, so that @received may be more than a ring ahead of @consumed.
 * Return: the snapshot, in which @consumed <= @start <= @received.
 */
static inline struct smc_rx_snapshot smc_rx_take_snapshot(const struct smc_stream_rx *rx,
							  bool is_inline)
{
	struct smc_rx_snapshot at = { .size = rx->size, .is_inline = is_inline };
	u64 skip;

	/* Load rx->consumed first, so that it is not beyond rx->received. */
	at.consumed = smp_load_acquire(&rx->consumed);
	do {
		/* Load rx->urgent_skip before rx->received: the skip must not be beyond it. */
		skip = smp_load_acquire(&rx->urgent_skip);
		/* Pairs with smc_rx_arrive(): the bytes are in the ring. */
		at.received = smp_load_acquire(&rx->received);
		/* Load rx->urgent after rx->received, to see any urgent byte up to rx->received. */
		at.urgent = smp_load_acquire(&rx->urgent);
		/* Pairs with smc_rx_mark(): a new rx->urgent is seen with its rx->urgent_skip. */
	} while (skip != READ_ONCE(rx->urgent_skip));
	/* Load rx->reported last, so that rx->received is at most a ring ahead of it. */
	at.reported = READ_ONCE(rx->reported);
	at.start = skip > at.consumed ? skip : at.consumed;
	return at;
}

/**
 * smc_snapshot_holds() - whether the reader may copy @len bytes at @pos
 * @at: snapshot taken under the socket lock
 * @pos: position of the reader
 * @len: bytes
 */
static inline bool smc_snapshot_holds(const struct smc_rx_snapshot *at, u64 pos, u64 len)
{
	return at->reported <= at->consumed && at->consumed <= pos && pos <= at->received &&
	       len <= at->received - pos && at->received - at->reported <= at->size;
}

/**
 * smc_rx_may_consume() - whether the bytes up to @pos can have been read
 * @rx: receive positions of the stream
 * @pos: position of the reader
 *
 * Context: the socket lock is held, so that no other reader moves rx->consumed meanwhile.
 */
static inline bool smc_rx_may_consume(const struct smc_stream_rx *rx, u64 pos)
{
	u64 passed = pos - rx->consumed;

	/* Pairs with smc_rx_arrive(): the bytes are in the ring. */
	return passed <= smp_load_acquire(&rx->received) - rx->consumed && passed <= rx->size;
}

/* Count the bytes that a reader would find. */
static inline u64 smc_snapshot_readable(const struct smc_rx_snapshot *at)
{
	return at->received - at->start;
}

/* Whether the ring is full: nothing more can arrive before something is read. */
static inline bool smc_snapshot_is_full(const struct smc_rx_snapshot *at)
{
	return at->received - at->consumed == at->size;
}

/* Whether the byte at @pos has arrived and is urgent: a read stops before it. */
static inline bool smc_snapshot_is_mark(const struct smc_rx_snapshot *at, u64 pos)
{
	return at->urgent == pos + 1 && at->urgent <= at->received;
}

/* Whether the byte at the reader's position has arrived and is urgent. */
static inline bool smc_snapshot_at_mark(const struct smc_rx_snapshot *at)
{
	return smc_snapshot_is_mark(at, at->start);
}

/* Count the bytes that splice() would find: it stops at an urgent byte, in line or not. */
static inline u64 smc_snapshot_spliceable(const struct smc_rx_snapshot *at)
{
	if (at->urgent > at->start && at->urgent <= at->received)
		return at->urgent - 1 - at->start;
	return smc_snapshot_readable(at);
}

/**
 * smc_snapshot_queued() - count the bytes to read as TCP's SIOCINQ does
 * @at: snapshot taken for this one answer
 *
 * Unless urgent bytes are read in line, only the bytes before the urgent byte count.
 */
static inline u64 smc_snapshot_queued(const struct smc_rx_snapshot *at)
{
	return at->is_inline ? smc_snapshot_readable(at) : smc_snapshot_spliceable(at);
}

/**
 * smc_snapshot_step() - determine the bytes that a reader copies next
 * @at: snapshot taken for this step
 * @pos: position of the reader; moved over the bytes to skip and, if @is_first,
 *	over an urgent byte that is read out of line
 * @is_first: the read has copied nothing yet; once it has copied a byte, it stops
 *	before an urgent byte (tcp(7))
 *
 * Return: number of bytes at *@pos, up to the last one that arrived or to the
 * next urgent byte.
 */
static inline u64 smc_snapshot_step(const struct smc_rx_snapshot *at, u64 *pos, bool is_first)
{
	u64 end = at->received;

	if (*pos < at->start)
		*pos = at->start;
	/* The offset of a peek may be beyond all bytes that have arrived. */
	if (*pos >= end)
		return 0;
	if (unlikely(at->urgent > *pos && at->urgent <= end)) {
		if (at->urgent - 1 > *pos)
			end = at->urgent - 1;
		else if (!is_first)
			return 0;
		else if (!at->is_inline)
			++*pos;
	}
	return end - *pos;
}

/**
 * smc_snapshot_piece() - determine the bytes that a read copies next, and still wants
 * @at: snapshot taken for this piece
 * @pos: position of the reader; see smc_snapshot_step()
 * @done: bytes that the read has copied
 * @len: bytes that the read wants in all
 *
 * Return: number of bytes at *@pos; 0 if the read has to wait, or to end
 * (smc_snapshot_ends_read()).
 */
static inline u64 smc_snapshot_piece(const struct smc_rx_snapshot *at, u64 *pos, u64 done, u64 len)
{
	u64 piece = smc_snapshot_step(at, pos, !done);

	return piece < len - done ? piece : len - done;
}

/**
 * smc_snapshot_ends_read() - whether a read returns instead of waiting, after
 * smc_snapshot_piece() found no bytes for it
 * @at: snapshot in which smc_snapshot_piece() found no bytes
 * @pos: position of the reader
 * @done: bytes that the read has copied
 * @target: bytes that the read waits for, at least one
 * @is_peek: the bytes stay in the ring, so a full ring gets no more
 */
static inline bool smc_snapshot_ends_read(const struct smc_rx_snapshot *at, u64 pos, u64 done,
					  u64 target,
					  bool is_peek)
{
	if (done >= target)
		return true;
	return done && (smc_snapshot_is_mark(at, pos) || (is_peek && smc_snapshot_is_full(at)));
}

/**
 * smc_snapshot_skips() - whether a new urgent byte makes the reader step over the previous one
 * @at: snapshot taken before the new urgent byte is recorded
 *
 * As with TCP, a reader that has stopped at an urgent byte steps over it when
 * the next urgent byte arrives. But a skipped byte takes window until the reader
 * reads on. So the reader skips an urgent byte only while the bytes that were not
 * consumed, up to this one, take less than half of the ring. Otherwise the reader
 * gets the replaced urgent byte like any other byte.
 */
static inline bool smc_snapshot_skips(const struct smc_rx_snapshot *at)
{
	return smc_snapshot_at_mark(at) && !at->is_inline &&
	       at->urgent - at->consumed < at->size / 2;
}

/* Record that the last of @arrived bytes up to @prod is urgent, and copy that byte for MSG_OOB. */
static inline void smc_rx_mark(struct smc_stream_rx *rx, struct smc_cursor prod, u32 arrived,
			       bool is_inline)
{
	struct smc_rx_snapshot at;

	rx->urgent_byte = READ_ONCE(rx->ring[(prod.offset ? prod.offset : rx->size) - 1]);
	WRITE_ONCE(rx->urgent_unread, true);
	at = smc_rx_take_snapshot(rx, is_inline);
	if (smc_snapshot_skips(&at))
		/* Pairs with smc_rx_take_snapshot(): no snapshot has a skip beyond received. */
		smp_store_release(&rx->urgent_skip, at.urgent);
	/* Pairs with smc_rx_take_snapshot(): a snapshot with this rx->urgent has its skip, too. */
	smp_store_release(&rx->urgent, rx->received + arrived);
}

/**
 * smc_rx_arrive() - record that the peer published bytes, which are in the ring
 * @rx: receive positions of the stream, whose lock is held, so nothing else
 *	arrives meanwhile
 * @prod: the peer's cursor
 * @arrived: number of new bytes, from smc_cursor_distance()
 * @is_urgent: the last new byte is urgent
 * @is_inline: urgent bytes are read in line
 */
static inline void smc_rx_arrive(struct smc_stream_rx *rx, struct smc_cursor prod, u32 arrived,
				 bool is_urgent, bool is_inline)
{
	if (unlikely(is_urgent && arrived))
		smc_rx_mark(rx, prod, arrived, is_inline);
	rx->received_cursor = prod;
	/*
	 * Pairs with smc_rx_take_snapshot(): a thread that sees the new rx->received also sees the
	 * bytes and rx->urgent.
	 */
	smp_store_release(&rx->received, rx->received + arrived);
}

#endif
