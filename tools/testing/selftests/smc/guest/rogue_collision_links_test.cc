// SPDX-License-Identifier: GPL-2.0
/*
 * LLC flows that collide with a link that is added or lost. The rogue is the client of a group with
 * two links in the tests of LinkCollision, and the server in those of OfferCollision.
 */
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "limit.h"
#include "links_shown.h"
#include "other_port.h"
#include "removable_device.h"
#include "rogue_flow.h"
#include "rogue_second_link.h"
#include "rogue_second_link_offer.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

void await_devices(Agent &agent, const std::string &devices)
{
	wait_until("active links by " + devices, [&] {
		for (const ShownGroup &group : shown_groups(agent))
			if (group.devices() == devices)
				return true;
		return false;
	});
}

/* The other end has left a link, and says so on the one that it uses now. */
std::string hear_of_loss(RogueQueuePair &by, uint8_t number)
{
	std::string request = hear_request(by, SMC_LLC_DELETE_LINK);

	EXPECT_EQ(uint8_t(request[4]), number);
	return request;
}

/*
 * The other end ends the group because its device is removed. Before that, it may give up a link
 * that is being added.
 */
std::string hear_delete_all(RogueQueuePair &link)
{
	std::string request;

	do
		request = hear_request(link, SMC_LLC_DELETE_LINK);
	while (!(request[3] & SMC_LLC_DELETE_ALL));
	EXPECT_EQ(decode_llc(request).delete_link.reason, SMC_LLC_DEL_OPERATOR);
	return request;
}

} // namespace

class LinkCollision : public RogueNewLink
{
protected:
	void lose_first()
	{
		break_link(link, link.server().r);
	}
	void expect_first_left()
	{
		accept_request(end, hear_of_loss(end, 1));
		expect_moved();
	}

	/* The server sends these requests on the second link, in any order. */
	void answer_on_second(std::set<uint8_t> types)
	{
		while (!types.empty()) {
			const std::string message = end.hear();

			ASSERT_FALSE(message.empty());
			if (!types.erase(message[0] & 0x0f))
				continue;
			ASSERT_FALSE(message[3] & SMC_LLC_REPLY);
			accept_request(end, message);
		}
	}

	/*
	 * Begins another connection, for which the server needs another RMB. The rogue's element is
	 * in another RMB, too.
	 */
	void begin()
	{
		expect_answered(link, confirm_rkey(link, other));
		propose_again();
	}
	void propose_again()
	{
		tcp = propose(to, good_proposal());
	}
	void send_confirm()
	{
		smc_clc_agreement confirm = good_agreement(SMC_CLC_CONFIRM);

		confirm.first_contact = false;
		confirm.r.qpn = link.qpn();
		confirm.r.rkey = other;
		confirm.r.rmb_addr = link.address();
		send_bytes(tcp, encode(confirm));
	}

	/*
	 * Tells of an RMB while the server waits for the answer to ADD LINK. The answer has the key
	 * of that RMB on the new link, too, if @on_both. Then another connection uses the RMB, and
	 * moves to the new link.
	 */
	RemoteSocket tell_meanwhile(bool on_both)
	{
		std::vector<smc_llc_rtoken> keys = {
		    {.rkey = link.rkey(), .rkey_new = end.rkey(), .addr = end.address()}};

		if (on_both)
			keys.push_back({.rkey = other,
					.rkey_new = end.another_rkey(),
					.addr = end.address() + apart});
		expect_answered(link, confirm_rkey(link, other));
		end.connect(offer);
		EXPECT_TRUE(link.say(end.add_link(number(), SMC_LLC_REPLY, keys)));
		EXPECT_FALSE(end.hear_type(type_of(SMC_LLC_CONFIRM_LINK)).empty());
		confirm();
		expect_two_links();

		propose_again();
		confirm_rkeys(link, tcp);
		receive_agreement(tcp, SMC_CLC_ACCEPT);
		send_confirm();

		RemoteSocket another = listener.accept();

		lose_first();
		return another;
	}

	/* The server removes its device. @answer: answers what the server waited for */
	void expect_left_by_the_device(const std::function<void()> &answer)
	{
		RemovableDevice device;
		Job removal = device.remove();
		const std::string request = hear_delete_all(link);

		answer();
		accept_request(link, request);
		removal.join();
		EXPECT_EQ(victim.ending(), -ENETDOWN);
		EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
	}

