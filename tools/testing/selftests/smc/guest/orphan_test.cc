// SPDX-License-Identifier: GPL-2.0
/*
 * Orphans: connections that this end has closed, and whose peer stays open. They end by the same
 * limits as with TCP, lose no byte before that, and are counted.
 */
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "agent.h"
#include "full.h"
#include "kernel_trace.h"
#include "link_groups.h"
#include "pattern.h"
#include "place.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

constexpr int KiB = 1024;

/* "TCP: inuse 5 orphan 0 tw 0 ..." */
int orphans_of_tcp()
{
	std::istringstream text(read_file("/proc/net/sockstat"));
	std::string word;

	while (text >> word)
		if (word == "orphan") {
			text >> word;
			return std::stoi(word);
		}
	throw std::runtime_error("no orphans in sockstat");
}

/*
 * A peer that does not read is reset after this time instead of 325 s. It is long enough for the
 * test to close its end meanwhile.
 */
void hurry(int fd, int milliseconds = 3000)
{
	must_set(fd, SOL_TCP, TCP_USER_TIMEOUT, milliseconds);
}

/*
 * Sends the pattern @seed until @unsent bytes don't fit the window. Return: the number of all
 * bytes.
 */
uint64_t fill(int fd, uint64_t seed, uint64_t unsent = 1)
{
	uint64_t sent = 0;

	wait_until("the window is closed", [&] {
		std::string chunk = pattern(seed, sent, 16 * KiB);
		ssize_t n;

		while ((n = send(fd, chunk.data(), chunk.size(), MSG_DONTWAIT)) > 0) {
			sent += n;
			chunk = pattern(seed, sent, 16 * KiB);
		}
		/* Bytes also stay unsent for a moment while others are under way. */
		TcpInfo info = tcp_info_of(fd);

		return info.unsent >= unsent && info.acked >= info.sent;
	});
	return sent;
}

} // namespace

class Orphan : public testing::TestWithParam<Role>
{
protected:
	Agent peer;
	Counters before = Counters::now();

	Counters passed() const
	{
		return Counters::now() - before;
	}
	Connection connection()
	{
		return make_connection(peer, Flavor(), GetParam());
	}
	/* Elements, sockets and connections of this end are gone. Those of the peer still exist. */
	static void expect_gone()
	{
		wait_until("no connection is left", [] {
			for (const auto &group : parse_json(must_run(smc("-j group"))))
				if (group.at("conns") != 0)
					return false;
			return true;
		});
		wait_until("no orphan is left", [] { return !Counters::now()["orphans"]; });
		wait_until("TCP has none either", [] { return !orphans_of_tcp(); });
	}
	/*
	 * This end sends and closes, and with max_orphans=0 the connection ends at once. As with
	 * TCP, bytes that were not sent by then are lost. The peer reads the others afterwards.
	 */
	void expect_read_when_it_is_over(Connection &one)
	{
		SysctlScope max("net.smc.max_orphans", "0");
		constexpr Flow flow = {.seed = 1, .bytes = 30000};

		send_flow(one.here, flow);
		wait_until("all is sent", [&] {
			int unsent = -1;

			return !ioctl(one.here, SIOCOUTQNSD, &unsent) && !unsent;
		});
		one.here.close();
		expect_gone();
		one.there.recv_flow(flow);
	}
	/*
	 * As with TCP, the peer's application gets all bytes sent before the reset, and then the
	 * error.
	 */
	static void expect_as_with_tcp(RemoteSocket &there)
	{
		there.expect_end();
		EXPECT_EQ(there.send("in vain"), 7);
		wait_until("sending fails", [&] { return there.send("x") < 0; });
	}
	/* The same as with TCP if there are too many orphans: a FIN, then a reset. */
	static void expect_as_with_tcp_when_refused(RemoteSocket &there)
	{
		there.expect_end();
		wait_until("sending fails", [&] { return there.send("x") == -EPIPE; });
	}
	/*
	 * The same if the peer writes first: the error of that does not affect the bytes to read.
	 */
	static void expect_as_with_tcp_when_written_to(RemoteSocket &there)
	{
		EXPECT_EQ(there.send("in vain"), 7);
		there.expect_end();
		wait_until("sending fails", [&] { return there.send("x") < 0; });
	}
	void TearDown() override
	{
		Connection one = connection();

		check_data(one, 100000, true);
		one.here.close();
		one.there.close();
		expect_no_connections(peer);
		EXPECT_EQ(passed().sum("violation_"), 0);
	}
};

