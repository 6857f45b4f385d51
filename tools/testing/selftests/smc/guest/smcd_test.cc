// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of SMC-D only: it can be turned off, its version 1, namespaces that end, clients that
 * do the listener's part of the handshake, and CLC messages that name elements of other
 * connections.
 */
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <linux/smc.h>
#include <linux/smc_diag.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sched.h>
#include <set>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "agent.h"
#include "full.h"
#include "limit.h"
#include "link_groups.h"
#include "netlink_dump.h"
#include "netns.h"
#include "place.h"
#include "rogue.h"
#include "smc_tool.h"
#include "wire/dmbe.h"
#include "wire/size_class.h"

using namespace guest;

namespace
{

constexpr int MiB = 1024 * 1024;

} // namespace

class Smcd : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
	}
	void expect_path(bool smc, Role role)
	{
		Connection connection = make_connection(agent, Flavor(), role);

		check_data(connection, 200000, smc);
	}

	Agent agent;
};

/* A number in a dump, in the byte order of this host. */
static uint64_t number_in(const std::string &bytes)
{
	uint64_t number = 0;

	for (size_t at = bytes.size(); at > 2; at -= 2)
		number = number << 8 | std::stoul(bytes.substr(at - 2, 2), nullptr, 16);
	return number;
}

/*
 * The output for tools of the in-tree module. Debian's module has no device to compare with, so the
 * expectations come from linux/smc.h and linux/smc_diag.h.
 */
TEST_F(Smcd, IsShownToOtherTools)
{
	auto device = [] {
		return shown_in(dump_generic(SMC_NETLINK_GET_DEV_SMCD));
	};
	auto groups = [] {
		return shown_in(dump_generic(SMC_NETLINK_GET_LGR_SMCD));
	};

	/*
	 * A link group stays for a while after its last connection: that of another test may end
	 * now.
	 */
	wait_until("what is in use is critical", [&] {
		return number_in(device().at(0).at("5/2")) == (groups().empty() ? 0u : 1u);
	});
	EXPECT_EQ(shape_of(device(), {"5/7", "5/8/2"}),
		  "5/1 4\n5/2 1\n5/3 4\n5/4 2\n5/5 2\n5/6 2\n5/7 text\n"
		  "5/8/1 1\n5/8/2 text\n5/8/3 4\n5/8/4 1\n5/8/5 1\n5/8/6 4\n");

	Connection one = make_connection(agent, Flavor());
	const std::string info = std::to_string(SMC_DIAG_DMBINFO);
	std::set<std::string> ids;
	Shown group;

	EXPECT_EQ(number_in(device().at(0).at("5/2")), 1u);
	for (const Shown &socket : shown_in(dump_sockets())) {
		if (!socket.contains(info))
			continue;
		/* Since 6.10, which added the second halves of GIDs. */
		ASSERT_EQ(socket.at(info).size(), 2 + 2 * 56u);
		/* It begins with the id of the group. */
		ids.insert(socket.at(info).substr(0, 2 + 2 * sizeof(uint32_t)));
	}
	for (const Shown &shown : groups())
		if (ids.contains(shown.at("4/1")) && shown.contains("4/9/0"))
			group = shown;
	EXPECT_EQ(
	    shape_of({group}, {"4/6", "4/9/3", "4/9/4"}),
	    "4/1 4\n4/10 8\n4/11 8\n4/12 4\n4/13 4\n4/2 8\n4/3 8\n4/4 1\n4/5 4\n4/6 text\n4/7 2\n"
	    "4/9/0 1\n4/9/1 1\n4/9/2 1\n4/9/3 text\n4/9/4 text\n");
}

/* Within one namespace, or in one of two. */
TEST_F(Smcd, OffIsTcp)
{
	for (Role role : both_roles) {
		expect_path(true, role);
		{
			SysctlScope off("net.smc.smcd", "0");

			expect_path(false, role);
		}
		expect_path(true, role);
		{
			RemoteSysctlScope off(agent, "net.smc.smcd", "0");

			expect_path(false, role);
		}
		expect_path(true, role);
	}
}

/* An existing connection continues. */
TEST_F(Smcd, OffWhileInUse)
{
	Connection connection = make_connection(agent, Flavor());
	SysctlScope off("net.smc.smcd", "0");

	check_data(connection, MiB, true);
}

/* The tools show the properties of a connection. */
TEST_F(Smcd, IsShown)
{
	/* No group of an earlier test has this EID. */
	add_eid("SHOWN");

	Connection connection = make_connection(agent, Flavor());

	remove_eid("SHOWN");

	EXPECT_EQ(mode_shown(connection.here), "SMC-D");
	EXPECT_EQ(host_device(agent).chid, SMC_CHID_LOOPBACK);

	auto groups = parse_json(must_run(smc("-j group")));
	int connections = 0;

	for (const auto &group : groups) {
		EXPECT_EQ(group.at("path"), "SMC-D");
		if (group.at("conns") == 0)
			continue;
		connections += group.at("conns").get<int>();
		EXPECT_EQ(group.at("v2").at("eid"), "SHOWN");
		/* A peer in its own namespace does not tell its host name. */
		EXPECT_EQ(group.at("v2").at("peer-host"),
			  peer_place() == Place::host ? sysctl("kernel.hostname") : "");
	}
	EXPECT_EQ(connections, counted(1, 1)) << groups;
}

