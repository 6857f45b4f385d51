/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The PNET table tells which network devices and RDMA ports are attached to the same
 * physical network. The administrator gives each physical network a name, its PNET ID.
 *
 * Each namespace has a table for its network devices. RDMA ports are listed once for
 * the host.
 */
#ifndef SMC_ADMIN_PNET_H
#define SMC_ADMIN_PNET_H

#include <linux/types.h>

struct net;
struct net_device;
struct notifier_block;

#define SMC_MAX_PNETID_LEN	16

/**
 * smc_pnet_of_netdev() - get the PNET ID of a network device
 * @dev: held by the caller
 * @pnetid: SMC_MAX_PNETID_LEN + 1 bytes, set to a NUL-terminated name
 * @is_explicit: set to whether the entry is for @dev itself, and was made while @dev existed
 *
 * For a device without an entry, the first lower device that has an entry counts: the
 * real device of a VLAN, a port of a bond or team, and so on downwards.
 *
 * Context: with or without RTNL; not hard interrupt. Return: true if there is an entry.
 */
bool smc_pnet_of_netdev(struct net_device *dev, char *pnetid, bool *is_explicit);

/**
 * smc_pnet_of_ibport() - get the PNET ID of a port of an RDMA device
 * @ibname: name of the device
 * @port: port number, from 1
 * @pnetid: SMC_MAX_PNETID_LEN + 1 bytes, set to a NUL-terminated name
 *
 * Context: not hard interrupt. Return: true if there is an entry.
 */
bool smc_pnet_of_ibport(const char *ibname, u8 port, char *pnetid);

/**
 * smc_pnet_register_notifier() - register a function to be called after an RDMA port gets a PNET ID
 * @nb: the function, which may sleep; its arguments carry no information
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int smc_pnet_register_notifier(struct notifier_block *nb);

/**
 * smc_pnet_unregister_notifier() - undo smc_pnet_register_notifier(), and wait for calls of @nb
 * @nb: the function
 *
 * Context: process, may sleep.
 */
void smc_pnet_unregister_notifier(struct notifier_block *nb);

/* The notifier for network devices. */
int smc_pnet_init(void);
void smc_pnet_exit(void);

/* The netlink family SMC_PNETID. */
int smc_pnet_netlink_init(void);
void smc_pnet_netlink_exit(void);

/* net.c calls these for each namespace. */
int smc_pnet_init_net(struct net *net);
void smc_pnet_exit_net(struct net *net);

#endif
