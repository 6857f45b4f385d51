/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The common part of SMC-R's and SMC-D's link groups: the lists that they are in, references, the
 * number of their connections, how long they stay without a connection, and how they end.
 */
#ifndef SMC_GROUP_GROUP_H
#define SMC_GROUP_GROUP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "admin/net.h"
#include "path_kind.h"
#include "wire/clc.h"

struct netlink_callback;
struct sk_buff;
struct smc_lgr;
struct smc_lgr_kind;

/* Number of values of the hash that @owner of struct smc_lgr_ops returns. */
#define SMC_LGR_OWNERS			32

enum smc_lgr_state {
	SMC_LGR_NEW,		/* first contact under way; no other connection joins */
	SMC_LGR_ACTIVE,
	SMC_LGR_DEAD,		/* no new connection joins; the group's work ends it */
};

/**
 * struct smc_lgr_ops - operations that differ between the paths
 * @idle_time: returns for how many jiffies the group is kept without connections, 0 if it ends at
 *	once
 * @owner: returns a hash of the owner of the peer's address, less than SMC_LGR_OWNERS;
 *	NULL: all groups count as one owner's
 * @shutdown: calls smc_lgr_mark_dead(), and arranges for the peer to be told, if possible; is also
 *	called for a dead group
 * @end: ends everything that the group has; is called in the group's work, may sleep
 * @free: frees the group, whose last reference is gone
 * @idle_pages: returns the number of pages that no connection uses
 * @give_back: frees the pages that no connection uses, at once or in a work; returns their number
 *
 * @idle_time, @owner and @shutdown are called with the lock of the kind held. @idle_pages and
 * @give_back are called with the shrinker's lock held, from smc_lgr_init() until @end.
 */
struct smc_lgr_ops {
	unsigned long (*idle_time)(const struct smc_lgr *lgr);
	unsigned int (*owner)(const struct smc_lgr *lgr);
	void (*shutdown)(struct smc_lgr *lgr);
	void (*end)(struct smc_lgr *lgr);
	void (*free)(struct smc_lgr *lgr);
	unsigned long (*idle_pages)(struct smc_lgr *lgr);
	unsigned long (*give_back)(struct smc_lgr *lgr);
};

/**
 * struct smc_lgr_kind - the link groups of one path
 * @path: the path; index of the kind's lists in struct smc_net
 * @ops: operations of the path
 * @lock: protects lists, states and connection counts; taken with interrupts off
 * @list: all groups of the kind on the host
 * @n: number of groups in @list
 * @ended: woken when a group has left the lists
 * @net_exit: ends the groups of a namespace that ends
 */
struct smc_lgr_kind {
	enum smc_path_kind path;
	const struct smc_lgr_ops *ops;
	spinlock_t lock;
	struct list_head list;
	unsigned int n;
	wait_queue_head_t ended;
	struct smc_net_exit net_exit;
};

/**
 * struct smc_lgr - common part of the link groups of both paths
 * @kind: the link groups of the same path
 * @list: entry in the kind's list of all groups
 * @in_net: entry in the kind's list of the namespace
 * @shrink: entry in the shrinker's list
 * @ref: references: the lists hold one until the group has ended; each connection and each
 *	handshake holds one
 * @net: network namespace; valid while the group is in the lists
 * @serial: serial number, larger than those of all earlier groups of the host on either path
 * @state: see enum smc_lgr_state; like the fields below, protected by the kind's lock
 * @err: errno for the connections of a dead group
 * @n_conns: number of connections and reservations
 * @idle_since: time in jiffies when the group last became idle
 * @release: release of version 2 that both ends use: the peer's or this module's, the lower one.
 *	This field and the next two are set on first contact
 * @peer_os: enum smc_os_type of the peer; version 2
 * @peer_hostname: host name of the peer, as the peer says; blank or zero padded; version 2
 * @end: work that ends the group if it is dead, or was idle for too long
 */
struct smc_lgr {
	struct smc_lgr_kind *kind;
	struct list_head list;
	struct list_head in_net;
	struct list_head shrink;
	struct kref ref;
	struct net *net;
	unsigned long serial;
	enum smc_lgr_state state;
	int err;
	unsigned int n_conns;
	unsigned long idle_since;
	u8 release;
	u8 peer_os;
	u8 peer_hostname[SMC_HOSTNAME_LEN];
	struct delayed_work end;
};

/**
 * smc_lgr_shrinker_init() - register the shrinker
 *
 * When the host's memory is short, the shrinker frees memory that no connection uses. If the
 * shrinker itself can't be allocated, the module works without it.
 */
void smc_lgr_shrinker_init(void);
void smc_lgr_shrinker_exit(void);

/**
 * smc_lgr_kind_init() - prepare for the link groups of a path
 * @kind: kind, whose path and operations are set
 */
void smc_lgr_kind_init(struct smc_lgr_kind *kind);

/**
 * smc_lgr_kind_exit() - end all groups of a path, and wait for their end
 * @kind: kind; no thread creates groups of this kind any more
 *
 * Context: process, may sleep.
 */
void smc_lgr_kind_exit(struct smc_lgr_kind *kind);

