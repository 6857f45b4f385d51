// SPDX-License-Identifier: GPL-2.0
/*
 * The effect of a connection's route on RDMA: device, VLAN, MTU, next hop, and whether RDMA is used
 * at all.
 */
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <nlohmann/json.hpp>
#include <set>

#include "agent.h"
#include "echo_stream.h"
#include "nft.h"
#include "rogue.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

class Route : public testing::Test
{
protected:
	~Route() override
	{
		run_command(undo);
		agent.run_command(undo);
	}
	/*
	 * Runs a command in both guests; {0} is the node of the guest, {1} that of the other,
	 * counted from 1.
	 */
	void in_both(const std::string &command)
	{
		must_run(of_node(command, 1));
		agent.must_run(of_node(command, 2));
	}
	static std::string of_node(std::string command, int node)
	{
		for (size_t at; (at = command.find("{0}")) != std::string::npos;)
			command.replace(at, 3, std::to_string(node));
		for (size_t at; (at = command.find("{1}")) != std::string::npos;)
			command.replace(at, 3, std::to_string(3 - node));
		return command;
	}
	/* Adds a device "upper" with addresses of its own. */
	void add_upper(const std::string &how)
	{
		in_both(how + " && ip addr add 10.86.0.{0}/24 dev upper && ip link set upper up");
	}
	/* Waits until the RDMA core has the GIDs. */
	void await_gids()
	{
		for (int node : {1, 2}) {
			std::string command =
			    of_node("cat /sys/class/infiniband/rxe0/ports/1/gids/* | "
				    "grep -q ffff:0a56:000{0}",
				    node);

			wait_until("a GID of the device", [&] {
				return !(node == 1 ? run_command(command)
						   : agent.run_command(command))
					    .status;
			});
		}
	}
	void expect_data(const std::string &to, bool by_smc)
	{
		RemoteSocket listener = agent.listen(Flavor());
		Fd here = must_connect(Flavor(), address_from(to, listener.port()));
		Connection connection = {std::move(here), listener.accept()};

		check_data(connection, 10000, by_smc);
	}
	/* The server's answer to a client that connected before @change. */
	std::string answer_after(const std::string &change)
	{
		RemoteSocket listener = agent.listen(Flavor());
		Address to = address_of(1, AF_INET, listener.port());
		Fd rogue = offering_socket();

		if (connect(rogue, to.get(), to.len))
			throw_errno("connect");
		agent.must_run(change);
		send_bytes(rogue, encode(good_proposal()));

		std::string answer = receive_message(rogue);

		send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
		return answer;
	}

	Agent agent;
	std::string undo = "ip link del upper; ip link del tunnel; " + smc("pnet flush");
};

} // namespace

/* Devices on top of the RDMA port's: RDMA is used with those that don't transform packets. */
struct Upper {
	const char *name;
	const char *how;
	bool by_smc;
};

class RouteBy : public Route, public testing::WithParamInterface<Upper>
{
};

TEST_P(RouteBy, Upper)
{
	add_upper(GetParam().how);
	await_gids();
	expect_data("10.86.0.2", GetParam().by_smc);
}

INSTANTIATE_TEST_SUITE_P(
    , RouteBy,
    testing::Values(
	Upper{"Vlan", "ip link add link eth0 name upper type vlan id 5", true},
	Upper{"Vxlan",
	      "modprobe vxlan; ip link add upper type vxlan id 7 remote 10.83.0.{1} "
	      "dstport 4789 dev eth0",
	      false},
	Upper{"VlanOnVxlan",
	      "modprobe vxlan; ip link add tunnel type vxlan id 7 remote 10.83.0.{1} "
	      "dstport 4789 dev eth0 && ip link set tunnel up && "
	      "ip link add link tunnel name upper type vlan id 5",
	      false},
	Upper{"Macsec",
	      "modprobe macsec; ip link add link eth0 upper address 02:00:00:00:86:0{0} "
	      "type macsec encrypt on && "
	      "ip macsec add upper tx sa 0 pn 1 on key 01 81818181818181818181818181818181 && "
	      "ip macsec add upper rx port 1 address 02:00:00:00:86:0{1} && "
	      "ip macsec add upper rx port 1 address 02:00:00:00:86:0{1} sa 0 pn 1 on "
	      "key 02 81818181818181818181818181818181",
	      false}),
    [](const auto &info) { return info.param.name; });

