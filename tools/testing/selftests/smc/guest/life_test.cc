// SPDX-License-Identifier: GPL-2.0
/*
 * Processes, devices, interfaces, addresses, peers and modules that go away early. Connections get
 * the same errors as with TCP, nothing hangs, nothing is left, and new connections go by SMC again.
 */
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "agent.h"
#include "limit.h"
#include "link_groups.h"
#include "netns.h"
#include "pattern.h"
#include "place.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

constexpr int KiB = 1024, MiB = 1024 * KiB;
constexpr const char *reload = "lab-smc unload && lab-smc load";
constexpr const char *references = "/sys/module/smc/refcnt";

/* More bytes than any test waits for. */
constexpr Flow endless = {.seed = 1, .bytes = uint64_t(1) << 40};

bool is_blocked(int fd)
{
	pollfd p = {fd, POLLOUT, 0};

	return poll(&p, 1, 0) == 0;
}

/* Waits for the end of a stream. Return: 0 for an orderly end, or the errno. */
int ending(int fd, int seconds = 120)
{
	char bytes[65536];
	ssize_t n = 0;

	wait_until(
	    "the stream ends",
	    [&] {
		    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
			    ;
		    return n == 0 || errno != EAGAIN;
	    },
	    seconds);
	return n < 0 ? errno : 0;
}

/* The same for a stream that learns of its end only by sending. */
int ending_by_sending(int fd, int seconds = 120)
{
	int error = 0;

	wait_until(
	    "sending fails",
	    [&] {
		    error = send(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
		    return error && error != EAGAIN;
	    },
	    seconds);
	return error;
}

pid_t in_child(const std::function<void()> &what)
{
	pid_t child = fork();

	if (child)
		return child;
	try {
		what();
	} catch (const std::exception &) {
		/* The parent checks the connection. */
	}
	_exit(0);
}

/* A child that connects repeatedly, and has begun to do so @attempts times. */
pid_t connecting_child(const Address &to, int attempts)
{
	Pipe begun;
	pid_t child = in_child([&] {
		for (int i = 0;; i++) {
			if (i < attempts && write(begun.in, "x", 1) < 0)
				throw_errno("write");
			must_connect(Flavor(), to);
		}
	});
	char byte;

	begun.in.close();
	for (int i = 0; i < attempts; i++)
		if (read(begun.out, &byte, 1) != 1)
			throw_errno("read");
	return child;
}

void kill_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, nullptr, 0);
}

/* Drops the other guest's packets and those of this one silently, like a power failure. */
class Silence
{
public:
	explicit Silence(Agent &peer) : peer(peer)
	{
		must_run(poison("10.83.0.2"));
		peer.must_run(poison("10.83.0.1"));
	}
	~Silence()
	{
		run_command(cure("10.83.0.2"));
		peer.run_command(cure("10.83.0.1"));
	}

private:
	static std::string poison(const std::string &address)
	{
		return "ip neigh replace " + address +
		       " lladdr 02:00:00:00:00:01 dev eth0 nud permanent";
	}
	static std::string cure(const std::string &address)
	{
		return "ip neigh del " + address + " dev eth0";
	}

	Agent &peer;
};

/*
 * A network that can lose a part of what both guests send, packets of RoCE and of TCP. Create and
 * destroy it while nothing is sent: a device whose queue is replaced refuses packets, and soft-RoCE
 * takes that for the failure of a queue pair.
 */
class Lossy
{
public:
	explicit Lossy(Agent &peer) : peer(peer)
	{
		at_both("add dev eth0 root netem");
	}
	~Lossy()
	{
		run_command("tc qdisc del dev eth0 root");
		peer.run_command("tc qdisc del dev eth0 root");
	}
	void lose(int percent)
	{
		at_both("change dev eth0 root netem loss " + std::to_string(percent) + "%");
	}

private:
	void at_both(const std::string &change)
	{
		must_run("tc qdisc " + change);
		peer.must_run("tc qdisc " + change);
	}

	Agent &peer;
};

} // namespace

class Life : public testing::Test
{
protected:
	Agent peer;

