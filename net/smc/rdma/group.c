// SPDX-License-Identifier: GPL-2.0
/* Life of link groups. */

#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/slab.h>
#include <linux/sched/signal.h>
#include <net/ipv6.h>
#include <net/netns/hash.h>
#include <rdma/ib_cache.h>

#include "admin/address.h"
#include "admin/lgr_id.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "conn.h"
#include "group.h"
#include "link.h"
#include "message.h"
#include "workqueue.h"

/* How long a group without connections is kept, so that the next needs no first contact. */
#define SMC_GROUP_IDLE	(600 * HZ)
/* The client waits longer, so that normally the server ends the group. */
#define SMC_GROUP_IDLE_CLIENT	(610 * HZ)

/* After so long it is not just between two connections of a program, where memory is short. */
#define SMC_GROUP_SPARE		HZ

/* How long a group that ends in order waits until its peer has heard of it, and says so. */
#define SMC_GROUP_LEAVE		(2 * HZ)
/* Where its namespace ends. All others that end, of any tenant, wait for that. */
#define SMC_GROUP_LEAVE_NET	(HZ / 5)
/* Namespaces may begin to end meanwhile: so often it is looked at how long there is still. */
#define SMC_GROUP_LOOK		(HZ / 20)

/*
 * A peer makes as many groups as it claims to be hosts, each with a queue pair and memory of its
 * own. So there are bounds for the owner of an address, a namespace and the host, and an owner or a
 * namespace has no more than are left for all others. A group with 16 connections, the least that a
 * peer may limit it to, does not count for its owner.
 */
#define SMC_GROUPS_PER_ADDRESS	256
#define SMC_GROUPS_PER_NET	2048
#define SMC_GROUPS_MAX		8192
#define SMC_GROUP_FEW_CONNS	16

/* Peers may make groups, each with memory of its own, faster than they time out. */
#define SMC_GROUPS_IDLE_MAX	128

/* The owners of the peers' addresses are told apart by as many hashes. */
#define SMC_OWNERS		32

static LIST_HEAD(smc_groups);
static unsigned int smc_n_groups;
/* Those that others may join. A peer has as many GIDs as it likes: the hash is secret. */
static DEFINE_HASHTABLE(smc_groups_by_gid, 8);
static DEFINE_SPINLOCK(smc_groups_lock);
static DECLARE_WAIT_QUEUE_HEAD(smc_groups_ended);

static void smc_group_free(struct kref *ref)
{
	struct smc_group *group = container_of(ref, struct smc_group, ref);

	xa_destroy(&group->conns);
	kvfree(group->link);
	kfree(group);
}

void smc_group_get(struct smc_group *group)
{
	kref_get(&group->ref);
}

void smc_group_put(struct smc_group *group)
{
	kref_put(&group->ref, smc_group_free);
}

/* Under smc_groups_lock, while the group is in the list. Its link is there as long. */
static void smc_group_wake(struct smc_group *group)
{
	smc_llc_wake(group);
	wake_up_all(&group->link->slot_wait);
}

/* Whether the group ends in order or not, by its peer's word: how long that may take. */
static unsigned long smc_group_patience(const struct smc_group *group, bool in_order)
{
	if (!in_order)
		return 0;
	return check_net(group->net) ? SMC_GROUP_LEAVE : SMC_GROUP_LEAVE_NET;
}

bool smc_group_is_idle(const struct smc_group *group)
{
	return !READ_ONCE(group->n_conns) && smc_group_is_active(group);
}

bool smc_group_is_spare(const struct smc_group *group)
{
	return smc_group_is_idle(group) &&
	       time_after(jiffies, READ_ONCE(group->idle_since) + SMC_GROUP_SPARE);
}

/*
 * The one place where either changes: so the number of idle groups is right at any time. A dead
 * group, which is never idle, may outlive its namespace.
 */
static void smc_group_become(struct smc_group *group, enum smc_group_state state,
			     unsigned int n_conns)
{
	const bool was_idle = smc_group_is_idle(group);

	lockdep_assert_held(&smc_groups_lock);
	WRITE_ONCE(group->state, state);
	WRITE_ONCE(group->n_conns, n_conns);
	if (smc_group_is_idle(group) != was_idle)
		smc_net(group->net)->n_rdma_idle += was_idle ? -1 : 1;
}