	/* Has two links, and is offered a third one in place of the asymmetric one. */
	void take_third_offer()
	{
		set_limit(180);
		have_two_links();
		port.emplace(agent);
		/* The server makes one attempt in ten seconds. */
		third_offer = link.hear_type(type_of(SMC_LLC_ADD_LINK), 30);
		third.connect(third_offer);
		ASSERT_TRUE(link.say(third.add_link(3, SMC_LLC_REPLY, link)));
		ASSERT_FALSE(third.hear_type(type_of(SMC_LLC_CONFIRM_LINK)).empty());
	}
	void say_third_works()
	{
		ASSERT_TRUE(third.say(third.confirm_link(3, SMC_LLC_REPLY)));
	}
	void confirm_third()
	{
		say_third_works();
		await_devices(agent, "rxe0 rxe1");
	}

	/* From the start of the second end's memory: an element that is not the first one. */
	static constexpr size_t apart = 32768;

	Fd tcp;
	RogueAddedEnd third;
	std::string third_offer;
	std::optional<OtherPort> port;
	const uint32_t other = link.another_rkey();
};

TEST_F(LinkCollision, LossAndAddLink)
{
	lose_first();
	expect_reset(victim);
}

/* The new link is not confirmed, so it can't take over. */
TEST_F(LinkCollision, LossAndConfirmLink)
{
	take_offer();
	lose_first();
	expect_reset(victim);
}

/* The answers come too late. */
TEST_F(LinkCollision, DeviceIsRemovedAndAddLink)
{
	expect_left_by_the_device([&] { link.say(end.add_link(number(), SMC_LLC_REPLY, link)); });
}

TEST_F(LinkCollision, DeviceIsRemovedAndConfirmLink)
{
	take_offer();
	expect_left_by_the_device([&] { end.say(end.confirm_link(number(), SMC_LLC_REPLY)); });
}

TEST_F(LinkCollision, ConfirmRkeyAndAddLink)
{
	RemoteSocket another = tell_meanwhile(true);

	expect_first_left();
	ASSERT_EQ(another.send("another"), 7);
	wait_until("bytes of the other connection",
		   [&] { return end.element(apart + 7).substr(apart) == "another"; });
}

/* Without the RMB's key on the new link, the server can't write to the element any more. */
TEST_F(LinkCollision, ConfirmRkeyForOneLinkAndAddLink)
{
	RemoteSocket another = tell_meanwhile(false);

	expect_first_left();
	expect_reset(another);
}

/* The offer gets its answer, and the link works. */
TEST_F(LinkCollision, TestLinkAndAddLink)
{
	expect_answered(link, llc(SMC_LLC_TEST_LINK));
	have_two_links();
}

TEST_F(LinkCollision, TestLinkAndConfirmLink)
{
	take_offer();
	for (RogueQueuePair *by : std::initializer_list<RogueQueuePair *>{&link, &end})
		expect_answered(*by, llc(SMC_LLC_TEST_LINK));
	confirm();
	expect_two_links();
}

/* Both ends have lost the link, and each tells the other. */
TEST_F(LinkCollision, DeleteLinkAndDeleteLink)
{
	have_two_links();
	lose_first();

	const std::string request = hear_of_loss(end, 1);

	ASSERT_TRUE(end.say(delete_link(1)));
	expect_answered(end, llc(SMC_LLC_TEST_LINK));
	accept_request(end, request);
	expect_moved();
	await_devices(agent, "rxe0");
}

/* Each end has lost another link, so none is left. */
TEST_F(LinkCollision, DeleteLinkAndDeleteLinkOfTheOther)
{
	have_two_links();
	lose_first();
	hear_of_loss(end, 1);
	expect_answered(end, delete_link(2));
	expect_reset(victim);
	EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
}

/* The server gives up the asymmetric link, and the rogue the first one. The third one is left. */
TEST_F(LinkCollision, DeleteLinkAndReplacement)
{
	take_third_offer();
	say_third_works();

	const std::string request = hear_of_loss(link, 2);

	EXPECT_EQ(decode_llc(request).delete_link.reason, SMC_LLC_DEL_ASYMMETRIC);
	ASSERT_TRUE(link.say(delete_link(1)));
	accept_request(third, request);
	accept_request(third, hear_of_loss(third, 1));
	expect_moved(third, third_offer);
	await_devices(agent, "rxe1");
}

