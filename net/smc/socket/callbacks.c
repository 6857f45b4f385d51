// SPDX-License-Identifier: GPL-2.0
/* TCP tells SMC of what happens to a connection or a listener. */

#include <net/tcp.h>

#include "admin/blackhole.h"
#include "admin/net.h"
#include "children.h"
#include "ioctl.h"
#include "listener.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "tcp.h"
#include "wire/clc.h"

/* TCP's own. */
static void (*smc_default_data_ready)(struct sock *sk);
static void (*smc_default_state_change)(struct sock *sk);
static void (*smc_default_error_report)(struct sock *sk);

static void smc_tcp_error_report(struct sock *sk);

void smc_callbacks_init(const struct sock *tcp)
{
	smc_default_error_report = tcp->sk_error_report;
	smc_default_data_ready = tcp->sk_data_ready;
	smc_default_state_change = tcp->sk_state_change;
}

struct smc_sock *smc_sk_listening(const struct sock *sk)
{
	const struct smc_listener *l = smc_children_listener(sk);

	/* A child that is being created is a copy, and not the listener. */
	return l && l->smc->sk == sk ? l->smc : NULL;
}

/* Hooks that are neither TCP's nor ours. */
static bool smc_has_foreign_hooks(const struct sock *sk)
{
	return !smc_sk(sk) && (READ_ONCE(sk->sk_data_ready) != smc_default_data_ready ||
			       READ_ONCE(sk->sk_state_change) != smc_default_state_change ||
			       READ_ONCE(sk->sk_error_report) != smc_default_error_report ||
			       rcu_access_pointer(__sk_user_data(sk)));
}

bool smc_sock_is_taken(const struct sock *sk)
{
	const struct socket *sock = sk->sk_socket;

	/* Only the kernel changes sk_allocation: for a user that may not sleep. */
	return smc_has_foreign_hooks(sk) || sk->sk_allocation != GFP_KERNEL ||
	       (sock && !sock->file && !sk->sk_kern_sock);
}

void smc_sock_hook(struct smc_sock *smc, enum smc_mode mode)
{
	struct sock *sk = smc->sk;

	WRITE_ONCE(smc->mode, mode);
	write_lock_bh(&sk->sk_callback_lock);
	/* A listener's is BPF's, if it is in a map: it may be found by BPF programs. */
	if (mode != SMC_MODE_LISTEN) {
		__rcu_assign_sk_user_data_with_flags(sk, smc, SK_USER_DATA_NOCOPY);
		smc_ioctl_hook(sk);
		WRITE_ONCE(sk->sk_error_report, smc_tcp_error_report);
	}
	WRITE_ONCE(sk->sk_data_ready, smc_tcp_data_ready);
	WRITE_ONCE(sk->sk_state_change, smc_tcp_state_change);
	write_unlock_bh(&sk->sk_callback_lock);
}

void smc_callbacks_restore(struct sock *sk)
{
	if (sk->sk_data_ready == smc_tcp_data_ready)
		WRITE_ONCE(sk->sk_data_ready, smc_default_data_ready);
	if (sk->sk_state_change == smc_tcp_state_change)
		WRITE_ONCE(sk->sk_state_change, smc_default_state_change);
	if (sk->sk_error_report == smc_tcp_error_report)
		WRITE_ONCE(sk->sk_error_report, smc_default_error_report);
}

/*
 * The stream signals what arrives. TCP is kept from signalling its own FIN by the flag that says
 * that a reader waits.
 */
static void smc_sock_mute(struct sock *sk, bool is_muted)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (wq && is_muted)
		set_bit(SOCKWQ_ASYNC_WAITDATA, &wq->flags);
	else if (wq)
		clear_bit(SOCKWQ_ASYNC_WAITDATA, &wq->flags);
	rcu_read_unlock();
}

void smc_sock_unhook(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;

	if (smc->mode == SMC_MODE_STREAM)
		smc_sock_mute(sk, false);
	WRITE_ONCE(smc->mode, SMC_MODE_TCP);
	/* No SYN of it offers what nobody would follow up. */
	smc_tcp_set_offer(sk, false);
	write_lock_bh(&sk->sk_callback_lock);
	smc_ioctl_unhook(sk);
	if (smc_sk(sk) == smc && !smc_sk_listening(sk))
		rcu_assign_sk_user_data(sk, NULL);
	smc_callbacks_restore(sk);
	write_unlock_bh(&sk->sk_callback_lock);
	smc_children_unhook(sk);
}

void smc_tcp_wake(struct sock *sk)
{
	smc_default_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
}

/* The client's connect(), if it has not returned yet, will run both handshakes. */
static bool smc_tcp_meets(const struct sock *client, struct smc_listener *l)
{
	struct smc_sock *smc = smc_sk(client);

	if (!smc || READ_ONCE(smc->local_listener) != SMC_NO_LISTENER || !smc_listener_get(l))
		return false;
	if (cmpxchg(&smc->local_listener, SMC_NO_LISTENER, l) == SMC_NO_LISTENER)
		return true;
	smc_listener_unref(l);
	return false;
}

/* Return: whether a connection needs no worker. */
static bool smc_tcp_has_local(struct smc_listener *l, const struct sock *child)
{
	struct sock *client = smc_nearby(child) ? smc_nearby_peer(child) : NULL;
	bool meets;

	if (!client)
		return false;
	meets = smc_tcp_meets(client, l);
	sock_put(client);
	return meets;
}

