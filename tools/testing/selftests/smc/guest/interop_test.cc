// SPDX-License-Identifier: GPL-2.0
/*
 * This module against the in-tree one of Debian's kernel: run_guest.sh --smc 0=ours,1=tree interop.
 * The in-tree module speaks SMC-R version 2 over IPv4 only, and soft-RoCE has no GIDs for version
 * 1, so plain IPv6 is TCP between the two.
 */
#include <array>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <linux/smc.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "agent.h"
#include "full.h"
#include "limit.h"
#include "netlink_dump.h"
#include "pattern.h"
#include "peer_tree.h"
#include "smc_tool.h"

using namespace guest;

constexpr int KiB = 1024, MiB = 1024 * KiB;

/* This module in either role. Afterwards nothing may be left, and no violation counted. */
class Interop : public testing::TestWithParam<Role>
{
protected:
	Agent tree;
	/* Messages for streams that this end has aborted: their tokens are unknown. */
	int64_t late_answers = 0;

	void SetUp() override
	{
		configure_with_tree(tree);
		begin.emplace(Counters::now());
	}

	void TearDown() override
	{
		if (HasFailure())
			ADD_FAILURE() << "fallbacks here:\n"
				      << run_command(smc("fallbacks")).text << "and there:\n"
				      << tree.run_command(smc("fallbacks")).text;
		EXPECT_LE(passed()["violation_token"], late_answers);
		EXPECT_EQ(passed().sum("violation_"), passed()["violation_token"])
		    << passed().text();
		expect_no_connections(tree);
	}

	Connection connection(const Preparation &preparation = {})
	{
		return make_connection(tree, Flavor(), GetParam(), preparation);
	}

	/* @address: of the server's guest */
	Connection connection_to(const std::string &address)
	{
		if (GetParam() == Role::client) {
			RemoteSocket listener = tree.listen(Flavor());
			Fd client = must_socket(Flavor());
			Address to = address_from(address, listener.port());

			EXPECT_EQ(connect(client, to.get(), to.len), 0);
			return {std::move(client), listener.accept()};
		}

		Fd listener = must_listen(Flavor());
		RemoteSocket client = tree.socket(Flavor());

		EXPECT_EQ(client.connect(address_from(address, local_address(listener).port())), 0);
		return {must_accept(listener), std::move(client)};
	}

	Counters passed() const
	{
		return Counters::now() - *begin;
	}

private:
	std::optional<Counters> begin;
};

