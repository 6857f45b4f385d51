// SPDX-License-Identifier: GPL-2.0
#include "rogue_flow.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "rogue_server.h"

namespace guest
{

namespace
{

constexpr uint8_t type_byte(smc_llc_type type)
{
	return 0x20 | type;
}

bool is_reply(const std::string &message)
{
	return message[3] & SMC_LLC_REPLY;
}

/* The next message of that type that is a reply, or that is none. */
std::string hear_either(RogueQueuePair &link, smc_llc_type type, bool reply)
{
	std::string message;

	do {
		message = link.hear_type(type_byte(type));
		if (message.size() < SMC_LLC_LEN)
			throw std::runtime_error(std::string(reply ? "no reply" : "no request") +
						 " of type " + std::to_string(type));
	} while (is_reply(message) != reply);
	return message;
}

class ClientsGroup : public RogueGroup
{
public:
	explicit ClientsGroup(Agent &agent)
	    : listener(agent.listen(Flavor())), to(address_of(1, AF_INET, listener.port())),
	      queue_pair(to), connection(listener.accept(), queue_pair.server().r)
	{
	}

	RogueQueuePair &link() override
	{
		return queue_pair;
	}
	RogueConnection &first() override
	{
		return connection;
	}

	void begin(uint32_t own_rkey) override
	{
		rkey = own_rkey;
		tcps.push_back(propose(to, good_proposal()));
	}

	RogueConnection finish() override
	{
		const smc_clc_r there = confirm();

		return {listener.accept(), there};
	}

	void expect_tcp() override
	{
		EXPECT_EQ(diagnosis_of(receive_message(tcp())), SMC_DIAG_NO_ACTIVE_LINK);

		RemoteSocket socket = listener.accept();

		check_tcp(tcp(), socket);
	}

	/* The CONFIRM is the last message of the handshake, so there is no DECLINE. */
	void expect_refused() override
	{
		confirm();
		EXPECT_EQ(receive_message(tcp()), "");
	}

private:
	int tcp() const override
	{
		return tcps.back();
	}

	smc_clc_r confirm()
	{
		const smc_clc_agreement accept = receive_agreement(tcp(), SMC_CLC_ACCEPT);
		smc_clc_agreement confirm = good_agreement(SMC_CLC_CONFIRM);

		EXPECT_FALSE(accept.first_contact);
		confirm.first_contact = false;
		confirm.r.qpn = queue_pair.qpn();
		confirm.r.rkey = rkey;
		confirm.r.rmb_addr = queue_pair.address();
		send_bytes(tcp(), encode(confirm));
		return accept.r;
	}

	RemoteSocket listener;
	const Address to;
	RogueLink queue_pair;
	RogueConnection connection;
	std::list<Fd> tcps;
	uint32_t rkey = 0;
};

class ServersGroup : public RogueGroup
{
public:
	explicit ServersGroup(Agent &agent)
	    : agent(agent), connection(std::move(server.clients.front().client), server.there)
	{
	}

	RogueQueuePair &link() override
	{
		return server.link;
	}
	RogueConnection &first() override
	{
		return connection;
	}

	void begin(uint32_t rkey) override
	{
		smc_clc_agreement accept = server.accept_of_link();

		accept.r.rkey = rkey;
		server.clients.push_back(lure(agent));
		receive_proposal(tcp());
		send_bytes(tcp(), encode(accept));
	}

	RogueConnection finish() override
	{
		const smc_clc_agreement confirm = receive_agreement(tcp(), SMC_CLC_CONFIRM);

		EXPECT_FALSE(confirm.first_contact);
		EXPECT_EQ(last().connecting.join(), "0");
		return {std::move(last().client), confirm.r};
	}

	void expect_tcp() override
	{
		EXPECT_EQ(diagnosis_of(receive_message(tcp())), SMC_DIAG_NO_ACTIVE_LINK);
		EXPECT_EQ(last().connecting.join(), "0");
		check_tcp(tcp(), last().client);
	}

	void expect_refused() override
	{
		EXPECT_EQ(diagnosis_of(receive_message(tcp())), SMC_DIAG_NO_ROUTE);
		EXPECT_EQ(last().connecting.join(), "0");
	}

private:
	Lured &last()
	{
		return server.clients.back();
	}
	int tcp() const override
	{
		return server.clients.back().rogue;
	}

