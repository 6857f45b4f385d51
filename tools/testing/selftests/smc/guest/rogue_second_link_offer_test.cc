// SPDX-License-Identifier: GPL-2.0
/*
 * A server whose offer of a second link is a lie, comes at the wrong time, or is taken back.
 */
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "limit.h"
#include "rogue_second_end.h"
#include "rogue_server.h"

using namespace guest;

/* The client has one port, so a link to the rogue's other address is an asymmetric one. */
class RogueOffer : protected HasSecondEnd, public RogueServer
{
protected:
	RogueOffer() : RogueServer(2), before(agent.counters())
	{
	}

	void TearDown() override
	{
		if (HasFailure())
			ADD_FAILURE() << (agent.counters() - before).text();
		if (has_moved)
			end.say(delete_all());
		RogueServer::TearDown();
	}

	static uint8_t type_of(const std::string &message)
	{
		return message.empty() ? 0 : message[0] & 0x0f;
	}

	/* Offers the link; returns the client's answer. */
	std::string offer(
	    uint8_t number, const std::function<void(smc_llc_msg &)> &change = [](auto &) {})
	{
		EXPECT_TRUE(link.say(end.add_link(number, 0, link, change)));

		const std::string answer = link.hear_type(0x20 | SMC_LLC_ADD_LINK);

		if (answer.size() < SMC_LLC_LEN)
			throw std::runtime_error("no answer to ADD LINK");
		return answer;
	}

	static bool is_refused(const std::string &answer)
	{
		return uint8_t(answer[3]) == (SMC_LLC_REPLY | SMC_LLC_ADD_LINK_REJECTED);
	}

	/* Offers the link until the client takes it, which it does once in ten seconds. */
	void have_it_taken(uint8_t number)
	{
		std::string answer;

		wait_until("the client takes the offer", [&] {
			answer = offer(number);
			return !is_refused(answer);
		});
		end.connect(answer);
	}

	void confirm(uint8_t number)
	{
		ASSERT_TRUE(end.say(end.confirm_link(number, 0)));
		ASSERT_FALSE(end.hear_type(0x20 | SMC_LLC_CONFIRM_LINK).empty());
	}

	RemoteSocket &client()
	{
		return clients.front().client;
	}

	void expect_alive()
	{
		ASSERT_EQ(client().send("alive"), 5);
		written += "alive";
		wait_until("bytes come", [&] { return link.element(written.size()) == written; });
		EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
	}

	void expect_violation_by(const smc_llc_msg &msg)
	{
		end.say(msg);
		expect_reset(client());
		EXPECT_EQ((agent.counters() - before)["violation_llc"], 1);
	}

	/*
	 * The client's own DELETE LINK, not its reply to that of the rogue; as soon as it comes, as
	 * hear() and wait_until() look once in ten milliseconds. The test's limit ends it.
	 */
	void hear_deletion()
	{
		std::string message;

		do {
			std::this_thread::sleep_for(std::chrono::microseconds(200));
			message = link.hear(0);
		} while (type_of(message) != SMC_LLC_DELETE_LINK || (message[3] & SMC_LLC_REPLY));
	}

	const Counters before;
	std::string written; /* by the client, on the first link */
	bool has_moved = false;
};

/* The rogue can behave correctly. */
TEST_F(RogueOffer, IsTaken)
{
	have_it_taken(2);
	confirm(2);
	await_two_links(agent);
	expect_alive();
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
