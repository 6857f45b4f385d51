// SPDX-License-Identifier: GPL-2.0
/* RMBs and mirrors: allocation, registration, and the elements in them. */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "group.h"
#include "link.h"
#include "llc.h"
#include "wire/size_class.h"

#include "buffer.h"

void smc_buffers_init(struct smc_buffers *buffers)
{
	int use;

	mutex_init(&buffers->lock);
	for (use = 0; use < SMC_N_BUFFER_USES; use++)
		INIT_LIST_HEAD(&buffers->slabs[use]);
}

static size_t smc_slab_bytes(const struct smc_slab *slab)
{
	return (size_t)slab->n * smc_size_class_bytes(slab->size_class);
}

static void smc_slab_count(const struct smc_slab *slab, s64 bytes)
{
	smc_stat_buffer_bytes(slab->net, SMC_PATH_R, slab->use == SMC_BUFFER_RMB, bytes);
}

static void smc_slab_free(struct kref *ref)
{
	struct smc_slab *slab = container_of(ref, struct smc_slab, ref);

	smc_slab_count(slab, -(s64)smc_slab_bytes(slab));
	sg_free_table(&slab->sgt);
	if (slab->is_virtual)
		vfree(slab->mem);
	else
		free_pages_exact(slab->mem, smc_slab_bytes(slab));
	kfree(slab);
}

/*
 * Zeroed, because an application may be made to read what its peer only claims to have
 * written. Physically contiguous memory may be short: then take fewer elements.
 */
static int smc_slab_alloc_memory(struct smc_slab *slab)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY;
	unsigned int type = READ_ONCE(smc_net(slab->net)->sysctl.smcr_buf_type);
	unsigned int most = min(SMC_SLAB_BYTES / smc_size_class_bytes(slab->size_class),
				(unsigned int)SMC_SLAB_MAX_ELEMENTS);

	if (type != SMC_BUF_VIRTUAL) {
		for (slab->n = most; slab->n; slab->n /= 2) {
			slab->mem = alloc_pages_exact(smc_slab_bytes(slab), gfp);
			if (slab->mem)
				return 0;
		}
	}
	if (type == SMC_BUF_PHYSICAL)
		return -ENOMEM;
	slab->n = most;
	slab->is_virtual = true;
	slab->mem = vzalloc(smc_slab_bytes(slab));
	return slab->mem ? 0 : -ENOMEM;
}

static int smc_slab_make_sgt(struct smc_slab *slab)
{
	unsigned int pages = smc_slab_bytes(slab) >> PAGE_SHIFT;
	struct scatterlist *sg;
	int i, rc;

	if (!slab->is_virtual) {
		rc = sg_alloc_table(&slab->sgt, 1, GFP_KERNEL);
		if (rc)
			return rc;
		sg_set_buf(slab->sgt.sgl, slab->mem, smc_slab_bytes(slab));
		return 0;
	}
	rc = sg_alloc_table(&slab->sgt, pages, GFP_KERNEL);
	if (rc)
		return rc;
	for_each_sgtable_sg(&slab->sgt, sg, i)
		sg_set_page(sg, vmalloc_to_page(slab->mem + i * PAGE_SIZE), PAGE_SIZE, 0);
	return 0;
}

static struct smc_slab *smc_slab_alloc(struct net *net, enum smc_buffer_use use, u8 size_class)
{
	struct smc_slab *slab = kzalloc(sizeof(*slab), GFP_KERNEL);
	int rc;

	if (!slab)
		return ERR_PTR(-ENOMEM);
	kref_init(&slab->ref);
	spin_lock_init(&slab->lock);
	slab->net = net;
	slab->use = use;
	slab->size_class = size_class;

	rc = smc_slab_alloc_memory(slab);
	if (rc)
		goto err_slab;
	smc_slab_count(slab, smc_slab_bytes(slab));
	rc = smc_slab_make_sgt(slab);
	if (rc)
		goto err_memory;
	return slab;

err_memory:
	kref_put(&slab->ref, smc_slab_free);
	return ERR_PTR(rc);
err_slab:
	kfree(slab);
	return ERR_PTR(rc);
}

