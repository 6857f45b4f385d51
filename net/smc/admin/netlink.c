// SPDX-License-Identifier: GPL-2.0
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <net/sock.h>

#include "admin/netlink.h"
#include "admin/netlink_ops.h"

static struct genl_family family;

/* For each path, the functions that dump its objects; NULL if the path has registered none. */
static const struct smc_netlink_source *sources[SMC_N_PATHS];

/* Held for reading while a source is in use. */
static DECLARE_RWSEM(sources_lock);

void smc_netlink_set_source(enum smc_path_kind kind, const struct smc_netlink_source *src)
{
	down_write(&sources_lock);
	WRITE_ONCE(sources[kind], src);
	up_write(&sources_lock);
}

bool smc_netlink_has_source(enum smc_path_kind kind)
{
	return READ_ONCE(sources[kind]);
}

int smc_netlink_begin(struct smc_netlink_msg *m, struct sk_buff *skb, struct netlink_callback *cb,
		      u8 cmd)
{
	*m = (struct smc_netlink_msg) {
		.skb	= skb,
		.header	= genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &family,
				      NLM_F_MULTI, cmd),
	};
	return m->header ? 0 : -EMSGSIZE;
}

static_assert((int)SMC_GEN_SYS_INFO == (int)SMC_NETLINK_GET_SYS_INFO &&
	      (int)SMC_GEN_BLACKHOLE == (int)SMC_NETLINK_GET_BLACKHOLES &&
	      (int)SMC_GEN_FBACK_STATS == (int)SMC_NETLINK_GET_FBACK_STATS);

int smc_netlink_open(struct smc_netlink_msg *m, struct sk_buff *skb, struct netlink_callback *cb,
		     int nest)
{
	int err = smc_netlink_begin(m, skb, cb, nest);

	if (err)
		return err;
	m->nest = nla_nest_start(skb, nest);
	return m->nest ? 0 : smc_netlink_close(m, -EMSGSIZE);
}

int smc_netlink_close(struct smc_netlink_msg *m, int err)
{
	if (err) {
		genlmsg_cancel(m->skb, m->header);
		return err;
	}
	if (m->nest)
		nla_nest_end(m->skb, m->nest);
	genlmsg_end(m->skb, m->header);
	return 0;
}

bool smc_netlink_may_see_host(const struct netlink_callback *cb)
{
	return net_eq(sock_net(cb->skb->sk), &init_net) || netlink_capable(cb->skb, CAP_NET_ADMIN);
}

int smc_netlink_put_padded(struct sk_buff *skb, int attr, const u8 *text, size_t len)
{
	struct nlattr *nla = nla_reserve(skb, attr, len + 1);
	char *string;
	size_t i;

	if (!nla)
		return -EMSGSIZE;
	string = nla_data(nla);
	for (i = 0; i < len; i++)
		string[i] = !text[i] || (isascii(text[i]) && isprint(text[i])) ? text[i] : '?';
	string[len] = '\0';
	return 0;
}

int smc_netlink_put_port(struct sk_buff *skb, int attr, const struct smc_netlink_port *port)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest ||
	    nla_put_u8(skb, SMC_NLA_DEV_PORT_PNET_USR, port->pnetid_by_user) ||
	    nla_put_string(skb, SMC_NLA_DEV_PORT_PNETID, port->pnetid) ||
	    nla_put_u32(skb, SMC_NLA_DEV_PORT_NETDEV, port->ifindex) ||
	    nla_put_u8(skb, SMC_NLA_DEV_PORT_VALID, true) ||
	    nla_put_u8(skb, SMC_NLA_DEV_PORT_STATE, port->active) ||
	    nla_put_u32(skb, SMC_NLA_DEV_PORT_LNK_CNT, port->links))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dump_objects(struct sk_buff *skb, struct netlink_callback *cb)
{
	u8 cmd = genl_dumpit_info(cb)->op.cmd;
	int path, err = 0;

	down_read(&sources_lock);
	for (path = 0; path < SMC_N_PATHS; path++)
		if (sources[path] && sources[path]->dump[cmd])
			err = sources[path]->dump[cmd](skb, cb);
	up_read(&sources_lock);

	/*
	 * After an error, objects that are already in @skb are sent, and the next call returns the
	 * error. An empty @skb ends the dump.
	 */
	return skb->len ?: err;
}

