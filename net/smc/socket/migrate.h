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
 * smc_migrates() - whether TCP would migrate a listener's connections now
 * @sk: listening socket, hooked or not
 *
 * Context: any.
 */
bool smc_migrates(const struct sock *sk);

/**
 * smc_migrate_drop_offered() - drop the connections that must not migrate
 * @sk: listener, which stopped offering SMC at least an RCU grace period ago. No other thread takes
 *	connections from its accept queue
 *
 * A connection must not migrate if its SYN-ACK offered SMC, because its client will send a
 * PROPOSAL. This function drops such a connection if it is a request, and resets it if it is a
 * child in the accept queue.
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_migrate_drop_offered(struct sock *sk);

#endif
