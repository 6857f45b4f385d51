/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CDC messages: they move the cursors of one connection (RFC 7609 section 3.4
 * and appendix A.4).
 */
#ifndef SMC_WIRE_CDC_H
#define SMC_WIRE_CDC_H

#include "cursor.h"
#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SMC_CDC_TYPE	0xfe
#define SMC_CDC_LEN	44

enum smc_producer_flag {
	SMC_PROD_WRITE_BLOCKED		= 0x80,
	SMC_PROD_URGENT_PENDING		= 0x40,
	SMC_PROD_URGENT_PRESENT		= 0x20,
	SMC_PROD_UPDATE_REQUESTED	= 0x10,
	SMC_PROD_FAILOVER		= 0x08,
};

enum smc_conn_flag {
	SMC_CONN_DONE_WRITING		= 0x80,
	SMC_CONN_CLOSED			= 0x40,
	SMC_CONN_ABORT			= 0x20,
	SMC_CONN_FLAGS			= 0xe0,	/* all flags above; other bits are ignored */
};

struct smc_cdc {
	u16 seq;
	u32 token;
	struct smc_cursor prod;
	struct smc_cursor cons;
	u8 prod_flags;
	u8 conn_flags;
};

/**
 * smc_cdc_parse() - decode a received CDC message
 * @buf: the message
 * @len: bytes received
 * @cdc: filled on success; its cursors are not yet checked against the connection
 *
 * Return: 0 or -EPROTO.
 */
int smc_cdc_parse(const u8 *buf, size_t len, struct smc_cdc *cdc);

/**
 * smc_cdc_build() - encode a CDC message
 * @buf: SMC_CDC_LEN bytes
 * @cdc: contents of the message
 */
void smc_cdc_build(u8 *buf, const struct smc_cdc *cdc);

#ifdef __cplusplus
}
#endif
#endif