/* Within a network namespace, handshakes of both roles and bytes of both directions are counted. */
TEST_F(Smcd, IsCounted)
{
	constexpr uint64_t bytes = 123456;

	auto shown = [] {
		return parse_json(must_run(smc("-j stats"))).at("smcd");
	};

	for (Role role : both_roles) {
		auto before = shown();
		Connection connection = make_connection(agent, Flavor(), role);

		check_data(connection, bytes, true);

		auto after = shown();
		auto grown = [&](const char *counter) {
			return after.at(counter).get<int64_t>() - before.at(counter).get<int64_t>();
		};
		bool client = role == Role::client;

		EXPECT_EQ(grown("client-v2"), counted(client, !client));
		EXPECT_EQ(grown("server-v2"), counted(!client, client));
		EXPECT_EQ(grown("tx-bytes"), counted(bytes, bytes));
		EXPECT_EQ(grown("rx-bytes"), counted(bytes, bytes));
		EXPECT_GT(after.at("rx-buffer-bytes"), 0);
	}
}

/*
 * Many more urgent bytes than the element has space for do not fill the window, whether they are
 * read or not.
 */
TEST_F(Smcd, NothingButUrgentBytes)
{
	for (bool reads : {true, false}) {
		Fd listener = must_listen(Flavor());

		must_set(listener, SOL_SOCKET, SO_RCVBUF, 16 * 1024);

		Fd client = must_connect(Flavor(),
					 address_from("127.0.0.1", local_address(listener).port()));
		Fd server = must_accept(listener);
		char bytes[100];

		ASSERT_EQ(mode_shown(client), "SMC-D");
		for (int i = 0; i < 20000; i++) {
			ssize_t n = send(client, "!", 1, MSG_OOB | MSG_DONTWAIT);

			/* Then there is something to read, as otherwise no space would be freed. */
			if (n < 0 && !reads) {
				ASSERT_EQ(errno, EAGAIN);
				ASSERT_EQ(await(server, POLLIN) & POLLIN, POLLIN);
				ASSERT_GT(recv(server, bytes, sizeof(bytes), MSG_DONTWAIT), 0);
				n = send(client, "!", 1, MSG_OOB);
			}
			ASSERT_EQ(n, 1);
			if (reads) {
				ASSERT_EQ(recv(server, bytes, 1, MSG_OOB), 1);
			}
		}
	}
}

/*
 * A program has both ends. Some of its threads wait in zero-length reads or peek, while another
 * sends urgent bytes, each of which replaces the previous one, and reads them. No thread may get
 * bytes that were not sent, or an error. SMC_ROUNDS sets the duration; a bug may need minutes to
 * show.
 */
class BothEnds : public Smcd
{
protected:
	BothEnds()
	{
		Fd listener = must_listen(Flavor());

		sender = must_connect(Flavor(),
				      address_from("127.0.0.1", local_address(listener).port()));
		reader = must_accept(listener);
	}
	/* Reads until the end of the stream. */
	void keep_reading(size_t len, int flags)
	{
		char bytes[16];
		ssize_t n;

		do {
			n = recv(reader, bytes, len, flags);
			check(bytes, n);
			/* After the end a zero-length read does not wait, and returns nothing. */
		} while (!ended && !testing::Test::HasFailure());
	}
	void check(const char *bytes, ssize_t n)
	{
		EXPECT_TRUE(n >= 0 || errno == EAGAIN) << strerror(errno);
		for (ssize_t i = 0; i < n; i++)
			EXPECT_TRUE(strchr("ABx", bytes[i]) && bytes[i]) << int(bytes[i]);
	}
	void send_byte(char byte, int flags)
	{
		ASSERT_EQ(send(sender, &byte, 1, flags), 1) << strerror(errno);
	}
	/* Counts bytes that never were urgent. Return: result of recv(). */
	ssize_t read_some(int flags)
	{
		char bytes[16];
		ssize_t n = recv(reader, bytes, sizeof(bytes), flags);

		check(bytes, n);
		came += n < 0 ? 0 : std::count(bytes, bytes + n, 'x');
		return n;
	}
	static int rounds()
	{
		const char *wanted = getenv("SMC_ROUNDS");

		return wanted ? atoi(wanted) : int(scaled_down(20000));
	}

	Fd sender, reader;
	std::atomic<bool> ended = false;
	int came = 0;
};

TEST_F(BothEnds, ReplaceUrgentBytesUnderReaders)
{
	int64_t violations = Counters::now().sum("violation_position");
	int sent = 0;

	ASSERT_EQ(mode_shown(reader), "SMC-D");
	set_limit(90 + rounds() / 100);
	{
		std::jthread nothing([this] { keep_reading(0, 0); });
		std::jthread peeking([this] { keep_reading(8, MSG_PEEK); });

		for (int i = 0; i < rounds() && !HasFailure(); i++) {
			send_byte('A', MSG_OOB);
			send_byte('B', MSG_OOB);
			read_some(MSG_DONTWAIT);
			if (i % 16)
				continue;
			send_byte('x', 0);
			sent++;
			read_some(MSG_DONTWAIT);
		}
		ended = true;
		EXPECT_EQ(shutdown(sender, SHUT_WR), 0);
	}
	while (read_some(0) > 0)
		;
	EXPECT_EQ(came, sent);
	EXPECT_EQ(Counters::now().sum("violation_position"), violations);
}

/* Tells whether a server of the agent takes a client with this GID for one of its host. */
static bool is_known(Agent &agent, const smc_clc_ism &gid)
{
	RemoteSocket listener = agent.listen(Flavor());
	Fd rogue = propose(address_of(1, AF_INET, listener.port()), good_proposal(gid));
	bool known = receive_message(rogue).at(4) == SMC_CLC_ACCEPT;

	if (known)
		send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));

	RemoteSocket victim = listener.accept();

	check_tcp(rogue, victim);
	return known;
}

/* Only the host itself can learn from the GID that two connections come from one host. */
TEST_F(Smcd, GidNamesNobody)
{
	smc_clc_ism gid = host_device(agent), other = host_device(agent);

	EXPECT_NE(gid.gid, other.gid);
	EXPECT_NE(gid.gid_ext, other.gid_ext);
	EXPECT_TRUE(is_known(agent, gid));
	wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });
	must_run("lab-smc load");
	EXPECT_FALSE(is_known(agent, gid));
}