	void expect_smc()
	{
		for (Role role : both_roles) {
			Connection one = make_connection(peer, Flavor(), role);

			check_data(one, 100000, true);
		}
	}

	/*
	 * Nothing is left, so both modules can be unloaded. On the debug kernel they are, as that
	 * finds more errors then. Elsewhere guest_main.sh unloads them after the programs, because
	 * it takes a while.
	 */
	void TearDown() override
	{
		if (IsSkipped())
			return;
		expect_smc();
		expect_no_connections(peer);
		wait_until("nothing holds on to the modules", [&] {
			return read_file(references) == "0\n" &&
			       peer.read_file(references) == "0\n";
		});
		if (!on_debug_kernel())
			return;
		if (peer_within()) {
			must_run(reload);
			return;
		}

		Job there = peer.start({"run", reload});

		must_run(reload);
		EXPECT_EQ(there.join(), "0") << "unloading or loading the peer's";
	}
};

/* Tests for each role of this end. */
class LifeOf : public Life, public testing::WithParamInterface<Role>
{
};

INSTANTIATE_TEST_SUITE_P(, LifeOf, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(LifeOf, PeerKilledWhileIdle)
{
	Agent victim;
	Connection one = make_connection(victim, Flavor(), GetParam());

	check_data(one, 1000, true);
	victim.kill();
	/* An orderly end, as no data was unread. */
	EXPECT_EQ(ending(one.here), 0);
	EXPECT_EQ(ending_by_sending(one.here), EPIPE);
}

TEST_P(LifeOf, PeerKilledWhileItSends)
{
	Agent victim;
	Connection one = make_connection(victim, Flavor(), GetParam());

	one.there.start_send(endless);
	recv_flow(one.here, {.seed = 1, .bytes = MiB});
	victim.kill();
	EXPECT_EQ(ending(one.here), 0);
}

TEST_P(LifeOf, PeerKilledWhileItsSendIsBlocked)
{
	Agent victim;
	Connection one = make_connection(victim, Flavor(), GetParam());
	char byte;

	Job far = one.there.start_send(endless);
	await(one.here, POLLIN);
	victim.kill();
	ASSERT_EQ(recv(one.here, &byte, 1, 0), 1);
	EXPECT_EQ(ending(one.here), 0);
}

/* The killed process leaves data unread, so TCP sends a reset. */
TEST_P(LifeOf, PeerKilledWhileThisEndIsBlocked)
{
	Agent victim;
	Connection one = make_connection(victim, Flavor(), GetParam());
	std::thread killer([&] {
		wait_until("blocked", [&] { return is_blocked(one.here); });
		victim.kill();
	});

	try {
		send_flow(one.here, endless);
		ADD_FAILURE() << "sent to a peer that is gone";
	} catch (const std::system_error &error) {
		EXPECT_TRUE(error.code().value() == ECONNRESET || error.code().value() == EPIPE)
		    << error.what();
	}
	killer.join();
}

TEST_P(LifeOf, KilledWhileSending)
{
	Connection one = make_connection(peer, Flavor(), GetParam());
	pid_t child = in_child([&] { send_flow(one.here, endless); });

	one.here.close();
	one.there.recv_flow({.seed = 1, .bytes = MiB});
	kill_child(child);
	EXPECT_EQ(one.there.ending(), 0);
}

TEST_P(LifeOf, KilledWhileReceiving)
{
	Connection one = make_connection(peer, Flavor(), GetParam());
	Job far = one.there.start_send(endless);
	pid_t child = in_child([&] { recv_flow(one.here, endless); });

	await(one.here, POLLIN);
	one.here.close();

	auto written = [&] {
		return peer.counters()[by_path("write_bytes")];
	};
	int64_t before = written();

	wait_until("data flows", [&] { return written() > before + MiB; });
	kill_child(child);
	EXPECT_THROW(far.join(), std::runtime_error);
}

/* A process that is killed while its close() waits for the last bytes. */
TEST_P(LifeOf, KilledWhileLingering)
{
	Connection one = make_connection(peer, Flavor(), GetParam());

	must_linger(one.here, 100);

	pid_t child = in_child([&] {
		while (send(one.here, "0123456789", 10, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			;
		one.here.close();
	});

	one.here.close();
	one.there.await(POLLIN);
	kill_child(child);

	long rc = one.there.ending();

	EXPECT_TRUE(rc == 0 || rc == -ECONNRESET) << rc;
}

/* The handshake may be at any step. */
TEST_F(Life, KilledWhileConnecting)
{
	RemoteSocket listener = peer.listen(Flavor(), 64);
	Address to = address_of(1, AF_INET, listener.port());

	for (int i = 0; i < 20; i++)
		kill_child(connecting_child(to, 1 + i % 4));
	listener.close();
}

/* The same for the listening process. */
TEST_F(Life, PeerKilledWhileItAccepts)
{
	for (int i = 0; i < 5; i++) {
		Agent victim;
		RemoteSocket listener = victim.listen(Flavor(), 4);
		Address to = address_of(1, AF_INET, listener.port());
		pid_t child = connecting_child(to, 1 + i);

		victim.kill();
		kill_child(child);
	}
}

TEST_P(LifeOf, PeerStoppedForAWhile)
{
	Agent stopped;
	Connection one = make_connection(stopped, Flavor(), GetParam());
	constexpr Flow flow = {.seed = 7, .bytes = 4 * MiB};
	std::string pid = std::to_string(stopped.pid());
	Job far = one.there.start_recv(flow);
	Counters before = Counters::now();

	peer.must_run("kill -STOP " + pid);
	std::thread sender([&] { send_flow(one.here, flow); });

	wait_until("blocked", [&] { return is_blocked(one.here); });
	peer.must_run("kill -CONT " + pid);
	sender.join();
	far.join();
	EXPECT_EQ((Counters::now() - before)[by_path("write_bytes")], int64_t(flow.bytes));
}

/* A module in use stays; one without connections can be unloaded, whatever existed before. */
TEST_F(Life, ModuleInUseIsNotUnloaded)
{
	Connection one = make_connection(peer, Flavor());

	check_data(one, 1000, true);
	EXPECT_NE(run_command("lab-smc unload").status, 0);
	check_data(one, 1000, true);
	one.here.close();
	one.there.close();
	wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });
	must_run("lab-smc load");
}

TEST_F(Life, ListenerKeepsTheModule)
{
	Fd listener = must_listen(Flavor());

	EXPECT_NE(run_command("lab-smc unload").status, 0);
	listener.close();
	must_run(reload);
}

/* The link groups of closed connections still exist. */
TEST_F(Life, ModuleLoadedAgainAndAgain)
{
	set_limit(300);
	for (int i = 0; i < (peer_within() ? 20 : 4); i++) {
		{
			Connection one =
			    make_connection(peer, Flavor(), i % 2 ? Role::server : Role::client);

			check_data(one, 1000, true);
		}
		wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });
		must_run("lab-smc load");
	}
}

