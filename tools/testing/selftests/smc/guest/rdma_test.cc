// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that completed the handshake and then violates the protocol over RDMA. A violation ends
 * its connection or its link group, is counted, and affects no other peer.
 */
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <list>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <random>

#include "rogue_flow.h"
#include "rogue_link.h"
#include "rogue_server.h"
#include "smc_tool.h"
#include "tcp_table.h"

using namespace guest;

namespace
{

[[maybe_unused]] testing::Environment *const takes_no_note =
    testing::AddGlobalTestEnvironment(new TakesNoNote);

} // namespace

class Rogue : public testing::Test
{
protected:
	Rogue()
	    : before(agent.counters()), listener(agent.listen(Flavor())),
	      accept(listener.start_accept()), link(address_of(1, AF_INET, listener.port())),
	      victim(agent, std::stoi(accept.join()))
	{
	}

	Counters passed()
	{
		return agent.counters() - before;
	}
	/* The rogue sends correctly. */
	void send_truly(const std::string &bytes)
	{
		ASSERT_EQ(link.write(link.sent, bytes), IBV_WC_SUCCESS);
		link.sent += bytes.size();
		ASSERT_TRUE(link.say(link.true_cdc()));
	}
	/*
	 * The victim reads 4 bytes and does not tell the rogue, which claims all bytes up to @prod.
	 */
	void write_on_after_read(smc_cursor prod)
	{
		smc_cdc cdc;

		send_truly("read");
		EXPECT_EQ(victim.recv(4, MSG_WAITALL), "read");
		cdc = link.true_cdc();
		cdc.prod = prod;
		ASSERT_TRUE(link.say(cdc));
	}
	void expect_alive()
	{
		send_truly("alive");
		EXPECT_EQ(victim.recv(5, MSG_WAITALL), "alive");
	}
	/* Expects the link group to work. */
	void expect_link()
	{
		smc_llc_msg msg = llc(SMC_LLC_TEST_LINK);

		memcpy(msg.test_link.data, "sixteen bytes ..", 16);
		ASSERT_TRUE(link.say(msg));

		std::string reply;

		do
			reply = link.hear_type(0x20 | SMC_LLC_TEST_LINK);
		while (answer_probe(reply));
		ASSERT_EQ(reply.size(), size_t(SMC_LLC_LEN));
		EXPECT_EQ(uint8_t(reply[3]), SMC_LLC_REPLY);
		EXPECT_EQ(reply.substr(4, 16), "sixteen bytes ..");
	}
	/*
	 * The server probes a link that was silent for 30 s. Return: true if @message was a probe.
	 */
	bool answer_probe(std::string message)
	{
		if (message.empty() || uint8_t(message[0]) != (0x20 | SMC_LLC_TEST_LINK) ||
		    (message[3] & SMC_LLC_REPLY))
			return false;
		message[3] |= SMC_LLC_REPLY;
		EXPECT_TRUE(link.say(message));
		return true;
	}
	void expect_counted(const std::string &counter, int64_t at_least = 1)
	{
		wait_until(counter, [&] { return passed()[counter] >= at_least; });
	}
	/* The server ends the group, and says why. */
	void expect_deleted(smc_llc_delete_reason reason)
	{
		const smc_llc_msg msg = decode_llc(link.hear_type(0x20 | SMC_LLC_DELETE_LINK));

		EXPECT_EQ(msg.flags & (SMC_LLC_REPLY | SMC_LLC_DELETE_ALL), SMC_LLC_DELETE_ALL);
		EXPECT_EQ(msg.delete_link.reason, reason);
	}
	/*
	 * Nothing of the rogue is left for the next test, and another connection, between the
	 * kernels of both guests, works.
	 */
	void TearDown() override
	{
		if (connections_at(agent))
			link.say(delete_all());
		wait_until("no connection is left", [&] { return !connections_at(agent); });

		Connection connection = make_connection(agent, Flavor());

		check_data(connection, 100000, true);
	}

	Agent agent;
	Counters before;
	RemoteSocket listener;
	Job accept;
	RogueLink link;
	RemoteSocket victim;
};

/* The rogue can behave correctly, so the failures of the other tests come from its violations. */
TEST_F(Rogue, WellBehaved)
{
	send_truly("from the rogue");
	EXPECT_EQ(victim.recv(14, MSG_WAITALL), "from the rogue");
	ASSERT_EQ(victim.send("to the rogue"), 12);
	EXPECT_FALSE(link.hear_type(SMC_CDC_TYPE).empty());
	EXPECT_EQ(link.element(12), "to the rogue");
	link.received = 12;
	expect_alive();
	EXPECT_EQ(passed().sum("violation_"), 0);
}

/* The rogue's host name is shown on terminals. */
TEST_F(Rogue, NameThatDoesNotPrint)
{
	EXPECT_NE(agent.must_run(smc("-j group")).find("\"rogue?[31m\""), std::string::npos);
}

/* A cursor, or flags, that no correct peer sends. */
struct Lie {
	const char *name;
	std::function<void(smc_cdc &, RogueLink &)> tell;
};

class RogueCursor : public Rogue, public testing::WithParamInterface<Lie>
{
};

TEST_P(RogueCursor, EndsTheConnection)
{
	smc_cdc cdc = link.true_cdc();

	GetParam().tell(cdc, link);
	ASSERT_TRUE(link.say(cdc));
	expect_reset(victim);
	expect_counted("violation_cursor");
	/* The victim tells the rogue about the abort. */
	std::string message = link.hear_type(SMC_CDC_TYPE);

	ASSERT_EQ(message.size(), size_t(SMC_CDC_LEN));
	EXPECT_TRUE(message[25] & SMC_CONN_ABORT);
	expect_link();
}

