// SPDX-License-Identifier: GPL-2.0
/*
 * A peer of version 1 that lies about a second link, as client and as server. The ends tell each
 * other the keys that their RMBs have there by ADD LINK CONTINUATION.
 */
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include "roce_v1.h"
#include "rogue_link.h"
#include "rogue_second_end.h"
#include "rogue_server.h"

using namespace guest;

[[maybe_unused]] testing::Environment *const roce_v1 =
    testing::AddGlobalTestEnvironment(new RoceV1);

static smc_llc_msg of_version_1(smc_llc_msg msg)
{
	msg.v2 = false;
	if (msg.type == SMC_LLC_ADD_LINK)
		msg.add_link.large = false;
	return msg;
}

/* ADD LINK: the rogue's end of the new link. A MAC address tells one port from another. */
static smc_llc_msg add_link_of(const RogueQueuePair &link, const RogueAddedEnd &end, uint8_t number,
			       uint8_t flags)
{
	smc_llc_msg msg = of_version_1(decode_llc(end.add_link(number, flags, link)));

	msg.add_link.mac[SMC_MAC_LEN - 1]++;
	return msg;
}

/* ADD LINK CONTINUATION: the key that the rogue's RMB has on the new link. */
static smc_llc_msg keys_of(const RogueQueuePair &link, const RogueAddedEnd &end, uint8_t number,
			   uint8_t flags)
{
	smc_llc_msg msg = {};

	msg.type = SMC_LLC_ADD_LINK_CONT;
	msg.flags = flags;
	msg.add_link_cont.link = number;
	msg.add_link_cont.count = 1;
	msg.add_link_cont.rt[0] = {
	    .rkey = link.rkey(), .rkey_new = end.rkey(), .addr = end.address()};
	return msg;
}

/* The server has one port, and so offers an asymmetric link. */
class RogueVersion1 : protected HasSecondEnd, public testing::Test
{
protected:
	RogueVersion1()
	    : groups_before(groups()), max_links(agent, "net.smc.smcr_max_links_foreign", "2"),
	      listener(agent.listen(Flavor())), accept(listener.start_accept()),
	      link(address_of(1, AF_INET, listener.port()), RogueLink::Confirm::unanswered, 2,
		   SMC_VERSION_1)
	{
		show_other_port();
		link.confirm_link(2, SMC_VERSION_1);
		victim.emplace(agent, std::stoi(accept.join()));
		offer = link.hear_type(SMC_LLC_ADD_LINK);
		if (offer.empty())
			throw std::runtime_error("no ADD LINK");
	}

	void TearDown() override
	{
		if (HasFailure())
			ADD_FAILURE() << (agent.counters() - before).text();
		if (has_moved)
			end.say(of_version_1(delete_all()));
		else
			link.say(of_version_1(delete_all()));
		wait_until("the group has ended", [&] { return groups() <= groups_before; });
	}

	int groups()
	{
		return agent.link_groups().groups;
	}

	/* Asks for a link, by an ADD LINK that names no queue pair. */
	void ask()
	{
		smc_llc_msg msg = of_version_1(decode_llc(end.add_link(0, 0, link)));

		msg.add_link.qpn = 0;
		ASSERT_TRUE(link.say(msg));
	}

	/* The server, which has one port, has to know of another one when it looks for a link. */
	void show_other_port()
	{
		smc_llc_msg test = {};

		ask();
		test.type = SMC_LLC_TEST_LINK;
		ASSERT_TRUE(link.say(test));
		ASSERT_FALSE(link.hear_type(SMC_LLC_TEST_LINK).empty());
	}

	uint8_t number() const
	{
		return decode_llc(offer).add_link.link;
	}

	/* Takes the offer. The server then tells its keys, and waits for those of the rogue. */
	void take_offer()
	{
		end.connect(offer);
		ASSERT_TRUE(link.say(add_link_of(link, end, number(), SMC_LLC_REPLY)));
	}

