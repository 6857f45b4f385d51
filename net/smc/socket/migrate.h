/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Migration: when a listener of an SO_REUSEPORT group closes, TCP may give its
 * connections to another listener of the group (net.ipv4.tcp_migrate_req, or a BPF
 * program). That listener may know nothing of SMC.
 */
#ifndef SMC_MIGRATE_H
#define SMC_MIGRATE_H

#include <linux/types.h>

struct sock;

/**
 * smc_migrates() - tell whether TCP would migrate a listener's connections now
 * @sk: listener
 *
 * Context: any.
 */
bool smc_migrates(const struct sock *sk);

/**
 * smc_migrate_drop_offered() - drop the connections that must not migrate
 * @sk: listener; stopped offering SMC at least a grace period of RCU ago. No other
 *	thread takes from its accept queue
 *
 * They are the connections whose SYN-ACK offered SMC, either requests or children in
 * the accept queue: their clients will send a PROPOSAL. They are reset.
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_migrate_drop_offered(struct sock *sk);

#endif
