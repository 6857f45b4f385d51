// SPDX-License-Identifier: GPL-2.0
/* Data arrives byte for byte, with any amount, any calls, and any buffers. */
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <mutex>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <thread>

#include "agent.h"
#include "full.h"
#include "limit.h"
#include "pattern.h"
#include "place.h"
#include "smc_tool.h"
#include "wire/dmbe.h"

using namespace guest;

constexpr int KiB = 1024, MiB = 1024 * KiB;

/* Sends one way from here, both ways, one way from there, then the ends in both directions. */
static void exchange(Connection &connection, const Flow &out, const Flow &in)
{
	Job far = connection.there.start_exchange(in, out);

	exchange_flows(connection.here, out, in);
	far.join(600);
}

static void one_way(Connection &connection, const Flow &flow, bool outward)
{
	Job far = outward ? connection.there.start_recv(flow) : connection.there.start_send(flow);

	if (outward)
		send_flow(connection.here, flow);
	else
		recv_flow(connection.here, flow);
	far.join(600);
}

static void expect_both_ends(Connection &connection)
{
	ASSERT_EQ(shutdown(connection.here, SHUT_WR), 0);
	connection.there.expect_end();
	ASSERT_EQ(connection.there.shutdown(SHUT_WR), 0);
	expect_end(connection.here);
}

/* Amounts around all boundaries. */
class Amount : public testing::TestWithParam<uint64_t>
{
};

TEST_P(Amount, ArrivesBothWays)
{
	Agent agent;
	Connection connection = make_connection(agent, Flavor());
	uint64_t bytes = GetParam();
	Counters before = Counters::now();

	exchange(connection, {.seed = 1, .bytes = bytes}, {.seed = 2, .bytes = bytes});
	one_way(connection, {.seed = 3, .bytes = bytes, .max_chunk = 9000}, true);
	one_way(connection, {.seed = 4, .bytes = bytes, .max_chunk = 300000}, false);
	expect_both_ends(connection);
	EXPECT_EQ((Counters::now() - before)[by_path("write_bytes")],
		  counted(2 * bytes, 2 * bytes));
}

INSTANTIATE_TEST_SUITE_P(, Amount,
			 testing::Values(1, 2, 3, 7, 4095, 4096, 4097, 16383, 16384, 16385, 65535,
					 65536, 65537, 131072, 524289, 1048576, 5000011),
			 testing::PrintToStringParamName());

class EveryKind : public testing::TestWithParam<std::tuple<Flavor, Role>>
{
};

static std::string name_of_kind(const testing::TestParamInfo<EveryKind::ParamType> &info)
{
	return to_string(std::get<0>(info.param)) + to_string(std::get<1>(info.param));
}

TEST_P(EveryKind, ArrivesBothWays)
{
	auto [flavor, role] = GetParam();
	Agent agent;
	Connection connection = make_connection(agent, flavor, role);

	check_data(connection, MiB, true);
	expect_both_ends(connection);
}

INSTANTIATE_TEST_SUITE_P(, EveryKind,
			 testing::Combine(testing::ValuesIn(smc_flavors()),
					  testing::ValuesIn(both_roles)),
			 name_of_kind);

/* Sockets of different kinds at the two ends. */
class Mixed : public testing::TestWithParam<std::tuple<Flavor, Flavor>>
{
};

TEST_P(Mixed, ArrivesBothWays)
{
	auto [here, there] = GetParam();
	Agent agent;
	Connection connection = make_connection(agent, here, there);

	check_data(connection, 100000, here.is_smc() && there.is_smc());
}

static std::vector<std::tuple<Flavor, Flavor>> mixtures()
{
	std::vector<std::tuple<Flavor, Flavor>> mixtures;

	for (const Flavor &here : all_flavors())
		for (const Flavor &there : all_flavors())
			if (here.family == there.family && here.kind != there.kind)
				mixtures.emplace_back(here, there);
	return mixtures;
}

INSTANTIATE_TEST_SUITE_P(, Mixed, testing::ValuesIn(mixtures()), [](const auto &info) {
	return to_string(std::get<0>(info.param)) + "To" + to_string(std::get<1>(info.param));
});

/* An IPv4 client of an IPv6 listener. */
TEST(MappedAddress, ArrivesBothWays)
{
	Agent agent;
	RemoteSocket listener = agent.listen({Kind::smc, AF_INET6});
	Fd client = must_connect({Kind::smc, AF_INET}, address_of(1, AF_INET, listener.port()));
	Connection connection = {std::move(client), listener.accept()};

	check_data(connection, 200000, true);
}

TEST(MappedAddress, ClientOfV6KindToV4Address)
{
	Agent agent;
	RemoteSocket listener = agent.listen({Kind::smc, AF_INET});
	Fd client =
	    must_connect({Kind::smc, AF_INET6}, address_from("::ffff:10.83.0.2", listener.port()));
	Connection connection = {std::move(client), listener.accept()};

	check_data(connection, 200000, true);
}

/* All calls that send, blocking or not, and all calls that receive. */
class Calls : public testing::TestWithParam<std::tuple<SendBy, RecvBy>>
{
};

TEST_P(Calls, Blocking)
{
	auto [send_by, recv_by] = GetParam();
	Agent agent;
	Connection connection = make_connection(agent, Flavor());
	Flow out = {.seed = 5, .bytes = 2 * MiB, .send_by = send_by, .recv_by = recv_by};
	Flow in = {.seed = 6, .bytes = 2 * MiB, .send_by = send_by, .recv_by = recv_by};

	exchange(connection, out, in);
	expect_both_ends(connection);
}

TEST_P(Calls, NonBlocking)
{
	auto [send_by, recv_by] = GetParam();

	if (recv_by == RecvBy::waitall)
		GTEST_SKIP() << "MSG_WAITALL does not wait on a non-blocking socket";

	Agent agent;
	Connection connection = make_connection(agent, Flavor());
	Flow out = {.seed = 7, .bytes = MiB, .send_by = send_by, .recv_by = recv_by};
	Flow in = {.seed = 8, .bytes = MiB, .send_by = send_by, .recv_by = recv_by};

	fcntl(connection.here, F_SETFL, O_NONBLOCK);
	agent.call({"nonblock", std::to_string(connection.there.number()), "1"});
	exchange(connection, out, in);
}

