// SPDX-License-Identifier: GPL-2.0
/* The effect of the host's sysctls on its other namespaces. */
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "agent.h"
#include "netns.h"
#include "place.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

/* The value of a sysctl in a namespace; optionally a value is written first. */
std::string there(const Netns &netns, const std::string &name, const std::string &value = "")
{
	std::string shown;

	netns.enter([&] {
		if (!value.empty())
			set_sysctl(name, value);
		shown = sysctl(name);
	});
	return shown;
}

/* A namespace's own value, and its effective value while the host has @host. */
struct Bound {
	std::string name, host;
	std::map<std::string, std::string> asked_to_had;
};

void PrintTo(const Bound &bound, std::ostream *out)
{
	*out << bound.name << " " << bound.host;
}

class HostBounds : public testing::TestWithParam<Bound>
{
};

} // namespace

TEST(Namespace, BeginsWithTheHosts)
{
	SysctlScope corking("net.smc.autocorking_size", "1234"), rmem("net.smc.rmem", "65536");
	SysctlScope keepalive("net.smc.tcp_keepalive_time", "77");
	Netns netns;

	EXPECT_EQ(there(netns, "net.smc.autocorking_size"), "1234");
	EXPECT_EQ(there(netns, "net.smc.rmem"), "65536");
	EXPECT_EQ(there(netns, "net.smc.tcp_keepalive_time"), "77");
	EXPECT_EQ(there(netns, "net.smc.spin_usec"), sysctl("net.smc.spin_usec"));
}

TEST(Namespace, BeginsWithoutTcp2smc)
{
	SysctlScope on("net.smc.tcp2smc", "1");
	Netns netns;

	EXPECT_EQ(there(netns, "net.smc.tcp2smc"), "0");
	EXPECT_EQ(there(netns, "net.smc.tcp2smc", "1"), "1");
}

TEST_P(HostBounds, AreThoseOfItsNamespaces)
{
	Netns netns;

	for (auto &[asked, had] : GetParam().asked_to_had) {
		SysctlScope host(GetParam().name, GetParam().host);

		EXPECT_EQ(there(netns, GetParam().name, asked), had) << asked;
		/* Takes effect as soon as the host permits it. */
		set_sysctl(GetParam().name, asked);
		EXPECT_EQ(there(netns, GetParam().name), asked);
		/* And ends when the host no longer permits it. */
		set_sysctl(GetParam().name, GetParam().host);
		EXPECT_EQ(there(netns, GetParam().name), had) << asked;
	}
}

static std::vector<Bound> bounds()
{
	return {
	    {"net.smc.smcd", "1", {{"0", "0"}, {"1", "1"}}},
	    {"net.smc.smcd", "0", {{"0", "0"}, {"1", "0"}}},
	    {"net.smc.rmem", "65536", {{"16384", "16384"}, {"131072", "65536"}}},
	    {"net.smc.wmem", "65536", {{"16384", "16384"}, {"131072", "65536"}}},
	    {"net.smc.smcd_rmem", "65536", {{"16384", "16384"}, {"131072", "65536"}}},
	    {"net.smc.spin_usec", "100", {{"0", "0"}, {"1000", "100"}}},
	    {"net.smc.blackhole_timeout", "60", {{"0", "0"}, {"3600", "60"}}},
	    {"net.smc.tcp_keepalive_time", "60", {{"0", "60"}, {"1", "1"}, {"61", "60"}}},
	    {"net.smc.tcp_keepalive_time", "0", {{"0", "0"}, {"100", "100"}}},
	    {"net.smc.smcr_testlink_time", "60", {{"0", "60"}, {"1", "1"}, {"61", "60"}}},
	    {"net.smc.limit_smc_hs", "0", {{"0", "0"}, {"1", "1"}}},
	    {"net.smc.limit_smc_hs", "1", {{"0", "1"}, {"1", "1"}}},
	    /* Not bounded by the host's value. */
	    {"net.smc.autocorking_size", "100", {{"0", "0"}, {"1000", "1000"}}},
	    {"net.smc.smcr_max_conns_per_lgr", "100", {{"16", "16"}, {"255", "255"}}},
	    {"net.smc.smcr_tos", "104", {{"0", "0"}, {"255", "255"}}},
	};
}

