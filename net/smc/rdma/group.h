/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link groups: what two hosts share for all their connections in one direction of
 * setup (RFC 7609 section 2.2). Ours have one link.
 */
#ifndef SMC_RDMA_GROUP_H
#define SMC_RDMA_GROUP_H

#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "buffer.h"
#include "llc.h"
#include "path_kind.h"
#include "wire/clc.h"

struct net;
struct smc_link;
struct smc_rdma_conn;
struct smc_rdma_device;
struct smc_rdma_port;

#define SMC_ALL_PORTS		0	/* no port has the number 0 */

enum smc_group_state {
	SMC_GROUP_NEW,		/* first contact under way; nobody else finds it */
	SMC_GROUP_ACTIVE,
	SMC_GROUP_DEAD,		/* no new connection; ends in its work */
};

/*
 * Who the peer is: what a group is found by. The peer claims to be it, but for the address: a
 * server's groups are offered to nobody at another one.
 */
struct smc_peer {
	struct in6_addr addr;	/* of its TCP connection, see admin/address.h */
	u8 id[SMC_PEER_ID_LEN];
	u8 gid[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];	/* compared in version 1 only */
};

/**
 * struct smc_group - a link group
 * @list: in the list of all groups
 * @in_net: in that of its namespace
 * @by_gid: in the table by the peer's GID, from the time when others may join
 * @ref: one of the list until the group ended, one of each connection and handshake
 * @net: network namespace; outlives the group, which ends with it
 * @serial: its number, see admin/lgr_id.h
 * @role: of this end at first contact
 * @version: of SMC
 * @release: of version 2
 * @state: see enum; protected by smc_groups_lock, changed by smc_group_become() only
 * @err: errno for the connections, once dead
 * @tell_peer: end by DELETE LINK
 * @leave_by: jiffies until which a dead group may wait for its peer
 * @retired: no connection joins any more, and the last one ends it; under smc_groups_lock
 * @idle_since: jiffies when the last connection was over
 * @peer: who it is with
 * @peer_os: enum smc_os_type
 * @peer_hostname: as the peer says, blank or zero padded
 * @eid: agreed on, version 2
 * @is_routed: a router is between the ends of the link; version 2
 * @vlan: VLAN or 0
 * @max_conns: agreed on; the server sees to it
 * @n_conns: connections and reservations; likewise
 * @n_had: connections and reservations that it ever had; changed under smc_groups_lock
 * @strays: messages for none of its connections; of the completion queue's only poller
 * @n_spent: connections that are over and whose elements are not reused; under smc_groups_lock
 * @spent_pages: those elements
 * @link: the link
 * @conns: connections by alert token, softirqs off
 * @next_token: hint for the next one
 * @buffers: RMBs and mirrors
 * @llc: link layer control
 * @idle: ends a group without connections after a while
 * @probe: sends TEST LINK on a silent link
 * @end: does what kill asked for
 */
struct smc_group {
	struct list_head list;
	struct list_head in_net;
	struct hlist_node by_gid;
	struct kref ref;
	struct net *net;
	unsigned long serial;
	enum smc_role role;
	u8 version;
	u8 release;
	enum smc_group_state state;
	int err;
	bool tell_peer;
	unsigned long leave_by;
	bool retired;
	unsigned long idle_since;
	struct smc_peer peer;
	u8 peer_os;
	u8 peer_hostname[SMC_HOSTNAME_LEN];
	u8 eid[SMC_EID_LEN];
	bool is_routed;
	u16 vlan;
	u8 max_conns;
	unsigned int n_conns;
	unsigned long n_had;
	u64 strays;
	int n_spent;
	long spent_pages;
	struct smc_link *link;
	struct xarray conns;
	u32 next_token;
	struct smc_buffers buffers;
	struct smc_llc llc;
	struct delayed_work idle;
	struct delayed_work probe;
	struct work_struct end;
};

/**
 * smc_group_create() - a group for a first contact, with its link in state INIT
 * @net: network namespace
 * @role: of this end
 * @version: of SMC
 * @port: local port
 * @peer: its identity
 *
 * It counts one reserved connection, the caller's.
 *
 * Context: process, may sleep.
 * Return: the group with a reference for the caller, or an ERR_PTR: -EUSERS if the peer's address,
 * the namespace or the host has its share of them.
 */
struct smc_group *smc_group_create(struct net *net, enum smc_role role, u8 version,
				   const struct smc_rdma_port *port, const struct smc_peer *peer);

/**
 * smc_group_find_for_server() - a group with room that a new connection may join
 * @net: namespace
 * @version: of SMC
 * @port: of this end
 * @peer: who proposes
 * @eid: enterprise id agreed on, in version 2
 *
 * Return: the group with a reference and a reserved connection, or NULL.
 */
struct smc_group *smc_group_find_for_server(struct net *net, u8 version,
					    const struct smc_rdma_port *port,
					    const struct smc_peer *peer, const u8 *eid);

/**
 * smc_group_find_for_client() - the group of the link that a server named
 * @net: namespace
 * @version: of SMC
 * @peer: who accepts; its address does not count, for the server may have several
 * @qpn: the server's queue pair
 *
 * Return: the group with a reference and a reserved connection, or -ENOENT.
 */
struct smc_group *smc_group_find_for_client(struct net *net, u8 version,
					    const struct smc_peer *peer, u32 qpn);

