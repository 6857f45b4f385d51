// SPDX-License-Identifier: GPL-2.0
/* What TCP calls of SMC: a sock's callbacks, and copies of TCP's operations with one replaced. */

#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "admin/blackhole.h"
#include "admin/net.h"
#include "compat.h"
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

/* What TCP has for one IP version, and the copy of its protocol that io_uring asks instead. */
struct smc_tcp_family {
	const struct inet_connection_sock_af_ops *af_ops;
	struct proto *prot;
	smc_prot_ioctl_t ioctl;
	struct proto smc_prot;
};

static struct smc_tcp_family smc_tcp_ipv4, smc_tcp_ipv6;

static void smc_tcp_error_report(struct sock *sk);

/* A listener keeps its family: only a connection may change it, and never one of ours. */
static struct smc_tcp_family *smc_tcp_family_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &smc_tcp_ipv6 : &smc_tcp_ipv4;
}

static int smc_prot_ioctl(struct sock *sk, int cmd, int *value)
{
	int amount = smc_ioctl_sk(sk, cmd);

	if (amount == -ENOIOCTLCMD)
		return smc_tcp_family_of(sk)->ioctl(sk, cmd, value);
	*value = amount;
	return 0;
}

void smc_callbacks_init(const struct sock *tcp)
{
	struct smc_tcp_family *family = smc_tcp_family_of(tcp);

	smc_default_error_report = tcp->sk_error_report;
	smc_default_data_ready = tcp->sk_data_ready;
	smc_default_state_change = tcp->sk_state_change;
	family->af_ops = inet_csk(tcp)->icsk_af_ops;
	family->smc_prot = *tcp->sk_prot;
	family->ioctl = smc_compat_prot_ioctl(&family->smc_prot, smc_prot_ioctl);
	if (family->ioctl)
		family->prot = tcp->sk_prot;
}

/* With sk_callback_lock. BPF's map of sockets may have replaced it. */
static void smc_prot_replace(struct sock *sk, const struct proto *from, struct proto *to)
{
	if (sk->sk_prot == from)
		WRITE_ONCE(sk->sk_prot, to);
}

/* Hooks that are neither TCP's nor ours. */
static bool smc_has_other_callbacks(const struct sock *sk)
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
	return smc_has_other_callbacks(sk) || sk->sk_allocation != GFP_KERNEL ||
	       (sock && !sock->file && !sk->sk_kern_sock);
}

