// SPDX-License-Identifier: GPL-2.0
/*
 * Watching for what the peer sends instead of going to sleep. Many a peer answers, or writes on,
 * sooner than a sleeper could be woken; how soon it did the last times tells, as with KVM's halt
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

/*
 * So often a reader looks for something to read before it asks the clock and relaxes. Both take
 * longer, in a guest some hundred nanoseconds, and an answer would wait for that.
 */
#define SMC_SPIN_LOOKS	16

/* SO_BUSY_POLL: nanoseconds to watch whatever the peer did before. */
static u64 smc_busy_poll(const struct sock *sk)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return (u64)READ_ONCE(sk->sk_ll_usec) * NSEC_PER_USEC;
#else
	return 0;
#endif
}

static u64 smc_spin_most(const struct smc_stream *st)
{
	return (u64)READ_ONCE(st->sn->sysctl.spin_usec) * NSEC_PER_USEC;
}

static bool smc_spin_look(const struct smc_stream *st, u64 pos)
{
	int i;

	for (i = 0; i < SMC_SPIN_LOOKS; i++)
		if (smc_stream_may_read(st, pos))
			return true;
	return false;
}

bool smc_stream_spin(struct smc_stream *st, u64 pos, u64 began)
{
	u64 most = smc_spin_most(st);
	u64 own = smc_spin_afford(&st->spin, smc_spin_budget(&st->spin, most), most, began);
	u64 budget = max(smc_busy_poll(st->sk), own);
	u64 now = began;
	bool found;

	/* A processor with others to run does not watch: the lock need not be released for it. */
	if (!budget || !single_task_running())
		return false;
	release_sock(st->sk);
	for (;;) {
		found = smc_spin_look(st, pos);
		if (found || !single_task_running() || need_resched() || signal_pending(current))
			break;
		/* The time of the last look that finds nothing is near enough to the answer's. */
		now = local_clock();
		if (now - began >= budget)
			break;
		cpu_relax();
	}
	lock_sock(st->sk);
	/* What SO_BUSY_POLL wants is its own. */
	smc_spin_pay(&st->spin, min(now - began, own));
	if (found)
		smc_stream_note_wait(st, now - began);
	return found;
}

void smc_stream_spin_begin(struct smc_stream *st, enum smc_role role)
{
	st->first_wait = &st->sn->first_wait[st->path->kind][role];
	st->spin.last = READ_ONCE(*st->first_wait);
}

void smc_stream_note_wait(struct smc_stream *st, u64 took)
{
	st->spin.last = took;
	if (likely(!st->first_wait))
		return;
	WRITE_ONCE(*st->first_wait, smc_spin_learnt(&st->spin, smc_spin_most(st)));
	st->first_wait = NULL;
}
