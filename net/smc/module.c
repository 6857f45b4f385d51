// SPDX-License-Identifier: GPL-2.0
/* The smc module: the order in which its parts are initialised and shut down. */

#include <linux/module.h>
#include <net/tcp.h>

#include "admin/identity.h"
#include "admin/net.h"
#include "admin/netlink.h"
#include "admin/pnet.h"
#include "admin/stats.h"
#include "admin/sysctl.h"
#include "group/group.h"
#include "ism/device.h"
#include "path.h"
#include "socket/diag.h"
#include "socket/family.h"
#include "socket/ops.h"
#include "socket/tcp2smc.h"
#include "workqueue.h"

struct workqueue_struct *smc_wq;
struct workqueue_struct *smc_link_wq;
struct workqueue_struct *smc_free_wq;
struct workqueue_struct *smc_add_link_wq;
struct workqueue_struct *smc_end_wq;
struct workqueue_struct *smc_handshake_overflow_wq;

const struct smc_path_type *const smc_path_types[SMC_N_PATHS] = {
	&smc_ism_path,
	&smc_rdma_path,
};

static void smc_workqueues_exit(void)
{
	struct workqueue_struct **const all[] = {
		&smc_handshake_overflow_wq, &smc_end_wq, &smc_add_link_wq, &smc_free_wq,
		&smc_link_wq, &smc_wq,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (*all[i])
			destroy_workqueue(*all[i]);
	/*
	 * Wait for timer functions that were running when their timers were deleted, and for RCU
	 * callbacks.
	 */
	synchronize_rcu();
	rcu_barrier();
}

static int smc_workqueues_init(void)
{
	/* As to WQ_CPU_INTENSIVE, see smc_net_make_queue(). */
	smc_wq = alloc_workqueue("smc", WQ_CPU_INTENSIVE, WQ_MAX_ACTIVE);
	/* These four queues are unbound, because their works may take long. */
	smc_link_wq = alloc_workqueue("smc_link", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	smc_free_wq = alloc_workqueue("smc_free", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	smc_add_link_wq = alloc_workqueue("smc_add_link", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	smc_end_wq = alloc_workqueue("smc_end", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	smc_handshake_overflow_wq = alloc_workqueue("smc_overflow", WQ_CPU_INTENSIVE,
						    WQ_MAX_ACTIVE);
	if (smc_wq && smc_link_wq && smc_free_wq && smc_add_link_wq && smc_end_wq &&
	    smc_handshake_overflow_wq)
		return 0;
	smc_workqueues_exit();
	return -ENOMEM;
}

/* Shuts down the first @n paths, and what all paths share. */
static void smc_paths_end(int n)
{
	const struct smc_path_type *type;

	while (n--) {
		type = smc_path_types[n];
		smc_netlink_set_source(type->kind, NULL);
		smc_lgr_kind_exit(type->lgrs);
		if (type->exit)
			type->exit();
	}
	smc_lgr_shrinker_exit();
}

static int smc_paths_init(void)
{
	const struct smc_path_type *type;
	int i, rc;

	smc_lgr_shrinker_init();
	for (i = 0; i < SMC_N_PATHS; i++) {
		type = smc_path_types[i];
		smc_lgr_kind_init(type->lgrs);
		rc = type->init ? type->init() : 0;
		if (rc) {
			smc_lgr_kind_exit(type->lgrs);
			smc_paths_end(i);
			return rc;
		}
		smc_netlink_set_source(type->kind, type->source);
	}
	return 0;
}

static void smc_paths_exit(void)
{
	smc_paths_end(SMC_N_PATHS);
}

/*
 * The parts of the module, in the order of their init; their exit is in the reverse order.
 *
 * At the exit every socket holds the module, so no socket is left, and no handshake. Connections
 * whose sockets are closed may still wait for their peers. They end with their link groups, for
 * which smc_paths_exit() waits. Then smc_net_exit() waits for the orphans, and
 * smc_workqueues_exit() for all works, timers and RCU callbacks.
 */
static const struct smc_part {
	int (*init)(void);	/* returns 0 or -errno */
	void (*exit)(void);	/* NULL if there is nothing to undo */
} smc_parts[] = {
	{ smc_ops_init, NULL },
	{ smc_loopback_init, smc_loopback_exit },
	{ smc_workqueues_init, smc_workqueues_exit },
	{ smc_stats_init, smc_stats_exit },
	{ smc_net_init, smc_net_exit },
	{ smc_sysctl_init_host, smc_sysctl_exit_host },
	{ smc_pnet_init, smc_pnet_exit },
	{ smc_pnet_netlink_init, smc_pnet_netlink_exit },
	{ smc_netlink_init, smc_netlink_exit },
	{ smc_paths_init, smc_paths_exit },
	{ smc_diag_init, smc_diag_exit },
	{ smc_family_init, smc_family_exit },
};

/* Shuts down the first @n parts. */
static void smc_parts_exit(size_t n)
{
	while (n--)
		if (smc_parts[n].exit)
			smc_parts[n].exit();
}

static int __init smc_init(void)
{
	size_t i;
	int rc;

	smc_identity_init();
	for (i = 0; i < ARRAY_SIZE(smc_parts); i++) {
		rc = smc_parts[i].init();
		if (rc) {
			smc_parts_exit(i);
			return rc;
		}
	}
	smc_tcp2smc_init();
	/* From here on TCP sends and recognises the SMC option. */
	static_branch_inc(&tcp_have_smc);
	return 0;
}

static void __exit smc_exit(void)
{
	static_branch_dec(&tcp_have_smc);
	smc_tcp2smc_exit();
	smc_parts_exit(ARRAY_SIZE(smc_parts));
}

module_init(smc_init);
module_exit(smc_exit);

MODULE_DESCRIPTION("Shared memory communications: the AF_SMC socket family");
MODULE_AUTHOR("The smc project");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.1");
