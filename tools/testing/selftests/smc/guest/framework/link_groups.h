/* SPDX-License-Identifier: GPL-2.0 */
/* Netlink queries and settings of the module, without starting a program. */
#ifndef GUEST_LINK_GROUPS_H
#define GUEST_LINK_GROUPS_H

#include <string>

namespace guest
{

/* Number of link groups of this network namespace, of both paths, and of all their connections. */
struct LinkGroups {
	int groups = 0, connections = 0;
	int used = 0; /* groups with connections */
};

LinkGroups link_groups();

/*
 * Returns the mode of a socket of this network namespace, SMC_DIAG_MODE_* of
 * linux/smc_diag.h. Unlike the counters, it depends on this socket alone.
 */
int socket_mode(int fd);

void add_eid(const std::string &eid);
void remove_eid(const std::string &eid);

} // namespace guest

#endif
