// SPDX-License-Identifier: GPL-2.0
/* Allocation of buffers, and the elements in them. */

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "compat.h"
#include "slab.h"
#include "workqueue.h"

/*
 * Interval of the checks for unused buffers. A buffer that two checks in a row
 * find unused is released, so within a minute.
 */
#define SMC_SLABS_LOOK	(30 * HZ)

/* How long a thread waits for others to allocate buffers before its connection continues as TCP. */
#define SMC_SLABS_WAIT	(3 * HZ)

/* Bytes of all buffers whose memory is not freed yet, also of those without a namespace. */
static atomic_long_t smc_slab_host_bytes = ATOMIC_LONG_INIT(0);

static bool smc_slab_is_within(long bytes, int pages)
{
	return bytes <= (long)pages << PAGE_SHIFT;
}

/* Remove the buffer from its namespace's account. */
static void smc_slab_disclaim(const struct smc_slab *slab)
{
	atomic_long_sub(smc_slab_bytes(slab), &smc_net(slab->spec.net)->slab_bytes);
}

static void smc_slab_unreserve(const struct smc_slab *slab)
{
	smc_slab_disclaim(slab);
	atomic_long_sub(smc_slab_bytes(slab), &smc_slab_host_bytes);
}

/*
 * Check the limits before memory is allocated, and count the buffer. Buffers
 * that others reserve at the same time count even if they fail later. So near a
 * limit a buffer may be refused that would just fit.
 */
static bool smc_slab_reserve(const struct smc_slab *slab)
{
	struct smc_net *sn = smc_net(slab->spec.net);
	const long bytes = smc_slab_bytes(slab);
	const long host = atomic_long_add_return(bytes, &smc_slab_host_bytes);
	const long own = atomic_long_add_return(bytes, &sn->slab_bytes);
	/* Any namespace but the initial one has at most as much as it leaves to all others. */
	const long weight = net_eq(slab->spec.net, &init_net) ? 0 : own;

	if (smc_slab_is_within(host + weight, READ_ONCE(smc_sysctl_host_mem_limit)) &&
	    smc_slab_is_within(own, READ_ONCE(sn->sysctl.mem_limit)))
		return true;
	smc_slab_unreserve(slab);
	return false;
}

static void smc_slab_count(const struct smc_slab *slab, s64 bytes)
{
	smc_stat_buffer_bytes(smc_net(slab->spec.net), slab->spec.kind, slab->spec.is_rx, bytes);
}

/*
 * vfree() defers the work to another thread in a context that must not sleep.
 * Among these contexts it recognises only hard interrupts and disabled
 * softirqs, so disable softirqs here.
 */
static void smc_slab_vfree(const struct smc_slab *slab)
{
	local_bh_disable();
	vfree(slab->mem);
	local_bh_enable();
}

static void smc_slab_free(struct kref *ref)
{
	struct smc_slab *slab = container_of(ref, struct smc_slab, ref);

	if (slab->spec.net) {
		smc_slab_count(slab, -(s64)smc_slab_bytes(slab));
		smc_slab_disclaim(slab);
	}
	atomic_long_sub(smc_slab_bytes(slab), &smc_slab_host_bytes);
	if (slab->is_virtual)
		smc_slab_vfree(slab);
	else
		free_pages_exact(slab->mem, smc_slab_bytes(slab));
	mem_cgroup_put(slab->spec.memcg);
	slab->release(slab);
}

void smc_slab_put(struct smc_slab *slab)
{
	kref_put(&slab->ref, smc_slab_free);
}

void smc_slab_disown(struct smc_slab *slab)
{
	smc_slab_count(slab, -(s64)smc_slab_bytes(slab));
	smc_slab_disclaim(slab);
	slab->spec.net = NULL;
	smc_slab_put(slab);
}

