// SPDX-License-Identifier: GPL-2.0
/* SMC-D link groups and their DMBs: creation, search and end. */

#include <linux/random.h>
#include <linux/slab.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "conn.h"
#include "group.h"
#include "workqueue.h"

/* How long an idle group is kept, so that its next connection needs no new memory. */
#define SMC_ISM_GROUP_IDLE	(600 * HZ)

static void smc_ism_group_free(struct smc_lgr *lgr)
{
	kfree(smc_ism_group_of(lgr));
}

static void smc_ism_group_abort_conns(struct smc_ism_group *group)
{
	struct smc_ism_conn *conn;

	spin_lock_irq(&smc_ism_lgrs.lock);
	while ((conn = list_first_entry_or_null(&group->conns, struct smc_ism_conn, siblings))) {
		list_del_init(&conn->siblings);
		/* A connection in the list still has the reference that ->over() drops. */
		smc_stream_get(&conn->stream);
		spin_unlock_irq(&smc_ism_lgrs.lock);
		smc_stream_on_lost(&conn->stream, group->lgr.err);
		smc_stream_put(&conn->stream);
		spin_lock_irq(&smc_ism_lgrs.lock);
	}
	spin_unlock_irq(&smc_ism_lgrs.lock);
}

/* Detach DMBs. Elements that are in use stay: the peer may be writing into them. */
static void smc_dmbs_detach(struct list_head *dmbs)
{
	struct smc_buffer *dmb, *next;

	list_for_each_entry_safe(dmb, next, dmbs, list)
		smc_buffer_detach(dmb);
}

/* Free idle DMBs, so that the memory of a peak does not stay as long as the group. */
static void smc_ism_group_trim(struct work_struct *work)
{
	struct smc_ism_group *group = container_of(work, struct smc_ism_group, trim.work);
	LIST_HEAD(idle);

	smc_buffer_pool_remove_idle(&group->dmbs, READ_ONCE(group->lgr.n_conns), &idle);
	smc_dmbs_detach(&idle);
}

/*
 * Return: how long to keep an idle group; 0 for a group that never had an established connection.
 * Otherwise a malicious peer, which lets each handshake fail, could make this end keep such groups.
 */
static unsigned long smc_ism_group_idle_time(const struct smc_lgr *lgr)
{
	return READ_ONCE(smc_ism_group_of(lgr)->was_used) ? SMC_ISM_GROUP_IDLE : 0;
}

static void smc_ism_group_shutdown(struct smc_lgr *lgr)
{
	smc_lgr_mark_dead(lgr, ECONNRESET);
}

static void smc_ism_group_end(struct smc_lgr *lgr)
{
	struct smc_ism_group *group = smc_ism_group_of(lgr);
	LIST_HEAD(all);

	smc_ism_group_abort_conns(group);
	smc_buffer_pool_close(&group->dmbs, &all);
	cancel_delayed_work_sync(&group->trim);
	smc_dmbs_detach(&all);
}

/* Return: a group that smc_lgr_init() has initialised, or NULL without memory. */
static struct smc_ism_group *smc_ism_group_create(const struct smc_ism_key *key)
{
	struct smc_ism_group *group = kzalloc(sizeof(*group), GFP_KERNEL);

	if (!group)
		return NULL;
	group->key = *key;
	group->link_id = get_random_u32() | 1;
	INIT_LIST_HEAD(&group->conns);
	INIT_DELAYED_WORK(&group->trim, smc_ism_group_trim);
	smc_buffer_pool_init(&group->dmbs, smc_link_wq, &group->trim);
	smc_lgr_init(&group->lgr, &smc_ism_lgrs, key->net);
	return group;
}

/* Whether a new connection with @key may join a group. */
static bool smc_ism_group_serves(const struct smc_ism_group *group, const struct smc_ism_key *key)
{
	const struct smc_ism_key *own = &group->key;

	return smc_lgr_is_active(&group->lgr) && group->lgr.n_conns < SMC_ISM_GROUP_MAX_CONNS &&
	       own->dev == key->dev && own->role == key->role &&
	       own->version == key->version &&
	       smc_ism_is_address(&own->address, &key->address, key->version) &&
	       !memcmp(own->eid, key->eid, SMC_EID_LEN);
}

/*
 * Find a group for @key, and reserve a connection in it. If there is none, enter @fresh in the
 * lists and return it; @fresh may be NULL.
 */
static struct smc_ism_group *smc_ism_group_find_or_list(const struct smc_ism_key *key,
							struct smc_ism_group *fresh)
{
	struct smc_net_lgrs *in_net = smc_lgrs_of(&smc_ism_lgrs, key->net);
	struct smc_ism_group *group;
	unsigned long flags;

