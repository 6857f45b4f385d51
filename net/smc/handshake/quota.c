// SPDX-License-Identifier: GPL-2.0
/* Quotas of users and peers among the SMC handshakes under way. */

#include <linux/cred.h>
#include <linux/net.h>
#include <linux/siphash.h>
#include <linux/user_namespace.h>
#include <net/ipv6.h>

#include "admin/net.h"
#include "quota.h"
#include "tcp.h"

/* Limit of a namespace for handshakes that begin: the number of places in its work queues. */
#define SMC_HANDSHAKES_BEGUN_MAX	(SMC_HANDSHAKE_QUEUES * SMC_HANDSHAKES_MAX)
/*
 * Limit of a namespace for three kinds of offers: those of sockets with SMC_LIMIT_HS, all offers if
 * net.smc.limit_smc_hs is set, and on a busy host those of users who have handshakes under way.
 */
#define SMC_HANDSHAKES_LIMITED		64
/*
 * Limits for the handshakes of all namespaces together. They exist because a user may create any
 * number of namespaces. A host with SMC_HANDSHAKES_HOST_BUSY handshakes or more is busy, and
 * SMC_HANDSHAKES_HOST_MAX is the limit. A single user can't make the host busy.
 */
#define SMC_HANDSHAKES_HOST_BUSY	(2 * SMC_HANDSHAKES_MAX)
#define SMC_HANDSHAKES_HOST_MAX		(4 * SMC_HANDSHAKES_MAX)

/* Places that are reserved for users and peers that have no handshake under way. */
#define SMC_QUOTA_RESERVE		16

static atomic_t smc_handshakes;	/* under way, in all namespaces */

/*
 * Numbers of handshakes by a hash of the user or of the peer. Users with the same hash share one
 * quota, and so do peers. The hash's key is secret, so nobody can choose whose quota to share.
 */
static atomic_t smc_quota_users[1024];
static atomic_t smc_quota_peers[1024];
static siphash_key_t smc_quota_key __read_mostly;

static unsigned int smc_quota_hash(u64 who, const void *where)
{
	net_get_random_once(&smc_quota_key, sizeof(smc_quota_key));
	return siphash_2u64(who, (uintptr_t)where, &smc_quota_key) %
	       ARRAY_SIZE(smc_quota_users);
}

/*
 * Hashes a user of the host, whose handshakes in all namespaces count together. Root acts for many
 * users, so its handshakes count separately for each namespace @where.
 */
static unsigned int smc_quota_hash_uid(kuid_t uid, const void *where)
{
	return smc_quota_hash(__kuid_val(uid), uid_eq(uid, GLOBAL_ROOT_UID) ? where : NULL);
}

/*
 * Hashes the user for whom a socket of @uid in @net counts:
 * - In the initial network namespace, the user is @uid.
 * - Only root can make other network namespaces in the initial user namespace. In each of these,
 *   each uid is a user of its own.
 * - In a user namespace of his own, a user may have many uids and network namespaces. So there the
 *   user is the owner of the outermost user namespace below the initial one. If root is that owner,
 *   each such user namespace is a user of its own.
 */
static unsigned int smc_quota_hash_user(const struct net *net, kuid_t uid)
{
	const struct user_namespace *ns = net->user_ns;

	if (net_eq(net, &init_net))
		return smc_quota_hash_uid(uid, &init_net);
	if (ns == &init_user_ns)
		return smc_quota_hash(__kuid_val(uid), net);
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return smc_quota_hash_uid(ns->owner, ns);
}

/* Hashes a peer's address. A host may have all addresses of an IPv6 /64, so only the /64 counts. */
static unsigned int smc_quota_hash_address(const struct net *net, struct in6_addr addr)
{
	u64 prefix;

	if (ipv6_addr_v4mapped(&addr))
		return smc_quota_hash((__force u32)addr.s6_addr32[3], net);
	memcpy(&prefix, &addr, sizeof(prefix));
	return smc_quota_hash(prefix, net);
}

/*
 * Finds the count of the peer's handshakes. All clients in the server's own namespace share its
 * addresses, so for them the client's user counts as the peer. If the socket of such a client is
 * not found, its address counts instead. Return: the count; NULL if this end is the client, and its
 * server is in the same namespace.
 */
static atomic_t *smc_quota_peer(const struct sock *sk, enum smc_role role)
{
	const struct net *net = sock_net(sk);
	struct sock *client = NULL;
	unsigned int hash;

	if (smc_peer_in_net(sk)) {
		if (role == SMC_CLIENT)
			return NULL;
		client = smc_local_peer_find(sk);
	}
	if (!client)
		return &smc_quota_peers[smc_quota_hash_address(net, smc_tcp_daddr(sk))];
	hash = smc_quota_hash_user(net, client->sk_uid);
	sock_put(client);
	return &smc_quota_peers[hash];
}