/**
 * smc_lgr_init() - initialise a group, and enter it in the shrinker's list
 * @lgr: common part of the group, zeroed; the rest of the group is initialised already, because the
 *	shrinker may use it
 * @kind: the link groups of the path
 * @net: namespace, not referenced: it ends only when its groups have left the lists
 *
 * The caller gets one reference and one reserved connection. Until smc_lgr_list() sets the group's
 * first state, the state is SMC_LGR_DEAD: smc_lgr_mark_dead() does nothing to a dead group, so
 * nothing can end a group that is not in the lists.
 */
void smc_lgr_init(struct smc_lgr *lgr, struct smc_lgr_kind *kind, struct net *net);

/**
 * smc_lgr_discard() - free a group that was never listed
 * @lgr: group that only the caller and the shrinker know; the caller's reference is dropped
 */
void smc_lgr_discard(struct smc_lgr *lgr);

/**
 * smc_lgr_list() - enter a group in the lists, which get a reference
 * @lgr: group that smc_lgr_init() has initialised, and that is in no list of groups yet
 * @state: first state of the group
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_list(struct smc_lgr *lgr, enum smc_lgr_state state);

/**
 * smc_lgr_activate() - let other connections join a group that was new
 * @lgr: group in SMC_LGR_NEW
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_activate(struct smc_lgr *lgr);

/**
 * smc_lgr_mark_dead() - queue the work that ends a group; the work gets the lists' reference
 * @lgr: group; nothing happens if it is dead
 * @err: positive errno for the connections
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_mark_dead(struct smc_lgr *lgr, int err);

/**
 * smc_lgr_get() - take a reference
 * @lgr: group that the caller has a reference to, or has found in the lists under their lock
 *
 * Context: any.
 */
static inline void smc_lgr_get(struct smc_lgr *lgr)
{
	kref_get(&lgr->ref);
}

/**
 * smc_lgr_put() - drop a reference
 * @lgr: group, which is freed with its last reference; the lists hold one until the group has ended
 *
 * Context: any but hard interrupt.
 */
void smc_lgr_put(struct smc_lgr *lgr);

/**
 * smc_lgr_reserve() - reserve a connection, and take a reference, for the caller
 * @lgr: active group
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_reserve(struct smc_lgr *lgr);

/**
 * smc_lgr_unreserve() - drop the reservation of a connection that is over
 * @lgr: group in any state, in which the caller has a reservation; the caller's reference stays
 *
 * Context: any but hard interrupt.
 */
void smc_lgr_unreserve(struct smc_lgr *lgr);

/**
 * smc_lgr_unreserve_locked() - drop the reservation of a connection that is over
 * @lgr: as for smc_lgr_unreserve()
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_unreserve_locked(struct smc_lgr *lgr);

/**
 * smc_lgr_idle_begin() - start the idle time of a group that became idle, or was retired while idle
 * @lgr: idle group
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_idle_begin(struct smc_lgr *lgr);

/* Whether first contact is over and the group is not dead. It may die at any time. */
static inline bool smc_lgr_is_active(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->state) == SMC_LGR_ACTIVE;
}

/*
 * Whether the group is ending or has ended, or is not in the lists yet. A group that was in the
 * lists and dies stays dead.
 */
static inline bool smc_lgr_is_dead(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->state) == SMC_LGR_DEAD;
}

/* Whether the group waits for its next connection. The answer holds under the kind's lock only. */
static inline bool smc_lgr_is_idle(const struct smc_lgr *lgr)
{
	return !READ_ONCE(lgr->n_conns) && smc_lgr_is_active(lgr);
}

/* Return: the id of a group for user space. Existing tools look at the upper 24 bits only. */
static inline u32 smc_lgr_id(const struct smc_lgr *lgr)
{
	return lgr->serial << 8;
}

/* Return: the groups of a kind in a namespace. */
static inline struct smc_net_lgrs *smc_lgrs_of(const struct smc_lgr_kind *kind,
					       const struct net *net)
{
	return &smc_net(net)->lgrs[kind->path];
}

/**
 * smc_lgr_note_peer() - note the peer's release, operating system and host name
 * @lgr: group of version 2 that is created for the connection
 * @fc: what the peer's ACCEPT or CONFIRM says of these
 */
void smc_lgr_note_peer(struct smc_lgr *lgr, const struct smc_clc_first_contact *fc);

/**
 * smc_lgr_put_v2() - put the netlink attributes common to all version 2 groups
 * @skb: buffer of the message
 * @attr: SMC_NLA_LGR_R_V2_COMMON or SMC_NLA_LGR_D_V2_COMMON
 * @lgr: group of version 2
 * @eid: the group's EID
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_lgr_put_v2(struct sk_buff *skb, int attr, const struct smc_lgr *lgr, const u8 *eid);

/**
 * smc_lgrs_dump() - show the groups of a namespace that are not dead, the newest first
 * @kind: the link groups of a path
 * @skb: netlink message; the namespace is that of its socket
 * @cb: dump, which goes on with serial numbers below ->args[0]
 * @show: shows a group, and returns 0 if the message has room for it
 *
 * The group that is shown is referenced, and no lock is held, so @show may sleep.
 *
 * Context: process.
 * Return: 0 if all are shown, or the error of @show.
 */
int smc_lgrs_dump(struct smc_lgr_kind *kind, struct sk_buff *skb, struct netlink_callback *cb,
		  int (*show)(struct sk_buff *skb, struct netlink_callback *cb,
			      struct smc_lgr *lgr));

#endif
