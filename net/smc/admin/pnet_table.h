/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The PNET table for those who fill and show it, inside admin/.
 */
#ifndef SMC_ADMIN_PNET_TABLE_H
#define SMC_ADMIN_PNET_TABLE_H

#include <linux/if.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>

#include "admin/pnet.h"

struct netlink_ext_ack;

/* Either a network device (ibname is empty) or a port of an RDMA device. */
struct smc_pnet_entry {
	struct list_head list;
	unsigned long serial;		/* larger than that of any entry before */
	char pnetid[SMC_MAX_PNETID_LEN + 1];
	char ifname[IFNAMSIZ];
	int ifindex;			/* 0 while there is no such device */
	bool is_vouched;		/* whoever added the entry saw the device that it is for */
	char ibname[IB_DEVICE_NAME_MAX];
	u8 ibport;
};

/**
 * smc_pnet_add() - put a network device, an RDMA port or both into the table
 * @net: namespace of the table
 * @pnetid: name of their physical network
 * @ifname: name of a network device that exists or may come to exist, or NULL
 * @ibname: likewise of an RDMA device, or NULL; only in the initial namespace
 * @ibport: its port
 * @extack: explains the error
 *
 * Takes RTNL. Return: 0, or an error; then nothing was added.
 */
int smc_pnet_add(struct net *net, const char *pnetid, const char *ifname, const char *ibname,
		 u8 ibport, struct netlink_ext_ack *extack);

/**
 * smc_pnet_remove() - remove all entries of a physical network
 * @net: namespace of the table
 * @pnetid: its name
 *
 * Return: how many there were.
 */
unsigned int smc_pnet_remove(struct net *net, const char *pnetid);

/**
 * smc_pnet_flush() - remove all entries
 * @net: namespace of the table
 */
void smc_pnet_flush(struct net *net);

/**
 * smc_pnet_next() - copy the entry that was added next
 * @net: namespace of the table
 * @pnetid: of the entries of this physical network; NULL for all
 * @entry: @serial is that of the one before, or 0 for the first; filled
 *
 * Who goes through all of them sees none twice, and misses none, while others come and go.
 *
 * Return: false past the last one.
 */
bool smc_pnet_next(struct net *net, const char *pnetid, struct smc_pnet_entry *entry);

/* The netlink family SMC_PNETID. */
int smc_pnet_netlink_init(void);
void smc_pnet_netlink_exit(void);

#endif
