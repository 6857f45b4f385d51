/* SPDX-License-Identifier: GPL-2.0 */
/* connect() of an SMC socket. */
#ifndef SMC_CONNECT_H
#define SMC_CONNECT_H

#include <linux/types.h>

struct smc_sock;
struct sockaddr;
struct socket;

/**
 * smc_connect() - connect() of proto_ops
 */
int smc_connect(struct socket *sock, struct sockaddr *addr, int len, int flags);

/**
 * smc_is_connecting() - TCP's handshake or the rendezvous is under way
 * @smc: socket
 *
 * Context: any.
 */
bool smc_is_connecting(const struct smc_sock *smc);

/**
 * smc_wait_connected() - wait for TCP's handshake and the rendezvous to end
 * @smc: socket
 * @timeo: jiffies; 0: do not wait
 *
 * Context: process, without the socket lock.
 * Return: 0; -EAGAIN; a signal's errno.
 */
int smc_wait_connected(struct smc_sock *smc, long timeo);

#endif
