// SPDX-License-Identifier: GPL-2.0
/* poll(): what may be done without waiting. */

#include <linux/tcp.h>
#include <net/sock.h>

#include "internal.h"

/*
 * Whether so many bytes are enough to tell a reader of: as many as SO_RCVLOWAT says. With TCP, too,
 * there is no use in waiting for more while the peer has no window.
 */
static bool smc_stream_is_enough(const struct smc_stream *st, u64 bytes)
{
	u64 target = min_t(u64, READ_ONCE(st->sk->sk_rcvlowat), st->rx.size);

	return bytes && (bytes >= target || (READ_ONCE(st->rx.prod_flags) & SMC_PROD_WANT_WINDOW));
}

bool smc_stream_has_enough(const struct smc_stream *st)
{
	struct smc_place at = smc_stream_place(st);

	return smc_stream_is_enough(st, smc_place_readable(&at));
}

/* An urgent byte that a read would only step over is none to read. */
static bool smc_stream_is_readable(const struct smc_stream *st)
{
	struct smc_place at = smc_stream_place(st);
	u64 readable = smc_place_readable(&at);

	if (readable && smc_place_at_mark(&at) && !at.is_inline)
		readable--;
	return smc_stream_is_enough(st, readable);
}

__poll_t smc_stream_poll(struct smc_stream *st)
{
	/* Before the error is looked at: who sees the end sees what it was by. */
	bool rx_shut = smc_rx_shut(st);
	struct sock *sk = st->sk;
	__poll_t mask = 0;

	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	if (rx_shut)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (READ_ONCE(st->err) ||
	    (rx_shut && (READ_ONCE(st->tx.final_flags) & SMC_CONN_DONE_WRITING)))
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
