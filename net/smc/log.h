/* SPDX-License-Identifier: GPL-2.0 */
/* Messages in the kernel's log, for the administrator of the host. */
#ifndef SMC_LOG_H
#define SMC_LOG_H

#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <net/net_namespace.h>

/* Each kind of message has a limit per interval, because peers can cause some kinds at any rate. */
#define SMC_LOG_INTERVAL	(60 * HZ)
#define SMC_LOG_BURST		10

/*
 * smc_log() - log an event in @net by @print, which is pr_info or pr_warn
 *
 * The log is the host's, and the tenants of other namespaces than init_net could fill it. So only
 * events in init_net are logged. Each call site has a limit of its own, so that no kind of message
 * suppresses another. Any context.
 */
#define smc_log(print, net, fmt, ...)						\
do {										\
	static DEFINE_RATELIMIT_STATE(limit, SMC_LOG_INTERVAL, SMC_LOG_BURST);	\
										\
	if (net_eq(net, &init_net) && __ratelimit(&limit))			\
		print("smc: " fmt "\n", ##__VA_ARGS__);				\
} while (0)

#endif
