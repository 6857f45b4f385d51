// SPDX-License-Identifier: GPL-2.0
/* Arrival times of bytes, for SO_TIMESTAMP, SO_TIMESTAMPNS and SO_TIMESTAMPING. */

#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/sock.h>

#include "internal.h"
#include "rx_timestamp.h"

void smc_stream_note_arrival(struct smc_stream *st, u64 begin)
{
	bool asks = smc_stream_asks_for_arrivals(st);

	lockdep_assert_held(st->lock);
	/* Nothing tells the stream when its socket begins to ask, so check at each arrival. */
	if (asks && !st->arrivals)
		WRITE_ONCE(st->arrivals, kzalloc(sizeof(*st->arrivals), GFP_ATOMIC));
	if (st->arrivals)
		smc_rx_timestamps_note(st->arrivals, begin, asks ? ktime_get_real_ns() : 0,
				       READ_ONCE(st->rx.consumed));
}

u64 smc_stream_arrived_at(struct smc_stream *st, u64 pos)
{
	u64 time = 0;

	spin_lock_bh(st->lock);
	if (st->arrivals && pos < st->rx.received)
		time = smc_rx_timestamps_find(st->arrivals, pos);
	spin_unlock_bh(st->lock);
	return time;
}
