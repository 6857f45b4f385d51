// SPDX-License-Identifier: GPL-2.0
/*
 * Link groups of an end with two ports and an end with one:
 *
 *   run_guest.sh -c 1 --lans 3 [--smc 0=tree,1=tree] links_asymmetric
 *
 * This guest has two ports, and the agent's has one.
 */
#include <gtest/gtest.h>

#include <optional>

#include "links_shown.h"
#include "one_port.h"
#include "two_links.h"

using namespace guest;

class AsymmetricLink : public Streams, public testing::WithParamInterface<Role>
{
protected:
	AsymmetricLink() : Streams(Subnets::one)
	{
	}

	void SetUp() override
	{
		Streams::SetUp();
		one_port.emplace(peer);
	}

	void TearDown() override
	{
		Streams::TearDown();
		one_port.reset();
	}

	void must_get_types(GroupType type_here, GroupType type_there) const
	{
		EXPECT_EQ(here.groups()[0].type, type_here);
		EXPECT_EQ(there.groups()[0].type, type_there);
	}

	std::optional<OnePort> one_port;
};

INSTANTIATE_TEST_SUITE_P(, AsymmetricLink, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(AsymmetricLink, LosesNoByteAndComesBack)
{
	begin_streams(GetParam(), "rxe0 rxe1", "rxe0 rxe0");
	must_get_types(GroupType::asymmetric_peer, GroupType::asymmetric_local);
	for (int port : {0, 1, 0}) {
		lose_link(GetParam(), end_of(GetParam(), Role::server), [&] {
			here.take_down(port);
			must_get_links(port ? "rxe0" : "rxe1", "rxe0");
		});
		await_progress();
		here.take_up(port);
		must_get_links("rxe0 rxe1", "rxe0 rxe0");
		await_progress();
	}
	finish();
}

TEST_P(AsymmetricLink, IsReplaced)
{
	begin_streams(GetParam(), "rxe0 rxe1", "rxe0 rxe0");
	one_port->add_second();
	must_get_links("rxe0 rxe1", "rxe0 rxe1");
	must_get_types(GroupType::symmetric, GroupType::symmetric);
	await_progress();
	finish();
}
