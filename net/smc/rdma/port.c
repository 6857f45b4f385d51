// SPDX-License-Identifier: GPL-2.0
/* Find the port for a connection, or for another link of a group, by route and PNET ID. */

#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <net/dst.h>
#include <net/geneve.h>
#include <net/gre.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <net/rtnetlink.h>
#include <net/vxlan.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "admin/pnet.h"
#include "device.h"
#include "path.h"
#include "port.h"

/* The cached state is current: the RDMA core updates the cache before it reports an event. */
bool smc_rdma_port_is_active(struct ib_device *ibdev, u32 num)
{
	enum ib_port_state state;

	return !ib_get_cached_port_state(ibdev, num, &state) && state == IB_PORT_ACTIVE;
}

struct net_device *smc_rdma_port_netdev_rcu(struct ib_device *ibdev, u32 num)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(ibdev, num, 0);
	struct net_device *ndev;

	if (IS_ERR(attr))
		return NULL;
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	rdma_put_gid_attr(attr);
	return IS_ERR(ndev) ? NULL : ndev;
}

static u8 smc_rdma_service_level_rcu(struct net_device *ndev, int prio)
{
	const struct net_device *real = is_vlan_dev(ndev) ? vlan_dev_real_dev(ndev) : ndev;

	if (real->num_tc)
		return netdev_get_prio_tc_map(real, prio);
	if (is_vlan_dev(ndev))
		return (vlan_dev_get_egress_qos_mask(ndev, prio) & VLAN_PRIO_MASK) >>
		       VLAN_PRIO_SHIFT;
	return 0;
}

u8 smc_rdma_port_service_level(const struct smc_rdma_port *port, u8 tos)
{
	struct net_device *ndev;
	u8 level = 0;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(port->gid);
	if (!IS_ERR(ndev))
		level = smc_rdma_service_level_rcu(ndev, rt_tos2priority(tos));
	rcu_read_unlock();
	return level;
}

/* Requirements for a port. */
struct smc_rdma_need {
	struct net *net;
	u8 version;
	const u8 *local;	/* local address of the TCP connection, or NULL */
	const u8 *peer_gid;	/* routable GID to reach, or NULL */
	/* GIDs of the peer, or NULL. A subnet of the port must contain at least one of them */
	const struct smc_rdma_gids *near;
	/*
	 * GID of the port that the group uses already, or NULL. The search skips that port. It also
	 * skips a new port if the used port's network device has a smaller subnet with the peer's
	 * GID of @near than the new port has.
	 */
	const struct ib_gid_attr *other;
	bool other_device;	/* the search skips the other ports of the device of @other, too */
	const char *pnetid;	/* PNET ID of the port, or NULL */
	/*
	 * GID of @other if the group's port has no PNET ID, else NULL; a subnet of the new port
	 * must contain it
	 */
	const u8 *beside;
	struct net_device *ndev;	/* network device of the route; NULL for a second link */
	bool by_pnet;		/* the GID may belong to a network device other than @ndev */
	bool is_explicit;	/* the GID may belong to a network device of init_net */
	u16 vlan;
	u32 mtu;		/* path MTU of the TCP connection */
};

static bool smc_rdma_is_kind(const struct net_device *dev, const char *kind)
{
	return dev->rtnl_link_ops && !strcmp(dev->rtnl_link_ops->kind, kind);
}

/*
 * Whether an upper device passes packets on unchanged, except for a VLAN tag or a MAC address. RDMA
 * bypasses upper devices: if an upper device encrypts packets (macsec) or encapsulates them
 * (vxlan), RDMA would send the bytes in plain form.
 */
static bool smc_netdev_is_transparent(const struct net_device *dev)
{
	return is_vlan_dev(dev) || netif_is_bond_master(dev) || netif_is_team_master(dev) ||
	       netif_is_bridge_master(dev) || netif_is_macvlan(dev) || netif_is_failover(dev) ||
	       smc_rdma_is_kind(dev, "ipvlan");
}

/*
 * Whether a device is a tunnel. A tunnel does its own routing, and may list no lower device, so an
 * empty list of lower devices does not show that packets leave unchanged.
 */
