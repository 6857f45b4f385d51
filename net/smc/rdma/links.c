// SPDX-License-Identifier: GPL-2.0
/*
 * Look after the links of a group: test silent links, watch the ports of all links, and move the
 * connections of lost links.
 */

#include <rdma/ib_cache.h>

#include "add_link.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "conn.h"
#include "group.h"
#include "links.h"
#include "llc.h"
#include "log.h"
#include "message.h"
#include "workqueue.h"

/*
 * A link is lost if nothing is received within two seconds after each of this many TEST LINKs. So
 * connections on a silent link survive ten seconds without any packet. With soft-RoCE, connections
 * on a busy link survive as long. (An adapter gives up on a busy link after one to four seconds.)
 * If another link can take over, one TEST LINK is enough.
 */
#define SMC_LINK_TESTS		6
#define SMC_LINK_TEST_WAIT	(2 * HZ)

/*
 * How long a port may be down before its links end, if no link at another port can take over. This
 * is about as long as a queue pair repeats what the peer does not acknowledge.
 */
#define SMC_PORT_DOWN_TIMEOUT	(4 * HZ)

/*
 * How long to wait for the DELETE LINK of a peer that has moved a connection away. Connections that
 * are over must not wait for the link's end without a limit.
 */
#define SMC_PEER_LEFT_TIMEOUT	(2 * HZ)

/*
 * How long to wait until a receive of a quiesced link is flushed. If no receive is posted, none is
 * flushed, so the queue pair is destroyed after this time. An adapter then loses the messages that
 * have come but are not handled yet. soft-RoCE does not lose them, so it gets less time.
 */
#define SMC_LINK_FLUSH_TIMEOUT		HZ
#define SMC_LINK_FLUSH_TIMEOUT_SOFT	(HZ / 10)

/* Time until the next attempt to remove a link that can't be removed yet. */
#define SMC_LINK_END_RETRY	HZ

/*
 * How often to look at a link that is not to be tested now: TEST LINK is off, or the link is broken
 * or not confirmed yet.
 */
#define SMC_LINK_LOOK		(30 * HZ)

/* Whether another link can take over from a link. */
static bool smc_link_has_other(const struct smc_link *link)
{
	bool has_other;

	rcu_read_lock();
	has_other = smc_rdma_group_other_link(link);
	rcu_read_unlock();
	return has_other;
}

/* Whether a link at another port can take over from a link. */
static bool smc_link_has_other_port(const struct smc_link *link)
{
	const struct smc_link *other;
	bool has_other = false;

	rcu_read_lock();
	smc_for_each_link(other, link->group)
		if (other != link && smc_link_works(other) &&
		    !(smc_links_share(link, other) & SMC_LINKS_SHARE_LOCAL))
			has_other = true;
	rcu_read_unlock();
	return has_other;
}

/*
 * Test a link if it is silent. Return: the time in jiffies until the next look at the link, or
 * -ETIMEDOUT if the link is lost.
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
	if (link->n_tests >= SMC_LINK_TESTS ||
	    (link->n_tests && smc_llc_may_leave(link, link->tested)))
		return -ETIMEDOUT;
	link->n_tests++;
	link->tested = jiffies;
	smc_llc_test_link(link);
	return SMC_LINK_TEST_WAIT;
}

/*
 * Return: 0 if the port is up. If the port is down: the number of jiffies that the link still waits
 * for the port; -ENETDOWN if that wait is over, or if a link at another port can take over.
 * Whenever the port goes down or comes back, smc_links_watch_port() queues the work item that calls
 * this function.
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
	if (smc_link_has_other_port(link))
		return -ENETDOWN;
	left = (long)(link->port_down_since + SMC_PORT_DOWN_TIMEOUT - jiffies);
	return left > 0 ? left : -ENETDOWN;
}

/*
 * Return: 0 if no connection waits for the end of the link; the number of jiffies that they still
 * wait for the peer's DELETE LINK; or -ECONNRESET if that wait is over.
 */
