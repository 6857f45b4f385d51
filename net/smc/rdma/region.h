/* SPDX-License-Identifier: GPL-2.0 */
/* A buffer as one link knows it: mapped for the link's device, with the keys to access it. */
#ifndef SMC_RDMA_REGION_H
#define SMC_RDMA_REGION_H

#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

struct smc_buffer;
struct smc_link;

/**
 * struct smc_region - a buffer on a link
 * @sgt: pages of the memory; allocated while @is_mapped
 * @mr: memory region while the link is up; NULL for a send buffer that needs none, because it is
 *	contiguous for the device
 * @rkey: remote key, for the peer; like @lkey and @iova it may still be read after @mr is gone
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
 * @region: not mapped
 * @link: link that holds its device
 * @buffer: buffer that has its memory
 *
 * The keys of a memory region become valid with smc_region_register().
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM; -EOPNOTSUPP if the device would need bounce buffers; or an error of the
 * device.
 */
int smc_region_map(struct smc_region *region, struct smc_link *link,
		   const struct smc_buffer *buffer);

/**
 * smc_region_register() - make the keys of a mapped buffer valid
 * @region: mapped
 * @link: link in state RTS
 * @buffer: buffer that was mapped
 *
 * Context: process, may sleep as long as smc_link_register().
 * Return: 0 or -errno. -ETIMEDOUT if this or an earlier registration of the link is late.
 */
int smc_region_register(struct smc_region *region, struct smc_link *link,
			const struct smc_buffer *buffer);

/**
 * smc_region_unmap() - invalidate the keys, and unmap the buffer if it is mapped
 * @region: region that no registration in flight refers to
 * @link: link that @region was mapped for, and that still holds its device
 * @buffer: buffer that was mapped
 *
 * Context: process, may sleep.
 */
void smc_region_unmap(struct smc_region *region, struct smc_link *link,
		      const struct smc_buffer *buffer);

#endif
