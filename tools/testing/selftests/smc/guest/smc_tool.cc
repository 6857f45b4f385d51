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

namespace
{

nlohmann::json find_inode(const std::string &sockets, uint64_t inode)
{
	for (const auto &socket : parse_json(sockets))
		if (socket.at("inode") == inode)
			return socket;
	return nullptr;
}

nlohmann::json must_be_shown(const nlohmann::json &socket)
{
	if (socket.is_null())
		throw std::runtime_error("no such socket");
	return socket;
}

int64_t count_fallbacks(const std::string &text, Role role, uint32_t reason)
{
	auto all = parse_json(text);
	int64_t n = 0;

	for (const auto &entry : all.at("reasons"))
		if (entry.at("role") == (role == Role::client ? "client" : "server") &&
		    std::stoul(entry.at("code").get<std::string>(), nullptr, 16) == reason)
			n += entry.at("count").get<int64_t>();
	return n;
}

} // namespace

nlohmann::json find_socket(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		throw_errno("fstat");
	return find_inode(must_run(smc("-j sock")), status.st_ino);
}

nlohmann::json socket_shown(int fd)
{
	return must_be_shown(find_socket(fd));
}

nlohmann::json socket_shown(Agent &agent, const RemoteSocket &socket)
{
	std::string fd =
	    "/proc/" + std::to_string(agent.pid()) + "/fd/" + std::to_string(socket.number());
	uint64_t inode = std::stoull(agent.must_run("stat -L -c %i " + fd));

	return must_be_shown(find_inode(agent.must_run(smc("-j sock")), inode));
}

std::string mode_shown(int fd)
{
	return socket_shown(fd).at("mode");
}

int64_t fallbacks(Role role, uint32_t reason)
{
	return count_fallbacks(must_run(smc("-j fallbacks")), role, reason);
}

int64_t fallbacks(Agent &agent, Role role, uint32_t reason)
{
	return count_fallbacks(agent.must_run(smc("-j fallbacks")), role, reason);
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