/*
 * A reader that requests a byte, and a peer that answers, each with its own processor: only the
 * duration of its wait makes the reader sleep.
 */
class Watching : public testing::TestWithParam<Role>
{
protected:
	using Clock = std::chrono::steady_clock;

	static constexpr int waits = 100, long_enough = 1000000;
	static constexpr std::chrono::microseconds spin_most{1000};

	Watching()
	{
		Fd listener = must_listen(Flavor());
		Fd client = must_connect(Flavor(),
					 address_from("127.0.0.1", local_address(listener).port()));
		Fd server = must_accept(listener);

		reader = std::move(GetParam() == Role::client ? client : server);
		writer = std::move(GetParam() == Role::client ? server : client);
	}
	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
		if (std::thread::hardware_concurrency() < 2)
			GTEST_SKIP() << "a reader does not watch where the writer is to run";
		run_on(0);
		answering = std::jthread([this](std::stop_token end) { answer(end); });
	}
	struct Wait {
		bool slept;
		Clock::duration took, answered; /* since the wait began */
	};

	/* The reader waits for an answer, with this value of SO_BUSY_POLL. */
	Wait wait(int busy_poll)
	{
		char byte;

		must_set(reader, SOL_SOCKET, SO_BUSY_POLL, busy_poll);

		long before = voluntary_switches();
		auto began = Clock::now();

		asked++;
		if (recv(reader, &byte, 1, 0) != 1)
			throw_errno("recv");

		Clock::duration took = Clock::now() - began;

		return {voluntary_switches() > before, took, sent_at.load() - began};
	}
	/*
	 * The number of waits in which the reader sleeps, after it has just learnt that an answer
	 * comes soon.
	 */
	int sleeps()
	{
		return sleeps([](const Wait &, const Wait &) { return true; });
	}
	/*
	 * The same for waits that count. If too few of them count, the result says nothing, and is
	 * that for all.
	 */
	int sleeps(const std::function<bool(const Wait &, const Wait &)> &counts)
	{
		int counted = 0, slept = 0;

		for (int i = 0; i < 10 * waits && counted < waits; i++) {
			/* After long busy polling the reader has to sleep for longer. */
			std::this_thread::sleep_for(8 * spin_most);

			Wait seen = wait(long_enough), next = wait(0);

			if (!counts(seen, next))
				continue;
			counted++;
			slept += next.slept;
		}
		return counted < waits ? waits : slept;
	}

	/*
	 * Neither all nor none, because other work sometimes needs the processor, or the host needs
	 * the guest's. If that lasts for long, the test repeats.
	 */
	static void expect_most(const std::function<int()> &slept)
	{
		wait_until("a reader sleeps", [&] { return slept() > waits * 7 / 8; });
	}
	static void expect_fewer(const std::function<int()> &slept)
	{
		wait_until("a reader stays awake", [&] { return slept() < waits * 3 / 4; });
	}

	SysctlScope off{"net.smc.spin_usec", "0"};

private:
	static void run_on(int cpu)
	{
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus))
			throw_errno("sched_setaffinity");
	}
	void answer(const std::stop_token &end)
	{
		run_on(1);
		for (int answered = 0; !end.stop_requested();) {
			if (answered == asked)
				continue;

			/* The peer answers only when the reader could be asleep. */
			auto asleep = Clock::now() + std::chrono::microseconds(100);

			while (Clock::now() < asleep)
				;
			sent_at = Clock::now();
			EXPECT_EQ(send(writer, "x", 1, 0), 1);
			answered++;
		}
	}

	Fd reader, writer;
	std::atomic<int> asked = 0;
	std::atomic<Clock::time_point> sent_at;
	std::jthread answering;
};

TEST_P(Watching, ByBusyPolling)
{
	expect_most([&] { return sleeps(); });
	expect_fewer([&] {
		int slept = 0;

		for (int i = 0; i < waits; i++)
			slept += wait(long_enough).slept;
		return slept;
	});
}

TEST_P(Watching, BySysctl)
{
	if (on_debug_kernel())
		GTEST_SKIP() << "all waits are longer than any reader watches";

	expect_most([&] { return sleeps(); });

	SysctlScope on("net.smc.spin_usec", std::to_string(spin_most.count()));

	/* Many waits are longer than any reader polls, if a guest shares its processors. */
	expect_fewer([&] {
		return sleeps([](const Wait &seen, const Wait &next) {
			return seen.took < spin_most / 2 && 2 * next.answered < 3 * seen.answered;
		});
	});
}

