// SPDX-License-Identifier: GPL-2.0
/*
 * Decode and encode LLC messages.
 *
 * Version 1 has an 8-bit length, and then a byte whose low nibble is the reason.
 * In place of both bytes, version 2 has a 16-bit length. Some peers send the
 * 16-bit length and the 16-bit counts of version 2 in little-endian byte order,
 * so both byte orders are accepted.
 */
#include "bytes.h"
#include "llc.h"

enum {
	LLC_TYPE	= 0,	/* version 2: 2 in the high nibble */
	LLC_LENGTH	= 1,
	LLC_REASON	= 2,	/* version 1: low nibble; version 2: second byte of the length */
	LLC_FLAGS	= 3,

	CL_MAC		= 4,
	CL_GID		= 10,
	CL_QPN		= 26,
	CL_LINK		= 29,
	CL_USER_ID	= 30,
	CL_MAX_LINKS	= 34,
	CL_MAX_CONNS	= 35,

	AL_MAC		= 4,
	AL_GID		= 12,
	AL_QPN		= 28,
	AL_LINK		= 31,
	AL_MTU		= 32,	/* low nibble */
	AL_PSN		= 33,
	AL_DIRECT	= 44,	/* top bit; AL_DIRECT to AL_RKEYS: large layout only */
	AL_TARGET_GID	= 46,
	AL_COUNT	= 70,
	AL_RKEYS	= SMC_LLC_ADD_LINK_LEN(0),

	ALC_LINK	= 4,
	ALC_COUNT	= 5,
	ALC_RKEYS	= 8,

	DL_LINK		= 4,
	DL_REASON	= 5,

	RAL_COUNT	= 24,
	RAL_GIDS	= SMC_LLC_REQUEST_ADD_LINK_LEN(0),

	CR_COUNT	= 4,
	CR_TOKENS	= 4,
	CRC_TOKENS	= 5,	/* of a CONFIRM RKEY continuation */

	TL_DATA		= 4,

	DR_COUNT	= 4,
	DR_ERRORS	= 5,
	DR_RKEYS	= 8,

	/* RToken of the ADD LINK family */
	AT_RKEY		= 0,
	AT_RKEY_NEW	= 4,
	AT_ADDR		= 8,
	AT_SIZE		= 16,

	/* RToken of the CONFIRM RKEY family */
	CT_LINK		= 0,
	CT_RKEY		= 1,
	CT_ADDR		= 5,
	CT_SIZE		= 13,
};

#define LLC_V2		0x20	/* in the type byte */
#define LLC_VERSION	0xf0
#define LLC_N_TYPES	(0x0f + 1)	/* the type is the low nibble */
#define AL_DIRECT_FLAG	0x80

static bool is_between(u32 length, u32 need, size_t len)
{
	return length >= need && length <= len;
}

/*
 * Whether the length field, in either byte order, is between @need and the received @len. If so,
 * note whether this is true of little-endian order only. A later call with a larger @need replaces
 * the note, because the larger @need may rule out one of the two orders.
 */
static bool has_length(const u8 *buf, u32 need, size_t len, struct smc_llc_msg *msg)
{
	bool be = is_between(get_be16(buf + LLC_LENGTH), need, len);
	bool le = is_between((u32)buf[LLC_LENGTH + 1] << 8 | buf[LLC_LENGTH], need, len);

	if (!be && !le)
		return false;
	msg->little_endian = !be;
	return true;
}

/*
 * Set the length to SMC_LLC_LEN, for all but large messages. The field has 8 bits
 * in version 1, and 16 bits, big-endian, in version 2.
 */
static void put_length(u8 *buf)
{
	bool is_v2 = (buf[LLC_TYPE] & LLC_VERSION) == LLC_V2;

	buf[LLC_LENGTH] = is_v2 ? 0 : SMC_LLC_LEN;
	buf[LLC_LENGTH + 1] = is_v2 ? SMC_LLC_LEN : 0;
}

