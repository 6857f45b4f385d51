// SPDX-License-Identifier: GPL-2.0
/*
 * The TCP connection below a stream ends like one that carries the bytes itself: both kinds of
 * sockets are compared, by TCP's table and by TCP_INFO.
 */
#include <cerrno>
#include <gtest/gtest.h>
#include <linux/smc.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "agent.h"
#include "full.h"
#include "place.h"
#include "tcp_table.h"

using namespace guest;

/* Runs with the end under test as the client and as the server of TCP's handshake. */
class TcpState : public testing::TestWithParam<std::tuple<Flavor, Role>>
{
protected:
	Flavor flavor = std::get<0>(GetParam());
	Role role = std::get<1>(GetParam());
	Agent agent;
	std::string table = tcp_table(flavor.family);

	/* A connection, and the ports of both ends. */
	struct Watched : Connection {
		explicit Watched(Connection connection)
		    : Connection(std::move(connection)), port(local_address(here).port()),
		      peer_port(peer_address(here).port())
		{
		}
		int port, peer_port;
	};

	Watched connected()
	{
		return Watched(make_connection(agent, flavor, role));
	}
	/* A connection with more bytes to read than fit the buffers. */
	Watched filled()
	{
		Preparation small = {
		    .here = [](int fd) { must_set(fd, SOL_SOCKET, SO_SNDBUF, 16384); },
		    .there =
			[](RemoteSocket &socket) {
				EXPECT_EQ(socket.set(SOL_SOCKET, SO_RCVBUF, 16384), 0);
			},
		};
		Watched one(make_connection(agent, flavor, role, small));

		fill_for_good(one.here);
		return one;
	}
	/*
	 * Bytes wait, so their end is seen at neither end. With SMC-D no bytes wait, as they were
	 * written into the peer's memory. With SMC-R the TCP connection here has not begun to end.
	 */
	void expect_end_waits(const Watched &one)
	{
		if (flavor.is_smc() && peer_within())
			return;
		EXPECT_EQ(state_there(one), TCP_ESTABLISHED);
		EXPECT_EQ(state_here(one), flavor.is_smc() ? TCP_ESTABLISHED : TCP_FIN_WAIT1);
		if (one.here >= 0) {
			EXPECT_EQ(info(one.here), TCP_FIN_WAIT1);
		}
	}
	int state_here(const Watched &one)
	{
		return tcp_state(read_file(table), one.port, one.peer_port);
	}
	int state_there(const Watched &one)
	{
		return tcp_state(agent.read_file(table), one.peer_port, one.port);
	}
	void expect_here(const Watched &one, int state)
	{
		wait_until("this end is in state " + std::to_string(state),
			   [&] { return state_here(one) == state; });
	}
	void expect_there(const Watched &one, int state)
	{
		wait_until("the other end is in state " + std::to_string(state),
			   [&] { return state_there(one) == state; });
	}
	/* As lighttpd does. */
	static int info(int fd)
	{
		return must_get(fd, SOL_TCP, TCP_INFO) & 0xff;
	}
	static int info(RemoteSocket &socket)
	{
		return socket.get(SOL_TCP, TCP_INFO) & 0xff;
	}
};

INSTANTIATE_TEST_SUITE_P(
    , TcpState, testing::Combine(testing::ValuesIn(main_flavors()), testing::ValuesIn(both_roles)),
    [](const auto &given) {
	    return to_string(std::get<0>(given.param)) + to_string(std::get<1>(given.param));
    });

TEST_P(TcpState, HalfClose)
{
	Watched one = connected();

	EXPECT_EQ(info(one.here), TCP_ESTABLISHED);
	EXPECT_EQ(one.there.send("before"), 6);
	ASSERT_EQ(shutdown(one.here, SHUT_WR), 0);
	one.there.expect_end();
	/* At once, because programs ask right after they have read the end. */
	EXPECT_EQ(info(one.there), TCP_CLOSE_WAIT);
	expect_there(one, TCP_CLOSE_WAIT);
	expect_here(one, TCP_FIN_WAIT2);
	EXPECT_EQ(info(one.here), TCP_FIN_WAIT2);

	/* The other direction continues. */
	Flow flow = {.seed = 21, .bytes = 200000};
	Job far = one.there.start_send(flow);
	std::string early(6, '\0');

	ASSERT_EQ(recv(one.here, early.data(), early.size(), MSG_WAITALL), 6);
	EXPECT_EQ(early, "before");
	recv_flow(one.here, flow);
	far.join();
	one.there.close();
	expect_end(one.here);
	EXPECT_EQ(info(one.here), TCP_CLOSE);
	expect_here(one, TCP_TIME_WAIT);
	expect_there(one, 0);
}

/* TIME_WAIT is at the end that closed first, and nothing else is left. */
TEST_P(TcpState, ClosedHereFirst)
{
	Watched one = connected();

	one.here.close();
	one.there.expect_end();
	EXPECT_EQ(info(one.there), TCP_CLOSE_WAIT);
	expect_here(one, TCP_FIN_WAIT2);
	one.there.close();
	expect_here(one, TCP_TIME_WAIT);
	expect_there(one, 0);
}

