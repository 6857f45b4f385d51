/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cursors: the wire's view of a position in a stream.
 *
 * Inside, a position is a 64-bit count of bytes since the connection began and
 * never wraps. The wire knows only the offset in the element and a 16-bit count
 * of how often it returned to zero. Who keeps the cursor beside the position moves both on
 * without a division.
 */
#ifndef SMC_WIRE_CURSOR_H
#define SMC_WIRE_CURSOR_H

#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

struct smc_cursor {
	u16 wrap;
	u32 offset;
};

/**
 * smc_cursor_from_position() - what the wire says for a position
 * @pos: bytes since the connection began
 * @size: bytes in the element, not zero; need not be a power of two
 *
 * Return: the cursor.
 */
struct smc_cursor smc_cursor_from_position(u64 pos, u32 size);

/**
 * smc_offset_advanced() - an offset in a ring that moved on
 * @offset: offset
 * @size: bytes in the ring
 * @by: bytes, no more than @size
 *
 * Return: where it is then.
 */
static inline u32 smc_offset_advanced(u32 offset, u32 size, u32 by)
{
	u32 ahead = size - offset;

	return by < ahead ? offset + by : by - ahead;
}

/**
 * smc_cursor_advanced() - the same of a cursor
 * @cur: cursor
 * @size: bytes in the element
 * @by: bytes, no more than @size
 *
 * Return: where it is then.
 */
static inline struct smc_cursor smc_cursor_advanced(struct smc_cursor cur, u32 size, u32 by)
{
	if (by >= size - cur.offset)
		cur.wrap++;
	cur.offset = smc_offset_advanced(cur.offset, size, by);
	return cur;
}

/**
 * smc_cursor_distance() - how far a peer's cursor has moved on
 * @cur: cursor as received
 * @last: where it was
 * @size: bytes in the element
 * @most: how far it may have moved: no more than @size
 * @distance: bytes, on success
 *
 * Return: 0, or -EPROTO if the cursor is malformed or can't be there: the peer is broken or
 * hostile.
 */
static inline int smc_cursor_distance(struct smc_cursor cur, struct smc_cursor last, u32 size,
				      u32 most, u32 *distance)
{
	/* So small a step holds at most one return to zero. */
	u16 wraps = cur.wrap - last.wrap;
	u64 ahead = cur.offset;

	if (wraps)
		ahead += size;
	ahead -= last.offset;
	/* A step back is a number larger than any. */
	if (cur.offset >= size || wraps > 1 || ahead > most)
		return -EPROTO;
	*distance = (u32)ahead;
	return 0;
}

#ifdef __cplusplus
}
#endif
#endif