/* Commands take only these attributes; all others occur only in answers. */
static const struct nla_policy policy[SMC_NLA_EID_TABLE_MAX + 1] = {
	/* No maximum length here: the handlers explain the error if an EID is too long. */
	[SMC_NLA_EID_TABLE_ENTRY] = { .type = NLA_STRING },
};

#define SHOW(_cmd, _fn)		{ .cmd = _cmd, .dumpit = _fn }
#define CHANGE(_cmd, _fn)	{ .cmd = _cmd, .doit = _fn, .flags = GENL_ADMIN_PERM }

static const struct genl_small_ops ops[] = {
	SHOW(SMC_NETLINK_GET_SYS_INFO, smc_netlink_dump_info),
	SHOW(SMC_NETLINK_GET_LGR_SMCR, dump_objects),
	SHOW(SMC_NETLINK_GET_LINK_SMCR, dump_objects),
	SHOW(SMC_NETLINK_GET_LGR_SMCD, dump_objects),
	SHOW(SMC_NETLINK_GET_DEV_SMCD, dump_objects),
	SHOW(SMC_NETLINK_GET_DEV_SMCR, dump_objects),
	SHOW(SMC_NETLINK_GET_STATS, smc_netlink_dump_stats),
	SHOW(SMC_NETLINK_GET_FBACK_STATS, smc_netlink_dump_fallbacks),
	SHOW(SMC_NETLINK_DUMP_UEID, smc_netlink_dump_ueids),
	CHANGE(SMC_NETLINK_ADD_UEID, smc_netlink_change_ueid),
	CHANGE(SMC_NETLINK_REMOVE_UEID, smc_netlink_change_ueid),
	CHANGE(SMC_NETLINK_FLUSH_UEID, smc_netlink_flush_ueids),
	SHOW(SMC_NETLINK_DUMP_SEID, smc_netlink_dump_seid),
	CHANGE(SMC_NETLINK_ENABLE_SEID, smc_netlink_set_seid),
	CHANGE(SMC_NETLINK_DISABLE_SEID, smc_netlink_set_seid),
	SHOW(SMC_NETLINK_DUMP_HS_LIMITATION, smc_netlink_dump_limit),
	CHANGE(SMC_NETLINK_ENABLE_HS_LIMITATION, smc_netlink_set_limit),
	CHANGE(SMC_NETLINK_DISABLE_HS_LIMITATION, smc_netlink_set_limit),
	SHOW(SMC_NETLINK_GET_BLACKHOLES, smc_netlink_dump_blackholes),
	/* Blackhole entries belong to the namespace, so the namespace's root may flush them. */
	{ .cmd = SMC_NETLINK_FLUSH_BLACKHOLES, .doit = smc_netlink_flush_blackholes,
	  .flags = GENL_UNS_ADMIN_PERM },
};

static struct genl_family family __ro_after_init = {
	.name		= SMC_GENL_FAMILY_NAME,
	.version	= SMC_GENL_FAMILY_VERSION,
	.maxattr	= SMC_NLA_EID_TABLE_MAX,
	.policy		= policy,
	.netnsok	= true,
	/* The handlers have locks of their own, so no user's dump delays another user's dump. */
	.parallel_ops	= true,
	.small_ops	= ops,
	.n_small_ops	= ARRAY_SIZE(ops),
	.resv_start_op	= SMC_NETLINK_DISABLE_HS_LIMITATION + 1,
	.module		= THIS_MODULE,
};

int smc_netlink_init(void)
{
	return genl_register_family(&family);
}

void smc_netlink_exit(void)
{
	genl_unregister_family(&family);
}

MODULE_ALIAS_GENL_FAMILY(SMC_GENL_FAMILY_NAME);
