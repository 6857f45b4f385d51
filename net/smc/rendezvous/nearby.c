// SPDX-License-Identifier: GPL-2.0
/* Asking TCP's tables and routes who is at the other end. */

#include <linux/netdevice.h>
#include <net/dst.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "nearby.h"

/* Under RCU: a route may lose its device at any time. Return: NULL without a route. */
static struct net_device *smc_nearby_device(const struct sock *sk)
{
	const struct dst_entry *dst = rcu_dereference(sk->sk_dst_cache);

	return dst ? READ_ONCE(dst->dev) : NULL;
}

bool smc_nearby(const struct sock *sk)
{
	const struct net_device *dev;
	bool is_near;

	rcu_read_lock();
	dev = smc_nearby_device(sk);
	is_near = dev && (dev->flags & IFF_LOOPBACK);
	rcu_read_unlock();
	return is_near;
}

bool smc_nearby_is_watched(const struct sock *sk)
{
	struct net_device *dev;
	bool is_watched;

	rcu_read_lock();
	dev = smc_nearby_device(sk);
	is_watched = !dev || dev_nit_active(dev);
	rcu_read_unlock();
	return is_watched;
}

static struct sock *smc_nearby_lookup(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct net *net = sock_net(sk);
	struct inet_hashinfo *hashinfo = net->ipv4.tcp_death_row.hashinfo;
	u16 port = ntohs(inet->inet_dport);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr))
		return __inet6_lookup_established(net, hashinfo, &sk->sk_v6_rcv_saddr,
						  inet->inet_sport, &sk->sk_v6_daddr, port,
						  LOOPBACK_IFINDEX, 0);
#endif
	return __inet_lookup_established(net, hashinfo, inet->inet_rcv_saddr, inet->inet_sport,
					 inet->inet_daddr, port, LOOPBACK_IFINDEX, 0);
}

struct sock *smc_nearby_peer(const struct sock *sk)
{
	struct sock *peer;

	rcu_read_lock();
	peer = smc_nearby_lookup(sk);
	rcu_read_unlock();
	if (!peer || sk_fullsock(peer))
		return peer;
	/* What is left of one before, or the beginning of the next. */
	sock_gen_put(peer);
	return NULL;
}
