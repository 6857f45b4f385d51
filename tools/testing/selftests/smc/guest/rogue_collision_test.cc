// SPDX-License-Identifier: GPL-2.0
/*
 * LLC flows of both ends that collide on one link: each end sends a request before it has the
 * answer to its own. Neither may wait for the other.
 */
#include <gtest/gtest.h>

#include <memory>

#include "removable_device.h"
#include "rogue_flow.h"
#include "smc_tool.h"

using namespace guest;

/* The parameter is the rogue's role. Each test has both requests in one order and in the other. */
class Collision : public testing::TestWithParam<Role>
{
protected:
	Collision() : groups_before(groups()), group(RogueGroup::make(agent, GetParam()))
	{
		for (uint32_t rkey : {own, other})
			expect_answered(link(), confirm_rkey(link(), rkey));
	}

	/* The group is over. A handshake between the kernels of both guests succeeds. */
	void TearDown() override
	{
		link().say(encode(delete_all()));
		expect_ended();

		Connection connection = make_connection(agent, Flavor(), GetParam());

		check_data(connection, 10000, true);
	}

	int groups()
	{
		return agent.link_groups().groups;
	}
	void expect_ended()
	{
		wait_until("the group has ended", [&] { return groups() <= groups_before; });
	}

	RogueQueuePair &link()
	{
		return group->link();
	}
	void check_first()
	{
		group->first().check(link());
	}

	/* CONFIRM RKEY of the other end, without an answer. */
	std::string await_confirm_rkey()
	{
		group->begin(own);
		return hear_request(link(), SMC_LLC_CONFIRM_RKEY);
	}

	/* DELETE RKEY of the other end, for the RMB of a connection that is over. */
	std::string await_delete_rkey()
	{
		RogueConnection connection = group->connect(own);

		connection.close(link());
		wait_until("the first is left", [&] { return connections_at(agent) == 1; });
		return squeeze_out(agent, link(), SMC_LLC_DELETE_RKEY);
	}

	/* DELETE LINK of the other end for all links, because there is no connection any more. */
	std::string await_delete_all()
	{
		group->first().close(link());
		wait_until("no connection is left", [&] { return !connections_at(agent); });

		std::string message = squeeze_out(agent, link(), SMC_LLC_DELETE_LINK);

		EXPECT_TRUE(message[3] & SMC_LLC_DELETE_ALL);
		EXPECT_EQ(decode_llc(message).delete_link.reason, SMC_LLC_DEL_PROGRAM);
		return message;
	}

	/* The other end knows the RMB. */
	void expect_known(uint32_t rkey)
	{
		group->connect(rkey).check(link());
	}
	void expect_unknown(uint32_t rkey)
	{
		group->begin_and_answer(rkey);
		group->expect_refused();
	}

	Agent agent;
	const int groups_before;
	std::unique_ptr<RogueGroup> group;
	/* Keys of RMBs of the rogue that the other end knows, and of one that it does not know. */
	const uint32_t own = link().another_rkey(), other = link().another_rkey(),
		       unknown = link().another_rkey();
};

