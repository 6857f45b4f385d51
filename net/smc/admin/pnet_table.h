/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that fill and read the PNET table, for use inside admin/.
 */
#ifndef SMC_ADMIN_PNET_TABLE_H
#define SMC_ADMIN_PNET_TABLE_H

#include <linux/if.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>

#include "admin/pnet.h"

struct netlink_ext_ack;

/* An entry for a network device (ibname is empty) or for a port of an RDMA device. */
struct smc_pnet_entry {
	struct list_head list;
	unsigned long serial;		/* larger than that of any earlier entry */
	char pnetid[SMC_MAX_PNETID_LEN + 1];
	char ifname[IFNAMSIZ];
	int ifindex;			/* 0 while no such device exists */
	bool is_explicit;		/* the device existed when the entry was made */
	char ibname[IB_DEVICE_NAME_MAX];
	u8 ibport;
};

/**
 * smc_pnet_add() - add a network device, an RDMA port or both to the table
 * @net: namespace of the table
 * @pnetid: PNET ID of both
 * @ifname: name of a network device, which may appear later; or NULL
 * @ibname: name of an RDMA device, which may appear later; or NULL. Only in the
 *	initial namespace
 * @ibport: port of the RDMA device
 * @extack: explains the error
 *
 * Context: process; takes RTNL. Return: 0, or -errno if nothing was added.
 */
int smc_pnet_add(struct net *net, const char *pnetid, const char *ifname, const char *ibname,
		 u8 ibport, struct netlink_ext_ack *extack);

/**
 * smc_pnet_remove() - remove all entries with a PNET ID, or all entries
 * @net: namespace of the table
 * @pnetid: PNET ID, as smc_pnet_add() got it; NULL for all
 *
 * Return: number of entries removed.
 */
unsigned int smc_pnet_remove(struct net *net, const char *pnetid);

/**
 * smc_pnet_next() - copy the next entry, in the order in which entries were added
 * @net: namespace of the table
 * @pnetid: copy only entries with this PNET ID; NULL for all
 * @entry: has the serial number of the previous entry, or 0 to get the first; filled
 *
 * A caller that walks the table sees each entry once, even if others are added or
 * removed meanwhile.
 *
 * Return: false if there is no further entry.
 */
bool smc_pnet_next(struct net *net, const char *pnetid, struct smc_pnet_entry *entry);

#endif
