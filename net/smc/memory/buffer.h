/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffers: pieces of memory. Each buffer is divided into elements of one size class. Connections
 * take elements and return them. The path makes the memory accessible to a peer or a device.
 *
 * All buffers of a namespace together are limited to net.smc.mem_limit pages, and all buffers of
 * the host to net.smc.host_mem_limit, whatever the control groups allow. A buffer counts from
 * before its memory is allocated: for the namespace until the path drops the buffer, and for the
 * host until the memory is freed. Beyond a limit an allocation fails with -ENOMEM.
 *
 * Later buffers of a pool are larger. A first connection may be a stranger's, so the first buffer
 * of a size class and control group has one element. Each further buffer has as many elements as
 * the pool already has for this size class and control group, up to SMC_BUFFER_BYTES. Thus a few
 * registrations serve many connections.
 */
#ifndef SMC_MEMORY_BUFFER_H
#define SMC_MEMORY_BUFFER_H

#include <linux/bitmap.h>
#include <linux/gfp.h>
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

/*
 * For memory that a handshake charges to the control group of its socket. The peer may be a
 * stranger, so it must not make the OOM killer act in that group. The thread that allocates may be
 * another user's, so the search for memory must be short. Without memory the connection uses TCP.
 */
#define SMC_GFP_CONN	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

#define SMC_BUFFER_BYTES		(1u << 20)	/* also the size of the largest element */
#define SMC_BUFFER_MAX_ELEMENTS	255		/* one byte in messages; SMC-R counts from 1 */

/**
 * struct smc_buffer_attr - attributes of a buffer
 * @net: namespace that accounts for the buffer; NULL after smc_buffer_detach()
 * @memcg: control group that the buffer is charged to, or NULL
 * @kind: path that the buffer belongs to
 * @is_rx: the peer writes into the buffer
 * @most_bytes: limit for the buffer's size, which smc_buffer_pool_alloc() sets; the buffer has at
 *	least one element nevertheless
 * @size_class: size class of the elements
 * @type: kind of memory
 */
struct smc_buffer_attr {
	struct net *net;
	struct mem_cgroup *memcg;
	enum smc_path_kind kind;
	bool is_rx;
	u32 most_bytes;
	u8 size_class;
	enum smc_buf_type type;
};

/**
 * struct smc_buffer - a buffer
 * @list: entry in the pool's list, or in a list of buffers that were removed from the pool
 * @ref: the path holds one reference, and each element in use holds one
 * @attr: attributes of the buffer; the control group is referenced
 * @n: number of elements
 * @taken: one bit per element that is in use or quarantined; protected by @lock
 * @n_orphaned: number of elements in use that belong to orphans, see smc_element_orphan(); under
 *	@lock
 * @is_quarantined: an element is quarantined, and stays so until the buffer is freed; under @lock
 * @is_idle: no element has been in use since the last smc_buffer_pool_remove_idle();
 *	under the pool's lock
 * @used: bytes that the last user left in each free element, see struct smc_element
 * @lock: taken with softirqs off
 * @mem: kernel address of the memory
 * @is_virtual: allocated by vmalloc() instead of in one piece of physical memory
 *
 * A path's own structure for a buffer begins with this one.
 *
 * The pages of a buffer are part of smc_orphan_pages exactly while @n_orphaned is not 0 and
 * @is_quarantined is false. With @is_quarantined they count in the buffer's link group.
 */
struct smc_buffer {
	struct list_head list;
	struct kref ref;
	struct smc_buffer_attr attr;
	unsigned int n;
	DECLARE_BITMAP(taken, SMC_BUFFER_MAX_ELEMENTS);
	unsigned int n_orphaned;
	bool is_quarantined;
	bool is_idle;
	u32 used[SMC_BUFFER_MAX_ELEMENTS];
	spinlock_t lock;
	void *mem;
	bool is_virtual;
};

/* Total size of buffers, by kind of memory. */
struct smc_buffer_pool_bytes {
	u64 physical;
	u64 virtual;
};

/**
 * struct smc_buffer_pool - the pool of buffers that connections share
 * @lock: protects the pool; taken with softirqs off
 * @list: the buffers
 * @n: number of buffers in @list
 * @bytes: total size of @list; also read without the lock
 * @makers: threads that allocate a buffer for the pool
 * @made: woken when one of these threads is done
 * @closed: no more buffers are added
 * @wq: queue for @trim
 * @trim: the path's work that calls smc_buffer_pool_remove_idle(); queued as long as
 *	there are buffers
 *
 * No thread allocates, or waits for a peer, with @lock held. The delays of one
 * control group must not delay the others, whose elements are in the same list.
 * So a buffer is first allocated, and then added. In each control group only one
 * thread at a time allocates a buffer of a size class, and the others wait for
 * it.
 */
