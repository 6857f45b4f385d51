/* SPDX-License-Identifier: GPL-2.0 */
/* Fixture of a rogue that is a server, and offers a second link. */
#ifndef GUEST_ROGUE_SECOND_LINK_OFFER_H
#define GUEST_ROGUE_SECOND_LINK_OFFER_H

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "rogue_second_end.h"
#include "rogue_server.h"

namespace guest
{

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
		return offer(number, end, change);
	}
	/* One that leads to @by. */
	std::string offer(
	    uint8_t number, const RogueAddedEnd &by,
	    const std::function<void(smc_llc_msg &)> &change = [](auto &) {})
	{
		EXPECT_TRUE(link.say(by.add_link(number, 0, link, change)));

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
		have_it_taken(number, end);
	}
	void have_it_taken(uint8_t number, RogueAddedEnd &by)
	{
		std::string answer;

		wait_until("the client takes the offer", [&] {
			answer = offer(number, by);
			return !is_refused(answer);
		});
		by.connect(answer);
	}

	void confirm(uint8_t number)
	{
		confirm(number, end);
	}
	void confirm(uint8_t number, RogueAddedEnd &by)
	{
		ASSERT_TRUE(by.say(by.confirm_link(number, 0)));
		ASSERT_FALSE(by.hear_type(0x20 | SMC_LLC_CONFIRM_LINK).empty());
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

} // namespace guest

#endif
