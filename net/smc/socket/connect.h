/* SPDX-License-Identifier: GPL-2.0 */
/* connect() of an SMC socket. */
#ifndef SMC_CONNECT_H
#define SMC_CONNECT_H

#include <linux/types.h>

#include "smc_sock.h"

struct sock;
struct sockaddr;
struct socket;
struct timer_list;

/**
 * smc_connect() - connect() of proto_ops
 * @sock: socket
 * @addr: address of the server
 * @len: bytes in @addr
 * @flags: O_NONBLOCK, of the socket's file
 */
int smc_connect(struct socket *sock, struct sockaddr *addr, int len, int flags);

/**
 * smc_connect_forget_listener() - before TCP connects: leave to TCP what listened once
 * @sk: socket, locked
 *
 * Context: process; may sleep.
 */
void smc_connect_forget_listener(struct sock *sk);

/**
 * smc_connect_timer() - leave the option out of the SYNs to come, where two had no answer
 * @timer: of the socket, in SMC_MODE_CONNECTING
 *
 * Context: softirq.
 */
void smc_connect_timer(struct timer_list *timer);

/**
 * smc_wait_for_connection() - smc_wait_connected(), while they are under way
 * @smc: socket
 * @timeo: jiffies; 0: do not wait
 *
 * Context: process, without the socket lock.
 * Return: 0; -EAGAIN; a signal's errno.
 */
int smc_wait_for_connection(struct smc_sock *smc, long timeo);

/**
 * smc_wait_connected() - wait for TCP's handshake and SMC's to end
 * @smc: socket
 * @timeo: jiffies; 0: do not wait
 *
 * Context: process, without the socket lock.
 * Return: 0; -EAGAIN; a signal's errno.
 */
static inline int smc_wait_connected(struct smc_sock *smc, long timeo)
{
	/* Each call that moves data asks. */
	return smc_is_connecting(smc) ? smc_wait_for_connection(smc, timeo) : 0;
}

#endif
