// SPDX-License-Identifier: GPL-2.0
/* Compute the cursor of any position. cursor.h has the functions that advance a cursor. */
#include "cursor.h"

struct smc_cursor smc_cursor_from_position(u64 pos, u32 size)
{
	struct smc_cursor cur;

	cur.wrap = (u16)div_u64_rem(pos, size, &cur.offset);
	return cur;
}