static bool smc_slab_try(struct smc_slab *slab, unsigned int n, bool is_virtual)
{
	/* Without a control group no group is charged, not even the one of the current thread. */
	const gfp_t account = slab->spec.memcg ? __GFP_ACCOUNT : 0;
	const gfp_t gfp = GFP_KERNEL | account | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY;

	slab->n = n;
	slab->is_virtual = is_virtual;
	if (!smc_slab_reserve(slab))
		return false;
	slab->mem = is_virtual ? __vmalloc(smc_slab_bytes(slab), gfp) :
				 alloc_pages_exact(smc_slab_bytes(slab), gfp);
	if (!slab->mem)
		smc_slab_unreserve(slab);
	return slab->mem;
}

/*
 * The memory is zeroed, because a peer can make an application read bytes that
 * the peer only claims to have written. If physically contiguous memory is
 * short, the buffer gets fewer elements.
 */
static int smc_slab_alloc_memory(struct smc_slab *slab)
{
	const unsigned int most = clamp(slab->spec.most_bytes / smc_slab_element_bytes(slab), 1U,
					(unsigned int)SMC_SLAB_MAX_ELEMENTS);
	unsigned int n;

	for (n = slab->spec.type == SMC_BUF_VIRTUAL ? 0 : most; n; n /= 2)
		if (smc_slab_try(slab, n, false))
			return 0;
	if (slab->spec.type != SMC_BUF_PHYSICAL && smc_slab_try(slab, most, true))
		return 0;
	return -ENOMEM;
}

int smc_slab_init(struct smc_slab *slab, const struct smc_slab_spec *spec,
		  void (*release)(struct smc_slab *slab))
{
	struct mem_cgroup *outer;
	int rc;

	if (!mem_cgroup_tryget(spec->memcg))
		return -ENOMEM;
	kref_init(&slab->ref);
	spin_lock_init(&slab->lock);
	slab->spec = *spec;
	slab->release = release;

	outer = set_active_memcg(slab->spec.memcg);
	rc = smc_slab_alloc_memory(slab);
	set_active_memcg(outer);
	if (rc) {
		mem_cgroup_put(slab->spec.memcg);
		return rc;
	}
	smc_slab_count(slab, smc_slab_bytes(slab));
	return 0;
}

/* Called with the lock of the pool, see struct smc_slabs. */
static bool smc_slab_take(struct smc_slab *slab, struct smc_element *el)
{
	unsigned int i;

	spin_lock_bh(&slab->lock);
	i = find_first_zero_bit(slab->taken, slab->n);
	if (i < slab->n)
		__set_bit(i, slab->taken);
	spin_unlock_bh(&slab->lock);
	if (i >= slab->n)
		return false;

	slab->is_idle = false;
	kref_get(&slab->ref);
	el->slab = slab;
	el->index = i;
	/* No other connection has the element. */
	el->used = slab->used[i];
	return true;
}

/* No element is taken while the caller holds the lock of the pool. */
static bool smc_slab_is_empty(const struct smc_slab *slab)
{
	return bitmap_empty(slab->taken, slab->n);
}

static bool smc_slab_is_left(const struct smc_slab *slab)
{
	return slab->spec.memcg && !mem_cgroup_online(slab->spec.memcg) && smc_slab_is_empty(slab);
}

/* A thread that allocates a buffer. */
struct smc_slab_maker {
	struct list_head list;
	const struct mem_cgroup *memcg;
	u8 size_class;
};

void smc_slabs_init(struct smc_slabs *slabs, struct delayed_work *trim)
{
	slabs->trim = trim;
	spin_lock_init(&slabs->lock);
	INIT_LIST_HEAD(&slabs->list);
	INIT_LIST_HEAD(&slabs->makers);
	init_waitqueue_head(&slabs->made);
}

static void smc_slabs_count(struct smc_slabs *slabs, const struct smc_slab *slab, s64 bytes)
{
	u64 *sum = slab->is_virtual ? &slabs->bytes.virtual : &slabs->bytes.physical;

	lockdep_assert_held(&slabs->lock);
	WRITE_ONCE(*sum, *sum + bytes);
}

static void smc_slabs_remove(struct smc_slabs *slabs, struct smc_slab *slab,
			     struct list_head *removed)
{
	smc_slabs_count(slabs, slab, -(s64)smc_slab_bytes(slab));
	list_move_tail(&slab->list, removed);
}