static std::string name_of_calls(const testing::TestParamInfo<Calls::ParamType> &info)
{
	return to_string(std::get<0>(info.param)) + to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(, Calls,
			 testing::Values(std::tuple(SendBy::write, RecvBy::read),
					 std::tuple(SendBy::writev, RecvBy::readv),
					 std::tuple(SendBy::sendmsg, RecvBy::recvmsg),
					 std::tuple(SendBy::more, RecvBy::waitall),
					 std::tuple(SendBy::sendfile, RecvBy::peek),
					 std::tuple(SendBy::splice, RecvBy::splice),
					 std::tuple(SendBy::uring, RecvBy::uring),
					 std::tuple(SendBy::write, RecvBy::splice),
					 std::tuple(SendBy::splice, RecvBy::read)),
			 name_of_calls);

static void await_readable(int fd, int bytes)
{
	wait_until(std::to_string(bytes) + " bytes", [&] {
		int waiting = 0;

		ioctl(fd, FIONREAD, &waiting);
		return waiting >= bytes;
	});
}

/* Buffers of every size class, equal and unequal: the receive buffer of each end, in KiB. */
struct Buffers {
	int here, there;
};

class SizeClass : public testing::TestWithParam<Buffers>
{
protected:
	/*
	 * The bytes that fit between a writer and a reader that does not read: the reader's
	 * element, of which SMC-D uses the first bytes itself, or with SMC-R the writer's send
	 * buffer, which is no larger. A third of that may be left unused, because a writer is not
	 * woken for less.
	 */
	void check_window(Connection &connection)
	{
		auto [here, there] = GetParam();
		size_t element = there * KiB - (peer_within() ? SMC_DMBE_CONTROL_LEN : 0);
		size_t sndbuf = peer_within() ? 0 : std::min(here, there) * KiB;
		std::string bytes(10007, 'x');
		size_t total = 0;

		wait_until("a full window", [&] {
			ssize_t n;

			while ((n = send(connection.here, bytes.data(), bytes.size(),
					 MSG_DONTWAIT)) > 0)
				total += n;
			EXPECT_EQ(errno, EAGAIN);
			return total >= element + sndbuf - sndbuf / 3;
		});
		EXPECT_LE(total, element + sndbuf);
		EXPECT_EQ(connection.there.recv(total, MSG_WAITALL).size(), total);
	}
};

TEST_P(SizeClass, BySocketOptions)
{
	auto [here, there] = GetParam();
	Agent agent;
	Preparation preparation = {
	    .here =
		[here = here](int fd) {
			must_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, here * KiB);
			must_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, here * KiB);
		},
	    .there =
		[there = there](RemoteSocket &socket) {
			ASSERT_EQ(socket.set(SOL_SOCKET, SO_RCVBUFFORCE, there * KiB), 0);
			ASSERT_EQ(socket.set(SOL_SOCKET, SO_SNDBUFFORCE, there * KiB), 0);
		},
	};

	for (Role role : both_roles) {
		Connection connection = make_connection(agent, Flavor(), role, preparation);

		check_window(connection);
		check_data(connection, MiB + 11, true);
	}
}

TEST_P(SizeClass, BySysctl)
{
	auto [here, there] = GetParam();
	Agent agent;
	auto text = [](int value) {
		return std::to_string(value * KiB);
	};

	if (peer_place() == Place::host && here != there)
		GTEST_SKIP() << "both ends have one sysctl";
	if (peer_place() == Place::netns && here < there)
		GTEST_SKIP() << "a namespace has no more than the host";

	/* The peer's sysctl first: in a namespace it would read, and restore, the host's value. */
	RemoteSysctlScope far_rmem(agent, rmem_sysctl(), text(there));
	RemoteSysctlScope far_wmem(agent, "net.smc.wmem", text(there));
	SysctlScope rmem(rmem_sysctl(), text(here)), wmem("net.smc.wmem", text(here));
	Connection connection = make_connection(agent, Flavor());

	check_window(connection);
	check_data(connection, MiB + 13, true);
}

/* A small send buffer writes to a large element, and a large one to a small element. */
TEST_P(SizeClass, SmallSendBuffer)
{
	if (peer_within())
		GTEST_SKIP() << "SMC-D has no send buffer";

	auto [here, there] = GetParam();
	Agent agent;
	Preparation preparation = {
	    .here =
		[here = here](int fd) {
			must_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, here * KiB);
			must_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 512 * KiB);
		},
	    .there =
		[there = there](RemoteSocket &socket) {
			ASSERT_EQ(socket.set(SOL_SOCKET, SO_RCVBUFFORCE, there * KiB), 0);
			ASSERT_EQ(socket.set(SOL_SOCKET, SO_SNDBUFFORCE, 16 * KiB), 0);
		},
	};
	Connection connection = make_connection(agent, Flavor(), Role::client, preparation);

	check_window(connection);
	check_data(connection, MiB + 17, true);
}

/* This end receives with a buffer of @here, the other end sends with one of @there. */
static Connection one_way(Agent &agent, Buffers buffers)
{
	Preparation preparation = {
	    .here = [here = buffers.here](
			int fd) { must_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, here * KiB); },
	    .there =
		[there = buffers.there](RemoteSocket &socket) {
			ASSERT_EQ(socket.set(SOL_SOCKET, SO_SNDBUFFORCE, there * KiB), 0);
		},
	};

	return make_connection(agent, Flavor(), Role::client, preparation);
}

/*
 * A reader that waits for a whole record, and leaves what follows in the buffer. When the writer's
 * window is full, more of the bytes sent are unread than read.
 */
TEST_P(SizeClass, WholeRecords)
{
	auto [here, there] = GetParam();
	Agent agent;
	Connection connection = one_way(agent, GetParam());
	Flow record = {.bytes = std::min(here, there) * KiB * 5ull / 8};
	Job sending = connection.there.start_send({.bytes = 20 * record.bytes});

	for (; record.position < 20 * record.bytes; record.position += record.bytes) {
		await_readable(connection.here, record.bytes);
		recv_flow(connection.here, record);
	}
	sending.join();
}

