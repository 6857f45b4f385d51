// SPDX-License-Identifier: GPL-2.0
/*
 * Ports are lost and come back in random order, in every way and at both ends, under connections of
 * all kinds. It is always the port with the most connections. One network is always whole, so no
 * connection is lost, and no byte. In another test, each way to lose a port is taken while
 * connections are made.
 *
 *   run_guest.sh -c 1 --lans 3 [-e LOSSES=100] [-e SEED=1] links_random
 */
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <list>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "limit.h"
#include "links_shown.h"
#include "pattern.h"
#include "place.h"
#include "system.h"
#include "traffic.h"
#include "two_links.h"

using namespace guest;

namespace
{

constexpr int talks = 88, urgents = 4, closings = 4; /* and four streams */

/* What one of the streams sends at least after each loss, and again once the port is back. */
constexpr uint64_t bulk_bytes = 1'000'000;

struct Way {
	TwoPorts::Loss loss;
	bool at_both_ends;
};

constexpr Way ways[] = {
    {{"port 0 down", 0, &TwoPorts::take_down, &TwoPorts::take_up}, false},
    {{"port 1 down", 1, &TwoPorts::take_down, &TwoPorts::take_up}, false},
    {{"port 0 down at both ends", 0, &TwoPorts::take_down, &TwoPorts::take_up}, true},
    {{"port 1 down at both ends", 1, &TwoPorts::take_down, &TwoPorts::take_up}, true},
    {{"device 0 removed", 0, &TwoPorts::remove_device, &TwoPorts::add_device}, false},
    {{"device 1 removed", 1, &TwoPorts::remove_device, &TwoPorts::add_device}, false},
    {{"no carrier at port 1", 1, &TwoPorts::pull_cable, &TwoPorts::plug_cable}, false},
    {{"no address at port 1", 1, &TwoPorts::remove_addresses, &TwoPorts::take_up}, false},
    {{"LAN 0 loses RoCE packets", 0, &TwoPorts::lose, &TwoPorts::find}, true},
    {{"LAN 1 loses RoCE packets", 1, &TwoPorts::lose, &TwoPorts::find}, true},
};

/* A connection of which the other end echoes what this end sends, from time to time. */
class Talk
{
public:
	Talk(Connection ends, uint64_t seed)
	    : connection(std::move(ends)), seed(seed), length(seed, 3000),
	      echoing(connection.there.start_echo())
	{
	}
	Talk(const Talk &) = delete;
	~Talk()
	{
		shutdown(connection.here, SHUT_RDWR);
	}
	void exchange()
	{
		const Flow flow = {.seed = seed, .bytes = length(), .position = position};

		send_flow(connection.here, flow);
		recv_flow(connection.here, flow);
		position += flow.bytes;
	}
	void finish()
	{
		char more;

		shutdown(connection.here, SHUT_WR);
		EXPECT_EQ(std::stoull(echoing.join()), position);
		EXPECT_EQ(recv(connection.here, &more, 1, 0), 0);
	}

private:
	Connection connection;
	const uint64_t seed;
	RandomLength length;
	uint64_t position = 0;
	Job echoing;
};

/*
 * Connections of a few bytes each, made one after the other for as long as the object lives. Their
 * ends at the agent's are of a process of its own, which ends with the object.
 */
class Visitors
{
public:
	/* @role: that of this end. */
	explicit Visitors(Role role)
	    : role(role), listener(must_listen(Flavor())), listener_there(agent.listen(Flavor())),
	      port_there(listener_there.port())
	{
		if (role == Role::client)
			listener_there.start_echo_server(1 << 30);
		making = std::thread([this] { make_all(); });
	}
	Visitors(const Visitors &) = delete;
	~Visitors()
	{
		stopping = true;
		making.join();
	}
	/* Waits for the end of one that begins now; throws if any of them failed. */
	void await_next()
	{
		const unsigned long before = made;

		wait_until("connections are made", [&] { return made > before + 1 || failed; });
		if (failed)
			throw std::runtime_error("a new connection failed: " + failure);
	}

private:
	void make_all()
	{
		try {
			for (; !stopping; made++)
				role == Role::client ? visit() : be_visited();
		} catch (const std::exception &error) {
			failure = error.what();
			failed = true;
		}
	}
	void visit()
	{
		Fd fd = must_connect(Flavor(), address_of(agent.node(), AF_INET, port_there));
		const Flow flow = {.seed = made, .bytes = made % 5000 + 1};

		wait_no_longer_than_traffic_does(fd);
		send_flow(fd, flow);
		recv_flow(fd, flow);
	}
	void be_visited()
	{
		Job asking =
		    agent.start({"ask-many", to_string(Flavor()), address_of(0, AF_INET, 0).text(),
				 std::to_string(local_address(listener).port()), "1"});
		Fd fd = must_accept(listener);

		wait_no_longer_than_traffic_does(fd);
		echo(fd);
		asking.join();
	}
	/* Nothing of traffic.h waits for ever on a socket that does not block. */
	static void wait_no_longer_than_traffic_does(int fd)
	{
		if (fcntl(fd, F_SETFL, O_NONBLOCK))
			throw_errno("fcntl");
	}

