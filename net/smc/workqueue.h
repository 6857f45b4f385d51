/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SMC_WORKQUEUE_H
#define SMC_WORKQUEUE_H

#include <linux/workqueue.h>

/*
 * Made by module.c; for handshakes each namespace has its own (admin/net.h). Each runs a bounded
 * number of works at a time, so none may wait for something that another of the same queue
 * does, or a peer that many wait for stops all.
 */

/* What must sleep, but waits for no peer: answers to peers among it. */
extern struct workqueue_struct *smc_wq;
/* What waits for the peer of a link group: probes, and memory that the peer is told of. */
extern struct workqueue_struct *smc_link_wq;
/* The ends of link groups. A namespace that ends waits for its own, and other namespaces for it. */
extern struct workqueue_struct *smc_end_wq;
/* Handshakes beyond what the host is to have at a time. */
extern struct workqueue_struct *smc_handshake_overflow_wq;

#endif
