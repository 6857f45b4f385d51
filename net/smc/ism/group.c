// SPDX-License-Identifier: GPL-2.0
/* Life of SMC-D link groups, and their DMBs. */

#include <linux/random.h>
#include <linux/slab.h>

#include "admin/lgr_id.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "compat.h"
#include "conn.h"
#include "group.h"
#include "workqueue.h"

/* How long a group without connections is kept, so that the next needs no new memory. */
#define SMC_ISM_GROUP_IDLE	(600 * HZ)

/* So many are kept in a namespace: a client may visit any number of others. */
#define SMC_ISM_GROUPS_IDLE_MAX	128

/* Each is in the list of its namespace, too, so that other namespaces' cost nobody a search. */
static LIST_HEAD(smc_ism_groups);
static DEFINE_SPINLOCK(smc_ism_groups_lock);
static DECLARE_WAIT_QUEUE_HEAD(smc_ism_groups_ended);

static struct list_head *smc_ism_groups_of(const struct net *net)
{
	return &smc_net(net)->ism_groups;
}

static void smc_ism_group_free(struct kref *ref)
{
	kfree(container_of(ref, struct smc_ism_group, ref));
}

static void smc_ism_group_get(struct smc_ism_group *group)
{
	kref_get(&group->ref);
}

void smc_ism_group_put(struct smc_ism_group *group)
{
	kref_put(&group->ref, smc_ism_group_free);
}

/* A connection that is not over, with a reference to its stream, or NULL. */
static struct smc_ism_conn *smc_ism_group_first_conn(struct smc_ism_group *group)
{
	struct smc_ism_conn *conn;

	spin_lock_bh(&smc_ism_groups_lock);
	conn = list_first_entry_or_null(&group->conns, struct smc_ism_conn, siblings);
	if (conn) {
		list_del_init(&conn->siblings);
		/* What is in the list still has the reference that ->over() drops. */
		smc_stream_get(&conn->stream);
	}
	spin_unlock_bh(&smc_ism_groups_lock);
	return conn;
}

static void smc_ism_group_lose_conns(struct smc_ism_group *group)
{
	struct smc_ism_conn *conn;

	while ((conn = smc_ism_group_first_conn(group))) {
		smc_stream_on_lost(&conn->stream, group->err);
		smc_stream_put(&conn->stream);
	}
}

/* Elements of them that are in use stay: the peer's end may be writing. */
static void smc_dmbs_disown(struct list_head *dmbs)
{
	struct smc_slab *dmb, *next;

	list_for_each_entry_safe(dmb, next, dmbs, list)
		smc_slab_disown(dmb);
}

static void smc_ism_group_drop_dmbs(struct smc_ism_group *group)
{
	LIST_HEAD(all);

	smc_slabs_close(&group->dmbs, &all);
	cancel_delayed_work_sync(&group->trim);
	smc_dmbs_disown(&all);
}

/* The memory of a peak does not stay for as long as the group does. */
static void smc_ism_group_trim(struct work_struct *work)
{
	struct smc_ism_group *group = container_of(work, struct smc_ism_group, trim.work);
	LIST_HEAD(idle);

	smc_slabs_remove_idle(&group->dmbs, READ_ONCE(group->n_conns), &idle);
	smc_dmbs_disown(&idle);
}

/* What a false server had this end make is not kept for it. */
static unsigned long smc_ism_group_keep(const struct smc_ism_group *group)
{
	return READ_ONCE(group->was_used) ? SMC_ISM_GROUP_IDLE : 0;
}

static void smc_ism_group_expire(struct smc_ism_group *group)
{
	const unsigned long due = group->idle_since + smc_ism_group_keep(group);

	lockdep_assert_held(&smc_ism_groups_lock);
	if (time_before(jiffies, due))
		queue_delayed_work(smc_end_wq, &group->end, due - jiffies);
	else
		group->dead = true;
}

static void smc_ism_group_on_end(struct work_struct *work)
{
	struct smc_ism_group *group = container_of(work, struct smc_ism_group, end.work);
	bool ends;

	spin_lock_bh(&smc_ism_groups_lock);
	/* Connections may have come and gone since it was queued: that does not queue it anew. */
	if (!group->dead && !group->n_conns)
		smc_ism_group_expire(group);
	ends = group->dead;
	spin_unlock_bh(&smc_ism_groups_lock);
	if (!ends)
		return;
	/* It may have been queued anew while it waited for the lock. Now nobody does any more. */
	cancel_delayed_work(&group->end);

	smc_ism_group_lose_conns(group);
	smc_ism_group_drop_dmbs(group);
	spin_lock_bh(&smc_ism_groups_lock);
	list_del(&group->list);
	list_del(&group->siblings);
	spin_unlock_bh(&smc_ism_groups_lock);
	wake_up_all(&smc_ism_groups_ended);
	smc_ism_group_put(group);
}

/* One reference and one reservation for the caller; it is in no list. */
static struct smc_ism_group *smc_ism_group_create(const struct smc_ism_peer *peer)
{
	struct smc_ism_group *group = kzalloc(sizeof(*group), GFP_KERNEL);

