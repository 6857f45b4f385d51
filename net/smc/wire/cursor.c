// SPDX-License-Identifier: GPL-2.0
/* Cursor arithmetic: 64-bit positions inside, (wrap, offset) pairs on the wire. */
#include "cursor.h"

struct smc_cursor smc_cursor_from_position(u64 pos, u32 size)
{
	struct smc_cursor cur;

	cur.wrap = (u16)div_u64_rem(pos, size, &cur.offset);
	return cur;
}

int smc_cursor_to_position(struct smc_cursor cur, u32 size, u64 from, u64 to, u64 *pos)
{
	struct smc_cursor low = smc_cursor_from_position(from, size);
	u16 wraps = cur.wrap - low.wrap;
	u64 ahead;

	/* A range no longer than the element holds at most one return to zero. */
	if (cur.offset >= size || wraps > 1)
		return -EPROTO;

	ahead = (u64)wraps * size + cur.offset;
	if (ahead < low.offset || ahead - low.offset > to - from)
		return -EPROTO;

	*pos = from + (ahead - low.offset);
	return 0;
}
