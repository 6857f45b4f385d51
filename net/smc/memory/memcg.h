/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SMC_MEMORY_MEMCG_H
#define SMC_MEMORY_MEMCG_H

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/types.h>

struct mem_cgroup;

/**
 * smc_memcg_zalloc() - allocate zeroed memory that is charged to a control group
 * @memcg: control group; or NULL, then the current thread's is charged
 * @size: number of bytes
 * @gfp: flags of the allocation, with __GFP_ACCOUNT
 *
 * Context: process; may sleep if @gfp says so.
 * Return: the memory or NULL.
 */
static inline void *smc_memcg_zalloc(struct mem_cgroup *memcg, size_t size, gfp_t gfp)
{
	struct mem_cgroup *outer = set_active_memcg(memcg);
	void *mem = kzalloc(size, gfp);

	set_active_memcg(outer);
	return mem;
}

/**
 * smc_memcg_has_room() - whether a control group may be charged for a buffer
 * @memcg: control group, or NULL
 * @pages: pages of the buffer; 0 if it has been charged already
 *
 * After the charge, an eighth of the limit (the lesser of memory.max and memory.high) has to be
 * free in the control group and in each one above it, with cgroup v1 as with v2. Half of the page
 * cache of @memcg counts as free: a group that reads files has a cache up to its limit, and the
 * kernel gives back as much of the cache as is needed.
 *
 * Context: any.
 */
#ifdef CONFIG_MEMCG
bool smc_memcg_has_room(struct mem_cgroup *memcg, unsigned long pages);
#else
static inline bool smc_memcg_has_room(struct mem_cgroup *memcg, unsigned long pages)
{
	return true;
}
#endif

#endif