/* A reader that polls for more than the writer's window is woken when the window is full. */
TEST_P(SizeClass, LowWaterMarkAboveTheWindow)
{
	Agent agent;
	Connection connection = one_way(agent, GetParam());
	Job sending = connection.there.start_send({.bytes = MiB});
	pollfd reader = {connection.here, POLLIN, 0};

	must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, GetParam().here * KiB);
	for (Flow part; part.position < MiB; part.position += part.bytes) {
		int waiting = 0;

		wait_until("POLLIN", [&] {
			/* The last part is smaller than any low-water mark. */
			if (sending.is_done())
				connection.there.shutdown(SHUT_WR);
			return poll(&reader, 1, 0) > 0;
		});
		ioctl(connection.here, FIONREAD, &waiting);
		part.bytes = waiting;
		recv_flow(connection.here, part);
	}
	sending.join();
}

/*
 * A reader that has read only a little waits for more than has arrived: neither end may hold back
 * bytes that fit for ever.
 */
TEST(SmallWindow, IsUsedInTheEnd)
{
	constexpr int total = 100 * KiB, full = 63 * KiB;
	Agent agent;

	for (int little : {2 * KiB, 20 * KiB}) {
		Connection connection =
		    make_connection(agent, Flavor(), Role::client, {.here = [](int fd) {
					    must_set(fd, SOL_SOCKET, SO_RCVBUF, 64 * KiB);
				    }});
		Job far = connection.there.start_send({.seed = 5, .bytes = total});

		await_readable(connection.here, full);
		recv_flow(connection.here, {.seed = 5, .bytes = uint64_t(little)});
		await_readable(connection.here, full);
		recv_flow(
		    connection.here,
		    {.seed = 5, .bytes = uint64_t(total - little), .position = uint64_t(little)});
		far.join();
	}
}

/* The peer requests more window only after it would have been told about it. */
TEST(SmallWindow, IsGivenBackForPeeking)
{
	Agent agent;
	Connection connection =
	    make_connection(agent, Flavor(), Role::client, {.here = [](int fd) {
				    must_set(fd, SOL_SOCKET, SO_RCVBUF, 64 * KiB);
			    }});
	std::string bytes(64 * KiB, '\0');

	connection.there.send_flow({.seed = 6, .bytes = 20 * KiB});
	await_readable(connection.here, 20 * KiB);
	recv_flow(connection.here, {.seed = 6, .bytes = 4});

	Job far = connection.there.start_send({.seed = 6, .bytes = 64 * KiB, .position = 20 * KiB});

	EXPECT_GE(recv(connection.here, bytes.data(), bytes.size(), MSG_PEEK | MSG_WAITALL),
		  63 * KiB);
	recv_flow(connection.here, {.seed = 6, .bytes = 84 * KiB - 4, .position = 4});
	far.join();
}

/* Less space than a writer is woken for, but no reader frees more before it is used. */
TEST(SmallWindow, IsShownToPoll)
{
	Agent agent;
	Connection connection =
	    make_connection(agent, Flavor(), Role::client, {.there = [](RemoteSocket &socket) {
				    socket.set(SOL_SOCKET, SO_RCVBUF, 64 * KiB);
			    }});

	send_flow(connection.here, {.seed = 7, .bytes = 50 * KiB});
	EXPECT_NE(await(connection.here, POLLOUT) & POLLOUT, 0);
	send_flow(connection.here, {.seed = 7, .bytes = 10 * KiB, .position = 50 * KiB});
	connection.there.recv_flow({.seed = 7, .bytes = 60 * KiB});
}

/* Responses, whose completion is unsignaled, exceed the send buffer. */
TEST(SmallMirror, AnswersNobodyReads)
{
	Agent agent;
	RemoteSysctlScope far_wmem(agent, "net.smc.wmem", std::to_string(16 * KiB));
	Connection connection = make_connection(agent, Flavor());
	std::string message(4 * KiB, 'x');

	for (int i = 0; i < 12; i++) {
		ASSERT_EQ(send(connection.here, message.data(), message.size(), 0), 4 * KiB);
		ASSERT_EQ(connection.there.recv(4 * KiB, MSG_WAITALL), message);
		ASSERT_EQ(connection.there.send(message), 4 * KiB);
	}
	await_readable(connection.here, 48 * KiB);
}

static std::vector<Buffers> all_buffers()
{
	std::vector<Buffers> buffers = {{16, 16},   {32, 32},  {64, 64},  {128, 128}, {256, 256},
					{512, 512}, {16, 512}, {512, 16}, {32, 256},  {128, 64}};

	/* The size class that only SMC-D has. */
	if (peer_within())
		buffers.insert(buffers.end(), {{1024, 1024}, {16, 1024}, {1024, 16}});
	return buffers;
}

INSTANTIATE_TEST_SUITE_P(, SizeClass, testing::ValuesIn(all_buffers()), [](const auto &info) {
	return std::to_string(info.param.here) + "And" + std::to_string(info.param.there);
});

/* All tests below run with TCP as well, whose result is the expected one. */
class Stream : public testing::TestWithParam<Flavor>
{
protected:
	Stream() : connection(make_connection(agent, GetParam()))
	{
	}
	void await_bytes(int bytes)
	{
		await_readable(connection.here, bytes);
	}
	std::string receive(size_t len, int flags = 0)
	{
		std::string bytes(len, '\0');
		ssize_t n = recv(connection.here, bytes.data(), len, flags);

		return n < 0 ? std::string("errno ") + strerror(errno) : bytes.substr(0, n);
	}
	int64_t times_sent()
	{
		return guest::times_sent(connection.here, GetParam().is_smc());
	}
	bool at_mark()
	{
		int mark = -1;

		EXPECT_EQ(ioctl(connection.here, SIOCATMARK, &mark), 0);
		return mark;
	}

	Agent agent;
	Connection connection;
};

