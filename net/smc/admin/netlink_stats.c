// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of SMC_GEN_NETLINK that show counters.
 */
#include <linux/limits.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "admin/netlink_ops.h"
#include "admin/stats_show.h"

/* Attributes for the elements of an array of counters, in the order of the array. */
static const int size_attrs[] = {
	SMC_NLA_STATS_PLOAD_8K, SMC_NLA_STATS_PLOAD_16K, SMC_NLA_STATS_PLOAD_32K,
	SMC_NLA_STATS_PLOAD_64K, SMC_NLA_STATS_PLOAD_128K, SMC_NLA_STATS_PLOAD_256K,
	SMC_NLA_STATS_PLOAD_512K, SMC_NLA_STATS_PLOAD_1024K, SMC_NLA_STATS_PLOAD_G_1024K,
};

static const int event_attrs[] = {
	[SMC_STAT_SMALL_PEER]	= SMC_NLA_STATS_RMB_SIZE_SM_PEER_CNT,
	[SMC_STAT_SMALL]	= SMC_NLA_STATS_RMB_SIZE_SM_CNT,
	[SMC_STAT_FULL_PEER]	= SMC_NLA_STATS_RMB_FULL_PEER_CNT,
	[SMC_STAT_FULL]		= SMC_NLA_STATS_RMB_FULL_CNT,
	[SMC_STAT_REUSED]	= SMC_NLA_STATS_RMB_REUSE_CNT,
	[SMC_STAT_ALLOCATED]	= SMC_NLA_STATS_RMB_ALLOC_CNT,
	[SMC_STAT_DOWNGRADED]	= SMC_NLA_STATS_RMB_DGRADE_CNT,
};

static const int call_attrs[] = {
	[SMC_STAT_SENDPAGE]	= SMC_NLA_STATS_T_SENDPAGE_CNT,
	[SMC_STAT_SPLICE]	= SMC_NLA_STATS_T_SPLICE_CNT,
	[SMC_STAT_CORK]		= SMC_NLA_STATS_T_CORK_CNT,
	[SMC_STAT_NODELAY]	= SMC_NLA_STATS_T_NDLY_CNT,
	[SMC_STAT_URGENT]	= SMC_NLA_STATS_T_URG_DATA_CNT,
};

/* Attributes of the counters from SMC_RDMA_GROUPS_LOST on. */
static const int link_attrs[] = {
	SMC_NLA_STATS_L_GROUPS_LOST, SMC_NLA_STATS_L_ADDED, SMC_NLA_STATS_L_LOST,
	SMC_NLA_STATS_L_CONNS_MOVED, SMC_NLA_STATS_L_STALLED, SMC_NLA_STATS_L_REPEATED_WRITES,
	SMC_NLA_STATS_L_REPEATED_BYTES,
};

static_assert(ARRAY_SIZE(size_attrs) == SMC_STAT_SIZES);
static_assert(ARRAY_SIZE(event_attrs) == SMC_STAT_N_BUFFER_EVENTS);
static_assert(ARRAY_SIZE(call_attrs) == SMC_STAT_N_CALLS);
static_assert(ARRAY_SIZE(link_attrs) == SMC_N_RDMA_COUNTERS - SMC_RDMA_GROUPS_LOST);

/* SMC_NLA_STATS_PAD is right in every nest of counters: their padding attributes are all 0. */
static int put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, SMC_NLA_STATS_PAD);
}

static int put_u64s(struct sk_buff *skb, const int *attrs, const u64 *values, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (put_u64(skb, attrs[i], values[i]))
			return -EMSGSIZE;
	return 0;
}

static int put_nest(struct sk_buff *skb, int attr, const int *attrs, const u64 *values, size_t n)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || put_u64s(skb, attrs, values, n))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Puts 8 bytes only for a value that needs them. The sum over the CPUs may briefly be negative. */
static int put_usage(struct sk_buff *skb, int attr, s64 bytes)
{
	if (bytes > U32_MAX)
		return put_u64(skb, attr, bytes);
	return nla_put_u32(skb, attr, max_t(s64, bytes, 0));
}

static u64 calls(const struct smc_stat_direction *direction)
{
	u64 sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(direction->payload); i++)
		sum += direction->payload[i];
	return sum;
}