static bool smc_rdma_is_tunnel(const struct net_device *dev)
{
	return (dev->type != ARPHRD_ETHER && dev->type != ARPHRD_LOOPBACK) ||
	       netif_is_vxlan(dev) || netif_is_geneve(dev) || netif_is_gretap(dev) ||
	       netif_is_ip6gretap(dev) || smc_rdma_is_kind(dev, "erspan") ||
	       smc_rdma_is_kind(dev, "ip6erspan") || smc_rdma_is_kind(dev, "tun");
}

static int smc_netdev_transforms(struct net_device *dev, struct netdev_nested_priv *priv)
{
	return smc_rdma_is_tunnel(dev) ||
	       (!list_empty(&dev->adj_list.lower) && !smc_netdev_is_transparent(dev));
}

/* Whether a device or one of its lower devices transforms packets. Under RCU. */
static bool smc_rdma_is_overlay(struct net_device *dev)
{
	return smc_netdev_transforms(dev, NULL) ||
	       netdev_walk_all_lower_dev_rcu(dev, smc_netdev_transforms, NULL);
}

static int smc_rdma_note_vlan(struct net_device *dev, struct netdev_nested_priv *priv)
{
	if (is_vlan_dev(dev))
		*(u16 *)priv->data = vlan_dev_vlan_id(dev);
	return 1;
}

/*
 * Return: the VLAN of a device or, as in the RDMA core, of its first lower device; 0 if neither is
 * a VLAN device. Under RCU.
 */
static u16 smc_rdma_vlan_of(struct net_device *dev)
{
	u16 vlan = 0;
	struct netdev_nested_priv priv = { .data = &vlan };

	smc_rdma_note_vlan(dev, &priv);
	if (!vlan)
		netdev_walk_all_lower_dev_rcu(dev, smc_rdma_note_vlan, &priv);
	return vlan;
}

static bool smc_rdma_gid_is_ipv4(const u8 *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid);
}

/* Whether a GID can reach the peer's GID. Both are IP addresses, and must be of the same family. */
static bool smc_rdma_gid_reaches(const struct ib_gid_attr *attr, const struct smc_rdma_need *need)
{
	return !need->peer_gid ||
	       smc_rdma_gid_is_ipv4(attr->gid.raw) == smc_rdma_gid_is_ipv4(need->peer_gid);
}

/*
 * Whether a GID reaches the GID @peer without a router. A subnet of the GID's network device must
 * contain @peer, and the network device of @other must have no smaller subnet that contains @peer.
 * @peer must not be link-local, because a link-local address does not show which network it is in.
 */
static bool smc_rdma_gid_has_near(const struct ib_gid_attr *attr, const u8 *peer,
				  const struct ib_gid_attr *other)
{
	const int prefix = smc_rdma_prefix_to(attr, peer);

	return smc_rdma_gid_is_ipv4(attr->gid.raw) == smc_rdma_gid_is_ipv4(peer) &&
	       !smc_rdma_gid_is_link_local(peer) && prefix >= 0 &&
	       !(other && smc_rdma_prefix_to(other, peer) > prefix);
}

/*
 * Whether the GIDs of a version 1 link leave it open if the link needs a router. A peer of version
 * 1 does not list its GIDs, and a GID of RoCE v1 is usually link-local. In these cases the PNET ID
 * decides or, in a search without one, the subnet of the first port's GID.
 */
static bool smc_rdma_gid_is_vague(const struct ib_gid_attr *attr, const struct smc_rdma_gids *peer)
{
	return attr->gid_type == IB_GID_TYPE_ROCE &&
	       (!peer->n || smc_rdma_gid_is_link_local(attr->gid.raw) ||
		smc_rdma_gid_is_link_local(peer->gid[0]));
}

/*
 * Whether a GID reaches one of the peer's GIDs, and is in the same network as the first port's GID.
 */
static bool smc_rdma_gid_is_near(const struct ib_gid_attr *attr, const struct smc_rdma_need *need)
{
	unsigned int i;

	if (need->beside && (smc_rdma_gid_is_link_local(need->beside) ||
			     !smc_rdma_is_on_link(attr, need->beside)))
		return false;
	if (!need->near)
		return true;
	if (smc_rdma_gid_is_vague(attr, need->near))
		return need->pnetid || need->beside;
	if (smc_rdma_gid_is_link_local(attr->gid.raw))
		return false;
	for (i = 0; i < need->near->n; i++)
		if (smc_rdma_gid_has_near(attr, need->near->gid[i], need->other))
			return true;
	return false;
}