	Agent agent;
	const Role role;
	Fd listener;
	RemoteSocket listener_there;
	const int port_there;
	std::atomic<unsigned long> made = 0;
	std::atomic<bool> stopping = false, failed = false;
	std::string failure; /* written before @failed is set */
	std::thread making;
};

} // namespace

class LostPorts : public OwnStreams, public testing::WithParamInterface<Role>
{
protected:
	void SetUp() override
	{
		OwnStreams::SetUp();
		if (IsSkipped())
			return;
		has_cables = here.has_cables() && there.has_cables();
		if (!has_cables)
			return;
		for (const TwoPorts &end : {here, there})
			end.add_cable();
	}

	bool is_possible(const Way &way) const
	{
		return has_cables || way.loss.lose != &TwoPorts::pull_cable;
	}

	static void announce(const std::string &what, const Way &way, bool is_here)
	{
		/* Not a SCOPED_TRACE, which an exception or the time limit loses. */
		printf("# %s: %s %s\n", what.c_str(), way.loss.name, is_here ? "here" : "there");
		fflush(stdout);
	}

	void lose(const Way &way, bool is_here) const
	{
		for (const TwoPorts *end : victims(way, is_here))
			(end->*way.loss.lose)(way.loss.port);
	}

	void find(const Way &way, bool is_here) const
	{
		for (const TwoPorts *end : victims(way, is_here))
			(end->*way.loss.find)(way.loss.port);
	}

private:
	std::vector<const TwoPorts *> victims(const Way &way, bool is_here) const
	{
		if (way.at_both_ends)
			return {is_here ? &here : &there, is_here ? &there : &here};
		return {is_here ? &here : &there};
	}

	bool has_cables = false;
};

class RandomLosses : public LostPorts
{
protected:
	void SetUp() override
	{
		LostPorts::SetUp();
		if (IsSkipped())
			return;
		for (const TwoPorts &end : {here, there}) {
			end.set_sysctl(rmem_sysctl(), "16384");
			end.set_sysctl("net.smc.wmem", "16384");
		}
	}

	void TearDown() override
	{
		talking.clear();
		urgent.clear();
		OwnStreams::TearDown();
	}

	/* The even ones talk at each loss, the others only at the end. */
	void talk(bool all)
	{
		bool is_even = true;

		for (Talk &one : talking) {
			if (all || is_even)
				one.exchange();
			is_even = !is_even;
		}
	}

	std::vector<Connection> connections(int n)
	{
		std::vector<Connection> made;

		for (int i = 0; i < n; i++)
			made.push_back(connection(GetParam()));
		return made;
	}

	static void send_last_bytes(std::vector<Connection> &ending)
	{
		for (Connection &one : ending) {
			ASSERT_EQ(send(one.here, "last", 4, MSG_NOSIGNAL), 4);
			one.here.close();
		}
	}

