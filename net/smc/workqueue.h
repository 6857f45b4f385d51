/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SMC_WORKQUEUE_H
#define SMC_WORKQUEUE_H

#include <linux/workqueue.h>

/*
 * The work queues of the module, created by module.c. Each namespace also has work queues of its
 * own for SMC handshakes (admin/net.h). A queue runs a bounded number of works at a time. So no
 * work may wait for another work of the same queue: when enough works wait, that other work could
 * not start.
 */

/* Works that must sleep but wait for no peer, like those that answer peers. */
extern struct workqueue_struct *smc_wq;
/* Works that wait for the peer of a link group: probes, and the announcement of memory. */
extern struct workqueue_struct *smc_link_wq;
/*
 * Works that end link groups. They have a queue of their own, because no slow work may delay them:
 * a namespace that ends waits for the end of its groups, and other namespaces that end wait for it.
 */
extern struct workqueue_struct *smc_end_wq;
/* SMC handshakes beyond the quotas, which are to be declined. */
extern struct workqueue_struct *smc_handshake_overflow_wq;

#endif