INSTANTIATE_TEST_SUITE_P(, HostBounds, testing::ValuesIn(bounds()), [](const auto &info) {
	std::string name = info.param.name + "_" + info.param.host;

	return name.replace(0, strlen("net.smc."), "");
});

TEST(Namespace, HasNoWordOverTheHost)
{
	Netns netns(Netns::Owner::container);

	EXPECT_EQ(netns.run_as_root("echo 0 >/proc/sys/net/smc/smcd").status, 0);
	EXPECT_EQ(there(netns, "net.smc.smcd"), "0");
	EXPECT_EQ(sysctl("net.smc.smcd"), "1");
	EXPECT_NE(netns.run_as_root("cat /proc/sys/net/smc/smcd_scope").status, 0);
}

/* Root of a user namespace can't place the kprobe, but can use an existing one. */
TEST(Namespace, DoesNotPlaceTheProbe)
{
	const std::string set = "echo 1 | tee /proc/sys/net/smc/tcp2smc";

	wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });
	must_run("lab-smc load");

	Netns netns(Netns::Owner::container);
	Output refused = netns.run_as_root(set);

	EXPECT_NE(refused.status, 0);
	EXPECT_NE(refused.text.find("not permitted"), std::string::npos) << refused.text;
	EXPECT_EQ(there(netns, "net.smc.tcp2smc"), "0");
	{
		SysctlScope on("net.smc.tcp2smc", "1");
	}
	EXPECT_EQ(netns.run_as_root(set).status, 0);
	EXPECT_EQ(there(netns, "net.smc.tcp2smc"), "1");
}

/*
 * Both ends in one network namespace, in two of one user namespace, and in two of different ones.
 */
class Scope : public testing::TestWithParam<int>
{
protected:
	static std::string expected(int least)
	{
		return GetParam() >= least ? "SMC-D" : "TCP";
	}
	static void expect_path(const Netns &netns, int least)
	{
		for (Role role : both_roles) {
			auto [here, there] = netns.connect(role);

			EXPECT_EQ(mode_shown(here), expected(least)) << to_string(role);
			send_flow(here, {.seed = 1, .bytes = 100000});
			recv_flow(there, {.seed = 1, .bytes = 100000});
		}
	}

	SysctlScope scope{"net.smc.smcd_scope", std::to_string(GetParam())};
};

TEST_P(Scope, OneNamespace)
{
	Fd listener = must_listen(Flavor());

	/* The first connection needs messages for its handshake, the others don't. */
	for (int i = 0; i < 2; i++) {
		Fd client = must_connect(Flavor(),
					 address_from("127.0.0.1", local_address(listener).port()));
		Fd server = must_accept(listener);

		EXPECT_EQ(mode_shown(client), expected(1));
		EXPECT_EQ(mode_shown(server), expected(1));
		send_flow(client, {.seed = 1, .bytes = 100000});
		recv_flow(server, {.seed = 1, .bytes = 100000});
	}
}

TEST_P(Scope, OneUserNamespace)
{
	expect_path(Netns(), 2);
}

TEST_P(Scope, TwoUserNamespaces)
{
	expect_path(Netns(Netns::Owner::container), 3);
}

/* An existing connection continues. */
TEST_P(Scope, LaterIsTooLate)
{
	Netns netns(Netns::Owner::container);
	SysctlScope all("net.smc.smcd_scope", "3");
	auto [here, there] = netns.connect(Role::client);
	SysctlScope later("net.smc.smcd_scope", std::to_string(GetParam()));

	EXPECT_EQ(mode_shown(here), "SMC-D");
	send_flow(here, {.seed = 1, .bytes = 100000});
	recv_flow(there, {.seed = 1, .bytes = 100000});
}

INSTANTIATE_TEST_SUITE_P(, Scope, testing::Range(0, 4));
