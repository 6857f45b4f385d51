// SPDX-License-Identifier: GPL-2.0
/*
 * Netlink dumps of link groups, links and devices. A dump may sleep, so it holds a reference to one
 * group at a time. cb->args[0] is the serial number of the last object that was shown: groups come
 * in descending order, devices in ascending order.
 */

#include <linux/pci.h>
#include <linux/timekeeping.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_cache.h>

#include "admin/netlink.h"
#include "admin/pnet.h"
#include "admin/sysctl.h"
#include "compat.h"
#include "device.h"
#include "group.h"
#include "link.h"
#include "links.h"
#include "port.h"
#include "show.h"

/* Values of SMC_NLA_LINK_STATE and SMC_NLA_LGR_R_TYPE, as user-space tools know them. */
enum {
	SMC_SHOW_LINK_INACTIVE = 1,
	SMC_SHOW_LINK_ACTIVATING,
	SMC_SHOW_LINK_ACTIVE,
};

enum {
	SMC_SHOW_GROUP_NONE,
	SMC_SHOW_GROUP_SINGLE,
	SMC_SHOW_GROUP_SYMMETRIC,
	SMC_SHOW_GROUP_ASYMMETRIC_PEER,
	SMC_SHOW_GROUP_ASYMMETRIC_LOCAL,
};

#define SMC_SHOW_GID_LEN	40

/* The port of a link, read while the link is up: afterwards its GID may be gone. */
struct smc_show_port {
	int ifindex;
	char pnetid[SMC_MAX_PNETID_LEN + 1];
};

/* The state of a link, and the name of its device; "" if the link has released the device. */
struct smc_show_link {
	u32 state;
	u32 age;	/* of the state, in seconds */
	char device[IB_DEVICE_NAME_MAX];
};

/*
 * Return: the index of a network device; 0 if it is not in @net. Namespaces may share an RDMA
 * device, but its network device is in only one of them.
 */
static int smc_show_ifindex(const struct net_device *ndev, const struct net *net)
{
	return !IS_ERR_OR_NULL(ndev) && net_eq(dev_net(ndev), net) ? ndev->ifindex : 0;
}

static bool smc_show_port_of(struct smc_link *link, struct smc_show_port *port)
{
	bool up;

	port->pnetid[0] = '\0';
	spin_lock_bh(&link->lock);
	up = smc_link_is_up(link);
	if (up) {
		smc_rdma_pnet_of_port(link->port.dev->ibdev, link->port_num, port->pnetid);
		rcu_read_lock();
		port->ifindex = smc_show_ifindex(rdma_read_gid_attr_ndev_rcu(link->port.gid),
						 link->group->lgr.net);
		rcu_read_unlock();
	}
	spin_unlock_bh(&link->lock);
	return up;
}

/* Fill in the port of a group's first link that is up. Return: whether there is such a link. */
static bool smc_show_port_of_group(struct smc_rdma_group *group, struct smc_show_port *port)
{
	unsigned int index = 0;
	struct smc_link *link;
	bool up = false;

	while (!up && (link = smc_rdma_group_next_link(group, &index))) {
		up = smc_show_port_of(link, port);
		smc_link_put(link);
	}
	return up;
}

static u32 smc_show_state(const struct smc_link *link)
{
	if (smc_link_is_inactive(link))
		return SMC_SHOW_LINK_INACTIVE;
	return link->is_confirmed ? SMC_SHOW_LINK_ACTIVE : SMC_SHOW_LINK_ACTIVATING;
}

static void smc_show_look_at_link(const struct smc_link *link, struct smc_show_link *shown)
{
	const struct smc_rdma_group *group = link->group;

	shown->device[0] = '\0';
	spin_lock_irq(&smc_rdma_lgrs.lock);
	shown->state = smc_show_state(link);
	shown->age = ktime_get_seconds() - link->state_since;
	/* A link holds its device until it is out of its group, or the group is dead. */
	if (!smc_lgr_is_dead(&group->lgr) && group->links[link->index] == link)
		strscpy(shown->device, link->port.dev->ibdev->name, sizeof(shown->device));
	spin_unlock_irq(&smc_rdma_lgrs.lock);
}

