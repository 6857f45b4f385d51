// SPDX-License-Identifier: GPL-2.0
/* The common part of both paths' link groups: lists, states, idle time, shrinker and end. */

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/netlink.h>
#include <net/sock.h>

#include "admin/netlink.h"
#include "compat.h"
#include "group.h"
#include "trace.h"
#include "workqueue.h"

/*
 * Limit for idle groups of a kind in a namespace. Peers may create groups, each with memory of its
 * own, faster than idle groups time out.
 */
#define SMC_LGRS_IDLE_MAX	128

static atomic_long_t smc_lgr_last_serial;

/* The groups in the order in which the shrinker visits them. Pools' locks nest in this lock. */
static LIST_HEAD(smc_lgr_shrink_list);
static DEFINE_SPINLOCK(smc_lgr_shrink_lock);
static struct shrinker *smc_lgr_shrinker;

static void smc_lgr_free(struct kref *ref)
{
	struct smc_lgr *lgr = container_of(ref, struct smc_lgr, ref);

	lgr->kind->ops->free(lgr);
}

void smc_lgr_put(struct smc_lgr *lgr)
{
	kref_put(&lgr->ref, smc_lgr_free);
}

/*
 * Change a group's state and number of connections. Nothing else changes these two after
 * smc_lgr_init(), so the namespace's counts of active and idle groups are always right. A dead
 * group, which may outlive its namespace, is in neither count.
 */
static void smc_lgr_set(struct smc_lgr *lgr, enum smc_lgr_state state, unsigned int n_conns)
{
	const bool was_active = smc_lgr_is_active(lgr);
	const bool was_idle = smc_lgr_is_idle(lgr);

	lockdep_assert_held(&lgr->kind->lock);
	if (state != lgr->state)
		trace_smc_lgr_state(lgr, state);
	WRITE_ONCE(lgr->state, state);
	WRITE_ONCE(lgr->n_conns, n_conns);
	if (smc_lgr_is_active(lgr) != was_active)
		smc_lgrs_of(lgr->kind, lgr->net)->n_active += was_active ? -1 : 1;
	if (smc_lgr_is_idle(lgr) != was_idle)
		smc_lgrs_of(lgr->kind, lgr->net)->n_idle += was_idle ? -1 : 1;
}

void smc_lgr_list(struct smc_lgr *lgr, enum smc_lgr_state state)
{
	struct smc_lgr_kind *kind = lgr->kind;
	struct smc_net_lgrs *in_net = smc_lgrs_of(kind, lgr->net);

	lockdep_assert_held(&kind->lock);
	smc_lgr_get(lgr);
	/* Newest first: a dump goes on with serial numbers below that of the last group shown. */
	lgr->serial = atomic_long_inc_return(&smc_lgr_last_serial);
	list_add(&lgr->list, &kind->list);
	kind->n++;
	list_add(&lgr->in_net, &in_net->list);
	in_net->n++;
	smc_lgr_set(lgr, state, lgr->n_conns);
}

static void smc_lgr_unlist(struct smc_lgr *lgr)
{
	lockdep_assert_held(&lgr->kind->lock);
	list_del(&lgr->list);
	lgr->kind->n--;
	list_del(&lgr->in_net);
	smc_lgrs_of(lgr->kind, lgr->net)->n--;
}

static void smc_lgr_hide_from_shrinker(struct smc_lgr *lgr)
{
	spin_lock_bh(&smc_lgr_shrink_lock);
	list_del(&lgr->shrink);
	spin_unlock_bh(&smc_lgr_shrink_lock);
}

void smc_lgr_mark_dead(struct smc_lgr *lgr, int err)
{
	lockdep_assert_held(&lgr->kind->lock);
	if (lgr->state == SMC_LGR_DEAD)
		return;
	WRITE_ONCE(lgr->err, err);
	smc_lgr_set(lgr, SMC_LGR_DEAD, lgr->n_conns);
	mod_delayed_work(smc_end_wq, &lgr->end, 0);
}

