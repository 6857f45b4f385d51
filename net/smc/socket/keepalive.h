/* SPDX-License-Identifier: GPL-2.0 */
/* Whether the TCP connection below a stream still stands. */
#ifndef SMC_KEEPALIVE_H
#define SMC_KEEPALIVE_H

#include <linux/timer.h>

struct smc_sock;

/**
 * smc_keepalive_begin() - look after TCP's connection from now on
 * @smc: socket, locked, that has just entered SMC_MODE_STREAM
 *
 * That ends with the mode, with the stream, or when the peer has left it.
 */
void smc_keepalive_begin(struct smc_sock *smc);

/**
 * smc_keepalive_look() - the timer of that
 * @timer: in its struct smc_sock, which stays until smc_sock_cancel()
 */
void smc_keepalive_look(struct timer_list *timer);

#endif