INSTANTIATE_TEST_SUITE_P(, Collision, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(Collision, ConfirmRkeyAndConfirmRkey)
{
	const std::string request = await_confirm_rkey();

	expect_answered(link(), confirm_rkey(link(), unknown));
	accept_request(link(), request);
	group->finish().check(link());
	expect_known(unknown);
	check_first();
}

TEST_P(Collision, ConfirmRkeyAndDeleteRkey)
{
	const std::string request = await_confirm_rkey();

	expect_answered(link(), delete_rkey(other));
	accept_request(link(), request);
	group->finish().check(link());
	check_first();
	expect_unknown(other);
}

TEST_P(Collision, DeleteRkeyAndConfirmRkey)
{
	const std::string request = await_delete_rkey();

	expect_answered(link(), confirm_rkey(link(), unknown));
	accept_request(link(), request);
	expect_known(unknown);
	check_first();
}

TEST_P(Collision, DeleteRkeyAndDeleteRkey)
{
	const std::string request = await_delete_rkey();

	expect_answered(link(), delete_rkey(other));
	accept_request(link(), request);
	expect_known(own);
	check_first();
	expect_unknown(other);
}

TEST_P(Collision, ConfirmRkeyAndDeleteAll)
{
	await_confirm_rkey();
	expect_answered(link(), delete_all());
	expect_reset(group->first().socket);
	group->expect_tcp();
}

TEST_P(Collision, DeleteRkeyAndDeleteAll)
{
	await_delete_rkey();
	expect_answered(link(), delete_all());
	expect_reset(group->first().socket);
}

/* The other end still answers, until it has the answer to its own request. */
TEST_P(Collision, DeleteAllAndRequestsAboutKeys)
{
	const std::string request = await_delete_all();

	expect_answered(link(), confirm_rkey(link(), unknown));
	expect_answered(link(), delete_rkey(unknown));
	expect_answered(link(), llc(SMC_LLC_TEST_LINK));
	accept_request(link(), request);
	expect_ended();
}

/* The rogue's request says all that the answer would say, so the other end does not wait for it. */
TEST_P(Collision, DeleteAllAndDeleteAll)
{
	await_delete_all();
	expect_answered(link(), delete_all());
	expect_ended();
}

TEST_P(Collision, ConfirmRkeyAndTestLink)
{
	const std::string request = await_confirm_rkey();

	expect_answered(link(), llc(SMC_LLC_TEST_LINK));
	accept_request(link(), request);
	group->finish().check(link());
}

TEST_P(Collision, DeleteRkeyAndTestLink)
{
	const std::string request = await_delete_rkey();

	expect_answered(link(), llc(SMC_LLC_TEST_LINK));
	accept_request(link(), request);
	expect_known(own);
}

/* The queue pair is gone before the answer. The handshake can still end with TCP. */
TEST_P(Collision, ConfirmRkeyAndLossOfTheLink)
{
	await_confirm_rkey();
	break_link(link(), group->first().there);
	group->expect_tcp();
	expect_reset(group->first().socket);
}

TEST_P(Collision, DeleteRkeyAndLossOfTheLink)
{
	await_delete_rkey();
	break_link(link(), group->first().there);
	expect_reset(group->first().socket);
}

/* The other end tests a link soon after the last message. */
struct TestsLinks {
	Agent agent;
	RemoteSysctlScope testlink_time = {agent, "net.smc.smcr_testlink_time", "1"};
};

class TestCollision : TestsLinks, public Collision
{
};

INSTANTIATE_TEST_SUITE_P(, TestCollision, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(TestCollision, TestLinkAndTestLink)
{
	const std::string request = hear_request(link(), SMC_LLC_TEST_LINK);

	expect_answered(link(), llc(SMC_LLC_TEST_LINK));
	accept_request(link(), request);
	check_first();
}

/* The server's device goes between its ACCEPT and the CONFIRM. */
TEST(FirstContactCollision, LossBetweenAcceptAndConfirm)
{
	Agent agent;
	RemovableDevice device;
	const int groups_before = agent.link_groups().groups;
	RemoteSocket listener = agent.listen(Flavor());
	Fd tcp = propose(address_of(1, AF_INET, listener.port()), good_proposal());

	EXPECT_TRUE(receive_agreement(tcp, SMC_CLC_ACCEPT).first_contact);

	Job removal = device.remove();

	wait_until("the group has ended",
		   [&] { return agent.link_groups().groups <= groups_before; });
	send_bytes(tcp, encode(good_agreement(SMC_CLC_CONFIRM)));
	EXPECT_EQ(diagnosis_of(receive_message(tcp)), SMC_DIAG_NO_ACTIVE_LINK);

	RemoteSocket accepted = listener.accept();

	check_tcp(tcp, accepted);
	removal.join();
}
