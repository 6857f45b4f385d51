// SPDX-License-Identifier: GPL-2.0
#include <linux/wait_bit.h>

#include "admin/blackhole.h"
#include "admin/net.h"
#include "admin/pnet.h"
#include "admin/stats.h"

unsigned int smc_net_id __read_mostly;

static struct smc_net_exit *exits[SMC_N_PATHS];

void smc_net_set_exit(enum smc_path_kind kind, struct smc_net_exit *exit)
{
	WRITE_ONCE(exits[kind], exit);
}

static void smc_net_destroy_queues(const struct smc_net *sn)
{
	int i;

	if (sn->accept_wq)
		destroy_workqueue(sn->accept_wq);
	for (i = 0; i < SMC_HANDSHAKE_QUEUES; i++)
		if (sn->handshake_queues[i].wq)
			destroy_workqueue(sn->handshake_queues[i].wq);
}

/*
 * Limit of listeners' works that run on one CPU at the same time. The works do not wait for peers,
 * so more of them would only occupy workers of the host.
 */
#define SMC_ACCEPT_WORKS	16

/*
 * Makes a work queue that is bound to CPUs: the steps of an SMC handshake are short, and faster on
 * the CPU where its packets arrive. All bound queues of the host share each CPU's workers. A user
 * can make the works of this queue use much of a CPU's time: by many connections, or by a control
 * group whose memory is hard to reclaim. WQ_CPU_INTENSIVE lets the works of other queues start
 * meanwhile.
 */
static int smc_net_make_queue(struct workqueue_struct **queue, const char *name, int max_active)
{
	if (*queue)
		return 0;
	/* Pairs with smp_load_acquire() in smc_net_has_queues(). */
	smp_store_release(queue, alloc_workqueue("%s", WQ_CPU_INTENSIVE, max_active, name));
	return *queue ? 0 : -ENOMEM;
}

/*
 * Makes the queues of a namespace, in a work. A user may give his own thread no processor time. If
 * such a thread made the queues, all threads that create sockets in the namespace would wait for
 * that thread. So would all threads of the host that create work queues, because alloc_workqueue()
 * takes a lock.
 */
static void smc_net_make_queues(struct work_struct *work)
{
	struct smc_net *sn = container_of(work, struct smc_net, make_queues);
	int i, rc;

	rc = smc_net_make_queue(&sn->accept_wq, "smc_accept", SMC_ACCEPT_WORKS);
	for (i = 0; !rc && i < SMC_HANDSHAKE_QUEUES; i++)
		rc = smc_net_make_queue(&sn->handshake_queues[i].wq, "smc_handshake",
					SMC_HANDSHAKES_MAX);
}

static bool smc_net_has_queues(const struct smc_net *sn)
{
	/* All queues are made if the last one is. Pairs with smc_net_make_queue(). */
	return smp_load_acquire(&sn->handshake_queues[SMC_HANDSHAKE_QUEUES - 1].wq);
}

int smc_net_prepare(struct smc_net *sn)
{
	/* If the counters are made, so are the work queues, which are made first. */
	if (smc_stats_are_made(sn))
		return 0;
	queue_work(system_unbound_wq, &sn->make_queues);
	flush_work(&sn->make_queues);
	return smc_net_has_queues(sn) ? smc_stats_make(sn) : -ENOMEM;
}

/* Makes the sysctls last: by tcp2smc they let users create SMC sockets, which need the rest. */
static int __net_init smc_net_init_net(struct net *net)
{
	struct smc_net *sn = smc_net(net);
	int kind, err;

	/* TCP's callbacks use @socks in softirqs. An entry is charged to its socket's cgroup. */
	xa_init_flags(&sn->socks, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	INIT_WORK(&sn->make_queues, smc_net_make_queues);
	for (kind = 0; kind < SMC_N_PATHS; kind++)
		INIT_LIST_HEAD(&sn->lgrs[kind].list);
	err = smc_stats_init_net(net);
	if (err)
		return err;
	err = smc_pnet_init_net(net);
	if (err)
		goto err_stats;
	err = smc_blackhole_init_net(net);
	if (err)
		goto err_pnet;
	err = smc_sysctl_init_net(net);
	if (err)
		goto err_blackhole;
	return 0;

err_blackhole:
	smc_blackhole_exit_net(net);
err_pnet:
	smc_pnet_exit_net(net);
err_stats:
	smc_stats_exit_net(net);
	return err;
}

static void __net_exit smc_net_end_paths(struct net *net, bool wait)
{
	struct smc_net_exit *exit;
	int kind;

	for (kind = 0; kind < SMC_N_PATHS; kind++) {
		/* The module may be unloaded meanwhile, which sets the operation to NULL. */
		exit = READ_ONCE(exits[kind]);
		if (exit)
			exit->end(exit, net, wait);
	}
}

static void __net_exit smc_net_pre_exit_net(struct net *net)
{
	smc_blackhole_pre_exit_net(net);
	smc_net_end_paths(net, false);
}

static void __net_exit smc_net_finish(struct net *net)
{
	smc_net_end_paths(net, true);
	/* Wait for orphans, too: those of kernel sockets hold no reference to the namespace. */
	wait_var_event(&smc_net(net)->orphans, !atomic_read(&smc_net(net)->orphans));
}

static void __net_exit smc_net_exit_net(struct net *net)
{
	smc_sysctl_exit_net(net);
	smc_blackhole_exit_net(net);
	smc_pnet_exit_net(net);
	smc_stats_exit_net(net);
	smc_net_destroy_queues(smc_net(net));
	/* An insertion that ran out of memory may have left nodes without entries. */
	xa_destroy(&smc_net(net)->socks);
}

static void __net_exit smc_net_exit_batch(struct list_head *nets)
{
	struct net *net;

	list_for_each_entry(net, nets, exit_list)
		smc_net_finish(net);
	list_for_each_entry(net, nets, exit_list)
		smc_net_exit_net(net);
}

static struct pernet_operations smc_net_ops = {
	.init		= smc_net_init_net,
	.pre_exit	= smc_net_pre_exit_net,
	.exit_batch	= smc_net_exit_batch,
	.id		= &smc_net_id,
	.size		= sizeof(struct smc_net),
};

int smc_net_init(void)
{
	return register_pernet_subsys(&smc_net_ops);
}

void smc_net_exit(void)
{
	unregister_pernet_subsys(&smc_net_ops);
}
