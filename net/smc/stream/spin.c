// SPDX-License-Identifier: GPL-2.0
/*
 * Watching for what the peer sends instead of going to sleep. Many a peer answers, or writes on,
 * sooner than a sleeper could be woken; how soon it did last time tells, as with KVM's halt
 * polling, for how long to watch the next time. A processor that has something else to do does
 * that. The first wait of a stream is like that of another one of its namespace, path and role.
 */

#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <net/sock.h>

#include "admin/net.h"
#include "internal.h"

/* SO_BUSY_POLL: nanoseconds to watch whatever the peer did before. */
static u64 smc_busy_poll(const struct sock *sk)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return (u64)READ_ONCE(sk->sk_ll_usec) * NSEC_PER_USEC;
#else
	return 0;
#endif
}

/* Nanoseconds to watch, by how long the last wait took. */
static u64 smc_spin_learnt(const struct smc_stream *st)
{
	u64 most = (u64)READ_ONCE(st->sn->sysctl.spin_usec) * NSEC_PER_USEC;

	return st->rx.waited <= most ? min(2 * st->rx.waited, most) : 0;
}

bool smc_stream_spin(struct smc_stream *st, u64 pos, u64 began)
{
	u64 budget = max(smc_busy_poll(st->sk), smc_spin_learnt(st));
	bool found = false;

	/* A processor with others to run does not watch: the lock need not be released for it. */
	if (!budget || !single_task_running())
		return false;
	release_sock(st->sk);
	do {
		cpu_relax();
		found = smc_stream_may_read(st, pos);
	} while (!found && single_task_running() && !need_resched() &&
		 !signal_pending(current) && local_clock() - began < budget);
	lock_sock(st->sk);
	return found;
}

void smc_stream_spin_begin(struct smc_stream *st, enum smc_role role)
{
	st->rx.first_wait = &st->sn->first_wait[st->path->kind][role];
	st->rx.waited = READ_ONCE(*st->rx.first_wait);
}

void smc_stream_spin_adapt(struct smc_stream *st, u64 took)
{
	st->rx.waited = took;
	if (!st->rx.first_wait)
		return;
	WRITE_ONCE(*st->rx.first_wait, took);
	st->rx.first_wait = NULL;
}
