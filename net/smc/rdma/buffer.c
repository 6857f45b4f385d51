// SPDX-License-Identifier: GPL-2.0
/* RMBs and send buffers: allocation, registration, and their elements. */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "compat.h"
#include "group.h"
#include "link.h"
#include "llc.h"
#include "wire/size_class.h"
#include "workqueue.h"

#include "buffer.h"

/* Time for telling the peer of RMBs that are freed. */
#define SMC_WITHDRAW_WAIT	(2 * HZ)
/* Delay of the next trim while no request may be sent to the peer, see smc_llc_may_ask(). */
#define SMC_TRIM_RETRY		(10 * HZ)

/* After so long in a queue for the lock a new slab is not worth another request to the peer. */
#define SMC_BUFFERS_WAIT	(2 * HZ)

/* Pages of an idle group that are in no slab: those of its queue pair, about. */
#define SMC_GROUP_PAGES		32

static void smc_mr_slab_release(struct smc_slab *slab)
{
	struct smc_mr_slab *mrs = container_of(slab, struct smc_mr_slab, slab);

	sg_free_table(&mrs->sgt);
	kfree(mrs);
}

static int smc_mr_slab_make_sgt(struct smc_mr_slab *mrs)
{
	const struct smc_slab *slab = &mrs->slab;
	unsigned int pages = smc_slab_bytes(slab) >> PAGE_SHIFT;
	struct scatterlist *sg;
	int i, rc;

	if (!slab->is_virtual) {
		rc = sg_alloc_table(&mrs->sgt, 1, GFP_KERNEL);
		if (rc)
			return rc;
		sg_set_buf(mrs->sgt.sgl, slab->mem, smc_slab_bytes(slab));
		return 0;
	}
	rc = sg_alloc_table(&mrs->sgt, pages, GFP_KERNEL);
	if (rc)
		return rc;
	for_each_sgtable_sg(&mrs->sgt, sg, i)
		sg_set_page(sg, vmalloc_to_page(slab->mem + i * PAGE_SIZE), PAGE_SIZE, 0);
	return 0;
}

static struct smc_mr_slab *smc_mr_slab_alloc(const struct smc_slab_spec *spec)
{
	struct smc_mr_slab *mrs = kzalloc(sizeof(*mrs), GFP_KERNEL);
	int rc;

	if (!mrs)
		return ERR_PTR(-ENOMEM);
	rc = smc_slab_init(&mrs->slab, spec, smc_mr_slab_release);
	if (rc) {
		kfree(mrs);
		return ERR_PTR(rc);
	}
	rc = smc_mr_slab_make_sgt(mrs);
	if (rc) {
		smc_slab_put(&mrs->slab);
		return ERR_PTR(rc);
	}
	return mrs;
}

