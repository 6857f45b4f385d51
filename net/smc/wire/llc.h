/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LLC messages: they manage the links of a link group and the keys of its RMBs
 * (RFC 7609 section 3.3 and appendix A.3; SMC version 2).
 */
#ifndef SMC_WIRE_LLC_H
#define SMC_WIRE_LLC_H

#include "clc.h"
#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SMC_LLC_LEN		44	/* of all messages but the large ones of version 2 */
#define SMC_LLC_V2_MAX_LEN	8192
#define SMC_LLC_DELETE_RKEYS	8	/* keys of a DELETE RKEY in struct smc_llc_msg */
#define SMC_LLC_ADD_LINK_RKEYS	255	/* RTokens of a large ADD LINK */
#define SMC_LLC_ADD_LINK_GIDS	8	/* GIDs of a REQUEST ADD LINK that are sent or decoded */

/* Length of a large ADD LINK with @n RTokens. */
#define SMC_LLC_ADD_LINK_LEN(n)		(72 + 16 * (n))
/* Length of a REQUEST ADD LINK with @n GIDs. */
#define SMC_LLC_REQUEST_ADD_LINK_LEN(n)	(28 + SMC_GID_LEN * (n))

/* The type byte without the version in its high nibble. */
enum smc_llc_type {
	SMC_LLC_CONFIRM_LINK		= 0x01,
	SMC_LLC_ADD_LINK		= 0x02,
	SMC_LLC_ADD_LINK_CONT		= 0x03,
	SMC_LLC_DELETE_LINK		= 0x04,
	SMC_LLC_REQUEST_ADD_LINK	= 0x05,	/* version 2 only */
	SMC_LLC_CONFIRM_RKEY		= 0x06,
	SMC_LLC_TEST_LINK		= 0x07,
	SMC_LLC_CONFIRM_RKEY_CONT	= 0x08,
	SMC_LLC_DELETE_RKEY		= 0x09,
};

enum smc_llc_flag {
	SMC_LLC_REPLY			= 0x80,
	SMC_LLC_NO_RMBE_EYE_CATCHER	= 0x03,	/* CONFIRM LINK */
	SMC_LLC_ADD_LINK_REJECTED	= 0x40,
	SMC_LLC_DELETE_ALL		= 0x40,
	SMC_LLC_DELETE_ORDERLY		= 0x20,
	SMC_LLC_RKEY_NEGATIVE		= 0x20,
	SMC_LLC_RKEY_RETRY		= 0x10,
};

#define SMC_LLC_REJECT_NO_ALT_PATH	1	/* ADD LINK reject reason */

enum smc_llc_delete_reason {
	SMC_LLC_DEL_LOST_PATH		= 0x00010000,
	SMC_LLC_DEL_OPERATOR		= 0x00020000,
	SMC_LLC_DEL_PROGRAM		= 0x00030000,
	SMC_LLC_DEL_PROTOCOL		= 0x00040000,
	SMC_LLC_DEL_ASYMMETRIC		= 0x00050000,
	SMC_LLC_DEL_NO_SUCH_LINK	= 0x00100000,
	SMC_LLC_DEL_NO_SUCH_GROUP	= 0x00200000,
};

struct smc_llc_rtoken {
	u8 link;		/* link number (CONFIRM RKEY family only) */
	u32 rkey;
	u32 rkey_new;		/* on the new link (ADD LINK family only) */
	u64 addr;
};

struct smc_llc_msg {
	enum smc_llc_type type;
	bool v2;
	/*
	 * Version 2: smc_llc_parse() found that the length is possible in little-endian order only.
	 * That is the peer's order. This end sends its large messages in the same order, because
	 * in-tree Linux reads their counts in host order.
	 */
	bool little_endian;
	u8 flags;
	u8 reason;		/* of a refusal; version 1 only */
	union {
		struct {
			u8 mac[SMC_MAC_LEN];
			u8 gid[SMC_GID_LEN];
			u32 qpn;
			u8 link;
			u32 user_id;
			u8 max_links;
			u8 max_conns;
		} confirm_link;
		struct {
			u8 mac[SMC_MAC_LEN];
			u8 gid[SMC_GID_LEN];
			u32 qpn;
			u8 link;
			u8 mtu;
			u32 psn;
			/* in the large layout of version 2 only */
			bool large;
			bool direct;
			u8 target_gid[SMC_GID_LEN];
			u8 n_rkeys;	/* number of RTokens, for smc_llc_get_add_link_rtoken() */
		} add_link;
		struct {
			u8 link;
			u8 count;	/* RTokens left, may be more than rt has */
			struct smc_llc_rtoken rt[2];
		} add_link_cont;
		struct {
			u8 n_gids;	/* GIDs in gids; further ones are not decoded */
			u8 gids[SMC_LLC_ADD_LINK_GIDS][SMC_GID_LEN];
		} request_add_link;
		struct {
			u8 link;
			u32 reason;
		} delete_link;
		struct {
			/*
			 * In a CONFIRM RKEY, rt[0] is for the link that carries
			 * the message, and count is the number of RTokens for
			 * other links: the first two are here, the rest in
			 * continuations. In a continuation, count is the number
			 * of RTokens left, and the first three of them are here.
			 */
			u8 count;
			struct smc_llc_rtoken rt[3];
		} confirm_rkey;
		struct {
			u8 data[16];
		} test_link;
		struct {
			/*
			 * In version 2, the parser checks that keys after the
			 * eighth are present, but does not decode them. In
			 * version 1, it refuses a message with more than eight
			 * keys. A version 2 reply repeats the count, but lists
			 * only the invalid keys.
			 */
			u8 count;
			u8 errors;	/* invalid keys: version 1: mask; version 2: count */
			u32 rkey[SMC_LLC_DELETE_RKEYS];
		} delete_rkey;
	};
};