INSTANTIATE_TEST_SUITE_P(, Stream, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

/* A thread that waits for one event is not woken by others. */
class Sleeper : public testing::Test
{
protected:
	/* @call sleeps, and is not woken before @meanwhile has returned and @end has run. */
	static void expect_to_sleep(const std::function<void()> &call,
				    const std::function<void()> &meanwhile,
				    const std::function<void()> &end)
	{
		std::atomic<pid_t> task = 0;
		std::jthread thread([&] {
			task = gettid();
			call();
		});
		auto sleeps = [&] {
			return sleeps_in_socket_call(task);
		};

		wait_until("it sleeps", sleeps);

		long before = voluntary_switches(task);

		meanwhile();
		wait_until("it sleeps still", sleeps);
		EXPECT_EQ(voluntary_switches(task), before);
		end();
	}

	Agent agent;
	Connection connection = make_connection(agent, Flavor());
};

TEST_F(Sleeper, WriterWhileBytesArrive)
{
	constexpr int pieces = 200;
	size_t sent = fill_for_good(connection.here);

	expect_to_sleep(
	    [&] { EXPECT_EQ(send(connection.here, "x", 1, 0), 1); },
	    [&] {
		    for (int i = 1; i <= pieces; i++) {
			    connection.there.send("x");
			    await_readable(connection.here, i);
		    }
	    },
	    [&] { EXPECT_EQ(connection.there.recv(sent + 1, MSG_WAITALL).size(), sent + 1); });
}

TEST_F(Sleeper, ReaderWhileRoomComes)
{
	expect_to_sleep(
	    [&] {
		    char byte;

		    EXPECT_EQ(recv(connection.here, &byte, 1, 0), 1);
	    },
	    [&] {
		    for (int i = 0; i < 20; i++) {
			    size_t sent = fill(connection.here);

			    EXPECT_EQ(connection.there.recv(sent, MSG_WAITALL).size(), sent);
			    EXPECT_EQ(await(connection.here, POLLOUT), POLLOUT);
		    }
	    },
	    [&] { connection.there.send("x"); });
}

/* Nor does the end of the other direction wake a writer. */
TEST_F(Sleeper, WriterWhileThePeerShutsDown)
{
	for (int i = 0; i < 5; i++) {
		connection = make_connection(agent, Flavor());

		size_t sent = fill_for_good(connection.here);

		expect_to_sleep([&] { EXPECT_EQ(send(connection.here, "x", 1, 0), 1); },
				[&] {
					EXPECT_EQ(connection.there.shutdown(SHUT_WR), 0);
					EXPECT_EQ(await(connection.here, POLLRDHUP), POLLRDHUP);
					EXPECT_EQ(shutdown(connection.here, SHUT_RD), 0);
				},
				[&] {
					EXPECT_EQ(
					    connection.there.recv(sent + 1, MSG_WAITALL).size(),
					    sent + 1);
				});
	}
}

/* smc(8) shows bytes that no program has read. */
TEST(Shown, Queues)
{
	Agent agent;
	Connection connection = make_connection(agent, Flavor());
	auto shown = [&](const char *queue) {
		return socket_shown(connection.here).at("connection").at(queue).get<uint64_t>();
	};
	const std::string chunk(65536, 'x');
	size_t sent = 0;
	char bytes[5];
	ssize_t n;

	ASSERT_EQ(connection.there.send("12345"), 5);
	wait_until("5 bytes came in", [&] { return shown("recv-queue") == 5; });
	EXPECT_EQ(shown("send-queue"), 0u);
	EXPECT_EQ(recv(connection.here, bytes, sizeof(bytes), 0), 5);
	EXPECT_EQ(shown("recv-queue"), 0u);

	while ((n = send(connection.here, chunk.data(), chunk.size(), MSG_DONTWAIT)) > 0)
		sent += n;
	/* The window is full, and the rings of both ends have wrapped. */
	EXPECT_EQ(connection.there.recv(sent, MSG_WAITALL).size(), sent);
	wait_until("all has left", [&] { return shown("send-queue") == 0; });
	ASSERT_EQ(connection.there.send("12345"), 5);
	wait_until("5 bytes more came in", [&] { return shown("recv-queue") == 5; });
}

/*
 * A reader that asks for less than the low-water mark, and sleeps, gets these bytes. With TCP it
 * sleeps until the mark is reached.
 */
TEST(LowWaterMark, AboveWhatIsRead)
{
	SysctlScope at_once("net.smc.spin_usec", "0");
	Agent agent;
	Connection connection = make_connection(agent, Flavor());

	must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, 1000);
	for (int i = 0; i < 20; i++) {
		std::atomic<pid_t> reader = 0;
		std::jthread reading([&] {
			char bytes[3];

			reader = gettid();
			EXPECT_EQ(recv(connection.here, bytes, sizeof(bytes), 0), 3);
		});

		wait_until("the reader sleeps", [&] { return sleeps_in_socket_call(reader); });
		connection.there.send("012");
	}
}

TEST_P(Stream, PeekLeavesTheData)
{
	connection.there.send("abcdef");
	await_bytes(6);
	EXPECT_EQ(receive(3, MSG_PEEK), "abc");
	EXPECT_EQ(receive(100, MSG_PEEK), "abcdef");
	EXPECT_EQ(receive(2), "ab");
	EXPECT_EQ(receive(100, MSG_PEEK | MSG_DONTWAIT), "cdef");
	EXPECT_EQ(receive(100), "cdef");
	EXPECT_EQ(receive(1, MSG_PEEK | MSG_DONTWAIT), std::string("errno ") + strerror(EAGAIN));
}

TEST_P(Stream, PeekOffset)
{
	const int from_start = 0;

	if (setsockopt(must_socket({Kind::tcp, AF_INET}), SOL_SOCKET, SO_PEEK_OFF, &from_start,
		       sizeof(from_start)))
		GTEST_SKIP() << "TCP has no SO_PEEK_OFF before Linux 6.9";
	must_set(connection.here, SOL_SOCKET, SO_PEEK_OFF, 0);
	connection.there.send("abcdefgh");
	await_bytes(8);
	EXPECT_EQ(receive(2, MSG_PEEK), "ab");
	EXPECT_EQ(receive(2, MSG_PEEK), "cd");
	EXPECT_EQ(receive(3), "abc");
	EXPECT_EQ(receive(2, MSG_PEEK), "ef");
	EXPECT_EQ(must_get(connection.here, SOL_SOCKET, SO_PEEK_OFF), 3);
}

TEST_P(Stream, TruncDiscards)
{
	connection.there.send("abcdef");
	await_bytes(6);
	EXPECT_EQ(recv(connection.here, nullptr, 4, MSG_TRUNC), 4);
	EXPECT_EQ(receive(100), "ef");
}

