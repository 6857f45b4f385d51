// SPDX-License-Identifier: GPL-2.0
/* Which threads are on a visit. */

#include <linux/hashtable.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include "visit.h"

static DEFINE_HASHTABLE(smc_visits, 6);
static DEFINE_SPINLOCK(smc_visits_lock);

void smc_visit_begin(struct smc_visit *visit)
{
	visit->task = current;
	spin_lock_bh(&smc_visits_lock);
	hash_add(smc_visits, &visit->entry, (unsigned long)current);
	spin_unlock_bh(&smc_visits_lock);
}

void smc_visit_end(struct smc_visit *visit)
{
	spin_lock_bh(&smc_visits_lock);
	hash_del(&visit->entry);
	spin_unlock_bh(&smc_visits_lock);
}

struct smc_visit *smc_visit_of_current(void)
{
	const unsigned long key = (unsigned long)current;
	struct smc_visit *visit;

	/* Most connections come from elsewhere. Its own is there, for the thread put it there. */
	if (hlist_empty(&smc_visits[hash_min(key, HASH_BITS(smc_visits))]))
		return NULL;
	spin_lock_bh(&smc_visits_lock);
	hash_for_each_possible(smc_visits, visit, entry, key)
		if (visit->task == current)
			break;
	spin_unlock_bh(&smc_visits_lock);
	/* It stays: its thread ends it. */
	return visit;
}

static bool smc_visit_is_to6(const struct sock *sk, const struct sock *child)
{
#if IS_ENABLED(CONFIG_IPV6)
	return ipv6_addr_equal(&child->sk_v6_daddr, &sk->sk_v6_rcv_saddr) &&
	       ipv6_addr_equal(&child->sk_v6_rcv_saddr, &sk->sk_v6_daddr);
#else
	return false;
#endif
}

bool smc_visit_is_to(const struct smc_visit *visit, const struct sock *child)
{
	const struct inet_sock *here = inet_sk(visit->sk);
	const struct inet_sock *there = inet_sk(child);

	if (here->inet_sport != there->inet_dport || here->inet_dport != there->inet_sport)
		return false;
	/* Of IPv4 in one of IPv6 there is both. */
	if (visit->sk->sk_family == AF_INET6 && child->sk_family == AF_INET6)
		return smc_visit_is_to6(visit->sk, child);
	return here->inet_rcv_saddr == there->inet_daddr &&
	       here->inet_daddr == there->inet_rcv_saddr;
}
