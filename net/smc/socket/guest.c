// SPDX-License-Identifier: GPL-2.0
/* A client does the work of a listener of its own host. */

#include "guest.h"
#include "listener.h"
#include "rendezvous/visit.h"
#include "smc_sock.h"

bool smc_guest_arrives(struct smc_listener *l)
{
	struct smc_visit *visit = smc_visit_of_current();

	if (!visit || visit->host || !smc_listener_has_last(l, visit))
		return false;
	if (smc_listener_enter(l))
		visit->host = l;
	return visit->host;
}

void smc_guest_answer(struct smc_visit *visit)
{
	struct smc_sock *child;

	if (!visit->host)
		return;
	child = smc_listener_take_first(visit->host, visit);
	if (child && smc_handshake_answer(&child->hs)) {
		visit->other = child->sk;
		smc_sock_park_handshake(child);
	} else if (child) {
		smc_sock_leave_handshake(child);
	}
	smc_listener_leave(visit->host);
}

/*
 * Meanwhile the listener may have been closed, or a worker have found the CONFIRM late.
 * Return: the connection, whose listener has been entered, or NULL.
 */
static struct smc_sock *smc_guest_return(struct smc_visit *visit)
{
	struct smc_sock *child;

	rcu_read_lock();
	child = smc_sock_find(visit->other);
	visit->host = child ? READ_ONCE(child->parent) : NULL;
	if (!visit->host || !smc_listener_take_back(visit->host, child, visit))
		child = NULL;
	rcu_read_unlock();
	return child;
}

void smc_guest_complete(struct smc_visit *visit)
{
	struct smc_sock *child = visit->other ? smc_guest_return(visit) : NULL;

	if (!child)
		return;
	if (smc_handshake_has_message(&child->hs))
		smc_sock_hold_handshake(child);
	else
		smc_sock_leave_handshake(child);
	smc_listener_leave(visit->host);
}
