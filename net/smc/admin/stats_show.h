/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that read the counters, for use inside admin/.
 */
#ifndef SMC_ADMIN_STATS_SHOW_H
#define SMC_ADMIN_STATS_SHOW_H

#include <linux/spinlock.h>

#include "admin/stats.h"

/* More than there are diagnosis codes. If a reason finds no room, it counts only in the total. */
#define SMC_FALLBACK_REASONS	48

struct smc_fallback_side {
	u64 total;
	unsigned int n;
	struct {
		u32 code;	/* enum smc_clc_diagnosis */
		u32 count;
	} reason[SMC_FALLBACK_REASONS];
};

struct smc_fallbacks {
	spinlock_t lock;	/* protects @side */
	struct smc_fallback_side side[SMC_N_ROLES];
};

/**
 * smc_stats_sum() - sum the counters of a namespace over all CPUs
 * @net: namespace that cannot end meanwhile
 * @sum: filled; zeros if the namespace has no counters yet
 */
void smc_stats_sum(struct net *net, struct smc_stats *sum);

/* stats.c calls these for each namespace, to make and remove /proc/net/smc_stat. */
int smc_stats_proc_init_net(struct net *net);
void smc_stats_proc_exit_net(struct net *net);

#endif
