/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Adding a link to a group (RFC 7609 section 3.5.5). The server offers the link with ADD LINK, and
 * the client answers with its own end of the link. CONFIRM LINK on the new link then shows that the
 * link works. A work item of the group does all of this while it holds the group's buffer lock. An
 * RMB that was made during that time would be missing from the ADD LINK, so the peer would not
 * learn of it.
 */
#ifndef SMC_RDMA_ADD_LINK_H
#define SMC_RDMA_ADD_LINK_H

#include <linux/types.h>

#include "wire/clc.h"

struct smc_rdma_group;

/**
 * smc_add_link_init() - initialise the work item that adds a link to a group
 * @group: new group
 */
void smc_add_link_init(struct smc_rdma_group *group);

/**
 * smc_add_link_queue() - try to add a link if the group lacks one
 * @group: group in the list. The caller holds smc_rdma_lgrs.lock, or is a work item or a completion
 *	handler. The end of the group must wait for that work item or handler before it calls
 *	smc_add_link_stop() for the last time
 *
 * A server offers a link. A client answers the server's offer or, if there is no offer, asks for a
 * link. Attempts other than answers are at least ten seconds apart.
 *
 * Context: any.
 */
void smc_add_link_queue(struct smc_rdma_group *group);

/**
 * smc_add_link_on_request() - offer a link to a client that asks for one
 * @group: group of a server
 * @gids: GIDs of the client's ports in its REQUEST ADD LINK or, in version 1, in its ADD LINK
 * @n: number of GIDs, at most SMC_LLC_ADD_LINK_GIDS
 *
 * Context: process.
 */
void smc_add_link_on_request(struct smc_rdma_group *group, const u8 (*gids)[SMC_GID_LEN],
			     unsigned int n);

/**
 * smc_add_link_on_port() - try to add a link, as another port may be of use now
 * @group: group, in whatever state
 *
 * Called when a port has come up or got a PNET ID, or when a device or GID was added.
 *
 * Context: any; with smc_rdma_lgrs.lock.
 */
void smc_add_link_on_port(struct smc_rdma_group *group);

/**
 * smc_add_link_after_loss() - try to replace a lost link after some seconds
 * @group: group that has another link
 *
 * Context: any; with smc_rdma_lgrs.lock.
 */
void smc_add_link_after_loss(struct smc_rdma_group *group);

/**
 * smc_add_link_enter() - count a work item of smc_add_link_wq, and tell it if it may wait
 * @is_slow: the last attempt to add a link to the group timed out because of the peer. Such a work
 *	item may wait only if no more than half of smc_wq_waiting_max() work items run
 *
 * Context: process. Every work item must call smc_add_link_exit() at its end, even one that may not
 * wait. One that removes a link of a device that is being removed waits in any case.
 * Return: true if the work item may wait for a peer. At most smc_wq_waiting_max() work items may
 * wait at the same time.
 */
bool smc_add_link_enter(bool is_slow);

/**
 * smc_add_link_exit() - undo smc_add_link_enter() at the end of a work item
 */
void smc_add_link_exit(void);

/**
 * smc_add_link_stop() - stop the work item that adds links
 * @group: dead group
 *
 * Context: process, may sleep, but does not wait for the peer.
 */
void smc_add_link_stop(struct smc_rdma_group *group);

#endif
