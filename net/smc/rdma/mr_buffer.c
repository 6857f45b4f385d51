// SPDX-License-Identifier: GPL-2.0
/* RMBs and send buffers: allocation, registration, and their elements. */

#include "admin/net.h"
#include "group.h"
#include "link.h"
#include "llc.h"
#include "wire/size_class.h"
#include "workqueue.h"

#include "mr_buffer.h"

/* Time limit for sending DELETE RKEY for a list of RMBs. */
#define SMC_DELETE_RKEY_TIMEOUT	(2 * HZ)
/*
 * Delay until the next trim if the last one left out the RMBs, or did not get the buffer lock. The
 * delay is as long as the interval at which the pools look for idle buffers.
 */
#define SMC_TRIM_RETRY		(30 * HZ)

/* A thread that has waited longer than this for the buffer lock gives up. */
#define SMC_BUFFERS_WAIT	(2 * HZ)

/* A thread begins no attempt to announce an RMB later than this after the first one. */
#define SMC_CONFIRM_RKEY_WAIT	HZ

/* Time between two attempts, in which this end can answer the LLC flow that the peer waits for. */
#define SMC_CONFIRM_RKEY_RETRY	(HZ / 5)

/* Approximate number of pages that an idle group uses for its queue pair, besides its buffers. */
#define SMC_GROUP_PAGES		32

/* Number of work items that smc_free_wq is running. */
static atomic_t smc_mr_buffers_works = ATOMIC_INIT(0);

static enum smc_buffer_use smc_buffer_use_of(const struct smc_buffer_attr *attr)
{
	return attr->is_rx ? SMC_BUFFER_RMB : SMC_BUFFER_SNDBUF;
}

/* Free a buffer that is in no list. */
static void smc_mr_buffer_discard(struct smc_rdma_group *group, struct smc_mr_buffer *mrb)
{
	struct smc_link *link;

	smc_for_each_link(link, group)
		smc_region_unmap(mrb, link);
	smc_buffer_put(&mrb->buffer);
}

static void smc_mr_buffers_discard(struct smc_rdma_group *group, struct list_head *list)
{
	struct smc_mr_buffer *mrb, *next;

	lockdep_assert_held(&group->buffers.lock);
	list_for_each_entry_safe(mrb, next, list, buffer.list)
		smc_mr_buffer_discard(group, mrb);
}

static void smc_mr_buffers_discard_late(struct smc_rdma_group *group)
{
	if (group->buffers.late)
		smc_mr_buffer_discard(group, group->buffers.late);
	group->buffers.late = NULL;
}

/* Whether a registration is under way on any link. */
static bool smc_mr_buffers_are_registering(struct smc_rdma_group *group)
{
	struct smc_link *link;

	smc_for_each_link(link, group)
		if (smc_link_is_registering(link))
			return true;
	return false;
}

/* Whether a buffer needs a registration on any link. */
static bool smc_mr_buffer_has_region(const struct smc_mr_buffer *mrb)
{
	unsigned int i;

	for (i = 0; i < SMC_LINKS; i++)
		if (mrb->regions[i].mr)
			return true;
	return false;
}

static int smc_mr_buffer_map(struct smc_rdma_group *group, struct smc_mr_buffer *mrb)
{
	struct smc_link *link;
	int rc = 0;

	smc_for_each_link(link, group) {
		if (READ_ONCE(link->is_left))
			continue;
		rc = smc_region_map(mrb, link);
		if (rc)
			break;
	}
	return rc;
}

/*
 * Register a buffer on the links that are confirmed. On a new link, smc_mr_buffers_register()
 * registers the buffer later. A link that breaks during the registration causes no error as long as
 * another link works.
 */
static int smc_mr_buffer_register(struct smc_rdma_group *group, struct smc_mr_buffer *mrb)
{
	struct smc_link *link;
	int rc;

	smc_for_each_link(link, group) {
		if (!link->is_confirmed)
			continue;
		rc = smc_region_register(mrb, link);
		/*
		 * A timeout is an error even if the link is broken, because the device may still
		 * refer to the buffer.
		 */
		if (rc == -ETIMEDOUT || (rc && !(READ_ONCE(link->broken) &&
						 smc_rdma_group_other_link(link))))
			return rc;
	}
	return 0;
}

