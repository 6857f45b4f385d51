// SPDX-License-Identifier: GPL-2.0
/*
 * Middleboxes that SMC can't pass: they drop packets with the TCP option, or remove the option, or
 * drop RDMA packets. The first connection may be slow, or fail if nothing else is possible. Later
 * ones are TCP at once.
 */
#include <algorithm>
#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>
#include <linux/smc.h>
#include <linux/smc_diag.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <thread>

#include "limit.h"
#include "link_groups.h"
#include "netns.h"
#include "nft.h"
#include "place.h"
#include "rogue_link.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

constexpr uint32_t BLACKHOLE = SMC_DIAG_BLACKHOLE;

std::string option = " tcp option 254 exists ";
std::string syn = " tcp flags & (syn|ack) == syn ";
std::string syn_ack = " tcp flags & (syn|ack) == syn|ack ";

/* Runs commands in one end's guest or namespace. */
using Shell = std::function<std::string(const std::string &)>;

const std::string as_user = "setpriv --reuid 65534 --clear-groups ";

/* A rule for packets that arrive at an end; removed by the destructor. */
class Box
{
public:
	Box(Shell run, const std::string &match, const std::string &verdict) : run(std::move(run))
	{
		this->run("nft 'add table inet box; "
			  "add chain inet box in { type filter hook input priority -150; }; "
			  "add rule inet box in " +
			  match + " counter " + verdict + "'");
	}
	Box(const Box &) = delete;
	~Box()
	{
		open();
	}
	void open()
	{
		if (is_there)
			run("nft delete table inet box");
		is_there = false;
	}
	/* The number of packets that have matched the rule. */
	int64_t met()
	{
		return counted_by_rule(run("nft -j list chain inet box in"));
	}

private:
	Shell run;
	bool is_there = true;
};

/* A socket created by another user. */
Fd socket_of(uid_t user)
{
	/* setfsuid() affects only this thread. */
	setfsuid(user);

	Fd fd = must_socket(Flavor());

	setfsuid(0);
	return fd;
}

bool is_ready(const std::future<Connection> &connection)
{
	return connection.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

/* Connects to a server that answers the PROPOSAL with other data. */
void meet_banner(const Fd &client, const Fd &listener, const Address &at)
{
	std::thread answering([&] {
		Fd server = must_accept(listener);

		receive_proposal(server);
		send_bytes(server, "220 ready\r\n");
	});

	EXPECT_EQ(connect(client, at.get(), at.len), -1);
	answering.join();
}

nlohmann::json shown(const Shell &run)
{
	return parse_json(run(smc("-j blackhole")));
}

} // namespace

class Blackhole : public testing::Test
{
protected:
	Blackhole()
	{
		set_limit(scaled(120));
	}
	/*
	 * Except for links, the location of the other end doesn't matter; the same guest is faster.
	 */
	void SetUp() override
	{
		if (!peer_within())
			GTEST_SKIP() << "as well within a host";
		flush();
	}
	void TearDown() override
	{
		if (!IsSkipped())
			flush();
	}
	void flush()
	{
		here(smc("blackhole flush"));
		there(smc("blackhole flush"));
	}
	/* Expects one entry at an end. */
	void expect_entry(const Shell &run, const std::string &what, int family, int node, int port)
	{
		auto entries = shown(run);

		ASSERT_EQ(entries.size(), 1u) << entries;
		EXPECT_EQ(entries[0].at("what"), what);
		EXPECT_EQ(entries[0].at("port"), port);
		EXPECT_EQ(address_from(entries[0].at("address"), 0), address_of(node, family, 0));
	}
	/* Expects both ends to work, by SMC if available. */
	void expect_smc()
	{
		Connection connection = make_connection(agent, Flavor());

		check_data(connection, 10000, true);
	}

	Agent agent;
	Shell here = [](const std::string &command) {
		return must_run(command);
	};
	Shell there = [this](const std::string &command) {
		return agent.must_run(command);
	};
};

class Family : public Blackhole, public testing::WithParamInterface<int>
{
protected:
	Flavor flavor = {Kind::smc, GetParam()};
	RemoteSocket listener = agent.listen(flavor);
	int port = listener.port();
	Address to = address_of(1, GetParam(), port);
	std::string to_port = " tcp dport " + std::to_string(port);
	std::string from_port = " tcp sport " + std::to_string(port);

