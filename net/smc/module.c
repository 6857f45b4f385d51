// SPDX-License-Identifier: GPL-2.0
/* The smc module: the order in which its parts are initialised and shut down. */

#include <linux/module.h>
#include <net/tcp.h>

#include "admin/identity.h"
#include "admin/net.h"
#include "admin/netlink.h"
#include "admin/pnet.h"
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
}

static int __init smc_workqueues_init(void)
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

/* Shuts down the first @n paths. */
static void smc_paths_exit(int n)
{
	const struct smc_path_type *type;

	while (n--) {
		type = smc_path_types[n];
		smc_netlink_set_source(type->kind, NULL);
		smc_lgr_kind_exit(type->lgrs);
		if (type->exit)
			type->exit();
	}
}

static int __init smc_paths_init(void)
{
	const struct smc_path_type *type;
	int i, rc;

	for (i = 0; i < SMC_N_PATHS; i++) {
		type = smc_path_types[i];
		smc_lgr_kind_init(type->lgrs);
		rc = type->init ? type->init() : 0;
		if (rc) {
			smc_lgr_kind_exit(type->lgrs);
			smc_paths_exit(i);
			return rc;
		}
		smc_netlink_set_source(type->kind, type->source);
	}
	return 0;
}

static int __init smc_init(void)
{
	int rc;

	smc_identity_init();
	rc = smc_ops_init();
	if (rc)
		return rc;
	rc = smc_loopback_init();
	if (rc)
		return rc;
	rc = smc_workqueues_init();
	if (rc)
		goto err_loopback;
	rc = smc_net_init();
	if (rc)
		goto err_wq;
	rc = smc_pnet_init();
	if (rc)
		goto err_net;
	rc = smc_netlink_init();
	if (rc)
		goto err_pnet;
	smc_lgr_shrinker_init();
	rc = smc_paths_init();
	if (rc)
		goto err_shrinker;
	rc = smc_diag_init();
	if (rc)
		goto err_paths;
	rc = smc_family_init();
	if (rc)
		goto err_diag;
	smc_tcp2smc_init();
	/* From here on TCP sends and recognises the SMC option. */
	static_branch_inc(&tcp_have_smc);
	return 0;

err_diag:
	smc_diag_exit();
err_paths:
	smc_paths_exit(SMC_N_PATHS);
err_shrinker:
	smc_lgr_shrinker_exit();
	smc_netlink_exit();
err_pnet:
	smc_pnet_exit();
err_net:
	smc_net_exit();
err_wq:
	smc_workqueues_exit();
err_loopback:
	smc_loopback_exit();
	return rc;
}

/*
 * Every socket holds the module, so no socket is left, and no handshake. Connections whose sockets
 * are closed may still wait for their peers. They end with their link groups, for which
 * smc_paths_exit() waits. Then smc_net_exit() waits for the orphans, and smc_workqueues_exit() for
 * all works.
 */
static void __exit smc_exit(void)
{
	static_branch_dec(&tcp_have_smc);
	smc_tcp2smc_exit();
	smc_family_exit();
	smc_diag_exit();
	smc_paths_exit(SMC_N_PATHS);
	smc_lgr_shrinker_exit();
	smc_netlink_exit();
	smc_pnet_exit();
	smc_net_exit();
	smc_workqueues_exit();
	/*
	 * Wait for timer functions that were running when their timers were deleted, and for RCU
	 * callbacks.
	 */
	synchronize_rcu();
	rcu_barrier();
	smc_loopback_exit();
}

module_init(smc_init);
module_exit(smc_exit);

MODULE_DESCRIPTION("Shared memory communications: the AF_SMC socket family");
MODULE_AUTHOR("The smc project");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0");
