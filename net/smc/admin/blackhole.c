// SPDX-License-Identifier: GPL-2.0
/* The table of peers with which SMC has failed. */
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/ipv6.h>
#include <net/netns/hash.h>

#include "admin/address.h"
#include "admin/blackhole.h"
#include "admin/net.h"

#define SMC_BLACKHOLE_BUCKETS	64
/* Maximum number of entries of each kind, so that no kind evicts the entries of another. */
#define SMC_BLACKHOLES_MAX	256
/*
 * Number of hash buckets. A bucket counts the entries caused by users or peers that share a
 * hash.
 */
#define SMC_BLACKHOLE_PREFIX_BUCKETS	256
/*
 * The peer, or a middlebox on the way, may have failed only briefly. So an entry first lasts this
 * long. Each time that SMC fails again after the entry expired, the entry lasts twice as long as
 * before, unless it is for an RDMA port: see smc_blackhole_time().
 */
#define SMC_BLACKHOLE_FIRST_TIME	(60UL * HZ)
#define SMC_BLACKHOLE_DOUBLINGS		10

/**
 * struct smc_blackhole - an entry
 * @key: the peer
 * @event: last event, SMC_BLACKHOLE_SYN_LOST and so on
 * @again: number of events that came after the entry had expired
 * @since: time of the last event, in jiffies
 * @serial: serial number; grows along the list @by_age
 * @entry: node in its hash bucket
 * @age: node in the list @by_age
 * @rcu: delays the free until look-ups are over
 */
struct smc_blackhole {
	struct smc_blackhole_key key;
	u8 event;
	u8 again;
	unsigned long since;
	unsigned long serial;
	struct hlist_node entry;
	struct list_head age;
	struct rcu_head rcu;
};

/**
 * struct smc_blackholes - the entries of a namespace
 * @lock: protects the fields up to @n_by_prefix, with softirqs off; look-ups need only RCU
 * @bucket: hash table by key
 * @by_age: list of all entries, the oldest first
 * @serial: serial number of the newest entry
 * @n: number of entries of each kind
 * @n_by_prefix: number of entries of each kind, by hash of the user or peer that caused them
 * @net: the namespace
 * @filter_lock: serialises the start and end of the SYN filter
 * @is_filtering: the filter is running, or must not start any more as the namespace is ending
 */
struct smc_blackholes {
	spinlock_t lock;
	struct hlist_head bucket[SMC_BLACKHOLE_BUCKETS];
	struct list_head by_age;
	unsigned long serial;
	unsigned int n[SMC_N_BLACKHOLE_KINDS];
	u16 n_by_prefix[SMC_N_BLACKHOLE_KINDS][SMC_BLACKHOLE_PREFIX_BUCKETS];
	struct net *net;
	struct mutex filter_lock;
	bool is_filtering;
};

static_assert(sizeof(struct smc_blackhole_key) == 40);

void smc_blackhole_key_server(struct smc_blackhole_key *key, kuid_t uid,
			      const struct sockaddr *addr, int len)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

	memset(key, 0, sizeof(*key));
	if (len >= (int)sizeof(*in) && addr->sa_family == AF_INET) {
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &key->addr);
		key->port = in->sin_port;
	} else if (len >= SIN6_LEN_RFC2133 && addr->sa_family == AF_INET6) {
		key->addr = in6->sin6_addr;
		key->port = in6->sin6_port;
	} else {
		return;
	}
	key->uid = uid;
	key->kind = SMC_BLACKHOLE_SERVER;
}

struct smc_blackhole_key smc_blackhole_key_client(struct in6_addr addr, u16 port)
{
	return (struct smc_blackhole_key) {
		.addr = addr,
		.port = htons(port),
		.kind = SMC_BLACKHOLE_CLIENT,
	};
}

struct smc_blackhole_key smc_blackhole_key_gid(struct in6_addr addr, const u8 *gid)
{
	struct smc_blackhole_key key = { .addr = addr, .kind = SMC_BLACKHOLE_GID };

	memcpy(key.gid, gid, sizeof(key.gid));
	return key;
}

/*
 * Return: lifetime of an entry in jiffies. The sysctl also applies to existing entries.
 * The lifetime for an RDMA port never doubles: a port may soon work again, but a
 * middlebox that drops the SMC option is seldom changed.
 */
static unsigned long smc_blackhole_time(const struct smc_net *sn, const struct smc_blackhole *b)
{
	unsigned long time = READ_ONCE(sn->sysctl.blackhole_timeout);
	u8 doublings = b->key.kind == SMC_BLACKHOLE_GID ? 0 : READ_ONCE(b->again);

	return min(time, SMC_BLACKHOLE_FIRST_TIME << doublings);
}

