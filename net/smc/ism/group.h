/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link groups of SMC-D: what two ends share for all their connections in one direction
 * of setup, namely the DMBs. There is no link to set up or to lose; a group ends when
 * it was idle for a while, with its namespace, or with the module.
 */
#ifndef SMC_ISM_GROUP_H
#define SMC_ISM_GROUP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "device.h"
#include "memory/slab.h"
#include "path_kind.h"

struct mem_cgroup;
struct net;
struct smc_ism_conn;

#define SMC_ISM_GROUP_MAX_CONNS	255

enum smc_ism_group_state {
	SMC_ISM_GROUP_NEW,	/* first contact under way; others of the same peer wait */
	SMC_ISM_GROUP_ACTIVE,
	SMC_ISM_GROUP_DEAD,	/* no new connection; ends in its work */
};

/* What a group is found by. */
struct smc_ism_peer {
	struct net *net;		/* of this end */
	struct smc_ism_device *dev;
	enum smc_role role;		/* of this end at first contact */
	u8 version;
	struct smc_ism_gid gid;		/* of the peer */
	u32 link_id;			/* the server's name of the group; only clients compare it */
	u8 eid[SMC_EID_LEN];		/* agreed on, version 2; only servers compare it */
};

/**
 * struct smc_ism_group - a link group
 * @list: in the list of all groups
 * @ref: one of the list, one of each connection and of each rendezvous
 * @peer: who it is with
 * @id: name for users
 * @state: see enum; protected, as the following, by smc_ism_groups_lock
 * @err: errno for the connections, once dead
 * @n_conns: connections and reservations
 * @conns: connections that are not over
 * @release: of version 2, the peer's
 * @peer_os: enum smc_os_type
 * @peer_hostname: as the peer says, blank or zero padded
 * @lock: serialises what follows
 * @closed: no more DMBs are made
 * @dmbs: the DMBs
 * @dmb_bytes: of all of them
 * @end: ends the group if it is dead, or idle
 */
struct smc_ism_group {
	struct list_head list;
	struct kref ref;
	struct smc_ism_peer peer;
	u32 id;
	enum smc_ism_group_state state;
	int err;
	unsigned int n_conns;
	struct list_head conns;
	u8 release;
	u8 peer_os;
	u8 peer_hostname[SMC_HOSTNAME_LEN];
	struct mutex lock;
	bool closed;
	struct list_head dmbs;
	u64 dmb_bytes;
	struct delayed_work end;
};

/* A DMB: a slab that the peer may write into. */
struct smc_dmb {
	struct smc_slab slab;
	u64 token;	/* what the device calls it */
};

static inline u64 smc_dmb_token(const struct smc_slab *slab)
{
	return container_of(slab, struct smc_dmb, slab)->token;
}

/**
 * smc_ism_group_for_server() - a group for a new connection
 * @peer: who it is with; its link id is not used
 * @first_contact: set to whether the group is new
 *
 * First contacts of one peer follow one another.
 *
 * Context: process, may sleep.
 * Return: the group with a reference and a reserved connection; -ENOMEM; -ETIMEDOUT if
 * another first contact does not end.
 */
struct smc_ism_group *smc_ism_group_for_server(const struct smc_ism_peer *peer,
					       bool *first_contact);

/**
 * smc_ism_group_for_client() - the group that a server named
 * @peer: who it is with
 *
 * One that is not known is made, first contact or not: the namespaces of a host have one
 * GID, so the server may know the group from another of them.
 *
 * Context: process, may sleep.
 * Return: the group with a reference and a reserved connection, or -ENOMEM.
 */
struct smc_ism_group *smc_ism_group_for_client(const struct smc_ism_peer *peer);
void smc_ism_group_get(struct smc_ism_group *group);
void smc_ism_group_put(struct smc_ism_group *group);

/**
 * smc_ism_group_activate() - first contact is complete: others may join
 *
 * Return: 0, or -ENOLINK if the group died meanwhile.
 */
int smc_ism_group_activate(struct smc_ism_group *group);

/**
 * smc_ism_group_kill() - end a group and all its connections, in a work of its own
 * @err: positive errno for the connections
 *
 * Context: any but hard interrupt.
 */
void smc_ism_group_kill(struct smc_ism_group *group, int err);

/**
 * smc_ism_group_enter() - a connection that has a reservation is to end with the group
 *
 * Return: 0, or -ENOLINK if the group is dead.
 */
int smc_ism_group_enter(struct smc_ism_group *group, struct smc_ism_conn *conn);

/**
 * smc_ism_group_leave() - a connection is over: its reservation is free again
 * @conn: it, if it ever was made
 *
 * Context: any but hard interrupt.
 */
void smc_ism_group_leave(struct smc_ism_group *group, struct smc_ism_conn *conn);

/**
 * smc_ism_group_take_element() - take an element, making a DMB if need be
 * @size_class: wanted; a smaller one is taken where memory is short
 * @memcg: control group to charge, or NULL
 * @el: filled on success
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM, or -ENOLINK if the group is dead.
 */
int smc_ism_group_take_element(struct smc_ism_group *group, u8 size_class,
			       struct mem_cgroup *memcg, struct smc_element *el);

/**
 * smc_ism_groups_end() - end all groups of a namespace, or all, and wait for it
 * @net: namespace or NULL
 *
 * Context: process, may sleep.
 */
void smc_ism_groups_end(struct net *net);

/**
 * smc_ism_groups_for_each() - call @fn for every group until it returns an error
 *
 * Context: process; @fn may not sleep.
 */
int smc_ism_groups_for_each(int (*fn)(struct smc_ism_group *group, void *arg), void *arg);

#endif
