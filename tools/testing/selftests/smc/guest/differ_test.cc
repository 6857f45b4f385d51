// SPDX-License-Identifier: GPL-2.0
/*
 * A differential tester: random sequences of calls on sockets must have the same results over TCP
 * and over SMC. Both ends of all connections are in this process.
 *
 *   generate()   makes a sequence of steps from a seed (step.h describes steps)
 *   perform()    performs a sequence on sockets of one kind. Its report says for each step what the
 *                program saw: the result of the call, errno, bytes, signals; then for every socket
 *                poll()'s events, TCP_INFO's state, SIOCINQ, SIOCOUTQ and SIOCATMARK. At the end
 *                all sockets are closed, and sock_diag shows what TCP keeps of each connection
 *   compare      performs a sequence over TCP and over SMC, and compares both reports
 *   shrink()     removes steps and makes numbers smaller, while the reports still differ
 *   to_string()  prints a sequence as C++, for a table below
 *
 * A report must not depend on timing, or TCP would differ from TCP: Seeds/Tcp tests that.
 *
 * - A step begins when the previous one has had its effect at the other end (World::settle): all
 *   bytes are acknowledged, no state is a transient one, each end has seen that the other is
 *   closed, and connect() has succeeded or failed. Data that TCP holds back (MSG_MORE) is awaited.
 * - No call waits forever: sockets have SO_RCVTIMEO and SO_SNDTIMEO of a few milliseconds. As
 *   nothing is in flight, an event that a call waits for has happened, or will not happen.
 * - A step is skipped if its result would depend on timing, or if it has no socket to act on, by
 *   the same rule over TCP and SMC. So any part of a sequence is valid, and can be removed.
 * - The amount that fits depends on the sizes of buffers. So no step sends more than certainly
 *   fits, except fill and drain: these require only that all bytes accepted arrive.
 * - Ports are numbered in the order in which they are first seen.
 *
 * When a difference is found, it goes into the table of known ones (differ/known.cc), which the
 * comparison ignores. The test of a known difference fails once it is fixed: its sequence then
 * goes into the table below for good.
 *
 *   DIFFER_FIRST   the first seed, 1 by default
 *   DIFFER_SEEDS   number of seeds; 0: for DIFFER_SECONDS, or without end
 *   DIFFER_WORST   stop after this many differences
 */
#include <climits>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <optional>
#include <sys/epoll.h>

#include "by_rdma.h"
#include "differ/compare.h"
#include "differ/generate.h"
#include "differ/print.h"
#include "differ/shrink.h"
#include "differ/side.h"
#include "limit.h"
#include "place.h"
#include "system.h"

using namespace differ;
using guest::ByRdma;
using guest::Counters;
using guest::Kind;

namespace
{

std::string shown(const Steps &steps, const Difference &difference)
{
	std::string at =
	    difference.step < steps.size() ? to_string(steps[difference.step]) : "the end";

	return differ::to_string(steps) + "at " + at + "\n  TCP:   " + difference.tcp +
	       "\n  other: " + difference.other + "\n";
}

/* Return: the short form of a sequence with different results. */
std::string analyse(const Steps &steps, const Kinds &kinds)
{
	Steps fewer = shrink(
	    steps, [&](const Steps &some) { return first_unknown(some, kinds).has_value(); });
	auto difference = first_unknown(fewer, kinds);

	if (difference)
		return shown(fewer, *difference);
	return "not again:\n" + differ::to_string(steps);
}

constexpr const char *no_common_device = "two namespaces have no device of RDMA in common";

struct Variant {
	const char *name;
	Kind even, odd;
	long seeds;
	bool by_rdma = false;

