// SPDX-License-Identifier: GPL-2.0
/* Many connections, at once and in a row. */
#include <gtest/gtest.h>
#include <linux/smc.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <map>
#include <netlink/msg.h>
#include <poll.h>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "limit.h"
#include "link_groups.h"
#include "pattern.h"
#include "place.h"

using namespace guest;

namespace
{

/* A socket that SMC knows, because it has an option of SMC. */
Fd known_socket()
{
	Fd fd = must_socket(Flavor());

	must_set(fd, SOL_SMC, SMC_LIMIT_HS, 0);
	return fd;
}

uint32_t inode_of(int fd)
{
	struct stat status;

	fstat(fd, &status);
	return status.st_ino;
}

Fd begun_dump_of_sockets()
{
	struct {
		nlmsghdr head;
		smc_diag_req wanted;
	} request = {{sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0},
		     {.diag_family = AF_SMC, .diag_ext = 0}};
	Fd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));

	send(fd, &request, sizeof(request), 0);
	return fd;
}

/* The inodes of the sockets in the next message of a dump; empty after the last one. */
std::vector<uint32_t> next_piece(int dump)
{
	std::vector<uint32_t> inodes;
	char piece[8192];
	int left = recv(dump, piece, sizeof(piece), 0);

	for (auto *head = reinterpret_cast<nlmsghdr *>(piece); nlmsg_ok(head, left);
	     head = nlmsg_next(head, &left))
		if (head->nlmsg_type == SOCK_DIAG_BY_FAMILY)
			inodes.push_back(static_cast<smc_diag_msg *>(nlmsg_data(head))->diag_inode);
	return inodes;
}

} // namespace

/* A dump shows each socket once, even if other sockets come and go meanwhile. */
TEST(Many, DumpedWhileSocketsComeAndGo)
{
	constexpr size_t sockets = 2000;
	rlimit files = {4096, 4096};
	std::map<uint32_t, Fd> waiting;
	std::vector<Fd> later;

	set_limit(120);
	setrlimit(RLIMIT_NOFILE, &files);
	for (size_t i = 0; i < sockets; i++) {
		Fd fd = known_socket();

		waiting[inode_of(fd)] = std::move(fd);
	}

	Fd dump = begun_dump_of_sockets();
	std::set<uint32_t> shown;

	for (;;) {
		std::vector<uint32_t> inodes = next_piece(dump);

		if (inodes.empty())
			break;
		for (uint32_t inode : inodes) {
			EXPECT_TRUE(shown.insert(inode).second) << "twice";
			waiting.erase(inode);
		}
		later.push_back(known_socket());
	}
	EXPECT_EQ(waiting.size(), 0u) << "were not shown";
	EXPECT_GE(shown.size(), sockets);
}

/* A link group has 255 connections: these need three groups, one of which may exist already. */
TEST(Many, HundredsAtOnce)
{
	constexpr int connections = 520;
	constexpr size_t len = 3000;
	rlimit files = {4096, 4096};
	Agent agent;

	set_limit(600);
	setrlimit(RLIMIT_NOFILE, &files);

	/* The peer's sysctl first: in a namespace it would read, and restore, the host's value. */
	RemoteSysctlScope far_rmem(agent, rmem_sysctl(), "16384");
	RemoteSysctlScope far_wmem(agent, "net.smc.wmem", "16384");
	SysctlScope rmem(rmem_sysctl(), "16384"), wmem("net.smc.wmem", "16384");
	RemoteSocket listener = agent.listen(Flavor(), 128);
	Address to = address_of(1, AF_INET, listener.port());
	Job echo = agent.start(
	    {"echo-many", std::to_string(listener.number()), std::to_string(connections)});
	Counters before = Counters::now();
	std::vector<Fd> clients;

	for (int i = 0; i < connections; i++)
		clients.push_back(must_connect(Flavor(), to));
	EXPECT_GE((Counters::now() - before)[by_path("groups_created")], 2);

	/* All connections have data in flight at the same time. */
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < connections; i++)
			send_flow(clients[i],
				  {.seed = uint64_t(i), .bytes = len, .position = round * len});
		for (int i = 0; i < connections; i++)
			recv_flow(clients[i],
				  {.seed = uint64_t(i), .bytes = len, .position = round * len});
	}
	for (Fd &client : clients)
		client.close();
	echo.join();
	EXPECT_EQ((Counters::now() - before)[by_path("write_bytes")],
		  counted(2 * len * connections, 2 * len * connections));
}

/* Kernel memory, RMBs and memory regions don't grow. */
class InARow : public testing::TestWithParam<Role>
{
protected:
	Agent agent;
	Flavor flavor;

	void connect_echo_close(int connections)
	{
		if (GetParam() == Role::client) {
			RemoteSocket listener = agent.listen(flavor);
			Address to = address_of(1, AF_INET, listener.port());
			Job far = listener.start_echo_server(connections);

			for (int i = 0; i < connections; i++) {
				Fd client = must_connect(flavor, to);

				ask(client, i);
			}
			far.join();
			return;
		}

		Fd listener = must_listen(flavor);
		Job far = agent.start(
		    {"ask-many", to_string(flavor), address_of(0, AF_INET, 0).text(),
		     std::to_string(local_address(listener).port()), std::to_string(connections)});

		for (int i = 0; i < connections; i++)
			echo(must_accept(listener));
		far.join();
	}

