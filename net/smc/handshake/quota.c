// SPDX-License-Identifier: GPL-2.0
/* Everybody's share of the handshake under way. */

#include <linux/cred.h>
#include <linux/net.h>
#include <linux/siphash.h>
#include <linux/user_namespace.h>
#include <net/ipv6.h>

#include "admin/net.h"
#include "handshake.h"
#include "quota.h"
#include "tcp.h"

/* With SMC_LIMIT_HS or its netlink counterpart, or for who has some under way on a busy host. */
#define SMC_HANDSHAKES_LIMITED		64
/*
 * In all namespaces, of which users may have any number: what makes a host busy, and the most. No
 * user makes it busy alone.
 */
#define SMC_HANDSHAKES_HOST_BUSY	(2 * SMC_HANDSHAKES_MAX)
#define SMC_HANDSHAKES_HOST_MAX		(4 * SMC_HANDSHAKES_MAX)

/* For those who have none under way: however many others take all they can, they leave these. */
#define SMC_QUOTA_RESERVE		16

static atomic_t smc_handshakes;	/* under way, in all namespaces */

/* Those who meet in one of these have one share together; nobody can choose whom he meets. */
static atomic_t smc_quota_users[1024];
static atomic_t smc_quota_peers[1024];
static siphash_key_t smc_quota_key __read_mostly;

static unsigned int smc_quota_hash(u64 who, const void *where)
{
	net_get_random_once(&smc_quota_key, sizeof(smc_quota_key));
	return siphash_2u64(who, (uintptr_t)where, &smc_quota_key) %
	       ARRAY_SIZE(smc_quota_users);
}

/* A user of the host is one, wherever his sockets are. What root does there is for many. */
static unsigned int smc_quota_hash_uid(kuid_t uid, const void *where)
{
	return smc_quota_hash(__kuid_val(uid), uid_eq(uid, GLOBAL_ROOT_UID) ? where : NULL);
}

/*
 * Who answers for a socket. A user may have many uids and network namespaces in a user namespace
 * that he made: what counts is who made the outermost one. Those that root made are each of
 * another, and so are further network namespaces outside of them, which only root makes.
 */
static unsigned int smc_quota_hash_user(const struct sock *sk)
{
	const struct user_namespace *ns = sock_net(sk)->user_ns;

	if (net_eq(sock_net(sk), &init_net))
		return smc_quota_hash_uid(sk->sk_uid, &init_net);
	if (ns == &init_user_ns)
		return smc_quota_hash(__kuid_val(sk->sk_uid), sock_net(sk));
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return smc_quota_hash_uid(ns->owner, ns);
}

/* A host has a /64 of IPv6, at least. */
static unsigned int smc_quota_hash_address(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	u64 prefix;

	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr)) {
		memcpy(&prefix, &sk->sk_v6_daddr, sizeof(prefix));
		return smc_quota_hash(prefix, sock_net(sk));
	}
#endif
	return smc_quota_hash((__force u32)sk->sk_daddr, sock_net(sk));
}

/* Within a namespace all clients have its addresses: their users count. */
static atomic_t *smc_quota_peer(const struct smc_handshake *hs)
{
	struct sock *client = NULL;
	unsigned int hash;

	if (smc_local_peer(hs->sk)) {
		if (hs->role == SMC_CLIENT)
			return NULL;
		client = smc_local_peer_find(hs->sk);
	}
	if (!client)
		return &smc_quota_peers[smc_quota_hash_address(hs->sk)];
	hash = smc_quota_hash_user(client);
	sock_put(client);
	return &smc_quota_peers[hash];
}

/* Of @most in a namespace. */
static int smc_quota_left(const struct smc_net *sn, int most)
{
	int i;

	for (i = 0; i < SMC_HANDSHAKE_QUEUES; i++)
		most -= atomic_read(&sn->handshake_queues[i].handshakes);
	return min(most, SMC_HANDSHAKES_HOST_MAX - atomic_read(&smc_handshakes));
}

/* Whether one who has @own under way may have another of those that are @left. */
static bool smc_quota_may(int own, int left)
{
	return own ? own < left - SMC_QUOTA_RESERVE : left > 0;
}

/*
 * Of how many in a namespace one who has @own under way may have the next. For one who has none
 * the places count that are left for those whose SYNs came before.
 */
static int smc_quota_most(const struct smc_net *sn, bool limit, int own)
{
	if (READ_ONCE(sn->sysctl.limit_smc_hs) || limit)
		return SMC_HANDSHAKES_LIMITED;
	if (!own)
		return SMC_HANDSHAKES_BEGUN_MAX;
	return atomic_read(&smc_handshakes) < SMC_HANDSHAKES_HOST_BUSY ? SMC_HANDSHAKES_MAX :
									 SMC_HANDSHAKES_LIMITED;
}

bool smc_quota_congested(const struct sock *sk, bool limit)
{
	const struct smc_net *sn = smc_sk_net(sk);
	int own = atomic_read(&smc_quota_users[smc_quota_hash_user(sk)]);

	return !smc_quota_may(own, smc_quota_left(sn, smc_quota_most(sn, limit, own)));
}

/* Return: one with a place that was free, which is taken; or NULL. */
static struct smc_handshake_wq *smc_quota_take_place(struct smc_net *sn)
{
	int i;

	for (i = 0; i < SMC_HANDSHAKE_QUEUES; i++)
		if (atomic_add_unless(&sn->handshake_queues[i].handshakes, 1, SMC_HANDSHAKES_MAX))
			return &sn->handshake_queues[i];
	return NULL;
}

bool smc_quota_take(struct smc_handshake *hs)
{
	struct smc_net *sn = smc_sk_net(hs->sk);
	int left = smc_quota_left(sn, SMC_HANDSHAKES_BEGUN_MAX);
	struct smc_quota quota = {
		.user = &smc_quota_users[smc_quota_hash_user(hs->sk)],
		.peer = smc_quota_peer(hs),
	};

	hs->quota = (struct smc_quota){};
	if (!smc_quota_may(atomic_read(quota.user), left) ||
	    (quota.peer && !smc_quota_may(atomic_read(quota.peer), left)))
		return false;
	/* Others may have taken what was left. */
	quota.queue = smc_quota_take_place(sn);
	if (!quota.queue)
		return false;
	atomic_inc(quota.user);
	if (quota.peer)
		atomic_inc(quota.peer);
	atomic_inc(&smc_handshakes);
	hs->quota = quota;
	return true;
}

void smc_quota_return(struct smc_handshake *hs)
{
	if (!hs->quota.queue)
		return;
	atomic_dec(hs->quota.user);
	if (hs->quota.peer)
		atomic_dec(hs->quota.peer);
	atomic_dec(&hs->quota.queue->handshakes);
	atomic_dec(&smc_handshakes);
}
