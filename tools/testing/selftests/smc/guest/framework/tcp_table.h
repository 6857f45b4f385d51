/* SPDX-License-Identifier: GPL-2.0 */
/* TCP's own table of connections, /proc/net/tcp. */
#ifndef GUEST_TCP_TABLE_H
#define GUEST_TCP_TABLE_H

#include <string>

namespace guest
{

/* Returns the file that lists the sockets of a family. */
std::string tcp_table(int family);

/* Returns the state, of <netinet/tcp.h>, of the connection's end with these ports; 0 if none. */
int tcp_state(const std::string &table, int local_port, int remote_port);

} // namespace guest

#endif
