// SPDX-License-Identifier: GPL-2.0
/* Allocation of buffers, and the elements in them. */

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "buffer.h"
#include "compat.h"
#include "memcg.h"

/*
 * Interval of the checks for unused buffers. The second check in a row that finds a buffer unused
 * releases the buffer. So a buffer is usually released within a minute after its last use.
 */
#define SMC_BUFFER_TRIM_INTERVAL	(30 * HZ)

/* How long a thread waits for others to allocate buffers before its connection continues as TCP. */
#define SMC_BUFFER_ALLOC_TIMEOUT	(3 * HZ)

/*
 * Limit for the number of buffers in a pool. The list is searched with softirqs off, and idle
 * buffers of many control groups could make it long. A link group's connections need fewer buffers.
 */
#define SMC_BUFFER_POOL_MAX		4096

/* Bytes of all buffers whose memory is not freed yet, also of those without a namespace. */
static atomic_long_t smc_buffer_host_bytes = ATOMIC_LONG_INIT(0);

static bool smc_buffer_is_within(long bytes, int pages)
{
	return bytes <= (long)pages << PAGE_SHIFT;
}

/* Remove the buffer from its namespace's account. */
static void smc_buffer_leave_net(const struct smc_buffer *buffer)
{
	atomic_long_sub(smc_buffer_bytes(buffer), &smc_net(buffer->attr.net)->buffer_bytes);
}

static void smc_buffer_unreserve(const struct smc_buffer *buffer)
{
	smc_buffer_leave_net(buffer);
	atomic_long_sub(smc_buffer_bytes(buffer), &smc_buffer_host_bytes);
}

/*
 * Check the limits before memory is allocated, and count the buffer. Buffers
 * that other threads reserve at the same time count even if their allocation
 * fails later. So near a limit a buffer may be refused that would just fit.
 */
static bool smc_buffer_reserve(const struct smc_buffer *buffer)
{
	struct smc_net *sn = smc_net(buffer->attr.net);
	const long bytes = smc_buffer_bytes(buffer);
	const long host = atomic_long_add_return(bytes, &smc_buffer_host_bytes);
	const long own = atomic_long_add_return(bytes, &sn->buffer_bytes);
	/*
	 * A namespace other than init_net must leave as many bytes of the host's limit free as its
	 * own buffers have, this one included. So count its bytes a second time.
	 */
	const long weight = net_eq(buffer->attr.net, &init_net) ? 0 : own;

	if (smc_buffer_is_within(host + weight, READ_ONCE(smc_sysctl_host_mem_limit)) &&
	    smc_buffer_is_within(own, READ_ONCE(sn->sysctl.mem_limit)))
		return true;
	smc_buffer_unreserve(buffer);
	return false;
}

static void smc_buffer_count(const struct smc_buffer *buffer, s64 bytes)
{
	smc_stat_buffer_bytes(smc_net(buffer->attr.net), buffer->attr.kind, buffer->attr.is_rx,
			      bytes);
}

/* Free the memory, also in a context that may not sleep. */
static void smc_buffer_free_memory(const struct smc_buffer *buffer)
{
	if (!buffer->is_virtual) {
		free_pages_exact(buffer->mem, smc_buffer_bytes(buffer));
		return;
	}
	/* vfree() does not sleep if it finds softirqs disabled: then a work frees the memory. */
	local_bh_disable();
	vfree(buffer->mem);
	local_bh_enable();
}

static void smc_buffer_free(struct kref *ref)
{
	struct smc_buffer *buffer = container_of(ref, struct smc_buffer, ref);

	WARN_ON_ONCE(buffer->n_orphaned);
	if (buffer->attr.net) {
		smc_buffer_count(buffer, -(s64)smc_buffer_bytes(buffer));
		smc_buffer_leave_net(buffer);
	}
	atomic_long_sub(smc_buffer_bytes(buffer), &smc_buffer_host_bytes);
	smc_buffer_free_memory(buffer);
	mem_cgroup_put(buffer->attr.memcg);
	kfree(buffer);
}

void smc_buffer_put(struct smc_buffer *buffer)
{
	kref_put(&buffer->ref, smc_buffer_free);
}

void smc_buffer_detach(struct smc_buffer *buffer)
{
	smc_buffer_count(buffer, -(s64)smc_buffer_bytes(buffer));
	smc_buffer_leave_net(buffer);
	buffer->attr.net = NULL;
	smc_buffer_put(buffer);
}

