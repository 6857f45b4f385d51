// SPDX-License-Identifier: GPL-2.0
/* The cursor of any position; moving one on, which every message does, is in cursor.h. */
#include "cursor.h"

struct smc_cursor smc_cursor_from_position(u64 pos, u32 size)
{
	struct smc_cursor cur;

	cur.wrap = (u16)div_u64_rem(pos, size, &cur.offset);
	return cur;
}
