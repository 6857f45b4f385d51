/* SPDX-License-Identifier: GPL-2.0 */
/* The rogue's end of a second link. */
#ifndef GUEST_ROGUE_SECOND_END_H
#define GUEST_ROGUE_SECOND_END_H

#include <functional>
#include <string>
#include <vector>

#include "rogue.h"
#include "rogue_link.h"
#include "rogue_queue_pair.h"

namespace guest
{

/*
 * A queue pair at another address of this guest, RogueLink::other_gid(), as if the rogue had
 * another port. A peer with one port takes the link that leads here for an asymmetric one. The
 * address has to be there.
 */
class RogueAddedEnd : public RogueQueuePair
{
public:
	RogueAddedEnd();

	/*
	 * ADD LINK: a request or a reply for link @number, with the key that the RMB of the first
	 * link has here. @change changes what it says of this end.
	 */
	std::string add_link(
	    uint8_t number, uint8_t flags, const RogueQueuePair &first,
	    const std::function<void(smc_llc_msg &)> &change = [](auto &) {}) const;
	/* The same with the keys of any RMBs. */
	std::string add_link(
	    uint8_t number, uint8_t flags, const std::vector<smc_llc_rtoken> &keys,
	    const std::function<void(smc_llc_msg &)> &change = [](auto &) {}) const;
	/* Connects to the end that the other host's ADD LINK names; again, if it was connected. */
	void connect(const std::string &add_link);
	smc_llc_msg confirm_link(uint8_t number, uint8_t flags) const;

	using RogueQueuePair::say;
	bool say(const smc_llc_msg &msg)
	{
		return say(encode(msg));
	}
	/* A DELETE LINK, request or reply, for that link comes on this one. */
	void expect_deletion(uint8_t number);
	/* What the other end writes here begins with these bytes. */
	void expect_element(const std::string &bytes) const;
};

/* Such a queue pair, and the address. */
class RogueSecondEnd : OtherAddress, public RogueAddedEnd
{
};

/* For a fixture's first base: the end is there before the fixture's offer, which does not wait. */
struct HasSecondEnd {
	RogueSecondEnd end;
};

/* A group of an agent's has two active links on its one port. */
void await_two_links(Agent &agent);

/* A link of an agent's, of that number, is shown as one that is not confirmed yet. */
void expect_activating(Agent &agent, int number);

} // namespace guest

#endif