static bool smc_buffer_try(struct smc_buffer *buffer, unsigned int n, bool is_virtual)
{
	/* Without attr.memcg no control group is charged, not even that of the current thread. */
	const gfp_t unwanted = buffer->attr.memcg ? 0 : __GFP_ACCOUNT;
	const gfp_t gfp = (SMC_GFP_CONN & ~unwanted) | __GFP_ZERO;

	buffer->n = n;
	buffer->is_virtual = is_virtual;
	if (!smc_memcg_has_room(buffer->attr.memcg, smc_buffer_pages(buffer)) ||
	    !smc_buffer_reserve(buffer))
		return false;
	buffer->mem = is_virtual ? __vmalloc(smc_buffer_bytes(buffer), gfp) :
				 alloc_pages_exact(smc_buffer_bytes(buffer), gfp);
	/* Check again: other threads of the control group may have found the same room. */
	if (buffer->mem && smc_memcg_has_room(buffer->attr.memcg, 0))
		return true;
	if (buffer->mem)
		smc_buffer_free_memory(buffer);
	smc_buffer_unreserve(buffer);
	return false;
}

/*
 * The memory is zeroed, because a peer can make an application read bytes that the peer only claims
 * to have written. If physically contiguous memory is short, or the control group has little memory
 * left, the buffer gets fewer elements.
 */
static bool smc_buffer_alloc_memory(struct smc_buffer *buffer)
{
	const unsigned int most = clamp(buffer->attr.most_bytes / smc_buffer_element_bytes(buffer),
					1U,
					(unsigned int)SMC_BUFFER_MAX_ELEMENTS);
	unsigned int n;

	for (n = buffer->attr.type == SMC_BUF_VIRTUAL ? 0 : most; n; n /= 2)
		if (smc_buffer_try(buffer, n, false))
			return true;
	for (n = buffer->attr.type == SMC_BUF_PHYSICAL ? 0 : most; n; n /= 2)
		if (smc_buffer_try(buffer, n, true))
			return true;
	return false;
}

/* Charges the control group set by set_active_memcg(). */
static struct smc_buffer *smc_buffer_make(const struct smc_buffer_attr *attr, size_t size)
{
	struct smc_buffer *buffer = kzalloc(size, SMC_GFP_CONN);

	if (!buffer)
		return NULL;
	kref_init(&buffer->ref);
	spin_lock_init(&buffer->lock);
	buffer->attr = *attr;
	if (smc_buffer_alloc_memory(buffer))
		return buffer;
	kfree(buffer);
	return NULL;
}

struct smc_buffer *smc_buffer_create(const struct smc_buffer_attr *attr, size_t size)
{
	struct smc_buffer *buffer;
	struct mem_cgroup *outer;

	if (!mem_cgroup_tryget(attr->memcg))
		return NULL;
	outer = set_active_memcg(attr->memcg);
	buffer = smc_buffer_make(attr, size);
	set_active_memcg(outer);
	if (buffer)
		smc_buffer_count(buffer, smc_buffer_bytes(buffer));
	else
		mem_cgroup_put(attr->memcg);
	return buffer;
}

/* Take a free element. Called with the lock of the pool. */
static bool smc_buffer_take(struct smc_buffer *buffer, struct smc_element *el)
{
	unsigned int i;

	spin_lock_bh(&buffer->lock);
	i = find_first_zero_bit(buffer->taken, buffer->n);
	if (i < buffer->n)
		__set_bit(i, buffer->taken);
	spin_unlock_bh(&buffer->lock);
	if (i >= buffer->n)
		return false;

	buffer->is_idle = false;
	kref_get(&buffer->ref);
	el->buffer = buffer;
	el->index = i;
	/* The buffer's lock is not needed: no other connection has the element. */
	el->used = buffer->used[i];
	return true;
}

/*
 * Whether no element is in use or quarantined. No element can be taken while the caller holds the
 * lock of the pool.
 */
static bool smc_buffer_is_empty(const struct smc_buffer *buffer)
{
	return bitmap_empty(buffer->taken, buffer->n);
}

static bool smc_buffer_is_offline(const struct smc_buffer *buffer)
{
	return buffer->attr.memcg && !mem_cgroup_online(buffer->attr.memcg) &&
	       smc_buffer_is_empty(buffer);
}

/* A thread that allocates a buffer. */
struct smc_buffer_maker {
	struct list_head list;
	const struct mem_cgroup *memcg;
	u8 size_class;
};

