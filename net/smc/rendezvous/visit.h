/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that connects to a listener of its own host carries its packets there itself: TCP
 * calls the listener in that thread. So the thread can do the listener's part of the rendezvous,
 * too, as far as that waits for nobody but itself, instead of waking a worker and waiting for it.
 */
#ifndef SMC_VISIT_H
#define SMC_VISIT_H

#include <linux/list.h>

struct smc_listener;
struct sock;
struct task_struct;

/**
 * struct smc_visit - what a client has to do with a listener
 * @entry: in the table of those that may meet one
 * @task: the client's thread, from smc_visit_begin() to smc_visit_end()
 * @sk: the client
 * @host: the listener that it keeps from being emptied, or NULL
 * @other: its other end, which waits for the CONFIRM, or NULL; without a reference: to be looked up
 */
struct smc_visit {
	struct hlist_node entry;
	const struct task_struct *task;
	const struct sock *sk;
	struct smc_listener *host;
	const struct sock *other;
};

/**
 * smc_visit_begin() - this thread sends, and may meet a listener
 * @visit: who it meets is noted here
 *
 * Context: process. Until smc_visit_end() it waits for memory at most: a listener waits for it.
 */
void smc_visit_begin(struct smc_visit *visit);

/**
 * smc_visit_end() - it has sent
 */
void smc_visit_end(struct smc_visit *visit);

/**
 * smc_visit_of_current() - that of the thread that runs, or was interrupted
 *
 * Context: softirq.
 * Return: NULL if it is on none.
 */
struct smc_visit *smc_visit_of_current(void);

/**
 * smc_visit_is_to() - whether a connection is the client's other end
 * @visit: the client's
 * @child: connection of a listener of this host
 *
 * Addresses that are translated between the ends hide it. Another connection with the same ones, in
 * a namespace or on a link of its own, may be taken for it: then that waits for this client, or
 * for a worker that finds its CONFIRM late.
 *
 * Context: any; both are connected, and neither lock is needed.
 */
bool smc_visit_is_to(const struct smc_visit *visit, const struct sock *child);

#endif
