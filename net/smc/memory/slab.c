// SPDX-License-Identifier: GPL-2.0
/* Allocation of slabs, and the elements in them. */

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#include "admin/stats.h"
#include "compat.h"
#include "slab.h"

static void smc_slab_count(const struct smc_slab *slab, s64 bytes)
{
	smc_stat_buffer_bytes(smc_net(slab->spec.net), slab->spec.kind, slab->spec.is_rx, bytes);
}

/*
 * vfree() leaves the work to another thread where it must not sleep, but of such places it knows
 * only those with softirqs off.
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

	if (slab->spec.net)
		smc_slab_count(slab, -(s64)smc_slab_bytes(slab));
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
	slab->spec.net = NULL;
	smc_slab_put(slab);
}

/*
 * Zeroed, because an application may be made to read what its peer only claims to have
 * written. Physically contiguous memory may be short: then take fewer elements.
 */
static int smc_slab_alloc_memory(struct smc_slab *slab)
{
	/* Without a control group it is nobody's, also not that of who needs it first. */
	const gfp_t account = slab->spec.memcg ? __GFP_ACCOUNT : 0;
	const gfp_t gfp = GFP_KERNEL | account | __GFP_ZERO | __GFP_NOWARN | __GFP_NORETRY;
	unsigned int most = clamp(SMC_SLAB_BYTES / smc_slab_element_bytes(slab), 1U,
				  (unsigned int)SMC_SLAB_MAX_ELEMENTS);

	if (slab->spec.type != SMC_BUF_VIRTUAL) {
		for (slab->n = most; slab->n; slab->n /= 2) {
			slab->mem = alloc_pages_exact(smc_slab_bytes(slab), gfp);
			if (slab->mem)
				return 0;
		}
	}
	if (slab->spec.type == SMC_BUF_PHYSICAL)
		return -ENOMEM;
	slab->n = most;
	slab->is_virtual = true;
	slab->mem = __vmalloc(smc_slab_bytes(slab), gfp);
	return slab->mem ? 0 : -ENOMEM;
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

	kref_get(&slab->ref);
	el->slab = slab;
	el->index = i;
	/* Nobody else has it. */
	el->used = slab->used[i];
	return true;
}

bool smc_slab_is_left(const struct smc_slab *slab)
{
	return slab->spec.memcg && !mem_cgroup_online(slab->spec.memcg) &&
	       bitmap_empty(slab->taken, slab->n);
}

static bool smc_slabs_take(struct list_head *slabs, u8 size_class, const struct mem_cgroup *memcg,
			   struct smc_element *el)
{
	struct smc_slab *slab;

	list_for_each_entry(slab, slabs, list)
		if (slab->spec.size_class == size_class && slab->spec.memcg == memcg &&
		    smc_slab_take(slab, el))
			return true;
	return false;
}

int smc_slabs_take_or_add(struct list_head *slabs, struct smc_slab_spec *spec,
			  int (*add)(const struct smc_slab_spec *spec, void *arg), void *arg,
			  struct smc_element *el)
{
	bool reused = true;
	int rc;

	while (!smc_slabs_take(slabs, spec->size_class, spec->memcg, el)) {
		if (!add)
			return -EAGAIN;
		reused = false;
		rc = add(spec, arg);
		if (rc == -ENOMEM && spec->size_class) {
			spec->size_class--;
			smc_stat_buffer_downgraded(smc_net(spec->net), spec->kind, spec->is_rx);
			continue;
		}
		if (rc)
			return rc;
	}
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
