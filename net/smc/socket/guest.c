// SPDX-License-Identifier: GPL-2.0
/* A client does the work of a listener of its own host. */

#include <net/sock.h>

#include "guest.h"
#include "listener.h"
#include "rendezvous/visit.h"
#include "smc_sock.h"

bool smc_guest_arrives(struct smc_listener *l)
{
	struct smc_visit *visit = smc_visit_of_current();

	if (!visit)
		return false;
	if (!visit->host && smc_listener_enter(l))
		visit->host = l;
	return visit->host == l;
}

/*
 * The listener is left meanwhile: what the client does before its CONFIRM may wait for other threads
 * of its program. A worker goes on if that takes too long.
 */
static void smc_guest_wait(struct smc_visit *visit, struct smc_sock *child)
{
	sock_hold(child->sk);
	visit->guest = child->sk;
	smc_sock_park_handshake(child);
}

void smc_guest_answer(struct smc_visit *visit, struct smc_handshake *hs)
{
	struct smc_sock *child;

	if (!visit->host)
		return;
	child = smc_listener_take_first(visit->host);
	/* If the answer was not to this client, the connection is another's. */
	if (child && smc_handshake_answer(&child->hs) && smc_handshake_has_message(hs))
		smc_guest_wait(visit, child);
	else if (child)
		smc_sock_leave_handshake(child);
	smc_listener_leave(visit->host);
	visit->host = NULL;
}

/*
 * Meanwhile the listener may have been closed, or a worker have found the CONFIRM late.
 * Return: the connection, at its listener, or NULL.
 */
static struct smc_sock *smc_guest_return(struct smc_visit *visit)
{
	struct smc_sock *child;
	struct smc_listener *l;

	rcu_read_lock();
	child = smc_sock_find(visit->guest);
	l = child ? READ_ONCE(child->parent) : NULL;
	if (l && !smc_listener_enter(l))
		l = NULL;
	/* One that can be entered may have been emptied before. */
	if (l && (READ_ONCE(child->parent) != l || !smc_sock_unpark_handshake(child))) {
		smc_listener_leave(l);
		l = NULL;
	}
	rcu_read_unlock();
	visit->host = l;
	return l ? child : NULL;
}

void smc_guest_complete(struct smc_visit *visit)
{
	struct smc_sock *child;

	if (!visit->guest)
		return;
	child = smc_guest_return(visit);
	if (child && smc_handshake_has_message(&child->hs))
		smc_sock_hold_handshake(child);
	else if (child)
		smc_sock_leave_handshake(child);
	if (child)
		smc_listener_leave(visit->host);
	sock_put(visit->guest);
}
