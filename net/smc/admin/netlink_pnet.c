// SPDX-License-Identifier: GPL-2.0
/*
 * The netlink family SMC_PNETID, by which the administrator fills and shows the PNET table.
 */
#include <linux/ctype.h>
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "../../../include/uapi/linux/smc.h"
#include "admin/pnet_table.h"

#define IBPORT_MAX	2	/* ports of an RDMA device */
#define IBPORT_NONE	255	/* reported for an entry without RDMA port */
#define NAME_NONE	"n/a"	/* reported for the device name that an entry lacks */

static struct genl_family pnet_family;

static int put_entry(struct sk_buff *skb, u32 portid, u32 seq, const struct smc_pnet_entry *entry)
{
	bool is_netdev = !entry->ibname[0];
	void *hdr = genlmsg_put(skb, portid, seq, &pnet_family, NLM_F_MULTI, SMC_PNETID_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(skb, SMC_PNETID_NAME, entry->pnetid) ||
	    nla_put_string(skb, SMC_PNETID_ETHNAME, is_netdev ? entry->ifname : NAME_NONE) ||
	    nla_put_string(skb, SMC_PNETID_IBNAME, is_netdev ? NAME_NONE : entry->ibname) ||
	    nla_put_u8(skb, SMC_PNETID_IBPORT, is_netdev ? IBPORT_NONE : entry->ibport)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/* Gets the PNET ID of a request. PNET IDs are upper case, so lower case letters are converted. */
static int get_pnetid(const struct genl_info *info, char *pnetid)
{
	const struct nlattr *attr = info->attrs[SMC_PNETID_NAME];
	char *c;

	if (!attr) {
		NL_SET_ERR_MSG(info->extack, "A PNET ID is needed");
		return -EINVAL;
	}
	if (nla_strscpy(pnetid, attr, SMC_MAX_PNETID_LEN + 1) < 0)
		goto invalid;
	for (c = pnetid; *c; c++) {
		if (!isascii(*c) || !isalnum(*c))
			break;
		*c = toupper(*c);
	}
	if (c != pnetid && !*c)
		return 0;
invalid:
	NL_SET_ERR_MSG_ATTR(info->extack, attr, "A PNET ID is 1 to 16 letters and digits");
	return -EINVAL;
}

static const char *get_name(const struct genl_info *info, int attr)
{
	const char *name = info->attrs[attr] ? nla_data(info->attrs[attr]) : NULL;

	return name && name[0] ? name : NULL;
}

static int pnet_add(struct sk_buff *skb, struct genl_info *info)
{
	const char *ifname = get_name(info, SMC_PNETID_ETHNAME);
	const char *ibname = get_name(info, SMC_PNETID_IBNAME);
	char pnetid[SMC_MAX_PNETID_LEN + 1];
	u8 ibport = 1;
	int err = get_pnetid(info, pnetid);

	if (err)
		return err;
	if (!ifname && !ibname) {
		NL_SET_ERR_MSG(info->extack, "A network device or an RDMA device is needed");
		return -EINVAL;
	}
	if (info->attrs[SMC_PNETID_IBPORT])
		ibport = nla_get_u8(info->attrs[SMC_PNETID_IBPORT]);
	if (!ibport || ibport > IBPORT_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SMC_PNETID_IBPORT],
				    "The port of an RDMA device is 1 or 2");
		return -EINVAL;
	}
	return smc_pnet_add(genl_info_net(info), pnetid, ifname, ibname, ibport, info->extack);
}

static int pnet_del(struct sk_buff *skb, struct genl_info *info)
{
	char pnetid[SMC_MAX_PNETID_LEN + 1];
	int err = get_pnetid(info, pnetid);

	if (err)
		return err;
	if (smc_pnet_remove(genl_info_net(info), pnetid))
		return 0;
	NL_SET_ERR_MSG(info->extack, "There is no entry with this PNET ID");
	return -ENOENT;
}

static int pnet_flush(struct sk_buff *skb, struct genl_info *info)
{
	smc_pnet_remove(genl_info_net(info), NULL);
	return 0;
}

static int pnet_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct smc_pnet_entry entry = { .serial = cb->args[0] };

	for (; smc_pnet_next(net, NULL, &entry); cb->args[0] = entry.serial)
		if (put_entry(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &entry))
			break;
	return skb->len;
}

/* Replies with all entries of one network: messages like those of a dump, but in one buffer. */
static int pnet_get(struct sk_buff *skb, struct genl_info *info)
{
	char pnetid[SMC_MAX_PNETID_LEN + 1];
	struct net *net = genl_info_net(info);
	struct smc_pnet_entry entry = {};
	struct sk_buff *reply;
	int err = get_pnetid(info, pnetid);

	if (err)
		return err;
	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	while (smc_pnet_next(net, pnetid, &entry)) {
		err = put_entry(reply, info->snd_portid, info->snd_seq, &entry);
		if (err)
			goto err_reply;
	}
	if (!nlmsg_put(reply, info->snd_portid, info->snd_seq, NLMSG_DONE, 0, NLM_F_MULTI)) {
		err = -EMSGSIZE;
		goto err_reply;
	}
	return genlmsg_reply(reply, info);

err_reply:
	nlmsg_free(reply);
	return err;
}

static const struct nla_policy pnet_policy[SMC_PNETID_MAX + 1] = {
	/* No maximum length here: get_pnetid() explains the error if a name is too long. */
	[SMC_PNETID_NAME]	= { .type = NLA_NUL_STRING },
	[SMC_PNETID_ETHNAME]	= { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
	[SMC_PNETID_IBNAME]	= { .type = NLA_NUL_STRING, .len = IB_DEVICE_NAME_MAX - 1 },
	[SMC_PNETID_IBPORT]	= { .type = NLA_U8 },
};

static const struct genl_small_ops pnet_ops[] = {
	{ .cmd = SMC_PNETID_GET, .doit = pnet_get, .dumpit = pnet_dump },
	{ .cmd = SMC_PNETID_ADD, .doit = pnet_add, .flags = GENL_ADMIN_PERM },
	{ .cmd = SMC_PNETID_DEL, .doit = pnet_del, .flags = GENL_ADMIN_PERM },
	{ .cmd = SMC_PNETID_FLUSH, .doit = pnet_flush, .flags = GENL_ADMIN_PERM },
};

static struct genl_family pnet_family __ro_after_init = {
	.name		= SMCR_GENL_FAMILY_NAME,
	.version	= SMCR_GENL_FAMILY_VERSION,
	.maxattr	= SMC_PNETID_MAX,
	.policy		= pnet_policy,
	.netnsok	= true,
	.parallel_ops	= true,
	.small_ops	= pnet_ops,
	.n_small_ops	= ARRAY_SIZE(pnet_ops),
	.resv_start_op	= SMC_PNETID_FLUSH + 1,
	.module		= THIS_MODULE,
};

int smc_pnet_netlink_init(void)
{
	return genl_register_family(&pnet_family);
}

void smc_pnet_netlink_exit(void)
{
	genl_unregister_family(&pnet_family);
}

MODULE_ALIAS_GENL_FAMILY(SMCR_GENL_FAMILY_NAME);
