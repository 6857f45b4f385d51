// SPDX-License-Identifier: GPL-2.0
/*
 * TCP creates a child by an operation of the listener, which is ours while the listener is hooked.
 * The child is locked until it is in an accept queue, so nobody sees it as the copy that it was.
 */

#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "children.h"
#include "compat.h"
#include "listener.h"
#include "smc_sock.h"
#include "tcp.h"

/* TCP's operations over one IP version. */
static const struct inet_connection_sock_af_ops *smc_ipv4_af_ops, *smc_ipv6_af_ops;

/* A listener keeps its family: only a connection may change it, and never one of ours. */
static const struct inet_connection_sock_af_ops *smc_af_ops_of(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? smc_ipv6_af_ops : smc_ipv4_af_ops;
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

static void smc_child_settle(struct sock *child, const struct request_sock *req,
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
	if (inet_rsk(req)->smc_ok && smc_listener_has_withdrawn(sk)) {
		dst_release(dst);
		return NULL;
	}
	child = smc_af_ops_of(sk)->syn_recv_sock(SMC_SYN_RECV_PASS);
	if (child)
		smc_child_settle(child, req, skb);
	return child;
}

/* Under RCU, or with the socket's file open: operations of ours are those of a listener. */
static bool smc_children_are_ours(const struct inet_connection_sock_af_ops *ops)
{
	return ops->syn_recv_sock == smc_syn_recv_sock;
}

void smc_children_init(const struct sock *tcp)
{
	const struct inet_connection_sock_af_ops *ops = inet_csk(tcp)->icsk_af_ops;

	if (tcp->sk_family == AF_INET6)
		smc_ipv6_af_ops = ops;
	else
		smc_ipv4_af_ops = ops;
}

bool smc_children_are_tcps(const struct sock *sk)
{
	/* One that connected to a mapped address once has other operations, which agree in this. */
	return inet_csk(sk)->icsk_af_ops->syn_recv_sock == smc_af_ops_of(sk)->syn_recv_sock;
}

void smc_children_hook(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk;

	l->af_ops = *smc_af_ops_of(sk);
	l->af_ops.syn_recv_sock = smc_syn_recv_sock;
	/* Pairs with smc_children_listener(). */
	smp_store_release(&inet_csk(sk)->icsk_af_ops, &l->af_ops);
}

struct smc_listener *smc_children_listener(const struct sock *sk)
{
	const struct inet_connection_sock_af_ops *ops;

	/* Pairs with smc_children_hook(). */
	ops = smp_load_acquire(&inet_csk(sk)->icsk_af_ops);
	if (!smc_children_are_ours(ops))
		return NULL;
	return container_of((struct inet_connection_sock_af_ops *)ops, struct smc_listener, af_ops);
}

void smc_children_unhook(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	/* Not those of a child that TCP made one over IPv4. */
	if (smc_children_are_ours(icsk->icsk_af_ops))
		WRITE_ONCE(icsk->icsk_af_ops, smc_af_ops_of(sk));
}