INSTANTIATE_TEST_SUITE_P(, Watching, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

/* A namespace is deleted, and with it one end of a connection, of either role. */
TEST_F(Smcd, NamespaceDeletedWithConnections)
{
	for (Role role : both_roles) {
		Netns netns;
		auto [here, there] = netns.connect(role);
		Flow in = {.seed = 1, .bytes = 10000}, out = {.seed = 2, .bytes = 20000};
		Counters before = Counters::now();

		send_flow(here, out);
		recv_flow(there, out);
		EXPECT_EQ((Counters::now() - before)["ism_write_bytes"], int64_t(out.bytes));
		send_flow(there, in);
		netns.remove();
		there.close();
		/* This end is still open, and has not even read. */
		netns.await_end();
		/* Bytes sent before arrive, and then the end. */
		recv_flow(here, in);
		expect_end(here);
		EXPECT_EQ(send(here, "in vain", 7, MSG_NOSIGNAL), 7);
	}
	expect_no_connections(agent);
	expect_path(true, Role::client);
}

/* Each has an idle link group, or one that only its own end has closed. */
TEST_F(Smcd, ManyNamespacesDeletedAtOnce)
{
	/* The debug kernel needs ten seconds for each. */
	const int namespaces = on_debug_kernel() ? 6 : 16;
	std::deque<Netns> tenants;
	std::vector<Fd> open;

	for (int i = 1; i <= namespaces; i++) {
		auto [here, there] = tenants.emplace_back(i).connect(both_roles[i % 2]);
		int groups = 0;

		send_flow(here, {.bytes = 1000});
		recv_flow(there, {.bytes = 1000});
		tenants.back().enter([&] { groups = link_groups().groups; });
		EXPECT_EQ(groups, 1);
		if (i % 3 == 0)
			open.push_back(std::move(here));
	}
	for (Netns &tenant : tenants)
		tenant.remove();
	wait_until("all namespaces are gone", [&] {
		return std::all_of(tenants.begin(), tenants.end(),
				   [](const Netns &tenant) { return tenant.has_ended(); });
	});
	for (Fd &here : open)
		expect_end(here);
}

/* Without a device between them the connection ends, though the memory still exists. */
TEST_F(Smcd, DeviceBelowIsDeleted)
{
	SysctlScope soon("net.smc.tcp_keepalive_time", "1");
	Netns netns;
	auto client = netns.connect(Role::client), server = netns.connect(Role::server);
	Flow flow = {.bytes = 10000};

	must_run("ip link del veth9");
	for (auto *ends : {&client, &server}) {
		send_flow(ends->here, flow);
		recv_flow(ends->there, flow);
	}
	for (auto *ends : {&client, &server}) {
		EXPECT_NE(await(ends->here, POLLHUP) & POLLERR, 0);
		EXPECT_NE(await(ends->there, POLLHUP) & POLLERR, 0);

		/*
		 * Both are probed, as no namespace waits for longer than the host. One of them is
		 * first.
		 */
		int here = must_get(ends->here, SOL_SOCKET, SO_ERROR);
		int there = must_get(ends->there, SOL_SOCKET, SO_ERROR);

		EXPECT_TRUE(here == ETIMEDOUT || here == ECONNRESET) << here;
		EXPECT_TRUE(here == ETIMEDOUT || there == ETIMEDOUT) << there;
	}
}

/*
 * A client that never sends CONFIRM, whatever it does instead, leaves no link group behind, as no
 * connection ever used it. The server is in a namespace of its own, which has no other groups.
 */
class Unconfirmed : public Smcd
{
protected:
	static int groups_in(const Netns &netns)
	{
		int groups = 0;

		netns.enter([&] { groups = link_groups().groups; });
		return groups;
	}
	void expect_no_group(const std::function<void(Fd &rogue)> &instead)
	{
		Netns netns;
		Fd listener = netns.make([] { return must_listen(Flavor()); });
		Fd rogue = propose(netns.address_there(local_address(listener).port()),
				   good_proposal(host_device(agent)));
		smc_clc_agreement accept = receive_agreement(rogue, SMC_CLC_ACCEPT);

		EXPECT_TRUE(accept.is_d);
		EXPECT_TRUE(accept.first_contact);
		EXPECT_EQ(groups_in(netns), 1);
		instead(rogue);
		wait_until("no link group is left", [&] { return !groups_in(netns); });
	}
};

TEST_F(Unconfirmed, ByItsEnd)
{
	expect_no_group([](Fd &rogue) { rogue.close(); });
}

TEST_F(Unconfirmed, BySilence)
{
	expect_no_group([](Fd &) {});
}

TEST_F(Unconfirmed, ByADecline)
{
	expect_no_group([](Fd &rogue) { send_bytes(rogue, encode_decline(SMC_DIAG_SYNC)); });
}

/*
 * A program that handles CLC messages itself passes on those of a server, and says of another first
 * contact what it likes: that describes no group that other connections use.
 */
TEST_F(Smcd, IsDescribedByItsFirstServer)
{
	RemoteSocket listener = agent.listen(Flavor());
	const std::string at = address_of(0, AF_INET, 0).text();
	Relayed first = relay(agent, listener, at, address_of(1, AF_INET, 0).text());
	auto [client, connecting, to_client] = lure(agent, at);
	Fd to_server =
	    propose(address_of(1, AF_INET, listener.port()), receive_proposal(to_client));
	smc_clc_agreement accept = receive_agreement(to_server, SMC_CLC_ACCEPT);

	ASSERT_FALSE(accept.first_contact);
	accept.first_contact = true;
	accept.fc.os_type = SMC_OS_LINUX;
	accept.fc.release = 1;
	memcpy(accept.fc.hostname, "another", 7);
	send_bytes(to_client, encode(accept));

	smc_clc_agreement confirm = receive_agreement(to_client, SMC_CLC_CONFIRM);

	confirm.first_contact = false;
	send_bytes(to_server, encode(confirm));
	EXPECT_EQ(connecting.join(), "0");

	RemoteSocket server = listener.accept();
	const std::string groups = agent.must_run(smc("-j group"));

	EXPECT_EQ(groups.find("another"), std::string::npos) << groups;
}

/* TCP misbehaves below a connection whose bytes go by SMC-D. */
class UnderTcp : public testing::TestWithParam<Role>
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
		check_exchange();
	}
	void TearDown() override
	{
		Connection connection = make_connection(agent, Flavor());

		check_data(connection, 100000, true);
	}
	void expect_both_reset()
	{
		expect_reset(victim);
		expect_reset(other);
	}
	int64_t violations()
	{
		return (agent.counters() - before)["violation_clc"];
	}

	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	Relayed relayed = relay(agent, listener, address_of(0, AF_INET, 0).text(),
				address_of(1, AF_INET, 0).text());
	bool of_client = GetParam() == Role::client;
	RemoteSocket &victim = of_client ? relayed.client : relayed.server;
	RemoteSocket &other = of_client ? relayed.server : relayed.client;
	/* The victim's TCP connection. */
	Fd &tcp = of_client ? relayed.to_client : relayed.to_server;
	Counters before = agent.counters();

