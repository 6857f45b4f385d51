/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SMC_WORKQUEUE_H
#define SMC_WORKQUEUE_H

#include <linux/build_bug.h>
#include <linux/nodemask.h>
#include <linux/workqueue.h>

/*
 * The work queues of the module, created by module.c. Each namespace also has work queues of its
 * own for SMC handshakes (admin/net.h). A queue runs a bounded number of works at a time. So no
 * work may wait for another work of the same queue: when enough works wait, that other work could
 * not start.
 */

/* Works that sleep but wait for no peer, for example the works that answer peers. */
extern struct workqueue_struct *smc_wq;
/*
 * Works of link groups that wait for no peer either, but take longer. Some look after links, and
 * may wait a second for the device of a lost link. Others free the memory of SMC-D.
 */
extern struct workqueue_struct *smc_link_wq;
/*
 * Works that free the memory of SMC-R, and may wait until the peer has been told of it. No more
 * than smc_wq_waiting_max() of them wait.
 */
extern struct workqueue_struct *smc_free_wq;
/*
 * Works that change the links of link groups. Some add links, and may wait for the peer. Others
 * remove lost links, and may wait for threads that wait for the peer. No more than
 * smc_wq_waiting_max() of all these works wait, and those that remove links of a device that is
 * being removed.
 */
extern struct workqueue_struct *smc_add_link_wq;
/*
 * Works that end link groups, of which no more than smc_wq_waiting_max() wait for peers. They have
 * a queue of their own, because no slow work may delay them: a namespace that ends waits for the
 * end of its groups, and other namespaces that end wait for it.
 */
extern struct workqueue_struct *smc_end_wq;
/* SMC handshakes beyond the quotas, which are to be declined. */
extern struct workqueue_struct *smc_handshake_overflow_wq;

/*
 * Number of works of an unbound queue that may wait for peers at a time, on a host with one NUMA
 * node. The queue has at least as many places for works that do not wait. The number is the
 * module's own, because the kernel's maximum depends on its version.
 */
#define SMC_WQ_WAITING_MAX	256
static_assert(2 * SMC_WQ_WAITING_MAX <= WQ_MAX_ACTIVE);

/**
 * smc_wq_waiting_max() - get the number of works of an unbound queue that may wait for peers
 *
 * The kernel divides the places of an unbound queue among the NUMA nodes, and the works may all be
 * those of one node. So the number shrinks like a node's places.
 *
 * Context: any.
 */
static inline int smc_wq_waiting_max(void)
{
	return SMC_WQ_WAITING_MAX / num_online_nodes();
}

#endif
