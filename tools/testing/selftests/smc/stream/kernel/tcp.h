/* SPDX-License-Identifier: GPL-2.0 */
/* In place of net/smc/tcp.h: as much of TCP's socks as stream/ asks for. */
#ifndef SMC_TEST_TCP_H
#define SMC_TEST_TCP_H

#include "kernel.h"

static inline bool smc_tcp_is_corked(const struct sock *sk)
{
	return tcp_sk(sk)->nonagle & TCP_NAGLE_CORK;
}

static inline bool smc_tcp_is_nodelay(const struct sock *sk)
{
	return tcp_sk(sk)->nonagle & TCP_NAGLE_OFF;
}

static inline u32 smc_tcp_notsent_lowat(const struct sock *sk)
{
	return tcp_sk(sk)->notsent_lowat;
}

static inline void smc_tcp_fin_ahead(struct sock *sk)
{
}

static inline u32 smc_tcp_user_timeout(const struct sock *sk)
{
	return inet_csk(sk)->icsk_user_timeout;
}

#endif
