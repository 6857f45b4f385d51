// SPDX-License-Identifier: GPL-2.0
#include "place.h"

#include <cstdlib>

namespace guest
{

Place peer_place()
{
	const char *within = getenv("LAB_WITHIN");
	std::string place = within ? within : "";

	if (place.empty())
		return Place::guest;
	return place == "host" ? Place::host : Place::netns;
}

int control_lan()
{
	const char *lans = getenv("LAB_LANS");

	return lans ? std::stoi(lans) - 1 : 1;
}

std::string by_path(const std::string &what)
{
	return (peer_within() ? "ism_" : "rdma_") + what;
}

std::string rmem_sysctl()
{
	return peer_within() ? "net.smc.smcd_rmem" : "net.smc.rmem";
}

} // namespace guest
