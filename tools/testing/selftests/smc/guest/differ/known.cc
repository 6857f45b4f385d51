// SPDX-License-Identifier: GPL-2.0
#include "known.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace differ
{

namespace
{

/* An option had the route forgotten, and none of the packets that look it up again is TCP's. */
bool is_route_forgotten(const Moment &moment)
{
	Step step = moment.step();
	auto rest = [](const std::string &said) {
		return said.substr(said.find('\n'));
	};

	return step.op == Op::get && step.a == IPPROTO_IP && step.b == IP_MTU &&
	       moment.tcp.starts_with("0 ") && moment.other.starts_with("-ENOTCONN") &&
	       rest(moment.tcp) == rest(moment.other);
}

} // namespace

const std::vector<Known> &all_known()
{
	static const std::vector<Known> known = {
	    {"RouteForgotten",
	     {{Op::pair, 0, 1},
	      {Op::set, 1, SOL_SOCKET, SO_DONTROUTE, 0},
	      {Op::send, 1, 1, 0, by_call},
	      {Op::get, 1, IPPROTO_IP, IP_MTU, 64}},
	     is_route_forgotten},
	};

	return known;
}

const Known *find_known(const Moment &moment)
{
	for (const Known &one : all_known())
		if (one.explains(moment))
			return &one;
	return nullptr;
}

} // namespace differ