static enum dma_data_direction smc_slab_direction(const struct smc_slab *slab)
{
	return slab->use == SMC_BUFFER_RMB ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

static void smc_slab_unmap(struct smc_link *link, struct smc_slab *slab)
{
	if (slab->mr)
		ib_dereg_mr(slab->mr);
	slab->mr = NULL;
	if (slab->is_mapped)
		ib_dma_unmap_sgtable_attrs(link->port.dev->ibdev, &slab->sgt,
					   smc_slab_direction(slab), 0);
	slab->is_mapped = false;
}

/* Give the slab a memory region, whose keys are known from now on though not yet valid. */
static int smc_slab_map(struct smc_link *link, struct smc_slab *slab)
{
	struct ib_device *ibdev = link->port.dev->ibdev;
	unsigned int pages = smc_slab_bytes(slab) >> PAGE_SHIFT;
	int n, rc;

	rc = ib_dma_map_sgtable_attrs(ibdev, &slab->sgt, smc_slab_direction(slab), 0);
	if (rc)
		return rc;
	slab->is_mapped = true;

	slab->mr = ib_alloc_mr(link->pd, IB_MR_TYPE_MEM_REG, pages);
	if (IS_ERR(slab->mr)) {
		rc = PTR_ERR(slab->mr);
		slab->mr = NULL;
		goto err;
	}
	n = ib_map_mr_sg(slab->mr, slab->sgt.sgl, slab->sgt.nents, NULL, PAGE_SIZE);
	if (n != slab->sgt.nents) {
		rc = n < 0 ? n : -EINVAL;
		goto err;
	}
	ib_update_fast_reg_key(slab->mr, (u8)get_random_u32());
	slab->rkey = slab->mr->rkey;
	slab->lkey = slab->mr->lkey;
	slab->iova = slab->mr->iova;
	return 0;

err:
	smc_slab_unmap(link, slab);
	return rc;
}

static int smc_slab_register(struct smc_link *link, struct smc_slab *slab)
{
	int access = IB_ACCESS_LOCAL_WRITE;
	int rc;

	if (slab->use == SMC_BUFFER_RMB)
		access |= IB_ACCESS_REMOTE_WRITE;
	rc = smc_link_register(link, slab->mr, access);
	if (!rc)
		smc_stat_rdma(slab->net, SMC_RDMA_REGISTRATIONS, 1);
	return rc;
}

/* A slab made after first contact: register it and tell the peer of it. */
static int smc_slab_make_ready(struct smc_group *group, struct smc_slab *slab)
{
	int rc = smc_slab_register(group->link, slab);

	if (!rc && slab->use == SMC_BUFFER_RMB)
		rc = smc_llc_confirm_rkey(group, slab->rkey, slab->iova);
	return rc;
}

static int smc_slab_add(struct smc_group *group, enum smc_buffer_use use, u8 size_class)
{
	struct smc_slab *slab;
	int rc;

	slab = smc_slab_alloc(group->net, use, size_class);
	if (IS_ERR(slab))
		return PTR_ERR(slab);
	rc = smc_slab_map(group->link, slab);
	if (!rc && smc_group_is_active(group))
		rc = smc_slab_make_ready(group, slab);
	if (rc) {
		smc_slab_unmap(group->link, slab);
		kref_put(&slab->ref, smc_slab_free);
		return rc;
	}
	list_add(&slab->list, &group->buffers.slabs[use]);
	return 0;
}

static bool smc_slab_take(struct smc_slab *slab, struct smc_element *el)
{
	unsigned int i;

	spin_lock_bh(&slab->lock);
	i = find_first_zero_bit(slab->taken, slab->n);
	if (i < slab->n)
		__set_bit(i, slab->taken);
	spin_unlock_bh(&slab->lock);
	if (i >= slab->n)
		return false;

	kref_get(&slab->ref);
	el->slab = slab;
	el->index = i;
	return true;
}

static bool smc_buffers_take(struct smc_buffers *buffers, enum smc_buffer_use use, u8 size_class,
			     struct smc_element *el)
{
	struct smc_slab *slab;

	list_for_each_entry(slab, &buffers->slabs[use], list)
		if (slab->size_class == size_class && smc_slab_take(slab, el))
			return true;
	return false;
}

int smc_element_take(struct smc_group *group, enum smc_buffer_use use, u8 size_class,
		     struct smc_element *el)
{
	bool rx = use == SMC_BUFFER_RMB;
	bool reused = true;
	int rc = 0;

	mutex_lock(&group->buffers.lock);
	while (!smc_buffers_take(&group->buffers, use, size_class, el)) {
		reused = false;
		rc = group->buffers.closed ? -ENOLINK : smc_slab_add(group, use, size_class);
		if (rc == -ENOMEM && size_class) {
			size_class--;
			smc_stat_buffer_downgraded(group->net, SMC_PATH_R, rx);
			continue;
		}
		if (rc)
			break;
	}
	mutex_unlock(&group->buffers.lock);
	if (!rc)
		smc_stat_buffer(group->net, SMC_PATH_R, rx, smc_size_class_bytes(size_class),
				reused);
	return rc;
}

void smc_element_give(struct smc_element *el)
{
	struct smc_slab *slab = el->slab;

	if (!slab)
		return;
	spin_lock_bh(&slab->lock);
	__clear_bit(el->index, slab->taken);
	spin_unlock_bh(&slab->lock);
	el->slab = NULL;
	kref_put(&slab->ref, smc_slab_free);
}

int smc_buffers_register(struct smc_group *group)
{
	struct smc_slab *slab;
	int rc = 0;
	int use;

	mutex_lock(&group->buffers.lock);
	for (use = 0; use < SMC_N_BUFFER_USES && !rc; use++) {
		list_for_each_entry(slab, &group->buffers.slabs[use], list) {
			rc = smc_slab_register(group->link, slab);
			if (rc)
				break;
		}
	}
	mutex_unlock(&group->buffers.lock);
	return rc;
}

void smc_buffers_deregister(struct smc_group *group)
{
	struct smc_slab *slab, *next;
	int use;

	mutex_lock(&group->buffers.lock);
	group->buffers.closed = true;
	for (use = 0; use < SMC_N_BUFFER_USES; use++) {
		list_for_each_entry_safe(slab, next, &group->buffers.slabs[use], list) {
			list_del(&slab->list);
			smc_slab_unmap(group->link, slab);
			kref_put(&slab->ref, smc_slab_free);
		}
	}
	mutex_unlock(&group->buffers.lock);
}