INSTANTIATE_TEST_SUITE_P(, Orphan, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(Orphan, PeerNeverCloses)
{
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");
	Connection one = connection();
	int64_t groups = Counters::now()[by_path("groups_created")];

	check_data(one, 100000, true);
	one.here.close();
	expect_gone();
	expect_as_with_tcp(one.there);
	EXPECT_EQ(passed()["orphans_timed_out"], peer_within() ? 0 : 1);

	/* The peer's kernel has answered, so the link group can be used again. */
	Connection two = connection();

	check_data(two, 1000, true);
	EXPECT_EQ(Counters::now()[by_path("groups_created")], groups);
}

/* The peer reads less than it would report on its own, so it is asked to report. */
TEST_P(Orphan, PeerReadsLittleAndNeverCloses)
{
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");
	Connection one = connection();
	constexpr Flow flow = {.seed = 1, .bytes = 1000};

	send_flow(one.here, flow);
	one.here.close();
	one.there.recv_flow(flow);
	expect_gone();
	expect_as_with_tcp_when_written_to(one.there);
}

/* The peer may read the bytes that it received long after this end is gone. */
TEST_P(Orphan, PeerReadsWhenItIsOver)
{
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");
	Connection one = connection();

	expect_read_when_it_is_over(one);
	expect_as_with_tcp_when_refused(one.there);
}

/* The peer's application has shut down its direction, and keeps the socket. */
TEST_P(Orphan, PeerShutsDownOnly)
{
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");
	Connection one = connection();

	ASSERT_EQ(one.there.shutdown(SHUT_WR), 0);
	expect_end(one.here);
	expect_read_when_it_is_over(one);
	one.there.expect_end();
}

TEST_P(Orphan, PeerNeverReads)
{
	NEEDS_ANOTHER_HOST("a local peer has all that is written in its element");

	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");
	Connection one = connection();

	hurry(one.here);
	fill(one.here, 1);
	one.here.close();
	expect_gone();
	EXPECT_EQ(passed()["orphans_timed_out"], 1);
	/* The peer gets an error, because bytes are missing. */
	EXPECT_EQ(one.there.ending(), -ECONNRESET);
}

/* The socket's own timeout applies, as those of the namespace are much longer. */
TEST_P(Orphan, UserTimeout)
{
	NEEDS_ANOTHER_HOST("a local peer has all that is written in its element");

	Connection one = connection();

	hurry(one.here);
	must_set(one.here, SOL_TCP, TCP_LINGER2, 1);
	fill(one.here, 1);
	one.here.close();
	expect_gone();
	EXPECT_EQ(passed()["orphans_timed_out"], 1);
}

/*
 * The timeout is for bytes that don't fit the window. TCP would have acknowledged those that have
 * reached the peer. So an orphan whose peer has them, but has not read them, exists longer than one
 * with unsent bytes.
 */
TEST_P(Orphan, UserTimeoutIsNotForTheReader)
{
	NEEDS_ANOTHER_HOST("a local peer has all that is written in its element");

	Connection unread = connection(), full = connection();
	constexpr Flow flow = {.seed = 1, .bytes = 30000};

	for (Connection *one : {&unread, &full})
		hurry(one->here);
	must_set(full.here, SOL_TCP, TCP_LINGER2, 1);
	send_flow(unread.here, flow);
	fill(full.here, 1);
	unread.here.close();
	full.here.close();
	wait_until("one has ended", [] { return Counters::now()["orphans"] == 1; });
	EXPECT_EQ(passed()["orphans_timed_out"], 1);
	unread.there.recv_flow(flow);
	unread.there.expect_end();
	unread.there.close();
	expect_gone();
	EXPECT_EQ(passed()["orphans_timed_out"], 1);
}

/*
 * A reader that reads a little now and then has as much time as it needs. Another, which reads
 * nothing and was orphaned later, shows when the timeout would have expired.
 */
TEST_P(Orphan, SlowReaderLosesNothing)
{
	NEEDS_ANOTHER_HOST("a local peer has all that is written in its element");

	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");
	Preparation large = {
	    .here = [](int fd) { must_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, 512 * KiB); },
	    .there =
		[](RemoteSocket &socket) { socket.set(SOL_SOCKET, SO_RCVBUFFORCE, 512 * KiB); },
	};
	Connection slow = make_connection(peer, Flavor(), GetParam(), large);
	Connection idle = connection();
	uint64_t sent = fill(slow.here, 1, 400 * KiB), read = 0;

	fill(idle.here, 2);
	for (Connection *one : {&slow, &idle})
		hurry(one->here, 6000);
	slow.here.close();
	idle.here.close();
	wait_until("one is given up", [&] {
		EXPECT_EQ(slow.there.recv(2 * KiB, MSG_WAITALL), pattern(1, read, 2 * KiB));
		read += 2 * KiB;
		return passed()["orphans_timed_out"] > 0;
	});
	/* Not all of it may be in flight before that. */
	EXPECT_LT(read, 350u * KiB);
	EXPECT_EQ(idle.there.ending(), -ECONNRESET);
	slow.there.recv_flow({.seed = 1, .bytes = sent - read, .position = read});
	slow.there.expect_end();
	EXPECT_EQ(passed()["orphans_timed_out"], 1);
}