/* Return: the type of a group. Only links that connections may use count. */
static u8 smc_show_group_type(struct smc_rdma_group *group)
{
	unsigned int n, shared;

	rcu_read_lock();
	n = smc_rdma_group_count_links(group);
	shared = smc_rdma_group_shares(group);
	rcu_read_unlock();
	if (n < 2)
		return n ? SMC_SHOW_GROUP_SINGLE : SMC_SHOW_GROUP_NONE;
	if (shared & SMC_LINKS_SHARE_LOCAL)
		return SMC_SHOW_GROUP_ASYMMETRIC_LOCAL;
	return shared ? SMC_SHOW_GROUP_ASYMMETRIC_PEER : SMC_SHOW_GROUP_SYMMETRIC;
}

static int smc_show_put_buffers(struct sk_buff *skb, const struct smc_rdma_group *group)
{
	const struct smc_buffer_pool *pools = group->buffers.pools;
	struct smc_buffer_pool_bytes rmbs = smc_buffer_pool_bytes(&pools[SMC_BUFFER_RMB]);
	struct smc_buffer_pool_bytes sndbufs = smc_buffer_pool_bytes(&pools[SMC_BUFFER_SNDBUF]);
	u8 type = SMC_BUF_PHYSICAL;

	if (rmbs.virtual || sndbufs.virtual)
		type = rmbs.physical || sndbufs.physical ? SMC_BUF_MIXED : SMC_BUF_VIRTUAL;
	return nla_put_u8(skb, SMC_NLA_LGR_R_BUF_TYPE, type) ?:
	       nla_put_uint(skb, SMC_NLA_LGR_R_RMB_ALLOC, rmbs.physical + rmbs.virtual) ?:
	       nla_put_uint(skb, SMC_NLA_LGR_R_SNDBUF_ALLOC, sndbufs.physical + sndbufs.virtual);
}

static int smc_show_put_v2(struct sk_buff *skb, const struct smc_rdma_group *group)
{
	struct nlattr *nest;

	if (smc_lgr_put_v2(skb, SMC_NLA_LGR_R_V2_COMMON, &group->lgr, group->eid))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, SMC_NLA_LGR_R_V2);
	if (!nest ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_V2_DIRECT, !smc_rdma_peer_is_routed(&group->peer)) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_V2_MAX_CONNS, group->max_conns) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_V2_MAX_LINKS, group->max_links))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int smc_show_put_last_loss(struct sk_buff *skb, const struct smc_rdma_group *group)
{
	struct smc_link_loss loss;

	spin_lock_irq(&smc_rdma_lgrs.lock);
	loss = group->last_loss;
	spin_unlock_irq(&smc_rdma_lgrs.lock);
	if (!loss.number)
		return 0;
	return nla_put_u8(skb, SMC_NLA_LGR_R_LOST_LINK, loss.number) ?:
	       nla_put_u32(skb, SMC_NLA_LGR_R_LOST_AGE, ktime_get_seconds() - loss.since) ?:
	       nla_put_string(skb, SMC_NLA_LGR_R_LOST_REASON, loss.why);
}

static int smc_show_put_group(struct sk_buff *skb, struct netlink_callback *cb,
			      struct smc_rdma_group *group)
{
	struct smc_show_port port;

	if (!smc_show_port_of_group(group, &port) || !smc_netlink_may_see_host(cb))
		port.pnetid[0] = '\0';
	if (nla_put_u32(skb, SMC_NLA_LGR_R_ID, smc_lgr_id(&group->lgr)) ||
	    nla_put_u32(skb, SMC_NLA_LGR_R_CONNS_NUM, READ_ONCE(group->lgr.n_conns)) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_ROLE, group->role) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_TYPE, smc_show_group_type(group)) ||
	    nla_put_u8(skb, SMC_NLA_LGR_R_VLAN_ID, group->vlan) ||
	    nla_put_u16(skb, SMC_NLA_LGR_R_VLAN, group->vlan) ||
	    nla_put_u64_64bit(skb, SMC_NLA_LGR_R_NET_COOKIE, group->lgr.net->net_cookie,
			      SMC_NLA_LGR_R_PAD) ||
	    nla_put_string(skb, SMC_NLA_LGR_R_PNETID, port.pnetid) ||
	    smc_show_put_last_loss(skb, group) ||
	    smc_show_put_buffers(skb, group))
		return -EMSGSIZE;
	return group->version == SMC_VERSION_2 ? smc_show_put_v2(skb, group) : 0;
}

