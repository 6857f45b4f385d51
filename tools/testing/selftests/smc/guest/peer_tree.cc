// SPDX-License-Identifier: GPL-2.0
#include "peer_tree.h"

#include <nlohmann/json.hpp>

#include "system.h"

namespace guest
{

std::string smc(const std::string &arguments)
{
	return "${SMC:-$LAB_BUILD/tools/smc/smc} " + arguments;
}

void configure_with_tree(Agent &tree)
{
	const std::string eid = smc("eid") + " | grep -qx INTEROP || " + smc("eid add INTEROP");

	must_run(eid);
	tree.must_run(eid);
	tree.must_run(smc("pnet") + " | grep -q NET1 || { " + smc("pnet add NET1 dev eth0") +
		      " && " + smc("pnet add NET1 ib rxe0") + "; }");
}

int connections_of_groups(const std::string &json)
{
	int connections = 0;

	for (const auto &group : nlohmann::json::parse(json))
		connections += group.at("conns").get<int>();
	return connections;
}

void expect_no_connections(Agent &peer)
{
	wait_until("no connection is left here",
		   [] { return !connections_of_groups(must_run(smc("-j group"))); });
	wait_until("no connection is left at the peer",
		   [&] { return !connections_of_groups(peer.must_run(smc("-j group"))); });
}

} // namespace guest