/* End an idle group, or queue its work again for the rest of its idle time. */
static void smc_lgr_check_idle(struct smc_lgr *lgr)
{
	const struct smc_lgr_ops *ops = lgr->kind->ops;
	unsigned long due = lgr->idle_since + ops->idle_time(lgr);

	if (time_before(jiffies, due))
		queue_delayed_work(smc_end_wq, &lgr->end, due - jiffies);
	else
		ops->shutdown(lgr);
}

static void smc_lgr_on_end(struct work_struct *work)
{
	struct smc_lgr *lgr = container_of(work, struct smc_lgr, end.work);
	struct smc_lgr_kind *kind = lgr->kind;
	bool ends;

	spin_lock_irq(&kind->lock);
	if (smc_lgr_is_idle(lgr))
		smc_lgr_check_idle(lgr);
	ends = smc_lgr_is_dead(lgr);
	spin_unlock_irq(&kind->lock);
	if (!ends)
		return;
	/*
	 * The work may have been queued again while it waited for the lock. From now on nothing
	 * queues it, because the group is dead.
	 */
	cancel_delayed_work(&lgr->end);

	smc_lgr_hide_from_shrinker(lgr);
	kind->ops->end(lgr);
	spin_lock_irq(&kind->lock);
	smc_lgr_unlist(lgr);
	spin_unlock_irq(&kind->lock);
	wake_up_all(&kind->ended);
	smc_lgr_put(lgr);
}

void smc_lgr_init(struct smc_lgr *lgr, struct smc_lgr_kind *kind, struct net *net)
{
	lgr->kind = kind;
	kref_init(&lgr->ref);
	lgr->net = net;
	lgr->state = SMC_LGR_DEAD;
	lgr->n_conns = 1;
	INIT_DELAYED_WORK(&lgr->end, smc_lgr_on_end);
	spin_lock_bh(&smc_lgr_shrink_lock);
	list_add_tail(&lgr->shrink, &smc_lgr_shrink_list);
	spin_unlock_bh(&smc_lgr_shrink_lock);
}

void smc_lgr_discard(struct smc_lgr *lgr)
{
	smc_lgr_hide_from_shrinker(lgr);
	smc_lgr_put(lgr);
}

void smc_lgr_reserve(struct smc_lgr *lgr)
{
	smc_lgr_set(lgr, lgr->state, lgr->n_conns + 1);
	smc_lgr_get(lgr);
}

static unsigned int smc_lgr_owner(const struct smc_lgr *lgr)
{
	return lgr->kind->ops->owner ? lgr->kind->ops->owner(lgr) : 0;
}

/*
 * Choose the owner with the most idle groups, and end the group of this owner that has been idle
 * for longest. So an owner with many groups does not make groups of other owners end.
 */
static void smc_lgrs_end_idle(const struct smc_net_lgrs *in_net)
{
	unsigned int n_by_owner[SMC_LGR_OWNERS] = {}, n_of_owner, most = 0;
	struct smc_lgr *lgr, *oldest = NULL;

	list_for_each_entry(lgr, &in_net->list, in_net)
		if (smc_lgr_is_idle(lgr))
			n_by_owner[smc_lgr_owner(lgr)]++;
	list_for_each_entry(lgr, &in_net->list, in_net) {
		n_of_owner = n_by_owner[smc_lgr_owner(lgr)];
		if (!smc_lgr_is_idle(lgr) || n_of_owner < most ||
		    (n_of_owner == most && !time_before(lgr->idle_since, oldest->idle_since)))
			continue;
		oldest = lgr;
		most = n_of_owner;
	}
	oldest->kind->ops->shutdown(oldest);
}

