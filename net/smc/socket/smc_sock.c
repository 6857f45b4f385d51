// SPDX-License-Identifier: GPL-2.0
/* The array of sockets that SMC knows, the changes of their modes, and their way back to TCP. */

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/tcp.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "compat.h"
#include "connect.h"
#include "keepalive.h"
#include "listener.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "tcp.h"
#include "tcp_close.h"
#include "trace.h"
#include "workqueue.h"

static void smc_sock_do_later(struct work_struct *work);
static const struct smc_handshake_ops smc_sock_handshake_ops;

/* Index of a socket in its namespace's array. No two struct socks begin in the same KiB. */
static unsigned long smc_sock_index(const struct sock *sk)
{
	BUILD_BUG_ON(sizeof(struct tcp_sock) < SZ_1K);
	/* Use the physical address: virtual ones are larger, and would make the array deeper. */
	return __pa(sk) / SZ_1K;
}

struct smc_sock *smc_sock_find(const struct sock *sk)
{
	return xa_load(&smc_net(sock_net(sk))->socks, smc_sock_index(sk));
}

/*
 * Return: the control group of the socket, referenced. TCP charges no group if sockets are not
 * accounted, or if the root group created the socket. Then the group is that of set_active_memcg(),
 * or else of the caller.
 */
static struct mem_cgroup *smc_sock_get_memcg(const struct sock *sk)
{
	if (sk->sk_memcg && mem_cgroup_tryget(sk->sk_memcg))
		return sk->sk_memcg;
	return get_mem_cgroup_from_mm(NULL);
}

void smc_sock_free(struct smc_sock *smc)
{
	mem_cgroup_put(smc->memcg);
	kfree_rcu(smc, rcu);
}

static void smc_sock_init(struct smc_sock *smc, struct sock *sk, enum smc_role role,
			  struct mem_cgroup *memcg)
{
	smc->sk = sk;
	smc->role = role;
	smc->memcg = memcg;
	smc_handshake_init(&smc->hs, sk, memcg, &smc_sock_handshake_ops);
	INIT_DELAYED_WORK(&smc->fin, smc_sock_check_fin);
	INIT_DELAYED_WORK(&smc->later, smc_sock_do_later);
	timer_setup(&smc->syn, smc_connect_timer, 0);
	timer_setup(&smc->keepalive, smc_keepalive_timer, 0);
	INIT_LIST_HEAD(&smc->siblings);
}

/* Charges the control group set by set_active_memcg(). */
static struct smc_sock *smc_sock_make(struct sock *sk, enum smc_role role,
				      struct mem_cgroup *memcg, gfp_t gfp)
{
	struct smc_sock *smc;

	if (smc_net_prepare(smc_net(sock_net(sk))))
		return NULL;
	smc = kzalloc(sizeof(*smc), gfp | __GFP_ACCOUNT);
	if (!smc)
		return NULL;
	smc_sock_init(smc, sk, role, memcg);
	if (xa_insert_bh(&smc_net(sock_net(sk))->socks, smc_sock_index(sk), smc, gfp)) {
		kfree(smc);
		return NULL;
	}
	return smc;
}

static struct smc_sock *smc_sock_create_gfp(struct sock *sk, enum smc_role role, gfp_t gfp)
{
	struct mem_cgroup *memcg = smc_sock_get_memcg(sk);
	struct mem_cgroup *outer = set_active_memcg(memcg);
	struct smc_sock *smc = smc_sock_make(sk, role, memcg, gfp);

	set_active_memcg(outer);
	if (!smc)
		mem_cgroup_put(memcg);
	return smc;
}

/*
 * A stranger's SYN must not make the OOM killer act in the server's control group. So in accept(),
 * while the connection has no struct socket, an allocation that finds no memory fails.
 */
struct smc_sock *smc_sock_create(struct sock *sk, enum smc_role role)
{
	gfp_t may_fail = sk->sk_socket ? 0 : __GFP_RETRY_MAYFAIL | __GFP_NOWARN;

	return smc_sock_create_gfp(sk, role, GFP_KERNEL | may_fail);
}

/*
 * Allocates with GFP_ATOMIC: this charges the control group even beyond its limit. It does not
 * reclaim memory of the group, and a group over its limit does not make the thread sleep.
 */
struct smc_sock *smc_sock_create_child(struct sock *sk)
{
	return smc_sock_create_gfp(sk, SMC_SERVER, GFP_ATOMIC | __GFP_NOWARN);
}