	if (!group)
		return NULL;
	kref_init(&group->ref);
	group->peer = *peer;
	group->n_conns = 1;
	INIT_LIST_HEAD(&group->conns);
	INIT_DELAYED_WORK(&group->trim, smc_ism_group_trim);
	smc_slabs_init(&group->dmbs, &group->trim);
	INIT_DELAYED_WORK(&group->end, smc_ism_group_on_end);
	return group;
}

static void smc_ism_group_list(struct smc_ism_group *group)
{
	lockdep_assert_held(&smc_ism_groups_lock);
	smc_ism_group_get(group);
	/* In the order of the list, newest first: a dump goes on below what it showed last. */
	group->serial = smc_lgr_next_serial();
	group->link_id = get_random_u32() | 1;
	list_add(&group->list, &smc_ism_groups);
	list_add(&group->siblings, smc_ism_groups_of(group->peer.net));
	smc_stat_ism(smc_net(group->peer.net), SMC_ISM_GROUPS_CREATED, 1);
}

static bool smc_ism_group_is_with(const struct smc_ism_group *group,
				  const struct smc_ism_peer *peer)
{
	const struct smc_ism_peer *own = &group->peer;

	return !group->dead && own->dev == peer->dev && own->role == peer->role &&
	       own->version == peer->version &&
	       smc_ism_is_address(&own->address, &peer->address, peer->version) &&
	       !memcmp(own->eid, peer->eid, SMC_EID_LEN);
}

static bool smc_ism_group_reserve(struct smc_ism_group *group)
{
	lockdep_assert_held(&smc_ism_groups_lock);
	if (group->n_conns >= SMC_ISM_GROUP_MAX_CONNS)
		return false;
	group->n_conns++;
	smc_ism_group_get(group);
	return true;
}

/* Return: NULL if there is none, and @fresh is NULL. */
static struct smc_ism_group *smc_ism_group_find_or_list(const struct smc_ism_peer *peer,
							struct smc_ism_group *fresh)
{
	struct list_head *groups = smc_ism_groups_of(peer->net);
	struct smc_ism_group *group;

	spin_lock_bh(&smc_ism_groups_lock);
	list_for_each_entry(group, groups, siblings)
		if (smc_ism_group_is_with(group, peer) && smc_ism_group_reserve(group))
			break;
	if (list_entry_is_head(group, groups, siblings)) {
		group = fresh;
		if (fresh)
			smc_ism_group_list(fresh);
	}
	spin_unlock_bh(&smc_ism_groups_lock);
	return group;
}

struct smc_ism_group *smc_ism_group_join(const struct smc_ism_peer *peer, bool *is_new)
{
	struct smc_ism_group *group = smc_ism_group_find_or_list(peer, NULL);
	struct smc_ism_group *fresh;

	if (group || !is_new)
		return group;
	fresh = smc_ism_group_create(peer);
	if (!fresh)
		return NULL;
	group = smc_ism_group_find_or_list(peer, fresh);
	*is_new = group == fresh;
	if (!*is_new)
		smc_ism_group_put(fresh);
	return group;
}

static void smc_ism_group_doom(struct smc_ism_group *group, int err)
{
	lockdep_assert_held(&smc_ism_groups_lock);
	if (group->dead)
		return;
	group->dead = true;
	group->err = err;
	mod_delayed_work(smc_end_wq, &group->end, 0);
}

int smc_ism_group_enter(struct smc_ism_group *group, struct smc_ism_conn *conn)
{
	int rc = -ENOLINK;

	spin_lock_bh(&smc_ism_groups_lock);
	if (!group->dead) {
		list_add(&conn->siblings, &group->conns);
		rc = 0;
	}
	spin_unlock_bh(&smc_ism_groups_lock);
	return rc;
}

static void smc_ism_groups_limit_idle(const struct net *net)
{
	struct smc_ism_group *group, *oldest = NULL;
	unsigned int n = 0;

	list_for_each_entry(group, smc_ism_groups_of(net), siblings) {
		if (group->n_conns || group->dead || !READ_ONCE(group->was_used))
			continue;
		n++;
		if (!oldest || time_before(group->idle_since, oldest->idle_since))
			oldest = group;
	}
	if (n > SMC_ISM_GROUPS_IDLE_MAX)
		smc_ism_group_doom(oldest, ECONNRESET);
}

/* The last connection is over. */
static void smc_ism_group_rest(struct smc_ism_group *group)
{
	lockdep_assert_held(&smc_ism_groups_lock);
	group->idle_since = jiffies;
	/* Where it is pending still, smc_ism_group_expire() looks at what is due. */
	queue_delayed_work(smc_end_wq, &group->end, smc_ism_group_keep(group));
	smc_ism_groups_limit_idle(group->peer.net);
}

void smc_ism_group_leave(struct smc_ism_group *group, struct smc_ism_conn *conn)
{
	spin_lock_bh(&smc_ism_groups_lock);
	if (conn)
		list_del_init(&conn->siblings);
	if (!--group->n_conns && !group->dead)
		smc_ism_group_rest(group);
	spin_unlock_bh(&smc_ism_groups_lock);
}

