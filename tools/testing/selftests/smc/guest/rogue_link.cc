// SPDX-License-Identifier: GPL-2.0
#include "rogue_link.h"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <stdexcept>

namespace guest
{

smc_llc_msg llc(smc_llc_type type)
{
	smc_llc_msg msg = {};

	msg.type = type;
	msg.v2 = true;
	return msg;
}

uint8_t type_byte(smc_llc_type type, uint8_t version)
{
	return version == SMC_VERSION_2 ? 0x20 | type : type;
}

smc_llc_msg delete_link(uint8_t number)
{
	smc_llc_msg msg = llc(SMC_LLC_DELETE_LINK);

	msg.delete_link.link = number;
	msg.delete_link.reason = SMC_LLC_DEL_LOST_PATH;
	return msg;
}

smc_llc_msg delete_all()
{
	smc_llc_msg msg = llc(SMC_LLC_DELETE_LINK);

	msg.flags = SMC_LLC_DELETE_ALL;
	msg.delete_link.reason = SMC_LLC_DEL_OPERATOR;
	return msg;
}

std::string encode(const smc_llc_msg &msg)
{
	uint8_t buf[SMC_LLC_LEN];

	smc_llc_build(buf, &msg);
	return {reinterpret_cast<char *>(buf), sizeof(buf)};
}

smc_llc_msg decode_llc(const std::string &bytes)
{
	smc_llc_msg msg = {};

	if (smc_llc_parse(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), &msg))
		throw std::runtime_error("no LLC message");
	return msg;
}

std::string encode(const smc_cdc &cdc)
{
	uint8_t buf[SMC_CDC_LEN];

	smc_cdc_build(buf, &cdc);
	return {reinterpret_cast<char *>(buf), sizeof(buf)};
}

int confirm_rkeys(RogueQueuePair &link, int tcp, uint8_t flags)
{
	pollfd answer = {tcp, POLLIN, 0};
	int n = 0;

	wait_until("the other end answers", [&] {
		std::string message = link.hear(0);

		if (!message.empty() && uint8_t(message[0]) == (0x20 | SMC_LLC_CONFIRM_RKEY) &&
		    !(message[3] & SMC_LLC_REPLY)) {
			message[3] |= SMC_LLC_REPLY | flags;
			link.say(message);
			n++;
		}
		return poll(&answer, 1, 0) > 0;
	});
	return n;
}

std::string RogueLink::own_gid()
{
	const smc_clc_agreement own = good_agreement(SMC_CLC_CONFIRM);

	return {reinterpret_cast<const char *>(own.r.gid), SMC_GID_LEN};
}

std::string RogueLink::other_gid()
{
	/* ::ffff:10.83.0.77, see OtherAddress. */
	std::string gid = own_gid();

	gid[SMC_GID_LEN - 1] = 77;
	return gid;
}

static smc_clc_proposal proposal_of(int max_links, uint8_t version)
{
	smc_clc_proposal proposal =
	    version == SMC_VERSION_2 ? good_proposal() : good_proposal_of_version_1();

	proposal.max_links = max_links;
	return proposal;
}

RogueLink::RogueLink(const Address &server, Confirm answer, int max_links, uint8_t version)
    : RogueQueuePair(own_gid()), tcp(propose(server, proposal_of(max_links, version)))
{
	accept = receive_agreement(tcp, SMC_CLC_ACCEPT);
	if (!accept.first_contact)
		throw std::runtime_error("the server takes the rogue for somebody else");

	confirm = good_agreement(SMC_CLC_CONFIRM);
	confirm.version = version;
	confirm.first_contact = accept.first_contact;
	confirm.r.qpn = qpn();
	confirm.r.rkey = rkey();
	confirm.r.rmb_addr = address();
	if (max_links > 1) {
		confirm.fc.max_links = max_links;
		confirm.n_gids = 2;
		memcpy(confirm.gids[0], own_gid().data(), SMC_GID_LEN);
		memcpy(confirm.gids[1], other_gid().data(), SMC_GID_LEN);
	}
	connect({{reinterpret_cast<const char *>(accept.r.gid), SMC_GID_LEN},
		 accept.r.qpn,
		 accept.r.psn,
		 std::min(accept.r.qp_mtu, confirm.r.qp_mtu)},
		confirm.r.psn);
	send_bytes(tcp, encode(confirm));

	if (hear_type(type_byte(SMC_LLC_CONFIRM_LINK, version)).empty())
		throw std::runtime_error("no CONFIRM LINK");
	if (answer == Confirm::answered)
		confirm_link(max_links, version);
}

void RogueLink::confirm_link(int max_links, uint8_t version)
{
	smc_llc_msg reply = llc(SMC_LLC_CONFIRM_LINK);

	reply.v2 = version == SMC_VERSION_2;
	reply.flags = SMC_LLC_REPLY | SMC_LLC_NO_RMBE_EYE_CATCHER;
	memcpy(reply.confirm_link.gid, confirm.r.gid, SMC_GID_LEN);
	memcpy(reply.confirm_link.mac, confirm.r.mac, SMC_MAC_LEN);
	reply.confirm_link.qpn = qpn();
	reply.confirm_link.link = 1;
	reply.confirm_link.user_id = 0x1234;
	reply.confirm_link.max_links = max_links;
	reply.confirm_link.max_conns = 255;
	if (!say(reply))
		throw std::runtime_error("CONFIRM LINK could not be answered");
}

void RogueLink::connect_again(const Address &server, const std::function<void(smc_clc_r &)> &change)
{
	tcp = propose(server, good_proposal());
	confirm_rkeys(*this, tcp);
	accept = receive_agreement(tcp, SMC_CLC_ACCEPT);
	if (accept.first_contact)
		throw std::runtime_error("the server does not know the link any more");
	confirm.first_contact = false;

	smc_clc_agreement sent_confirm = confirm;

	change(sent_confirm.r);
	send_bytes(tcp, encode(sent_confirm));
	sent = received = 0;
	seq = 0;
}

bool RogueLink::say(const smc_cdc &cdc)
{
	return say(encode(cdc));
}

bool RogueLink::say(const smc_llc_msg &msg)
{
	return say(encode(msg));
}

void RogueLink::reset_tcp()
{
	must_linger(tcp, 0);
	tcp.close();
}

ibv_wc_status RogueLink::write_with_immediate(uint32_t bytes)
{
	return write_with_immediate_to(accept.r.rmb_addr, accept.r.rkey, bytes);
}

ibv_wc_status RogueLink::write(uint64_t offset, const std::string &bytes)
{
	return write_to(accept.r.rmb_addr + (accept.r.rmbe_index - 1) * uint64_t(element_size()) +
			    offset,
			accept.r.rkey, bytes);
}

smc_cdc RogueLink::true_cdc()
{
	smc_cdc cdc = {};

	cdc.seq = ++seq;
	cdc.token = accept.r.alert_token;
	cdc.prod = smc_cursor_from_position(sent, element_size());
	cdc.cons = smc_cursor_from_position(received, element_bytes);
	return cdc;
}

} // namespace guest