TEST_F(Life, PeersModuleLoadedAgain)
{
	NEEDS_ANOTHER_HOST("a host has one module");

	for (int i = 0; i < 2; i++) {
		expect_smc();
		expect_no_connections(peer);
		peer.must_run(reload);
	}
}

/* Connections that the peer does not close hold the module, until the peer goes away. */
TEST_F(Life, ModuleUnloadedAfterThePeerWasSlowToClose)
{
	Connection one = make_connection(peer, Flavor());

	one.here.close();
	one.there.expect_end();
	one.there.close();
	wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });
	must_run("lab-smc load");
}

TEST_P(LifeOf, DeviceDeletedUnderLoad)
{
	NEEDS_ANOTHER_HOST("SMC-D needs no network device");

	Connection one = make_connection(peer, Flavor(), GetParam());
	Connection idle = make_connection(peer, Flavor(), GetParam());
	Job far = one.there.start_send(endless);

	recv_flow(one.here, {.seed = 1, .bytes = 100000});
	must_run("rdma link delete rxe0");
	EXPECT_NE(ending(one.here), 0);
	EXPECT_NE(ending(idle.here), 0);
	EXPECT_THROW(far.join(), std::runtime_error);
	{
		Connection without = make_connection(peer, Flavor(), GetParam());

		check_data(without, 10000, false);
	}
	must_run("lab-rxe eth0");
}