private:
	void check_exchange()
	{
		Flow out = {.seed = 1, .bytes = 100000}, in = {.seed = 2, .bytes = 200000};
		Job far = other.start_exchange(in, out);

		victim.start_exchange(out, in).join();
		far.join();
		ASSERT_EQ((agent.counters() - before)["ism_write_bytes"],
			  int64_t(out.bytes + in.bytes));
	}
};

INSTANTIATE_TEST_SUITE_P(, UnderTcp, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(UnderTcp, Bytes)
{
	send_bytes(tcp, "bytes");
	expect_both_reset();
	EXPECT_EQ(violations(), 1);
}

TEST_P(UnderTcp, Reset)
{
	must_linger(tcp, 0);
	tcp.close();
	expect_both_reset();
	EXPECT_EQ(violations(), 0);
}

/* After a delay: the end of the stream may be about to arrive. */
TEST_P(UnderTcp, End)
{
	shutdown(tcp, SHUT_WR);
	expect_both_reset();
	EXPECT_EQ(violations(), 0);
}

/* A thread that connects to a listener of its host does the listener's part of the handshake. */
class Visit : public Smcd
{
protected:
	/* Expects all bytes sent since then to have gone by SMC-D. */
	static void expect_sent(const Counters &then, int64_t bytes)
	{
		EXPECT_EQ((Counters::now() - then)["ism_write_bytes"], bytes)
		    << run_command(smc("fallbacks")).text << run_command(smc("blackhole")).text;
	}
	static Address here(int listener, int family = AF_INET)
	{
		return address_from(family == AF_INET ? "127.0.0.1" : "::1",
				    local_address(listener).port());
	}
	/* The number of @connections for which connect() slept. */
	static int slept(int connections, int listening, int connecting)
	{
		Fd listener = must_listen({Kind::smc, listening}, connections);
		Counters before = Counters::now();
		int slept = 0;

		for (int i = 0; i < connections; i++) {
			Fd client = must_socket({Kind::smc, connecting});
			Address to = here(listener, connecting);
			long switches = voluntary_switches();

			EXPECT_EQ(connect(client, to.get(), to.len), 0);
			slept += voluntary_switches() > switches;

			Fd server = must_accept(listener);

			send_flow(client, {.seed = uint64_t(i), .bytes = 1000});
			recv_flow(server, {.seed = uint64_t(i), .bytes = 1000});
		}
		expect_sent(before, connections * 1000);
		return slept;
	}
	/*
	 * The number of @connections, all SMC, of which neither end sent a byte by TCP. accept()
	 * must find such a connection as soon as connect() has returned.
	 */
	static int silent(int connections, int family, int backlog)
	{
		constexpr uint64_t bytes = 10000;
		Fd listener = must_listen({Kind::smc, family}, backlog);
		Counters before = Counters::now();
		int silent = 0;

		for (int i = 0; i < connections; i++) {
			Fd client = must_connect({Kind::smc, family}, here(listener, family));
			pollfd readable = {.fd = listener, .events = POLLIN, .revents = 0};
			bool at_once = poll(&readable, 1, 0) == 1;
			Fd server = must_accept(listener);

			send_flow(client, {.seed = uint64_t(i), .bytes = bytes});
			recv_flow(server, {.seed = uint64_t(i), .bytes = bytes});
			if (times_sent(client, false) || times_sent(server, false))
				continue;
			EXPECT_TRUE(at_once);
			silent++;
		}
		expect_sent(before, connections * bytes);
		return silent;
	}
	/* Captures all packets of an interface, or of all. */
	static Fd capture(const std::string &where)
	{
		Fd tap(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
		sockaddr_ll at = {};

		at.sll_family = AF_PACKET;
		at.sll_protocol = htons(ETH_P_ALL);
		at.sll_ifindex = where.empty() ? 0 : if_nametoindex(where.c_str());
		EXPECT_EQ(bind(tap, reinterpret_cast<sockaddr *>(&at), sizeof(at)), 0) << where;
		return tap;
	}

	static int pending_error(int fd)
	{
		int error = 0;
		socklen_t len = sizeof(error);

		EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
		return error;
	}
};

/* There is no worker to wait for, unless another processor took the packets. */
TEST_F(Visit, DoesNotSleep)
{
	constexpr int connections = 50;

	/* The families of the listener and the client. */
	for (const auto &families :
	     {std::pair(AF_INET, AF_INET), {AF_INET6, AF_INET6}, {AF_INET6, AF_INET}})
		wait_until("most do not sleep", [&] {
			return slept(connections, families.first, families.second) <
			       connections / 2;
		});
}

/*
 * Both ends agree without a byte on the wire, unless a program captures packets there. With a
 * backlog of 1, one connection is half of those that TCP lets wait.
 */
TEST_F(Visit, HandsOver)
{
	constexpr int connections = 20;
	auto are_silent = [](int family, int backlog) {
		return silent(connections, family, backlog) > connections / 2;
	};
	auto expect_silent = [&] {
		for (int family : {AF_INET, AF_INET6})
			for (int backlog : {1, connections})
				wait_until("most are silent",
					   [&] { return are_silent(family, backlog); });
	};

	expect_silent();
	for (const char *where : {"lo", ""}) {
		Fd tap = capture(where);

		EXPECT_EQ(silent(connections, AF_INET, connections), 0) << where;
		EXPECT_EQ(silent(connections, AF_INET6, connections), 0) << where;
	}

	Fd elsewhere = capture("eth0");

	expect_silent();
}

/* The listener closes at any point: no client waits forever, or gets an unexpected error. */
TEST_F(Visit, ListenerComesAndGoes)
{
	std::atomic<bool> stop = false;
	std::atomic<int> connected = 0;
	std::vector<std::jthread> clients;
	Fd first = must_listen(Flavor());
	int port = local_address(first).port();

	set_limit(180);
	first.close();
	for (int i = 0; i < 4; i++)
		clients.emplace_back([&, i] {
			Address to = address_from("127.0.0.1", port);
			char byte;

			while (!stop) {
				Fd fd(open_socket(Flavor(), i % 2 ? SOCK_NONBLOCK : 0));
				pollfd writable = {.fd = fd, .events = POLLOUT, .revents = 0};

				int error = connect(fd, to.get(), to.len) ? errno : 0;
				bool told = error != EINPROGRESS;

				if (!told) {
					poll(&writable, 1, -1);
					error = pending_error(fd);
				}
				EXPECT_TRUE(!error || error == ECONNREFUSED || error == ECONNRESET)
				    << (told ? "connect: " : "SO_ERROR: ") << strerror(error);
				errno = 0;
				recv(fd, &byte, 1, MSG_DONTWAIT);
				/* An error that connect() has returned is not reported again. */
				EXPECT_TRUE(!errno || errno == (error ? ENOTCONN : EAGAIN) ||
					    (errno == ECONNRESET && !(error && told)))
				    << "recv: " << strerror(errno) << " after " << told << ' '
				    << strerror(error);
				connected += !error;
			}
		});
	try {
		for (int i = 0; i < 200; i++) {
			Fd listener = must_listen(Flavor(), 1000, port);
			int seen = connected;

			if (i % 2)
				wait_until("a connection", [&] { return connected > seen; });
			if (i % 4 > 1)
				shutdown(listener, SHUT_RDWR);
		}
	} catch (const std::exception &error) {
		ADD_FAILURE() << error.what();
	}
	stop = true;
	clients.clear();
	expect_path(true, Role::client);
}

/* Several threads connect a socket: at most one of them does the listener's part, and once. */
TEST_F(Visit, ThreadsConnectTogether)
{
	Fd listener = must_listen(Flavor());
	Address to = here(listener);
	Counters before = Counters::now();

	for (int i = 0; i < 300; i++) {
		Fd client(open_socket(Flavor(), i % 2 ? SOCK_NONBLOCK : 0));
		pollfd writable = {.fd = client, .events = POLLOUT, .revents = 0};
		std::barrier together(3);
		std::atomic<int> odd = 0;
		std::vector<std::jthread> threads;

		for (int n = 0; n < 3; n++)
			threads.emplace_back([&] {
				together.arrive_and_wait();
				if (connect(client, to.get(), to.len) && errno != EISCONN &&
				    errno != EALREADY && errno != EINPROGRESS)
					odd = errno;
			});
		threads.clear();
		ASSERT_EQ(odd, 0) << strerror(odd);
		ASSERT_EQ(poll(&writable, 1, -1), 1);

		Fd server = must_accept(listener);

		send_flow(server, {.seed = uint64_t(i), .bytes = 1000});
		fcntl(client, F_SETFL, 0);
		recv_flow(client, {.seed = uint64_t(i), .bytes = 1000});
	}
	expect_sent(before, 300 * 1000);
}

/*
 * A socket that a client took from TCP is like one that accept() takes: the debug kernel checks its
 * locks.
 */
TEST_F(Visit, AcceptedListensAnew)
{
	Fd listener = must_listen(Flavor());
	Fd client = must_connect(Flavor(), here(listener));
	Fd server = must_accept(listener);
	sockaddr unspec = {};

	client.close();
	listener.close();
	unspec.sa_family = AF_UNSPEC;
	ASSERT_EQ(connect(server, &unspec, sizeof(unspec)), 0);
	ASSERT_EQ(listen(server, 16), 0);
	client = must_connect(Flavor(), here(server));

	Fd again = must_accept(server);

	Counters before = Counters::now();

	send_flow(client, {.seed = 1, .bytes = 1000});
	recv_flow(again, {.seed = 1, .bytes = 1000});
	expect_sent(before, 1000);
}

/*
 * The client's memory cgroup is not charged for the server's memory, so it can be removed while the
 * server exists. The connection is TCP's, because with SMC-D the server would use the client's
 * element.
 */
TEST_F(Visit, ServerIsNotCharged)
{
	const std::string group = "/sys/fs/cgroup/visit-test";
	auto dying = [] {
		return Counters(read_file("/sys/fs/cgroup/cgroup.stat"))["nr_dying_descendants"];
	};
	SysctlScope off("net.smc.smcd", "0");
	Fd listener = must_listen(Flavor());
	Address to = here(listener);
	std::vector<Fd> servers;

	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory");

	int64_t before = dying();

	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(mkdir(group.c_str(), 0755), 0);

		pid_t child = fork();

		if (!child) {
			write_file(group + "/cgroup.procs", std::to_string(getpid()));

			Fd client = must_socket(Flavor());

			_exit(connect(client, to.get(), to.len) != 0);
		}

		int status;

		servers.push_back(must_accept(listener));
		waitpid(child, &status, 0);
		EXPECT_EQ(status, 0);
		ASSERT_EQ(rmdir(group.c_str()), 0);
	}
	wait_until("most of the control groups are gone", [&] { return dying() < before + 5; });
}

/* A client or server that violates the handshake of SMC-D. */
struct WrongElement {
	std::string name;
	std::function<void(smc_clc_agreement &message, const smc_clc_agreement &of_peer)> change;
	uint32_t answer;
};

static void PrintTo(const WrongElement &wrong, std::ostream *out)
{
	*out << wrong.name;
}

static std::vector<WrongElement> wrong_elements()
{
	return {
	    {"Unknown", [](auto &, auto &) {}, SMC_DIAG_SYNC},
	    {"TokenZero", [](auto &m, auto &) { m.d.token = 0; }, SMC_DIAG_SYNC},
	    {"OtherGid", [](auto &m, auto &) { m.d.gid ^= 1; }, SMC_DIAG_NO_DEVICE_D},
	    {"OtherGidExtension", [](auto &m, auto &) { m.d.gid_ext ^= 1; }, SMC_DIAG_NO_DEVICE_D},
	    {"RealIsmChid", [](auto &m, auto &) { m.d.chid = 0x07c1; }, SMC_DIAG_NO_DEVICE_D},
	    {"OtherEmulatedChid", [](auto &m, auto &) { m.d.chid = 0xff00; }, SMC_DIAG_NO_DEVICE_D},
	    /* The element of the victim itself. */
	    {"ThePeersOwn", [](auto &m, auto &of_peer) { m.d = of_peer.d; }, SMC_DIAG_SYNC},
	};
}

class WrongElementTest : public testing::TestWithParam<WrongElement>
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
		device = host_device(agent);
	}
	void TearDown() override
	{
		Connection connection = make_connection(agent, Flavor());

		check_data(connection, 100000, true);
	}
	/* An ACCEPT of a server at the agent, and the rogue's connection to it. */
	smc_clc_agreement accept_of(RemoteSocket &listener, Fd &rogue)
	{
		Address to = address_of(1, AF_INET, listener.port());

		rogue = offering_socket();
		if (connect(rogue, to.get(), to.len))
			throw_errno("connect");
		send_bytes(rogue, encode(good_proposal(device)));
		return receive_agreement(rogue, SMC_CLC_ACCEPT);
	}

	Agent agent;
	smc_clc_ism device;
};