/* Encode a 16-bit length or count in the given byte order. */
static void put_16(u8 *p, u32 v, bool little_endian)
{
	put_be16(p, (u16)(little_endian ? v << 8 | v >> 8 : v));
}

/* Read a 16-bit count in either byte order: at most 255, so one of the bytes has to be zero. */
static int get_count(const u8 *p)
{
	return p[0] && p[1] ? -EPROTO : p[0] | p[1];
}

static struct smc_llc_rtoken get_add_token(const u8 *p)
{
	return (struct smc_llc_rtoken){
		.rkey = get_be32(p + AT_RKEY),
		.rkey_new = get_be32(p + AT_RKEY_NEW),
		.addr = get_be64(p + AT_ADDR),
	};
}

static void put_add_token(u8 *p, const struct smc_llc_rtoken *rt)
{
	put_be32(p + AT_RKEY, rt->rkey);
	put_be32(p + AT_RKEY_NEW, rt->rkey_new);
	put_be64(p + AT_ADDR, rt->addr);
}

static struct smc_llc_rtoken get_confirm_token(const u8 *p)
{
	return (struct smc_llc_rtoken){
		.link = p[CT_LINK],
		.rkey = get_be32(p + CT_RKEY),
		.addr = get_be64(p + CT_ADDR),
	};
}

static void put_confirm_token(u8 *p, const struct smc_llc_rtoken *rt)
{
	p[CT_LINK] = rt->link;
	put_be32(p + CT_RKEY, rt->rkey);
	put_be64(p + CT_ADDR, rt->addr);
}

static int get_confirm_link(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	memcpy(msg->confirm_link.mac, buf + CL_MAC, SMC_MAC_LEN);
	memcpy(msg->confirm_link.gid, buf + CL_GID, SMC_GID_LEN);
	msg->confirm_link.qpn = get_be24(buf + CL_QPN);
	msg->confirm_link.link = buf[CL_LINK];
	msg->confirm_link.user_id = get_be32(buf + CL_USER_ID);
	msg->confirm_link.max_links = buf[CL_MAX_LINKS];
	msg->confirm_link.max_conns = buf[CL_MAX_CONNS];
	return 0;
}

static void put_confirm_link(u8 *buf, const struct smc_llc_msg *msg)
{
	memcpy(buf + CL_MAC, msg->confirm_link.mac, SMC_MAC_LEN);
	memcpy(buf + CL_GID, msg->confirm_link.gid, SMC_GID_LEN);
	put_be24(buf + CL_QPN, msg->confirm_link.qpn);
	buf[CL_LINK] = msg->confirm_link.link;
	put_be32(buf + CL_USER_ID, msg->confirm_link.user_id);
	buf[CL_MAX_LINKS] = msg->confirm_link.max_links;
	buf[CL_MAX_CONNS] = msg->confirm_link.max_conns;
}

static int get_add_link_large(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	int n = get_count(buf + AL_COUNT);

	if (n < 0 || !has_length(buf, SMC_LLC_ADD_LINK_LEN(n), len, msg))
		return -EPROTO;
	msg->add_link.large = true;
	msg->add_link.direct = buf[AL_DIRECT] & AL_DIRECT_FLAG;
	memcpy(msg->add_link.target_gid, buf + AL_TARGET_GID, SMC_GID_LEN);
	msg->add_link.n_rkeys = (u8)n;
	return 0;
}

static int get_add_link(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	memcpy(msg->add_link.mac, buf + AL_MAC, SMC_MAC_LEN);
	memcpy(msg->add_link.gid, buf + AL_GID, SMC_GID_LEN);
	msg->add_link.qpn = get_be24(buf + AL_QPN);
	msg->add_link.link = buf[AL_LINK];
	msg->add_link.mtu = buf[AL_MTU] & 0x0f;
	msg->add_link.psn = get_be24(buf + AL_PSN);
	if (!msg->v2 || !has_length(buf, SMC_LLC_ADD_LINK_LEN(0), len, msg))
		return 0;
	return get_add_link_large(buf, len, msg);
}

