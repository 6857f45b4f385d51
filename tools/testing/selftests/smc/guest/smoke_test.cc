// SPDX-License-Identifier: GPL-2.0
/* One connection of every kind: if this fails, no other test matters. */
#include <gtest/gtest.h>

#include "agent.h"

using namespace guest;

class Smoke : public testing::TestWithParam<Flavor>
{
};

TEST_P(Smoke, Client)
{
	Agent agent;
	Connection connection = make_connection(agent, GetParam(), Role::client);

	check_data(connection, 100000, GetParam().is_smc());
}

TEST_P(Smoke, Server)
{
	Agent agent;
	Connection connection = make_connection(agent, GetParam(), Role::server);

	check_data(connection, 100000, GetParam().is_smc());
}

INSTANTIATE_TEST_SUITE_P(, Smoke, testing::ValuesIn(all_flavors()),
			 testing::PrintToStringParamName());
