/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RTokens of a link's peer: the RKeys and addresses of its RMBs (RFC 7609 section 3.5.5.2).
 *
 * The peer announces an RMB at first contact, or by CONFIRM RKEY before a CLC message names it. So
 * a CLC message with an RToken that was not announced comes from another program, and the RMB may
 * not exist. A write to such an RMB would end the link.
 */
#ifndef SMC_RTOKEN_H
#define SMC_RTOKEN_H

#include <linux/spinlock.h>
#include <linux/types.h>

/*
 * More RMBs than a group may have connections. If a peer announces still more, this end first
 * forgets RMBs that no CLC message has named for a while.
 */
#define SMC_RTOKENS	512

/**
 * struct smc_rtokens - the RTokens that the peer has announced
 * @lock: protects the rest; innermost, with interrupts off
 * @next: index in @rt at which the next search for an RToken to forget begins
 * @rt: RKey and address, and whether smc_rtokens_have() has found the entry since @next last passed
 *	it
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
 * smc_rtokens_add() - note an RMB that the peer announces
 * @rtokens: table of the link
 * @rkey: RKey
 * @addr: RDMA address
 *
 * Context: any.
 */
void smc_rtokens_add(struct smc_rtokens *rtokens, u32 rkey, u64 addr);

/**
 * smc_rtokens_delete() - forget an RMB that the peer has deleted
 * @rtokens: table of the link
 * @rkey: RKey
 *
 * Context: any.
 */
void smc_rtokens_delete(struct smc_rtokens *rtokens, u32 rkey);

/**
 * smc_rtokens_have() - whether the peer has announced an RMB
 * @rtokens: table of the link
 * @rkey: RKey
 * @addr: RDMA address
 *
 * Context: any.
 */
bool smc_rtokens_have(struct smc_rtokens *rtokens, u32 rkey, u64 addr);

#endif
