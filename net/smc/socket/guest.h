/* SPDX-License-Identifier: GPL-2.0 */
/* The listener's part of a rendezvous, done by a client of the same host: see rendezvous/visit.h. */
#ifndef SMC_GUEST_H
#define SMC_GUEST_H

#include <linux/types.h>

struct smc_handshake;
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
 * @hs: the client's rendezvous
 *
 * Context: process, without any socket lock; waits for nobody.
 */
void smc_guest_answer(struct smc_visit *visit, struct smc_handshake *hs);

/**
 * smc_guest_complete() - hold the rest of it, after the CONFIRM
 * @visit: on which it was answered
 *
 * Context: process, without any socket lock; waits for nobody.
 */
void smc_guest_complete(struct smc_visit *visit);

#endif