INSTANTIATE_TEST_SUITE_P(, RogueCursor,
			 testing::Values(Lie{"ProducerBeyondWindow",
					     [](smc_cdc &cdc, RogueLink &) {
						     cdc.prod = {1, 1};
					     }},
					 Lie{"ProducerFarBeyond",
					     [](smc_cdc &cdc, RogueLink &) {
						     cdc.prod = {500, 0};
					     }},
					 /* Not an orderly end, because bytes are missing. */
					 Lie{"ProducerFarBeyondAtItsEnd",
					     [](smc_cdc &cdc, RogueLink &) {
						     cdc.prod = {500, 0};
						     cdc.conn_flags =
							 SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED;
					     }},
					 Lie{"ProducerOffsetIsSize",
					     [](smc_cdc &cdc, RogueLink &l) {
						     cdc.prod = {0, l.element_size()};
					     }},
					 Lie{"ProducerOffsetHuge",
					     [](smc_cdc &cdc, RogueLink &) {
						     cdc.prod = {0, 0xffffffff};
					     }},
					 Lie{"ProducerBackwards",
					     [](smc_cdc &cdc, RogueLink &) {
						     cdc.prod = {0xffff, 16000};
					     }},
					 Lie{"ConsumerAheadOfData",
					     [](smc_cdc &cdc, RogueLink &) {
						     cdc.cons = {0, 1};
					     }},
					 Lie{"ConsumerOffsetIsSize",
					     [](smc_cdc &cdc, RogueLink &) {
						     cdc.cons = {0, 65536};
					     }},
					 Lie{"ConsumerHuge",
					     [](smc_cdc &cdc, RogueLink &) {
						     cdc.cons = {0xffff, 0xffffffff};
					     }}),
			 [](const auto &info) { return info.param.name; });

/* A client that sends bytes by TCP takes the connection for one of TCP, and would wait forever. */
TEST_F(Rogue, BytesByTcp)
{
	link.send_by_tcp("bytes");
	expect_reset(victim);
	expect_counted("violation_clc");
	expect_link();
}

/* TCP's connection has to stand: these are not the end of the stream that is awaited after its
 * reset. */
class RogueNoEnd : public Rogue, public testing::WithParamInterface<uint8_t>
{
};

TEST_P(RogueNoEnd, AfterItsReset)
{
	const int port = listener.port(), from = link.tcp_port();
	smc_cdc cdc = link.true_cdc();

	link.reset_tcp();
	wait_until("the victim's TCP connection is gone",
		   [&] { return !tcp_state(agent.read_file(tcp_table(AF_INET)), port, from); });
	cdc.conn_flags = GetParam();
	ASSERT_TRUE(link.say(cdc));
	victim.await(POLLHUP);
	EXPECT_EQ(victim.get(SOL_SOCKET, SO_ERROR), ECONNRESET);
	expect_link();
}

INSTANTIATE_TEST_SUITE_P(, RogueNoEnd, testing::Values(0x01, 0x1f, SMC_CONN_DONE_WRITING));

/* The low bits tell where the connection is, and the others whether that is the one. */
TEST_F(Rogue, TokenOfTheSamePlace)
{
	smc_cdc cdc = link.true_cdc();

	EXPECT_NE(cdc.token & 1023, 0u);
	cdc.prod = {0, 100};
	for (int bit = 10; bit < 32; bit++) {
		smc_cdc wrong = cdc;

		wrong.token ^= 1u << bit;
		ASSERT_TRUE(link.say(wrong));
	}
	expect_counted("violation_token", 22);
	expect_alive();
}

TEST_F(Rogue, UnknownToken)
{
	smc_cdc cdc = link.true_cdc();

	cdc.token += 77;
	for (int i = 0; i < 20; i++)
		ASSERT_TRUE(link.say(cdc));
	expect_counted("violation_token", 20);
	expect_alive();
}

/* More messages than can have been in flight when the connections ended. */
TEST_F(Rogue, UnknownTokensWithoutEnd)
{
	smc_cdc cdc = link.true_cdc();

	cdc.token += 77;
	for (int i = 0; i < 254; i++)
		ASSERT_TRUE(link.say(cdc));
	expect_counted("violation_token", 254);
	expect_alive();
	link.say(cdc);
	expect_reset(victim);
}

TEST_F(Rogue, WrongLengths)
{
	uint8_t buf[SMC_CDC_LEN];
	smc_cdc cdc = link.true_cdc();

	smc_cdc_build(buf, &cdc);
	/* The link delivers it, and the group ends. */
	link.say(std::string(reinterpret_cast<char *>(buf), SMC_CDC_LEN - 1));
	expect_counted("violation_cdc");
	expect_reset(victim);
}

TEST_F(Rogue, EmptyMessage)
{
	link.say(std::string());
	wait_until("counted", [&] { return passed().sum("violation_") >= 1; });
	expect_reset(victim);
}

TEST_F(Rogue, OneByte)
{
	link.say(std::string("\xfe"));
	expect_counted("violation_cdc");
	expect_reset(victim);
}

TEST_F(Rogue, LongestMessage)
{
	link.say(std::string(1, '\xfe') + std::string(8191, 'x'));
	wait_until("counted", [&] { return passed().sum("violation_") >= 1; });
	expect_reset(victim);
}

/*
 * A write with immediate data consumes a receive as a message does; its length is that of the
 * write.
 */
class RogueImmediate : public Rogue, public testing::WithParamInterface<uint32_t>
{
};

TEST_P(RogueImmediate, EndsTheGroup)
{
	link.write_with_immediate(GetParam());
	expect_counted("violation_llc");
	expect_reset(victim);
}

INSTANTIATE_TEST_SUITE_P(, RogueImmediate, testing::Values(0, 1, 44, 8192, 8193, 65536));

/* Messages of unknown type are ignored, as the protocol requires. */
TEST_F(Rogue, UnknownType)
{
	std::string message(SMC_LLC_LEN, '\0');

	message[0] = 0x2e;
	message[1] = SMC_LLC_LEN;
	ASSERT_TRUE(link.say(message));
	expect_alive();
}

