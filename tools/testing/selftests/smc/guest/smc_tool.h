/* SPDX-License-Identifier: GPL-2.0 */
/* The output of smc(8) about sockets and link groups. */
#ifndef GUEST_SMC_TOOL_H
#define GUEST_SMC_TOOL_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "agent.h"

namespace guest
{

/* A command line of smc(8), for run_command() in any guest. */
std::string smc(const std::string &arguments);

/*
 * Parses the output of smc(8) or nft(8) with -j. Compiling the parser takes seconds, so no other
 * function uses it.
 */
nlohmann::json parse_json(const std::string &text);

/* The entry of a socket in "smc -j sock". Without one, find_socket() returns null. */
nlohmann::json find_socket(int fd);
nlohmann::json socket_shown(int fd);
/* The same of an agent's socket. */
nlohmann::json socket_shown(Agent &agent, const RemoteSocket &socket);

/* And of how its bytes go: "SMC-R", "SMC-D" or "TCP". */
std::string mode_shown(int fd);

/* The number of times that this guest, in @role, fell back to TCP for a reason of DECLINE. */
int64_t fallbacks(Role role, uint32_t reason);
/* The same of an agent's guest. */
int64_t fallbacks(Agent &agent, Role role, uint32_t reason);

/* Link groups of a peer, and the connections of all of them. */
int groups_at(Agent &peer);
int connections_at(Agent &peer);

/* Waits until no connection is left in a link group of either guest. */
void expect_no_connections(Agent &peer);

} // namespace guest

#endif
