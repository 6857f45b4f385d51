// SPDX-License-Identifier: GPL-2.0
/* The check that a control group has memory left for a buffer that is charged to it. */

#include <linux/memcontrol.h>
#include <linux/nodemask.h>
#include <linux/page_counter.h>

#include "memcg.h"

/*
 * Buffers leave this part of a control group's limit free. Charging a buffer never calls the OOM
 * killer (SMC_GFP_CONN). But if connections of strangers took the last page, the server's next page
 * fault would call the OOM killer.
 */
#define SMC_MEMCG_RESERVE	8	/* an eighth */

/*
 * Return: the pages of files in the multi-generational LRU. While it is on, its generations replace
 * the LRU lists.
 */
static unsigned long smc_memcg_generations(const struct lruvec *lruvec, int zone)
{
	long pages = 0;

#ifdef CONFIG_LRU_GEN
	int gen;

	for (gen = 0; gen < MAX_NR_GENS; gen++)
		pages += READ_ONCE(lruvec->lrugen.nr_pages[gen][LRU_GEN_FILE][zone]);
#endif
	/* The kernel updates the numbers one by one, so their sum may be negative for a moment. */
	return max(pages, 0L);
}

/*
 * Return: the pages of files that a control group itself has in memory. The pages of groups below
 * it are not known here.
 */
static unsigned long smc_memcg_cache(const struct mem_cgroup *memcg)
{
	unsigned long pages = 0;
	struct lruvec *lruvec;
	int node, zone;

	for_each_node_state(node, N_MEMORY) {
		lruvec = &memcg->nodeinfo[node]->lruvec;
		for (zone = 0; zone < MAX_NR_ZONES; zone++)
			pages += mem_cgroup_get_zone_lru_size(lruvec, LRU_INACTIVE_FILE, zone) +
				 mem_cgroup_get_zone_lru_size(lruvec, LRU_ACTIVE_FILE, zone) +
				 smc_memcg_generations(lruvec, zone);
	}
	return pages;
}

bool smc_memcg_has_room(struct mem_cgroup *memcg, unsigned long pages)
{
	unsigned long cache, limit, used;

	if (!memcg)
		return true;
	/*
	 * Count half of the cache as free, because programs need the rest. The kernel's own
	 * estimate of available memory also keeps up to half of the cache.
	 */
	cache = smc_memcg_cache(memcg) / 2;
	for (; memcg; memcg = parent_mem_cgroup(memcg)) {
		limit = min(READ_ONCE(memcg->memory.max), READ_ONCE(memcg->memory.high));
		used = page_counter_read(&memcg->memory);
		used -= min(used, cache);
		if (used + pages > limit - limit / SMC_MEMCG_RESERVE)
			return false;
	}
	return true;
}
