/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The PNET table: which network devices and RDMA ports are attached to the same
 * physical network, by the names that the administrator gave these networks.
 *
 * Network devices are listed in the table of their namespace. RDMA ports are listed
 * once for the host.
 */
#ifndef SMC_ADMIN_PNET_H
#define SMC_ADMIN_PNET_H

#include <linux/types.h>

struct net;
struct net_device;

#define SMC_MAX_PNETID_LEN	16

/**
 * smc_pnet_of_netdev() - the physical network behind a network device
 * @dev: held by the caller
 * @pnetid: SMC_MAX_PNETID_LEN + 1 bytes, set to a NUL-terminated name
 * @is_vouched: set to whether the table has just this device, and had it when the entry was made
 *
 * For a device without an entry of its own, the devices that it sits on are asked: a
 * VLAN's real device, a bond's or team's ports, and so on downwards. The first one with
 * an entry counts.
 *
 * With or without RTNL; not in hard interrupt. Return: whether there is one.
 */
bool smc_pnet_of_netdev(struct net_device *dev, char *pnetid, bool *is_vouched);

/**
 * smc_pnet_of_ibport() - the physical network behind a port of an RDMA device
 * @ibname: name that the table may have it by
 * @port: from 1
 * @pnetid: SMC_MAX_PNETID_LEN + 1 bytes, set to a NUL-terminated name
 *
 * Not in hard interrupt. Return: whether there is one.
 */
bool smc_pnet_of_ibport(const char *ibname, u8 port, char *pnetid);

/* Called by net.c for each namespace. */
int smc_pnet_init_net(struct net *net);
void smc_pnet_exit_net(struct net *net);

/* The netlink family SMC_PNETID and the notifier that follows network devices. */
int smc_pnet_init(void);
void smc_pnet_exit(void);

#endif