	const char *bytes_counter() const
	{
		return by_rdma ? "rdma_write_bytes" : "ism_write_bytes";
	}
};

void PrintTo(const Variant &variant, std::ostream *out)
{
	*out << variant.name;
}

class Differ : public testing::TestWithParam<Variant>
{
};

INSTANTIATE_TEST_SUITE_P(, Differ,
			 testing::Values(Variant{"Tcp", Kind::tcp, Kind::tcp, 200},
					 Variant{"Smc", Kind::smc, Kind::smc, 700},
					 Variant{"Tcp2Smc", Kind::tcp2smc, Kind::tcp2smc, 100},
					 Variant{"SmcToTcp", Kind::smc, Kind::tcp, 100},
					 Variant{"TcpToSmc", Kind::tcp, Kind::smc, 100},
					 Variant{"SmcR", Kind::smc, Kind::smc, 200, true}),
			 testing::PrintToStringParamName());

TEST_P(Differ, Seeds)
{
	const Variant &variant = GetParam();

	if (variant.by_rdma && are_apart())
		GTEST_SKIP() << no_common_device;

	std::optional<ByRdma> by_rdma;

	if (variant.by_rdma)
		by_rdma.emplace();

	bool is_smc = variant.even != Kind::tcp && variant.odd != Kind::tcp;
	long first = guest::from_environment("DIFFER_FIRST", 1);
	long count = guest::from_environment("DIFFER_SEEDS", variant.seeds);
	long worst = guest::from_environment("DIFFER_WORST", 5);
	long seconds = guest::from_environment("DIFFER_SECONDS", 0);
	time_t begin = time(nullptr);
	auto go_on = [&](long tried) {
		return count ? tried < count : !seconds || time(nullptr) - begin < seconds;
	};
	Counters before = Counters::now();
	long tried, found = 0;

	guest::set_limit(count == variant.seeds ? 600 : INT_MAX / 10);
	for (tried = 0; go_on(tried) && found < worst; tried++) {
		long seed = first + tried;
		Kinds kinds = {variant.even, variant.odd, seed % 2 ? AF_INET6 : AF_INET};
		Steps steps = generate(seed);
		auto difference = first_unknown(steps, kinds);

		if (!difference)
			continue;
		found++;
		ADD_FAILURE() << "seed " << seed << "\n"
			      << shown(steps, *difference) << "in short\n"
			      << analyse(steps, kinds);
	}

	Counters counted = Counters::now() - before;

	if (!is_smc) {
		EXPECT_EQ(counted[variant.bytes_counter()], 0);
		return;
	}
	/* The compared sockets were SMC sockets. */
	EXPECT_GT(counted[variant.bytes_counter()], 10 * tried);
	EXPECT_LE(counted["fallbacks"], tried / 10);
}

struct Sequence {
	const char *name;
	Steps steps;
};

void PrintTo(const Sequence &sequence, std::ostream *out)
{
	*out << sequence.name;
}

/* Sequences that once differed, or are likely to. */
const Sequence sequences[] = {
    {"HalfClosed",
     {{Op::pair, 0, 1},
      {Op::send, 0, 5, 0, by_call},
      {Op::shutdown, 0, SHUT_WR},
      {Op::send, 0, 1, 0, by_call},
      {Op::recv, 1, 9, MSG_WAITALL, by_call},
      {Op::recv, 1, 9, 0, by_call},
      {Op::send, 1, 3000, 0, by_vector},
      {Op::close, 1},
      {Op::recv, 0, 3000, 0, by_msg},
      {Op::recv, 0, 1, 0, by_rw}}},
    {"ResetIsToldOnce",
     {{Op::pair, 0, 1},
      {Op::linger, 0, 1, 0},
      {Op::close, 0},
      {Op::recv, 1, 1, 0, by_call},
      {Op::recv, 1, 1, 0, by_call},
      {Op::get, 1, SOL_SOCKET, SO_ERROR, 4},
      {Op::send, 1, 1, 0, by_call}}},
    {"UrgentByteAmongOthers",
     {{Op::pair, 0, 1},
      {Op::async, 1, 1},
      {Op::send, 0, 4, 0, by_call},
      {Op::send, 0, 3, MSG_OOB, by_call},
      {Op::send, 0, 4, 0, by_call},
      {Op::recv, 1, 20, MSG_PEEK, by_call},
      {Op::recv, 1, 20, 0, by_call},
      {Op::recv, 1, 1, MSG_OOB, by_call},
      {Op::recv, 1, 1, MSG_OOB, by_call},
      {Op::recv, 1, 20, 0, by_call}}},
    {"UrgentByteInline",
     {{Op::pair, 0, 1},
      {Op::set, 1, SOL_SOCKET, SO_OOBINLINE, 1},
      {Op::send, 0, 3, MSG_OOB, by_call},
      {Op::send, 0, 3, MSG_OOB, by_call},
      {Op::recv, 1, 20, 0, by_call},
      {Op::recv, 1, 20, MSG_PEEK, by_call},
      {Op::recv, 1, 1, MSG_OOB, by_call},
      {Op::recv, 1, 20, 0, by_call}}},
    {"EdgesOfEpoll",
     {{Op::pair, 0, 1},
      {Op::epoll_add, 1, int(EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)},
      {Op::epoll_wait},
      {Op::send, 0, 2, 0, by_call},
      {Op::epoll_wait},
      {Op::epoll_wait},
      {Op::recv, 1, 1, 0, by_call},
      {Op::epoll_wait},
      {Op::shutdown, 0, SHUT_WR},
      {Op::epoll_wait},
      {Op::shutdown, 1, SHUT_WR},
      {Op::epoll_wait}}},
    {"PeekOffset",
     {{Op::pair, 0, 1},
      {Op::set, 1, SOL_SOCKET, SO_PEEK_OFF, 3},
      {Op::send, 0, 10, 0, by_call},
      {Op::recv, 1, 4, MSG_PEEK, by_call},
      {Op::recv, 1, 2, 0, by_call},
      {Op::recv, 1, 4, MSG_PEEK, by_call},
      {Op::recv, 1, 4, MSG_PEEK | MSG_DONTWAIT, by_call},
      {Op::get, 1, SOL_SOCKET, SO_PEEK_OFF, 4}}},
    {"FullThenClosed",
     {{Op::pair, 0, 1},
      {Op::fill, 0},
      {Op::close, 0},
      {Op::drain, 1},
      {Op::recv, 1, 1, 0, by_call}}},
    {"ReaderIsWoken",
     {{Op::pair, 0, 1},
      {Op::send, 1, 3, 0, by_call},
      {Op::wake, 0, 1, 8, by_bytes},
      {Op::wake, 1, 0, 2000, by_bytes}}},
    {"AcceptedAfterTheEnd",
     {{Op::socket, 0, 0},
      {Op::socket, 1, 0},
      {Op::bind, 0, 0},
      {Op::listen, 0, 2},
      {Op::connect, 1, 0},
      {Op::send, 1, 5, 0, by_call},
      {Op::close, 1},
      {Op::accept, 0, 2, SOCK_NONBLOCK},
      {Op::names, 2},
      {Op::recv, 2, 9, 0, by_call},
      {Op::recv, 2, 9, 0, by_call}}},
    {"ConnectedToItself",
     {{Op::socket, 0, 0},
      {Op::bind, 0, 0},
      {Op::connect, 0, 0},
      {Op::names, 0},
      {Op::send, 0, 5, 0, by_call},
      {Op::recv, 0, 5, 0, by_call},
      {Op::shutdown, 0, SHUT_WR},
      {Op::recv, 0, 5, 0, by_call}}},
    {"NoticesOfZerocopy",
     {{Op::pair, 0, 1},
      {Op::set, 0, SOL_SOCKET, SO_ZEROCOPY, 1},
      {Op::send, 0, 5, MSG_ZEROCOPY, by_call},
      {Op::send, 0, 5, MSG_ZEROCOPY, by_msg},
      {Op::recv, 1, 10, 0, by_call},
      {Op::errqueue, 0},
      {Op::errqueue, 0}}},
    {"SpliceAtMark",
     {{Op::pair, 0, 1},
      {Op::send, 1, 2, MSG_OOB, by_call},
      {Op::splice_out, 0, 9, 0},
      {Op::splice_out, 0, 9, 0},
      {Op::send, 1, 1, 0, by_call},
      {Op::splice_out, 0, 9, SPLICE_F_NONBLOCK},
      {Op::nonblock, 0, 1},
      {Op::splice_out, 0, 9, 0},
      {Op::set, 0, SOL_SOCKET, SO_OOBINLINE, 1},
      {Op::splice_out, 0, 9, 0},
      {Op::recv, 0, 1, 0, by_call},
      {Op::splice_out, 0, 9, 0},
      {Op::send, 1, 1, MSG_OOB, by_call},
      {Op::shutdown, 1, SHUT_WR},
      {Op::splice_out, 0, 9, 0}}},
    {"SpliceBelowMark",
     {{Op::pair, 0, 1},
      {Op::set, 0, SOL_SOCKET, SO_RCVLOWAT, 2},
      {Op::send, 1, 1, 0, by_call},
      {Op::splice_out, 0, 1, SPLICE_F_NONBLOCK},
      {Op::splice_out, 0, 1, SPLICE_F_NONBLOCK},
      {Op::send, 1, 1, 0, by_call},
      {Op::splice_out, 0, 9, 0}}},
    {"PeekAfterSplice",
     {{Op::pair, 0, 1},
      {Op::set, 0, SOL_SOCKET, SO_PEEK_OFF, 0},
      {Op::send, 1, 9, 0, by_call},
      {Op::recv, 0, 1, MSG_PEEK, by_call},
      {Op::splice_out, 0, 1, 0},
      {Op::recv, 0, 1, MSG_PEEK, by_call},
      {Op::get, 0, SOL_SOCKET, SO_PEEK_OFF, 4}}},
    {"ReadOfNothing",
     {{Op::pair, 0, 1},
      {Op::recv, 0, 0, 0, by_call},
      {Op::recv, 0, 0, MSG_DONTWAIT, by_call},
      {Op::recv, 0, 0, MSG_PEEK, by_msg},
      {Op::send, 1, 1, MSG_OOB, by_call},
      {Op::recv, 0, 0, 0, by_call},
      {Op::recv, 0, 1, MSG_DONTWAIT, by_call},
      {Op::shutdown, 1, SHUT_WR},
      {Op::recv, 0, 0, 0, by_call}}},
    {"ResetAfterBothEnds",
     {{Op::pair, 0, 1},
      {Op::send, 1, 1, 0, by_call},
      {Op::shutdown, 0, SHUT_WR},
      {Op::shutdown, 1, SHUT_WR},
      {Op::close, 0}}},
    {"LingerAfterBothEnds",
     {{Op::pair, 0, 1},
      {Op::shutdown, 1, SHUT_WR},
      {Op::shutdown, 0, SHUT_WR},
      {Op::linger, 0, 1, 0},
      {Op::close, 0}}},
    {"WriteToShutEnd",
     {{Op::pair, 0, 1},
      {Op::send, 0, 2, 0, by_call},
      {Op::send, 1, 2, 0, by_call},
      {Op::shutdown, 0, SHUT_RDWR},
      {Op::send, 1, 1, 0, by_call},
      {Op::recv, 0, 9, 0, by_call},
      {Op::recv, 0, 9, 0, by_call},
      {Op::recv, 1, 9, 0, by_call},
      {Op::send, 1, 1, 0, by_call},
      {Op::send, 1, 1, 0, by_call}}},
    {"ShutdownBeforeListening",
     {{Op::socket, 0, 0},
      {Op::socket, 1, 0},
      {Op::bind, 0, 0},
      {Op::shutdown, 0, SHUT_WR},
      {Op::listen, 0, 2},
      {Op::connect, 1, 0},
      {Op::accept, 0, 2, 0},
      {Op::send, 1, 1, 0, by_call},
      {Op::recv, 2, 1, 0, by_call}}},
    {"ShutdownBeforeConnecting",
     {{Op::socket, 0, 0},
      {Op::socket, 1, 0},
      {Op::bind, 0, 0},
      {Op::shutdown, 1, SHUT_RD},
      {Op::listen, 0, 2},
      {Op::connect, 1, 0},
      {Op::accept, 0, 2, 0},
      {Op::send, 1, 1, 0, by_call},
      {Op::recv, 2, 1, 0, by_call}}},
    {"NewsOfLowWaterMark",
     {{Op::pair, 0, 1},
      {Op::async, 0, 1},
      {Op::epoll_add, 0, int(EPOLLIN | EPOLLOUT | EPOLLET)},
      {Op::epoll_wait},
      {Op::set, 0, SOL_SOCKET, SO_RCVLOWAT, 4},
      {Op::epoll_wait},
      {Op::send, 1, 3, 0, by_call},
      {Op::epoll_wait},
      {Op::set, 0, SOL_SOCKET, SO_RCVLOWAT, 2},
      {Op::epoll_wait},
      {Op::recv, 0, 3, 0, by_call},
      {Op::shutdown, 1, SHUT_WR},
      {Op::epoll_wait},
      {Op::set, 0, SOL_SOCKET, SO_RCVLOWAT, 4},
      {Op::epoll_wait}}},
    {"NewsOfEnd",
     {{Op::pair, 0, 1},
      {Op::async, 0, 1},
      {Op::async, 1, 1},
      {Op::epoll_add, 0, int(EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)},
      {Op::epoll_wait},
      {Op::shutdown, 0, SHUT_RD},
      {Op::epoll_wait},
      {Op::shutdown, 1, SHUT_WR},
      {Op::epoll_wait},
      {Op::shutdown, 0, SHUT_RDWR},
      {Op::epoll_wait},
      {Op::close, 0}}},
    {"NewsOfClose",
     {{Op::pair, 0, 1},
      {Op::async, 0, 1},
      {Op::shutdown, 1, SHUT_WR},
      {Op::close, 1},
      {Op::send, 0, 1, 0, by_call}}},
    {"NewsOfUrgent",
     {{Op::pair, 0, 1},
      {Op::async, 1, 1},
      {Op::epoll_add, 1, int(EPOLLIN | EPOLLOUT | EPOLLET)},
      {Op::epoll_wait},
      {Op::send, 0, 1, MSG_OOB, by_call},
      {Op::epoll_wait},
      {Op::send, 0, 1, MSG_OOB, by_call},
      {Op::epoll_wait}}},
    {"EdgeOfUrgent",
     {{Op::pair, 0, 1},
      {Op::epoll_add, 1, int(EPOLLPRI | EPOLLOUT | EPOLLET)},
      {Op::epoll_wait},
      {Op::send, 0, 1, 0, by_call},
      {Op::epoll_wait}}},
    {"UrgentByteAfterReset",
     {{Op::pair, 0, 1},
      {Op::send, 0, 1, MSG_OOB, by_call},
      {Op::linger, 0, 1, 0},
      {Op::close, 0},
      {Op::recv, 1, 1, MSG_OOB, by_call},
      {Op::recv, 1, 1, MSG_OOB, by_call}}},
    {"UrgentByteAfterResetAfterEnd",
     {{Op::pair, 0, 1},
      {Op::send, 0, 1, MSG_OOB, by_call},
      {Op::shutdown, 0, SHUT_WR},
      {Op::linger, 0, 1, 0},
      {Op::close, 0},
      {Op::recv, 1, 1, MSG_OOB, by_call},
      {Op::recv, 1, 1, MSG_OOB, by_call}}},
    {"ConnectAfterShutdown",
     {{Op::socket, 0, 0},
      {Op::socket, 1, SOCK_NONBLOCK},
      {Op::bind, 0, 0},
      {Op::listen, 0, 3},
      {Op::connect, 1, 0},
      {Op::shutdown, 1, SHUT_WR},
      {Op::connect, 1, 1}}},
    {"ControlAfterShutdown",
     {{Op::pair, 0, 1}, {Op::shutdown, 1, SHUT_WR}, {Op::send, 1, 1, 0, by_control}}},
    {"ControlForAClosedPeer",
     {{Op::pair, 0, 1},
      {Op::close, 1},
      {Op::send, 0, 1, 0, by_control},
      {Op::send, 0, 1, 0, by_call},
      {Op::send, 0, 1, 0, by_control}}},
    {"ControlAfterReset",
     {{Op::pair, 0, 1},
      {Op::linger, 1, 1, 0},
      {Op::close, 1},
      {Op::send, 0, 1, 0, by_control},
      {Op::send, 0, 1, 0, by_control}}},
    {"UrgentByteSteppedOver",
     {{Op::pair, 0, 1},
      {Op::send, 1, 1, MSG_OOB, by_call},
      {Op::recv, 0, 1, 0, by_call},
      {Op::recv, 0, 1, MSG_OOB, by_call}}},
    {"UrgentByteForShutEnd",
     {{Op::pair, 0, 1}, {Op::shutdown, 0, SHUT_RDWR}, {Op::send, 1, 1, MSG_OOB, by_call}}},
    {"UrgentBytesForShutEnd",
     {{Op::pair, 0, 1},
      {Op::shutdown, 0, SHUT_RDWR},
      {Op::send, 1, 5, MSG_OOB, by_call},
      {Op::recv, 0, 5, 0, by_call},
      {Op::recv, 0, 1, MSG_OOB, by_call}}},
    {"ErrorAfterDisconnect", {{Op::pair, 0, 1}, {Op::unspec, 0}, {Op::unspec, 1}}},
    {"DisconnectAfterBothEnds",
     {{Op::pair, 0, 1}, {Op::shutdown, 0, SHUT_RDWR}, {Op::shutdown, 1, SHUT_WR}, {Op::unspec, 0}}},
    {"DisconnectWithUnreadBytes",
     {{Op::pair, 0, 1},
      {Op::send, 1, 5, 0, by_call},
      {Op::shutdown, 1, SHUT_WR},
      {Op::shutdown, 0, SHUT_WR},
      {Op::unspec, 0},
      {Op::unspec, 1}}},
    {"DisconnectTwice",
     {{Op::socket, 0, 0},
      {Op::socket, 1, 0},
      {Op::bind, 0, 0},
      {Op::listen, 0, 3},
      {Op::connect, 1, 0},
      {Op::accept, 0, 2, 0},
      {Op::unspec, 1},
      {Op::connect, 1, 0},
      {Op::accept, 0, 3, 0},
      {Op::unspec, 1},
      {Op::recv, 1, 5, 0, by_call}}},
    {"BindAfterReset",
     {{Op::pair, 0, 1}, {Op::close, 1}, {Op::send, 0, 1, 0, by_call}, {Op::bind, 0, 0}}},
    {"BindOfTheResetEnd",
     {{Op::pair, 0, 1},
      {Op::shutdown, 1, SHUT_RDWR},
      {Op::send, 0, 1, 0, by_call},
      {Op::bind, 0, 2}}},
    {"ListenOfTheResetEnd",
     {{Op::pair, 0, 1},
      {Op::shutdown, 1, SHUT_RDWR},
      {Op::send, 0, 1, 0, by_call},
      {Op::listen, 0, 2}}},
};

class Sequences : public testing::TestWithParam<Sequence>
{
};

INSTANTIATE_TEST_SUITE_P(, Sequences, testing::ValuesIn(sequences),
			 testing::PrintToStringParamName());

void expect_as_over_tcp(const Steps &steps)
{
	for (int family : {AF_INET, AF_INET6}) {
		auto difference = first_unknown(steps, {Kind::smc, Kind::smc, family});

		if (difference)
			ADD_FAILURE() << shown(steps, *difference);
	}
}

TEST_P(Sequences, AreAsOverTcp)
{
	expect_as_over_tcp(GetParam().steps);
}

/* A single test, because creating the device takes a while. */
TEST(SequencesByRdma, AreAsOverTcp)
{
	if (are_apart())
		GTEST_SKIP() << no_common_device;

	ByRdma by_rdma;
	Counters before = Counters::now();

	for (const Sequence &sequence : sequences) {
		SCOPED_TRACE(sequence.name);
		expect_as_over_tcp(sequence.steps);
	}
	EXPECT_GT((Counters::now() - before)["rdma_write_bytes"], 0);
}

class KnownDifference : public testing::TestWithParam<Known>
{
};

INSTANTIATE_TEST_SUITE_P(, KnownDifference, testing::ValuesIn(all_known()),
			 [](const auto &info) { return std::string(info.param.name); });

/* A difference that is fixed must leave the list, and its sequence must go into the table above. */
TEST_P(KnownDifference, IsStillThere)
{
	const Known &known = GetParam();

	for (const std::string &said : perform(known.steps, {Kind::tcp, Kind::tcp, AF_INET}))
		if (said.starts_with("-EOPNOTSUPP"))
			GTEST_SKIP() << "TCP of this kernel has no such option";

	auto difference = first_difference(known.steps, {Kind::smc, Kind::smc, AF_INET});

	ASSERT_TRUE(difference) << "it is mended";
	ASSERT_TRUE(difference->known) << shown(known.steps, *difference);
	EXPECT_STREQ(difference->known->name, known.name);
	EXPECT_FALSE(first_unknown(known.steps, {Kind::smc, Kind::smc, AF_INET}));
}

/* shrink() finds the one step that makes the difference, and reports none where there is none. */
TEST(Shrink, LeavesOutWhatIsNotNeeded)
{
	Steps steps = generate(1);
	Step wanted = {Op::send, 3, 77, MSG_OOB | MSG_MORE, by_msg};
	auto has_it = [&](const Steps &some) {
		return std::any_of(some.begin(), some.end(), [](const Step &step) {
			return step.op == Op::send && step.slot == 3 && (step.b & MSG_OOB);
		});
	};

	steps.insert(steps.begin() + 3, wanted);
	EXPECT_EQ(shrink(steps, has_it), (Steps{{Op::send, 3, 1, MSG_OOB, by_call}}));
}

TEST(Print, IsCpp)
{
	EXPECT_EQ(to_string(Step{Op::send, 3, 7, MSG_OOB | MSG_MORE, by_msg}),
		  "{Op::send, 3, 7, MSG_OOB | MSG_MORE, by_msg},");
	EXPECT_EQ(to_string(Step{Op::set, 1, SOL_SOCKET, SO_RCVLOWAT, 2}),
		  "{Op::set, 1, SOL_SOCKET, SO_RCVLOWAT, 2},");
}

TEST(Generate, IsTheSameForASeed)
{
	EXPECT_EQ(generate(5), generate(5));
	EXPECT_NE(generate(5), generate(6));
}

} // namespace
