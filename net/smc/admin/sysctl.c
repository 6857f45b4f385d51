// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/inet_hashtables.h>

#include "admin/net.h"
#include "admin/sysctl.h"
#include "compat.h"

static int buf_type_max = SMC_BUF_MIXED;
static int mem_min = SZ_16K;
static int mem_max = INT_MAX / 2;	/* so that rounding up to a power of two can't overflow */
static int conns_min = 16;
static int conns_max = 255;

/* Guards the hook and every namespace's tcp2smc. */
static DEFINE_MUTEX(tcp2smc_lock);
static int (*tcp2smc_hook)(void);

void smc_sysctl_set_tcp2smc_hook(int (*fn)(void))
{
	mutex_lock(&tcp2smc_lock);
	tcp2smc_hook = fn;
	mutex_unlock(&tcp2smc_lock);
}

static int tcp2smc_set(struct smc_sysctl *sysctl, bool enable)
{
	int err = 0;

	mutex_lock(&tcp2smc_lock);
	if (enable)
		err = tcp2smc_hook ? tcp2smc_hook() : -EOPNOTSUPP;
	if (!err)
		WRITE_ONCE(sysctl->tcp2smc, enable);
	mutex_unlock(&tcp2smc_lock);
	return err;
}

static int tcp2smc_handler(SMC_CTL_CONST struct ctl_table *table, int write, void *buffer,
			   size_t *lenp, loff_t *ppos)
{
	struct smc_sysctl *sysctl = container_of(table->data, struct smc_sysctl, tcp2smc);
	int value = READ_ONCE(sysctl->tcp2smc);
	struct ctl_table copy = {
		.data	= &value,
		.maxlen	= sizeof(value),
		.extra1	= SYSCTL_ZERO,
		.extra2	= SYSCTL_ONE,
	};
	int err = proc_dointvec_minmax(&copy, write, buffer, lenp, ppos);

	if (err || !write)
		return err;
	return tcp2smc_set(sysctl, value);
}

/* Seconds outside, jiffies inside, never negative. */
static int seconds_handler(SMC_CTL_CONST struct ctl_table *table, int write, void *buffer,
			   size_t *lenp, loff_t *ppos)
{
	int *jiffies_value = table->data;
	int value = READ_ONCE(*jiffies_value);
	struct ctl_table copy = {
		.data	= &value,
		.maxlen	= sizeof(value),
	};
	int err = proc_dointvec_jiffies(&copy, write, buffer, lenp, ppos);

	if (err || !write)
		return err;
	if (value < 0)
		return -EINVAL;
	WRITE_ONCE(*jiffies_value, value);
	return 0;
}

/* .data is the offset in struct smc_sysctl until a namespace makes it an address. */
#define SMC_SYSCTL(file, member, handler, ...) {			\
	.procname	= file,						\
	.data		= (void *)offsetof(struct smc_sysctl, member),	\
	.maxlen		= sizeof_field(struct smc_sysctl, member),	\
	.mode		= 0644,						\
	.proc_handler	= handler,					\
	__VA_ARGS__							\
}

static const struct ctl_table template[] = {
	SMC_SYSCTL("autocorking_size", autocorking_size, proc_douintvec),
	SMC_SYSCTL("smcr_buf_type", smcr_buf_type, proc_douintvec_minmax,
		   .extra1 = SYSCTL_ZERO, .extra2 = &buf_type_max),
	SMC_SYSCTL("smcr_testlink_time", smcr_testlink_time, seconds_handler),
	SMC_SYSCTL("wmem", wmem, proc_dointvec_minmax,
		   .extra1 = &mem_min, .extra2 = &mem_max),
	SMC_SYSCTL("rmem", rmem, proc_dointvec_minmax,
		   .extra1 = &mem_min, .extra2 = &mem_max),
	SMC_SYSCTL("smcr_max_conns_per_lgr", max_conns_per_lgr, proc_dointvec_minmax,
		   .extra1 = &conns_min, .extra2 = &conns_max),
	SMC_SYSCTL("smcr_max_links_per_lgr", max_links_per_lgr, proc_dointvec_minmax,
		   .extra1 = SYSCTL_ONE, .extra2 = SYSCTL_ONE),
	SMC_SYSCTL("limit_smc_hs", limit_smc_hs, proc_dointvec_minmax,
		   .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	SMC_SYSCTL("smcd", smcd, proc_dointvec_minmax,
		   .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE),
	SMC_SYSCTL("smcd_rmem", smcd_rmem, proc_dointvec_minmax,
		   .extra1 = &mem_min, .extra2 = &mem_max),
	SMC_SYSCTL("spin_usec", spin_usec, proc_dointvec_minmax,
		   .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE_THOUSAND),
	SMC_SYSCTL("tcp_keepalive_time", tcp_keepalive_time, seconds_handler),
	SMC_SYSCTL("blackhole_timeout", blackhole_timeout, seconds_handler),
	SMC_SYSCTL("tcp2smc", tcp2smc, tcp2smc_handler),
	{ }	/* where the kernel wants it: see register_net_sysctl_sz() in compat.h */
};

unsigned int smc_sysctl_max_orphans;

/* Of the host, so in no namespace but the first. */
static struct ctl_table host_table[] = {
	{
		.procname	= "max_orphans",
		.data		= &smc_sysctl_max_orphans,
		.maxlen		= sizeof(smc_sysctl_max_orphans),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
	{ }
};

static struct ctl_table_header *host_header;

int smc_sysctl_init_host(void)
{
	/* As TCP begins, whose own tcp_max_orphans is not to be had by modules. */
	smc_sysctl_max_orphans = (init_net.ipv4.tcp_death_row.hashinfo->ehash_mask + 1) / 2;
	host_header = register_net_sysctl_sz(&init_net, "net/smc", host_table,
					     ARRAY_SIZE(host_table) - 1);
	return host_header ? 0 : -ENOMEM;
}

void smc_sysctl_exit_host(void)
{
	unregister_net_sysctl_table(host_header);
}

int smc_sysctl_init_net(struct net *net)
{
	struct smc_sysctl *sysctl = &smc_net(net)->sysctl;
	size_t n = ARRAY_SIZE(template) - 1;
	struct ctl_table *table;
	size_t i;

	*sysctl = (struct smc_sysctl) {
		.autocorking_size	= SZ_64K,
		.smcr_buf_type		= SMC_BUF_PHYSICAL,
		.smcr_testlink_time	= 30 * HZ,
		.wmem			= SZ_128K,
		.rmem			= SZ_128K,
		.max_conns_per_lgr	= conns_max,
		.max_links_per_lgr	= 1,
		.smcd			= 1,
		.smcd_rmem		= SZ_256K,
		.spin_usec		= 400,
		.tcp_keepalive_time	= 30 * HZ,
		.blackhole_timeout	= 3600 * HZ,
	};

	table = kmemdup(template, sizeof(template), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		table[i].data = (void *)sysctl + (size_t)table[i].data;

	sysctl->header = register_net_sysctl_sz(net, "net/smc", table, n);
	if (!sysctl->header) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

void smc_sysctl_exit_net(struct net *net)
{
	struct smc_sysctl *sysctl = &smc_net(net)->sysctl;
	const struct ctl_table *table = sysctl->header->ctl_table_arg;

	unregister_net_sysctl_table(sysctl->header);
	kfree(table);
}
