/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The generic netlink family SMC_GEN_NETLINK. Each path registers a source, which
 * dumps the objects of that path.
 */
#ifndef SMC_ADMIN_NETLINK_H
#define SMC_ADMIN_NETLINK_H

#include <linux/netlink.h>
#include <net/genetlink.h>

#include "../../../include/uapi/linux/smc.h"
#include "path_kind.h"

typedef int (*smc_netlink_dump_t)(struct sk_buff *skb, struct netlink_callback *cb);

/**
 * struct smc_netlink_source - dumps the link groups, links and devices of a path
 * @dump: functions that answer SMC_NETLINK_GET_LGR_SMCR and so on, by command; NULL for the
 *	commands of the other path. For SMC_NETLINK_GET_LINK_SMCR each link group is shown as for
 *	SMC_NETLINK_GET_LGR_SMCR, followed by its links
 *
 * Each function adds messages to @skb, and shows only objects of sock_net(skb->sk). It
 * keeps its position in cb->args[0] to cb->args[3], which are 0 in the first call.
 *
 * Context: process. Return: 0 after the last object, -EMSGSIZE if the next one
 * doesn't fit, or an error that ends the dump.
 */
struct smc_netlink_source {
	smc_netlink_dump_t dump[SMC_NETLINK_GET_DEV_SMCR + 1];
};

/**
 * smc_netlink_set_source() - register a path's source
 * @kind: path whose objects the source shows
 * @src: source, which lives until it is replaced; NULL for none
 *
 * Context: process, may sleep. On return no dump uses the previous source any more.
 */
void smc_netlink_set_source(enum smc_path_kind kind, const struct smc_netlink_source *src);

/* One message of a dump. */
struct smc_netlink_msg {
	struct sk_buff *skb;
	void *header;
	struct nlattr *nest;	/* the top-level nest, or NULL */
};

/**
 * smc_netlink_begin() - begin a message without a top-level nest, for a dump
 * @m: to be closed with smc_netlink_close() if this succeeds
 * @skb: buffer of the dump
 * @cb: state of the dump
 * @cmd: command that such messages answer
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_netlink_begin(struct smc_netlink_msg *m, struct sk_buff *skb, struct netlink_callback *cb,
		      u8 cmd);

/**
 * smc_netlink_open() - begin one message of a dump with its top-level nest
 * @m: to be closed with smc_netlink_close() if this succeeds
 * @skb: buffer of the dump
 * @cb: state of the dump
 * @nest: top-level attribute, SMC_GEN_*. The command that requests such messages has
 *	the same number, which goes into the message's header, too
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_netlink_open(struct smc_netlink_msg *m, struct sk_buff *skb, struct netlink_callback *cb,
		     int nest);

/**
 * smc_netlink_close() - end a message of a dump
 * @m: message that smc_netlink_begin() or smc_netlink_open() has begun
 * @err: 0, or the error from adding the attributes, which makes this function remove the message
 *
 * Return: @err.
 */
int smc_netlink_close(struct smc_netlink_msg *m, int err);

/**
 * smc_netlink_may_see_host() - whether a dump may show properties of the host
 * @cb: state of the dump
 *
 * EIDs, PNET IDs of RDMA ports and addresses of adapters are the same in all
 * namespaces. They are visible to all users of the initial namespace, and to the
 * host's administrator in every namespace.
 */
bool smc_netlink_may_see_host(const struct netlink_callback *cb);

/**
 * smc_netlink_put_padded() - put blank-padded text as a string attribute
 * @skb: buffer of the message
 * @attr: SMC_NLA_* that the message is to have
 * @text: EID or host name, not NUL-terminated
 * @len: length of @text with the padding, at most SMC_MAX_EID_LEN
 *
 * The text may come from a peer and go to a terminal, so unprintable characters
 * become question marks.
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_netlink_put_padded(struct sk_buff *skb, int attr, const u8 *text, size_t len);

/* One port of a device. */
struct smc_netlink_port {
	const char *pnetid;	/* "" if none */
	bool pnetid_by_user;	/* from the PNET table, not from the hardware */
	int ifindex;		/* of the network device, 0 if there is none */
	bool active;
	u32 links;
};

/**
 * smc_netlink_put_port() - put the nest of a device's port
 * @skb: buffer of the message
 * @attr: SMC_NLA_DEV_PORT or SMC_NLA_DEV_PORT2
 * @port: values
 *
 * Return: 0 or -EMSGSIZE.
 */
int smc_netlink_put_port(struct sk_buff *skb, int attr, const struct smc_netlink_port *port);

int smc_netlink_init(void);
void smc_netlink_exit(void);

#endif