/**
 * smc_llc_parse() - decode one received LLC message
 * @buf: the message
 * @len: bytes received, which may be more than the message's length field says
 * @msg: filled on success
 *
 * The 16-bit length and counts of version 2 are accepted in either byte order.
 * If the length is possible in both, @msg->little_endian is false.
 *
 * Return: 0; -EPROTO for a malformed message; -EOPNOTSUPP for one of unknown
 * type or version, which a receiver ignores.
 */
int smc_llc_parse(const u8 *buf, size_t len, struct smc_llc_msg *msg);

/**
 * smc_llc_is_answered() - whether a reply answers a request of its type
 * @request: request of this end
 * @reply: the reply, which may be a late one to an earlier request
 */
bool smc_llc_is_answered(const struct smc_llc_msg *request, const struct smc_llc_msg *reply);

/**
 * smc_llc_build() - encode a message into the 44-byte form
 * @buf: SMC_LLC_LEN bytes
 * @msg: contents of the message. For a large ADD LINK, only the fields of a
 *	small one are encoded; smc_llc_build_add_link() encodes all of it. A
 *	DELETE RKEY lists at most SMC_LLC_DELETE_RKEYS keys.
 *
 * The length of a version 2 message is big-endian, as are all other fields.
 * In-tree Linux sends the length in host order. It accepts either order, because
 * it only checks that the length is large enough.
 */
void smc_llc_build(u8 *buf, const struct smc_llc_msg *msg);

/**
 * smc_llc_build_add_link() - encode an ADD LINK, request or reply
 * @buf: SMC_LLC_ADD_LINK_LEN(@msg->add_link.n_rkeys) bytes
 * @msg: contents of the message, whose type is SMC_LLC_ADD_LINK. In version 2, length and count
 *	get the byte order that @msg->little_endian says.
 *
 * The message is large in version 2, and has SMC_LLC_LEN bytes in version 1. The RTokens are zero
 * until smc_llc_put_add_link_rtoken() has encoded them.
 *
 * Return: length of the message.
 */
u32 smc_llc_build_add_link(u8 *buf, const struct smc_llc_msg *msg);

/**
 * smc_llc_put_add_link_rtoken() - encode one RToken of a large ADD LINK
 * @buf: the message, by smc_llc_build_add_link()
 * @i: index of the RToken, less than add_link.n_rkeys of the message
 * @rt: the RToken; its link number is not encoded
 */
void smc_llc_put_add_link_rtoken(u8 *buf, unsigned int i, const struct smc_llc_rtoken *rt);

/**
 * smc_llc_get_add_link_rtoken() - decode one RToken of a large ADD LINK
 * @buf: the message, accepted by smc_llc_parse()
 * @i: index of the RToken, less than add_link.n_rkeys of the message
 *
 * Return: the RToken, with link number 0.
 */
struct smc_llc_rtoken smc_llc_get_add_link_rtoken(const u8 *buf, unsigned int i);

/**
 * smc_llc_build_request_add_link() - encode a REQUEST ADD LINK of version 2
 * @buf: SMC_LLC_REQUEST_ADD_LINK_LEN(@n) bytes
 * @gids: GIDs of this end, that of the link in use first
 * @n: count of @gids, from 1 to SMC_LLC_ADD_LINK_GIDS
 * @little_endian: byte order of the length
 *
 * Return: length of the message.
 */
u32 smc_llc_build_request_add_link(u8 *buf, const u8 (*gids)[SMC_GID_LEN], u8 n,
				   bool little_endian);

/**
 * smc_llc_reply() - turn a received request into its reply, in place
 * @buf: the received message, accepted by smc_llc_parse()
 * @flags: flags to add to SMC_LLC_REPLY
 *
 * The reply is the first SMC_LLC_LEN bytes of @buf, and has that length,
 * whatever the length of the request. A rejected ADD LINK of version 1 gets the
 * reason that there is no other path; version 2 has no field for a reason. A
 * reply to DELETE RKEY reports no invalid key; smc_llc_build() encodes a reply
 * that lists invalid ones.
 */
void smc_llc_reply(u8 *buf, u8 flags);

#ifdef __cplusplus
}
#endif
#endif