TEST_F(Rogue, MessageOfVersion1)
{
	smc_llc_msg msg = llc(SMC_LLC_TEST_LINK);

	msg.v2 = false;
	link.say(msg);
	expect_counted("violation_llc");
	expect_reset(victim);
}

TEST_F(Rogue, FillsTheElement)
{
	write_on_after_read({1, 0});
	EXPECT_EQ(victim.recv(link.element_size() - 4, MSG_WAITALL).size(),
		  link.element_size() - 4);
	EXPECT_EQ(passed().sum("violation_"), 0);
}

/*
 * The rogue claims to have written into an element that another connection used before: the victim
 * does not read the bytes of that connection.
 */
TEST_F(Rogue, ElementUsedAgainIsEmpty)
{
	const smc_clc_r first = link.server().r;
	auto is_first = [&] {
		const smc_clc_r &r = link.server().r;

		return r.rkey == first.rkey && r.rmbe_index == first.rmbe_index;
	};
	smc_cdc cdc;

	for (int i = 0; i < 4; i++)
		send_truly(std::string(5000, 's'));
	EXPECT_EQ(victim.recv(20000, MSG_WAITALL), std::string(20000, 's'));
	/* The element may be given back a little after the next one is taken. */
	wait_until("it is used again", [&] {
		cdc = link.true_cdc();
		cdc.conn_flags = SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED;
		EXPECT_TRUE(link.say(cdc));
		EXPECT_EQ(victim.close(), 0);
		wait_until("the connection is over", [&] { return !connections_at(agent); });

		Job again = listener.start_accept();

		link.connect_again(address_of(1, AF_INET, listener.port()));
		victim = RemoteSocket(agent, std::stoi(again.join()));
		return is_first();
	});
	cdc = link.true_cdc();
	cdc.prod = {1, 0};
	ASSERT_TRUE(link.say(cdc));
	EXPECT_EQ(victim.recv(link.element_size(), MSG_WAITALL),
		  std::string(link.element_size(), '\0'));
	EXPECT_EQ(passed().sum("violation_"), 0);
}

/* The rogue was not told about the space that reading has freed. */
TEST_F(Rogue, FillsMoreThanItKnowsOf)
{
	write_on_after_read({1, 1});
	expect_reset(victim);
	expect_counted("violation_cursor");
	expect_link();
}

/* soft-RoCE lets any peer invalidate keys of the whole device: one that does loses its link. */
TEST_F(Rogue, InvalidatesAKey)
{
	const smc_llc_msg msg = llc(SMC_LLC_TEST_LINK);
	uint8_t buf[SMC_LLC_LEN];

	smc_llc_build(buf, &msg);
	link.say_and_invalidate({reinterpret_cast<char *>(buf), sizeof(buf)}, link.server().r.rkey);
	expect_counted("violation_llc");
	expect_reset(victim);
}

TEST_F(Rogue, AbortEndsTheConnectionOnly)
{
	smc_cdc cdc = link.true_cdc();

	cdc.conn_flags = SMC_CONN_ABORT;
	ASSERT_TRUE(link.say(cdc));
	expect_reset(victim);
	EXPECT_EQ(passed().sum("violation_"), 0);
	expect_link();
}

/* Its bytes fit the window that it has: the victim reads them without harm. */
TEST_F(Rogue, DataAfterItsClose)
{
	smc_cdc cdc = link.true_cdc();

	cdc.conn_flags = SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED;
	ASSERT_TRUE(link.say(cdc));
	victim.expect_end();
	send_truly("more");
	/* When the link has delivered this, it has delivered everything before. */
	expect_link();
	EXPECT_EQ(victim.recv(5, MSG_WAITALL), "more");
	victim.expect_end();
	EXPECT_EQ(passed().sum("violation_"), 0);
	victim.close();
	wait_until("no connection is left", [&] { return !connections_at(agent); });
}

/* The rogue will never make space for the last bytes: the final flags don't wait for that. */
TEST_F(Rogue, ClosesWithoutReading)
{
	smc_cdc cdc = link.true_cdc();
	std::string message;

	ASSERT_EQ(victim.send(std::string(100000, 'x')), 100000);
	cdc.conn_flags = SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED;
	ASSERT_TRUE(link.say(cdc));
	victim.expect_end();
	victim.close();
	do {
		message = link.hear_type(SMC_CDC_TYPE);
		ASSERT_EQ(message.size(), size_t(SMC_CDC_LEN));
	} while (!(message[25] & SMC_CONN_CLOSED));
}

/*
 * The rogue closes TCP, keeps the link, and never sends its final flags: what the victim closed
 * still ends.
 */
TEST_F(Rogue, NeverClosesTheStream)
{
	bool unlinked = false;

	ASSERT_EQ(victim.set(SOL_TCP, TCP_LINGER2, 1), 0);
	victim.close();
	EXPECT_GE(connections_at(agent), 1);
	link.reset_tcp();
	/* The rogue may still write into the element: it is quarantined, and the link ends. */
	wait_until("neither connection nor link is left", [&] {
		std::string message = link.hear(1);

		answer_probe(message);
		unlinked |= !message.empty() && uint8_t(message[0]) == (0x20 | SMC_LLC_DELETE_LINK);
		return unlinked && !connections_at(agent);
	});
}

/* The same, and the rogue keeps the TCP connection, too. */
TEST_F(Rogue, NeverClosesAnything)
{
	ASSERT_EQ(victim.set(SOL_TCP, TCP_LINGER2, 1), 0);
	victim.close();
	wait_until("no connection is left", [&] {
		answer_probe(link.hear(1));
		return !connections_at(agent);
	});
	EXPECT_EQ(passed()["orphans_timed_out"], 1);
	wait_until("no orphan is left", [&] { return !agent.counters()["orphans"]; });
}

/*
 * Elements into which the rogue may still write keep their buffers, which count whole and once,
 * until the group ends.
 */
