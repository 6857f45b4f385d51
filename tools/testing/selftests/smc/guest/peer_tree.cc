// SPDX-License-Identifier: GPL-2.0
#include "peer_tree.h"

#include "smc_tool.h"
#include "system.h"

namespace guest
{

void configure_with_tree(Agent &tree)
{
	const std::string eid = smc("eid") + " | grep -qx INTEROP || " + smc("eid add INTEROP");

	must_run(eid);
	tree.must_run(eid);
	tree.must_run(smc("pnet") + " | grep -q NET1 || { " + smc("pnet add NET1 dev eth0") +
		      " && " + smc("pnet add NET1 ib rxe0") + "; }");
}

} // namespace guest