	/* The server sends first; the client reads its bytes, and no others. */
	void expect_greeting(Connection &connection)
	{
		char bytes[100];

		ASSERT_EQ(connection.there.send("220 ready"), 9);
		await(connection.here, POLLIN);

		ssize_t n = recv(connection.here, bytes, sizeof(bytes), 0);

		EXPECT_EQ(std::string(bytes, std::max<ssize_t>(n, 0)), "220 ready");
		check_data(connection, 10000, false);
	}
	Connection connect_here()
	{
		Fd client = must_connect(flavor, to);

		return {std::move(client), listener.accept()};
	}
	/* Connects without blocking, after @prepare. */
	Connection connect_nonblocking(const std::function<void(int fd)> &prepare)
	{
		Fd client = must_socket(flavor, SOCK_NONBLOCK);

		prepare(client);
		EXPECT_EQ(connect(client, to.get(), to.len), -1);
		EXPECT_EQ(errno, EINPROGRESS);
		EXPECT_EQ(await(client, POLLOUT) & POLLERR, 0);
		EXPECT_EQ(must_get(client, SOL_SOCKET, SO_ERROR), 0);
		fcntl(client, F_SETFL, 0);
		return {std::move(client), listener.accept()};
	}
};

INSTANTIATE_TEST_SUITE_P(, Family, testing::Values(AF_INET, AF_INET6),
			 [](const auto &info) { return info.param == AF_INET ? "4" : "6"; });

TEST_P(Family, SynWithTheOptionIsLost)
{
	Box box(there, syn + to_port + option, "drop");
	int64_t before = fallbacks(Role::client, BLACKHOLE);

	{
		Connection first = connect_here();

		check_data(first, 10000, false);
	}
	EXPECT_GE(box.met(), 1);
	EXPECT_EQ(fallbacks(Role::client, BLACKHOLE), before + 1);
	expect_entry(here, "syn-lost", GetParam(), 1, port);

	/* The next connection does not try SMC. */
	int64_t met = box.met();

	{
		Connection second = connect_here();

		check_data(second, 10000, false);
	}
	EXPECT_EQ(box.met(), met);
	EXPECT_EQ(fallbacks(Role::client, BLACKHOLE), before + 2);

	/* Other users still have SMC, and so has this one after its entry is cleared. */
	expect_smc();
	here(smc("blackhole flush"));
	EXPECT_TRUE(shown(here).empty());
	box.open();

	Connection third = connect_here();

	check_data(third, 10000, true);
}

/* Nonblocking connect(), and a socket that sends only two SYNs. */
TEST_P(Family, SynIsLostToOneWhoDoesNotWait)
{
	Box box(there, syn + to_port + option, "drop");

	for (int retries : {6, 1}) {
		here(smc("blackhole flush"));

		Connection connection = connect_nonblocking(
		    [retries](int fd) { must_set(fd, IPPROTO_TCP, TCP_SYNCNT, retries); });

		check_data(connection, 10000, false);
		expect_entry(here, "syn-lost", GetParam(), 1, port);
	}
}

/*
 * The time of an entry is limited, also for entries that exist when the sysctl changes. It is short
 * at first, and longer if the failure repeats.
 */
TEST_P(Family, EntriesEnd)
{
	Box box(there, syn + to_port + option, "drop");

	connect_here();
	ASSERT_EQ(shown(here).size(), 1u);
	EXPECT_GT(shown(here)[0].at("left"), 30);
	EXPECT_LE(shown(here)[0].at("left"), 60);
	{
		SysctlScope soon("net.smc.blackhole_timeout", "1");

		wait_until("the end of an entry", [&] { return shown(here).empty(); });

		int64_t met = box.met();

		connect_here();
		EXPECT_GT(box.met(), met);
	}
	ASSERT_EQ(shown(here).size(), 1u);
	EXPECT_GT(shown(here)[0].at("left"), 60);
	EXPECT_LE(shown(here)[0].at("left"), 120);

	/* With the sysctl at 0 nothing is noted, and existing entries have no effect. */
	box.open();
	{
		SysctlScope off("net.smc.blackhole_timeout", "0");

		EXPECT_TRUE(shown(here).empty());

		Connection connection = connect_here();

		check_data(connection, 10000, true);
	}
	/* Once SMC has worked, the entry is gone. */
	EXPECT_TRUE(shown(here).empty());
}

/* A host that doesn't answer at all says nothing about the option. */
TEST_P(Family, HostThatIsDownIsNotNoted)
{
	Box box(there, syn + to_port, "drop");
	Fd client = must_socket(flavor);

	must_set(client, IPPROTO_TCP, TCP_SYNCNT, 1);
	EXPECT_EQ(connect(client, to.get(), to.len), -1);
	EXPECT_EQ(errno, ETIMEDOUT);
	EXPECT_TRUE(shown(here).empty());
	box.open();

	/* The same socket connects, by SMC. */
	ASSERT_EQ(connect(client, to.get(), to.len), 0);

	Connection connection = {std::move(client), listener.accept()};

	check_data(connection, 10000, true);
}

