/* SPDX-License-Identifier: GPL-2.0 */
/* The guests' smc modules as the tests of interoperability and lifecycle need them. */
#ifndef GUEST_PEER_TREE_H
#define GUEST_PEER_TREE_H

#include <string>

#include "agent.h"

namespace guest
{

/* A command line of smc(8), for run_command() in any guest. */
std::string smc(const std::string &arguments);

/* A user EID here; that EID and PNET entries for netdev and RDMA device at the in-tree peer. */
void configure_with_tree(Agent &tree);

/* Connections of all link groups, from what "smc -j group" printed. */
int connections_of_groups(const std::string &json);

/* Waits until no connection is left in a link group of either guest. */
void expect_no_connections(Agent &peer);

} // namespace guest

#endif
