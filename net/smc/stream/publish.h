/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The decisions of publish.c: where the next publish ends, what it says, and whether it is time for
 * it. They go by positions and flags alone. The stream's lock is held, so nothing moves meanwhile
 * but written, by the application.
 */
#ifndef SMC_STREAM_PUBLISH_H
#define SMC_STREAM_PUBLISH_H

#include "tx.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * With TCP_NODELAY so many publishes are in flight before small amounts wait: a program that
 * sends a few requests one after the other has them all on their way, and one that goes on has them
 * joined. Each takes one of the slots of the link, which its connections share (rdma/link.h);
 * fifteen of them can have so many.
 */
#define SMC_NODELAY_PUBLISHES	4

enum smc_push {
	SMC_PUSH_AUTOCORK,	/* small amounts may wait for a publish in flight */
	SMC_PUSH_NOW,
};

/* The answers of smc_publish_judge(). */
enum smc_verdict {
	SMC_VERDICT_NOTHING,	/* there is nothing to say */
	SMC_VERDICT_HOLD,	/* a completion pushes it */
	SMC_VERDICT_LIMIT,	/* the peer's credit does, or smc_stream_limit_wait() */
	SMC_VERDICT_GO,
};

/**
 * smc_publish_is_allowed() - whether this end may say something
 * @tx: of the stream
 * @peer: the connection's flags that the peer has published
 *
 * After its last word this end keeps silent, for the peer may have freed its element. One that has
 * not ended the stream itself has not, and may still be told that this end ceases to wait.
 */
static inline bool smc_publish_is_allowed(const struct smc_stream_tx *tx, u8 peer)
{
	u8 said = tx->conn_flags & SMC_PEER_GONE;

	if (!said)
		return true;
	return said == SMC_CONN_CLOSED && (tx->final_flags & SMC_CONN_ABORT) &&
	       !(peer & SMC_PEER_GONE);
}

/**
 * smc_publish_end() - where the next publish ends
 * @tx: of the stream
 *
 * An urgent byte ends one of its own, because its flag means the last byte of what is published.
 */
static inline u64 smc_publish_end(const struct smc_stream_tx *tx)
{
	u64 window = tx->acked + tx->peer_size;
	u64 end;

	if (unlikely(tx->final_flags & SMC_CONN_ABORT))
		return tx->sent;
	if (unlikely(tx->urgent > tx->sent))
		end = tx->urgent;
	else
		/* Pairs with the release in smc_tx_write(): the bytes are in the ring. */
		end = smp_load_acquire(&tx->written);
	return end < window ? end : window;
}

/* Nothing is to follow: because it is all, or nobody takes it any more. */
static inline bool smc_publish_is_last(const struct smc_stream_tx *tx, u64 end, u8 peer)
{
	return end == READ_ONCE(tx->written) || (tx->final_flags & SMC_CONN_ABORT) ||
	       (peer & SMC_PEER_GONE);
}

/**
 * smc_publish_final() - what is said for the first time with a publish that is the last
 * @tx: of the stream
 * @end: of the publish
 * @peer: the connection's flags that the peer has published
 *
 * An end in good order says that all bytes are there, so a reset that leaves some out is said
 * without.
 *
 * Return: flags; 0 if the publish is not the last.
 */
static inline u8 smc_publish_final(const struct smc_stream_tx *tx, u64 end, u8 peer)
{
	u8 final = tx->final_flags & ~tx->conn_flags;

	if (!smc_publish_is_last(tx, end, peer))
		return 0;
	if ((final & SMC_CONN_ABORT) && end != READ_ONCE(tx->written))
		return SMC_CONN_ABORT;
	return final;
}

/**
 * smc_publish_lacks_completion() - whether one more message is to be completed for a writer
 * @tx: of the stream; the caller sees to it that there is no room for writers in its ring
 *
 * A writer waits for room in a ring that is full of what was published without a completion, and
 * the peer has no reason to say that it read it. The completion of one more message will do.
 */
static inline bool smc_publish_lacks_completion(const struct smc_stream_tx *tx)
{
	return READ_ONCE(tx->waiting) && !tx->in_flight &&
	       !(tx->prod_flags & SMC_PROD_WRITE_BLOCKED);
}

/*
 * Small amounts, less than @enough, wait for a publish in flight, so that many small writes share
 * one message; its completion pushes them.
 */
static inline bool smc_publish_may_wait(const struct smc_stream_tx *tx, u64 pending,
					const unsigned int *enough)
{
	unsigned int most = tx->nodelay ? SMC_NODELAY_PUBLISHES : 1;

	return tx->in_flight >= most && !tx->control && !tx->urgent && pending < READ_ONCE(*enough);
}

/*
 * Bytes that the window leaves for later wait until they are worth a message. The peer was asked,
 * by the publish that used the window up, to go on giving it back; but it may read no more before
 * it has the rest, so there is a limit to the wait (RFC 1122 section 4.2.3.4).
 */
static inline bool smc_publish_may_wait_for_window(const struct smc_stream_tx *tx, u64 end)
{
	return !tx->control && !tx->urgent && end < READ_ONCE(tx->written) &&
	       smc_tx_window_is_low(tx, tx->sent);
}

/**
 * smc_publish_judge() - whether it is time for the next publish
 * @tx: of the stream
 * @how: whether it may wait
 * @end: of the publish
 * @final: of smc_publish_final()
 * @enough: bytes that do not wait for a publish in flight, of net.smc.autocorking_size
 */
static inline enum smc_verdict smc_publish_judge(const struct smc_stream_tx *tx, enum smc_push how,
						 u64 end, u8 final, const unsigned int *enough)
{
	u64 pending = end - tx->sent;

	if (!pending && !tx->control && !final)
		return SMC_VERDICT_NOTHING;
	if (how == SMC_PUSH_NOW || final)
		return SMC_VERDICT_GO;
	if (smc_publish_may_wait(tx, pending, enough))
		return SMC_VERDICT_HOLD;
	if (smc_publish_may_wait_for_window(tx, end))
		return SMC_VERDICT_LIMIT;
	return SMC_VERDICT_GO;
}

/**
 * smc_publish_prod_flags() - the producer's flags of a publish
 * @tx: of the stream
 * @end: of the publish
 * @final: of smc_publish_final()
 * @has_mate: the other end is in this kernel, too
 */
static inline u8 smc_publish_prod_flags(const struct smc_stream_tx *tx, u64 end, u8 final,
					bool has_mate)
{
	u8 flags = tx->prod_flags;

	/*
	 * A publish that uses up the window asks for it back: a peer that has read everything when
	 * it is asked later may have no occasion to answer.
	 */
	if (smc_tx_window_is_low(tx, end))
		flags |= SMC_PROD_WANT_WINDOW;
	/* How long an orphan waits depends on what is read, and it can't ask for that later. */
	if ((final & SMC_CONN_CLOSED) && end != tx->acked && !has_mate) {
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

#ifdef __cplusplus
}
#endif
#endif
