// SPDX-License-Identifier: GPL-2.0
#include "smc_tool.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <sys/stat.h>

#include "link_groups.h"
#include "socket.h"
#include "system.h"

namespace guest
{

std::string smc(const std::string &arguments)
{
	return "${SMC:-$LAB_BUILD/tools/smc/smc} " + arguments;
}

nlohmann::json parse_json(const std::string &text)
{
	return nlohmann::json::parse(text);
}

nlohmann::json find_socket(int fd)
{
	auto sockets = parse_json(must_run(smc("-j sock")));
	struct stat status;

	if (fstat(fd, &status))
		throw_errno("fstat");
	for (const auto &socket : sockets)
		if (socket.at("inode") == status.st_ino)
			return socket;
	return nullptr;
}

nlohmann::json socket_shown(int fd)
{
	nlohmann::json socket = find_socket(fd);

	if (socket.is_null())
		throw std::runtime_error("no such socket");
	return socket;
}

std::string mode_shown(int fd)
{
	return socket_shown(fd).at("mode");
}

int64_t fallbacks(Role role, uint32_t reason)
{
	auto all = parse_json(must_run(smc("-j fallbacks")));
	int64_t n = 0;

	for (const auto &entry : all.at("reasons"))
		if (entry.at("role") == (role == Role::client ? "client" : "server") &&
		    std::stoul(entry.at("code").get<std::string>(), nullptr, 16) == reason)
			n += entry.at("count").get<int64_t>();
	return n;
}

int groups_at(Agent &peer)
{
	return peer.link_groups().groups;
}

int connections_at(Agent &peer)
{
	return peer.link_groups().connections;
}

void expect_no_connections(Agent &peer)
{
	wait_until("no connection is left here", [] { return !link_groups().connections; });
	wait_until("no connection is left at the peer", [&] { return !connections_at(peer); });
}

} // namespace guest
