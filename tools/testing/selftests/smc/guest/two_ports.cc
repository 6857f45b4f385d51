// SPDX-License-Identifier: GPL-2.0
#include "two_ports.h"

#include <utility>

#include "links_shown.h"
#include "nft.h"
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

std::string with_device(int port)
{
	return "{ test -e /sys/class/infiniband/" + rxe(port) + " || lab-rxe " + eth(port) + "; }";
}

std::string in_pnet(int port, const std::string &id = "NET1")
{
	return smc("pnet add " + id + " dev " + eth(port)) + " && " +
	       smc("pnet add " + id + " ib " + rxe(port));
}

const std::string no_pnet = smc("pnet flush");

/* Undoes add_cable(). */
const std::string no_cable = "{ [ ! -e /sys/class/net/nic1 ] || { ip link delete br1 && "
			     "ip link delete eth1 && ip link set nic1 down && "
			     "ip link set nic1 name eth1; }; }";

/* The debug kernel has no nftables, so it can't drop anything. */
const std::string no_rules = "{ ! nft list ruleset >/dev/null 2>&1 || nft flush ruleset; }";

} // namespace

TwoPorts::TwoPorts(Subnets subnets) : subnets(subnets)
{
}

TwoPorts::TwoPorts(Agent &agent, Subnets subnets) : agent(&agent), subnets(subnets)
{
}

/*
 * A second port is one whose subnet has the addresses of the connection in it, so the prefix of LAN
 * 1 is short. The addresses that IPv6 loses when a device goes down are needed by lab-rxe.
 */
std::string TwoPorts::with_addresses(int port) const
{
	const std::string node = "$((LAB_NODE + 1))", lan = std::to_string(port);
	const std::string dev = " dev " + eth(port), ipv4 = "10.83." + lan + "." + node;
	const bool is_wide = port || subnets == Subnets::one;

	return "{ ip addr del " + ipv4 + (is_wide ? "/24" : "/16") + dev +
	       " 2>/dev/null; ip addr replace " + ipv4 + (is_wide ? "/16" : "/24") + dev +
	       " && ip -6 addr replace fd83:" + (port ? "1:" : "") + ":" + node + "/64" + dev +
	       " nodad; }";
}

std::string TwoPorts::up(int port) const
{
	return "ip link set " + eth(port) + " up && " + with_addresses(port);
}

std::string TwoPorts::must_run(const std::string &command) const
{
	return agent ? agent->must_run(command) : guest::must_run(command);
}

void TwoPorts::set_up() const
{
	/* The other end may have both LANs on a bridge, and then each address is asked for on both.
	 */
	std::string command = "lab-smc unload && sysctl -q net.ipv4.conf.all.arp_ignore=1 "
			      "net.ipv4.conf.all.arp_announce=2 && " +
			      no_rules;

	command += "; " + no_cable;
	for (const char *device : {"vlan0", "vlan1", "vrf0"})
		command += std::string("; ip link delete ") + device + " 2>/dev/null";
	/* The in-tree module prefers the device that is older, so the order counts. */
	for (int port : {0, 1})
		command += "; rdma link delete " + rxe(port) + " 2>/dev/null";
	command += "; true";
	for (int port : {0, 1})
		command += " && " + up(port) + " && " + with_device(port);
	command += " && ip neigh flush all && lab-smc load && " + smc("eid add INTEROP");
	for (int port : {0, 1})
		command += " && " + in_pnet(port);
	must_run(command);
}

void TwoPorts::use_version_1() const
{
	const auto count_gids = [this] {
		return must_run("cat /sys/class/infiniband/rxe?/ports/1/gid_attrs/types/* "
				"2>/dev/null | grep -c 'RoCE v1'; true");
	};
	std::string command = smc("eid flush") + " && " + smc("eid add VERSION1.$LAB_NODE") +
			      " && insmod $LAB_BUILD/selftests/kmod/$(uname -r)/roce_v1.ko "
			      "ibdev=rxe0,rxe1";

	/* An address gets its GID of RoCE v1 when it is added. */
	for (int port : {0, 1})
		command += " && ip addr flush dev " + eth(port) + " scope global && " +
			   with_addresses(port);
	must_run(command);
	/* By version 1 an end does not say which module it runs. */
	if (!is_tree())
		set_sysctl("net.smc.smcr_max_links_foreign", "2");
	/* Each device has one for IPv4 and one for IPv6. */
	wait_until("RoCE v1", [&] { return std::stoi(count_gids()) >= 4; });
}

