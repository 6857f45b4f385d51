// SPDX-License-Identifier: GPL-2.0
/* Runs a handshake, in the thread that connects or in a worker. */

#include <linux/string.h>
#include <net/sock.h>

#include "admin/net.h"
#include "clc_io.h"
#include "handshake.h"
#include "tcp.h"
#include "trace.h"
#include "workqueue.h"

/*
 * Limit of the host for refused handshakes that wait for the PROPOSAL. Silent clients must not fill
 * memory, nor keep the workers of smc_handshake_overflow_wq busy.
 */
#define SMC_REFUSALS_MAX	128

/* The longest time between two looks at whether the PROPOSAL has come. */
#define SMC_REFUSAL_LOOK	(HZ / 2)

static atomic_t smc_refusals;	/* refused handshakes that wait for the PROPOSAL */

static void smc_handshake_work(struct work_struct *work);

static void smc_refusal_begin(struct smc_handshake *hs)
{
	smc_clc_expect(hs);
	hs->refusal = SMC_REFUSAL_AT_ONCE;
	if (hs->role == SMC_SERVER && atomic_add_unless(&smc_refusals, 1, SMC_REFUSALS_MAX))
		hs->refusal = SMC_REFUSAL_AFTER_PROPOSAL;
}

static void smc_refusal_end(const struct smc_handshake *hs)
{
	if (hs->refusal == SMC_REFUSAL_AFTER_PROPOSAL)
		atomic_dec(&smc_refusals);
}

/* Return: the time in jiffies until the next try. While no PROPOSAL comes, the time doubles. */
static unsigned long smc_refusal_retry(const struct smc_handshake *hs)
{
	if (hs->refusal == SMC_REFUSAL_AT_ONCE)
		return SMC_SOCK_RETRY;
	return clamp((long)(jiffies - hs->due + SMC_CLC_WAIT), 1L, (long)SMC_REFUSAL_LOOK);
}

void smc_handshake_reset(struct smc_handshake *hs)
{
	memset_after(hs, 0, wait);
}

void smc_handshake_init(struct smc_handshake *hs, struct sock *sk, struct mem_cgroup *memcg,
			const struct smc_handshake_ops *ops)
{
	hs->ops = ops;
	hs->sk = sk;
	hs->memcg = memcg;
	INIT_DELAYED_WORK(&hs->work, smc_handshake_work);
	init_waitqueue_head(&hs->wait);
	smc_handshake_reset(hs);
}

void smc_handshake_start(struct smc_handshake *hs, enum smc_role role, u8 pingpong)
{
	sock_owned_by_me(hs->sk);
	hs->role = role;
	hs->pingpong = pingpong;
	trace_smc_handshake_start(hs);
	WRITE_ONCE(hs->state, SMC_HANDSHAKE_RUNS);
	/* The answer to a CLC message also acknowledges it, so no separate ACK is needed. */
	smc_tcp_set_delayed_ack(hs->sk, true);
	/* Offers stop at a limit, but earlier offers may still lead to too many handshakes. */
	if (!smc_quota_take(&hs->quota, hs->sk, role))
		smc_refusal_begin(hs);
}

/*
 * A handshake with a place in the quota gets a worker of its own. Handshakes without a place only
 * decline, and share one work queue.
 */
void smc_handshake_queue(struct smc_handshake *hs)
{
	queue_delayed_work(hs->quota.queue ? hs->quota.queue->wq : smc_handshake_overflow_wq,
			   &hs->work, 0);
}

static int smc_handshake_agree(struct smc_handshake *hs)
{
	/* smc_handshake_local() has performed the handshake already. */
	if (hs->stream)
		return 0;
	if (hs->refusal == SMC_REFUSAL_AT_ONCE)
		return smc_handshake_refuse(hs);
	if (hs->refusal && smc_clc_may_come(hs))
		return -EBUSY;
	return hs->role == SMC_CLIENT ? smc_handshake_client(hs) : smc_handshake_server(hs);
}

/*
 * Locks the socket. A connection that waits for accept() has no user who could keep it locked.
 * Return: false if a user has the socket locked.
 */
