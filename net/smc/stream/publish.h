/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The decisions of publish.c: where the next publish ends, which flags it
 * carries, and whether it is due. They depend on positions and flags alone. The
 * stream's lock is held, so meanwhile only tx->written changes, when the
 * application writes. (send.c decides whether MSG_MORE or TCP_CORK delays the
 * publish of a write.)
 */
#ifndef SMC_STREAM_PUBLISH_H
#define SMC_STREAM_PUBLISH_H

#include "tx.h"

/*
 * With TCP_NODELAY, small amounts wait only while this many publishes are in
 * flight. So a program can send a few requests in a row without delay; if it
 * sends more, they share a message. Each publish takes one send slot of the link
 * (rdma/link.h). The link's connections share its slots, and there are enough
 * for eleven connections with this many publishes.
 */
#define SMC_NODELAY_PUBLISHES	4

enum smc_push {
	SMC_PUSH_AUTOCORK,	/* small amounts may wait for a publish in flight */
	SMC_PUSH_NOW,
};

/* The results of smc_publish_decide(). */
enum smc_publish_decision {
	SMC_DUE_NOTHING,	/* there is nothing to publish */
	SMC_DUE_HELD,		/* wait for a completion, which pushes again */
	SMC_DUE_LIMITED,	/* wait for the peer's credit, but no longer than the hold timer */
	SMC_DUE_NOW,
};

/**
 * smc_publish_is_allowed() - whether this end may still publish
 * @tx: send positions of the stream
 * @peer: connection flags that the peer has published
 *
 * After its final flags this end publishes nothing, because the peer may have
 * freed its element. There are two exceptions. A peer that has not sent final flags
 * itself still has its element, so this end may send it SMC_CONN_ABORT after
 * SMC_CONN_CLOSED, to say that this end no longer waits for the peer to close. And
 * if the path has moved, the final flags may be lost, so this end publishes them again.
 */
static inline bool smc_publish_is_allowed(const struct smc_stream_tx *tx, u8 peer)
{
	u8 said = tx->conn_flags & SMC_CONN_FINAL;

	if (!said || tx->update == SMC_UPDATE_AGAIN)
		return true;
	return said == SMC_CONN_CLOSED && (tx->end_flags & SMC_CONN_ABORT) &&
	       !(peer & SMC_CONN_FINAL);
}

/**
 * smc_publish_end() - determine where the next publish ends
 * @tx: send positions of the stream
 *
 * An urgent byte is the last one of its publish, because
 * SMC_PROD_URGENT_PRESENT refers to the last byte.
 */
static inline u64 smc_publish_end(const struct smc_stream_tx *tx)
{
	u64 window = tx->acked + tx->peer_size;
	u64 end;

	if (unlikely((tx->end_flags & SMC_CONN_ABORT) || (tx->conn_flags & SMC_CONN_FINAL)))
		return tx->sent;
	if (unlikely(tx->urgent > tx->sent))
		end = tx->urgent;
	else
		/* Pairs with the release in smc_tx_write(): the bytes are in the ring. */
		end = smp_load_acquire(&tx->written);
	return end < window ? end : window;
}

/**
 * smc_publish_piece() - shorten the next publish to the path's limit, tx->publish_max
 * @tx: send positions of the stream
 * @end: result of smc_publish_end()
 * @peer: connection flags that the peer has published
 *
 * A peer that has sent final flags discards the bytes. For such a peer the bytes are not split,
 * because that would delay the final flags of this end.
 *
 * Return: position where the publish ends.
 */
static inline u64 smc_publish_piece(const struct smc_stream_tx *tx, u64 end, u8 peer)
{
	u32 max = READ_ONCE(tx->publish_max);

	return end - tx->sent > max && !(peer & SMC_CONN_FINAL) ? tx->sent + max : end;
}

/*
 * Whether no bytes follow a publish up to @end: none are left, this end discards them (an abort),
 * or the peer does (it has sent final flags).
 */
static inline bool smc_publish_is_last(const struct smc_stream_tx *tx, u64 end, u8 peer)
{
	return end == READ_ONCE(tx->written) || (tx->end_flags & SMC_CONN_ABORT) ||
	       (peer & SMC_CONN_FINAL);
}

/**
 * smc_publish_final() - determine which connection flags to send for the first time
 * @tx: send positions of the stream
 * @end: position where the publish ends
 * @peer: connection flags that the peer has published
 *
 * The flags of an orderly end tell the peer that it has all bytes. So a reset
 * that leaves out bytes sends SMC_CONN_ABORT alone, and no flag follows it.
 *
 * Return: flags; 0 if more bytes follow this publish, or no flag is left to send.
 */
