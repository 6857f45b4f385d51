// SPDX-License-Identifier: GPL-2.0
/*
 * Orphans: streams that their application has closed, and whose peer has not.
 *
 * A peer that lives, but never reads or never closes, does not keep an orphan for longer than it
 * would keep one of TCP's. While the peer has not said that it has read everything, it has to say
 * that of some of it within the time for which TCP probes a closed window of an orphan's peer:
 * other implementations drop what is unread when they are told of the end below. Until the last
 * byte has found a window, TCP_USER_TIMEOUT may cut that short (user_timeout.c). When everything
 * is read, the peer has to end the stream within the time for which TCP waits for a FIN. After
 * either, this end says that it has gone (SMC_CONN_ABORT), which the peer's kernel answers without
 * its application. One that leaves even this unanswered, for as long as TCP waits for a FIN, is
 * given up: it may still write, so its element is not used again (path->over() sees to that).
 *
 * What the orphans of the host hold is bounded as that of TCP's is: in number by
 * net.smc.max_orphans, and in memory by an eighth of all. Those that were given up count for as
 * long as their elements are there. Of either bound they may take half: beyond that the path ends a
 * link group, and with it the group's other connections.
 */

#include <linux/mm.h>
#include <linux/net.h>
#include <net/tcp.h>

#include "admin/stats.h"
#include "admin/sysctl.h"
#include "internal.h"
#include "orphan.h"
#include "workqueue.h"

/*
 * TCP probes after 0.2 s and ten times after twice as long, and then gives a peer up whose window
 * has stayed closed. net.ipv4.tcp_orphan_retries makes that no earlier while the peer answers.
 */
#define SMC_ORPHAN_PROBE_TIME	((BIT(10) - 1) * TCP_RTO_MIN + TCP_RTO_MAX)

/* Where there are too many already, a peer's kernel has so long to confirm a reset. */
#define SMC_ORPHAN_HURRY	(2UL * HZ)

static atomic_t smc_n_orphans = ATOMIC_INIT(0);
static atomic_long_t smc_orphan_pages = ATOMIC_LONG_INIT(0);
static atomic_t smc_n_given_up = ATOMIC_INIT(0);
static atomic_long_t smc_given_up_pages = ATOMIC_LONG_INIT(0);

static void smc_orphans_add(int n, long pages)
{
	atomic_add(n, &smc_n_orphans);
	atomic_long_add(pages, &smc_orphan_pages);
}

bool smc_stream_give_up(int n, long pages)
{
	n = atomic_add_return(n, &smc_n_given_up);
	pages = atomic_long_add_return(pages, &smc_given_up_pages);
	return n <= READ_ONCE(smc_sysctl_max_orphans) / 2 && pages <= totalram_pages() / 16;
}

unsigned long smc_stream_fin_time(const struct smc_stream *st)
{
	/* TCP_LINGER2 has this limit already, tcp_fin_timeout of a namespace has none. */
	return min(tcp_fin_time(st->sk), TCP_FIN_TIMEOUT_MAX);
}

/* Whether the host bears orphans of so many pages more. */
static bool smc_orphans_have_room(long pages)
{
	int n = atomic_read(&smc_n_orphans) + atomic_read(&smc_n_given_up);

	pages += atomic_long_read(&smc_orphan_pages) + atomic_long_read(&smc_given_up_pages);
	return n < READ_ONCE(smc_sysctl_max_orphans) && pages <= totalram_pages() / 8;
}

/* How long the peer may take for what @st waits for now, in jiffies. */
static unsigned long smc_orphan_time(const struct smc_stream *st)
{
	unsigned long fin_time = smc_stream_fin_time(st);

	switch (smc_orphan_waits_for(&st->tx)) {
	case SMC_ORPHAN_ANSWER:
		return smc_orphans_have_room(0) ? fin_time : min(fin_time, SMC_ORPHAN_HURRY);
	case SMC_ORPHAN_END:
		return fin_time;
	case SMC_ORPHAN_READING:
		break;
	}
	return SMC_ORPHAN_PROBE_TIME;
}