void smc_lgr_idle_begin(struct smc_lgr *lgr)
{
	const struct smc_net_lgrs *in_net = smc_lgrs_of(lgr->kind, lgr->net);
	unsigned long idle_time = lgr->kind->ops->idle_time(lgr);

	lockdep_assert_held(&lgr->kind->lock);
	WRITE_ONCE(lgr->idle_since, jiffies);
	if (!idle_time) {
		lgr->kind->ops->shutdown(lgr);
		return;
	}
	/* A pending work keeps its earlier time, and smc_lgr_check_idle() then queues it again. */
	queue_delayed_work(smc_end_wq, &lgr->end, idle_time);
	if (in_net->n_idle > SMC_LGRS_IDLE_MAX)
		smc_lgrs_end_idle(in_net);
}

void smc_lgr_activate(struct smc_lgr *lgr)
{
	smc_lgr_set(lgr, SMC_LGR_ACTIVE, lgr->n_conns);
	/* The first connection may have ended before the link was confirmed. */
	if (smc_lgr_is_idle(lgr))
		smc_lgr_idle_begin(lgr);
}

void smc_lgr_unreserve_locked(struct smc_lgr *lgr)
{
	smc_lgr_set(lgr, lgr->state, lgr->n_conns - 1);
	if (smc_lgr_is_idle(lgr))
		smc_lgr_idle_begin(lgr);
}

void smc_lgr_unreserve(struct smc_lgr *lgr)
{
	unsigned long flags;

	spin_lock_irqsave(&lgr->kind->lock, flags);
	smc_lgr_unreserve_locked(lgr);
	spin_unlock_irqrestore(&lgr->kind->lock, flags);
}

/*
 * Find the next group for a dump: the newest that is not dead and, unless @last is 0, has a serial
 * number below @last. Return: the group with a reference, or NULL.
 */
static struct smc_lgr *smc_lgr_next(struct smc_lgr_kind *kind, const struct net *net,
				    unsigned long last)
{
	struct smc_lgr *lgr, *next = NULL;

	spin_lock_irq(&kind->lock);
	list_for_each_entry(lgr, &smc_lgrs_of(kind, net)->list, in_net) {
		if (smc_lgr_is_dead(lgr) || (last && lgr->serial >= last))
			continue;
		smc_lgr_get(lgr);
		next = lgr;
		break;
	}
	spin_unlock_irq(&kind->lock);
	return next;
}

int smc_lgrs_dump(struct smc_lgr_kind *kind, struct sk_buff *skb, struct netlink_callback *cb,
		  int (*show)(struct sk_buff *skb, struct netlink_callback *cb,
			      struct smc_lgr *lgr))
{
	struct smc_lgr *lgr;
	int rc = 0;

	while (!rc && (lgr = smc_lgr_next(kind, sock_net(skb->sk), cb->args[0]))) {
		rc = show(skb, cb, lgr);
		if (!rc)
			cb->args[0] = lgr->serial;
		smc_lgr_put(lgr);
	}
	return rc;
}

void smc_lgr_note_peer(struct smc_lgr *lgr, const struct smc_clc_first_contact *fc)
{
	lgr->release = min_t(u8, fc->release, SMC_RELEASE);
	lgr->peer_os = fc->os_type;
	memcpy(lgr->peer_hostname, fc->hostname, SMC_HOSTNAME_LEN);
}

int smc_lgr_put_v2(struct sk_buff *skb, int attr, const struct smc_lgr *lgr, const u8 *eid)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest ||
	    nla_put_u8(skb, SMC_NLA_LGR_V2_VER, SMC_VERSION_2) ||
	    nla_put_u8(skb, SMC_NLA_LGR_V2_REL, lgr->release) ||
	    nla_put_u8(skb, SMC_NLA_LGR_V2_OS, lgr->peer_os) ||
	    smc_netlink_put_padded(skb, SMC_NLA_LGR_V2_NEG_EID, eid, SMC_EID_LEN) ||
	    smc_netlink_put_padded(skb, SMC_NLA_LGR_V2_PEER_HOST, lgr->peer_hostname,
				   SMC_HOSTNAME_LEN))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static unsigned long smc_lgrs_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct smc_lgr *lgr;
	unsigned long pages = 0;

	/* Do not wait for the lock: reclaim calls this function often, and a later call gets it. */
	if (!spin_trylock_bh(&smc_lgr_shrink_lock))
		return 0;
	list_for_each_entry(lgr, &smc_lgr_shrink_list, shrink)
		pages += lgr->kind->ops->idle_pages(lgr);
	spin_unlock_bh(&smc_lgr_shrink_lock);
	return pages;
}

