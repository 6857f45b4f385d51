/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a listener of an SO_REUSEPORT group closes, TCP may give its connections to another one of
 * the group (net.ipv4.tcp_migrate_req, or a BPF program), which need not know of SMC.
 */
#ifndef SMC_MIGRATE_H
#define SMC_MIGRATE_H

#include <linux/types.h>

struct sock;

/**
 * smc_migrates() - whether TCP would give a listener's connections to another one now
 * @sk: listener
 *
 * Context: any.
 */
bool smc_migrates(const struct sock *sk);

/**
 * smc_migrate_drop_offered() - drop a listener's connections that another one must not have
 * @sk: listener that offers SMC no more, a grace period of RCU since; nobody else takes from TCP's
 *	accept queue
 *
 * They are those whose SYN-ACK offered SMC, in the handshake or in TCP's accept queue: their
 * clients send a PROPOSAL, and are reset.
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_migrate_drop_offered(struct sock *sk);

#endif
