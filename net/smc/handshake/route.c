// SPDX-License-Identifier: GPL-2.0
/* Finds out whether a route has a gateway, and which IP subnets the route's device is in. */

#include <linux/inetdevice.h>
#include <net/dst.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "route.h"

static bool smc_dst_has_gateway(const struct dst_entry *dst)
{
	if (dst->ops->family == AF_INET)
		return container_of(dst, struct rtable, dst)->rt_uses_gateway;
	return container_of(dst, struct rt6_info, dst)->rt6i_flags & RTF_GATEWAY;
}

void smc_route_set(struct smc_path_setup *s, struct dst_entry *dst)
{
	dst_release(s->dst);
	s->dst = dst;
	s->is_direct = dst && !smc_dst_has_gateway(dst);
}

static bool smc_route_describe4(__be32 saddr, struct in_device *in_dev, struct smc_clc_proposal *p)
{
	const struct in_ifaddr *ifa;
	__be32 subnet;

	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (!inet_ifa_match(saddr, ifa))
			continue;
		subnet = ifa->ifa_address & ifa->ifa_mask;
		memcpy(p->prefix4, &subnet, sizeof(p->prefix4));
		p->prefix4_len = ifa->ifa_prefixlen;
		return true;
	}
	return false;
}

#if IS_ENABLED(CONFIG_IPV6)
static bool smc_route_describe6(struct inet6_dev *in6_dev, struct smc_clc_proposal *p)
{
	struct smc_prefix6 *prefix;
	struct inet6_ifaddr *ifa;

	list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list) {
		if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL)
			continue;
		if (p->n_prefixes6 == SMC_CLC_MAX_PREFIXES6)
			break;
		prefix = &p->prefixes6[p->n_prefixes6++];
		ipv6_addr_prefix((struct in6_addr *)prefix->addr, &ifa->addr, ifa->prefix_len);
		prefix->len = ifa->prefix_len;
	}
	return p->n_prefixes6;
}
#else
static bool smc_route_describe6(struct inet6_dev *in6_dev, struct smc_clc_proposal *p)
{
	return false;
}
#endif

bool smc_route_describe(const struct smc_path_setup *s, struct smc_clc_proposal *p)
{
	const struct dst_entry *dst = s->dst;
	bool some = false;

	if (!dst)
		return false;
	rcu_read_lock();
	if (dst->ops->family == AF_INET) {
		struct in_device *in_dev = __in_dev_get_rcu(dst->dev);

		some = in_dev && smc_route_describe4(s->saddr.s6_addr32[3], in_dev, p);
	} else {
		struct inet6_dev *in6_dev = __in6_dev_get(dst->dev);

		some = in6_dev && smc_route_describe6(in6_dev, p);
	}
	rcu_read_unlock();
	return some;
}

bool smc_route_matches(const struct smc_path_setup *s, const struct smc_clc_proposal *p)
{
	struct smc_clc_proposal own = {};
	int i, j;

	if (!smc_route_describe(s, &own))
		return false;
	if (!own.n_prefixes6)
		return own.prefix4_len == p->prefix4_len &&
		       !memcmp(own.prefix4, p->prefix4, sizeof(own.prefix4));
	for (i = 0; i < own.n_prefixes6; i++)
		for (j = 0; j < p->n_prefixes6; j++)
			if (!memcmp(&own.prefixes6[i], &p->prefixes6[j], sizeof(own.prefixes6[i])))
				return true;
	return false;
}