void smc_buffer_pool_init(struct smc_buffer_pool *pool, struct workqueue_struct *wq,
			  struct delayed_work *trim)
{
	pool->wq = wq;
	pool->trim = trim;
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->list);
	INIT_LIST_HEAD(&pool->makers);
	init_waitqueue_head(&pool->made);
}

static void smc_buffer_pool_count(struct smc_buffer_pool *pool, const struct smc_buffer *buffer,
				  s64 bytes)
{
	u64 *sum = buffer->is_virtual ? &pool->bytes.virtual : &pool->bytes.physical;

	lockdep_assert_held(&pool->lock);
	WRITE_ONCE(*sum, *sum + bytes);
}

static void smc_buffer_pool_remove(struct smc_buffer_pool *pool, struct smc_buffer *buffer,
				   struct list_head *removed)
{
	smc_buffer_pool_count(pool, buffer, -(s64)smc_buffer_bytes(buffer));
	pool->n--;
	list_move_tail(&buffer->list, removed);
}

void smc_buffer_pool_remove_offline(struct smc_buffer_pool *pool, struct list_head *removed)
{
	struct smc_buffer *buffer, *next;

	spin_lock_bh(&pool->lock);
	list_for_each_entry_safe(buffer, next, &pool->list, list)
		if (smc_buffer_is_offline(buffer))
			smc_buffer_pool_remove(pool, buffer, removed);
	spin_unlock_bh(&pool->lock);
}

/*
 * Queue the next check, unless it is queued already. No check is queued for a closed pool, because
 * the path cancels the work after it has closed the pool.
 */
static void smc_buffer_pool_schedule_trim(struct smc_buffer_pool *pool)
{
	lockdep_assert_held(&pool->lock);
	if (!pool->closed && !list_empty(&pool->list))
		queue_delayed_work(pool->wq, pool->trim, SMC_BUFFER_TRIM_INTERVAL);
}

void smc_buffer_pool_remove_idle(struct smc_buffer_pool *pool, bool keep_one,
				 struct list_head *removed)
{
	struct smc_buffer *buffer, *next;
	bool was_idle;

	spin_lock_bh(&pool->lock);
	list_for_each_entry_safe(buffer, next, &pool->list, list) {
		if (!smc_buffer_is_empty(buffer))
			continue;
		was_idle = buffer->is_idle;
		buffer->is_idle = true;
		if (keep_one && !smc_buffer_is_offline(buffer))
			keep_one = false;
		else if (was_idle)
			smc_buffer_pool_remove(pool, buffer, removed);
	}
	smc_buffer_pool_schedule_trim(pool);
	spin_unlock_bh(&pool->lock);
}

unsigned long smc_buffer_pool_remove_empty(struct smc_buffer_pool *pool, struct list_head *removed)
{
	struct smc_buffer *buffer, *next;
	unsigned long pages = 0;

	spin_lock_bh(&pool->lock);
	list_for_each_entry_safe(buffer, next, &pool->list, list) {
		if (!smc_buffer_is_empty(buffer))
			continue;
		pages += smc_buffer_pages(buffer);
		smc_buffer_pool_remove(pool, buffer, removed);
	}
	spin_unlock_bh(&pool->lock);
	return pages;
}

unsigned long smc_buffer_pool_empty_pages(struct smc_buffer_pool *pool)
{
	const struct smc_buffer *buffer;
	unsigned long pages = 0;

	spin_lock_bh(&pool->lock);
	list_for_each_entry(buffer, &pool->list, list)
		if (smc_buffer_is_empty(buffer))
			pages += smc_buffer_pages(buffer);
	spin_unlock_bh(&pool->lock);
	return pages;
}

void smc_buffer_pool_close(struct smc_buffer_pool *pool, struct list_head *removed)
{
	struct smc_buffer *buffer, *next;

	spin_lock_bh(&pool->lock);
	pool->closed = true;
	list_for_each_entry_safe(buffer, next, &pool->list, list)
		smc_buffer_pool_remove(pool, buffer, removed);
	spin_unlock_bh(&pool->lock);
	wake_up_all(&pool->made);
}

/*
 * Remove an empty buffer from a full pool: the oldest that was unused for some time or, if there is
 * none, the oldest empty one.
 */
static void smc_buffer_pool_make_room(struct smc_buffer_pool *pool, struct list_head *removed)
{
	struct smc_buffer *buffer, *oldest = NULL;

	lockdep_assert_held(&pool->lock);
	if (pool->n < SMC_BUFFER_POOL_MAX)
		return;
	list_for_each_entry(buffer, &pool->list, list)
		if (smc_buffer_is_empty(buffer) && (!oldest || buffer->is_idle >= oldest->is_idle))
			oldest = buffer;
	if (oldest)
		smc_buffer_pool_remove(pool, oldest, removed);
}

