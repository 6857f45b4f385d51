// SPDX-License-Identifier: GPL-2.0
/* SMC's functions that TCP calls: a sock's callbacks, and operations in copies of TCP's tables. */

#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "connect.h"
#include "ioctl.h"
#include "listener.h"
#include "smc_sock.h"
#include "tcp.h"
#include "tcp_close.h"

/* TCP's own callbacks. */
static void (*smc_default_data_ready)(struct sock *sk);
static void (*smc_default_state_change)(struct sock *sk);
static void (*smc_default_error_report)(struct sock *sk);

/*
 * TCP's operations for one IP version. io_uring calls the ioctl operation of a sock's struct proto,
 * so @smc_prot is a copy of TCP's struct proto with SMC's ioctl.
 */
struct smc_tcp_family {
	const struct inet_connection_sock_af_ops *af_ops;
	struct proto *prot;
	smc_prot_ioctl_t ioctl;
	struct proto smc_prot;
};

static struct smc_tcp_family smc_tcp_ipv4, smc_tcp_ipv6;

static void smc_tcp_error_report(struct sock *sk);

/* The family of an SMC socket does not change: smc_option_begin() refuses IPV6_ADDRFORM. */
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

/* Called with sk_callback_lock. Does nothing if a BPF map of sockets has replaced sk_prot. */
static void smc_prot_replace(struct sock *sk, const struct proto *from, struct proto *to)
{
	if (sk->sk_prot == from)
		WRITE_ONCE(sk->sk_prot, to);
}

/* Whether a socket has callbacks or user data that are neither TCP's nor SMC's. */
static bool smc_has_other_callbacks(const struct sock *sk)
{
	return !smc_sk(sk) && (READ_ONCE(sk->sk_data_ready) != smc_default_data_ready ||
			       READ_ONCE(sk->sk_state_change) != smc_default_state_change ||
			       READ_ONCE(sk->sk_error_report) != smc_default_error_report ||
			       rcu_access_pointer(__sk_user_data(sk)));
}

bool smc_sock_has_other_user(const struct sock *sk)
{
	const struct socket *sock = sk->sk_socket;

	sock_owned_by_me(sk);
	/* Only users in the kernel change sk_allocation, to restrict allocations. */
	return smc_has_other_callbacks(sk) || sk->sk_allocation != GFP_KERNEL ||
	       (sock && !sock->file && !sk->sk_kern_sock);
}

