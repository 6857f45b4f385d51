// SPDX-License-Identifier: GPL-2.0
/* The memory of connections is charged to the control groups of their users. */
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "agent.h"
#include "link_groups.h"
#include "netns.h"
#include "place.h"
#include "rogue.h"
#include "smc_tool.h"
#include "wire/clc.h"
#include "wire/dmbe.h"

using namespace guest;

namespace
{

constexpr int KiB = 1024, MiB = 1024 * KiB;

/* A memory cgroup, which this process can enter and leave. */
class ControlGroup
{
public:
	ControlGroup()
	{
		must_run("echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir " + directory);
	}
	ControlGroup(const ControlGroup &) = delete;
	~ControlGroup()
	{
		leave();
		run_command("rmdir " + directory);
	}
	void enter() const
	{
		write("cgroup.procs", std::to_string(getpid()));
	}
	static void leave()
	{
		write_file("/sys/fs/cgroup/cgroup.procs", std::to_string(getpid()));
	}
	int64_t charged() const
	{
		return std::stoll(read_file(directory + "/memory.current"));
	}
	/* The memory of TCP's buffers. */
	int64_t sockets() const
	{
		return Counters(read_file(directory + "/memory.stat"))["sock"];
	}
	/*
	 * The charge includes a stock of 256 KiB per processor. The kernel uses up the stock before
	 * it enforces the limit, but for other processors that may take a moment.
	 */
	void leave(int64_t bytes) const
	{
		limit(charged_at_least() + bytes);
	}
	/* For buffers, which leave an eighth of the limit free. */
	void leave_room_for(int64_t bytes) const
	{
		limit((charged_at_least() + bytes) * 8 / 7);
	}
	void limit(int64_t bytes) const
	{
		write("memory.max", std::to_string(bytes));
	}
	int64_t limit() const
	{
		return std::stoll(read_file(directory + "/memory.max"));
	}
	/* Does @work in the group, and raises the limit by the amount charged. */
	void work_beyond_limit(const std::function<void()> &work) const
	{
		std::string max = read_file(directory + "/memory.max");
		int64_t before = charged_at_least();

		write("memory.max", "max");
		enter();
		work();
		leave();
		if (isdigit(max[0]))
			write("memory.max",
			      std::to_string(std::stoll(max) + charged_at_least() - before));
	}
	int64_t events(const std::string &which) const
	{
		return Counters(read_file(directory + "/memory.events"))[which];
	}
	/* The number of times the kernel invoked the OOM killer. */
	int64_t ooms() const
	{
		return events("oom");
	}
	/* Has the group charged with so many bytes in all. */
	void take(int64_t bytes)
	{
		enter();
		taken.assign(bytes - charged_at_least(), 'x');
		leave();
	}

private:
	/* The charge without the stock. */
	int64_t charged_at_least() const
	{
		write("memory.high", "0");
		write("memory.high", "max");
		return charged();
	}
	void write(const std::string &file, const std::string &text) const
	{
		write_file(directory + "/" + file, text);
	}

	const std::string directory = "/sys/fs/cgroup/smc-test";
	std::string taken;
};

void ask_for_large_buffers(int fd)
{
	must_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, MiB);
	must_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, MiB);
}

/* The send buffer is at most as large as the peer's element. */
void grant_large_buffers(RemoteSocket &socket)
{
	EXPECT_EQ(socket.set(SOL_SOCKET, SO_RCVBUFFORCE, MiB), 0);
}

/* Minimum memory of a connection with such buffers. */
constexpr int64_t large_buffers = MiB - SMC_DMBE_CONTROL_LEN;

/* Bytes of a connection's buffers; 0 for TCP. */
int64_t buffers_of(int fd)
{
	auto socket = socket_shown(fd);
	int64_t rx = socket.value("/connection/rmbe"_json_pointer, 0);
	int64_t tx = socket.value("/connection/sndbuf"_json_pointer, 0);

	/* With SMC-D the send buffer is the peer's element. */
	return peer_within() ? rx : rx + tx;
}

} // namespace

class Charged : public testing::TestWithParam<Role>
{
protected:
	Agent agent;
	ControlGroup group;
};