INSTANTIATE_TEST_SUITE_P(, Interop, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(Interop, SecondConnectionUsesTheGroup)
{
	Connection first = connection();
	int64_t groups = Counters::now()["rdma_groups_created"];
	Connection second = connection(), third = connection();

	check_data(first, 100000, true);
	check_data(second, 100000, true);
	check_data(third, 100000, true);
	EXPECT_EQ(Counters::now()["rdma_groups_created"], groups);
}

/*
 * The in-tree module offers a link at all its addresses, and proves at each that it is its own.
 * Ours has one for each GID.
 */
TEST_P(Interop, OtherAddressUsesTheGroup)
{
	const std::string other = "10.83.0.78", at_eth0 = other + "/24 dev eth0";
	auto run_at_server = [&](const std::string &command) {
		GetParam() == Role::client ? tree.must_run(command) : must_run(command);
	};

	run_at_server("ip addr add " + at_eth0);
	{
		Connection first = connection();
		int64_t groups = Counters::now()["rdma_groups_created"];
		Connection second = connection_to(other);

		check_data(first, 100000, true);
		check_data(second, 100000, true);
		EXPECT_EQ(Counters::now()["rdma_groups_created"],
			  groups + (GetParam() == Role::server));
	}
	expect_no_connections(tree);
	run_at_server("ip addr del " + at_eth0);
}

TEST_P(Interop, AmountsFromOneByte)
{
	for (uint64_t bytes : {1, 2, 4095, 16383, 16384, 16385, 65536, 65537, 1000003, 8 * MiB}) {
		Connection one = connection();

		check_data(one, bytes, true, bytes);
	}
}

TEST_P(Interop, LargeAmount)
{
	Connection one = connection();

	set_limit(600);
	check_data(one, scaled_down(16 * MiB), true);
}

TEST_P(Interop, EveryKindOfSocket)
{
	for (Kind kind : {Kind::smc, Kind::af_smc, Kind::tcp2smc}) {
		Connection one =
		    make_connection(tree, {kind, AF_INET}, {Kind::smc, AF_INET}, GetParam());

		check_data(one, 200000, true);
	}
}

TEST_P(Interop, MappedAddresses)
{
	constexpr Flavor v6 = {Kind::smc, AF_INET6};

	if (GetParam() == Role::client) {
		RemoteSocket listener = tree.listen(v6);
		Fd client = must_connect(v6, address_from("::ffff:10.83.0.2", listener.port()));
		Connection one = {std::move(client), listener.accept()};

		check_data(one, 200000, true);
		return;
	}

	Fd listener = must_listen(v6);
	RemoteSocket client =
	    tree.connect(v6, address_from("::ffff:10.83.0.1", local_address(listener).port()));
	Connection one = {must_accept(listener), std::move(client)};

	/*
	 * As client the in-tree module speaks version 2 over AF_INET only; the reason shows that.
	 */
	check_data(one, 200000, false);
}

TEST_P(Interop, OtherAddressesOfVersion6FallBack)
{
	Connection one = make_connection(tree, {Kind::smc, AF_INET6}, GetParam());

	check_data(one, 200000, false);
}

/* Small, medium and large size classes at either end: the in-tree module has no larger ones. */
TEST_P(Interop, UnequalBuffers)
{
	constexpr std::array sizes = {16 * KiB, 128 * KiB, 512 * KiB};

	for (int here : sizes) {
		for (int there : sizes) {
			Connection one = connection({
			    .here =
				[&](int fd) {
					must_set(fd, SOL_SOCKET, SO_RCVBUF, here);
					must_set(fd, SOL_SOCKET, SO_SNDBUF, here);
				},
			    .there =
				[&](RemoteSocket &socket) {
					socket.set(SOL_SOCKET, SO_RCVBUF, there);
					socket.set(SOL_SOCKET, SO_SNDBUF, there);
				},
			});

			SCOPED_TRACE(std::to_string(here) + " here, " + std::to_string(there) +
				     " there");
			check_data(one, 600011, true);
		}
	}
}

/* By default a group has no second link with the in-tree module. */
TEST_P(Interop, LinksAreLimited)
{
	Connection one = connection();
	int most = 0;

	check_data(one, 1000, true);
	for (const auto &group : parse_json(must_run(smc("-j group"))))
		if (group.contains("v2-smcr"))
			most = std::max(most, group["v2-smcr"]["max-links"].get<int>());
	EXPECT_EQ(most, 1);
}

/* More connections than one link group can have. */
TEST_P(Interop, ManyConnections)
{
	/* A link group can have 255. */
	constexpr int connections = 260;
	rlimit files = {4096, 4096};
	std::vector<Connection> all;

	set_limit(600);
	setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < connections; i++)
		all.push_back(connection());
	EXPECT_GE(passed()["rdma_groups_created"], 1);

	for (int i = 0; i < connections; i++)
		all[i].there.send(pattern(i, 0, 3000));
	for (int i = 0; i < connections; i++)
		send_flow(all[i].here, {.seed = uint64_t(i), .bytes = 5000});
	for (int i = 0; i < connections; i++) {
		recv_flow(all[i].here, {.seed = uint64_t(i), .bytes = 3000});
		all[i].there.recv_flow({.seed = uint64_t(i), .bytes = 5000});
	}
	EXPECT_GE(passed()["rdma_write_bytes"], 5000 * connections);
}

TEST_P(Interop, ConnectEchoClose)
{
	constexpr int connections = 200;

	set_limit(600);
	if (GetParam() == Role::client) {
		RemoteSocket listener = tree.listen(Flavor());
		Address to = address_of(1, AF_INET, listener.port());
		Job far = listener.start_echo_server(connections);

		for (int i = 0; i < connections; i++) {
			Fd client = must_connect(Flavor(), to);
			Flow flow = {.seed = uint64_t(i), .bytes = uint64_t(1 + i * 37 % 5000)};

			send_flow(client, flow);
			recv_flow(client, flow);
		}
		far.join();
	} else {
		Fd listener = must_listen(Flavor());
		Job far = tree.start(
		    {"ask-many", to_string(Flavor()), address_of(0, AF_INET, 0).text(),
		     std::to_string(local_address(listener).port()), std::to_string(connections)});

		for (int i = 0; i < connections; i++)
			echo(must_accept(listener));
		far.join();
	}
	EXPECT_GE(passed()["rdma_write_bytes"], connections);
}