static unsigned long smc_lgrs_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct smc_lgr *lgr, *next;
	unsigned long pages = 0;
	LIST_HEAD(seen);

	spin_lock_bh(&smc_lgr_shrink_lock);
	list_for_each_entry_safe(lgr, next, &smc_lgr_shrink_list, shrink) {
		pages += lgr->kind->ops->give_back(lgr);
		list_move_tail(&lgr->shrink, &seen);
		if (pages >= sc->nr_to_scan)
			break;
	}
	/* Move the visited groups to the end, so that the next call visits the others first. */
	list_splice_tail(&seen, &smc_lgr_shrink_list);
	spin_unlock_bh(&smc_lgr_shrink_lock);
	if (!pages)
		return SHRINK_STOP;
	sc->nr_scanned = max(sc->nr_scanned, pages);
	return pages;
}

void smc_lgr_shrinker_init(void)
{
	smc_lgr_shrinker = smc_shrinker_begin("smc-buffer", smc_lgrs_count, smc_lgrs_scan);
}

void smc_lgr_shrinker_exit(void)
{
	smc_shrinker_end(smc_lgr_shrinker);
}

static bool smc_lgrs_are_none(struct smc_lgr_kind *kind, const struct net *net)
{
	bool none;

	spin_lock_irq(&kind->lock);
	none = list_empty(net ? &smc_lgrs_of(kind, net)->list : &kind->list);
	spin_unlock_irq(&kind->lock);
	return none;
}

/* Shut down the groups of a namespace, or all groups of the kind if @net is NULL. */
static void smc_lgrs_shutdown(struct smc_lgr_kind *kind, const struct net *net)
{
	struct smc_lgr *lgr;

	spin_lock_irq(&kind->lock);
	if (net)
		list_for_each_entry(lgr, &smc_lgrs_of(kind, net)->list, in_net)
			kind->ops->shutdown(lgr);
	else
		list_for_each_entry(lgr, &kind->list, list)
			kind->ops->shutdown(lgr);
	spin_unlock_irq(&kind->lock);
}

static void smc_lgrs_end_net(struct smc_net_exit *exit, struct net *net, bool wait)
{
	struct smc_lgr_kind *kind = container_of(exit, struct smc_lgr_kind, net_exit);

	/*
	 * The call with @wait shuts down again: a kernel socket, which holds no namespace, may have
	 * made a new group since the first call.
	 */
	smc_lgrs_shutdown(kind, net);
	if (wait)
		wait_event(kind->ended, smc_lgrs_are_none(kind, net));
}

void smc_lgr_kind_init(struct smc_lgr_kind *kind)
{
	spin_lock_init(&kind->lock);
	INIT_LIST_HEAD(&kind->list);
	init_waitqueue_head(&kind->ended);
	kind->net_exit.end = smc_lgrs_end_net;
	smc_net_set_exit(kind->path, &kind->net_exit);
}

void smc_lgr_kind_exit(struct smc_lgr_kind *kind)
{
	smc_lgrs_end_net(&kind->net_exit, NULL, true);
	/*
	 * Clear the operation only now: until all groups have ended, a namespace that ends needs
	 * the operation to wait for its groups.
	 */
	smc_net_set_exit(kind->path, NULL);
}