class WrongConfirm : public WrongElementTest
{
};

TEST_P(WrongConfirm, IsDeclined)
{
	RemoteSocket listener = agent.listen(Flavor());
	Fd rogue;
	smc_clc_agreement accept = accept_of(listener, rogue);
	smc_clc_agreement confirm = good_agreement(SMC_CLC_CONFIRM, device);

	EXPECT_TRUE(accept.is_d);
	confirm.first_contact = accept.first_contact;
	GetParam().change(confirm, accept);
	send_bytes(rogue, encode(confirm));
	EXPECT_EQ(diagnosis_of(receive_message(rogue)), GetParam().answer);

	RemoteSocket victim = listener.accept();

	check_tcp(rogue, victim);
}

class WrongAccept : public WrongElementTest
{
};

TEST_P(WrongAccept, IsDeclined)
{
	int groups = groups_at(agent);
	auto [victim, connecting, rogue] = lure(agent);
	smc_clc_agreement accept = good_agreement(SMC_CLC_ACCEPT, device);

	receive_proposal(rogue);
	/* A group id that no correct server has. */
	accept.d.link_id = 0x08150815;
	GetParam().change(accept, accept);
	send_bytes(rogue, encode(accept));
	EXPECT_EQ(diagnosis_of(receive_message(rogue)), GetParam().answer);
	ASSERT_EQ(connecting.join(), "0");
	check_tcp(rogue, victim);
	wait_until("the client has no link group of it",
		   [&] { return groups_at(agent) <= groups; });
}