static int smc_show_group(struct sk_buff *skb, struct netlink_callback *cb, struct smc_lgr *lgr)
{
	struct smc_netlink_msg m;

	return smc_netlink_open(&m, skb, cb, SMC_GEN_LGR_SMCR) ?:
	       smc_netlink_close(&m, smc_show_put_group(skb, cb, smc_rdma_group_of(lgr)));
}

static int smc_show_put_link(struct sk_buff *skb, struct smc_link *link)
{
	char gid[SMC_SHOW_GID_LEN], peer_gid[SMC_SHOW_GID_LEN];
	struct smc_show_link shown;
	struct smc_show_port port;

	smc_show_look_at_link(link, &shown);
	snprintf(gid, sizeof(gid), "%pI6", link->gid);
	snprintf(peer_gid, sizeof(peer_gid), "%pI6", link->peer.gid);
	if (nla_put_u8(skb, SMC_NLA_LINK_ID, link->number) ||
	    nla_put_be32(skb, SMC_NLA_LINK_UID, cpu_to_be32(link->user_id)) ||
	    nla_put_be32(skb, SMC_NLA_LINK_PEER_UID, cpu_to_be32(link->peer_user_id)) ||
	    nla_put_u32(skb, SMC_NLA_LINK_CONN_CNT, atomic_read(&link->n_conns)) ||
	    nla_put_u32(skb, SMC_NLA_LINK_STATE, shown.state) ||
	    nla_put_u32(skb, SMC_NLA_LINK_STATE_AGE, shown.age) ||
	    nla_put_u8(skb, SMC_NLA_LINK_IB_PORT, link->port_num) ||
	    nla_put_string(skb, SMC_NLA_LINK_GID, gid) ||
	    nla_put_string(skb, SMC_NLA_LINK_PEER_GID, peer_gid) ||
	    (shown.device[0] && nla_put_string(skb, SMC_NLA_LINK_IB_DEV, shown.device)))
		return -EMSGSIZE;
	return smc_show_port_of(link, &port) ?
	       nla_put_u32(skb, SMC_NLA_LINK_NET_DEV, port.ifindex) : 0;
}

static int smc_show_links(struct sk_buff *skb, struct netlink_callback *cb,
			  struct smc_rdma_group *group)
{
	struct smc_netlink_msg m;
	struct smc_link *link;
	unsigned int index = 0;
	int rc = 0;

	while (!rc && (link = smc_rdma_group_next_link(group, &index))) {
		rc = smc_netlink_open(&m, skb, cb, SMC_GEN_LINK_SMCR) ?:
		     smc_netlink_close(&m, smc_show_put_link(skb, link));
		smc_link_put(link);
	}
	return rc;
}

/* Put the messages of a group and its links: either all of them or none. */
static int smc_show_group_with_links(struct sk_buff *skb, struct netlink_callback *cb,
				     struct smc_lgr *lgr)
{
	const unsigned char *before = skb_tail_pointer(skb);
	int rc;

	rc = smc_show_group(skb, cb, lgr) ? : smc_show_links(skb, cb, smc_rdma_group_of(lgr));
	if (rc)
		nlmsg_trim(skb, before);
	return rc;
}

static int smc_show_dump_groups(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_lgrs_dump(&smc_rdma_lgrs, skb, cb, smc_show_group);
}

static int smc_show_dump_links(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_lgrs_dump(&smc_rdma_lgrs, skb, cb, smc_show_group_with_links);
}

/*
 * Put the first two ports of a device: user-space tools know only two. Context: RCU read lock held.
 */
