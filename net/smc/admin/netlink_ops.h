/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the commands of SMC_GEN_NETLINK do, for the table in netlink.c. All are called in
 * process context. One that dumps returns the bytes that it put, 0 at the end, or an error;
 * one that changes returns 0, or an error that info->extack explains.
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

/**
 * smc_netlink_has_source() - whether a path is there
 * @kind: the path
 *
 * Context: process, may sleep.
 */
bool smc_netlink_has_source(enum smc_path_kind kind);

/* netlink_host.c */

/**
 * smc_netlink_dump_info() - SMC_NETLINK_GET_SYS_INFO
 * @skb: to fill
 * @cb: the dump
 */
int smc_netlink_dump_info(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_dump_ueids() - SMC_NETLINK_DUMP_UEID
 * @skb: to fill
 * @cb: the dump
 */
int smc_netlink_dump_ueids(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_add_ueid() - SMC_NETLINK_ADD_UEID
 * @skb: the request
 * @info: what is in it
 */
int smc_netlink_add_ueid(struct sk_buff *skb, struct genl_info *info);

/**
 * smc_netlink_remove_ueid() - SMC_NETLINK_REMOVE_UEID
 * @skb: the request
 * @info: what is in it
 */
int smc_netlink_remove_ueid(struct sk_buff *skb, struct genl_info *info);

/**
 * smc_netlink_flush_ueids() - SMC_NETLINK_FLUSH_UEID
 * @skb: the request
 * @info: what is in it
 */
int smc_netlink_flush_ueids(struct sk_buff *skb, struct genl_info *info);

/**
 * smc_netlink_dump_seid() - SMC_NETLINK_DUMP_SEID
 * @skb: to fill
 * @cb: the dump
 */
int smc_netlink_dump_seid(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_set_seid() - SMC_NETLINK_ENABLE_SEID and _DISABLE_SEID
 * @skb: the request
 * @info: what is in it
 */
int smc_netlink_set_seid(struct sk_buff *skb, struct genl_info *info);

/**
 * smc_netlink_dump_limit() - SMC_NETLINK_DUMP_HS_LIMITATION
 * @skb: to fill
 * @cb: the dump
 */
int smc_netlink_dump_limit(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_set_limit() - SMC_NETLINK_ENABLE_HS_LIMITATION and _DISABLE_HS_LIMITATION
 * @skb: the request
 * @info: what is in it
 */
int smc_netlink_set_limit(struct sk_buff *skb, struct genl_info *info);

/* netlink_blackhole.c */

/**
 * smc_netlink_dump_blackholes() - SMC_NETLINK_GET_BLACKHOLES
 * @skb: to fill
 * @cb: the dump
 */
int smc_netlink_dump_blackholes(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_flush_blackholes() - SMC_NETLINK_FLUSH_BLACKHOLES
 * @skb: the request
 * @info: what is in it
 */
int smc_netlink_flush_blackholes(struct sk_buff *skb, struct genl_info *info);

/* netlink_stats.c */

/**
 * smc_netlink_dump_stats() - SMC_NETLINK_GET_STATS
 * @skb: to fill
 * @cb: the dump
 */
int smc_netlink_dump_stats(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * smc_netlink_dump_fallbacks() - SMC_NETLINK_GET_FBACK_STATS
 * @skb: to fill
 * @cb: the dump
 */
int smc_netlink_dump_fallbacks(struct sk_buff *skb, struct netlink_callback *cb);

#endif