static long smc_link_look_at_peer(const struct smc_link *link)
{
	const unsigned long left_at = READ_ONCE(link->peer_left_at);
	long left;

	if (!left_at || !smc_link_has_other(link))
		return 0;
	left = (long)(left_at + SMC_PEER_LEFT_TIMEOUT - jiffies);
	return left > 0 ? left : -ECONNRESET;
}

/* Move the connections of a link to another one. Return: how many have moved. */
static unsigned int smc_link_move_conns(struct smc_link *from, struct smc_link *to)
{
	struct smc_rdma_conn *conn;
	unsigned long index = 0;
	unsigned int n = 0;

	/*
	 * Pairs with smc_rdma_conn_create(): a connection that is not found here finds the link
	 * broken.
	 */
	smp_mb();
	while ((conn = smc_rdma_conn_next(from->group, &index))) {
		n += smc_rdma_conn_move(conn, from, to);
		smc_stream_put(&conn->stream);
	}
	return n;
}

static void smc_link_tell_conns_of_end(const struct smc_link *link)
{
	struct smc_rdma_conn *conn;
	unsigned long index = 0;

	while ((conn = smc_rdma_conn_next(link->group, &index))) {
		smc_rdma_conn_on_link_end(conn, link);
		smc_stream_put(&conn->stream);
	}
}

/*
 * Whether it is too early to destroy the queue pair. A network device that is down, such as
 * virtio_net, may hold packets that it has not sent. soft-RoCE would wait for these packets, and
 * warn. But if the RDMA device is being removed, or the group is dead, the queue pair can't be
 * kept.
 */
static bool smc_link_has_packets(const struct smc_link *link)
{
	const struct smc_rdma_device *dev = link->port.dev;

	return link->is_soft && !smc_rdma_port_is_active(dev->ibdev, link->port_num) &&
	       !READ_ONCE(dev->leaving) && !smc_lgr_is_dead(&link->group->lgr);
}