	spin_lock_irqsave(&smc_ism_lgrs.lock, flags);
	list_for_each_entry(group, &in_net->list, lgr.in_net) {
		if (!smc_ism_group_serves(group, key))
			continue;
		smc_lgr_reserve(&group->lgr);
		goto out;
	}
	group = fresh;
	if (fresh) {
		smc_lgr_list(&fresh->lgr, SMC_LGR_ACTIVE);
		smc_stat_ism(smc_net(key->net), SMC_ISM_GROUPS_CREATED, 1);
	}
out:
	spin_unlock_irqrestore(&smc_ism_lgrs.lock, flags);
	return group;
}

struct smc_ism_group *smc_ism_group_join(const struct smc_ism_key *key, bool *is_new)
{
	struct smc_ism_group *group = smc_ism_group_find_or_list(key, NULL);
	struct smc_ism_group *fresh;

	if (group || !is_new)
		return group;
	fresh = smc_ism_group_create(key);
	if (!fresh)
		return NULL;
	group = smc_ism_group_find_or_list(key, fresh);
	*is_new = group == fresh;
	if (!*is_new)
		smc_lgr_discard(&fresh->lgr);
	return group;
}

int smc_ism_group_add_conn(struct smc_ism_group *group, struct smc_ism_conn *conn)
{
	unsigned long flags;
	int rc = -ENOLINK;

	spin_lock_irqsave(&smc_ism_lgrs.lock, flags);
	if (!smc_lgr_is_dead(&group->lgr)) {
		list_add(&conn->siblings, &group->conns);
		rc = 0;
	}
	spin_unlock_irqrestore(&smc_ism_lgrs.lock, flags);
	return rc;
}

void smc_ism_group_del_conn(struct smc_ism_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&smc_ism_lgrs.lock, flags);
	list_del_init(&conn->siblings);
	smc_lgr_unreserve_locked(&conn->group->lgr);
	spin_unlock_irqrestore(&smc_ism_lgrs.lock, flags);
}

static int smc_dmb_add(const struct smc_buffer_attr *attr, void *arg, struct smc_element *el)
{
	struct smc_ism_group *group = arg;
	struct smc_buffer *dmb;
	LIST_HEAD(offline);
	LIST_HEAD(removed);
	int rc;

	/* A link group that is always in use would accumulate DMBs of removed cgroups. */
	smc_buffer_pool_remove_offline(&group->dmbs, &offline);
	smc_dmbs_detach(&offline);
	dmb = smc_buffer_create(attr, sizeof(*dmb));
	if (!dmb)
		return -ENOMEM;
	rc = smc_buffer_pool_add(&group->dmbs, dmb, el, &removed);
	smc_dmbs_detach(&removed);
	if (rc) {
		smc_buffer_detach(dmb);
		return rc;
	}
	smc_stat_ism(smc_net(attr->net), SMC_ISM_DMBS, 1);
	return 0;
}

int smc_ism_group_alloc_element(struct smc_ism_group *group, u8 size_class,
				struct mem_cgroup *memcg, bool nowait, struct smc_element *el)
{
	struct smc_buffer_attr attr = {
		.net	    = group->key.net,
		.memcg	    = memcg,
		.kind	    = SMC_PATH_D,
		.is_rx	    = true,
		.size_class = size_class,
		.type	    = SMC_BUF_MIXED,
	};

	return smc_buffer_pool_alloc(&group->dmbs, &attr, nowait ? NULL : smc_dmb_add, group, el);
}

static unsigned long smc_dmbs_idle_pages(struct smc_lgr *lgr)
{
	return smc_buffer_pool_empty_pages(&smc_ism_group_of(lgr)->dmbs);
}

static unsigned long smc_dmbs_give_back(struct smc_lgr *lgr)
{
	unsigned long pages;
	LIST_HEAD(empty);

	pages = smc_buffer_pool_remove_empty(&smc_ism_group_of(lgr)->dmbs, &empty);
	/*
	 * smc_buffer_detach() uses the namespace. The namespace can't end now: its end waits for
	 * the group's end, which waits for the shrinker's lock, which the caller holds.
	 */
	smc_dmbs_detach(&empty);
	return pages;
}

static const struct smc_lgr_ops smc_ism_group_ops = {
	.idle_time	= smc_ism_group_idle_time,
	.shutdown	= smc_ism_group_shutdown,
	.end		= smc_ism_group_end,
	.free		= smc_ism_group_free,
	.idle_pages	= smc_dmbs_idle_pages,
	.give_back	= smc_dmbs_give_back,
};

struct smc_lgr_kind smc_ism_lgrs = {
	.path	= SMC_PATH_D,
	.ops	= &smc_ism_group_ops,
};
