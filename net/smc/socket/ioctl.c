// SPDX-License-Identifier: GPL-2.0
/* What ioctl() and io_uring's commands that are like it count of a stream. */

#include <linux/sockios.h>
#include <net/sock.h>

#include <asm/ioctls.h>

#include "compat.h"
#include "ioctl.h"
#include "ops.h"
#include "smc_sock.h"
#include "stream/stream.h"

/* TCP's protocol over one IP version, if that is asked, and the copy of it that asks the stream. */
struct smc_ioctl_prot {
	struct proto *tcp;
	smc_prot_ioctl_t tcp_ioctl;
	struct proto smc;
};

static struct smc_ioctl_prot smc_ioctl_prot4, smc_ioctl_prot6;

static struct smc_ioctl_prot *smc_ioctl_prot_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &smc_ioctl_prot6 : &smc_ioctl_prot4;
}

/* Under @st's lock: an urgent byte that comes in changes more than one of these. */
static int smc_ioctl_amount(struct smc_stream *st, unsigned int cmd)
{
	switch (cmd) {
	case SIOCINQ:
		return min_t(u64, smc_stream_queued(st), INT_MAX);
	case SIOCOUTQ:
		return min_t(u64, smc_stream_undelivered(st), INT_MAX);
	case SIOCOUTQNSD:
		return min_t(u64, smc_stream_unsent(st), INT_MAX);
	case SIOCATMARK:
		return smc_stream_at_mark(st);
	default:
		return -ENOIOCTLCMD;
	}
}

static int smc_ioctl_stream(struct smc_stream *st, unsigned int cmd)
{
	int amount;

	spin_lock_bh(st->lock);
	amount = smc_ioctl_amount(st, cmd);
	spin_unlock_bh(st->lock);
	return amount;
}

static bool smc_ioctl_counts(unsigned int cmd)
{
	return cmd == SIOCINQ || cmd == SIOCOUTQ || cmd == SIOCOUTQNSD;
}

/* Return: -ENOIOCTLCMD if TCP has the answer. */
static int smc_ioctl_sk(const struct sock *sk, unsigned int cmd)
{
	struct smc_stream *st = smc_stream_of(sk);

	if (st)
		return smc_ioctl_stream(st, cmd);
	return smc_ioctl_counts(cmd) && smc_sk_is_connecting(sk) ? 0 : -ENOIOCTLCMD;
}

int smc_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	int value = smc_ioctl_sk(sock->sk, cmd);

	if (value == -ENOIOCTLCMD)
		return smc_tcp_ops(sock->sk)->ioctl(sock, cmd, arg);
	return put_user(value, (int __user *)arg);
}

static int smc_prot_ioctl(struct sock *sk, int cmd, int *value)
{
	int amount = smc_ioctl_sk(sk, cmd);

	if (amount == -ENOIOCTLCMD)
		return smc_ioctl_prot_of(sk)->tcp_ioctl(sk, cmd, value);
	*value = amount;
	return 0;
}

void smc_ioctl_init(const struct sock *tcp)
{
	struct smc_ioctl_prot *prot = smc_ioctl_prot_of(tcp);

	prot->smc = *tcp->sk_prot;
	prot->tcp_ioctl = smc_compat_prot_ioctl(&prot->smc, smc_prot_ioctl);
	if (prot->tcp_ioctl)
		prot->tcp = tcp->sk_prot;
}

void smc_ioctl_hook(struct sock *sk)
{
	struct smc_ioctl_prot *prot = smc_ioctl_prot_of(sk);

	/* BPF's map of sockets may have replaced it. */
	if (sk->sk_prot == prot->tcp)
		WRITE_ONCE(sk->sk_prot, &prot->smc);
}

void smc_ioctl_unhook(struct sock *sk)
{
	struct smc_ioctl_prot *prot = smc_ioctl_prot_of(sk);

	if (sk->sk_prot == &prot->smc)
		WRITE_ONCE(sk->sk_prot, prot->tcp);
}