	/* Tells whether so many connections leave memory behind at either end. */
	bool connects_leave_memory(int connections)
	{
		int64_t here = kernel_memory(), there = memory_there();

		connect_echo_close(connections);
		/* KASAN quarantines freed memory, megabytes of it; kmemleak checks there. */
		if (on_debug_kernel())
			return false;
		try {
			/* With 2,000 connections, 256 bytes each would show as 500 KiB. */
			wait_until(
			    "no more kernel memory than before",
			    [&] {
				    return kernel_memory() - here < 400 &&
					   memory_there() - there < 400;
			    },
			    20);
			return false;
		} catch (const std::exception &) {
			return true;
		}
	}

private:
	int64_t memory_there()
	{
		return std::stoll(agent.call({"kernel-memory"}));
	}
	static void ask(int client, uint64_t seed)
	{
		Flow flow = {.seed = seed, .bytes = 1 + seed % 5000};

		send_flow(client, flow);
		recv_flow(client, flow);
	}
};

TEST_P(InARow, LeaveNothing)
{
	/* The other role and RDMA need fewer, because both ends' memory is measured. */
	int connections = GetParam() == Role::client && peer_within() ? 2000 : 500;

	set_limit(900);
	/* TIME_WAIT would keep half a megabyte of TCP's structs for a minute. */
	SysctlScope no_time_wait("net.ipv4.tcp_max_tw_buckets", "0");
	RemoteSysctlScope none_there(agent, "net.ipv4.tcp_max_tw_buckets", "0");
	/* After these, everything that is allocated once exists. */
	connect_echo_close(200);

	Counters before = Counters::now();
	bool leaves_memory = connects_leave_memory(connections);
	int measured = 1;

	/* Another process may allocate memory during one measurement, but not during each. */
	for (; measured < 5 && leaves_memory; measured++)
		leaves_memory = connects_leave_memory(connections);
	EXPECT_FALSE(leaves_memory) << "each time, at one of the ends";

	Counters passed = Counters::now() - before;

	/*
	 * A measurement drops caches, and with them an idle group. The first RMB of a group has
	 * room for one connection, so a connection needs another RMB if the one before still
	 * closes.
	 */
	EXPECT_LE(passed["rdma_registrations"], 2 * measured);
	/*
	 * Buffers that are idle for half a minute are freed: many connections passed in that time.
	 */
	EXPECT_LE(passed["ism_dmbs"], connections / 10);
	EXPECT_LE(passed[by_path("groups_created")], measured);
	EXPECT_EQ(passed["rdma_groups_lost"], 0);
	EXPECT_EQ(passed.sum("violation_"), 0);
}

INSTANTIATE_TEST_SUITE_P(, InARow, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

/* Each EID has its own link groups. They are kept for later connections, but not all of them. */
TEST(Many, IdleGroups)
{
	constexpr int64_t most = 128;
	Agent agent;

	if (!peer_within())
		GTEST_SKIP() << "both ends have this host's EIDs";
	set_limit(300);
	/* Each group has memory for at least half a minute. */
	SysctlScope of_host("net.smc.host_mem_limit", "2147483647");
	SysctlScope of_net("net.smc.mem_limit", "2147483647");
	RemoteSysctlScope of_peer(agent, "net.smc.mem_limit", "2147483647");

	Counters before = Counters::now();

	/* One group in each role of this end. */
	for (int i = 0; (Counters::now() - before)["ism_groups_created"] < most + 10; i++) {
		std::string eid = "EID." + std::to_string(i);

		add_eid(eid);
		for (Role role : both_roles)
			make_connection(agent, Flavor(), role);
		remove_eid(eid);
	}
	wait_until("only so many are kept", [&] { return link_groups().groups == most; });

	Connection connection = make_connection(agent, Flavor());

	check_data(connection, 100000, true);
}

/* Several processes connect at the same time, so that first contacts and other handshakes mix. */
TEST(Many, ConnectInParallel)
{
	constexpr int processes = 8, connections = 25;
	Agent agent;
	RemoteSocket listener = agent.listen(Flavor(), 64);
	Address to = address_of(1, AF_INET, listener.port());
	Job echo = agent.start({"echo-many", std::to_string(listener.number()),
				std::to_string(processes * connections)});
	std::vector<pid_t> children;

	for (int p = 0; p < processes; p++) {
		pid_t child = fork();

		if (child) {
			children.push_back(child);
			continue;
		}
		try {
			for (int i = 0; i < connections; i++) {
				Fd client = must_connect(Flavor(), to);
				Flow flow = {.seed = uint64_t(p * connections + i), .bytes = 10000};

				send_flow(client, flow);
				recv_flow(client, flow);
			}
			_exit(0);
		} catch (const std::exception &error) {
			printf("# %s\n", error.what());
			fflush(stdout);
			_exit(1);
		}
	}
	for (pid_t child : children) {
		int status;

		ASSERT_EQ(waitpid(child, &status, 0), child);
		EXPECT_EQ(status, 0);
	}
	echo.join();
}