void smc_slabs_remove_left(struct smc_slabs *slabs, struct list_head *removed)
{
	struct smc_slab *slab, *next;

	spin_lock_bh(&slabs->lock);
	list_for_each_entry_safe(slab, next, &slabs->list, list)
		if (smc_slab_is_left(slab))
			smc_slabs_remove(slabs, slab, removed);
	spin_unlock_bh(&slabs->lock);
}

/*
 * Queue the next check, unless it is queued already. Once the pool is closed,
 * the path may cancel it.
 */
static void smc_slabs_look_later(struct smc_slabs *slabs)
{
	lockdep_assert_held(&slabs->lock);
	if (!slabs->closed && !list_empty(&slabs->list))
		queue_delayed_work(smc_link_wq, slabs->trim, SMC_SLABS_LOOK);
}

void smc_slabs_remove_idle(struct smc_slabs *slabs, bool keep_one, struct list_head *removed)
{
	struct smc_slab *slab, *next;
	bool was_idle;

	spin_lock_bh(&slabs->lock);
	list_for_each_entry_safe(slab, next, &slabs->list, list) {
		if (!smc_slab_is_empty(slab))
			continue;
		was_idle = slab->is_idle;
		slab->is_idle = true;
		if (keep_one && !smc_slab_is_left(slab))
			keep_one = false;
		else if (was_idle)
			smc_slabs_remove(slabs, slab, removed);
	}
	smc_slabs_look_later(slabs);
	spin_unlock_bh(&slabs->lock);
}

unsigned long smc_slabs_remove_empty(struct smc_slabs *slabs, struct list_head *removed)
{
	struct smc_slab *slab, *next;
	unsigned long pages = 0;

	spin_lock_bh(&slabs->lock);
	list_for_each_entry_safe(slab, next, &slabs->list, list) {
		if (!smc_slab_is_empty(slab))
			continue;
		pages += smc_slab_bytes(slab) >> PAGE_SHIFT;
		smc_slabs_remove(slabs, slab, removed);
	}
	spin_unlock_bh(&slabs->lock);
	return pages;
}

unsigned long smc_slabs_empty_pages(struct smc_slabs *slabs)
{
	const struct smc_slab *slab;
	unsigned long pages = 0;

	spin_lock_bh(&slabs->lock);
	list_for_each_entry(slab, &slabs->list, list)
		if (smc_slab_is_empty(slab))
			pages += smc_slab_bytes(slab) >> PAGE_SHIFT;
	spin_unlock_bh(&slabs->lock);
	return pages;
}

void smc_slabs_close(struct smc_slabs *slabs, struct list_head *removed)
{
	struct smc_slab *slab, *next;

	spin_lock_bh(&slabs->lock);
	slabs->closed = true;
	list_for_each_entry_safe(slab, next, &slabs->list, list)
		smc_slabs_remove(slabs, slab, removed);
	spin_unlock_bh(&slabs->lock);
	wake_up_all(&slabs->made);
}

int smc_slabs_add(struct smc_slabs *slabs, struct smc_slab *slab, struct smc_element *el)
{
	int rc = -ENOLINK;

	spin_lock_bh(&slabs->lock);
	if (!slabs->closed) {
		list_add(&slab->list, &slabs->list);
		smc_slabs_count(slabs, slab, smc_slab_bytes(slab));
		smc_slab_take(slab, el);
		smc_slabs_look_later(slabs);
		rc = 0;
	}
	spin_unlock_bh(&slabs->lock);
	return rc;
}

static bool smc_slabs_take_free(struct smc_slabs *slabs, const struct smc_slab_spec *spec,
				struct smc_element *el)
{
	struct smc_slab *slab;

	lockdep_assert_held(&slabs->lock);
	list_for_each_entry(slab, &slabs->list, list)
		if (slab->spec.size_class == spec->size_class && slab->spec.memcg == spec->memcg &&
		    smc_slab_take(slab, el))
			return true;
	return false;
}

static bool smc_slabs_is_making(const struct smc_slabs *slabs, const struct smc_slab_spec *spec)
{
	const struct smc_slab_maker *maker;

	lockdep_assert_held(&slabs->lock);
	list_for_each_entry(maker, &slabs->makers, list)
		if (maker->size_class == spec->size_class && maker->memcg == spec->memcg)
			return true;
	return false;
}

