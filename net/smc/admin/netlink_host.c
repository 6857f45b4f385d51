// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of SMC_GEN_NETLINK about the SMC versions and EIDs of the host, and about the sysctl
 * limit_smc_hs of a namespace.
 */
#include <linux/utsname.h>
#include <net/sock.h>

#include "admin/eid.h"
#include "admin/net.h"
#include "admin/netlink_ops.h"

static int put_hostname(struct sk_buff *skb)
{
	u8 padded[SMC_MAX_HOSTNAME_LEN];
	const char *name = utsname()->nodename;
	size_t len = strnlen(name, sizeof(padded));

	memset(padded, ' ', sizeof(padded));
	memcpy(padded, name, len);
	return smc_netlink_put_padded(skb, SMC_NLA_SYS_LOCAL_HOST, padded, sizeof(padded));
}

int smc_netlink_dump_info(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_netlink_msg m;
	int err;

	if (cb->args[0]++)
		return 0;
	err = smc_netlink_open(&m, skb, cb, SMC_GEN_SYS_INFO);
	if (err)
		return err;
	err = nla_put_u8(skb, SMC_NLA_SYS_VER, SMC_VERSION_2) ?:
	      nla_put_u8(skb, SMC_NLA_SYS_REL, SMC_RELEASE) ?:
	      nla_put_u8(skb, SMC_NLA_SYS_IS_ISM_V2, smc_netlink_has_source(SMC_PATH_D)) ?:
	      nla_put_u8(skb, SMC_NLA_SYS_IS_SMCR_V2, smc_netlink_has_source(SMC_PATH_R)) ?:
	      put_hostname(skb);
	return smc_netlink_close(&m, err) ?: skb->len;
}

static int put_ueid(struct sk_buff *skb, struct netlink_callback *cb, const u8 *eid)
{
	struct smc_netlink_msg m;

	return smc_netlink_begin(&m, skb, cb, SMC_NETLINK_DUMP_UEID) ?:
	       smc_netlink_close(&m, smc_netlink_put_padded(skb, SMC_NLA_EID_TABLE_ENTRY, eid,
							    SMC_EID_LEN));
}

int smc_netlink_dump_ueids(struct sk_buff *skb, struct netlink_callback *cb)
{
	unsigned long serial = cb->args[0];
	u8 eid[SMC_EID_LEN];

	if (!smc_netlink_may_see_host(cb))
		return 0;
	for (; (serial = smc_eid_next(serial, eid)); cb->args[0] = serial)
		if (put_ueid(skb, cb, eid))
			break;
	return skb->len;
}

int smc_netlink_change_ueid(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *attr = info->attrs[SMC_NLA_EID_TABLE_ENTRY];
	char name[SMC_MAX_EID_LEN + 1];

	if (!attr) {
		NL_SET_ERR_MSG(info->extack, "An EID is needed");
		return -EINVAL;
	}
	if (nla_strscpy(name, attr, sizeof(name)) < 0) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "An EID has at most 32 characters");
		return -EINVAL;
	}
	if (info->genlhdr->cmd == SMC_NETLINK_ADD_UEID)
		return smc_eid_add(name, info->extack);
	return smc_eid_remove(name, info->extack);
}

int smc_netlink_flush_ueids(struct sk_buff *skb, struct genl_info *info)
{
	smc_eid_flush();
	return 0;
}

/* Shows no system EID: only IBM Z machines have one. */
int smc_netlink_dump_seid(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_netlink_msg m;

	if (cb->args[0]++)
		return 0;
	return smc_netlink_begin(&m, skb, cb, SMC_NETLINK_DUMP_SEID) ?:
	       smc_netlink_close(&m, 0) ?: skb->len;
}

int smc_netlink_set_seid(struct sk_buff *skb, struct genl_info *info)
{
	NL_SET_ERR_MSG(info->extack, "This machine has no system EID");
	return -EOPNOTSUPP;
}

int smc_netlink_dump_limit(struct sk_buff *skb, struct netlink_callback *cb)
{
	bool enabled = READ_ONCE(smc_net(sock_net(skb->sk))->sysctl.limit_smc_hs);
	struct smc_netlink_msg m;

	if (cb->args[0]++)
		return 0;
	return smc_netlink_begin(&m, skb, cb, SMC_NETLINK_DUMP_HS_LIMITATION) ?:
	       smc_netlink_close(&m, nla_put_u8(skb, SMC_NLA_HS_LIMITATION_ENABLED, enabled)) ?:
	       skb->len;
}

int smc_netlink_set_limit(struct sk_buff *skb, struct genl_info *info)
{
	smc_sysctl_limit_handshakes(genl_info_net(info),
				    info->genlhdr->cmd == SMC_NETLINK_ENABLE_HS_LIMITATION);
	return 0;
}
