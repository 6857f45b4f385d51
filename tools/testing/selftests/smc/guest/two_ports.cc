// SPDX-License-Identifier: GPL-2.0
#include "two_ports.h"

#include "links_shown.h"
#include "smc_tool.h"
#include "system.h"

namespace guest
{

namespace
{

std::string eth(int port)
{
	return "eth" + std::to_string(port);
}

std::string rxe(int port)
{
	return "rxe" + std::to_string(port);
}

/*
 * A second port is one whose subnet has the addresses of the connection in it, so the prefix of LAN
 * 1 is short. The addresses that IPv6 loses when a device goes down are needed by lab-rxe.
 */
std::string with_addresses(int port)
{
	const std::string node = "$((LAB_NODE + 1))", dev = " dev " + eth(port);

	if (port == 0)
		return "ip addr replace 10.83.0." + node + "/24" + dev +
		       " && ip -6 addr replace fd83::" + node + "/64" + dev + " nodad";
	return "{ ip addr del 10.83.1." + node + "/24" + dev +
	       " 2>/dev/null; ip addr replace 10.83.1." + node + "/16" + dev +
	       " && ip -6 addr replace fd83:1::" + node + "/64" + dev + " nodad; }";
}

std::string up(int port)
{
	return "ip link set " + eth(port) + " up && " + with_addresses(port);
}

std::string with_device(int port)
{
	return "{ test -e /sys/class/infiniband/" + rxe(port) + " || lab-rxe " + eth(port) + "; }";
}

std::string in_pnet(int port)
{
	return smc("pnet add NET1 dev " + eth(port)) + " && " +
	       smc("pnet add NET1 ib " + rxe(port));
}

/* The debug kernel has no nftables, so it can't drop anything. */
const std::string no_rules = "{ ! nft list ruleset >/dev/null 2>&1 || nft flush ruleset; }";

} // namespace

TwoPorts::TwoPorts() = default;

TwoPorts::TwoPorts(Agent &agent) : agent(&agent)
{
}

std::string TwoPorts::must_run(const std::string &command) const
{
	return agent ? agent->must_run(command) : guest::must_run(command);
}

void TwoPorts::set_up() const
{
	std::string command = "lab-smc unload && " + no_rules;

	/* The in-tree module prefers the device that is older, so the order counts. */
	for (int port : {0, 1})
		command += "; rdma link delete " + rxe(port) + " 2>/dev/null";
	command += "; true";
	for (int port : {0, 1})
		command += " && " + up(port) + " && " + with_device(port);
	command += " && ip neigh flush all && lab-smc load && " + smc("eid add INTEROP") +
		   " && sysctl -q net.smc.smcr_max_links_per_lgr=2";
	for (int port : {0, 1})
		command += " && " + in_pnet(port);
	must_run(command);
}

bool TwoPorts::unload() const
{
	const std::string command = "lab-smc unload";

	return !(agent ? agent->run_command(command) : run_command(command)).status;
}

bool TwoPorts::is_tree() const
{
	return must_run("echo $LAB_SMC") == "tree\n";
}

void TwoPorts::set_sysctl(const std::string &name, const std::string &value) const
{
	agent ? agent->set_sysctl(name, value) : guest::set_sysctl(name, value);
}

void TwoPorts::take_down(int port) const
{
	must_run("ip link set " + eth(port) + " down");
}

void TwoPorts::take_up(int port) const
{
	must_run(up(port));
}

void TwoPorts::remove_device(int port) const
{
	must_run("rdma link delete " + rxe(port));
}

void TwoPorts::add_device(int port) const
{
	must_run(with_device(port));
}

void TwoPorts::lose(int port) const
{
	must_run("nft 'add table inet lost; "
		 "add chain inet lost in { type filter hook input priority 0; }; "
		 "add rule inet lost in iifname " +
		 eth(port) + " udp dport 4791 drop'");
}

void TwoPorts::lose_nothing() const
{
	must_run(no_rules);
}

std::vector<ShownGroup> TwoPorts::groups() const
{
	return agent ? shown_groups(*agent) : shown_groups();
}

} // namespace guest
