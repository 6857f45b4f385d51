/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control area at the start of an element of a DMB: what the peer of an SMC-D
 * connection says of its cursors. In host byte order; the peer writes a cursor, with
 * the flags beside it, by one aligned store.
 */
#ifndef SMC_WIRE_DMBE_H
#define SMC_WIRE_DMBE_H

#include "cdc.h"
#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SMC_DMBE_CONTROL_LEN	32

/* As it lies in memory. */
struct smc_dmbe_control {
	u8 type;		/* SMC_CDC_TYPE */
	u8 reserved[7];
	u64 producer;		/* words of smc_dmbe_pack() */
	u64 consumer;		/* with the flags */
	u64 reserved2;
};

/**
 * smc_dmbe_pack() - a cursor as one word of the control area
 * @cur: cursor
 * @prod_flags: producer flags, in the consumer cursor's word only
 * @conn_flags: state flags, likewise
 *
 * Return: the word, in the byte order of the host's memory.
 */
u64 smc_dmbe_pack(struct smc_cursor cur, u8 prod_flags, u8 conn_flags);

/**
 * smc_dmbe_unpack() - what the two words of a control area say
 * @producer: the producer cursor's word, as read once
 * @consumer: the consumer cursor's word, as read once
 * @cdc: its cursors and flags are filled; not yet checked against the connection
 */
void smc_dmbe_unpack(u64 producer, u64 consumer, struct smc_cdc *cdc);

#ifdef __cplusplus
}
#endif
#endif
