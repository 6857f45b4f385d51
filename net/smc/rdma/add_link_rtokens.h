/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RTokens of a link that is added. Each end tells the other the RKey and address that each of
 * its RMBs has on the new link. The message identifies an RMB by the RKey on the link that carries
 * the message. In version 2, ADD LINK itself has all RTokens. In version 1, ADD LINK CONTINUATION
 * messages follow (RFC 7609 section 3.5.5), each with two RTokens at most.
 */
#ifndef SMC_RDMA_ADD_LINK_RTOKENS_H
#define SMC_RDMA_ADD_LINK_RTOKENS_H

#include "wire/llc.h"

struct smc_link;

/**
 * struct smc_add_link_rtokens - the RTokens of this end's RMBs
 * @by: link that carries the messages
 * @link: new link
 * @n: number of RTokens
 * @n_sent: number of RTokens that this end has sent by ADD LINK CONTINUATION
 * @rt: the RTokens
 */
struct smc_add_link_rtokens {
	struct smc_link *by;
	struct smc_link *link;
	unsigned int n;
	unsigned int n_sent;
	struct smc_llc_rtoken rt[SMC_LLC_ADD_LINK_RKEYS];
};

/**
 * smc_add_link_rtokens_get() - get the RTokens of this end's RMBs
 * @by: link that carries the messages
 * @link: new link, on which the RMBs are mapped
 * @own: set to the RTokens, or to NULL after -ENOMEM. The caller frees them by kfree(), also after
 *	-E2BIG
 *
 * Context: process; with the group's buffer lock.
 * Return: 0; -ENOMEM; or -E2BIG if there are too many RMBs.
 */
int smc_add_link_rtokens_get(struct smc_link *by, struct smc_link *link,
			     struct smc_add_link_rtokens **own);

/**
 * smc_add_link_rtokens_expect() - prepare for the server's message after this client's ADD LINK
 * @own: this end's RTokens
 *
 * Must be called before the server can send that message.
 */
void smc_add_link_rtokens_expect(const struct smc_add_link_rtokens *own);

/**
 * smc_add_link_rtokens_exchange() - tell the peer this end's RTokens, and get the peer's
 * @own: this end's RTokens. A client has called smc_add_link_rtokens_expect()
 *
 * Nothing happens in version 2, where ADD LINK has the RTokens. After success, a client expects the
 * server's CONFIRM LINK.
 *
 * Context: process, may sleep up to 5 s if the peer acknowledges nothing; with the group's buffer
 * lock.
 * Return: 0, with the peer's RTokens noted; -ETIMEDOUT or -ENOLINK.
 */
int smc_add_link_rtokens_exchange(struct smc_add_link_rtokens *own);

#endif