/* A server that answers late, while the client tries without the option: an earlier SYN had it. */
TEST_P(Family, SlowServerIsNotNoted)
{
	Box box(here, syn_ack + from_port, "drop");
	Fd client = must_socket(flavor, SOCK_NONBLOCK);

	EXPECT_EQ(connect(client, to.get(), to.len), -1);
	EXPECT_EQ(errno, EINPROGRESS);
	/* The server answers also the third SYN, which had no option. */
	wait_until("three answers", [&] { return box.met() >= 4; });
	box.open();
	EXPECT_EQ(await(client, POLLOUT) & POLLERR, 0);
	fcntl(client, F_SETFL, 0);

	Connection connection = {std::move(client), listener.accept()};

	check_data(connection, 10000, true);
	EXPECT_TRUE(shown(here).empty());
	EXPECT_TRUE(shown(there).empty());
}

/* The socket is closed while SYNs are being lost. */
TEST_P(Family, ClosedMeanwhile)
{
	Box box(there, syn + to_port, "drop");

	for (int i = 0; i < 12; i++) {
		Fd client = must_socket(flavor, SOCK_NONBLOCK);
		int64_t lost = box.met() + i % 3;

		EXPECT_EQ(connect(client, to.get(), to.len), -1);
		wait_until("so many are lost", [&] { return box.met() >= lost; });
	}
	EXPECT_TRUE(shown(here).empty());
}

/* The client sees no option, and is TCP. The server expects a PROPOSAL. */
TEST_P(Family, SynAckLosesTheOption)
{
	if (peer_place() == Place::host)
		GTEST_SKIP() << "no client within a namespace has an entry";

	Box box(here, syn_ack + from_port + option, "reset tcp option 254");
	int64_t met;

	{
		Connection first = connect_here();

		expect_greeting(first);
	}
	met = box.met();
	EXPECT_GE(met, 1);
	expect_entry(there, "no-proposal", GetParam(), 0, port);

	/* The next SYN-ACK has no option, so accept() need not wait. */
	for (int i = 0; i < 3; i++) {
		Connection next = connect_here();

		expect_greeting(next);
	}
	EXPECT_EQ(box.met(), met);

	/* Another port is another server. The entry can be cleared. */
	expect_smc();
	there(smc("blackhole flush"));
	box.open();

	Connection last = connect_here();

	check_data(last, 10000, true);
}

/*
 * The same client sends first, and waits for the answer. Its bytes are no CLC message, be they more
 * than a CLC header or less, or the same at first or as far as they go. They are no violation.
 */
TEST_P(Family, SynAckLosesTheOptionOfOneWhoSendsFirst)
{
	if (peer_place() == Place::host)
		GTEST_SKIP() << "no client within a namespace has an entry";

	Box box(here, syn_ack + from_port + option, "reset tcp option 254");
	int64_t before = agent.counters()["violation_clc"];

	for (const std::string bytes : {"\xe2", "?", "ruok", "PING in a line\r\n", "\xe2\xd4?"}) {
		Fd client = must_connect(flavor, to);

		send_bytes(client, bytes);

		Connection first = {std::move(client), listener.accept()};

		EXPECT_EQ(first.there.recv(bytes.size(), MSG_WAITALL), bytes);
		expect_greeting(first);
		expect_entry(there, "no-proposal", GetParam(), 0, port);
		there(smc("blackhole flush"));
	}
	EXPECT_GE(box.met(), 5);
	EXPECT_EQ(agent.counters()["violation_clc"], before);
}

/*
 * Many such clients at once: the server refuses some of their handshakes. No client reads the
 * DECLINE, be it silent or not.
 */
TEST_P(Family, SynAckLosesTheOptionOfMany)
{
	if (peer_place() == Place::host)
		GTEST_SKIP() << "no client within a namespace has an entry";

	/* Up to 24 SYN-ACKs offer SMC, and one client may have 12 handshakes. */
	constexpr int clients = 20;
	RemoteSysctlScope limited(agent, "net.smc.limit_smc_hs", "1");
	Box box(here, syn_ack + from_port + option, "reset tcp option 254");
	std::vector<Fd> silent, talking;
	std::vector<RemoteSocket> accepted;

	for (int i = 0; i < clients; i++)
		(i % 2 ? talking : silent).push_back(must_connect(flavor, to));
	EXPECT_GE(box.met(), clients);
	/* A client that has spoken SMC does read the DECLINE. The rogue has IPv4 only. */
	if (GetParam() == AF_INET) {
		silent.push_back(propose(to, good_proposal()));
		EXPECT_EQ(diagnosis_of(receive_message(silent.back())), SMC_DIAG_NO_MEMORY);
	}
	for (const Fd &client : talking)
		send_bytes(client, "?");
	while (accepted.size() < silent.size() + talking.size()) {
		accepted.push_back(listener.accept());
		EXPECT_EQ(accepted.back().send("220 ready"), 9);
		accepted.back().shutdown(SHUT_WR);
	}
	for (const auto *group : {&silent, &talking}) {
		for (const Fd &client : *group) {
			char bytes[100];
			ssize_t n = recv(client, bytes, sizeof(bytes), MSG_WAITALL);

			EXPECT_EQ(std::string(bytes, std::max<ssize_t>(n, 0)), "220 ready");
		}
	}
}

