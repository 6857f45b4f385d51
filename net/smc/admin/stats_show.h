/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counters for those who show them, inside admin/.
 */
#ifndef SMC_ADMIN_STATS_SHOW_H
#define SMC_ADMIN_STATS_SHOW_H

#include <linux/spinlock.h>

#include "admin/stats.h"

/* More than there are diagnoses; a reason beyond these is only totalled. */
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
	spinlock_t lock;	/* guards all below */
	struct smc_fallback_side side[SMC_N_ROLES];
};

/**
 * smc_stats_sum() - add up the CPUs' counters; zeros where there are none
 * @net: namespace
 * @sum: filled
 */
void smc_stats_sum(struct net *net, struct smc_stats *sum);

/* /proc/net/smc_stat */
int smc_stats_proc_init_net(struct net *net);
void smc_stats_proc_exit_net(struct net *net);

#endif
