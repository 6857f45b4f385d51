/* SPDX-License-Identifier: GPL-2.0 */
/* Requests to the module's generic netlink family, with libnl. */
#ifndef GUEST_NETLINK_H
#define GUEST_NETLINK_H

#include <linux/smc.h>
#include <memory>
#include <netlink/genl/genl.h>

namespace guest
{

using NetlinkSocket = std::unique_ptr<nl_sock, decltype(&nl_socket_free)>;
using NetlinkRequest = std::unique_ptr<nl_msg, decltype(&nlmsg_free)>;

/* Throws if @rc is an error of libnl; otherwise returns it. */
int check_netlink(int rc);

NetlinkSocket connected_netlink();

/* Creates a request without attributes. @flags are NLM_F_*. */
NetlinkRequest netlink_request(const NetlinkSocket &socket, int command, int flags,
			       const char *family = SMC_GENL_FAMILY_NAME);

} // namespace guest

#endif
