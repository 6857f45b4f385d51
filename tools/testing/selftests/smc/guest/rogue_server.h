/* SPDX-License-Identifier: GPL-2.0 */
/* The rogue as a server with a link, to which an agent's clients are led. */
#ifndef GUEST_ROGUE_SERVER_H
#define GUEST_ROGUE_SERVER_H

#include <gtest/gtest.h>

#include <list>
#include <string>

#include "rogue_link.h"

namespace guest
{

class RogueServerEnd
{
public:
	/* With @max_links 2, the agent's clients may take an offer of a second link. */
	explicit RogueServerEnd(int max_links = 1, uint8_t version = SMC_VERSION_2)
	    : max_links(max_links), version(version),
	      links_foreign(agent, "net.smc.smcr_max_links_foreign", std::to_string(max_links)),
	      link(RogueLink::own_gid())
	{
		first_contact(accept_of_link());
	}

	void first_contact(smc_clc_agreement accept);
	void end_link();
	smc_clc_agreement accept_of_link();
	smc_llc_msg confirm_link(const smc_clc_agreement &accept) const;
	void say(const smc_llc_msg &msg)
	{
		link.say(encode(msg));
	}
	/* To another client. @at: an address of this guest */
	Lured &answer(const smc_clc_agreement &accept,
		      const std::string &at = address_of(0, AF_INET, 0).text());
	void expect_joined(const smc_clc_agreement &accept,
			   const std::string &at = address_of(0, AF_INET, 0).text());
	/* Nor does the client want the group dropped. */
	void expect_refused(const smc_clc_agreement &accept, uint32_t diagnosis = SMC_DIAG_NO_ROUTE,
			    const std::string &at = address_of(0, AF_INET, 0).text());

	Agent agent;
	const int max_links;
	const uint8_t version;
	RemoteSysctlScope links_foreign;
	RogueQueuePair link;
	std::list<Lured> clients;
	smc_clc_r there = {}; /* of the client's CONFIRM at first contact */
	int n_elements = 1;   /* the first contact has one */
};

class RogueServer : public testing::Test, protected RogueServerEnd
{
protected:
	using RogueServerEnd::RogueServerEnd;

	void TearDown() override;
};

} // namespace guest

#endif