static std::string name_of_element(const testing::TestParamInfo<WrongElement> &info)
{
	return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(, WrongConfirm, testing::ValuesIn(wrong_elements()), name_of_element);
INSTANTIATE_TEST_SUITE_P(, WrongAccept, testing::ValuesIn(wrong_elements()), name_of_element);

/* A correct client and server, and a rogue between them, which has received the ACCEPT. */
class Between : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
		to_server =
		    propose(address_of(1, AF_INET, listener.port()), receive_proposal(lured.rogue));
		accept = receive_agreement(to_server, SMC_CLC_ACCEPT);
	}

	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	Lured lured = lure(agent);
	Fd to_server;
	smc_clc_agreement accept;
};

class UrgentBytes : public Between
{
protected:
	/* Two urgent bytes that arrive before the server has its socket, and a byte after them. */
	RemoteSocket server_after_them()
	{
		send_bytes(lured.rogue, encode(accept));

		smc_clc_agreement confirm = receive_agreement(lured.rogue, SMC_CLC_CONFIRM);

		EXPECT_EQ(lured.connecting.join(), "0");
		for (std::string byte : {"A", "B"})
			EXPECT_EQ(lured.client.send(byte, MSG_OOB), 1);
		EXPECT_EQ(lured.client.send("x"), 1);
		send_bytes(to_server, encode(confirm));
		return listener.accept();
	}
};

TEST_F(UrgentBytes, BeforeTheSocket)
{
	RemoteSocket server = server_after_them();

	EXPECT_EQ(server.recv(1, MSG_OOB), "B");
	EXPECT_EQ(server.recv(10), "x");
}

/* The server wants urgent bytes inline, which is set on the listener. */
class InlineUrgentBytes : public UrgentBytes
{
protected:
	void SetUp() override
	{
		ASSERT_EQ(listener.set(SOL_SOCKET, SO_OOBINLINE, 1), 0);
		UrgentBytes::SetUp();
	}
};

TEST_F(InlineUrgentBytes, BeforeTheSocket)
{
	RemoteSocket server = server_after_them();

	EXPECT_EQ(server.recv(10), "A");
	EXPECT_EQ(server.recv(10), "Bx");
}

