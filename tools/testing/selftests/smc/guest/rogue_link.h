/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rogue with a queue pair: completes the handshake by hand as client of an SMC server,
 * and can then say and write to it whatever it likes.
 */
#ifndef GUEST_ROGUE_LINK_H
#define GUEST_ROGUE_LINK_H

#include <functional>
#include <string>

#include "rogue.h"
#include "rogue_queue_pair.h"
#include "wire/cdc.h"
#include "wire/llc.h"

namespace guest
{

/* LLC messages of version 2: one that is empty but for its type, and requests. */
smc_llc_msg llc(smc_llc_type type);
/* The first byte of such a message. */
uint8_t type_byte(smc_llc_type type, uint8_t version);
smc_llc_msg delete_link(uint8_t number);
smc_llc_msg delete_all();

std::string encode(const smc_llc_msg &msg);
/* Throws unless @bytes are an LLC message. */
smc_llc_msg decode_llc(const std::string &bytes);
std::string encode(const smc_cdc &cdc);

/*
 * Confirms the RMBs that the other end tells of over @link, until its next CLC message is at @tcp:
 * it may need another RMB first. The replies have @flags. Returns the number of replies.
 */
int confirm_rkeys(RogueQueuePair &link, int tcp, uint8_t flags = 0);

class RogueLink : public RogueQueuePair
{
public:
	/* The rogue answers the CONFIRM LINK of its server, or does not. */
	enum class Confirm { answered, unanswered };

	/*
	 * Connects to an SMC listener of IPv4; throws unless that leads to a connection or, with
	 * @answer unanswered, to a server that waits for the answer. A rogue that takes two links
	 * says that it has another port, at other_gid().
	 */
	explicit RogueLink(const Address &server, Confirm answer = Confirm::answered,
			   int max_links = 1, uint8_t version = SMC_VERSION_2);

	/* Answers the server's CONFIRM LINK. */
	void confirm_link(int max_links, uint8_t version);

	static std::string own_gid();
	/* The GID of a port that the rogue does not have, in the subnet of its own. */
	static std::string other_gid();

	/*
	 * Another connection by the same link, which the server must know again. Its CONFIRM names
	 * the same element, unless @change changes that. If the server needs another RMB, the
	 * rogue confirms that.
	 */
	void connect_again(
	    const Address &server, const std::function<void(smc_clc_r &)> &change = [](auto &) {});

	using RogueQueuePair::say;
	bool say(const smc_cdc &cdc);
	bool say(const smc_llc_msg &msg);
	/* Sends bytes by the TCP connection below. */
	void send_by_tcp(const std::string &bytes)
	{
		send_bytes(tcp, bytes);
	}
	/* The TCP connection, without which the link is good for nothing. */
	Fd take_tcp()
	{
		return std::move(tcp);
	}
	/* Ends the TCP connection by a reset; the link stays. */
	void reset_tcp();
	/* The rogue's port of the TCP connection that there is. */
	int tcp_port() const
	{
		return local_address(tcp).port();
	}
	/* Writes into the server's memory, @offset from its element's start. */
	ibv_wc_status write(uint64_t offset, const std::string &bytes);
	/* Writes zeros from the start of the server's memory, with immediate data. */
	ibv_wc_status write_with_immediate(uint32_t bytes);

	/* A CDC for the connection, true to what was sent and received so far. */
	smc_cdc true_cdc();
	const smc_clc_agreement &server() const
	{
		return accept;
	}
	uint32_t element_size() const
	{
		return 16384u << accept.r.rmbe_size_code;
	}

	/* Positions, for true_cdc(): tests move them as they send and receive. */
	uint64_t sent = 0, received = 0;

private:
	smc_clc_agreement accept = {}, confirm = {};
	uint16_t seq = 0;
	Fd tcp;
};

} // namespace guest

#endif
