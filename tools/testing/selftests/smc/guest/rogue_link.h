/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rogue with a queue pair: completes the rendezvous by hand as client of an SMC server,
 * and can then say and write to it whatever it likes.
 */
#ifndef GUEST_ROGUE_LINK_H
#define GUEST_ROGUE_LINK_H

#include <deque>
#include <infiniband/verbs.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rogue.h"
#include "wire/cdc.h"
#include "wire/llc.h"

namespace guest
{

class RogueLink
{
public:
	/* The rogue answers the CONFIRM LINK of its server, or does not. */
	enum class Confirm { answered, unanswered };

	/*
	 * Connects to an SMC listener of IPv4; throws unless that leads to a connection or, with
	 * @answer unanswered, to a server that waits for the answer.
	 */
	explicit RogueLink(const Address &server, Confirm answer = Confirm::answered);
	RogueLink(const RogueLink &) = delete;
	~RogueLink();

	/* The connection is over: another one by the same link, which the server must know again.
	 */
	void connect_again(const Address &server);

	/* Sends any bytes as a message; false if the link did not take them. */
	bool say(const std::string &bytes);
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
	/* Writes into the server's memory, @offset from its element's start. */
	ibv_wc_status write(uint64_t offset, const std::string &bytes);
	/* Writes zeros from the start of the server's memory, with immediate data. */
	ibv_wc_status write_with_immediate(uint32_t bytes);
	ibv_wc_status write_to(uint64_t address, uint32_t rkey, const std::string &bytes);

	/* No receive is posted any more in place of one that was used: soon the peer finds none. */
	void stop_posting()
	{
		may_post = false;
	}
	/* The oldest of those that are missing. Return: false if none is. */
	bool post_one();
	/* Nothing is acknowledged any more. */
	void destroy_queue_pair();

	/* The next message, of any kind or of one type byte; empty if none comes. */
	std::string hear(int seconds = 10);
	std::string hear_type(uint8_t type, int seconds = 10);

	/* A CDC for the connection, true to what was sent and received so far. */
	smc_cdc true_cdc();
	/* What the server wrote into the element here, from its start. */
	std::string element(size_t len) const
	{
		return std::string(memory.data(), len);
	}

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
	static constexpr size_t slot = 8192, slots = 64, element_bytes = 65536;

	void open_device();
	void make_queue_pair();
	void connect_queue_pair();
	void confirm_link();
	void post_receive(size_t i);
	ibv_wc_status post_and_wait(ibv_send_wr &wr);
	ibv_wc_status post_write(ibv_wr_opcode opcode, uint64_t address, uint32_t rkey,
				 const char *from, size_t len);
	std::optional<ibv_wc> poll(ibv_cq *cq, int seconds);

	ibv_context *context = nullptr;
	ibv_pd *pd = nullptr;
	ibv_cq *send_cq = nullptr, *receive_cq = nullptr;
	ibv_qp *qp = nullptr;
	ibv_mr *mr = nullptr;
	int gid_index = -1;
	std::vector<char> memory; /* the element, the receive slots, one send slot */
	smc_clc_agreement accept = {}, confirm = {};
	std::deque<size_t> missing; /* receives that are not posted */
	bool may_post = true;
	uint16_t seq = 0;
	Fd tcp;
};

} // namespace guest

#endif
