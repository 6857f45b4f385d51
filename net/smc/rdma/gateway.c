// SPDX-License-Identifier: GPL-2.0
/* The search for the router between the ends of a version 2 link. */

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/dst.h>
#include <net/if_inet6.h>
#include <net/neighbour.h>
#include <rdma/ib_cache.h>

#include "path.h"
#include "port.h"

/* Return: the prefix length of the device's smallest subnet that contains @address, or -1. */
static int smc_gateway_prefix4(const struct net_device *ndev, __be32 address)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;
	int prefix = -1;

	if (!in_dev)
		return -1;
	in_dev_for_each_ifa_rcu(ifa, in_dev)
		if (inet_ifa_match(address, ifa))
			prefix = max_t(int, prefix, ifa->ifa_prefixlen);
	return prefix;
}

#if IS_ENABLED(CONFIG_IPV6)
static int smc_gateway_prefix6(const struct net_device *ndev, const struct in6_addr *address)
{
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	struct inet6_ifaddr *ifa;
	int prefix = -1;

	if (!in6_dev)
		return -1;
	list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list)
		if (ipv6_prefix_equal(&ifa->addr, address, ifa->prefix_len))
			prefix = max_t(int, prefix, ifa->prefix_len);
	return prefix;
}
#else
static int smc_gateway_prefix6(const struct net_device *ndev, const struct in6_addr *address)
{
	return -1;
}
#endif

int smc_rdma_prefix_to(const struct ib_gid_attr *own, const u8 *peer_gid)
{
	const struct net_device *ndev;
	struct in6_addr peer;
	int prefix = -1;

	memcpy(&peer, peer_gid, sizeof(peer));

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(own);
	if (!IS_ERR(ndev))
		prefix = ipv6_addr_v4mapped(&peer) ? smc_gateway_prefix4(ndev, peer.s6_addr32[3]) :
						     smc_gateway_prefix6(ndev, &peer);
	rcu_read_unlock();
	return prefix;
}

/*
 * Find out how packets of the port reach the peer. @neigh is the next hop of TCP's route. If the
 * route uses the port's device, the next hop is the router. The router's MAC address is usually
 * known, because TCP has just used it. If the route uses another device, the peer must be in a
 * subnet of the port's device.
 * Return: as smc_rdma_gateway().
 */
static int smc_gateway_of(const struct neighbour *neigh, const struct smc_rdma_port *port,
			  const u8 *peer_gid, struct smc_rdma_gateway *gateway)
{
	if (neigh->dev->type != ARPHRD_ETHER ||
	    !ether_addr_equal(neigh->dev->dev_addr, port->mac))
		return smc_rdma_is_on_link(port->gid, peer_gid) ? 0 : -ENETUNREACH;
	if (!(READ_ONCE(neigh->nud_state) & NUD_VALID) || smc_rdma_gid_is_link_local(peer_gid) ||
	    smc_rdma_gid_is_link_local(port->gid->gid.raw))
		return -ENETUNREACH;
	neigh_ha_snapshot(gateway->mac, neigh, neigh->dev);
	if (neigh->tbl->family == AF_INET)
		ipv6_addr_set_v4mapped(*(const __be32 *)neigh->primary_key, &gateway->addr);
	else
		memcpy(&gateway->addr, neigh->primary_key, sizeof(gateway->addr));
	return 0;
}

int smc_rdma_gateway(const struct smc_path_setup *s, const struct smc_rdma_port *port,
		     const u8 *peer_gid, struct smc_rdma_gateway *gateway)
{
	struct neighbour *neigh;
	int rc;

	if (!s->dst)
		return -ENETUNREACH;
	neigh = dst_neigh_lookup(s->dst, s->dst->ops->family == AF_INET ?
				 (const void *)&s->daddr.s6_addr32[3] : &s->daddr);
	if (!neigh)
		return -ENETUNREACH;
	rc = smc_gateway_of(neigh, port, peer_gid, gateway);
	neigh_release(neigh);
	return rc;
}