/* If the SYN loses the option, neither end uses SMC, and neither is delayed. */
TEST_P(Family, SynLosesTheOption)
{
	Box box(there, syn + to_port + option, "reset tcp option 254");

	for (int i = 0; i < 2; i++) {
		Connection connection = connect_here();

		expect_greeting(connection);
	}
	EXPECT_EQ(box.met(), 2);
	EXPECT_TRUE(shown(here).empty());
	EXPECT_TRUE(shown(there).empty());
}

/* A server that echoes an unknown option, and its answer to a PROPOSAL. */
struct Echo {
	std::string name;
	std::function<void(Fd &server)> answer;
};

class Echoes : public Blackhole, public testing::WithParamInterface<Echo>
{
};

TEST_P(Echoes, AreNoted)
{
	Fd listener = offering_socket();

	ASSERT_EQ(listen(listener, 4), 0);

	Address at = address_of(0, AF_INET, local_address(listener).port());
	RemoteSocket first = agent.socket(Flavor());
	Job connecting = first.start_connect(at);
	Fd server = must_accept(listener);

	receive_proposal(server);
	GetParam().answer(server);
	/* The result of this connect() does not matter. */
	connecting.join();
	expect_entry(there, "no-answer", AF_INET, 0, at.port());

	RemoteSocket second = agent.socket(Flavor());

	ASSERT_EQ(second.connect(at), 0);

	Fd fine = must_accept(listener);

	check_tcp(fine, second);
}

INSTANTIATE_TEST_SUITE_P(, Echoes,
			 testing::Values(Echo{"Banner",
					      [](Fd &fd) {
						      send_bytes(fd, "220 ready\r\n");
					      }},
					 Echo{"OneByteAndAnEnd",
					      [](Fd &fd) {
						      send_bytes(fd, "?");
						      shutdown(fd, SHUT_WR);
					      }},
					 Echo{"End",
					      [](Fd &fd) {
						      shutdown(fd, SHUT_WR);
					      }},
					 Echo{"Reset",
					      [](Fd &fd) {
						      must_linger(fd, 0);
						      fd.close();
					      }},
					 Echo{"Silence",
					      [](Fd &) {
					      }}),
			 [](const auto &info) { return info.param.name; });

/*
 * A router reports that it does not reach the server, until it does again. This does not end the
 * handshake, and the application gets the error, as over TCP.
 */
TEST_F(Blackhole, ErrorOfARouterIsNone)
{
	Fd listener = offering_socket();

	ASSERT_EQ(listen(listener, 1), 0);

	Address at = address_of(0, AF_INET, local_address(listener).port());
	Box router(here, " tcp dport " + std::to_string(at.port()) + " tcp flags & psh == psh ",
		   "reject with icmp type host-unreachable");
	RemoteSocket client = agent.socket(Flavor());

	ASSERT_EQ(client.set(IPPROTO_IP, IP_RECVERR, 1), 0);

	Job connecting = client.start_connect(at);
	Fd server = must_accept(listener);

	/* While the thread that sends has locked the socket, TCP does not report an error. */
	wait_until("a PROPOSAL is repeated", [&] { return router.met() >= 3; });
	router.open();
	receive_proposal(server);
	send_bytes(server, encode(good_agreement(SMC_CLC_CONFIRM)));
	EXPECT_EQ(diagnosis_of(receive_message(server)), SMC_DIAG_SYNC);
	EXPECT_EQ(connecting.join(), "0");
	EXPECT_EQ(client.get(SOL_SOCKET, SO_ERROR), EHOSTUNREACH);
	check_tcp(server, client);
}

/* A late answer by SMC removes the entry. */
TEST_F(Blackhole, LateAnswerIsOne)
{
	auto [victim, connecting, server] = lure(agent);

	receive_proposal(server);
	ASSERT_EQ(connecting.join(), "0");
	EXPECT_TRUE(diagnosis_of(receive_message(server)));
	EXPECT_EQ(shown(there).size(), 1u);
	send_bytes(server, encode_decline(SMC_DIAG_NO_MEMORY));
	wait_until("no entry", [&] { return shown(there).empty(); });
	check_tcp(server, victim);
}