/* The handshake ends with TCP. The connection that there is moves. */
TEST_F(LinkCollision, ConfirmRkeyAndLossOfItsLink)
{
	have_two_links();
	begin();
	hear_request(link, SMC_LLC_CONFIRM_RKEY);
	lose_first();
	EXPECT_EQ(diagnosis_of(receive_message(tcp)), SMC_DIAG_NO_ROUTE);

	RemoteSocket accepted = listener.accept();

	check_tcp(tcp, accepted);
	expect_first_left();
}

/* The server asks again by the other link. */
TEST_F(LinkCollision, DeleteRkeyAndLossOfItsLink)
{
	have_two_links();
	begin();
	confirm_rkeys(link, tcp);

	const smc_clc_agreement accept = receive_agreement(tcp, SMC_CLC_ACCEPT);

	send_confirm();
	RogueConnection(listener.accept(), accept.r).close(link);
	wait_until("the first is left", [&] { return connections_at(agent) == 1; });
	squeeze_out(agent, link, SMC_LLC_DELETE_RKEY);
	lose_first();
	answer_on_second({SMC_LLC_DELETE_RKEY, SMC_LLC_DELETE_LINK});
	expect_moved();
}

/* The CONFIRM is the last message of the handshake, so the server can only close. */
TEST_F(LinkCollision, LossBetweenAcceptAndConfirm)
{
	have_two_links();
	begin();
	confirm_rkeys(link, tcp);
	receive_agreement(tcp, SMC_CLC_ACCEPT);
	lose_first();
	accept_request(end, hear_of_loss(end, 1));
	send_confirm();
	EXPECT_EQ(receive_message(tcp), "");
	expect_moved();
	EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
}

/* The third link takes nothing from the second one, which is the only one by then. */
TEST_F(LinkCollision, LossOfTheFirstAndReplacement)
{
	take_third_offer();
	lose_first();
	accept_request(end, hear_of_loss(end, 1));
	confirm_third();
	expect_moved();
}

/* There is nothing to replace any more. */
TEST_F(LinkCollision, LossOfTheSecondAndReplacement)
{
	take_third_offer();
	break_link(end, link.server().r);
	accept_request(link, hear_of_loss(link, 2));
	confirm_third();
	expect_alive();
}

class OfferCollision : public RogueOffer
{
protected:
	void have_two_links()
	{
		have_it_taken(2);
		confirm(2);
		await_two_links(agent);
	}

	void lose_first()
	{
		break_link(link, there);
	}
	/* A connection goes on by the second link. */
	void expect_moved(RemoteSocket &client, const std::string &bytes)
	{
		has_moved = true;
		ASSERT_EQ(client.send(bytes), long(bytes.size()));
		end.expect_element(bytes);
	}
	void expect_first_left()
	{
		accept_request(end, hear_of_loss(end, 1));
		expect_moved(client(), "moved");
	}

	/* An RMB of the rogue's, with its key on the second link if @on_both. */
	smc_llc_msg confirm_another(bool on_both)
	{
		smc_llc_msg msg = confirm_rkey(link, link.another_rkey());

		msg.confirm_rkey.count = on_both;
		msg.confirm_rkey.rt[1] = {
		    .link = 2, .rkey = end.another_rkey(), .addr = end.address()};
		return msg;
	}
	/* An ACCEPT that names an element in an RMB. */
	smc_clc_agreement accept_of(const smc_llc_msg &confirmed)
	{
		smc_clc_agreement accept = accept_of_link();

		accept.r.rkey = confirmed.confirm_rkey.rt[0].rkey;
		return accept;
	}
	/*
	 * Tells of an RMB while the client waits for CONFIRM LINK. Then another connection uses it,
	 * and moves to the new link.
	 */
	void tell_meanwhile(bool on_both)
	{
		const smc_llc_msg another = confirm_another(on_both);

		have_it_taken(2);
		expect_answered(link, another);
		confirm(2);
		await_two_links(agent);

		Lured &lured = answer(accept_of(another));

		receive_agreement(lured.rogue, SMC_CLC_CONFIRM);
		ASSERT_EQ(lured.connecting.join(), "0");
		lose_first();
		expect_first_left();
	}

