// SPDX-License-Identifier: GPL-2.0
/*
 * Netlink dumps of SMC-D link groups and devices. cb->args[0] is the number of
 * devices shown, or the serial number of the last group shown: groups come in
 * descending order.
 */

#include <net/net_namespace.h>
#include <net/sock.h>

#include "admin/netlink.h"
#include "compat.h"
#include "group.h"
#include "show.h"

static int smc_ism_show_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, SMC_NLA_LGR_D_PAD);
}

static int smc_ism_show_put_group(struct sk_buff *skb, const struct smc_ism_group *group)
{
	const struct smc_buffer_pool_bytes bytes = smc_buffer_pool_bytes(&group->dmbs);
	const struct smc_ism_device *dev = group->key.dev;

	/* There is no send buffer: bytes go into the peer's element. */
	return nla_put_u32(skb, SMC_NLA_LGR_D_ID, smc_lgr_id(&group->lgr)) ?:
	       nla_put_u32(skb, SMC_NLA_LGR_D_CONNS_NUM, READ_ONCE(group->lgr.n_conns)) ?:
	       nla_put_u8(skb, SMC_NLA_LGR_D_VLAN_ID, 0) ?:
	       nla_put_u16(skb, SMC_NLA_LGR_D_CHID, dev->address.chid) ?:
	       nla_put_string(skb, SMC_NLA_LGR_D_PNETID, "") ?:
	       smc_ism_show_put_u64(skb, SMC_NLA_LGR_D_GID, dev->address.gid) ?:
	       smc_ism_show_put_u64(skb, SMC_NLA_LGR_D_EXT_GID, dev->address.gid_ext) ?:
	       smc_ism_show_put_u64(skb, SMC_NLA_LGR_D_PEER_GID, group->key.address.gid) ?:
	       smc_ism_show_put_u64(skb, SMC_NLA_LGR_D_PEER_EXT_GID, group->key.address.gid_ext) ?:
	       nla_put_uint(skb, SMC_NLA_LGR_D_SNDBUF_ALLOC, 0) ?:
	       nla_put_uint(skb, SMC_NLA_LGR_D_DMB_ALLOC, bytes.physical + bytes.virtual) ?:
	       (group->key.version == SMC_VERSION_2 ?
		smc_lgr_put_v2(skb, SMC_NLA_LGR_D_V2_COMMON, &group->lgr, group->key.eid) : 0);
}

static int smc_ism_show_group(struct sk_buff *skb, struct netlink_callback *cb,
			      struct smc_lgr *lgr)
{
	struct smc_netlink_msg m;

	return smc_netlink_open(&m, skb, cb, SMC_GEN_LGR_SMCD) ?:
	       smc_netlink_close(&m, smc_ism_show_put_group(skb, smc_ism_group_of(lgr)));
}

static int smc_ism_show_dump_groups(struct sk_buff *skb, struct netlink_callback *cb)
{
	return smc_lgrs_dump(&smc_ism_lgrs, skb, cb, smc_ism_show_group);
}

static int smc_ism_show_put_device(struct sk_buff *skb, const struct smc_ism_device *dev)
{
	const struct smc_netlink_port port = { .pnetid = "", .active = true };
	u32 groups = READ_ONCE(smc_lgrs_of(&smc_ism_lgrs, sock_net(skb->sk))->n_active);

	/* Every device in use is critical, because no other device could replace it. */
	return nla_put_u32(skb, SMC_NLA_DEV_USE_CNT, groups) ?:
	       nla_put_u8(skb, SMC_NLA_DEV_IS_CRIT, groups > 0) ?:
	       nla_put_u32(skb, SMC_NLA_DEV_PCI_FID, 0) ?:
	       nla_put_u16(skb, SMC_NLA_DEV_PCI_CHID, dev->address.chid) ?:
	       nla_put_u16(skb, SMC_NLA_DEV_PCI_VENDOR, 0) ?:
	       nla_put_u16(skb, SMC_NLA_DEV_PCI_DEVICE, 0) ?:
	       nla_put_string(skb, SMC_NLA_DEV_PCI_ID, dev->name) ?:
	       smc_netlink_put_port(skb, SMC_NLA_DEV_PORT, &port);
}

static int smc_ism_show_dump_devices(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct smc_ism_device *dev;
	struct smc_netlink_msg m;
	int rc;

	for (; (dev = smc_ism_device_at(cb->args[0])); cb->args[0]++) {
		rc = smc_netlink_open(&m, skb, cb, SMC_GEN_DEV_SMCD) ?:
		     smc_netlink_close(&m, smc_ism_show_put_device(skb, dev));
		if (rc)
			return rc;
	}
	return 0;
}

const struct smc_netlink_source smc_ism_netlink_source = {
	.dump = {
		[SMC_NETLINK_GET_LGR_SMCD] = smc_ism_show_dump_groups,
		[SMC_NETLINK_GET_DEV_SMCD] = smc_ism_show_dump_devices,
	},
};
