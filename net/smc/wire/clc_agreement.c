// SPDX-License-Identifier: GPL-2.0
/*
 * CLC ACCEPT and CONFIRM: each end tells the other end where to write. The two
 * messages have one format and differ in their type.
 */
#include "bytes.h"
#include "clc_frame.h"

/* SMC-R */
enum {
	R_PEER_ID	= 8,
	R_GID		= 16,
	R_MAC		= 32,
	R_QPN		= 38,
	R_RKEY		= 41,
	R_RMBE_INDEX	= 45,
	R_ALERT_TOKEN	= 46,
	R_SIZE_MTU	= 50,	/* size class in the high nibble, QP MTU in the low */
	R_RMB_ADDR	= 52,
	R_PSN		= 61,
	R_END		= 64,	/* of version 1 */
	R_EID		= 64,
	R_V2_END	= 104,	/* without first contact extension */
};

/* SMC-D */
enum {
	D_GID		= 8,
	D_TOKEN		= 16,
	D_DMBE_INDEX	= 24,
	D_SIZE		= 25,	/* high nibble */
	D_LINK_ID	= 28,
	D_END		= 44,	/* of version 1 */
	D_CHID		= 32,
	D_EID		= 34,
	D_GID_EXT	= 66,
	D_V2_END	= 74,	/* without first contact extension */
};

/* First contact extension */
enum {
	FC_DIRECT	= 0,	/* top bit */
	FC_OS_RELEASE	= 1,	/* OS type in the high nibble, release in the low */
	FC_HOSTNAME	= 4,
	FC_END		= 36,	/* of release 0 */
	FC_MAX_CONNS	= 36,
	FC_MAX_LINKS	= 37,
	FC_FEATURES	= 38,
	FC_VENDOR	= 40,
	FC_R1_END	= 52,

	FC_DIRECT_FLAG	= 0x80,
};

/* GID list */
enum {
	GIDS_COUNT	= 0,
	GIDS_LIST	= 4,
};

static void get_r(const u8 *buf, struct smc_clc_r *r)
{
	memcpy(r->peer_id, buf + R_PEER_ID, SMC_PEER_ID_LEN);
	memcpy(r->gid, buf + R_GID, SMC_GID_LEN);
	memcpy(r->mac, buf + R_MAC, SMC_MAC_LEN);
	r->qpn = get_be24(buf + R_QPN);
	r->rkey = get_be32(buf + R_RKEY);
	r->rmbe_index = buf[R_RMBE_INDEX];
	r->alert_token = get_be32(buf + R_ALERT_TOKEN);
	r->rmbe_size_code = buf[R_SIZE_MTU] >> 4;
	r->qp_mtu = buf[R_SIZE_MTU] & 0x0f;
	r->rmb_addr = get_be64(buf + R_RMB_ADDR);
	r->psn = get_be24(buf + R_PSN);
}

static void put_r(u8 *buf, const struct smc_clc_r *r)
{
	memcpy(buf + R_PEER_ID, r->peer_id, SMC_PEER_ID_LEN);
	memcpy(buf + R_GID, r->gid, SMC_GID_LEN);
	memcpy(buf + R_MAC, r->mac, SMC_MAC_LEN);
	put_be24(buf + R_QPN, r->qpn);
	put_be32(buf + R_RKEY, r->rkey);
	buf[R_RMBE_INDEX] = r->rmbe_index;
	put_be32(buf + R_ALERT_TOKEN, r->alert_token);
	buf[R_SIZE_MTU] = (u8)(r->rmbe_size_code << 4 | (r->qp_mtu & 0x0f));
	put_be64(buf + R_RMB_ADDR, r->rmb_addr);
	put_be24(buf + R_PSN, r->psn);
}

static void get_d(const u8 *buf, struct smc_clc_d *d)
{
	d->gid = get_be64(buf + D_GID);
	d->token = get_be64(buf + D_TOKEN);
	d->dmbe_index = buf[D_DMBE_INDEX];
	d->dmbe_size_code = buf[D_SIZE] >> 4;
	d->link_id = get_be32(buf + D_LINK_ID);
}

static void get_d_v2(const u8 *buf, struct smc_clc_d *d)
{
	d->chid = get_be16(buf + D_CHID);
	d->gid_ext = get_be64(buf + D_GID_EXT);
}

static void put_d(u8 *buf, const struct smc_clc_d *d)
{
	put_be64(buf + D_GID, d->gid);
	put_be64(buf + D_TOKEN, d->token);
	buf[D_DMBE_INDEX] = d->dmbe_index;
	buf[D_SIZE] = (u8)(d->dmbe_size_code << 4);
	put_be32(buf + D_LINK_ID, d->link_id);
}

static void put_d_v2(u8 *buf, const struct smc_clc_d *d)
{
	put_be16(buf + D_CHID, d->chid);
	put_be64(buf + D_GID_EXT, d->gid_ext);
}

