// SPDX-License-Identifier: GPL-2.0
/*
 * A client that lies about a second link, in the answer to ADD LINK and in validation; and one
 * whose other requests come while a second link is made.
 */
#include <cstring>

#include "rogue_second_link.h"

using namespace guest;

TEST_F(RogueSecondLink, IsRefused)
{
	offer.resize(SMC_LLC_LEN);
	offer[1] = 0;
	offer[2] = SMC_LLC_LEN;
	offer[3] = char(SMC_LLC_REPLY | SMC_LLC_ADD_LINK_REJECTED);
	ASSERT_TRUE(link.say(offer));
	expect_alive();
	EXPECT_TRUE(link.hear_type(type_of(SMC_LLC_DELETE_LINK), 1).empty());
	EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
}

TEST_F(RogueSecondLink, GetsNoAnswer)
{
	expect_deleted();
	expect_alive();
}

TEST_F(RogueSecondLink, IsNotConfirmed)
{
	say_answer(answer());
	expect_deleted();
	expect_alive();
}

/* Both links would be lost together. */
TEST_F(RogueSecondLink, LeadsToTheFirstEnd)
{
	smc_llc_msg msg = answer();

	memcpy(msg.add_link.gid, link.own_gid().data(), SMC_GID_LEN);
	msg.add_link.qpn = link.qpn();
	say_answer(msg);
	expect_deleted();
	expect_alive();
}

TEST_F(RogueSecondLink, LeadsOutOfTheSubnet)
{
	smc_llc_msg msg = answer();

	msg.add_link.gid[SMC_GID_LEN - 4] = 11;
	say_answer(msg);
	expect_deleted();
	expect_alive();
}

TEST_F(RogueSecondLink, HasAnotherNumber)
{
	smc_llc_msg msg = answer();

	msg.add_link.link++;
	say_answer(msg);
	expect_deleted();
	expect_alive();
}

/* None of them belongs to an RMB that the server knows. */
TEST_F(RogueSecondLink, HasKeysOfNothing)
{
	smc_llc_msg msg = answer();
	std::string message(SMC_LLC_ADD_LINK_LEN(255), '\x5a');

	msg.add_link.n_rkeys = 255;
	smc_llc_build_add_link(reinterpret_cast<uint8_t *>(message.data()), &msg);
	ASSERT_TRUE(link.say(message));
	expect_deleted();
	expect_alive();
}

/* The offered link, while it is offered; another one; and the only one that works. */
TEST_F(RogueSecondLink, IsDeletedMeanwhile)
{
	for (int deleted : {number(), 77})
		ASSERT_TRUE(link.say(delete_link(deleted)));
	expect_alive();
	ASSERT_TRUE(link.say(delete_link(1)));
	expect_reset(victim);
}

TEST_F(RogueSecondLink, IsOfferedWhenTheGroupEnds)
{
	ASSERT_TRUE(link.say(delete_all()));
	expect_reset(victim);
}

/* Each offer costs the server work of its device, so it makes few, however often it is asked. */
TEST_F(RogueSecondLink, IsAskedForWithoutEnd)
{
	expect_deleted();
	for (int i = 0; i < 200; i++)
		ASSERT_TRUE(link.say(request_add_link()));
	expect_alive();

	/* One each ten seconds, so none on a machine that is quick. */
	int offers = 0;

	while (!link.hear_type(type_of(SMC_LLC_ADD_LINK), 1).empty())
		offers++;
	EXPECT_LE(offers, 3);
}

/* The rogue can behave correctly. Its second answer to CONFIRM LINK is of no use. */
TEST_F(RogueNewLink, IsConfirmed)
{
	take_offer();
	confirm();
	expect_two_links();
	confirm();
	expect_two_links();
}

TEST_F(RogueNewLink, IsActivatingBeforeItIsConfirmed)
{
	expect_activating(agent, number());
	take_offer();
	confirm();
	expect_two_links();
}

TEST_F(RogueNewLink, IsConfirmedForAnotherQueuePair)
{
	smc_llc_msg msg = end.confirm_link(number(), SMC_LLC_REPLY);

	take_offer();
	msg.confirm_link.qpn++;
	end.say(msg);
	expect_reset(victim);
	EXPECT_EQ((agent.counters() - before)["violation_llc"], 1);
}

