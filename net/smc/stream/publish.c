// SPDX-License-Identifier: GPL-2.0
/* When and what a stream publishes to its peer. */

#include <net/sock.h>

#include "admin/net.h"
#include "internal.h"

/*
 * With TCP_NODELAY so many publishes are in flight before small amounts wait: who sends a few
 * requests one after the other has them all on their way, and who goes on has them joined. Each
 * takes one of the slots of the link, which its connections share (rdma/link.h); fifteen of them
 * can have so many.
 */
#define SMC_NODELAY_PUBLISHES	4

/*
 * Where the next publish ends. An urgent byte ends one of its own, because its flag
 * means the last byte of what is published.
 */
static u64 smc_publish_end(const struct smc_stream *st)
{
	u64 window = st->tx.acked + st->tx.peer_size;

	if (st->tx.final_flags & SMC_CONN_ABORT)
		return st->tx.sent;
	if (st->tx.urgent > st->tx.sent)
		return min(st->tx.urgent, window);
	/* Pairs with the release in smc_stream_commit(): the bytes are in the ring. */
	return min(smp_load_acquire(&st->tx.written), window);
}

/*
 * A writer waits for room in a ring that is full of what was published without a completion, and
 * the peer has no reason to say that it read it. The completion of one more message will do.
 */
static bool smc_publish_lacks_completion(const struct smc_stream *st)
{
	return READ_ONCE(st->tx.waiting) && !st->tx.in_flight && !smc_tx_writable(st) &&
	       !(st->tx.prod_flags & SMC_PROD_WRITE_BLOCKED);
}

/*
 * What the window leaves for later waits until that is worth a message. The peer was asked, by the
 * publish that used the window up, to go on giving it back; but it may read no more before it has
 * the rest, so there is a limit to the wait (RFC 1122 section 4.2.3.4).
 */
static bool smc_publish_may_wait_for_window(const struct smc_stream *st, u64 end)
{
	return !st->tx.control && !st->tx.urgent && end < READ_ONCE(st->tx.written) &&
	       smc_tx_window_is_low(&st->tx, st->tx.sent);
}

/* Nothing is to follow: because it is all, or nobody takes it any more. */
static bool smc_publish_is_last(const struct smc_stream *st, u64 end)
{
	return end == READ_ONCE(st->tx.written) || (st->tx.final_flags & SMC_CONN_ABORT) ||
	       (st->rx.conn_flags & SMC_PEER_GONE);
}

/*
 * What is said for the first time with a publish that is the last. An end in good order says that
 * all bytes are there, so a reset that leaves some out is said without.
 */
static u8 smc_publish_final(const struct smc_stream *st, u64 end)
{
	u8 final = st->tx.final_flags & ~st->tx.conn_flags;

	if (!smc_publish_is_last(st, end))
		return 0;
	if ((final & SMC_CONN_ABORT) && end != READ_ONCE(st->tx.written))
		return SMC_CONN_ABORT;
	return final;
}

/*
 * Small amounts wait for a publish in flight, so that many small writes
 * share one message; its completion pushes them.
 */
static bool smc_publish_may_wait(const struct smc_stream *st, u64 pending)
{
	unsigned int most = st->tx.nodelay ? SMC_NODELAY_PUBLISHES : 1;

	return st->tx.in_flight >= most && !st->tx.control && !st->tx.urgent &&
	       pending < READ_ONCE(st->sn->sysctl.autocorking_size);
}

/* One call of the path. Return: 0, or its error with nothing changed. */
static int smc_publish_once(struct smc_stream *st, u64 end, u8 final)
{
	u64 consumed = READ_ONCE(st->rx.consumed);
	struct smc_cdc cdc = {
		.prod = smc_cursor_advanced(st->tx.sent_cursor, st->tx.peer_size,
					    end - st->tx.sent),
		.cons = smc_cursor_advanced(st->rx.reported_cursor, st->rx.size,
					    consumed - st->rx.reported),
		.prod_flags = st->tx.prod_flags,
		.conn_flags = st->tx.conn_flags | final,
	};
	/* TCP_NOTSENT_LOWAT may hold back a writer that waits. */
	bool held = READ_ONCE(st->tx.waiting) && smc_tx_is_held(st);
	int rc;

	/*
	 * What uses up the window asks for it back: a peer that has read everything when it is
	 * asked later may have no occasion to answer.
	 */
	if (smc_tx_window_is_low(&st->tx, end))
		cdc.prod_flags |= SMC_PROD_WANT_WINDOW;
	/* How long an orphan waits depends on what is read, and it can't ask for that later. */
	if ((final & SMC_CONN_CLOSED) && end != st->tx.acked && !st->mate) {
		cdc.prod_flags &= ~SMC_PROD_WRITE_BLOCKED;
		cdc.prod_flags |= SMC_PROD_UPDATE_REQUESTED;
	}
	if (st->tx.urgent) {
		cdc.prod_flags |= SMC_PROD_URGENT_PENDING;
		if (end == st->tx.urgent)
			cdc.prod_flags |= SMC_PROD_URGENT_PRESENT;
	}

	rc = st->path->publish(st, end, &cdc);
	if (rc < 0)
		return rc;
	if (end == st->tx.urgent)
		st->tx.urgent = 0;
	WRITE_ONCE(st->tx.sent, end);
	if (held)
		smc_stream_note_room(st);
	st->tx.sent_cursor = cdc.prod;
	WRITE_ONCE(st->rx.reported, consumed);
	st->rx.reported_cursor = cdc.cons;
	st->tx.prod_flags = cdc.prod_flags & ~SMC_PROD_URGENT;
	st->tx.control = false;
	if (rc == SMC_PUBLISH_DONE)
		WRITE_ONCE(st->tx.arrived, end);
	else
		WRITE_ONCE(st->tx.in_flight, st->tx.in_flight + 1);
	if (final)
		WRITE_ONCE(st->tx.ends_in, st->tx.in_flight);
	/* Pairs with smc_stream_has_ended(): who sees the last word sees it in flight. */
	smp_store_release(&st->tx.conn_flags, cdc.conn_flags);
	if (final && smc_stream_has_ended(st))
		st->news |= SMC_NEWS_ENDED;
	return 0;
}

/*
 * After its last word this end keeps silent, for the peer may have freed its element. One that has
 * not ended the stream itself has not, and may still be told that this end ceases to wait.
 */
static bool smc_publish_is_allowed(const struct smc_stream *st)
{
	u8 said = st->tx.conn_flags & SMC_PEER_GONE;

	if (st->dead)
		return false;
	if (!said)
		return true;
	return said == SMC_CONN_CLOSED && (st->tx.final_flags & SMC_CONN_ABORT) &&
	       !(st->rx.conn_flags & SMC_PEER_GONE);
}

void smc_stream_push(struct smc_stream *st, enum smc_push how)
{
	u64 end, pending;
	u8 final;

	lockdep_assert_held(st->lock);

	while (smc_publish_is_allowed(st)) {
		end = smc_publish_end(st);
		pending = end - st->tx.sent;
		final = smc_publish_final(st, end);

		if (!pending && smc_publish_lacks_completion(st))
			st->tx.control = true;
		if (!pending && !st->tx.control && !final)
			return;
		if (how == SMC_PUSH_AUTOCORK && !final && smc_publish_may_wait(st, pending))
			return;
		if (how == SMC_PUSH_AUTOCORK && !final &&
		    smc_publish_may_wait_for_window(st, end)) {
			smc_stream_limit_wait(st);
			return;
		}
		if (smc_publish_once(st, end, final) || end == READ_ONCE(st->tx.written))
			return;
	}
}