static int smc_show_put_ports(struct sk_buff *skb, const struct smc_rdma_device *dev,
			      bool with_pnet)
{
	static const int attrs[] = { SMC_NLA_DEV_PORT, SMC_NLA_DEV_PORT2 };
	struct net *net = sock_net(skb->sk);
	struct ib_device *ibdev = dev->ibdev;
	char pnetid[SMC_MAX_PNETID_LEN + 1];
	struct smc_netlink_port port;
	u32 num;

	for (num = 1; num <= ibdev->phys_port_cnt && num <= ARRAY_SIZE(attrs); num++) {
		port = (struct smc_netlink_port) {
			.pnetid	 = pnetid,
			.ifindex = smc_show_ifindex(smc_rdma_port_netdev_rcu(ibdev, num), net),
			.active	 = smc_rdma_port_is_active(ibdev, num),
			.links	 = smc_links_count_on(net, dev, num),
		};
		pnetid[0] = '\0';
		port.pnetid_by_user = with_pnet && smc_rdma_pnet_of_port(ibdev, num, pnetid);
		if (smc_netlink_put_port(skb, attrs[num - 1], &port))
			return -EMSGSIZE;
	}
	return 0;
}

/* Put the PCI attributes, all of which existing tools need. FID and CHID exist on IBM Z only. */
static int smc_show_put_pci(struct sk_buff *skb, const struct ib_device *ibdev, bool with_id)
{
	const struct device *parent = ibdev->dev.parent;
	const struct pci_dev *pci = parent && dev_is_pci(parent) ? to_pci_dev(parent) : NULL;

	return nla_put_u32(skb, SMC_NLA_DEV_PCI_FID, 0) ?:
	       nla_put_u16(skb, SMC_NLA_DEV_PCI_CHID, 0) ?:
	       nla_put_u16(skb, SMC_NLA_DEV_PCI_VENDOR, pci ? pci->vendor : 0) ?:
	       nla_put_u16(skb, SMC_NLA_DEV_PCI_DEVICE, pci ? pci->device : 0) ?:
	       nla_put_string(skb, SMC_NLA_DEV_PCI_ID, pci && with_id ? pci_name(pci) : "");
}

static int smc_show_put_device(struct sk_buff *skb, struct netlink_callback *cb,
			       const struct smc_rdma_device *dev)
{
	u32 links = smc_links_count_on(sock_net(skb->sk), dev, SMC_ALL_PORTS);
	bool host = smc_netlink_may_see_host(cb);

	return nla_put_string(skb, SMC_NLA_DEV_IB_NAME, dev->ibdev->name) ?:
	       nla_put_u32(skb, SMC_NLA_DEV_USE_CNT, links) ?:
	       nla_put_u8(skb, SMC_NLA_DEV_IS_CRIT, links > 0) ?:
	       smc_show_put_pci(skb, dev->ibdev, host) ?:
	       smc_show_put_ports(skb, dev, host);
}

static int smc_show_device(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct smc_rdma_device *dev)
{
	struct smc_netlink_msg m;

	return smc_netlink_open(&m, skb, cb, SMC_GEN_DEV_SMCR) ?:
	       smc_netlink_close(&m, smc_show_put_device(skb, cb, dev));
}

static int smc_show_dump_devices(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct smc_rdma_device *dev;
	int rc = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &smc_rdma_devices, list) {
		if (!rdma_dev_access_netns(dev->ibdev, sock_net(skb->sk)) ||
		    dev->serial <= cb->args[0])
			continue;
		rc = smc_show_device(skb, cb, dev);
		if (rc)
			break;
		cb->args[0] = dev->serial;
	}
	rcu_read_unlock();
	return rc;
}

const struct smc_netlink_source smc_rdma_netlink_source = {
	.dump = {
		[SMC_NETLINK_GET_LGR_SMCR]  = smc_show_dump_groups,
		[SMC_NETLINK_GET_LINK_SMCR] = smc_show_dump_links,
		[SMC_NETLINK_GET_DEV_SMCR]  = smc_show_dump_devices,
	},
};
