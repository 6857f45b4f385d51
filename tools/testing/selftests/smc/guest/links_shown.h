/* SPDX-License-Identifier: GPL-2.0 */
/* The links of SMC-R link groups, as a module shows them. */
#ifndef GUEST_LINKS_SHOWN_H
#define GUEST_LINKS_SHOWN_H

#include <cstdint>
#include <string>
#include <vector>

#include "agent.h"

namespace guest
{

/* The values of SMC_NLA_LGR_R_TYPE. */
enum class GroupType { none, single, symmetric, asymmetric_peer, asymmetric_local };

/* The values of SMC_NLA_LINK_STATE. */
enum class LinkState { unused, inactive, activating, active };

struct ShownLink {
	int number;
	std::string device, gid;
	LinkState state;
	/* Seconds since the link came to its state; -1 if it is the in-tree module's. */
	int age;
	int connections;
};

struct ShownGroup {
	GroupType type;
	int version;
	int vlan;
	std::vector<ShownLink> links = {};
	/* The link that was lost last, when, and why; 0, -1 and "" if none was. */
	int lost_link = 0, lost_age = -1;
	std::string lost_reason = {};

	/* The devices of the active links in order, as "rxe0 rxe1". */
	std::string devices() const;
	/* The number of connections of the active link by that device: 0 if there is none. */
	int connections_by(const std::string &device) const;
};

/* The groups of this guest, or of an agent's. */
std::vector<ShownGroup> shown_groups();
std::vector<ShownGroup> shown_groups(Agent &agent);

/* One line for each link, for messages of tests. */
std::string to_string(const std::vector<ShownGroup> &groups);

} // namespace guest

#endif
