/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RTokens of a group's peer: the RKeys and addresses of the peer's RMBs (RFC 7609 section
 * 3.5.5.2). An RMB has an RToken on each link.
 *
 * The peer announces an RMB at first contact, or by CONFIRM RKEY before a CLC message names it. So
 * if a CLC message has an RToken that was not announced, a program that imitates SMC has sent the
 * message, and the RMB may not exist. A write to such an RMB would end the link.
 */
#ifndef SMC_RTOKEN_H
#define SMC_RTOKEN_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "link.h"

/*
 * Limit for the RMBs of a peer. It is higher than the limit for the connections of a group. If a
 * peer announces more RMBs, this end first forgets those that no CLC message has named for a while.
 */
#define SMC_RTOKENS	512

/* The RKey and the address of an RMB on a link. */
struct smc_rtoken {
	u32 rkey;
	u64 addr;
};

/* Address of an unused RToken: no RMB can be there. */
#define SMC_RTOKEN_UNUSED	U64_MAX

static inline bool smc_rtoken_is_set(const struct smc_rtoken *rt)
{
	return rt->addr != SMC_RTOKEN_UNUSED;
}

/**
 * struct smc_rtokens - the RTokens that the peer has announced
 * @lock: protects the rest; innermost, with interrupts off
 * @next: index in @rmb at which the next search for an RMB to forget begins
 * @rmb: one entry for each RMB. @on holds the RMB's RToken on each link, and is indexed by link.
 *	@is_used is true if smc_rtokens_have() has found the entry since @next last passed it
 */
struct smc_rtokens {
	spinlock_t lock;
	unsigned int next;
	struct {
		struct smc_rtoken on[SMC_LINKS];
		bool is_used;
	} rmb[SMC_RTOKENS];
};

/**
 * smc_rtokens_init() - initialise an empty table
 * @rtokens: table, zeroed
 */
void smc_rtokens_init(struct smc_rtokens *rtokens);

/**
 * smc_rtokens_add() - note an RMB that the peer announces
 * @rtokens: table of the group
 * @link: index of the link
 * @rt: RToken on that link
 *
 * Context: any.
 */
void smc_rtokens_add(struct smc_rtokens *rtokens, unsigned int link, struct smc_rtoken rt);

/**
 * smc_rtokens_add_on() - note the RToken of a known RMB on another link
 * @rtokens: table of the group
 * @link: index of the link on which the RMB is known
 * @rkey: RKey on that link; an RMB that is not known is ignored
 * @other: index of the other link
 * @rt: RToken on the other link
 *
 * Context: any.
 */
void smc_rtokens_add_on(struct smc_rtokens *rtokens, unsigned int link, u32 rkey,
			unsigned int other, struct smc_rtoken rt);

/**
 * smc_rtokens_delete() - forget an RMB that the peer has deleted
 * @rtokens: table of the group
 * @link: index of the link
 * @rkey: RKey on that link
 *
 * Context: any.
 */
void smc_rtokens_delete(struct smc_rtokens *rtokens, unsigned int link, u32 rkey);

/**
 * smc_rtokens_have() - whether the peer has announced an RMB
 * @rtokens: table of the group
 * @link: index of the link
 * @rt: RToken on that link
 *
 * Context: any.
 */
bool smc_rtokens_have(struct smc_rtokens *rtokens, unsigned int link, struct smc_rtoken rt);

/**
 * smc_rtokens_get() - get the RTokens of an RMB on all links
 * @rtokens: table of the group
 * @link: index of the link on which the RMB is known
 * @rkey: RKey on that link
 * @on: SMC_LINKS RTokens to fill; an unknown RToken is set to SMC_RTOKEN_UNUSED
 *
 * Context: any.
 */
void smc_rtokens_get(struct smc_rtokens *rtokens, unsigned int link, u32 rkey,
		     struct smc_rtoken *on);

/**
 * smc_rtokens_forget_link() - forget all RTokens on a link that has ended
 * @rtokens: table of the group
 * @link: index of the link
 *
 * Context: any.
 */
void smc_rtokens_forget_link(struct smc_rtokens *rtokens, unsigned int link);

#endif
