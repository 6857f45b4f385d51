// SPDX-License-Identifier: GPL-2.0
/* Retire the groups of links whose next hop gets another MAC address. */

#include <linux/if_arp.h>
#include <linux/workqueue.h>
#include <net/arp.h>
#include <net/ndisc.h>
#include <net/netevent.h>
#include <rdma/ib_cache.h>

#include "group.h"
#include "link.h"
#include "log.h"
#include "neighbour.h"
#include "workqueue.h"

/*
 * The time from an event to the comparison. It limits how often the work item walks all groups: the
 * owner of a namespace can change its neighbour table at any rate.
 */
#define SMC_NEIGHBOURS_DELAY	(HZ / 10)

/* Return: the entry of the neighbour table for a link's next hop, or NULL. Under RCU. */
static const struct neighbour *smc_link_neighbour(const struct smc_link *link)
{
	struct net_device *dev = rdma_read_gid_attr_ndev_rcu(link->port.gid);
	struct in6_addr addr = link->group->gateway;

	if (IS_ERR(dev) || dev->type != ARPHRD_ETHER)
		return NULL;
	if (!link->group->is_routed)
		memcpy(&addr, link->peer.gid, sizeof(addr));
	if (ipv6_addr_v4mapped(&addr))
		return __ipv4_neigh_lookup_noref(dev, (__force u32)addr.s6_addr32[3]);
	return ipv6_mod_enabled() ? __ipv6_neigh_lookup_noref(dev, &addr) : NULL;
}

/*
 * Whether the next hop of a link has another MAC address than before. A router's MAC address is
 * from the neighbour table. A peer has told its own, which the table need not have: a host with two
 * ports in a network may answer ARP requests for the address of either port by the other. So a
 * peer's MAC address counts only once the table has had it. Under RCU.
 */
static bool smc_link_mac_has_changed(struct smc_link *link)
{
	const struct neighbour *neigh = smc_link_neighbour(link);
	u8 mac[SMC_MAC_LEN];

	if (!neigh || !(READ_ONCE(neigh->nud_state) & NUD_VALID))
		return false;
	neigh_ha_snapshot(mac, neigh, neigh->dev);
	if (memcmp(mac, link->peer.mac, SMC_MAC_LEN))
		return link->is_mac_known || link->group->is_routed;
	link->is_mac_known = true;
	return false;
}

/*
 * Whether new connections would get a link to another MAC address if the group were retired. An
 * in-tree server keeps offering the group that its client has retired, and connections with it
 * would be TCP. In version 1 peers name their MAC addresses in each handshake, and the search for a
 * group compares them.
 */
static bool smc_neighbours_may_retire(const struct smc_rdma_group *group)
{
	return smc_lgr_is_active(&group->lgr) && !group->retired &&
	       group->version != SMC_VERSION_1 &&
	       !(group->role == SMC_CLIENT && group->is_foreign);
}

static void smc_neighbours_check_group(struct smc_rdma_group *group)
{
	struct smc_link *link;

	if (!smc_neighbours_may_retire(group))
		return;
	smc_for_each_link(link, group) {
		if (!smc_link_works(link) || !smc_link_mac_has_changed(link))
			continue;
		smc_log(pr_info, group->lgr.net,
			"%s: link group with %pI6c retired: its next hop has another MAC address",
			link->port.dev->ibdev->name, &group->peer.addr);
		smc_rdma_group_retire_locked(group);
		return;
	}
}

static void smc_neighbours_compare(struct work_struct *work)
{
	struct smc_rdma_group *group;
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	list_for_each_entry(group, &smc_rdma_lgrs.list, lgr.list)
		smc_neighbours_check_group(group);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	rcu_read_unlock();
}

static DECLARE_DELAYED_WORK(smc_neighbours_work, smc_neighbours_compare);

void smc_neighbours_check(void)
{
	queue_delayed_work(smc_link_wq, &smc_neighbours_work, SMC_NEIGHBOURS_DELAY);
}

static int smc_neighbours_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct neighbour *neigh = arg;

	if (event == NETEVENT_NEIGH_UPDATE && (READ_ONCE(neigh->nud_state) & NUD_VALID) &&
	    READ_ONCE(smc_rdma_lgrs.n))
		smc_neighbours_check();
	return NOTIFY_DONE;
}

static struct notifier_block smc_neighbours_notifier = { .notifier_call = smc_neighbours_event };

int smc_neighbours_init(void)
{
	return register_netevent_notifier(&smc_neighbours_notifier);
}

void smc_neighbours_exit(void)
{
	unregister_netevent_notifier(&smc_neighbours_notifier);
	cancel_delayed_work_sync(&smc_neighbours_work);
}
