// SPDX-License-Identifier: GPL-2.0
/* Commands of SMC_GEN_NETLINK for blackhole entries. */
#include <net/ipv6.h>
#include <net/sock.h>

#include "admin/blackhole.h"
#include "admin/net.h"
#include "admin/netlink_ops.h"

/* Bytes that an IPv4 or IPv6 address or a GID needs as text, with the NUL. */
#define ADDRESS_LEN	sizeof("0000:0000:0000:0000:0000:0000:0000:0000")

static int put_address(struct sk_buff *skb, const struct in6_addr *addr)
{
	char text[ADDRESS_LEN];

	if (ipv6_addr_v4mapped(addr))
		snprintf(text, sizeof(text), "%pI4", &addr->s6_addr32[3]);
	else
		snprintf(text, sizeof(text), "%pI6c", addr);
	return nla_put_string(skb, SMC_NLA_BLACKHOLE_ADDR, text);
}

static int put_gid(struct sk_buff *skb, const u8 *gid)
{
	char text[ADDRESS_LEN];

	snprintf(text, sizeof(text), "%pI6", gid);
	return nla_put_string(skb, SMC_NLA_BLACKHOLE_GID, text);
}

static int put_uid(struct sk_buff *skb, const struct netlink_callback *cb, kuid_t uid)
{
	struct user_namespace *reader = sk_user_ns(NETLINK_CB(cb->skb).sk);

	return nla_put_u32(skb, SMC_NLA_BLACKHOLE_UID, from_kuid_munged(reader, uid));
}

static int put_blackhole(struct sk_buff *skb, struct netlink_callback *cb,
			 const struct smc_blackhole_info *info)
{
	const struct smc_blackhole_key *key = &info->key;
	struct smc_netlink_msg m;
	int err = smc_netlink_open(&m, skb, cb, SMC_GEN_BLACKHOLE);

	if (err)
		return err;
	err = nla_put_u8(skb, SMC_NLA_BLACKHOLE_EVENT, info->event) ?:
	      put_address(skb, &key->addr);
	if (!err)
		err = key->kind == SMC_BLACKHOLE_GID ? put_gid(skb, key->gid) :
		      nla_put_u16(skb, SMC_NLA_BLACKHOLE_PORT, ntohs(key->port));
	if (!err && key->kind == SMC_BLACKHOLE_SERVER)
		err = put_uid(skb, cb, key->uid);
	err = err ?:
	      nla_put_u32(skb, SMC_NLA_BLACKHOLE_AGE, info->age) ?:
	      nla_put_u32(skb, SMC_NLA_BLACKHOLE_LEFT, info->left);
	return smc_netlink_close(&m, err);
}

/*
 * Whether the dump may show the entry of @key. A server's entry names a user, so only that user and
 * the namespace's root may see it.
 */
static bool may_see(const struct netlink_callback *cb, const struct smc_blackhole_key *key)
{
	const struct net *net = sock_net(NETLINK_CB(cb->skb).sk);

	return key->kind != SMC_BLACKHOLE_SERVER || uid_eq(key->uid, NETLINK_CREDS(cb->skb)->uid) ||
	       netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN);
}

/*
 * args[0] is the serial number of the last entry that was shown, or hidden from this reader. The
 * dump misses no entry that the reader may see. It shows an entry again if the entry is renewed
 * meanwhile.
 */
int smc_netlink_dump_blackholes(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_blackhole_info info = { .serial = cb->args[0] };

	while (smc_blackhole_next(smc_net(sock_net(skb->sk)), &info)) {
		if (may_see(cb, &info.key) && put_blackhole(skb, cb, &info))
			break;
		cb->args[0] = info.serial;
	}
	return skb->len;
}

int smc_netlink_flush_blackholes(struct sk_buff *skb, struct genl_info *info)
{
	smc_blackhole_flush(smc_net(genl_info_net(info)));
	return 0;
}