TEST_P(Stream, WaitallWaits)
{
	std::string got;
	std::thread reader([&] { got = receive(10, MSG_WAITALL); });

	connection.there.send("01234");
	connection.there.send("567");
	connection.there.send("89");
	reader.join();
	EXPECT_EQ(got, "0123456789");
}

TEST_P(Stream, PeekWaitallWaits)
{
	std::string got;
	std::thread reader([&] { got = receive(10, MSG_PEEK | MSG_WAITALL); });

	connection.there.send("01234");
	connection.there.send("567");
	connection.there.send("89");
	reader.join();
	EXPECT_EQ(got, "0123456789");
	EXPECT_EQ(receive(10), "0123456789");
}

TEST_P(Stream, WaitallEndsWithTheStream)
{
	connection.there.send("0123");
	connection.there.shutdown(SHUT_WR);
	EXPECT_EQ(receive(10, MSG_WAITALL), "0123");
	EXPECT_EQ(receive(10, MSG_WAITALL), "");
}

TEST_P(Stream, LowWaterMark)
{
	must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, 5);

	connection.there.send("012");
	await_bytes(3);

	pollfd waiting = {connection.here, POLLIN, 0};

	EXPECT_EQ(poll(&waiting, 1, 0), 0);
	connection.there.send("345");
	EXPECT_EQ(await(connection.here, POLLIN), POLLIN);
	EXPECT_EQ(receive(10), "012345");
}

/* A poller sleeps until the mark is reached, however small the pieces are that arrive. */
TEST_P(Stream, LowWaterMarkLetsAPollerSleep)
{
	constexpr int pieces = 100;
	std::atomic<pid_t> poller = 0;

	must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, 2 * pieces);

	std::jthread polling([&] {
		poller = gettid();
		EXPECT_EQ(await(connection.here, POLLIN), POLLIN);
	});
	auto sleeps = [&] {
		return sleeps_in_call(poller, SYS_poll);
	};

	wait_until("it sleeps", sleeps);

	long before = voluntary_switches(poller);

	for (int i = 1; i <= pieces; i++) {
		connection.there.send("x");
		await_bytes(i);
	}
	wait_until("it sleeps still", sleeps);
	EXPECT_EQ(voluntary_switches(poller), before);
	connection.there.send(std::string(pieces, 'x'));
	polling.join();
	EXPECT_EQ(receive(1000).size(), 2U * pieces);
}

TEST_P(Stream, NothingToSendOrReceive)
{
	EXPECT_EQ(send(connection.here, "", 0, 0), 0);
	/* A zero-length read waits for a byte, too. */
	EXPECT_EQ(recv(connection.here, nullptr, 0, MSG_DONTWAIT), -1);
	EXPECT_EQ(errno, EAGAIN);
	EXPECT_EQ(write(connection.here, "", 0), 0);
	connection.there.send("x");
	EXPECT_EQ(receive(1), "x");
}

TEST_P(Stream, BadAddress)
{
	char *bad = reinterpret_cast<char *>(8);

	EXPECT_EQ(send(connection.here, bad, 10, 0), -1);
	EXPECT_EQ(errno, EFAULT);
	connection.there.send("xyz");
	await_bytes(3);
	EXPECT_EQ(recv(connection.here, bad, 3, 0), -1);
	EXPECT_EQ(errno, EFAULT);
	/* A byte that could not be copied to the program is not lost. */
	EXPECT_EQ(receive(3), "xyz");
	ASSERT_EQ(send(connection.here, "after", 5, 0), 5);
	EXPECT_EQ(connection.there.recv(5, MSG_WAITALL), "after");
}

/*
 * Bytes are held back for a short time, which may be over before a slow guest looks; then the test
 * repeats. Bytes that are sent at once have left when send() returns, in every repetition.
 */
TEST_P(Stream, MoreIsHeldBackButNotForEver)
{
	wait_until("it is held back", [&] {
		int64_t before = times_sent();

		EXPECT_EQ(send(connection.here, "held", 4, MSG_MORE), 4);

		bool is_held = times_sent() == before;

		EXPECT_EQ(connection.there.recv(4, MSG_WAITALL), "held");
		return is_held;
	});
	wait_until("both are sent together", [&] {
		int64_t before = times_sent();

		EXPECT_EQ(send(connection.here, "to", 2, MSG_MORE), 2);
		EXPECT_EQ(send(connection.here, "gether", 6, 0), 6);
		EXPECT_EQ(connection.there.recv(8, MSG_WAITALL), "together");
		return times_sent() == before + 1;
	});
}

TEST_P(Stream, CorkJoins)
{
	wait_until("all are sent together", [&] {
		int64_t before = times_sent();

		must_set(connection.here, IPPROTO_TCP, TCP_CORK, 1);
		for (int i = 0; i < 10; i++)
			EXPECT_EQ(send(connection.here, "0123456789", 10, 0), 10);

		bool is_held = times_sent() == before;

		must_set(connection.here, IPPROTO_TCP, TCP_CORK, 0);
		/* Removing the cork has sent all bytes. */
		EXPECT_EQ(connection.there.recv(100, MSG_WAITALL).size(), 100U);
		EXPECT_EQ(must_get(connection.here, IPPROTO_TCP, TCP_CORK), 0);
		return is_held && times_sent() == before + 1;
	});
}

TEST_P(Stream, CorkEndsWithClose)
{
	wait_until("close() sends what is held back", [&] {
		Connection one = make_connection(agent, GetParam());

		must_set(one.here, IPPROTO_TCP, TCP_CORK, 1);

		int64_t before = guest::times_sent(one.here, GetParam().is_smc());

		EXPECT_EQ(send(one.here, "last words", 10, 0), 10);

		bool is_held = guest::times_sent(one.here, GetParam().is_smc()) == before;

		one.here.close();
		EXPECT_EQ(one.there.recv(100, MSG_WAITALL), "last words");
		one.there.expect_end();
		return is_held;
	});
}

TEST_P(Stream, NodelayIsRemembered)
{
	must_set(connection.here, IPPROTO_TCP, TCP_NODELAY, 1);
	EXPECT_EQ(must_get(connection.here, IPPROTO_TCP, TCP_NODELAY), 1);
	for (char c = 'a'; c <= 'z'; c++)
		ASSERT_EQ(send(connection.here, &c, 1, 0), 1);
	EXPECT_EQ(connection.there.recv(26, MSG_WAITALL), "abcdefghijklmnopqrstuvwxyz");
}

