// SPDX-License-Identifier: GPL-2.0
/*
 * CLC PROPOSAL: all that the client supports. Its areas are at offsets that the
 * peer chooses. So each area is checked: it must not begin within the fixed
 * fields, and must end before the trailer. The SMC-D extension must also begin
 * after the EIDs. The IP area may overlap the two extensions: the parser copies
 * fields and changes none, so an overlap does no harm.
 */
#include "bytes.h"
#include "clc_frame.h"

/* Header flags: the offer of version 1 in the low bits, that of version 2 above */
#define OFFER_MASK	0x03
#define OFFER_V2_SHIFT	2

enum {
	PROP_PEER_ID	= 8,
	PROP_GID	= 16,
	PROP_MAC	= 32,
	PROP_IP_OFFSET	= 38,
	PROP_END	= 40,	/* IP_OFFSET counts from here */

	/* SMC-D and version 2 block */
	PROP_ISM_GID		= 40,
	PROP_ISM_CHID		= 48,
	PROP_V2_OFFSET		= 50,
	PROP_V2_OFFSET_FROM	= 52,
	PROP_VENDOR_OUI		= 52,
	PROP_VENDOR_OPTIONS	= 55,
	PROP_BLOCK_END		= 80,
};

/* IP area */
enum {
	IP_PREFIX4	= 0,
	IP_PREFIX4_LEN	= 4,
	IP_COUNT6	= 7,
	IP_PREFIXES6	= 8,

	IP6_LEN		= 16,	/* within an IPv6 prefix */
	IP6_SIZE	= 17,
};

/* Version 2 extension */
enum {
	V2_EID_COUNT	= 0,
	V2_ISM_COUNT	= 1,
	V2_RELEASE	= 3,	/* high nibble; bit 0: a SEID is present */
	V2_DV2_OFFSET	= 6,
	V2_DV2_FROM	= 8,
	V2_GID		= 8,
	V2_MAX_CONNS	= 24,
	V2_MAX_LINKS	= 25,
	V2_FEATURES	= 26,
	V2_EIDS		= 40,

	V2_SEID_FLAG	= 0x01,
};

/* SMC-D version 2 extension */
enum {
	DV2_SEID	= 0,
	DV2_ENTRIES	= 48,

	ISM_CHID	= 8,	/* within an entry */
	ISM_SIZE	= 10,
};

/* Whether the SMC-D and version 2 block is present: version 1 senders without SMC-D omit it. */
static bool has_block(const struct smc_clc_proposal *p)
{
	return p->version != SMC_VERSION_1 || smc_offer_has(p->offer_v1, SMC_OFFER_D);
}

static int get_ip_area(const u8 *buf, u32 at, u32 end, struct smc_clc_proposal *p)
{
	unsigned int i;
	const u8 *ip;

	if (!smc_clc_fits(at, IP_PREFIXES6, end))
		return -EPROTO;
	ip = buf + at;
	memcpy(p->prefix4, ip + IP_PREFIX4, sizeof(p->prefix4));
	p->prefix4_len = ip[IP_PREFIX4_LEN];
	p->n_prefixes6 = ip[IP_COUNT6];
	if (p->prefix4_len > 32 || p->n_prefixes6 > SMC_CLC_MAX_PREFIXES6 ||
	    !smc_clc_fits(at, IP_PREFIXES6 + IP6_SIZE * p->n_prefixes6, end))
		return -EPROTO;

	ip += IP_PREFIXES6;
	for (i = 0; i < p->n_prefixes6; i++, ip += IP6_SIZE) {
		memcpy(p->prefixes6[i].addr, ip, sizeof(p->prefixes6[i].addr));
		p->prefixes6[i].len = ip[IP6_LEN];
		if (p->prefixes6[i].len > 128)
			return -EPROTO;
	}
	return 0;
}

/* Encode the IP area at @at. Return: its end. */
static u32 put_ip_area(u8 *buf, u32 at, const struct smc_clc_proposal *p)
{
	u8 *ip = buf + at;
	unsigned int i;

	memcpy(ip + IP_PREFIX4, p->prefix4, sizeof(p->prefix4));
	ip[IP_PREFIX4_LEN] = p->prefix4_len;
	ip[IP_COUNT6] = p->n_prefixes6;

	ip += IP_PREFIXES6;
	for (i = 0; i < p->n_prefixes6; i++, ip += IP6_SIZE) {
		memcpy(ip, p->prefixes6[i].addr, sizeof(p->prefixes6[i].addr));
		ip[IP6_LEN] = p->prefixes6[i].len;
	}
	return at + IP_PREFIXES6 + IP6_SIZE * p->n_prefixes6;
}