	Agent &agent;
	RogueServerEnd server;
	RogueConnection connection;
};

} // namespace

smc_llc_msg confirm_rkey(const RogueQueuePair &link, uint32_t rkey)
{
	smc_llc_msg msg = llc(SMC_LLC_CONFIRM_RKEY);

	msg.confirm_rkey.rt[0] = {.rkey = rkey, .addr = link.address()};
	return msg;
}

smc_llc_msg delete_rkey(uint32_t rkey)
{
	smc_llc_msg msg = llc(SMC_LLC_DELETE_RKEY);

	msg.delete_rkey.count = 1;
	msg.delete_rkey.rkey[0] = rkey;
	return msg;
}

std::string hear_request(RogueQueuePair &link, smc_llc_type type)
{
	return hear_either(link, type, false);
}

void accept_request(RogueQueuePair &link, std::string request)
{
	request[3] |= SMC_LLC_REPLY;
	ASSERT_TRUE(link.say(request));
}

smc_cdc hear_cdc(RogueQueuePair &link)
{
	const std::string bytes = link.hear_type(SMC_CDC_TYPE);
	smc_cdc cdc = {};

	if (smc_cdc_parse(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), &cdc))
		throw std::runtime_error("no CDC message");
	return cdc;
}

void expect_answered(RogueQueuePair &link, const smc_llc_msg &request)
{
	ASSERT_TRUE(link.say(encode(request)));

	const std::string reply = hear_either(link, request.type, true);

	EXPECT_EQ(uint8_t(reply[3]), request.flags | SMC_LLC_REPLY);
}

void break_link(RogueQueuePair &link, const smc_clc_r &there)
{
	ASSERT_NE(link.write_to(there.rmb_addr, there.rkey ^ 0x100, "x"), IBV_WC_SUCCESS);
}

std::string squeeze_out(Agent &agent, RogueQueuePair &link, smc_llc_type type)
{
	std::string message;

	wait_until("a request of type " + std::to_string(type), [&] {
		agent.must_run("echo 2 >/proc/sys/vm/drop_caches");
		do
			message = link.hear(0);
		while (!message.empty() &&
		       (uint8_t(message[0]) != type_byte(type) || is_reply(message)));
		return !message.empty();
	});
	return message;
}

smc_cdc RogueConnection::next_cdc()
{
	smc_cdc cdc = {};

	cdc.seq = ++seq;
	cdc.token = there.alert_token;
	cdc.prod = smc_cursor_from_position(sent, 16384u << there.rmbe_size_code);
	cdc.cons = smc_cursor_from_position(received, RogueQueuePair::element_bytes);
	return cdc;
}

void RogueConnection::check(RogueQueuePair &link)
{
	const std::string to_rogue = "to the rogue", from_rogue = "from the rogue";
	const uint64_t element =
	    there.rmb_addr + (there.rmbe_index - 1) * (uint64_t(16384) << there.rmbe_size_code);

	ASSERT_EQ(socket.send(to_rogue), long(to_rogue.size()));
	received += to_rogue.size();
	/* Elements of other connections are in the same memory. */
	wait_until("bytes to the rogue", [&] {
		return link.element(received).substr(received - to_rogue.size()) == to_rogue;
	});
	ASSERT_EQ(link.write_to(element + sent, there.rkey, from_rogue), IBV_WC_SUCCESS);
	sent += from_rogue.size();
	ASSERT_TRUE(link.say(encode(next_cdc())));
	EXPECT_EQ(socket.recv(from_rogue.size(), MSG_WAITALL), from_rogue);
}

void RogueConnection::close(RogueQueuePair &link)
{
	smc_cdc cdc = next_cdc();

	cdc.conn_flags = SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED;
	ASSERT_TRUE(link.say(encode(cdc)));
	EXPECT_EQ(socket.close(), 0);
}

std::unique_ptr<RogueGroup> RogueGroup::make(Agent &agent, Role role)
{
	if (role == Role::client)
		return std::make_unique<ClientsGroup>(agent);
	return std::make_unique<ServersGroup>(agent);
}

void RogueGroup::begin_and_answer(uint32_t rkey)
{
	begin(rkey);
	confirm_rkeys(link(), tcp());
}

} // namespace guest
