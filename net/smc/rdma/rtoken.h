/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RTokens of a link's peer: the RKeys and addresses of its RMBs (RFC 7609 section 3.5.5.2).
 *
 * The peer tells them by the first contact, and later by CONFIRM RKEY before a CLC message names
 * the RMB. So a CLC message with an RToken that did not come over the link is another program's,
 * which may not even exist. Writes to such an RMB would end the link.
 */
#ifndef SMC_RTOKEN_H
#define SMC_RTOKEN_H

#include <linux/spinlock.h>
#include <linux/types.h>

/*
 * More than connections that a group may have. Of a peer that has still more RMBs, those for which
 * no connection has asked are forgotten first.
 */
#define SMC_RTOKENS	512

/**
 * struct smc_rtokens - what the peer told of its RMBs
 * @lock: protects the rest; innermost, with interrupts off
 * @next: where the search for one to forget goes on
 * @rt: RKey and address, and whether a connection has asked for it since the last search
 */
struct smc_rtokens {
	spinlock_t lock;
	unsigned int next;
	struct {
		u64 addr;
		u32 rkey;
		bool is_used;
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
