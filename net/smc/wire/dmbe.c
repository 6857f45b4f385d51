// SPDX-License-Identifier: GPL-2.0
/* The words of a DMB element's control area, and back. */
#include "dmbe.h"

/* One word: its fields lie in memory in this order. */
union dmbe_word {
	u64 word;
	struct {
		u8 wrap[2];
		u8 offset[4];
		u8 prod_flags;
		u8 conn_flags;
	};
};

u64 smc_dmbe_pack(struct smc_cursor cur, u8 prod_flags, u8 conn_flags)
{
	union dmbe_word w;

	memcpy(w.wrap, &cur.wrap, sizeof(w.wrap));
	memcpy(w.offset, &cur.offset, sizeof(w.offset));
	w.prod_flags = prod_flags;
	w.conn_flags = conn_flags;
	return w.word;
}

static struct smc_cursor get_cursor(const union dmbe_word *w)
{
	struct smc_cursor cur;

	memcpy(&cur.wrap, w->wrap, sizeof(cur.wrap));
	memcpy(&cur.offset, w->offset, sizeof(cur.offset));
	return cur;
}

void smc_dmbe_unpack(u64 producer, u64 consumer, struct smc_cdc *cdc)
{
	const union dmbe_word prod = { .word = producer };
	const union dmbe_word cons = { .word = consumer };

	cdc->prod = get_cursor(&prod);
	cdc->cons = get_cursor(&cons);
	cdc->prod_flags = cons.prod_flags;
	cdc->conn_flags = cons.conn_flags;
}
