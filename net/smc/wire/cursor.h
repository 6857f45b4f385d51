/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cursors: positions in a stream, as messages contain them.
 *
 * The stream counts its bytes by 64-bit positions, which begin with the
 * connection and never wrap. A cursor has only the offset in the element and a
 * 16-bit count of its wraps. A stream that keeps the cursor beside the position
 * advances both without a division.
 */
#ifndef SMC_WIRE_CURSOR_H
#define SMC_WIRE_CURSOR_H

#include "platform.h"

struct smc_cursor {
	u16 wrap;
	u32 offset;
};

/**
 * smc_cursor_from_position() - compute the cursor of a position
 * @pos: bytes since the connection began
 * @size: bytes in the element, not zero; need not be a power of two
 *
 * Return: the cursor.
 */
static inline struct smc_cursor smc_cursor_from_position(u64 pos, u32 size)
{
	struct smc_cursor cur;

	cur.wrap = (u16)div_u64_rem(pos, size, &cur.offset);
	return cur;
}

/**
 * smc_offset_advanced() - advance an offset in a ring
 * @offset: offset before, less than @size
 * @size: bytes in the ring
 * @by: number of bytes, at most @size
 *
 * Return: the new offset.
 */
static inline u32 smc_offset_advanced(u32 offset, u32 size, u32 by)
{
	u32 ahead = size - offset;

	return by < ahead ? offset + by : by - ahead;
}

/**
 * smc_cursor_advanced() - advance a cursor
 * @cur: cursor before, its offset less than @size
 * @size: bytes in the element
 * @by: number of bytes, at most @size
 *
 * Return: the new cursor.
 */
static inline struct smc_cursor smc_cursor_advanced(struct smc_cursor cur, u32 size, u32 by)
{
	if (by >= size - cur.offset)
		cur.wrap++;
	cur.offset = smc_offset_advanced(cur.offset, size, by);
	return cur;
}

/**
 * smc_cursor_distance() - compute how far a peer's cursor has advanced
 * @cur: cursor as received
 * @last: previous cursor
 * @size: bytes in the element
 * @max: limit of the distance, at most @size
 * @distance: set to the number of bytes on success
 *
 * Return: 0, or -EPROTO if the cursor is malformed or impossible: the peer is
 * broken or hostile.
 */
static inline int smc_cursor_distance(struct smc_cursor cur, struct smc_cursor last, u32 size,
				      u32 max, u32 *distance)
{
	/* A valid step wraps at most once. */
	u16 wraps = cur.wrap - last.wrap;
	u64 ahead = cur.offset;

	if (wraps)
		ahead += size;
	ahead -= last.offset;
	/* A step backwards gives a number above any limit. */
	if (cur.offset >= size || wraps > 1 || ahead > max)
		return -EPROTO;
	*distance = (u32)ahead;
	return 0;
}

#endif