static u32 smc_group_hash(const struct net *net, const u8 *gid)
{
	return jhash(gid, SMC_GID_LEN, net_hash_mix(net));
}

static void smc_group_list(struct smc_group *group)
{
	struct smc_net *sn = smc_net(group->net);

	lockdep_assert_held(&smc_groups_lock);
	list_add(&group->list, &smc_groups);
	smc_n_groups++;
	list_add(&group->in_net, &sn->rdma_groups);
	sn->n_rdma_groups++;
}

static void smc_group_unlist(struct smc_group *group)
{
	lockdep_assert_held(&smc_groups_lock);
	list_del(&group->list);
	smc_n_groups--;
	list_del(&group->in_net);
	smc_net(group->net)->n_rdma_groups--;
	hash_del(&group->by_gid);
}

/* Under smc_groups_lock. The reference of the list goes over to the work. */
static void smc_group_doom(struct smc_group *group, int err, bool in_order)
{
	lockdep_assert_held(&smc_groups_lock);
	if (group->state == SMC_GROUP_DEAD)
		return;
	if (group->state == SMC_GROUP_ACTIVE && group->n_conns)
		smc_stat_rdma(smc_net(group->net), SMC_RDMA_GROUPS_LOST, 1);
	group->err = err;
	group->tell_peer = in_order && group->state == SMC_GROUP_ACTIVE;
	WRITE_ONCE(group->leave_by, jiffies + smc_group_patience(group, in_order));
	smc_group_become(group, SMC_GROUP_DEAD, group->n_conns);
	smc_stream_give_up(-group->n_spent, -group->spent_pages);
	queue_work(smc_end_wq, &group->end);
	/* A wait for the peer is in vain from now on, and holds up rendezvous and the work. */
	smc_group_wake(group);
}