static int put_path(struct sk_buff *skb, int attr, const struct smc_stat_path *path)
{
	const struct smc_stat_direction *tx = &path->direction[SMC_STAT_TX];
	const struct smc_stat_direction *rx = &path->direction[SMC_STAT_RX];
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest ||
	    put_nest(skb, SMC_NLA_STATS_T_TX_RMB_STATS, event_attrs, tx->event,
		     ARRAY_SIZE(event_attrs)) ||
	    put_nest(skb, SMC_NLA_STATS_T_RX_RMB_STATS, event_attrs, rx->event,
		     ARRAY_SIZE(event_attrs)) ||
	    put_nest(skb, SMC_NLA_STATS_T_TXPLOAD_SIZE, size_attrs, tx->payload,
		     ARRAY_SIZE(size_attrs)) ||
	    put_nest(skb, SMC_NLA_STATS_T_RXPLOAD_SIZE, size_attrs, rx->payload,
		     ARRAY_SIZE(size_attrs)) ||
	    put_nest(skb, SMC_NLA_STATS_T_TX_RMB_SIZE, size_attrs, tx->buffer,
		     ARRAY_SIZE(size_attrs)) ||
	    put_nest(skb, SMC_NLA_STATS_T_RX_RMB_SIZE, size_attrs, rx->buffer,
		     ARRAY_SIZE(size_attrs)) ||
	    put_u64(skb, SMC_NLA_STATS_T_CLNT_V1_SUCC, path->handshakes[SMC_CLIENT][0]) ||
	    put_u64(skb, SMC_NLA_STATS_T_CLNT_V2_SUCC, path->handshakes[SMC_CLIENT][1]) ||
	    put_u64(skb, SMC_NLA_STATS_T_SRV_V1_SUCC, path->handshakes[SMC_SERVER][0]) ||
	    put_u64(skb, SMC_NLA_STATS_T_SRV_V2_SUCC, path->handshakes[SMC_SERVER][1]) ||
	    put_u64(skb, SMC_NLA_STATS_T_RX_BYTES, rx->bytes) ||
	    put_u64(skb, SMC_NLA_STATS_T_TX_BYTES, tx->bytes) ||
	    put_usage(skb, SMC_NLA_STATS_T_RX_RMB_USAGE, rx->buffer_bytes) ||
	    put_usage(skb, SMC_NLA_STATS_T_TX_RMB_USAGE, tx->buffer_bytes) ||
	    put_u64(skb, SMC_NLA_STATS_T_RX_CNT, calls(rx)) ||
	    put_u64(skb, SMC_NLA_STATS_T_TX_CNT, calls(tx)) ||
	    put_u64s(skb, call_attrs, path->call, ARRAY_SIZE(call_attrs)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_stats(struct sk_buff *skb, struct netlink_callback *cb, const struct smc_stats *sum)
{
	struct smc_netlink_msg m;
	int err = smc_netlink_open(&m, skb, cb, SMC_GEN_STATS);

	if (err)
		return err;
	err = put_path(skb, SMC_NLA_STATS_SMCD_TECH, &sum->path[SMC_PATH_D]) ?:
	      put_path(skb, SMC_NLA_STATS_SMCR_TECH, &sum->path[SMC_PATH_R]) ?:
	      put_u64(skb, SMC_NLA_STATS_CLNT_HS_ERR_CNT, sum->handshake_errors[SMC_CLIENT]) ?:
	      put_u64(skb, SMC_NLA_STATS_SRV_HS_ERR_CNT, sum->handshake_errors[SMC_SERVER]) ?:
	      put_nest(skb, SMC_NLA_STATS_LINKS, link_attrs, &sum->rdma[SMC_RDMA_GROUPS_LOST],
		       ARRAY_SIZE(link_attrs));
	return smc_netlink_close(&m, err);
}

int smc_netlink_dump_stats(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_stats *sum;
	int err;

	if (cb->args[0]++)
		return 0;
	sum = kmalloc(sizeof(*sum), GFP_KERNEL);
	if (!sum)
		return -ENOMEM;
	smc_stats_sum(sock_net(skb->sk), sum);
	err = put_stats(skb, cb, sum);
	kfree(sum);
	return err ?: skb->len;
}

/* Puts a message with one reason of a role. A dump's first message also has both roles' totals. */
static int put_fallback(struct sk_buff *skb, struct netlink_callback *cb,
			const struct smc_fallbacks *all, enum smc_role role, unsigned int i)
{
	u16 count = min_t(u32, all->side[role].reason[i].count, U16_MAX);
	struct smc_netlink_msg m;
	int err = smc_netlink_open(&m, skb, cb, SMC_GEN_FBACK_STATS);

	if (err)
		return err;
	err = nla_put_u8(skb, SMC_NLA_FBACK_STATS_TYPE, role);
	if (!err && !cb->args[2])
		err = put_u64(skb, SMC_NLA_FBACK_STATS_SRV_CNT, all->side[SMC_SERVER].total) ?:
		      put_u64(skb, SMC_NLA_FBACK_STATS_CLNT_CNT, all->side[SMC_CLIENT].total);
	err = err ?:
	      nla_put_u32(skb, SMC_NLA_FBACK_STATS_RSN_CODE, all->side[role].reason[i].code) ?:
	      nla_put_u16(skb, SMC_NLA_FBACK_STATS_RSN_CNT, count);
	err = smc_netlink_close(&m, err);
	if (!err)
		cb->args[2] = true;
	return err;
}

/* args[0] is the role, args[1] the role's next reason, args[2] whether the totals are sent. */
int smc_netlink_dump_fallbacks(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_fallbacks *fallbacks = smc_net(sock_net(skb->sk))->fallbacks;

	spin_lock_bh(&fallbacks->lock);
	for (; cb->args[0] < SMC_N_ROLES; cb->args[0]++, cb->args[1] = 0)
		for (; cb->args[1] < fallbacks->side[cb->args[0]].n; cb->args[1]++)
			if (put_fallback(skb, cb, fallbacks, cb->args[0], cb->args[1]))
				goto out;
out:
	spin_unlock_bh(&fallbacks->lock);
	return skb->len;
}
