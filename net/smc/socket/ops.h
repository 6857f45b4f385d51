/* SPDX-License-Identifier: GPL-2.0 */
/* The operations of an SMC socket. */
#ifndef SMC_OPS_H
#define SMC_OPS_H

#include <linux/net.h>

struct smc_sock;
struct sock;

/**
 * smc_ops_init() - derive our operations from TCP's
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_ops_init(void);

/**
 * smc_ops_for() - our counterpart of TCP's operations
 * @tcp: a socket's operations
 *
 * Context: any.
 * Return: ours, or NULL if @tcp are not TCP's.
 */
const struct proto_ops *smc_ops_for(const struct proto_ops *tcp);

/**
 * smc_ops_of_family() - our operations for AF_INET or AF_INET6
 * @family: address family
 *
 * Return: NULL if the kernel has no such TCP.
 */
const struct proto_ops *smc_ops_of_family(int family);

/**
 * smc_tcp_ops() - TCP's operations for a socket of ours
 * @sk: socket
 */
const struct proto_ops *smc_tcp_ops(const struct sock *sk);

/**
 * smc_abandon() - SMC's part of a close by reset
 * @smc: socket that no application has seen; it is freed
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_abandon(struct smc_sock *smc);

/**
 * smc_abandon_queued() - close a connection that TCP may have in the queue of another listener
 * @smc: connection whose handshake is over
 *
 * Nobody may lock a connection in a queue but by its spinlock: inet_csk_listen_stop() takes it
 * out without a look at its owner. The peer learns of the end from the stream.
 *
 * Context: process, may sleep.
 * Return: false, and nothing is done, if a user has it locked, so that it is in no queue.
 */
bool smc_abandon_queued(struct smc_sock *smc);

/**
 * smc_reset_other() - close a connection of TCP by reset
 * @sk: socket that no application has seen; what SMC knows of it, if anything, is another's to free
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_reset_other(struct sock *sk);

/**
 * smc_reset_tcp() - close a connection that no application has seen, by reset
 * @sk: socket
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_reset_tcp(struct sock *sk);

#endif