	static void expect_last_bytes(std::vector<Connection> &ending)
	{
		for (Connection &one : ending) {
			EXPECT_EQ(one.there.recv(4, MSG_WAITALL), "last");
			one.there.expect_end();
		}
	}

	/* A way to lose the port with the most connections. */
	const Way &choose(std::mt19937 &random) const
	{
		const ShownGroup group = here.groups()[0];
		const int port = group.connections_by("rxe1") > group.connections_by("rxe0");

		for (;;) {
			const Way &way = ways[random() % std::size(ways)];

			if (way.loss.port == port && is_possible(way))
				return way;
		}
	}

	void lose_and_find(const Way &way, bool is_here)
	{
		std::vector<Connection> ending = connections(closings);
		EchoStream &bulk = streams.front();

		/* It sends all that its window takes when the port is lost and comes back. */
		bulk.rest_between_sends(false);
		lose(way, is_here);
		send_last_bytes(ending);
		for (Connection &one : urgent)
			ASSERT_NO_FATAL_FAILURE(send_urgent_byte(one.here));
		talk(false);
		must_get_links(way.loss.port ? "rxe0" : "rxe1");
		expect_last_bytes(ending);
		for (Connection &one : urgent)
			expect_urgent_byte(one.there);
		bulk.await_progress(bulk_bytes);
		await_progress();
		find(way, is_here);
		must_get_links("rxe0 rxe1");
		bulk.await_progress(bulk_bytes);
		bulk.rest_between_sends(true);
		talk(false);
		await_progress();
	}

	std::list<Talk> talking;
	std::vector<Connection> urgent;
};

INSTANTIATE_TEST_SUITE_P(, RandomLosses, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(RandomLosses, LoseNoByte)
{
	const long losses = from_environment("LOSSES", 3), seed = from_environment("SEED", 1);
	std::mt19937 random(seed);

	set_limit(240 + 60 * losses);
	begin_streams(GetParam());

	for (int i = 0; i < talks; i++)
		talking.emplace_back(connection(GetParam()), 1000 + i);
	urgent = connections(urgents);
	for (long i = 0; i < losses; i++) {
		const Way &way = choose(random);
		const bool is_here = random() % 2;

		announce("seed " + std::to_string(seed) + ", loss " + std::to_string(i), way,
			 is_here);
		lose_and_find(way, is_here);
		if (HasFailure())
			return;
	}
	talk(true);
	for (Talk &one : talking)
		one.finish();
	printf("# %lu bytes of the bulk stream came back\n", streams.front().bytes_echoed());
	finish();
}

class NewConnections : public LostPorts
{
protected:
	/* There may be more than one group. */
	void await_links(const std::string &devices) const
	{
		auto has_links = [&](const TwoPorts &end) {
			std::vector<ShownGroup> groups = end.groups();

			return !groups.empty() &&
			       std::all_of(groups.begin(), groups.end(),
					   [&](const ShownGroup &group) {
						   return group.devices() == devices;
					   });
		};

		wait_until("links by " + devices,
			   [&] { return has_links(here) && has_links(there); });
	}
};

INSTANTIATE_TEST_SUITE_P(, NewConnections, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

/* None of them fails, be it by SMC or by TCP, whose packets find their way all the time. */
TEST_P(NewConnections, AreMadeWhilePortsAreLost)
{
	auto stops_tcp = [](const Way &way) {
		return !way.loss.port && way.loss.lose == &TwoPorts::take_down;
	};
	bool is_here = false;

	set_limit(600);
	begin_streams(GetParam());

	Visitors visitors(GetParam());

	for (const Way &way : ways) {
		if (stops_tcp(way) || !is_possible(way))
			continue;
		is_here = !is_here;
		announce("new connections", way, is_here);
		lose(way, is_here);
		await_links(way.loss.port ? "rxe0" : "rxe1");
		visitors.await_next();
		find(way, is_here);
		await_links("rxe0 rxe1");
		visitors.await_next();
		await_progress();
	}
	finish();
}
