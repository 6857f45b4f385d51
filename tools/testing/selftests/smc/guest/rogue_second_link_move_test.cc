// SPDX-License-Identifier: GPL-2.0
/*
 * A connection moves from the first link to the second one. Each link has a completion queue of its
 * own, so the messages of one end may reach the other in another order.
 */
#include <initializer_list>
#include <netinet/tcp.h>
#include <string>

#include "links_shown.h"
#include "rogue_flow.h"
#include "rogue_second_link.h"

using namespace guest;

class RogueMove : public RogueNewLink
{
protected:
	void SetUp() override
	{
		have_two_links();
	}

	/* The server has handled all that has come on the link. */
	void expect_handled(RogueQueuePair &by)
	{
		expect_answered(by, llc(SMC_LLC_TEST_LINK));
	}

	smc_cursor at(uint64_t position) const
	{
		return smc_cursor_from_position(position, link.element_size());
	}

	/* A message that reports the bytes up to a position. */
	smc_cdc message(uint16_t number, uint64_t position) const
	{
		smc_cdc cdc = {};

		cdc.seq = number;
		cdc.token = link.server().r.alert_token;
		cdc.prod = at(position);
		cdc.cons = smc_cursor_from_position(link.received, RogueQueuePair::element_bytes);
		return cdc;
	}
	void say_on(RogueQueuePair &by, const smc_cdc &cdc)
	{
		ASSERT_TRUE(by.say(encode(cdc)));
	}

	/* The rogue moves to the second link. @number: of the last message on the first one */
	void say_validation(uint16_t number)
	{
		smc_cdc cdc = {};

		moved_to = &end;
		cdc.seq = number;
		cdc.token = link.server().r.alert_token;
		cdc.prod_flags = SMC_PROD_FAILOVER;
		say_on(end, cdc);
	}

	/* Writes the next bytes of the stream by the first link, or by the second. */
	void write_first(const std::string &bytes)
	{
		ASSERT_EQ(link.write(link.sent, bytes), IBV_WC_SUCCESS);
		link.sent += bytes.size();
	}
	void write_second(const std::string &bytes)
	{
		write_by(end, offer, link.sent, bytes);
		link.sent += bytes.size();
	}

	void expect_nothing_to_read(int flags = 0, int error = EAGAIN)
	{
		long rc;

		victim.recv(1, flags | MSG_DONTWAIT, &rc);
		EXPECT_EQ(rc, -error);
	}

	/* The stream goes on with a message of this number on the second link. */
	void expect_goes_on(uint16_t number)
	{
		write_second("on");
		say_on(end, message(number, link.sent));
		EXPECT_EQ(victim.recv(2, MSG_WAITALL), "on");
		EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
	}

	/*
	 * Moves before message @awaited comes, which is to report the next six bytes. Messages that
	 * come later on the second link report the bytes behind these, and the first of the
	 * messages has an urgent byte.
	 */
	void overtake(uint16_t awaited)
	{
		const uint64_t missing = link.sent;
		smc_cdc urgent;

		say_validation(awaited);
		link.sent += 6;
		write_second("third!");
		urgent = message(awaited + 1, link.sent);
		urgent.prod_flags = SMC_PROD_URGENT_PENDING | SMC_PROD_URGENT_PRESENT;
		say_on(end, urgent);
		write_second("fourth");
		say_on(end, message(awaited + 2, link.sent));
		expect_handled(end);
		expect_nothing_to_read();
		expect_nothing_to_read(MSG_OOB, EINVAL);
		after = link.sent;
		link.sent = missing;
	}

	/* The awaited message is lost along with the first link. */
	void expect_reset_for_good()
	{
		const int64_t groups_lost = (agent.counters() - before)["rdma_groups_lost"];
		smc_cdc cdc;

		expect_reset(victim);
		do
			cdc = hear_cdc(end);
		while (!(cdc.conn_flags & SMC_CONN_ABORT));
		/* The connection alone. */
		EXPECT_EQ((agent.counters() - before)["rdma_groups_lost"], groups_lost);
		EXPECT_EQ((agent.counters() - before).sum("violation_"), 0);
	}

	/* The message that reports the server's bytes up to a position. */
	static smc_cdc hear_report(RogueQueuePair &by, uint32_t position)
	{
		smc_cdc cdc;

		do
			cdc = hear_cdc(by);
		while (cdc.prod.offset != position);
		return cdc;
	}

	/* The server sends a byte by the first link. Returns the number of its message. */
	uint16_t hear_byte(const std::string &byte)
	{
		EXPECT_EQ(victim.send(byte), 1);
		return hear_report(link, ++from_server).seq;
	}

	uint64_t after = 0; /* the rogue's position when it has overtaken */
	uint32_t from_server = 0;
};

