// SPDX-License-Identifier: GPL-2.0
/*
 * net.smc.*: the sysctls of a network namespace and of the host. Each sysctl of a namespace, except
 * tcp2smc, has two values: its own value, which the namespace's administrator sets, and the
 * effective value, which SMC uses. For some sysctls the own value of init_net limits the effective
 * values of all other namespaces.
 */

#include <linux/capability.h>
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

/* Guards the hook. Only the host's administrator and the module's init and exit take the lock. */
static DEFINE_MUTEX(tcp2smc_lock);
static int (*tcp2smc_hook)(void);
/* Whether the hook has succeeded. */
static bool tcp2smc_works;

void smc_sysctl_set_tcp2smc_hook(int (*fn)(void))
{
	mutex_lock(&tcp2smc_lock);
	tcp2smc_hook = fn;
	mutex_unlock(&tcp2smc_lock);
}

/*
 * Calls the hook for the host's administrator. A write by the root of a container succeeds only if
 * the hook has succeeded before. Such a write takes no lock: a container's root can withhold
 * processor time from the writing thread, which would then never release the lock.
 */
static int tcp2smc_prepare(void)
{
	int err;

	if (!capable(CAP_NET_ADMIN))
		return READ_ONCE(tcp2smc_works) ? 0 : -EPERM;
	mutex_lock(&tcp2smc_lock);
	err = tcp2smc_hook ? tcp2smc_hook() : -EOPNOTSUPP;
	if (!err)
		WRITE_ONCE(tcp2smc_works, true);
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

	if (!err && write && value)
		err = tcp2smc_prepare();
	if (!err && write)
		WRITE_ONCE(sysctl->tcp2smc, value);
	return err;
}

/* Handles a time that user space sees in seconds and SMC in jiffies. Refuses a negative time. */
static int seconds_handler(SMC_CTL_CONST struct ctl_table *table, int write, void *buffer,
			   size_t *lenp, loff_t *ppos)
{
	int err = proc_dointvec_jiffies(table, write, buffer, lenp, ppos);

	return err ? : *(int *)table->data < 0 ? -EINVAL : 0;
}

static int bound_min(int own, int host)
{
	return min(own, host);
}

/* Combines two times. A time of 0 means never. */
static int bound_time(int own, int host)
{
	return min_not_zero(own, host);
}

static int bound_or(int own, int host)
{
	return own || host;
}

/*
 * A sysctl of every namespace. @combine makes a namespace's effective value from its own value and
 * that of init_net; without @combine the own value is effective. In init_net the two values are
 * equal, and @combine must return that value.
 */
struct smc_sysctl_param {
	const char *name;
	size_t at;			/* offset of the effective value in struct smc_sysctl */
	int host;			/* init_net's own value, with which new namespaces begin */
	int (*combine)(int own, int host);
	proc_handler *handler;
	int min;
	int max;
};

#define PARAM(file, member, initial, ...) {				\
	.name	= file,							\
	.at	= offsetof(struct smc_sysctl, member) +			\
		  BUILD_BUG_ON_ZERO(sizeof_field(struct smc_sysctl, member) != sizeof(int)), \
	.host	= initial,						\
	__VA_ARGS__							\
}

#define BETWEEN(least, most)						\
	.handler = proc_dointvec_minmax, .min = least, .max = most
#define BOOLEAN		BETWEEN(0, 1)
/* Sizes in bytes. Rounding them up to a power of two can't overflow. */
#define BUFFER_SIZE	BETWEEN(SZ_16K, INT_MAX / 2)
#define SECONDS		.handler = seconds_handler