TEST_F(Rogue, KeepsBuffers)
{
	/* Elements of 128 KiB in both directions; the third and fourth are in the same buffers. */
	constexpr int64_t one = 2 * 128 * 1024 / 4096, two = 2 * one;
	Address to = address_of(1, AF_INET, listener.port());
	std::vector<RemoteSocket> others;
	std::vector<Fd> tcp;

	auto orphan_pages = [&] {
		return agent.counters()["orphan_pages"];
	};
	auto quarantined_pages = [&] {
		return agent.counters()["quarantined_pages"];
	};
	auto close = [](RemoteSocket &socket) {
		ASSERT_EQ(socket.set(SOL_TCP, TCP_LINGER2, 1), 0);
		socket.close();
	};
	auto await_end = [&] {
		wait_until("it is given up", [&] { return !agent.counters()["orphans"]; });
		EXPECT_EQ(orphan_pages(), 0);
	};

	for (int element = 2; element <= 4; element++) {
		Job accepted = listener.start_accept();

		tcp.push_back(link.take_tcp());
		link.connect_again(to, [element](smc_clc_r &r) { r.rmbe_index = element; });
		others.emplace_back(agent, std::stoi(accepted.join()));
	}
	wait_until("nothing of tests before is kept", [&] { return !quarantined_pages(); });
	close(others[1]);
	EXPECT_EQ(orphan_pages(), two);
	await_end();
	EXPECT_EQ(quarantined_pages(), two);
	/* In the same buffers. */
	close(others[2]);
	EXPECT_EQ(orphan_pages(), 0);
	await_end();
	EXPECT_EQ(quarantined_pages(), two);
	close(others[0]);
	EXPECT_EQ(orphan_pages(), one);
	await_end();
	EXPECT_EQ(quarantined_pages(), two + one);

	ASSERT_TRUE(link.say(delete_all()));
	wait_until("nothing is kept", [&] { return !quarantined_pages(); });
	EXPECT_EQ(victim.ending(), -ECONNRESET);
}

/*
 * The rogue accepts no more messages, but still sends, so the link would not be tested if its
 * timeout were on.
 */
class RogueDeaf : public Rogue
{
protected:
	RogueDeaf()
	    : no_tests(agent, "net.smc.smcr_testlink_time", "0"), established(agent.counters())
	{
	}
	/* More messages than the rogue has receives for, each from another send(). */
	void send_too_many()
	{
		ASSERT_EQ(victim.set(SOL_TCP, TCP_NODELAY, 1), 0);
		autocorking.emplace(agent, "net.smc.autocorking_size", "0");
		for (int i = 0; i < 100; i++)
			ASSERT_EQ(victim.send("x"), 1);
	}
	/* At most this many are in flight, however many small writes there are: the rest waits. */
	void expect_messages(int64_t n)
	{
		for (int i = 0; i < 10; i++)
			ASSERT_EQ(victim.send("x"), 1);
		EXPECT_EQ((agent.counters() - established)["rdma_sends"], n);
	}
	void expect_stalled()
	{
		/* Links of rogues before may be given up, too, when they are tested. */
		wait_until(
		    "the link is given up", [&] { return passed()["rdma_links_stalled"] >= 1; },
		    180);
		EXPECT_EQ(victim.ending(), -ETIMEDOUT);
		EXPECT_EQ(passed()["rdma_groups_lost"], 1);
		wait_until("no connection is left", [&] { return !connections_at(agent); });
	}

	/* Another connection on the link, by an RMB and with a token of its own. */
	RemoteSocket connect_another(uint32_t token)
	{
		const uint32_t rkey = link.another_rkey();

		expect_answered(link, confirm_rkey(link, rkey));
		others.push_back(link.take_tcp());

		Job accepted = listener.start_accept();

		link.connect_again(address_of(1, AF_INET, listener.port()), [&](smc_clc_r &r) {
			r.rkey = rkey;
			r.alert_token = token;
		});
		return {agent, std::stoi(accepted.join())};
	}

	RemoteSysctlScope no_tests;
	Counters established;
	std::optional<RemoteSysctlScope> autocorking;
	std::list<Fd> others;
};

TEST_F(RogueDeaf, PostsNoReceives)
{
	link.stop_posting();
	send_too_many();
	expect_stalled();
}

TEST_F(RogueDeaf, AcknowledgesNothing)
{
	link.destroy_queue_pair();
	expect_messages(1);
	/* TCP_NODELAY also sends bytes that wait. */
	ASSERT_EQ(victim.set(SOL_TCP, TCP_NODELAY, 1), 0);
	expect_messages(4);
	expect_stalled();
}

/* A writer's bytes wait while those of another one are under way; a request does not. */
TEST_F(RogueDeaf, HasFewBytesUnderWay)
{
	auto written = [&] {
		return (agent.counters() - established)["rdma_write_bytes"];
	};
	RemoteSocket other = connect_another(2);

	link.destroy_queue_pair();
	ASSERT_EQ(victim.send(std::string(65536, 'x')), 65536);

	/* All of it, or the first piece if the connections count as sharing the link. */
	const int64_t first_bytes = written();

	EXPECT_GE(first_bytes, 32768);
	ASSERT_EQ(other.send("request"), 7);
	EXPECT_EQ(written(), first_bytes + 7);
	ASSERT_EQ(other.send(std::string(32768, 'x')), 32768);
	EXPECT_EQ(written(), first_bytes + 7);
	expect_stalled();
}

/*
 * The link has no free slot, and connections wait for one: first the one that has used all slots,
 * then the others. One that has just sent is the last.
 */
