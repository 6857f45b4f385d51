// SPDX-License-Identifier: GPL-2.0
/* Decode and encode CDC messages. */
#include "bytes.h"
#include "cdc.h"

enum {
	CDC_TYPE	= 0,
	CDC_LENGTH	= 1,
	CDC_SEQ		= 2,
	CDC_TOKEN	= 4,
	CDC_PROD	= 8,
	CDC_CONS	= 16,
	CDC_PROD_FLAGS	= 24,
	CDC_CONN_FLAGS	= 25,

	/* within a cursor */
	CURSOR_WRAP	= 2,
	CURSOR_OFFSET	= 4,
};

static struct smc_cursor get_cursor(const u8 *p)
{
	return (struct smc_cursor){
		.wrap = get_be16(p + CURSOR_WRAP),
		.offset = get_be32(p + CURSOR_OFFSET),
	};
}

static void put_cursor(u8 *p, struct smc_cursor cur)
{
	put_be16(p + CURSOR_WRAP, cur.wrap);
	put_be32(p + CURSOR_OFFSET, cur.offset);
}

int smc_cdc_parse(const u8 *buf, size_t len, struct smc_cdc *cdc)
{
	if (len < SMC_CDC_LEN || buf[CDC_TYPE] != SMC_CDC_TYPE ||
	    buf[CDC_LENGTH] != SMC_CDC_LEN)
		return -EPROTO;

	cdc->seq = get_be16(buf + CDC_SEQ);
	cdc->token = get_be32(buf + CDC_TOKEN);
	cdc->prod = get_cursor(buf + CDC_PROD);
	cdc->cons = get_cursor(buf + CDC_CONS);
	cdc->prod_flags = buf[CDC_PROD_FLAGS];
	cdc->conn_flags = buf[CDC_CONN_FLAGS];
	return 0;
}

void smc_cdc_build(u8 *buf, const struct smc_cdc *cdc)
{
	memset(buf, 0, SMC_CDC_LEN);
	buf[CDC_TYPE] = SMC_CDC_TYPE;
	buf[CDC_LENGTH] = SMC_CDC_LEN;
	put_be16(buf + CDC_SEQ, cdc->seq);
	put_be32(buf + CDC_TOKEN, cdc->token);
	put_cursor(buf + CDC_PROD, cdc->prod);
	put_cursor(buf + CDC_CONS, cdc->cons);
	buf[CDC_PROD_FLAGS] = cdc->prod_flags;
	buf[CDC_CONN_FLAGS] = cdc->conn_flags;
}
