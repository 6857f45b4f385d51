// SPDX-License-Identifier: GPL-2.0
#include "netlink.h"

#include <netlink/genl/ctrl.h>
#include <stdexcept>
#include <string>

namespace guest
{

int check_netlink(int rc)
{
	if (rc < 0)
		throw std::runtime_error(std::string("netlink: ") + nl_geterror(rc));
	return rc;
}

NetlinkSocket connected_netlink()
{
	NetlinkSocket socket(nl_socket_alloc(), nl_socket_free);

	if (!socket)
		throw std::bad_alloc();
	check_netlink(genl_connect(socket.get()));
	return socket;
}

NetlinkRequest netlink_request(const NetlinkSocket &socket, int command, int flags,
			       const char *family)
{
	int id = check_netlink(genl_ctrl_resolve(socket.get(), family));
	NetlinkRequest message(nlmsg_alloc(), nlmsg_free);

	if (!message || !genlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ, id, 0,
				     NLM_F_REQUEST | flags, command, 1))
		throw std::bad_alloc();
	return message;
}

} // namespace guest
