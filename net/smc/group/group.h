/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What link groups of either path have in common: the lists that they are in, references, the
 * number of their connections, how long they stay without one, and how they end.
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

struct netlink_callback;
struct sk_buff;
struct smc_lgr;
struct smc_lgr_kind;

/* The owners of the peers' addresses are told apart by as many hashes. */
#define SMC_LGR_PREFIX_BUCKETS		32

enum smc_lgr_state {
	SMC_LGR_NEW,		/* first contact under way; nobody else finds it */
	SMC_LGR_ACTIVE,
	SMC_LGR_DEAD,		/* no new connection; ends in its work */
};

/**
 * struct smc_lgr_ops - what differs between the paths
 * @idle_time: jiffies for which the group is kept without connections, 0 if it ends at once
 * @owner: number of the owner of the peer's address, less than SMC_LGR_PREFIX_BUCKETS; NULL: there
 *	is one
 * @shutdown: smc_lgr_mark_dead(), in order if the peer is to hear of it; of a dead group, too
 * @end: end everything that the group has; in its work, may sleep
 * @free: free the group, whose last reference is gone
 * @idle_pages: pages that nobody uses
 * @give_back: give them back, at once or in a work; returns their number
 *
 * The first three are called with the lock of the kind held; @idle_pages and @give_back with that
 * of the shrinker, from smc_lgr_init() until @end.
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
 * @path: index of its lists in struct smc_net
 * @ops: what differs
 * @lock: lists, states and connection counts; interrupts off, nothing sleeps under it
 * @list: all groups of the host
 * @n: their number
 * @ended: woken when one left the lists
 * @net_exit: ends the groups of namespaces that go
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
 * struct smc_lgr - the part of a link group that either path has
 * @kind: those of its path
 * @list: in the list of all groups of the kind
 * @in_net: in that of its namespace
 * @shrink: in the shrinker's
 * @ref: one of the list until the group ended, one of each connection and handshake
 * @net: network namespace; outlives the group, which ends with it
 * @serial: its number: more than that of any other group of the host before, by either path
 * @state: see enum; protected by the lock of the kind, as the following ones
 * @err: errno for the connections, once dead
 * @n_conns: connections and reservations
 * @idle_since: jiffies when the last connection was over
 * @end: ends the group if it is dead, or idle for too long
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
	struct delayed_work end;
};

/**
 * smc_lgr_shrinker_init() - when the host's memory is short, give back what no connection uses
 *
 * Where there is no memory for that it is left undone.
 */
void smc_lgr_shrinker_init(void);
void smc_lgr_shrinker_exit(void);

/**
 * smc_lgr_kind_init() - begin with a path that has no groups
 * @kind: its path and operations are set
 */
void smc_lgr_kind_init(struct smc_lgr_kind *kind);

/**
 * smc_lgr_kind_exit() - end all groups of a path, and wait for them
 * @kind: kind, whose groups nobody makes any more
 *
 * Context: process, may sleep.
 */
void smc_lgr_kind_exit(struct smc_lgr_kind *kind);

/**
 * smc_lgr_init() - a group in no list but the shrinker's
 * @lgr: zeroed, in a group of the path of which all else is initialised
 * @kind: those of its path
 * @net: namespace
 *
 * One reference and one reserved connection are the caller's. It is dead, so that nobody ends it,
 * until smc_lgr_list().
 */
void smc_lgr_init(struct smc_lgr *lgr, struct smc_lgr_kind *kind, struct net *net);

/**
 * smc_lgr_discard() - free a group that was never listed
 * @lgr: group
 */
void smc_lgr_discard(struct smc_lgr *lgr);

/**
 * smc_lgr_list() - enter a group into the lists, which get a reference
 * @lgr: group
 * @state: its first one
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_list(struct smc_lgr *lgr, enum smc_lgr_state state);

/**
 * smc_lgr_activate() - others may join a group that was new
 * @lgr: group
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_activate(struct smc_lgr *lgr);

/**
 * smc_lgr_mark_dead() - have a group end, in its work, which gets the reference of the lists
 * @lgr: group; it may be dead
 * @err: positive errno for the connections
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_mark_dead(struct smc_lgr *lgr, int err);

/**
 * smc_lgr_get() - take a reference
 * @lgr: referenced, or in the lists and these locked
 *
 * Context: any.
 */
static inline void smc_lgr_get(struct smc_lgr *lgr)
{
	kref_get(&lgr->ref);
}

/**
 * smc_lgr_put() - drop a reference
 * @lgr: group, which has ended if this is the last one
 *
 * Context: any but hard interrupt.
 */
void smc_lgr_put(struct smc_lgr *lgr);

/**
 * smc_lgr_reserve() - a connection of its own, and a reference, for the caller
 * @lgr: group that is active
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_reserve(struct smc_lgr *lgr);

/**
 * smc_lgr_unreserve() - a connection is over: make its room free
 * @lgr: group
 *
 * Context: any but hard interrupt.
 */
void smc_lgr_unreserve(struct smc_lgr *lgr);

/**
 * smc_lgr_idle_begin() - the group is idle, or is to be kept for less time than before
 * @lgr: idle group
 *
 * Context: with the lock of the kind.
 */
void smc_lgr_idle_begin(struct smc_lgr *lgr);

/* Whether first contact is over and the group has not ended since. It may end at any time. */
static inline bool smc_lgr_is_active(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->state) == SMC_LGR_ACTIVE;
}

/* Whether the group ends or has ended, which it does for good. */
static inline bool smc_lgr_is_dead(const struct smc_lgr *lgr)
{
	return READ_ONCE(lgr->state) == SMC_LGR_DEAD;
}

/* Whether it has no connection, and waits for the next: with the lock of the kind it stays so. */
static inline bool smc_lgr_is_idle(const struct smc_lgr *lgr)
{
	return !READ_ONCE(lgr->n_conns) && smc_lgr_is_active(lgr);
}

/* The id that user tools know a link group by: existing ones look at the upper 24 bits only. */
static inline u32 smc_lgr_id(const struct smc_lgr *lgr)
{
	return lgr->serial << 8;
}

/* The groups of a kind in a namespace. */
static inline struct smc_net_lgrs *smc_lgrs_of(const struct smc_lgr_kind *kind,
					       const struct net *net)
{
	return &smc_net(net)->lgrs[kind->path];
}

/**
 * smc_lgrs_dump() - show the living groups of a namespace, the newest first
 * @kind: those of which path
 * @skb: message; its socket's namespace
 * @cb: dump, which goes on below the group with the serial ->args[0]
 * @show: shows one, and returns 0 if it is complete
 *
 * One group at a time is referenced, so that @show may sleep.
 *
 * Context: process.
 * Return: 0 if all are shown, or the error of @show.
 */
int smc_lgrs_dump(struct smc_lgr_kind *kind, struct sk_buff *skb, struct netlink_callback *cb,
		  int (*show)(struct sk_buff *skb, struct netlink_callback *cb,
			      struct smc_lgr *lgr));

#endif
