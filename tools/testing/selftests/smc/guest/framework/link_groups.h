/* SPDX-License-Identifier: GPL-2.0 */
/* What the module tells by netlink, and is told: with no program started for it. */
#ifndef GUEST_LINK_GROUPS_H
#define GUEST_LINK_GROUPS_H

#include <string>

namespace guest
{

/* Of this network namespace, by either path: so many groups, and the connections of all. */
struct LinkGroups {
	int groups = 0, connections = 0;
};

LinkGroups link_groups();

/*
 * How the bytes of a socket of this network namespace go: SMC_DIAG_MODE_* of linux/smc_diag.h. Of
 * that socket alone, whatever others here do.
 */
int socket_mode(int fd);

void add_eid(const std::string &eid);
void remove_eid(const std::string &eid);

} // namespace guest

#endif