struct smc_buffer_pool {
	spinlock_t lock;
	struct list_head list;
	unsigned int n;
	struct smc_buffer_pool_bytes bytes;
	struct list_head makers;
	wait_queue_head_t made;
	bool closed;
	struct workqueue_struct *wq;
	struct delayed_work *trim;
};

/* An element of a buffer, taken by a connection. */
struct smc_element {
	struct smc_buffer *buffer;
	unsigned int index;	/* from 0 */
	bool is_orphaned;	/* counts in the buffer's @n_orphaned; under its lock */
	bool is_quarantined;	/* not reused: the peer or device may still use it; same lock */
	u32 used;		/* RMBE: bytes from its start that may not be zero; else 0 */
};

/**
 * smc_buffer_create() - allocate a buffer and its memory
 * @attr: attributes of the buffer; copied
 * @size: bytes of the path's structure that begins with struct smc_buffer; the rest is zeroed
 *
 * Context: process, may sleep.
 * Return: the buffer with a reference, or NULL.
 */
struct smc_buffer *smc_buffer_create(const struct smc_buffer_attr *attr, size_t size);

/**
 * smc_buffer_put() - drop a reference; the last one frees the buffer and its memory
 * @buffer: buffer; as long as a pool has it, the path holds a reference
 *
 * Context: any but hard interrupt.
 */
void smc_buffer_put(struct smc_buffer *buffer);

/**
 * smc_buffer_detach() - drop the path's reference, and remove the buffer from the
 * namespace's account
 * @buffer: buffer that was removed from its pool, or never added to one
 *
 * Elements may stay in use, and with them the memory. A peer in another namespace may use them even
 * after the buffer's namespace has ended.
 */
void smc_buffer_detach(struct smc_buffer *buffer);

/**
 * smc_buffer_pool_init() - initialise an empty pool
 * @pool: zeroed
 * @wq: see struct smc_buffer_pool
 * @trim: see struct smc_buffer_pool; the path cancels it after it has closed the pool
 */
void smc_buffer_pool_init(struct smc_buffer_pool *pool, struct workqueue_struct *wq,
			  struct delayed_work *trim);

/**
 * typedef smc_buffer_add_t - allocate a buffer and add it to its pool
 * @attr: attributes of the buffer
 * @arg: argument that the caller of smc_buffer_pool_alloc() passed
 * @el: filled on success by smc_buffer_pool_add()
 *
 * Context: process, may sleep; without the lock of the pool.
 * Return: 0; -ENOMEM if memory is short; or another error.
 */
typedef int (*smc_buffer_add_t)(const struct smc_buffer_attr *attr, void *arg,
				struct smc_element *el);

/**
 * smc_buffer_pool_alloc() - take an element; add a buffer if none is free
 * @pool: pool, whose lock is not held
 * @attr: attributes of the buffer to add, without its size. If memory is short, the function
 *	lowers the size class in @attr: it takes a free element of a smaller class, or adds a
 *	buffer of the smallest class
 * @add: function that adds a buffer; NULL if that would take too long
 * @arg: argument for @add
 * @el: filled on success
 *
 * Context: process, may sleep.
 * Return: 0; the error of @add; -EAGAIN if no element is free and @add is NULL;
 * -EBUSY if other threads take too long to add a buffer; -ENOLINK once the pool
 * is closed.
 */
int smc_buffer_pool_alloc(struct smc_buffer_pool *pool, struct smc_buffer_attr *attr,
			  smc_buffer_add_t add,
			  void *arg, struct smc_element *el);

/**
 * smc_buffer_pool_add() - add a buffer to the pool, and take its first element
 * @pool: pool, whose lock is not held
 * @buffer: new buffer; on success the pool gets the caller's reference
 * @el: filled on success
 * @removed: list for the unused buffer that is removed to make room if the pool is full; the caller
 *	gets the reference to it
 *
 * Context: process.
 * Return: 0; -ENOMEM if no buffer can make room; or -ENOLINK if the pool is closed.
 */
int smc_buffer_pool_add(struct smc_buffer_pool *pool, struct smc_buffer *buffer,
			struct smc_element *el, struct list_head *removed);