/* The server's id of its group is changed on the way. */
class RenamedGroup : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
	}
	void connect_by_name(uint32_t name)
	{
		Lured lured = lure(agent);
		Fd to_server =
		    propose(address_of(1, AF_INET, listener.port()), receive_proposal(lured.rogue));
		smc_clc_agreement accept = receive_agreement(to_server, SMC_CLC_ACCEPT);

		accept.d.link_id = name;
		send_bytes(lured.rogue, encode(accept));

		smc_clc_agreement confirm = receive_agreement(lured.rogue, SMC_CLC_CONFIRM);

		EXPECT_EQ(confirm.d.link_id, name);
		send_bytes(to_server, encode(confirm));
		EXPECT_EQ(lured.connecting.join(), "0");

		RemoteSocket server = listener.accept();

		EXPECT_EQ(lured.client.send("x"), 1);
		EXPECT_EQ(server.recv(10), "x");
	}

	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
};

TEST_F(RenamedGroup, IsOneForItsClient)
{
	connect_by_name(1000);

	int groups = groups_at(agent);

	for (uint32_t name = 1001; name < 1004; name++)
		connect_by_name(name);
	EXPECT_EQ(groups_at(agent), groups);
}

/* The names of the ends' elements are changed on the way. */
struct Altered {
	std::string name;
	std::function<void(smc_clc_d &element)> change;
};

static void PrintTo(const Altered &altered, std::ostream *out)
{
	*out << altered.name;
}

class AlteredElement : public Between, public testing::WithParamInterface<Altered>
{
protected:
	static std::string altered(smc_clc_agreement message)
	{
		GetParam().change(message.d);
		return encode(message);
	}
};

TEST_P(AlteredElement, InTheAccept)
{
	send_bytes(lured.rogue, altered(accept));

	std::string decline = receive_message(lured.rogue);

	EXPECT_EQ(diagnosis_of(decline), uint32_t(SMC_DIAG_SYNC));
	ASSERT_EQ(lured.connecting.join(), "0");
	check_tcp(lured.rogue, lured.client);

	send_bytes(to_server, decline);

	RemoteSocket server = listener.accept();

	check_tcp(to_server, server);
}

/* The client's connection is SMC by then, and has lost its peer. */
TEST_P(AlteredElement, InTheConfirm)
{
	send_bytes(lured.rogue, encode(accept));
	send_bytes(to_server, altered(receive_agreement(lured.rogue, SMC_CLC_CONFIRM)));
	EXPECT_EQ(diagnosis_of(receive_message(to_server)), uint32_t(SMC_DIAG_SYNC));
	EXPECT_EQ(lured.connecting.join(), "0");
	expect_reset(lured.client);

	RemoteSocket server = listener.accept();

	check_tcp(to_server, server);
}

INSTANTIATE_TEST_SUITE_P(, AlteredElement,
			 testing::Values(Altered{"Token",
						 [](auto &d) {
							 d.token ^= 1;
						 }},
					 Altered{"Index",
						 [](auto &d) {
							 d.dmbe_index ^= 1;
						 }},
					 Altered{"LargerSize",
						 [](auto &d) {
							 d.dmbe_size_code++;
						 }},
					 Altered{"SmallerSize",
						 [](auto &d) {
							 d.dmbe_size_code--;
						 }}),
			 [](const auto &info) { return info.param.name; });

/* Elements of other connections, whose names the tools show to root. */
class Foreign : public WrongElementTest
{
protected:
	/* A message that names the element of the socket @fd of this end, with all its values. */
	smc_clc_agreement naming(smc_clc_type type, int fd)
	{
		smc_clc_agreement message = good_agreement(type, device);
		nlohmann::json shown = socket_shown(fd);
		auto token = shown.at("dmb").at("token").get<std::string>();

		message.d.token = std::stoull(token, nullptr, 16);
		message.d.dmbe_index = shown.at("element").at("index");
		message.d.dmbe_size_code = smc_size_class_of(
		    shown.at("connection").at("rmbe").get<uint32_t>() + SMC_DMBE_CONTROL_LEN,
		    SMC_SIZE_CLASS_D_MAX);
		return message;
	}
};

TEST_F(Foreign, InAConfirm)
{
	Connection other = make_connection(agent, Flavor());
	RemoteSocket listener = agent.listen(Flavor());
	Fd rogue;
	smc_clc_agreement accept = accept_of(listener, rogue);
	smc_clc_agreement confirm = naming(SMC_CLC_CONFIRM, other.here);

	confirm.first_contact = accept.first_contact;
	send_bytes(rogue, encode(confirm));
	EXPECT_EQ(diagnosis_of(receive_message(rogue)), uint32_t(SMC_DIAG_SYNC));

	RemoteSocket victim = listener.accept();

	check_tcp(rogue, victim);
	check_data(other, 100000, true);
}

TEST_F(Foreign, InAnAccept)
{
	Connection other = make_connection(agent, Flavor(), Role::server);
	auto [victim, connecting, rogue] = lure(agent);

	receive_proposal(rogue);
	send_bytes(rogue, encode(naming(SMC_CLC_ACCEPT, other.here)));
	EXPECT_EQ(diagnosis_of(receive_message(rogue)), uint32_t(SMC_DIAG_SYNC));
	ASSERT_EQ(connecting.join(), "0");
	check_tcp(rogue, victim);
	check_data(other, 100000, true);
}

/* A server waits for its client's CONFIRM, but the rogue's is that of another client. */
TEST_F(Foreign, BetweenAcceptAndConfirm)
{
	RemoteSocket waiting = agent.listen(Flavor());
	Fd first;
	smc_clc_agreement accept = accept_of(waiting, first);
	auto [victim, connecting, second] = lure(agent);

	receive_proposal(second);
	send_bytes(second, encode(accept));
	receive_agreement(second, SMC_CLC_CONFIRM);
	EXPECT_EQ(connecting.join(), "0");
	first.close();
	EXPECT_EQ(agent.call({"drain", std::to_string(victim.number())}),
		  std::to_string(-ECONNRESET));
}
