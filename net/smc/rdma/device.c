// SPDX-License-Identifier: GPL-2.0
/* RDMA devices come and go; connections find theirs by route and PNET ID. */

#include <linux/if_vlan.h>
#include <linux/slab.h>
#include <net/dst.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/ib_cache.h>

#include "admin/pnet.h"
#include "device.h"
#include "group.h"

static LIST_HEAD(smc_rdma_devices);
static DEFINE_MUTEX(smc_rdma_devices_lock);
static struct ib_client smc_rdma_client;

static void smc_rdma_device_unused(struct kref *ref)
{
	complete(&container_of(ref, struct smc_rdma_device, users)->unused);
}

static void smc_rdma_device_put(struct smc_rdma_device *dev)
{
	kref_put(&dev->users, smc_rdma_device_unused);
}

/* Any context: the groups end in works of their own. */
static void smc_rdma_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct smc_rdma_device *dev = container_of(handler, struct smc_rdma_device, events);

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		smc_groups_lose_port(dev, SMC_ALL_PORTS);
		break;
	case IB_EVENT_PORT_ERR:
		smc_groups_lose_port(dev, event->element.port_num);
		break;
	case IB_EVENT_GID_CHANGE:
		smc_groups_check_gids(dev, event->element.port_num);
		break;
	default:
		break;
	}
}

/* RMBs are registered by work request, each as a whole. */
static bool smc_rdma_can_register(const struct ib_device_attr *attrs)
{
	return (attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) &&
	       attrs->max_fast_reg_page_list_len >= SMC_SLAB_BYTES >> PAGE_SHIFT;
}

static int smc_rdma_add(struct ib_device *ibdev)
{
	struct smc_rdma_device *dev;

	if (!smc_rdma_can_register(&ibdev->attrs))
		return -EOPNOTSUPP;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	kref_init(&dev->users);
	init_completion(&dev->unused);
	INIT_IB_EVENT_HANDLER(&dev->events, ibdev, smc_rdma_event);
	ib_set_client_data(ibdev, &smc_rdma_client, dev);
	ib_register_event_handler(&dev->events);

	mutex_lock(&smc_rdma_devices_lock);
	list_add_tail(&dev->list, &smc_rdma_devices);
	mutex_unlock(&smc_rdma_devices_lock);
	return 0;
}

static void smc_rdma_remove(struct ib_device *ibdev, void *client_data)
{
	struct smc_rdma_device *dev = client_data;

	mutex_lock(&smc_rdma_devices_lock);
	list_del(&dev->list);
	mutex_unlock(&smc_rdma_devices_lock);

	ib_unregister_event_handler(&dev->events);
	/* The device works until this returns: time to tell the peers. */
	smc_groups_leave_device(dev);
	/* Links and handshakes hold references; both end in bounded time. */
	smc_rdma_device_put(dev);
	wait_for_completion(&dev->unused);
	kfree(dev);
}

static struct ib_client smc_rdma_client = {
	.name	= "smc",
	.add	= smc_rdma_add,
	.remove	= smc_rdma_remove,
};

static bool smc_rdma_port_is_active(struct ib_device *ibdev, u32 port)
{
	enum ib_port_state state;

	return !ib_get_cached_port_state(ibdev, port, &state) && state == IB_PORT_ACTIVE;
}

/* The address that the peer knows the connection by makes the best GID for version 2. */
static void smc_rdma_local_address(const struct sock *sk, union ib_gid *gid)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		memcpy(gid->raw, &sk->sk_v6_rcv_saddr, sizeof(gid->raw));
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_rcv_saddr, (struct in6_addr *)gid->raw);
}

/* What a connection needs of a port. */
struct smc_rdma_need {
	struct sock *sk;
	u8 version;
	const u8 *peer_gid;	/* a routable one, or NULL */
};

static bool smc_rdma_gid_is_ipv4(const u8 *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid);
}

/* Routable GIDs are addresses of IPv4 or IPv6, and a packet has one of these headers. */
static bool smc_rdma_gid_reaches(const struct ib_gid_attr *attr, const struct smc_rdma_need *need)
{
	return !need->peer_gid ||
	       smc_rdma_gid_is_ipv4(attr->gid.raw) == smc_rdma_gid_is_ipv4(need->peer_gid);
}

static bool smc_rdma_gid_belongs(const struct ib_gid_attr *attr, const struct net_device *ndev)
{
	bool belongs;

	if (!ndev)
		return true;
	rcu_read_lock();
	belongs = rcu_dereference(attr->ndev) == ndev;
	rcu_read_unlock();
	return belongs;
}

/*
 * The source GID to use on a port, of network device @ndev unless that is NULL.
 * Version 1 uses RoCE v1 GIDs (RFC 7609 section 3.2), version 2 routable ones.
 */
static const struct ib_gid_attr *smc_rdma_choose_gid(struct ib_device *ibdev, u32 port,
						     const struct smc_rdma_need *need,
						     struct net_device *ndev)
{
	enum ib_gid_type type = need->version == SMC_VERSION_1 ? IB_GID_TYPE_ROCE :
								 IB_GID_TYPE_ROCE_UDP_ENCAP;
	const struct ib_gid_attr *attr;
	struct ib_port_attr props;
	union ib_gid local;
	int i;