/* As many orphans as with TCP: those beyond are reset at once, and not by a timeout. */
TEST_P(Orphan, TooMany)
{
	NEEDS_ANOTHER_HOST("a local peer's socket is gone when it is closed");

	std::array<Connection, 4> all = {connection(), connection(), connection(), connection()};

	{
		SysctlScope max("net.smc.max_orphans", "2");

		fill(all[0].here, 1);
		fill(all[2].here, 1);
		for (Connection &one : all)
			one.here.close();
		/* The peer of a reset orphan misses bytes, that of the last one doesn't. */
		EXPECT_EQ(all[2].there.ending(), -ECONNRESET);
		expect_as_with_tcp_when_refused(all[3].there);
		EXPECT_EQ(passed()["orphans_refused"], 2);
		wait_until("two are left", [] { return Counters::now()["orphans"] == 2; });
		/* TCP counts the one whose last bytes wait for space. */
		EXPECT_EQ(orphans_of_tcp(), 1);
	}
	for (int i : {0, 1}) {
		EXPECT_EQ(all[i].there.ending(), 0);
		all[i].there.close();
	}
	wait_until("none is left", [] { return !Counters::now()["orphans"]; });
	EXPECT_EQ(passed()["orphans_timed_out"], 0);
}

/*
 * A host with elements of 512 KiB, in buffers of pages. The second connection has a buffer of its
 * own like the first one; each later buffer has two elements, as the largest have.
 */
class LargeOrphan : public Orphan
{
protected:
	/* Pages of a buffer with two elements, for receiving and for sending. */
	static constexpr int64_t pages_of_two = 2 * 2 * 512 * KiB / 4096;

	void SetUp() override
	{
		NEEDS_ANOTHER_HOST("a local peer's socket is gone when it is closed");
		far_of_host.emplace(peer, "net.smc.host_mem_limit", "1000000000");
		give_back();
	}
	void TearDown() override
	{
		Orphan::TearDown();
		if (!IsSkipped())
			give_back();
	}
	/* No buffer of connections before is used again, or counts for limits of tests after. */
	static void give_back()
	{
		wait_until("no group is left", [] {
			write_file("/proc/sys/vm/drop_caches", "2");
			return !link_groups().groups;
		});
	}
	/* The pages that orphans and quarantined connections of this host keep. */
	static int64_t pages()
	{
		Counters now = Counters::now();

		return now["orphan_pages"] + now["quarantined_pages"];
	}

	SysctlScope wmem{"net.smc.wmem", "524288"}, rmem{"net.smc.rmem", "524288"};
	/* The ring for sending is at most as large as the peer's for receiving. */
	RemoteSysctlScope far_rmem{peer, "net.smc.rmem", "524288"};
	/* Without contiguous memory, elements would be smaller. */
	SysctlScope type{"net.smc.smcr_buf_type", "1"};
	RemoteSysctlScope far_type{peer, "net.smc.smcr_buf_type", "1"};
	/* Idle memory of an earlier group counts, too. */
	SysctlScope of_host{"net.smc.host_mem_limit", "1000000000"};
	SysctlScope of_net{"net.smc.mem_limit", "1000000000"};
	std::optional<RemoteSysctlScope> far_of_host; /* a namespace has no such sysctl */
	RemoteSysctlScope far_of_net{peer, "net.smc.mem_limit", "1000000000"};
};