	smc_llc_msg hear_keys()
	{
		return decode_llc(link.hear_type(SMC_LLC_ADD_LINK_CONT));
	}

	smc_llc_msg keys() const
	{
		return keys_of(link, end, number(), SMC_LLC_REPLY);
	}

	void confirm()
	{
		ASSERT_FALSE(end.hear_type(SMC_LLC_CONFIRM_LINK).empty());
		ASSERT_TRUE(end.say(of_version_1(end.confirm_link(number(), SMC_LLC_REPLY))));
	}

	/* The server gives the link up, and tells so. */
	void expect_deleted()
	{
		const std::string message = link.hear_type(SMC_LLC_DELETE_LINK);

		ASSERT_EQ(message.size(), size_t(SMC_LLC_LEN));
		EXPECT_EQ(decode_llc(message).delete_link.link, number());
	}

	void expect_alive()
	{
		ASSERT_EQ(link.write(link.sent, "alive"), IBV_WC_SUCCESS);
		link.sent += 5;
		ASSERT_TRUE(link.say(link.true_cdc()));
		EXPECT_EQ(victim->recv(5, MSG_WAITALL), "alive");
	}

	/* The server sends by the new link, with the key that the rogue has told. */
	void expect_moved()
	{
		ASSERT_TRUE(end.say(of_version_1(delete_link(1))));
		has_moved = true;
		ASSERT_EQ(victim->send("moved"), 5);
		end.expect_element("moved");
	}

	Agent agent;
	const Counters before = agent.counters();
	const int groups_before;
	RemoteSysctlScope max_links;
	RemoteSocket listener;
	Job accept;
	RogueLink link;
	std::optional<RemoteSocket> victim;
	std::string offer;
	bool has_moved = false;
};

/* The rogue can behave correctly. */
TEST_F(RogueVersion1, GetsItsSecondLink)
{
	take_offer();

	const smc_llc_msg told = hear_keys();

	EXPECT_EQ(told.add_link_cont.link, number());
	EXPECT_EQ(told.add_link_cont.count, 1);
	EXPECT_EQ(told.add_link_cont.rt[0].rkey, link.server().r.rkey);
	ASSERT_TRUE(link.say(keys()));
	confirm();
	await_two_links(agent);
	expect_alive();
	expect_moved();
	EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
}

TEST_F(RogueVersion1, TellsNoKeys)
{
	take_offer();
	expect_deleted();
	expect_alive();
}

TEST_F(RogueVersion1, TellsKeysOfAnotherLink)
{
	smc_llc_msg msg = keys();

	take_offer();
	hear_keys();
	msg.add_link_cont.link++;
	ASSERT_TRUE(link.say(msg));
	expect_deleted();
	expect_alive();
}

/* The rogue always has more to tell, which would hold the server's buffer lock for ever. */
TEST_F(RogueVersion1, TellsKeysWithoutEnd)
{
	smc_llc_msg msg = keys();
	int answers = 0;

	take_offer();
	msg.add_link_cont.count = 255;
	for (;;) {
		const std::string message = link.hear();

		ASSERT_FALSE(message.empty());
		if (decode_llc(message).type == SMC_LLC_DELETE_LINK)
			break;
		ASSERT_EQ(decode_llc(message).type, SMC_LLC_ADD_LINK_CONT);
		ASSERT_TRUE(link.say(msg));
		answers++;
	}
	EXPECT_GT(answers, 1);
	expect_alive();
}

/* The server knows no RMB by these keys. Without the key of the RMB in use nothing can move. */
TEST_F(RogueVersion1, TellsKeysOfNothing)
{
	smc_llc_msg msg = keys();

	take_offer();
	hear_keys();
	for (smc_llc_rtoken &token : msg.add_link_cont.rt)
		token.rkey = 0x5a5a5a5a;
	msg.add_link_cont.count = 2;
	ASSERT_TRUE(link.say(msg));
	confirm();
	await_two_links(agent);
	expect_alive();
	ASSERT_TRUE(end.say(of_version_1(delete_link(1))));
	has_moved = true;
	expect_reset(*victim);
}

