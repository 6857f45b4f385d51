// SPDX-License-Identifier: GPL-2.0
/*
 * TCP_USER_TIMEOUT (RFC 5482): the end of a stream whose peer takes nothing of what was written.
 *
 * TCP counts the time for which bytes that it sent are not acknowledged, or bytes that it has to
 * send find a closed window, even if the peer answers its probes. What is in the peer's element
 * TCP would have seen acknowledged. So a stream counts the time for which bytes wait that the path
 * has not delivered, and nothing moves on: no publish completes, and the peer consumes nothing,
 * which alone opens the window. Any such progress begins the time anew. A ring that is the peer's
 * element takes no byte before there is a window: there it is a writer that waits, with bytes that
 * TCP would have taken.
 *
 * The timer runs only with the option, and progress does not stop it: when it expires, it finds
 * out what is left of the time.
 */


#include "admin/stats.h"
#include "internal.h"
#include "tcp.h"

/* As progress: nothing is due from the peer. */
#define SMC_NOT_DUE	0

static bool smc_user_bytes_wait(const struct smc_stream *st)
{
	return smc_stream_undelivered(st) ||
	       (st->tx.blocked && !st->tx.final_flags && !smc_tx_free(&st->tx));
}

/* A value that changes when the peer's time begins anew. */
static u64 smc_user_progress(const struct smc_stream *st)
{
	/* One that has ended, or that the peer has left, has nothing to wait for. */
	if (st->err || smc_stream_is_down(st) || (st->tx.final_flags & SMC_CONN_ABORT) ||
	    (st->rx.conn_flags & SMC_PEER_GONE) || !smc_user_bytes_wait(st))
		return SMC_NOT_DUE;
	return 1 + st->tx.arrived + st->tx.acked;
}

/*
 * How long the peer may take, in jiffies, or 0 for as long as it likes. TCP begins to count when
 * it first repeats what it sent, or probes the window. By then this end holds nothing back.
 */
static unsigned long smc_user_time(const struct smc_stream *st)
{
	unsigned int timeout = st->sk ? smc_tcp_user_timeout(st->sk) : 0;

	return timeout ? TCP_RTO_MIN + msecs_to_jiffies(timeout) : 0;
}

/* Something is due. The timer owns a reference while it is pending. */
static void smc_user_timer_start(struct smc_stream *st)
{
	unsigned long time = smc_user_time(st);

	if (time && !mod_timer(&st->user_timer, st->user_since + time))
		smc_stream_get(st);
}

void smc_stream_follow_user_timeout(struct smc_stream *st)
{
	u64 progress = smc_user_progress(st);

	lockdep_assert_held(st->lock);
	if (progress != st->user_progress) {
		st->user_progress = progress;
		st->user_since = jiffies;
	}
	/* After the end of the stream nothing is due: it stops the timer for good. */
	if (progress != SMC_NOT_DUE && !timer_pending(&st->user_timer))
		smc_user_timer_start(st);
}

static bool smc_user_time_is_over(const struct smc_stream *st)
{
	unsigned long time = smc_user_time(st);

	return st->user_progress != SMC_NOT_DUE && time &&
	       time_after_eq(jiffies, st->user_since + time);
}

bool smc_stream_watches_arrival(const struct smc_stream *st)
{
	return st->stamps || smc_user_time(st);
}

void smc_stream_check_user_timeout(struct timer_list *timer)
{
	struct smc_stream *st = container_of(timer, struct smc_stream, user_timer);

	spin_lock_bh(st->lock);
	if (smc_user_time_is_over(st)) {
		if (st->state.app == SMC_APP_ORPHAN)
			smc_stat_orphan(st->sn, SMC_ORPHANS_TIMED_OUT, 1);
		smc_stream_break(st, ETIMEDOUT);
	}
	/* If something is still due, this starts the timer again. */
	smc_stream_settle(st);
	smc_stream_put(st);
}

void smc_stream_set_user_timeout(struct smc_stream *st)
{
	spin_lock_bh(st->lock);
	/* It may be less than before. */
	if (st->user_progress != SMC_NOT_DUE)
		smc_user_timer_start(st);
	spin_unlock_bh(st->lock);
}
