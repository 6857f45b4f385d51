// SPDX-License-Identifier: GPL-2.0
#include "one_port.h"

#include <string>

#include "smc_tool.h"

namespace guest
{

namespace
{

const std::string node = "$((LAB_NODE + 1))";

/* The in-tree module considers a new device once, so the device has its PNET ID from the start. */
std::string with_rxe(const std::string &rxe, const std::string &netdev)
{
	return " && " + smc("pnet add NET1 dev " + netdev) + " && " +
	       smc("pnet add NET1 ib " + rxe) + " && rdma link add " + rxe + " type rxe netdev " +
	       netdev;
}

} // namespace

OnePort::OnePort(Agent &agent) : agent(agent)
{
	std::string command = smc("pnet flush") + " && ip link add br0 type bridge";

	for (const char *eth : {"eth0", "eth1"}) {
		const std::string dev = eth;

		command += " && rdma link delete rxe" + dev.substr(3) + " && ip addr flush dev " +
			   dev + " scope global" + " && ip link set " + dev + " master br0";
	}
	command += " && ip link set br0 up && ip addr add 10.83.0." + node + "/16 dev br0" +
		   " && ip -6 addr add fd83::" + node + "/64 dev br0 nodad" +
		   with_rxe("rxe0", "br0");
	agent.must_run(command);
}

OnePort::~OnePort()
{
	agent.run_command("rdma link delete rxe1; rdma link delete rxe0; ip link delete br0");
}

void OnePort::add_second() const
{
	agent.must_run("ip link add mv0 link br0 type macvlan mode bridge && ip link set mv0 up && "
		       "ip addr add 10.83.1." +
		       node + "/16 dev mv0 && ip -6 addr add fd83:1::" + node +
		       "/64 dev mv0 nodad" + with_rxe("rxe1", "mv0"));
}

} // namespace guest