	/* Has two links, and the client takes a third one. */
	void have_third_taken()
	{
		set_limit(180);
		have_two_links();
		port.emplace(agent);
		have_it_taken(3, third);
	}

	RogueAddedEnd third;
	std::optional<OtherPort> port;
};

/* The server tells of the RMB's key on the new link, too. */
TEST_F(OfferCollision, ConfirmRkeyAndConfirmLink)
{
	tell_meanwhile(true);
	expect_moved(clients.back().client, "another");
}

/* It does not, so the client can't write to the element any more. */
TEST_F(OfferCollision, ConfirmRkeyForOneLinkAndConfirmLink)
{
	tell_meanwhile(false);
	expect_reset(clients.back().client);
	ASSERT_EQ(client().send(" on"), 3);
	end.expect_element("moved on");
}

TEST_F(OfferCollision, DeleteRkeyAndConfirmLink)
{
	const smc_llc_msg another = confirm_another(false);

	expect_answered(link, another);
	have_it_taken(2);
	expect_answered(link, delete_rkey(another.confirm_rkey.rt[0].rkey));
	confirm(2);
	await_two_links(agent);
	expect_refused(accept_of(another));
	expect_alive();
}

/* Whether the client has answered by then or not. */
TEST_F(OfferCollision, LossAndAddLink)
{
	ASSERT_TRUE(link.say(end.add_link(2, 0, link)));
	lose_first();
	expect_reset(client());
}

TEST_F(OfferCollision, LossAndConfirmLink)
{
	have_it_taken(2);
	lose_first();
	expect_reset(client());
}

/* The client's device. CONFIRM LINK comes too late. */
TEST_F(OfferCollision, DeviceIsRemovedAndConfirmLink)
{
	have_it_taken(2);

	RemovableDevice device;
	Job removal = device.remove();
	const std::string request = hear_delete_all(link);

	end.say(end.confirm_link(2, 0));
	accept_request(link, request);
	removal.join();
	EXPECT_EQ(client().ending(), -ENETDOWN);
	EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
}

/* Each end has lost another link, so none is left. */
TEST_F(OfferCollision, DeleteLinkAndDeleteLinkOfTheOther)
{
	have_two_links();
	lose_first();
	hear_of_loss(end, 1);
	expect_answered(end, delete_link(2));
	expect_reset(client());
	EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
}

TEST_F(OfferCollision, DeleteLinkAndDeleteLink)
{
	have_two_links();
	lose_first();

	const std::string request = hear_of_loss(end, 1);

	expect_answered(end, delete_link(1));
	accept_request(end, request);
	expect_moved(client(), "moved");
	await_devices(agent, "rxe0");
}

TEST_F(OfferCollision, ConfirmRkeyAndLossOfItsLink)
{
	have_two_links();

	const smc_llc_msg another = confirm_another(true);

	expect_answered(link, another);

	Lured &lured = clients.emplace_back(lure(agent));

	receive_proposal(lured.rogue);
	send_bytes(lured.rogue, encode(accept_of(another)));
	hear_request(link, SMC_LLC_CONFIRM_RKEY);
	lose_first();
	EXPECT_EQ(diagnosis_of(receive_message(lured.rogue)), SMC_DIAG_NO_ROUTE);
	EXPECT_EQ(lured.connecting.join(), "0");
	check_tcp(lured.rogue, lured.client);
	expect_first_left();
}

TEST_F(OfferCollision, LossOfTheFirstAndReplacement)
{
	have_third_taken();
	lose_first();
	accept_request(end, hear_of_loss(end, 1));
	confirm(3, third);
	await_devices(agent, "rxe0 rxe1");
	expect_moved(client(), "moved");
}

TEST_F(OfferCollision, LossOfTheSecondAndReplacement)
{
	have_third_taken();
	break_link(end, there);
	accept_request(link, hear_of_loss(link, 2));
	confirm(3, third);
	await_devices(agent, "rxe0 rxe1");
	expect_alive();
}
