// SPDX-License-Identifier: GPL-2.0
/* Link groups of a peer with many connections. */
#include <algorithm>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "agent.h"
#include "limit.h"
#include "link_groups.h"
#include "place.h"

using namespace guest;

/* A server spreads many connections of a peer over link groups, up to one for each processor. */
TEST(Spread, OverGroups)
{
	const int most = std::min<int>(std::thread::hardware_concurrency(), 8);
	Agent agent;

	if (peer_within())
		GTEST_SKIP() << "groups of SMC-D have no processors";
	if (most == 1)
		GTEST_SKIP() << "one processor has one group";
	set_limit(300);
	for (Role role : both_roles) {
		std::vector<Connection> connections;

		wait_until("no connection is left", [] { return !link_groups().connections; });

		Counters before = Counters::now();

		/* Some groups may have been idle before. */
		for (int i = 0; i < 20 * most; i++)
			connections.push_back(make_connection(agent, Flavor(), role));
		EXPECT_GE(link_groups().used, most);
		EXPECT_LE((Counters::now() - before)["rdma_groups_created"], most);
		for (Connection &connection : connections)
			check_data(connection, 10000, true);
	}
}