/* Register a buffer that was made after first contact, and announce it to the peer. */
static int smc_mr_buffer_make_ready(struct smc_rdma_group *group, struct smc_mr_buffer *mrb)
{
	int rc = smc_mr_buffer_register(group, mrb);

	if (!rc && mrb->buffer.attr.is_rx)
		rc = smc_llc_confirm_rkey(group, mrb);
	return rc;
}

/*
 * Have the peer forget the keys of the buffers in @list. If the peer is slow to answer, delete only
 * some of the keys, because other threads wait for the buffer lock. While smc_llc_may_request() is
 * false, delete none.
 */
static void smc_mr_buffers_delete_rkeys(struct smc_rdma_group *group, struct list_head *list)
{
	const unsigned long until = jiffies + SMC_DELETE_RKEY_TIMEOUT;
	const struct smc_mr_buffer *rmbs[SMC_LLC_DELETE_RKEYS];
	struct smc_mr_buffer *mrb;
	unsigned int n = 0;

	list_for_each_entry(mrb, list, buffer.list) {
		if (!mrb->buffer.attr.is_rx)
			continue;
		rmbs[n++] = mrb;
		if (n < ARRAY_SIZE(rmbs))
			continue;
		if (time_before(jiffies, until))
			smc_llc_delete_rkeys(group, rmbs, n);
		n = 0;
	}
	if (n && time_before(jiffies, until))
		smc_llc_delete_rkeys(group, rmbs, n);
}

/*
 * Free the buffers in @list. All connections that used these buffers are over, and no RDMA write
 * from or to the buffers is under way. Without @tell, the peer does not learn that the keys are
 * gone. A write by the peer with such a key would fail, and end the link.
 */
static void smc_mr_buffers_free(struct smc_rdma_group *group, struct list_head *list, bool tell)
{
	if (tell)
		smc_mr_buffers_delete_rkeys(group, list);
	smc_mr_buffers_discard(group, list);
}

/*
 * Note that a work item of smc_free_wq begins. Return: false if it must not wait for the peer,
 * because smc_wq_waiting_max() of these items may be waiting already. Silent peers must not occupy
 * all places of the queue.
 */
static bool smc_mr_buffers_begin_work(void)
{
	return atomic_inc_return(&smc_mr_buffers_works) <= smc_wq_waiting_max();
}

static void smc_mr_buffers_end_work(void)
{
	atomic_dec(&smc_mr_buffers_works);
}

/* Take the buffer lock, whose holder may wait for the peer. Return: whether the lock is taken. */
static bool smc_mr_buffers_lock_for_work(struct smc_mr_buffers *buffers, bool may_wait)
{
	if (!may_wait)
		return mutex_trylock(&buffers->lock);
	mutex_lock(&buffers->lock);
	return true;
}

/*
 * Whether to look for idle RMBs now. While DELETE RKEY can't be sent, a trim leaves out the RMBs,
 * because the peer would keep keys of freed memory. But the peer, by leaving requests unanswered,
 * decides how long none can be sent, and must not be able to keep the memory in use. So at most
 * every other trim leaves out the RMBs.
 */
static bool smc_mr_buffers_may_trim_rmbs(struct smc_rdma_group *group)
{
	struct smc_mr_buffers *buffers = &group->buffers;

	lockdep_assert_held(&buffers->lock);
	buffers->left_out = !buffers->left_out && !smc_llc_may_request(group) &&
			    !smc_lgr_is_dead(&group->lgr);
	return !buffers->left_out;
}

/* Remove idle buffers from the pools. Return: false if the RMBs were left out. */
static bool smc_mr_buffers_remove_idle(struct smc_rdma_group *group, struct list_head *idle)
{
	struct smc_buffer_pool *pools = group->buffers.pools;
	const bool in_use = READ_ONCE(group->lgr.n_conns);

	smc_buffer_pool_remove_idle(&pools[SMC_BUFFER_SNDBUF], in_use, idle);
	if (!smc_mr_buffers_may_trim_rmbs(group))
		return false;
	smc_buffer_pool_remove_idle(&pools[SMC_BUFFER_RMB], in_use, idle);
	return true;
}