static enum dma_data_direction smc_mr_slab_direction(const struct smc_mr_slab *mrs)
{
	return mrs->slab.spec.is_rx ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

static void smc_mr_slab_unmap(struct smc_link *link, struct smc_mr_slab *mrs)
{
	if (mrs->mr)
		ib_dereg_mr(mrs->mr);
	mrs->mr = NULL;
	if (mrs->is_mapped)
		ib_dma_unmap_sgtable_attrs(link->port.dev->ibdev, &mrs->sgt,
					   smc_mr_slab_direction(mrs), 0);
	mrs->is_mapped = false;
}

static enum smc_buffer_use smc_buffer_use_of(const struct smc_slab_spec *spec)
{
	return spec->is_rx ? SMC_BUFFER_RMB : SMC_BUFFER_MIRROR;
}

/* Free a buffer that is in no list. */
static void smc_mr_slab_discard(struct smc_link *link, struct smc_mr_slab *mrs)
{
	smc_mr_slab_unmap(link, mrs);
	smc_slab_put(&mrs->slab);
}

static void smc_buffers_discard(struct smc_group *group, struct list_head *slabs)
{
	struct smc_mr_slab *mrs, *next;

	lockdep_assert_held(&group->buffers.lock);
	list_for_each_entry_safe(mrs, next, slabs, slab.list)
		smc_mr_slab_discard(group->link, mrs);
}

static void smc_buffers_discard_late(struct smc_group *group)
{
	if (group->buffers.late)
		smc_mr_slab_discard(group->link, group->buffers.late);
	group->buffers.late = NULL;
}

/* A send buffer in one piece needs no memory region: the domain's local key covers all memory. */
static bool smc_mr_slab_is_plain(const struct smc_mr_slab *mrs)
{
	return !mrs->slab.spec.is_rx && mrs->sgt.nents == 1;
}

/*
 * Tell whether the CPU and the device see each other's writes at once. The peer may
 * write at any time, so with bounce buffers nobody could know when to copy.
 */
static bool smc_mr_slab_is_coherent(struct ib_device *ibdev, const struct smc_mr_slab *mrs)
{
	struct scatterlist *sg;
	int i;

	if (ib_uses_virt_dma(ibdev))
		return true;
	for_each_sgtable_dma_sg(&mrs->sgt, sg, i)
		if (smc_dma_needs_sync(ibdev->dma_device, sg_dma_address(sg)))
			return false;
	return true;
}

/* Map a buffer and set its keys. Keys of a memory region become valid when it is registered. */
static int smc_mr_slab_map(struct smc_link *link, struct smc_mr_slab *mrs)
{
	struct ib_device *ibdev = link->port.dev->ibdev;
	unsigned int pages = smc_slab_bytes(&mrs->slab) >> PAGE_SHIFT;
	int n, rc;

	rc = ib_dma_map_sgtable_attrs(ibdev, &mrs->sgt, smc_mr_slab_direction(mrs), 0);
	if (rc)
		return rc;
	mrs->is_mapped = true;
	if (!smc_mr_slab_is_coherent(ibdev, mrs)) {
		rc = -EOPNOTSUPP;
		goto err;
	}
	if (smc_mr_slab_is_plain(mrs)) {
		mrs->lkey = link->pd->local_dma_lkey;
		mrs->iova = sg_dma_address(mrs->sgt.sgl);
		return 0;
	}

	mrs->mr = ib_alloc_mr(link->pd, IB_MR_TYPE_MEM_REG, pages);
	if (IS_ERR(mrs->mr)) {
		rc = PTR_ERR(mrs->mr);
		mrs->mr = NULL;
		goto err;
	}
	n = ib_map_mr_sg(mrs->mr, mrs->sgt.sgl, mrs->sgt.nents, NULL, PAGE_SIZE);
	if (n != mrs->sgt.nents) {
		rc = n < 0 ? n : -EINVAL;
		goto err;
	}
	ib_update_fast_reg_key(mrs->mr, (u8)get_random_u32());
	/* The peer learns this address, which for some devices is a kernel address by default. */
	mrs->mr->iova = (u64)get_random_u32() << PAGE_SHIFT;
	mrs->rkey = mrs->mr->rkey;
	mrs->lkey = mrs->mr->lkey;
	mrs->iova = mrs->mr->iova;
	return 0;

err:
	smc_mr_slab_unmap(link, mrs);
	return rc;
}

static int smc_mr_slab_register(struct smc_link *link, struct smc_mr_slab *mrs)
{
	int access = IB_ACCESS_LOCAL_WRITE;
	int rc;

	if (!mrs->mr)
		return 0;
	/* An earlier registration has timed out and may still complete. */
	if (smc_link_is_registering(link))
		return -ETIMEDOUT;
	if (mrs->slab.spec.is_rx)
		access |= IB_ACCESS_REMOTE_WRITE;
	rc = smc_link_register(link, mrs->mr, access);
	if (!rc)
		smc_stat_rdma(smc_net(mrs->slab.spec.net), SMC_RDMA_REGISTRATIONS, 1);
	return rc;
}

/* Register a buffer that was made after first contact, and announce it to the peer. */
static int smc_mr_slab_make_ready(struct smc_group *group, struct smc_mr_slab *mrs)
{
	int rc = smc_mr_slab_register(group->link, mrs);

	if (!rc && mrs->slab.spec.is_rx)
		rc = smc_llc_confirm_rkey(group, mrs->rkey, mrs->iova);
	return rc;
}

/*
 * Delete the keys of buffers at the peer, and free the buffers. All connections that
 * used them are over, with no RDMA write under way in either direction. If the peer
 * is slow to answer, it is told only some of the keys, as other threads wait for the lock.
 */
static void smc_buffers_withdraw(struct smc_group *group, struct list_head *slabs)
{
	const unsigned long until = jiffies + SMC_WITHDRAW_WAIT;
	u32 rkeys[SMC_LLC_DELETE_RKEYS];
	struct smc_mr_slab *mrs;
	unsigned int n = 0;

	list_for_each_entry(mrs, slabs, slab.list) {
		if (!mrs->slab.spec.is_rx)
			continue;
		rkeys[n++] = mrs->rkey;
		if (n < ARRAY_SIZE(rkeys))
			continue;
		if (time_before(jiffies, until))
			smc_llc_forget_rkeys(group, rkeys, n);
		n = 0;
	}
	if (n && time_before(jiffies, until))
		smc_llc_forget_rkeys(group, rkeys, n);
	smc_buffers_discard(group, slabs);
}

/* Free idle buffers, so that a peak's memory doesn't stay for the lifetime of the group. */
static void smc_buffers_trim(struct work_struct *work)
{
	struct smc_group *group = container_of(work, struct smc_group, buffers.trim.work);
	bool in_use = READ_ONCE(group->lgr.n_conns);
	LIST_HEAD(idle);
	int use;

	mutex_lock(&group->buffers.lock);
	if (!smc_llc_may_ask(group) && !smc_lgr_is_dead(&group->lgr)) {
		/* The peer would go on to hold keys of memory that is gone. */
		queue_delayed_work(smc_link_wq, &group->buffers.trim, SMC_TRIM_RETRY);
		goto out;
	}
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		smc_slabs_remove_idle(&group->buffers.slabs[use], in_use, &idle);
	smc_buffers_withdraw(group, &idle);
out:
	mutex_unlock(&group->buffers.lock);
}

/* The end of an idle group tells its peer more than keys. */
static void smc_buffers_free_empty(struct work_struct *work)
{
	struct smc_group *group = container_of(work, struct smc_group, buffers.shrink);
	LIST_HEAD(empty);
	int use;

	if (smc_group_end_spare(group))
		return;
	mutex_lock(&group->buffers.lock);
	/* Without a request to the peer they stay: smc_buffers_trim() retries later. */
	for (use = 0; use < SMC_N_BUFFER_USES && smc_llc_may_ask(group); use++)
		smc_slabs_remove_empty(&group->buffers.slabs[use], &empty);
	smc_buffers_withdraw(group, &empty);
	mutex_unlock(&group->buffers.lock);
}

unsigned long smc_buffers_idle_pages(struct smc_lgr *lgr)
{
	struct smc_group *group = smc_group_of(lgr);
	const bool is_spare = smc_group_is_spare(group);
	unsigned long pages = is_spare ? SMC_GROUP_PAGES : 0;
	int use;

	/* The end of one gives all back, and the next connection takes what another has. */
	if (smc_lgr_is_dead(lgr) || (smc_lgr_is_idle(lgr) && !is_spare))
		return 0;
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		pages += smc_slabs_empty_pages(&group->buffers.slabs[use]);
	return pages;
}

/* The device and the peer come first, who may be slow: so works do it, and nobody waits here. */
unsigned long smc_buffers_give_back(struct smc_lgr *lgr)
{
	unsigned long idle = smc_buffers_idle_pages(lgr);

	return idle && queue_work(smc_link_wq, &smc_group_of(lgr)->buffers.shrink) ? idle : 0;
}

void smc_buffers_init(struct smc_buffers *buffers)
{
	int use;

	mutex_init(&buffers->lock);
	INIT_DELAYED_WORK(&buffers->trim, smc_buffers_trim);
	INIT_WORK(&buffers->shrink, smc_buffers_free_empty);
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		smc_slabs_init(&buffers->slabs[use], &buffers->trim);
}

/* Free the empty buffers of control groups that are gone, lest a busy group collects them. */
static void smc_buffers_shrink(struct smc_group *group, struct smc_slabs *slabs)
{
	LIST_HEAD(left);

	smc_slabs_remove_left(slabs, &left);
	smc_buffers_withdraw(group, &left);
}

/* Before allocating for an RMB, tell whether the link and the peer are likely to answer. */
static bool smc_buffers_may_add(struct smc_group *group, const struct smc_slab_spec *spec)
{
	bool is_registering = smc_link_is_registering(group->link);

	if (!is_registering)
		smc_buffers_discard_late(group);
	return !spec->is_rx || (!is_registering && smc_llc_may_ask(group));
}

/*
 * A peer that is slow to answer keeps the lock busy for each control group that makes a slab, one
 * after the other. So those behind them go away together.
 * Return: 0 with the lock, or -EBUSY.
 */
static int smc_buffers_lock(struct smc_group *group)
{
	const unsigned long until = jiffies + SMC_BUFFERS_WAIT;

	mutex_lock(&group->buffers.lock);
	if (!time_after(jiffies, until))
		return 0;
	mutex_unlock(&group->buffers.lock);
	return -EBUSY;
}

static int smc_buffers_prepare(struct smc_group *group, const struct smc_slab_spec *spec)
{
	struct smc_slabs *slabs = &group->buffers.slabs[smc_buffer_use_of(spec)];
	int rc = smc_buffers_lock(group);

	if (rc)
		return rc;
	if (slabs->closed)
		rc = -ENOLINK;
	if (!rc)
		smc_buffers_shrink(group, slabs);
	if (!rc && !smc_buffers_may_add(group, spec))
		rc = -ETIMEDOUT;
	mutex_unlock(&group->buffers.lock);
	return rc;
}

/*
 * Make a new buffer usable, and take an element of it. On error the buffer is freed,
 * or kept as buffers.late, and no longer belongs to the caller.
 */
static int smc_buffers_announce(struct smc_group *group, struct smc_mr_slab *mrs,
				struct smc_element *el)
{
	struct smc_slabs *slabs = &group->buffers.slabs[smc_buffer_use_of(&mrs->slab.spec)];
	/* Once the buffer pool is closed, the link may be gone. */
	int rc = slabs->closed ? -ENOLINK : smc_mr_slab_map(group->link, mrs);

