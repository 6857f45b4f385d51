/* SPDX-License-Identifier: GPL-2.0 */
/* The decisions of spin.c: how long a reader watches, by how long its last waits took. */
#ifndef SMC_STREAM_SPIN_H
#define SMC_STREAM_SPIN_H

#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct smc_spin - what a stream's waits took, in nanoseconds; zeroed, nothing is known yet
 * @last: the last one
 * @longest: the longest of those before it that a reader could have watched for; with each that is
 *	not longer, a sixteenth less
 */
struct smc_spin {
	u64 last;
	u64 longest;
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
