// SPDX-License-Identifier: GPL-2.0
/* The frame of every CLC message: header, length, eye catchers. */
#include "bytes.h"
#include "clc_frame.h"

#define EYE_CATCHER_R	0xe2d4c3d9u
#define EYE_CATCHER_D	0xe2d4c3c4u

enum {
	HDR_EYE_CATCHER	= 0,
	HDR_TYPE	= 4,
	HDR_LENGTH	= 5,
	HDR_FLAGS	= 7,	/* version in the high nibble */
};

bool smc_clc_may_begin(const u8 *buf, size_t len)
{
	static const u8 begin[] = { 0xe2, 0xd4, 0xc3 };	/* of both eye catchers */

	return !memcmp(buf, begin, len < sizeof(begin) ? len : sizeof(begin));
}

static bool is_agreement(const struct smc_clc_header *hdr)
{
	return hdr->type == SMC_CLC_ACCEPT || hdr->type == SMC_CLC_CONFIRM;
}

static bool is_agreement_d(const struct smc_clc_header *hdr)
{
	return is_agreement(hdr) && (hdr->flags & SMC_CLC_FLAG_PATH) == SMC_OFFER_D;
}

static u32 eye_catcher(const struct smc_clc_header *hdr)
{
	return is_agreement_d(hdr) ? EYE_CATCHER_D : EYE_CATCHER_R;
}

static u32 min_length(const struct smc_clc_header *hdr)
{
	if (hdr->type == SMC_CLC_PROPOSAL)
		return SMC_CLC_PROPOSAL_MIN_LEN;
	if (hdr->type == SMC_CLC_DECLINE)
		return SMC_CLC_DECLINE_LEN;
	if (is_agreement_d(hdr))
		return hdr->version == SMC_VERSION_1 ? SMC_CLC_AGREEMENT_D_LEN :
						       SMC_CLC_AGREEMENT_D_V2_LEN;
	return hdr->version == SMC_VERSION_1 ? SMC_CLC_AGREEMENT_R_LEN :
					       SMC_CLC_AGREEMENT_R_V2_LEN;
}

/*
 * Whether an ACCEPT or CONFIRM names a path and a version that this end knows. A
 * PROPOSAL or DECLINE needs no such check: its version may be any later one.
 */
static bool is_agreeable(const struct smc_clc_header *hdr)
{
	u8 path = hdr->flags & SMC_CLC_FLAG_PATH;

	return (path == SMC_OFFER_R || path == SMC_OFFER_D) && hdr->version <= SMC_VERSION_2;
}

/*
 * Whether the message's length is possible. Later versions may extend messages.
 * In version 1 only a PROPOSAL has lists of variable length.
 */
static bool is_length_possible(const struct smc_clc_header *hdr)
{
	u32 min = min_length(hdr);

	if (hdr->version == SMC_VERSION_1 && hdr->type != SMC_CLC_PROPOSAL)
		return hdr->length == min;
	return hdr->length >= min && hdr->length <= SMC_CLC_MAX_LEN;
}

int smc_clc_parse_header(const u8 *buf, struct smc_clc_header *hdr)
{
	u8 type = buf[HDR_TYPE];

	if (type < SMC_CLC_PROPOSAL || type > SMC_CLC_DECLINE)
		return -EPROTO;

	hdr->type = (enum smc_clc_type)type;
	hdr->length = get_be16(buf + HDR_LENGTH);
	hdr->version = buf[HDR_FLAGS] >> 4;
	hdr->flags = buf[HDR_FLAGS] & 0x0f;

	if (hdr->version < SMC_VERSION_1 || (is_agreement(hdr) && !is_agreeable(hdr)))
		return -EPROTO;
	if (get_be32(buf + HDR_EYE_CATCHER) != eye_catcher(hdr) || !is_length_possible(hdr))
		return -EPROTO;
	return 0;
}

enum smc_clc_offer smc_clc_agreed_path(const struct smc_clc_header *hdr)
{
	if (!is_agreement(hdr))
		return SMC_OFFER_NONE;
	return is_agreement_d(hdr) ? SMC_OFFER_D : SMC_OFFER_R;
}

int smc_clc_open(const u8 *buf, size_t len, struct smc_clc_header *hdr, u32 *end)
{
	if (len < SMC_CLC_HEADER_LEN || smc_clc_parse_header(buf, hdr) || hdr->length != len)
		return -EPROTO;

	*end = hdr->length - SMC_CLC_TRAILER_LEN;
	if (get_be32(buf + *end) != eye_catcher(hdr))
		return -EPROTO;
	return 0;
}

size_t smc_clc_close(u8 *buf, u32 end, const struct smc_clc_header *hdr)
{
	u32 len = end + SMC_CLC_TRAILER_LEN;

	put_be32(buf + HDR_EYE_CATCHER, eye_catcher(hdr));
	buf[HDR_TYPE] = (u8)hdr->type;
	put_be16(buf + HDR_LENGTH, (u16)len);
	buf[HDR_FLAGS] = (u8)(hdr->version << 4 | hdr->flags);
	put_be32(buf + end, eye_catcher(hdr));
	return len;
}
