// SPDX-License-Identifier: GPL-2.0
/* accept(): the application gets the ready connections of TCP's accept queue. */

#include <net/tcp.h>

#include "abandon.h"
#include "admin/blackhole.h"
#include "admin/net.h"
#include "compat.h"
#include "listener.h"
#include "migrate.h"
#include "smc_sock.h"
#include "tcp.h"
#include "tcp_close.h"
#include "wire/clc.h"

bool smc_listener_is_ready(struct smc_listener *l)
{
	if (smc_accept_queue_has(l->smc->sk, smc_request_is_ready, NULL))
		return true;
	/*
	 * Now the queue has only new connections. The listener's work may have left them there
	 * while too many others were ready, so queue the work again.
	 */
	if (!smc_accept_queue_is_empty(l->smc->sk))
		smc_listener_kick(l);
	return false;
}

/* Return: the diagnosis for a connection that has no SMC because one end did not offer SMC. */
static u32 smc_listener_reason(const struct smc_listener *l, const struct smc_sock *child)
{
	if (READ_ONCE(l->tcp_only) || smc_migrates(l->smc->sk))
		return SMC_DIAG_SOCKET_OPTION;
	if (smc_blackhole_has(smc_net(sock_net(child->sk)), &child->hs.blackhole_key))
		return SMC_DIAG_BLACKHOLE;
	return SMC_DIAG_PEER_NO_SMC;
}

/*
 * Creates SMC's state of a connection that is TCP's, and counts the fallback. Resets the connection
 * if there is no memory.
 */
static struct smc_sock *smc_listener_classify_tcp(struct smc_listener *l, struct sock *sk)
{
	struct smc_sock *child = smc_sock_create(sk, SMC_SERVER);

	if (!child) {
		smc_reset_tcp(sk);
		return NULL;
	}
	smc_listener_set_blackhole_key(child);
	lock_sock(sk);
	smc_sock_fall_back(child, smc_listener_reason(l, child));
	release_sock(sk);
	return child;
}

/*
 * Takes a child out of the listener's list for accept(). Return: false if another listener has the
 * child, or if this listener was closed and resets the child.
 */
static bool smc_listener_claim(struct smc_listener *l, struct smc_sock *child)
{
	bool is_own;

	spin_lock_bh(&l->lock);
	is_own = child->parent == l && !list_empty(&child->siblings);
	if (is_own) {
		list_del_init(&child->siblings);
		l->n_ready--;
		WRITE_ONCE(child->parent, NULL);
		child->req = NULL;
	}
	spin_unlock_bh(&l->lock);
	return is_own;
}

/* Return: the state of @sk, a connection from TCP's accept(); or NULL if @sk was reset. */
static struct smc_sock *smc_listener_classify(struct smc_listener *l, struct sock *sk)
{
	struct smc_sock *child;
	bool is_own;

	rcu_read_lock();
	child = smc_sock_find(sk);
	is_own = child && smc_listener_claim(l, child);
	rcu_read_unlock();
	if (!child)
		return smc_listener_classify_tcp(l, sk);
	if (!is_own) {
		smc_reset_other(sk);
		return NULL;
	}
	/*
	 * Drop the listener's reference. The accept queue's reference now belongs to the
	 * application.
	 */
	sock_put(sk);
	return child;
}

/* Return: a connection for the application, or NULL. */
static struct smc_sock *smc_listener_accept_one(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk, *child = NULL;
	struct smc_sock *known = NULL;
	bool is_ready;

	if (smc_accept_queue_is_empty(sk))
		return NULL;
	mutex_lock(&l->stopping);
	lock_sock(sk);
	is_ready = smc_accept_queue_raise(sk, smc_request_is_ready, NULL);
	release_sock(sk);
	/* The ready connection is still first in the queue: other threads take only new ones. */
	if (is_ready)
		child = smc_tcp_accept(sk);
	if (child)
		known = smc_listener_classify(l, child);
	mutex_unlock(&l->stopping);
	return known;
}

/* Return: 0 to look again, or an error. */
static int smc_listener_wait(struct smc_listener *l, long *timeo)
{
	struct sock *sk = l->smc->sk;
	DEFINE_WAIT(wait);

	if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
		return -EINVAL;
	/*
	 * Look for a connection before checking the time and signals. A ready connection may have
	 * woken only this thread: if this thread left, no other would accept the connection.
	 */
	if (smc_listener_is_ready(l))
		return 0;
	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);

	/* Wait exclusively, so that each connection wakes only one of the accepting threads. */
	prepare_to_wait_exclusive(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
	if (!smc_listener_is_ready(l) && READ_ONCE(sk->sk_state) == TCP_LISTEN)
		*timeo = schedule_timeout(*timeo);
	finish_wait(sk_sleep(sk), &wait);
	return 0;
}

int smc_listener_accept(struct smc_listener *l, struct socket *newsock, int flags)
{
	struct sock *sk = l->smc->sk;
	long timeo = sock_rcvtimeo(sk, flags & O_NONBLOCK);
	struct smc_sock *child;
	int rc;

	smc_listener_charge_caller(l);
	while (!(child = smc_listener_accept_one(l))) {
		rc = smc_listener_wait(l, &timeo);
		if (rc)
			return rc;
	}
	/* The work left connections, and the reason may be gone: queue the work again. */
	if (READ_ONCE(l->left_new))
		smc_listener_kick(l);

	/* Wait until the work that ran the handshake no longer uses the child. */
	flush_delayed_work(&child->hs.work);
	lock_sock(child->sk);
	/* The child inherits this flag of the listener, as in TCP's accept(). */
	if (test_bit(SOCK_SUPPORT_ZC, &sk->sk_socket->flags))
		set_bit(SOCK_SUPPORT_ZC, &newsock->flags);
	sock_graft(child->sk, newsock);
	newsock->state = SS_CONNECTED;
	smc_sock_unpark(child);
	smc_tcp_close_begin(child);
	release_sock(child->sk);
	return 0;
}