static inline u8 smc_publish_final(const struct smc_stream_tx *tx, u64 end, u8 peer)
{
	u8 final = tx->end_flags & ~tx->conn_flags;

	if (!smc_publish_is_last(tx, end, peer) || (tx->conn_flags & SMC_CONN_ABORT))
		return 0;
	if ((final & SMC_CONN_ABORT) && end != READ_ONCE(tx->written))
		return SMC_CONN_ABORT;
	return final;
}

/**
 * smc_publish_lacks_completion() - whether a writer needs a message that completes
 * @tx: send positions of the stream; its ring has no room for writers, which
 *	the caller checks
 *
 * The ring may be full of bytes that were published without a completion, and
 * the peer may have no reason to report that it read them. Then a waiting writer
 * gets room only when one more message completes.
 */
static inline bool smc_publish_lacks_completion(const struct smc_stream_tx *tx)
{
	return smc_tx_has_writer(tx) && !tx->in_flight &&
	       !(tx->prod_flags & SMC_PROD_WRITE_BLOCKED);
}

/*
 * Whether @pending bytes wait for the completion of a publish in flight, which
 * pushes them. Only fewer than @enough bytes wait, so that many small writes share
 * one message.
 */
static inline bool smc_publish_may_wait(const struct smc_stream_tx *tx, u64 pending,
					const unsigned int *enough)
{
	unsigned int in_flight_max = tx->nodelay ? SMC_NODELAY_PUBLISHES : 1;

	return tx->in_flight >= in_flight_max && !tx->update && !tx->urgent &&
	       pending < READ_ONCE(*enough);
}

/*
 * Whether bytes wait for a larger window. If the window is low, and too small for
 * all written bytes, no bytes are published until the peer has returned enough
 * window for a useful message. An earlier publish has asked the peer for window.
 * But the peer's application may read nothing before it has the remaining bytes, so
 * the hold timer limits this wait (RFC 1122 section 4.2.3.4).
 */
static inline bool smc_publish_may_wait_for_window(const struct smc_stream_tx *tx, u64 end)
{
	return !tx->update && !tx->urgent && end < READ_ONCE(tx->written) &&
	       smc_tx_window_is_low(tx, tx->sent);
}

/**
 * smc_publish_decide() - whether the next publish is due
 * @tx: send positions of the stream
 * @how: whether the publish may be held back
 * @end: position where the publish ends
 * @final: result of smc_publish_final()
 * @enough: net.smc.autocorking_size, which may change at any time: this many
 *	bytes, or more, do not wait for a publish in flight
 */
static inline enum smc_publish_decision smc_publish_decide(const struct smc_stream_tx *tx,
							   enum smc_push how,
							   u64 end, u8 final,
							   const unsigned int *enough)
{
	u64 pending = end - tx->sent;

	if (!pending && !tx->update && !final)
		return SMC_DUE_NOTHING;
	/* Bytes up to tx->due were due before, but exceeded tx->publish_max or the path's room. */
	if (how == SMC_PUSH_NOW || final || tx->due > tx->sent)
		return SMC_DUE_NOW;
	if (smc_publish_may_wait(tx, pending, enough))
		return SMC_DUE_HELD;
	if (smc_publish_may_wait_for_window(tx, end))
		return SMC_DUE_LIMITED;
	return SMC_DUE_NOW;
}

/**
 * smc_publish_prod_flags() - determine the producer flags of a publish
 * @tx: send positions of the stream
 * @end: position where the publish ends
 * @final: result of smc_publish_final()
 * @has_local_peer: the other end is a local peer
 */
static inline u8 smc_publish_prod_flags(const struct smc_stream_tx *tx, u64 end, u8 final,
					bool has_local_peer)
{
	u8 flags = tx->prod_flags;

	/*
	 * A publish that leaves little window also asks the peer to return
	 * window. If the request came later, a peer that has read everything by
	 * then might have no occasion to answer.
	 */
	if (smc_tx_window_is_low(tx, end))
		flags |= SMC_PROD_WANT_WINDOW;
	/*
	 * UPDATE_REQUESTED alone asks the peer to report each read. An orphan
	 * needs these reports for its peer's time limit, and can't ask for them
	 * later, because it publishes no more.
	 */
	if (((final | tx->conn_flags) & SMC_CONN_CLOSED) && end != tx->acked && !has_local_peer) {
		flags &= ~SMC_PROD_WRITE_BLOCKED;
		flags |= SMC_PROD_UPDATE_REQUESTED;
	}
	if (unlikely(tx->urgent)) {
		flags |= SMC_PROD_URGENT_PENDING;
		if (end == tx->urgent)
			flags |= SMC_PROD_URGENT_PRESENT;
	}
	return flags;
}

#endif