/* Decode @n entries. The GID of an emulated device is twice as long and takes a second entry. */
static int get_ism_entries(const u8 *entry, unsigned int n, struct smc_clc_proposal *p)
{
	const u8 *end = entry + ISM_SIZE * n;
	struct smc_clc_ism *ism;

	for (; entry < end; entry += ISM_SIZE) {
		if (p->n_ism == SMC_CLC_MAX_ISM)
			return -EPROTO;
		ism = &p->ism[p->n_ism++];
		ism->gid = get_be64(entry);
		ism->chid = get_be16(entry + ISM_CHID);
		if (!smc_chid_is_emulated(ism->chid))
			continue;

		entry += ISM_SIZE;
		if (entry == end)
			return -EPROTO;
		ism->gid_ext = get_be64(entry);
	}
	return 0;
}

static u8 *put_ism_entry(u8 *entry, u64 gid, u16 chid)
{
	put_be64(entry, gid);
	put_be16(entry + ISM_CHID, chid);
	return entry + ISM_SIZE;
}

/* Encode the devices. Return: number of entries, which is two for each emulated device. */
static u8 put_ism_entries(u8 *entry, const struct smc_clc_proposal *p)
{
	const u8 *start = entry;
	unsigned int i;

	for (i = 0; i < p->n_ism; i++) {
		entry = put_ism_entry(entry, p->ism[i].gid, p->ism[i].chid);
		if (smc_chid_is_emulated(p->ism[i].chid))
			entry = put_ism_entry(entry, p->ism[i].gid_ext, p->ism[i].chid);
	}
	return (u8)((entry - start) / ISM_SIZE);
}

/* Decode the SMC-D extension, if any. The version 2 extension at @v2 is known to be complete. */
static int get_dv2(const u8 *buf, u32 v2, u32 end, struct smc_clc_proposal *p)
{
	u32 eids_end = v2 + V2_EIDS + SMC_EID_LEN * p->n_eids;
	u32 offset = get_be16(buf + v2 + V2_DV2_OFFSET);
	u32 at = v2 + V2_DV2_FROM + offset;
	u8 n = buf[v2 + V2_ISM_COUNT];

	if (!offset)
		return 0;
	if (at < eids_end || !smc_clc_fits(at, DV2_ENTRIES + ISM_SIZE * n, end))
		return -EPROTO;

	p->has_dv2 = true;
	p->has_seid = buf[v2 + V2_RELEASE] & V2_SEID_FLAG;
	if (p->has_seid)
		memcpy(p->seid, buf + at + DV2_SEID, SMC_EID_LEN);
	return get_ism_entries(buf + at + DV2_ENTRIES, n, p);
}

/* Encode the SMC-D extension at @at. Return: its end. */
static u32 put_dv2(u8 *buf, u32 v2, u32 at, const struct smc_clc_proposal *p)
{
	u8 n = put_ism_entries(buf + at + DV2_ENTRIES, p);

	put_be16(buf + v2 + V2_DV2_OFFSET, (u16)(at - v2 - V2_DV2_FROM));
	buf[v2 + V2_ISM_COUNT] = n;
	if (p->has_seid) {
		buf[v2 + V2_RELEASE] |= V2_SEID_FLAG;
		memcpy(buf + at + DV2_SEID, p->seid, SMC_EID_LEN);
	}
	return at + DV2_ENTRIES + ISM_SIZE * n;
}

static int get_v2(const u8 *buf, u32 at, u32 end, struct smc_clc_proposal *p)
{
	const u8 *v2;

	if (at < PROP_BLOCK_END || !smc_clc_fits(at, V2_EIDS, end))
		return -EPROTO;
	v2 = buf + at;
	p->n_eids = v2[V2_EID_COUNT];
	if (p->n_eids > SMC_CLC_MAX_EIDS ||
	    !smc_clc_fits(at, V2_EIDS + SMC_EID_LEN * p->n_eids, end))
		return -EPROTO;

	p->release = v2[V2_RELEASE] >> 4;
	memcpy(p->gid_v2, v2 + V2_GID, SMC_GID_LEN);
	p->max_conns = v2[V2_MAX_CONNS];
	p->max_links = v2[V2_MAX_LINKS];
	p->features = get_be16(v2 + V2_FEATURES);
	memcpy(p->eids, v2 + V2_EIDS, SMC_EID_LEN * p->n_eids);
	return smc_offer_has(p->offer_v2, SMC_OFFER_D) ? get_dv2(buf, at, end, p) : 0;
}

