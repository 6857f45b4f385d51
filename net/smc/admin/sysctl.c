// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
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
	int err = proc_dointvec_jiffies(table, write, buffer, lenp, ppos);

	return err ? : *(int *)table->data < 0 ? -EINVAL : 0;
}

static int lesser(int own, int host)
{
	return min(own, host);
}

/* Times, of which 0 means never. */
static int sooner(int own, int host)
{
	return min_not_zero(own, host);
}

static int either(int own, int host)
{
	return own || host;
}

/*
 * A sysctl of every namespace. What holds there is made by @among of what was asked for there and
 * by the host, or is what was asked for there. Made of the host's twice, it is the host's.
 */
struct knob {
	const char *name;
	size_t at;			/* in struct smc_sysctl: what holds */
	int host;			/* asked for in init_net, where the others begin */
	int (*among)(int own, int host);
	proc_handler *handler;
	int *min;
	int *max;
};

#define KNOB(file, member, initial, ...) {				\
	.name	= file,							\
	.at	= offsetof(struct smc_sysctl, member) +			\
		  BUILD_BUG_ON_ZERO(sizeof_field(struct smc_sysctl, member) != sizeof(int)), \
	.host	= initial,						\
	__VA_ARGS__							\
}

#define BETWEEN(least, most)						\
	.handler = proc_dointvec_minmax, .min = least, .max = most
#define BOOLEAN		BETWEEN(SYSCTL_ZERO, SYSCTL_ONE)
#define SECONDS		.handler = seconds_handler

static struct knob knobs[] = {
	KNOB("autocorking_size", autocorking_size, SZ_64K, .handler = proc_douintvec),
	KNOB("smcr_buf_type", smcr_buf_type, SMC_BUF_PHYSICAL,
	     BETWEEN(SYSCTL_ZERO, &buf_type_max)),
	KNOB("smcr_testlink_time", smcr_testlink_time, 30 * HZ, SECONDS, .among = sooner),
	KNOB("wmem", wmem, SZ_128K, BETWEEN(&mem_min, &mem_max), .among = lesser),
	KNOB("rmem", rmem, SZ_128K, BETWEEN(&mem_min, &mem_max), .among = lesser),
	KNOB("smcr_max_conns_per_lgr", max_conns_per_lgr, 255, BETWEEN(&conns_min, &conns_max)),
	KNOB("smcr_max_links_per_lgr", max_links_per_lgr, 1, BETWEEN(SYSCTL_ONE, SYSCTL_ONE)),
	KNOB("limit_smc_hs", limit_smc_hs, 0, BOOLEAN, .among = either),
	KNOB("smcd", smcd, 1, BOOLEAN, .among = lesser),
	KNOB("smcd_rmem", smcd_rmem, SZ_256K, BETWEEN(&mem_min, &mem_max), .among = lesser),
	KNOB("spin_usec", spin_usec, 400, BETWEEN(SYSCTL_ZERO, SYSCTL_ONE_THOUSAND),
	     .among = lesser),
	KNOB("tcp_keepalive_time", tcp_keepalive_time, 30 * HZ, SECONDS, .among = sooner),
	KNOB("mem_limit", mem_limit, INT_MAX, BETWEEN(SYSCTL_ZERO, SYSCTL_INT_MAX),
	     .among = lesser),
	KNOB("blackhole_timeout", blackhole_timeout, 3600 * HZ, SECONDS, .among = lesser),
};

/* What the administrator of a namespace asked for, and the files for that. */
struct smc_sysctl_asked {
	struct list_head list;
	struct net *net;
	int values[ARRAY_SIZE(knobs)];
	struct ctl_table_header *header;
	/* The last one where the kernel wants it: see register_net_sysctl_sz() in compat.h. */
	struct ctl_table table[ARRAY_SIZE(knobs) + 2];
};

/*
 * Guards the list, what was asked for, and what is made of it. Every namespace that begins or ends
 * takes it: a spinlock, which nobody keeps while his control group gets no processor time.
 */
static DEFINE_SPINLOCK(asked_lock);
static LIST_HEAD(asked_list);

static int *what_holds(const struct smc_sysctl_asked *asked, const struct knob *knob)
{
	return (void *)&smc_net(asked->net)->sysctl + knob->at;
}

static void settle(const struct smc_sysctl_asked *asked, const struct knob *knob)
{
	int own = asked->values[knob - knobs];

	lockdep_assert_held(&asked_lock);
	WRITE_ONCE(*what_holds(asked, knob), knob->among ? knob->among(own, knob->host) : own);
}

static void ask(struct smc_sysctl_asked *asked, struct knob *knob, int value)
{
	spin_lock(&asked_lock);
	asked->values[knob - knobs] = value;
	if (net_eq(asked->net, &init_net)) {
		knob->host = value;
		list_for_each_entry(asked, &asked_list, list)
			settle(asked, knob);
	} else {
		settle(asked, knob);
	}
	spin_unlock(&asked_lock);
}