/* Two messages of the first link are on the way. The second of them is the one that is awaited. */
TEST_F(RogueMove, OvertakesMessagesOfTheFirstLink)
{
	overtake(seq + 2);

	write_first("fi");
	say_on(link, message(seq + 1, link.sent));
	EXPECT_EQ(victim.recv(2, MSG_WAITALL), "fi");
	expect_handled(link);
	expect_nothing_to_read();
	expect_nothing_to_read(MSG_OOB, EINVAL);

	write_first("rst ");
	say_on(link, message(seq + 2, link.sent));
	EXPECT_EQ(victim.recv(9, MSG_WAITALL), "rst third");
	EXPECT_EQ(victim.recv(1, MSG_OOB), "!");
	EXPECT_EQ(victim.recv(6, MSG_WAITALL), "fourth");
	link.sent = after;
	expect_goes_on(seq + 5);
}

/* The first link is lost, and a message with it. */
TEST_F(RogueMove, OvertakesAMessageThatIsLost)
{
	overtake(seq + 1);
	break_link(link, link.server().r);
	end.expect_deletion(1);
	expect_reset_for_good();
}

/* The rogue gives up the first link, and never sends the message. */
TEST_F(RogueMove, OvertakesAMessageThatNeverComes)
{
	overtake(seq + 1);
	ASSERT_TRUE(end.say(delete_link(1)));
	end.expect_deletion(1);
	expect_reset_for_good();
}

/* Messages on either link are older than one that has come, or have its number again. */
TEST_F(RogueMove, RepeatsOldMessages)
{
	say_validation(seq);
	expect_goes_on(seq + 1);
	for (int distance : {0, -1, -2, -0x7000}) {
		smc_cdc old = message(seq + 1 + distance, link.sent + 4);

		old.conn_flags = SMC_CONN_DONE_WRITING;
		write_second("lies");
		link.sent -= 4;
		for (RogueQueuePair *by : std::initializer_list<RogueQueuePair *>{&link, &end}) {
			say_on(*by, old);
			expect_handled(*by);
			expect_nothing_to_read();
		}
	}
	expect_goes_on(seq + 2);
	EXPECT_EQ(victim.send("answer"), 6);
}

/*
 * Bytes of the rogue may still come by the first link, so no other connection gets the element
 * before the server has left the link, too.
 */
TEST_F(RogueMove, KeepsAClosedConnectionUntilTheLinkEnds)
{
	auto connections = [&] {
		int n = 0;

		for (const ShownGroup &group : shown_groups(agent))
			for (const ShownLink &one : group.links)
				n += one.connections;
		return n;
	};
	smc_cdc last;

	say_validation(seq);
	expect_goes_on(seq + 1);
	last = message(seq + 2, link.sent);
	last.conn_flags = SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED;
	say_on(end, last);
	expect_handled(end);
	ASSERT_EQ(victim.close(), 0);
	do
		last = hear_cdc(link);
	while (!(last.conn_flags & SMC_CONN_CLOSED));
	/* The rogue does not delete the link. So the server gives it up, and then ends all. */
	moved_to = &end;
	wait_until("the connection ends", [&] { return connections() == 0; });
	EXPECT_EQ((agent.counters() - before)["rdma_links_lost"], 1);
	end.expect_deletion(1);
}

/*
 * The server has sent a message that never completes, as the rogue's queue pair is gone. The bytes
 * are on the second link later, after the validation.
 */
TEST_F(RogueMove, IsToldOfTheServersMove)
{
	/* The server answers bytes by a message whose completion it does not see. */
	hear_byte("a");

	/* It sends the last byte once the message of the one before has completed. */
	const uint16_t completed = hear_byte("b"), heard = hear_byte("c");

	write_first("news");
	say_truly();
	expect_handled(link);
	link.destroy_queue_pair();
	EXPECT_EQ(victim.recv(4, MSG_WAITALL), "news");
	ASSERT_EQ(victim.set(IPPROTO_TCP, TCP_NODELAY, 1), 0);
	ASSERT_EQ(victim.send("lost"), 4);
	from_server += 4;
	moved_to = &end;
	ASSERT_TRUE(end.say(delete_link(1)));

	int validations = 0;
	smc_cdc cdc;

	for (;;) {
		cdc = hear_cdc(end);
		EXPECT_EQ(cdc.token, good_agreement(SMC_CLC_CONFIRM).r.alert_token);
		if (!(cdc.prod_flags & SMC_PROD_FAILOVER))
			break;
		validations++;
		EXPECT_TRUE(cdc.seq == completed || cdc.seq == heard) << cdc.seq;
		EXPECT_EQ(cdc.prod.offset + cdc.prod.wrap + cdc.cons.offset + cdc.cons.wrap, 0u);
		EXPECT_EQ(cdc.conn_flags, 0);
	}
	/* One before the bytes are written again, and one behind them. */
	EXPECT_EQ(validations, 2);
	EXPECT_EQ(end.element(from_server).substr(from_server - 4), "lost");
	/* "lost" had the number in between. */
	EXPECT_EQ(uint16_t(cdc.seq - heard), 2);
	EXPECT_EQ(cdc.prod.offset, from_server);
	EXPECT_EQ(cdc.cons.offset, link.sent);
	EXPECT_GE((agent.counters() - before)["rdma_repeated_bytes"], 4);
	end.expect_deletion(1);
}
