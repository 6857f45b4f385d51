// SPDX-License-Identifier: GPL-2.0
/* Byte counts of a stream, for ioctl() and for the same requests by io_uring. */

#include <linux/sockios.h>
#include <net/sock.h>

#include <asm/ioctls.h>

#include "ioctl.h"
#include "ops.h"
#include "smc_sock.h"
#include "stream/stream.h"

/* Called with @st->lock, because an urgent byte that arrives changes several of these values. */
static int smc_ioctl_amount(struct smc_stream *st, unsigned int cmd)
{
	switch (cmd) {
	case SIOCINQ:
		return min_t(u64, smc_stream_queued(st), INT_MAX);
	case SIOCOUTQ:
		return min_t(u64, smc_tx_undelivered(&st->tx), INT_MAX);
	case SIOCOUTQNSD:
		return min_t(u64, smc_tx_unsent(&st->tx), INT_MAX);
	case SIOCATMARK:
		return smc_stream_at_mark(st);
	default:
		return -ENOIOCTLCMD;
	}
}

static bool smc_ioctl_counts(unsigned int cmd)
{
	return cmd == SIOCINQ || cmd == SIOCOUTQ || cmd == SIOCOUTQNSD;
}

int smc_ioctl_sk(const struct sock *sk, unsigned int cmd)
{
	struct smc_stream *st = smc_stream_of(sk);
	int amount;

	if (!st)
		return smc_ioctl_counts(cmd) && smc_sk_is_connecting(sk) ? 0 : -ENOIOCTLCMD;
	spin_lock_bh(st->lock);
	amount = smc_ioctl_amount(st, cmd);
	spin_unlock_bh(st->lock);
	return amount;
}

int smc_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	int value = smc_ioctl_sk(sock->sk, cmd);

	if (value == -ENOIOCTLCMD)
		return smc_tcp_ops(sock->sk)->ioctl(sock, cmd, arg);
	return put_user(value, (int __user *)arg);
}
