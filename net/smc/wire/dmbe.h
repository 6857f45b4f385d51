/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control area at the start of an element of a DMB: the peer of an SMC-D
 * connection writes its cursors there, in host byte order. The peer writes each
 * cursor by one aligned store. The flags are in the consumer cursor's word.
 */
#ifndef SMC_WIRE_DMBE_H
#define SMC_WIRE_DMBE_H

#include "cdc.h"
#include "platform.h"

#define SMC_DMBE_CONTROL_LEN	32

/* Layout in memory. */
struct smc_dmbe_control {
	u8 type;		/* SMC_CDC_TYPE */
	u8 reserved[7];
	u64 producer;		/* word of smc_dmbe_pack() */
	u64 consumer;		/* word of smc_dmbe_pack(), with the flags */
	u64 reserved2;
};

/* One word of the control area. The fields have this order in memory on every host. */
union smc_dmbe_word {
	u64 word;
	struct {
		u64 wrap : 16;
		u64 offset : 32;
		u64 prod_flags : 8;
		u64 conn_flags : 8;
	} part;
};

/**
 * smc_dmbe_pack() - pack a cursor into one word of the control area
 * @cur: cursor
 * @prod_flags: producer flags; 0 for the producer cursor's word
 * @conn_flags: connection flags; 0 for the producer cursor's word
 *
 * Only the consumer cursor's word has flags.
 *
 * Return: the word, in host byte order.
 */
static inline u64 smc_dmbe_pack(struct smc_cursor cur, u8 prod_flags, u8 conn_flags)
{
	union smc_dmbe_word w;

	w.part.wrap = cur.wrap;
	w.part.offset = cur.offset;
	w.part.prod_flags = prod_flags;
	w.part.conn_flags = conn_flags;
	return w.word;
}

/**
 * smc_dmbe_unpack() - decode the two words of a control area
 * @producer: the producer cursor's word, loaded once
 * @consumer: the consumer cursor's word, loaded once
 * @cdc: gets the cursors and flags, which are not yet checked against the connection
 */
static inline void smc_dmbe_unpack(u64 producer, u64 consumer, struct smc_cdc *cdc)
{
	union smc_dmbe_word prod, cons;

	prod.word = producer;
	cons.word = consumer;
	cdc->prod.wrap = prod.part.wrap;
	cdc->prod.offset = prod.part.offset;
	cdc->cons.wrap = cons.part.wrap;
	cdc->cons.offset = cons.part.offset;
	cdc->prod_flags = cons.part.prod_flags;
	cdc->conn_flags = cons.part.conn_flags;
}

#endif