void smc_sock_hook(struct smc_sock *smc, enum smc_mode mode)
{
	struct smc_tcp_family *family = smc_tcp_family_of(smc->sk);
	struct sock *sk = smc->sk;

	WRITE_ONCE(smc->mode, mode);
	write_lock_bh(&sk->sk_callback_lock);
	/* A listener's is BPF's, if it is in a map: it may be found by BPF programs. */
	if (mode != SMC_MODE_LISTEN) {
		__rcu_assign_sk_user_data_with_flags(sk, smc, SK_USER_DATA_NOCOPY);
		smc_prot_replace(sk, family->prot, &family->smc_prot);
		WRITE_ONCE(sk->sk_error_report, smc_tcp_error_report);
	}
	WRITE_ONCE(sk->sk_data_ready, smc_tcp_data_ready);
	WRITE_ONCE(sk->sk_state_change, smc_tcp_state_change);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void smc_callbacks_restore(struct sock *sk)
{
	if (sk->sk_data_ready == smc_tcp_data_ready)
		WRITE_ONCE(sk->sk_data_ready, smc_default_data_ready);
	if (sk->sk_state_change == smc_tcp_state_change)
		WRITE_ONCE(sk->sk_state_change, smc_default_state_change);
	if (sk->sk_error_report == smc_tcp_error_report)
		WRITE_ONCE(sk->sk_error_report, smc_default_error_report);
}

/*
 * TCP creates a child by an operation of the listener, which is ours while the listener is hooked.
 * The child is locked until it is in an accept queue, so nobody sees it as the copy that it was.
 */
static struct sock *smc_syn_recv_sock(SMC_SYN_RECV_ARGS);

/* Under RCU, or with the socket's file open: operations of ours are those of a listener. */
static bool smc_children_are_hooked(const struct inet_connection_sock_af_ops *ops)
{
	return ops->syn_recv_sock == smc_syn_recv_sock;
}

static void smc_children_unhook(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	/* Not those of a child that TCP made one over IPv4. */
	if (smc_children_are_hooked(icsk->icsk_af_ops))
		WRITE_ONCE(icsk->icsk_af_ops, smc_tcp_family_of(sk)->af_ops);
}

/*
 * TCP takes a child for one that was offered SMC if the client asked for it and the listener ever
 * offered it. But the SYN-ACK may be that of another listener, which is closed now.
 */
static bool smc_child_may_be_offered(const struct request_sock *req)
{
	const struct sock *listener = req->rsk_listener;

	return listener && smc_tcp_offers(listener);
}

/* Bytes that come with a SYN are the application's, and no PROPOSAL. */
static bool smc_child_is_fast_open(struct sk_buff *skb)
{
	return TCP_SKB_CB(skb)->tcp_flags & TCPHDR_SYN;
}

static void smc_child_init_tcp(struct sock *child, const struct request_sock *req,
			       struct sk_buff *skb)
{
	smc_callbacks_restore(child);
	smc_children_unhook(child);
	smc_tcp_set_congested(child, NULL);
	/* The SYN-ACK of Fast Open is still to come, and will then not offer it. */
	if (!smc_child_may_be_offered(req) || smc_child_is_fast_open(skb))
		smc_tcp_set_offer(child, false);
	/* The answer to the PROPOSAL acknowledges it. */
	if (smc_tcp_offers(child))
		smc_tcp_set_delayed_ack(child, true);
}

static struct sock *smc_syn_recv_sock(SMC_SYN_RECV_ARGS)
{
	struct sock *child;

	/* The listener drops these requests. */
	if (inet_rsk(req)->smc_ok && smc_listener_has_revoked(sk)) {
		dst_release(dst);
		return NULL;
	}
	child = smc_tcp_family_of(sk)->af_ops->syn_recv_sock(SMC_SYN_RECV_PASS);
	if (child)
		smc_child_init_tcp(child, req, skb);
	return child;
}

bool smc_children_are_unhooked(const struct sock *sk)
{
	const struct inet_connection_sock_af_ops *tcp = smc_tcp_family_of(sk)->af_ops;

	/* One that connected to a mapped address once has other operations, which agree in this. */
	return inet_csk(sk)->icsk_af_ops->syn_recv_sock == tcp->syn_recv_sock;
}

void smc_children_hook(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk;

	l->af_ops = *smc_tcp_family_of(sk)->af_ops;
	l->af_ops.syn_recv_sock = smc_syn_recv_sock;
	/* Pairs with smc_children_listener(). */
	smp_store_release(&inet_csk(sk)->icsk_af_ops, &l->af_ops);
}

static struct smc_listener *smc_children_listener(const struct sock *sk)
{
	const struct inet_connection_sock_af_ops *ops;

	/* Pairs with smc_children_hook(). */
	ops = smp_load_acquire(&inet_csk(sk)->icsk_af_ops);
	if (!smc_children_are_hooked(ops))
		return NULL;
	return container_of((struct inet_connection_sock_af_ops *)ops, struct smc_listener, af_ops);
}

struct smc_sock *smc_sk_listening(const struct sock *sk)
{
	const struct smc_listener *l = smc_children_listener(sk);

	/* A child that is being created is a copy, and not the listener. */
	return l && l->smc->sk == sk ? l->smc : NULL;
}

/*
 * The stream signals what arrives. TCP is kept from signalling its own FIN by the flag that says
 * that a reader waits.
 */
static void smc_sock_mute_sigio(struct sock *sk, bool is_muted)
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
	struct smc_tcp_family *family = smc_tcp_family_of(smc->sk);
	struct sock *sk = smc->sk;

	if (smc->mode == SMC_MODE_STREAM)
		smc_sock_mute_sigio(sk, false);
	WRITE_ONCE(smc->mode, SMC_MODE_TCP);
	/* No SYN of it offers what nobody would follow up. */
	smc_tcp_set_offer(sk, false);
	write_lock_bh(&sk->sk_callback_lock);
	smc_prot_replace(sk, &family->smc_prot, family->prot);
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

/* Return: whether the client's connect() is under way in this namespace, and takes a connection. */
static bool smc_tcp_has_local(struct smc_listener *l, const struct sock *child)
{
	struct sock *client = smc_local_peer(child) ? smc_local_peer_find(child) : NULL;
	struct smc_sock *smc = client ? smc_sk(client) : NULL;
	bool takes;

	takes = smc && READ_ONCE(smc->local_listener) == SMC_NO_LISTENER && smc_listener_get(l);
	if (takes && cmpxchg(&smc->local_listener, SMC_NO_LISTENER, l) != SMC_NO_LISTENER) {
		smc_listener_unref(l);
		takes = false;
	}
	if (client)
		sock_put(client);
	return takes;
}

/* What came without SMC waits for accept(). What came last need not be what TCP speaks of. */
static void smc_tcp_has_connection(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk, *child = smc_accept_queue_last(sk);

	if (smc_accept_queue_has(sk, smc_request_is_ready, NULL))
		smc_default_data_ready(sk);
	/* What a connecting thread is to take counts in the backlog, and the thread may be late. */
	if (!child || smc_accept_queue_is_half_full(sk) || !smc_tcp_has_local(l, child))
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
	else if (smc_local_peer(smc->sk))
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
 * SMC's handshake is under way, and no connect() waits for TCP's to be through, so as to
 * hold it. Others wait for its end, and a wake-up before is none to io_uring: it calls connect()
 * again, and is told EALREADY.
 */
static bool smc_is_only_handshake(const struct smc_sock *smc)
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
		smc_sock_mute_sigio(sk, true);
		smc_sock_tcp_changed(smc);
		goto out;
	}
	if (smc && smc->mode == SMC_MODE_CONNECTING)
		smc_tcp_connected(smc);
	else if (smc && smc->mode == SMC_MODE_HANDSHAKE)
		wake_up(&smc->hs.wait);
	else if (smc && smc->mode == SMC_MODE_LISTEN)
		smc_listener_kick(smc->listener);
	if (!smc || !smc_is_only_handshake(smc))
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
