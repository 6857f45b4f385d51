// SPDX-License-Identifier: GPL-2.0
/*
 * A server whose offer of a second link is a lie, comes at the wrong time, or is taken back.
 */
#include <cstring>
#include <thread>

#include "limit.h"
#include "rogue_second_link_offer.h"

using namespace guest;

/* The rogue can behave correctly. */
TEST_F(RogueOffer, IsTaken)
{
	have_it_taken(2);
	confirm(2);
	await_two_links(agent);
	expect_alive();
}

TEST_F(RogueOffer, IsActivatingBeforeItIsConfirmed)
{
	have_it_taken(2);
	expect_activating(agent, 2);
	confirm(2);
	await_two_links(agent);
}

TEST_F(RogueOffer, NamesALinkInUse)
{
	EXPECT_TRUE(is_refused(offer(1)));
	expect_alive();
}

TEST_F(RogueOffer, LeadsToTheFirstEnd)
{
	EXPECT_TRUE(is_refused(offer(2, [&](smc_llc_msg &msg) {
		memcpy(msg.add_link.gid, RogueLink::own_gid().data(), SMC_GID_LEN);
		msg.add_link.qpn = link.qpn();
	})));
	expect_alive();
}

TEST_F(RogueOffer, LeadsOutOfTheSubnet)
{
	EXPECT_TRUE(
	    is_refused(offer(2, [](smc_llc_msg &msg) { msg.add_link.gid[SMC_GID_LEN - 4] = 11; })));
	expect_alive();
}

/* Before the client has answered the first offer, or while it waits for CONFIRM LINK. */
TEST_F(RogueOffer, ComesTwice)
{
	std::string message;

	ASSERT_TRUE(link.say(end.add_link(2, 0, link)));
	ASSERT_TRUE(link.say(end.add_link(3, 0, link)));
	end.connect(link.hear_type(0x20 | SMC_LLC_ADD_LINK));
	confirm(2);
	await_two_links(agent);
	/* All that the client has said before its answer to TEST LINK. */
	ASSERT_TRUE(link.say(encode(llc(SMC_LLC_TEST_LINK))));
	do {
		message = link.hear();
		EXPECT_NE(type_of(message), SMC_LLC_ADD_LINK);
	} while (!message.empty() && uint8_t(message[0]) != (0x20 | SMC_LLC_TEST_LINK));
	EXPECT_FALSE(message.empty());
	expect_alive();
}

/*
 * The client looks at no other offer for ten seconds. Then it asks for one, though it has one port.
 */
TEST_F(RogueOffer, ComesTooEarly)
{
	EXPECT_TRUE(
	    is_refused(offer(2, [](smc_llc_msg &msg) { msg.add_link.gid[SMC_GID_LEN - 4] = 11; })));
	EXPECT_TRUE(is_refused(offer(2)));
	EXPECT_FALSE(link.hear_type(0x20 | SMC_LLC_REQUEST_ADD_LINK, 20).empty());
	expect_alive();
}

/* Lengths of an in-tree peer are little-endian, but it also repeats bytes of the client. */
TEST_F(RogueOffer, IsAnsweredInThePeersByteOrder)
{
	const std::string big = encode(llc(SMC_LLC_TEST_LINK));
	std::string little = big, answer;

	std::swap(little[1], little[2]);
	for (const std::string &message : {little, big}) {
		ASSERT_TRUE(link.say(message));
		ASSERT_FALSE(link.hear_type(0x20 | SMC_LLC_TEST_LINK).empty());
	}
	answer = offer(2);
	EXPECT_EQ(size_t(uint8_t(answer[1])), answer.size());
	end.connect(answer);
	confirm(2);
	expect_alive();
}

/* Before or after the client has answered it. */
TEST_F(RogueOffer, IsTakenBack)
{
	ASSERT_TRUE(link.say(end.add_link(2, 0, link)));
	ASSERT_TRUE(link.say(encode(delete_link(2))));
	EXPECT_FALSE(link.hear_type(0x20 | SMC_LLC_DELETE_LINK).empty());
	expect_alive();
}

/*
 * The client has given the link up, and tells so. Then it leaves the link, which takes a moment, in
 * which the late CONFIRM LINK still arrives. If that moment is missed, there is another link.
 */
TEST_F(RogueOffer, IsConfirmedTooLate)
{
	uint8_t number = 1;
	auto confirm_too_late = [&] {
		have_it_taken(++number);

		/* It returns too late. */
		std::thread deleting([&] { link.say(encode(delete_link(number))); });

		hear_deletion();

		const bool arrives = end.say(end.confirm_link(number, 0));

		deleting.join();
		return arrives;
	};

	set_limit(240);
	wait_until("CONFIRM LINK arrives", confirm_too_late, 180);
	expect_alive();
}

TEST_F(RogueOffer, IsConfirmedByAnotherNumber)
{
	have_it_taken(2);
	expect_violation_by(end.confirm_link(3, 0));
}

TEST_F(RogueOffer, IsConfirmedForAnotherQueuePair)
{
	smc_llc_msg msg = end.confirm_link(2, 0);

	msg.confirm_link.qpn++;
	have_it_taken(2);
	expect_violation_by(msg);
}

TEST_F(RogueOffer, IsTakenWhenTheGroupEnds)
{
	have_it_taken(2);
	end_link();
	expect_reset(client());
}

/* DELETE LINK of the first link comes by the new one, and before CONFIRM LINK. */
TEST_F(RogueOffer, TakesOverOnceItIsConfirmed)
{
	have_it_taken(2);
	ASSERT_TRUE(end.say(delete_link(1)));
	ASSERT_TRUE(end.say(end.confirm_link(2, 0)));
	end.expect_deletion(1);
	has_moved = true;
	ASSERT_EQ(client().send("moved"), 5);
	end.expect_element("moved");
}
