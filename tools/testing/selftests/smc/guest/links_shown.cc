// SPDX-License-Identifier: GPL-2.0
#include "links_shown.h"

#include <linux/smc.h>

#include <stdexcept>

#include "netlink_dump.h"

namespace guest
{

namespace
{

/* SMC_NLA_LINK_STATE_AGE and SMC_NLA_LGR_R_LOST_*, which the system's headers lack. */
constexpr int link_state_age = 128;
constexpr int lost_link = 129, lost_age = 130, lost_reason = 131;

std::string path_of(int nest, int attribute)
{
	return std::to_string(nest) + "/" + std::to_string(attribute);
}

/* The bytes of an attribute, which a dump shows in hexadecimal behind "0x". */
std::string bytes_of(const Shown &shown, const std::string &path)
{
	const std::string &hex = shown.at(path);
	std::string bytes;

	for (size_t i = 2; i + 1 < hex.size(); i += 2)
		bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
	return bytes;
}

/* Integers are in the byte order of the guests, the little-endian one. */
uint64_t number_of(const Shown &shown, const std::string &path)
{
	std::string bytes = bytes_of(shown, path);
	uint64_t number = 0;

	for (size_t i = bytes.size(); i-- > 0;)
		number = number << 8 | uint8_t(bytes[i]);
	return number;
}

std::string text_of(const Shown &shown, const std::string &path)
{
	std::string bytes = bytes_of(shown, path);

	return bytes.substr(0, bytes.find('\0'));
}

/* A link that is just being removed is shown without its device. */
std::string text_of_port(const Shown &shown, int attribute)
{
	const std::string path = path_of(SMC_GEN_LINK_SMCR, attribute);

	return shown.count(path) ? text_of(shown, path) : "";
}

ShownLink link_of(const Shown &shown)
{
	auto path = [](int attribute) {
		return path_of(SMC_GEN_LINK_SMCR, attribute);
	};

	return {
	    .number = int(number_of(shown, path(SMC_NLA_LINK_ID))),
	    .device = text_of_port(shown, SMC_NLA_LINK_IB_DEV),
	    .gid = text_of_port(shown, SMC_NLA_LINK_GID),
	    .state = LinkState(number_of(shown, path(SMC_NLA_LINK_STATE))),
	    .age = shown.count(path(link_state_age)) ? int(number_of(shown, path(link_state_age)))
						     : -1,
	    .connections = int(number_of(shown, path(SMC_NLA_LINK_CONN_CNT))),
	};
}

ShownGroup group_of(const Shown &shown)
{
	auto path = [](int attribute) {
		return path_of(SMC_GEN_LGR_SMCR, attribute);
	};
	const std::string v2 =
	    path(SMC_NLA_LGR_R_V2_COMMON) + "/" + std::to_string(SMC_NLA_LGR_V2_VER);
	ShownGroup group = {
	    .type = GroupType(number_of(shown, path(SMC_NLA_LGR_R_TYPE))),
	    .version = shown.count(v2) ? int(number_of(shown, v2)) : 1,
	    .vlan = int(number_of(shown, path(SMC_NLA_LGR_R_VLAN_ID))),
	};

	if (shown.count(path(lost_link))) {
		group.lost_link = int(number_of(shown, path(lost_link)));
		group.lost_age = int(number_of(shown, path(lost_age)));
		group.lost_reason = text_of(shown, path(lost_reason));
	}
	return group;
}

/* The dump has each group before its links. */
std::vector<ShownGroup> groups_of(const std::string &dump)
{
	const std::string type = path_of(SMC_GEN_LGR_SMCR, SMC_NLA_LGR_R_TYPE);
	std::vector<ShownGroup> groups;

	for (const Shown &shown : shown_in(dump)) {
		if (shown.count(type))
			groups.push_back(group_of(shown));
		else if (groups.empty())
			throw std::runtime_error("a link without a group");
		else
			groups.back().links.push_back(link_of(shown));
	}
	return groups;
}

} // namespace

std::string ShownGroup::devices() const
{
	std::vector<std::string> names;
	std::string all;

	for (const ShownLink &link : links)
		if (link.state == LinkState::active)
			names.push_back(link.device);
	std::sort(names.begin(), names.end());
	for (const std::string &name : names)
		all += (all.empty() ? "" : " ") + name;
	return all;
}

int ShownGroup::connections_by(const std::string &device) const
{
	for (const ShownLink &link : links)
		if (link.state == LinkState::active && link.device == device)
			return link.connections;
	return 0;
}

std::vector<ShownGroup> shown_groups()
{
	return groups_of(dump_generic(SMC_NETLINK_GET_LINK_SMCR));
}

std::vector<ShownGroup> shown_groups(Agent &agent)
{
	const std::string command = std::to_string(SMC_NETLINK_GET_LINK_SMCR);

	return groups_of(agent.call({"dump-generic", command, SMC_GENL_FAMILY_NAME}));
}

std::string to_string(const std::vector<ShownGroup> &groups)
{
	std::string text;

	for (size_t i = 0; i < groups.size(); i++)
		for (const ShownLink &link : groups[i].links)
			text += "group " + std::to_string(i) + " of type " +
				std::to_string(int(groups[i].type)) + ", link " +
				std::to_string(link.number) + " by " + link.device + " in state " +
				std::to_string(int(link.state)) + ", " +
				std::to_string(link.connections) + " connections\n";
	return text;
}

} // namespace guest
