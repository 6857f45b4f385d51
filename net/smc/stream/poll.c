// SPDX-License-Identifier: GPL-2.0
/* poll(): which operations would not have to wait. */

#include <linux/tcp.h>
#include <net/sock.h>

#include "internal.h"

/*
 * Whether @bytes are enough to wake a reader: as many as SO_RCVLOWAT says. As
 * with TCP, fewer are enough while the peer asks for window, because the peer
 * may be unable to send more.
 */
static bool smc_stream_is_enough(const struct smc_stream *st, u64 bytes)
{
	u64 target = min_t(u64, READ_ONCE(st->sk->sk_rcvlowat), st->rx.size);

	return bytes && (bytes >= target || (READ_ONCE(st->rx.prod_flags) & SMC_PROD_WANT_WINDOW));
}

bool smc_stream_has_enough(const struct smc_stream *st)
{
	struct smc_rx_snapshot at = smc_stream_take_snapshot(st);

	return smc_stream_is_enough(st, smc_snapshot_readable(&at));
}

/* Whether poll() reports bytes. An urgent byte that a read would only step over does not count. */
static bool smc_stream_is_readable(const struct smc_stream *st)
{
	struct smc_rx_snapshot at = smc_stream_take_snapshot(st);
	u64 readable = smc_snapshot_readable(&at);

	if (readable && smc_snapshot_at_mark(&at) && !at.is_inline)
		readable--;
	return smc_stream_is_enough(st, readable);
}

__poll_t smc_stream_poll(struct smc_stream *st)
{
	/* Check for the end before the error: a poller that sees the end also sees the error. */
	bool rx_shut = smc_rx_shut(st);
	struct sock *sk = st->sk;
	__poll_t mask = 0;

	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	if (rx_shut)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (READ_ONCE(st->err) ||
	    (rx_shut && (READ_ONCE(st->tx.end_flags) & SMC_CONN_DONE_WRITING)))
		mask |= EPOLLHUP;

	if (smc_stream_is_readable(st))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(st->rx.urgent_unread))
		mask |= EPOLLPRI;

	if (smc_tx_ready(st))
		return mask | EPOLLOUT | EPOLLWRNORM;
	smc_stream_want_room(st, false);
	return smc_tx_ready(st) ? mask | EPOLLOUT | EPOLLWRNORM : mask;
}