/**
 * smc_group_unreserve() - a connection is over: make its room free
 * @group: group
 *
 * Context: any but hard interrupt.
 */
void smc_group_unreserve(struct smc_group *group);

/**
 * smc_group_retire() - no new connection is to use the group; those that it has go on
 * @group: group
 *
 * Context: any but hard interrupt.
 */
void smc_group_retire(struct smc_group *group);

/**
 * smc_group_is_idle() - whether it has no connection, and waits for the next
 * @group: group
 *
 * Context: any. Only under smc_groups_lock it stays so.
 */
bool smc_group_is_idle(const struct smc_group *group);

/**
 * smc_group_is_spare() - whether it is idle and may end when memory is short
 * @group: group
 *
 * A group that has just become idle may be the next connection's: its peer may have chosen it.
 *
 * Context: any, as smc_group_is_idle().
 */
bool smc_group_is_spare(const struct smc_group *group);

/**
 * smc_group_end_spare() - end a group if it is spare, since memory is short
 * @group: group
 *
 * Context: process.
 * Return: whether it ends.
 */
bool smc_group_end_spare(struct smc_group *group);

/**
 * smc_group_spend() - a connection is over whose elements the peer may write to until the link ends
 * @group: group, which is retired
 * @pages: the elements
 *
 * If that is more than the host bears, a group ends: the largest of the peer, as its address tells
 * it from others, that has most of it.
 * The connection still counts among the group's.
 *
 * Context: any but hard interrupt.
 */
void smc_group_spend(struct smc_group *group, long pages);

/**
 * smc_group_get() - take a reference
 * @group: referenced, or in the list of all groups and that locked
 *
 * Context: any.
 */
void smc_group_get(struct smc_group *group);

/**
 * smc_group_put() - drop a reference
 * @group: group, which has ended if this is the last one
 *
 * Context: any but hard interrupt.
 */
void smc_group_put(struct smc_group *group);

/**
 * smc_group_activate() - first contact is complete: others may join
 * @group: group
 *
 * Return: 0, or -ENOLINK if the group died meanwhile.
 */
int smc_group_activate(struct smc_group *group);

/**
 * smc_group_is_active() - whether first contact is over and the group has not ended since
 * @group: group
 *
 * Context: any. It may end at any time.
 */
bool smc_group_is_active(const struct smc_group *group);

/**
 * smc_group_is_dead() - whether the group ends or has ended, which it does for good
 * @group: group
 *
 * Context: any.
 */
bool smc_group_is_dead(const struct smc_group *group);

/**
 * smc_group_kill() - end a group and all its connections, in a work of its own
 * @group: group
 * @err: positive errno for the connections
 *
 * Context: any.
 */
void smc_group_kill(struct smc_group *group, int err);

/**
 * smc_group_leave() - end a group whose peer has left, when it has got the answer to that
 * @group: group
 *
 * Context: any.
 */
void smc_group_leave(struct smc_group *group);

/**
 * smc_group_time_left() - how long the end of a group may wait for the peer before it asks again
 * @group: dead
 *
 * The limit is one for all that is to be said, and may be brought forward meanwhile.
 *
 * Return: jiffies, 0 if it is time to go.
 */
long smc_group_time_left(const struct smc_group *group);

/**
 * smc_group_error_of() - the errno that TCP would give where a work request failed
 * @status: the work request's
 */
int smc_group_error_of(enum ib_wc_status status);

/**
 * smc_groups_lose_port() - a port went down or a device broke
 * @dev: device
 * @port: number or SMC_ALL_PORTS
 *
 * Context: any.
 */
void smc_groups_lose_port(struct smc_rdma_device *dev, u32 port);

/**
 * smc_groups_leave_device() - a device that still works goes away: tell the peers
 * @dev: device
 *
 * Context: any; the groups end in works of their own.
 */
void smc_groups_leave_device(struct smc_rdma_device *dev);

/**
 * smc_groups_check_gids() - end the groups whose local address is gone
 * @dev: device
 * @port: number
 *
 * Context: any.
 */
void smc_groups_check_gids(struct smc_rdma_device *dev, u32 port);

/**
 * smc_groups_leave_net() - have all groups of a namespace end that ends itself
 * @net: namespace
 *
 * Context: process; it does not wait for them.
 */
void smc_groups_leave_net(struct net *net);

/**
 * smc_groups_end() - end all groups of a namespace, or all, and wait for them
 * @net: namespace or NULL
 *
 * Context: process, may sleep, but for no longer than SMC_GROUP_LEAVE lets peers take part.
 */
void smc_groups_end(struct net *net);

/**
 * smc_group_next() - the groups of a namespace, the newest first
 * @net: namespace
 * @last: serial of the group before the one wanted, or 0
 *
 * Context: process.
 * Return: the next one that is not dead, with a reference, or NULL.
 */
struct smc_group *smc_group_next(struct net *net, unsigned long last);

/**
 * smc_groups_for_each() - call @fn for every group of a namespace until it returns an error
 * @net: namespace
 * @fn: function
 * @arg: passed on to @fn
 *
 * Context: process; @fn may not sleep.
 */
int smc_groups_for_each(struct net *net, int (*fn)(struct smc_group *group, void *arg), void *arg);

#endif
