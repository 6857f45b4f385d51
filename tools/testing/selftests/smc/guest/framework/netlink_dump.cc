// SPDX-License-Identifier: GPL-2.0
#include "netlink_dump.h"

#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <netlink/msg.h>
#include <sstream>
#include <sys/socket.h>

#include "netlink.h"
#include "socket.h"

namespace guest
{

namespace
{

std::string hex(const void *bytes, int len)
{
	static const char digits[] = "0123456789abcdef";
	auto *at = static_cast<const unsigned char *>(bytes);
	/* The text of an empty attribute must be a word, too. */
	std::string text = "0x";

	for (int i = 0; i < len; i++)
		(text += digits[at[i] >> 4]) += digits[at[i] & 15];
	return text;
}

void write_attributes(std::string &text, const std::string &path, nlattr *attrs, int len)
{
	nlattr *attr;
	int left;

	nla_for_each_attr(attr, attrs, len, left)
	{
		std::string name = path + std::to_string(nla_type(attr));

		if (attr->nla_type & NLA_F_NESTED)
			write_attributes(text, name + "/", static_cast<nlattr *>(nla_data(attr)),
					 nla_len(attr));
		else
			text += name + " " + hex(nla_data(attr), nla_len(attr)) + "\n";
	}
}

int on_generic(nl_msg *message, void *argument)
{
	auto &text = *static_cast<std::string *>(argument);
	auto *head = static_cast<genlmsghdr *>(nlmsg_data(nlmsg_hdr(message)));

	write_attributes(text, "", genlmsg_attrdata(head, 0), genlmsg_attrlen(head, 0));
	text += "end\n";
	return NL_OK;
}

int on_socket(nl_msg *message, void *argument)
{
	auto &text = *static_cast<std::string *>(argument);
	nlmsghdr *head = nlmsg_hdr(message);

	text += "msg " + hex(nlmsg_data(head), sizeof(smc_diag_msg)) + "\n";
	write_attributes(text, "", nlmsg_attrdata(head, sizeof(smc_diag_msg)),
			 nlmsg_attrlen(head, sizeof(smc_diag_msg)));
	text += "end\n";
	return NL_OK;
}

std::string answers(nl_sock *socket, nl_msg *request, nl_recvmsg_msg_cb_t on_message)
{
	std::string text;

	nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, on_message, &text);
	check_netlink(nl_send_auto(socket, request));
	check_netlink(nl_recvmsgs_default(socket));
	return text;
}

} // namespace

std::string dump_generic(int command, const char *family)
{
	NetlinkSocket socket = connected_netlink();
	NetlinkRequest request = netlink_request(socket, command, NLM_F_DUMP, family);

	return answers(socket.get(), request.get(), on_generic);
}

std::string dump_sockets()
{
	NetlinkSocket socket(nl_socket_alloc(), nl_socket_free);
	NetlinkRequest request(nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP),
			       nlmsg_free);
	smc_diag_req wanted = {.diag_family = AF_SMC, .diag_ext = 0xff};

	if (!socket || !request)
		throw std::bad_alloc();
	check_netlink(nl_connect(socket.get(), NETLINK_SOCK_DIAG));
	check_netlink(nlmsg_append(request.get(), &wanted, sizeof(wanted), NLMSG_ALIGNTO));
	return answers(socket.get(), request.get(), on_socket);
}

std::vector<Shown> shown_in(const std::string &text)
{
	std::istringstream words(text);
	std::vector<Shown> all;
	std::string path;
	Shown one;

	while (words >> path) {
		if (path != "end") {
			words >> one[path];
			continue;
		}
		all.push_back(std::move(one));
		one.clear();
	}
	return all;
}

std::string shape_of(const std::vector<Shown> &shown, const std::set<std::string> &texts)
{
	std::string shape;

	for (const auto &[path, bytes] : shown.empty() ? Shown() : shown[0])
		shape += path + " " +
			 (texts.count(path) ? "text" : std::to_string(bytes.size() / 2 - 1)) + "\n";
	return shape;
}

} // namespace guest