static void smc_dmb_release(struct smc_slab *slab)
{
	kfree(slab);
}

/* A busy group must not collect the DMBs of control groups that have long gone. */
static void smc_ism_group_shrink(struct smc_ism_group *group)
{
	LIST_HEAD(left);

	smc_slabs_remove_left(&group->dmbs, &left);
	smc_dmbs_disown(&left);
}

static int smc_dmb_add(const struct smc_slab_spec *spec, void *arg, struct smc_element *el)
{
	struct smc_ism_group *group = arg;
	struct smc_slab *dmb;
	int rc;

	smc_ism_group_shrink(group);
	dmb = kzalloc(sizeof(*dmb), GFP_KERNEL_ACCOUNT);
	if (!dmb)
		return -ENOMEM;
	rc = smc_slab_init(dmb, spec, smc_dmb_release);
	if (rc) {
		kfree(dmb);
		return rc;
	}
	rc = smc_slabs_add(&group->dmbs, dmb, el);
	if (rc) {
		smc_slab_disown(dmb);
		return rc;
	}
	smc_stat_ism(smc_net(spec->net), SMC_ISM_DMBS, 1);
	return 0;
}

int smc_ism_group_take_element(struct smc_ism_group *group, u8 size_class,
			       struct mem_cgroup *memcg, bool in_hurry, struct smc_element *el)
{
	struct smc_slab_spec spec = {
		.net	    = group->peer.net,
		.memcg	    = memcg,
		.kind	    = SMC_PATH_D,
		.is_rx	    = true,
		.most_bytes = SMC_SLAB_BYTES,
		.size_class = size_class,
		.type	    = SMC_BUF_MIXED,
	};

	return smc_slabs_take(&group->dmbs, &spec, in_hurry ? NULL : smc_dmb_add, group, el);
}

static unsigned long smc_dmbs_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct smc_ism_group *group;
	unsigned long pages = 0;

	/* Each pass of reclaim asks, while connections come and go: the next one will do. */
	if (!spin_trylock_bh(&smc_ism_groups_lock))
		return 0;
	list_for_each_entry(group, &smc_ism_groups, list)
		pages += smc_slabs_empty_pages(&group->dmbs);
	spin_unlock_bh(&smc_ism_groups_lock);
	return pages;
}

static unsigned long smc_dmbs_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct smc_ism_group *group;
	unsigned long pages = 0;
	LIST_HEAD(empty);

	spin_lock_bh(&smc_ism_groups_lock);
	list_for_each_entry(group, &smc_ism_groups, list) {
		pages += smc_slabs_remove_empty(&group->dmbs, &empty);
		if (pages >= sc->nr_to_scan)
			break;
	}
	/* With the lock: their namespaces wait for the groups in the list. */
	smc_dmbs_disown(&empty);
	spin_unlock_bh(&smc_ism_groups_lock);
	if (!pages)
		return SHRINK_STOP;
	sc->nr_scanned = max(sc->nr_scanned, pages);
	return pages;
}

static struct shrinker *smc_ism_shrinker;

void smc_ism_shrinker_init(void)
{
	smc_ism_shrinker = smc_shrinker_begin("smc-dmb", smc_dmbs_count, smc_dmbs_scan);
}

void smc_ism_shrinker_exit(void)
{
	smc_shrinker_end(smc_ism_shrinker);
}

static bool smc_ism_groups_none(const struct net *net)
{
	bool none;

	spin_lock_bh(&smc_ism_groups_lock);
	none = list_empty(net ? smc_ism_groups_of(net) : &smc_ism_groups);
	spin_unlock_bh(&smc_ism_groups_lock);
	return none;
}

void smc_ism_groups_leave_net(struct net *net)
{
	struct smc_ism_group *group;

	spin_lock_bh(&smc_ism_groups_lock);
	list_for_each_entry(group, smc_ism_groups_of(net), siblings)
		smc_ism_group_doom(group, ECONNRESET);
	spin_unlock_bh(&smc_ism_groups_lock);
}

static void smc_ism_groups_leave_all(void)
{
	struct smc_ism_group *group;

	spin_lock_bh(&smc_ism_groups_lock);
	list_for_each_entry(group, &smc_ism_groups, list)
		smc_ism_group_doom(group, ECONNRESET);
	spin_unlock_bh(&smc_ism_groups_lock);
}

void smc_ism_groups_end(struct net *net)
{
	/* A socket of the kernel's own, which holds no namespace, may have made another. */
	if (net)
		smc_ism_groups_leave_net(net);
	else
		smc_ism_groups_leave_all();
	wait_event(smc_ism_groups_ended, smc_ism_groups_none(net));
}

int smc_ism_groups_for_each(const struct net *net,
			    int (*fn)(struct smc_ism_group *group, void *arg), void *arg)
{
	struct smc_ism_group *group;
	int rc = 0;

	spin_lock_bh(&smc_ism_groups_lock);
	list_for_each_entry(group, smc_ism_groups_of(net), siblings) {
		rc = fn(group, arg);
		if (rc)
			break;
	}
	spin_unlock_bh(&smc_ism_groups_lock);
	return rc;
}
