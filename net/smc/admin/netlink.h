/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The generic netlink family SMC_GEN_NETLINK. What it shows of the paths' objects
 * comes from sources that the paths register.
 */
#ifndef SMC_ADMIN_NETLINK_H
#define SMC_ADMIN_NETLINK_H

#include <linux/netlink.h>
#include <net/genetlink.h>

#include "../../../include/uapi/linux/smc.h"
#include "path_kind.h"

/**
 * struct smc_netlink_source - who shows link groups, links and devices of a path
 * @dump_lgrs: SMC_NETLINK_GET_LGR_SMCR or _SMCD
 * @dump_links: SMC_NETLINK_GET_LINK_SMCR: each link group as in @dump_lgrs, and behind
 *	it its links
 * @dump_devs: SMC_NETLINK_GET_DEV_SMCR or _SMCD
 *
 * Each puts messages into @skb, from where cb->args[0] to cb->args[3], 0 in the
 * first call, say that the last call stopped. Return: 0 when all objects are in,
 * -EMSGSIZE when the next one finds no room, or an error that ends the dump. Only
 * objects of sock_net(skb->sk) are to be shown. Process context. A NULL member
 * shows nothing.
 */
struct smc_netlink_source {
	int (*dump_lgrs)(struct sk_buff *skb, struct netlink_callback *cb);
	int (*dump_links)(struct sk_buff *skb, struct netlink_callback *cb);
	int (*dump_devs)(struct sk_buff *skb, struct netlink_callback *cb);
};

/**
 * smc_netlink_set_source() - register a path's source
 * @kind: the path
 * @src: lives until it is replaced; NULL for none
 *
 * May sleep. On return no dump uses the former source any more.
 */
void smc_netlink_set_source(enum smc_path_kind kind, const struct smc_netlink_source *src);

/* One message of a dump with its top level nest. */
struct smc_netlink_msg {
	struct sk_buff *skb;
	void *header;
	struct nlattr *nest;
};

/**
 * smc_netlink_open() - begin one message of a dump
 * @m: to be closed with smc_netlink_close() if this succeeds
 * @skb: the dump's
 * @cb: the dump's
 * @nest: top level attribute, SMC_GEN_*; it has the number of the command that asks
 *	for such messages, and the message says that it is of this command
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_netlink_open(struct smc_netlink_msg *m, struct sk_buff *skb, struct netlink_callback *cb,
		     int nest);

/**
 * smc_netlink_close() - end a message of a dump
 * @m: opened by smc_netlink_open()
 * @err: error of putting its attributes; the message is then taken back
 *
 * Return: @err.
 */
int smc_netlink_close(struct smc_netlink_msg *m, int err);

/**
 * smc_netlink_may_see_host() - whether a dump may show what is the host's
 * @cb: the dump's
 *
 * EIDs, PNET IDs of RDMA ports and addresses of adapters are the same for all namespaces. Only
 * the first one's users see them, and the host's administrator in whatever namespace.
 */
bool smc_netlink_may_see_host(const struct netlink_callback *cb);

/**
 * smc_netlink_put_padded() - put blank-padded text as a string attribute
 * @skb: the message's
 * @attr: attribute
 * @text: EID or host name, not NUL-terminated
 * @len: its length with the padding, SMC_MAX_EID_LEN at most
 *
 * It may be a peer's, and be shown by a terminal: what does not print becomes a question mark.
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_netlink_put_padded(struct sk_buff *skb, int attr, const u8 *text, size_t len);

/* What a version 2 link group knows of its peer. */
struct smc_netlink_lgr_v2 {
	u8 version;
	u8 release;
	u8 os;			/* enum smc_os_type */
	const u8 *eid;		/* SMC_MAX_EID_LEN bytes */
	const u8 *hostname;	/* SMC_MAX_HOSTNAME_LEN bytes */
};

/**
 * smc_netlink_put_lgr_v2() - put the nest that all version 2 link groups have
 * @skb: the message's
 * @attr: SMC_NLA_LGR_R_V2_COMMON or SMC_NLA_LGR_D_V2_COMMON
 * @v2: what to say
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_netlink_put_lgr_v2(struct sk_buff *skb, int attr, const struct smc_netlink_lgr_v2 *v2);

/* One port of a device. */
struct smc_netlink_port {
	const char *pnetid;	/* "" if none */
	bool pnetid_by_user;	/* from the PNET table rather than the hardware */
	int ifindex;		/* of its network device, 0 if none */
	bool active;
	u32 links;
};

/**
 * smc_netlink_put_port() - put the nest of a device's port
 * @skb: the message's
 * @attr: SMC_NLA_DEV_PORT or SMC_NLA_DEV_PORT2
 * @port: what to say
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_netlink_put_port(struct sk_buff *skb, int attr, const struct smc_netlink_port *port);

int smc_netlink_init(void);
void smc_netlink_exit(void);

#endif