static void put_add_link(u8 *buf, const struct smc_llc_msg *msg)
{
	memcpy(buf + AL_MAC, msg->add_link.mac, SMC_MAC_LEN);
	memcpy(buf + AL_GID, msg->add_link.gid, SMC_GID_LEN);
	put_be24(buf + AL_QPN, msg->add_link.qpn);
	buf[AL_LINK] = msg->add_link.link;
	buf[AL_MTU] = msg->add_link.mtu & 0x0f;
	put_be24(buf + AL_PSN, msg->add_link.psn);
}

static int get_add_link_cont(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	unsigned int i;

	msg->add_link_cont.link = buf[ALC_LINK];
	msg->add_link_cont.count = buf[ALC_COUNT];
	for (i = 0; i < 2; i++)
		msg->add_link_cont.rt[i] = get_add_token(buf + ALC_RKEYS + AT_SIZE * i);
	return 0;
}

static void put_add_link_cont(u8 *buf, const struct smc_llc_msg *msg)
{
	unsigned int i;

	buf[ALC_LINK] = msg->add_link_cont.link;
	buf[ALC_COUNT] = msg->add_link_cont.count;
	for (i = 0; i < 2; i++)
		put_add_token(buf + ALC_RKEYS + AT_SIZE * i, &msg->add_link_cont.rt[i]);
}

static int get_delete_link(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	msg->delete_link.link = buf[DL_LINK];
	msg->delete_link.reason = get_be32(buf + DL_REASON);
	return 0;
}

static void put_delete_link(u8 *buf, const struct smc_llc_msg *msg)
{
	buf[DL_LINK] = msg->delete_link.link;
	put_be32(buf + DL_REASON, msg->delete_link.reason);
}

static int get_request_add_link(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	if (!msg->v2)
		return -EOPNOTSUPP;
	if (!has_length(buf, SMC_LLC_REQUEST_ADD_LINK_LEN(buf[RAL_COUNT]), len, msg))
		return -EPROTO;
	msg->request_add_link.n_gids = buf[RAL_COUNT];
	if (msg->request_add_link.n_gids > SMC_LLC_ADD_LINK_GIDS)
		msg->request_add_link.n_gids = SMC_LLC_ADD_LINK_GIDS;
	memcpy(msg->request_add_link.gids, buf + RAL_GIDS,
	       SMC_GID_LEN * msg->request_add_link.n_gids);
	return 0;
}

/*
 * Return the offset of the RTokens in a CONFIRM RKEY or its continuation. In a
 * CONFIRM RKEY the count takes the place of the first RToken's link number.
 */
static unsigned int confirm_rkey_tokens(const struct smc_llc_msg *msg)
{
	return msg->type == SMC_LLC_CONFIRM_RKEY ? CR_TOKENS : CRC_TOKENS;
}

static int get_confirm_rkey(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	const u8 *token = buf + confirm_rkey_tokens(msg);
	unsigned int i;

	msg->confirm_rkey.count = buf[CR_COUNT];
	for (i = 0; i < 3; i++)
		msg->confirm_rkey.rt[i] = get_confirm_token(token + CT_SIZE * i);
	if (msg->type == SMC_LLC_CONFIRM_RKEY)
		msg->confirm_rkey.rt[0].link = 0;
	return 0;
}

static void put_confirm_rkey(u8 *buf, const struct smc_llc_msg *msg)
{
	u8 *token = buf + confirm_rkey_tokens(msg);
	unsigned int i;

	for (i = 0; i < 3; i++)
		put_confirm_token(token + CT_SIZE * i, &msg->confirm_rkey.rt[i]);
	buf[CR_COUNT] = msg->confirm_rkey.count;
}

static int get_test_link(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	memcpy(msg->test_link.data, buf + TL_DATA, sizeof(msg->test_link.data));
	return 0;
}

static void put_test_link(u8 *buf, const struct smc_llc_msg *msg)
{
	memcpy(buf + TL_DATA, msg->test_link.data, sizeof(msg->test_link.data));
}

