/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link groups of SMC-D: what two ends share for all their connections in one direction
 * of setup, namely the DMBs. There is no link to set up or to lose; a group ends when
 * it was idle for a while, with its namespace, or with the module.
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

/* What a group is found by. */
struct smc_ism_peer {
	struct net *net;		/* of this end */
	struct smc_ism_device *dev;
	enum smc_role role;		/* of this end at first contact */
	u8 version;
	struct smc_clc_ism address;	/* of the peer's device, not its name in messages */
	u8 eid[SMC_EID_LEN];		/* agreed on, version 2: one of this end's */
};

/**
 * struct smc_ism_group - a link group
 * @lgr: what the groups of either path have
 * @peer: who it is with
 * @link_id: a server's name of it in messages, random: a number would count others' groups
 * @was_used: a connection came about: the group is worth keeping for the next
 * @conns: connections that are not over; under smc_ism_lgrs.lock
 * @release: of version 2, the peer's
 * @peer_os: enum smc_os_type
 * @peer_hostname: as the peer says, blank or zero padded
 * @dmbs: the DMBs
 * @trim: gives those back that are idle
 */
struct smc_ism_group {
	struct smc_lgr lgr;
	struct smc_ism_peer peer;
	u32 link_id;
	bool was_used;
	struct list_head conns;
	u8 release;
	u8 peer_os;
	u8 peer_hostname[SMC_HOSTNAME_LEN];
	struct smc_buffer_pool dmbs;
	struct delayed_work trim;
};

/* The groups of SMC-D. */
extern struct smc_lgr_kind smc_ism_lgrs;

#define smc_ism_group_of(ptr)	container_of(ptr, struct smc_ism_group, lgr)

/**
 * smc_ism_group_join() - a group for a new connection
 * @peer: who it is with
 * @is_new: set to true if it was made, else left as it is; NULL: none is to be made
 *
 * A client makes one that it does not know, first contact or not: the namespaces of a host
 * have one GID, so the server may know the group from another of them. Nor does the server's name
 * of a group tell one from another here: a false server would give each connection another name,
 * and have the client keep memory for each.
 *
 * Context: process, may sleep.
 * Return: the group with a reference and a reserved connection, or NULL: there is none, or no
 * memory.
 */
struct smc_ism_group *smc_ism_group_join(const struct smc_ism_peer *peer, bool *is_new);

/**
 * smc_ism_group_add_conn() - a connection that has a reservation is to end with the group
 * @group: group
 * @conn: connection
 *
 * Return: 0, or -ENOLINK if the group is dead.
 */
int smc_ism_group_add_conn(struct smc_ism_group *group, struct smc_ism_conn *conn);

/**
 * smc_ism_group_del_conn() - a connection is over: its reservation is free again
 * @conn: it
 *
 * Context: any but hard interrupt.
 */
void smc_ism_group_del_conn(struct smc_ism_conn *conn);

/**
 * smc_ism_group_alloc_element() - take an element, making a DMB if need be
 * @group: group
 * @size_class: wanted; a smaller one is taken where memory is short
 * @memcg: control group to charge, or NULL
 * @nowait: neither make one nor wait for who makes one
 * @el: filled on success
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM; -EAGAIN if @nowait, and none is free; or -ENOLINK if the group is dead.
 */
int smc_ism_group_alloc_element(struct smc_ism_group *group, u8 size_class,
				struct mem_cgroup *memcg, bool nowait, struct smc_element *el);

#endif
