// SPDX-License-Identifier: GPL-2.0
/*
 * Users without rights, most of them root of a namespace of their own, who do to this host what
 * they can, beside a service that goes on: each of its connections comes about, by SMC, and carries
 * bytes. When they have gone, their namespaces end and nothing of theirs is left.
 *
 * Nothing is timed. That a tenant does what he is there for is counted.
 */
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <memory>
#include <netlink/genl/ctrl.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "agent.h"
#include "limit.h"
#include "link_groups.h"
#include "netlink.h"
#include "netns.h"
#include "smc_tool.h"
#include "tenant.h"

using namespace guest;

namespace
{

constexpr uid_t first_uid = 60001;
const Flavor smc4 = {Kind::smc, AF_INET};

Address loopback(int port)
{
	return address_from("127.0.0.1", port);
}

/* A connection of this namespace, both of whose ends have sent something. */
Ends connect_and_echo(const Flavor &flavor, int listener)
{
	Flow flow = {.seed = 1, .bytes = 10000};
	Fd client = must_connect(flavor, loopback(local_address(listener).port()));
	Fd server = must_accept(listener);

	send_flow(client, flow);
	recv_flow(server, flow);
	send_flow(server, flow);
	recv_flow(client, flow);
	return {std::move(client), std::move(server)};
}

/*
 * What the service here has to do, whatever others do. The namespace's counters have the
 * connections of tenants in it, too, so each of these is asked for itself.
 */
void serve(int rounds)
{
	Fd listener = must_listen(smc4);

	for (int i = 0; i < rounds; i++) {
		Ends ends = connect_and_echo(smc4, listener);

		EXPECT_EQ(socket_mode(ends.here), SMC_DIAG_MODE_SMCD);
		EXPECT_EQ(socket_mode(ends.there), SMC_DIAG_MODE_SMCD);
	}
}

/* How often tenants did what they do, one after the other. */
using Done = std::array<std::atomic<int>, 16>;

class Tenants : public testing::Test
{
protected:
	/* Each calls @what again and again; it has its number. */
	void let(int n, Tenant::Where where, const std::function<void(int)> &what)
	{
		for (int i = 0; i < n; i++) {
			int number = all.size();

			all.push_back(std::make_unique<Tenant>(first_uid + number, where,
							       [this, number, what] {
								       for (;;) {
									       what(number);
									       (*done)[number]++;
								       }
							       }));
		}
		await_turns(1);
	}
	/* Each has done it so many times more. */
	void await_turns(int more)
	{
		std::vector<int> before;

		for (size_t i = 0; i < all.size(); i++)
			before.push_back((*done)[i]);
		for (size_t i = 0; i < all.size(); i++)
			wait_until("tenant " + std::to_string(i) + " gets on", [&] {
				if (all[i]->has_ended())
					throw std::runtime_error("a tenant has ended");
				return (*done)[i] >= before[i] + more;
			});
	}
	/* They go, all at once. */
	void end_all()
	{
		for (auto &one : all)
			one->kill();
		for (auto &one : all)
			one->finish();
		for (auto &one : all)
			one->await_netns_end();
		all.clear();
	}
	void TearDown() override
	{
		end_all();
		wait_until("no connection is left", [] { return !link_groups().connections; });
		serve(1);
	}

	Shared<Done> done;
	std::vector<std::unique_ptr<Tenant>> all;
};

} // namespace

/* As many times as they like. All of a host's namespaces end by one thread. */
TEST_F(Tenants, NamespacesComeAndGo)
{
	constexpr int rounds = 3, at_once = 5;

	set_limit(300);
	for (int round = 0; round < rounds; round++) {
		let(at_once, Tenant::Where::apart, [](int) {
			static Fd listener = must_listen(smc4);

			connect_and_echo(smc4, listener);
		});
		serve(3);
		end_all();
		serve(3);
	}
	EXPECT_EQ(link_groups().connections, 0);
}

namespace
{

/* Of every dump, one answer is read, or none; then it is over. */
void dump(int family, int command)
{
	struct {
		nlmsghdr head;
		genlmsghdr generic;
	} request = {{sizeof(request), (uint16_t)family, NLM_F_REQUEST | NLM_F_DUMP, 1, 0},
		     {(uint8_t)command, 1, 0}};
	Fd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
	char answer[8192];

	send(fd, &request, sizeof(request), 0);
	recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
}

void dump_sockets_in_part()
{
	struct {
		nlmsghdr head;
		smc_diag_req wanted;
	} request = {{sizeof(request), 20, NLM_F_REQUEST | NLM_F_DUMP, 1, 0},
		     {.diag_family = AF_SMC, .diag_ext = 0xff}};
	Fd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	char answer[8192];

	send(fd, &request, sizeof(request), 0);
	recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
}

void dump_everything(int family)
{
	for (int command = SMC_NETLINK_GET_SYS_INFO; command <= SMC_NETLINK_DUMP_HS_LIMITATION;
	     command++)
		dump(family, command);
	/* SMC_NETLINK_GET_BLACKHOLES, which only this module has. */
	dump(family, 128);
	dump_sockets_in_part();
}

} // namespace