/* Count the keys that a DELETE RKEY lists: a version 2 reply lists only the invalid ones. */
static unsigned int delete_rkey_listed(const struct smc_llc_msg *msg)
{
	if (msg->v2 && (msg->flags & SMC_LLC_REPLY))
		return msg->delete_rkey.errors;
	return msg->delete_rkey.count;
}

static int get_delete_rkey(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	unsigned int i, listed;

	msg->delete_rkey.count = buf[DR_COUNT];
	msg->delete_rkey.errors = buf[DR_ERRORS];
	listed = delete_rkey_listed(msg);
	if (msg->v2) {
		if (!has_length(buf, DR_RKEYS + 4 * listed, len, msg))
			return -EPROTO;
	} else if (listed > SMC_LLC_DELETE_RKEYS) {
		return -EPROTO;
	}

	for (i = 0; i < listed && i < SMC_LLC_DELETE_RKEYS; i++)
		msg->delete_rkey.rkey[i] = get_be32(buf + DR_RKEYS + 4 * i);
	return 0;
}

static void put_delete_rkey(u8 *buf, const struct smc_llc_msg *msg)
{
	unsigned int i, listed = delete_rkey_listed(msg);

	buf[DR_COUNT] = msg->delete_rkey.count;
	buf[DR_ERRORS] = msg->delete_rkey.errors;
	for (i = 0; i < listed; i++)
		put_be32(buf + DR_RKEYS + 4 * i, msg->delete_rkey.rkey[i]);
}

/* How the fields of each type are decoded and encoded; empty for unknown types. */
static const struct {
	int (*get)(const u8 *buf, size_t len, struct smc_llc_msg *msg);
	void (*put)(u8 *buf, const struct smc_llc_msg *msg);
} llc_types[LLC_N_TYPES] = {
	[SMC_LLC_CONFIRM_LINK]	    = { get_confirm_link, put_confirm_link },
	[SMC_LLC_ADD_LINK]	    = { get_add_link, put_add_link },
	[SMC_LLC_ADD_LINK_CONT]	    = { get_add_link_cont, put_add_link_cont },
	[SMC_LLC_DELETE_LINK]	    = { get_delete_link, put_delete_link },
	[SMC_LLC_REQUEST_ADD_LINK]  = { get_request_add_link },
	[SMC_LLC_CONFIRM_RKEY]	    = { get_confirm_rkey, put_confirm_rkey },
	[SMC_LLC_TEST_LINK]	    = { get_test_link, put_test_link },
	[SMC_LLC_CONFIRM_RKEY_CONT] = { get_confirm_rkey, put_confirm_rkey },
	[SMC_LLC_DELETE_RKEY]	    = { get_delete_rkey, put_delete_rkey },
};

static void put_head(u8 *buf, const struct smc_llc_msg *msg)
{
	buf[LLC_TYPE] = (u8)(msg->type | (msg->v2 ? LLC_V2 : 0));
	put_length(buf);
	if (!msg->v2)
		buf[LLC_REASON] = msg->reason & 0x0f;
	buf[LLC_FLAGS] = msg->flags;
}

int smc_llc_parse(const u8 *buf, size_t len, struct smc_llc_msg *msg)
{
	u8 version;

	if (len < SMC_LLC_LEN)
		return -EPROTO;
	if (len > SMC_LLC_V2_MAX_LEN)
		len = SMC_LLC_V2_MAX_LEN;

	version = buf[LLC_TYPE] & LLC_VERSION;
	if (version && version != LLC_V2)
		return -EOPNOTSUPP;

	memset(msg, 0, sizeof(*msg));
	msg->type = (enum smc_llc_type)(buf[LLC_TYPE] & ~LLC_VERSION);
	msg->v2 = version == LLC_V2;
	msg->flags = buf[LLC_FLAGS];
	if (msg->v2) {
		if (!has_length(buf, SMC_LLC_LEN, len, msg))
			return -EPROTO;
	} else {
		if (buf[LLC_LENGTH] != SMC_LLC_LEN)
			return -EPROTO;
		msg->reason = buf[LLC_REASON] & 0x0f;
	}

	return llc_types[msg->type].get ? llc_types[msg->type].get(buf, len, msg) : -EOPNOTSUPP;
}