INSTANTIATE_TEST_SUITE_P(, Charged, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(Charged, ForItsBuffers)
{
	Preparation large = {.here = ask_for_large_buffers, .there = grant_large_buffers};
	std::vector<Connection> connections;
	int64_t buffers = 0;

	group.enter();

	int64_t before = group.charged();

	for (int i = 0; i < 8; i++)
		connections.push_back(make_connection(agent, Flavor(), GetParam(), large));

	int64_t charged = group.charged() - before;

	for (Connection &one : connections)
		buffers += buffers_of(one.here);
	EXPECT_GE(buffers, 8 * large_buffers);
	/* Other charges may have shrunk a little. */
	EXPECT_GE(charged, buffers - MiB);
	check_data(connections[0], MiB, true);
}

/*
 * Connections whose sockets belong to the control group, while this process does not: its own
 * memory, and data by TCP, must not run short at the limit.
 */
class Limited : public Charged
{
protected:
	static constexpr size_t most = 30;

	void SetUp() override
	{
		group.enter();
		if (GetParam() == Role::server)
			own.push_back(must_listen(Flavor(), most));
		while (GetParam() == Role::client && own.size() < most)
			own.push_back(must_socket(Flavor()));
		group.leave();
		for (Fd &fd : own)
			ask_for_large_buffers(fd);
	}
	Connection connect_another()
	{
		return GetParam() == Role::client ? connect_from_here() : connect_from_there();
	}
	int64_t count()
	{
		return fallbacks(GetParam(), SMC_DIAG_NO_MEMORY);
	}

private:
	Connection connect_from_here()
	{
		RemoteSocket listener = agent.listen(Flavor());
		Address to = address_of(1, AF_INET, listener.port());
		Fd client = std::move(own.at(n_used++));

		grant_large_buffers(listener);
		if (connect(client, to.get(), to.len))
			throw_errno("connect");
		return {std::move(client), listener.accept()};
	}
	Connection connect_from_there()
	{
		RemoteSocket client = agent.socket(Flavor());

		grant_large_buffers(client);
		EXPECT_EQ(client.connect(address_of(0, AF_INET, local_address(own[0]).port())), 0);

		Fd accepted;

		/* The accepting process is charged for the next connection. */
		group.work_beyond_limit([&] { accepted = must_accept(own[0]); });
		return {std::move(accepted), std::move(client)};
	}

	/* Sockets that will connect, or the listener. */
	std::vector<Fd> own;
	int n_used = 0;
};

INSTANTIATE_TEST_SUITE_P(, Limited, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(Limited, TakesLess)
{
	std::vector<Connection> connections;
	int64_t buffers;

	connections.push_back(connect_another());
	group.leave_room_for(2 * MiB + 480 * KiB);
	do {
		connections.push_back(connect_another());
		buffers = buffers_of(connections.back().here);
	} while (buffers >= large_buffers && connections.size() < most);
	EXPECT_LT(buffers, large_buffers);
	EXPECT_GT(buffers, 0);
	EXPECT_EQ(group.ooms(), 0);
	for (Connection &one : connections)
		check_data(one, 100000, true);
}

TEST_P(Limited, IsTcpWithoutRoom)
{
	std::vector<Connection> connections;
	int64_t before = count();

	/* Three pages are enough for TCP, but not for the smallest element. */
	do {
		group.leave_room_for(12 * KiB);
		connections.push_back(connect_another());
	} while (buffers_of(connections.back().here) && connections.size() < most - 1);
	EXPECT_EQ(count(), before + 1);
	EXPECT_EQ(group.ooms(), 0);

	group.leave_room_for(10 * MiB);
	check_data(connections.back(), 100000, false);
	connections.push_back(connect_another());
	EXPECT_GE(buffers_of(connections.back().here), large_buffers);
	check_data(connections.back(), 100000, true);
}

/* An eighth of the limit stays free for the program itself. */
TEST_P(Limited, LeavesAReserve)
{
	constexpr int64_t limit = 64 * MiB;
	std::vector<Connection> connections;

	group.limit(limit);
	/* There is room for a few of the connections, and without the reserve for most. */
	group.take(limit * 7 / 8 - 4 * MiB);
	while (connections.size() < most - 1)
		connections.push_back(connect_another());
	EXPECT_GE(buffers_of(connections[0].here), large_buffers);
	EXPECT_LT(buffers_of(connections.back().here), large_buffers);
	EXPECT_LT(group.charged(), group.limit() * 7 / 8 + MiB);
	EXPECT_EQ(group.events("max"), 0);
}

/* The kernel drops its copies of files where memory is needed. */
TEST_P(Limited, TakesWhatFilesTake)
{
	constexpr int64_t limit = 24 * MiB;

	group.limit(limit);
	write_file("/proc/sys/vm/drop_caches", "1");
	group.enter();
	/* Programs that have compiled this one are large. */
	must_run("cat $(g++ -print-prog-name=cc1plus) $(gcc -print-prog-name=cc1) >/dev/null");
	group.leave();
	ASSERT_GT(group.charged(), limit * 7 / 8) << "not enough files";

	Connection one = connect_another();

	EXPECT_GE(buffers_of(one.here), large_buffers);
	EXPECT_EQ(group.ooms(), 0);
	check_data(one, 100000, true);
}

/* A limited control group of an agent's host, and in it another one, which the agent is in. */
class ServerGroup
{
public:
	static constexpr int64_t limit = 64 * MiB;

	explicit ServerGroup(Agent &agent) : agent(agent)
	{
		const std::string to = " >" + outer;

		agent.must_run("echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir -p " +
			       outer + "/inner; echo +memory" + to +
			       "/cgroup.subtree_control; echo " + std::to_string(limit) + to +
			       "/memory.max; echo " + std::to_string(agent.pid()) + to +
			       "/inner/cgroup.procs");
	}
	ServerGroup(const ServerGroup &) = delete;
	~ServerGroup()
	{
		agent.run_command("echo " + std::to_string(agent.pid()) +
				  " >/sys/fs/cgroup/cgroup.procs; rmdir " + outer + "/inner " +
				  outer);
	}
	/* The most that was charged at a time. */
	int64_t peak() const
	{
		return std::stoll(agent.read_file(outer + "/memory.peak"));
	}
	int64_t events(const std::string &which) const
	{
		return Counters(agent.read_file(outer + "/memory.events"))[which];
	}

private:
	Agent &agent;
	const std::string outer = "/sys/fs/cgroup/smc-outer";
};

/* The buffers of a server, in bytes, and what 64 silent clients may have it charged in all. */
struct Silence {
	const char *name;
	int buffer;
	int64_t most;
};

/*
 * Clients that claim to be many hosts, and stay silent after the ACCEPT: each gets no more than the
 * memory of one connection, and together they leave the server an eighth of its limit.
 */
class SilentClients : public testing::TestWithParam<Silence>
{
};

INSTANTIATE_TEST_SUITE_P(, SilentClients,
			 testing::Values(Silence{"SmallBuffers", 128 * KiB, 24 * MiB},
					 Silence{"LargeBuffers", 512 * KiB,
						 ServerGroup::limit * 7 / 8 + 2 * MiB}),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(SilentClients, LeaveTheServerMemory)
{
	NEEDS_ANOTHER_HOST("the rogue speaks SMC-R");
	/* As many first contacts as a server has with one address. */
	constexpr int clients = 64;
	const std::string bytes = std::to_string(GetParam().buffer);
	Agent agent;
	RemoteSysctlScope rmem(agent, "net.smc.rmem", bytes), wmem(agent, "net.smc.wmem", bytes);
	ServerGroup group(agent);
	OtherAddress stranger;
	RemoteSocket listener = agent.listen(Flavor(), clients);
	Address to = address_of(1, AF_INET, listener.port());
	smc_clc_proposal proposal = good_proposal();
	std::vector<Fd> silent;
	int accepted = 0;

	for (int i = 0; i < clients; i++) {
		proposal.gid_v2[15] = 100 + i;
		silent.push_back(propose(to, proposal, stranger.text));
	}
	for (Fd &fd : silent)
		accepted += !diagnosis_of(receive_message(fd));
	EXPECT_GT(accepted, clients / 2);
	EXPECT_LT(group.peak(), GetParam().most);
	/* The server has memory for itself. */
	agent.must_run("head -c 4M /dev/zero | tail -c 4M | wc -c");
	for (const char *which : {"max", "oom", "oom_kill"})
		EXPECT_EQ(group.events(which), 0) << which;
}

/* Memory that waits in TCP's queue is charged to the process that accepts it, as with TCP. */
class AcceptedMemory : public testing::Test
{
protected:
	Fd accept_in_group(const Fd &listener)
	{
		await(listener, POLLIN);
		group.enter();

		Fd accepted = must_accept(listener);

		group.leave();
		return accepted;
	}
	void expect_charged()
	{
		wait_until("it is charged", [&] { return group.sockets() >= 64 * KiB; });
	}

	ControlGroup group;
};

/* Accepted from a client without SMC. */
class Accepted : public AcceptedMemory, public testing::WithParamInterface<Flavor>
{
protected:
	Agent agent;
};

INSTANTIATE_TEST_SUITE_P(, Accepted, testing::Values(Flavor{Kind::tcp, AF_INET}, Flavor()),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(Accepted, IsChargedToWhoAccepts)
{
	constexpr Flavor plain = {Kind::tcp, AF_INET};
	Fd listener = must_listen(GetParam());
	RemoteSocket client =
	    agent.connect(plain, address_of(0, AF_INET, local_address(listener).port()));
	Fd accepted = accept_in_group(listener);
	Job sending = client.start_send({.seed = 1, .bytes = MiB});

	expect_charged();
	recv_flow(accepted, {.seed = 1, .bytes = MiB});
	sending.join();
}

/* In between, a worker handles the connection. */
TEST_F(AcceptedMemory, OfADeclinedClient)
{
	Fd listener = must_listen(Flavor());
	Fd client = offering_socket();
	Address to = address_of(0, AF_INET, local_address(listener).port());

	ASSERT_EQ(connect(client, to.get(), to.len), 0);
	send_bytes(client, encode_decline(SMC_DIAG_NO_DEVICE));

	Fd accepted = accept_in_group(listener);
	std::jthread sending([&] { send_flow(client, {.seed = 1, .bytes = MiB}); });

	expect_charged();
	recv_flow(accepted, {.seed = 1, .bytes = MiB});
}

/*
 * Others take a listener's connections before accept(): a worker for all listeners, or the thread
 * that connects within the namespace. They neither wait until the listener's control group has
 * memory again, nor reset the connections because it has none.
 */
class OfAFullGroup : public testing::Test
{
protected:
	/* More than the memory that the group has in stock is enough for. */
	static constexpr int clients = 64;

	void SetUp() override
	{
		group.enter();
		listener = must_listen(Flavor(), clients);
		group.leave();
		group.leave(0);
	}
	void expect_served(const std::function<Fd()> &connect)
	{
		std::vector<Ends> all(clients);

		for (Ends &one : all)
			one.here = connect();
		/* From the first accept() on another control group is charged. */
		for (Ends &one : all) {
			one.there = must_accept(listener);
			send_flow(one.there, flow);
		}
		/* accept() may not keep the order. */
		for (Ends &one : all)
			recv_flow(one.here, flow);
		EXPECT_EQ(group.ooms(), 0);
	}
	int port() const
	{
		return local_address(listener).port();
	}

	static constexpr Flow flow = {.seed = 1, .bytes = 1000};
	ControlGroup group;
	Fd listener;
};

TEST_F(OfAFullGroup, IsTakenByAWorker)
{
	Netns netns;

	expect_served([&] {
		return netns.make(
		    [&] { return must_connect(Flavor(), address_from("10.99.0.1", port())); });
	});
}

TEST_F(OfAFullGroup, IsTakenByTheClient)
{
	expect_served([&] { return must_connect(Flavor(), address_from("127.0.0.1", port())); });
}

/* The way in which one end of a connection closes. Its peer never closes. */
enum class Departure { close, reset };

/*
 * Memory of closed ends, in a namespace that is gone, is freed although their peers are still open
 * and have not read anything.
 */
class Abandoned : public testing::TestWithParam<std::tuple<Role, Departure>>
{
protected:
	void SetUp() override
	{
		if (!peer_within())
			GTEST_SKIP() << "with SMC-R an end's memory is its own";
	}
	/* Connects to an end that belongs to the control group and has large buffers. */
	Ends connect_another()
	{
		bool client = std::get<Role>(GetParam()) == Role::client;

		group.enter();

		Fd there = netns.make(
		    [client] { return client ? must_socket(Flavor()) : must_listen(Flavor()); });

		group.leave();
		ask_for_large_buffers(there);
		return netns.connect(client ? Role::server : Role::client, std::move(there));
	}

	ControlGroup group;
	Netns netns;
};

INSTANTIATE_TEST_SUITE_P(, Abandoned,
			 testing::Combine(testing::ValuesIn(both_roles),
					  testing::Values(Departure::close, Departure::reset)),
			 [](const auto &info) {
				 return to_string(std::get<Role>(info.param)) +
					(std::get<Departure>(info.param) == Departure::close
					     ? "Closes"
					     : "Resets");
			 });

TEST_P(Abandoned, ByOpenPeers)
{
	std::vector<Ends> connections;
	int64_t before = group.charged();

	for (int i = 0; i < 8; i++) {
		connections.push_back(connect_another());
		send_flow(connections.back().there, {.seed = 1, .bytes = 10000});
	}
	EXPECT_GE(group.charged() - before, 8 * large_buffers - MiB);
	netns.remove();
	for (Ends &one : connections) {
		if (std::get<Departure>(GetParam()) == Departure::reset)
			must_linger(one.there, 0);
		one.there.close();
	}
	netns.await_end();
	/* Except for the stock of each processor. */
	wait_until("the memory is given back", [&] { return group.charged() - before < MiB; });
	for (Ends &one : connections)
		recv_flow(one.here, {.seed = 1, .bytes = 10000});
}

/* The number of RMBs that the RDMA core knows, or the bytes of DMBs. */
static int64_t memory_of_groups()
{
	if (!peer_within())
		return std::stoi(must_run("rdma resource show mr | wc -l"));

	int64_t bytes = 0;

	for (const auto &group : parse_json(must_run(smc("-j group"))))
		bytes += group.at("dmb-bytes").get<int64_t>();
	return bytes;
}

/* A link group that is never idle does not collect the memory of removed control groups. */
TEST(ControlGroups, LeaveNothing)
{
	Agent agent;
	Connection lasting = make_connection(agent, Flavor());
	auto come_and_go = [&] {
		ControlGroup group;

		group.enter();
		make_connection(agent, Flavor());
	};
	int64_t before = memory_of_groups();

	come_and_go();

	int64_t of_one = memory_of_groups() - before;

	EXPECT_GT(of_one, 0) << "an RMB or DMB of its own";
	for (int i = 0; i < 4; i++)
		come_and_go();
	/* The kernel frees a control group some time after its removal. */
	wait_until("no more than the last ones' RMBs or DMBs", [&] {
		come_and_go();
		return memory_of_groups() <= before + 2 * of_one;
	});
	check_data(lasting, 100000, true);
}

/* Limits that apply in addition to those of control groups. */
class MemoryLimit : public testing::TestWithParam<std::string>
{
protected:
	/* The peer's namespace has at most as many as this one. */
	int64_t count()
	{
		return fallbacks(Role::client, SMC_DIAG_PEER_DECLINED) +
		       fallbacks(Role::client, SMC_DIAG_NO_MEMORY) +
		       fallbacks(Role::server, SMC_DIAG_NO_MEMORY);
	}

	Agent agent;
};

INSTANTIATE_TEST_SUITE_P(, MemoryLimit, testing::Values("mem_limit", "host_mem_limit"),
			 [](const auto &info) { return info.param; });

TEST_P(MemoryLimit, LeavesTcp)
{
	if (access(("/proc/sys/net/smc/" + GetParam()).c_str(), F_OK))
		GTEST_SKIP() << "of the first network namespace";

	Connection before = make_connection(agent, Flavor());
	std::vector<Connection> connections;
	int64_t declined = count();

	ASSERT_NE(mode_shown(before.here), "TCP");
	{
		SysctlScope none("net.smc." + GetParam(), "0");

		/* While elements are free, connections take these. */
		do
			connections.push_back(make_connection(agent, Flavor()));
		while (mode_shown(connections.back().here) != "TCP" && connections.size() < 30);
		EXPECT_EQ(mode_shown(connections.back().here), "TCP");
		EXPECT_GT(count(), declined);
		check_data(connections.back(), 100000, false);
	}
	connections.push_back(make_connection(agent, Flavor()));
	EXPECT_NE(mode_shown(connections.back().here), "TCP");
	check_data(connections.back(), 100000, true);
	check_data(before, 100000, true);
}

/* The memory of a peak of connections is freed when memory is short. */
TEST(IdleMemory, IsGivenBack)
{
	Agent agent;
	Connection lasting = make_connection(agent, Flavor());
	int64_t before = memory_of_groups();
	std::vector<Connection> peak;

	for (int i = 0; i < 20; i++)
		peak.push_back(make_connection(agent, Flavor()));
	EXPECT_GT(memory_of_groups(), before);
	peak.clear();
	/* Without memory pressure that takes at least half a minute. */
	wait_until(
	    "it is given back",
	    [&] {
		    write_file("/proc/sys/vm/drop_caches", "2");
		    return memory_of_groups() <= before;
	    },
	    20);
	check_data(lasting, 100000, true);
}

/* With SMC-R a group also has a queue pair. */
TEST(IdleMemory, GroupsAreGivenBack)
{
	if (peer_within())
		GTEST_SKIP() << "groups of SMC-D have DMBs only";

	Agent agent;

	{
		Connection first = make_connection(agent, Flavor());

		check_data(first, 100000, true);
	}
	wait_until("no connection is left", [] { return !link_groups().connections; });
	EXPECT_GT(link_groups().groups, 0);
	wait_until("no group is left", [] {
		write_file("/proc/sys/vm/drop_caches", "2");
		return !link_groups().groups;
	});

	Connection next = make_connection(agent, Flavor());

	check_data(next, 100000, true);
}