/* Free idle buffers, so that a group does not keep the memory of a peak until the group ends. */
static void smc_mr_buffers_trim(struct work_struct *work)
{
	struct smc_rdma_group *group = container_of(work, struct smc_rdma_group, buffers.trim.work);
	struct smc_mr_buffers *buffers = &group->buffers;
	const bool may_wait = smc_mr_buffers_begin_work();
	bool is_done = false;
	LIST_HEAD(idle);

	if (smc_mr_buffers_lock_for_work(buffers, may_wait)) {
		is_done = smc_mr_buffers_remove_idle(group, &idle);
		smc_mr_buffers_free(group, &idle, may_wait);
		mutex_unlock(&buffers->lock);
	}
	if (!is_done)
		queue_delayed_work(smc_free_wq, &buffers->trim, SMC_TRIM_RETRY);
	smc_mr_buffers_end_work();
}

/*
 * Free empty buffers, even if the peer can't be told now. A spare group ends instead, so that one
 * DELETE LINK replaces all DELETE RKEYs.
 */
static void smc_mr_buffers_free_empty(struct work_struct *work)
{
	struct smc_rdma_group *group = container_of(work, struct smc_rdma_group,
						    buffers.free_empty);
	struct smc_mr_buffers *buffers = &group->buffers;
	const bool may_wait = smc_mr_buffers_begin_work();
	LIST_HEAD(empty);
	int use;

	/*
	 * If the lock is held, and this work item must not wait for it, the buffers stay until the
	 * work item is queued again.
	 */
	if (!smc_rdma_group_end_spare(group) && smc_mr_buffers_lock_for_work(buffers, may_wait)) {
		for (use = 0; use < SMC_N_BUFFER_USES; use++)
			smc_buffer_pool_remove_empty(&buffers->pools[use], &empty);
		smc_mr_buffers_free(group, &empty, may_wait);
		mutex_unlock(&buffers->lock);
	}
	smc_mr_buffers_end_work();
}

unsigned long smc_mr_buffers_idle_pages(struct smc_lgr *lgr)
{
	struct smc_rdma_group *group = smc_rdma_group_of(lgr);
	const bool is_spare = smc_rdma_group_is_spare(group);
	unsigned long pages = is_spare ? SMC_GROUP_PAGES : 0;
	int use;

	/*
	 * Count nothing for a dead group, because its end frees everything; and nothing for a group
	 * that has just become idle, because it may need its buffers again.
	 */
	if (smc_lgr_is_dead(lgr) || (smc_lgr_is_idle(lgr) && !is_spare))
		return 0;
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		pages += smc_buffer_pool_empty_pages(&group->buffers.pools[use]);
	return pages;
}

/* A work item frees the buffers, because freeing them waits for the device and the peer. */
unsigned long smc_mr_buffers_queue_free(struct smc_lgr *lgr)
{
	struct smc_mr_buffers *buffers = &smc_rdma_group_of(lgr)->buffers;
	unsigned long idle = smc_mr_buffers_idle_pages(lgr);

	return idle && queue_work(smc_free_wq, &buffers->free_empty) ? idle : 0;
}

void smc_mr_buffers_init(struct smc_mr_buffers *buffers)
{
	int use;

	mutex_init(&buffers->lock);
	INIT_DELAYED_WORK(&buffers->trim, smc_mr_buffers_trim);
	INIT_WORK(&buffers->free_empty, smc_mr_buffers_free_empty);
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		smc_buffer_pool_init(&buffers->pools[use], smc_free_wq, &buffers->trim);
}

/*
 * Whether to allocate a buffer. An RMB needs a registration and the peer's answer to CONFIRM RKEY.
 * While an earlier registration or answer is overdue, another RMB could not be used.
 */
static bool smc_mr_buffers_may_add(struct smc_rdma_group *group, const struct smc_buffer_attr *attr)
{
	bool is_registering = smc_mr_buffers_are_registering(group);

	if (!is_registering)
		smc_mr_buffers_discard_late(group);
	return !attr->is_rx || (!is_registering && smc_llc_may_request(group));
}

