/* SPDX-License-Identifier: GPL-2.0 */
/* TCP's own table of connections, /proc/net/tcp. */
#ifndef GUEST_TCP_TABLE_H
#define GUEST_TCP_TABLE_H

#include <string>

namespace guest
{

/* The file for sockets of a family. */
std::string tcp_table(int family);

/* The state, of <netinet/tcp.h>, of the end of a connection that has these ports; 0: none. */
int tcp_state(const std::string &table, int local_port, int remote_port);

} // namespace guest

#endif
