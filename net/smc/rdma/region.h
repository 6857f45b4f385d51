/* SPDX-License-Identifier: GPL-2.0 */
/* A buffer as one link knows it: mapped for the link's device, with the keys to access it. */
#ifndef SMC_RDMA_REGION_H
#define SMC_RDMA_REGION_H

#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

struct smc_link;
struct smc_mr_buffer;

/**
 * struct smc_region - a buffer on a link
 * @sgt: pages of the memory; allocated while @is_mapped
 * @mr: memory region while the link is up; NULL for a send buffer that needs none, because it is
 *	contiguous for the device
 * @rkey: remote key, for the peer. @rkey, @lkey and @iova may still be read after @mr is gone
 * @lkey: local key
 * @iova: start address for the device and the peer
 * @is_mapped: @sgt is mapped for the device
 */
struct smc_region {
	struct sg_table sgt;
	struct ib_mr *mr;
	u32 rkey;
	u32 lkey;
	u64 iova;
	bool is_mapped;
};

/**
 * smc_region_map() - map a buffer for a link's device, and choose its keys
 * @mrb: buffer whose region on @link is not mapped
 * @link: link that holds its device
 *
 * The keys of a memory region become valid with smc_region_register().
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM; -EOPNOTSUPP if the device would need bounce buffers; or an error of the
 * device.
 */
int smc_region_map(struct smc_mr_buffer *mrb, struct smc_link *link);

/**
 * smc_region_register() - make the keys of a mapped buffer valid
 * @mrb: buffer that is mapped on @link
 * @link: link in state RTS
 *
 * Context: process, may sleep as long as smc_link_register().
 * Return: 0 or -errno. -ETIMEDOUT means that this registration, or an earlier one on the link, has
 * not completed in time.
 */
int smc_region_register(struct smc_mr_buffer *mrb, struct smc_link *link);

/**
 * smc_region_unmap() - invalidate the keys, and unmap the buffer if it is mapped
 * @mrb: buffer to which no registration in flight on @link refers
 * @link: link that still holds its device
 *
 * Context: process, may sleep.
 */
void smc_region_unmap(struct smc_mr_buffer *mrb, struct smc_link *link);

#endif
