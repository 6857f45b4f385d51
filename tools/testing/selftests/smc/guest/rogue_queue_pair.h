/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair of this guest's, by verbs, with an element that the other end may write into. The
 * caller chooses the messages: nothing here knows SMC.
 */
#ifndef GUEST_ROGUE_QUEUE_PAIR_H
#define GUEST_ROGUE_QUEUE_PAIR_H

#include <deque>
#include <infiniband/verbs.h>
#include <optional>
#include <string>
#include <vector>

namespace guest
{

/* The address of the other end of a queue pair. */
struct FarEnd {
	std::string gid; /* 16 bytes */
	uint32_t qpn, psn;
	int mtu; /* ibv_mtu */
};

class RogueQueuePair
{
public:
	static constexpr size_t element_bytes = 65536;

	/* Not connected yet. @gid: one of this guest's, 16 bytes. */
	explicit RogueQueuePair(const std::string &gid);
	RogueQueuePair(const RogueQueuePair &) = delete;
	~RogueQueuePair();

	void connect(const FarEnd &far, uint32_t own_psn);
	/* The same queue pair, not connected any more: the other end is not told. */
	void begin_anew();

	/* Sends any bytes as a message; false if the link did not take them. */
	bool say(const std::string &bytes);
	/* The same, and has the other end's adapter invalidate @rkey. */
	bool say_and_invalidate(const std::string &bytes, uint32_t rkey);
	ibv_wc_status write_to(uint64_t address, uint32_t rkey, const std::string &bytes);
	/* Writes zeros, with immediate data. */
	ibv_wc_status write_with_immediate_to(uint64_t address, uint32_t rkey, uint32_t bytes);

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

	/* The first bytes of the element here, which the other end writes into. */
	std::string element(size_t len) const
	{
		return std::string(memory.data(), len);
	}
	uint32_t qpn() const
	{
		return qp->qp_num;
	}
	uint32_t rkey() const
	{
		return mr->rkey;
	}
	uint64_t address() const
	{
		return reinterpret_cast<uint64_t>(memory.data());
	}
	/* The same memory by another key, as if it were one more RMB. */
	uint32_t another_rkey();

private:
	static constexpr size_t slot = 8192, slots = 64;

	void open_device(const std::string &gid);
	void make_queue_pair();
	void begin();
	bool post_send(ibv_send_wr &wr, const std::string &bytes);
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
	std::vector<ibv_mr *> others;
	int gid_index = -1;
	std::vector<char> memory;   /* the element, the receive slots, one send slot */
	std::deque<size_t> missing; /* receives that are not posted */
	bool may_post = true;
};

} // namespace guest

#endif