/* Queue the work item that adds a link in place of a lost one. */
static void smc_link_seek_successor(const struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;
	unsigned long flags;

	if (!link->is_confirmed)
		return;
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	/*
	 * If the lost link's port is down, the new link will use another port, so don't delay the
	 * attempt. An event tells when the lost link's port is up again.
	 */
	if (link->port_is_down)
		smc_add_link_queue(group);
	else
		smc_add_link_after_loss(group);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

static void smc_link_put_end(struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;

	smc_link_put(link);
	smc_rdma_group_put(group);
}

/*
 * Take a link out of its group. Return: false if the buffer lock is held and the work item must not
 * wait for it.
 */
static bool smc_link_remove(struct smc_link *link, bool may_wait)
{
	struct mutex *lock = &link->group->buffers.lock;

	if (may_wait)
		mutex_lock(lock);
	else if (!mutex_trylock(lock))
		return false;
	smc_rdma_group_remove_link(link);
	mutex_unlock(lock);
	smc_link_seek_successor(link);
	return true;
}

static void smc_link_end(struct work_struct *work)
{
	struct smc_link *link = container_of(work, struct smc_link, end_work.work);
	/* The removal of a device waits for this work item, so this one waits beyond the limit. */
	const bool may_wait = smc_add_link_enter(false) || READ_ONCE(link->port.dev->leaving);
	bool is_removed = false;

	if (smc_link_is_destroyed(link) || !smc_link_has_packets(link)) {
		/* Don't hold the buffer lock here: the device may take a long time. */
		if (!smc_link_is_destroyed(link))
			smc_link_destroy(link);
		/* If a link that was not confirmed was in use, it was the last one. */
		if (link->is_confirmed)
			smc_link_tell_conns_of_end(link);
		is_removed = smc_link_remove(link, may_wait);
	}
	smc_add_link_exit();
	/*
	 * A work item that is being cancelled can't be queued again, so drop its references here.
	 */
	if (is_removed || !queue_delayed_work(smc_add_link_wq, &link->end_work, SMC_LINK_END_RETRY))
		smc_link_put_end(link);
}

void smc_link_leave(struct smc_link *link)
{
	const long timeout = link->is_soft ? SMC_LINK_FLUSH_TIMEOUT_SOFT : SMC_LINK_FLUSH_TIMEOUT;
	unsigned long flags;

	INIT_DELAYED_WORK(&link->end_work, smc_link_end);
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	smc_link_note_inactive(link);
	WRITE_ONCE(link->is_left, true);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	smc_link_quiesce(link);
	/*
	 * The device may still be writing bytes that have arrived. Soon the peer gets credit over
	 * another link, and sends newer bytes to the same place. The old bytes must not overwrite
	 * the newer ones. Once a receive is flushed, all bytes that have arrived on this link are
	 * written, and their messages are handled. If no receive is flushed, only the end of the
	 * queue pair ensures that the device writes no old bytes any more.
	 */
	if (!wait_event_timeout(link->slot_wait, READ_ONCE(link->is_flushed), timeout) &&
	    !smc_link_has_packets(link))
		smc_link_destroy(link);
}

void smc_link_end_later(struct smc_link *link)
{
	smc_rdma_group_get(link->group);
	smc_link_get(link);
	queue_delayed_work(smc_add_link_wq, &link->end_work, 0);
}

static void smc_rdma_group_note_loss(struct smc_rdma_group *group, const struct smc_link *link)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	WRITE_ONCE(group->last_loss.number, link->number);
	group->last_loss.since = ktime_get_seconds();
	strscpy(group->last_loss.why, link->why, sizeof(group->last_loss.why));
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

/* Count and log the end of a link, and that @n of its connections now use link @to. */
static void smc_link_note_end(const struct smc_link *link, const struct smc_link *to,
			      unsigned int n)
{
	struct smc_rdma_group *group = link->group;
	struct net *net = group->lgr.net;
	const char *device = link->port.dev->ibdev->name;

	smc_stat_rdma(smc_net(net), SMC_RDMA_CONNS_MOVED, n);
	if (link->is_replaced) {
		smc_log(pr_info, net, "%s: link %u with %pI6c replaced, %u connections use link %u",
			device, link->number, &group->peer.addr, n, to->number);
		return;
	}
	smc_rdma_group_note_loss(group, link);
	smc_stat_rdma(smc_net(net), SMC_RDMA_LINKS_LOST, 1);
	smc_log(pr_warn, net, "%s: link %u with %pI6c lost, %u connections use link %u: %s", device,
		link->number, &group->peer.addr, n, to->number, link->why);
}

/*
 * Move the connections of a broken link to another one. The link is quiesced first, so that it
 * sends nothing more once the other link has begun to send.
 */
static void smc_link_fail_over(struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;
	struct smc_link *to;
	unsigned int n;

	smc_link_leave(link);
	/* The oldest link is the same at both ends. Without another link the group ends. */
	to = smc_rdma_group_get_oldest_link(group);
	if (!to)
		return;
	n = smc_link_move_conns(link, to);
	smc_link_note_end(link, to, n);
	/* Let the work item of LLC drop the requests that wait for a free slot of the lost link. */
	smc_llc_resume(group);
	/*
	 * Tell the peer. A client that has answered the server's DELETE LINK need not. A server
	 * must: its own DELETE LINK is the answer to the client's.
	 */
	if (!link->is_deleted || group->role == SMC_SERVER)
		smc_llc_delete_link(to, link->number, SMC_LLC_DELETE_ORDERLY,
				    link->is_replaced ? SMC_LLC_DEL_ASYMMETRIC :
							SMC_LLC_DEL_LOST_PATH);
	smc_link_put(to);
	smc_link_end_later(link);
}

void smc_links_cancel_ends(struct smc_rdma_group *group)
{
	unsigned int index = 0;
	struct smc_link *link;

	while ((link = smc_rdma_group_next_link(group, &index))) {
		if (link->is_left && cancel_delayed_work_sync(&link->end_work))
			smc_link_put_end(link);
		smc_link_put(link);
	}
}

/* Return: the reason to end a link, for the error of smc_link_look_after(). */
static const char *smc_link_why(long err)
{
	switch (err) {
	case -ENETDOWN:
		return "its port is down";
	case -ECONNRESET:
		return "the peer has left it";
	default:
		return "no answer to TEST LINK";
	}
}

/* Look after a link. Return: the time in jiffies until the next look at the link. */
static long smc_link_look_after(struct smc_link *link)
{
	long delay;

	/* Until the link is confirmed, the work item that adds it looks after it. */
	if (!READ_ONCE(link->is_confirmed))
		return SMC_LINK_LOOK;
	if (READ_ONCE(link->broken)) {
		if (!link->is_left && smc_link_has_other(link))
			smc_link_fail_over(link);
		return SMC_LINK_LOOK;
	}
	delay = smc_link_look_at_port(link) ? : smc_link_look_at_peer(link) ? : smc_link_test(link);
	if (delay >= 0)
		return delay;
	smc_link_break(link, -delay, smc_link_why(delay));
	return SMC_LINK_LOOK;
}

static void smc_links_look_after(struct work_struct *work)
{
	struct smc_rdma_group *group = container_of(work, struct smc_rdma_group, links_work.work);
	long next = SMC_LINK_LOOK;
	unsigned int index = 0;
	struct smc_link *link;

	while ((link = smc_rdma_group_next_link(group, &index))) {
		next = min(next, smc_link_look_after(link));
		smc_link_put(link);
	}
	if (!smc_lgr_is_dead(&group->lgr))
		queue_delayed_work(smc_link_wq, &group->links_work, next);
}

void smc_links_init(struct smc_rdma_group *group)
{
	INIT_DELAYED_WORK(&group->links_work, smc_links_look_after);
}

/* Whether a link uses a port. A link of a dead group doesn't count: its port may be released. */
static bool smc_link_uses_port(const struct smc_link *link, const struct smc_rdma_device *dev,
			       u32 port)
{
	return !smc_lgr_is_dead(&link->group->lgr) && link->port.dev == dev &&
	       (port == SMC_ALL_PORTS || link->port_num == port);
}

/* End the links on a port, except those for which @is_kept, if not NULL, returns true. */
static void smc_links_lose_port(const struct smc_rdma_device *dev, u32 port, bool tell_peer,
				const char *why, bool (*is_kept)(const struct smc_link *link))
{
	struct smc_rdma_group *group;
	struct smc_link *link;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	list_for_each_entry(group, &smc_rdma_lgrs.list, lgr.list)
		smc_for_each_link(link, group)
			if (smc_link_uses_port(link, dev, port) && !(is_kept && is_kept(link)))
				smc_rdma_group_lose_link(link, ENETDOWN, tell_peer, why);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

void smc_links_device_failed(struct smc_rdma_device *dev)
{
	smc_links_lose_port(dev, SMC_ALL_PORTS, false, "its device has failed", NULL);
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
				smc_rdma_group_lose_link(link, ENETDOWN, false, "its port is down");
		}
	}
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

void smc_links_seek_port(void)
{
	struct smc_rdma_group *group;
	unsigned long flags;

	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	list_for_each_entry(group, &smc_rdma_lgrs.list, lgr.list)
		smc_add_link_on_port(group);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
}

void smc_links_shutdown_device(struct smc_rdma_device *dev)
{
	/*
	 * Set @leaving first. A new group or link that the walk below misses checks @leaving, and
	 * ends.
	 */
	WRITE_ONCE(dev->leaving, true);
	smc_links_lose_port(dev, SMC_ALL_PORTS, true, "its device is removed", NULL);
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
	smc_links_lose_port(dev, port, false, "its address is gone", smc_link_has_gid);
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