int smc_buffer_pool_add(struct smc_buffer_pool *pool, struct smc_buffer *buffer,
			struct smc_element *el, struct list_head *removed)
{
	int rc = 0;

	spin_lock_bh(&pool->lock);
	smc_buffer_pool_make_room(pool, removed);
	if (pool->closed) {
		rc = -ENOLINK;
	} else if (pool->n >= SMC_BUFFER_POOL_MAX) {
		rc = -ENOMEM;
	} else {
		list_add(&buffer->list, &pool->list);
		smc_buffer_pool_count(pool, buffer, smc_buffer_bytes(buffer));
		pool->n++;
		smc_buffer_take(buffer, el);
		smc_buffer_pool_schedule_trim(pool);
	}
	spin_unlock_bh(&pool->lock);
	return rc;
}

static bool smc_buffer_is_like(const struct smc_buffer *buffer, const struct smc_buffer_attr *attr)
{
	return buffer->attr.size_class == attr->size_class && buffer->attr.memcg == attr->memcg;
}

static bool smc_buffer_pool_reuse(struct smc_buffer_pool *pool, const struct smc_buffer_attr *attr,
				  struct smc_element *el)
{
	struct smc_buffer *buffer;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(buffer, &pool->list, list)
		if (smc_buffer_is_like(buffer, attr) && smc_buffer_take(buffer, el))
			return true;
	return false;
}

/*
 * Return: the limit for the bytes of the next buffer. The limit is the sum of the pool's buffers of
 * the size class and control group in @attr, up to SMC_BUFFER_BYTES.
 */
static u32 smc_buffer_pool_next_bytes(const struct smc_buffer_pool *pool,
				      const struct smc_buffer_attr *attr)
{
	const struct smc_buffer *buffer;
	size_t bytes = 0;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(buffer, &pool->list, list)
		if (smc_buffer_is_like(buffer, attr))
			bytes += smc_buffer_bytes(buffer);
	return min_t(size_t, bytes, SMC_BUFFER_BYTES);
}

static bool smc_buffer_pool_is_making(const struct smc_buffer_pool *pool,
				      const struct smc_buffer_attr *attr)
{
	const struct smc_buffer_maker *maker;

	lockdep_assert_held(&pool->lock);
	list_for_each_entry(maker, &pool->makers, list)
		if (maker->size_class == attr->size_class && maker->memcg == attr->memcg)
			return true;
	return false;
}

/*
 * Take a free element, or enter @maker in the list of threads that allocate a buffer, and set the
 * limit of that buffer's size in @attr. @maker is NULL if the caller allocates no buffer.
 * Return: 0 with an element; -EAGAIN if the caller has to allocate a buffer; -EBUSY while another
 * thread of its control group allocates one; or -ENOLINK.
 */
static int smc_buffer_pool_try(struct smc_buffer_pool *pool, struct smc_buffer_attr *attr,
			       struct smc_buffer_maker *maker, struct smc_element *el)
{
	int rc = -EAGAIN;

	spin_lock_bh(&pool->lock);
	if (pool->closed) {
		rc = -ENOLINK;
	} else if (smc_buffer_pool_reuse(pool, attr, el)) {
		rc = 0;
	} else if (maker && smc_buffer_pool_is_making(pool, attr)) {
		rc = -EBUSY;
	} else if (maker) {
		attr->most_bytes = smc_buffer_pool_next_bytes(pool, attr);
		list_add(&maker->list, &pool->makers);
	}
	spin_unlock_bh(&pool->lock);
	return rc;
}

/*
 * Take a free element of a smaller class, because memory is short for the class of @attr. If there
 * is none, prepare @attr for a buffer of the smallest class. The size of that buffer is limited to
 * half of the element for which there was no memory.
 */
static bool smc_buffer_pool_alloc_smaller(struct smc_buffer_pool *pool,
					  struct smc_buffer_attr *attr,
					  struct smc_element *el)
{
	const u32 half = smc_size_class_bytes(attr->size_class) / 2;
	bool taken;

	spin_lock_bh(&pool->lock);
	do {
		attr->size_class--;
		taken = smc_buffer_pool_reuse(pool, attr, el);
	} while (!taken && attr->size_class);
	if (!taken)
		attr->most_bytes = min(half, smc_buffer_pool_next_bytes(pool, attr));
	spin_unlock_bh(&pool->lock);
	return taken;
}