/* Documentation/sysctl.rst and tools/smc/smc.7 describe each sysctl; tools/smc/test.sh tests it. */
static struct smc_sysctl_param params[] = {
	PARAM("autocorking_size", autocorking_size, SZ_64K, .handler = proc_douintvec),
	PARAM("smcr_buf_type", smcr_buf_type, SMC_BUF_PHYSICAL, BETWEEN(0, SMC_BUF_MIXED)),
	PARAM("smcr_testlink_time", smcr_testlink_time, 30 * HZ, SECONDS, .combine = bound_time),
	PARAM("wmem", wmem, SZ_128K, BUFFER_SIZE, .combine = bound_min),
	PARAM("rmem", rmem, SZ_128K, BUFFER_SIZE, .combine = bound_min),
	PARAM("smcr_max_conns_per_lgr", max_conns_per_lgr, 255, BETWEEN(16, 255)),
	PARAM("smcr_max_links_per_lgr", max_links_per_lgr, 2, BETWEEN(1, 2), .combine = bound_min),
	PARAM("smcr_max_links_foreign", max_links_foreign, 1, BETWEEN(1, 2), .combine = bound_min),
	PARAM("smcr_tos", smcr_tos, 0, BETWEEN(0, 255)),
	PARAM("limit_smc_hs", limit_smc_hs, 0, BOOLEAN, .combine = bound_or),
	PARAM("smcd", smcd, 1, BOOLEAN, .combine = bound_min),
	PARAM("smcd_rmem", smcd_rmem, SZ_256K, BUFFER_SIZE, .combine = bound_min),
	PARAM("spin_usec", spin_usec, 400, BETWEEN(0, 1000), .combine = bound_min),
	PARAM("tcp_keepalive_time", tcp_keepalive_time, 30 * HZ, SECONDS, .combine = bound_time),
	PARAM("mem_limit", mem_limit, INT_MAX, BETWEEN(0, INT_MAX), .combine = bound_min),
	PARAM("blackhole_timeout", blackhole_timeout, 3600 * HZ, SECONDS, .combine = bound_min),
};

/* The own values of a namespace, and its sysctl files. */
struct smc_sysctl_own {
	struct list_head list;
	struct net *net;
	int values[ARRAY_SIZE(params)];
	struct ctl_table_header *header;
	/* Entry for tcp2smc, and an empty one for kernels that need it at the end, see compat.h. */
	struct ctl_table table[ARRAY_SIZE(params) + 2];
};

/*
 * Guards the list, the own values, and the effective values. Every namespace that begins or ends
 * takes the lock. It is a spinlock, because a task that held a mutex might be throttled by its
 * control group, and would delay all namespaces.
 */
static DEFINE_SPINLOCK(own_lock);
static LIST_HEAD(own_list);

static int *effective_value(const struct smc_sysctl_own *own_values,
			    const struct smc_sysctl_param *param)
{
	return (void *)&smc_net(own_values->net)->sysctl + param->at;
}

static void update_effective(const struct smc_sysctl_own *own_values,
			     const struct smc_sysctl_param *param)
{
	int value = own_values->values[param - params];

	lockdep_assert_held(&own_lock);
	if (param->combine)
		value = param->combine(value, param->host);
	WRITE_ONCE(*effective_value(own_values, param), value);
}

static void set_own(struct smc_sysctl_own *own_values, struct smc_sysctl_param *param, int value)
{
	spin_lock(&own_lock);
	own_values->values[param - params] = value;
	if (net_eq(own_values->net, &init_net)) {
		param->host = value;
		list_for_each_entry(own_values, &own_list, list)
			update_effective(own_values, param);
	} else {
		update_effective(own_values, param);
	}
	spin_unlock(&own_lock);
}

/* Handles a sysctl of a namespace: a read shows the effective value, a write sets the own value. */
static int param_handler(SMC_CTL_CONST struct ctl_table *table, int write, void *buffer,
			 size_t *lenp, loff_t *ppos)
{
	struct smc_sysctl_own *own_values = table->data;
	struct smc_sysctl_param *param = table->extra1;
	int value = READ_ONCE(*effective_value(own_values, param));
	struct ctl_table copy = {
		.data	= &value,
		.maxlen	= sizeof(value),
		.extra1	= &param->min,
		.extra2	= &param->max,
	};
	/* A write at another position than the beginning of the file is ignored. */
	const bool is_asked = write && !*ppos;
	int err = param->handler(&copy, write, buffer, lenp, ppos);

	if (!err && is_asked)
		set_own(own_values, param, value);
	return err;
}

/* Return: the sysctl whose effective value is at offset @at of struct smc_sysctl. */
static struct smc_sysctl_param *param_of(size_t at)
{
	struct smc_sysctl_param *param = params;

	while (param->at != at)
		param++;
	return param;
}

void smc_sysctl_limit_handshakes(struct net *net, bool limit)
{
	set_own(smc_net(net)->sysctl.own_values, param_of(offsetof(struct smc_sysctl,
								   limit_smc_hs)), limit);
}

