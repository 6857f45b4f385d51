// SPDX-License-Identifier: GPL-2.0
/* TCP's control messages, of recvmsg() and of sendmsg(). */

#include <linux/net_tstamp.h>
#include <linux/tcp.h>
#include <net/sock.h>

#include "compat.h"
#include "internal.h"
#include "tcp.h"

static void smc_cmsg_put_timespec(struct msghdr *msg, bool is_new, const struct timespec64 *ts)
{
	struct __kernel_timespec kts = { .tv_sec = ts->tv_sec, .tv_nsec = ts->tv_nsec };
	struct __kernel_old_timespec old = { .tv_sec = ts->tv_sec, .tv_nsec = ts->tv_nsec };

	if (is_new)
		put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMPNS_NEW, sizeof(kts), &kts);
	else
		put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMPNS_OLD, sizeof(old), &old);
}

static void smc_cmsg_put_timeval(struct msghdr *msg, bool is_new, const struct timespec64 *ts)
{
	long usec = ts->tv_nsec / NSEC_PER_USEC;
	struct __kernel_sock_timeval stv = { .tv_sec = ts->tv_sec, .tv_usec = usec };
	struct __kernel_old_timeval old = { .tv_sec = ts->tv_sec, .tv_usec = usec };

	if (is_new)
		put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_NEW, sizeof(stv), &stv);
	else
		put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_OLD, sizeof(old), &old);
}

/* Whether SO_TIMESTAMPING asks for arrival times. */
static bool smc_cmsg_reports_arrivals(u32 tsflags)
{
	return (tsflags & SOF_TIMESTAMPING_SOFTWARE) &&
	       ((tsflags & SOF_TIMESTAMPING_RX_SOFTWARE) ||
		!(tsflags & SOF_TIMESTAMPING_OPT_RX_FILTER));
}

/*
 * Add the arrival time as TCP's tcp_recv_timestamp() does, which is not exported.
 * There are no hardware timestamps with SMC.
 */
static void smc_cmsg_put_arrival(struct msghdr *msg, const struct sock *sk, u64 arrival)
{
	struct scm_timestamping_internal all = { .ts[0] = ns_to_timespec64(arrival) };
	bool is_new = sock_flag(sk, SOCK_TSTAMP_NEW);

	if (sock_flag(sk, SOCK_RCVTSTAMP) && sock_flag(sk, SOCK_RCVTSTAMPNS))
		smc_cmsg_put_timespec(msg, is_new, &all.ts[0]);
	else if (sock_flag(sk, SOCK_RCVTSTAMP))
		smc_cmsg_put_timeval(msg, is_new, &all.ts[0]);

	if (!smc_cmsg_reports_arrivals(READ_ONCE(sk->sk_tsflags)))
		return;
	if (is_new)
		put_cmsg_scm_timestamping64(msg, &all);
	else
		put_cmsg_scm_timestamping(msg, &all);
}

/*
 * Count the bytes to read, for TCP_INQ. As with TCP's FIN, the end of the stream
 * counts as one more byte, both before and after it is read.
 */
static int smc_stream_inq(const struct smc_stream *st)
{
	/* Load the flags before the positions: a caller that sees the end also sees all bytes. */
	u8 flags = smp_load_acquire(&st->rx.conn_flags);
	struct smc_rx_snapshot at = smc_stream_take_snapshot(st);

	return smc_snapshot_readable(&at) + !!(flags & (SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED));
}

void smc_stream_put_cmsg(const struct smc_stream *st, struct msghdr *msg, u64 arrival)
{
	bool is_asked = smc_tcp_tells_inq(st->sk);

	if (arrival)
		smc_cmsg_put_arrival(msg, st->sk, arrival);
	if (!is_asked && !msg->msg_get_inq)
		return;
	msg->msg_inq = smc_stream_inq(st);
	if (is_asked)
		put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(msg->msg_inq), &msg->msg_inq);
}

int smc_stream_take_cmsg(const struct smc_stream *st, struct msghdr *msg, u32 *tsflags)
{
	struct sockcm_cookie sockc;

	sockcm_init(&sockc, st->sk);
	/* TCP returns the same error for any invalid control message. */
	if (msg->msg_controllen && sock_cmsg_send(st->sk, msg, &sockc))
		return -EINVAL;
	*tsflags = sockc.tsflags;
	return 0;
}