/*
 * Add a buffer. If there is no memory for even one element of the class, take a
 * free element of a smaller class, or else add a buffer of the smallest class.
 * The classes between are not tried, because each attempt that fails may
 * have reclaimed memory for nothing.
 * Return: 0 with an element of a new buffer, 1 with an element that was free, or an error.
 */
static int smc_buffer_pool_make(struct smc_buffer_pool *pool, struct smc_buffer_attr *attr,
				smc_buffer_add_t add,
				void *arg, struct smc_element *el)
{
	int rc = add(attr, arg, el);

	if (rc != -ENOMEM || !attr->size_class)
		return rc;
	smc_stat_buffer_downgraded(smc_net(attr->net), attr->kind, attr->is_rx);
	if (smc_buffer_pool_alloc_smaller(pool, attr, el))
		return 1;
	return add(attr, arg, el);
}

static void smc_buffer_pool_end_making(struct smc_buffer_pool *pool, struct smc_buffer_maker *maker)
{
	spin_lock_bh(&pool->lock);
	list_del(&maker->list);
	spin_unlock_bh(&pool->lock);
	wake_up_all(&pool->made);
}

int smc_buffer_pool_alloc(struct smc_buffer_pool *pool, struct smc_buffer_attr *attr,
			  smc_buffer_add_t add,
			  void *arg, struct smc_element *el)
{
	struct smc_buffer_maker maker = { .memcg = attr->memcg, .size_class = attr->size_class };
	bool reused = true;
	int rc;

	/* The time is limited: other threads may allocate slowly, one after the other. */
	wait_event_timeout(pool->made,
			   (rc = smc_buffer_pool_try(pool, attr, add ? &maker : NULL,
						     el)) != -EBUSY,
			   SMC_BUFFER_ALLOC_TIMEOUT);
	if (rc == -EAGAIN && add) {
		rc = smc_buffer_pool_make(pool, attr, add, arg, el);
		smc_buffer_pool_end_making(pool, &maker);
		reused = rc > 0;
	}
	if (rc < 0)
		return rc;
	smc_stat_buffer(smc_net(attr->net), attr->kind, attr->is_rx,
			smc_size_class_bytes(attr->size_class), reused);
	return 0;
}

void smc_element_clear(struct smc_element *el)
{
	memset(smc_element_mem(el), 0, el->used);
	el->used = 0;
}

/* Set a buffer's @n_orphaned and @is_quarantined, and update the host's smc_orphan_pages. */
static void smc_buffer_keep(struct smc_buffer *buffer, unsigned int n_orphaned, bool is_quarantined)
{
	const bool was_counted = buffer->n_orphaned && !buffer->is_quarantined;
	const bool is_counted = n_orphaned && !is_quarantined;
	const long pages = smc_buffer_pages(buffer);

	lockdep_assert_held(&buffer->lock);
	buffer->n_orphaned = n_orphaned;
	buffer->is_quarantined = is_quarantined;
	if (is_counted != was_counted)
		atomic_long_add(is_counted ? pages : -pages, &smc_orphan_pages);
}

void smc_element_orphan(struct smc_element *el)
{
	struct smc_buffer *buffer = el->buffer;

	if (!buffer)
		return;
	spin_lock_bh(&buffer->lock);
	if (!WARN_ON_ONCE(el->is_orphaned)) {
		el->is_orphaned = true;
		smc_buffer_keep(buffer, buffer->n_orphaned + 1, buffer->is_quarantined);
	}
	spin_unlock_bh(&buffer->lock);
}

long smc_element_quarantine(struct smc_element *el)
{
	struct smc_buffer *buffer = el->buffer;
	bool is_first;

	spin_lock_bh(&buffer->lock);
	is_first = !buffer->is_quarantined;
	el->is_quarantined = true;
	smc_buffer_keep(buffer, buffer->n_orphaned, true);
	spin_unlock_bh(&buffer->lock);
	return is_first ? smc_buffer_pages(buffer) : 0;
}

void smc_element_free(struct smc_element *el)
{
	struct smc_buffer *buffer = el->buffer;

	if (!buffer)
		return;
	spin_lock_bh(&buffer->lock);
	if (el->is_orphaned)
		smc_buffer_keep(buffer, buffer->n_orphaned - 1, buffer->is_quarantined);
	buffer->used[el->index] = el->used;
	if (!el->is_quarantined)
		__clear_bit(el->index, buffer->taken);
	spin_unlock_bh(&buffer->lock);
	el->buffer = NULL;
	smc_buffer_put(buffer);
}
