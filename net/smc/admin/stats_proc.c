// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/smc_stat: one "name value" per line, for the counters for which the in-tree module has
 * no attribute in SMC_NETLINK_GET_STATS, and for the totals of connections that did not become SMC.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>
#include <linux/slab.h>

#include "admin/stats_show.h"

const char *const smc_violation_names[SMC_N_VIOLATIONS] = {
	[SMC_VIOLATION_CLC]	= "violation_clc",
	[SMC_VIOLATION_LLC]	= "violation_llc",
	[SMC_VIOLATION_CDC]	= "violation_cdc",
	[SMC_VIOLATION_CURSOR]	= "violation_cursor",
	[SMC_VIOLATION_TOKEN]	= "violation_token",
	[SMC_VIOLATION_POSITION] = "violation_position",
};

static const char *const rdma_names[SMC_N_RDMA_COUNTERS] = {
	[SMC_RDMA_WRITES]		= "rdma_writes",
	[SMC_RDMA_WRITE_BYTES]		= "rdma_write_bytes",
	[SMC_RDMA_SENDS]		= "rdma_sends",
	[SMC_RDMA_LOSSY_PUBLISHES]	= "rdma_lossy_publishes",
	[SMC_RDMA_RECVS]		= "rdma_recvs",
	[SMC_RDMA_REGISTRATIONS]	= "rdma_registrations",
	[SMC_RDMA_GROUPS_CREATED]	= "rdma_groups_created",
	[SMC_RDMA_GROUPS_LOST]		= "rdma_groups_lost",
	[SMC_RDMA_LINKS_ADDED]		= "rdma_links_added",
	[SMC_RDMA_LINKS_LOST]		= "rdma_links_lost",
	[SMC_RDMA_CONNS_MOVED]		= "rdma_conns_moved",
	[SMC_RDMA_LINKS_STALLED]	= "rdma_links_stalled",
	[SMC_RDMA_REPEATED_WRITES]	= "rdma_repeated_writes",
	[SMC_RDMA_REPEATED_BYTES]	= "rdma_repeated_bytes",
};

static const char *const ism_names[SMC_N_ISM_COUNTERS] = {
	[SMC_ISM_WRITES]		= "ism_writes",
	[SMC_ISM_WRITE_BYTES]		= "ism_write_bytes",
	[SMC_ISM_DMBS]			= "ism_dmbs",
	[SMC_ISM_GROUPS_CREATED]	= "ism_groups_created",
};

static const char *const orphan_names[SMC_N_ORPHAN_COUNTERS] = {
	[SMC_ORPHANS]		= "orphans",
	[SMC_ORPHANS_TIMED_OUT]	= "orphans_timed_out",
	[SMC_ORPHANS_REFUSED]	= "orphans_refused",
};

static void show(struct seq_file *seq, const char *const *names, const u64 *values, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		seq_printf(seq, "%s %llu\n", names[i], values[i]);
}

/*
 * Shows the totals of failures. SMC_NETLINK_GET_STATS has the errors by role, and
 * SMC_NETLINK_GET_FBACK_STATS the fallbacks by role and reason.
 */
static void show_failures(struct seq_file *seq, struct smc_fallbacks *fallbacks,
			  const struct smc_stats *sum)
{
	u64 n;

	spin_lock_bh(&fallbacks->lock);
	n = fallbacks->side[SMC_CLIENT].total + fallbacks->side[SMC_SERVER].total;
	spin_unlock_bh(&fallbacks->lock);
	seq_printf(seq, "fallbacks %llu\n", n);
	n = sum->handshake_errors[SMC_CLIENT] + sum->handshake_errors[SMC_SERVER];
	seq_printf(seq, "handshake_errors %llu\n", n);
}

/* Shows the pages that count against the host's limits for orphans, in init_net only. */
static void show_host(struct seq_file *seq)
{
	seq_printf(seq, "orphan_pages %ld\n", atomic_long_read(&smc_orphan_pages));
	seq_printf(seq, "quarantined_pages %ld\n", atomic_long_read(&smc_quarantined_pages));
}

static int smc_stat_show(struct seq_file *seq, void *unused)
{
	struct smc_stats *sum = kmalloc(sizeof(*sum), GFP_KERNEL);
	struct net *net = seq_file_single_net(seq);

	if (!sum)
		return -ENOMEM;
	smc_stats_sum(net, sum);
	show_failures(seq, smc_net(net)->fallbacks, sum);
	show(seq, smc_violation_names, sum->violation, SMC_N_VIOLATIONS);
	show(seq, rdma_names, sum->rdma, SMC_N_RDMA_COUNTERS);
	show(seq, ism_names, sum->ism, SMC_N_ISM_COUNTERS);
	/* The sum over the CPUs may briefly be negative. */
	sum->orphan[SMC_ORPHANS] = max_t(s64, sum->orphan[SMC_ORPHANS], 0);
	show(seq, orphan_names, sum->orphan, SMC_N_ORPHAN_COUNTERS);
	if (net_eq(net, &init_net))
		show_host(seq);
	kfree(sum);
	return 0;
}

int smc_stats_proc_init_net(struct net *net)
{
	if (!proc_create_net_single("smc_stat", 0444, net->proc_net, smc_stat_show, NULL))
		return -ENOMEM;
	return 0;
}

void smc_stats_proc_exit_net(struct net *net)
{
	remove_proc_entry("smc_stat", net->proc_net);
}
