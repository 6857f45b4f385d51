// SPDX-License-Identifier: GPL-2.0
#include "rogue_server.h"

#include <algorithm>
#include <cstring>

#include "smc_tool.h"

namespace guest
{

void RogueServerEnd::first_contact(smc_clc_agreement accept)
{
	accept.first_contact = true;

	Lured &lured = answer(accept);
	smc_clc_agreement confirm = receive_agreement(lured.rogue, SMC_CLC_CONFIRM);

	link.connect({{reinterpret_cast<const char *>(confirm.r.gid), SMC_GID_LEN},
		      confirm.r.qpn,
		      confirm.r.psn,
		      std::min(confirm.r.qp_mtu, accept.r.qp_mtu)},
		     accept.r.psn);
	there = confirm.r;
	say(confirm_link(accept));
	EXPECT_FALSE(link.hear_type(type_byte(SMC_LLC_CONFIRM_LINK, version)).empty());
	EXPECT_EQ(lured.connecting.join(), "0");
}

void RogueServer::TearDown()
{
	end_link();
	wait_until("no connection is left", [&] { return !connections_at(agent); });
}

void RogueServerEnd::end_link()
{
	smc_llc_msg msg = delete_all();

	msg.v2 = version == SMC_VERSION_2;
	say(msg);
}

smc_clc_agreement RogueServerEnd::accept_of_link()
{
	smc_clc_agreement accept = good_agreement(SMC_CLC_ACCEPT);

	accept.version = version;
	accept.first_contact = false;
	accept.fc.max_links = max_links;
	accept.r.qpn = link.qpn();
	accept.r.psn = 0x35ac91;
	accept.r.rkey = link.rkey();
	accept.r.rmb_addr = link.address();
	return accept;
}

smc_llc_msg RogueServerEnd::confirm_link(const smc_clc_agreement &accept) const
{
	smc_llc_msg msg = llc(SMC_LLC_CONFIRM_LINK);

	msg.v2 = version == SMC_VERSION_2;
	msg.flags = SMC_LLC_NO_RMBE_EYE_CATCHER;
	memcpy(msg.confirm_link.gid, accept.r.gid, SMC_GID_LEN);
	memcpy(msg.confirm_link.mac, accept.r.mac, SMC_MAC_LEN);
	msg.confirm_link.qpn = accept.r.qpn;
	msg.confirm_link.link = 1;
	msg.confirm_link.user_id = 0x1234;
	msg.confirm_link.max_links = max_links;
	msg.confirm_link.max_conns = 255;
	return msg;
}

Lured &RogueServerEnd::answer(const smc_clc_agreement &accept, const std::string &at)
{
	Lured &lured = clients.emplace_back(lure(agent, at));

	receive_proposal(lured.rogue);
	send_bytes(lured.rogue, encode(accept));
	confirm_rkeys(link, lured.rogue);
	return lured;
}

void RogueServerEnd::expect_joined(const smc_clc_agreement &accept, const std::string &at)
{
	smc_clc_agreement of_free_element = accept;

	of_free_element.r.rmbe_index = ++n_elements;

	Lured &lured = answer(of_free_element, at);

	EXPECT_FALSE(receive_agreement(lured.rogue, SMC_CLC_CONFIRM).first_contact);
	EXPECT_EQ(lured.connecting.join(), "0");
}

void RogueServerEnd::expect_refused(const smc_clc_agreement &accept, uint32_t diagnosis,
				    const std::string &at)
{
	Lured &lured = answer(accept, at);
	std::string message = receive_message(lured.rogue);
	smc_clc_decline decline = {};

	ASSERT_EQ(smc_clc_parse_decline(reinterpret_cast<const uint8_t *>(message.data()),
					message.size(), &decline),
		  0);
	EXPECT_EQ(decline.diagnosis, diagnosis);
	EXPECT_FALSE(decline.out_of_sync);
	EXPECT_EQ(lured.connecting.join(), "0");
	clients.pop_back();
}

} // namespace guest