unsigned int smc_sysctl_max_orphans;
int smc_sysctl_host_mem_limit;
int smc_sysctl_smcd_scope = SMC_SCOPE_HOST;
static int scope_max = SMC_SCOPE_HOST;

#define HOST_PARAM(file, variable, ...) {				\
	.procname	= file,						\
	.data		= &(variable),					\
	.maxlen		= sizeof(variable),				\
	.mode		= 0644,						\
	__VA_ARGS__							\
}

/* Sysctls of the host, which are in init_net only. */
static struct ctl_table host_table[] = {
	HOST_PARAM("max_orphans", smc_sysctl_max_orphans, .proc_handler = proc_douintvec),
	HOST_PARAM("host_mem_limit", smc_sysctl_host_mem_limit,
		   .proc_handler = proc_dointvec_minmax, .extra1 = SYSCTL_ZERO),
	HOST_PARAM("smcd_scope", smc_sysctl_smcd_scope,
		   .proc_handler = proc_dointvec_minmax, .extra1 = SYSCTL_ZERO,
		   .extra2 = &scope_max),
	{ }
};

static struct ctl_table_header *host_header;

int smc_sysctl_init_host(void)
{
	/* A quarter of memory, in pages; at most what an int can hold. */
	smc_sysctl_host_mem_limit = min_t(unsigned long, totalram_pages() / 4, INT_MAX);
	set_own(smc_net(&init_net)->sysctl.own_values, param_of(offsetof(struct smc_sysctl,
									 mem_limit)),
		smc_sysctl_host_mem_limit);
	/* The initial value of TCP's tcp_max_orphans, which modules can't read. */
	smc_sysctl_max_orphans = (init_net.ipv4.tcp_death_row.hashinfo->ehash_mask + 1) / 2;
	host_header = register_net_sysctl_sz(&init_net, "net/smc", host_table,
					     ARRAY_SIZE(host_table) - 1);
	return host_header ? 0 : -ENOMEM;
}

void smc_sysctl_exit_host(void)
{
	unregister_net_sysctl_table(host_header);
}

static void fill_table(struct smc_sysctl_own *own_values)
{
	struct ctl_table *entry = own_values->table;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(params); i++)
		*entry++ = (struct ctl_table) {
			.procname	= params[i].name,
			.data		= own_values,
			.mode		= 0644,
			.proc_handler	= param_handler,
			.extra1		= &params[i],
		};
	*entry = (struct ctl_table) {
		.procname	= "tcp2smc",
		.data		= &smc_net(own_values->net)->sysctl.tcp2smc,
		.mode		= 0644,
		.proc_handler	= tcp2smc_handler,
	};
}

/* Gives a new namespace init_net's own values, and enters it in the list. */
static void own_begin(struct smc_sysctl_own *own_values)
{
	struct smc_sysctl_param *param;

	spin_lock(&own_lock);
	for (param = params; param < params + ARRAY_SIZE(params); param++) {
		own_values->values[param - params] = param->host;
		update_effective(own_values, param);
	}
	list_add(&own_values->list, &own_list);
	spin_unlock(&own_lock);
}

static void own_end(struct smc_sysctl_own *own_values)
{
	spin_lock(&own_lock);
	list_del(&own_values->list);
	spin_unlock(&own_lock);
	kfree(own_values);
}

int smc_sysctl_init_net(struct net *net)
{
	struct smc_sysctl_own *own_values = kzalloc(sizeof(*own_values), GFP_KERNEL_ACCOUNT);

	if (!own_values)
		return -ENOMEM;
	own_values->net = net;
	smc_net(net)->sysctl.own_values = own_values;
	own_begin(own_values);
	fill_table(own_values);
	own_values->header = register_net_sysctl_sz(net, "net/smc", own_values->table,
						    ARRAY_SIZE(own_values->table) - 1);
	if (!own_values->header) {
		own_end(own_values);
		return -ENOMEM;
	}
	return 0;
}

void smc_sysctl_exit_net(struct net *net)
{
	struct smc_sysctl_own *own_values = smc_net(net)->sysctl.own_values;

	unregister_net_sysctl_table(own_values->header);
	own_end(own_values);
}
