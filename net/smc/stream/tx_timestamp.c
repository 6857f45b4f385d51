// SPDX-License-Identifier: GPL-2.0
/*
 * SO_TIMESTAMPING of sent bytes. As with TCP, a send() that asks for timestamps
 * gets those of its last byte, in the socket's error queue. One timestamp is taken
 * when the byte is published: it stands for both entering the packet scheduler and
 * leaving by the device. Another is taken when the peer's host has the byte. If
 * more requests wait than there are entries, the latest request takes over the
 * last entry, as with data that TCP sends in one segment.
 */

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "compat.h"
#include "internal.h"

#define SMC_STAMPS_MAX		16

/* There is no SOF_TIMESTAMPING_TX_HARDWARE, because no network device sees the bytes. */
#define SMC_STAMPS_PUBLISHED	(SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE)
#define SMC_STAMPS_ARRIVED	SOF_TIMESTAMPING_TX_ACK

/* A request for timestamps of one byte, as far as they are not yet reported. */
struct smc_stamp {
	u64 end;		/* position after the byte */
	u32 wanted;		/* SOF_TIMESTAMPING_TX_* */
};

struct smc_tx_timestamps {
	bool is_reporting;	/* a thread is reporting; it checks again before it ends */
	unsigned int n;
	struct smc_stamp waiting[SMC_STAMPS_MAX];
};

void smc_tx_timestamps_number(struct smc_stream *st, u32 tsflags)
{
	atomic_t *first = &st->sk->sk_tskey;

	if (!(tsflags & SOF_TIMESTAMPING_OPT_ID) || atomic_read(first) == st->first_stamp)
		return;
	/* The option was set after the last send(). Replace the sequence number that TCP stored. */
	st->first_stamp = st->tx.written;
	atomic_set(first, st->first_stamp);
}

void smc_tx_timestamps_ask(struct smc_stream *st, u32 tsflags)
{
	u32 wanted = tsflags & (SMC_STAMPS_PUBLISHED | SMC_STAMPS_ARRIVED);
	struct smc_tx_timestamps *stamps = st->stamps;
	struct smc_stamp *last;

	if (!wanted)
		return;
	if (!stamps)
		stamps = kzalloc(sizeof(*stamps), GFP_KERNEL_ACCOUNT);
	if (!stamps)
		return;
	spin_lock_bh(st->lock);
	st->stamps = stamps;
	if (stamps->n < SMC_STAMPS_MAX)
		stamps->waiting[stamps->n++].wanted = 0;
	last = &stamps->waiting[stamps->n - 1];
	last->end = st->tx.written;
	last->wanted |= wanted;
	spin_unlock_bh(st->lock);
}

/* Return the requested timestamps of @stamp that are due. */
static u32 smc_stamp_due(const struct smc_stream *st, const struct smc_stamp *stamp)
{
	u32 due = 0;

	if (stamp->end <= st->tx.sent)
		due |= SMC_STAMPS_PUBLISHED;
	if (stamp->end <= st->tx.delivered)
		due |= SMC_STAMPS_ARRIVED;
	return stamp->wanted & due;
}

/* Find the first entry that has a due timestamp. Return: the entry, or NULL. */
static struct smc_stamp *smc_stamp_first_due(const struct smc_stream *st)
{
	struct smc_tx_timestamps *stamps = st->stamps;
	unsigned int i;

	for (i = 0; i < stamps->n; i++)
		if (smc_stamp_due(st, &stamps->waiting[i]))
			return &stamps->waiting[i];
	return NULL;
}

bool smc_tx_timestamps_are_due(const struct smc_stream *st)
{
	return smc_stamp_first_due(st);
}

/* Remove the due timestamps of the first entry that has any. Return: their flags, or 0. */
static u32 smc_tx_timestamps_take(struct smc_stream *st, u64 *end)
{
	struct smc_tx_timestamps *stamps = st->stamps;
	struct smc_stamp *stamp = smc_stamp_first_due(st);
	u32 due;

	if (!stamp)
		return 0;
	due = smc_stamp_due(st, stamp);
	*end = stamp->end;
	stamp->wanted &= ~due;
	if (!stamp->wanted)
		memmove(stamp, stamp + 1,
			(&stamps->waiting[--stamps->n] - stamp) * sizeof(*stamp));
	return due;
}

/* Report by an skb without data, in place of the segment by which TCP would report. */
static void smc_stamp_report(struct sock *sk, u32 due, u64 end)
{
	struct sk_buff *skb = alloc_skb(0, GFP_ATOMIC);

	if (!skb)
		return;
	skb_shinfo(skb)->tskey = end - 1;
	if (due & SOF_TIMESTAMPING_TX_SCHED)
		__skb_tstamp_tx(skb, NULL, NULL, sk, SCM_TSTAMP_SCHED);
	if (due & SOF_TIMESTAMPING_TX_SOFTWARE)
		__skb_tstamp_tx(skb, NULL, NULL, sk, SCM_TSTAMP_SND);
	if (due & SOF_TIMESTAMPING_TX_ACK)
		__skb_tstamp_tx(skb, NULL, NULL, sk, SCM_TSTAMP_ACK);
	consume_skb(skb);
}

void smc_tx_timestamps_report(struct smc_stream *st)
{
	struct smc_tx_timestamps *stamps = st->stamps;
	unsigned int left = SMC_STAMPS_MAX;
	u64 end;
	u32 due;

	spin_lock_bh(st->lock);
	/* Only one thread reports at a time, to report a byte's publishing before its arrival. */
	if (stamps->is_reporting)
		goto out;
	stamps->is_reporting = true;
	/*
	 * The loop is limited, because a sender may request timestamps as fast as another thread
	 * reports them here. After the end of the stream there are no new requests.
	 */
	while ((left || smc_stream_is_over(st)) && (due = smc_tx_timestamps_take(st, &end))) {
		left -= !!left;
		spin_unlock_bh(st->lock);
		smc_stamp_report(st->sk, due, end);
		spin_lock_bh(st->lock);
	}
	stamps->is_reporting = false;
	/* The next publish reports the rest, or else the hold timer does. */
	if (smc_tx_timestamps_are_due(st))
		smc_stream_start_hold_timer(st);
out:
	spin_unlock_bh(st->lock);
}
