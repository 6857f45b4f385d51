// SPDX-License-Identifier: GPL-2.0
/*
 * Orphans: streams that the application at this end has closed, and the peer has not.
 *
 * A peer that lives, but never reads or never closes, keeps an orphan for no
 * longer than it would keep an orphan of TCP. The peer has three time limits, one
 * after the other:
 *
 * 1. Until the peer has reported that it read everything, it has to report some
 *    progress within SMC_ORPHAN_PROBE_TIME. A shorter limit would lose bytes,
 *    because other implementations discard unread bytes when they receive
 *    SMC_CONN_ABORT. But until all bytes are delivered, TCP_USER_TIMEOUT may
 *    reset the stream earlier (user_timeout.c).
 * 2. After that report the peer has to end the stream within the time for which
 *    TCP waits for a FIN.
 * 3. If the peer misses either limit, this end sends SMC_CONN_ABORT. The peer's
 *    kernel answers without its application. If the answer does not come for as
 *    long as TCP waits for a FIN, this end gives up on the peer. The peer may still
 *    write, so path->over() ensures that this end's element is not reused.
 *
 * The orphans of the host are limited as TCP's are: their number by
 * net.smc.max_orphans, and their memory to an eighth of the host's memory. One element
 * keeps its whole buffer, with all other elements in it, so the whole buffer
 * counts. The sums are in admin/stats.h. Streams that gave up on their peers count
 * for as long as their elements exist. Such streams may take half of each limit. If
 * they exceed that, the path ends a link group, along with the group's other
 * connections.
 */

#include <linux/mm.h>
#include <linux/net.h>
#include <net/tcp.h>

#include "admin/stats.h"
#include "admin/sysctl.h"
#include "internal.h"
#include "orphan.h"
#include "tcp.h"
#include "workqueue.h"

/*
 * The time for which TCP probes a closed window of an orphan's peer. TCP sends
 * the first probe after 0.2 s, and doubles the interval for each of nine more.
 * It gives up on the peer TCP_RTO_MAX after the last probe.
 * (net.ipv4.tcp_orphan_retries is only for peers that do not answer the probes.)
 */
#define SMC_ORPHAN_PROBE_TIME	((BIT(10) - 1) * TCP_RTO_MIN + TCP_RTO_MAX)

/* Time for a peer's kernel to confirm a reset while there are too many orphans. */
#define SMC_ORPHAN_TIMEOUT_SHORT	(2UL * HZ)

static atomic_t smc_n_orphans = ATOMIC_INIT(0);
static atomic_t smc_n_quarantined = ATOMIC_INIT(0);

/* Whether @n streams that keep @pages take no more than 1/@parts of the limits for quarantine. */
static bool smc_quarantine_fits(int n, long pages, int parts)
{
	return n <= READ_ONCE(smc_sysctl_max_orphans) / (2 * parts) &&
	       pages <= totalram_pages() / (16 * parts);
}

bool smc_stream_quarantine(int n, long pages)
{
	n = atomic_add_return(n, &smc_n_quarantined);
	pages = atomic_long_add_return(pages, &smc_quarantined_pages);
	return smc_quarantine_fits(n, pages, 1);
}

bool smc_stream_may_quarantine(int n, long pages)
{
	return smc_quarantine_fits(n, pages, 4);
}

unsigned long smc_stream_fin_time(const struct smc_stream *st)
{
	/* TCP_LINGER2 has this limit already; a namespace's tcp_fin_timeout has none. */
	return min(tcp_fin_time(st->sk), TCP_FIN_TIMEOUT_MAX);
}

/*
 * Whether the limits of the host allow one more orphan. The orphan's pages are known only once
 * ->orphan() has counted its elements, so orphans that come at the same time may exceed the limit,
 * each by its two buffers.
 */
static bool smc_orphans_have_room(void)
{
	const int n = atomic_read(&smc_n_orphans) + atomic_read(&smc_n_quarantined);
	const long pages = atomic_long_read(&smc_orphan_pages) +
			   atomic_long_read(&smc_quarantined_pages);

	return n < READ_ONCE(smc_sysctl_max_orphans) && pages < totalram_pages() / 8;
}

/* Return the peer's time limit, in jiffies, for the event that @st waits for now. */
static unsigned long smc_orphan_time(const struct smc_stream *st)
{
	unsigned long fin_time = smc_stream_fin_time(st);

	switch (smc_orphan_waits_for(&st->tx)) {
	case SMC_ORPHAN_ANSWER:
		return smc_orphans_have_room() ? fin_time : min(fin_time,
								SMC_ORPHAN_TIMEOUT_SHORT);
	case SMC_ORPHAN_END:
		return fin_time;
	case SMC_ORPHAN_READING:
		break;
	}
	return SMC_ORPHAN_PROBE_TIME;
}