/* Return: how many of @limit places in a namespace are free, or fewer if the host has fewer. */
static int smc_quota_left(const struct smc_net *sn, int limit)
{
	int i;

	for (i = 0; i < SMC_HANDSHAKE_QUEUES; i++)
		limit -= atomic_read(&sn->handshake_queues[i].handshakes);
	return min(limit, SMC_HANDSHAKES_HOST_MAX - atomic_read(&smc_handshakes));
}

/* Whether a user or peer with @own handshakes may have another while @left places are free. */
static bool smc_quota_may(int own, int left)
{
	return own ? own < left - SMC_QUOTA_RESERVE : left > 0;
}

/*
 * Return: how many places of a namespace there are for the offers of a user with @own handshakes.
 * A user without a handshake may use all places. Other users may use SMC_HANDSHAKES_MAX; the rest
 * is kept for handshakes that were offered earlier. On a busy host they may use fewer. If @limit or
 * net.smc.limit_smc_hs limits the offers, every user may use only SMC_HANDSHAKES_LIMITED.
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

bool smc_quota_congested(const struct net *net, kuid_t uid, bool limit)
{
	int own = atomic_read(&smc_quota_users[smc_quota_hash_user(net, uid)]);
	const struct smc_net *sn = smc_net(net);

	return !smc_quota_may(own, smc_quota_left(sn, smc_quota_most(sn, limit, own)));
}

/* Takes a free place. Return: the work queue of the place, or NULL if none is free. */
static struct smc_handshake_wq *smc_quota_take_place(struct smc_net *sn)
{
	int i;

	for (i = 0; i < SMC_HANDSHAKE_QUEUES; i++)
		if (atomic_add_unless(&sn->handshake_queues[i].handshakes, 1, SMC_HANDSHAKES_MAX))
			return &sn->handshake_queues[i];
	return NULL;
}

/*
 * Whether a client with @peer handshakes may have another one with a server's user, who has @user
 * handshakes.
 *
 * When the user has used up his quota, his SYN-ACKs offer SMC to no client. A single client must
 * not be able to cause this. So a client that already has N handshakes gets another only while the
 * user can still get more than N.
 *
 * The function computes how many handshakes the user can still get. He gets another while the
 * difference (left - reserve - user) is above 0, where left is the number of free places. Each
 * handshake takes one of these places and adds one to @user, and so lowers the difference by two.
 * Hence the user can get half of the difference.
 */
static bool smc_quota_client_may(const struct smc_net *sn, int user, int peer)
{
	int left = smc_quota_left(sn, smc_quota_most(sn, false, user));

	return !peer || peer < (left - SMC_QUOTA_RESERVE - user) / 2;
}

/* Whether an offered handshake may begin: whether its user and its peer may each have one more. */
static bool smc_quota_may_begin(const struct smc_net *sn, enum smc_role role,
				const struct smc_quota *quota)
{
	int left = smc_quota_left(sn, SMC_HANDSHAKES_BEGUN_MAX);
	int user = atomic_read(quota->user);
	int peer = quota->peer ? atomic_read(quota->peer) : 0;

	return smc_quota_may(user, left) && smc_quota_may(peer, left) &&
	       (role == SMC_CLIENT || smc_quota_client_may(sn, user, peer));
}

bool smc_quota_take(struct smc_quota *quota, const struct sock *sk, enum smc_role role)
{
	struct smc_net *sn = smc_net(sock_net(sk));

	*quota = (struct smc_quota){
		.user = &smc_quota_users[smc_quota_hash_user(sock_net(sk), sk->sk_uid)],
		.peer = smc_quota_peer(sk, role),
	};
	if (!smc_quota_may_begin(sn, role, quota))
		return false;
	/* Other threads may have taken the free places meanwhile. */
	quota->queue = smc_quota_take_place(sn);
	if (!quota->queue)
		return false;
	atomic_inc(quota->user);
	if (quota->peer)
		atomic_inc(quota->peer);
	atomic_inc(&smc_handshakes);
	return true;
}

void smc_quota_return(const struct smc_quota *quota)
{
	if (!quota->queue)
		return;
	atomic_dec(quota->user);
	if (quota->peer)
		atomic_dec(quota->peer);
	atomic_dec(&quota->queue->handshakes);
	atomic_dec(&smc_handshakes);
}
