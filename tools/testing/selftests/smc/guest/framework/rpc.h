/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of the control connection between a test and smc_agent: each is a
 * list of strings. A request is a verb and its arguments. A reply is "ok" and
 * results, or "error" and a text. If a system call fails, the reply is "ok"
 * with -errno.
 */
#ifndef GUEST_RPC_H
#define GUEST_RPC_H

#include <string>
#include <vector>

namespace guest
{

using Message = std::vector<std::string>;

/* TCP port of smc_agent's control connections, on LAN 1, which no test changes. */
constexpr int agent_port = 8484;

/* False if the connection ended. */
bool write_message(int fd, const Message &message);
bool read_message(int fd, Message &message);

} // namespace guest

#endif
