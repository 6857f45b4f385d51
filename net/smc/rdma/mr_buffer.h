/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffers of a link group: RMBs, which the peer writes into, and send buffers, which this end's
 * RDMA writes read from. A buffer is up to 1 MiB of memory that is made known to the device of each
 * link once. It is cut into elements of one size class. Each connection takes an element of an RMB
 * and an element of a send buffer, and gives both back at its end.
 */
#ifndef SMC_RDMA_MR_BUFFER_H
#define SMC_RDMA_MR_BUFFER_H

#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "link.h"
#include "memory/buffer.h"
#include "region.h"

struct smc_rdma_group;
struct smc_lgr;

enum smc_buffer_use { SMC_BUFFER_RMB, SMC_BUFFER_SNDBUF, SMC_N_BUFFER_USES };

/**
 * struct smc_mr_buffer - a buffer that devices can access
 * @buffer: its memory and elements; the first member, see smc_buffer_create()
 * @regions: the buffer on each link of the group
 */
struct smc_mr_buffer {
	struct smc_buffer buffer;
	struct smc_region regions[SMC_LINKS];
};

static_assert(!offsetof(struct smc_mr_buffer, buffer));

/**
 * struct smc_mr_buffers - the buffers of a group
 * @lock: held while a buffer is registered, announced to the peer or removed, and while a link is
 *	added or removed. The holder keeps the lock even while it waits for the peer's reply. So the
 *	devices and the peer handle one buffer at a time. Elements are allocated and freed without
 *	the lock
 * @late: buffer whose registration timed out and may still be under way, or NULL. None of its
 *	elements is in use
 * @pools: the buffers by use; closed when the links have ended
 * @left_out: the last run of @trim did not look at the RMBs; under @lock
 * @trim: work item that frees idle buffers
 * @free_empty: work item that frees all empty buffers, because memory is short
 */
struct smc_mr_buffers {
	struct mutex lock;
	struct smc_mr_buffer *late;
	struct smc_buffer_pool pools[SMC_N_BUFFER_USES];
	bool left_out;
	struct delayed_work trim;
	struct work_struct free_empty;
};

/**
 * smc_mr_buffers_idle_pages() - count the pages that a group gives back when memory is short
 * @lgr: group of SMC-R, in any state
 *
 * A spare group (see smc_rdma_group_is_spare()) ends, and gives back all its pages. A group that
 * has just become idle gives back none. A group with connections gives back the pages of its empty
 * buffers.
 *
 * This function and smc_mr_buffers_queue_free(), which queues a work item to free the pages, are
 * operations of struct smc_lgr_ops.
 *
 * Context: any but hard interrupt.
 */
unsigned long smc_mr_buffers_idle_pages(struct smc_lgr *lgr);
unsigned long smc_mr_buffers_queue_free(struct smc_lgr *lgr);

/**
 * smc_mr_buffers_init() - initialise a group's buffer pools, which are empty
 * @buffers: buffers, zeroed. If the group is listed later, smc_mr_buffers_close() must be called
 *	before the group is freed, to cancel the work items
 */
void smc_mr_buffers_init(struct smc_mr_buffers *buffers);

/**
 * smc_mr_buffers_alloc() - take an element, allocating and registering a buffer if necessary
 * @group: group whose link is in state RTS, or whose first contact is under way
 * @use: RMB or send buffer
 * @size_class: wanted size class; a smaller one is used if memory is short
 * @memcg: control group to charge, or NULL
 * @el: filled on success; to be given back with smc_element_free()
 *
 * CONFIRM RKEY announces a new RMB of an established group to the peer.
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM; -EBUSY if other threads take too long to allocate or announce a buffer; -EIO
 * if the link or the peer stalls, or the device can't register the buffer; or another error of the
 * link.
 */
int smc_mr_buffers_alloc(struct smc_rdma_group *group, enum smc_buffer_use use, u8 size_class,
			 struct mem_cgroup *memcg, struct smc_element *el);

static inline struct smc_mr_buffer *smc_mr_buffer_of(const struct smc_element *el)
{
	return container_of(el->buffer, struct smc_mr_buffer, buffer);
}

/**
 * smc_mr_buffers_map() - map all buffers of a group on a new link
 * @link: new link. After an error the caller removes it, which unmaps the buffers
 *
 * Context: process, may sleep; with the buffer lock.
 * Return: 0 or -errno.
 */
int smc_mr_buffers_map(struct smc_link *link);

/**
 * smc_mr_buffers_register() - register all buffers of a group on a new link
 * @link: link that has just reached state RTS
 *
 * The peer learns the keys from CLC messages or ADD LINK.
 *
 * Context: process, may sleep; with the buffer lock.
 * Return: 0 or -errno.
 */
int smc_mr_buffers_register(struct smc_link *link);

/**
 * smc_mr_buffers_unmap() - unmap all buffers from the device of a link that ends
 * @link: link that is stopped
 *
 * Context: process, may sleep; with the buffer lock.
 */
void smc_mr_buffers_unmap(struct smc_link *link);

/**
 * smc_mr_buffers_rmbs() - call @fn for each RMB of a group, until it returns an error
 * @group: group, whose pool of RMBs the buffer lock protects
 * @fn: function to call
 * @arg: passed on to @fn
 *
 * Context: process; with the buffer lock.
 * Return: the last return value of @fn, or 0.
 */
int smc_mr_buffers_rmbs(struct smc_rdma_group *group,
			int (*fn)(const struct smc_mr_buffer *rmb, void *arg), void *arg);

/**
 * smc_mr_buffers_close() - unmap all buffers of a group, and free those that are not in use
 * @group: group whose links are stopped
 *
 * A buffer that is in use is freed later: its elements stay readable until they are given back.
 *
 * Context: process, may sleep.
 */
void smc_mr_buffers_close(struct smc_rdma_group *group);

#endif
