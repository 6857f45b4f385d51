/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link groups: what two hosts share for all their connections in one direction of
 * setup (RFC 7609 section 2.2). Ours have one link.
 */
#ifndef SMC_RDMA_GROUP_H
#define SMC_RDMA_GROUP_H

#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "admin/stats.h"
#include "mr_buffer.h"
#include "group/group.h"
#include "llc.h"
#include "path_kind.h"
#include "wire/clc.h"

struct net;
struct smc_link;
struct smc_rdma_conn;
struct smc_rdma_device;
struct smc_rdma_port;

#define SMC_ALL_PORTS		0	/* no port has the number 0 */

/*
 * Who the peer is: what a group is found by. The peer claims to be it, but for the address: a
 * server's groups are offered to nobody at another one, and a client's joined at another one only
 * if the server there proves that the link is its own.
 */
struct smc_peer {
	struct in6_addr addr;	/* of its TCP connection, see admin/address.h */
	u8 id[SMC_PEER_ID_LEN];
	u8 gid[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];	/* compared in version 1 only */
};

/**
 * struct smc_group - a link group
 * @lgr: what the groups of either path have
 * @by_gid: in the table by the peer's GID, from the time when others may join
 * @role: of this end at first contact
 * @version: of SMC
 * @release: of version 2
 * @tell_peer: end by DELETE LINK
 * @shutdown_deadline: jiffies until which a dead group may wait for its peer
 * @retired: no connection joins any more, and the last one ends it; under smc_rdma_lgrs.lock
 * @peer: who it is with
 * @peer_os: enum smc_os_type
 * @peer_hostname: as the peer says, blank or zero padded
 * @eid: agreed on, version 2
 * @is_routed: a router is between the ends of the link; version 2
 * @vlan: VLAN or 0
 * @max_conns: agreed on; the server sees to it
 * @n_had: connections and reservations that it ever had; changed under smc_rdma_lgrs.lock
 * @unknown_tokens: messages for none of its connections; of the completion queue's only poller
 * @n_guesses: CLC messages that named the group and could not prove it; under
 *	smc_rdma_lgrs.lock
 * @n_quarantined: connections that are over and whose elements are not reused; under
 *	smc_rdma_lgrs.lock
 * @quarantined_pages: those elements
 * @link: the link
 * @conns: connections by the index in their alert tokens, softirqs off
 * @next_index: hint for the next one
 * @buffers: RMBs and send buffers
 * @llc: link layer control
 * @probe: sends TEST LINK on a silent link
 */
struct smc_group {
	struct smc_lgr lgr;
	struct hlist_node by_gid;
	enum smc_role role;
	u8 version;
	u8 release;
	bool tell_peer;
	unsigned long shutdown_deadline;
	bool retired;
	struct smc_peer peer;
	u8 peer_os;
	u8 peer_hostname[SMC_HOSTNAME_LEN];
	u8 eid[SMC_EID_LEN];
	bool is_routed;
	u16 vlan;
	u8 max_conns;
	unsigned long n_had;
	u64 unknown_tokens;
	unsigned int n_guesses;
	int n_quarantined;
	long quarantined_pages;
	struct smc_link *link;
	struct xarray conns;
	u32 next_index;
	struct smc_mr_buffers buffers;
	struct smc_llc llc;
	struct delayed_work probe;
};

/* The groups of SMC-R. */
extern struct smc_lgr_kind smc_rdma_lgrs;

#define smc_group_of(ptr)	container_of(ptr, struct smc_group, lgr)

static inline void smc_group_get(struct smc_group *group)
{
	smc_lgr_get(&group->lgr);
}

static inline void smc_group_put(struct smc_group *group)
{
	smc_lgr_put(&group->lgr);
}

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
 * @port: of this end
 * @peer: who accepts
 * @r: what its ACCEPT says of the link
 *
 * It is proven if the group was made with a server at the same address, or by the number of the
 * link's first packet.
 *
 * Return: the group with a reference and a reserved connection; -ENOENT if there is none; or
 * -EHOSTUNREACH if there is one that the server has not proven, or at another port.
 */
struct smc_group *smc_group_find_for_client(struct net *net, u8 version,
					    const struct smc_rdma_port *port,
					    const struct smc_peer *peer, const struct smc_clc_r *r);

/**
 * smc_group_retire() - no new connection is to use the group; those that it has go on
 * @group: group
 *
 * Context: any but hard interrupt.
 */
void smc_group_retire(struct smc_group *group);

/**
 * smc_group_note_wrong_link() - a CONFIRM named another link: after some the group is retired
 * @group: group, of a server
 *
 * A program at the peer's address must not try out all links.
 *
 * Context: any but hard interrupt.
 */
void smc_group_note_wrong_link(struct smc_group *group);

/**
 * smc_group_is_spare() - whether it is idle and may end when memory is short
 * @group: group
 *
 * A group that has just become idle may be the next connection's: its peer may have chosen it.
 *
 * Context: any, as smc_lgr_is_idle().
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
 * smc_group_quarantine() - keep the elements of a connection that is over until the link ends
 * @group: group, which is retired
 * @pages: the elements
 *
 * If that is more than the host bears, a group ends: the largest of the peer, as its address tells
 * it from others, that has most of it.
 * The connection still counts among the group's.
 *
 * Context: any but hard interrupt.
 */
void smc_group_quarantine(struct smc_group *group, long pages);

/**
 * smc_group_activate() - first contact is complete: others may join
 * @group: group
 *
 * Return: 0, or -ENOLINK if the group died meanwhile.
 */
int smc_group_activate(struct smc_group *group);

/**
 * smc_group_terminate() - end a group and all its connections, in a work of its own
 * @group: group
 * @err: positive errno for the connections
 *
 * Context: any.
 */
void smc_group_terminate(struct smc_group *group, int err);

/**
 * smc_group_on_violation() - count and log what the peer did, and end the group
 * @group: group
 * @what: what no correct peer does
 *
 * Context: any but hard interrupt.
 */
void smc_group_on_violation(struct smc_group *group, enum smc_violation what);

/**
 * smc_group_peer_left() - end a group whose peer has left, when it has got the answer to that
 * @group: group
 *
 * Context: any.
 */
void smc_group_peer_left(struct smc_group *group);

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
 * smc_groups_port_down() - a port went down or a device broke
 * @dev: device
 * @port: number or SMC_ALL_PORTS
 *
 * Context: any.
 */
void smc_groups_port_down(struct smc_rdma_device *dev, u32 port);

/**
 * smc_groups_shutdown_device() - a device that still works goes away: tell the peers
 * @dev: device
 *
 * Context: any; the groups end in works of their own.
 */
void smc_groups_shutdown_device(struct smc_rdma_device *dev);

/**
 * smc_groups_check_gids() - end the groups whose local address is gone
 * @dev: device
 * @port: number
 *
 * Context: any.
 */
void smc_groups_check_gids(struct smc_rdma_device *dev, u32 port);

/**
 * smc_groups_count_on() - how many living groups of a namespace use a device
 * @net: namespace
 * @dev: device
 * @port: number or SMC_ALL_PORTS
 *
 * Context: process.
 */
unsigned int smc_groups_count_on(const struct net *net, const struct smc_rdma_device *dev,
				 u32 port);

#endif
