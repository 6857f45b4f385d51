/* SPDX-License-Identifier: GPL-2.0 */
/* RDMA devices, and which port of which one a TCP connection's route leads to. */
#ifndef SMC_RDMA_DEVICE_H
#define SMC_RDMA_DEVICE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>

#include "wire/clc.h"

struct sock;

/**
 * struct smc_rdma_device - an RDMA device as long as this module may use it
 * @list: in the list of all of them
 * @serial: larger than those of the devices before it in the list
 * @ibdev: the device; valid while a reference is held
 * @users: references; removal waits until they are gone
 * @unused: completed with the last reference
 * @events: tells of ports and GIDs that go away
 * @leaving: its removal has begun: no more link groups
 */
struct smc_rdma_device {
	struct list_head list;
	unsigned long serial;
	struct ib_device *ibdev;
	struct kref users;
	struct completion unused;
	struct ib_event_handler events;
	bool leaving;
};

/**
 * struct smc_rdma_port - one port with the local address to use on it
 * @dev: device, referenced
 * @gid: source GID, referenced; names the port and, for RoCE, the network device
 * @mac: of the network device
 * @vlan: its VLAN, or 0
 * @mtu: what fits the port, the GID's network device and the route
 */
struct smc_rdma_port {
	struct smc_rdma_device *dev;
	const struct ib_gid_attr *gid;
	u8 mac[SMC_MAC_LEN];
	u16 vlan;
	enum ib_mtu mtu;
};

/**
 * smc_rdma_port_find() - the RDMA port for a connection
 * @sk: connected TCP socket
 * @version: of SMC-R; it decides the kind of GID
 * @peer_gid: that the port's is to reach, in version 2; NULL while not known
 * @port: filled on success; release with smc_rdma_port_put()
 *
 * A network device that has a PNET ID uses an RDMA port with the same ID; one
 * without uses the RDMA port that it belongs to. Where that port has no address of the route's
 * device, one of another device of the socket's namespace serves, if that is in the same VLAN. A
 * device that encrypts or wraps what it sends has no port.
 *
 * Context: process; does not sleep, and asks no device.
 * Return: 0; -EHOSTUNREACH without a route; -ENODEV without a port.
 */
int smc_rdma_port_find(struct sock *sk, u8 version, const u8 *peer_gid,
		       struct smc_rdma_port *port);

/**
 * smc_rdma_gateway() - how packets of a version 2 link reach the peer by a router
 * @sk: TCP socket, connected, whose route has a gateway
 * @port: that RDMA is to use
 * @peer_gid: the peer's
 * @mac: filled with the router's address
 *
 * A route by a router that is not on the port's network, as the PNET table allows it, says nothing
 * of the port's. Then the peer has to be in a subnet of the port's device.
 *
 * Context: process.
 * Return: 0 if the peer is on the port's link; 1 if there is a router; -ENETUNREACH if there is
 * no way that can be known: a router without an address, or a link-local GID with one.
 */
int smc_rdma_gateway(struct sock *sk, const struct smc_rdma_port *port, const u8 *peer_gid,
		     u8 *mac);

/**
 * smc_rdma_port_is_active() - whether a port is up
 * @ibdev: device, in use
 * @num: of the port
 *
 * Context: any; asks the RDMA core rather than the device.
 */
bool smc_rdma_port_is_active(struct ib_device *ibdev, u32 num);

/**
 * smc_rdma_port_netdev_rcu() - the network device that a port belongs to
 * @ibdev: device, in use
 * @num: of the port
 *
 * It is that of the port's first GID.
 *
 * Context: under RCU.
 * Return: the device, or NULL.
 */
struct net_device *smc_rdma_port_netdev_rcu(struct ib_device *ibdev, u32 num);

/**
 * smc_rdma_pnet_of_port() - the physical network behind a port, by the PNET table
 * @ibdev: device, in use
 * @num: of the port
 * @pnetid: SMC_MAX_PNETID_LEN + 1 bytes, set to a NUL-terminated name
 *
 * The table may have a device by its own name, which counts first, or by that of its PCI function.
 *
 * Context: not hard interrupt.
 * Return: whether there is one.
 */
bool smc_rdma_pnet_of_port(const struct ib_device *ibdev, u32 num, char *pnetid);

/**
 * smc_rdma_port_copy() - take another reference to what @from refers to
 * @to: filled
 * @from: port
 */
void smc_rdma_port_copy(struct smc_rdma_port *to, const struct smc_rdma_port *from);

/**
 * smc_rdma_port_put() - drop the references to what it refers to
 * @port: port
 *
 * Context: process.
 */
void smc_rdma_port_put(struct smc_rdma_port *port);

/**
 * smc_rdma_devices_for_each() - call @fn for every device, until it returns an error
 * @fn: function
 * @arg: passed on to @fn
 *
 * In the order of their serials.
 *
 * Context: any but hard interrupt; @fn is called under RCU and must not sleep.
 */
int smc_rdma_devices_for_each(int (*fn)(struct smc_rdma_device *dev, void *arg), void *arg);

int smc_rdma_device_init(void);
void smc_rdma_device_exit(void);

#endif
