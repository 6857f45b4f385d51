/* SPDX-License-Identifier: GPL-2.0 */
/* The listener's part of a rendezvous, done by its client: see rendezvous/visit.h. */
#ifndef SMC_GUEST_H
#define SMC_GUEST_H

#include <linux/types.h>

struct smc_listener;
struct smc_visit;

/**
 * smc_guest_arrives() - TCP has a connection for a listener
 * @l: listener
 *
 * Context: TCP's data_ready, under RCU.
 * Return: true if the thread that brought it takes care of it.
 */
bool smc_guest_arrives(struct smc_listener *l);

/**
 * smc_guest_answer() - begin the rendezvous of the connection, up to the answer
 * @visit: on which the PROPOSAL was sent
 *
 * The listener waits for its end, so it must not wait for anything of the client's, its lock
 * included. Then the listener is left: the client's next steps may. If they take too long, a
 * worker goes on.
 *
 * Context: process, without any socket lock.
 */
void smc_guest_answer(struct smc_visit *visit);

/**
 * smc_guest_complete() - hold the rest of it, after the CONFIRM
 * @visit: on which it was answered
 *
 * Context: process, without any socket lock. Waits for nothing of the client's either.
 */
void smc_guest_complete(struct smc_visit *visit);

#endif
