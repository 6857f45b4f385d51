/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slabs: pieces of memory, cut into elements of one size class that connections take
 * and give back. What a peer or a device has to do with the memory is the path's.
 */
#ifndef SMC_MEMORY_SLAB_H
#define SMC_MEMORY_SLAB_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "admin/sysctl.h"
#include "path_kind.h"
#include "wire/size_class.h"

struct mem_cgroup;
struct net;

#define SMC_SLAB_BYTES		(1u << 20)	/* and an element is no larger */
#define SMC_SLAB_MAX_ELEMENTS	255		/* an index has one byte, and some start at 1 */

/**
 * struct smc_slab_spec - what a slab is for
 * @net: that accounts it; NULL once the path has let go of the slab
 * @memcg: control group that it is charged to, or NULL
 * @kind: path that it belongs to
 * @is_rx: the peer writes into it
 * @size_class: of its elements
 * @type: kind of memory
 */
struct smc_slab_spec {
	struct net *net;
	struct mem_cgroup *memcg;
	enum smc_path_kind kind;
	bool is_rx;
	u8 size_class;
	enum smc_buf_type type;
};

/**
 * struct smc_slab - one piece of memory
 * @list: in the path's list
 * @ref: one of the path, one of each element taken
 * @spec: what it is for; its control group is referenced
 * @n: number of elements
 * @taken: one bit per element; protected by @lock
 * @used: of each that is not taken, what its last connection left in it, see struct smc_element
 * @lock: softirqs off
 * @mem: kernel address
 * @is_virtual: by vmalloc() rather than in one piece of physical memory
 * @release: frees what contains the slab, when its memory is gone
 */
struct smc_slab {
	struct list_head list;
	struct kref ref;
	struct smc_slab_spec spec;
	unsigned int n;
	DECLARE_BITMAP(taken, SMC_SLAB_MAX_ELEMENTS);
	u32 used[SMC_SLAB_MAX_ELEMENTS];
	spinlock_t lock;
	void *mem;
	bool is_virtual;
	void (*release)(struct smc_slab *slab);
};

/* An element of a slab, taken by a connection. */
struct smc_element {
	struct smc_slab *slab;
	unsigned int index;	/* from 0 */
	bool is_spent;		/* the peer may go on to write there: nobody else gets it */
	u32 used;		/* bytes from its start; all behind them is zero */
};

/**
 * smc_slab_init() - allocate the memory
 * @slab: zeroed, in a structure of the path's
 * @spec: what it is for
 * @release: see there
 *
 * Context: process, may sleep.
 * Return: 0 with a reference; or -ENOMEM, with nothing to release.
 */
int smc_slab_init(struct smc_slab *slab, const struct smc_slab_spec *spec,
		  void (*release)(struct smc_slab *slab));

/**
 * smc_slab_put() - drop a reference; with the last one the memory goes
 * @slab: slab
 *
 * Context: any but hard interrupt.
 */
void smc_slab_put(struct smc_slab *slab);

/**
 * smc_slab_disown() - drop the path's reference, and the namespace's account of the slab
 * @slab: slab
 *
 * Elements may be in use for longer than the namespace lives, by the peer's end.
 */
void smc_slab_disown(struct smc_slab *slab);

/**
 * smc_slab_is_left() - whether nobody uses it, and nobody will: its control group is gone
 * @slab: slab
 *
 * Stays so while the list of slabs is locked.
 */
bool smc_slab_is_left(const struct smc_slab *slab);

/**
 * smc_slabs_take_or_add() - take an element, adding a slab where none is free
 * @slabs: list of slabs, locked by the caller
 * @spec: of the slab to add; a smaller size class is taken where memory is short
 * @add: adds a slab of @spec to the list; -ENOMEM where memory is short, or another error.
 *	NULL if that would take too long
 * @arg: for @add
 * @el: filled on success
 *
 * Context: process, may sleep.
 * Return: 0, the error of @add, or -EAGAIN where none is free and none is added.
 */
int smc_slabs_take_or_add(struct list_head *slabs, struct smc_slab_spec *spec,
			  int (*add)(const struct smc_slab_spec *spec, void *arg), void *arg,
			  struct smc_element *el);

/**
 * smc_element_clean() - zero what the connection before left
 * @el: element just taken
 *
 * Only for a path that says, before it gives the element back, how much was used.
 */
void smc_element_clean(struct smc_element *el);

/**
 * smc_element_give() - give an element back, if it was taken
 * @el: element
 *
 * Context: any but hard interrupt.
 */
void smc_element_give(struct smc_element *el);

static inline u32 smc_slab_element_bytes(const struct smc_slab *slab)
{
	return smc_size_class_bytes(slab->spec.size_class);
}

static inline size_t smc_slab_bytes(const struct smc_slab *slab)
{
	return (size_t)slab->n * smc_slab_element_bytes(slab);
}

static inline u8 *smc_element_mem(const struct smc_element *el)
{
	return el->slab->mem + (size_t)el->index * smc_slab_element_bytes(el->slab);
}

#endif
