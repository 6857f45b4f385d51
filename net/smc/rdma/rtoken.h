/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RTokens of a link's peer: the RKeys and addresses of its RMBs (RFC 7609 section 3.5.5.2).
 *
 * The peer tells them by the first contact, and later by CONFIRM RKEY before a CLC message names
 * the RMB. So a CLC message with an RToken that did not come over the link is another program's.
 */
#ifndef SMC_RTOKEN_H
#define SMC_RTOKEN_H

#include <linux/spinlock.h>
#include <linux/types.h>

/* At least one for each connection that a group may have; a peer that has more forgets old ones. */
#define SMC_RTOKENS	256

/**
 * struct smc_rtokens - what the peer told of its RMBs
 * @lock: protects the rest; innermost, with interrupts off
 * @next: index of the oldest, which the next one replaces
 * @rt: RKey and address
 */
struct smc_rtokens {
	spinlock_t lock;
	unsigned int next;
	struct {
		u32 rkey;
		u64 addr;
	} rt[SMC_RTOKENS];
};

/**
 * smc_rtokens_init() - initialise an empty table
 * @rtokens: table, zeroed
 */
void smc_rtokens_init(struct smc_rtokens *rtokens);

/**
 * smc_rtokens_add() - note an RMB of the peer
 * @rtokens: of the link
 * @rkey: RKey
 * @addr: RDMA address
 *
 * Context: any.
 */
void smc_rtokens_add(struct smc_rtokens *rtokens, u32 rkey, u64 addr);

/**
 * smc_rtokens_delete() - forget an RMB that the peer has deleted
 * @rtokens: of the link
 * @rkey: RKey
 *
 * Context: any.
 */
void smc_rtokens_delete(struct smc_rtokens *rtokens, u32 rkey);

/**
 * smc_rtokens_have() - whether the peer has told of an RMB
 * @rtokens: of the link
 * @rkey: RKey
 * @addr: RDMA address
 *
 * Context: any.
 */
bool smc_rtokens_have(struct smc_rtokens *rtokens, u32 rkey, u64 addr);

#endif
