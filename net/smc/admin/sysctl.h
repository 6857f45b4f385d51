/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net.smc.*: the sysctls of a network namespace and of the host.
 *
 * Values may change at any time. Read each once with READ_ONCE(), and use that copy.
 */
#ifndef SMC_ADMIN_SYSCTL_H
#define SMC_ADMIN_SYSCTL_H

#include <linux/types.h>

struct net;
struct smc_sysctl_own;

/* Values of smcr_buf_type. */
enum smc_buf_type {
	SMC_BUF_PHYSICAL,	/* physically contiguous */
	SMC_BUF_VIRTUAL,	/* virtually contiguous */
	SMC_BUF_MIXED,		/* physically contiguous where available */
};

/* Values of smcd_scope: pairs of sockets that may use SMC-D. */
enum smc_smcd_scope {
	SMC_SCOPE_NONE,
	SMC_SCOPE_NET,		/* within one network namespace */
	SMC_SCOPE_USER,		/* also between namespaces of the same user namespace */
	SMC_SCOPE_HOST,		/* all on the host */
};

/* The effective values in a namespace, which are within the host's limits; see sysctl.c. */
struct smc_sysctl {
	unsigned int autocorking_size;	/* bytes; 0: no autocorking */
	unsigned int smcr_buf_type;	/* enum smc_buf_type */
	int smcr_testlink_time;		/* jiffies; 0: no TEST LINK */
	int wmem;			/* bytes */
	int rmem;			/* bytes */
	int max_conns_per_lgr;		/* 16 to 255 */
	int max_links_per_lgr;		/* 1 or 2 */
	int smcr_tos;			/* IPv4's type of service, or IPv6's traffic class */
	int max_links_foreign;		/* 1 or 2; with a peer that runs another SMC */
	int limit_smc_hs;		/* bool: prefer TCP under load; netlink sets it as well */
	int smcd;			/* bool: use SMC-D */
	int smcd_rmem;			/* bytes */
	int spin_usec;			/* upper bound for a reader's busy polling */
	int tcp_keepalive_time;		/* jiffies; 0: TCP connections of SMC are not probed */
	int blackhole_timeout;		/* jiffies; 0: no blackhole entries */
	int mem_limit;			/* pages of buffers */
	int tcp2smc;			/* bool: TCP sockets become SMC sockets */

	struct smc_sysctl_own *own_values;
};

/**
 * smc_sysctl_set_tcp2smc_hook() - register the function that switches tcp2smc on
 * @fn: called when the host's administrator writes 1 to a namespace's tcp2smc. If @fn fails,
 *	tcp2smc keeps its value, and the writer gets the error. @fn may sleep; calls never overlap.
 *	With NULL for @fn, such a write fails with -EOPNOTSUPP. A write by a container's root does
 *	not call @fn: that write succeeds if @fn has succeeded before, else it fails with -EPERM.
 */
void smc_sysctl_set_tcp2smc_hook(int (*fn)(void));

/**
 * smc_sysctl_limit_handshakes() - set limit_smc_hs as a write to the sysctl does
 * @net: namespace whose sysctl is set
 * @limit: new value
 *
 * Context: process; doesn't sleep.
 */
void smc_sysctl_limit_handshakes(struct net *net, bool limit);

/* Maximum number of orphans (stream/orphan.c) on the host; for READ_ONCE(). */
extern unsigned int smc_sysctl_max_orphans;
/* enum smc_smcd_scope, for all namespaces of the host; for READ_ONCE(). */
extern int smc_sysctl_smcd_scope;
/* Maximum pages of buffers (memory/buffer.h) on the host; for READ_ONCE(). */
extern int smc_sysctl_host_mem_limit;

/* module.c calls these once. */
int smc_sysctl_init_host(void);
void smc_sysctl_exit_host(void);

/* net.c calls these for each namespace. */
int smc_sysctl_init_net(struct net *net);
void smc_sysctl_exit_net(struct net *net);

#endif
