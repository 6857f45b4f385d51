// SPDX-License-Identifier: GPL-2.0
/*
 * Ports are lost and come back in random order, in every way and at both ends, under connections of
 * all kinds. It is always the port with the most connections. One network is always whole, so no
 * connection is lost, and no byte.
 *
 *   run_guest.sh -c 1 --lans 3 [-e LOSSES=100] [-e SEED=1] links_random
 */
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <random>
#include <string>
#include <vector>

#include "limit.h"
#include "links_shown.h"
#include "pattern.h"
#include "place.h"
#include "traffic.h"
#include "two_links.h"

using namespace guest;

namespace
{

constexpr int talks = 88, urgents = 4, closings = 4; /* and four streams */

unsigned long from_environment(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? std::stoul(value) : otherwise;
}

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

} // namespace

class RandomLosses : public OwnStreams, public testing::WithParamInterface<Role>
{
protected:
	void SetUp() override
	{
		OwnStreams::SetUp();
		if (IsSkipped())
			return;
		for (const TwoPorts &end : {here, there}) {
			end.set_sysctl(rmem_sysctl(), "16384");
			end.set_sysctl("net.smc.wmem", "16384");
			/* TCP's packets go by LAN 0, which may be down for longer than a minute. */
			end.set_sysctl("net.smc.tcp_keepalive_time", "0");
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

			if (way.loss.port == port)
				return way;
		}
	}

	void lose_and_find(const Way &way, bool is_here)
	{
		std::vector<const TwoPorts *> ends = {is_here ? &here : &there};
		std::vector<Connection> ending = connections(closings);

		if (way.at_both_ends)
			ends.push_back(is_here ? &there : &here);
		for (const TwoPorts *end : ends)
			(end->*way.loss.lose)(way.loss.port);
		send_last_bytes(ending);
		for (Connection &one : urgent)
			ASSERT_NO_FATAL_FAILURE(send_urgent_byte(one.here));
		talk(false);
		must_get_links(way.loss.port ? "rxe0" : "rxe1");
		expect_last_bytes(ending);
		for (Connection &one : urgent)
			expect_urgent_byte(one.there);
		await_progress();
		for (const TwoPorts *end : ends)
			(end->*way.loss.find)(way.loss.port);
		must_get_links("rxe0 rxe1");
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
	const unsigned long losses = from_environment("LOSSES", 3);
	const unsigned long seed = from_environment("SEED", 1);
	std::mt19937 random(seed);

	set_limit(240 + 60 * losses);
	begin_streams(GetParam());

	for (int i = 0; i < talks; i++)
		talking.emplace_back(connection(GetParam()), 1000 + i);
	urgent = connections(urgents);
	for (unsigned long i = 0; i < losses; i++) {
		const Way &way = choose(random);
		const bool is_here = random() % 2;

		/* Not a SCOPED_TRACE, which an exception or the time limit loses. */
		printf("# seed %lu, loss %lu: %s %s\n", seed, i, way.loss.name,
		       is_here ? "here" : "there");
		fflush(stdout);
		lose_and_find(way, is_here);
		if (HasFailure())
			return;
	}
	talk(true);
	for (Talk &one : talking)
		one.finish();
	finish();
}