/* Return: the index of the VRF that the network device of a GID is in, or 0. */
static int smc_rdma_l3mdev_of(const struct ib_gid_attr *attr)
{
	const struct net_device *ndev = rdma_read_gid_attr_ndev_rcu(attr);

	return IS_ERR(ndev) ? 0 : l3mdev_master_ifindex_rcu(ndev);
}

/*
 * Whether a GID's network device suits the connection. Without by_pnet the network device must be
 * that of the route. With by_pnet it must be in the same VLAN (RFC 7609 section 3.1) and in the
 * connection's namespace. If the host's administrator has put the route's device into the PNET
 * table, the GID's device may also be in the initial namespace. For a second link, the network
 * device must be in the same VRF as the first link's network device.
 */
static bool smc_rdma_gid_belongs(const struct ib_gid_attr *attr, const struct smc_rdma_need *need)
{
	struct net_device *ndev = rdma_read_gid_attr_ndev_rcu(attr);

	if (IS_ERR(ndev))
		return false;
	if (!need->by_pnet)
		return ndev == need->ndev;
	if (!net_eq(dev_net(ndev), need->net) &&
	    !(need->is_explicit && net_eq(dev_net(ndev), &init_net)))
		return false;
	if (need->other && smc_rdma_l3mdev_of(attr) != smc_rdma_l3mdev_of(need->other))
		return false;
	return !smc_rdma_is_overlay(ndev) && smc_rdma_vlan_of(ndev) == need->vlan;
}

/* The highest rank of a GID. */
#define SMC_GID_BEST	4

/*
 * Rank a GID. Return: the rank; 0 if the GID can't be used. Version 1 uses GIDs of RoCE v1 (RFC
 * 7609 section 3.2). Version 2 uses routable GIDs, preferably the local address of the TCP
 * connection. Link-local addresses come last, because routers don't forward their packets.
 */
static unsigned int smc_rdma_rank_gid(const struct ib_gid_attr *attr,
				      const struct smc_rdma_need *need)
{
	enum ib_gid_type type = need->version == SMC_VERSION_1 ? IB_GID_TYPE_ROCE :
								 IB_GID_TYPE_ROCE_UDP_ENCAP;
	const u8 *gid = attr->gid.raw, *local = need->local;

	if (attr->gid_type != type || !smc_rdma_gid_belongs(attr, need) ||
	    !smc_rdma_gid_reaches(attr, need) || !smc_rdma_gid_is_near(attr, need))
		return 0;
	if (need->version == SMC_VERSION_1)
		return SMC_GID_BEST;
	/* A port for another link needs a GID that shows which network the port is in. */
	if (!local)
		return smc_rdma_gid_is_link_local(gid) ? 0 : SMC_GID_BEST;
	if (!memcmp(gid, local, SMC_GID_LEN))
		return SMC_GID_BEST;
	if (smc_rdma_gid_is_link_local(gid))
		return 1;
	return smc_rdma_gid_is_ipv4(gid) == smc_rdma_gid_is_ipv4(local) ? 3 : 2;
}

/* Choose the source GID on a port. Return: the GID with a reference, or NULL. */
static const struct ib_gid_attr *smc_rdma_choose_gid(struct ib_device *ibdev, u32 num,
						     const struct smc_rdma_need *need)
{
	int i, n = ibdev->port_data[num].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr, *best = NULL;
	unsigned int rank, best_rank = 0;

	for (i = 0; i < n && best_rank < SMC_GID_BEST; i++) {
		attr = rdma_get_gid_attr(ibdev, num, i);
		if (IS_ERR(attr))
			continue;
		rank = smc_rdma_rank_gid(attr, need);
		if (rank > best_rank) {
			swap(best, attr);
			best_rank = rank;
		}
		if (attr)
			rdma_put_gid_attr(attr);
	}
	return best;
}

/*
 * Whether a port may have GIDs of the network device @ndev. The RDMA core gives a port the GIDs of
 * its own network device, and of that device's upper devices.
 */
static bool smc_rdma_port_carries(struct ib_device *ibdev, u32 num, struct net_device *ndev)
{
	struct net_device *own = smc_rdma_port_netdev_rcu(ibdev, num);

	return !own || own == ndev || netdev_has_upper_dev_all_rcu(own, ndev);
}

