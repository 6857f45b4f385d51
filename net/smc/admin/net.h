/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SMC's state of a network namespace.
 */
#ifndef SMC_ADMIN_NET_H
#define SMC_ADMIN_NET_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "admin/sysctl.h"
#include "path_kind.h"

struct smc_blackholes;
struct smc_fallbacks;
struct smc_pnet_table;
struct smc_stats;

/*
 * While this many SMC handshakes are under way in a namespace, SYNs and SYN-ACKs offer SMC only for
 * users who have no handshake under way: see smc_quota_congested(). A work queue has room for this
 * many works. The number is the module's own, because the kernel's maximum depends on its version.
 */
#define SMC_HANDSHAKES_MAX	512
static_assert(SMC_HANDSHAKES_MAX <= WQ_MAX_ACTIVE);
/*
 * Number of work queues for handshakes in a namespace. Each has SMC_HANDSHAKES_MAX places, and each
 * handshake needs a place. One work queue is not enough: when SMC_HANDSHAKES_MAX handshakes are
 * under way, those that were offered earlier may still begin (handshake/quota.c).
 */
#define SMC_HANDSHAKE_QUEUES	2

/**
 * struct smc_handshake_wq - a work queue for SMC handshakes
 * @wq: the work queue, see smc_net_prepare()
 * @handshakes: number of handshakes that have a place in @wq, as client or server, see
 *	handshake/quota.c. It is limited to the number of works that one CPU runs at the same time,
 *	so that no handshake has to wait until another's peer answers
 */
struct smc_handshake_wq {
	struct workqueue_struct *wq;
	atomic_t handshakes;
};

/* Link groups of one path in a namespace, protected by the lock in struct smc_lgr_kind. */
struct smc_net_lgrs {
	struct list_head list;
	unsigned int n;
	unsigned int n_active;	/* those for which smc_lgr_is_active() */
	unsigned int n_idle;	/* those for which smc_lgr_is_idle() */
};

struct smc_net {
	struct smc_sysctl sysctl;
	struct smc_stats __percpu *stats;	/* made by smc_net_prepare() */
	struct smc_fallbacks *fallbacks;
	struct smc_pnet_table *pnet;
	struct smc_blackholes *blackholes;

	struct smc_handshake_wq handshake_queues[SMC_HANDSHAKE_QUEUES];
	/*
	 * Runs the works that take connections from TCP's accept queues. A user who
	 * holds the socket lock delays only these works, and only in his namespace.
	 * Made by smc_net_prepare().
	 */
	struct workqueue_struct *accept_wq;
	struct work_struct make_queues;

	struct xarray socks;	/* the sockets that SMC knows: socket/smc_sock.c */

	/* Number of streams whose sockets are closed already: stream/orphan.c. */
	atomic_t orphans;

	struct smc_net_lgrs lgrs[SMC_N_PATHS];

	/* Bytes of all buffers of the namespace, see memory/buffer.h. */
	atomic_long_t buffer_bytes;

	/* Learnt duration of a stream's first wait, see stream/spin.c. The last writer wins. */
	u64 first_wait[SMC_N_PATHS][SMC_N_ROLES];
};

extern unsigned int smc_net_id;

/**
 * smc_net() - get SMC's state of a namespace
 * @net: namespace, held by the caller
 *
 * Context: any. Valid from smc_net_init() until the end of the namespace.
 */
static inline struct smc_net *smc_net(const struct net *net)
{
	return net_generic(net, smc_net_id);
}

/**
 * smc_net_prepare() - make the per-CPU counters and work queues of a namespace
 * @sn: namespace; does nothing if it has them already
 *
 * They are made when the namespace's first SMC socket is created, because most namespaces
 * never have one. Only sockets, and the objects that their SMC handshakes make, use the
 * counters and queues. The counters are charged to set_active_memcg()'s
 * control group or the caller's. They are allocated without a lock, so that a thread
 * that is short of memory delays no other thread. The work queues are made by a work, so
 * that a thread without processor time delays no other thread. The work queues are
 * charged to no control group.
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int smc_net_prepare(struct smc_net *sn);

/**
 * struct smc_net_exit - a path's operation for namespaces that end
 * @end: ends the link groups of a namespace; with @wait, also waits until the namespace has none.
 *	Called in process context, before anything of the namespace's struct smc_net is freed
 *
 * If several namespaces end together, @end is first called for all of them without @wait, so that
 * their groups end at the same time. When the module is unloaded, each path ends its groups itself,
 * and clears its operation before the function smc_net_exit() is called.
 */
struct smc_net_exit {
	void (*end)(struct smc_net_exit *exit, struct net *net, bool wait);
};

/**
 * smc_net_set_exit() - set a path's operation for namespaces that end
 * @kind: path whose link groups the operation ends
 * @exit: the operation; or NULL once no group of the path is left in any namespace
 */
void smc_net_set_exit(enum smc_path_kind kind, struct smc_net_exit *exit);

int smc_net_init(void);
void smc_net_exit(void);

#endif