	if (need->version != SMC_VERSION_1) {
		smc_rdma_local_address(need->sk, &local);
		attr = rdma_find_gid_by_port(ibdev, &local, type, port, ndev);
		if (!IS_ERR(attr) && smc_rdma_gid_reaches(attr, need))
			return attr;
		if (!IS_ERR(attr))
			rdma_put_gid_attr(attr);
	}
	if (ib_query_port(ibdev, port, &props))
		return NULL;
	for (i = 0; i < props.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == type && smc_rdma_gid_belongs(attr, ndev) &&
		    smc_rdma_gid_reaches(attr, need))
			return attr;
		rdma_put_gid_attr(attr);
	}
	return NULL;
}

/* Return: 0 with @port's GID, MTU, MAC and VLAN filled, or -ENODEV. */
static int smc_rdma_use_port(struct smc_rdma_device *dev, u32 num,
			     const struct smc_rdma_need *need, struct net_device *ndev,
			     struct smc_rdma_port *port)
{
	struct ib_port_attr props;

	if (!rdma_protocol_roce(dev->ibdev, num) || !smc_rdma_port_is_active(dev->ibdev, num))
		return -ENODEV;
	port->gid = smc_rdma_choose_gid(dev->ibdev, num, need, ndev);
	if (!port->gid)
		return -ENODEV;
	port->vlan = 0;
	if (ib_query_port(dev->ibdev, num, &props) ||
	    rdma_read_gid_l2_fields(port->gid, &port->vlan, port->mac)) {
		rdma_put_gid_attr(port->gid);
		return -ENODEV;
	}
	/* "No VLAN" is 0xffff there. */
	if (!(port->vlan < VLAN_N_VID))
		port->vlan = 0;
	port->mtu = props.active_mtu;
	return 0;
}

bool smc_rdma_pnet_of_port(const struct ib_device *ibdev, u32 num, char *pnetid)
{
	const struct device *parent = ibdev->dev.parent;

	return smc_pnet_of_ibport(dev_name(&ibdev->dev), num, pnetid) ||
	       (parent && smc_pnet_of_ibport(dev_name(parent), num, pnetid));
}

static bool smc_rdma_port_is_in(const struct ib_device *ibdev, u32 num, const char *wanted)
{
	char pnetid[SMC_MAX_PNETID_LEN + 1];

	return smc_rdma_pnet_of_port(ibdev, num, pnetid) && !strcmp(pnetid, wanted);
}

/* A port of the network @wanted unless that is NULL, with a GID of @ndev unless that is. */
static int smc_rdma_search(const struct smc_rdma_need *need, const char *wanted,
			   struct net_device *ndev, struct smc_rdma_port *port)
{
	struct smc_rdma_device *dev;
	u32 num;

	list_for_each_entry(dev, &smc_rdma_devices, list) {
		if (!rdma_dev_access_netns(dev->ibdev, sock_net(need->sk)))
			continue;
		rdma_for_each_port(dev->ibdev, num) {
			if (wanted && !smc_rdma_port_is_in(dev->ibdev, num, wanted))
				continue;
			if (smc_rdma_use_port(dev, num, need, ndev, port))
				continue;
			kref_get(&dev->users);
			port->dev = dev;
			return 0;
		}
	}
	return -ENODEV;
}

int smc_rdma_port_find(struct sock *sk, u8 version, const u8 *peer_gid,
		       struct smc_rdma_port *port)
{
	const struct smc_rdma_need need = { .sk = sk, .version = version, .peer_gid = peer_gid };
	struct dst_entry *dst = sk_dst_get(sk);
	char wanted[SMC_MAX_PNETID_LEN + 1];
	struct net_device *ndev;
	bool by_pnet;
	int rc;

	if (!dst)
		return -EHOSTUNREACH;
	/* The route may lose the device, which is not gone before the readers are. */
	rcu_read_lock();
	ndev = READ_ONCE(dst->dev);
	dev_hold(ndev);
	rcu_read_unlock();
	dst_release(dst);

	mutex_lock(&smc_rdma_devices_lock);
	by_pnet = smc_pnet_of_netdev(ndev, wanted);
	rc = smc_rdma_search(&need, by_pnet ? wanted : NULL, ndev, port);
	/* Another device than the route's has no GID of that, and so none of its VLAN. */
	if (rc && by_pnet)
		rc = smc_rdma_search(&need, wanted, NULL, port);
	mutex_unlock(&smc_rdma_devices_lock);

	dev_put(ndev);
	return rc;
}

void smc_rdma_port_copy(struct smc_rdma_port *to, const struct smc_rdma_port *from)
{
	*to = *from;
	kref_get(&to->dev->users);
	rdma_hold_gid_attr(to->gid);
}

void smc_rdma_port_put(struct smc_rdma_port *port)
{
	rdma_put_gid_attr(port->gid);
	smc_rdma_device_put(port->dev);
}

int smc_rdma_devices_for_each(int (*fn)(struct smc_rdma_device *dev, void *arg), void *arg)
{
	struct smc_rdma_device *dev;
	int rc = 0;

	mutex_lock(&smc_rdma_devices_lock);
	list_for_each_entry(dev, &smc_rdma_devices, list) {
		rc = fn(dev, arg);
		if (rc)
			break;
	}
	mutex_unlock(&smc_rdma_devices_lock);
	return rc;
}

int smc_rdma_device_init(void)
{
	return ib_register_client(&smc_rdma_client);
}

void smc_rdma_device_exit(void)
{
	ib_unregister_client(&smc_rdma_client);
}