bool TwoPorts::unload() const
{
	const std::string command = "lab-smc unload && "
				    "{ ! grep -q '^roce_v1 ' /proc/modules || rmmod roce_v1; }";

	return !(agent ? agent->run_command(command) : run_command(command)).status;
}

void TwoPorts::await_rest() const
{
	std::string before;
	int equal = 0;

	wait_until("no packet is under way", [&] {
		const std::string last = std::exchange(
		    before, must_run("cat /sys/class/infiniband/rxe?/ports/1/hw_counters/*_pkts"));

		equal = before == last ? equal + 1 : 0;
		return equal == 50;
	});
}

bool TwoPorts::has_module(const std::string &name) const
{
	return must_run("modprobe " + name + " && echo yes; true") == "yes\n";
}

void TwoPorts::add_vlan(int port, int id) const
{
	const std::string vlan = "vlan" + std::to_string(port);
	const char *prefix = port ? "/16" : "/24"; /* as those of with_addresses() */

	must_run("ip link add link " + eth(port) + " name " + vlan + " type vlan id " +
		 std::to_string(id) + " && ip addr add 10.86." + std::to_string(port) +
		 ".$((LAB_NODE + 1))" + prefix + " dev " + vlan + " && ip link set " + vlan +
		 " up && " + smc("pnet add NET1 dev " + vlan));
}

void TwoPorts::add_cable() const
{
	must_run("rdma link delete rxe1; ip addr flush dev eth1 && ip link set eth1 down && "
		 "ip link set eth1 name nic1 && ip link add br1 type bridge && "
		 "ip link add eth1 type veth peer name cable1 && "
		 "for i in nic1 cable1; do ip link set $i master br1 up || exit; done && "
		 "ip link set br1 up && " +
		 up(1) + " && " + with_device(1) + " && ip neigh flush all && " + no_pnet + " && " +
		 in_pnet(0) + " && " + in_pnet(1));
}

void TwoPorts::pull_cable(int port) const
{
	must_run("ip link set cable" + std::to_string(port) + " down");
}

void TwoPorts::plug_cable(int port) const
{
	must_run("ip link set cable" + std::to_string(port) + " up");
}

void TwoPorts::remove_vlan(int port) const
{
	must_run("ip link delete vlan" + std::to_string(port));
}

/* A device goes down for a moment when it enters a VRF or leaves it, so its addresses may go. */
void TwoPorts::enter_vrf() const
{
	must_run("ip link add vrf0 type vrf table 100 && ip link set vrf0 up && "
		 "ip link set eth1 master vrf0 && " +
		 up(1));
}

void TwoPorts::leave_vrf() const
{
	must_run("ip link delete vrf0 && " + up(1));
}

void TwoPorts::part_networks() const
{
	must_run(no_pnet + " && " + in_pnet(0) + " && " + in_pnet(1, "NET2"));
}

void TwoPorts::join_networks() const
{
	must_run(no_pnet + " && " + in_pnet(0) + " && " + in_pnet(1));
}

void TwoPorts::forget_networks() const
{
	must_run(no_pnet);
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

void TwoPorts::remove_addresses(int port) const
{
	must_run("ip addr flush dev " + eth(port));
}

void TwoPorts::lose(int port) const
{
	drop("iifname " + eth(port) + " udp dport 4791");
}

void TwoPorts::lose_tcp(int port) const
{
	drop("iifname " + eth(port) + " meta l4proto tcp");
}

void TwoPorts::drop(const std::string &match) const
{
	must_run("nft 'add table inet lost; "
		 "add chain inet lost in { type filter hook input priority 0; }; "
		 "add rule inet lost in " +
		 match + " counter drop'");
}

int64_t TwoPorts::packets_lost() const
{
	return counted_by_rule(must_run("nft -j list chain inet lost in"));
}

void TwoPorts::lose_nothing() const
{
	must_run(no_rules);
}

void TwoPorts::find(int) const
{
	lose_nothing();
}

std::vector<ShownGroup> TwoPorts::groups() const
{
	return agent ? shown_groups(*agent) : shown_groups();
}

Counters TwoPorts::counters() const
{
	return agent ? agent->counters() : Counters::now();
}

} // namespace guest
