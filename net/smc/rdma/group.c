// SPDX-License-Identifier: GPL-2.0
/* SMC-R link groups: creation, search, limits and end. */

#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/slab.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>
#include <net/ipv6.h>
#include <net/netns/hash.h>
#include <rdma/ib_cache.h>

#include "add_link.h"
#include "admin/address.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "conn.h"
#include "group.h"
#include "link.h"
#include "links.h"
#include "log.h"
#include "message.h"
#include "trace.h"
#include "workqueue.h"

/*
 * How long a group without connections is kept. A connection that is made in this time needs no
 * first contact.
 */
#define SMC_GROUP_IDLE	(600 * HZ)
/* The client keeps the group longer, so that normally the server ends it. */
#define SMC_GROUP_IDLE_CLIENT	(610 * HZ)

/*
 * How long a group must have been idle before it may end because memory is short. A program that
 * opens one connection after another would have opened the next one by then.
 */
#define SMC_GROUP_SPARE		HZ

/* How long the orderly end of a group waits until the peer has confirmed the end. */
#define SMC_GROUP_SHUTDOWN_TIMEOUT		(2 * HZ)
/*
 * The wait is shorter in two cases. If the namespace is being torn down, the teardown of other
 * tenants' namespaces waits for this one. If the peer has left, it only has to acknowledge this
 * host's answer.
 */
#define SMC_GROUP_SHUTDOWN_TIMEOUT_SHORT	(HZ / 5)
/* How often to check the deadline, which may become earlier when the namespace ends. */
#define SMC_GROUP_LOOK		(HZ / 20)
/* If nothing has come from the peer for this long, assume that it has sent its last message. */
#define SMC_GROUP_SILENCE		(HZ / 10)

/*
 * Limits for the number of groups. A peer can claim to be any number of hosts, and so cause any
 * number of groups, each with a queue pair and memory of its own. So there is a limit for each
 * owner of an address (or of an IPv6 /64), one for each namespace, and one for the host. In
 * addition, an owner may have no more groups than its namespace may still create, and a namespace
 * no more than the host may still create. So each owner or namespace leaves groups for all others.
 * A group with 16 connections or more does not count against its owner: it may be full, as 16 is
 * the lowest limit that a peer may set.
 */
#define SMC_GROUPS_PER_ADDRESS	256
#define SMC_GROUPS_PER_NET	2048
#define SMC_GROUPS_MAX		8192
#define SMC_GROUP_FEW_CONNS	16

/*
 * A server spreads the connections of one peer over up to this many groups, but over no more than
 * there are processors or completion vectors. It makes another group when each group has
 * SMC_GROUP_FEW_CONNS connections.
 */
#define SMC_GROUPS_SPREAD	8
/* How long no further group is made for a peer after a first contact has failed. */
#define SMC_GROUPS_SPREAD_RETRY	(60 * HZ)

/*
 * Limit for the guesses in a group. A CLC message that names a link of the group, but not an RMB
 * that the peer has announced, is a guess. This many guesses from the peer's address retire the
 * group. After this many guesses from servers at other addresses, the group takes no connection to
 * a server at another address, even if the ACCEPT names an announced RMB.
 */
#define SMC_GROUP_GUESSES	16

/* Confirmed links, by the peer's GID. The hash is secret, because peers can choose their GIDs. */
static DEFINE_HASHTABLE(smc_links_by_gid, 8);

/* Number of groups in smc_rdma_group_notify_peer(), including those that do not wait. */
static atomic_t smc_rdma_groups_waiting = ATOMIC_INIT(0);

static void smc_rdma_group_free(struct smc_lgr *lgr)
{
	struct smc_rdma_group *group = smc_rdma_group_of(lgr);
	unsigned int i;

	for (i = 0; i < SMC_LINKS; i++)
		if (group->links[i])
			smc_link_put(group->links[i]);
	xa_destroy(&group->conns);
	kvfree(group);
}

/*
 * Wake all threads that wait for the group's peer. Called with smc_rdma_lgrs.lock while the group
 * is in the list, so that the links exist.
 */
static void smc_rdma_group_wake(struct smc_rdma_group *group)
{
	struct smc_link *link;

	smc_llc_wake(group);
	smc_for_each_link(link, group)
		wake_up_all(&link->slot_wait);
}

/* Return: how long the end of a group may wait for the peer; 0 if the end is not orderly. */
static unsigned long smc_rdma_group_shutdown_timeout(const struct smc_rdma_group *group,
						     bool in_order)
{
	if (!in_order)
		return 0;
	if (READ_ONCE(group->llc.peer_left) || !check_net(group->lgr.net))
		return SMC_GROUP_SHUTDOWN_TIMEOUT_SHORT;
	return SMC_GROUP_SHUTDOWN_TIMEOUT;
}

bool smc_rdma_group_is_spare(const struct smc_rdma_group *group)
{
	return smc_lgr_is_idle(&group->lgr) &&
	       time_after(jiffies, READ_ONCE(group->lgr.idle_since) + SMC_GROUP_SPARE);
}

static u32 smc_rdma_group_hash(const struct net *net, const u8 *gid)
{
	return jhash(gid, SMC_GID_LEN, net_hash_mix(net));
}

/*
 * End a group. If @reason is not 0, the end is orderly: this end sends DELETE LINK with this
 * reason, an enum smc_llc_delete_reason.
 */
static void smc_rdma_group_terminate_locked(struct smc_rdma_group *group, int err, u32 reason)
{
	const struct smc_lgr *lgr = &group->lgr;
	const bool was_active = smc_lgr_is_active(lgr);
	struct smc_link *link;

	lockdep_assert_held(&smc_rdma_lgrs.lock);
	if (smc_lgr_is_dead(lgr))
		return;
	smc_for_each_link(link, group)
		trace_smcr_link_down(link, lgr->state, (void *)_RET_IP_);
	if (was_active && lgr->n_conns)
		smc_stat_rdma(smc_net(lgr->net), SMC_RDMA_GROUPS_LOST, 1);
	group->delete_reason = was_active ? reason : 0;
	WRITE_ONCE(group->shutdown_deadline,
		   jiffies + smc_rdma_group_shutdown_timeout(group, reason));
	smc_lgr_mark_dead(&group->lgr, err);
	smc_stream_quarantine(-group->n_quarantined, -group->quarantined_pages);
	/* Waiting for the peer is of no use now, and would delay handshakes and the group's end. */
	smc_rdma_group_wake(group);
}

