// SPDX-License-Identifier: GPL-2.0
/*
 * Link groups with two links, and what becomes of their connections when one of them is lost:
 *
 *   run_guest.sh -c 1 --lans 3 [--smc 0=tree,1=tree] links
 *
 * Either end may have the in-tree module. A guest has one processor, as a server may have a group
 * for each.
 */
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/smc_diag.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <stdexcept>
#include <tuple>

#include "echo_stream.h"
#include "kernel_log.h"
#include "kernel_trace.h"
#include "limit.h"
#include "links_shown.h"
#include "smc_tool.h"
#include "system.h"
#include "two_links.h"

using namespace guest;

class SecondLink : public TwoLinks, public testing::WithParamInterface<Role>
{
};

INSTANTIATE_TEST_SUITE_P(, SecondLink, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(SecondLink, IsMade)
{
	Connection one = connection(GetParam());

	must_get_links("rxe0 rxe1");
	for (const TwoPorts &end : {here, there})
		EXPECT_EQ(end.groups()[0].type, GroupType::symmetric);
}

TEST_P(SecondLink, HasConnections)
{
	constexpr int n = 16;
	const bool is_tree = end_of(GetParam(), Role::server).is_tree();
	std::vector<Connection> connections;
	std::list<EchoStream> streams;
	Connection first = connection(GetParam());

	must_get_links("rxe0 rxe1");
	/* Without bytes: a host that is busy with them may take a link for lost. */
	for (int i = 0; i < n; i++)
		connections.push_back(connection(GetParam()));
	for (const TwoPorts &end : {here, there}) {
		const ShownGroup group = end.groups()[0];
		const int by[] = {group.connections_by("rxe0"), group.connections_by("rxe1")};

		EXPECT_EQ(by[0] + by[1], n + 1);
		for (int one : by)
			EXPECT_GT(one, 0) << links_shown();
		/* Each one used the link with fewer of them. An in-tree server need not. */
		EXPECT_LE(abs(by[0] - by[1]), is_tree ? n : 1) << links_shown();
	}
	for (int i = 0; i < n; i++)
		streams.emplace_back(std::move(connections[i]), i);
	for (EchoStream &stream : streams)
		stream.await_progress();
	for (EchoStream &stream : streams)
		stream.finish();
}

/* Connections by VLAN devices, in a version of SMC-R. */
class InVlan : public TwoLinks, public testing::WithParamInterface<int>
{
protected:
	static constexpr int id = 5;

	void SetUp() override
	{
		TwoLinks::SetUp();
		if (!here.has_module("8021q") || !there.has_module("8021q"))
			GTEST_SKIP() << "a kernel without VLANs";
		if (GetParam() == 1)
			use_version_1();
		for (const TwoPorts &end : {here, there})
			for (int port : {0, 1})
				end.add_vlan(port, id);
	}

	Connection make_connection_in_vlan()
	{
		return make_connection_in("10.86.0.", peer, Role::client);
	}

	/* The number of connections in each VLAN that has a group, which is one. */
	static std::map<int, int> connections_of(const TwoPorts &end)
	{
		std::map<int, int> all;

		for (const ShownGroup &group : end.groups()) {
			EXPECT_FALSE(all.contains(group.vlan)) << "two groups of a VLAN";
			all[group.vlan] =
			    group.connections_by("rxe0") + group.connections_by("rxe1");
		}
		return all;
	}
};

INSTANTIATE_TEST_SUITE_P(, InVlan, testing::Values(1, 2),
			 [](const auto &info) { return "Version" + std::to_string(info.param); });

TEST_P(InVlan, AreBothLinks)
{
	EchoStream stream(make_connection_in_vlan(), 1);

	must_get_links("rxe0 rxe1");
	for (const TwoPorts &end : {here, there}) {
		const ShownGroup group = end.groups()[0];

		EXPECT_EQ(group.version, GetParam());
		EXPECT_EQ(group.vlan, id);
		for (const ShownLink &link : group.links)
			EXPECT_THAT(link.gid, testing::HasSubstr("ffff:0a56:")) << link.device;
	}
	/*
	 * When eth0 is back, the VLAN device's first GID of RoCE v1 is a link-local one, by which
	 * these devices get no link.
	 */
	if (GetParam() == 1) {
		stream.finish();
		return;
	}
	there.take_down(0);
	must_get_links("rxe1");
	stream.await_progress();
	there.take_up(0);
	must_get_links("rxe0 rxe1");
	stream.finish();
}

/* A connection outside the VLAN has a group of its own, though by the same devices. */
TEST_P(InVlan, IsNoConnectionWithoutOne)
{
	Connection inside = make_connection_in_vlan();

	must_get_links("rxe0 rxe1");

	Connection outside = connection(Role::client);
	Connection another_inside = make_connection_in_vlan();

	for (const TwoPorts &end : {here, there})
		EXPECT_THAT(connections_of(end),
			    testing::ElementsAre(testing::Pair(0, 1), testing::Pair(id, 2)))
		    << links_shown();
}

/* Without PNET IDs, a network is a subnet: that of LAN 1 has the addresses of both. */
TEST_F(TwoLinks, NeedNoPnetIds)
{
	if (here.is_tree() || there.is_tree())
		GTEST_SKIP() << "the in-tree module needs them";
	for (const TwoPorts &end : {here, there})
		end.forget_networks();

	Connection one = connection(Role::client);

	must_get_links("rxe0 rxe1");
}

/* A way to put port 1 of an end out of the network of port 0, and back into it. */
struct Separation {
	const char *name;
	const char *module; /* of the kernel's */
	const char *subnet; /* of the server's address */
	void (*part)(const TwoPorts &here, const TwoPorts &there);
	void (*join)(const TwoPorts &there);
};

constexpr Separation separations[] = {
    {"Pnet", nullptr, "10.83.0.",
     [](const TwoPorts &, const TwoPorts &there) { there.part_networks(); },
     [](const TwoPorts &there) {
	     there.join_networks();
     }},
    {"Vrf", "vrf", "10.83.0.", [](const TwoPorts &, const TwoPorts &there) { there.enter_vrf(); },
     [](const TwoPorts &there) {
	     there.leave_vrf();
     }},
    {"Vlan", "8021q", "10.86.0.",
     [](const TwoPorts &here, const TwoPorts &there) {
	     for (int port : {0, 1}) {
		     here.add_vlan(port, 5);
		     there.add_vlan(port, 5 + port);
	     }
     },
     [](const TwoPorts &there) {
	     there.remove_vlan(1);
	     there.add_vlan(1, 5);
     }},
};

class PortApart : public OwnStreams,
		  public testing::WithParamInterface<std::tuple<Role, Separation>>
{
};

INSTANTIATE_TEST_SUITE_P(
    , PortApart, testing::Combine(testing::ValuesIn(both_roles), testing::ValuesIn(separations)),
    [](const auto &info) {
	    return to_string(std::get<Role>(info.param)) + std::get<Separation>(info.param).name;
    });

TEST_P(PortApart, HasNoLink)
{
	const auto &[role, apart] = GetParam();

	for (const TwoPorts &end : {here, there})
		if (apart.module && !end.has_module(apart.module))
			GTEST_SKIP() << "a kernel without " << apart.module;
	apart.part(here, there);

	/* By the last of them, an attempt would have been made. */
	std::list<Connection> connections;

	for (int i = 0; i < 8; i++)
		connections.push_back(make_connection_in(apart.subnet, peer, role));
	ASSERT_NO_FATAL_FAILURE(expect_one_link());
	apart.join(there);
	must_get_links("rxe0 rxe1");
	EXPECT_EQ(Counters::now()["rdma_links_added"], 1);
	EXPECT_EQ(peer.counters()["rdma_links_added"], 1);
}

using Loss = TwoPorts::Loss;

constexpr Loss losses[] = {
    {"PortDown", 1, &TwoPorts::take_down, &TwoPorts::take_up},
    {"FirstPortDown", 0, &TwoPorts::take_down, &TwoPorts::take_up},
    {"DeviceRemoved", 1, &TwoPorts::remove_device, &TwoPorts::add_device},
    {"FirstDeviceRemoved", 0, &TwoPorts::remove_device, &TwoPorts::add_device},
    {"AddressGone", 1, &TwoPorts::remove_addresses, &TwoPorts::take_up},
    /* It is TCP's, too, but as with FirstPortDown not for long enough to end a connection. */
    {"FirstAddressGone", 0, &TwoPorts::remove_addresses, &TwoPorts::take_up},
};

struct LossAt {
	Loss loss;
	Role here;   /* the role of this guest */
	Role victim; /* the end that loses the port */
	int version = 2;
};

std::vector<LossAt> losses_at_each_end()
{
	std::vector<LossAt> all;

	for (const Loss &loss : losses)
		for (Role role : both_roles)
			for (Role victim : both_roles)
				all.push_back({loss, role, victim});
	return all;
}

/* In version 1, the devices of a test can't be removed; one way to lose a port is enough. */
std::vector<LossAt> losses_in_version_1()
{
	std::vector<LossAt> all = losses_at_each_end();

	std::erase_if(all, [](const LossAt &at) { return at.loss.lose != &TwoPorts::take_down; });
	for (LossAt &at : all)
		at.version = 1;
	return all;
}

/* Streams whose links are lost and made again. */
class LosingStreams : public Streams
{
protected:
	const TwoPorts &victim_of(const LossAt &at) const
	{
		return end_of(at.here, at.victim);
	}

	void lose(const LossAt &at)
	{
		lose_link(at.victim, end_of(at.here, Role::server), [&] {
			(victim_of(at).*at.loss.lose)(at.loss.port);
			must_get_links(at.loss.port ? "rxe0" : "rxe1");
		});
	}

	void find(const LossAt &at)
	{
		const TwoPorts &server = end_of(at.here, Role::server);

		if (server.is_tree())
			await_vain_attempt(server);
		(victim_of(at).*at.loss.find)(at.loss.port);
		must_get_links("rxe0 rxe1");
	}

private:
	/*
	 * An in-tree server may try another link at once, which takes 5 s if the client agrees, and
	 * a port that comes up meanwhile is ignored.
	 */
	static void await_vain_attempt(const TwoPorts &server)
	{
		auto tries = [&] {
			return server.groups().at(0).links.size() > 1;
		};

		try {
			wait_until("the server tries another link", tries, 5);
		} catch (const std::runtime_error &) {
			return;
		}
		wait_until("the server tries no other link", [&] { return !tries(); });
	}
};

class LostLink : public LosingStreams, public testing::WithParamInterface<LossAt>
{
protected:
	void SetUp() override
	{
		Streams::SetUp();
		if (GetParam().version == 1)
			use_version_1();
		if (GetParam().loss.lose == &TwoPorts::remove_addresses && victim().is_tree())
			GTEST_SKIP() << "how the in-tree module loses a link so is not known";
	}

	const TwoPorts &victim() const
	{
		return victim_of(GetParam());
	}

	/* Of the lost link, at both ends. */
	std::string device() const
	{
		return GetParam().loss.port ? "rxe1" : "rxe0";
	}

	/* A regular expression for the reason in this guest's log. */
	std::string why_here() const
	{
		const TwoPorts::Loss &loss = GetParam().loss;

		/* A slow peer tells of its loss after this end has waited for it. */
		if (&victim() == &there)
			return "^DELETE LINK of the peer, reason 0x10000$|^no message completes$";
		if (loss.lose == &TwoPorts::remove_device)
			return "^its device is removed$";
		/* soft-RoCE may fail to send before the kernel tells of the port or the address. */
		if (loss.lose == &TwoPorts::take_down)
			return "^its port is down$|^(send|receive): ";
		return "^its address is gone$|^(send|receive): ";
	}

	/* Both ends move the connections, and only then count them and the link. */
	void expect_counted_loss() const
	{
		for (const TwoPorts &end : {here, there}) {
			if (end.is_tree())
				continue;
			wait_until("the loss is counted",
				   [&] { return end.counters()["rdma_links_lost"] >= 1; });
			EXPECT_GE(end.counters()["rdma_conns_moved"], 1);
		}
	}

	/*
	 * This guest's log says why the link was lost, and how many connections use which link now.
	 * All of them were counted and, if the kernel traces events, traced.
	 */
	void expect_told_loss(KernelLog &log, const std::optional<KernelTrace> &trace) const
	{
		const std::regex lost(device() + ": link (\\d+) with \\S+ lost, "
						 "(\\d+) connections use link (\\d+): (.+)");
		std::string text;
		std::smatch told;

		wait_until("the log tells of the loss", [&] {
			text += log.read();
			return std::regex_search(text, told, lost);
		});
		EXPECT_THAT(told[4].str(), testing::ContainsRegex(why_here()));

		const int moved = std::stoi(told[2]);

		EXPECT_GE(moved, 1);
		EXPECT_EQ(here.counters()["rdma_conns_moved"], moved);
		EXPECT_THAT(
		    must_run(smc("-j stats")),
		    testing::AllOf(testing::HasSubstr("\"conns-moved\": " + told[2].str() + ","),
				   testing::HasSubstr("\"lost\": 1,")));
		if (!trace)
			return;
		EXPECT_EQ(trace->lines("from=" + told[1].str() + " to=" + told[3].str()).size(),
			  size_t(moved));
	}

	/* An in-tree end that has lost a device sends wrong bytes in about one run of five. */
	bool is_fault_of_tree(const WrongByte &wrong) const
	{
		const TwoPorts &sender = wrong.was_wrong_there ? here : there;

		return GetParam().loss.lose == &TwoPorts::remove_device && &victim() == &sender &&
		       sender.is_tree();
	}
};

std::string name_of(const testing::TestParamInfo<LossAt> &info)
{
	const LossAt &at = info.param;

	return std::string(at.loss.name) + "At" + to_string(at.victim) +
	       (at.here == at.victim ? "Here" : "There");
}

INSTANTIATE_TEST_SUITE_P(, LostLink, testing::ValuesIn(losses_at_each_end()), name_of);
INSTANTIATE_TEST_SUITE_P(Version1, LostLink, testing::ValuesIn(losses_in_version_1()), name_of);

TEST_P(LostLink, LosesNoByteAndComesBack)
{
	KernelLog log;
	std::optional<KernelTrace> trace;

	if (!here.is_tree() && KernelTrace::possible())
		trace.emplace("smc/smcr_conn_moved");
	begin_streams(GetParam().here);
	for (const TwoPorts &end : {here, there})
		EXPECT_EQ(end.groups()[0].version, GetParam().version);
	try {
		lose(GetParam());
		await_progress();
		expect_counted_loss();
		if (!here.is_tree())
			expect_told_loss(log, trace);
		find(GetParam());
		await_progress();
		finish();
	} catch (const WrongByte &wrong) {
		if (!is_fault_of_tree(wrong))
			throw;
		GTEST_SKIP() << "a fault of the in-tree module: " << wrong.what();
	}
}

/* LOSSES times, a port that SEED says goes down at one end. An in-tree peer survives most. */
class RandomPorts : public LosingStreams, public testing::WithParamInterface<Role>
{
protected:
	/*
	 * Return: false if an in-tree server adds no link, as it did after 27 losses once. The next
	 * loss would end the group.
	 */
	bool finds(const LossAt &at)
	{
		try {
			find(at);
		} catch (const std::runtime_error &) {
			if (!end_of(at.here, Role::server).is_tree())
				throw;
			return false;
		}
		return true;
	}
};

INSTANTIATE_TEST_SUITE_P(, RandomPorts, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(RandomPorts, LoseNoByte)
{
	const long n = from_environment("LOSSES", 3), seed = from_environment("SEED", 1);
	std::mt19937 random(seed);

	set_limit(240 + 60 * n);
	begin_streams(GetParam());
	for (long i = 0; i < n; i++) {
		const LossAt at = {losses[random() % 2], GetParam(), both_roles[random() % 2]};

		printf("# seed %ld, loss %ld: %s at the %s\n", seed, i, at.loss.name,
		       to_string(at.victim).c_str());
		lose(at);
		await_progress();
		if (!finds(at)) {
			finish();
			GTEST_SKIP() << "the in-tree server adds no link after loss " << i;
		}
		await_progress();
	}
	finish();
}

/*
 * The group has many RMBs when its second link is made, and the first one is lost then: each end
 * must know all keys of the other on the second link.
 */
class ManyBuffers : public LostLink
{
};

std::vector<LossAt> first_port_lost()
{
	std::vector<LossAt> all;

	for (int version : {1, 2})
		for (Role role : both_roles)
			all.push_back({losses[1], role, Role::server, version});
	return all;
}

INSTANTIATE_TEST_SUITE_P(, ManyBuffers, testing::ValuesIn(first_port_lost()), [](const auto &info) {
	return std::string("Version") + std::to_string(info.param.version) +
	       to_string(info.param.here);
});

TEST_P(ManyBuffers, HaveKeysOnTheSecondLink)
{
	int seed = 0;

	victim().take_down(1);
	for (int size : {8000, 30000, 60000, 120000, 240000})
		streams.emplace_back(connection(GetParam().here, size), ++seed);
	must_get_links("rxe0");
	victim().take_up(1);
	must_get_links("rxe0 rxe1");
	await_progress();
	lose(GetParam());
	await_progress();
	find(GetParam());
	finish();
}

/* Streams that a loss ends. */
class Endings : public OwnStreams
{
protected:
	/* Of links that are made from now on. */
	void test_silent_links_soon()
	{
		for (const TwoPorts &end : {here, there})
			end.set_sysctl("net.smc.smcr_testlink_time", "1");
	}

	/*
	 * ECONNRESET if the other end is the first to give up, as it resets TCP's connection, or if
	 * this end notices a message that it could not send before it notices why. ETIMEDOUT if
	 * this end is slow, and gives up before.
	 */
	void expect_endings_here(int error = ETIMEDOUT)
	{
		for (EchoStream &stream : streams)
			EXPECT_THAT(stream.await_ending(),
				    testing::AnyOf(error, ECONNRESET, ETIMEDOUT));
	}

	/* The other end hears nothing more. */
	void expect_endings_there()
	{
		for (EchoStream &stream : streams)
			EXPECT_THAT(stream.await_ending_there(),
				    testing::AnyOf(testing::HasSubstr(strerror(ETIMEDOUT)),
						   testing::HasSubstr(strerror(ECONNRESET))));
	}
};

class Losses : public Endings, public testing::WithParamInterface<Role>
{
protected:
	void take_down_and_up(const TwoPorts &end, int port)
	{
		end.take_down(port);
		must_get_links(port ? "rxe0" : "rxe1");
		await_progress();
		end.take_up(port);
		must_get_links("rxe0 rxe1");
	}
};

INSTANTIATE_TEST_SUITE_P(, Losses, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(Losses, OneAfterTheOther)
{
	begin_streams(GetParam());
	take_down_and_up(here, 1);
	take_down_and_up(there, 0);
	take_down_and_up(there, 1);
	finish();
}

TEST_P(Losses, AtBothEnds)
{
	begin_streams(GetParam());
	here.take_down(1);
	there.take_down(1);
	must_get_links("rxe0");
	await_progress();
	there.take_up(1);
	here.take_up(1);
	must_get_links("rxe0 rxe1");
	finish();
}

TEST_P(Losses, WithoutAnEvent)
{
	begin_streams(GetParam());
	here.lose(1);
	there.lose(1);
	must_get_links("rxe0");
	await_progress();
	finish();
}

/*
 * Until the port is up again: soft-RoCE may hold packets. With bytes under way, the queue pair may
 * fail before, and then the link is removed at once.
 */
TEST_P(Losses, LeaveAnIdleLinkInactive)
{
	KernelLog log;
	Connection first = connection(GetParam());

	must_get_links("rxe0 rxe1");

	Connection second = connection(GetParam());

	here.take_down(1);
	must_get_links("rxe0");

	const ShownGroup group = here.groups().at(0);
	const auto link = std::find_if(group.links.begin(), group.links.end(),
				       [&](const ShownLink &one) { return one.device == "rxe1"; });

	ASSERT_NE(link, group.links.end()) << links_shown();
	EXPECT_EQ(link->state, LinkState::inactive);
	EXPECT_GE(link->age, 0);
	EXPECT_LT(link->age, 60);
	wait_until("the log tells why", [&] {
		return !kernel_lines(log.read(), "rxe1: link .* lost, 1 connections use link 1: "
						 "its port is down$")
			    .empty();
	});
	EXPECT_EQ(group.lost_link, link->number);
	EXPECT_EQ(group.lost_reason, "its port is down");
	EXPECT_GE(group.lost_age, 0);
	EXPECT_LE(group.lost_age, link->age + 1);
	here.take_up(1);
	must_get_links("rxe0 rxe1");
}

/* TCP's packets are lost with a link, or alone. */
class LossOfTcp : public OwnStreams, public testing::WithParamInterface<Role>
{
protected:
	void SetUp() override
	{
		OwnStreams::SetUp();
		if (IsSkipped())
			return;
		for (const TwoPorts &end : {here, there}) {
			end.set_sysctl("net.smc.tcp_keepalive_time", "1");
			/* Probes count only once the loss of a link would have been found. */
			end.set_sysctl("net.smc.smcr_testlink_time", "2");
		}
		begin_streams(GetParam());
	}

	void lose_tcp() const
	{
		for (const TwoPorts &end : {here, there})
			end.lose_tcp(0);
	}

	/* Waits for so many of the other end's probes that nine of each stream are lost. */
	void await_lost_probes()
	{
		const int64_t enough = here.packets_lost() + 16 * int64_t(streams.size());

		wait_until("many probes are lost", [&] {
			await_progress();
			return here.packets_lost() >= enough;
		});
	}

	void expect_end()
	{
		for (EchoStream &stream : streams)
			EXPECT_THAT(stream.await_ending(), testing::AnyOf(ETIMEDOUT, ECONNRESET));
	}
};

INSTANTIATE_TEST_SUITE_P(, LossOfTcp, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

/* Nobody answers TCP's probes then, but the other link carries the bytes. */
TEST_P(LossOfTcp, WithItsLanEndsNothing)
{
	lose_tcp();
	for (const TwoPorts &end : {here, there})
		end.lose(0);
	must_get_links("rxe1");
	await_lost_probes();
	for (const TwoPorts &end : {here, there})
		end.lose_nothing();
	must_get_links("rxe0 rxe1");
	await_progress();
	lose_tcp();
	expect_end();
}

/* A packet filter drops TCP's packets only. */
TEST_P(LossOfTcp, AloneEndsStreams)
{
	lose_tcp();
	expect_end();
}

/* A link that came back has no connections, so new ones use it. */
TEST_P(Losses, AreBalancedByNewConnections)
{
	begin_streams(GetParam());

	const int n = int(streams.size());
	auto expect_connections = [&](int by_first, int by_second) {
		for (const TwoPorts &end : {here, there}) {
			EXPECT_EQ(end.groups()[0].connections_by("rxe0"), by_first);
			EXPECT_EQ(end.groups()[0].connections_by("rxe1"), by_second);
		}
	};

	take_down_and_up(here, 1);
	expect_connections(n, 0);
	for (int i = 0; i < n; i++)
		streams.emplace_back(connection(GetParam()), n + i + 1);
	expect_connections(n, n);
	finish();
}

/* The lost link had not delivered them, as its packets were dropped. */
TEST_P(Losses, HaveBytesWrittenAgain)
{
	Connection first = connection(GetParam());

	must_get_links("rxe0 rxe1");

	Connection second = connection(GetParam());
	const std::string bytes(1000, 'a');
	const int64_t before = here.counters()["rdma_write_bytes"];

	EXPECT_EQ(here.groups()[0].connections_by("rxe1"), 1);
	EXPECT_EQ(here.counters()["rdma_repeated_bytes"], 0);
	there.lose(1);
	ASSERT_EQ(send(second.here, bytes.data(), bytes.size(), MSG_NOSIGNAL), 1000);
	wait_until("the bytes are under way",
		   [&] { return here.counters()["rdma_write_bytes"] == before + 1000; });
	here.take_down(1);
	EXPECT_EQ(second.there.recv(1000, MSG_WAITALL), bytes);
	wait_until("they are counted", [&] { return here.counters()["rdma_repeated_bytes"] > 0; });
	EXPECT_EQ(here.counters()["rdma_repeated_bytes"], 1000);
	EXPECT_EQ(here.counters()["rdma_repeated_writes"], 1);
	EXPECT_EQ(there.counters()["rdma_repeated_bytes"], 0);
	EXPECT_THAT(must_run(smc("-j stats")), testing::HasSubstr("\"repeated-bytes\": 1000,"));
	there.lose_nothing();
	here.take_up(1);
	must_get_links("rxe0 rxe1");
}

TEST_P(Losses, WhileStreamsEnd)
{
	begin_streams(GetParam());
	here.lose(1);
	there.lose(1);
	finish();
	must_get_links("rxe0");
}

TEST_P(Losses, OfBothLinks)
{
	begin_streams(GetParam());
	here.remove_device(0);
	here.remove_device(1);
	for (EchoStream &stream : streams)
		EXPECT_EQ(stream.await_ending(), ENETDOWN);
	wait_until("the groups end",
		   [&] { return here.groups().empty() && there.groups().empty(); });
}

/*
 * The ends notice it by themselves, one before the other, which hears of it by TCP, whose packets
 * are not lost.
 */
TEST_P(Losses, OfBothLansWithoutAnEvent)
{
	test_silent_links_soon();
	begin_streams(GetParam());
	here.lose(0);
	here.lose(1);
	expect_endings_here();
	expect_endings_there();
}

/*
 * Of two idle links, one of which gets busy then: neither is given up for the other, which is as
 * silent. After nine seconds, each end tests both links once in two seconds, six times.
 */
TEST_P(Losses, OfBothLansForTenSeconds)
{
	/* Messages: the byte, one TEST LINK to see whether the other link works, and the tests. */
	constexpr int busy = 1, probes = 2, tests = 2 * 2;

	for (const TwoPorts &end : {here, there})
		end.set_sysctl("net.smc.smcr_testlink_time", "9");

	Connection first = connection(GetParam());

	must_get_links("rxe0 rxe1");

	Connection second = connection(GetParam());

	EXPECT_EQ(here.groups()[0].connections_by("rxe1"), 1);
	for (const TwoPorts &end : {here, there})
		for (int port : {0, 1})
			end.lose(port);

	const int64_t before = here.counters()["rdma_sends"];

	ASSERT_EQ(send(second.here, "a", 1, MSG_NOSIGNAL), 1);
	wait_until("two tests of each link stay unanswered",
		   [&] { return here.counters()["rdma_sends"] >= before + busy + probes + tests; });
	for (const TwoPorts &end : {here, there}) {
		EXPECT_EQ(end.groups().at(0).devices(), "rxe0 rxe1");
		EXPECT_EQ(end.counters()["rdma_links_lost"], 0);
	}
	for (const TwoPorts &end : {here, there})
		end.lose_nothing();
	EXPECT_EQ(second.there.recv(1), "a");
	for (Connection *one : {&first, &second}) {
		ASSERT_EQ(one->there.send("b"), 1);

		char byte = 0;

		EXPECT_EQ(recv(one->here, &byte, 1, 0), 1);
	}
	/* The link that is the first to work may have taken over from the other one. */
	must_get_links("rxe0 rxe1");
	for (const TwoPorts &end : {here, there})
		EXPECT_EQ(end.counters()["rdma_groups_lost"], 0);
}

/*
 * The other end has to notice it by itself, as TCP's packets don't arrive either. soft-RoCE may not
 * let a group end before its network device is up.
 */
TEST_P(Losses, OfBothPorts)
{
	test_silent_links_soon();
	begin_streams(GetParam());
	for (int port : {0, 1})
		here.take_down(port);
	expect_endings_there();
	for (int port : {0, 1})
		here.take_up(port);
	expect_endings_here(ENETDOWN);
}

TEST_P(Losses, OfTheOtherLinkWithoutAnEvent)
{
	begin_streams(GetParam());
	here.remove_device(1);
	must_get_links("rxe0");
	await_progress();
	there.lose(0);
	expect_endings_here();
	expect_endings_there();
}

TEST_P(Losses, WhileThePeerIsKilled)
{
	Agent killed;

	begin_streams(GetParam());
	for (int i = 5; i <= 8; i++)
		streams.emplace_back(make_connection(killed, Flavor(), GetParam()), i);
	await_progress();
	here.lose(1);
	there.lose(1);
	killed.kill();
	must_get_links("rxe0");
	for (int i = 5; i <= 8; i++) {
		/* As with TCP, it depends on whether the killed program had bytes to read. */
		EXPECT_THAT(streams.back().await_ending(), testing::AnyOf(0, EPIPE, ECONNRESET));
		streams.pop_back();
	}
	await_progress();
	finish();
}

TEST_P(Losses, KeepUrgentBytes)
{
	Connection first = connection(GetParam());

	must_get_links("rxe0 rxe1");

	Connection second = connection(GetParam());
	Connection *const ends[] = {&first, &second};

	EXPECT_EQ(here.groups()[0].connections_by("rxe1"), 1);
	here.lose(1);
	there.lose(1);
	for (Connection *one : ends)
		ASSERT_NO_FATAL_FAILURE(send_urgent_byte(one->here));
	must_get_links("rxe0");
	for (Connection *one : ends)
		expect_urgent_byte(one->there);
}

/*
 * The queue pair says nothing of an answer that is lost, and no TEST LINK is sent after a time of
 * silence.
 */
TEST_P(Losses, OfAnAnswerWithoutAnEvent)
{
	for (const TwoPorts &end : {here, there})
		end.set_sysctl("net.smc.smcr_testlink_time", "0");

	Connection first = connection(GetParam());

	must_get_links("rxe0 rxe1");

	Connection second = connection(GetParam());
	char question;

	EXPECT_EQ(here.groups()[0].connections_by("rxe1"), 1);
	EXPECT_EQ(second.there.send("?"), 1);
	EXPECT_EQ(recv(second.here, &question, 1, 0), 1);
	here.lose(1);
	there.lose(1);
	EXPECT_EQ(send(second.here, "!", 1, MSG_NOSIGNAL), 1);
	EXPECT_EQ(second.there.recv(1), "!");
	must_get_links("rxe0");
}

/* A link is lost while connections are about to move to it, as the other one is lost, too. */
struct Second {
	Loss loss;
	int error; /* at the end that loses its ports */
};

constexpr Second seconds[] = {
    {{"PortDown", 0, &TwoPorts::take_down, &TwoPorts::take_up}, ENETDOWN},
    {{"DeviceRemoved", 0, &TwoPorts::remove_device, &TwoPorts::add_device}, ENETDOWN},
    {{"Silence", 0, &TwoPorts::lose, &TwoPorts::find}, ETIMEDOUT},
};

class SecondLoss : public Endings, public testing::WithParamInterface<std::tuple<Role, Second>>
{
};

INSTANTIATE_TEST_SUITE_P(
    , SecondLoss, testing::Combine(testing::ValuesIn(both_roles), testing::ValuesIn(seconds)),
    [](const auto &info) {
	    return to_string(std::get<Role>(info.param)) + std::get<Second>(info.param).loss.name;
    });

TEST_P(SecondLoss, EndsConnections)
{
	const auto &[role, second] = GetParam();

	test_silent_links_soon();
	begin_streams(role);
	/* What moves does not arrive, so no connection gets further than its first messages. */
	for (const TwoPorts &end : {there, here})
		end.lose(0);
	here.remove_device(1);
	(here.*second.loss.lose)(0);
	expect_endings_there();
	(here.*second.loss.find)(0);
	expect_endings_here(second.error);
}

class PulledCable : public Streams, public testing::WithParamInterface<Role>
{
};

INSTANTIATE_TEST_SUITE_P(, PulledCable, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(PulledCable, LosesNoByteAndComesBack)
{
	if (!here.has_cables())
		GTEST_SKIP() << "a kernel without veth or bridge";
	here.add_cable();
	begin_streams(GetParam());
	lose_link(GetParam(), end_of(GetParam(), Role::server), [&] {
		here.pull_cable(1);
		must_get_links("rxe0");
	});
	await_progress();
	here.plug_cable(1);
	must_get_links("rxe0 rxe1");
	await_progress();
	finish();
}

TEST_P(SecondLink, IsNotMadeBeyondTheLimit)
{
	here.set_sysctl("net.smc.smcr_max_links_per_lgr", "1");

	Connection one = connection(GetParam());

	/* A port that comes up is an occasion for a second link. */
	there.take_down(1);
	there.take_up(1);

	Connection other = connection(GetParam());

	expect_one_link();
}

TEST_P(SecondLink, IsMadeByANewDevice)
{
	there.remove_device(1);

	Connection one = connection(GetParam());

	must_get_links("rxe0");
	there.add_device(1);
	must_get_links("rxe0 rxe1");
}

/*
 * The attempt of one group to add a link times out. Another group with the peer puts off its own by
 * twenty seconds, so the first one, which tries again after ten, gets its second link before.
 */
TEST_F(TwoLinks, OneGroupLearnsFromAnother)
{
	if (here.is_tree() || there.is_tree())
		GTEST_SKIP() << "the in-tree module learns nothing";

	KernelLog log;
	auto groups_with_two_links = [&] {
		std::vector<ShownGroup> groups = here.groups();

		std::erase_if(
		    groups, [](const ShownGroup &group) { return group.devices() != "rxe0 rxe1"; });
		return groups;
	};

	here.lose(1);
	there.lose(1);

	/* While the first one waits for an answer, the second one needs another buffer. */
	Connection first[] = {connection(Role::server), connection(Role::server)};

	wait_until("an attempt has timed out",
		   [&] { return !kernel_lines(log.read(), "not added: .* is silent").empty(); });
	here.lose_nothing();
	there.lose_nothing();

	Connection second = connection(Role::client);

	wait_until("two links", [&] { return !groups_with_two_links().empty(); });

	std::vector<ShownGroup> groups = groups_with_two_links();

	ASSERT_EQ(groups.size(), 1u) << links_shown();
	EXPECT_EQ(groups[0].connections_by("rxe0") + groups[0].connections_by("rxe1"), 2);
}