TEST_F(RogueDeaf, ServesConnectionsInTheOrderOfWaiting)
{
	enum : uint32_t { second_token = 2, third_token = 3 };

	RemoteSocket second = connect_another(second_token), third = connect_another(third_token);
	std::vector<uint32_t> tokens;
	auto sends = [&] {
		return (agent.counters() - established)["rdma_sends"];
	};
	auto index_of = [&](uint32_t token) {
		return std::find(tokens.begin(), tokens.end(), token) - tokens.begin();
	};

	expect_link();

	const int64_t sends_before = sends();

	link.stop_posting();
	send_too_many();
	send_too_many();

	/* The rest of the victim's bytes waits for a slot. */
	const int64_t under_way = sends() - sends_before;

	EXPECT_LT(under_way, 200);
	ASSERT_EQ(second.send("b"), 1);
	ASSERT_EQ(third.send("c"), 1);
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(victim.send("x"), 1);
	EXPECT_EQ(sends() - sends_before, under_way);

	while (std::count(tokens.begin(), tokens.end(), third_token) == 0) {
		tokens.push_back(hear_cdc(link).token);
		link.post_one();
	}
	/* One message of the victim's precedes that of the second. */
	EXPECT_EQ(index_of(second_token), under_way + 1);
	EXPECT_EQ(index_of(third_token), under_way + 2);
	while (link.post_one())
		;
}

/* A correct peer may be short of receives at any time. Nothing is lost. */
TEST_F(RogueDeaf, PostsFewReceives)
{
	const std::string all(100, 'x');

	link.stop_posting();
	send_too_many();
	while (link.element(all.size()) != all) {
		ASSERT_FALSE(link.hear_type(SMC_CDC_TYPE).empty());
		link.post_one();
	}
	while (link.post_one())
		;
	link.received = all.size();
	expect_alive();
}

/*
 * A connection that was never accepted, with a rogue that ignores the reset: nothing of it remains.
 */
TEST(RogueUnaccepted, IsForgotten)
{
	Agent agent;
	RemoteSysctlScope fin_timeout(agent, "net.ipv4.tcp_fin_timeout", "1");
	RemoteSocket listener = agent.listen(Flavor());
	RogueLink link(address_of(1, AF_INET, listener.port()));

	wait_until("there is a connection", [&] { return connections_at(agent); });
	listener.close();
	wait_until("no connection is left", [&] {
		link.hear(1);
		return !connections_at(agent);
	});
}

/* As SMC_GROUP_GUESSES. */
constexpr int guesses = 16;

/*
 * It names the link of another address. Only if it names an RMB that it has told of over the link,
 * a client joins it, and after some wrong ones not even then.
 */
TEST_F(RogueServer, ProvesItsLinkElsewhere)
{
	OtherAddress stranger;
	const smc_clc_agreement right = accept_of_link();
	smc_clc_agreement wrong = right;

	wrong.r.rmb_addr += 4096;
	expect_refused(wrong, SMC_DIAG_NO_ROUTE, stranger.text);
	expect_joined(right, stranger.text);
	for (int i = 1; i < guesses; i++)
		expect_refused(wrong, SMC_DIAG_NO_ROUTE, stranger.text);
	expect_refused(right, SMC_DIAG_NO_ROUTE, stranger.text);
	/* Strangers take nothing from the server itself. */
	expect_joined(right);
}

/* An RMB that it tells of later is as good, until it deletes it. */
TEST_F(RogueServer, TellsOfItsBuffers)
{
	smc_clc_agreement other = accept_of_link();
	smc_llc_msg msg = {.type = SMC_LLC_CONFIRM_RKEY};

	other.r.rkey ^= 0x100;
	msg.v2 = true;
	msg.confirm_rkey.rt[0] = {.rkey = other.r.rkey, .addr = other.r.rmb_addr};
	say(msg);
	EXPECT_FALSE(link.hear_type(0x20 | SMC_LLC_CONFIRM_RKEY).empty());
	expect_joined(other);

	msg = {.type = SMC_LLC_DELETE_RKEY};
	msg.v2 = true;
	msg.delete_rkey.count = 1;
	msg.delete_rkey.rkey[0] = other.r.rkey;
	say(msg);
	EXPECT_FALSE(link.hear_type(0x20 | SMC_LLC_DELETE_RKEY).empty());
	expect_refused(other);
	expect_joined(accept_of_link());
}

/* It names an element that another connection uses, as a program could that has seen an ACCEPT. */
TEST_F(RogueServer, NamesAnElementInUse)
{
	smc_clc_agreement free_one = accept_of_link();

	free_one.r.rmbe_index = 2;
	expect_refused(accept_of_link(), SMC_DIAG_NO_ACTIVE_LINK);
	/* The group is retired, so that the server makes another one. */
	expect_refused(free_one, SMC_DIAG_NO_ACTIVE_LINK);
}

/* The server declined when the client was through: it has freed the element, which nobody reads. */
TEST_F(RogueServer, DeclinesLate)
{
	smc_clc_agreement accept = accept_of_link();

	accept.r.rmbe_index = n_elements + 1;

	Lured &lured = answer(accept);

	EXPECT_FALSE(receive_agreement(lured.rogue, SMC_CLC_CONFIRM).first_contact);
	EXPECT_EQ(lured.connecting.join(), "0");
	ASSERT_EQ(lured.client.send("bytes"), 5);
	send_bytes(lured.rogue, encode_decline(SMC_DIAG_SYNC));
	expect_reset(lured.client);
	expect_joined(accept);
}

/*
 * A server at another address says that the queue pair is its own. It would be taken for the other
 * one's link.
 */
TEST_F(RogueServer, HasItsQueuePairAlone)
{
	OtherAddress stranger;
	smc_clc_agreement accept = accept_of_link();

	accept.first_contact = true;
	expect_refused(accept, SMC_DIAG_NO_ROUTE, stranger.text);
	expect_joined(accept_of_link());
}

/* The server's host has booted, and the queue pairs have the same numbers: that link is the one. */
TEST_F(RogueServer, BootsAnew)
{
	smc_clc_agreement old = accept_of_link(), anew = old;

	/* Free, as the group is not retired for that. */
	old.r.rmbe_index = 99;
	anew.r.peer_id[0] ^= 0x55;
	link.begin_anew();
	first_contact(anew);
	expect_joined(anew);
	expect_refused(old, SMC_DIAG_NO_ACTIVE_LINK);
}

