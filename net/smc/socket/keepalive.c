// SPDX-License-Identifier: GPL-2.0
/*
 * TCP is silent below a stream. So nothing would tell that its packets do not arrive any more: that
 * a rule drops them, that its device or route is gone; and who keeps state of connections, as
 * conntrack, NAT and load balancers do, would forget it. A probe now and then, as TCP's keepalive
 * has it, tells both.
 *
 * TCP's own keepalive is the application's: getsockopt(SO_KEEPALIVE) reads the sock's flag, past
 * the socket's operations. It is left alone, and may end the connection sooner.
 */

#include <net/tcp.h>

#include "admin/net.h"
#include "keepalive.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "tcp.h"

/*
 * So many probes without an answer end the connection, a tenth of the silence after one another: a
 * minute passes in all with the default. They are as many as TCP's, for some get lost.
 */
#define SMC_KEEPALIVE_PROBES	9
#define SMC_KEEPALIVE_INTERVALS	10

/* Longer waits expire together on the timer wheel, which counts in seconds then. */
#define SMC_KEEPALIVE_LEAP	(15 * HZ)

/* Jiffies of silence before a probe, or 0 for none. */
static unsigned long smc_keepalive_time(const struct smc_sock *smc)
{
	return READ_ONCE(smc_sk_net(smc->sk)->sysctl.tcp_keepalive_time);
}

/*
 * How long to wait for what is due in @left jiffies. Connections that were made together must not
 * be probed together, for a queue of a device would drop most of the probes.
 */
static unsigned long smc_keepalive_wait(unsigned long left)
{
	if (left > SMC_KEEPALIVE_LEAP)
		left /= 2;
	return left - reciprocal_scale(get_random_u32(), left / 4 + 1);
}

/* Nor by others; a peer answers one each half of a second. */
static unsigned long smc_keepalive_interval(unsigned long time)
{
	return max(time / SMC_KEEPALIVE_INTERVALS, (unsigned long)HZ);
}

/* With the lock of softirqs. Return: whether to look again, and in how many jiffies. */
static unsigned long smc_keepalive_look_now(struct smc_sock *smc)
{
	unsigned long time = smc_keepalive_time(smc);
	struct sock *sk = smc->sk;
	unsigned long silent;

	/* A peer that has left the stream may have closed TCP's connection, too. */
	if (!time || smc->mode != SMC_MODE_STREAM || sk->sk_state == TCP_CLOSE ||
	    smc_stream_is_left_alone(smc->stream))
		return 0;
	if (sock_owned_by_user(sk))
		return HZ / 20;
	silent = smc_tcp_silence(sk);
	/* Whatever came since the last probe answers all of them. */
	if (smc->keepalive_probes && silent <= tcp_jiffies32 - smc->keepalive_sent)
		smc->keepalive_probes = 0;
	if (silent < 3 * time / 4 && !smc->keepalive_probes)
		return smc_keepalive_wait(time - silent);
	/* TCP repeats its FIN by itself. */
	if (smc_tcp_is_unacked(sk))
		return smc_keepalive_interval(time);
	if (smc->keepalive_probes == SMC_KEEPALIVE_PROBES) {
		/* TCP's callback then ends the stream, which tells the peer. */
		smc_tcp_time_out(sk);
		return 0;
	}
	if (smc_tcp_probe(sk)) {
		smc->keepalive_probes++;
		smc->keepalive_sent = tcp_jiffies32;
	}
	return smc_keepalive_wait(smc_keepalive_interval(time));
}

void smc_keepalive_look(struct timer_list *timer)
{
	smc_sock_look(container_of(timer, struct smc_sock, keepalive), timer,
		      smc_keepalive_look_now);
}

void smc_keepalive_begin(struct smc_sock *smc)
{
	unsigned long time = smc_keepalive_time(smc);

	if (time)
		mod_timer(&smc->keepalive, jiffies + smc_keepalive_wait(time));
}
