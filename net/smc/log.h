/* SPDX-License-Identifier: GPL-2.0 */
/* Messages in the kernel's log, for the administrator of the host. */
#ifndef SMC_LOG_H
#define SMC_LOG_H

#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <net/net_namespace.h>

/* So many a minute of each kind: peers can cause some of them at any rate. */
#define SMC_LOG_INTERVAL	(60 * HZ)
#define SMC_LOG_BURST		10

/*
 * smc_log() - @print, which is pr_info or pr_warn, what happened in @net
 *
 * The log is the host's, so it has nothing of other namespaces, whose tenants could fill it. Each
 * place has a limit of its own, so that one kind of message suppresses no other. Any context.
 */
#define smc_log(print, net, fmt, ...)						\
do {										\
	static DEFINE_RATELIMIT_STATE(limit, SMC_LOG_INTERVAL, SMC_LOG_BURST);	\
										\
	if (net_eq(net, &init_net) && __ratelimit(&limit))			\
		print("smc: " fmt "\n", ##__VA_ARGS__);				\
} while (0)

#endif
