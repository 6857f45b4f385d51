// SPDX-License-Identifier: GPL-2.0
/* Mapping and registration of a buffer on a link. */

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/vmalloc.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "compat.h"
#include "link.h"
#include "mr_buffer.h"
#include "region.h"

static int smc_region_alloc_sgt(struct smc_region *region, const struct smc_buffer *buffer)
{
	unsigned int pieces = buffer->is_virtual ? smc_buffer_pages(buffer) : 1;
	struct scatterlist *sg;
	int i, rc;

	rc = sg_alloc_table(&region->sgt, pieces, GFP_KERNEL);
	if (rc)
		return rc;
	if (!buffer->is_virtual) {
		sg_set_buf(region->sgt.sgl, buffer->mem, smc_buffer_bytes(buffer));
		return 0;
	}
	for_each_sgtable_sg(&region->sgt, sg, i)
		sg_set_page(sg, vmalloc_to_page(buffer->mem + i * PAGE_SIZE), PAGE_SIZE, 0);
	return 0;
}

static enum dma_data_direction smc_region_direction(const struct smc_buffer *buffer)
{
	return buffer->attr.is_rx ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

void smc_region_unmap(struct smc_mr_buffer *mrb, struct smc_link *link)
{
	struct smc_region *region = &mrb->regions[link->index];

	if (region->mr)
		ib_dereg_mr(region->mr);
	region->mr = NULL;
	if (!region->is_mapped)
		return;
	ib_dma_unmap_sgtable_attrs(link->port.dev->ibdev, &region->sgt,
				   smc_region_direction(&mrb->buffer), 0);
	sg_free_table(&region->sgt);
	region->is_mapped = false;
}

/*
 * Whether a buffer needs no memory region. A send buffer in one piece needs none, because the local
 * key of the protection domain covers all memory.
 */
static bool smc_region_is_plain(const struct smc_region *region, const struct smc_buffer *buffer)
{
	return !buffer->attr.is_rx && region->sgt.nents == 1;
}

/*
 * Whether the CPU and the device see each other's writes at once. The peer may write at any
 * time, so this end could not know when to copy from a bounce buffer.
 */
static bool smc_region_is_coherent(const struct smc_region *region, struct ib_device *ibdev)
{
	struct scatterlist *sg;
	int i;

	if (ib_uses_virt_dma(ibdev))
		return true;
	for_each_sgtable_dma_sg(&region->sgt, sg, i)
		if (smc_dma_needs_sync(ibdev->dma_device, sg_dma_address(sg)))
			return false;
	return true;
}

static int smc_region_map_dma(struct smc_region *region, struct ib_device *ibdev,
			      const struct smc_buffer *buffer)
{
	int rc = smc_region_alloc_sgt(region, buffer);

	if (rc)
		return rc;
	rc = ib_dma_map_sgtable_attrs(ibdev, &region->sgt, smc_region_direction(buffer), 0);
	if (rc)
		sg_free_table(&region->sgt);
	else
		region->is_mapped = true;
	return rc;
}

static int smc_region_alloc_mr(struct smc_region *region, struct smc_link *link,
			       const struct smc_buffer *buffer)
{
	unsigned int pages = smc_buffer_pages(buffer);
	struct ib_mr *mr = ib_alloc_mr(link->pd, IB_MR_TYPE_MEM_REG, pages);
	int n;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	region->mr = mr;
	n = ib_map_mr_sg(mr, region->sgt.sgl, region->sgt.nents, NULL, PAGE_SIZE);
	if (n != region->sgt.nents)
		return n < 0 ? n : -EINVAL;
	/* Keep a soft-RoCE key: it is random already, and smc_link_register() relies on it. */
	if (!link->is_soft)
		ib_update_fast_reg_key(mr, (u8)get_random_u32());
	/*
	 * Use a random address: the peer learns it, and with some devices the default is a kernel
	 * address.
	 */
	mr->iova = (u64)get_random_u32() << PAGE_SHIFT;
	region->rkey = mr->rkey;
	region->lkey = mr->lkey;
	region->iova = mr->iova;
	return 0;
}

int smc_region_map(struct smc_mr_buffer *mrb, struct smc_link *link)
{
	struct smc_region *region = &mrb->regions[link->index];
	const struct smc_buffer *buffer = &mrb->buffer;
	struct ib_device *ibdev = link->port.dev->ibdev;
	int rc = smc_region_map_dma(region, ibdev, buffer);

	if (rc)
		return rc;
	if (!smc_region_is_coherent(region, ibdev)) {
		rc = -EOPNOTSUPP;
	} else if (smc_region_is_plain(region, buffer)) {
		region->lkey = link->pd->local_dma_lkey;
		region->iova = sg_dma_address(region->sgt.sgl);
	} else {
		rc = smc_region_alloc_mr(region, link, buffer);
	}
	if (rc)
		smc_region_unmap(mrb, link);
	return rc;
}

int smc_region_register(struct smc_mr_buffer *mrb, struct smc_link *link)
{
	struct ib_mr *mr = mrb->regions[link->index].mr;
	int access = IB_ACCESS_LOCAL_WRITE;
	int rc;

	if (!mr)
		return 0;
	/* An earlier registration has timed out and may still complete. */
	if (smc_link_is_registering(link))
		return -ETIMEDOUT;
	if (mrb->buffer.attr.is_rx)
		access |= IB_ACCESS_REMOTE_WRITE;
	rc = smc_link_register(link, mr, access);
	if (!rc)
		smc_stat_rdma(smc_net(mrb->buffer.attr.net), SMC_RDMA_REGISTRATIONS, 1);
	return rc;
}