TEST_P(Stream, UrgentByteOutOfBand)
{
	connection.there.send("before");
	connection.there.send("!", MSG_OOB);
	EXPECT_NE(await(connection.here, POLLPRI) & POLLPRI, 0);
	connection.there.send("after");
	await_bytes(6);
	EXPECT_FALSE(at_mark());
	/* A read stops at the mark, and so does FIONREAD. */
	int waiting = 0;

	EXPECT_EQ(ioctl(connection.here, FIONREAD, &waiting), 0);
	EXPECT_EQ(waiting, 6);
	EXPECT_EQ(receive(100), "before");
	EXPECT_TRUE(at_mark());
	EXPECT_EQ(receive(1, MSG_OOB | MSG_PEEK), "!");
	EXPECT_EQ(receive(1, MSG_OOB), "!");
	EXPECT_EQ(receive(1, MSG_OOB), std::string("errno ") + strerror(EINVAL));
	EXPECT_EQ(receive(5, MSG_WAITALL), "after");
	EXPECT_FALSE(at_mark());
}

TEST_P(Stream, UrgentByteInline)
{
	must_set(connection.here, SOL_SOCKET, SO_OOBINLINE, 1);
	connection.there.send("before");
	connection.there.send("!", MSG_OOB);
	EXPECT_NE(await(connection.here, POLLPRI) & POLLPRI, 0);
	connection.there.send("after");
	await_bytes(12);
	EXPECT_EQ(receive(1, MSG_OOB), std::string("errno ") + strerror(EINVAL));
	EXPECT_EQ(receive(100), "before");
	EXPECT_TRUE(at_mark());
	EXPECT_EQ(receive(6, MSG_WAITALL), "!after");
}

TEST_P(Stream, UrgentByteReadPastIsGone)
{
	must_set(connection.here, SOL_SOCKET, SO_OOBINLINE, 1);
	connection.there.send("!", MSG_OOB);
	EXPECT_NE(await(connection.here, POLLPRI) & POLLPRI, 0);
	EXPECT_EQ(receive(1), "!");

	pollfd waiting = {connection.here, POLLIN | POLLPRI, 0};

	EXPECT_EQ(poll(&waiting, 1, 0), 0);
	must_set(connection.here, SOL_SOCKET, SO_OOBINLINE, 0);
	EXPECT_EQ(receive(1, MSG_OOB), std::string("errno ") + strerror(EINVAL));
}

/* A read would skip it and wait for more. */
TEST_P(Stream, UrgentByteAloneIsNothingToRead)
{
	connection.there.send("!", MSG_OOB);
	EXPECT_NE(await(connection.here, POLLPRI) & POLLPRI, 0);

	pollfd waiting = {connection.here, POLLIN, 0};

	EXPECT_EQ(poll(&waiting, 1, 0), 0);
	connection.there.send("x");
	EXPECT_EQ(await(connection.here, POLLIN), POLLIN);
	EXPECT_EQ(receive(2), "x");
}

TEST_P(Stream, NoUrgentByte)
{
	EXPECT_EQ(receive(1, MSG_OOB), std::string("errno ") + strerror(EINVAL));
	connection.there.send("x");
	await_bytes(1);
	EXPECT_EQ(receive(1, MSG_OOB), std::string("errno ") + strerror(EINVAL));
	EXPECT_FALSE(at_mark());
}

TEST_P(Stream, UrgentByteNeverReadIsSkipped)
{
	connection.there.send("ab");
	connection.there.send("!", MSG_OOB);
	connection.there.send("cd");
	/* Bytes behind the mark are not visible yet. */
	await_bytes(2);
	EXPECT_EQ(receive(2), "ab");
	EXPECT_EQ(receive(2, MSG_WAITALL), "cd");
}

/*
 * Of several urgent bytes in a row the reader stops at the last, and the earlier ones are dropped.
 */
TEST_P(Stream, UrgentBytesInARow)
{
	for (std::string byte : {"A", "B", "C", "D"}) {
		connection.there.send(byte, MSG_OOB);
		wait_until("the urgent byte",
			   [&] { return receive(1, MSG_OOB | MSG_PEEK) == byte; });
		EXPECT_TRUE(at_mark());

		int waiting = -1;
		pollfd readable = {connection.here, POLLIN, 0};

		EXPECT_EQ(ioctl(connection.here, FIONREAD, &waiting), 0);
		EXPECT_EQ(waiting, 0);
		EXPECT_EQ(poll(&readable, 1, 0), 0);
		EXPECT_EQ(receive(1, MSG_DONTWAIT | MSG_PEEK),
			  std::string("errno ") + strerror(EAGAIN));
	}
	connection.there.send("x");
	EXPECT_EQ(await(connection.here, POLLIN), POLLIN);
	EXPECT_EQ(receive(10), "x");
	EXPECT_FALSE(at_mark());
}

/* A peek that sleeps behind an urgent byte returns the bytes that arrive next, as a read does. */
class Peeker : public Stream
{
protected:
	/* The result of a peek that sleeps behind the urgent byte while @something happens. */
	std::string peek_meanwhile(const std::function<void()> &something)
	{
		std::atomic<pid_t> peeker = 0;
		std::string peeked;

		connection.there.send("A", MSG_OOB);
		EXPECT_NE(await(connection.here, POLLPRI) & POLLPRI, 0);

		std::jthread peeking([&] {
			peeker = gettid();
			peeked = receive(10, MSG_PEEK);
		});

		wait_until("it sleeps", [&] { return sleeps_in_socket_call(peeker); });
		something();
		peeking.join();
		return peeked;
	}
};