TEST_P(Interop, CloseHereFirst)
{
	Connection one = connection();

	send_flow(one.here, {.seed = 1, .bytes = 10000});
	one.here.close();
	one.there.recv_flow({.seed = 1, .bytes = 10000});
	one.there.expect_end();
}

TEST_P(Interop, CloseThereFirst)
{
	Connection one = connection();

	one.there.send_flow({.seed = 1, .bytes = 10000});
	one.there.close();
	recv_flow(one.here, {.seed = 1, .bytes = 10000});
	expect_end(one.here);
	/* The other end is closed: the peer answers with a reset, or has closed before. */
	wait_until("sending fails", [&] { return send(one.here, "x", 1, MSG_NOSIGNAL) < 0; });
	EXPECT_TRUE(errno == EPIPE || errno == ECONNRESET) << strerror(errno);
}

TEST_P(Interop, HalfClose)
{
	for (bool here_first : {true, false}) {
		Connection one = connection();

		if (here_first) {
			ASSERT_EQ(shutdown(one.here, SHUT_WR), 0);
			one.there.expect_end();

			Job far = one.there.start_send({.seed = 2, .bytes = 300000});

			recv_flow(one.here, {.seed = 2, .bytes = 300000});
			far.join();
		} else {
			ASSERT_EQ(one.there.shutdown(SHUT_WR), 0);
			expect_end(one.here);
			Job far = one.there.start_recv({.seed = 2, .bytes = 300000});

			send_flow(one.here, {.seed = 2, .bytes = 300000});
			far.join();
		}
	}
}

/*
 * An application at the other end that stays open gets what TCP would let it get, and no more. Its
 * kernel answers the end only when the application closes, and then this end is gone.
 */
TEST_P(Interop, ClosedHereAndKeptOpenThere)
{
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");

	for (uint64_t bytes : {0, 30000}) {
		/* The peer does not report all that is read, so this end would wait for 325 s. */
		SysctlScope max("net.smc.max_orphans", bytes ? "0" : "100");
		Connection one = connection();
		Flow flow = {.seed = 1, .bytes = bytes};

		send_flow(one.here, flow);
		one.there.recv_flow(flow);
		one.here.close();
		wait_until("it is given up", [] { return !Counters::now()["orphans"]; });
		one.there.expect_end();
		wait_until("sending fails there", [&] { return one.there.send("x") < 0; });
		late_answers++;
	}
	EXPECT_EQ(passed()["orphans_timed_out"], 1);
	EXPECT_EQ(passed()["orphans_refused"], 1);
}

/*
 * Elements of aborted connections can't be reused while the link exists. So they are counted, and
 * the link ends when there are too many, even if other connections use it.
 */
TEST_P(Interop, TooManyKeptOpenThere)
{
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");
	SysctlScope max("net.smc.max_orphans", "4");
	Connection kept = connection();
	std::array<Connection, 3> closed = {connection(), connection(), connection()};

	check_data(kept, 1000, true);
	for (Connection &one : closed)
		one.here.close();
	EXPECT_EQ(await(kept.here, POLLIN) & POLLERR, POLLERR);
	EXPECT_EQ(must_get(kept.here, SOL_SOCKET, SO_ERROR), ECONNRESET);
	wait_until("no orphan is left", [] { return !Counters::now()["orphans"]; });
	EXPECT_EQ(passed()["orphans_timed_out"], 3);
	EXPECT_EQ(passed()["rdma_groups_lost"], 1);
	late_answers += closed.size();

	/* The in-tree server offers the old group until it has noticed its end. */
	wait_until("another group is made", [&] {
		int64_t groups = Counters::now()["rdma_groups_created"];
		Connection next = connection();

		return Counters::now()["rdma_groups_created"] > groups;
	});
}

TEST_P(Interop, ClosedHereAndNeverReadThere)
{
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");
	Connection one = connection();

	/* Some bytes have no room at the peer, so the user timeout begins. */
	fill_for_good(one.here);
	must_set(one.here, SOL_TCP, TCP_USER_TIMEOUT, 3000);
	one.here.close();
	wait_until("it is given up", [] { return !Counters::now()["orphans"]; });
	EXPECT_EQ(passed()["orphans_timed_out"], 1);
	EXPECT_LE(one.there.ending(), 0);
	late_answers++;
}

TEST_P(Interop, CloseBothAtOnce)
{
	for (int i = 0; i < 30; i++) {
		Connection one = connection();
		Job far = tree.start({"close", std::to_string(one.there.number())});

		one.here.close();
		far.join();
		one.there = RemoteSocket(tree, -1);
	}
}

