// SPDX-License-Identifier: GPL-2.0
/*
 * Unprivileged users, most of them root of their own namespace, who try to disturb this host, while
 * a service is running: each of its connections succeeds, by SMC, and carries bytes. When the users
 * are gone, their namespaces end and nothing of theirs is left. Nothing is timed; each tenant's
 * actions are counted.
 */
#include <array>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/smc_diag.h>
#include <map>
#include <memory>
#include <netlink/genl/ctrl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "agent.h"
#include "limit.h"
#include "link_groups.h"
#include "netlink.h"
#include "service.h"
#include "smc_tool.h"
#include "tenant.h"

using namespace guest;

namespace
{

constexpr uid_t first_uid = 60001;
const Flavor smc4 = {Kind::smc, AF_INET};

/* The address on the veth pair of tenant @number: end 1 is here, 2 there. */
std::string address_on_veth(int number, int end)
{
	return "10.98." + std::to_string(number) + "." + std::to_string(end);
}

/* Runs in the namespace of that tenant. */
void join_from(int number)
{
	must_run("ip address add " + address_on_veth(number, 2) +
		 "/24 dev up0 && ip link set up0 up");
}

/* Runs in a tenant's process: a false condition fails the test. */
void must_be(bool so, const std::string &what)
{
	if (!so)
		throw std::runtime_error("not so: " + what);
}

/* The bytes that this network namespace has for SMC-D connections. */
int64_t bytes_of_groups()
{
	int64_t bytes = 0;

	for (const auto &group : parse_json(must_run(smc("-j group"))))
		bytes += group.at("dmb-bytes").get<int64_t>();
	return bytes;
}

/* The number of actions of each tenant. */
using Done = std::array<std::atomic<int>, 16>;

class Tenants : public testing::Test
{
protected:
	/* The build folder may be readable for root only. */
	Tenants()
	{
		must_run("install -m 755 $LAB_BUILD/tools/smc/smc /run/smc_of_tenants");
		setenv("SMC", "/run/smc_of_tenants", 1);
	}
	/* Each tenant calls @what repeatedly, with its number. */
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
	/* Tenants in other namespaces reach this one by the devices that join_from() makes. */
	void join_all()
	{
		for (size_t i = 0; i < all.size(); i++)
			all[i]->join(address_on_veth(i, 1) + "/24");
		*are_joined = true;
	}
	/* Waits until each has acted @more times. */
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
	/* Ends all tenants at once. */
	void end_all()
	{
		*are_joined = false;
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
	Shared<std::atomic<bool>> are_joined;
	std::vector<std::unique_ptr<Tenant>> all;
};

} // namespace

/*
 * Tenants create and delete namespaces as often as they like. One thread ends all namespaces of a
 * host.
 */
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

/* Starts a dump, and reads one answer or none. */
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

/* Also with a peer in another guest, whose handshake needs the list of RDMA devices. */
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

/* Look-ups of sockets and dumps of this host may walk over those of the tenants. */
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
			/* An option of SMC, so that SMC knows the socket. */
			must_set(sockets.back(), SOL_SMC, SMC_LIMIT_HS, 0);
		}
		dump_sockets_in_part();
	});
	serve(20);
	await_turns(1);
	/* Other namespaces don't see these sockets. */
	EXPECT_LT(parse_json(must_run(smc("-j sock"))).size(), 20u);
}