/*
 * A program gives up its connection while the server withholds what the client's kernel waits for:
 * the answer about a new RMB, or an element that is free.
 */
class RogueServerHolds : public RogueServer
{
protected:
	/* Begins to connect, and gets an ACCEPT that names element @index. */
	void begin(uint8_t index)
	{
		Fd listener = offering_socket();
		smc_clc_agreement accept = accept_of_link();

		ASSERT_EQ(listen(listener, 1), 0);
		client.emplace(agent.socket(Flavor()));
		agent.call({"nonblock", std::to_string(client->number()), "1"});
		ASSERT_EQ(client->connect(address_from(address_of(0, AF_INET, 0).text(),
						       local_address(listener).port())),
			  -EINPROGRESS);
		rogue = must_accept(listener);
		receive_proposal(rogue);
		accept.r.rmbe_index = index;
		send_bytes(rogue, encode(accept));
	}
	/* Makes the client wait for an element that its first connection uses. */
	void begin_with_element_in_use()
	{
		begin(1);

		std::string message = link.hear_type(0x20 | SMC_LLC_CONFIRM_RKEY);

		ASSERT_FALSE(message.empty());
		message[3] = char(SMC_LLC_REPLY);
		ASSERT_TRUE(link.say(message));
		wait_until("the client waits", [&] { return connections_at(agent) == 2; });
	}

	std::optional<RemoteSocket> client;
	Fd rogue;
};

/*
 * close() returns before the answer is late: the answer still counts. The connection ends after it.
 */
TEST_F(RogueServerHolds, NoClose)
{
	/* Of a size that the link has no RMB for. */
	RemoteSysctlScope rmem(agent, "net.smc.rmem", "524288");

	begin(++n_elements);

	std::string message = link.hear_type(0x20 | SMC_LLC_CONFIRM_RKEY);

	ASSERT_FALSE(message.empty());
	EXPECT_EQ(client->close(), 0);
	message[3] = char(SMC_LLC_REPLY);
	ASSERT_TRUE(link.say(message));
	EXPECT_EQ(receive_message(rogue), "");
	expect_joined(accept_of_link());
}

/* Nor is the group retired because of an element that was not waited for to the end. */
TEST_F(RogueServerHolds, NoShutdown)
{
	begin_with_element_in_use();
	EXPECT_EQ(client->shutdown(SHUT_RDWR), 0);
	EXPECT_EQ(receive_message(rogue), "");
	expect_joined(accept_of_link());
}

/* Nor does the element count as free because the group ends: the client can still decline. */
TEST_F(RogueServerHolds, NoDecline)
{
	begin_with_element_in_use();
	end_link();
	EXPECT_EQ(diagnosis_of(receive_message(rogue)), SMC_DIAG_NO_ACTIVE_LINK);
}

/* A program at the server's address, which the link's server is not. */
TEST_F(RogueServer, ProvesItsLinkAtItsAddress)
{
	const smc_clc_agreement right = accept_of_link();
	smc_clc_agreement wrong = right;

	wrong.r.rkey ^= 1;
	expect_joined(right);
	for (int i = 0; i < guesses; i++)
		expect_refused(wrong);
	/* The group is retired. */
	expect_refused(right, SMC_DIAG_NO_ACTIVE_LINK);
}

TEST_F(Rogue, WriteOutsideItsElement)
{
	/* The rkey gives access to one RMB only. */
	EXPECT_NE(link.write_to(link.server().r.rmb_addr + (1 << 20), link.server().r.rkey, "x"),
		  IBV_WC_SUCCESS);
}

TEST_F(Rogue, WriteWithAnotherRkey)
{
	EXPECT_NE(link.write_to(link.server().r.rmb_addr, link.server().r.rkey + 0x100, "x"),
		  IBV_WC_SUCCESS);
}

TEST_F(Rogue, TestLinkIsAnswered)
{
	expect_link();
	expect_alive();
}

TEST_F(Rogue, ConfirmRkeyIsAnswered)
{
	smc_llc_msg msg = llc(SMC_LLC_CONFIRM_RKEY);

	msg.confirm_rkey.rt[0] = {.rkey = 0x1234, .addr = 0x5678};
	ASSERT_TRUE(link.say(msg));

	std::string reply = link.hear_type(0x20 | SMC_LLC_CONFIRM_RKEY);

	ASSERT_EQ(reply.size(), size_t(SMC_LLC_LEN));
	EXPECT_EQ(uint8_t(reply[3]) & (SMC_LLC_REPLY | SMC_LLC_RKEY_NEGATIVE), SMC_LLC_REPLY);
	expect_alive();
}

/*
 * Without the reply a further RMB can't be used. The link was confirmed, so that is not the reason.
 */
TEST(RogueSilent, ConfirmRkeyIsNotAnswered)
{
	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	RogueLink link(to);
	/* The first buffer has one element. */
	Fd second = propose(to, good_proposal());

	EXPECT_EQ(diagnosis_of(receive_message(second)), SMC_DIAG_INTERNAL_REGISTER);
}

/* The first buffer has one element, so a second connection needs another. */
class RogueRetries : public testing::Test
{
protected:
	/* Answers the server's next CONFIRM RKEY. Return: whether one came. */
	bool answer(uint8_t flags)
	{
		std::string message = link.hear_type(0x20 | SMC_LLC_CONFIRM_RKEY);

		if (message.empty())
			return false;
		message[3] = char(SMC_LLC_REPLY | flags);
		return link.say(message);
	}

	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	RogueLink link{to};
	Fd second = propose(to, good_proposal());
};

TEST_F(RogueRetries, ConfirmRkeyAndAcceptsIt)
{
	ASSERT_TRUE(answer(SMC_LLC_RKEY_NEGATIVE | SMC_LLC_RKEY_RETRY));
	ASSERT_TRUE(answer(0));
	EXPECT_FALSE(receive_agreement(second, SMC_CLC_ACCEPT).first_contact);
}

