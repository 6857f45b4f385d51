/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The positions of what a stream receives, and where its reader stands.
 *
 * At any time
 *
 *	reported <= consumed <= received <= reported + size
 *
 * and a reader's own position, which is ahead of consumed while it copies or peeks, is no further
 * than received. Nothing is copied unless smc_place_holds() says so of a snapshot, and consumed
 * does not move unless smc_rx_may_consume() does.
 *
 * Only the reader moves consumed, under the socket lock. The peer moves received. An urgent byte
 * that the reader stands at and that a later one replaces is to be stepped over: all that the
 * peer's publish does about it is to record that in urgent_skip, which moves on only, and never
 * beyond received.
 *
 * A decision goes by one snapshot of all of them, by smc_rx_look(): positions that were loaded at
 * different moments need not be in this order.
 */
#ifndef SMC_STREAM_RX_H
#define SMC_STREAM_RX_H

#include "platform.h"
#include "wire/cursor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct smc_stream_rx {
	u8 *ring;
	u32 size;
	u64 received;		/* end of what the peer published */
	u64 consumed;		/* end of what the application read */
	u64 reported;		/* what the peer was last told of consumed */
	u32 offset;		/* of consumed, in the ring */
	struct smc_cursor received_cursor;	/* of received */
	struct smc_cursor reported_cursor;	/* of reported */
	u64 asked;		/* bytes not reported when the peer last wanted window */
	u64 urgent;		/* end of the last urgent byte, or 0 */
	u64 urgent_skip;	/* end of those before it that the reader is to step over, or 0 */
	u8 urgent_byte;
	bool urgent_unread;
	u8 prod_flags;		/* the peer's, as last received */
	u8 conn_flags;
};

/**
 * struct smc_place - a snapshot of a stream for a reader
 * @reported: what the peer was told of @consumed
 * @consumed: end of what the application read
 * @start: where the reader stands: @consumed, or behind urgent bytes that follow there and that
 *	a later one replaced
 * @received: end of what the peer published
 * @urgent: end of the last urgent byte, or 0; beyond @received it is not there yet
 * @size: bytes in the ring
 * @is_inline: the application reads urgent bytes in line (SO_OOBINLINE)
 */
struct smc_place {
	u64 reported;
	u64 consumed;
	u64 start;
	u64 received;
	u64 urgent;
	u32 size;
	bool is_inline;
};

/**
 * smc_rx_look() - take a snapshot
 * @rx: what the peer may be moving
 * @is_inline: whether urgent bytes are read in line
 *
 * Context: any. Without the socket lock, another reader may move consumed on meanwhile, so that
 * more than the ring holds is behind it.
 * Return: the snapshot, in which @consumed <= @start <= @received.
 */
static inline struct smc_place smc_rx_look(const struct smc_stream_rx *rx, bool is_inline)
{
	struct smc_place at = { .size = rx->size, .is_inline = is_inline };
	u64 skip;

	/* Before received, which is then not behind it. */
	at.consumed = smp_load_acquire(&rx->consumed);
	do {
		/* Likewise. */
		skip = smp_load_acquire(&rx->urgent_skip);
		/* Pairs with smc_rx_arrive(): the bytes are there. */
		at.received = smp_load_acquire(&rx->received);
		/* After the bytes, so that the mark among them is seen. */
		at.urgent = smp_load_acquire(&rx->urgent);
		/* A mark that replaced another is not seen without what is to be skipped for it. */
	} while (skip != READ_ONCE(rx->urgent_skip));
	/* After received, which reaches no further ahead of it then. */
	at.reported = READ_ONCE(rx->reported);
	at.start = skip > at.consumed ? skip : at.consumed;
	return at;
}

/**
 * smc_place_holds() - whether @len bytes at @pos are the reader's to copy
 * @at: snapshot taken under the socket lock
 * @pos: position of the reader
 * @len: bytes
 */
static inline bool smc_place_holds(const struct smc_place *at, u64 pos, u64 len)
{
	return at->reported <= at->consumed && at->consumed <= pos && pos <= at->received &&
	       len <= at->received - pos && at->received - at->reported <= at->size;
}

/**
 * smc_rx_may_consume() - whether a reader may have read up to @pos
 * @rx: of the stream
 * @pos: position of the reader
 *
 * Context: under the socket lock, as only a reader moves consumed.
 */
static inline bool smc_rx_may_consume(const struct smc_stream_rx *rx, u64 pos)
{
	u64 passed = pos - rx->consumed;

	/* Pairs with smc_rx_arrive(): the bytes are there. */
	return passed <= smp_load_acquire(&rx->received) - rx->consumed && passed <= rx->size;
}

/* Bytes that a reader would find. */
static inline u64 smc_place_readable(const struct smc_place *at)
{
	return at->received - at->start;
}

/* Nothing more can arrive before something is read. */
static inline bool smc_place_is_full(const struct smc_place *at)
{
	return at->received - at->consumed == at->size;
}

