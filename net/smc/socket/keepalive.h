/* SPDX-License-Identifier: GPL-2.0 */
/* Probes of the TCP connection below a stream. */
#ifndef SMC_KEEPALIVE_H
#define SMC_KEEPALIVE_H

#include <linux/timer.h>

struct smc_sock;

/**
 * smc_keepalive_begin() - start to probe the TCP connection
 * @smc: socket, locked, that has just entered SMC_MODE_STREAM
 *
 * Probing ends with this mode, with the stream, or when the peer has ended it.
 */
void smc_keepalive_begin(struct smc_sock *smc);

/**
 * smc_keepalive_timer() - timer function for probes
 * @timer: timer in a struct smc_sock, which stays until smc_sock_cancel()
 */
void smc_keepalive_timer(struct timer_list *timer);

#endif