/**
 * smc_buffer_pool_remove_offline() - remove unused buffers whose control group is offline
 * @pool: pool, whose lock is not held
 * @removed: list for these buffers; the caller gets their references
 *
 * Context: process.
 */
void smc_buffer_pool_remove_offline(struct smc_buffer_pool *pool, struct list_head *removed);

/**
 * smc_buffer_pool_remove_idle() - remove buffers that were unused for half a minute, and queue the
 * next check
 * @pool: pool, whose lock is not held
 * @keep_one: keep one unused buffer for the next connection
 * @removed: list for the removed buffers; the caller gets their references
 *
 * Context: process.
 */
void smc_buffer_pool_remove_idle(struct smc_buffer_pool *pool, bool keep_one,
				 struct list_head *removed);

/**
 * smc_buffer_pool_remove_empty() - remove all unused buffers, because memory is short
 * @pool: pool, whose lock is not held
 * @removed: list for these buffers; the caller gets their references
 *
 * Context: any but hard interrupt.
 * Return: number of their pages.
 */
unsigned long smc_buffer_pool_remove_empty(struct smc_buffer_pool *pool, struct list_head *removed);

/**
 * smc_buffer_pool_empty_pages() - count the pages that smc_buffer_pool_remove_empty() would remove
 * @pool: pool, whose lock is not held
 *
 * Context: any but hard interrupt.
 */
unsigned long smc_buffer_pool_empty_pages(struct smc_buffer_pool *pool);

/**
 * smc_buffer_pool_close() - remove all buffers, and allow no more to be added
 * @pool: pool, whose lock is not held
 * @removed: list for these buffers; the caller gets their references
 *
 * Elements may still be in use.
 *
 * Context: process.
 */
void smc_buffer_pool_close(struct smc_buffer_pool *pool, struct list_head *removed);

/**
 * smc_element_clear() - zero the bytes that the last user left
 * @el: element just taken
 *
 * Only for a path that sets @el->used before it calls smc_element_free().
 */
void smc_element_clear(struct smc_element *el);

/**
 * smc_element_orphan() - count an element as an orphan's until it is returned
 * @el: element; nothing happens if it has no buffer
 *
 * The whole buffer counts in smc_orphan_pages from its first such element until the last one is
 * returned, or until an element is quarantined.
 *
 * Context: any but hard interrupt.
 */
void smc_element_orphan(struct smc_element *el);

/**
 * smc_element_quarantine() - keep an element from being used again once it is returned
 * @el: element taken
 *
 * Late bytes of an old connection must not reach the element of a new one. SMC-R quarantines the
 * element of a connection that is over (smc_rdma_over()), or whose setup has failed
 * (smc_rdma_setup_end()), if the peer or the device may still use it. For connections that move,
 * smc_link_leave() waits until their old link writes no more. SMC-D's elements need no quarantine:
 * they are returned after a grace period of RCU, when no copy into them is in progress.
 *
 * Context: any but hard interrupt.
 * Return: the pages of the buffer if this is its first quarantined element, else 0. The buffer's
 * pages no longer count in smc_orphan_pages.
 */
long smc_element_quarantine(struct smc_element *el);

/**
 * smc_element_free() - return an element to its buffer, if one was taken
 * @el: element, which has no buffer afterwards
 *
 * Context: any but hard interrupt.
 */
void smc_element_free(struct smc_element *el);

/* Read @bytes without the lock: each of the two values was correct at some moment. */
static inline struct smc_buffer_pool_bytes smc_buffer_pool_bytes(const struct smc_buffer_pool *pool)
{
	return (struct smc_buffer_pool_bytes) {
		.physical = READ_ONCE(pool->bytes.physical),
		.virtual  = READ_ONCE(pool->bytes.virtual),
	};
}

static inline u32 smc_buffer_element_bytes(const struct smc_buffer *buffer)
{
	return smc_size_class_bytes(buffer->attr.size_class);
}

static inline size_t smc_buffer_bytes(const struct smc_buffer *buffer)
{
	return (size_t)buffer->n * smc_buffer_element_bytes(buffer);
}

static inline long smc_buffer_pages(const struct smc_buffer *buffer)
{
	/* Even the smallest buffer consists of whole pages. */
	static_assert(PAGE_SIZE <= SMC_SIZE_CLASS_MIN_BYTES);
	return smc_buffer_bytes(buffer) >> PAGE_SHIFT;
}

static inline u8 *smc_element_mem(const struct smc_element *el)
{
	return el->buffer->mem + (size_t)el->index * smc_buffer_element_bytes(el->buffer);
}

#endif
