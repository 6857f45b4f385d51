/* SPDX-License-Identifier: GPL-2.0 */
/* The in-tree module as a peer. */
#ifndef GUEST_PEER_TREE_H
#define GUEST_PEER_TREE_H

#include "agent.h"

namespace guest
{

/* A user EID here; that EID and PNET entries for netdev and RDMA device at the in-tree peer. */
void configure_with_tree(Agent &tree);

} // namespace guest

#endif
