/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that connects to a listener of its own network namespace carries its packets there
 * itself: TCP calls the listener in that thread. So it can meet its other end before anybody else
 * does: it does the listener's work there, and both agree without a message on the way.
 */
#ifndef SMC_VISITOR_H
#define SMC_VISITOR_H

#include <linux/types.h>

struct smc_listener;
struct smc_sock;
struct smc_visit;
struct sock;

/**
 * smc_visitor_arrives() - TCP has a connection for a listener
 * @l: listener
 * @child: what came last
 *
 * Context: TCP's data_ready, under RCU.
 * Return: true if the thread that brought it takes care of it.
 */
bool smc_visitor_arrives(struct smc_listener *l, struct sock *child);

/**
 * smc_visitor_set_out() - the thread is about to have TCP connect
 * @smc: the client
 *
 * Context: process.
 * Return: false if another thread does; else smc_visitor_return() is to follow.
 */
bool smc_visitor_set_out(struct smc_sock *smc);

/**
 * smc_visitor_return() - TCP's connect() is through
 * @smc: the client
 * @visit: set to what it met, for smc_visitor_meet()
 *
 * Context: process.
 */
void smc_visitor_return(struct smc_sock *smc, struct smc_visit *visit);

/**
 * smc_visitor_meet() - take care of the connection that arrived, if one did
 * @smc: the client, for which TCP's connect() has been called
 * @visit: what it met, or nothing; its references go
 * @agree: its rendezvous is the caller's, and may be held
 *
 * If both ends can agree at once on SMC-D, the other one's part of it is over then. Else they do
 * it by way of TCP, a worker for the listener. Nobody waits for the thread meanwhile: if the
 * listener is closed, the thread resets the connection.
 *
 * Context: process, without any socket lock.
 * Return: whether they agree: then smc_handshake_run() of @smc's waits for nobody.
 */
bool smc_visitor_meet(struct smc_sock *smc, const struct smc_visit *visit, bool agree);

#endif
