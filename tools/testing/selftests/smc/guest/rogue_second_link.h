/* SPDX-License-Identifier: GPL-2.0 */
/* Fixtures of a rogue that is a client, whose server offers a second link. */
#ifndef GUEST_ROGUE_SECOND_LINK_H
#define GUEST_ROGUE_SECOND_LINK_H

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "rogue_link.h"
#include "rogue_second_end.h"

namespace guest
{

/*
 * The rogue agrees to two links and names a second port, so the server, which has one port, offers
 * an asymmetric link.
 */
class RogueSecondLink : public testing::Test
{
protected:
	RogueSecondLink()
	    : groups_before(groups()), max_links(agent, "net.smc.smcr_max_links_foreign", "2"),
	      listener(agent.listen(Flavor())), accept(listener.start_accept()),
	      to(address_of(1, AF_INET, listener.port())),
	      link(to, RogueLink::Confirm::answered, 2), victim(agent, std::stoi(accept.join())),
	      offer(link.hear_type(type_of(SMC_LLC_ADD_LINK)))
	{
		if (offer.size() < SMC_LLC_ADD_LINK_LEN(0))
			throw std::runtime_error("no ADD LINK");
	}

	/* Ends the group: one whose attempt has timed out puts off the offer of the next one. */
	void TearDown() override
	{
		if (HasFailure())
			ADD_FAILURE() << (agent.counters() - before).text();
		say_last(encode(delete_all()));
		wait_until("the group has ended", [&] { return groups() <= groups_before; });
	}

	/* By a link that works. */
	virtual void say_last(const std::string &message)
	{
		link.say(message);
	}

	int groups()
	{
		return agent.link_groups().groups;
	}

	static uint8_t type_of(smc_llc_type type)
	{
		return 0x20 | type;
	}

	/* The offer as its answer, with an end of the rogue's own: its other port. */
	smc_llc_msg answer() const
	{
		smc_llc_msg msg = decode_llc(offer);

		msg.flags = SMC_LLC_REPLY;
		memcpy(msg.add_link.gid, RogueLink::other_gid().data(), SMC_GID_LEN);
		memcpy(msg.add_link.mac, "\2\0\0\0\0\1", SMC_MAC_LEN);
		msg.add_link.qpn = 99;
		msg.add_link.n_rkeys = 0;
		return msg;
	}

	void say_answer(const smc_llc_msg &msg)
	{
		std::string message(SMC_LLC_ADD_LINK_LEN(msg.add_link.n_rkeys), '\0');

		smc_llc_build_add_link(reinterpret_cast<uint8_t *>(message.data()), &msg);
		ASSERT_TRUE(link.say(message));
	}

	/* The server gives the link up, and tells so. */
	void expect_deleted()
	{
		std::string message = link.hear_type(type_of(SMC_LLC_DELETE_LINK));

		ASSERT_EQ(message.size(), size_t(SMC_LLC_LEN));
		EXPECT_EQ(uint8_t(message[3]), 0);
		EXPECT_EQ(uint8_t(message[4]), number());
	}

	int number() const
	{
		return answer().add_link.link;
	}

	/* With the GIDs of both ports of the rogue. */
	static std::string request_add_link()
	{
		std::string message(SMC_LLC_REQUEST_ADD_LINK_LEN(2), '\0');
		uint8_t gids[2][SMC_GID_LEN];

		memcpy(gids[0], RogueLink::own_gid().data(), SMC_GID_LEN);
		memcpy(gids[1], RogueLink::other_gid().data(), SMC_GID_LEN);
		smc_llc_build_request_add_link(reinterpret_cast<uint8_t *>(message.data()), gids, 2,
					       true);
		return message;
	}

	void say_truly()
	{
		smc_cdc cdc = link.true_cdc();

		seq = cdc.seq;
		ASSERT_TRUE(link.say(cdc));
	}

	void expect_alive()
	{
		ASSERT_EQ(link.write(link.sent, "alive"), IBV_WC_SUCCESS);
		link.sent += 5;
		say_truly();
		EXPECT_EQ(victim.recv(5, MSG_WAITALL), "alive");
	}

	Agent agent;
	const Counters before = agent.counters();
	const int groups_before;
	RemoteSysctlScope max_links;
	RemoteSocket listener;
	Job accept;
	Address to;
	RogueLink link;
	RemoteSocket victim;
	std::string offer;
	uint16_t seq = 0; /* of the last CDC message */
};

/* The rogue has the port that it names, so the new link works. */
class RogueNewLink : protected HasSecondEnd, public RogueSecondLink
{
protected:
	/* Takes the offer, and hears CONFIRM LINK: the server waits for the answer. */
	void take_offer()
	{
		end.connect(offer);
		ASSERT_TRUE(link.say(end.add_link(number(), SMC_LLC_REPLY, link)));
		ASSERT_FALSE(end.hear_type(type_of(SMC_LLC_CONFIRM_LINK)).empty());
	}

	void confirm()
	{
		ASSERT_TRUE(end.say(end.confirm_link(number(), SMC_LLC_REPLY)));
	}

	void have_two_links()
	{
		take_offer();
		confirm();
		expect_two_links();
	}

	void expect_two_links()
	{
		await_two_links(agent);
		expect_alive();
		EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
	}

	void say_last(const std::string &message) override
	{
		if (moved_to)
			moved_to->say(message);
		else
			link.say(message);
	}

	/* The key of the server's RMB on the link that @add_link offers. */
	smc_llc_rtoken rmb_there(const std::string &add_link) const
	{
		const uint8_t *bytes = reinterpret_cast<const uint8_t *>(add_link.data());
		const smc_llc_msg msg = decode_llc(add_link);
		smc_llc_rtoken rmb = {};

		for (unsigned int i = 0; i < msg.add_link.n_rkeys; i++)
			if (smc_llc_get_add_link_rtoken(bytes, i).rkey == link.server().r.rkey)
				rmb = smc_llc_get_add_link_rtoken(bytes, i);
		return rmb;
	}

	/* Writes bytes by an added link, at a position of the rogue's stream. */
	void write_by(RogueAddedEnd &by, const std::string &add_link, uint64_t position,
		      const std::string &bytes)
	{
		const smc_llc_rtoken rmb = rmb_there(add_link);
		const uint64_t element =
		    (link.server().r.rmbe_index - 1) * uint64_t(link.element_size());

		ASSERT_EQ(by.write_to(rmb.addr + element + position, rmb.rkey_new, bytes),
			  IBV_WC_SUCCESS);
	}

	/* The server uses a link that it has offered, and knows the rogue's RMB there. */
	void expect_moved(RogueAddedEnd &by, const std::string &add_link)
	{
		moved_to = &by;
		ASSERT_EQ(victim.send("moved"), 5);
		by.expect_element("moved");

		write_by(by, add_link, link.sent, "alive");
		link.sent += 5;
		ASSERT_TRUE(by.say(encode(link.true_cdc())));
		EXPECT_EQ(victim.recv(5, MSG_WAITALL), "alive");
	}
	void expect_moved()
	{
		expect_moved(end, offer);
	}

	RogueAddedEnd *moved_to = nullptr; /* The first link is not in use any more. */
};

} // namespace guest

#endif
