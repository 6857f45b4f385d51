// SPDX-License-Identifier: GPL-2.0
/* A client does the work of a listener of its own namespace. */

#include "listener.h"
#include "smc_sock.h"
#include "tcp.h"
#include "visitor.h"

bool smc_visitor_set_out(struct smc_sock *smc)
{
	return !cmpxchg(&smc->connector, NULL, current);
}

void smc_visitor_return(struct smc_sock *smc, struct smc_visit *visit)
{
	/* Packets that come meanwhile would call the listener on top of this thread. */
	local_bh_disable();
	*visit = smc->visit;
	smc->visit = (struct smc_visit){};
	/* The next connector finds it empty. */
	smp_store_release(&smc->connector, NULL);
	local_bh_enable();
}

/*
 * Have @client's connector see to @child, which came to the listener @sk, if that is this thread
 * and it sees to none yet.
 */
static bool smc_visitor_invite(const struct sock *client, struct sock *sk, struct sock *child)
{
	struct smc_sock *visitor = smc_sk(client);

	if (!visitor || READ_ONCE(visitor->connector) != current || visitor->visit.host ||
	    !refcount_inc_not_zero(&sk->sk_refcnt))
		return false;
	visitor->visit.host = sk;
	sock_hold(child);
	visitor->visit.child = child;
	return true;
}

bool smc_visitor_arrives(struct smc_listener *l, struct sock *child)
{
	/* It came in this thread, unless another came after that: whose is not this thread's. */
	struct sock *client = smc_nearby(child) ? smc_nearby_peer(child) : NULL;
	bool arrives;

	if (!client)
		return false;
	arrives = smc_visitor_invite(client, l->smc->sk, child);
	sock_put(client);
	return arrives;
}

/* Return: the listener, with a reference; or NULL if it is gone. */
static struct smc_listener *smc_visitor_host(const struct sock *host)
{
	struct smc_listener *l = NULL;
	struct smc_sock *smc;

	rcu_read_lock();
	smc = smc_sk(host);
	if (smc && READ_ONCE(smc->mode) == SMC_MODE_LISTEN && smc_listener_get(smc->listener))
		l = smc->listener;
	rcu_read_unlock();
	return l;
}

/* Threads that connect one socket may meet each other's children. */
static bool smc_visitor_is_peer(const struct smc_sock *smc, const struct sock *child)
{
	struct sock *peer = smc_nearby_peer(child);

	if (peer)
		sock_put(peer);
	return peer == smc->sk;
}

/* Return: whether both ends agree. */
static bool smc_visitor_see(struct smc_listener *l, struct smc_sock *smc, struct sock *sk,
			    bool agree)
{
	struct smc_sock *child = smc_listener_take_this(l, sk);

	if (!child)
		return false;
	/* Who captures wants to see it all. */
	agree = agree && smc_visitor_is_peer(smc, sk) && !smc_nearby_is_watched(smc->sk) &&
		smc_handshake_pair(&smc->hs, &child->hs);
	if (agree)
		smc_handshake_run(&child->hs);
	smc_listener_enter(l, child);
	return agree;
}

bool smc_visitor_meet(struct smc_sock *smc, const struct smc_visit *visit, bool agree)
{
	struct smc_listener *l;
	bool agreed = false;

	if (!visit->host)
		return false;
	l = smc_visitor_host(visit->host);
	if (l) {
		agreed = smc_visitor_see(l, smc, visit->child, agree);
		smc_listener_unref(l);
	}
	sock_put(visit->child);
	sock_put(visit->host);
	return agreed;
}
