/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handlers for the commands of SMC_GEN_NETLINK, for the table in netlink.c. All run in
 * process context. A dump returns the number of bytes added, 0 at the end, or an error.
 * A command that changes something returns 0, or an error that info->extack explains.
 */
#ifndef SMC_ADMIN_NETLINK_OPS_H
#define SMC_ADMIN_NETLINK_OPS_H

#include "admin/netlink.h"

struct genl_info;

/**
 * smc_netlink_has_source() - whether a path has registered a source
 * @kind: path, in use or not
 *
 * Context: any.
 */
bool smc_netlink_has_source(enum smc_path_kind kind);

/* netlink_host.c */

/**
 * smc_netlink_dump_info() - handle SMC_NETLINK_GET_SYS_INFO: show versions, host name, paths
 * @skb: buffer of the dump
 * @cb: state of the dump
 */
int smc_netlink_dump_info(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_dump_ueids() - handle SMC_NETLINK_DUMP_UEID: show the configured EIDs
 * @skb: buffer of the dump
 * @cb: state of the dump
 */
int smc_netlink_dump_ueids(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_change_ueid() - handle SMC_NETLINK_{ADD,REMOVE}_UEID: configure or remove an EID
 * @skb: request of the host's administrator; its command says which of both
 * @info: its attributes
 */
int smc_netlink_change_ueid(struct sk_buff *skb, struct genl_info *info);

/**
 * smc_netlink_flush_ueids() - handle SMC_NETLINK_FLUSH_UEID: remove all EIDs
 * @skb: request of the host's administrator
 * @info: its attributes
 */
int smc_netlink_flush_ueids(struct sk_buff *skb, struct genl_info *info);

/**
 * smc_netlink_dump_seid() - handle SMC_NETLINK_DUMP_SEID: show that there is no system EID
 * @skb: buffer of the dump
 * @cb: state of the dump
 */
int smc_netlink_dump_seid(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_set_seid() - refuse SMC_NETLINK_ENABLE_SEID and _DISABLE_SEID
 * @skb: request of the host's administrator
 * @info: its attributes
 */
int smc_netlink_set_seid(struct sk_buff *skb, struct genl_info *info);

/**
 * smc_netlink_dump_limit() - handle SMC_NETLINK_DUMP_HS_LIMITATION: show limit_smc_hs
 * @skb: buffer of the dump
 * @cb: state of the dump
 */
int smc_netlink_dump_limit(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_set_limit() - handle SMC_NETLINK_{EN,DIS}ABLE_HS_LIMITATION: set limit_smc_hs
 * @skb: request of the host's administrator; its command says which value
 * @info: its attributes
 */
int smc_netlink_set_limit(struct sk_buff *skb, struct genl_info *info);

/* netlink_blackhole.c */

/**
 * smc_netlink_dump_blackholes() - handle SMC_NETLINK_GET_BLACKHOLES: show blackhole entries
 * @skb: buffer of the dump
 * @cb: state of the dump
 */
int smc_netlink_dump_blackholes(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_flush_blackholes() - handle SMC_NETLINK_FLUSH_BLACKHOLES: remove all entries
 * @skb: request of the namespace's administrator
 * @info: its attributes
 */
int smc_netlink_flush_blackholes(struct sk_buff *skb, struct genl_info *info);

/* netlink_stats.c */

/**
 * smc_netlink_dump_stats() - handle SMC_NETLINK_GET_STATS: show the counters
 * @skb: buffer of the dump
 * @cb: state of the dump
 */
int smc_netlink_dump_stats(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_dump_fallbacks() - handle SMC_NETLINK_GET_FBACK_STATS: show fallbacks by reason
 * @skb: buffer of the dump
 * @cb: state of the dump
 */
int smc_netlink_dump_fallbacks(struct sk_buff *skb, struct netlink_callback *cb);

#endif