/* What came without SMC waits for accept(). What came last need not be what TCP speaks of. */
static void smc_tcp_has_connection(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk, *child = smc_accept_queue_last(sk);

	if (smc_accept_queue_has(sk, smc_request_is_ready, NULL))
		smc_default_data_ready(sk);
	if (!child || !smc_tcp_has_local(l, child))
		smc_listener_kick(l);
	if (child)
		sock_put(child);
}

void smc_tcp_data_ready(struct sock *sk)
{
	struct smc_sock *smc;

	rcu_read_lock();
	smc = smc_sk(sk);
	if (smc && smc->mode == SMC_MODE_LISTEN && sk->sk_state == TCP_LISTEN)
		smc_tcp_has_connection(smc->listener);
	else if (smc && smc->mode == SMC_MODE_HANDSHAKE)
		wake_up(&smc->hs.wait);
	else if (smc && smc->mode == SMC_MODE_STREAM)
		smc_sock_check_tcp(smc);
	else if (!smc || smc->mode != SMC_MODE_TCP || !smc_sock_drop_late(smc))
		smc_default_data_ready(sk);
	rcu_read_unlock();
}

static void smc_tcp_begin(struct smc_sock *smc)
{
	WRITE_ONCE(smc->mode, SMC_MODE_HANDSHAKE);
	smc_handshake_start(&smc->hs, SMC_CLIENT);
	if (!READ_ONCE(smc->local_listener))
		smc_handshake_queue(&smc->hs);
	else if (smc_nearby(smc->sk))
		/* To meet its other end, it must be there: with this acknowledgement. */
		smc_tcp_set_delayed_ack(smc->sk, false);
}

/*
 * Whether the SYN-ACK has the option: the server then had it in a SYN, and awaits a PROPOSAL, even
 * if the last SYN left it out. But where SYNs crossed, what came is a SYN of the peer's, which may
 * have had only SYNs without it. Before a SYN-ACK that answers a SYN nothing came.
 */
static bool smc_sock_is_offered(const struct smc_sock *smc)
{
	const struct sock *sk = smc->sk;

	return smc_tcp_is_offered(sk) &&
	       (smc_tcp_offers(sk) || (smc->left_out && tcp_sk(sk)->segs_in == 1));
}

/* The option is left out some time before the next SYN leaves. */
static bool smc_tcp_sent_without(const struct smc_sock *smc)
{
	return smc->left_out && smc_tcp_retransmits(smc->sk) != smc->retrans_with;
}

/* If the SYN with the option had no answer, and that without it had one, the server is noted. */
static void smc_tcp_came_without(struct smc_sock *smc)
{
	if (!smc_tcp_sent_without(smc)) {
		smc_sock_fall_back(smc, SMC_DIAG_PEER_NO_SMC);
		return;
	}
	smc_blackhole_note(smc_sk_net(smc->sk), &smc->hs.place, SMC_BLACKHOLE_SYN_LOST);
	smc_sock_fall_back(smc, SMC_DIAG_BLACKHOLE);
}

/* A client's TCP connection came about, or did not. */
static void smc_tcp_connected(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;

	if ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV))
		return;
	timer_delete(&smc->syn);
	if (sk->sk_state == TCP_CLOSE || READ_ONCE(smc->hs.aborted))
		smc_sock_unhook(smc);
	else if (smc_sock_is_offered(smc))
		smc_tcp_begin(smc);
	else
		smc_tcp_came_without(smc);
}

/*
 * The rendezvous is under way, and no connect() waits for TCP's handshake to be through, so as to
 * hold it. Others wait for its end, and a wake-up before is none to io_uring: it calls connect()
 * again, and is told EALREADY.
 */
static bool smc_is_shaking_alone(const struct smc_sock *smc)
{
	return smc->mode == SMC_MODE_HANDSHAKE && !READ_ONCE(smc->local_listener);
}

void smc_tcp_state_change(struct sock *sk)
{
	struct smc_sock *smc;

	rcu_read_lock();
	smc = smc_sk(sk);
	/* Who waits for the stream is told by the stream. */
	if (smc && smc->mode == SMC_MODE_STREAM) {
		/* For a FIN of TCP, whose signal comes next. */
		smc_sock_mute(sk, true);
		smc_sock_tcp_changed(smc);
		goto out;
	}
	if (smc && smc->mode == SMC_MODE_CONNECTING)
		smc_tcp_connected(smc);
	else if (smc && smc->mode == SMC_MODE_HANDSHAKE)
		wake_up(&smc->hs.wait);
	else if (smc && smc->mode == SMC_MODE_LISTEN)
		smc_listener_kick(smc->listener);
	if (!smc || !smc_is_shaking_alone(smc))
		smc_default_state_change(sk);
out:
	rcu_read_unlock();
}

/*
 * TCP tells of its reset, or of one that this end made, once its connection is closed. The stream
 * has told of that, or will. But what is in the error queue is told of here.
 */
static bool smc_is_reset_report(const struct smc_sock *smc)
{
	const struct sock *sk = smc->sk;

	return READ_ONCE(smc->mode) == SMC_MODE_STREAM && READ_ONCE(sk->sk_state) == TCP_CLOSE &&
	       skb_queue_empty_lockless(&sk->sk_error_queue);
}

static void smc_tcp_error_report(struct sock *sk)
{
	struct smc_sock *smc;

	rcu_read_lock();
	smc = smc_sk(sk);
	if (!smc || !smc_is_reset_report(smc))
		smc_default_error_report(sk);
	rcu_read_unlock();
}