/* TCP marks a segment in front of an urgent byte, too. The application reads nothing of CLC. */
TEST_F(Blackhole, LateAnswerBeforeAnUrgentByteIsOne)
{
	auto [victim, connecting, server] = lure(agent);

	receive_proposal(server);
	ASSERT_EQ(connecting.join(), "0");
	EXPECT_TRUE(diagnosis_of(receive_message(server)));
	must_set(server, IPPROTO_TCP, TCP_CORK, 1);
	send_bytes(server, encode_decline(SMC_DIAG_NO_MEMORY));
	ASSERT_EQ(send(server, "!", 1, MSG_OOB), 1);
	send_bytes(server, "x");
	must_set(server, IPPROTO_TCP, TCP_CORK, 0);
	EXPECT_EQ(victim.recv(1), "x");
	EXPECT_TRUE(shown(there).empty());
}

/*
 * A late PROPOSAL removes the entry of a client. It is answered, unless the application has sent
 * first.
 */
TEST_F(Blackhole, LateProposalIsOne)
{
	if (peer_place() == Place::host)
		GTEST_SKIP() << "no client within a namespace has an entry";

	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	Fd client = offering_socket();

	ASSERT_EQ(connect(client, to.get(), to.len), 0);

	RemoteSocket victim = listener.accept();

	EXPECT_EQ(shown(there).size(), 1u);
	send_bytes(client, encode(good_proposal()));
	EXPECT_TRUE(diagnosis_of(receive_message(client)));
	EXPECT_TRUE(shown(there).empty());
	check_tcp(client, victim);
}

/* A user can drop packets to his own sockets: this must not affect other users. */
TEST_F(Blackhole, UsersHaveTheirOwn)
{
	Fd listener = offering_socket();

	ASSERT_EQ(listen(listener, 4), 0);

	Address at = address_from("127.0.0.1", local_address(listener).port());

	meet_banner(socket_of(65534), listener, at);
	ASSERT_EQ(shown(here).size(), 1u);
	EXPECT_EQ(shown(here)[0].at("uid"), 65534);

	int64_t before = fallbacks(Role::client, BLACKHOLE);
	Fd spared = socket_of(65534);

	EXPECT_EQ(connect(spared, at.get(), at.len), 0);
	must_accept(listener);
	EXPECT_EQ(fallbacks(Role::client, BLACKHOLE), before + 1);
	meet_banner(socket_of(65533), listener, at);
	EXPECT_EQ(shown(here).size(), 2u);

	/*
	 * The owner of a namespace may clear its table, but not the host's. The owner can't read
	 * the build folder, so the tool is copied.
	 */
	must_run("cp $LAB_BUILD/tools/smc/smc /tmp/smc && SMC=/tmp/smc && " + as_user +
		 "unshare --user --map-root-user --net " + smc("blackhole flush"));
	EXPECT_EQ(shown(here).size(), 2u);

	/* Users don't see which servers other users connected to. */
	auto seen = parse_json(must_run(as_user + smc("-j blackhole")));

	ASSERT_EQ(seen.size(), 1u) << seen;
	EXPECT_EQ(seen[0].at("uid"), 65534);
}

/* The table of a namespace is bounded, and no user can evict the entries of others. */
TEST_F(Blackhole, TableIsBounded)
{
	Fd listener = offering_socket();

	if (peer_place() != Place::host)
		GTEST_SKIP() << "by connections of one namespace";
	set_limit(scaled(300));
	ASSERT_EQ(listen(listener, 4), 0);

	/* A server at each address of 127.0.0.0/8. */
	int port = local_address(listener).port();

	meet_banner(socket_of(65534), listener, address_from("127.1.0.1", port));
	for (int i = 1; i <= 300; i++) {
		std::string at = "127.0." + std::to_string(i / 256) + "." + std::to_string(i % 256);

		meet_banner(must_socket(Flavor()), listener, address_from(at, port));
	}

	auto entries = shown(here);

	ASSERT_EQ(entries.size(), 256u);
	/* The oldest entries of the user with the most entries were evicted. */
	EXPECT_EQ(entries.front().at("address"), "127.1.0.1");
	EXPECT_EQ(entries.at(1).at("address"), "127.0.0.46");
	EXPECT_EQ(entries.back().at("address"), "127.0.1.44");
}