INSTANTIATE_TEST_SUITE_P(, Peeker, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(Peeker, BetweenUrgentBytes)
{
	EXPECT_EQ(peek_meanwhile([&] { connection.there.send("xyB", MSG_OOB); }), "xy");
	EXPECT_EQ(receive(10), "xy");
}

/* The other reader skips the urgent byte for good. */
TEST_P(Peeker, BesideAReader)
{
	EXPECT_EQ(peek_meanwhile([&] {
			  EXPECT_EQ(receive(1, MSG_DONTWAIT),
				    std::string("errno ") + strerror(EAGAIN));
			  connection.there.send("xy");
		  }),
		  "xy");
	EXPECT_EQ(receive(10), "xy");
}

/* There is an urgent byte, or there was one. */
TEST_P(Stream, UrgentByteIsReadOnce)
{
	const std::string none = std::string("errno ") + strerror(EINVAL);

	connection.there.send("!", MSG_OOB);
	EXPECT_NE(await(connection.here, POLLPRI) & POLLPRI, 0);
	EXPECT_EQ(recv(connection.here, nullptr, 1, MSG_OOB | MSG_PEEK | MSG_TRUNC), 1);
	EXPECT_EQ(receive(1, MSG_OOB), "!");
	EXPECT_EQ(receive(1, MSG_OOB), none);
	connection.there.shutdown(SHUT_WR);
	EXPECT_EQ(await(connection.here, POLLRDHUP), POLLRDHUP);
	EXPECT_EQ(receive(1, MSG_OOB), none);
}

TEST_P(Stream, ManyUrgentBytes)
{
	/*
	 * The last byte of a send is the urgent one, and a later urgent byte replaces an earlier
	 * one.
	 */
	for (int i = 0; i < 50; i++) {
		connection.there.send("data" + std::string(1, 'A' + i % 26), MSG_OOB);
		EXPECT_NE(await(connection.here, POLLPRI) & POLLPRI, 0);
		EXPECT_EQ(receive(1, MSG_OOB), std::string(1, 'A' + i % 26));
		EXPECT_EQ(receive(100), "data");
	}
}

/* Blocks the signal in the calling thread; other threads still get it. */
static void block_signal(int number)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, number);
	pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

static int urgent_fd;
static volatile sig_atomic_t urgent_byte;

/* A reader sleeps when the byte arrives: the handler has the byte before the read continues. */
TEST_P(Stream, UrgentByteInTheHandlerOfItsSignal)
{
	struct sigaction action = {}, before;

	action.sa_handler = [](int) {
		unsigned char byte;

		if (recv(urgent_fd, &byte, 1, MSG_OOB) == 1)
			urgent_byte = byte;
	};
	action.sa_flags = SA_RESTART;
	urgent_fd = connection.here;
	ASSERT_EQ(sigaction(SIGURG, &action, &before), 0);
	ASSERT_EQ(fcntl(connection.here, F_SETOWN, getpid()), 0);
	for (int i = 0; i < 20; i++) {
		std::jthread sender([&] {
			/*
			 * The handler has to run in the reader's thread: if it runs in another one,
			 * the reader skips the byte, with TCP, too.
			 */
			block_signal(SIGURG);
			connection.there.send("!", MSG_OOB);
			wait_until("the handler has it", [] { return urgent_byte == '!'; });
			connection.there.send("x");
		});

		EXPECT_EQ(receive(1), "x");
		sender.join();
		urgent_byte = 0;
	}
	sigaction(SIGURG, &before, nullptr);
}

/* No edge is lost, even if space is freed just when a writer finds none. */
TEST_P(Stream, EdgeTriggeredWriter)
{
	const uint64_t bytes = scaled_down(4 * MiB);
	const std::string data = pattern(11, 0, bytes);
	size_t sent = 0;
	ssize_t n;
	Fd epoll(epoll_create1(0));
	epoll_event event = {.events = EPOLLOUT | EPOLLET, .data = {}};
	Job far = connection.there.start_recv({.seed = 11, .bytes = bytes});

	ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, connection.here, &event), 0);
	while (sent < bytes) {
		ASSERT_EQ(epoll_wait(epoll, &event, 1, 60000), 1) << sent << " bytes sent";
		while (sent < bytes &&
		       (n = send(connection.here, data.data() + sent,
				 std::min<size_t>(16 * KiB, bytes - sent), MSG_DONTWAIT)) > 0)
			sent += n;
	}
	far.join();
}

/* A reader does not get the error of the first send after the peer's close. */
TEST_P(Stream, EndAfterSendInVain)
{
	ASSERT_EQ(connection.there.send("answer"), 6);
	connection.there.close();
	EXPECT_NE(await(connection.here, POLLRDHUP) & POLLRDHUP, 0);
	EXPECT_EQ(send(connection.here, "in vain", 7, MSG_NOSIGNAL), 7);
	wait_until("it is known to be in vain", [&] {
		pollfd waiting = {connection.here, 0, 0};

		return poll(&waiting, 1, 0) && (waiting.revents & POLLERR);
	});
	EXPECT_EQ(receive(6, MSG_WAITALL), "answer");
	EXPECT_EQ(receive(1), "");
}

/*
 * A send() of more than any buffer holds, to a peer that has closed, takes as many bytes as there
 * is space for, with every call, and the next one fails.
 */
