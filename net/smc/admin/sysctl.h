/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net.smc.*: the knobs of one network namespace.
 *
 * Values change under their readers. Read each once with READ_ONCE() and decide
 * from the copy.
 */
#ifndef SMC_ADMIN_SYSCTL_H
#define SMC_ADMIN_SYSCTL_H

#include <linux/types.h>

struct net;
struct smc_sysctl_asked;

/* Values of smcr_buf_type. */
enum smc_buf_type {
	SMC_BUF_PHYSICAL,	/* physically contiguous */
	SMC_BUF_VIRTUAL,	/* virtually contiguous */
	SMC_BUF_MIXED,		/* physically contiguous where it can be had */
};

/* Values of smcd_scope: which ends may use SMC-D with each other. */
enum smc_smcd_scope {
	SMC_SCOPE_NONE,
	SMC_SCOPE_NET,		/* those of one network namespace */
	SMC_SCOPE_USER,		/* and those whose namespaces one user namespace owns */
	SMC_SCOPE_HOST,		/* all */
};

/* What holds in a namespace: no more than the host allows, see sysctl.c. */
struct smc_sysctl {
	unsigned int autocorking_size;	/* bytes; 0: no autocorking */
	unsigned int smcr_buf_type;	/* enum smc_buf_type */
	int smcr_testlink_time;		/* jiffies; 0: no TEST LINK */
	int wmem;			/* bytes */
	int rmem;			/* bytes */
	int max_conns_per_lgr;		/* 16 to 255 */
	int max_links_per_lgr;		/* always 1 */
	int limit_smc_hs;		/* bool: prefer TCP under load, as netlink can say, too */
	int smcd;			/* bool: use memory inside the host */
	int smcd_rmem;			/* bytes */
	int spin_usec;			/* a reader watches for at most */
	int tcp_keepalive_time;		/* jiffies; 0: TCP below streams is not probed */
	int blackhole_timeout;		/* jiffies; 0: no destination is spared SMC */
	int mem_limit;			/* pages of slabs */
	int tcp2smc;			/* bool: TCP sockets become SMC sockets */

	struct smc_sysctl_asked *asked;
};

/**
 * smc_sysctl_set_tcp2smc_hook() - say who makes TCP sockets SMC sockets
 * @fn: called when a namespace sets tcp2smc. Its error reaches the writer of the sysctl,
 *	whose value then stays 0. May sleep; calls never overlap. NULL for nobody: setting
 *	tcp2smc then fails with -EOPNOTSUPP.
 */
void smc_sysctl_set_tcp2smc_hook(int (*fn)(void));

/**
 * smc_sysctl_limit_handshakes() - ask for limit_smc_hs by other means than the sysctl
 * @net: namespace
 * @limit: value
 *
 * Context: process, may sleep.
 */
void smc_sysctl_limit_handshakes(struct net *net, bool limit);

/* Orphans (stream/orphan.c) that the host bears; for READ_ONCE(). */
extern unsigned int smc_sysctl_max_orphans;
/* enum smc_smcd_scope, which holds for all namespaces; for READ_ONCE(). */
extern int smc_sysctl_smcd_scope;
/* Pages of slabs (memory/slab.h) that the host bears; for READ_ONCE(). */
extern int smc_sysctl_host_mem_limit;

/* Called by net.c, once. */
int smc_sysctl_init_host(void);
void smc_sysctl_exit_host(void);

/* Called by net.c for each namespace. */
int smc_sysctl_init_net(struct net *net);
void smc_sysctl_exit_net(struct net *net);

#endif