INSTANTIATE_TEST_SUITE_P(, LargeOrphan, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

/* An orphan keeps its buffers whole, and another one in the same buffers keeps nothing more. */
TEST_P(LargeOrphan, KeepsItsBuffers)
{
	std::array<Connection, 4> all = {connection(), connection(), connection(), connection()};

	ASSERT_EQ(pages(), 0);
	all[2].here.close();
	EXPECT_EQ(pages(), pages_of_two);
	all[3].here.close();
	EXPECT_EQ(pages(), pages_of_two);
	all[0].here.close();
	EXPECT_EQ(pages(), pages_of_two + pages_of_two / 2);

	all[2].there.close();
	wait_until("one has ended", [] { return Counters::now()["orphans"] == 2; });
	EXPECT_EQ(pages(), pages_of_two + pages_of_two / 2);
	all[3].there.close();
	wait_until("the buffer is not kept any more", [] { return pages() == pages_of_two / 2; });
	all[0].there.close();
	wait_until("none is kept", [] { return !pages(); });
}

/*
 * Few orphans, but they keep an eighth of the memory: each one the buffers of another one, which is
 * open.
 */
TEST_P(LargeOrphan, TooLarge)
{
	if (!peer_within() && std::thread::hardware_concurrency() > 1)
		GTEST_SKIP() << "connections are spread over link groups, and so over buffers";

	struct sysinfo info;
	std::vector<Connection> all;
	uint64_t closed = 0;

	ASSERT_EQ(sysinfo(&info), 0);
	const int64_t limit = info.totalram * info.mem_unit / 4096 / 8;

	/* In the first two buffers there is one connection each. */
	while (all.size() / 2 * pages_of_two < uint64_t(limit) + 2 * pages_of_two)
		all.push_back(connection());
	for (; !passed()["orphans_refused"]; closed++) {
		ASSERT_LT(2 * closed, all.size());
		EXPECT_EQ(passed()["orphans"], int64_t(closed));
		EXPECT_LT(pages(), limit + pages_of_two);
		all[2 * closed].here.close();
	}
	EXPECT_GE(pages(), limit);
	EXPECT_LE(int64_t(closed - 1), limit / pages_of_two + 2);
	/* No byte is missing at the peer, even if its end is delayed by many others. */
	expect_as_with_tcp_when_refused(all[2 * (closed - 1)].there);
	for (uint64_t i = 0; i < closed - 1; i++) {
		all[2 * i].there.expect_end();
		all[2 * i].there.close();
	}
	wait_until("none is left", [] { return !Counters::now()["orphans"]; });
	wait_until("nothing is kept", [] { return !pages(); });
	EXPECT_EQ(passed()["orphans_timed_out"], 0);
	EXPECT_EQ(passed()["orphans_refused"], 1);
}

/* The module can be unloaded, whatever the peer still holds. */
TEST_P(Orphan, ModuleIsUnloaded)
{
	NEEDS_ANOTHER_HOST("a host has one module");

	Connection one = connection(), full = connection();

	fill(full.here, 1);
	one.here.close();
	full.here.close();
	wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });
	must_run("lab-smc load");
	before = Counters::now();
}

/* The timeouts in seconds of all timers with this function that were traced. */
static std::vector<long> timeouts(const KernelTrace &trace, const std::string &function)
{
	/* The same in all kernels of the lab. */
	constexpr long HZ = 250;
	const std::string key = "timeout=";
	std::vector<long> seconds;

	for (const std::string &line : trace.lines("function=" + function)) {
		size_t at = line.find(key);

		/* A tick may have passed before the timer was traced. */
		if (at != std::string::npos)
			seconds.push_back((std::stol(line.substr(at + key.size())) + HZ / 2) / HZ);
	}
	return seconds;
}

/* The owner of a namespace may set the sysctl to weeks. */
TEST_P(Orphan, FinTimeoutHasALimit)
{
	if (!KernelTrace::possible())
		GTEST_SKIP() << "this kernel traces no events";

	constexpr long weeks = 3 * 7 * 86400, limit = 120;
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", std::to_string(weeks));
	std::vector<long> seconds;
	KernelTrace trace("timer/timer_start");
	Connection one = connection();

	check_data(one, 1000, true);
	one.here.close();
	wait_until("a timer was started for the end of the peer", [&] {
		seconds = timeouts(trace, "delayed_work_timer_fn");
		return std::ranges::find(seconds, limit) != seconds.end() ||
		       std::ranges::find(seconds, weeks) != seconds.end();
	});
	EXPECT_EQ(std::ranges::find(seconds, weeks), seconds.end());
	one.there.expect_end();
	one.there.close();
	expect_gone();
}