void smc_sock_hook(struct smc_sock *smc, enum smc_mode mode)
{
	struct smc_tcp_family *family = smc_tcp_family_of(smc->sk);
	struct sock *sk = smc->sk;

	sock_owned_by_me(sk);
	WRITE_ONCE(smc->mode, mode);
	write_lock_bh(&sk->sk_callback_lock);
	/* Leave a listener's sk_user_data to BPF: a map of listeners stores a pointer there. */
	if (mode != SMC_MODE_LISTEN) {
		__rcu_assign_sk_user_data_with_flags(sk, smc, SK_USER_DATA_NOCOPY);
		smc_prot_replace(sk, family->prot, &family->smc_prot);
		WRITE_ONCE(sk->sk_error_report, smc_tcp_error_report);
	}
	WRITE_ONCE(sk->sk_data_ready, smc_tcp_data_ready);
	WRITE_ONCE(sk->sk_state_change, smc_tcp_state_change);
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Called with sk_callback_lock, or for a sock that no other thread knows yet. */
static void smc_callbacks_restore(struct sock *sk)
{
	if (sk->sk_data_ready == smc_tcp_data_ready)
		WRITE_ONCE(sk->sk_data_ready, smc_default_data_ready);
	if (sk->sk_state_change == smc_tcp_state_change)
		WRITE_ONCE(sk->sk_state_change, smc_default_state_change);
	if (sk->sk_error_report == smc_tcp_error_report)
		WRITE_ONCE(sk->sk_error_report, smc_default_error_report);
}

/* Whether sk_user_data is SMC's, even if the callbacks are those of TCP or of another user. */
static bool smc_has_user_data(const struct smc_sock *smc)
{
	return (uintptr_t)rcu_access_pointer(__sk_user_data(smc->sk)) ==
	       ((uintptr_t)smc | SK_USER_DATA_NOCOPY);
}

/*
 * Leaves sk_user_data set. This keeps other parts of the kernel away from the connection, and shows
 * smc_sock_unpark() that the connection was hooked.
 */
void smc_sock_park(struct smc_sock *smc)
{
	struct smc_tcp_family *family = smc_tcp_family_of(smc->sk);
	struct sock *sk = smc->sk;

	sock_owned_by_me(sk);
	write_lock_bh(&sk->sk_callback_lock);
	smc_prot_replace(sk, &family->smc_prot, family->prot);
	smc_callbacks_restore(sk);
	write_unlock_bh(&sk->sk_callback_lock);
}

void smc_sock_unpark(struct smc_sock *smc)
{
	sock_owned_by_me(smc->sk);
	if (!smc_has_user_data(smc))
		return;
	smc_sock_hook(smc, smc->mode);
	/* SMC has not seen what TCP reported while the connection was parked. */
	if (smc->mode == SMC_MODE_STREAM) {
		smc_sock_check_tcp(smc);
		smc_sock_tcp_changed(smc);
	} else {
		smc_sock_drop_late(smc);
	}
}

/*
 * TCP creates a child by the listener's operation syn_recv_sock, which is this function while the
 * listener is hooked. A new child is a copy of the listener, hooks included. The child is locked
 * until it is in an accept queue, so this function unhooks it before any other thread sees it.
 */
static struct sock *smc_syn_recv_sock(SMC_SYN_RECV_ARGS);

/*
 * Whether @ops is part of a struct smc_listener. The caller is under RCU or has the socket's file
 * open, so that the struct is not freed meanwhile.
 */
static bool smc_children_are_hooked(const struct inet_connection_sock_af_ops *ops)
{
	return ops->syn_recv_sock == smc_syn_recv_sock;
}

static void smc_children_unhook(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	/*
	 * If the client of an IPv6 listener uses IPv4, TCP has already given the child other
	 * operations, which stay.
	 */
	if (smc_children_are_hooked(icsk->icsk_af_ops))
		WRITE_ONCE(icsk->icsk_af_ops, smc_tcp_family_of(sk)->af_ops);
}

/*
 * Whether the SYN-ACK may have offered SMC. TCP's mark in a child says only that the client's SYN
 * had the option, and that the listener that creates the child has offered SMC at some time. After
 * a migration another listener has sent the SYN-ACK: req->rsk_listener, which is closed now. So
 * this function checks that req->rsk_listener has offered SMC, too.
 */
static bool smc_child_may_be_offered(const struct request_sock *req)
{
	const struct sock *listener = req->rsk_listener;

	return listener && smc_tcp_offers(listener);
}

/* Whether the child is created by a SYN (Fast Open), whose bytes are not a PROPOSAL. */
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
	/*
	 * With Fast Open the SYN-ACK is still to be sent. It offers no SMC if the child does not.
	 */
	if (!smc_child_may_be_offered(req) || smc_child_is_fast_open(skb))
		smc_tcp_set_offer(child, false);
	/* Delay acknowledgements: the ACCEPT or DECLINE also acknowledges the PROPOSAL. */
	if (smc_tcp_offers(child))
		smc_tcp_set_delayed_ack(child, true);
}

static struct sock *smc_syn_recv_sock(SMC_SYN_RECV_ARGS)
{
	struct sock *child;

	/*
	 * The listener is about to stop: create no child. smc_migrate_drop_offered() drops the
	 * request.
	 */
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

	sock_owned_by_me(sk);
	/*
	 * Compare syn_recv_sock, not the tables: a socket that once connected to an IPv4-mapped
	 * address has another table of TCP's, with the same syn_recv_sock.
	 */
	return inet_csk(sk)->icsk_af_ops->syn_recv_sock == tcp->syn_recv_sock;
}

