/* SPDX-License-Identifier: GPL-2.0 */
/* The decisions of spin.c: how long a reader busy polls, given how long earlier waits took. */
#ifndef SMC_STREAM_SPIN_H
#define SMC_STREAM_SPIN_H

#include "platform.h"

/*
 * If the peer always sent just before the reader would go to sleep, the reader
 * would busy poll all the time. So a reader may poll in each wait for up to
 * SMC_SPIN_SHORT nanoseconds, about the time that a sleep costs. Longer polling
 * may take no more than one part in SMC_SPIN_PARTS of the time.
 */
#define SMC_SPIN_SHORT	100000
#define SMC_SPIN_PARTS	4

/**
 * struct smc_spin - durations of a stream's waits, in nanoseconds; all zero in
 * a new stream
 * @last: the last wait; before the first one, the estimate for it
 * @longest: the longest wait before @last that was within the limit of polling;
 *	decays by a sixteenth with each wait that is not longer
 * @credit: remaining time for polls that take longer than SMC_SPIN_SHORT
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
 * The budget follows @longest, not @last. Otherwise, after an answer that came early,
 * the reader would poll too briefly for the next answer, and a sleep costs more than
 * the polling. @longest is updated here, at the beginning of a wait, because the
 * reader has time now.
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
 * Return: nanoseconds: @budget or 0, because polling for only a part of @budget is useless.
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
