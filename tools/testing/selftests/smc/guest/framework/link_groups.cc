// SPDX-License-Identifier: GPL-2.0
#include "link_groups.h"

#include <linux/smc.h>

#include "netlink.h"

namespace guest
{

namespace
{

/* Where a group's number of connections is in a message of a dump. */
struct Dump {
	int command, nest, connections;
	LinkGroups &sum;
};

int on_group(nl_msg *message, void *argument)
{
	const Dump &dump = *static_cast<Dump *>(argument);
	auto *head = static_cast<genlmsghdr *>(nlmsg_data(nlmsg_hdr(message)));
	nlattr *group = nla_find(genlmsg_attrdata(head, 0), genlmsg_attrlen(head, 0), dump.nest);

	if (!group)
		return NL_OK;

	nlattr *connections =
	    nla_find(static_cast<nlattr *>(nla_data(group)), nla_len(group), dump.connections);

	dump.sum.groups++;
	dump.sum.connections += connections ? nla_get_u32(connections) : 0;
	return NL_OK;
}

void change_eid(int command, std::string eid)
{
	NetlinkSocket socket = connected_netlink();
	NetlinkRequest message = netlink_request(socket, command, 0);

	/* It has on the wire what it is padded with here. */
	eid.resize(SMC_MAX_EID_LEN, ' ');
	check_netlink(nla_put_string(message.get(), SMC_NLA_EID_TABLE_ENTRY, eid.c_str()));
	check_netlink(nl_send_sync(socket.get(), message.release()));
}

} // namespace

LinkGroups link_groups()
{
	LinkGroups sum;

	for (Dump dump :
	     {Dump{SMC_NETLINK_GET_LGR_SMCR, SMC_GEN_LGR_SMCR, SMC_NLA_LGR_R_CONNS_NUM, sum},
	      Dump{SMC_NETLINK_GET_LGR_SMCD, SMC_GEN_LGR_SMCD, SMC_NLA_LGR_D_CONNS_NUM, sum}}) {
		NetlinkSocket socket = connected_netlink();
		NetlinkRequest message = netlink_request(socket, dump.command, NLM_F_DUMP);

		nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, on_group, &dump);
		check_netlink(nl_send_auto(socket.get(), message.get()));
		check_netlink(nl_recvmsgs_default(socket.get()));
	}
	return sum;
}

void add_eid(const std::string &eid)
{
	change_eid(SMC_NETLINK_ADD_UEID, eid);
}

void remove_eid(const std::string &eid)
{
	change_eid(SMC_NETLINK_REMOVE_UEID, eid);
}

} // namespace guest