/* The urgent byte is there and next at @pos: a read stops before it. */
static inline bool smc_place_is_mark(const struct smc_place *at, u64 pos)
{
	return at->urgent == pos + 1 && at->urgent <= at->received;
}

/* The same where the reader stands. */
static inline bool smc_place_at_mark(const struct smc_place *at)
{
	return smc_place_is_mark(at, at->start);
}

/* Bytes that splice() would find: up to the urgent one, in line or not. */
static inline u64 smc_place_spliceable(const struct smc_place *at)
{
	if (at->urgent > at->start && at->urgent <= at->received)
		return at->urgent - 1 - at->start;
	return smc_place_readable(at);
}

/**
 * smc_place_queued() - bytes that one read would give: up to the urgent one
 * @at: snapshot
 */
static inline u64 smc_place_queued(const struct smc_place *at)
{
	return at->is_inline ? smc_place_readable(at) : smc_place_spliceable(at);
}

/**
 * smc_place_step() - what a reader copies next
 * @at: snapshot
 * @pos: where the reader wants to go on; moved on over what is to be skipped and, if @is_first,
 *	over an urgent byte that is read out of line
 * @is_first: the read has nothing yet; a read that has bytes stops before an urgent one (tcp(7))
 *
 * Return: bytes at *@pos, up to what arrived or to the next urgent byte.
 */
static inline u64 smc_place_step(const struct smc_place *at, u64 *pos, bool is_first)
{
	u64 end = at->received;

	if (*pos < at->start)
		*pos = at->start;
	/* A peek may want to begin behind all that is there. */
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
 * smc_place_piece() - the bytes that a read copies next
 * @at: snapshot
 * @pos: where the reader wants to go on; see smc_place_step()
 * @done: bytes that the read has
 * @len: bytes that it wants
 *
 * Return: bytes at *@pos; 0 if the read has to wait, or smc_place_ends_read().
 */
static inline u64 smc_place_piece(const struct smc_place *at, u64 *pos, u64 done, u64 len)
{
	u64 piece = smc_place_step(at, pos, !done);

	return piece < len - done ? piece : len - done;
}

/**
 * smc_place_ends_read() - whether a read that finds no more does not wait for more
 * @at: snapshot
 * @pos: where the reader stands
 * @done: bytes that the read has
 * @target: bytes that it waits for, at least one
 * @is_peek: the bytes stay where they are, so that nothing can take their place
 */
static inline bool smc_place_ends_read(const struct smc_place *at, u64 pos, u64 done, u64 target,
				       bool is_peek)
{
	if (done >= target)
		return true;
	return done && (smc_place_is_mark(at, pos) || (is_peek && smc_place_is_full(at)));
}

/**
 * smc_place_skips() - whether the next urgent byte makes the reader step over the last one
 * @at: snapshot
 *
 * TCP, too, steps over the urgent byte that its reader has stopped at when the next one comes. The
 * window that it takes is the reader's to give back: a reader that never looks gets to see one at
 * last.
 */
static inline bool smc_place_skips(const struct smc_place *at)
{
	return smc_place_at_mark(at) && !at->is_inline &&
	       at->urgent - at->consumed < at->size / 2;
}

/* Keep the last of @arrived bytes, which end at @prod, as urgent before it can be overwritten. */
static inline void smc_rx_mark(struct smc_stream_rx *rx, struct smc_cursor prod, u32 arrived,
			       bool is_inline)
{
	struct smc_place at;

	rx->urgent_byte = READ_ONCE(rx->ring[(prod.offset ? prod.offset : rx->size) - 1]);
	WRITE_ONCE(rx->urgent_unread, true);
	at = smc_rx_look(rx, is_inline);
	if (smc_place_skips(&at))
		/* Pairs with smc_rx_look(): no further than what is received. */
		smp_store_release(&rx->urgent_skip, at.urgent);
	/* Pairs with smc_rx_look(), which sees with it what is to be skipped for it. */
	smp_store_release(&rx->urgent, rx->received + arrived);
}

/**
 * smc_rx_arrive() - the peer published bytes, which are in the ring
 * @rx: of the stream, whose lock is held: nothing else arrives meanwhile
 * @prod: the peer's cursor
 * @arrived: bytes that it moved on by, as smc_cursor_distance() says
 * @is_urgent: the last of them is urgent
 * @is_inline: urgent bytes are read in line
 */
static inline void smc_rx_arrive(struct smc_stream_rx *rx, struct smc_cursor prod, u32 arrived,
				 bool is_urgent, bool is_inline)
{
	if (unlikely(is_urgent && arrived))
		smc_rx_mark(rx, prod, arrived, is_inline);
	rx->received_cursor = prod;
	/* Pairs with smc_rx_look(), which sees the bytes and their mark with it. */
	smp_store_release(&rx->received, rx->received + arrived);
}

#ifdef __cplusplus
}
#endif
#endif
