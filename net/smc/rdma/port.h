/* SPDX-License-Identifier: GPL-2.0 */
/* The ports of RDMA devices, and the choice of a port for a TCP connection. */
#ifndef SMC_RDMA_PORT_H
#define SMC_RDMA_PORT_H

#include <linux/in6.h>
#include <rdma/ib_verbs.h>

#include "device.h"
#include "wire/clc.h"

struct smc_path_setup;

/**
 * struct smc_rdma_port - a port with the local address to use
 * @dev: device, referenced
 * @gid: source GID, referenced; names the port and, for RoCE, the network device
 * @mac: MAC address of the network device
 * @vlan: VLAN of the network device, or 0
 * @mtu: largest MTU that the port, the GID's network device and the route allow
 */
struct smc_rdma_port {
	struct smc_rdma_device *dev;
	const struct ib_gid_attr *gid;
	u8 mac[SMC_MAC_LEN];
	u16 vlan;
	enum ib_mtu mtu;
};

static inline bool smc_rdma_gid_is_link_local(const u8 *gid)
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/**
 * smc_rdma_port_find() - find the RDMA port for a connection
 * @s: setup
 * @version: version of SMC-R; it determines the type of the GID
 * @peer_gid: in version 2, the peer's GID, which the port's GID must be able to reach; NULL if that
 *	GID is not known yet
 * @port: filled on success; release with smc_rdma_port_put()
 *
 * If the route's network device has a PNET ID, an RDMA port with the same PNET ID is used.
 * Otherwise the RDMA port of the route's network device is used. A port found by PNET ID may have
 * no GID of the route's device. In that case a GID of another network device is used. This other
 * device has to be in the same VLAN and in the connection's namespace. If the host's administrator
 * has put the route's device into the PNET table, the other device may also be in the initial
 * namespace. A network device that encrypts or encapsulates packets is never used.
 *
 * Context: process; doesn't sleep, and sends no command to a device.
 * Return: 0; -EHOSTUNREACH if there is no route; -ENODEV if no port fits.
 */
int smc_rdma_port_find(const struct smc_path_setup *s, u8 version, const u8 *peer_gid,
		       struct smc_rdma_port *port);

/* GIDs of a peer. */
struct smc_rdma_gids {
	unsigned int n;
	u8 gid[SMC_CLC_MAX_GIDS][SMC_GID_LEN];
};

/**
 * smc_rdma_port_find_other() - find a port for another link of a group
 * @net: namespace of the group
 * @other: port of the link that the group has
 * @peer: GIDs of the peer; NULL if they are not known yet
 * @port: filled on success; release with smc_rdma_port_put()
 *
 * A port of another device is preferred, because a device may fail with all its ports.
 *
 * The new port has the PNET ID, the VLAN and the VRF of @other. If @other has no PNET ID, the new
 * port has no PNET ID either, and a subnet of the new port's network device contains the GID of
 * @other. Nothing else would show that both ports are in the same network.
 *
 * If @peer is not NULL, a subnet of the new port's network device contains one of the peer's GIDs,
 * so that the link needs no router. The network device of @other has no smaller subnet that
 * contains this GID. In version 1 these two rules do not apply if @peer has no GID, or if the new
 * port's GID or the peer's GID is link-local.
 *
 * Context: process; doesn't sleep.
 * Return: 0; -ENODEV if no port fits.
 */
int smc_rdma_port_find_other(struct net *net, const struct smc_rdma_port *other,
			     const struct smc_rdma_gids *peer, struct smc_rdma_port *port);

/**
 * smc_rdma_port_reaches() - whether a subnet of a port's network device contains a peer's GID
 * @port: port of this end, with its GID
 * @peer: GIDs of the peer; it is enough if a subnet contains one of them
 *
 * In version 1 there may be no GID of the peer, or one of the two GIDs may be link-local. In these
 * cases the result is true if the port has a PNET ID, and otherwise false.
 *
 * Context: any but hard interrupt.
 */
bool smc_rdma_port_reaches(const struct smc_rdma_port *port, const struct smc_rdma_gids *peer);

