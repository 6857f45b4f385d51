/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A listener's children are copies of it, and TCP may give them to others: another listener, by
 * SO_REUSEPORT migration, or one that is left to TCP. So nothing of this module is copied.
 */
#ifndef SMC_CHILDREN_H
#define SMC_CHILDREN_H

#include <linux/types.h>

struct smc_listener;
struct sock;

/**
 * smc_children_init() - learn how TCP creates children
 * @tcp: socket that only TCP has used; one of each family
 */
void smc_children_init(const struct sock *tcp);

/**
 * smc_children_are_tcps() - whether TCP creates the children of a socket that is to listen
 * @sk: socket, locked
 *
 * Return: false if another part of the kernel does, and the listener can't be ours.
 */
bool smc_children_are_tcps(const struct sock *sk);

/**
 * smc_children_hook() - have children given TCP's callbacks and operations when they are created
 * @l: listener, its socket locked; does not listen yet
 */
void smc_children_hook(struct smc_listener *l);

/**
 * smc_children_listener() - whose children are so created
 * @sk: socket
 *
 * Context: under RCU, or the caller has the socket's file open.
 * Return: the listener that the socket is, or NULL.
 */
struct smc_listener *smc_children_listener(const struct sock *sk);

/**
 * smc_children_unhook() - leave that to TCP again, if it was hooked
 * @sk: socket, locked; does not listen any more, or was never hooked
 *
 * Packets that TCP is handling may still be in this module, under RCU.
 */
void smc_children_unhook(struct sock *sk);

#endif