/* Also with a peer in another guest, whose rendezvous needs the list of RDMA devices. */
TEST_F(Tenants, AskForEverything)
{
	NetlinkSocket socket = connected_netlink();
	int family = check_netlink(genl_ctrl_resolve(socket.get(), SMC_GENL_FAMILY_NAME));
	Agent agent;

	set_limit(300);
	let(2, Tenant::Where::here, [family](int) { dump_everything(family); });
	let(2, Tenant::Where::apart, [family](int) { dump_everything(family); });
	serve(5);
	for (Role role : both_roles)
		for (int i = 0; i < 3; i++) {
			Connection connection = make_connection(agent, Flavor(), role);

			check_data(connection, 10000, true);
		}
	await_turns(1);
}

/* Each look for a socket, and each dump, could meet theirs. */
TEST_F(Tenants, HaveManySockets)
{
	constexpr int each = 3000;

	set_limit(300);
	let(3, Tenant::Where::apart, [](int) {
		static std::vector<Fd> sockets;
		rlimit files = {each + 64, each + 64};

		setrlimit(RLIMIT_NOFILE, &files);
		while (sockets.size() < each) {
			sockets.push_back(must_socket(smc4));
			/* Which makes SMC know it. */
			must_set(sockets.back(), SOL_SMC, SMC_LIMIT_HS, 0);
		}
		dump_sockets_in_part();
	});
	serve(20);
	await_turns(1);
	/* Nobody sees those of others. */
	EXPECT_LT(parse_json(must_run(smc("-j sock"))).size(), 20u);
}

/* A listener's end waits for nobody who gets no turn. */
TEST_F(Tenants, ConnectWithoutATurn)
{
	constexpr int port = 22000, rounds = 15;

	set_limit(300);
	/* So do what keeps the processors from those who connect. */
	let(4, Tenant::Where::here, [](int) {
		static std::atomic<int> tries;
		static std::vector<std::jthread> threads;
		sched_param param = {};

		for (int i = threads.size(); i < 8; i++)
			threads.emplace_back([param] {
				sched_setscheduler(0, SCHED_IDLE, &param);
				for (;; tries++) {
					Fd fd = must_socket(smc4);
					Address to = loopback(port);

					connect(fd, to.get(), to.len);
				}
			});

		/* One of them had a turn. */
		for (int before = tries; before == tries;)
			usleep(1000);
	});
	for (int i = 0; i < rounds; i++) {
		Fd listener = must_socket(smc4);
		Address at = any_address(AF_INET, port);

		must_set(listener, SOL_SOCKET, SO_REUSEADDR, 1);
		ASSERT_EQ(bind(listener, at.get(), at.len), 0);
		ASSERT_EQ(listen(listener, 64), 0);
		must_accept(listener);
		listener.close();
	}
	serve(3);
}

namespace
{

/* In its namespace the connections' bytes are lost, so every rendezvous stays as it is. */
void lose_bytes_on_loopback()
{
	must_run("nft -f - <<<'add table ip lossy\n"
		 "add chain ip lossy out { type filter hook output priority 0; }\n"
		 "add rule ip lossy out tcp flags psh tcp dport 23000 drop'");
}

void leave_rendezvous_hanging()
{
	static std::vector<Fd> clients;
	static Fd listener;
	Address to = loopback(23000);

	if (listener < 0) {
		rlimit files = {2048, 2048};

		setrlimit(RLIMIT_NOFILE, &files);
		lose_bytes_on_loopback();
		listener = must_listen(smc4, 1024, 23000);
		set_sysctl("net.smc.smcd", "0");
	}
	clients.push_back(must_socket(smc4, SOCK_NONBLOCK));
	connect(clients.back(), to.get(), to.len);
	if (clients.size() > 900)
		clients.clear();
}

} // namespace

TEST_F(Tenants, LeaveRendezvousHanging)
{
	set_limit(300);
	must_run("modprobe nf_tables");
	let(4, Tenant::Where::apart, [](int) { leave_rendezvous_hanging(); });
	await_turns(100);
	serve(10);
	await_turns(100);
	serve(10);
}
