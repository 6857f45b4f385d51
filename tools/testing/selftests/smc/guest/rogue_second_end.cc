// SPDX-License-Identifier: GPL-2.0
#include "rogue_second_end.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "links_shown.h"

namespace guest
{

namespace
{

constexpr uint8_t own_mac[SMC_MAC_LEN] = {2, 0, 0, 0, 0, 1};
constexpr uint32_t own_psn = 0x35ac92;
constexpr int own_mtu = 3; /* as good_agreement() */

std::string await_gid()
{
	wait_until("the other address has a GID", [] {
		return !run_command("grep -q ffff:0a53:004d "
				    "/sys/class/infiniband/rxe0/ports/1/gids/*")
			    .status;
	});
	return RogueLink::other_gid();
}

} // namespace

RogueAddedEnd::RogueAddedEnd() : RogueQueuePair(await_gid())
{
}

std::string RogueAddedEnd::add_link(uint8_t number, uint8_t flags, const RogueQueuePair &first,
				    const std::function<void(smc_llc_msg &)> &change) const
{
	return add_link(number, flags,
			{{.rkey = first.rkey(), .rkey_new = rkey(), .addr = address()}}, change);
}

std::string RogueAddedEnd::add_link(uint8_t number, uint8_t flags,
				    const std::vector<smc_llc_rtoken> &keys,
				    const std::function<void(smc_llc_msg &)> &change) const
{
	std::string message(SMC_LLC_ADD_LINK_LEN(keys.size()), '\0');
	uint8_t *buf = reinterpret_cast<uint8_t *>(message.data());
	smc_llc_msg msg = llc(SMC_LLC_ADD_LINK);

	msg.flags = flags;
	memcpy(msg.add_link.gid, RogueLink::other_gid().data(), SMC_GID_LEN);
	memcpy(msg.add_link.mac, own_mac, SMC_MAC_LEN);
	msg.add_link.qpn = qpn();
	msg.add_link.psn = own_psn;
	msg.add_link.mtu = own_mtu;
	msg.add_link.link = number;
	msg.add_link.direct = true;
	msg.add_link.n_rkeys = keys.size();
	change(msg);
	smc_llc_build_add_link(buf, &msg);
	for (size_t i = 0; i < keys.size(); i++)
		smc_llc_put_add_link_rtoken(buf, i, &keys[i]);
	return message;
}

void RogueAddedEnd::connect(const std::string &add_link)
{
	const smc_llc_msg far = decode_llc(add_link);

	if (far.type != SMC_LLC_ADD_LINK || (far.flags & SMC_LLC_ADD_LINK_REJECTED))
		throw std::runtime_error("no ADD LINK");
	begin_anew();
	RogueQueuePair::connect({{reinterpret_cast<const char *>(far.add_link.gid), SMC_GID_LEN},
				 far.add_link.qpn,
				 far.add_link.psn,
				 std::min<int>(far.add_link.mtu, own_mtu)},
				own_psn);
}

smc_llc_msg RogueAddedEnd::confirm_link(uint8_t number, uint8_t flags) const
{
	smc_llc_msg msg = llc(SMC_LLC_CONFIRM_LINK);

	msg.flags = flags | SMC_LLC_NO_RMBE_EYE_CATCHER;
	memcpy(msg.confirm_link.gid, RogueLink::other_gid().data(), SMC_GID_LEN);
	memcpy(msg.confirm_link.mac, own_mac, SMC_MAC_LEN);
	msg.confirm_link.qpn = qpn();
	msg.confirm_link.link = number;
	msg.confirm_link.user_id = 0x1235;
	msg.confirm_link.max_links = 2;
	msg.confirm_link.max_conns = 255;
	return msg;
}

void RogueAddedEnd::expect_deletion(uint8_t number)
{
	const std::string message = hear_type(0x20 | SMC_LLC_DELETE_LINK);

	ASSERT_EQ(message.size(), size_t(SMC_LLC_LEN));
	EXPECT_EQ(uint8_t(message[4]), number);
}

void RogueAddedEnd::expect_element(const std::string &bytes) const
{
	wait_until("bytes on the second link", [&] { return element(bytes.size()) == bytes; });
}

void await_two_links(Agent &agent)
{
	wait_until("two links", [&] {
		const std::vector<ShownGroup> groups = shown_groups(agent);

		return std::any_of(groups.begin(), groups.end(), [](const ShownGroup &group) {
			return group.devices() == "rxe0 rxe0";
		});
	});
}

void expect_activating(Agent &agent, int number)
{
	const std::vector<ShownGroup> groups = shown_groups(agent);
	bool is_shown = false;

	for (const ShownGroup &group : groups)
		for (const ShownLink &link : group.links)
			if (link.number == number && link.state == LinkState::activating)
				is_shown = true;
	EXPECT_TRUE(is_shown) << to_string(groups);
}

} // namespace guest
