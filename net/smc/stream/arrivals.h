/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When bytes arrived that are not read yet, for who asks for their time (SO_TIMESTAMP and others).
 *
 * An arrival's time is that of all bytes from its first one to the next arrival's. Where there are
 * more arrivals than places, the last place takes them all, and the time of the last: TCP does the
 * same with segments that it joins.
 */
#ifndef SMC_STREAM_ARRIVALS_H
#define SMC_STREAM_ARRIVALS_H

#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SMC_ARRIVALS_MAX	16

struct smc_arrival {
	u64 begin;		/* position of the first byte */
	u64 time;		/* nanoseconds since 1970; 0: nobody asked */
};

/* In the order of their positions, and so of time. */
struct smc_arrivals {
	unsigned int n;
	struct smc_arrival places[SMC_ARRIVALS_MAX];
};

/* Those of which all is read: the reader is at @consumed. */
static inline void smc_arrivals_forget(struct smc_arrivals *as, u64 consumed)
{
	unsigned int read = 0;

	while (read + 1 < as->n && as->places[read + 1].begin <= consumed)
		read++;
	as->n -= read;
	memmove(as->places, as->places + read, as->n * sizeof(as->places[0]));
}

/**
 * smc_arrivals_note() - bytes arrived
 * @as: of the stream, whose lock is held
 * @begin: position of the first of them
 * @time: now, in nanoseconds since 1970; 0 if nobody asks
 * @consumed: where the reader is
 */
static inline void smc_arrivals_note(struct smc_arrivals *as, u64 begin, u64 time, u64 consumed)
{
	if (as->n == SMC_ARRIVALS_MAX)
		smc_arrivals_forget(as, consumed);
	if (as->n < SMC_ARRIVALS_MAX)
		as->places[as->n++].begin = begin;
	as->places[as->n - 1].time = time;
}

/**
 * smc_arrivals_find() - when a byte arrived
 * @as: of the stream, whose lock is held
 * @pos: of the byte, which is there and was not read before
 *
 * Return: nanoseconds since 1970, or 0 if nobody asked then.
 */
static inline u64 smc_arrivals_find(const struct smc_arrivals *as, u64 pos)
{
	unsigned int i = as->n;

	while (i--)
		if (as->places[i].begin <= pos)
			return as->places[i].time;
	return 0;
}

#ifdef __cplusplus
}
#endif
#endif