/* TCP resets a connection that is closed with unread data, and so does SMC. */
/* The in-tree reader gets an orderly end instead of an abort, also from its own kind. */
TEST_P(Interop, CloseHereWithUnreadData)
{
	Connection one = connection();

	one.there.send_flow({.seed = 1, .bytes = 10000});
	await(one.here, POLLIN);
	one.here.close();

	long rc;

	one.there.await(POLLIN);
	one.there.recv(1, 0, &rc);
	EXPECT_EQ(rc, 0);
}

TEST_P(Interop, CloseThereWithUnreadData)
{
	Connection one = connection();
	char byte;

	send_flow(one.here, {.seed = 1, .bytes = 10000});
	one.there.await(POLLIN);
	one.there.close();
	await(one.here, POLLIN);
	EXPECT_EQ(recv(one.here, &byte, 1, 0), -1);
	EXPECT_EQ(errno, ECONNRESET);
}

/* The window closes, and opens again when the reader reads. */
TEST_P(Interop, SlowReaderThere)
{
	Connection one = connection();
	constexpr Flow flow = {.seed = 1, .bytes = 3 * MiB};
	uint64_t sent = 0;

	while (sent < flow.bytes) {
		std::string chunk =
		    pattern(flow.seed, sent, std::min<uint64_t>(50000, flow.bytes - sent));
		ssize_t n = send(one.here, chunk.data(), chunk.size(), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			break;
		sent += n;
	}
	ASSERT_LT(sent, flow.bytes) << "the window never closed";
	EXPECT_EQ(errno, EAGAIN);

	Job far = one.there.start_recv(flow);

	send_flow(one.here, {.seed = 1, .bytes = flow.bytes - sent, .position = sent});
	far.join();
}

TEST_P(Interop, SlowReaderHere)
{
	Connection one = connection();
	constexpr Flow flow = {.seed = 1, .bytes = 3 * MiB};
	Job far = one.there.start_send(flow);
	int element = socket_shown(one.here).at("connection").at("rmbe");
	char byte;

	wait_until("the window is shut", [&] {
		int waiting = 0;

		ioctl(one.here, FIONREAD, &waiting);
		return waiting >= element * 2 / 3;
	});
	EXPECT_FALSE(far.is_done());
	EXPECT_EQ(recv(one.here, &byte, 1, MSG_PEEK), 1);
	recv_flow(one.here, flow);
	far.join();
}

/* Many short waits for the window, in both directions, with unequal buffers. */
TEST_P(Interop, EchoThroughClosedWindows)
{
	for (int there : {16 * KiB, 40000, 100000, 300000}) {
		Connection one = connection({.there = [&](RemoteSocket &socket) {
			socket.set(SOL_SOCKET, SO_RCVBUF, there);
			socket.set(SOL_SOCKET, SO_SNDBUF, there);
		}});
		Flow flow = {.seed = 1, .bytes = 1000003};
		std::thread echoer([&] { echo(one.here); });
		Job out = one.there.start_send(flow);
		Job in = one.there.start_recv(flow);

		in.join();
		out.join();
		one.there.shutdown(SHUT_WR);
		echoer.join();
	}
}

TEST_P(Interop, PeerKilled)
{
	Agent victim;
	Connection idle = make_connection(victim, Flavor(), GetParam());
	Connection busy = make_connection(victim, Flavor(), GetParam());
	Job far = busy.there.start_send({.seed = 1, .bytes = 1000 * MiB});
	char byte;

	recv_flow(busy.here, {.seed = 1, .bytes = 100000});
	victim.kill();

	await(idle.here, POLLIN);
	EXPECT_LE(recv(idle.here, &byte, 1, 0), 0);
	wait_until("the stream ends", [&] {
		char bytes[4096];

		return recv(busy.here, bytes, sizeof(bytes), 0) <= 0;
	});
	/* As with TCP, the first send may succeed. */
	wait_until("sending fails", [&] { return send(idle.here, "x", 1, MSG_NOSIGNAL) < 0; });
}

TEST_P(Interop, PeerKilledWhileThisEndIsBlocked)
{
	Agent victim;
	Connection one = make_connection(victim, Flavor(), GetParam());
	std::thread killer([&] {
		wait_until("blocked", [&] {
			pollfd p = {one.here, POLLOUT, 0};

			return poll(&p, 1, 0) == 0;
		});
		victim.kill();
	});

	EXPECT_THROW(send_flow(one.here, {.seed = 1, .bytes = 1000 * MiB}), std::system_error);
	killer.join();
}

TEST_P(Interop, KilledHere)
{
	Connection one = connection();
	pid_t child = fork();

	if (!child) {
		try {
			send_flow(one.here, {.seed = 1, .bytes = 1000 * MiB});
		} catch (...) {
		}
		_exit(0);
	}
	one.here.close();
	one.there.recv_flow({.seed = 1, .bytes = 100000});
	kill(child, SIGKILL);
	waitpid(child, nullptr, 0);

	long rc = one.there.ending();

	EXPECT_TRUE(rc == 0 || rc == -ECONNRESET) << rc;
}

TEST_P(Interop, WithoutCommonEidFallsBack)
{
	tree.must_run(smc("eid flush") + "; " + smc("eid add OTHER"));
	{
		Connection one = connection();

		check_data(one, 100000, false);
	}
	tree.must_run(smc("eid flush"));
	configure_with_tree(tree);

	Connection two = connection();

	check_data(two, 100000, true);
}

TEST_P(Interop, WithoutEidHereFallsBack)
{
	must_run(smc("eid flush"));
	{
		Connection one = connection();

		check_data(one, 100000, false);
	}
	configure_with_tree(tree);

	Connection two = connection();

	check_data(two, 100000, true);
}

TEST_P(Interop, PeerWithoutDeviceFallsBack)
{
	tree.must_run("rdma link delete rxe0");
	Connection without = connection();

	check_data(without, 100000, false);
	tree.must_run("lab-rxe eth0");

	/* A server detects a stale link group by a connection, which falls back to TCP. */
	int64_t groups = Counters::now()["rdma_groups_created"];

	wait_until("a new link group is made", [&] {
		connection();
		return Counters::now()["rdma_groups_created"] > groups;
	});

	Connection with = connection();

	check_data(with, 100000, true);
}

/* Each side in turn loses its link group; the other has to notice. */
TEST_P(Interop, ModuleHereLoadedAgain)
{
	for (int i = 0; i < 2; i++) {
		{
			Connection one = connection();

			check_data(one, 100000, true);
		}
		expect_no_connections(tree);
		must_run("lab-smc unload && lab-smc load");
		configure_with_tree(tree);
	}
	/* The counters have restarted at zero. */
	SetUp();
}

TEST_P(Interop, PeersModuleLoadedAgain)
{
	for (int i = 0; i < 2; i++) {
		{
			Connection one = connection();

			check_data(one, 100000, true);
		}
		expect_no_connections(tree);
		/* Its sockets exist a moment longer than their connections. */
		wait_until("it is unloaded",
			   [&] { return !tree.run_command("lab-smc unload").status; });
		tree.must_run("lab-smc load");
		configure_with_tree(tree);
	}
}

TEST_P(Interop, PeersTestLinkIsAnswered)
{
	/* The sysctl applies to link groups made after it. */
	RemoteSysctlScope often(tree, "net.smc.smcr_testlink_time", "1");

	must_run("lab-smc unload && lab-smc load");
	SetUp();

	Connection one = connection();
	check_data(one, 1000, true);

	int64_t received = Counters::now()["rdma_recvs"];

	wait_until(
	    "six TEST LINK came", [&] { return Counters::now()["rdma_recvs"] - received >= 6; },
	    120);
	check_data(one, 1000, true);
}

/* An object as tools for the in-tree module see it: its attributes by their path. */
struct Object {
	const char *name;
	int command;
	/* Attributes whose length is that of their text. */
	std::set<std::string> texts;
	/* Attributes that only this module has. */
	std::set<std::string> more = {};
	const char *family = SMC_GENL_FAMILY_NAME;
};

static const Object objects[] = {
    {"the host", SMC_NETLINK_GET_SYS_INFO, {"1/4", "1/5"}},
    {"link groups", SMC_NETLINK_GET_LGR_SMCR, {"2/4", "2/7/3", "2/7/4"}, {"2/128"}},
    {"links", SMC_NETLINK_GET_LINK_SMCR, {"2/4", "2/7/3", "2/7/4", "3/2", "3/4", "3/5"}, {"2/128"}},
    /* The in-tree module reports no use of a device that is in no PCI slot. */
    {"RDMA devices",
     SMC_NETLINK_GET_DEV_SMCR,
     {"6/7", "6/8/2", "6/9/2", "6/10"},
     {"6/1", "6/3", "6/4", "6/5", "6/6", "6/7"}},
    {"statistics",
     SMC_NETLINK_GET_STATS,
     {},
     {"7/128/1", "7/128/2", "7/128/3", "7/128/4", "7/128/5", "7/128/6", "7/128/7"}},
    {"the handshake limitation", SMC_NETLINK_DUMP_HS_LIMITATION, {}},
    {"EIDs", SMC_NETLINK_DUMP_UEID, {"1"}},
    {"fallbacks", SMC_NETLINK_GET_FBACK_STATS, {}},
    {"the table of PNET IDs", SMC_PNETID_GET, {"1", "2", "3"}, {}, SMCR_GENL_FAMILY_NAME},
};

/* Compares two dumps, neither of which is empty. */
static void expect_alike(const std::string &here, const std::string &there, const char *what)
{
	EXPECT_NE(here, "") << what;
	EXPECT_EQ(here, there) << what;
}

TEST_P(Interop, ObjectsAreShownAlike)
{
	Connection one = connection();
	/* Each end has fallen back once, because the other end had no SMC. */
	Connection from_here = make_connection(tree, Flavor(), {Kind::tcp, AF_INET}),
		   from_there = make_connection(tree, {Kind::tcp, AF_INET}, Flavor(), Role::server);

	check_data(one, 1000, true);
	/* The same as at the tree's end. */
	must_run(smc("pnet add NET1 dev eth0"));
	for (const Object &object : objects) {
		std::string there =
		    tree.call({"dump-generic", std::to_string(object.command), object.family});
		std::vector<Shown> here = shown_in(dump_generic(object.command, object.family));

		ASSERT_FALSE(here.empty()) << object.name;
		for (const std::string &path : object.more)
			EXPECT_EQ(here[0].erase(path), 1u) << path;
		expect_alike(shape_of(here, object.texts), shape_of(shown_in(there), object.texts),
			     object.name);
	}
	must_run(smc("pnet del NET1"));
}

/* Neither host has a system EID. */
TEST_P(Interop, SystemEidIsShownAlike)
{
	const std::string command = std::to_string(SMC_NETLINK_DUMP_SEID);

	EXPECT_EQ(shape_of(shown_in(dump_generic(SMC_NETLINK_DUMP_SEID))),
		  shape_of(shown_in(tree.call({"dump-generic", command, SMC_GENL_FAMILY_NAME}))));
}

TEST_P(Interop, NumbersAreShownAlike)
{
	const std::string link_uid = "3/8", peer_uid = "3/9", group_id = "2/1";
	Connection one = connection();

	check_data(one, 1000, true);

	std::string command = std::to_string(SMC_NETLINK_GET_LINK_SMCR);
	std::vector<Shown> here = shown_in(dump_generic(SMC_NETLINK_GET_LINK_SMCR)),
			   there =
			       shown_in(tree.call({"dump-generic", command, SMC_GENL_FAMILY_NAME}));
	/* A group and its link are two messages. */
	auto of = [](const std::vector<Shown> &all, const std::string &path) {
		std::set<std::string> values;

		for (const Shown &one : all)
			if (auto at = one.find(path); at != one.end())
				values.insert(at->second);
		return values;
	};

	ASSERT_FALSE(of(here, link_uid).empty());
	EXPECT_EQ(of(here, link_uid), of(there, peer_uid));
	EXPECT_EQ(of(here, peer_uid), of(there, link_uid));
	for (const std::vector<Shown> &all : {here, there})
		for (const std::string &id : of(all, group_id))
			EXPECT_EQ(id.substr(0, 4), "0x00") << id;
}

TEST_P(Interop, SocketsAreShownAlike)
{
	/* SMC_DIAG_RMBE, which only this module sends. */
	const std::string more = "128";
	Connection one = connection();
	Fd listener = must_listen(Flavor());
	RemoteSocket listener_there = tree.listen(Flavor());

	check_data(one, 1000, true);
	for (bool listening : {false, true}) {
		auto first = [&](const std::string &text) {
			std::vector<Shown> found;

			for (Shown &one : shown_in(text))
				if ((one.at("msg").substr(4, 2) == "0a") == listening &&
				    one.at("msg").substr(6, 2) == "00")
					found.push_back(one);
			if (!found.empty())
				found[0].erase(more);
			return shape_of(found);
		};

		expect_alike(first(dump_sockets()), first(tree.call({"dump-sockets"})),
			     listening ? "listeners" : "connections");
	}
}
