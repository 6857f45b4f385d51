/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Slabs: pieces of memory, cut into elements of one size class that connections take
 * and give back. What a peer or a device has to do with the memory is the path's.
 *
 * All slabs of a namespace together have no more pages than net.smc.mem_limit, and all of the host
 * no more than net.smc.host_mem_limit, whatever control groups say. A slab counts from before its
 * memory is allocated, for the namespace until that lets go of it, and for the host until the
 * memory is freed. Where another one would be too much, memory is short (-ENOMEM).
 */
#ifndef SMC_MEMORY_SLAB_H
#define SMC_MEMORY_SLAB_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

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
 * @most_bytes: how large it may be, though one element it has
 * @size_class: of its elements
 * @type: kind of memory
 */
struct smc_slab_spec {
	struct net *net;
	struct mem_cgroup *memcg;
	enum smc_path_kind kind;
	bool is_rx;
	u32 most_bytes;
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
 * @is_idle: none was taken when smc_slabs_remove_idle() looked, nor since; under the slabs' lock
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
	bool is_idle;
	u32 used[SMC_SLAB_MAX_ELEMENTS];
	spinlock_t lock;
	void *mem;
	bool is_virtual;
	void (*release)(struct smc_slab *slab);
};

/* How large slabs are together, by kind of memory. */
struct smc_buffer_bytes {
	u64 physical;
	u64 virtual;
};

/**
 * struct smc_slabs - the slabs that connections share
 * @lock: protects all of it; softirqs off
 * @list: the slabs
 * @bytes: of @list; read without the lock, too
 * @makers: threads that make a slab to be added
 * @made: is woken when one of them is through
 * @closed: none is added any more
 * @trim: the path's work that calls smc_slabs_remove_idle(); queued as long as there are slabs
 *
 * Nobody allocates, or waits for a peer, with @lock held: what one control group has to wait for is
 * not to hold up the others, which find their elements in the same list. So a slab is made first
 * and then added. Of one control group only one thread at a time makes one of a size class, and the
 * others of that group wait for it.
 */
struct smc_slabs {
	spinlock_t lock;
	struct list_head list;
	struct smc_buffer_bytes bytes;
	struct list_head makers;
	wait_queue_head_t made;
	bool closed;
	struct delayed_work *trim;
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
 * smc_slabs_init() - no slabs yet
 * @slabs: zeroed
 * @trim: see there. Cancel it when the slabs are closed
 */
void smc_slabs_init(struct smc_slabs *slabs, struct delayed_work *trim);

/**
 * typedef smc_slab_add_t - make a slab and add it
 * @spec: of the slab
 * @arg: as the caller of smc_slabs_take() gave it
 * @el: filled on success by smc_slabs_add()
 *
 * Context: process, may sleep; without the lock of the slabs.
 * Return: 0; -ENOMEM where memory is short; or another error.
 */
typedef int (*smc_slab_add_t)(const struct smc_slab_spec *spec, void *arg, struct smc_element *el);

/**
 * smc_slabs_take() - take an element, having a slab added where none is free
 * @slabs: slabs
 * @spec: of the slab to add; changed where memory is short: then a free element of a smaller class
 *	is taken, or a slab of the smallest is added
 * @add: adds one; NULL if that would take too long
 * @arg: for @add
 * @el: filled on success
 *
 * Context: process, may sleep.
 * Return: 0; the error of @add; -EAGAIN where none is free and none is added; -EBUSY where others
 * take too long to add one; -ENOLINK once the slabs are closed.
 */
int smc_slabs_take(struct smc_slabs *slabs, struct smc_slab_spec *spec, smc_slab_add_t add,
		   void *arg, struct smc_element *el);

/**
 * smc_slabs_add() - add a slab, of which the caller gets the first element
 * @slabs: slabs
 * @slab: just made; its reference becomes theirs
 * @el: filled on success
 *
 * Context: process.
 * Return: 0, or -ENOLINK if they are closed.
 */
int smc_slabs_add(struct smc_slabs *slabs, struct smc_slab *slab, struct smc_element *el);

/**
 * smc_slabs_remove_left() - remove slabs that nobody uses, and whose control group is gone
 * @slabs: slabs
 * @removed: list that they are added to; their references are the caller's
 *
 * Context: process.
 */
void smc_slabs_remove_left(struct smc_slabs *slabs, struct list_head *removed);

/**
 * smc_slabs_remove_idle() - remove slabs that nobody has used for half a minute, and look again
 * @slabs: slabs
 * @keep_one: but for one, for the next connection
 * @removed: list that they are added to; their references are the caller's
 *
 * Context: process.
 */
void smc_slabs_remove_idle(struct smc_slabs *slabs, bool keep_one, struct list_head *removed);

/**
 * smc_slabs_remove_empty() - remove slabs that nobody uses, since memory is short
 * @slabs: slabs
 * @removed: list that they are added to; their references are the caller's
 *
 * Context: any but hard interrupt.
 * Return: how many pages they have.
 */
unsigned long smc_slabs_remove_empty(struct smc_slabs *slabs, struct list_head *removed);

/**
 * smc_slabs_empty_pages() - what smc_slabs_remove_empty() would return
 * @slabs: slabs
 *
 * Context: any but hard interrupt.
 */
unsigned long smc_slabs_empty_pages(struct smc_slabs *slabs);

/**
 * smc_slabs_close() - remove all slabs, and let none be added
 * @slabs: slabs
 * @removed: list that they are added to; their references are the caller's
 *
 * Elements may be in use.
 *
 * Context: process.
 */
void smc_slabs_close(struct smc_slabs *slabs, struct list_head *removed);

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

/* Without the lock: each of both is one that was right. */
static inline struct smc_buffer_bytes smc_slabs_bytes(const struct smc_slabs *slabs)
{
	return (struct smc_buffer_bytes) {
		.physical = READ_ONCE(slabs->bytes.physical),
		.virtual  = READ_ONCE(slabs->bytes.virtual),
	};
}

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