static bool smc_rdma_port_fits(struct ib_device *ibdev, u32 num, const struct smc_rdma_need *need)
{
	bool has_gids = need->version == SMC_VERSION_1 ? rdma_protocol_roce_eth_encap(ibdev, num) :
							 rdma_protocol_roce_udp_encap(ibdev, num);

	return has_gids && smc_rdma_port_is_active(ibdev, num) &&
	       (need->by_pnet || smc_rdma_port_carries(ibdev, num, need->ndev));
}

/*
 * Return: the largest MTU for the whole path; 0 if the path is too narrow even for RDMA's smallest
 * MTU. A RoCE packet that is too large is dropped, as it can't be fragmented. iboe_get_mtu() leaves
 * room for the headers.
 */
static enum ib_mtu smc_rdma_path_mtu(const struct ib_gid_attr *gid,
				     const struct smc_rdma_need *need)
{
	struct net_device *own = smc_rdma_port_netdev_rcu(gid->device, gid->port_num);
	struct net_device *ndev = rdma_read_gid_attr_ndev_rcu(gid);
	u32 mtu = need->mtu;

	if (own)
		mtu = min(mtu, READ_ONCE(own->mtu));
	if (!IS_ERR(ndev))
		mtu = min(mtu, READ_ONCE(ndev->mtu));
	return iboe_get_mtu(mtu);
}

/* Return: 0 with @port's GID, MTU, MAC and VLAN filled, or -ENODEV. */
static int smc_rdma_use_port(struct smc_rdma_device *dev, u32 num,
			     const struct smc_rdma_need *need, struct smc_rdma_port *port)
{
	if (!smc_rdma_port_fits(dev->ibdev, num, need))
		return -ENODEV;
	port->gid = smc_rdma_choose_gid(dev->ibdev, num, need);
	if (!port->gid)
		return -ENODEV;
	port->vlan = 0;
	port->mtu = smc_rdma_path_mtu(port->gid, need);
	if (!port->mtu || rdma_read_gid_l2_fields(port->gid, &port->vlan, port->mac)) {
		rdma_put_gid_attr(port->gid);
		return -ENODEV;
	}
	/* The RDMA core returns 0xffff if there is no VLAN. */
	if (!(port->vlan < VLAN_N_VID))
		port->vlan = 0;
	return 0;
}

bool smc_rdma_pnet_of_port(const struct ib_device *ibdev, u32 num, char *pnetid)
{
	const struct device *parent = ibdev->dev.parent;

	/* Read the name in ibdev: a rename frees dev_name(&ibdev->dev). */
	return smc_pnet_of_ibport(ibdev->name, num, pnetid) ||
	       (parent && smc_pnet_of_ibport(dev_name(parent), num, pnetid));
}

/* Whether a port has the required PNET ID, or has no PNET ID if it must not have one. */
static bool smc_rdma_port_is_in_network(const struct ib_device *ibdev, u32 num,
					const struct smc_rdma_need *need)
{
	char pnetid[SMC_MAX_PNETID_LEN + 1];

	if (!need->pnetid && !need->beside)
		return true;
	if (!smc_rdma_pnet_of_port(ibdev, num, pnetid))
		return need->beside;
	return need->pnetid && !strcmp(pnetid, need->pnetid);
}

/* Whether the search skips a port because of the port that the group uses already. */
static bool smc_rdma_port_is_skipped(const struct ib_device *ibdev, u32 num,
				     const struct smc_rdma_need *need)
{
	const struct ib_gid_attr *other = need->other;

	return other && other->device == ibdev && (need->other_device || other->port_num == num);
}

/* Return: true with the port filled if a port of @dev meets the needs. */
static bool smc_rdma_search_device(struct smc_rdma_device *dev, const struct smc_rdma_need *need,
				   struct smc_rdma_port *port)
{
	u32 num;

	if (!rdma_dev_access_netns(dev->ibdev, need->net))
		return false;
	rdma_for_each_port(dev->ibdev, num) {
		if (smc_rdma_port_is_skipped(dev->ibdev, num, need) ||
		    !smc_rdma_port_is_in_network(dev->ibdev, num, need))
			continue;
		if (smc_rdma_use_port(dev, num, need, port))
			continue;
		smc_rdma_device_get(dev);
		port->dev = dev;
		return true;
	}
	return false;
}

