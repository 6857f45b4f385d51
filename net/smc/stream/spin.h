/* SPDX-License-Identifier: GPL-2.0 */
/* The decisions of spin.c: how long a reader busy polls, given how long its last waits took. */
#ifndef SMC_STREAM_SPIN_H
#define SMC_STREAM_SPIN_H

#include "platform.h"

/*
 * If the peer always sent just before the reader would go to sleep, the reader
 * would busy poll all the time. So it may poll without limit only for waits of
 * up to SMC_SPIN_SHORT nanoseconds, about the time that a sleep costs. Polling
 * for longer waits may take one part in SMC_SPIN_PARTS of the time.
 */
#define SMC_SPIN_SHORT	100000
#define SMC_SPIN_PARTS	4

/**
 * struct smc_spin - durations of a stream's waits, in nanoseconds; all zero
 * before the first
 * @last: the last wait
 * @longest: the longest earlier wait that a reader could have polled for;
 *	decays by a sixteenth with each wait that is not longer
 * @credit: remaining polling time for waits that are not short
 * @credited: time at which @credit was last updated
 */
struct smc_spin {
	u64 last;
	u64 longest;
	u64 credit;
	u64 credited;
};

/**
 * smc_spin_longest() - compute @longest with the last wait included
 * @spin: wait times of the stream
 * @limit: limit of the polling time
 */
static inline u64 smc_spin_longest(const struct smc_spin *spin, u64 limit)
{
	u64 longest = spin->longest - spin->longest / 16;

	return spin->last <= limit && spin->last > longest ? spin->last : longest;
}

/**
 * smc_spin_budget() - how long to busy poll
 * @spin: wait times of the stream, whose next wait begins
 * @limit: limit of the polling time
 *
 * An answer that came earlier than usual must not shorten the polling so much
 * that the next one is missed: one sleep costs more than all the polling.
 * @longest is updated here, at the beginning of the next wait, when there is
 * time for it.
 *
 * Return: nanoseconds; 0 after a wait that was longer than @limit.
 */
static inline u64 smc_spin_budget(struct smc_spin *spin, u64 limit)
{
	spin->longest = smc_spin_longest(spin, limit);
	if (spin->last > limit)
		return 0;
	return spin->longest < limit / 2 ? 2 * spin->longest : limit;
}

/**
 * smc_spin_afford() - limit the polling time by the credit that is left
 * @spin: wait times of the stream
 * @budget: result of smc_spin_budget()
 * @limit: as for smc_spin_budget(); also the limit of the credit, and the credit
 *	of a new stream
 * @now: current time
 *
 * Return: nanoseconds: @budget or 0, because polling for a part of it is useless.
 */
static inline u64 smc_spin_afford(struct smc_spin *spin, u64 budget, u64 limit, u64 now)
{
	u64 credit = spin->credit + (now - spin->credited) / SMC_SPIN_PARTS;

	spin->credit = credit < limit ? credit : limit;
	spin->credited = now;
	return budget <= SMC_SPIN_SHORT || budget <= spin->credit ? budget : 0;
}

/**
 * smc_spin_pay() - charge polling time to the credit
 * @spin: wait times of the stream
 * @took: nanoseconds
 */
static inline void smc_spin_pay(struct smc_spin *spin, u64 took)
{
	if (took > SMC_SPIN_SHORT)
		spin->credit -= took < spin->credit ? took : spin->credit;
}

/**
 * smc_spin_learnt() - return the estimate for the first wait of the next stream
 * @spin: wait times of the stream
 * @limit: as for smc_spin_budget()
 */
static inline u64 smc_spin_learnt(const struct smc_spin *spin, u64 limit)
{
	return spin->last > limit ? spin->last : smc_spin_longest(spin, limit);
}

#endif
