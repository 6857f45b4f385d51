// SPDX-License-Identifier: GPL-2.0
#include "roce_v1.h"

#include "place.h"

namespace guest
{

static const char address[] = "10.83.0.102/24 dev eth0";

void RoceV1::SetUp()
{
	if (peer_within())
		return;
	agent.emplace();
	/* A test that failed may have left the module loaded. */
	agent->must_run("grep -q '^roce_v1 ' /proc/modules || "
			"insmod $LAB_BUILD/selftests/kmod/$(uname -r)/roce_v1.ko ibdev=rxe0");
	agent->must_run(std::string("ip addr replace ") + address);
	expect_gid(true);
}

void RoceV1::TearDown()
{
	if (!agent)
		return;
	agent->must_run(std::string("ip addr del ") + address);
	expect_gid(false);
	agent->must_run("rmmod roce_v1");
	agent.reset();
}

/* GIDs follow addresses after a moment. */
void RoceV1::expect_gid(bool there)
{
	wait_until("RoCE v1", [&] {
		Output out = agent->run_command(
		    "cat /sys/class/infiniband/rxe0/ports/1/gid_attrs/types/* 2>/dev/null");

		return (out.text.find("RoCE v1") != std::string::npos) == there;
	});
}

} // namespace guest
