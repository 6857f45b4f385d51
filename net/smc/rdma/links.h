/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The links of a group. One work item for each group tests links that are silent, looks at the
 * ports of the links, and moves the connections of a lost link to another one.
 */
#ifndef SMC_RDMA_LINKS_H
#define SMC_RDMA_LINKS_H

#include <linux/types.h>

struct net;
struct smc_link;
struct smc_rdma_device;
struct smc_rdma_group;

#define SMC_ALL_PORTS		0	/* ports are numbered from 1 */

/**
 * smc_links_init() - initialise the work item that looks after a group's links
 * @group: new group
 */
void smc_links_init(struct smc_rdma_group *group);

/**
 * smc_link_leave() - quiesce a link before it is removed from its group
 * @link: link of a group that has another link
 *
 * Context: process, may sleep. Not concurrently with the end of the group.
 */
void smc_link_leave(struct smc_link *link);

/**
 * smc_link_end_later() - queue the work item that removes a link from its group
 * @link: link after smc_link_leave(); no connection whose stream is up uses it any more
 *
 * Context: process. Not concurrently with the end of the group.
 */
void smc_link_end_later(struct smc_link *link);

/**
 * smc_links_cancel_ends() - cancel the work items that remove links, or wait for running ones
 * @group: dead group. Work items that could queue the removal of one more link have been stopped
 *
 * Context: process, may sleep.
 */
void smc_links_cancel_ends(struct smc_rdma_group *group);

/**
 * smc_links_device_failed() - end the links on a broken device
 * @dev: device that reports IB_EVENT_DEVICE_FATAL
 *
 * Context: any.
 */
void smc_links_device_failed(struct smc_rdma_device *dev);

/**
 * smc_links_watch_port() - note that a port has gone down, or has come back
 * @dev: device that reports the event of the port
 * @port: number of the port
 *
 * A link on a port that is down ends at once if a link at another port can take over, or if the
 * link's first contact is under way. Otherwise the link ends if the port stays down. While the port
 * is down, no new connection uses it.
 *
 * Context: any.
 */
void smc_links_watch_port(struct smc_rdma_device *dev, u32 port);

/**
 * smc_links_seek_port() - try to add a link to each group that lacks one, as a port may be up now
 *
 * Context: any.
 */
void smc_links_seek_port(void);

/**
 * smc_links_shutdown_device() - end the links on a device that goes away
 * @dev: device that was removed from the list
 *
 * DELETE LINK tells the peers.
 *
 * Context: any; work items end the links.
 */
void smc_links_shutdown_device(struct smc_rdma_device *dev);

/**
 * smc_links_check_gids() - end the links whose local address is gone
 * @dev: device that reports IB_EVENT_GID_CHANGE
 * @port: number of the port
 *
 * Context: any.
 */
void smc_links_check_gids(struct smc_rdma_device *dev, u32 port);

/**
 * smc_links_count_on() - count the links of a namespace that use a device
 * @net: namespace; links of dead groups do not count
 * @dev: device; the pointer is only compared
 * @port: number of the port, or SMC_ALL_PORTS
 *
 * Context: process.
 */
unsigned int smc_links_count_on(const struct net *net, const struct smc_rdma_device *dev, u32 port);

#endif