/**
 * smc_rdma_prefix_to() - get the prefix length of the subnet that contains a peer's GID
 * @own: GID of a port, whose network device has the subnets
 * @peer_gid: the peer's GID
 *
 * Context: any.
 * Return: the prefix length, or the longest one if several subnets contain the GID; -1 if no subnet
 * contains the GID.
 */
int smc_rdma_prefix_to(const struct ib_gid_attr *own, const u8 *peer_gid);

/* Whether a subnet of the network device of @own contains the peer's GID. */
static inline bool smc_rdma_is_on_link(const struct ib_gid_attr *own, const u8 *peer_gid)
{
	return smc_rdma_prefix_to(own, peer_gid) >= 0;
}

/* The router to a peer; all zeros if there is none. */
struct smc_rdma_gateway {
	struct in6_addr addr;	/* an IPv4 address is mapped to IPv6 */
	u8 mac[SMC_MAC_LEN];
};

/**
 * smc_rdma_gateway() - find the router to the peer of a version 2 link
 * @s: setup whose route has a gateway
 * @port: port that the link is to use
 * @peer_gid: the peer's GID
 * @gateway: filled if there is a router
 *
 * If the port was found by PNET ID, the route may use a network device other than the port's. The
 * port may then be unable to reach the route's router, so the peer has to be in a subnet of the
 * port's device.
 *
 * Context: process.
 * Return:
 * - if the route uses the port's device: 0 with @gateway filled; or -ENETUNREACH if the router's
 *   MAC address is not known, or if the port's or the peer's GID is link-local, because no router
 *   forwards packets of link-local addresses
 * - if the route uses another device: 0 if the peer is in a subnet of the port's device; else
 *   -ENETUNREACH
 * - without a route or a next hop: -ENETUNREACH
 */
int smc_rdma_gateway(const struct smc_path_setup *s, const struct smc_rdma_port *port,
		     const u8 *peer_gid, struct smc_rdma_gateway *gateway);

/**
 * smc_rdma_port_is_active() - whether a port is up
 * @ibdev: device, in use
 * @num: number of the port
 *
 * Context: any; reads the RDMA core's cache.
 */
bool smc_rdma_port_is_active(struct ib_device *ibdev, u32 num);

/**
 * smc_rdma_port_netdev_rcu() - get the network device that a port belongs to
 * @ibdev: device, in use
 * @num: number of the port
 *
 * This is the network device of the port's first GID.
 *
 * Context: RCU read lock held.
 * Return: the device, or NULL.
 */
struct net_device *smc_rdma_port_netdev_rcu(struct ib_device *ibdev, u32 num);

/**
 * smc_rdma_pnet_of_port() - get the PNET ID of a port from the PNET table
 * @ibdev: device, in use
 * @num: number of the port
 * @pnetid: SMC_MAX_PNETID_LEN + 1 bytes, set to a NUL-terminated name
 *
 * An entry in the table may name the RDMA device, or the device's PCI function. An entry that names
 * the RDMA device takes precedence.
 *
 * Context: not hard interrupt.
 * Return: true if there is an entry.
 */
bool smc_rdma_pnet_of_port(const struct ib_device *ibdev, u32 num, char *pnetid);

/**
 * smc_rdma_port_service_level() - get the service level of a type of service
 * @port: port of this end, with its GID
 * @tos: IPv4's type of service or IPv6's traffic class
 *
 * Linux derives a priority from @tos. As for RDMA_CM, the traffic classes of the port's network
 * device map this priority to the service level. If the device has no traffic classes, but a VLAN,
 * the VLAN's egress map does so. If the device has neither, the service level is 0.
 *
 * Context: any.
 * Return: the service level, which adapters use as the 802.1p priority and for their queues.
 */
u8 smc_rdma_port_service_level(const struct smc_rdma_port *port, u8 tos);

/**
 * smc_rdma_port_copy() - copy a port, and take references to its device and GID
 * @to: filled
 * @from: port to copy
 */
void smc_rdma_port_copy(struct smc_rdma_port *to, const struct smc_rdma_port *from);

/**
 * smc_rdma_port_put() - drop the references to a port's device and GID
 * @port: port to release
 *
 * Context: process.
 */
void smc_rdma_port_put(struct smc_rdma_port *port);

#endif
