/* SPDX-License-Identifier: GPL-2.0 */
/* The operations (struct proto_ops) of an SMC socket. */
#ifndef SMC_OPS_H
#define SMC_OPS_H

#include <linux/net.h>

struct smc_sock;
struct sock;

/**
 * smc_ops_init() - derive SMC's operations from TCP's
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_ops_init(void);

/**
 * smc_ops_for() - get SMC's counterpart of TCP's operations
 * @tcp: operations of a socket
 *
 * Context: any.
 * Return: SMC's operations, or NULL if @tcp are not TCP's.
 */
const struct proto_ops *smc_ops_for(const struct proto_ops *tcp);

/**
 * smc_ops_of_family() - get SMC's operations for an address family
 * @family: AF_INET or AF_INET6
 *
 * Return: NULL if the kernel has no TCP for @family.
 */
const struct proto_ops *smc_ops_of_family(int family);

/**
 * smc_tcp_ops() - get TCP's operations for an SMC socket
 * @sk: socket
 */
const struct proto_ops *smc_tcp_ops(const struct sock *sk);

/**
 * smc_abandon() - end SMC's part of a connection that is about to be reset
 * @smc: connection that no application has seen; freed by this function
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_abandon(struct smc_sock *smc);

/**
 * smc_abandon_queued() - close a connection that TCP may have in the queue of another listener
 * @smc: connection whose handshake is over
 *
 * No thread may own the socket lock of a connection in an accept queue, because
 * inet_csk_listen_stop() expects no owner. So this function takes only the spinlock. The peer
 * learns of the end from the stream.
 *
 * Context: process, may sleep.
 * Return: false, with nothing done, if a thread owns the socket lock; then the connection is in no
 * queue.
 */
bool smc_abandon_queued(struct smc_sock *smc);

/**
 * smc_reset_other() - reset a TCP connection that no application has seen
 * @sk: socket; if SMC keeps a state of it, another thread frees the state
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_reset_other(struct sock *sk);

/**
 * smc_reset_tcp() - reset a connection that no application has seen, and free SMC's state of it
 * @sk: socket
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_reset_tcp(struct sock *sk);

#endif
