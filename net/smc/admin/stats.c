// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>
#include <linux/slab.h>

#include "admin/stats.h"
#include "admin/stats_show.h"

/*
 * Counters shared by all namespaces that don't have counters of their own yet. Nothing
 * should be counted for such a namespace; if something is, nobody sees the count.
 */
static struct smc_stats __percpu *smc_stats_none;

atomic_long_t smc_orphan_pages = ATOMIC_LONG_INIT(0);
atomic_long_t smc_quarantined_pages = ATOMIC_LONG_INIT(0);

int smc_stats_init(void)
{
	smc_stats_none = alloc_percpu(struct smc_stats);
	return smc_stats_none ? 0 : -ENOMEM;
}

void smc_stats_exit(void)
{
	free_percpu(smc_stats_none);
}

int smc_stats_init_net(struct net *net)
{
	struct smc_net *sn = smc_net(net);
	int err;

	sn->stats = smc_stats_none;
	sn->fallbacks = kzalloc(sizeof(*sn->fallbacks), GFP_KERNEL_ACCOUNT);
	if (!sn->fallbacks)
		return -ENOMEM;
	spin_lock_init(&sn->fallbacks->lock);

	err = smc_stats_proc_init_net(net);
	if (err)
		kfree(sn->fallbacks);
	return err;
}

bool smc_stats_are_made(const struct smc_net *sn)
{
	/* Pairs with cmpxchg() in smc_stats_make(): the work queues, made earlier, are visible. */
	return smp_load_acquire(&sn->stats) != smc_stats_none;
}

int smc_stats_make(struct smc_net *sn)
{
	struct smc_stats __percpu *made = alloc_percpu_gfp(struct smc_stats, GFP_KERNEL_ACCOUNT);

	if (!made)
		return smc_stats_are_made(sn) ? 0 : -ENOMEM;
	/* Several threads may get here at once: one sets its counters, the others free theirs. */
	if (cmpxchg(&sn->stats, smc_stats_none, made) != smc_stats_none)
		free_percpu(made);
	return 0;
}

void smc_stats_exit_net(struct net *net)
{
	struct smc_net *sn = smc_net(net);

	smc_stats_proc_exit_net(net);
	kfree(sn->fallbacks);
	if (smc_stats_are_made(sn))
		free_percpu(sn->stats);
}

void smc_stat_fallback(const struct smc_net *sn, enum smc_role role, u32 reason)
{
	struct smc_fallbacks *fallbacks = sn->fallbacks;
	struct smc_fallback_side *side = &fallbacks->side[role];
	unsigned int i = 0;

	spin_lock_bh(&fallbacks->lock);
	side->total++;
	while (i < side->n && side->reason[i].code != reason)
		i++;
	if (i == side->n && i < SMC_FALLBACK_REASONS)
		side->reason[side->n++].code = reason;
	if (i < side->n)
		side->reason[i].count++;
	spin_unlock_bh(&fallbacks->lock);
}

void smc_stats_sum(struct net *net, struct smc_stats *sum)
{
	struct smc_stats __percpu *stats = READ_ONCE(smc_net(net)->stats);
	u64 *to = (u64 *)sum;
	size_t i;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	if (stats == smc_stats_none)
		return;
	for_each_possible_cpu(cpu) {
		const u64 *from = (const u64 *)per_cpu_ptr(stats, cpu);

		for (i = 0; i < sizeof(*sum) / sizeof(u64); i++)
			to[i] += READ_ONCE(from[i]);
	}
}