TEST_F(RogueRetries, ConfirmRkeyForEver)
{
	EXPECT_GT(confirm_rkeys(link, second, SMC_LLC_RKEY_NEGATIVE | SMC_LLC_RKEY_RETRY), 1);
	EXPECT_EQ(diagnosis_of(receive_message(second)), SMC_DIAG_INTERNAL_RTOKEN);
}

TEST_F(RogueRetries, NotAfterARefusal)
{
	EXPECT_EQ(confirm_rkeys(link, second, SMC_LLC_RKEY_NEGATIVE), 1);
	EXPECT_EQ(diagnosis_of(receive_message(second)), SMC_DIAG_INTERNAL_RTOKEN);
}

/* Bytes of the send buffers of groups with connections. */
static int64_t send_buffers_at(Agent &agent)
{
	int64_t bytes = 0;

	for (const auto &group : parse_json(agent.must_run(smc("-j group"))))
		if (group.at("conns").get<int>())
			bytes += group.at("sndbuf-bytes").get<int64_t>();
	return bytes;
}

/* Memory that nobody uses does not wait for a peer that can't be told of it. */
TEST(RogueSilent, KeepsNoEmptyBuffer)
{
	Agent agent;
	/* A buffer has two elements. */
	RemoteSysctlScope rmem(agent, "net.smc.rmem", "524288");
	RemoteSysctlScope wmem(agent, "net.smc.wmem", "524288");
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	RogueLink link(to);
	Fd first_tcp = link.take_tcp();
	RemoteSocket first = listener.accept();

	wait_until("earlier tests have left nothing", [&] { return connections_at(agent) == 1; });

	int64_t of_first = send_buffers_at(agent);

	/* The next connection sends from a buffer of its own, which is empty after its end. */
	agent.set_sysctl("net.smc.wmem", "65536");
	link.connect_again(to, [](smc_clc_r &r) { r.rmbe_index = 2; });

	RemoteSocket second = listener.accept();
	smc_cdc end = link.true_cdc();

	end.conn_flags = SMC_CONN_ABORT;
	ASSERT_TRUE(link.say(end));
	second.close();
	wait_until("the first is left", [&] { return connections_at(agent) == 1; });
	ASSERT_GT(send_buffers_at(agent), of_first);

	/* The next one receives into a new buffer, of which the rogue does not want to know. */
	agent.set_sysctl("net.smc.rmem", "65536");

	Fd third = propose(to, good_proposal());

	EXPECT_EQ(diagnosis_of(receive_message(third)), SMC_DIAG_INTERNAL_REGISTER);
	ASSERT_FALSE(link.hear_type(0x20 | SMC_LLC_CONFIRM_RKEY).empty());
	wait_until(
	    "the empty buffer is freed",
	    [&] {
		    agent.must_run("echo 2 >/proc/sys/vm/drop_caches");
		    return send_buffers_at(agent) == of_first;
	    },
	    5);

	/* It is not asked again yet, so nor was it told. */
	Fd fourth = propose(to, good_proposal());

	EXPECT_EQ(diagnosis_of(receive_message(fourth)), SMC_DIAG_INTERNAL_REGISTER);
	EXPECT_TRUE(link.hear_type(0x20 | SMC_LLC_CONFIRM_RKEY, 0).empty());
}

/*
 * A program at the client's address that knows all of the link but its RMBs does not join the
 * group, which is retired, since the link's client may be writing.
 */
TEST(SecondContact, ProvesTheLink)
{
	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	RogueLink link(to);
	Fd first = link.take_tcp();

	link.connect_again(to, [](smc_clc_r &r) { r.rkey ^= 1; });
	EXPECT_EQ(receive_message(link.take_tcp()), "");

	Fd next = propose(to, good_proposal());

	EXPECT_TRUE(receive_agreement(next, SMC_CLC_ACCEPT).first_contact);
}

/* Nobody's bytes are written into an element that another connection uses, or a part of it. */
TEST(SecondContact, NamesAnElementInUse)
{
	for (const auto &change : std::vector<std::function<void(smc_clc_r &)>>{
		 [](smc_clc_r &) {},
		 [](smc_clc_r &r) {
			 r.rmbe_size_code--;
			 r.rmbe_index = 2;
		 },
		 [](smc_clc_r &r) { r.rmbe_size_code++; },
	     }) {
		Agent agent;
		RemoteSocket listener = agent.listen(Flavor());
		Address to = address_of(1, AF_INET, listener.port());
		RogueLink link(to);
		Fd first = link.take_tcp();

		link.connect_again(to, change);
		EXPECT_EQ(receive_message(link.take_tcp()), "");
	}
}

/* A reset keeps no program from reading what had arrived. */
TEST(SecondContact, NamesAnElementThatIsRead)
{
	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	Job accept = listener.start_accept();
	Address to = address_of(1, AF_INET, listener.port());
	RogueLink link(to);
	RemoteSocket victim(agent, std::stoi(accept.join()));
	Fd first = link.take_tcp();
	std::string message;

	ASSERT_EQ(victim.send("answer"), 6);
	ASSERT_EQ(link.write(0, "unread"), IBV_WC_SUCCESS);
	link.sent = 6;
	ASSERT_TRUE(link.say(link.true_cdc()));
	victim.await(POLLIN);
	victim.close();
	do {
		message = link.hear_type(SMC_CDC_TYPE);
		ASSERT_EQ(message.size(), size_t(SMC_CDC_LEN));
	} while (!(message[25] & SMC_CONN_ABORT));
	link.connect_again(to);
	EXPECT_EQ(receive_message(link.take_tcp()), "");
}