bool smc_blackhole_is_on(const struct smc_net *sn)
{
	return READ_ONCE(sn->sysctl.blackhole_timeout);
}

/* Return: rest of an entry's lifetime, in jiffies; 0 if the entry has expired. */
static unsigned long smc_blackhole_left(const struct smc_net *sn, const struct smc_blackhole *b)
{
	unsigned long time = smc_blackhole_time(sn, b);
	unsigned long age = jiffies - READ_ONCE(b->since);

	return time > age ? time - age : 0;
}

static bool smc_blackhole_is_over(const struct smc_net *sn, const struct smc_blackhole *b)
{
	return !smc_blackhole_left(sn, b);
}

static struct hlist_head *smc_blackhole_bucket(struct smc_blackholes *all,
					       const struct smc_blackhole_key *key)
{
	u32 hash = jhash2((const u32 *)key, sizeof(*key) / sizeof(u32),
			  net_hash_mix(all->net));

	return &all->bucket[hash % SMC_BLACKHOLE_BUCKETS];
}

/* Context: RCU read lock or all->lock held. */
static struct smc_blackhole *smc_blackhole_find(struct smc_blackholes *all,
						const struct smc_blackhole_key *key)
{
	struct smc_blackhole *b;

	hlist_for_each_entry_rcu(b, smc_blackhole_bucket(all, key), entry,
				 lockdep_is_held(&all->lock))
		if (!memcmp(&b->key, key, sizeof(*key)))
			return b;
	return NULL;
}

/*
 * Return: the count of the entries that have the same cause as the entry of @key. A user who
 * connected is the cause of an entry of kind SMC_BLACKHOLE_SERVER. The peer is the cause of an
 * entry of any other kind. All addresses of an IPv6 /64 count as one peer, because one host may
 * have them all.
 */
static u16 *smc_blackhole_count_of_prefix(struct smc_blackholes *all,
					  const struct smc_blackhole_key *key)
{
	const struct in6_addr prefix = smc_address_prefix(&key->addr);
	u32 hash;

	if (key->kind == SMC_BLACKHOLE_SERVER)
		hash = jhash_1word(__kuid_val(key->uid), net_hash_mix(all->net));
	else
		hash = jhash(&prefix, sizeof(prefix), net_hash_mix(all->net));
	return &all->n_by_prefix[key->kind][hash % SMC_BLACKHOLE_PREFIX_BUCKETS];
}

static void smc_blackhole_drop(struct smc_blackholes *all, struct smc_blackhole *b)
{
	lockdep_assert_held(&all->lock);
	hlist_del_rcu(&b->entry);
	list_del(&b->age);
	WRITE_ONCE(all->n[b->key.kind], all->n[b->key.kind] - 1);
	--*smc_blackhole_count_of_prefix(all, &b->key);
	kfree_rcu(b, rcu);
}

/*
 * Selects the entry to evict: an expired one, or else the oldest entry of the user or
 * peer with the most entries. So a user or peer with many entries can't evict those
 * of others.
 */
static struct smc_blackhole *smc_blackhole_victim(struct smc_blackholes *all, u16 kind)
{
	const struct smc_net *sn = smc_net(all->net);
	struct smc_blackhole *b, *least = NULL;
	u16 n_by_prefix, most = 0;

	list_for_each_entry(b, &all->by_age, age) {
		if (b->key.kind != kind)
			continue;
		if (smc_blackhole_is_over(sn, b))
			return b;
		n_by_prefix = *smc_blackhole_count_of_prefix(all, &b->key);
		if (n_by_prefix <= most)
			continue;
		most = n_by_prefix;
		least = b;
	}
	return least;
}

static struct smc_blackhole *smc_blackhole_add(struct smc_blackholes *all,
					       const struct smc_blackhole_key *key)
{
	struct smc_blackhole *b = kmalloc(sizeof(*b), GFP_ATOMIC | __GFP_NOWARN);

	if (!b)
		return NULL;
	if (all->n[key->kind] >= SMC_BLACKHOLES_MAX)
		smc_blackhole_drop(all, smc_blackhole_victim(all, key->kind));
	b->key = *key;
	b->again = 0;
	b->since = jiffies;
	INIT_LIST_HEAD(&b->age);
	hlist_add_head_rcu(&b->entry, smc_blackhole_bucket(all, key));
	WRITE_ONCE(all->n[key->kind], all->n[key->kind] + 1);
	++*smc_blackhole_count_of_prefix(all, key);
	return b;
}

