/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the commands of SMC_GEN_NETLINK do, for the table in netlink.c.
 */
#ifndef SMC_ADMIN_NETLINK_OPS_H
#define SMC_ADMIN_NETLINK_OPS_H

#include "admin/netlink.h"

struct genl_info;

/**
 * smc_netlink_begin() - begin one message of a dump that has no top level nest
 * @skb: the dump's
 * @cb: the dump's
 * @cmd: command that such messages answer
 *
 * Return: header for genlmsg_end() or genlmsg_cancel(), or NULL if there is no room.
 */
void *smc_netlink_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);

/* Whether a path is there. */
bool smc_netlink_has_source(enum smc_path_kind kind);

/* netlink_host.c */
int smc_netlink_dump_info(struct sk_buff *skb, struct netlink_callback *cb);
int smc_netlink_dump_ueids(struct sk_buff *skb, struct netlink_callback *cb);
int smc_netlink_add_ueid(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_remove_ueid(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_flush_ueids(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_dump_seid(struct sk_buff *skb, struct netlink_callback *cb);
int smc_netlink_set_seid(struct sk_buff *skb, struct genl_info *info);
int smc_netlink_dump_limit(struct sk_buff *skb, struct netlink_callback *cb);
int smc_netlink_set_limit(struct sk_buff *skb, struct genl_info *info);

/* netlink_stats.c */
int smc_netlink_dump_stats(struct sk_buff *skb, struct netlink_callback *cb);
int smc_netlink_dump_fallbacks(struct sk_buff *skb, struct netlink_callback *cb);

#endif