/*
 * Take the buffer lock. While a peer is slow to answer, the threads that add a buffer (one for each
 * control group) hold the lock for a long time, one after another. So each thread that has waited
 * longer than SMC_BUFFERS_WAIT gives up, even though it has got the lock.
 * Return: 0 with the lock, or -EBUSY.
 */
static int smc_mr_buffers_lock(struct smc_rdma_group *group)
{
	const unsigned long until = jiffies + SMC_BUFFERS_WAIT;

	mutex_lock(&group->buffers.lock);
	if (!time_after(jiffies, until))
		return 0;
	mutex_unlock(&group->buffers.lock);
	return -EBUSY;
}

static int smc_mr_buffers_prepare(struct smc_rdma_group *group, const struct smc_buffer_attr *attr)
{
	struct smc_buffer_pool *pool = &group->buffers.pools[smc_buffer_use_of(attr)];
	int rc = smc_mr_buffers_lock(group);
	LIST_HEAD(offline);

	if (rc)
		return rc;
	/* A link group that is always in use would accumulate buffers of removed cgroups. */
	smc_buffer_pool_remove_offline(pool, &offline);
	smc_mr_buffers_free(group, &offline, true);
	if (pool->closed)
		rc = -ENOLINK;
	else if (!smc_mr_buffers_may_add(group, attr))
		rc = -ETIMEDOUT;
	mutex_unlock(&group->buffers.lock);
	return rc;
}

/*
 * Make a new buffer usable, and take an element of it. On error the buffer is freed,
 * or kept as buffers.late, and no longer belongs to the caller.
 */
static int smc_mr_buffers_make_usable(struct smc_rdma_group *group, struct smc_mr_buffer *mrb,
				       struct smc_element *el)
{
	struct smc_buffer_pool *pool = &group->buffers.pools[smc_buffer_use_of(&mrb->buffer.attr)];
	LIST_HEAD(removed);
	/* Once the buffer pool is closed, the links may be gone. */
	int rc = pool->closed ? -ENOLINK : smc_mr_buffer_map(group, mrb);

	lockdep_assert_held(&group->buffers.lock);
	if (!rc && !smc_mr_buffers_are_registering(group))
		smc_mr_buffers_discard_late(group);
	/* At most one registration is late: no other is posted until the late one completes. */
	if (!rc && smc_mr_buffer_has_region(mrb) && group->buffers.late)
		rc = -ETIMEDOUT;
	if (!rc && smc_lgr_is_active(&group->lgr))
		rc = smc_mr_buffer_make_ready(group, mrb);
	if (!rc)
		rc = smc_buffer_pool_add(pool, &mrb->buffer, el, &removed);
	smc_mr_buffers_free(group, &removed, true);
	if (!rc)
		return 0;
	/* A posted registration refers to the buffer until it completes or the link stops. */
	if (!pool->closed && !group->buffers.late && smc_mr_buffers_are_registering(group))
		group->buffers.late = mrb;
	else
		smc_mr_buffer_discard(group, mrb);
	return rc;
}

/*
 * Try to add a buffer. Its memory is allocated without the buffer lock: an allocation that is slow
 * in one control group must not delay the threads of the others.
 * Return: 0, or an error; -EAGAIN as smc_llc_confirm_rkey().
 */
static int smc_mr_buffer_try_add(const struct smc_buffer_attr *attr, struct smc_rdma_group *group,
				 struct smc_element *el)
{
	struct smc_buffer *buffer;
	int rc;

	rc = smc_mr_buffers_prepare(group, attr);
	if (rc)
		return rc;
	buffer = smc_buffer_create(attr, sizeof(struct smc_mr_buffer));
	if (!buffer)
		return -ENOMEM;
	rc = smc_mr_buffers_lock(group);
	if (rc) {
		smc_buffer_put(buffer);
		return rc;
	}
	rc = smc_mr_buffers_make_usable(group, container_of(buffer, struct smc_mr_buffer, buffer),
					el);
	mutex_unlock(&group->buffers.lock);
	return rc;
}

