/* SPDX-License-Identifier: GPL-2.0 */
/* The decisions of spin.c: how long a reader watches, by how long its last waits took. */
#ifndef SMC_STREAM_SPIN_H
#define SMC_STREAM_SPIN_H

#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A peer that always sends just before its reader goes to sleep would have it watch all the time.
 * So waits of up to this many nanoseconds, about what a sleep takes, are watched for at any time,
 * and longer ones for one of so many parts of the time.
 */
#define SMC_SPIN_SHORT	100000
#define SMC_SPIN_PARTS	4

/**
 * struct smc_spin - what a stream's waits took, in nanoseconds; zeroed, nothing is known yet
 * @last: the last one
 * @longest: the longest of those before it that a reader could have watched for; with each that is
 *	not longer, a sixteenth less
 * @credit: how long to watch for waits that are not short
 * @credited: until when @credit counts
 */
struct smc_spin {
	u64 last;
	u64 longest;
	u64 credit;
	u64 credited;
};

/**
 * smc_spin_longest() - what @longest is with the last wait
 * @spin: of the stream
 * @most: longer than this no reader watches
 */
static inline u64 smc_spin_longest(const struct smc_spin *spin, u64 most)
{
	u64 longest = spin->longest - spin->longest / 16;

	return spin->last <= most && spin->last > longest ? spin->last : longest;
}

/**
 * smc_spin_budget() - how long to watch
 * @spin: of the stream, a wait of which begins
 * @most: no longer than this
 *
 * An answer that came earlier than usual leaves enough for the next one that does not: one sleep
 * costs more than all the watching. The last wait changes @longest here, when the next one begins,
 * and there is time.
 *
 * Return: nanoseconds; 0 after a wait that was longer than @most.
 */
static inline u64 smc_spin_budget(struct smc_spin *spin, u64 most)
{
	spin->longest = smc_spin_longest(spin, most);
	if (spin->last > most)
		return 0;
	return spin->longest < most / 2 ? 2 * spin->longest : most;
}

/**
 * smc_spin_afford() - how long to watch, as often as it was watched already
 * @spin: of the stream
 * @budget: of smc_spin_budget()
 * @most: of smc_spin_budget(), and what is saved up for at the most; a new stream has it
 * @now: a clock
 *
 * Return: nanoseconds: all of @budget or 0, for a part of it would be in vain.
 */
static inline u64 smc_spin_afford(struct smc_spin *spin, u64 budget, u64 most, u64 now)
{
	u64 credit = spin->credit + (now - spin->credited) / SMC_SPIN_PARTS;

	spin->credit = credit < most ? credit : most;
	spin->credited = now;
	return budget <= SMC_SPIN_SHORT || budget <= spin->credit ? budget : 0;
}

/**
 * smc_spin_pay() - it was watched
 * @spin: of the stream
 * @took: for so long
 */
static inline void smc_spin_pay(struct smc_spin *spin, u64 took)
{
	if (took > SMC_SPIN_SHORT)
		spin->credit -= took < spin->credit ? took : spin->credit;
}

/**
 * smc_spin_learnt() - what another stream is to begin with, as its last wait
 * @spin: of the stream
 * @most: of smc_spin_budget()
 */
static inline u64 smc_spin_learnt(const struct smc_spin *spin, u64 most)
{
	return spin->last > most ? spin->last : smc_spin_longest(spin, most);
}

#ifdef __cplusplus
}
#endif
#endif