static void smc_group_on_idle(struct work_struct *work)
{
	struct smc_group *group = container_of(work, struct smc_group, idle.work);
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	if (!group->n_conns)
		smc_group_doom(group, ECONNRESET, true);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

static void smc_group_on_probe(struct work_struct *work)
{
	struct smc_group *group = container_of(work, struct smc_group, probe.work);
	int interval = READ_ONCE(smc_net(group->net)->sysctl.smcr_testlink_time);
	unsigned long silent = jiffies - READ_ONCE(group->link->last_rx);

	if (interval && silent >= interval) {
		if (smc_llc_test_link(group)) {
			smc_group_kill(group, ETIMEDOUT);
			return;
		}
		silent = 0;
	}
	/* Where probes are off, look again in a while whether they still are. */
	queue_delayed_work(smc_link_wq, &group->probe, interval ? interval - silent : 30 * HZ);
}

static void smc_group_lose_conns(struct smc_group *group)
{
	struct smc_rdma_conn *conn;
	unsigned long token;

	xa_for_each(&group->conns, token, conn) {
		if (smc_rdma_conn_get(group, token) != conn)
			continue;
		smc_stream_on_lost(&conn->stream, group->err);
		smc_stream_put(&conn->stream);
	}
}

/* Everything that uses the link ends here, then the link. */
static void smc_group_on_end(struct work_struct *work)
{
	struct smc_group *group = container_of(work, struct smc_group, end);
	unsigned long flags;

	cancel_delayed_work_sync(&group->idle);
	cancel_delayed_work_sync(&group->probe);
	if (group->tell_peer)
		smc_llc_delete_all(group);
	smc_llc_finish(group);
	smc_link_flush(group->link);

	smc_link_stop(group->link);
	smc_llc_stop(group);
	smc_group_lose_conns(group);
	smc_buffers_deregister(group);
	smc_link_release(group->link);

	spin_lock_irqsave(&smc_groups_lock, flags);
	smc_group_unlist(group);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	wake_up_all(&smc_groups_ended);
	smc_group_put(group);
}

/* Those under way at the same moment may be too many together: their number is bounded, too. */
static bool smc_groups_have_room(const struct net *net, enum smc_role role,
				 const struct in6_addr *addr)
{
	const struct smc_net *sn = smc_net(net);
	const struct smc_group *group;
	unsigned int own = 0;
	unsigned long flags;
	bool has_room;

	spin_lock_irqsave(&smc_groups_lock, flags);
	list_for_each_entry(group, &sn->rdma_groups, in_net)
		if (group->role == role && group->n_conns < SMC_GROUP_FEW_CONNS &&
		    smc_address_is_akin(&group->peer.addr, addr))
			own++;
	has_room = own < SMC_GROUPS_PER_ADDRESS &&
		   own + sn->n_rdma_groups < SMC_GROUPS_PER_NET &&
		   sn->n_rdma_groups + smc_n_groups < SMC_GROUPS_MAX;
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return has_room;
}

struct smc_group *smc_group_create(struct net *net, enum smc_role role, u8 version,
				   const struct smc_rdma_port *port, const struct smc_peer *peer)
{
	struct smc_group *group;
	struct smc_link *link;
	unsigned long flags;

	if (!smc_groups_have_room(net, role, &peer->addr))
		return ERR_PTR(-EUSERS);
	group = kzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return ERR_PTR(-ENOMEM);
	kref_init(&group->ref);
	group->net = net;
	group->role = role;
	group->version = version;
	group->peer = *peer;
	group->vlan = port->vlan;
	group->max_conns = READ_ONCE(smc_net(net)->sysctl.max_conns_per_lgr);
	group->n_conns = 1;
	group->n_had = 1;
	/* Nobody else can end it until it is in the list. */
	group->state = SMC_GROUP_DEAD;
	xa_init_flags(&group->conns, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	smc_llc_init(group);
	INIT_DELAYED_WORK(&group->idle, smc_group_on_idle);
	INIT_DELAYED_WORK(&group->probe, smc_group_on_probe);
	INIT_WORK(&group->end, smc_group_on_end);

	link = smc_link_create(group, port);
	if (IS_ERR(link)) {
		kfree(group);
		return ERR_CAST(link);
	}
	group->link = link;
	smc_buffers_init(&group->buffers);
	smc_stat_rdma(smc_net(net), SMC_RDMA_GROUPS_CREATED, 1);

	smc_group_get(group);
	spin_lock_irqsave(&smc_groups_lock, flags);
	/* In the order of the list, newest first: a dump goes on below what it showed last. */
	group->serial = smc_lgr_next_serial();
	smc_group_list(group);
	smc_group_become(group, SMC_GROUP_NEW, group->n_conns);
	/* A handshake may hold on to a device whose removal has begun. */
	if (READ_ONCE(port->dev->leaving) || READ_ONCE(link->broken))
		smc_group_doom(group, ENETDOWN, false);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return group;
}

static bool smc_group_is_with(const struct smc_group *group, struct net *net, enum smc_role role,
			      u8 version, const struct smc_peer *peer)
{
	if (group->state != SMC_GROUP_ACTIVE || group->net != net || group->role != role ||
	    group->version != version)
		return false;
	if (memcmp(group->peer.id, peer->id, sizeof(peer->id)) ||
	    memcmp(group->peer.gid, peer->gid, sizeof(peer->gid)))
		return false;
	return version != SMC_VERSION_1 ||
	       !memcmp(group->peer.mac, peer->mac, sizeof(peer->mac));
}

/*
 * Whether the group's link begins where a new one would, and has no larger packets. Others may not
 * be in the same network.
 */
static bool smc_group_is_at(const struct smc_group *group, const struct smc_rdma_port *port)
{
	const struct smc_link *link = group->link;

	return group->vlan == port->vlan && link->port.dev == port->dev &&
	       link->port_num == port->gid->port_num && link->mtu <= port->mtu &&
	       !memcmp(link->gid, port->gid->gid.raw, sizeof(link->gid));
}

/* Under smc_groups_lock. */
static void smc_group_reserve(struct smc_group *group)
{
	lockdep_assert_held(&smc_groups_lock);
	smc_group_become(group, group->state, group->n_conns + 1);
	WRITE_ONCE(group->n_had, group->n_had + 1);
	smc_group_get(group);
}

struct smc_group *smc_group_find_for_server(struct net *net, u8 version,
					    const struct smc_rdma_port *port,
					    const struct smc_peer *peer, const u8 *eid)
{
	struct smc_group *group;
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	hash_for_each_possible(smc_groups_by_gid, group, by_gid, smc_group_hash(net, peer->gid)) {
		/* A stranger that names the peer's GID is kept from its elements: design.rst. */
		if (!smc_group_is_with(group, net, SMC_SERVER, version, peer) || group->retired ||
		    !ipv6_addr_equal(&group->peer.addr, &peer->addr) ||
		    !smc_group_is_at(group, port))
			continue;
		if (version == SMC_VERSION_2 && memcmp(group->eid, eid, SMC_EID_LEN))
			continue;
		if (group->n_conns >= group->max_conns)
			continue;
		smc_group_reserve(group);
		goto out;
	}
	group = NULL;
out:
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return group;
}

struct smc_group *smc_group_find_for_client(struct net *net, u8 version,
					    const struct smc_peer *peer, u32 qpn)
{
	struct smc_group *found = ERR_PTR(-ENOENT);
	struct smc_group *group;
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	hash_for_each_possible(smc_groups_by_gid, group, by_gid, smc_group_hash(net, peer->gid)) {
		/*
		 * If it is retired, the DECLINE says it is not there: the server's retires, too.
		 * That is why the address does not count: the in-tree module offers a link at all
		 * addresses of its host, and ends it where a DECLINE says that.
		 */
		if (!smc_group_is_with(group, net, SMC_CLIENT, version, peer) || group->retired ||
		    group->link->peer.qpn != qpn)
			continue;
		/* The server counts: a connection may be over there and not here yet. */
		smc_group_reserve(group);
		found = group;
		break;
	}
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return found;
}

static u32 smc_group_owner(const struct smc_group *group)
{
	const struct in6_addr prefix = smc_address_prefix(&group->peer.addr);

	return jhash(&prefix, sizeof(prefix), net_hash_mix(&init_net)) % SMC_OWNERS;
}

/* The oldest of the owner who has most of them: nobody ends those of others by having many. */
static void smc_groups_end_idle(const struct net *net)
{
	const struct smc_net *sn = smc_net(net);
	unsigned int owned[SMC_OWNERS] = {}, owners, most = 0;
	struct smc_group *group, *oldest = NULL;

	lockdep_assert_held(&smc_groups_lock);
	list_for_each_entry(group, &sn->rdma_groups, in_net)
		if (smc_group_is_idle(group))
			owned[smc_group_owner(group)]++;
	list_for_each_entry(group, &sn->rdma_groups, in_net) {
		owners = owned[smc_group_owner(group)];
		if (!smc_group_is_idle(group) || owners < most ||
		    (owners == most && !time_before(group->idle_since, oldest->idle_since)))
			continue;
		oldest = group;
		most = owners;
	}
	smc_group_doom(oldest, ECONNRESET, true);
}

static void smc_groups_limit_idle(const struct net *net)
{
	lockdep_assert_held(&smc_groups_lock);
	if (smc_net(net)->n_rdma_idle > SMC_GROUPS_IDLE_MAX)
		smc_groups_end_idle(net);
}

/* Under smc_groups_lock: the last connection is over. */
static void smc_group_rest(struct smc_group *group)
{
	unsigned long wait = group->role == SMC_SERVER ? SMC_GROUP_IDLE : SMC_GROUP_IDLE_CLIENT;

	lockdep_assert_held(&smc_groups_lock);
	WRITE_ONCE(group->idle_since, jiffies);
	mod_delayed_work(smc_link_wq, &group->idle, group->retired ? 0 : wait);
	smc_groups_limit_idle(group->net);
}

void smc_group_unreserve(struct smc_group *group)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	smc_group_become(group, group->state, group->n_conns - 1);
	if (smc_group_is_idle(group))
		smc_group_rest(group);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

bool smc_group_end_spare(struct smc_group *group)
{
	unsigned long flags;
	bool is_spare;

	spin_lock_irqsave(&smc_groups_lock, flags);
	is_spare = smc_group_is_spare(group);
	if (is_spare)
		smc_group_doom(group, ECONNRESET, true);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return is_spare;
}

static void smc_group_retire_locked(struct smc_group *group)
{
	lockdep_assert_held(&smc_groups_lock);
	WRITE_ONCE(group->retired, true);
	if (smc_group_is_idle(group))
		smc_group_rest(group);
}

void smc_group_retire(struct smc_group *group)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	smc_group_retire_locked(group);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

/* The largest group of the owner with the most in all groups: a peer may have one for each. */
static void smc_groups_end_most_spent(void)
{
	struct smc_group *group, *most = NULL;
	long owned[SMC_OWNERS] = {}, owners, owners_most = 0;

	lockdep_assert_held(&smc_groups_lock);
	list_for_each_entry(group, &smc_groups, list)
		if (group->state != SMC_GROUP_DEAD)
			owned[smc_group_owner(group)] += group->spent_pages;
	list_for_each_entry(group, &smc_groups, list) {
		if (group->state == SMC_GROUP_DEAD || !group->n_spent)
			continue;
		owners = owned[smc_group_owner(group)];
		if (most && (owners < owners_most ||
			     (owners == owners_most && group->spent_pages <= most->spent_pages)))
			continue;
		most = group;
		owners_most = owners;
	}
	/* Told by DELETE LINK, the in-tree module may hang in close() of what it kept open. */
	if (most)
		smc_group_doom(most, ECONNRESET, false);
}

void smc_group_spend(struct smc_group *group, long pages)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	/* A group that ends, as it does with this as its last connection, frees its memory soon. */
	if (group->state != SMC_GROUP_DEAD && group->n_conns > 1) {
		group->n_spent++;
		group->spent_pages += pages;
		if (!smc_stream_give_up(1, pages))
			smc_groups_end_most_spent();
	}
	smc_group_retire_locked(group);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

int smc_group_activate(struct smc_group *group)
{
	int rc = -ENOLINK;
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	if (group->state == SMC_GROUP_NEW) {
		smc_group_become(group, SMC_GROUP_ACTIVE, group->n_conns);
		hash_add(smc_groups_by_gid, &group->by_gid,
			 smc_group_hash(group->net, group->peer.gid));
		queue_delayed_work(smc_link_wq, &group->probe,
				   READ_ONCE(smc_net(group->net)->sysctl.smcr_testlink_time));
		/* The peer may have ended its connection before it confirmed the link. */
		if (smc_group_is_idle(group))
			smc_group_rest(group);
		rc = 0;
	}
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return rc;
}

bool smc_group_is_active(const struct smc_group *group)
{
	return READ_ONCE(group->state) == SMC_GROUP_ACTIVE;
}

bool smc_group_is_dead(const struct smc_group *group)
{
	return READ_ONCE(group->state) == SMC_GROUP_DEAD;
}

void smc_group_kill(struct smc_group *group, int err)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	smc_group_doom(group, err, false);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

void smc_group_leave(struct smc_group *group)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	smc_group_doom(group, ECONNRESET, true);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

long smc_group_time_left(const struct smc_group *group)
{
	return clamp_t(long, READ_ONCE(group->leave_by) - jiffies, 0, SMC_GROUP_LOOK);
}

int smc_group_error_of(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return ETIMEDOUT;
	default:
		return ECONNRESET;
	}
}

/* A dead group may have given its port back. */
static bool smc_group_uses_port(const struct smc_group *group, const struct smc_rdma_device *dev,
				u32 port)
{
	const struct smc_rdma_port *own = &group->link->port;

	return group->state != SMC_GROUP_DEAD && own->dev == dev &&
	       (port == SMC_ALL_PORTS || own->gid->port_num == port);
}

static void smc_groups_doom_on(const struct smc_rdma_device *dev, u32 port, bool tell_peer)
{
	struct smc_group *group;
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	list_for_each_entry(group, &smc_groups, list)
		if (smc_group_uses_port(group, dev, port))
			smc_group_doom(group, ENETDOWN, tell_peer);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

void smc_groups_lose_port(struct smc_rdma_device *dev, u32 port)
{
	smc_groups_doom_on(dev, port, false);
}

void smc_groups_leave_device(struct smc_rdma_device *dev)
{
	/* Who makes a group after the lock was held for this sees it. */
	WRITE_ONCE(dev->leaving, true);
	smc_groups_doom_on(dev, SMC_ALL_PORTS, true);
}

static bool smc_group_has_gid(const struct smc_group *group)
{
	const struct ib_gid_attr *attr = group->link->port.gid;
	union ib_gid gid;

	return !rdma_query_gid(attr->device, attr->port_num, attr->index, &gid) &&
	       !memcmp(&gid, &attr->gid, sizeof(gid));
}

void smc_groups_check_gids(struct smc_rdma_device *dev, u32 port)
{
	struct smc_group *group;
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	list_for_each_entry(group, &smc_groups, list)
		if (smc_group_uses_port(group, dev, port) && !smc_group_has_gid(group))
			smc_group_doom(group, ENETDOWN, false);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

static bool smc_groups_none(const struct net *net)
{
	unsigned long flags;
	bool none;

	spin_lock_irqsave(&smc_groups_lock, flags);
	none = list_empty(net ? &smc_net(net)->rdma_groups : &smc_groups);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return none;
}

static void smc_groups_doom_in(const struct net *net)
{
	struct smc_group *group;

	lockdep_assert_held(&smc_groups_lock);
	list_for_each_entry(group, &smc_net(net)->rdma_groups, in_net)
		smc_group_doom(group, ECONNRESET, true);
}

/* Those that were ending before get no more time than the others, and may have had theirs. */
static void smc_groups_hurry_in(const struct net *net)
{
	const unsigned long by = jiffies + SMC_GROUP_LEAVE_NET;
	struct smc_group *group;

	lockdep_assert_held(&smc_groups_lock);
	list_for_each_entry(group, &smc_net(net)->rdma_groups, in_net)
		if (group->state == SMC_GROUP_DEAD && time_before(by, group->leave_by))
			WRITE_ONCE(group->leave_by, by);
}

void smc_groups_leave_net(struct net *net)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	smc_groups_hurry_in(net);
	smc_groups_doom_in(net);
	spin_unlock_irqrestore(&smc_groups_lock, flags);
}

static void smc_groups_doom_all(void)
{
	struct smc_group *group;

	lockdep_assert_held(&smc_groups_lock);
	list_for_each_entry(group, &smc_groups, list)
		smc_group_doom(group, ECONNRESET, true);
}

void smc_groups_end(struct net *net)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	/* A socket of the kernel's own, which holds no namespace, may have made another. */
	if (net)
		smc_groups_doom_in(net);
	else
		smc_groups_doom_all();
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	wait_event(smc_groups_ended, smc_groups_none(net));
}

struct smc_group *smc_group_next(struct net *net, unsigned long last)
{
	struct smc_group *group, *next = NULL;
	unsigned long flags;

	spin_lock_irqsave(&smc_groups_lock, flags);
	list_for_each_entry(group, &smc_net(net)->rdma_groups, in_net) {
		if (group->state == SMC_GROUP_DEAD || (last && group->serial >= last))
			continue;
		smc_group_get(group);
		next = group;
		break;
	}
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return next;
}

int smc_groups_for_each(struct net *net, int (*fn)(struct smc_group *group, void *arg), void *arg)
{
	struct smc_group *group;
	unsigned long flags;
	int rc = 0;

	spin_lock_irqsave(&smc_groups_lock, flags);
	list_for_each_entry(group, &smc_net(net)->rdma_groups, in_net) {
		rc = fn(group, arg);
		if (rc)
			break;
	}
	spin_unlock_irqrestore(&smc_groups_lock, flags);
	return rc;
}
