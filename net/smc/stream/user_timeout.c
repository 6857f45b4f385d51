// SPDX-License-Identifier: GPL-2.0
/*
 * TCP_USER_TIMEOUT (RFC 5482): the end of a stream whose peer makes no progress.
 *
 * TCP measures the time for which sent bytes are not acknowledged, or unsent
 * bytes find a closed window, even if the peer answers the probes. The peer's TCP
 * would acknowledge bytes as soon as the peer's host has them, so bytes in the
 * peer's element do not count. A stream measures the time for which undelivered
 * bytes wait while no publish completes and the peer consumes nothing. (The window
 * opens only when the peer consumes.) A completion or a consumed byte restarts the time.
 *
 * With SMC-D the ring is the peer's element, so no byte is written into it
 * without window. But TCP's send buffer would have accepted such bytes. So with
 * SMC-D the bytes of a waiting writer count as undelivered.
 *
 * The timer runs only if the option is set. Progress does not stop the timer;
 * when the timer expires, its function computes the remaining time.
 */

#include "admin/stats.h"
#include "internal.h"
#include "tcp.h"

/* Value of smc_user_timeout_progress() if no bytes wait for the peer. */
#define SMC_NOT_DUE	0

static bool smc_user_timeout_is_due(const struct smc_stream *st)
{
	return smc_tx_undelivered(&st->tx) ||
	       (st->tx.writer == SMC_WRITER_BLOCKED && !st->tx.end_flags && !smc_tx_free(&st->tx));
}

/* Return a value that changes when the peer's time limit restarts. */
static u64 smc_user_timeout_progress(const struct smc_stream *st)
{
	/* A stream that has ended, or that the peer has left, waits for nothing. */
	if (st->err || smc_stream_is_down(st) || (st->tx.end_flags & SMC_CONN_ABORT) ||
	    (st->rx.conn_flags & SMC_CONN_FINAL) || !smc_user_timeout_is_due(st))
		return SMC_NOT_DUE;
	return 1 + st->tx.delivered + st->tx.acked;
}

/*
 * Return the peer's time limit in jiffies, or 0 if it has none. TCP starts to
 * measure at its first retransmission or window probe, hence TCP_RTO_MIN. After
 * that time this end no longer holds back any bytes.
 */
static unsigned long smc_user_timeout_jiffies(const struct smc_stream *st)
{
	unsigned int timeout = st->sk ? smc_tcp_user_timeout(st->sk) : 0;

	return timeout ? TCP_RTO_MIN + msecs_to_jiffies(timeout) : 0;
}

/* Start the timer, which owns a reference to the stream while it is pending. */
static void smc_user_timeout_start(struct smc_stream *st)
{
	unsigned long time = smc_user_timeout_jiffies(st);

	if (time && !mod_timer(&st->user_timer, st->user_since + time))
		smc_stream_get(st);
}

void smc_stream_update_user_timeout(struct smc_stream *st)
{
	u64 progress = smc_user_timeout_progress(st);

	lockdep_assert_held(st->lock);
	if (progress != st->user_progress) {
		st->user_progress = progress;
		st->user_since = jiffies;
	}
	/* After the end of the stream no bytes wait, so nothing starts the timer again. */
	if (progress != SMC_NOT_DUE && !timer_pending(&st->user_timer))
		smc_user_timeout_start(st);
}

static bool smc_user_timeout_has_expired(const struct smc_stream *st)
{
	unsigned long time = smc_user_timeout_jiffies(st);

	return st->user_progress != SMC_NOT_DUE && time &&
	       time_after_eq(jiffies, st->user_since + time);
}

bool smc_stream_watches_delivery(const struct smc_stream *st)
{
	return st->stamps || smc_user_timeout_jiffies(st);
}

void smc_stream_check_user_timeout(struct timer_list *timer)
{
	struct smc_stream *st = container_of(timer, struct smc_stream, user_timer);

	spin_lock_bh(st->lock);
	if (smc_user_timeout_has_expired(st)) {
		if (st->state.app == SMC_APP_ORPHAN)
			smc_stat_orphan(st->sn, SMC_ORPHANS_TIMED_OUT, 1);
		smc_stream_break(st, ETIMEDOUT);
	}
	/* If bytes still wait, smc_stream_unlock() starts the timer again. */
	smc_stream_unlock(st);
	smc_stream_put(st);
}

void smc_stream_set_user_timeout(struct smc_stream *st)
{
	spin_lock_bh(st->lock);
	/* The new time limit may be shorter than the old one. */
	if (st->user_progress != SMC_NOT_DUE)
		smc_user_timeout_start(st);
	spin_unlock_bh(st->lock);
}