/* Nor can a peer evict the entries of others. */
TEST_F(Blackhole, PeersHaveTheirOwn)
{
	if (peer_place() != Place::host)
		GTEST_SKIP() << "as well there";

	int64_t before = fallbacks(Role::server, BLACKHOLE);
	std::vector<Fd> sockets;
	Netns clients;

	clients.enter([] { must_run("ip address add 10.99.0.3/24 dev veth9"); });

	/* The clients send no PROPOSAL, so each takes the full timeout. */
	for (int i = 0; i < 270; i++) {
		Fd listener = must_socket(Flavor());

		ASSERT_EQ(listen(listener, 4), 0);

		Address to = address_from("10.99.0.1", local_address(listener).port());

		sockets.push_back(clients.make(
		    [&] { return offering_connection(to, i ? "10.99.0.3" : "10.99.0.2"); }));
		sockets.push_back(std::move(listener));
		/*
		 * The first entry is the oldest. One client has at most 124 handshakes with a user,
		 * and checking the table after each connect would take longer than a handshake.
		 */
		if (!i || (i >= 80 && i % 20 == 0))
			wait_until("earlier ones are noted", [&] {
				return fallbacks(Role::server, BLACKHOLE) >
				       before + std::max(i - 80, 0);
			});
	}
	wait_until("all are noted",
		   [&] { return fallbacks(Role::server, BLACKHOLE) >= before + 270; });

	auto entries = shown(here);

	ASSERT_EQ(entries.size(), 256u);
	EXPECT_EQ(entries.front().at("address"), "10.99.0.2");
}

/* All users of a namespace have its addresses: a silent one takes SMC from none of the others. */
TEST_F(Blackhole, UsersDoNotSpoilTheirAddress)
{
	Fd listener = must_listen(Flavor(), 4);
	Address to = address_from("127.0.0.1", local_address(listener).port());
	int64_t before = fallbacks(Role::server, BLACKHOLE);

	Fd silent = offering_socket();

	ASSERT_EQ(fchown(silent, 65534, -1), 0);
	ASSERT_EQ(connect(silent, to.get(), to.len), 0);
	wait_until("it is TCP", [&] { return fallbacks(Role::server, BLACKHOLE) > before; });
	must_accept(listener);
	EXPECT_TRUE(shown(here).empty());

	Fd client = must_connect(Flavor(), to), server = must_accept(listener);

	EXPECT_EQ(socket_mode(client), SMC_DIAG_MODE_SMCD);
	EXPECT_EQ(socket_mode(server), SMC_DIAG_MODE_SMCD);
}

/* Everybody may read the table, only administrators may clear it. */
TEST_F(Blackhole, OnlyAdministratorsClear)
{
	Output refused = run_command(as_user + smc("blackhole flush"));

	EXPECT_EQ(refused.status, 1) << refused.text;
	EXPECT_NE(refused.text.find("not permitted"), std::string::npos) << refused.text;
	must_run(as_user + smc("blackhole"));
}

/* RDMA packets are dropped. */
class Unreached : public Blackhole
{
protected:
	void SetUp() override
	{
		if (peer_within())
			GTEST_SKIP() << "there is no link within a host";
		flush();
	}
	void TearDown() override
	{
		if (!IsSkipped())
			let_through();
		Blackhole::TearDown();
	}
	/* No RDMA packet reaches the agent's guest; with @role client none leaves it either. */
	void cut_off(Role role)
	{
		agent.must_run("nft 'add table inet roce; "
			       "add chain inet roce in { type filter hook input priority 0; }; "
			       "add rule inet roce in udp dport 4791 drop'");
		if (role == Role::client)
			agent.must_run(
			    "nft 'add chain inet roce out { type filter hook output priority 0; }; "
			    "add rule inet roce out udp dport 4791 drop'");
	}
	void let_through()
	{
		agent.must_run("nft 'add table inet roce; delete table inet roce'");
	}
	/* Leaves free elements of the usual size in both ends' buffers. */
	void leave_elements()
	{
		int used = link_groups().connections;

		{
			Connection connections[] = {make_connection(agent, Flavor()),
						    make_connection(agent, Flavor()),
						    make_connection(agent, Flavor())};
		}
		wait_until("the connections are over",
			   [&] { return link_groups().connections == used; });
	}
	/* Tells whether a thread of this guest waits for the registration of a region. */
	bool is_registering()
	{
		return !here("grep -ls smc_link_register /proc/[0-9]*/stack || :").empty();
	}
	/* Expects a connection that is TCP; @role is that of this end. */
	void expect_tcp(Role role)
	{
		Connection connection = make_connection(agent, Flavor(), role);

		check_data(connection, 10000, false);
	}
};