/* The rogue tells keys before the server asks, while it waits for another message, and later. */
TEST_F(RogueVersion1, TellsKeysUnasked)
{
	smc_llc_msg request = keys();

	request.flags = 0;
	ASSERT_TRUE(link.say(keys()));
	ASSERT_TRUE(link.say(request));
	take_offer();
	hear_keys();
	ASSERT_TRUE(link.say(request));
	ASSERT_TRUE(link.say(keys()));
	ASSERT_TRUE(link.say(keys()));
	confirm();
	await_two_links(agent);
	ASSERT_TRUE(link.say(keys()));
	ASSERT_TRUE(end.say(keys()));
	expect_alive();
}

TEST_F(RogueVersion1, DeletesTheLinkBeforeItTellsKeys)
{
	take_offer();
	hear_keys();
	ASSERT_TRUE(link.say(of_version_1(delete_link(number()))));
	expect_deleted();
	expect_alive();
}

TEST_F(RogueVersion1, DeletesTheGroupBeforeItTellsKeys)
{
	take_offer();
	hear_keys();
	ASSERT_TRUE(link.say(of_version_1(delete_all())));
	expect_reset(*victim);
}

/* An ADD LINK of a client asks for a link. The server makes few offers, however often it does. */
TEST_F(RogueVersion1, AsksWithoutEnd)
{
	int offers = 0;

	expect_deleted();
	for (int i = 0; i < 200; i++)
		ask();
	expect_alive();
	/* One each ten seconds, so none on a machine that is quick. */
	while (!link.hear_type(SMC_LLC_ADD_LINK, 1).empty())
		offers++;
	EXPECT_LE(offers, 3);
}

/* A client whose only other port is down refuses. It asks again, by the same GID, when it is up. */
TEST_F(RogueVersion1, RefusesAndAsksAgain)
{
	offer[3] = char(SMC_LLC_REPLY | SMC_LLC_ADD_LINK_REJECTED);
	ASSERT_TRUE(link.say(offer));
	ask();
	/* The next offer comes ten seconds after the first. */
	offer = link.hear_type(SMC_LLC_ADD_LINK, 60);
	ASSERT_FALSE(offer.empty());
	take_offer();
	hear_keys();
	ASSERT_TRUE(link.say(keys()));
	confirm();
	await_two_links(agent);
	expect_alive();
}

/* The client has one port, so a link to the rogue's other address is an asymmetric one. */
class RogueOfferVersion1 : protected HasSecondEnd, public RogueServer
{
protected:
	RogueOfferVersion1() : RogueServer(2, SMC_VERSION_1), before(agent.counters())
	{
	}

	void TearDown() override
	{
		if (HasFailure())
			ADD_FAILURE() << (agent.counters() - before).text();
		if (has_moved)
			end.say(of_version_1(delete_all()));
		RogueServer::TearDown();
	}

	void offer()
	{
		ASSERT_TRUE(link.say(encode(add_link_of(link, end, number, 0))));
	}

	/* The client takes the offer, and then waits for the rogue's keys. */
	void have_it_taken()
	{
		std::string answer;

		offer();
		answer = link.hear_type(SMC_LLC_ADD_LINK);
		ASSERT_FALSE(answer.empty());
		end.connect(answer);
	}

	smc_llc_msg keys() const
	{
		return keys_of(link, end, number, 0);
	}

	void expect_keys()
	{
		const smc_llc_msg msg = decode_llc(link.hear_type(SMC_LLC_ADD_LINK_CONT));

		EXPECT_EQ(msg.flags, SMC_LLC_REPLY);
		EXPECT_EQ(msg.add_link_cont.link, number);
		EXPECT_EQ(msg.add_link_cont.count, 1);
		EXPECT_EQ(msg.add_link_cont.rt[0].rkey, there.rkey);
	}