/*
 * Add a buffer. If the peer asks this end to try again (RFC 7609 appendix A.3.5), the peer may wait
 * for an LLC message that this end can only send once it has released the buffer lock. Each attempt
 * announces another buffer.
 */
static int smc_mr_buffer_add(const struct smc_buffer_attr *attr, void *arg, struct smc_element *el)
{
	const unsigned long until = jiffies + SMC_CONFIRM_RKEY_WAIT;
	int rc;

	do {
		rc = smc_mr_buffer_try_add(attr, arg, el);
		if (rc == -EAGAIN)
			schedule_timeout_uninterruptible(SMC_CONFIRM_RKEY_RETRY);
	} while (rc == -EAGAIN && time_before(jiffies, until));
	return rc == -EAGAIN ? -EREMOTEIO : rc;
}

/* Replace -ETIMEDOUT, which callers would take for the timeout of CONFIRM LINK. */
static int smc_mr_buffers_error(int rc)
{
	return rc == -ETIMEDOUT ? -EIO : rc;
}

int smc_mr_buffers_alloc(struct smc_rdma_group *group, enum smc_buffer_use use, u8 size_class,
			 struct mem_cgroup *memcg, struct smc_element *el)
{
	struct smc_buffer_attr attr = {
		.net	    = group->lgr.net,
		.memcg	    = memcg,
		.kind	    = SMC_PATH_R,
		.is_rx	    = use == SMC_BUFFER_RMB,
		.size_class = size_class,
		.type	    = READ_ONCE(smc_net(group->lgr.net)->sysctl.smcr_buf_type),
	};
	int rc = smc_buffer_pool_alloc(&group->buffers.pools[use], &attr, smc_mr_buffer_add, group,
				       el);

	if (!rc)
		smc_element_clear(el);
	return smc_mr_buffers_error(rc);
}

/* Call @op for each buffer on a link, until it returns an error. */
static int smc_mr_buffers_each(struct smc_link *link,
			       int (*op)(struct smc_mr_buffer *mrb, struct smc_link *link))
{
	struct smc_mr_buffers *buffers = &link->group->buffers;
	struct smc_mr_buffer *mrb;
	int use, rc;

	lockdep_assert_held(&buffers->lock);
	for (use = 0; use < SMC_N_BUFFER_USES; use++) {
		list_for_each_entry(mrb, &buffers->pools[use].list, buffer.list) {
			rc = op(mrb, link);
			if (rc)
				return rc;
		}
	}
	return 0;
}

int smc_mr_buffers_map(struct smc_link *link)
{
	return smc_mr_buffers_each(link, smc_region_map);
}

int smc_mr_buffers_register(struct smc_link *link)
{
	return smc_mr_buffers_error(smc_mr_buffers_each(link, smc_region_register));
}

void smc_mr_buffers_unmap(struct smc_link *link)
{
	struct smc_mr_buffers *buffers = &link->group->buffers;
	struct smc_mr_buffer *mrb;
	int use;

	lockdep_assert_held(&buffers->lock);
	if (buffers->late)
		smc_region_unmap(buffers->late, link);
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		list_for_each_entry(mrb, &buffers->pools[use].list, buffer.list)
			smc_region_unmap(mrb, link);
}

int smc_mr_buffers_rmbs(struct smc_rdma_group *group,
			int (*fn)(const struct smc_mr_buffer *rmb, void *arg), void *arg)
{
	const struct smc_mr_buffer *rmb;
	int rc = 0;

	lockdep_assert_held(&group->buffers.lock);
	list_for_each_entry(rmb, &group->buffers.pools[SMC_BUFFER_RMB].list, buffer.list) {
		rc = fn(rmb, arg);
		if (rc)
			break;
	}
	return rc;
}

void smc_mr_buffers_close(struct smc_rdma_group *group)
{
	LIST_HEAD(all);
	int use;

	mutex_lock(&group->buffers.lock);
	smc_mr_buffers_discard_late(group);
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		smc_buffer_pool_close(&group->buffers.pools[use], &all);
	smc_mr_buffers_discard(group, &all);
	mutex_unlock(&group->buffers.lock);
	cancel_delayed_work_sync(&group->buffers.trim);
	cancel_work_sync(&group->buffers.free_empty);
}