/*
 * @maker: entry of the caller if it would allocate a buffer, or NULL
 * Return: 0 with an element; -EAGAIN if the caller has to allocate a buffer;
 * -EBUSY while another thread of its control group allocates one; or -ENOLINK.
 */
static int smc_slabs_try(struct smc_slabs *slabs, const struct smc_slab_spec *spec,
			 struct smc_slab_maker *maker, struct smc_element *el)
{
	int rc = -EAGAIN;

	spin_lock_bh(&slabs->lock);
	if (slabs->closed)
		rc = -ENOLINK;
	else if (smc_slabs_take_free(slabs, spec, el))
		rc = 0;
	else if (maker && smc_slabs_is_making(slabs, spec))
		rc = -EBUSY;
	else if (maker)
		list_add(&maker->list, &slabs->makers);
	spin_unlock_bh(&slabs->lock);
	return rc;
}

/* Take a free element of a smaller class, for want of memory for the class of @spec. */
static bool smc_slabs_take_smaller(struct smc_slabs *slabs, struct smc_slab_spec *spec,
				   struct smc_element *el)
{
	bool taken;

	spin_lock_bh(&slabs->lock);
	do {
		spec->size_class--;
		taken = smc_slabs_take_free(slabs, spec, el);
	} while (!taken && spec->size_class);
	spin_unlock_bh(&slabs->lock);
	return taken;
}

/*
 * There are few attempts, because each one that fails may have reclaimed memory
 * for nothing. If there was no memory for one element of the class, only the
 * smallest class is tried, and less of it.
 * Return: 0 with an element of a new buffer, 1 with an element that was free, or an error.
 */
static int smc_slabs_make(struct smc_slabs *slabs, struct smc_slab_spec *spec, smc_slab_add_t add,
			  void *arg, struct smc_element *el)
{
	int rc = add(spec, arg, el);

	if (rc != -ENOMEM || !spec->size_class)
		return rc;
	smc_stat_buffer_downgraded(smc_net(spec->net), spec->kind, spec->is_rx);
	spec->most_bytes = smc_size_class_bytes(spec->size_class) / 2;
	if (smc_slabs_take_smaller(slabs, spec, el))
		return 1;
	spec->size_class = 0;
	return add(spec, arg, el);
}

static void smc_slabs_end_making(struct smc_slabs *slabs, struct smc_slab_maker *maker)
{
	spin_lock_bh(&slabs->lock);
	list_del(&maker->list);
	spin_unlock_bh(&slabs->lock);
	wake_up_all(&slabs->made);
}

int smc_slabs_take(struct smc_slabs *slabs, struct smc_slab_spec *spec, smc_slab_add_t add,
		   void *arg, struct smc_element *el)
{
	struct smc_slab_maker maker = { .memcg = spec->memcg, .size_class = spec->size_class };
	bool reused = true;
	int rc;

	/* Other threads may allocate slowly, one after the other. */
	wait_event_timeout(slabs->made,
			   (rc = smc_slabs_try(slabs, spec, add ? &maker : NULL, el)) != -EBUSY,
			   SMC_SLABS_WAIT);
	if (rc == -EAGAIN && add) {
		rc = smc_slabs_make(slabs, spec, add, arg, el);
		smc_slabs_end_making(slabs, &maker);
		reused = rc > 0;
	}
	if (rc < 0)
		return rc;
	smc_stat_buffer(smc_net(spec->net), spec->kind, spec->is_rx,
			smc_size_class_bytes(spec->size_class), reused);
	return 0;
}

void smc_element_clean(struct smc_element *el)
{
	memset(smc_element_mem(el), 0, el->used);
	el->used = 0;
}

void smc_element_give(struct smc_element *el)
{
	struct smc_slab *slab = el->slab;

	if (!slab)
		return;
	spin_lock_bh(&slab->lock);
	slab->used[el->index] = el->used;
	if (!el->is_spent)
		__clear_bit(el->index, slab->taken);
	spin_unlock_bh(&slab->lock);
	el->slab = NULL;
	smc_slab_put(slab);
}