/* The end of a listener does not wait for a thread that gets no processor. */
TEST_F(Tenants, ConnectWithoutATurn)
{
	constexpr int port = 22000, rounds = 15;

	set_limit(300);
	/* These tenants keep the processors busy. */
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

		/* One of the connecting tenants has run. */
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

/* Drops the connections' bytes in its namespace, so that no handshake gets on. */
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

namespace
{

/* Returns the mode of a connection of @user here, who wants TCP if much is under way. */
int mode_of_limited(uid_t user, int listener)
{
	Fd fd = must_socket(smc4);
	Address to = loopback(local_address(listener).port());

	must_set(fd, SOL_SMC, SMC_LIMIT_HS, 1);
	if (fchown(fd, user, -1))
		throw_errno("fchown");
	if (connect(fd, to.get(), to.len))
		throw_errno("connect");
	must_accept(listener);
	return socket_mode(fd);
}

} // namespace

/* A user's handshakes in a namespace of his own count for him here, and for nobody else. */
TEST_F(Tenants, HaveOneShareInAllNamespaces)
{
	Fd listener = must_listen(smc4);

	set_limit(300);
	must_run("modprobe nf_tables");
	let(1, Tenant::Where::apart, [](int) { leave_rendezvous_hanging(); });
	wait_until("he has his share", [&] {
		return mode_of_limited(first_uid, listener) == SMC_DIAG_MODE_FALLBACK_TCP;
	});
	EXPECT_EQ(mode_of_limited(first_uid + 1, listener), SMC_DIAG_MODE_SMCD);
}

namespace
{

/* Of the host, while tenants want more. */
constexpr int least_rmem = 65536, pages_allowed = 512, service_port = 24000;

void ask_for_everything()
{
	/* The host's sysctls don't even exist there. */
	for (const char *name : {"smcd_scope", "host_mem_limit", "max_orphans"})
		must_be(access((std::string("/proc/sys/net/smc/") + name).c_str(), F_OK),
			std::string(name) + " is the host's");
	for (auto &[name, value] : std::map<std::string, std::string>{
		 {"smcd", "1"},
		 {"smcd_rmem", "1073741823"},
		 {"mem_limit", "2147483647"},
		 {"tcp_keepalive_time", "0"},
		 {"limit_smc_hs", "0"},
	     })
		set_sysctl("net.smc." + name, value);
	must_be(sysctl("net.smc.smcd_rmem") == std::to_string(least_rmem), "smcd_rmem");
	must_be(sysctl("net.smc.mem_limit") == std::to_string(pages_allowed), "mem_limit");
	must_be(sysctl("net.smc.tcp_keepalive_time") == "30", "tcp_keepalive_time");
}

/* Makes connections until one is TCP; together they are no larger than the host permits. */
void have_as_many_as_allowed(int listener)
{
	std::vector<Ends> connections;
	int mode;

	do {
		connections.push_back(connect_and_echo(smc4, listener));
		mode = socket_mode(connections.back().here);
		must_be(connections.size() > 1 || mode == SMC_DIAG_MODE_SMCD,
			"SMC-D among his own");
		must_be(connections.size() < 100, "a limit");
	} while (mode == SMC_DIAG_MODE_SMCD);
	must_be(bytes_of_groups() <= int64_t(pages_allowed) * getpagesize(), "no more memory");
	must_be(socket_shown(connections[0].here).at("connection").at("rmbe") <= least_rmem,
		"no larger buffers");
}

void expect_tcp_to(const Address &host)
{
	Fd fd;

	wait_until("the host's service answers", [&] {
		fd = must_socket(smc4);
		return connect(fd, host.get(), host.len) == 0;
	});
	must_be(socket_mode(fd) == SMC_DIAG_MODE_FALLBACK_TCP, "TCP to the host");
}

/* A service for other namespaces, with which SMC-D is not allowed. */
class TcpService
{
public:
	~TcpService()
	{
		EXPECT_GT(accepted, 0);
		EXPECT_EQ(by_smc, 0);
	}

private:
	void accept_one()
	{
		Fd fd = must_accept(listener);

		accepted++;
		by_smc += socket_mode(fd) != SMC_DIAG_MODE_FALLBACK_TCP;
	}
	void run(const std::stop_token &stop)
	{
		while (!stop.stop_requested()) {
			pollfd poll = {.fd = listener, .events = POLLIN};

			if (::poll(&poll, 1, 50) > 0)
				accept_one();
		}
	}

	Fd listener = must_listen(smc4, 64, service_port);
	std::atomic<int> accepted, by_smc;
	std::jthread accepting{[this](const std::stop_token &stop) {
		run(stop);
	}};
};

} // namespace

/* The administrators of other namespaces don't get what the host forbids. */
TEST_F(Tenants, AskForMoreThanTheyMayHave)
{
	/* Idle memory of earlier tests would count. */
	write_file("/proc/sys/vm/drop_caches", "2");

	SysctlScope scope("net.smc.smcd_scope", "1");
	SysctlScope rmem("net.smc.smcd_rmem", std::to_string(least_rmem));
	SysctlScope memory("net.smc.mem_limit", std::to_string(pages_allowed));

	set_limit(300);
	let(2, Tenant::Where::apart, [this](int number) {
		static Fd listener;

		if (listener < 0) {
			join_from(number);
			listener = must_listen(smc4);
		}
		if (!*are_joined)
			return;
		ask_for_everything();
		have_as_many_as_allowed(listener);
		expect_tcp_to(address_from(address_on_veth(number, 1), service_port));
	});
	join_all();
	{
		TcpService service;

		await_turns(1);
		serve(10);
		await_turns(1);
	}
	/* Before the sysctls are restored. */
	end_all();
}

namespace
{

/* A control group that always uses all its memory, whoever joins it. */
class ShortOfMemory
{
public:
	explicit ShortOfMemory(int64_t bytes)
	{
		must_run("echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir " + directory);
		write_file(directory + "/memory.max", std::to_string(bytes));
	}
	ShortOfMemory(const ShortOfMemory &) = delete;
	~ShortOfMemory()
	{
		run_command("rmdir " + directory);
	}
	void add(pid_t process) const
	{
		write_file(directory + "/cgroup.procs", std::to_string(process));
	}
	/* The number of times that the kernel had to reclaim memory of the group. */
	int64_t reclaims() const
	{
		return Counters(read_file(directory + "/memory.events"))["max"];
	}

private:
	const std::string directory = "/sys/fs/cgroup/tenants";
};

/* Their page cache uses memory that can be reclaimed. */
void read_programs(int n)
{
	static std::filesystem::directory_iterator next;
	static std::vector<char> bytes(1 << 20);

	for (; n; n--) {
		if (next == end(next))
			next = std::filesystem::directory_iterator("/usr/bin");
		Fd file(open(next->path().c_str(), O_RDONLY | O_CLOEXEC));

		[[maybe_unused]] ssize_t got = read(file, bytes.data(), bytes.size());
		++next;
	}
}

} // namespace

/* A thread that needs memory for a connection reclaims for long, while others make theirs. */
TEST_F(Tenants, AreShortOfMemory)
{
	ShortOfMemory group(16 << 20);

	set_limit(300);
	let(3, Tenant::Where::here, [](int) {
		read_programs(10);
		try {
			connect_and_echo(smc4, must_listen(smc4));
		} catch (const std::exception &) {
			/* There was no memory for the connection. */
		}
	});
	for (auto &one : all)
		group.add(one->pid());
	wait_until("they look for memory", [&] { return group.reclaims() >= 100; });

	int64_t before = group.reclaims();

	serve(20);
	await_turns(2);
	EXPECT_GT(group.reclaims(), before);
	serve(5);
	end_all();
}

/* Servers neither read nor close: the resources of their clients here are freed nevertheless. */
TEST_F(Tenants, KeepTheirClients)
{
	constexpr int tenants = 3, each = 40, port = 25000;
	Shared<std::atomic<int>> accepted;
	SysctlScope fin_timeout("net.ipv4.tcp_fin_timeout", "1");

	set_limit(300);
	let(tenants, Tenant::Where::apart, [&accepted](int number) {
		static std::vector<Fd> kept;
		static Fd listener;

		if (listener < 0) {
			join_from(number);
			listener = must_listen(smc4, 64, port);
		}

		pollfd poll = {.fd = listener, .events = POLLIN};

		if (::poll(&poll, 1, 50) > 0) {
			kept.push_back(must_accept(listener));
			(*accepted)++;
		}
	});
	join_all();

	int64_t before = bytes_of_groups();

	for (int i = 0; i < tenants; i++)
		for (int n = 0; n < each; n++) {
			Fd fd = must_connect(smc4, address_from(address_on_veth(i, 2), port));

			EXPECT_EQ(socket_mode(fd), SMC_DIAG_MODE_SMCD);
			EXPECT_EQ(send(fd, "unread", 6, 0), 6);
		}
	wait_until("all are accepted", [&] { return *accepted == tenants * each; });
	serve(5);
	wait_until("the memory is given back", [&] {
		write_file("/proc/sys/vm/drop_caches", "2");
		return bytes_of_groups() <= before;
	});
	serve(5);
}
