/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CLC messages: the handshake of two ends over their TCP connection (RFC 7609
 * section 3 and appendix A.2; SMC version 2).
 *
 * The structures here are in host byte order and own all their data. Parsing
 * validates every length, offset and count of a message. The caller needs no
 * further bounds check, but has to validate the values.
 */
#ifndef SMC_WIRE_CLC_H
#define SMC_WIRE_CLC_H

#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SMC_CLC_HEADER_LEN	8
#define SMC_CLC_MAX_LEN		4096	/* longest message accepted from a peer */
#define SMC_CLC_DECLINE_MAX_LEN	44	/* longest DECLINE that this end sends */
#define SMC_GID_LEN		16
#define SMC_MAC_LEN		6
#define SMC_PEER_ID_LEN		8
#define SMC_EID_LEN		32
#define SMC_OUI_LEN		3
#define SMC_HOSTNAME_LEN	32
#define SMC_CLC_MAX_EIDS	8
#define SMC_CLC_MAX_PREFIXES6	8
#define SMC_CLC_MAX_ISM		8	/* devices; each emulated one has two entries in messages */
#define SMC_CLC_MAX_GIDS	8
#define SMC_CLC_MAX_FURTHER	4	/* diagnoses of a version 2 DECLINE after the first */
#define SMC_CHID_EMULATED	0xff00	/* lowest CHID of emulated devices, with 128-bit GIDs */
#define SMC_CHID_LOOPBACK	0xffff
#define SMC_VERSION_1		1
#define SMC_VERSION_2		2
#define SMC_RELEASE		1	/* highest supported release of version 2 */
#define SMC_FEATURE_EMULATED_ISM 0x0001	/* the host supports GIDs of 128 bits */

enum smc_clc_type {
	SMC_CLC_PROPOSAL = 1,
	SMC_CLC_ACCEPT	 = 2,
	SMC_CLC_CONFIRM	 = 3,
	SMC_CLC_DECLINE	 = 4,
};

/* Kinds of path that a version offers (header fields typev1 and typev2). */
enum smc_clc_offer {
	SMC_OFFER_R	= 0,
	SMC_OFFER_D	= 1,
	SMC_OFFER_NONE	= 2,
	SMC_OFFER_BOTH	= 3,
};

/* Whether the offer includes @path, which is SMC_OFFER_R or SMC_OFFER_D. */
static inline bool smc_offer_has(enum smc_clc_offer offer, enum smc_clc_offer path)
{
	return offer == path || offer == SMC_OFFER_BOTH;
}

/* Whether @chid is that of an emulated ISM device, which has a GID of 128 bits. */
static inline bool smc_chid_is_emulated(u16 chid)
{
	return chid >= SMC_CHID_EMULATED;
}

enum smc_os_type {
	SMC_OS_ZOS	= 1,
	SMC_OS_LINUX	= 2,
	SMC_OS_AIX	= 3,
};

/* Diagnosis codes of a DECLINE. */
enum smc_clc_diagnosis {
	SMC_DIAG_NO_MEMORY		= 0x01010000,
	SMC_DIAG_TIMEOUT_CONFIRM_LINK	= 0x02010000,
	SMC_DIAG_TIMEOUT_ADD_LINK	= 0x02020000,
	SMC_DIAG_CONFIGURATION		= 0x03000000,
	SMC_DIAG_PEER_NO_SMC		= 0x03010000,
	SMC_DIAG_IPSEC			= 0x03020000,
	SMC_DIAG_NO_DEVICE		= 0x03030000,
	SMC_DIAG_NO_DEVICE_D		= 0x03030001,
	SMC_DIAG_NO_DEVICE_R		= 0x03030002,
	SMC_DIAG_NO_ISM_V2		= 0x03030003,
	SMC_DIAG_NO_V2_EXTENSION	= 0x03030004,
	SMC_DIAG_NO_DV2_EXTENSION	= 0x03030005,
	SMC_DIAG_NO_SEID		= 0x03030006,
	SMC_DIAG_NO_DV2_DEVICE		= 0x03030007,
	SMC_DIAG_NO_UEID		= 0x03030008,
	SMC_DIAG_RELEASE		= 0x03030009,
	SMC_DIAG_MAX_CONNS		= 0x0303000a,
	SMC_DIAG_MAX_LINKS		= 0x0303000b,
	SMC_DIAG_MODE_MISMATCH		= 0x03040000,
	SMC_DIAG_EYE_CATCHER		= 0x03050000,
	SMC_DIAG_SOCKET_OPTION		= 0x03060000,
	SMC_DIAG_PREFIX_MISMATCH	= 0x03070000,
	SMC_DIAG_VLAN			= 0x03080000,
	SMC_DIAG_NO_ACTIVE_LINK		= 0x030a0000,
	SMC_DIAG_NO_SERVER_LINK		= 0x030b0000,
	SMC_DIAG_VERSION		= 0x030c0000,
	SMC_DIAG_NO_ROUTE		= 0x030e0000,
	SMC_DIAG_INDIRECT_MISMATCH	= 0x030f0000,
	SMC_DIAG_SYNC			= 0x04000000,
	SMC_DIAG_PEER_DECLINED		= 0x05000000,
	SMC_DIAG_INTERNAL		= 0x09990000,
	SMC_DIAG_INTERNAL_RTOKEN	= 0x09990001,
	SMC_DIAG_INTERNAL_LINK_READY	= 0x09990002,
	SMC_DIAG_INTERNAL_REGISTER	= 0x09990003,
	/*
	 * Never sent, only counted at this end: a blackhole keeps SMC from the
	 * peer, or this connection's failure has just added the blackhole.
	 */
	SMC_DIAG_BLACKHOLE		= 0x0f010000,
	/* Never sent, only counted at this end: a limit of link groups was reached. */
	SMC_DIAG_TOO_MANY_GROUPS	= 0x0f020000,
};

