// SPDX-License-Identifier: GPL-2.0
/* Look after the links of a group: test those that are silent, and watch their ports. */

#include <rdma/ib_cache.h>

#include "admin/net.h"
#include "group.h"
#include "links.h"
#include "llc.h"
#include "message.h"
#include "workqueue.h"

/*
 * A link is lost if nothing is received within two seconds after each of this many TEST LINKs. So
 * connections of a silent link outlive ten seconds without any packet, as those of a busy link do.
 */
#define SMC_LINK_TESTS		6
#define SMC_LINK_TEST_WAIT	(2 * HZ)

/*
 * How long a port may be down before its links end: about as long as a queue pair repeats what the
 * peer does not acknowledge.
 */
#define SMC_PORT_DOWN_TIMEOUT	(4 * HZ)

/* How often to look whether TEST LINK is still off. */
#define SMC_LINK_LOOK		(30 * HZ)

/*
 * Test a link if it is silent. Return: after how many jiffies to look at it next, or -ETIMEDOUT if
 * it is lost.
 */
static long smc_link_test(struct smc_link *link)
{
	const struct net *net = link->group->lgr.net;
	const unsigned long interval = READ_ONCE(smc_net(net)->sysctl.smcr_testlink_time);
	const unsigned long last_rx = READ_ONCE(link->last_rx);
	long left;

	if (!interval || time_after_eq(last_rx, link->tested))
		link->n_tests = 0;
	if (!interval)
		return SMC_LINK_LOOK;
	left = (long)(link->n_tests ? link->tested + SMC_LINK_TEST_WAIT - jiffies :
				      last_rx + interval - jiffies);
	if (left > 0)
		return left;
	if (link->n_tests == SMC_LINK_TESTS)
		return -ETIMEDOUT;
	link->n_tests++;
	link->tested = jiffies;
	smc_llc_test_link(link);
	return SMC_LINK_TEST_WAIT;
}

/*
 * Return: 0 if the port is up. If the port is down: for how many jiffies the link still waits for
 * it, or -ENETDOWN after that time. Whenever the port has gone down or come back,
 * smc_links_watch_port() queues the work that calls this function.
 */
static long smc_link_look_at_port(struct smc_link *link)
{
	long left;

	if (smc_rdma_port_is_active(link->port.dev->ibdev, link->port_num)) {
		link->port_is_down = false;
		return 0;
	}
	if (!link->port_is_down)
		link->port_down_since = jiffies;
	link->port_is_down = true;
	left = (long)(link->port_down_since + SMC_PORT_DOWN_TIMEOUT - jiffies);
	return left > 0 ? left : -ENETDOWN;
}

static void smc_links_look_after(struct work_struct *work)
{
	struct smc_rdma_group *group = container_of(work, struct smc_rdma_group, links_work.work);
	long delay, next = SMC_LINK_LOOK;
	struct smc_link *link;

	smc_for_each_link(link, group) {
		delay = smc_link_look_at_port(link) ? : smc_link_test(link);
		if (delay < 0)
			smc_link_break(link, -delay);
		else
			next = min(next, delay);
	}
	if (!smc_lgr_is_dead(&group->lgr))
		queue_delayed_work(smc_link_wq, &group->links_work, next);
}

void smc_links_init(struct smc_rdma_group *group)
{
	INIT_DELAYED_WORK(&group->links_work, smc_links_look_after);
}

/* Whether a link uses a port. Links of dead groups do not count: they may have released theirs. */
static bool smc_link_uses_port(const struct smc_link *link, const struct smc_rdma_device *dev,
			       u32 port)
{
	return !smc_lgr_is_dead(&link->group->lgr) && link->port.dev == dev &&
	       (port == SMC_ALL_PORTS || link->port_num == port);
}

/* End the links on a port, except those for which @is_kept, if not NULL, returns true. */
static void smc_links_lose_port(const struct smc_rdma_device *dev, u32 port, bool tell_peer,
				bool (*is_kept)(const struct smc_link *link))
{
	struct smc_rdma_group *group;
	struct smc_link *link;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	list_for_each_entry(group, &smc_rdma_lgrs.list, lgr.list)
		smc_for_each_link(link, group)
			if (smc_link_uses_port(link, dev, port) && !(is_kept && is_kept(link)))
				smc_rdma_group_lose_link(link, ENETDOWN, tell_peer);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

void smc_links_device_failed(struct smc_rdma_device *dev)
{
	smc_links_lose_port(dev, SMC_ALL_PORTS, false, NULL);
}

void smc_links_watch_port(struct smc_rdma_device *dev, u32 port)
{
	struct smc_rdma_group *group;
	struct smc_link *link;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	list_for_each_entry(group, &smc_rdma_lgrs.list, lgr.list) {
		smc_for_each_link(link, group) {
			if (!smc_link_uses_port(link, dev, port))
				continue;
			if (smc_lgr_is_active(&group->lgr))
				mod_delayed_work(smc_link_wq, &group->links_work, 0);
			else if (!smc_rdma_port_is_active(dev->ibdev, port))
				/* End a first contact at once: its connection can still use TCP. */
				smc_rdma_group_lose_link(link, ENETDOWN, false);
		}
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

void smc_links_shutdown_device(struct smc_rdma_device *dev)
{
	/* Set @leaving first: smc_rdma_group_create() ends a group that the walk below misses. */
	WRITE_ONCE(dev->leaving, true);
	smc_links_lose_port(dev, SMC_ALL_PORTS, true, NULL);
}

static bool smc_link_has_gid(const struct smc_link *link)
{
	const struct ib_gid_attr *attr = link->port.gid;
	union ib_gid gid;

	return !rdma_query_gid(attr->device, attr->port_num, attr->index, &gid) &&
	       !memcmp(&gid, &attr->gid, sizeof(gid));
}

void smc_links_check_gids(struct smc_rdma_device *dev, u32 port)
{
	smc_links_lose_port(dev, port, false, smc_link_has_gid);
}

unsigned int smc_links_count_on(const struct net *net, const struct smc_rdma_device *dev, u32 port)
{
	const struct smc_rdma_group *group;
	const struct smc_link *link;
	unsigned int n = 0;

	spin_lock_irq(&smc_rdma_lgrs.lock);
	list_for_each_entry(group, &smc_lgrs_of(&smc_rdma_lgrs, net)->list, lgr.in_net)
		smc_for_each_link(link, group)
			n += smc_link_uses_port(link, dev, port);
	spin_unlock_irq(&smc_rdma_lgrs.lock);
	return n;
}