TEST_F(Rogue, DeleteRkeyIsAnswered)
{
	smc_llc_msg msg = llc(SMC_LLC_DELETE_RKEY);

	msg.delete_rkey.count = 1;
	msg.delete_rkey.rkey[0] = 0x4321;
	ASSERT_TRUE(link.say(msg));

	std::string reply = link.hear_type(0x20 | SMC_LLC_DELETE_RKEY);

	ASSERT_EQ(reply.size(), size_t(SMC_LLC_LEN));
	EXPECT_TRUE(uint8_t(reply[3]) & SMC_LLC_REPLY);
	expect_alive();
}

class RogueAddLink : public Rogue, public testing::WithParamInterface<int>
{
};

/* The short message, and one of the size for as many keys as possible. */
TEST_P(RogueAddLink, IsRejected)
{
	smc_llc_msg msg = llc(SMC_LLC_ADD_LINK);

	memcpy(msg.add_link.gid, link.server().r.gid, SMC_GID_LEN);
	msg.add_link.qpn = 99;
	msg.add_link.link = 2;
	msg.add_link.mtu = 3;
	if (GetParam() < 0) {
		ASSERT_TRUE(link.say(msg));
	} else {
		std::string large(SMC_LLC_ADD_LINK_LEN(GetParam()), '\0');

		msg.little_endian = true; /* as in-tree Linux */
		msg.add_link.n_rkeys = GetParam();
		smc_llc_build_add_link(reinterpret_cast<uint8_t *>(large.data()), &msg);
		ASSERT_TRUE(link.say(large));
	}

	std::string reply = link.hear_type(0x20 | SMC_LLC_ADD_LINK);

	ASSERT_GE(reply.size(), size_t(SMC_LLC_LEN));
	EXPECT_EQ(uint8_t(reply[3]), SMC_LLC_REPLY | SMC_LLC_ADD_LINK_REJECTED);
	expect_alive();
}

INSTANTIATE_TEST_SUITE_P(, RogueAddLink, testing::Values(-1, 0, 1, 255), [](const auto &info) {
	return info.param < 0 ? std::string("Small") : "Rkeys" + std::to_string(info.param);
});

TEST_F(Rogue, RequestAddLink)
{
	std::string message(72, '\0');

	message[0] = 0x20 | SMC_LLC_REQUEST_ADD_LINK;
	message[1] = char(message.size());
	message[24] = 1;
	ASSERT_TRUE(link.say(message));
	expect_alive();
}

TEST_F(Rogue, ConfirmLinkAgain)
{
	smc_llc_msg msg = llc(SMC_LLC_CONFIRM_LINK);

	link.say(msg);
	expect_counted("violation_llc");
	expect_reset(victim);
}

/* An operator removes the server's device. */
TEST_F(Rogue, IsLeftByTheDevice)
{
	/* The removal waits for the rogue. */
	std::thread removal([&] { Agent().must_run("rdma link delete rxe0; lab-rxe eth0"); });

	expect_deleted(SMC_LLC_DEL_OPERATOR);
	removal.join();
	EXPECT_EQ(victim.ending(), -ENETDOWN);
}

TEST_F(Rogue, RepliesToNoRequest)
{
	for (smc_llc_type type : {SMC_LLC_CONFIRM_LINK, SMC_LLC_ADD_LINK, SMC_LLC_DELETE_LINK,
				  SMC_LLC_CONFIRM_RKEY, SMC_LLC_TEST_LINK, SMC_LLC_DELETE_RKEY}) {
		smc_llc_msg msg = llc(type);

		msg.flags = SMC_LLC_REPLY;
		ASSERT_TRUE(link.say(msg)) << type;
	}
	expect_alive();
}

TEST_F(Rogue, DeleteLinkEndsTheGroup)
{
	ASSERT_TRUE(link.say(delete_all()));
	EXPECT_FALSE(link.hear_type(0x20 | SMC_LLC_DELETE_LINK).empty());
	expect_reset(victim);
}

TEST_F(Rogue, DeleteLinkOfTheLinkEndsTheGroup)
{
	smc_llc_msg msg = llc(SMC_LLC_DELETE_LINK);

	msg.delete_link.link = 1;
	msg.delete_link.reason = SMC_LLC_DEL_LOST_PATH;
	ASSERT_TRUE(link.say(msg));
	EXPECT_FALSE(link.hear_type(0x20 | SMC_LLC_DELETE_LINK).empty());
	expect_reset(victim);
}

TEST_F(Rogue, DeleteLinkOfAnotherLink)
{
	smc_llc_msg msg = llc(SMC_LLC_DELETE_LINK);

	msg.delete_link.link = 2;
	msg.delete_link.reason = SMC_LLC_DEL_LOST_PATH;
	ASSERT_TRUE(link.say(msg));

	const smc_llc_msg reply = decode_llc(link.hear_type(0x20 | SMC_LLC_DELETE_LINK));

	EXPECT_EQ(reply.flags, SMC_LLC_REPLY);
	EXPECT_EQ(reply.delete_link.link, 2);
	EXPECT_EQ(reply.delete_link.reason, SMC_LLC_DEL_NO_SUCH_LINK);
	expect_alive();
}

/* The rogue takes no answers, so they can't be sent, while more and more requests arrive. */
TEST_F(Rogue, Flood)
{
	smc_llc_msg msg = llc(SMC_LLC_TEST_LINK);
	int said = 0;

	while (said < 2000 && link.say(msg))
		said++;
	EXPECT_LT(said, 2000) << "all of them are kept";
	expect_counted("violation_llc");
	expect_reset(victim);
}

TEST_F(Rogue, Noise)
{
	std::mt19937 random(1);

	/* After a violation the link can't send any more. */
	for (int i = 0; i < 200; i++) {
		std::string message(SMC_LLC_LEN, '\0');

		for (char &c : message)
			c = char(random());
		/* Most types are unknown, so known ones are preferred. */
		message[0] = random() % 2 ? char(0x21 + random() % 9) : char(0xfe);
		message[1] = SMC_LLC_LEN;
		message[2] = 0;
		if (!link.say(message))
			break;
	}
	wait_until("counted", [&] { return passed().sum("violation_") >= 1; });
}
