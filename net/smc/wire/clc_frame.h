/* SPDX-License-Identifier: GPL-2.0 */
/* The frame of all CLC messages: header, length, eye catchers. Private to the clc_*.c files. */
#ifndef SMC_WIRE_CLC_FRAME_H
#define SMC_WIRE_CLC_FRAME_H

#include "clc.h"

#define SMC_CLC_TRAILER_LEN	4

/* Lengths of whole messages, trailer included */
#define SMC_CLC_PROPOSAL_MIN_LEN	44
#define SMC_CLC_DECLINE_LEN		28
#define SMC_CLC_AGREEMENT_R_LEN		68
#define SMC_CLC_AGREEMENT_R_V2_LEN	108	/* without first contact extension */
#define SMC_CLC_AGREEMENT_D_LEN		48
#define SMC_CLC_AGREEMENT_D_V2_LEN	78	/* without first contact extension */

/* Longest messages that the builders write, with every list full */
#define SMC_CLC_PROPOSAL_MAX_LEN	(80 + 8 + 17 * SMC_CLC_MAX_PREFIXES6 + \
					 40 + SMC_EID_LEN * SMC_CLC_MAX_EIDS + \
					 48 + 20 * SMC_CLC_MAX_ISM + SMC_CLC_TRAILER_LEN)
#define SMC_CLC_AGREEMENT_MAX_LEN	(SMC_CLC_AGREEMENT_R_V2_LEN + 52 + 4 + \
					 SMC_GID_LEN * SMC_CLC_MAX_GIDS)

/*
 * Header flags. An ACCEPT or CONFIRM has the path and FIRST_CONTACT, a DECLINE
 * has OUT_OF_SYNC, and a PROPOSAL has its offers in place of these flags.
 */
#define SMC_CLC_FLAG_PATH		0x03
#define SMC_CLC_FLAG_FIRST_CONTACT	0x08
#define SMC_CLC_FLAG_OUT_OF_SYNC	0x08

/**
 * smc_clc_open() - check header, length and trailer of a whole message
 * @buf: the message
 * @len: number of bytes, which has to be equal to the length in the header
 * @hdr: filled on success
 * @end: set on success to the offset of the trailer; no field of the body may
 *	reach beyond it
 *
 * Return: 0 or -EPROTO.
 */
int smc_clc_open(const u8 *buf, size_t len, struct smc_clc_header *hdr, u32 *end);

/**
 * smc_clc_close() - add header and trailer to a body
 * @buf: the message, its body in place
 * @end: end of the body
 * @hdr: contents of the header; its length is not used
 *
 * Return: the length of the message.
 */
size_t smc_clc_close(u8 *buf, u32 end, const struct smc_clc_header *hdr);

/* Whether @size bytes that begin at offset @at reach no further than @end. */
static inline bool smc_clc_fits(u32 at, u32 size, u32 end)
{
	return at <= end && size <= end - at;
}

#endif