TEST_P(TcpState, ClosedThereFirst)
{
	Watched one = connected();

	one.there.close();
	expect_end(one.here);
	EXPECT_EQ(info(one.here), TCP_CLOSE_WAIT);
	expect_there(one, TCP_FIN_WAIT2);
	one.here.close();
	expect_there(one, TCP_TIME_WAIT);
	expect_here(one, 0);
}

TEST_P(TcpState, ResetLeavesNothing)
{
	Watched one = connected();

	must_linger(one.here, 0);
	one.here.close();
	one.there.await(POLLHUP);
	expect_here(one, 0);
	expect_there(one, 0);
	EXPECT_EQ(info(one.there), TCP_CLOSE);
	EXPECT_EQ(one.there.ending(), -ECONNRESET);
}

TEST_P(TcpState, UnreadBytesLeaveNothing)
{
	Watched one = connected();

	ASSERT_EQ(one.there.send("unread"), 6);
	await(one.here, POLLIN);
	one.here.close();
	one.there.await(POLLHUP);
	expect_here(one, 0);
	expect_there(one, 0);
	EXPECT_EQ(one.there.ending(), -ECONNRESET);
}

/* A writer gets a reset because its peer has closed, and both ends are closed with it. */
TEST_P(TcpState, WrittenToInVain)
{
	Watched one = connected();

	one.here.close();
	one.there.expect_end();
	wait_until("EPIPE", [&] { return one.there.send("in vain") == -EPIPE; });
	expect_here(one, 0);
	expect_there(one, 0);
}

/* As ss -K does. */
TEST_P(TcpState, EndedFromOutside)
{
	Watched one = connected();
	char byte;

	must_run("ss -K -tn 'sport = :" + std::to_string(one.port) +
		 " and dport = :" + std::to_string(one.peer_port) + "'");
	EXPECT_EQ(recv(one.here, &byte, 1, 0), -1);
	EXPECT_EQ(errno, ECONNABORTED);
	EXPECT_EQ(one.there.ending(), -ECONNRESET);
	expect_here(one, 0);
	expect_there(one, 0);
}

/* Until all bytes have arrived, the end does not arrive either: not with shutdown(), */
TEST_P(TcpState, EndWaitsForBytes)
{
	Watched one = filled();

	ASSERT_EQ(shutdown(one.here, SHUT_WR), 0);
	expect_end_waits(one);
	EXPECT_EQ(one.there.ending(), 0);
	EXPECT_EQ(info(one.there), TCP_CLOSE_WAIT);
	expect_there(one, TCP_CLOSE_WAIT);
	expect_here(one, TCP_FIN_WAIT2);
}

/* and not with close(). */
TEST_P(TcpState, CloseWaitsForBytes)
{
	Watched one = filled();

	one.here.close();
	expect_end_waits(one);
	EXPECT_EQ(one.there.ending(), 0);
	expect_there(one, TCP_CLOSE_WAIT);
	expect_here(one, TCP_FIN_WAIT2);
	one.there.close();
	expect_here(one, TCP_TIME_WAIT);
	expect_there(one, 0);
}

/* Reading up to the end gives no error; writing does. */
TEST_P(TcpState, ResetAfterTheEnd)
{
	Watched one = connected();
	char byte;

	ASSERT_EQ(one.there.send("last"), 4);
	ASSERT_EQ(one.there.shutdown(SHUT_WR), 0);
	await(one.here, POLLRDHUP);
	one.there.linger(true, 0);
	one.there.close();
	await(one.here, POLLHUP);
	expect_here(one, 0);
	EXPECT_EQ(recv(one.here, &byte, 1, 0), 1);
	EXPECT_EQ(recv(one.here, &byte, 1, 0), 1);
	EXPECT_EQ(recv(one.here, &byte, 1, 0), 1);
	EXPECT_EQ(recv(one.here, &byte, 1, 0), 1);
	EXPECT_EQ(recv(one.here, &byte, 1, 0), 0);
	EXPECT_EQ(must_get(one.here, SOL_SOCKET, SO_ERROR), EPIPE);
	EXPECT_EQ(send(one.here, "x", 1, MSG_NOSIGNAL), -1);
	EXPECT_EQ(errno, EPIPE);
}

/* The stream's reset and that of TCP are reported as one error, whichever comes first. */
TEST_P(TcpState, ResetIsToldOnce)
{
	for (int i = 0; i < 20; i++) {
		Watched one = connected();
		char byte;

		one.there.linger(true, 0);
		one.there.close();
		EXPECT_EQ(recv(one.here, &byte, 1, 0), -1);
		EXPECT_EQ(errno, ECONNRESET);
		expect_here(one, 0);
		EXPECT_EQ(recv(one.here, &byte, 1, 0), 0) << errno;
		EXPECT_EQ(must_get(one.here, SOL_SOCKET, SO_ERROR), 0);
	}
}

/* Many connections close at the same time at either end, and lose no byte sent before. */
TEST_P(TcpState, SaidAndClosed)
{
	for (int i = 0; i < 30; i++) {
		Watched one = connected();
		std::string word = "the last word " + std::to_string(i);

		ASSERT_EQ(send(one.here, word.data(), word.size(), 0), ssize_t(word.size()));
		one.here.close();
		EXPECT_EQ(one.there.recv(100, MSG_WAITALL), word);
		EXPECT_EQ(one.there.ending(), 0);
	}
}