void smc_children_hook(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk;

	sock_owned_by_me(sk);
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

	/*
	 * A child that is being created also has the listener's operations: it is a copy of the
	 * listener.
	 */
	return l && l->smc->sk == sk ? l->smc : NULL;
}

/*
 * Keeps TCP from sending SIGIO for its FIN, because the stream sends SIGIO for its own end. The
 * flag SOCKWQ_ASYNC_WAITDATA says that a reader waits: as long as it is set, TCP sends no SIGIO.
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

	sock_owned_by_me(sk);
	if (smc->mode == SMC_MODE_STREAM)
		smc_sock_mute_sigio(sk, false);
	WRITE_ONCE(smc->mode, SMC_MODE_TCP);
	/* A later SYN of this socket must not offer SMC: no callback would begin the handshake. */
	smc_tcp_set_offer(sk, false);
	write_lock_bh(&sk->sk_callback_lock);
	smc_prot_replace(sk, &family->smc_prot, family->prot);
	if (smc_has_user_data(smc))
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

/*
 * If @child's other end is a socket of this namespace whose connect() is under way, hands @l to
 * that connect(), which then takes @child from TCP's queue in place of @l's work.
 * Return: whether @l was handed over.
 */
static bool smc_tcp_hand_to_client(struct smc_listener *l, const struct sock *child)
{
	struct sock *client = smc_peer_in_net(child) ? smc_local_peer_find(child) : NULL;
	struct smc_sock *smc = client ? smc_sk(client) : NULL;
	bool takes;

	takes = smc && READ_ONCE(smc->local_listener) == SMC_LISTENER_UNKNOWN &&
		smc_listener_get(l);
	if (takes &&
	    cmpxchg(&smc->local_listener, SMC_LISTENER_UNKNOWN, l) != SMC_LISTENER_UNKNOWN) {
		smc_listener_unref(l);
		takes = false;
	}
	if (client)
		sock_put(client);
	return takes;
}

/*
 * Handles TCP's report of a new connection. The report names no connection, so this function takes
 * the last one in the queue. If TCP reports connection A, but a newer connection B is the last,
 * this call hands over B. TCP's report of B then finds that B is handed over already, and queues
 * the listener's work, which takes A. A connection without SMC is ready for accept() at once.
 */
static void smc_tcp_has_connection(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk, *child = smc_accept_queue_last(sk);

	if (smc_accept_queue_has(sk, smc_request_is_ready, NULL))
		smc_default_data_ready(sk);
	/*
	 * Once the queue is half full, have the work take the connection. A connecting thread may
	 * be slow to do so, and each connection in TCP's queue counts against the backlog.
	 */
	if (!child || smc_accept_queue_is_half_full(sk) || !smc_tcp_hand_to_client(l, child))
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
	/*
	 * A listener awaits no CLC message. It is not locked here, so it may be unhooked by now.
	 * The bytes left may be the start of a late CLC message, but also all that the peer sends,
	 * so wake readers.
	 */
	else if (!smc || smc->mode != SMC_MODE_TCP || smc->listener || !smc_sock_drop_late(smc) ||
		 smc_tcp_is_readable(sk))
		smc_default_data_ready(sk);
	rcu_read_unlock();
}

/*
 * Whether SMC's handshake is under way and a worker runs it. Then no thread must be woken before
 * the end of SMC's handshake: io_uring would call connect() again and get EALREADY. But while
 * @local_listener is set, a connect() waits to run the handshake itself, and must be woken.
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
	/* The stream itself wakes threads that wait for it. */
	if (smc && smc->mode == SMC_MODE_STREAM) {
		/* TCP sends SIGIO for its FIN right after this callback. */
		smc_sock_mute_sigio(sk, true);
		smc_sock_tcp_changed(smc);
		goto out;
	}
	if (smc && smc->mode == SMC_MODE_CONNECTING)
		smc_connect_tcp_done(smc);
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
 * Whether TCP reports that its connection broke: by a reset of either end, or by a timeout. Such a
 * report is dropped, because the stream reports its own end. But while the error queue has entries,
 * the report may be about one of these, so the report is passed on.
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
