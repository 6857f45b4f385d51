/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link groups of SMC-D. Connections of a namespace share a link group, and so its DMBs, if this end
 * has the same role in them, and the peer's device, the SMC version and the EID are the same. There
 * is no link to set up or to lose. A group ends after it was idle for a while, or with its
 * namespace, or with the module.
 */
#ifndef SMC_ISM_GROUP_H
#define SMC_ISM_GROUP_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "device.h"
#include "group/group.h"
#include "memory/buffer.h"
#include "path_kind.h"

struct mem_cgroup;
struct net;
struct smc_ism_conn;

#define SMC_ISM_GROUP_MAX_CONNS	255

/* Key by which a group is found. */
struct smc_ism_key {
	struct net *net;		/* of this end */
	struct smc_ism_device *dev;
	enum smc_role role;		/* of this end, the same in all connections of the group */
	u8 version;
	struct smc_clc_ism address;	/* of the peer's device, as smc_ism_device_to() gives it */
	u8 eid[SMC_EID_LEN];		/* the agreed EID in version 2, otherwise zero */
};

/**
 * struct smc_ism_group - a link group
 * @lgr: common part of the groups of both paths
 * @key: key of the group
 * @link_id: id by which a server's messages name the group; random, because a serial number would
 *	reveal how many groups other users have
 * @was_used: a connection was established: the group is worth keeping for the next one
 * @conns: connections that are not over; under smc_ism_lgrs.lock
 * @dmbs: pool of the DMBs
 * @trim: work that frees idle DMBs
 */
struct smc_ism_group {
	struct smc_lgr lgr;
	struct smc_ism_key key;
	u32 link_id;
	bool was_used;
	struct list_head conns;
	struct smc_buffer_pool dmbs;
	struct delayed_work trim;
};

/* The groups of SMC-D. */
extern struct smc_lgr_kind smc_ism_lgrs;

#define smc_ism_group_of(ptr)	container_of(ptr, struct smc_ism_group, lgr)

/**
 * smc_ism_group_join() - find or create a group for a new connection
 * @key: key of the group
 * @is_new: points to false; set to true if the group is created. If @is_new is NULL, no group is
 *	created
 *
 * A client without a matching group creates one, even if the server does not call the connection a
 * first contact: the server may have made its group for a client in another namespace of this host,
 * and each namespace has groups of its own. The server's @link_id is not part of the key. If
 * @link_id were part of it, a malicious server could give each connection another @link_id, and
 * make the client keep memory for each.
 *
 * Context: process, may sleep.
 * Return: the group with a reference and a reserved connection; NULL if there is no memory, or if
 * no group matches and @is_new is NULL.
 */
struct smc_ism_group *smc_ism_group_join(const struct smc_ism_key *key, bool *is_new);

/**
 * smc_ism_group_add_conn() - enter a connection in its group's list, so that it ends with the group
 * @group: group that @conn has its reservation in; may be dead
 * @conn: connection that has a reservation
 *
 * Return: 0, or -ENOLINK if the group is dead.
 */
int smc_ism_group_add_conn(struct smc_ism_group *group, struct smc_ism_conn *conn);

/**
 * smc_ism_group_del_conn() - remove a connection that is over, and drop its reservation
 * @conn: connection, which keeps its reference to the group
 *
 * Context: any but hard interrupt.
 */
void smc_ism_group_del_conn(struct smc_ism_conn *conn);

/**
 * smc_ism_group_alloc_element() - allocate an element, and a DMB for it if necessary
 * @group: group that the caller has a reference to
 * @size_class: wanted size class; a smaller element is allocated if memory is short
 * @memcg: control group to charge, or NULL
 * @nowait: neither allocate a DMB nor wait for a thread that allocates one
 * @el: filled on success
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM; -EAGAIN if @nowait, and no element is free; -EBUSY if other threads take too
 * long to allocate a DMB; or -ENOLINK if the group is dead.
 */
int smc_ism_group_alloc_element(struct smc_ism_group *group, u8 size_class,
				struct mem_cgroup *memcg, bool nowait, struct smc_element *el);

#endif