static bool smc_handshake_lock(const struct smc_handshake *hs)
{
	if (hs->sk->sk_socket)
		return smc_tcp_trylock(hs->sk);
	lock_sock(hs->sk);
	return true;
}

/*
 * Tells the socket that its handshake is over. If a user has the socket locked, a work tries again
 * after @retry jiffies. The handshake no longer holds anything that others wait for, so a user who
 * keeps the socket locked delays only his own connection.
 */
static void smc_handshake_finish(struct smc_handshake *hs, unsigned long retry)
{
	if (!smc_handshake_lock(hs)) {
		queue_delayed_work(smc_wq, &hs->work, retry);
		return;
	}
	trace_smc_handshake_end(hs);
	hs->ops->conclude(hs);
	WRITE_ONCE(hs->state, SMC_HANDSHAKE_NONE);
	wake_up(&hs->wait);
	/*
	 * Unlock last: once the socket is unlocked, its next handshake may run on another queue, or
	 * the socket may be released.
	 */
	smc_tcp_unlock(hs->sk);
}

bool smc_handshake_run(struct smc_handshake *hs)
{
	hs->result = smc_handshake_agree(hs);
	if (hs->refusal && hs->result == -EBUSY) {
		/*
		 * The handshake has no place in a queue of its namespace. Do not occupy a worker of
		 * the shared queue while the user keeps the socket locked, or no PROPOSAL comes.
		 */
		queue_delayed_work(smc_handshake_overflow_wq, &hs->work, smc_refusal_retry(hs));
		return false;
	}
	smc_refusal_end(hs);
	WRITE_ONCE(hs->state, SMC_HANDSHAKE_OVER);
	smc_quota_return(&hs->quota);
	/* Try again after one jiffy: most calls lock the socket for a moment only. */
	smc_handshake_finish(hs, 1);
	return true;
}

void smc_handshake_run_for(struct smc_handshake *hs, long timeo)
{
	smc_handshake_propose(hs);
	if (smc_handshake_await(hs, timeo))
		smc_handshake_run(hs);
	else
		smc_handshake_queue(hs);
}

/*
 * The work of a client's handshake may be queued on one work queue while it still runs on another.
 * Before the handshake is freed, smc_handshake_end() flushes the work. This flush waits only for
 * the run that was queued last. So a run must not use the handshake once it has queued the work
 * again or unlocked the socket.
 *
 * The work of a server's handshake is queued again only by a run that refuses the handshake: no
 * user can have the socket locked before accept(). That run must not use the handshake afterwards.
 * The last run calls ->release() at its end.
 */
static void smc_handshake_work(struct work_struct *work)
{
	struct smc_handshake *hs = container_of(to_delayed_work(work), struct smc_handshake, work);
	const bool is_server = hs->role == SMC_SERVER;
	bool is_over = true;

	if (hs->state == SMC_HANDSHAKE_RUNS)
		is_over = smc_handshake_run(hs);
	else
		smc_handshake_finish(hs, SMC_SOCK_RETRY);
	if (is_server && is_over)
		hs->ops->release(hs);
}

bool smc_handshake_abort(struct smc_handshake *hs)
{
	sock_owned_by_me(hs->sk);
	/*
	 * TCP's callbacks run under the socket lock, which the caller holds. So no callback can
	 * start a handshake before @state is read below.
	 */
	WRITE_ONCE(hs->aborted, true);
	if (hs->state == SMC_HANDSHAKE_NONE)
		return false;
	wake_up(&hs->wait);
	return true;
}

void smc_handshake_stop(struct smc_handshake *hs)
{
	lock_sock(hs->sk);
	while (smc_handshake_abort(hs)) {
		smc_tcp_unlock(hs->sk);
		flush_delayed_work(&hs->work);
		wait_event(hs->wait, READ_ONCE(hs->state) == SMC_HANDSHAKE_NONE);
		/* Another thread may start the next handshake before this thread has the lock. */
		lock_sock(hs->sk);
	}
}

void smc_handshake_end(struct smc_handshake *hs)
{
	smc_handshake_stop(hs);
	smc_tcp_unlock(hs->sk);
	flush_delayed_work(&hs->work);
}
