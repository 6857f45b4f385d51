/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream has two states: that of its path and that of its application. Each
 * only moves forward, under the stream's lock, by the functions below.
 *
 *	path	UP ──(lost, or the peer is given up)──> LOST ──> OVER
 *		UP ──(both ends' final flags are sent, this end's have arrived)──> OVER
 *
 *	app	NONE ──(attach)──> ATTACHED ──(close)──> ORPHAN
 *		                   ATTACHED ──(close)──> GONE
 *
 * The path is UP until it is lost, or until both ends have sent their final flags
 * and this end's flags have arrived. (The path may have to publish this end's
 * flags again before they arrive.) After either event the next smc_stream_unlock()
 * moves the path's state to OVER and tells the path.
 *
 * When the application closes, its state becomes GONE in three cases: the stream is
 * over; both ends have sent their final flags; or a local peer has this end's final
 * flags, and so all bytes that it will get. In other cases the state becomes ORPHAN.
 */
#ifndef SMC_STREAM_STATE_H
#define SMC_STREAM_STATE_H

#include <linux/lockdep.h>
#include <linux/spinlock.h>

#include "trace.h"

enum smc_path_state {
	SMC_PATH_STATE_UP,
	SMC_PATH_STATE_LOST,	/* no publish is possible any more */
	SMC_PATH_STATE_OVER,	/* path->over() follows or was called; no new copy into tx.ring */
};

enum smc_app_state {
	SMC_APP_NONE,		/* SMC's handshake is under way, or failed */
	SMC_APP_ATTACHED,	/* attached to a socket */
	SMC_APP_ORPHAN,		/* closed; the kernel waits for the peer, see orphan.c */
	SMC_APP_GONE,		/* closed; awaits at most a local peer, or the delivery of flags */
};

/**
 * struct smc_stream_state - the two states of a stream
 * @path: state of the path; written under the stream's lock, read without it by READ_ONCE(), or by
 *	smp_load_acquire() if the reader must also see why the stream is over
 * @app: state of the application; written under the stream's lock, read by READ_ONCE() without it
 */
struct smc_stream_state {
	enum smc_path_state path;
	enum smc_app_state app;
};

/* Move the path's state to @path, unless it is further on. The caller holds @lock, the stream's. */
static inline void smc_state_advance_path(struct smc_stream_state *state, const spinlock_t *lock,
					  enum smc_path_state path)
{
	lockdep_assert_held(lock);
	if (path <= state->path)
		return;
	/*
	 * Pairs with smc_stream_is_over(): a sender that finds the stream over
	 * also sees the error or the flags that ended it.
	 */
	smp_store_release(&state->path, path);
	trace_smc_stream_state(state);
}

/* Move the application's state to @app, unless it is further on. */
static inline void smc_state_advance_app(struct smc_stream_state *state, const spinlock_t *lock,
					 enum smc_app_state app)
{
	lockdep_assert_held(lock);
	if (app <= state->app)
		return;
	WRITE_ONCE(state->app, app);
	trace_smc_stream_state(state);
}

#endif
