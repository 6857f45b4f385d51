// SPDX-License-Identifier: GPL-2.0
/*
 * A netfilter hook that hides the SMC option in the SYNs of clients in the table, so
 * that TCP leaves it out of the SYN-ACK. TCP's own callback can't be used: it asks
 * whether to send the option, but doesn't pass the client's address.
 */
#include <linux/ip.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "admin/blackhole.h"
#include "admin/net.h"

#define SMC_SYN_OPTION_LEN	6	/* kind, length, ExID */
#define SMC_TCPOPT_AO		29	/* TCPOPT_AO since 6.7 */

/*
 * Return: the place of the ExID; NULL if there is none, or if the SYN has the TCP-AO
 * option (RFC 5925), which signs all options, so that TCP would drop a changed SYN.
 */
static u8 *smc_syn_find_exid(u8 *options, int len)
{
	int at, opt_len;
	u8 *exid = NULL;

	for (at = 0; at < len && options[at] != TCPOPT_EOL; at += opt_len) {
		opt_len = 1;
		if (options[at] == TCPOPT_NOP)
			continue;
		if (at + 1 >= len)
			break;
		opt_len = options[at + 1];
		if (opt_len < 2 || at + opt_len > len)
			break;
		if (options[at] == SMC_TCPOPT_AO)
			return NULL;
		if (options[at] == TCPOPT_EXP && opt_len >= SMC_SYN_OPTION_LEN &&
		    get_unaligned_be32(options + at + 2) == TCPOPT_SMC_MAGIC)
			exid = options + at + 2;
	}
	return exid;
}

/*
 * Exchanges the halves of the ExID. Nobody uses the resulting ExID, so TCP ignores
 * the option. The checksum stays right, as it is a sum of 16-bit words.
 */
static void smc_syn_hide_option(struct sk_buff *skb, int offset)
{
	int len = __tcp_hdrlen((struct tcphdr *)(skb->data + offset));
	u8 *exid;

	if (len < sizeof(struct tcphdr) || skb_ensure_writable(skb, offset + len))
		return;
	exid = smc_syn_find_exid(skb->data + offset + sizeof(struct tcphdr),
				 len - sizeof(struct tcphdr));
	if (exid)
		put_unaligned_be32(rol32(TCPOPT_SMC_MAGIC, 16), exid);
}

/* Hides the option of a SYN if its client has an entry. The caller has set only @key's address. */
static void smc_syn_filter(struct sk_buff *skb, int offset, const struct net *net,
			   struct smc_blackhole_key *key)
{
	const struct tcphdr *th;

	if (!pskb_may_pull(skb, offset + sizeof(*th)))
		return;
	th = (struct tcphdr *)(skb->data + offset);
	if (!th->syn || th->ack)
		return;
	key->port = th->dest;
	key->kind = SMC_BLACKHOLE_CLIENT;
	if (smc_blackhole_has(smc_net(net), key))
		smc_syn_hide_option(skb, offset);
}

static unsigned int smc_syn_hook_v4(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct smc_blackhole_key key = {};

	if (ip->protocol != IPPROTO_TCP || ip_is_fragment(ip))
		return NF_ACCEPT;
	ipv6_addr_set_v4mapped(ip->saddr, &key.addr);
	smc_syn_filter(skb, ip_hdrlen(skb), state->net, &key);
	return NF_ACCEPT;
}

static unsigned int smc_syn_hook_v6(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	struct smc_blackhole_key key = { .addr = ipv6_hdr(skb)->saddr };
	u8 nexthdr = ipv6_hdr(skb)->nexthdr;
	__be16 frag_off = 0;
	int offset;

	offset = ipv6_skip_exthdr(skb, sizeof(struct ipv6hdr), &nexthdr, &frag_off);
	if (offset >= 0 && !frag_off && nexthdr == IPPROTO_TCP)
		smc_syn_filter(skb, offset, state->net, &key);
	return NF_ACCEPT;
}

/* These hooks run last, so that no firewall rule sees the changed option. */
static const struct nf_hook_ops smc_syn_hooks[] = {
	{
		.hook		= smc_syn_hook_v4,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP_PRI_LAST,
	},
	{
		.hook		= smc_syn_hook_v6,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP6_PRI_LAST,
	},
};

int smc_blackhole_filter_begin(struct net *net)
{
	return nf_register_net_hooks(net, smc_syn_hooks, ARRAY_SIZE(smc_syn_hooks));
}

void smc_blackhole_filter_end(struct net *net)
{
	nf_unregister_net_hooks(net, smc_syn_hooks, ARRAY_SIZE(smc_syn_hooks));
}