/* Decode the extension at @at. Return: its end, or 0 if the message is too short for it. */
static u32 get_first_contact(const u8 *buf, u32 at, u32 end, struct smc_clc_first_contact *fc)
{
	const u8 *p;

	if (!smc_clc_fits(at, FC_END, end))
		return 0;
	p = buf + at;
	fc->direct = p[FC_DIRECT] & FC_DIRECT_FLAG;
	fc->os_type = p[FC_OS_RELEASE] >> 4;
	fc->release = p[FC_OS_RELEASE] & 0x0f;
	memcpy(fc->hostname, p + FC_HOSTNAME, SMC_HOSTNAME_LEN);
	if (!fc->release)
		return at + FC_END;

	if (!smc_clc_fits(at, FC_R1_END, end))
		return 0;
	fc->max_conns = p[FC_MAX_CONNS];
	fc->max_links = p[FC_MAX_LINKS];
	fc->features = get_be16(p + FC_FEATURES);
	memcpy(fc->vendor, p + FC_VENDOR, sizeof(fc->vendor));
	return at + FC_R1_END;
}

/* Encode the extension at @at. Return: its end. */
static u32 put_first_contact(u8 *buf, u32 at, const struct smc_clc_first_contact *fc)
{
	u8 *p = buf + at;

	p[FC_DIRECT] = fc->direct ? FC_DIRECT_FLAG : 0;
	p[FC_OS_RELEASE] = (u8)(fc->os_type << 4 | (fc->release & 0x0f));
	memcpy(p + FC_HOSTNAME, fc->hostname, SMC_HOSTNAME_LEN);
	if (!fc->release)
		return at + FC_END;

	p[FC_MAX_CONNS] = fc->max_conns;
	p[FC_MAX_LINKS] = fc->max_links;
	put_be16(p + FC_FEATURES, fc->features);
	memcpy(p + FC_VENDOR, fc->vendor, sizeof(fc->vendor));
	return at + FC_R1_END;
}

static int get_gids(const u8 *buf, u32 at, u32 end, struct smc_clc_agreement *a)
{
	const u8 *p;

	if (!smc_clc_fits(at, GIDS_LIST, end))
		return -EPROTO;
	p = buf + at;
	a->n_gids = p[GIDS_COUNT];
	if (a->n_gids > SMC_CLC_MAX_GIDS ||
	    !smc_clc_fits(at, GIDS_LIST + SMC_GID_LEN * a->n_gids, end))
		return -EPROTO;
	memcpy(a->gids, p + GIDS_LIST, SMC_GID_LEN * a->n_gids);
	return 0;
}

static u32 put_gids(u8 *buf, u32 at, const struct smc_clc_agreement *a)
{
	buf[at + GIDS_COUNT] = a->n_gids;
	memcpy(buf + at + GIDS_LIST, a->gids, SMC_GID_LEN * a->n_gids);
	return at + GIDS_LIST + SMC_GID_LEN * a->n_gids;
}

/* Whether GIDs for a second link follow at first contact: only the client lists them, for SMC-R. */
static bool has_gids(const struct smc_clc_agreement *a)
{
	return a->type == SMC_CLC_CONFIRM && !a->is_d;
}

int smc_clc_parse_agreement(const u8 *buf, size_t len, struct smc_clc_agreement *a)
{
	struct smc_clc_header hdr;
	u32 end, at;

	if (smc_clc_open(buf, len, &hdr, &end) ||
	    (hdr.type != SMC_CLC_ACCEPT && hdr.type != SMC_CLC_CONFIRM))
		return -EPROTO;

	memset(a, 0, sizeof(*a));
	a->type = hdr.type;
	a->version = hdr.version;
	a->is_d = (hdr.flags & SMC_CLC_FLAG_PATH) == SMC_OFFER_D;
	a->first_contact = hdr.flags & SMC_CLC_FLAG_FIRST_CONTACT;
	if (a->is_d)
		get_d(buf, &a->d);
	else
		get_r(buf, &a->r);
	if (a->version == SMC_VERSION_1)
		return 0;

	memcpy(a->eid, buf + (a->is_d ? D_EID : R_EID), SMC_EID_LEN);
	if (a->is_d)
		get_d_v2(buf, &a->d);
	if (!a->first_contact)
		return 0;

	at = get_first_contact(buf, a->is_d ? D_V2_END : R_V2_END, end, &a->fc);
	if (!at)
		return -EPROTO;
	return has_gids(a) ? get_gids(buf, at, end, a) : 0;
}

size_t smc_clc_build_agreement(u8 *buf, const struct smc_clc_agreement *a)
{
	const struct smc_clc_header hdr = {
		.type = a->type,
		.version = a->version,
		.flags = (u8)((a->is_d ? SMC_OFFER_D : SMC_OFFER_R) |
			      (a->first_contact ? SMC_CLC_FLAG_FIRST_CONTACT : 0)),
	};
	u32 at;

	memset(buf, 0, SMC_CLC_AGREEMENT_MAX_LEN);
	if (a->is_d)
		put_d(buf, &a->d);
	else
		put_r(buf, &a->r);
	if (a->version == SMC_VERSION_1)
		return smc_clc_close(buf, a->is_d ? D_END : R_END, &hdr);

	memcpy(buf + (a->is_d ? D_EID : R_EID), a->eid, SMC_EID_LEN);
	if (a->is_d)
		put_d_v2(buf, &a->d);
	at = a->is_d ? D_V2_END : R_V2_END;
	if (a->first_contact) {
		at = put_first_contact(buf, at, &a->fc);
		if (has_gids(a))
			at = put_gids(buf, at, a);
	}
	return smc_clc_close(buf, at, &hdr);
}
