// SPDX-License-Identifier: GPL-2.0
/* Looks at the route of a TCP connection. */

#include <linux/inetdevice.h>
#include <net/dst.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "route.h"

static u32 smc_route_cookie(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return inet6_sk(sk)->dst_cookie;
#endif
	return 0;
}

static bool smc_route_holds(const struct sock *sk, struct dst_entry *dst)
{
	return !dst->obsolete || dst->ops->check(dst, smc_route_cookie(sk));
}

/* Return: the socket's route, with a reference; or NULL if there is none, or it is obsolete. */
static struct dst_entry *smc_route_get_valid(struct sock *sk)
{
	struct dst_entry *dst = sk_dst_get(sk);

	if (!dst || smc_route_holds(sk, dst))
		return dst;
	/* The obsolete route stays in the socket until TCP, under the socket lock, drops it. */
	dst_release(dst);
	return NULL;
}

/*
 * Lets TCP look up the socket's route, as it would for its next packet. If a user holds the socket
 * lock, the function does nothing rather than wait, and the socket stays without a valid route.
 */
static void smc_route_anew(struct sock *sk)
{
	local_bh_disable();
	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk))
		inet_csk(sk)->icsk_af_ops->rebuild_header(sk);
	bh_unlock_sock(sk);
	local_bh_enable();
}

/* Return: a valid route, which also respects IPsec policies newer than the SYN; or NULL. */
static struct dst_entry *smc_route_get(struct sock *sk)
{
	struct dst_entry *dst = smc_route_get_valid(sk);

	if (dst)
		return dst;
	smc_route_anew(sk);
	return smc_route_get_valid(sk);
}

bool smc_route_is_secured(struct sock *sk)
{
	struct dst_entry *dst = smc_route_get(sk);
	bool secured = !dst || dst_xfrm(dst);

	dst_release(dst);
	return secured;
}

static bool smc_dst_has_gateway(const struct dst_entry *dst)
{
	if (dst->ops->family == AF_INET)
		return container_of(dst, struct rtable, dst)->rt_uses_gateway;
	return container_of(dst, struct rt6_info, dst)->rt6i_flags & RTF_GATEWAY;
}

void smc_route_look_up(struct smc_path_setup *s, struct sock *sk)
{
	dst_release(s->dst);
	s->dst = sk_dst_get(sk);
	s->is_direct = s->dst && !smc_dst_has_gateway(s->dst);
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