TEST_F(Unreached, GidIsNoted)
{
	for (Role role : both_roles) {
		SCOPED_TRACE(to_string(role));
		/* Existing groups are not affected. */
		must_run("rdma link delete rxe0 && lab-rxe eth0");
		cut_off(role);
		expect_tcp(role);
		ASSERT_EQ(shown(here).size(), 1u);
		EXPECT_EQ(shown(here)[0].at("what"), "no-link");
		EXPECT_LE(shown(here)[0].at("left"), 60);
		ASSERT_EQ(shown(there).size(), 1u);

		/* The server does not try a link to this client. */
		int64_t before = fallbacks(role, role == Role::client ? SMC_DIAG_PEER_DECLINED
								      : SMC_DIAG_NO_ROUTE);
		int64_t groups = Counters::now()["rdma_groups_created"];

		expect_tcp(role);
		EXPECT_EQ(fallbacks(role, role == Role::client ? SMC_DIAG_PEER_DECLINED
							       : SMC_DIAG_NO_ROUTE),
			  before + 1);

		/*
		 * If only the client has an entry, it declines the link that the server proposes.
		 */
		(role == Role::client ? there : here)(smc("blackhole flush"));
		expect_tcp(role);
		if (role == Role::server)
			EXPECT_EQ(Counters::now()["rdma_groups_created"], groups + 1);
		else
			EXPECT_EQ(Counters::now()["rdma_groups_created"], groups);

		let_through();
		flush();

		Connection connection = make_connection(agent, Flavor(), role);

		check_data(connection, 10000, true);
	}
}

/*
 * A region is registered while soft-RoCE repeats a message of another connection, because the
 * acknowledgements are lost.
 */
TEST_F(Unreached, RegistersWhileAMessageIsRepeated)
{
	Connection first = make_connection(agent, Flavor());
	int64_t lost = Counters::now()["rdma_groups_lost"];

	/* Only this end needs another buffer for the second connection. */
	leave_elements();

	Preparation other_size = {.here = [](int fd) {
		must_set(fd, SOL_SOCKET, SO_RCVBUF, 300000);
	}};
	Box box(here, "udp dport 4791", "drop");

	send_bytes(first.here, "repeated");
	wait_until("an acknowledgement is lost", [&] { return box.met(); });

	auto connecting = std::async(std::launch::async, [&] {
		return make_connection(agent, Flavor(), Role::client, other_size);
	});

	wait_until("a registration", [&] { return is_ready(connecting) || is_registering(); });

	int64_t met = box.met();

	wait_until("more acknowledgements are lost",
		   [&] { return is_ready(connecting) || box.met() >= met + 2; });
	box.open();

	Connection second = connecting.get();

	EXPECT_EQ(first.there.recv(8, MSG_WAITALL), "repeated");
	check_data(first, 10000, true);
	/* By TCP if the registration took too long, because this guest was slow. */
	check_data(second, 10000, socket_mode(second.here) == SMC_DIAG_MODE_SMCR);
	EXPECT_EQ(Counters::now()["rdma_groups_lost"], lost);
}

/* A peer that closes before its link is confirmed says nothing about the path to it. */
TEST_F(Unreached, NotWhoGoes)
{
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());

	{
		Fd rogue = propose(to, good_proposal());

		ASSERT_TRUE(receive_agreement(rogue, SMC_CLC_ACCEPT).first_contact);
		send_bytes(rogue, encode(good_agreement(SMC_CLC_CONFIRM)));
		shutdown(rogue, SHUT_WR);

		RemoteSocket accepted = listener.accept();

		EXPECT_EQ(socket_shown(agent, accepted).at("mode"), "TCP");
		accepted.expect_end();
		accepted.send("back");

		/* The DECLINE arrives first. */
		char back[5] = {};

		EXPECT_FALSE(receive_message(rogue).empty());
		EXPECT_EQ(recv(rogue, back, 4, MSG_WAITALL), 4);
		EXPECT_STREQ(back, "back");
	}
	EXPECT_TRUE(shown(there).empty());

	Connection connection = make_connection(agent, Flavor());

	check_data(connection, 10000, true);
}

/* A peer declines while its victim, at the agent's end, waits for the confirmation of the link. */
class LinkDeclined : public Unreached, public testing::WithParamInterface<Role>
{
protected:
	struct Victim {
		RemoteSocket socket; /* or the listener */
		Job handshake;
		Fd rogue;
	};

