/* SPDX-License-Identifier: GPL-2.0 */
/* Probes of the TCP connection below a stream. */
#ifndef SMC_KEEPALIVE_H
#define SMC_KEEPALIVE_H

#include <linux/timer.h>

struct net;

/**
 * smc_keepalive_begin() - start to probe the TCP connection
 * @timer: timer @keepalive of a socket, locked, that has just entered SMC_MODE_STREAM
 * @net: namespace of the socket
 *
 * Probing ends when the socket leaves this mode, when the stream fails, or when the peer closes the
 * stream.
 */
void smc_keepalive_begin(struct timer_list *timer, const struct net *net);

/**
 * smc_keepalive_timer() - send a probe, or end a connection that does not answer, if that is due
 * @timer: timer in a struct smc_sock, which stays until smc_sock_cancel()
 */
void smc_keepalive_timer(struct timer_list *timer);

#endif
