// SPDX-License-Identifier: GPL-2.0
/*
 * Busy polling: a reader polls for bytes of the peer before it goes to sleep.
 * Many peers answer, or write more, sooner than a sleeper could be woken. As
 * with KVM's halt polling, the durations of the last waits determine how long
 * to poll the next time. A CPU that has another task to run does not poll. The
 * estimate for the first wait of a stream comes from earlier streams of the same
 * namespace, path and role.
 */

#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <net/sock.h>

#include "admin/net.h"
#include "internal.h"

/*
 * Number of checks before a reader reads the clock and relaxes the CPU. Each of
 * these two takes longer than a check, some hundred nanoseconds in a guest, and
 * delays the reader's answer if bytes arrive meanwhile.
 */
#define SMC_SPIN_LOOKS	16

/* Return how long SO_BUSY_POLL asks to poll, in nanoseconds, whatever the last waits were. */
static u64 smc_busy_poll(const struct sock *sk)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return (u64)READ_ONCE(sk->sk_ll_usec) * NSEC_PER_USEC;
#else
	return 0;
#endif
}

static u64 smc_spin_limit(const struct smc_stream *st)
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
	u64 limit = smc_spin_limit(st);
	u64 own = smc_spin_afford(&st->spin, smc_spin_budget(&st->spin, limit), limit, began);
	u64 budget = max(smc_busy_poll(st->sk), own);
	u64 now = began;
	bool found;

	/*
	 * If the CPU has other tasks to run, there is no polling, and no need
	 * to release the socket lock.
	 */
	if (!budget || !single_task_running())
		return false;
	release_sock(st->sk);
	for (;;) {
		found = smc_spin_look(st, pos);
		if (found || !single_task_running() || need_resched() || signal_pending(current))
			break;
		/*
		 * Read the clock only after checks that found nothing. If the
		 * next checks succeed, this time is close enough.
		 */
		now = local_clock();
		if (now - began >= budget)
			break;
		cpu_relax();
	}
	lock_sock(st->sk);
	/* Time that only SO_BUSY_POLL asked for is not charged. */
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
	WRITE_ONCE(*st->first_wait, smc_spin_learnt(&st->spin, smc_spin_limit(st)));
	st->first_wait = NULL;
}