/* Whether the TCP connection can be closed: the peer's host has this end's flags, or never will. */
static bool smc_orphan_leaves_tcp(const struct smc_stream *st)
{
	return st->orphan && (smc_stream_is_over(st) || smc_stream_end_is_delivered(st));
}

static void smc_orphan_rearm(struct smc_stream *st)
{
	bool at_once = smc_stream_is_over(st) || smc_orphan_leaves_tcp(st);

	st->orphan_progress = smc_orphan_progress(&st->tx, smc_stream_is_over(st));
	mod_delayed_work(smc_wq, &st->end_work, at_once ? 0 : smc_orphan_time(st));
}

void smc_stream_update_orphan(struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	if (st->orphan_progress != smc_orphan_progress(&st->tx, smc_stream_is_over(st)) ||
	    smc_orphan_leaves_tcp(st))
		smc_orphan_rearm(st);
}

/*
 * The peer's time limit has expired: reset the stream or, if this end has reset
 * it before, give up on the peer. The work runs again after the next time limit, or
 * at once if the stream is over.
 */
static void smc_orphan_expire(struct smc_stream *st)
{
	lockdep_assert_held(st->lock);
	/* The peer has closed, and the path limits the time to deliver this end's flags. */
	if (smc_stream_both_sent_final(st)) {
		smc_orphan_rearm(st);
		return;
	}
	if (st->tx.end_flags & SMC_CONN_ABORT) {
		smc_state_advance_path(&st->state, st->lock, SMC_PATH_STATE_LOST);
	} else {
		smc_stat_orphan(st->sn, SMC_ORPHANS_TIMED_OUT, 1);
		smc_stream_break(st, ETIMEDOUT);
	}
	smc_orphan_rearm(st);
}

static void smc_orphan_end(struct smc_stream *st)
{
	struct smc_net *sn = st->sn;

	smc_stat_orphan(sn, SMC_ORPHANS, -1);
	atomic_dec(&smc_n_orphans);
	smc_stream_put(st);
	/* At zero the namespace may exit and free @sn. wake_up_var() uses only the address. */
	if (atomic_dec_and_test(&sn->orphans))
		wake_up_var(&sn->orphans);
}

static void smc_orphan_close_tcp(const struct smc_stream *st, struct socket *sock)
{
	if (smc_stream_is_reset(st))
		sock_no_linger(sock->sk);
	smc_tcp_fin_ahead(sock->sk);
	this_cpu_dec(tcp_orphan_count);
	sock_release(sock);
}

void smc_stream_check_orphan(struct smc_stream *st)
{
	struct socket *sock = NULL;
	bool over, stale;

	spin_lock_bh(st->lock);
	over = smc_stream_is_over(st);
	/*
	 * If the peer's time limit restarted, or the stream ended, while this run waited
	 * for the lock, the work has been queued again, and the next run decides.
	 */
	stale = delayed_work_pending(&st->end_work);
	if (smc_orphan_leaves_tcp(st)) {
		sock = st->orphan;
		st->orphan = NULL;
	}
	if (sock && !over)
		smc_orphan_rearm(st);
	else if (!over && !stale)
		smc_orphan_expire(st);
	smc_stream_unlock(st);
	if (sock)
		smc_orphan_close_tcp(st, sock);
	/* Nothing queues the work after the end of the stream, so this run is the last. */
	if (over && !stale)
		smc_orphan_end(st);
}

bool smc_stream_may_be_orphan(const struct smc_stream *st)
{
	if (smc_orphans_have_room())
		return true;
	smc_stat_orphan(st->sn, SMC_ORPHANS_REFUSED, 1);
	return false;
}

void smc_stream_orphan(struct smc_stream *st, struct socket *sock)
{
	atomic_inc(&smc_n_orphans);
	st->path->orphan(st);
	smc_stat_orphan(st->sn, SMC_ORPHANS, 1);
	atomic_inc(&st->sn->orphans);
	/*
	 * TCP counts only connections without a socket as orphans. This connection has
	 * a socket, but the socket has no file, so count the connection here.
	 */
	if (sock)
		this_cpu_inc(tcp_orphan_count);

	spin_lock_bh(st->lock);
	smc_state_advance_app(&st->state, st->lock, SMC_APP_ORPHAN);
	st->orphan = sock;
	/* From here on the work owns the reference. */
	smc_orphan_rearm(st);
	spin_unlock_bh(st->lock);
}
