/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The life of a stream: that of its path and that of its application. Each moves on only, under the
 * stream's lock, by the functions below.
 *
 *	path	UP ──(lost, or the peer is given up)──> LOST ──> OVER
 *		UP ──(both ends have said their last word)────────> OVER
 *
 *	app	NONE ──(attach)──> ATTACHED ──(close)──> ORPHAN
 *		                   ATTACHED ──(close)──> GONE
 *
 * The stream is UP until its path is lost or both ends are through with it. Whoever releases the
 * lock then finds it OVER (smc_stream_settle()) and tells the path. An application that closes
 * leaves an ORPHAN if the peer still has to be told, or to take, something; else it is GONE.
 */
#ifndef SMC_STREAM_STATE_H
#define SMC_STREAM_STATE_H

#include <linux/lockdep.h>
#include <linux/spinlock.h>

#include "trace.h"

enum smc_path_state {
	SMC_PATH_UP,
	SMC_PATH_LOST,	/* no publish is possible any more */
	SMC_PATH_OVER,	/* path->over() follows, or was called; no copy into tx.ring begins */
};

enum smc_app_state {
	SMC_APP_NONE,		/* the handshake is under way, or failed */
	SMC_APP_ATTACHED,	/* a socket's */
	SMC_APP_ORPHAN,		/* closed; the kernel awaits the peer, see orphan.c */
	SMC_APP_GONE,		/* closed; at the most, a mate's end is left to await */
};

/**
 * struct smc_stream_state - where a stream is in its life
 * @path: under the stream's lock; by READ_ONCE() without it
 * @app: likewise
 */
struct smc_stream_state {
	enum smc_path_state path;
	enum smc_app_state app;
};

/* The path has come to @path, or is further on. The caller holds @lock, the stream's. */
static inline void smc_state_path(struct smc_stream_state *state, const spinlock_t *lock,
				  enum smc_path_state path)
{
	lockdep_assert_held(lock);
	if (path <= state->path)
		return;
	/* Pairs with smc_state_is_over(): a sender that finds it over finds out why. */
	smp_store_release(&state->path, path);
	trace_smc_stream_state(state);
}

/* The same of the application. */
static inline void smc_state_app(struct smc_stream_state *state, const spinlock_t *lock,
				 enum smc_app_state app)
{
	lockdep_assert_held(lock);
	if (app <= state->app)
		return;
	WRITE_ONCE(state->app, app);
	trace_smc_stream_state(state);
}

static inline bool smc_state_is_over(const struct smc_stream_state *state)
{
	/* Pairs with smc_state_path(). */
	return smp_load_acquire(&state->path) == SMC_PATH_OVER;
}

/* Nothing is published any more. */
static inline bool smc_state_is_down(const struct smc_stream_state *state)
{
	return READ_ONCE(state->path) != SMC_PATH_UP;
}

#endif