	/* A DECLINE, directly followed by bytes for the application. */
	static std::string declining()
	{
		return encode_decline(SMC_DIAG_NO_MEMORY) + "at once";
	}
	static void decline(const Victim &victim)
	{
		send_bytes(victim.rogue, declining());
	}
	/* Waits until no thread of the agent is runnable. */
	void await_sleep()
	{
		wait_until("the agent sleeps", [this] {
			return agent
				   .run_command("grep -q running /proc/" +
						std::to_string(agent.pid()) + "/task/*/syscall")
				   .status == 1;
		});
	}
	/* Checks a connection that the DECLINE of the rogue has made TCP. */
	void check_declined(Connection &declined)
	{
		nlohmann::json socket = socket_shown(agent, declined.there);

		EXPECT_EQ(socket.at("mode"), "TCP");
		EXPECT_EQ(socket.at("fallback").at("reason"), "declined by the peer");
		EXPECT_EQ(socket.at("fallback").at("peer-reason"), "no memory");
		EXPECT_EQ(declined.there.recv(7, MSG_WAITALL), "at once");
		check_tcp(declined.here, declined.there);
		check_data(declined, 100000, false);
		expect_smc();
	}
	Connection end(Victim victim)
	{
		std::string result = victim.handshake.join();

		if (GetParam() == Role::server)
			return {std::move(victim.rogue), RemoteSocket(agent, std::stoi(result))};
		EXPECT_EQ(result, "0");
		return {std::move(victim.rogue), std::move(victim.socket)};
	}
	/* A victim that waits; the rogue has received all messages before that. */
	Victim waiting()
	{
		return GetParam() == Role::client ? client(good_agreement(SMC_CLC_ACCEPT))
						  : server();
	}
	/*
	 * The same, with a link to a GID without a host: an entry for that GID concerns no other
	 * host.
	 */
	Victim waiting_for_nobody()
	{
		return GetParam() == Role::client ? client_of_nobody() : server_of_nobody();
	}

private:
	static void make_nobody(uint8_t *gid)
	{
		gid[SMC_GID_LEN - 1] = 200;
	}
	Victim client(const smc_clc_agreement &accept)
	{
		auto [client, connecting, rogue] = lure(agent);

		receive_proposal(rogue);
		send_bytes(rogue, encode(accept));
		receive_agreement(rogue, SMC_CLC_CONFIRM);
		await_sleep();
		return {std::move(client), connecting, std::move(rogue)};
	}
	Victim client_of_nobody()
	{
		smc_clc_agreement accept = good_agreement(SMC_CLC_ACCEPT);

		make_nobody(accept.r.gid);
		return client(accept);
	}
	/* The rogue has its CONFIRM LINK. */
	Victim server()
	{
		RemoteSocket listener = agent.listen(Flavor());
		Job accepting = listener.start_accept();
		Address to = address_of(1, AF_INET, listener.port());
		RogueLink link(to, RogueLink::Confirm::unanswered);

		return {std::move(listener), accepting, link.take_tcp()};
	}
	Victim server_of_nobody()
	{
		RemoteSocket listener = agent.listen(Flavor());
		Job accepting = listener.start_accept();
		smc_clc_proposal proposal = good_proposal();
		smc_clc_agreement confirm = good_agreement(SMC_CLC_CONFIRM);

		for (uint8_t *gid : {proposal.gid_v2, confirm.r.gid, confirm.gids[0]})
			make_nobody(gid);

		Fd rogue = propose(address_of(1, AF_INET, listener.port()), proposal);

		receive_agreement(rogue, SMC_CLC_ACCEPT);
		send_bytes(rogue, encode(confirm));
		return {std::move(listener), accepting, std::move(rogue)};
	}
};

INSTANTIATE_TEST_SUITE_P(, LinkDeclined, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

/*
 * The DECLINE ends the wait before its timeout: another wait, which began earlier, still goes on.
 * On a slow guest that wait may have ended, too; then the test repeats. A timeout would add an
 * entry for the peer.
 */
TEST_P(LinkDeclined, EndsTheWait)
{
	std::optional<Connection> declined;
	int64_t before;

	wait_until("the second ends first", [&] {
		flush();
		before = fallbacks(agent, GetParam(), SMC_DIAG_PEER_DECLINED);

		Victim first = waiting_for_nobody(), second = waiting();

		decline(second);
		declined.emplace(end(std::move(second)));

		bool was_first_done = first.handshake.is_done();

		decline(first);
		end(std::move(first));
		/* The wait may have ended by itself before its DECLINE arrived. */
		return !was_first_done &&
		       fallbacks(agent, GetParam(), SMC_DIAG_PEER_DECLINED) == before + 2;
	});
	EXPECT_TRUE(shown(there).empty());
	check_declined(*declined);
}

/*
 * Pieces of the DECLINE arrive alone: less than a header, and less than the message. If they arrive
 * before the victim's worker looks, which can't be observed, that run proves nothing.
 */
TEST_P(LinkDeclined, InPieces)
{
	for (size_t first : {5, 12}) {
		Victim victim = waiting();

		send_bytes(victim.rogue, declining().substr(0, first));
		wait_until("the agent's host has them", [&] {
			int unacked = -1;

			return !ioctl(victim.rogue, SIOCOUTQ, &unacked) && !unacked;
		});
		await_sleep();
		send_bytes(victim.rogue, declining().substr(first));

		Connection declined = end(std::move(victim));

		check_declined(declined);
	}
	EXPECT_TRUE(shown(there).empty());
}