TEST_P(LifeOf, PeersDeviceDeletedUnderLoad)
{
	NEEDS_ANOTHER_HOST("SMC-D needs no network device");

	Connection one = make_connection(peer, Flavor(), GetParam());
	int64_t before = Counters::now()["rdma_sends"];
	std::thread deleter([&] {
		wait_until("data flows",
			   [&] { return Counters::now()["rdma_sends"] > before + 20; });
		peer.must_run("rdma link delete rxe0");
	});
	Job far = one.there.start_recv(endless);

	EXPECT_THROW(send_flow(one.here, endless), std::system_error);
	deleter.join();
	EXPECT_THROW(far.join(), std::runtime_error);
	{
		Connection without = make_connection(peer, Flavor(), GetParam());

		check_data(without, 10000, false);
	}
	peer.must_run("lab-rxe eth0");
}

static const std::string ipv6_again = " && ip addr replace fd83::1/64 dev eth0 nodad";

static bool port_is_active()
{
	return read_file("/sys/class/infiniband/rxe0/ports/1/state").find("ACTIVE") !=
	       std::string::npos;
}

/* This end knows at once; the other, whose window is full, finds out by TEST LINK. */
class CutOff : public LifeOf
{
protected:
	void expect_ends_by(const std::string &command)
	{
		RemoteSysctlScope often(peer, "net.smc.smcr_testlink_time", "1");

		/* The sysctl applies to link groups made from now on. */
		must_run(reload);

		Connection one = make_connection(peer, Flavor(), GetParam());
		Job far = one.there.start_send(endless);

		recv_flow(one.here, {.seed = 1, .bytes = 100000});
		must_run(command);
		EXPECT_NE(ending(one.here), 0);
		EXPECT_THROW(far.join(), std::runtime_error);
	}
};