/* Called under RCU, which keeps the devices. */
static int smc_rdma_search(const struct smc_rdma_need *need, struct smc_rdma_port *port)
{
	struct smc_rdma_device *dev;

	list_for_each_entry_rcu(dev, &smc_rdma_devices, list)
		if (smc_rdma_search_device(dev, need, port))
			return 0;
	return -ENODEV;
}

/*
 * Find a port for the route's device. If the device has a PNET ID, the port must have the same PNET
 * ID, and a port with a GID of the device is preferred. Under RCU.
 */
static int smc_rdma_search_network(struct smc_rdma_need *need, struct smc_rdma_port *port)
{
	char pnetid[SMC_MAX_PNETID_LEN + 1];

	if (smc_rdma_is_overlay(need->ndev))
		return -ENODEV;
	if (!smc_pnet_of_netdev(need->ndev, pnetid, &need->is_explicit))
		return smc_rdma_search(need, port);
	need->pnetid = pnetid;
	if (!smc_rdma_search(need, port))
		return 0;
	need->by_pnet = true;
	return smc_rdma_search(need, port);
}

int smc_rdma_port_find(const struct smc_path_setup *s, u8 version, const u8 *peer_gid,
		       struct smc_rdma_port *port)
{
	struct smc_rdma_need need = {
		.net	  = s->net,
		.version  = version,
		.local	  = s->saddr.s6_addr,
		.peer_gid = peer_gid,
	};
	int rc;

	if (!s->dst)
		return -EHOSTUNREACH;
	/* The route may switch to another device. RCU keeps the old one until readers are done. */
	rcu_read_lock();
	need.ndev = READ_ONCE(s->dst->dev);
	need.vlan = smc_rdma_vlan_of(need.ndev);
	need.mtu = dst_mtu(s->dst);
	rc = smc_rdma_search_network(&need, port);
	rcu_read_unlock();
	return rc;
}

/* Whether the network device of a port's GID is not in @net, but in the initial namespace. */
static bool smc_rdma_port_is_of_host(const struct smc_rdma_port *port, const struct net *net)
{
	const struct net_device *ndev = rdma_read_gid_attr_ndev_rcu(port->gid);

	return !IS_ERR(ndev) && !net_eq(dev_net(ndev), net);
}

int smc_rdma_port_find_other(struct net *net, const struct smc_rdma_port *other,
			     const struct smc_rdma_gids *peer, struct smc_rdma_port *port)
{
	char pnetid[SMC_MAX_PNETID_LEN + 1];
	struct smc_rdma_need need = {
		.net	  = net,
		.version  = other->gid->gid_type == IB_GID_TYPE_ROCE ? SMC_VERSION_1 :
								   SMC_VERSION_2,
		.peer_gid = peer ? NULL : other->gid->gid.raw,
		.near	  = peer,
		.other	  = other->gid,
		.by_pnet  = true,
		.vlan	  = other->vlan,
		.mtu	  = U32_MAX,
	};
	int rc;

	rcu_read_lock();
	need.is_explicit = smc_rdma_port_is_of_host(other, net);
	if (smc_rdma_pnet_of_port(other->dev->ibdev, other->gid->port_num, pnetid))
		need.pnetid = pnetid;
	else
		need.beside = other->gid->gid.raw;
	need.other_device = true;
	rc = smc_rdma_search(&need, port);
	need.other_device = false;
	if (rc)
		rc = smc_rdma_search(&need, port);
	rcu_read_unlock();
	return rc;
}

bool smc_rdma_port_reaches(const struct smc_rdma_port *port, const struct smc_rdma_gids *peer)
{
	char pnetid[SMC_MAX_PNETID_LEN + 1];
	struct smc_rdma_need need = { .near = peer };

	if (smc_rdma_pnet_of_port(port->dev->ibdev, port->gid->port_num, pnetid))
		need.pnetid = pnetid;
	return smc_rdma_gid_is_near(port->gid, &need);
}

void smc_rdma_port_copy(struct smc_rdma_port *to, const struct smc_rdma_port *from)
{
	*to = *from;
	smc_rdma_device_get(to->dev);
	rdma_hold_gid_attr(to->gid);
}

void smc_rdma_port_put(struct smc_rdma_port *port)
{
	rdma_put_gid_attr(port->gid);
	smc_rdma_device_put(port->dev);
}
