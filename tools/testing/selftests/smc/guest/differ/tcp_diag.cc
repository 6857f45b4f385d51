// SPDX-License-Identifier: GPL-2.0
#include "tcp_diag.h"

#include <cstring>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdexcept>

#include "side.h"
#include "system.h"

namespace differ
{

using namespace guest;

namespace
{

struct Request {
	nlmsghdr head;
	inet_diag_req_v2 wanted;
};

struct Answer {
	nlmsghdr head;
	union {
		nlmsgerr error;
		inet_diag_msg found;
	};
	char more[4096];
};

void put_address(const Address &address, __be16 &port, __be32 *where)
{
	if (address.storage.ss_family == AF_INET6) {
		auto *in6 = reinterpret_cast<const sockaddr_in6 *>(&address.storage);

		port = in6->sin6_port;
		memcpy(where, &in6->sin6_addr, sizeof(in6->sin6_addr));
	} else {
		auto *in = reinterpret_cast<const sockaddr_in *>(&address.storage);

		port = in->sin_port;
		memcpy(where, &in->sin_addr, sizeof(in->sin_addr));
	}
}

Fd diag_socket(int side)
{
	OnSide on(side);

	return Fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
}

} // namespace

int diag_state(int side, const Address &local, const Address &remote)
{
	static const Fd sockets[2] = {diag_socket(0), diag_socket(1)};
	int netlink = sockets[side];
	Request request = {};
	Answer answer = {};

	request.head.nlmsg_len = sizeof(request);
	request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	request.head.nlmsg_flags = NLM_F_REQUEST;
	request.wanted.sdiag_family = local.storage.ss_family;
	request.wanted.sdiag_protocol = IPPROTO_TCP;
	request.wanted.idiag_states = ~0U;
	request.wanted.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	request.wanted.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	put_address(local, request.wanted.id.idiag_sport, request.wanted.id.idiag_src);
	put_address(remote, request.wanted.id.idiag_dport, request.wanted.id.idiag_dst);
	if (send(netlink, &request, sizeof(request), 0) != sizeof(request) ||
	    recv(netlink, &answer, sizeof(answer), 0) < 0)
		throw_errno("sock_diag");
	if (answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY)
		return answer.found.idiag_state;
	if (answer.error.error != -ENOENT)
		throw std::runtime_error("sock_diag: error " + std::to_string(answer.error.error));
	return 0;
}

} // namespace differ