TEST_P(Stream, SendInVainHasLimits)
{
	const std::string much(16 * MiB, 'm');
	Fd file(memfd_create("much", MFD_CLOEXEC));
	const std::pair<const char *, std::function<ssize_t(int)>> ways[] = {
	    {"blocking",
	     [&](int fd) {
		     return send(fd, much.data(), much.size(), MSG_NOSIGNAL);
	     }},
	    {"without waiting",
	     [&](int fd) {
		     return send(fd, much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
	     }},
	    {"urgent",
	     [&](int fd) {
		     return send(fd, much.data(), much.size(), MSG_NOSIGNAL | MSG_OOB);
	     }},
	    {"sendfile",
	     [&](int fd) {
		     off_t from = 0;

		     return sendfile(fd, file, &from, much.size());
	     }},
	};

	ASSERT_EQ(ftruncate(file, off_t(much.size())), 0);
	for (const auto &[name, way] : ways) {
		SCOPED_TRACE(name);

		Connection one = make_connection(agent, GetParam());

		one.there.close();
		EXPECT_NE(await(one.here, POLLRDHUP) & POLLRDHUP, 0);

		ssize_t taken = way(one.here);

		EXPECT_GT(taken, 0) << strerror(errno);
		EXPECT_LT(taken, ssize_t(much.size()));
		EXPECT_LT(send(one.here, "x", 1, MSG_NOSIGNAL), 0);
		EXPECT_EQ(errno, EPIPE);
	}
}

/* Unreadable memory is never sent, even if the bytes would be discarded. */
TEST_P(Stream, SendOfNothingReadableIsNotInVain)
{
	void *page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(page, MAP_FAILED);
	connection.there.close();
	EXPECT_NE(await(connection.here, POLLRDHUP) & POLLRDHUP, 0);
	EXPECT_EQ(send(connection.here, page, 4096, MSG_NOSIGNAL), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(send(connection.here, page, 0, MSG_NOSIGNAL), 0);
	EXPECT_EQ(send(connection.here, "in vain", 7, MSG_NOSIGNAL), 7);
	munmap(page, 4096);
}

/* A reset is never taken for an orderly end, even by a program that polls at just that moment. */
TEST_P(Stream, ResetIsNoEnd)
{
	for (int i = 0; i < 30; i++) {
		Connection one = make_connection(agent, GetParam());
		std::jthread server([&] {
			one.there.await(POLLIN);
			one.there.close();
		});
		char byte;

		/*
		 * The client waits for the answer, but the server closes with the request unread.
		 */
		ASSERT_EQ(send(one.here, "request", 7, 0), 7);
		ASSERT_EQ(recv(one.here, &byte, 1, 0), -1) << i;
		EXPECT_EQ(errno, ECONNRESET);
	}
}

TEST_P(Stream, QueueLengths)
{
	int value = -1;

	EXPECT_EQ(ioctl(connection.here, FIONREAD, &value), 0);
	EXPECT_EQ(value, 0);
	connection.there.send("0123456789");
	await_bytes(10);
	EXPECT_EQ(ioctl(connection.here, FIONREAD, &value), 0);
	EXPECT_EQ(value, 10);
	receive(4);
	EXPECT_EQ(ioctl(connection.here, FIONREAD, &value), 0);
	EXPECT_EQ(value, 6);

	/* Sent bytes are in the queue until the peer has them, and not longer. */
	ASSERT_EQ(send(connection.here, "0123456789", 10, 0), 10);
	EXPECT_EQ(connection.there.recv(10, MSG_WAITALL), "0123456789");
	wait_until("an empty send queue", [&] {
		EXPECT_EQ(ioctl(connection.here, SIOCOUTQ, &value), 0);
		return value == 0;
	});
}

/*
 * The threads' bytes may mix, and a write that has to wait may be split. But all bytes of each
 * thread arrive in order: a byte is the thread's number and a count.
 */
TEST_P(Stream, ManyThreadsOnOneSocket)
{
	constexpr int threads = 4, records = 500, len = 64;
	std::vector<std::thread> writers;
	int seen[threads] = {};

	for (int t = 0; t < threads; t++)
		writers.emplace_back([&, t] {
			std::string record;

			for (int i = 0; i < len; i++)
				record += char(t * len + i);
			for (int i = 0; i < records; i++)
				EXPECT_EQ(send(connection.here, record.data(), len, 0), len);
		});

	std::string got = connection.there.recv(threads * records * len, MSG_WAITALL);

	for (auto &writer : writers)
		writer.join();
	for (unsigned char byte : got)
		ASSERT_EQ(byte % len, seen[byte / len]++ % len);
	for (int count : seen)
		EXPECT_EQ(count, records * len);
}

/*
 * Each byte goes to one of the readers. Counts of the bytes' values show any that are lost or read
 * twice.
 */
TEST_P(Stream, ManyReadersOfOneSocket)
{
	constexpr int readers = 4, rounds = 400;
	std::string record(251, '\0');
	std::mutex lock;
	std::vector<int> seen(256);
	std::vector<std::thread> threads;

	for (size_t i = 0; i < record.size(); i++)
		record[i] = char(i);
	for (int t = 0; t < readers; t++)
		threads.emplace_back([&, t] {
			std::string bytes(30 + 20 * t, '\0');
			ssize_t n;

			while ((n = recv(connection.here, bytes.data(), bytes.size(), 0)) > 0) {
				std::lock_guard guard(lock);

				for (ssize_t i = 0; i < n; i++)
					seen[static_cast<unsigned char>(bytes[i])]++;
			}
			EXPECT_EQ(n, 0) << strerror(errno);
		});
	for (int i = 0; i < rounds; i++)
		EXPECT_EQ(connection.there.send(record), 251);
	connection.there.shutdown(SHUT_WR);
	for (auto &thread : threads)
		thread.join();
	for (int value = 0; value < 251; value++)
		ASSERT_EQ(seen[value], rounds) << "byte " << value;
	EXPECT_EQ(receive(1), "");
}

/* A reader slower than the writer, and pauses of both. */
TEST_P(Stream, WriterWaitsForReader)
{
	Flow flow = {.seed = 9, .bytes = 2 * MiB};
	Job far = connection.there.start_send(flow);

	/* The window is closed now, and opens in small steps. */
	await_bytes(16 * KiB);
	flow.max_chunk = 700;
	recv_flow(connection.here, flow);
	far.join();
}

static void check_large(Connection &connection, uint64_t bytes)
{
	const Flow flow = {.seed = 10, .bytes = bytes, .max_chunk = MiB};
	Counters before = Counters::now();
	Job far = connection.there.start_recv(flow);

	send_flow(connection.here, flow);
	far.join(600);
	EXPECT_EQ((Counters::now() - before)[by_path("write_bytes")], int64_t(flow.bytes));
	expect_both_ends(connection);
}

TEST(Large, SixtyFourMiB)
{
	Agent agent;
	Connection connection = make_connection(agent, Flavor());

	set_limit(300);
	check_large(connection, scaled_down(64 * MiB));
}

/* The wire has 16 bits for the number of wraps of an element: after that it returns to 0. */
TEST(Large, TheWrapCountReturnsToZero)
{
	constexpr int element = 16 * KiB;
	Agent agent;

	if (!peer_within() || on_debug_kernel())
		GTEST_SKIP() << "it takes a gigabyte";

	RemoteSysctlScope far_rmem(agent, rmem_sysctl(), std::to_string(element));
	Connection connection = make_connection(agent, Flavor());

	ASSERT_EQ(socket_shown(connection.here).at("connection").at("peer-rmbe"),
		  element - SMC_DMBE_CONTROL_LEN);
	set_limit(600);
	check_large(connection, uint64_t(element) * 0x10000 + MiB);
}
