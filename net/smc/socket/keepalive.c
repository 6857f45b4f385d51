// SPDX-License-Identifier: GPL-2.0
/*
 * While a stream carries the data, the TCP connection below it is silent. So nothing would detect
 * that TCP's packets no longer arrive, for example because a rule drops them or a route is gone.
 * Also, conntrack, NAT and load balancers would forget the connection. Probes like those of TCP's
 * keepalive help in both cases.
 *
 * TCP's own keepalive belongs to the application: getsockopt(SO_KEEPALIVE) reads the flag of the
 * struct sock without a call of the socket's operations. So SMC leaves TCP's keepalive as it is. If
 * TCP's keepalive is on, it may end the connection before SMC's probes do.
 */

#include <net/tcp.h>

#include "admin/net.h"
#include "keepalive.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "tcp.h"

/*
 * The connection ends after this many probes without an answer. As with TCP, several are sent
 * because single probes may get lost. The interval between probes is a tenth of the keepalive time.
 * So with the default time the connection ends after about a minute of silence, or later where the
 * stream's path may be about to find out that TCP's network is down.
 */
#define SMC_KEEPALIVE_PROBES	9
#define SMC_KEEPALIVE_INTERVALS	10

/* The timer wheel rounds longer waits to seconds, and many of the timers would expire together. */
#define SMC_KEEPALIVE_MAX_SLEEP	(15 * HZ)

/* Jiffies of silence before a probe; 0 if the connection is not to be probed. */
static unsigned long smc_keepalive_time(const struct net *net)
{
	return READ_ONCE(smc_net(net)->sysctl.tcp_keepalive_time);
}

/*
 * Return: how many jiffies to wait next if something is due in @left jiffies. The time is random,
 * because connections that were made together must not be probed together: the queue of a device
 * would drop most of the probes.
 */
static unsigned long smc_keepalive_wait(unsigned long left)
{
	if (left > SMC_KEEPALIVE_MAX_SLEEP)
		left /= 2;
	return left - reciprocal_scale(get_random_u32(), left / 4 + 1);
}

/*
 * Jiffies between probes: at least a second, because peers may answer only one probe each half
 * second.
 */
static unsigned long smc_keepalive_interval(unsigned long time)
{
	return max(time / SMC_KEEPALIVE_INTERVALS, (unsigned long)HZ);
}

/* Called under bh_lock_sock(). Return: the jiffies until the next call; 0 for none. */
static unsigned long smc_keepalive_check(struct smc_sock *smc)
{
	unsigned long time = smc_keepalive_time(sock_net(smc->sk));
	struct sock *sk = smc->sk;
	unsigned long silent, patience;

	if (!time || smc->mode != SMC_MODE_STREAM || sk->sk_state == TCP_CLOSE)
		return 0;
	/* The stream failed or the peer closed it, so nothing depends on the TCP connection now. */
	if (smc_stream_has_failed(smc->stream) ||
	    (READ_ONCE(smc->stream->rx.conn_flags) & SMC_CONN_FINAL))
		return 0;
	if (sock_owned_by_user(sk))
		return HZ / 20;
	silent = smc_tcp_silence(sk);
	patience = smc_stream_tcp_patience(smc->stream);
	/*
	 * Any segment that came since the last probe answers all probes. And probes do not count
	 * while TCP's network may be down. They go on, to find out when it is back.
	 */
	if (smc->keepalive_probes && (silent <= tcp_jiffies32 - smc->keepalive_sent ||
				      patience == ULONG_MAX))
		smc->keepalive_probes = 0;
	if (silent < 3 * time / 4 && !smc->keepalive_probes)
		return smc_keepalive_wait(time - silent);
	/* Send no probe: TCP itself retransmits unacknowledged bytes and its FIN. */
	if (smc_tcp_is_unacked(sk))
		return smc_keepalive_interval(time);
	if (smc->keepalive_probes >= SMC_KEEPALIVE_PROBES &&
	    tcp_jiffies32 - smc->keepalive_began >= patience) {
		/*
		 * TCP's callback then ends the stream. TCP sends no segment: the peer learns of the
		 * end from the stream.
		 */
		smc_tcp_time_out(sk);
		return 0;
	}
	if (smc_tcp_probe(sk)) {
		smc->keepalive_sent = tcp_jiffies32;
		if (!smc->keepalive_probes++)
			smc->keepalive_began = smc->keepalive_sent;
	}
	return smc_keepalive_wait(smc_keepalive_interval(time));
}

void smc_keepalive_timer(struct timer_list *timer)
{
	smc_sock_timer(container_of(timer, struct smc_sock, keepalive), timer,
		       smc_keepalive_check);
}

void smc_keepalive_begin(struct timer_list *timer, const struct net *net)
{
	unsigned long time = smc_keepalive_time(net);

	if (time)
		mod_timer(timer, jiffies + smc_keepalive_wait(time));
}