struct smc_clc_header {
	enum smc_clc_type type;
	u16 length;		/* of the whole message, trailer included */
	u8 version;
	u8 flags;		/* low nibble of byte 7: SMC_CLC_FLAG_*, or a PROPOSAL's offers */
};

struct smc_prefix6 {
	u8 addr[16];
	u8 len;			/* bits */
};

struct smc_clc_ism {
	u64 gid;
	u64 gid_ext;		/* second half of an emulated device's GID */
	u16 chid;
};

struct smc_clc_proposal {
	u8 version;		/* highest version that the client supports */
	enum smc_clc_offer offer_v1;
	enum smc_clc_offer offer_v2;
	u8 peer_id[SMC_PEER_ID_LEN];
	u8 gid_v1[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];

	/* IP area; present only with a version 1 offer */
	u8 prefix4[4];
	u8 prefix4_len;
	u8 n_prefixes6;
	struct smc_prefix6 prefixes6[SMC_CLC_MAX_PREFIXES6];

	/* SMC-D version 1 device; a version 1 PROPOSAL without SMC-D omits this and the options */
	u64 ism_gid;
	u16 ism_chid;
	u8 vendor_oui[SMC_OUI_LEN];	/* vendor of the options */
	u8 vendor_options[5];

	/* version 2 extension; present only with a version 2 offer */
	u8 release;
	u8 n_eids;
	u8 eids[SMC_CLC_MAX_EIDS][SMC_EID_LEN];
	u8 gid_v2[SMC_GID_LEN];
	u8 max_conns;
	u8 max_links;
	u16 features;

	/* SMC-D version 2 extension */
	bool has_dv2;
	bool has_seid;
	u8 seid[SMC_EID_LEN];
	u8 n_ism;		/* devices; each emulated one has two entries in the message */
	struct smc_clc_ism ism[SMC_CLC_MAX_ISM];
};

/* Fields that a version 2 ACCEPT or CONFIRM adds on first contact. */
struct smc_clc_first_contact {
	bool direct;		/* no gateway between the hosts */
	u8 os_type;
	u8 release;
	u8 hostname[SMC_HOSTNAME_LEN];
	u8 max_conns;
	u8 max_links;
	u16 features;
	u8 vendor[4];
};

/* The SMC-R part of an ACCEPT or CONFIRM. */
struct smc_clc_r {
	u8 peer_id[SMC_PEER_ID_LEN];
	u8 gid[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];
	u32 qpn;
	u32 psn;
	u32 rkey;
	u64 rmb_addr;		/* start of the RMB, not of the element */
	u8 rmbe_index;		/* counted from 1 */
	u8 rmbe_size_code;
	u8 qp_mtu;
	u32 alert_token;
};

/* The SMC-D part of an ACCEPT or CONFIRM. */
struct smc_clc_d {
	u64 gid;
	u64 gid_ext;
	u64 token;
	u8 dmbe_index;		/* counted from 0 */
	u8 dmbe_size_code;
	u32 link_id;
	u16 chid;
};

struct smc_clc_agreement {
	enum smc_clc_type type;	/* SMC_CLC_ACCEPT or SMC_CLC_CONFIRM */
	u8 version;
	bool is_d;
	bool first_contact;
	union {
		struct smc_clc_r r;
		struct smc_clc_d d;
	};
	u8 eid[SMC_EID_LEN];	/* version 2 */
	struct smc_clc_first_contact fc;	/* version 2, first contact */
	u8 n_gids;		/* version 2, first contact, CONFIRM of SMC-R */
	u8 gids[SMC_CLC_MAX_GIDS][SMC_GID_LEN];
};

struct smc_clc_decline {
	u8 version;
	bool out_of_sync;	/* the receiver has to end the link group */
	u8 peer_id[SMC_PEER_ID_LEN];
	u32 diagnosis;
	u8 os_type;
	u32 further[SMC_CLC_MAX_FURTHER];	/* version 2 */
};