/* The in-tree module's attribute has eight bits. */
TEST_F(Route, VlanIsShown)
{
	std::set<int> vlans;

	add_upper("ip link add link eth0 name upper type vlan id 300");
	await_gids();
	expect_data("10.86.0.2", true);
	for (const auto &group : parse_json(must_run(smc("-j group"))))
		vlans.insert(group.at("vlan").get<int>());
	EXPECT_TRUE(vlans.contains(300)) << testing::PrintToString(vlans);
}

/* By the PNET table packets use another device, but in the same VLAN, or RDMA is not used. */
TEST_F(Route, VlanOfAnotherDevice)
{
	in_both(smc("pnet add NET1 dev eth1") + " && " + smc("pnet add NET1 ib rxe0"));
	expect_data("10.83.1.2", true);
	add_upper("ip link add link eth1 name upper type vlan id 5");
	expect_data("10.86.0.2", false);
}

/* All packets of a link that is made after the change have that DSCP. */
TEST_F(Route, TypeOfService)
{
	const std::string type = " { type filter hook output priority 0; }; ",
			  roce = " oifname upper udp dport 4791 ip dscp ";
	auto counted = [](const std::string &chain) {
		return counted_by_rule(must_run("nft -j list chain inet tos " + chain));
	};
	SysctlScope tos("net.smc.smcr_tos", "104");

	add_upper("ip link add link eth0 name upper type vlan id 6");
	await_gids();
	undo += "; nft delete table inet tos";
	must_run("nft 'add table inet tos; add chain inet tos expected" + type +
		 "add chain inet tos other" + type + "add rule inet tos expected" + roce +
		 "26 counter; add rule inet tos other" + roce + "!= 26 counter'");
	expect_data("10.86.0.2", true);
	EXPECT_GT(counted("expected"), 0);
	EXPECT_EQ(counted("other"), 0);
}

/* RoCE packets larger than the path MTU are lost, because RoCE can't fragment them. */
TEST_F(Route, Mtu)
{
	constexpr char route[] = "ip route change 10.83.0.0/24 dev eth0 proto kernel scope link "
				 "src 10.83.0.2";

	undo = std::string(route) + " || true";
	for (auto [mtu, qp_mtu] : {std::pair(700, IBV_MTU_512), std::pair(400, IBV_MTU_256)}) {
		std::string answer =
		    answer_after(std::string(route) + " mtu lock " + std::to_string(mtu));

		EXPECT_EQ(parse_agreement(answer, SMC_CLC_ACCEPT).r.qp_mtu, qp_mtu) << mtu;
	}
}

/* Any change of the routing table makes TCP look up its route again, and so does SMC. */
TEST_F(Route, ChangedSinceTheSyn)
{
	undo = "ip route del 10.87.0.0/24 || true";

	std::string answer = answer_after("ip route add 10.87.0.0/24 dev eth0");

	EXPECT_EQ(parse_agreement(answer, SMC_CLC_ACCEPT).version, SMC_VERSION_2);
}

/* An IPsec policy added since then applies to SMC, too. */
TEST_F(Route, SecuredSinceTheSyn)
{
	const std::string state = "ip xfrm state add src 10.83.0.2 dst 10.83.0.1 proto esp spi 256 "
				  "reqid 1 mode transport auth digest_null '' enc cipher_null ''";

	undo = "ip xfrm policy flush; ip xfrm state flush";
	must_run(state);

	std::string answer =
	    answer_after(state + " && ip xfrm policy add src 10.83.0.2 dst 10.83.0.1 dir out "
				 "tmpl proto esp reqid 1 mode transport");

	EXPECT_EQ(diagnosis_of(answer), uint32_t(SMC_DIAG_IPSEC));
}