/* Encode the version 2 extension at @at, and its SMC-D extension. Return: the end. */
static u32 put_v2(u8 *buf, u32 at, const struct smc_clc_proposal *p)
{
	u32 eids_end = at + V2_EIDS + SMC_EID_LEN * p->n_eids;
	u8 *v2 = buf + at;

	put_be16(buf + PROP_V2_OFFSET, (u16)(at - PROP_V2_OFFSET_FROM));
	v2[V2_EID_COUNT] = p->n_eids;
	v2[V2_RELEASE] = (u8)(p->release << 4);
	memcpy(v2 + V2_GID, p->gid_v2, SMC_GID_LEN);
	v2[V2_MAX_CONNS] = p->max_conns;
	v2[V2_MAX_LINKS] = p->max_links;
	put_be16(v2 + V2_FEATURES, p->features);
	memcpy(v2 + V2_EIDS, p->eids, SMC_EID_LEN * p->n_eids);
	return p->has_dv2 ? put_dv2(buf, at, eids_end, p) : eids_end;
}

static int get_block(const u8 *buf, u32 end, struct smc_clc_proposal *p)
{
	if (end < PROP_BLOCK_END)
		return -EPROTO;
	p->ism_gid = get_be64(buf + PROP_ISM_GID);
	p->ism_chid = get_be16(buf + PROP_ISM_CHID);
	memcpy(p->vendor_oui, buf + PROP_VENDOR_OUI, sizeof(p->vendor_oui));
	memcpy(p->vendor_options, buf + PROP_VENDOR_OPTIONS, sizeof(p->vendor_options));
	return 0;
}

static void put_block(u8 *buf, const struct smc_clc_proposal *p)
{
	put_be64(buf + PROP_ISM_GID, p->ism_gid);
	put_be16(buf + PROP_ISM_CHID, p->ism_chid);
	memcpy(buf + PROP_VENDOR_OUI, p->vendor_oui, sizeof(p->vendor_oui));
	memcpy(buf + PROP_VENDOR_OPTIONS, p->vendor_options, sizeof(p->vendor_options));
}

int smc_clc_parse_proposal(const u8 *buf, size_t len, struct smc_clc_proposal *p)
{
	struct smc_clc_header hdr;
	u32 end, at;

	if (smc_clc_open(buf, len, &hdr, &end) || hdr.type != SMC_CLC_PROPOSAL)
		return -EPROTO;

	memset(p, 0, sizeof(*p));
	p->version = hdr.version;
	p->offer_v1 = (enum smc_clc_offer)(hdr.flags & OFFER_MASK);
	p->offer_v2 = hdr.version == SMC_VERSION_1 ?
		      SMC_OFFER_NONE : (enum smc_clc_offer)(hdr.flags >> OFFER_V2_SHIFT);
	memcpy(p->peer_id, buf + PROP_PEER_ID, SMC_PEER_ID_LEN);
	memcpy(p->gid_v1, buf + PROP_GID, SMC_GID_LEN);
	memcpy(p->mac, buf + PROP_MAC, SMC_MAC_LEN);

	if (has_block(p) && get_block(buf, end, p))
		return -EPROTO;
	if (p->offer_v1 != SMC_OFFER_NONE) {
		at = PROP_END + get_be16(buf + PROP_IP_OFFSET);
		if ((has_block(p) && at < PROP_BLOCK_END) || get_ip_area(buf, at, end, p))
			return -EPROTO;
	}
	if (p->offer_v2 != SMC_OFFER_NONE) {
		at = PROP_V2_OFFSET_FROM + get_be16(buf + PROP_V2_OFFSET);
		if (get_v2(buf, at, end, p))
			return -EPROTO;
	}
	return 0;
}

size_t smc_clc_build_proposal(u8 *buf, const struct smc_clc_proposal *p)
{
	const struct smc_clc_header hdr = {
		.type = SMC_CLC_PROPOSAL,
		.version = p->version,
		.flags = (u8)(p->offer_v1 | (p->version == SMC_VERSION_1 ?
					     0 : p->offer_v2 << OFFER_V2_SHIFT)),
	};
	u32 at = PROP_END;

	memset(buf, 0, SMC_CLC_PROPOSAL_MAX_LEN);
	memcpy(buf + PROP_PEER_ID, p->peer_id, SMC_PEER_ID_LEN);
	memcpy(buf + PROP_GID, p->gid_v1, SMC_GID_LEN);
	memcpy(buf + PROP_MAC, p->mac, SMC_MAC_LEN);

	if (has_block(p)) {
		put_block(buf, p);
		at = PROP_BLOCK_END;
	}
	if (p->offer_v1 != SMC_OFFER_NONE) {
		put_be16(buf + PROP_IP_OFFSET, (u16)(at - PROP_END));
		at = put_ip_area(buf, at, p);
	}
	if (p->offer_v2 != SMC_OFFER_NONE)
		at = put_v2(buf, at, p);
	return smc_clc_close(buf, at, &hdr);
}
