/* SPDX-License-Identifier: GPL-2.0 */
/* The end of connections that no application has seen. */
#ifndef SMC_ABANDON_H
#define SMC_ABANDON_H

#include <linux/types.h>

struct smc_sock;
struct sock;

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
 * @sk: connection without a struct socket; loses the reference that close() would drop
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_reset_tcp(struct sock *sk);

#endif