/**
 * smc_clc_may_begin() - whether bytes may be the first ones of a CLC message
 * @buf: bytes
 * @len: number of bytes; may be less than those of a header
 */
bool smc_clc_may_begin(const u8 *buf, size_t len);

/**
 * smc_clc_parse_header() - parse the first eight bytes of a message
 * @buf: at least SMC_CLC_HEADER_LEN bytes
 * @hdr: filled on success
 *
 * Return: 0, or -EPROTO if the bytes are not the start of a CLC message, the length is impossible
 * for its type, or an ACCEPT or CONFIRM names an unknown path or version.
 */
int smc_clc_parse_header(const u8 *buf, struct smc_clc_header *hdr);

/**
 * smc_clc_agreed_path() - return the path that an ACCEPT or CONFIRM names
 * @hdr: header of a CLC message
 *
 * Return: SMC_OFFER_R or SMC_OFFER_D; SMC_OFFER_NONE for another message.
 */
enum smc_clc_offer smc_clc_agreed_path(const struct smc_clc_header *hdr);

/**
 * smc_clc_parse_proposal() - decode a PROPOSAL
 * @buf: the whole message, header and trailer included
 * @len: number of bytes
 * @p: filled on success, undefined after an error
 *
 * Return: 0 or -EPROTO.
 */
int smc_clc_parse_proposal(const u8 *buf, size_t len, struct smc_clc_proposal *p);

/**
 * smc_clc_parse_agreement() - decode an ACCEPT or CONFIRM
 * @buf: the whole message, header and trailer included
 * @len: number of bytes
 * @a: filled on success, undefined after an error
 *
 * Return: 0 or -EPROTO.
 */
int smc_clc_parse_agreement(const u8 *buf, size_t len, struct smc_clc_agreement *a);

/**
 * smc_clc_set_links_option() - add this module's option to a PROPOSAL
 * @p: the PROPOSAL
 * @max_links: links that the client supports with a server that runs this module; not 0
 *
 * @p->max_links is for all other servers.
 */
void smc_clc_set_links_option(struct smc_clc_proposal *p, u8 max_links);

/**
 * smc_clc_links_option() - read this module's option
 * @p: a PROPOSAL
 *
 * Return: how many links the client supports with a server that runs this module; 0 without the
 * option.
 */
u8 smc_clc_links_option(const struct smc_clc_proposal *p);

/**
 * smc_clc_set_vendor() - name this module as the vendor of an ACCEPT or CONFIRM
 * @fc: the fields of first contact; only for a peer that has named this vendor, too
 */
void smc_clc_set_vendor(struct smc_clc_first_contact *fc);

/**
 * smc_clc_has_vendor() - whether a peer says that it runs this module
 * @fc: the fields of first contact
 */
bool smc_clc_has_vendor(const struct smc_clc_first_contact *fc);

/**
 * smc_clc_parse_decline() - decode a DECLINE
 * @buf: the whole message, header and trailer included
 * @len: number of bytes
 * @d: filled on success, undefined after an error
 *
 * Return: 0 or -EPROTO.
 */
int smc_clc_parse_decline(const u8 *buf, size_t len, struct smc_clc_decline *d);

/**
 * smc_clc_build_proposal() - encode a PROPOSAL
 * @buf: room for SMC_CLC_MAX_LEN bytes
 * @p: contents of the message; its counts are within their arrays
 *
 * Return: the length of the message.
 */
size_t smc_clc_build_proposal(u8 *buf, const struct smc_clc_proposal *p);

/**
 * smc_clc_build_agreement() - encode an ACCEPT or CONFIRM
 * @buf: room for SMC_CLC_MAX_LEN bytes
 * @a: contents of the message; n_gids is at most SMC_CLC_MAX_GIDS
 *
 * Return: the length of the message.
 */
size_t smc_clc_build_agreement(u8 *buf, const struct smc_clc_agreement *a);

/**
 * smc_clc_build_decline() - encode a DECLINE
 * @buf: room for SMC_CLC_DECLINE_MAX_LEN bytes
 * @d: contents of the message
 *
 * Return: the length of the message.
 */
size_t smc_clc_build_decline(u8 *buf, const struct smc_clc_decline *d);

/**
 * smc_clc_confirms_contact() - whether a CONFIRM agrees with the ACCEPT about first contact
 * @confirm: the CONFIRM
 * @first_contact: value of the bit in the ACCEPT
 *
 * The bit of a version 1 CONFIRM is ignored: Linux before 5.10 does not set it.
 */
static inline bool smc_clc_confirms_contact(const struct smc_clc_agreement *confirm,
					    bool first_contact)
{
	return confirm->version == SMC_VERSION_1 || confirm->first_contact == first_contact;
}

#ifdef __cplusplus
}
#endif
#endif
