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
 * @host: the listener it met, which does not go away meanwhile, or NULL
 * @guest: the connection there that waits for this client's CONFIRM, with a reference, or NULL
 */
struct smc_visit {
	struct hlist_node entry;
	const struct task_struct *task;
	struct smc_listener *host;
	struct sock *guest;
};

/**
 * smc_visit_begin() - this thread sends, and may meet a listener
 * @visit: who it meets is noted here
 *
 * Context: process. Until smc_visit_end() it waits for nobody: the listener does, for it.
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

#endif