TEST_F(RogueNewLink, IsDeletedBeforeItIsConfirmed)
{
	take_offer();
	ASSERT_TRUE(link.say(delete_link(number())));
	expect_deleted();
	expect_alive();
}

/* The request comes by the link that it deletes: the rogue does not know the other one yet. */
TEST_F(RogueNewLink, FirstIsDeletedBeforeItIsConfirmed)
{
	take_offer();
	ASSERT_TRUE(link.say(delete_link(1)));
	expect_reset(victim);
}

/* The request comes by the new link, so the rogue has confirmed that, though the answer is late. */
TEST_F(RogueNewLink, TakesOverOnceItIsConfirmed)
{
	take_offer();
	ASSERT_TRUE(end.say(delete_link(1)));
	confirm();
	end.expect_deletion(1);
	expect_moved();
}

/* Each of them could take over from the other. */
TEST_F(RogueNewLink, IsDeletedAlongWithTheFirst)
{
	take_offer();
	confirm();
	expect_two_links();
	ASSERT_TRUE(link.say(delete_link(number())));
	/* The server may have left the new one by now. */
	ASSERT_TRUE(end.say(delete_link(1)) || link.say(delete_link(1)));
	expect_reset(victim);
}

TEST_F(RogueNewLink, IsConfirmedWhenTheGroupEnds)
{
	take_offer();
	ASSERT_TRUE(link.say(delete_all()));
	expect_reset(victim);
}

/* The requests are answered by ADD LINKs, if at all: there is one already. */
TEST_F(RogueNewLink, IsAskedForMeanwhile)
{
	for (int i = 0; i < 2; i++)
		ASSERT_TRUE(link.say(request_add_link()));
	take_offer();
	ASSERT_TRUE(link.say(request_add_link()));
	confirm();
	expect_two_links();
}

TEST_F(RogueNewLink, IsMadeWhileABufferComesAndGoes)
{
	smc_llc_msg coming = llc(SMC_LLC_CONFIRM_RKEY), going = llc(SMC_LLC_DELETE_RKEY);
	auto expect_accepted = [&](smc_llc_type type) {
		const std::string reply = link.hear_type(type_of(type));

		ASSERT_EQ(reply.size(), size_t(SMC_LLC_LEN));
		EXPECT_EQ(uint8_t(reply[3]), SMC_LLC_REPLY);
	};

	coming.confirm_rkey.rt[0] = {.rkey = link.another_rkey(), .addr = link.address()};
	going.delete_rkey.count = 1;
	going.delete_rkey.rkey[0] = coming.confirm_rkey.rt[0].rkey;
	ASSERT_TRUE(link.say(coming));
	expect_accepted(coming.type);
	take_offer();
	/* The server waits for the answer to CONFIRM LINK for one second. */
	ASSERT_TRUE(link.say(going));
	confirm();
	expect_accepted(going.type);
	expect_two_links();
}

/* The rogue sends validation as if it had moved to another link. It has not moved. */
class RogueValidation : public RogueSecondLink
{
protected:
	/* Validation names a message by its distance from the last one. */
	void say_validation(int distance)
	{
		smc_cdc cdc = {};

		cdc.seq = seq + distance;
		cdc.token = link.server().r.alert_token;
		cdc.prod_flags = SMC_PROD_FAILOVER;
		ASSERT_TRUE(link.say(cdc));
	}
};

TEST_F(RogueValidation, NamesMessagesThatHaveCome)
{
	expect_alive();
	for (int distance : {0, -1, -2})
		say_validation(distance);
	expect_alive();
}

/* A message of which the server has not heard, though nothing is on the way any more. */
TEST_F(RogueValidation, NamesMessagesThatNeverCome)
{
	expect_alive();
	say_validation(5);
	expect_reset(victim);
}

TEST_F(RogueValidation, ComesWithoutEnd)
{
	expect_alive();
	for (int i = 0; i < 200; i++)
		say_validation(0);
	expect_alive();
}

/* The bytes are counted from the first that were not reported; these go back behind those. */
TEST_F(RogueValidation, GoesBackInTheStream)
{
	expect_alive();
	expect_alive();
	say_validation(0);
	link.sent -= 7;
	say_truly();
	link.sent += 7;
	expect_alive();
}