void smc_blackhole_note(struct smc_net *sn, const struct smc_blackhole_key *key, u8 event)
{
	struct smc_blackholes *all = sn->blackholes;
	struct smc_blackhole *b;

	if (key->kind == SMC_BLACKHOLE_NONE || !smc_blackhole_is_on(sn))
		return;
	spin_lock_bh(&all->lock);
	b = smc_blackhole_find(all, key) ?: smc_blackhole_add(all, key);
	if (b) {
		if (b->again < SMC_BLACKHOLE_DOUBLINGS && smc_blackhole_is_over(sn, b))
			WRITE_ONCE(b->again, b->again + 1);
		b->event = event;
		WRITE_ONCE(b->since, jiffies);
		b->serial = ++all->serial;
		list_move_tail(&b->age, &all->by_age);
	}
	spin_unlock_bh(&all->lock);
}

bool smc_blackhole_has(const struct smc_net *sn, const struct smc_blackhole_key *key)
{
	struct smc_blackholes *all = sn->blackholes;
	const struct smc_blackhole *b;
	bool has;

	/* In the common case there is no entry of this kind at all. */
	if (!READ_ONCE(all->n[key->kind]))
		return false;
	rcu_read_lock();
	b = smc_blackhole_find(all, key);
	has = b && !smc_blackhole_is_over(sn, b);
	rcu_read_unlock();
	return has;
}

void smc_blackhole_forget(struct smc_net *sn, const struct smc_blackhole_key *key)
{
	struct smc_blackholes *all = sn->blackholes;
	struct smc_blackhole *b;

	if (!READ_ONCE(all->n[key->kind]))
		return;
	spin_lock_bh(&all->lock);
	b = smc_blackhole_find(all, key);
	if (b)
		smc_blackhole_drop(all, b);
	spin_unlock_bh(&all->lock);
}

/*
 * Starts the filter with the first entry for a client. The filter runs until the
 * namespace ends: unregistering a netfilter hook would drop all packets queued by
 * NFQUEUE, and the filter costs little while no client has an entry.
 */
static void smc_blackhole_filter(struct smc_blackholes *all)
{
	mutex_lock(&all->filter_lock);
	if (!all->is_filtering)
		all->is_filtering = !smc_blackhole_filter_begin(all->net);
	mutex_unlock(&all->filter_lock);
}

void smc_blackhole_note_client(struct smc_net *sn, const struct smc_blackhole_key *key, u8 event)
{
	struct smc_blackholes *all = sn->blackholes;

	smc_blackhole_note(sn, key, event);
	if (READ_ONCE(all->n[SMC_BLACKHOLE_CLIENT]))
		smc_blackhole_filter(all);
}

void smc_blackhole_flush(struct smc_net *sn)
{
	struct smc_blackholes *all = sn->blackholes;
	struct smc_blackhole *b, *next;

	spin_lock_bh(&all->lock);
	list_for_each_entry_safe(b, next, &all->by_age, age)
		smc_blackhole_drop(all, b);
	spin_unlock_bh(&all->lock);
}

bool smc_blackhole_next(const struct smc_net *sn, struct smc_blackhole_info *info)
{
	struct smc_blackholes *all = sn->blackholes;
	const struct smc_blackhole *b;
	unsigned long left;
	bool found = false;

	spin_lock_bh(&all->lock);
	list_for_each_entry(b, &all->by_age, age) {
		left = smc_blackhole_left(sn, b);
		if (b->serial <= info->serial || !left)
			continue;
		info->serial = b->serial;
		info->key = b->key;
		info->event = b->event;
		info->age = (jiffies - b->since) / HZ;
		info->left = DIV_ROUND_UP(left, HZ);
		found = true;
		break;
	}
	spin_unlock_bh(&all->lock);
	return found;
}

int smc_blackhole_init_net(struct net *net)
{
	struct smc_blackholes *all = kzalloc(sizeof(*all), GFP_KERNEL_ACCOUNT);

	if (!all)
		return -ENOMEM;
	spin_lock_init(&all->lock);
	INIT_LIST_HEAD(&all->by_age);
	all->net = net;
	mutex_init(&all->filter_lock);
	smc_net(net)->blackholes = all;
	return 0;
}

/* Stops the filter. An entry for a client may still be added, but won't start the filter again. */
void smc_blackhole_pre_exit_net(struct net *net)
{
	struct smc_blackholes *all = smc_net(net)->blackholes;

	mutex_lock(&all->filter_lock);
	if (all->is_filtering)
		smc_blackhole_filter_end(net);
	all->is_filtering = true;
	mutex_unlock(&all->filter_lock);
}

/* Called when the namespace has no socket left that could add an entry. */
void smc_blackhole_exit_net(struct net *net)
{
	smc_blackhole_flush(smc_net(net));
	kfree(smc_net(net)->blackholes);
}