/*
 * Begin the orderly end of a group. If the group is ending already, only its deadline may change:
 * it becomes earlier if the peer has left, or if the namespace ends.
 */
static void smc_rdma_group_shutdown(struct smc_lgr *lgr)
{
	struct smc_rdma_group *group = smc_rdma_group_of(lgr);
	const unsigned long by = jiffies + smc_rdma_group_shutdown_timeout(group, true);

	if (smc_lgr_is_dead(lgr) && time_before(by, group->shutdown_deadline))
		WRITE_ONCE(group->shutdown_deadline, by);
	smc_rdma_group_terminate_locked(group, ECONNRESET, SMC_LLC_DEL_PROGRAM);
}

static void smc_rdma_group_abort_conns(struct smc_rdma_group *group)
{
	struct smc_rdma_conn *conn;
	unsigned long index = 0;

	while ((conn = smc_rdma_conn_next(group, &index))) {
		smc_stream_on_lost(&conn->stream, group->lgr.err);
		smc_rdma_conn_on_link_end(conn, conn->link);
		smc_stream_put(&conn->stream);
	}
}

/* Return: a confirmed link of a dead group, if possible one that was not lost earlier; or NULL. */
static const struct smc_link *smc_rdma_group_last_link(const struct smc_rdma_group *group)
{
	const struct smc_link *link, *last = NULL;

	smc_for_each_link(link, group)
		if (link->is_confirmed && (!last || (last->is_left && !link->is_left)))
			last = link;
	return last;
}

/*
 * Log the end of a group, while its links still hold their devices. Don't log a group whose first
 * contact failed.
 */
static void smc_rdma_group_log_end(const struct smc_rdma_group *group)
{
	const struct smc_link *link = smc_rdma_group_last_link(group);
	unsigned int n_conns = READ_ONCE(group->lgr.n_conns);
	const char *device;

	if (!link)
		return;
	device = link->port.dev->ibdev->name;
	if (group->delete_reason && !n_conns)
		smc_log(pr_info, group->lgr.net, "%s: idle link group with %pI6c ended", device,
			&group->peer.addr);
	else
		smc_log(pr_warn, group->lgr.net,
			"%s: lost link group with %pI6c, %u connections: %pe%s%s",
			device, &group->peer.addr, n_conns, ERR_PTR(-group->lgr.err),
			link->why[0] ? ": " : "", link->why);
}