/* The peer knows of the end, or never will: it is time for TCP's. */
static bool smc_orphan_leaves_tcp(const struct smc_stream *st)
{
	return st->orphan && (smc_stream_is_over(st) || smc_stream_has_ended(st));
}

static void smc_orphan_restart(struct smc_stream *st)
{
	bool at_once = smc_stream_is_over(st) || smc_orphan_leaves_tcp(st);

	st->orphan_progress = smc_orphan_progress(&st->tx, smc_stream_is_over(st));
	mod_delayed_work(smc_wq, &st->end_work, at_once ? 0 : smc_orphan_time(st));
}

void smc_stream_follow_orphan(struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	if (st->orphan_progress != smc_orphan_progress(&st->tx, smc_stream_is_over(st)) ||
	    smc_orphan_leaves_tcp(st))
		smc_orphan_restart(st);
}

/* The peer's time is over. The work runs again after the next, or at once if this is the end. */
static void smc_orphan_expire(struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	if (st->tx.final_flags & SMC_CONN_ABORT) {
		smc_state_path(&st->state, st->lock, SMC_PATH_LOST);
	} else {
		smc_stat_orphan(st->sn, SMC_ORPHANS_TIMED_OUT, 1);
		smc_stream_break(st, ETIMEDOUT);
	}
	smc_orphan_restart(st);
}

static void smc_orphan_end(struct smc_stream *st)
{
	struct smc_net *sn = st->sn;

	smc_stat_orphan(sn, SMC_ORPHANS, -1);
	smc_orphans_add(-1, -smc_stream_pages(st));
	smc_stream_put(st);
	/* The end of the namespace waits for this; the address alone is used after it. */
	if (atomic_dec_and_test(&sn->orphans))
		wake_up_var(&sn->orphans);
}

/* Return: TCP's socket, if it is time for it to be closed; or NULL. */
static struct socket *smc_orphan_take_tcp(struct smc_stream *st)
{
	struct socket *sock = smc_orphan_leaves_tcp(st) ? st->orphan : NULL;

	lockdep_assert_held(st->lock);
	if (sock)
		st->orphan = NULL;
	return sock;
}

static void smc_orphan_close_tcp(const struct smc_stream *st, struct socket *sock)
{
	if (smc_stream_is_reset(st))
		sock_no_linger(sock->sk);
	this_cpu_dec(tcp_orphan_count);
	sock_release(sock);
}

void smc_stream_check_orphan(struct smc_stream *st)
{
	struct socket *sock;
	bool over, stale;

	spin_lock_bh(st->lock);
	over = smc_stream_is_over(st);
	/* The peer's time began anew, or the stream ended, while this waited for the lock. */
	stale = delayed_work_pending(&st->end_work);
	sock = smc_orphan_take_tcp(st);
	if (sock && !over)
		smc_orphan_restart(st);
	else if (!over && !stale)
		smc_orphan_expire(st);
	smc_stream_settle(st);
	if (sock)
		smc_orphan_close_tcp(st, sock);
	/* Nobody queues the work again after the end of the stream did. */
	if (over && !stale)
		smc_orphan_end(st);
}

bool smc_stream_may_be_orphan(const struct smc_stream *st)
{
	if (smc_orphans_have_room(smc_stream_pages(st)))
		return true;
	smc_stat_orphan(st->sn, SMC_ORPHANS_REFUSED, 1);
	return false;
}

void smc_stream_orphan(struct smc_stream *st, struct socket *sock)
{
	smc_orphans_add(1, smc_stream_pages(st));
	smc_stat_orphan(st->sn, SMC_ORPHANS, 1);
	atomic_inc(&st->sn->orphans);
	/* TCP does not count a connection that has a socket; this one has no file. */
	if (sock)
		this_cpu_inc(tcp_orphan_count);

	spin_lock_bh(st->lock);
	smc_state_app(&st->state, st->lock, SMC_APP_ORPHAN);
	st->orphan = sock;
	/* From here on the reference is the work's. */
	smc_orphan_restart(st);
	spin_unlock_bh(st->lock);
}