bool smc_llc_is_answered(const struct smc_llc_msg *request, const struct smc_llc_msg *reply)
{
	switch (request->type) {
	case SMC_LLC_ADD_LINK:
		/* A refusal repeats the link number, too. */
		return reply->add_link.link == request->add_link.link;
	case SMC_LLC_ADD_LINK_CONT:
		return reply->add_link_cont.link == request->add_link_cont.link;
	case SMC_LLC_CONFIRM_RKEY:
		return reply->confirm_rkey.rt[0].rkey == request->confirm_rkey.rt[0].rkey;
	case SMC_LLC_DELETE_RKEY:
		/* A version 2 reply lists only invalid keys, so it may leave out the request's. */
		return reply->v2 || reply->delete_rkey.rkey[0] == request->delete_rkey.rkey[0];
	case SMC_LLC_TEST_LINK:
		return !memcmp(reply->test_link.data, request->test_link.data,
			       sizeof(request->test_link.data));
	default:
		return true;
	}
}

void smc_llc_build(u8 *buf, const struct smc_llc_msg *msg)
{
	memset(buf, 0, SMC_LLC_LEN);
	put_head(buf, msg);
	if (llc_types[msg->type].put)
		llc_types[msg->type].put(buf, msg);
}

u32 smc_llc_build_add_link(u8 *buf, const struct smc_llc_msg *msg)
{
	u32 len = SMC_LLC_ADD_LINK_LEN(msg->add_link.n_rkeys);

	if (!msg->v2) {
		smc_llc_build(buf, msg);
		return SMC_LLC_LEN;
	}
	memset(buf, 0, len);
	put_head(buf, msg);
	put_16(buf + LLC_LENGTH, len, msg->little_endian);
	put_add_link(buf, msg);
	buf[AL_DIRECT] = msg->add_link.direct ? AL_DIRECT_FLAG : 0;
	memcpy(buf + AL_TARGET_GID, msg->add_link.target_gid, SMC_GID_LEN);
	put_16(buf + AL_COUNT, msg->add_link.n_rkeys, msg->little_endian);
	return len;
}

void smc_llc_put_add_link_rtoken(u8 *buf, unsigned int i, const struct smc_llc_rtoken *rt)
{
	put_add_token(buf + AL_RKEYS + AT_SIZE * i, rt);
}

struct smc_llc_rtoken smc_llc_get_add_link_rtoken(const u8 *buf, unsigned int i)
{
	return get_add_token(buf + AL_RKEYS + AT_SIZE * i);
}

u32 smc_llc_build_request_add_link(u8 *buf, const u8 (*gids)[SMC_GID_LEN], u8 n,
				   bool little_endian)
{
	u32 len = SMC_LLC_REQUEST_ADD_LINK_LEN(n);

	memset(buf, 0, len);
	buf[LLC_TYPE] = SMC_LLC_REQUEST_ADD_LINK | LLC_V2;
	put_16(buf + LLC_LENGTH, len, little_endian);
	buf[RAL_COUNT] = n;
	memcpy(buf + RAL_GIDS, gids, SMC_GID_LEN * n);
	return len;
}

void smc_llc_reply(u8 *buf, u8 flags)
{
	put_length(buf);
	buf[LLC_FLAGS] |= SMC_LLC_REPLY | flags;
	if (buf[LLC_TYPE] == SMC_LLC_ADD_LINK && (flags & SMC_LLC_ADD_LINK_REJECTED))
		buf[LLC_REASON] = SMC_LLC_REJECT_NO_ALT_PATH;
	if ((buf[LLC_TYPE] & ~LLC_VERSION) == SMC_LLC_DELETE_RKEY)
		buf[DR_ERRORS] = 0;
}
