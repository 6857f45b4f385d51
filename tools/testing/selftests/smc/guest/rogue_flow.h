/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LLC flows of a rogue and of an agent's host that cross: the rogue hears a request, and sends
 * requests of its own before it answers.
 */
#ifndef GUEST_ROGUE_FLOW_H
#define GUEST_ROGUE_FLOW_H

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "agent.h"
#include "rogue_link.h"
#include "rogue_queue_pair.h"

namespace guest
{

/* Requests about an RMB of the rogue's: the memory of a queue pair, by this key. */
smc_llc_msg confirm_rkey(const RogueQueuePair &link, uint32_t rkey);
smc_llc_msg delete_rkey(uint32_t rkey);

/* The next request of the other end that has this type. Throws if none comes. */
std::string hear_request(RogueQueuePair &link, smc_llc_type type);
/* The next CDC message. Throws if none comes. */
smc_cdc hear_cdc(RogueQueuePair &link);
/* Accepts a request. */
void accept_request(RogueQueuePair &link, std::string request);
/* The other end accepts a request at once, whatever it waits for itself. */
void expect_answered(RogueQueuePair &link, const smc_llc_msg &request);
/*
 * Writes to the other end's RMB with a wrong key: its queue pair fails, and so does this one. The
 * other end notices at once.
 */
void break_link(RogueQueuePair &link, const smc_clc_r &there);
/* Makes the agent's host free idle memory until it sends a request of this type. */
std::string squeeze_out(Agent &agent, RogueQueuePair &link, smc_llc_type type);

/* The rogue's end of a connection, whose element is at the start of the link's memory. */
class RogueConnection
{
public:
	/* @there: the other end's element, as its CLC message names it. */
	RogueConnection(RemoteSocket socket, const smc_clc_r &there)
	    : socket(std::move(socket)), there(there)
	{
	}

	/* Bytes go in both directions. */
	void check(RogueQueuePair &link);
	/* Ends the stream in both directions. */
	void close(RogueQueuePair &link);

	RemoteSocket socket;
	const smc_clc_r there;

private:
	smc_cdc next_cdc();

	uint64_t sent = 0, received = 0;
	uint16_t seq = 0;
};

/*
 * The rogue's end of a group with one link and one connection. For another connection, the agent's
 * host needs another RMB: it sends CONFIRM RKEY between begin() and the next step.
 */
class RogueGroup
{
public:
	virtual ~RogueGroup() = default;

	/* Of a rogue with this role. */
	static std::unique_ptr<RogueGroup> make(Agent &agent, Role role);

	virtual RogueQueuePair &link() = 0;
	virtual RogueConnection &first() = 0;

	/* Begins another connection; the rogue's element is in the RMB with this key. */
	virtual void begin(uint32_t rkey) = 0;
	/* The rest of the handshake. */
	virtual RogueConnection finish() = 0;
	/* The other end declines because it has lost the group, and the connection is one of TCP.
	 */
	virtual void expect_tcp() = 0;
	/* The other end does not know the RMB. */
	virtual void expect_refused() = 0;

	/* begin(), and accepts the CONFIRM RKEY. */
	void begin_and_answer(uint32_t rkey);
	RogueConnection connect(uint32_t rkey)
	{
		begin_and_answer(rkey);
		return finish();
	}

protected:
	/* The TCP connection of begin(). */
	virtual int tcp() const = 0;
};

} // namespace guest

#endif