	void confirm()
	{
		ASSERT_TRUE(end.say(of_version_1(end.confirm_link(number, 0))));
		ASSERT_FALSE(end.hear_type(SMC_LLC_CONFIRM_LINK).empty());
	}

	/* The client gives the link up, and tells so. */
	void expect_deleted()
	{
		const std::string message = link.hear_type(SMC_LLC_DELETE_LINK);

		ASSERT_EQ(message.size(), size_t(SMC_LLC_LEN));
		EXPECT_EQ(decode_llc(message).delete_link.link, number);
	}

	RemoteSocket &client()
	{
		return clients.front().client;
	}

	void expect_alive()
	{
		ASSERT_EQ(client().send("alive"), 5);
		wait_until("bytes come", [&] { return link.element(5) == "alive"; });
		EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
	}

	static constexpr uint8_t number = 2;
	const Counters before;
	bool has_moved = false;
};

/* The rogue can behave correctly. */
TEST_F(RogueOfferVersion1, IsTaken)
{
	have_it_taken();
	ASSERT_TRUE(link.say(encode(keys())));
	expect_keys();
	confirm();
	await_two_links(agent);
	ASSERT_TRUE(end.say(of_version_1(delete_link(1))));
	has_moved = true;
	ASSERT_EQ(client().send("moved"), 5);
	end.expect_element("moved");
	EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
}

TEST_F(RogueOfferVersion1, TellsNoKeys)
{
	have_it_taken();
	expect_deleted();
	expect_alive();
}

TEST_F(RogueOfferVersion1, TellsKeysOfAnotherLink)
{
	smc_llc_msg msg = keys();

	have_it_taken();
	msg.add_link_cont.link++;
	ASSERT_TRUE(link.say(encode(msg)));
	expect_deleted();
	expect_alive();
}

/* The rogue always has more to tell, which would hold the client's buffer lock for ever. */
TEST_F(RogueOfferVersion1, TellsKeysWithoutEnd)
{
	smc_llc_msg msg = keys();
	int answers = 0;

	have_it_taken();
	msg.add_link_cont.count = 255;
	for (;;) {
		ASSERT_TRUE(link.say(encode(msg)));

		const std::string message = link.hear();

		ASSERT_FALSE(message.empty());
		if (decode_llc(message).type == SMC_LLC_DELETE_LINK)
			break;
		ASSERT_EQ(decode_llc(message).type, SMC_LLC_ADD_LINK_CONT);
		answers++;
	}
	EXPECT_GT(answers, 1);
	expect_alive();
}

/* The rogue tells keys before its offer, again when nobody awaits them, and as replies. */
TEST_F(RogueOfferVersion1, TellsKeysUnasked)
{
	smc_llc_msg reply = keys();

	reply.flags = SMC_LLC_REPLY;
	ASSERT_TRUE(link.say(encode(keys())));
	ASSERT_TRUE(link.say(encode(reply)));
	have_it_taken();
	ASSERT_TRUE(link.say(encode(reply)));
	ASSERT_TRUE(link.say(encode(keys())));
	expect_keys();
	ASSERT_TRUE(link.say(encode(keys())));
	confirm();
	await_two_links(agent);
	ASSERT_TRUE(end.say(keys()));
	expect_alive();
}

TEST_F(RogueOfferVersion1, ComesAgainBeforeTheKeys)
{
	have_it_taken();
	offer();
	ASSERT_TRUE(link.say(encode(keys())));
	expect_keys();
	confirm();
	await_two_links(agent);
	expect_alive();
}

TEST_F(RogueOfferVersion1, IsTakenBackBeforeTheKeys)
{
	have_it_taken();
	ASSERT_TRUE(link.say(encode(of_version_1(delete_link(number)))));
	expect_deleted();
	expect_alive();
}

TEST_F(RogueOfferVersion1, IsFollowedByTheEndOfTheGroup)
{
	have_it_taken();
	end_link();
	expect_reset(client());
}