	lockdep_assert_held(&group->buffers.lock);
	if (!rc && !smc_link_is_registering(group->link))
		smc_buffers_discard_late(group);
	/* At most one registration is late, because no other is posted until it completes. */
	if (!rc && mrs->mr && group->buffers.late)
		rc = -ETIMEDOUT;
	if (!rc && smc_lgr_is_active(&group->lgr))
		rc = smc_mr_slab_make_ready(group, mrs);
	if (!rc)
		rc = smc_slabs_add(slabs, &mrs->slab, el);
	if (!rc)
		return 0;
	/* A posted registration refers to the buffer until it completes or the link stops. */
	if (!slabs->closed && !group->buffers.late && smc_link_is_registering(group->link))
		group->buffers.late = mrs;
	else
		smc_mr_slab_discard(group->link, mrs);
	return rc;
}

/* The allocation happens without the lock, so only threads of its control group wait for it. */
static int smc_mr_slab_add(const struct smc_slab_spec *spec, void *arg, struct smc_element *el)
{
	struct smc_group *group = arg;
	struct smc_mr_slab *mrs;
	int rc;

	rc = smc_buffers_prepare(group, spec);
	if (rc)
		return rc;
	mrs = smc_mr_slab_alloc(spec);
	if (IS_ERR(mrs))
		return PTR_ERR(mrs);
	rc = smc_buffers_lock(group);
	if (rc) {
		smc_slab_put(&mrs->slab);
		return rc;
	}
	rc = smc_buffers_announce(group, mrs, el);
	mutex_unlock(&group->buffers.lock);
	return rc;
}

/* Callers take -ETIMEDOUT for the timeout of CONFIRM LINK, so this one gets another errno. */
static int smc_buffers_error(int rc)
{
	return rc == -ETIMEDOUT ? -EIO : rc;
}

int smc_buffers_take(struct smc_group *group, enum smc_buffer_use use, u8 size_class,
		     struct mem_cgroup *memcg, struct smc_element *el)
{
	struct smc_slab_spec spec = {
		.net	    = group->lgr.net,
		.memcg	    = memcg,
		.kind	    = SMC_PATH_R,
		.is_rx	    = use == SMC_BUFFER_RMB,
		.most_bytes = SMC_SLAB_BYTES,
		.size_class = size_class,
		.type	    = READ_ONCE(smc_net(group->lgr.net)->sysctl.smcr_buf_type),
	};
	int rc = smc_slabs_take(&group->buffers.slabs[use], &spec, smc_mr_slab_add, group, el);

	if (!rc)
		smc_element_clean(el);
	return smc_buffers_error(rc);
}

int smc_buffers_register(struct smc_group *group)
{
	struct smc_mr_slab *mrs;
	int rc = 0;
	int use;

	mutex_lock(&group->buffers.lock);
	for (use = 0; use < SMC_N_BUFFER_USES && !rc; use++) {
		list_for_each_entry(mrs, &group->buffers.slabs[use].list, slab.list) {
			rc = smc_mr_slab_register(group->link, mrs);
			if (rc)
				break;
		}
	}
	mutex_unlock(&group->buffers.lock);
	return smc_buffers_error(rc);
}

void smc_buffers_deregister(struct smc_group *group)
{
	LIST_HEAD(all);
	int use;

	mutex_lock(&group->buffers.lock);
	smc_buffers_discard_late(group);
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		smc_slabs_close(&group->buffers.slabs[use], &all);
	smc_buffers_discard(group, &all);
	mutex_unlock(&group->buffers.lock);
	cancel_delayed_work_sync(&group->buffers.trim);
	cancel_work_sync(&group->buffers.shrink);
}
