/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffers of a link group: RMBs that the peer writes into, and mirrors that this
 * end's writes come from. Either is a slab of 1 MiB, registered once, cut into
 * elements of one size class that connections take and give back.
 */
#ifndef SMC_RDMA_BUFFER_H
#define SMC_RDMA_BUFFER_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "wire/size_class.h"

struct smc_group;
struct smc_link;

#define SMC_SLAB_BYTES		(1u << 20)
#define SMC_SLAB_MAX_ELEMENTS	255	/* an RMBE index has one byte and starts at 1 */

enum smc_buffer_use { SMC_BUFFER_RMB, SMC_BUFFER_MIRROR, SMC_N_BUFFER_USES };

/**
 * struct smc_slab - one piece of registered memory
 * @list: in its pool
 * @ref: one of the pool, one of each element taken
 * @net: that accounts it
 * @use: what for
 * @size_class: of its elements
 * @n: number of elements
 * @taken: one bit per element; protected by @lock
 * @lock: softirqs off
 * @mem: kernel address
 * @is_virtual: by vmalloc() rather than in one piece of physical memory
 * @sgt: its pages
 * @mr: memory region while the link is up
 * @rkey: its key for the peer; these three stay when it is gone
 * @lkey: and for this end
 * @iova: where it begins
 * @is_mapped: @sgt is mapped for the device
 */
struct smc_slab {
	struct list_head list;
	struct kref ref;
	struct net *net;
	enum smc_buffer_use use;
	u8 size_class;
	unsigned int n;
	DECLARE_BITMAP(taken, SMC_SLAB_MAX_ELEMENTS);
	spinlock_t lock;
	void *mem;
	bool is_virtual;
	struct sg_table sgt;
	struct ib_mr *mr;
	u32 rkey;
	u32 lkey;
	u64 iova;
	bool is_mapped;
};

/* The slabs of a group; the lock also serialises their registration. */
struct smc_buffers {
	struct mutex lock;
	bool closed;		/* the link ends: no more slabs */
	struct list_head slabs[SMC_N_BUFFER_USES];
};

/* An element of a slab, taken by a connection. */
struct smc_element {
	struct smc_slab *slab;
	unsigned int index;	/* from 0 */
};

void smc_buffers_init(struct smc_buffers *buffers);

/**
 * smc_element_take() - take an element, making and registering a slab if need be
 * @group: its link is in state RTS, or this is its first contact
 * @use: RMB or mirror
 * @size_class: wanted; a smaller one is taken where memory is short
 * @el: filled on success
 *
 * For a new RMB of an established group the peer is told by CONFIRM RKEY.
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM, or another error of the link.
 */
int smc_element_take(struct smc_group *group, enum smc_buffer_use use, u8 size_class,
		     struct smc_element *el);

/**
 * smc_element_give() - give an element back
 *
 * Context: any but hard interrupt.
 */
void smc_element_give(struct smc_element *el);

static inline u8 *smc_element_mem(const struct smc_element *el)
{
	return el->slab->mem + el->index * smc_size_class_bytes(el->slab->size_class);
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