void smc_sock_forget(struct smc_sock *smc)
{
	xa_erase_bh(&smc_net(sock_net(smc->sk))->socks, smc_sock_index(smc->sk));
}

int smc_sock_for_each(const struct net *net, unsigned long *index,
		      int (*fn)(struct smc_sock *smc, void *arg), void *arg)
{
	struct xarray *socks = &smc_net(net)->socks;
	struct smc_sock *smc;
	int rc;

	for (;; ++*index) {
		xa_lock_bh(socks);
		smc = xa_find(socks, index, ULONG_MAX, XA_PRESENT);
		rc = smc ? fn(smc, arg) : 0;
		xa_unlock_bh(socks);
		if (!smc || rc)
			return rc;
	}
}

void smc_sock_queue_later(struct smc_sock *smc, unsigned long delay)
{
	/* smc_sock_cancel() skips a work that was never queued, because cancelling costs time. */
	WRITE_ONCE(smc->has_later, true);
	mod_delayed_work(smc_wq, &smc->later, delay);
}

/*
 * Drops late CLC messages. TCP's callback can't send, so a work declines a late PROPOSAL. No such
 * work is queued for a connection that waits for accept(): the work would lock the connection,
 * which TCP expects to be unlocked when it stops listening.
 * Return: as smc_handshake_drop_late().
 */
static bool smc_sock_skip_late_clc(struct smc_sock *smc)
{
	bool may_come = smc_handshake_drop_late(&smc->hs);

	if (smc->hs.late_version && !smc->hs.late_left && !smc->parent)
		smc_sock_queue_later(smc, 0);
	return may_come;
}

void smc_sock_timer(struct smc_sock *smc, struct timer_list *timer,
		    unsigned long (*look)(struct smc_sock *smc))
{
	unsigned long again;

	bh_lock_sock(smc->sk);
	again = look(smc);
	if (again)
		mod_timer(timer, jiffies + again);
	bh_unlock_sock(smc->sk);
}

/*
 * Does what is due on the socket: ends the deferral of a connection (TCP_DEFER_ACCEPT), closes
 * TCP's connection after its stream, or declines a PROPOSAL that came too late. If the socket's
 * user keeps the socket locked, the work queues itself again, so that it delays no other work.
 */
static void smc_sock_do_later(struct work_struct *work)
{
	struct smc_sock *smc = container_of(to_delayed_work(work), struct smc_sock, later);

	/*
	 * A work must not lock a connection that waits for accept(), see smc_sock_skip_late_clc().
	 * So until accept() the work only ends the deferral.
	 */
	if (READ_ONCE(smc->parent)) {
		smc_listener_end_deferral(smc);
		return;
	}
	/* A socket without a parent is not deferred. All other tasks of the work are due now. */
	if (!smc_tcp_trylock(smc->sk)) {
		queue_delayed_work(smc_wq, &smc->later, SMC_SOCK_RETRY);
		return;
	}
	if (smc->mode == SMC_MODE_TCP)
		smc_handshake_decline_late(&smc->hs);
	else
		smc_tcp_close_by_work(smc);
	smc_tcp_unlock(smc->sk);
}

void smc_sock_fall_back(struct smc_sock *smc, u32 reason)
{
	sock_owned_by_me(smc->sk);
	smc->reason = reason;
	smc_stat_fallback(smc_net(sock_net(smc->sk)), smc->role, reason);
	trace_smc_switch_to_fallback(smc->sk, reason);
	if (smc_sk(smc->sk) == smc && smc_sock_skip_late_clc(smc))
		WRITE_ONCE(smc->mode, SMC_MODE_TCP);
	else
		smc_sock_unhook(smc);
}

bool smc_sock_drop_late(struct smc_sock *smc)
{
	sock_owned_by_me(smc->sk);
	if (smc_sock_skip_late_clc(smc))
		return true;
	smc_sock_unhook(smc);
	return false;
}

/*
 * Whether connect() has already returned the error, because TCP's connection broke before SMC's
 * handshake failed.
 */
static bool smc_sock_has_reported(const struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE && sk->sk_socket && sk->sk_socket->state == SS_UNCONNECTED;
}