/* The other guest is its own router, and takes packets to any MAC address. */
class ByRouter : public Route, public testing::WithParamInterface<Role>
{
protected:
	ByRouter()
	{
		undo = "ip route del 10.86.0.$((2 - LAB_NODE)); "
		       "ip addr del 10.86.0.$((LAB_NODE + 1))/32 dev eth0; "
		       "tc qdisc del dev eth0 clsact; ip link set eth0 promisc off; "
		       "ip neigh del 10.83.0.$((2 - LAB_NODE)) dev eth0";
		in_both("ip addr add 10.86.0.{0}/32 dev eth0 && "
			"ip route add 10.86.0.{1} via 10.83.0.{1} src 10.86.0.{0} && "
			"ip link set eth0 promisc on && tc qdisc add dev eth0 clsact && "
			"tc filter add dev eth0 ingress matchall action skbedit ptype host");
		await_gids();
	}

	static void set_mac(const std::string &address)
	{
		must_run("ip neigh replace 10.83.0.2 lladdr " + address +
			 " dev eth0 nud permanent");
	}
	Connection connection()
	{
		return make_connection_in("10.86.0.", agent, GetParam());
	}
	static int64_t groups()
	{
		return Counters::now()["rdma_groups_created"];
	}

	const std::string true_mac = agent.must_run("printf %s $(cat /sys/class/net/eth0/address)");
};

INSTANTIATE_TEST_SUITE_P(, ByRouter, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

/* A queue pair keeps the MAC address that it sends to, so new connections need another group. */
TEST_P(ByRouter, GetsAnotherMac)
{
	EchoStream stream(connection(), 1);
	int64_t before = groups();

	stream.await_progress();
	set_mac(true_mac);

	Connection same = connection();

	check_data(same, 10000, true);
	EXPECT_EQ(groups(), before);
	stream.pause();
	set_mac("52:54:83:00:00:79");
	/* This client declines the old group, and by that its server comes to know. */
	if (GetParam() == Role::client) {
		Connection declined = connection();

		check_data(declined, 10000, false);
	}

	Connection other = connection();

	check_data(other, 10000, true);
	EXPECT_EQ(groups(), before + 1);
	stream.resume();
	stream.await_progress();
	stream.finish();
}

/* Dumps by any number of readers neither delay connections nor meet a device that is gone. */
TEST_F(Route, DumpsBesideConnections)
{
	std::string pid = must_run("{ while :; do " + smc("dev") + "; " + smc("link") + "; " +
				   smc("pnet") + "; done; } >/dev/null 2>&1 & echo $!");

	undo = "kill " + pid;
	for (int i = 0; i < 3; i++) {
		expect_data("10.83.0.2", true);
		must_run("rdma link delete rxe0 && lab-rxe eth0");
	}
	expect_data("10.83.0.2", true);
}

/* A container sees only the host's devices that its own connections need. */
TEST_F(Route, ShownToContainers)
{
	auto in_container = [](const std::string &what) {
		return must_run("unshare -Urn " + smc("-j " + what));
	};
	auto has = [](const std::string &text, const char *what) {
		return text.find(what) != std::string::npos;
	};

	undo = smc("pnet flush") + "; " + smc("eid flush");
	must_run(smc("eid add HOSTS.EID") + " && " + smc("pnet add NET1 ib rxe0"));
	EXPECT_TRUE(has(must_run(smc("-j eid")), "HOSTS.EID"));
	EXPECT_FALSE(has(in_container("eid"), "HOSTS.EID"));
	EXPECT_TRUE(has(must_run(smc("-j dev")), "NET1"));
	EXPECT_FALSE(has(in_container("dev"), "NET1"));
	EXPECT_TRUE(has(in_container("dev"), "rxe0"));
}
