/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Adding a link to a group (RFC 7609 section 3.5.5): the server offers it by ADD LINK, the client
 * answers with its end, and CONFIRM LINK on the new link shows that it works. A work of the group
 * does all of this, and holds the group's buffer lock meanwhile: an RMB that was made meanwhile
 * would be missing from the ADD LINK, so the peer would not learn of it.
 */
#ifndef SMC_RDMA_ADD_LINK_H
#define SMC_RDMA_ADD_LINK_H

#include <linux/types.h>

struct smc_llc_msg;
struct smc_rdma_group;

/**
 * smc_add_link_init() - initialise the work that adds a link to a group
 * @group: new group
 */
void smc_add_link_init(struct smc_rdma_group *group);

/**
 * smc_add_link_queue() - try to add a link if the group lacks one
 * @group: group in the list. The caller holds smc_rdma_lgrs.lock, or is a work or the handler of a
 *	completion. The end of the group must wait for this work or handler before its last call of
 *	smc_add_link_stop()
 *
 * A server offers a link. A client answers the server's offer or, if there is none, asks for one.
 * Attempts that do not answer an offer are at least ten seconds apart.
 *
 * Context: any.
 */
void smc_add_link_queue(struct smc_rdma_group *group);

/**
 * smc_add_link_on_request() - note the GIDs in a client's REQUEST ADD LINK, and offer a link
 * @group: group
 * @msg: the message
 *
 * Context: process.
 */
void smc_add_link_on_request(struct smc_rdma_group *group, const struct smc_llc_msg *msg);

/**
 * smc_add_link_on_port() - try to add a link, as another port may be of use now
 * @group: group
 *
 * A port has come up or got a PNET ID, or a device or GID is new.
 *
 * Context: any; with smc_rdma_lgrs.lock.
 */
void smc_add_link_on_port(struct smc_rdma_group *group);

/**
 * smc_add_link_after_loss() - try to add a link again some seconds after one was lost
 * @group: group
 *
 * Context: any; with smc_rdma_lgrs.lock.
 */
void smc_add_link_after_loss(struct smc_rdma_group *group);

/**
 * smc_add_link_enter() - count a work of smc_add_link_wq, and decide whether it may wait
 * @is_slow: the group's peer has let the last attempt to add a link time out. Then the work may
 *	wait only if no more than half of smc_wq_waiting_max() works run
 *
 * Context: process. The work has to call smc_add_link_exit() in any case.
 * Return: whether the work may wait. At most smc_wq_waiting_max() works may wait at the same time.
 */
bool smc_add_link_enter(bool is_slow);

/**
 * smc_add_link_exit() - undo smc_add_link_enter() at the end of a work
 */
void smc_add_link_exit(void);

/**
 * smc_add_link_stop() - stop the work
 * @group: dead group
 *
 * Context: process, may sleep, but not for the peer.
 */
void smc_add_link_stop(struct smc_rdma_group *group);

#endif