/* Ends a connection whose SMC handshake broke off in the middle: neither SMC nor TCP can go on. */
static void smc_sock_abort(struct smc_sock *smc, int err)
{
	struct sock *sk = smc->sk;
	/* TCP's own error takes precedence. */
	int reset = sk->sk_err;
	bool has_told = smc_sock_has_reported(sk);

	/* smc_tcp_reset(), unlike a disconnect, keeps the peer's address for accept(). */
	if (sk->sk_state != TCP_CLOSE)
		smc_tcp_reset(sk);
	/* The next connect() or read returns the error. */
	if (!has_told)
		WRITE_ONCE(sk->sk_err, reset ? : smc->hs.aborted ? ECONNRESET : -err);
	/*
	 * Unhook last. Other threads' calls wait while the socket is hooked. After that they use
	 * TCP's connection, which must be closed by then, with the error set.
	 */
	smc_sock_unhook(smc);
}

static void smc_sock_enter_stream(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;

	smc->stream = smc->hs.stream;
	smc_stream_attach(smc->stream, sk, smc->role, smc_tcp_close_later);
	/* Pairs with smc_mode(): calls look at the stream without the lock. */
	smp_store_release(&smc->mode, SMC_MODE_STREAM);
	smc_keepalive_begin(&smc->keepalive, sock_net(sk));
	/*
	 * The peer may have sent data or closed already. Waiting threads need no wake-up here:
	 * smc_sock_finish_handshake() wakes them.
	 */
	smc_stream_report_urgent(smc->stream);
	smc_sock_check_tcp(smc);
	smc_sock_tcp_changed(smc);
	smc_tcp_close_begin(smc);
}

void smc_sock_leave_smc(struct smc_sock *smc)
{
	int err;

	sock_owned_by_me(smc->sk);
	if (smc->mode == SMC_MODE_STREAM) {
		smc_stream_disconnect(smc->stream, &err);
		WRITE_ONCE(smc->sk->sk_err, err);
	}
	smc_sock_unhook(smc);
}

/*
 * Lets the connection go on with TCP. SO_TIMESTAMPING counts the application's bytes only, so the
 * CLC messages sent so far are left out of the count.
 */
static void smc_sock_enter_tcp(struct smc_sock *smc)
{
	atomic_set(&smc->sk->sk_tskey, smc_tcp_written(smc->sk));
	smc_tcp_set_pingpong(smc->sk, smc->hs.pingpong);
	smc_sock_fall_back(smc, smc->hs.reason);
}

/*
 * Reports bytes, or their end, that came during the handshake to a program that waits for signals.
 * Threads that sleep have looked for themselves when smc_tcp_wake() woke them.
 */
static void smc_sock_report_input(struct smc_sock *smc)
{
	if (smc->mode == SMC_MODE_STREAM)
		smc_stream_notify_readers(smc->stream);
	else if (tcp_inq(smc->sk) > 0 || (smc->sk->sk_shutdown & RCV_SHUTDOWN))
		sk_wake_async(smc->sk, SOCK_WAKE_WAITD, POLL_IN);
}

/* Called with the socket locked, when SMC's handshake is over. */
static void smc_sock_finish_handshake(struct smc_handshake *hs)
{
	struct smc_sock *smc = container_of(hs, struct smc_sock, hs);

	sock_owned_by_me(smc->sk);
	smc->peer_reason = hs->peer_reason;
	if (hs->stream)
		smc_sock_enter_stream(smc);
	else if (hs->result)
		smc_sock_abort(smc, hs->result);
	else
		smc_sock_enter_tcp(smc);
	smc_tcp_wake(smc->sk);
	smc_sock_report_input(smc);
	if (smc->is_released)
		queue_work(smc_wq, &smc->release);
}

static void smc_sock_release_handshake(struct smc_handshake *hs)
{
	struct smc_sock *smc = container_of(hs, struct smc_sock, hs);

	if (smc->parent)
		smc_listener_handshake_done(smc->parent, smc);
}

static const struct smc_handshake_ops smc_sock_handshake_ops = {
	.conclude = smc_sock_finish_handshake,
	.release  = smc_sock_release_handshake,
};

void smc_sock_cancel(struct smc_sock *smc)
{
	timer_delete_sync(&smc->syn);
	timer_delete_sync(&smc->keepalive);
	if (smc->has_later)
		cancel_delayed_work_sync(&smc->later);
	if (smc->awaited_end)
		cancel_delayed_work_sync(&smc->fin);
}
