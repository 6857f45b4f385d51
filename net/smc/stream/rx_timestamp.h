/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arrival times of unread bytes, for sockets that ask for them (SO_TIMESTAMP and others).
 *
 * The time of an arrival applies to all bytes from its first one up to the first
 * byte of the next arrival. If there are more arrivals than entries, the last entry
 * covers all later arrivals, with the time of the latest. TCP joins segments in the
 * same way.
 */
#ifndef SMC_STREAM_RX_TIMESTAMP_H
#define SMC_STREAM_RX_TIMESTAMP_H

#include "platform.h"

#define SMC_ARRIVALS_MAX	16

struct smc_rx_timestamp {
	u64 begin;		/* position of the first byte */
	u64 time;		/* nanoseconds since 1970; 0 if not asked for */
};

/* Sorted by position, for smc_rx_timestamps_find(). */
struct smc_rx_timestamps {
	unsigned int n;
	struct smc_rx_timestamp places[SMC_ARRIVALS_MAX];
};

/* Drop the arrivals whose bytes are all read: the reader is at @consumed. */
static inline void smc_rx_timestamps_forget(struct smc_rx_timestamps *as, u64 consumed)
{
	unsigned int read = 0;

	while (read + 1 < as->n && as->places[read + 1].begin <= consumed)
		read++;
	as->n -= read;
	memmove(as->places, as->places + read, as->n * sizeof(as->places[0]));
}

/**
 * smc_rx_timestamps_note() - record an arrival
 * @as: arrivals of the stream, whose lock is held
 * @begin: position of the first byte that arrived
 * @time: current time in nanoseconds since 1970; 0 if the socket does not ask for it
 * @consumed: position of the reader
 */
static inline void smc_rx_timestamps_note(struct smc_rx_timestamps *as, u64 begin, u64 time,
					  u64 consumed)
{
	if (as->n == SMC_ARRIVALS_MAX)
		smc_rx_timestamps_forget(as, consumed);
	if (as->n < SMC_ARRIVALS_MAX)
		as->places[as->n++].begin = begin;
	as->places[as->n - 1].time = time;
}

/**
 * smc_rx_timestamps_find() - find the arrival time of a byte
 * @as: arrivals of the stream, whose lock is held
 * @pos: position of the byte, which has arrived and is not consumed yet
 *
 * Return: nanoseconds since 1970, or 0 if the socket did not ask for times when the byte arrived.
 */
static inline u64 smc_rx_timestamps_find(const struct smc_rx_timestamps *as, u64 pos)
{
	unsigned int i = as->n;

	while (i--)
		if (as->places[i].begin <= pos)
			return as->places[i].time;
	return 0;
}

#endif