/* Shown is what holds. */
static int knob_handler(SMC_CTL_CONST struct ctl_table *table, int write, void *buffer,
			size_t *lenp, loff_t *ppos)
{
	struct smc_sysctl_asked *asked = table->data;
	struct knob *knob = table->extra1;
	int value = READ_ONCE(*what_holds(asked, knob));
	struct ctl_table copy = {
		.data	= &value,
		.maxlen	= sizeof(value),
		.extra1	= knob->min,
		.extra2	= knob->max,
	};
	/* What is written elsewhere is not taken. */
	const bool is_asked = write && !*ppos;
	int err = knob->handler(&copy, write, buffer, lenp, ppos);

	if (!err && is_asked)
		ask(asked, knob, value);
	return err;
}

/* The one of a member of struct smc_sysctl, by its offset. */
static struct knob *knob_of(size_t at)
{
	struct knob *knob = knobs;

	while (knob->at != at)
		knob++;
	return knob;
}

void smc_sysctl_limit_handshakes(struct net *net, bool limit)
{
	ask(smc_net(net)->sysctl.asked, knob_of(offsetof(struct smc_sysctl, limit_smc_hs)), limit);
}

unsigned int smc_sysctl_max_orphans;
int smc_sysctl_host_mem_limit;
int smc_sysctl_smcd_scope = SMC_SCOPE_HOST;
static int scope_max = SMC_SCOPE_HOST;

/* Of the host, so in no namespace but the first. */
static struct ctl_table host_table[] = {
	{
		.procname	= "max_orphans",
		.data		= &smc_sysctl_max_orphans,
		.maxlen		= sizeof(smc_sysctl_max_orphans),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
	{
		.procname	= "host_mem_limit",
		.data		= &smc_sysctl_host_mem_limit,
		.maxlen		= sizeof(smc_sysctl_host_mem_limit),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
	},
	{
		.procname	= "smcd_scope",
		.data		= &smc_sysctl_smcd_scope,
		.maxlen		= sizeof(smc_sysctl_smcd_scope),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= &scope_max,
	},
	{ }
};

static struct ctl_table_header *host_header;

int smc_sysctl_init_host(void)
{
	/* In pages, as far as a sysctl can say it. */
	smc_sysctl_host_mem_limit = min_t(unsigned long, totalram_pages() / 4, INT_MAX);
	ask(smc_net(&init_net)->sysctl.asked, knob_of(offsetof(struct smc_sysctl, mem_limit)),
	    smc_sysctl_host_mem_limit);
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

static void fill_table(struct smc_sysctl_asked *asked)
{
	struct ctl_table *entry = asked->table;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		*entry++ = (struct ctl_table) {
			.procname	= knobs[i].name,
			.data		= asked,
			.mode		= 0644,
			.proc_handler	= knob_handler,
			.extra1		= &knobs[i],
		};
	*entry = (struct ctl_table) {
		.procname	= "tcp2smc",
		.data		= &smc_net(asked->net)->sysctl.tcp2smc,
		.mode		= 0644,
		.proc_handler	= tcp2smc_handler,
	};
}

/* Begin with what the host has. */
static void asked_begin(struct smc_sysctl_asked *asked)
{
	struct knob *knob;

	spin_lock(&asked_lock);
	for (knob = knobs; knob < knobs + ARRAY_SIZE(knobs); knob++) {
		asked->values[knob - knobs] = knob->host;
		settle(asked, knob);
	}
	list_add(&asked->list, &asked_list);
	spin_unlock(&asked_lock);
}

static void asked_end(struct smc_sysctl_asked *asked)
{
	spin_lock(&asked_lock);
	list_del(&asked->list);
	spin_unlock(&asked_lock);
	kfree(asked);
}

int smc_sysctl_init_net(struct net *net)
{
	struct smc_sysctl_asked *asked = kzalloc(sizeof(*asked), GFP_KERNEL_ACCOUNT);

	if (!asked)
		return -ENOMEM;
	asked->net = net;
	smc_net(net)->sysctl.asked = asked;
	asked_begin(asked);
	fill_table(asked);
	asked->header = register_net_sysctl_sz(net, "net/smc", asked->table,
					       ARRAY_SIZE(asked->table) - 1);
	if (!asked->header) {
		asked_end(asked);
		return -ENOMEM;
	}
	return 0;
}

void smc_sysctl_exit_net(struct net *net)
{
	struct smc_sysctl_asked *asked = smc_net(net)->sysctl.asked;

	unregister_net_sysctl_table(asked->header);
	asked_end(asked);
}
