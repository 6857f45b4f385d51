// SPDX-License-Identifier: GPL-2.0
/* A client does the work of a listener of its own namespace. */

#include "guest.h"
#include "listener.h"
#include "nearby.h"
#include "smc_sock.h"

/* Have @client's thread come to the listener @sk, if this is that one, and it has none yet. */
static bool smc_guest_invite(const struct sock *client, struct sock *sk)
{
	struct smc_sock *guest = smc_sk(client);

	if (!guest || READ_ONCE(guest->connector) != current ||
	    !refcount_inc_not_zero(&sk->sk_refcnt))
		return false;
	if (!cmpxchg(&guest->host, NULL, sk))
		return true;
	sock_put(sk);
	return false;
}

bool smc_guest_arrives(struct smc_listener *l)
{
	struct sock *child = smc_listener_last(l);
	struct sock *client = NULL;
	bool arrives = false;

	if (child && smc_nearby(child))
		client = smc_nearby_peer(child);
	if (client) {
		arrives = smc_guest_invite(client, l->smc->sk);
		sock_put(client);
	}
	if (child)
		sock_put(child);
	return arrives;
}

/* Return: the listener, which is not emptied until it is left; or NULL if it is, or gone. */
static struct smc_listener *smc_guest_enter(const struct sock *host)
{
	struct smc_listener *l = NULL;
	struct smc_sock *smc;

	rcu_read_lock();
	smc = smc_sk(host);
	if (smc && READ_ONCE(smc->mode) == SMC_MODE_LISTEN && smc_listener_enter(smc->listener))
		l = smc->listener;
	rcu_read_unlock();
	return l;
}

/* Return: whether the rest waits for nobody, at both ends. */
static bool smc_guest_agree(struct smc_handshake *here, struct smc_handshake *there)
{
	bool is_agreed;

	if (!smc_handshake_expect(there))
		return false;
	here->mate = there;
	there->mate = here;
	smc_handshake_propose(here);
	is_agreed = smc_handshake_answer(there) && smc_handshake_confirm(here);
	here->mate = NULL;
	there->mate = NULL;
	return is_agreed;
}

static void smc_guest_see(struct smc_listener *l, struct smc_sock *smc, bool agree)
{
	struct smc_sock *child = smc_listener_take_first(l, smc->sk);

	if (!child)
		return;
	if (agree && smc_guest_agree(&smc->hs, &child->hs))
		smc_sock_hold_handshake(child);
	else
		smc_sock_leave_handshake(child);
}

void smc_guest_meet(struct smc_sock *smc, bool agree)
{
	struct sock *host = xchg(&smc->host, NULL);
	struct smc_listener *l;

	if (!host)
		return;
	/* Who captures wants to see it all. */
	agree = agree && !smc_nearby_is_watched(smc->sk);
	/* That may wait for devices. */
	if (agree)
		smc_handshake_offer(&smc->hs, true);
	agree = agree && smc->hs.client;
	l = smc_guest_enter(host);
	if (l) {
		smc_guest_see(l, smc, agree);
		smc_listener_leave(l);
	}
	sock_put(host);
}
