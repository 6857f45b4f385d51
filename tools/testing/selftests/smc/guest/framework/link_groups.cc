// SPDX-License-Identifier: GPL-2.0
#include "link_groups.h"

#include <linux/smc.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>

#include "netlink.h"
#include "system.h"

namespace guest
{

namespace
{

/* Attributes of a dump that contain a group's number of connections. */
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
	if (connections && nla_get_u32(connections)) {
		dump.sum.connections += nla_get_u32(connections);
		dump.sum.used++;
	}
	return NL_OK;
}

/* The socket to find in a dump. */
struct Wanted {
	uint64_t inode;
	std::optional<int> mode = {};
};

int on_socket(nl_msg *message, void *argument)
{
	auto &wanted = *static_cast<Wanted *>(argument);
	auto *socket = static_cast<smc_diag_msg *>(nlmsg_data(nlmsg_hdr(message)));

	if (socket->diag_inode == wanted.inode)
		wanted.mode = socket->diag_mode;
	return NL_OK;
}

void look_for(Wanted &wanted)
{
	NetlinkSocket socket(nl_socket_alloc(), nl_socket_free);
	NetlinkRequest request(nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP),
			       nlmsg_free);
	smc_diag_req all = {.diag_family = AF_SMC};

	if (!socket || !request)
		throw std::bad_alloc();
	check_netlink(nl_connect(socket.get(), NETLINK_SOCK_DIAG));
	check_netlink(nlmsg_append(request.get(), &all, sizeof(all), NLMSG_ALIGNTO));
	nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, on_socket, &wanted);
	check_netlink(nl_send_auto(socket.get(), request.get()));
	check_netlink(nl_recvmsgs_default(socket.get()));
}

void change_eid(int command, std::string eid)
{
	NetlinkSocket socket = connected_netlink();
	NetlinkRequest message = netlink_request(socket, command, 0);

	/* The padding is that of EIDs in messages. */
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

int socket_mode(int fd)
{
	struct stat status;
	Wanted wanted = {};

	if (fstat(fd, &status))
		throw_errno("fstat");
	wanted.inode = status.st_ino;
	/* A dump may miss a socket while others are created and closed. */
	wait_until("sock_diag shows the socket", [&] {
		look_for(wanted);
		return wanted.mode.has_value();
	});
	return *wanted.mode;
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
