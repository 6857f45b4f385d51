/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffers of a link group: RMBs that the peer writes into, and mirrors that this
 * end's writes come from. Either is a slab of 1 MiB, made known to the device once, cut into
 * elements of one size class that connections take and give back.
 */
#ifndef SMC_RDMA_BUFFER_H
#define SMC_RDMA_BUFFER_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#include "memory/slab.h"

struct smc_group;
struct smc_lgr;
struct smc_link;

enum smc_buffer_use { SMC_BUFFER_RMB, SMC_BUFFER_MIRROR, SMC_N_BUFFER_USES };

/**
 * struct smc_mr_slab - a slab that the device can reach
 * @slab: its memory
 * @sgt: its pages
 * @mr: memory region while the link is up; a mirror that is contiguous for the device has none
 * @rkey: its key for the peer; these three stay when it is gone
 * @lkey: and for this end
 * @iova: where it begins
 * @is_mapped: @sgt is mapped for the device
 */
struct smc_mr_slab {
	struct smc_slab slab;
	struct sg_table sgt;
	struct ib_mr *mr;
	u32 rkey;
	u32 lkey;
	u64 iova;
	bool is_mapped;
};

/**
 * struct smc_buffers - the slabs of a group
 * @lock: one slab at a time is registered, announced to the peer, or taken away: held while the
 *	peer is asked. Slabs come and go with it held, elements do without
 * @late: no element of it is taken: its registration took too long, and may be under way; or NULL
 * @slabs: the slabs by use; closed when the link ends
 * @trim: gives those back that are idle
 * @shrink: gives all back that are empty, since memory is short
 */
struct smc_buffers {
	struct mutex lock;
	struct smc_mr_slab *late;
	struct smc_slabs slabs[SMC_N_BUFFER_USES];
	struct delayed_work trim;
	struct work_struct shrink;
};

/**
 * smc_buffers_idle_pages() - pages that a group gives back when memory is short
 * @lgr: group
 *
 * Groups without connections end, others lose their empty slabs.
 *
 * Context: any but hard interrupt, as the following one: see struct smc_lgr_ops.
 */
unsigned long smc_buffers_idle_pages(struct smc_lgr *lgr);
unsigned long smc_buffers_give_back(struct smc_lgr *lgr);

/**
 * smc_buffers_init() - a group without slabs
 * @buffers: zeroed; of a group that smc_buffers_deregister() is called for in the end
 */
void smc_buffers_init(struct smc_buffers *buffers);

/**
 * smc_buffers_take() - take an element, making and registering a slab if need be
 * @group: its link is in state RTS, or this is its first contact
 * @use: RMB or mirror
 * @size_class: wanted; a smaller one is taken where memory is short
 * @memcg: control group to charge, or NULL
 * @el: filled on success; to be given back by smc_element_give()
 *
 * For a new RMB of an established group the peer is told by CONFIRM RKEY.
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM; -EBUSY where others take too long to make or to announce a slab; -EIO
 * where the link or the peer stalls, or the device can't register it; or another error of the link.
 */
int smc_buffers_take(struct smc_group *group, enum smc_buffer_use use, u8 size_class,
		     struct mem_cgroup *memcg, struct smc_element *el);

static inline struct smc_mr_slab *smc_mr_slab_of(const struct smc_element *el)
{
	return container_of(el->slab, struct smc_mr_slab, slab);
}

/**
 * smc_buffers_register() - register the slabs made before the link could do so
 * @group: its link just reached state RTS
 *
 * The peer knows these keys from the CLC messages.
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_buffers_register(struct smc_group *group);

/**
 * smc_buffers_deregister() - take all slabs away from the device
 * @group: its link is stopped
 *
 * Elements stay readable until they are given back.
 */
void smc_buffers_deregister(struct smc_group *group);

#endif