INSTANTIATE_TEST_SUITE_P(, CutOff, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(CutOff, InterfaceDownUnderLoad)
{
	NEEDS_ANOTHER_HOST("SMC-D needs no network device");

	expect_ends_by("ip link set eth0 down");
	must_run("ip link set eth0 up" + ipv6_again);
	wait_until("the port is active", port_is_active);
}

/* Optics, switches and reconfigurations take a carrier away for a moment. */
TEST_P(CutOff, PortDownForAMoment)
{
	NEEDS_ANOTHER_HOST("SMC-D needs no network device");

	Connection one = make_connection(peer, Flavor(), GetParam());
	Counters before = Counters::now();

	check_data(one, 1000, true);
	must_run("ip link set eth0 down && ip link set eth0 up" + ipv6_again);
	wait_until("the port is active", port_is_active);
	check_data(one, 100000, true);
	EXPECT_EQ((Counters::now() - before)["rdma_groups_lost"], 0);
}

TEST_P(CutOff, AddressRemovedUnderLoad)
{
	NEEDS_ANOTHER_HOST("SMC-D needs no network device");

	expect_ends_by("ip addr del 10.83.0.1/24 dev eth0");
	must_run("ip addr add 10.83.0.1/24 dev eth0");
	wait_until("the GID is there again", [] {
		return run_command("grep -q ffff:0a53:0001 "
				   "/sys/class/infiniband/rxe0/ports/1/gids/*")
			   .status == 0;
	});
}

/* Memory of connections, and idle memory that their link groups keep. */
static int64_t buffer_bytes()
{
	nlohmann::json smcr = parse_json(must_run(smc("-j stats"))).at("smcr");

	return smcr.value("rx-buffer-bytes", 0) + smcr.value("tx-buffer-bytes", 0);
}

/*
 * A peer has vanished while data is to be sent: the device gives up. There are more connections
 * than messages may be in flight on a link, so some wait for a slot. The device takes a while to
 * give up, so the test waits for the link groups of both roles together.
 */
TEST_F(Life, PeerVanishesUnderManyConnections)
{
	NEEDS_ANOTHER_HOST("a host does not vanish for itself");

	set_limit(240);
	must_run(reload);

	int64_t lost_there = peer.counters()["rdma_groups_lost"];

	{
		std::vector<Connection> connections;

		for (int i = 0; i < 100; i++)
			for (Role role : both_roles)
				connections.push_back(make_connection(peer, Flavor(), role));
		EXPECT_GT(buffer_bytes(), 0);

		Silence silence(peer);

		for (Connection &one : connections)
			EXPECT_EQ(send(one.here, "x", 1, 0), 1);
		for (Connection &one : connections) {
			bool is_first = &one - connections.data() < 2;

			EXPECT_EQ(is_first ? ending_by_sending(one.here) : ending(one.here),
				  ETIMEDOUT);
		}
	}
	wait_until("all memory is given back", [] { return buffer_bytes() == 0; });
	EXPECT_EQ(Counters::now()["rdma_groups_lost"], 2);
	/* The peer's end also finds out as soon as it sends something. */
	wait_until("the link groups are gone there, too",
		   [&] { return peer.counters()["rdma_groups_lost"] >= lost_there + 2; });
}

/* The same with nothing to send: TEST LINK finds out. */
TEST_F(Life, PeerVanishesWhileIdle)
{
	NEEDS_ANOTHER_HOST("a host does not vanish for itself");

	SysctlScope often("net.smc.smcr_testlink_time", "1");
	RemoteSysctlScope there(peer, "net.smc.smcr_testlink_time", "1");

	must_run(reload);
	set_sysctl("net.smc.smcr_testlink_time", "1");

	std::vector<Connection> connections;

	for (Role role : both_roles) {
		connections.push_back(make_connection(peer, Flavor(), role));
		check_data(connections.back(), 1000, true);
	}

	Silence silence(peer);

	for (Connection &one : connections) {
		EXPECT_EQ(ending(one.here), ETIMEDOUT);
		one.there.await(POLLHUP | POLLERR, 120);
	}
}

/* A limit of nothing: a writer that waits sends no message after the other in vain. */
TEST_F(Life, NoUnsentByteIsAllowed)
{
	NEEDS_ANOTHER_HOST("SMC-D's messages have no completion");

	Connection one = make_connection(peer, Flavor());
	int64_t before, after;

	{
		/* The test's own TCP connection to the agent can't send now, either. */
		SysctlScope none("net.ipv4.tcp_notsent_lowat", "0");
		pollfd writer = {one.here, POLLOUT, 0};

		EXPECT_EQ(poll(&writer, 1, 0), 0);
		EXPECT_EQ(send(one.here, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
		before = Counters::now()["rdma_sends"];
		for (int i = 0; i < 20; i++)
			must_run("rdma link show");
		after = Counters::now()["rdma_sends"];
	}
	EXPECT_LT(after, before + 10);
	check_data(one, 1000, true);
}

/* A link outlives more lost tests than fit into a short outage of the network. */
TEST_F(Life, SilentLinkOutlivesAnOutage)
{
	NEEDS_ANOTHER_HOST("SMC-D has no link to lose");

	SysctlScope often("net.smc.smcr_testlink_time", "1");

	must_run(reload);
	set_sysctl("net.smc.smcr_testlink_time", "1");

	Connection one = make_connection(peer, Flavor());

	check_data(one, 1000, true);
	{
		Silence silence(peer);
		int64_t before = Counters::now()["rdma_sends"];

		/* The first of them may answer a test of the peer. */
		wait_until("four tests stay unanswered",
			   [&] { return Counters::now()["rdma_sends"] >= before + 5; });
	}
	check_data(one, 1000, true);
}

/* As long as packets get lost, publishes are small, so that soft-RoCE repeats little. */
TEST_F(Life, LossyLinkCarriesAllBytes)
{
	NEEDS_ANOTHER_HOST("no packet carries the bytes");
	if (run_command("modprobe sch_netem").status ||
	    peer.run_command("modprobe sch_netem").status)
		GTEST_SKIP() << "a kernel has no netem";

	Lossy network(peer);
	Connection one = make_connection(peer, Flavor());
	auto small = [] {
		return Counters::now()["rdma_lossy_publishes"];
	};
	int64_t before = small();

	check_data(one, 1000, true);
	network.lose(5);
	wait_until("the loss is noticed", [&] {
		check_data(one, 100000, true);
		return small() > before;
	});
	check_data(one, 300000, true);
	network.lose(0);
	wait_until("publishes are large again", [&] {
		int64_t until_now = small();

		check_data(one, 100000, true);
		return small() == until_now;
	});
}

/* soft-RoCE must not have to acknowledge a write before its end, or it may fail to repeat it. */
TEST_F(Life, WritesAreShort)
{
	NEEDS_ANOTHER_HOST("SMC-D does not write by RDMA");

	constexpr int most = 64 * KiB;
	SysctlScope here("net.smc.wmem", std::to_string(512 * KiB));
	RemoteSysctlScope there(peer, "net.smc.rmem", std::to_string(512 * KiB));
	Connection one = make_connection(peer, Flavor());

	check_data(one, 1000, true);

	Counters before = Counters::now();
	std::string bytes(200 * KiB, 'x');

	ASSERT_EQ(send(one.here, bytes.data(), bytes.size(), MSG_MORE), ssize_t(bytes.size()));
	ASSERT_EQ(send(one.here, "x", 1, 0), 1);
	wait_until("all is written",
		   [&] { return (Counters::now() - before)["rdma_write_bytes"] > 200 * KiB; });
	EXPECT_GE((Counters::now() - before)["rdma_writes"] * most, 200 * KiB);
}

/* The peer comes back without the link groups that this end still has. */
TEST_F(Life, PeerComesBackWithoutItsGroups)
{
	NEEDS_ANOTHER_HOST("a host does not vanish for itself");

	expect_smc();
	expect_no_connections(peer);
	{
		Silence silence(peer);

		peer.must_run(reload);
	}
	for (int i = 0; i < 3; i++) {
		for (Role role : both_roles) {
			Connection one = make_connection(peer, Flavor(), role);
			Flow flow = {.seed = 1, .bytes = 10000};
			Job far = one.there.start_recv(flow);

			/* The first connection may be TCP: it detects the stale group. */
			send_flow(one.here, flow);
			far.join();
		}
	}
}

TEST_F(Life, IdleLinkIsTested)
{
	NEEDS_ANOTHER_HOST("SMC-D has no link to lose");

	must_run(reload);
	SysctlScope often("net.smc.smcr_testlink_time", "1");
	Connection one = make_connection(peer, Flavor());

	check_data(one, 1000, true);

	int64_t before = Counters::now()["rdma_recvs"];

	wait_until("four answers came",
		   [&] { return Counters::now()["rdma_recvs"] >= before + 4; });
	check_data(one, 1000, true);
}

TEST_F(Life, NamespaceDeletedWithItsSockets)
{
	for (int i = 0; i < 3; i++) {
		must_run("ip netns add transient && ip -n transient link set lo up");

		pid_t child = in_child([] {
			Fd netns(open("/run/netns/transient", O_RDONLY));

			if (setns(netns, CLONE_NEWNET))
				throw_errno("setns");
			set_sysctl("net.smc.tcp2smc", "1");

			Fd listener = must_listen(Flavor());
			Fd client = must_connect(
			    Flavor(), address_from("127.0.0.1", local_address(listener).port()));
			Fd server = must_accept(listener);

			send_flow(client, {.seed = 1, .bytes = 1000});
			recv_flow(server, {.seed = 1, .bytes = 1000});
			if (Counters::now()["ism_write_bytes"] != 1000)
				throw std::runtime_error("not by SMC-D");
			must_run("touch /run/transient.ready");
			pause();
		});

		wait_until("connected", [] { return access("/run/transient.ready", F_OK) == 0; });
		must_run("rm /run/transient.ready; ip netns del transient");
		kill_child(child);
	}
	/* When the last user is gone, plain sockets don't offer SMC any more. */
	wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });
	must_run("lab-smc load");
}

/*
 * A route by which namespaces here and the other guest reach each other; the namespaces use RDMA.
 */
class Routed
{
public:
	explicit Routed(Agent &peer) : peer(peer), forward("net.ipv4.ip_forward", "1")
	{
		must_run(smc("eid add ROUTED") + " && " + smc("pnet add NET1 ib rxe0"));
		peer.must_run(smc("eid add ROUTED") +
			      " && ip route add 10.99.0.0/16 via 10.83.0.1");
	}
	~Routed()
	{
		peer.run_command("ip route del 10.99.0.0/16; " + smc("eid del ROUTED"));
		run_command(smc("eid del ROUTED") + "; " + smc("pnet del NET1"));
	}
	void join(const Netns &netns, int number)
	{
		std::string n = std::to_string(number);

		netns.enter([&] {
			must_run("ip route add default via 10.99." + n + ".1 && " +
				 smc("pnet add NET1 dev veth9" + n));
		});
	}

private:
	Agent &peer;
	SysctlScope forward;
};

/* A namespace has an idle link group, whose peer does not answer any more. */
TEST_F(Life, NamespacesGoTogetherWithoutTheirPeer)
{
	NEEDS_ANOTHER_HOST("SMC-D asks no peer");

	Routed routed(peer);
	std::deque<Netns> tenants;
	constexpr Flow flow = {.bytes = 1000};
	const char *more = getenv("LIFE_NAMESPACES");
	int namespaces = more ? atoi(more) : 12;

	set_limit(300 + 10 * namespaces);
	for (int i = 1; i <= namespaces; i++) {
		Netns &netns = tenants.emplace_back(i);
		LinkGroups groups;

		routed.join(netns, i);
		Fd listener = netns.make([] { return must_listen(Flavor()); });
		RemoteSocket far =
		    peer.connect(Flavor(), netns.address(local_address(listener).port()));
		Fd here = must_accept(listener);

		far.send_flow(flow);
		recv_flow(here, flow);
		netns.enter([&] { groups = link_groups(); });
		ASSERT_EQ(groups.groups, 1);
		here.close();
		far.close();
		wait_until("the group waits", [&] {
			netns.enter([&] { groups = link_groups(); });
			return !groups.connections;
		});
	}

	Silence silence(peer);

	for (Netns &netns : tenants)
		netns.remove();
	/* If each namespace waited for its peer in turn, it would take longer. */
	wait_until("all namespaces are gone", [&] {
		return std::all_of(tenants.begin(), tenants.end(),
				   [](const Netns &netns) { return netns.has_ended(); });
	});
}

/* Makes allocations of one kind fail, in this thread and in all workers. */
class Faults
{
public:
	Faults(const std::string &kind, int percent) : directory(root + kind)
	{
		must_run("cd " + directory +
			 " && echo -1 >times && echo 0 >verbose && echo Y >task-filter && "
			 "echo N >ignore-gfp-wait");
		set_percent(percent);
		set_workers(true);
	}
	~Faults()
	{
		set_here(false);
		run_command("echo 0 >" + directory + "/probability");
		set_workers(false);
	}
	void set_percent(int percent)
	{
		write_file(directory + "/probability", std::to_string(percent));
	}
	static bool can_be_made()
	{
		return access((root + "failslab").c_str(), F_OK) == 0;
	}
	/* The call that turns them off may also fail by them. */
	static void set_here(bool on)
	{
		wait_until("make-it-fail is set", [on] {
			try {
				write_file("/proc/thread-self/make-it-fail", on ? "1" : "0");
			} catch (const std::system_error &) {
				return false;
			}
			return true;
		});
	}

	static inline const std::string root = "/sys/kernel/debug/";

private:
	/* Most of a handshake runs in workers. */
	static void set_workers(bool on)
	{
		run_command("for comm in /proc/[0-9]*/comm; do [[ $(<$comm) != kworker* ]] || "
			    "echo " +
			    std::to_string(on) + " >${comm%comm}make-it-fail; done");
	}

	const std::string directory;
};

/* Any allocation may fail: a connection is SMC, is TCP, or ends with an error. */
class MemoryExhausted : public Life
{
protected:
	void SetUp() override
	{
		if (!Faults::can_be_made())
			GTEST_SKIP() << "this kernel can not make allocations fail";
		set_limit(180);
		echoing.start({"echo-many", std::to_string(listener.number()), "1000"});
	}
	void TearDown() override
	{
		if (IsSkipped())
			return;
		clients.clear();
		echoing.kill();
		wait_until("connections go by SMC again", [this] {
			flush_blackholes();
			try {
				Connection connection = make_connection(peer, Flavor());

				check_data(connection, 100000, true);
				return true;
			} catch (const std::runtime_error &) {
				/*
				 * One end's link group had failed, and the other end did not know.
				 */
				return false;
			}
		});
		Life::TearDown();
	}
	/* After its queue pair failed, no link to a peer is tried for a minute. */
	void flush_blackholes()
	{
		must_run(smc("blackhole flush"));
		peer.must_run(smc("blackhole flush"));
	}
	/* Successful connections are kept. */
	void connect_many(const std::function<void(int fd)> &prepare)
	{
		Address to = address_of(1, AF_INET, listener.port());

		for (int i = 0; i < 100; i++) {
			Fd client = must_socket(Flavor());

			prepare(client);
			Faults::set_here(true);
			int rc = connect(client, to.get(), to.len);
			Faults::set_here(false);
			if (rc)
				continue;
			try {
				send_flow(client, {.seed = 1, .bytes = 1000});
				recv_flow(client, {.seed = 1, .bytes = 1000});
				clients.push_back(std::move(client));
			} catch (const std::system_error &error) {
				/* The other end may have had no memory for a socket. */
				EXPECT_EQ(error.code().value(), ECONNRESET);
			}
		}
	}

	/* An echo agent that is killed at the end, as the number of its connections is unknown. */
	Agent echoing;
	RemoteSocket listener = echoing.listen(Flavor(), 64);
	std::vector<Fd> clients;
};

TEST_F(MemoryExhausted, OfSlabs)
{
	{
		Faults faults("failslab", 5);

		connect_many([](int) {});
	}
	EXPECT_GT(clients.size(), 10u);
}

/*
 * The pages of elements. With an existing link group few other pages are needed: those of packets.
 * Without them soft-RoCE's queue pair fails, and with it all connections of the group.
 */
TEST_F(MemoryExhausted, OfPages)
{
	SysctlScope mixed("net.smc.smcr_buf_type", "2");
	Connection lasting = make_connection(peer, Flavor());
	auto keep_group = [&] {
		wait_until("there is a group", [&] {
			pollfd failed = {lasting.here, 0, 0};

			flush_blackholes();
			if (!poll(&failed, 1, 0) && mode_shown(lasting.here) != "TCP")
				return true;
			lasting = make_connection(peer, Flavor());
			return false;
		});
	};
	auto downgraded = [] {
		auto stats = parse_json(must_run(smc("-j stats")));

		return stats.at(peer_within() ? "smcd" : "smcr")
		    .at("rx-buffers")
		    .at("downgraded")
		    .get<int>();
	};
	int before = downgraded();

	{
		Faults faults("fail_page_alloc", 50);

		/* Also single pages, of which vmalloc() makes its memory. */
		must_run("cd " + Faults::root +
			 "fail_page_alloc && echo N >ignore-gfp-highmem && echo 0 >min-order");
		connect_many([&](int fd) {
			/*
			 * Workers make the group, which needs so many pages that it would always
			 * fail.
			 */
			faults.set_percent(0);
			keep_group();
			faults.set_percent(50);
			must_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, MiB);
		});
	}
	EXPECT_GT(clients.size(), 10u);
	EXPECT_GT(downgraded(), before);
}