static void smc_rdma_group_unhash(struct smc_rdma_group *group)
{
	struct smc_link *link;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	smc_for_each_link(link, group)
		hash_del(&link->by_gid);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

/*
 * Keep the queue pair, so that it acknowledges messages, until the peer is silent. The peer of a
 * retired group may still have connections open that are over here, and may only now send their
 * last messages. The in-tree module waits without limit for these messages to complete. With
 * soft-RoCE they never complete if the queue pair here is gone.
 */
static void smc_link_await_silence(const struct smc_link *link)
{
	while (smc_rdma_group_time_left(link->group) && !READ_ONCE(link->broken) &&
	       time_before(jiffies, READ_ONCE(link->last_rx) + SMC_GROUP_SILENCE))
		schedule_timeout_uninterruptible(SMC_GROUP_LOOK);
}

/*
 * Tell the peer of the end, and give it time to take the last messages. If many groups wait for
 * their peers, this group does not wait, so that silent peers do not occupy all places of
 * smc_end_wq.
 */
static void smc_rdma_group_notify_peer(struct smc_rdma_group *group)
{
	struct smc_link *link;

	if (atomic_inc_return(&smc_rdma_groups_waiting) > smc_wq_waiting_max())
		WRITE_ONCE(group->shutdown_deadline, jiffies);
	if (group->delete_reason)
		smc_llc_delete_all(group);
	smc_llc_finish(group);
	smc_for_each_link(link, group) {
		smc_link_flush(link);
		if (group->retired)
			smc_link_await_silence(link);
	}
	atomic_dec(&smc_rdma_groups_waiting);
}

/* End the links and everything that uses them, then release the links. */
static void smc_rdma_group_end(struct smc_lgr *lgr)
{
	struct smc_rdma_group *group = smc_rdma_group_of(lgr);
	struct smc_link *link;

	cancel_delayed_work_sync(&group->links_work);
	smc_add_link_stop(group);
	smc_links_cancel_ends(group);
	smc_rdma_group_log_end(group);
	smc_rdma_group_unhash(group);
	smc_rdma_group_notify_peer(group);

	smc_for_each_link(link, group) {
		if (!link->is_left)
			smc_link_quiesce(link);
		if (!smc_link_is_destroyed(link))
			smc_link_destroy(link);
	}
	smc_llc_stop(group);
	/* An ADD LINK that came while the group died may have queued the work item again. */
	smc_add_link_stop(group);
	smc_rdma_group_abort_conns(group);
	smc_mr_buffers_close(group);
	smc_for_each_link(link, group)
		smc_link_release(link);
}

/*
 * Whether another group may be created. First contacts that pass this check at the same time may
 * exceed the limits together, but their number is limited, too.
 */
static bool smc_rdma_groups_have_room(const struct net *net, enum smc_role role,
				      const struct in6_addr *addr)
{
	const struct smc_net_lgrs *in_net = smc_lgrs_of(&smc_rdma_lgrs, net);
	const struct smc_rdma_group *group;
	unsigned int own = 0, quarantined = 0, quarantined_all = 0;
	long pages = 0, pages_all = 0;
	unsigned long flags;
	bool has_room;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	list_for_each_entry(group, &in_net->list, lgr.in_net)
		if (group->role == role && group->lgr.n_conns < SMC_GROUP_FEW_CONNS &&
		    smc_address_same_prefix(&group->peer.addr, addr))
			own++;
	/*
	 * The host has one limit for quarantined elements, and one peer may use a quarter of it. In
	 * a namespace of another user, the same address may be that of another host, so the
	 * elements there count separately. But in all namespaces together, an address may use at
	 * most twice that share. Otherwise the address alone could exceed the host's limit.
	 */
	list_for_each_entry(group, &smc_rdma_lgrs.list, lgr.list) {
		if (smc_lgr_is_dead(&group->lgr) ||
		    !smc_address_same_prefix(&group->peer.addr, addr))
			continue;
		quarantined_all += group->n_quarantined;
		pages_all += group->quarantined_pages;
		if (group->lgr.net->user_ns != net->user_ns)
			continue;
		quarantined += group->n_quarantined;
		pages += group->quarantined_pages;
	}
	has_room = own < SMC_GROUPS_PER_ADDRESS &&
		   smc_stream_may_quarantine(quarantined, pages) &&
		   smc_stream_may_quarantine(quarantined_all / 2, pages_all / 2) &&
		   own + in_net->n < SMC_GROUPS_PER_NET &&
		   in_net->n + smc_rdma_lgrs.n < SMC_GROUPS_MAX;
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return has_room;
}

struct smc_rdma_group *smc_rdma_group_create(struct net *net, enum smc_role role, u8 version,
					     const struct smc_rdma_port *port,
					     const struct smc_rdma_peer *peer)
{
	struct smc_rdma_group *group;
	struct smc_link *link;
	unsigned long flags;

	if (!smc_rdma_groups_have_room(net, role, &peer->addr))
		return ERR_PTR(-EUSERS);
	group = kvzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->role = role;
	group->version = version;
	group->peer = *peer;
	group->vlan = port->vlan;
	group->max_conns = READ_ONCE(smc_net(net)->sysctl.max_conns_per_lgr);
	group->max_links = 1;
	group->last_number = 1;
	group->total_conns = 1;
	group->spread_after = jiffies;
	xa_init_flags(&group->conns, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	smc_llc_init(group);
	smc_links_init(group);
	smc_add_link_init(group);
	smc_mr_buffers_init(&group->buffers);
	smc_rtokens_init(&group->rtokens);
	smc_lgr_init(&group->lgr, &smc_rdma_lgrs, net);

	link = smc_link_create(group, 0, port);
	if (IS_ERR(link)) {
		smc_lgr_discard(&group->lgr);
		return ERR_CAST(link);
	}
	group->links[0] = link;
	memcpy(group->gid, link->gid, SMC_GID_LEN);
	smc_stat_rdma(smc_net(net), SMC_RDMA_GROUPS_CREATED, 1);

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	smc_lgr_list(&group->lgr, SMC_LGR_NEW);
	/*
	 * The device's removal and smc_link_break() end only groups in the list. Either may have
	 * come before the group was listed, so check for both.
	 */
	if (READ_ONCE(port->dev->leaving) || READ_ONCE(link->broken))
		smc_rdma_group_terminate_locked(group, ENETDOWN, 0);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return group;
}

/*
 * Whether a group is active, its peer has the id of @peer, and this end has @role in it. The
 * address, GID and MAC address of @peer do not matter here.
 */
static bool smc_rdma_group_is_with(const struct smc_rdma_group *group, struct net *net,
				   enum smc_role role, u8 version, const struct smc_rdma_peer *peer)
{
	return smc_lgr_is_active(&group->lgr) && group->lgr.net == net && group->role == role &&
	       group->version == version && !memcmp(group->peer.id, peer->id, sizeof(peer->id));
}

/* Whether a link leads to the GID of @peer. */
static bool smc_link_has_peer(const struct smc_link *link, u8 version,
			      const struct smc_rdma_peer *peer)
{
	if (memcmp(link->peer.gid, peer->gid, sizeof(peer->gid)))
		return false;
	/* In version 2 the MAC address of the link's peer may be a router's. */
	return version != SMC_VERSION_1 || !memcmp(link->peer.mac, peer->mac, sizeof(peer->mac));
}

/*
 * Whether the router to @peer has another MAC address than when the group's link was made. Behind
 * another router, a new connection can use the link: the routes of a peer's connections may differ.
 */
static bool smc_rdma_group_router_has_changed(const struct smc_rdma_group *group,
					      const struct smc_rdma_peer *peer)
{
	const struct smc_rdma_gateway *old = &group->peer.gateway, *now = &peer->gateway;

	return ipv6_addr_equal(&old->addr, &now->addr) &&
	       memcmp(old->mac, now->mac, sizeof(now->mac));
}

/* Whether a link leads to @peer, and belongs to an active group in which this end has @role. */
static bool smc_link_is_with(const struct smc_link *link, struct net *net, enum smc_role role,
			     u8 version, const struct smc_rdma_peer *peer)
{
	return smc_rdma_group_is_with(link->group, net, role, version, peer) &&
	       smc_link_has_peer(link, version, peer);
}

/*
 * Whether a link has the local port, GID and VLAN that a new link would have, and no larger MTU. A
 * link at another port may be in another network.
 */
static bool smc_link_is_at(const struct smc_link *link, const struct smc_rdma_port *port)
{
	return link->group->vlan == port->vlan && link->port.dev == port->dev &&
	       link->port_num == port->gid->port_num && link->mtu <= port->mtu &&
	       !memcmp(link->gid, port->gid->gid.raw, sizeof(link->gid));
}

/*
 * Whether a group has a link at @port, the port that a new link would use. If no link has the
 * port's GID any more, it is enough that the group's first link had it.
 */
static bool smc_rdma_group_is_at(const struct smc_rdma_group *group,
				 const struct smc_rdma_port *port)
{
	const u8 *gid = port->gid->gid.raw;
	const struct smc_link *link;

	smc_for_each_link(link, group) {
		if (!link->is_confirmed)
			continue;
		if (smc_link_is_at(link, port))
			return true;
		if (!memcmp(link->gid, gid, SMC_GID_LEN))
			return false;
	}
	/* The first link may be lost, while TCP still uses its network. */
	return group->vlan == port->vlan && !memcmp(group->gid, gid, SMC_GID_LEN);
}

unsigned int smc_links_share(const struct smc_link *link, const struct smc_link *other)
{
	unsigned int shared = SMC_LINKS_SHARE_NOTHING;

	if (link->port.dev == other->port.dev && link->port_num == other->port_num)
		shared |= SMC_LINKS_SHARE_LOCAL;
	if (!memcmp(link->peer.gid, other->peer.gid, SMC_GID_LEN) ||
	    !memcmp(link->peer.mac, other->peer.mac, SMC_MAC_LEN))
		shared |= SMC_LINKS_SHARE_PEER;
	return shared;
}

/*
 * Return: at which ends a link uses the same port as an older link that works, as
 * smc_links_share(). If there is such an end, the link is asymmetric.
 */
static unsigned int smc_link_shares(const struct smc_link *link)
{
	unsigned int shared = SMC_LINKS_SHARE_NOTHING;
	const struct smc_link *other;

	smc_for_each_link(other, link->group)
		if (smc_link_works(other) && other->serial < link->serial)
			shared |= smc_links_share(link, other);
	return shared;
}

unsigned int smc_rdma_group_shares(const struct smc_rdma_group *group)
{
	unsigned int shared = SMC_LINKS_SHARE_NOTHING;
	const struct smc_link *link;

	smc_for_each_link(link, group)
		if (smc_link_works(link))
			shared |= smc_link_shares(link);
	return shared;
}

unsigned int smc_rdma_group_count_links(const struct smc_rdma_group *group)
{
	const struct smc_link *link;
	unsigned int n = 0;

	smc_for_each_link(link, group)
		n += smc_link_works(link);
	return n;
}

bool smc_rdma_group_is_single(const struct smc_rdma_group *group)
{
	unsigned int n;

	rcu_read_lock();
	n = smc_rdma_group_count_links(group);
	rcu_read_unlock();
	return n < 2;
}

bool smc_rdma_group_lacks_link(const struct smc_rdma_group *group)
{
	bool lacks;

	rcu_read_lock();
	lacks = smc_rdma_group_count_links(group) < group->max_links ||
		smc_rdma_group_shares(group);
	rcu_read_unlock();
	return lacks && READ_ONCE(group->last_loss.number);
}

struct smc_link *smc_rdma_group_oldest_link(const struct smc_rdma_group *group)
{
	struct smc_link *link, *oldest = NULL;

	smc_for_each_link(link, group)
		if (smc_link_works(link) && (!oldest || link->serial < oldest->serial))
			oldest = link;
	return oldest;
}

/*
 * Return: the working link of a group that the fewest connections use. A server gives no
 * connections to an asymmetric link: they would have to move when a symmetric link replaces it.
 */
static struct smc_link *smc_rdma_group_least_link(const struct smc_rdma_group *group)
{
	struct smc_link *link, *least = NULL;

	smc_for_each_link(link, group)
		if (smc_link_works(link) && !smc_link_shares(link) &&
		    (!least || atomic_read(&link->n_conns) < atomic_read(&least->n_conns)))
			least = link;
	return least;
}

struct smc_link *smc_rdma_group_get_oldest_link(struct smc_rdma_group *group)
{
	struct smc_link *link;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	link = smc_rdma_group_oldest_link(group);
	if (link)
		smc_link_get(link);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return link;
}

/* Reserve a connection in the group of a link, and take a reference to the link. */
static void smc_link_reserve(struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;

	smc_lgr_reserve(&group->lgr);
	WRITE_ONCE(group->total_conns, group->total_conns + 1);
	smc_link_get(link);
}

/*
 * Whether a new connection of a client may use a group of this server. The caller has compared the
 * client's GID.
 */
static bool smc_rdma_group_serves(const struct smc_rdma_group *group, struct net *net, u8 version,
				  const struct smc_rdma_port *port,
				  const struct smc_rdma_peer *peer, const u8 *eid)
{
	/*
	 * The client may claim another host's GID here, but then can't name that host's RMBs in its
	 * CONFIRM.
	 */
	return smc_rdma_group_is_with(group, net, SMC_SERVER, version, peer) && !group->retired &&
	       !smc_rdma_group_router_has_changed(group, peer) &&
	       ipv6_addr_equal(&group->peer.addr, &peer->addr) &&
	       smc_rdma_group_is_at(group, port) &&
	       (version != SMC_VERSION_2 || !memcmp(group->eid, eid, SMC_EID_LEN));
}

/*
 * The groups that may serve a new connection: their number, and of those that are not full, the one
 * with the fewest connections.
 */
struct smc_rdma_choice {
	unsigned int n;
	struct smc_rdma_group *least;
};

static void smc_rdma_choice_add(struct smc_rdma_choice *choice, struct smc_rdma_group *group)
{
	choice->n++;
	if (group->lgr.n_conns < group->max_conns &&
	    (!choice->least || group->lgr.n_conns < choice->least->lgr.n_conns))
		choice->least = group;
}

/*
 * Whether a peer may have another group, because all of its @n groups are crowded. @least is its
 * group with the fewest connections.
 */
static bool smc_rdma_groups_may_spread(const struct smc_rdma_group *least, unsigned int n,
				       const struct smc_rdma_port *port)
{
	const unsigned int vectors = port->dev->ibdev->num_comp_vectors;

	return least->lgr.n_conns >= SMC_GROUP_FEW_CONNS &&
	       !time_before(jiffies, least->spread_after) &&
	       n < min3(vectors, num_online_cpus(), (unsigned int)SMC_GROUPS_SPREAD);
}

void smc_link_unreserve(struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;

	smc_lgr_unreserve(&group->lgr);
	smc_link_put(link);
	smc_rdma_group_put(group);
}

void smc_rdma_groups_put_off_spread(struct net *net, u8 version, const struct smc_rdma_port *port,
				    const struct smc_rdma_peer *peer)
{
	struct smc_rdma_group *group;
	struct smc_link *link;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	hash_for_each_possible(smc_links_by_gid, link, by_gid,
			       smc_rdma_group_hash(net, peer->gid)) {
		group = link->group;
		if (smc_link_is_with(link, net, SMC_SERVER, version, peer) &&
		    ipv6_addr_equal(&group->peer.addr, &peer->addr) && smc_link_is_at(link, port))
			group->spread_after = jiffies + SMC_GROUPS_SPREAD_RETRY;
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

/* Whether two groups of a namespace used the same two ports at first contact. */
static bool smc_rdma_group_has_ports_of(const struct smc_rdma_group *group,
					const struct smc_rdma_group *other)
{
	return ipv6_addr_equal(&group->peer.addr, &other->peer.addr) &&
	       group->vlan == other->vlan && !memcmp(group->gid, other->gid, SMC_GID_LEN) &&
	       !memcmp(group->peer.gid, other->peer.gid, SMC_GID_LEN);
}

bool smc_rdma_group_peer_is_slow(const struct smc_rdma_group *group)
{
	const struct net *net = group->lgr.net;
	const struct smc_rdma_group *other;
	const struct smc_link *link, *first;
	bool is_slow = false;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	hash_for_each_possible(smc_links_by_gid, link, by_gid,
			       smc_rdma_group_hash(net, group->peer.gid)) {
		other = link->group;
		if (other == group || other->lgr.net != net || !smc_lgr_is_active(&other->lgr) ||
		    other->retired || !smc_rdma_group_has_ports_of(other, group))
			continue;
		is_slow |= READ_ONCE(other->is_slow);
		first = smc_rdma_group_oldest_link(other);
		if (first && smc_rdma_group_other_link(first)) {
			is_slow = false;
			break;
		}
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return is_slow;
}

/*
 * Whether another link, at a lower index of the group, works and leads to the same GID. If so, a
 * search by that GID finds the group twice.
 */
static bool smc_link_repeats_peer(const struct smc_link *link)
{
	const struct smc_link *before;

	smc_for_each_link(before, link->group) {
		if (before == link)
			break;
		if (smc_link_works(before) &&
		    !memcmp(before->peer.gid, link->peer.gid, SMC_GID_LEN))
			return true;
	}
	return false;
}

struct smc_link *smc_rdma_group_find_for_server(struct net *net, u8 version,
						const struct smc_rdma_port *port,
						const struct smc_rdma_peer *peer, const u8 *eid,
						bool spread)
{
	struct smc_rdma_choice choice = {};
	struct smc_link *link, *least = NULL;
	struct smc_rdma_group *group;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	hash_for_each_possible(smc_links_by_gid, link, by_gid,
			       smc_rdma_group_hash(net, peer->gid))
		if (smc_link_works(link) && smc_link_has_peer(link, version, peer) &&
		    !smc_link_repeats_peer(link) &&
		    smc_rdma_group_serves(link->group, net, version, port, peer, eid))
			smc_rdma_choice_add(&choice, link->group);
	/* The client's PROPOSAL may have the GID of a group's first link that is lost. */
	if (!choice.n)
		list_for_each_entry(group, &smc_lgrs_of(&smc_rdma_lgrs, net)->list, lgr.in_net)
			if (group->max_links > 1 &&
			    !memcmp(group->peer.gid, peer->gid, SMC_GID_LEN) &&
			    smc_rdma_group_serves(group, net, version, port, peer, eid))
				smc_rdma_choice_add(&choice, group);
	if (choice.least && !(spread && smc_rdma_groups_may_spread(choice.least, choice.n, port)))
		least = smc_rdma_group_least_link(choice.least);
	if (least)
		smc_link_reserve(least);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return least;
}

static void smc_rdma_group_retire_locked(struct smc_rdma_group *group)
{
	lockdep_assert_held(&smc_rdma_lgrs.lock);
	WRITE_ONCE(group->retired, true);
	if (smc_lgr_is_idle(&group->lgr))
		smc_lgr_idle_begin(&group->lgr);
}

/*
 * Whether a CLC message proves that its sender is the link's peer. The proof is an RToken that the
 * peer has announced over the link; all else in the message can be guessed. A message without the
 * proof counts as a guess. Too many guesses from the peer's address (@at_address) retire the group.
 * After too many guesses from other addresses, no message from those is accepted. A program that
 * has read CLC messages of the link's ends knows RTokens, but smc_rdma_conn_set_peer() keeps it
 * from the elements of other connections.
 */
static bool smc_link_is_proven(const struct smc_link *link, const struct smc_clc_r *r,
			       bool at_address)
{
	const struct smc_rtoken rt = { .rkey = r->rkey, .addr = r->rmb_addr };
	struct smc_rdma_group *group = link->group;
	unsigned int *guesses = &group->n_guesses[at_address];

	lockdep_assert_held(&smc_rdma_lgrs.lock);
	if (!at_address && *guesses >= SMC_GROUP_GUESSES)
		return false;
	if (smc_rtokens_have(&group->rtokens, link->index, rt))
		return true;
	if (++*guesses >= SMC_GROUP_GUESSES && at_address)
		smc_rdma_group_retire_locked(group);
	return false;
}

bool smc_link_confirm(const struct smc_link *link, const struct smc_clc_r *r)
{
	unsigned long flags;
	bool is_proven;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	is_proven = smc_link_is_proven(link, r, true);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return is_proven;
}

/*
 * Find the link that a server's ACCEPT names. With @at_address, search only groups whose peer has
 * the server's address, otherwise only groups whose peer has another address. Return: as
 * smc_rdma_group_find_for_client(), but without a reference or a reservation.
 */
static struct smc_link *smc_link_find_named(struct net *net, u8 version,
					    const struct smc_rdma_port *port,
					    const struct smc_rdma_peer *peer,
					    const struct smc_clc_r *r, bool at_address)
{
	struct smc_link *found = ERR_PTR(-ENOENT);
	struct smc_rdma_group *group;
	struct smc_link *link;
	bool is_stale;

	hash_for_each_possible(smc_links_by_gid, link, by_gid,
			       smc_rdma_group_hash(net, peer->gid)) {
		group = link->group;
		/*
		 * If the group exists, don't return -ENOENT: the DECLINE would say that the group
		 * is unknown, and an in-tree server would end the group with its connections.
		 */
		if (!smc_link_is_with(link, net, SMC_CLIENT, version, peer) ||
		    link->peer.qpn != r->qpn ||
		    ipv6_addr_equal(&group->peer.addr, &peer->addr) != at_address)
			continue;
		/* A server that runs this module retires the group if its client declines so. */
		is_stale = group->retired ||
			   (!group->is_foreign && smc_rdma_group_router_has_changed(group, peer));
		if (IS_ERR(found))
			found = ERR_PTR(is_stale ? -ENOLINK : -EHOSTUNREACH);
		if (is_stale || !smc_link_works(link) || !smc_rdma_group_is_at(group, port))
			continue;
		if (smc_link_is_proven(link, r, at_address))
			return link;
	}
	return found;
}

static bool smc_rdma_group_has_lost_qp(const struct smc_rdma_group *group,
				       const struct smc_clc_r *r)
{
	unsigned int i;

	for (i = 0; i < SMC_LINKS; i++)
		if (group->lost[i].qpn == r->qpn &&
		    !memcmp(group->lost[i].gid, r->gid, SMC_GID_LEN))
			return true;
	return false;
}

/*
 * Whether the server's ACCEPT names a lost link of a group that has another link. The server may
 * not know of the loss yet, so the client's DECLINE must not say that the group is unknown, see
 * smc_link_find_named().
 */
static bool smc_rdma_group_has_lost(struct net *net, u8 version, const struct smc_rdma_peer *peer,
				    const struct smc_clc_r *r)
{
	const struct smc_rdma_group *group;

	list_for_each_entry(group, &smc_lgrs_of(&smc_rdma_lgrs, net)->list, lgr.in_net)
		if (smc_rdma_group_is_with(group, net, SMC_CLIENT, version, peer) &&
		    smc_rdma_group_has_lost_qp(group, r))
			return true;
	return false;
}

struct smc_link *smc_rdma_group_find_for_client(struct net *net, u8 version,
						const struct smc_rdma_port *port,
						const struct smc_rdma_peer *peer,
						const struct smc_clc_r *r)
{
	struct smc_link *found;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	found = smc_link_find_named(net, version, port, peer, r, true);
	/*
	 * A server may offer its link at all addresses of its host. So if no group at the server's
	 * address has the peer id, GID and queue pair of the ACCEPT, search the groups at other
	 * addresses, too. If a group at the server's address has these values, but can't be used,
	 * search no further: a group at another address with the same values belongs to another
	 * server.
	 */
	if (found == ERR_PTR(-ENOENT))
		found = smc_link_find_named(net, version, port, peer, r, false);
	if (found == ERR_PTR(-ENOENT) && smc_rdma_group_has_lost(net, version, peer, r))
		found = ERR_PTR(-EHOSTUNREACH);
	/*
	 * The client does not check max_conns: a connection may be over at the server before it is
	 * over here.
	 */
	if (!IS_ERR(found))
		smc_link_reserve(found);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return found;
}

static unsigned int smc_rdma_group_owner(const struct smc_lgr *lgr)
{
	const struct smc_rdma_group *group = smc_rdma_group_of(lgr);
	const struct in6_addr prefix = smc_address_prefix(&group->peer.addr);

	return jhash(&prefix, sizeof(prefix), net_hash_mix(&init_net)) % SMC_LGR_OWNERS;
}

static unsigned long smc_rdma_group_idle_time(const struct smc_lgr *lgr)
{
	const struct smc_rdma_group *group = smc_rdma_group_of(lgr);

	if (group->retired)
		return 0;
	return group->role == SMC_SERVER ? SMC_GROUP_IDLE : SMC_GROUP_IDLE_CLIENT;
}

bool smc_rdma_group_end_spare(struct smc_rdma_group *group)
{
	unsigned long flags;
	bool is_spare;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	is_spare = smc_rdma_group_is_spare(group);
	if (is_spare)
		smc_rdma_group_shutdown(&group->lgr);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return is_spare;
}

void smc_rdma_group_retire(struct smc_rdma_group *group)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	smc_rdma_group_retire_locked(group);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

/*
 * Choose the owner with the most quarantined pages in all its groups together. Of this owner's
 * groups, end the one with the most quarantined pages. A peer may spread its connections over many
 * groups, so owners are compared first.
 */
static void smc_rdma_groups_end_most_quarantined(void)
{
	struct smc_rdma_group *group, *most = NULL;
	long n_by_owner[SMC_LGR_OWNERS] = {}, n_of_owner, n_of_owner_most = 0;

	lockdep_assert_held(&smc_rdma_lgrs.lock);
	list_for_each_entry(group, &smc_rdma_lgrs.list, lgr.list) {
		if (smc_lgr_is_dead(&group->lgr))
			continue;
		n_by_owner[smc_rdma_group_owner(&group->lgr)] += group->quarantined_pages;
	}
	list_for_each_entry(group, &smc_rdma_lgrs.list, lgr.list) {
		if (smc_lgr_is_dead(&group->lgr) || !group->n_quarantined)
			continue;
		n_of_owner = n_by_owner[smc_rdma_group_owner(&group->lgr)];
		if (most && n_of_owner < n_of_owner_most)
			continue;
		if (most && n_of_owner == n_of_owner_most &&
		    group->quarantined_pages <= most->quarantined_pages)
			continue;
		most = group;
		n_of_owner_most = n_of_owner;
	}
	/*
	 * Send no DELETE LINK: the in-tree module might then hang in close() of connections that it
	 * has kept open.
	 */
	if (most)
		smc_rdma_group_terminate_locked(most, ECONNRESET, 0);
}

void smc_rdma_group_quarantine(struct smc_rdma_group *group, long pages, bool is_reserved)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	/*
	 * A group that is dead, or ends with this connection, frees its memory soon. So don't count
	 * it.
	 */
	if (!smc_lgr_is_dead(&group->lgr) && group->lgr.n_conns > is_reserved) {
		group->n_quarantined++;
		group->quarantined_pages += pages;
		if (!smc_stream_quarantine(1, pages))
			smc_rdma_groups_end_most_quarantined();
	}
	smc_rdma_group_retire_locked(group);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

/* Whether @own is confirmed, and leads to @end from the same port as @link. */
static bool smc_link_leads_to(const struct smc_link *own, const struct smc_link *link,
			      const struct smc_link_peer *end)
{
	return own->is_confirmed && own->group->vlan == link->group->vlan &&
	       own->port.dev == link->port.dev && own->port_num == link->port_num &&
	       !memcmp(own->gid, link->gid, SMC_GID_LEN) && own->peer.qpn == end->qpn &&
	       !memcmp(own->peer.gid, end->gid, SMC_GID_LEN);
}

static bool smc_rdma_group_leads_to(const struct smc_rdma_group *group, const struct smc_link *link,
				    const struct smc_link_peer *end)
{
	const struct smc_link *own;

	/* The links of a dead group may have released their ports. */
	if (!smc_lgr_is_active(&group->lgr))
		return false;
	smc_for_each_link(own, group)
		if (smc_link_leads_to(own, link, end))
			return true;
	return false;
}

/*
 * Check that @end is not the end of another peer's link. A queue pair is connected to only one
 * other queue pair. So @link can't lead to @end if a confirmed link of a group with a peer at
 * another address leads there. A peer at the same address may have rebooted. Once its new link is
 * confirmed, its old group takes no more connections. The old group does not end, because the new
 * link may belong to another program that uses the address.
 */
static int smc_link_claim_end(const struct smc_link *link, const struct smc_link_peer *end,
			      bool is_confirmed)
{
	const struct smc_rdma_group *group = link->group;
	struct smc_rdma_group *other;

	lockdep_assert_held(&smc_rdma_lgrs.lock);
	list_for_each_entry(other, &smc_lgrs_of(&smc_rdma_lgrs, group->lgr.net)->list, lgr.in_net) {
		if (!smc_rdma_group_leads_to(other, link, end))
			continue;
		if (!ipv6_addr_equal(&other->peer.addr, &group->peer.addr))
			return -EHOSTUNREACH;
		if (is_confirmed)
			smc_rdma_group_retire_locked(other);
	}
	return 0;
}

int smc_link_may_lead_to(const struct smc_link *link, const struct smc_link_peer *end)
{
	unsigned long flags;
	int rc;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	rc = smc_link_claim_end(link, end, false);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return rc;
}

/* Let connections use a confirmed link. Return: 0, or an error of smc_link_may_lead_to(). */
static int smc_link_activate(struct smc_link *link)
{
	/* Check once more: other links may have been confirmed since the last check. */
	int rc = smc_link_claim_end(link, &link->peer, true);

	if (rc)
		return rc;
	link->is_confirmed = true;
	link->state_since = ktime_get_seconds();
	hash_add(smc_links_by_gid, &link->by_gid,
		 smc_rdma_group_hash(link->group->lgr.net, link->peer.gid));
	return 0;
}

int smc_rdma_group_activate(struct smc_rdma_group *group)
{
	struct smc_link *link = smc_rdma_group_link_from(group, 0);
	const struct net *net = group->lgr.net;
	unsigned long flags;
	int rc = -ENOLINK;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	if (group->lgr.state == SMC_LGR_NEW)
		rc = smc_link_activate(link);
	if (!rc) {
		queue_delayed_work(smc_link_wq, &group->links_work,
				   READ_ONCE(smc_net(net)->sysctl.smcr_testlink_time));
		smc_lgr_activate(&group->lgr);
		if (group->role == SMC_SERVER)
			smc_add_link_queue(group);
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	/* The device's name can be read: the setup of the first contact holds the device. */
	if (!rc)
		smc_log(pr_info, net, "%s: new link group with %pI6c",
			link->port.dev->ibdev->name, &group->peer.addr);
	return rc;
}

void smc_rdma_group_terminate(struct smc_rdma_group *group, int err)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	smc_rdma_group_terminate_locked(group, err, 0);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

void smc_link_note_inactive(struct smc_link *link)
{
	lockdep_assert_held(&smc_rdma_lgrs.lock);
	if (!smc_link_is_inactive(link))
		link->state_since = ktime_get_seconds();
}

void smc_link_mark_broken(struct smc_link *link)
{
	smc_link_note_inactive(link);
	WRITE_ONCE(link->broken, true);
}

void smc_link_peer_left(struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	if (!link->peer_left_at && smc_lgr_is_active(&group->lgr)) {
		WRITE_ONCE(link->peer_left_at, jiffies | 1);
		mod_delayed_work(smc_link_wq, &group->links_work, 0);
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

/*
 * Note why a link ends. Reasons that come later, or once the group is dead, mostly follow from the
 * first one.
 */
static void smc_link_note_why(struct smc_link *link, const char *why)
{
	lockdep_assert_held(&smc_rdma_lgrs.lock);
	if (!link->why[0] && !smc_lgr_is_dead(&link->group->lgr))
		strscpy(link->why, why, sizeof(link->why));
}

static void smc_link_why_deleted(char why[SMC_LINK_WHY_LEN], u32 reason)
{
	scnprintf(why, SMC_LINK_WHY_LEN, "DELETE LINK of the peer, reason %#x", reason);
}

/* End a group whose links must carry nothing more, because the peer has broken the protocol. */
static void smc_rdma_group_break(struct smc_rdma_group *group, const char *why)
{
	struct smc_link *link;
	unsigned long flags;

	/*
	 * Return at once if the group is broken already: hundreds of calls may follow the first
	 * one.
	 */
	if (READ_ONCE(group->is_broken))
		return;
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	WRITE_ONCE(group->is_broken, true);
	smc_for_each_link(link, group) {
		smc_link_note_why(link, why);
		smc_link_mark_broken(link);
	}
	smc_rdma_group_terminate_locked(group, ECONNRESET, 0);
	/* If the group was dead already, nothing else wakes the threads that wait for its peer. */
	smc_rdma_group_wake(group);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

void smc_rdma_group_on_violation(struct smc_rdma_group *group, enum smc_violation what)
{
	smc_stat_violation(smc_net(group->lgr.net), what);
	if (!smc_lgr_is_dead(&group->lgr))
		smc_log(pr_warn, group->lgr.net, "%pI6c broke the protocol: %s", &group->peer.addr,
			smc_violation_names[what]);
	smc_rdma_group_break(group, smc_violation_names[what]);
}

void smc_rdma_group_peer_left(struct smc_rdma_group *group, u32 reason)
{
	char why[SMC_LINK_WHY_LEN];
	struct smc_link *link;
	unsigned long flags;

	smc_link_why_deleted(why, reason);
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	smc_for_each_link(link, group)
		smc_link_note_why(link, why);
	smc_rdma_group_shutdown(&group->lgr);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

long smc_rdma_group_time_left(const struct smc_rdma_group *group)
{
	return clamp_t(long, READ_ONCE(group->shutdown_deadline) - jiffies, 0, SMC_GROUP_LOOK);
}

int smc_rdma_group_error_of(enum ib_wc_status status)
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

struct smc_link *smc_rdma_group_other_link(const struct smc_link *link)
{
	struct smc_link *other;

	smc_for_each_link(other, link->group)
		if (other != link && smc_link_works(other))
			return other;
	return NULL;
}

struct smc_link *smc_rdma_group_find_link(const struct smc_rdma_group *group, u8 number)
{
	struct smc_link *link;

	smc_for_each_link(link, group)
		if (link->number == number)
			return link;
	return NULL;
}

struct smc_link *smc_rdma_group_next_link(struct smc_rdma_group *group, unsigned int *index)
{
	struct smc_link *link;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	link = smc_rdma_group_link_from(group, *index);
	if (link) {
		smc_link_get(link);
		*index = link->index + 1;
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return link;
}

void smc_rdma_group_insert_link(struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;
	unsigned long flags;

	lockdep_assert_held(&group->buffers.lock);
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	link->serial = ++group->last_serial;
	WRITE_ONCE(group->links[link->index], link);
	/* The device's removal ends only links in groups, and may have missed this one. */
	if (READ_ONCE(link->port.dev->leaving))
		smc_rdma_group_lose_link(link, ENETDOWN, false, "its device is removed");
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

static void smc_rdma_group_watch_tx(const struct smc_rdma_group *group)
{
	struct smc_link *link;

	smc_for_each_link(link, group)
		if (smc_link_works(link))
			smc_link_watch_tx(link);
}

int smc_rdma_group_activate_link(struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;
	unsigned long flags;
	int rc = -ENOLINK;

	lockdep_assert_held(&group->buffers.lock);
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	if (smc_lgr_is_active(&group->lgr) && !READ_ONCE(link->broken))
		rc = smc_link_activate(link);
	if (!rc) {
		mod_delayed_work(smc_link_wq, &group->links_work, 0);
		smc_rdma_group_watch_tx(group);
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	if (rc)
		return rc;
	smc_llc_resume(group);
	smc_stat_rdma(smc_net(group->lgr.net), SMC_RDMA_LINKS_ADDED, 1);
	smc_log(pr_info, group->lgr.net, "%s: link %u with %pI6c added",
		link->port.dev->ibdev->name, link->number, &group->peer.addr);
	return 0;
}

void smc_rdma_group_remove_link(struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;
	unsigned long flags;

	lockdep_assert_held(&group->buffers.lock);
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	hash_del(&link->by_gid);
	WRITE_ONCE(group->links[link->index], NULL);
	if (link->is_confirmed)
		group->lost[link->index] = link->peer;
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	/* Softirqs, and work items that note RTokens, walk the links without a lock. */
	synchronize_rcu();
	smc_mr_buffers_unmap(link);
	smc_rtokens_forget_link(&group->rtokens, link->index);
	smc_link_release(link);
	smc_link_put(link);
}

void smc_rdma_group_lose_link(struct smc_link *link, int err, bool in_order, const char *why)
{
	struct smc_rdma_group *group = link->group;

	smc_link_note_why(link, why);
	if (!smc_lgr_is_active(&group->lgr) || !smc_rdma_group_other_link(link)) {
		smc_rdma_group_terminate_locked(group, err,
						in_order ? SMC_LLC_DEL_OPERATOR : 0);
		return;
	}
	trace_smcr_link_down(link, group->lgr.state, (void *)_RET_IP_);
	smc_link_mark_broken(link);
	smc_rdma_group_wake(group);
	mod_delayed_work(smc_link_wq, &group->links_work, 0);
}

void smc_rdma_group_replace_link(const struct smc_link *oldest, const struct smc_link *link)
{
	struct smc_link *other;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	if (!smc_link_works(oldest) || !smc_link_works(link))
		goto out;
	smc_for_each_link(other, oldest->group) {
		if (other == oldest || other == link || !smc_link_works(other))
			continue;
		other->is_replaced = true;
		smc_rdma_group_lose_link(other, ECONNRESET, false, "a symmetric link replaces it");
	}
out:
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

bool smc_rdma_group_delete_link(struct smc_rdma_group *group, u8 number, u32 reason)
{
	char why[SMC_LINK_WHY_LEN];
	struct smc_link *found;
	unsigned long flags;

	smc_link_why_deleted(why, reason);
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	found = smc_rdma_group_find_link(group, number);
	if (found) {
		/*
		 * If the link is broken already, the message may be a server's answer to this
		 * client's own DELETE LINK. Such an answer does not show that the server wanted the
		 * link to end.
		 */
		if (!READ_ONCE(found->broken)) {
			found->is_deleted = true;
			found->is_replaced = reason == SMC_LLC_DEL_ASYMMETRIC;
		}
		smc_rdma_group_lose_link(found, ECONNRESET, false, why);
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	return found;
}

static const struct smc_lgr_ops smc_rdma_group_ops = {
	.idle_time	= smc_rdma_group_idle_time,
	.owner		= smc_rdma_group_owner,
	.shutdown	= smc_rdma_group_shutdown,
	.end		= smc_rdma_group_end,
	.free		= smc_rdma_group_free,
	.idle_pages	= smc_mr_buffers_idle_pages,
	.give_back	= smc_mr_buffers_queue_free,
};

struct smc_lgr_kind smc_rdma_lgrs = {
	.path	= SMC_PATH_R,
	.ops	= &smc_rdma_group_ops,
};
