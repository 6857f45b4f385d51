// SPDX-License-Identifier: GPL-2.0
/*
 * The load that other users can put on a host: thousands of handshakes without an end, and hundreds
 * of namespaces with idle link groups. A correct peer is served before, during and after it, the
 * resources used stay within the bounds of Documentation/security.rst, and nothing remains. Run by
 * name only.
 */
#include <algorithm>
#include <deque>
#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>
#include <linux/smc_diag.h>
#include <memory>
#include <net/if.h>
#include <sched.h>
#include <sys/resource.h>
#include <vector>

#include "agent.h"
#include "limit.h"
#include "netns.h"
#include "place.h"
#include "rogue.h"
#include "service.h"
#include "smc_tool.h"
#include "tenant.h"

using namespace guest;

namespace
{

/* In addition to the descriptors that every test has. */
void allow_files(int n)
{
	rlimit files;

	n += 64;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = n;
	/* Root's processes may have any number, which the users' processes inherit. */
	files.rlim_max = std::max<rlim_t>(files.rlim_max, n);
	if (setrlimit(RLIMIT_NOFILE, &files))
		throw_errno("RLIMIT_NOFILE");
}

/*
 * The kernel memory in KiB that @work leaves behind the second time: the first time fills caches.
 * Memory that is freed with a delay is waited for.
 */
void expect_no_growth(int64_t most, const std::function<int64_t()> &memory,
		      const std::function<void()> &work)
{
	work();

	int64_t before = memory();

	work();
	wait_until(
	    "no more kernel memory than before, " + std::to_string(before) + " KiB",
	    [&] { return memory() - before < most; }, 180);
}

/* Network namespaces without processes: a descriptor keeps each of them. */
class IdleNamespaces
{
public:
	static constexpr int number = 300;

	/* Each has a link group whose connection is closed. */
	void make_one()
	{
		std::async(std::launch::async, [this] {
			if (unshare(CLONE_NEWNET))
				throw_errno("unshare");
			must_run("ip link set lo up");
			serve(1);
			wait_until("the link groups wait", [] {
				LinkGroups groups = link_groups();

				return groups.groups && !groups.connections;
			});
			all.emplace_back(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
			if (all.back() < 0)
				throw_errno("/proc/thread-self/ns/net");
		}).get();
	}
	/* The end here of a veth pair shows when the namespace ends. */
	void watch()
	{
		std::string commands;

		for (size_t i = 0; i < all.size(); i++)
			commands +=
			    "link add " + device(i) + " type veth peer name up0 netns /proc/" +
			    std::to_string(getpid()) + "/fd/" + std::to_string(all[i]) + "\n";
		write_file("/run/scale.ip", commands);
		must_run("ip -batch /run/scale.ip; rm /run/scale.ip");
	}
	void end_all()
	{
		all.clear();
	}
	static void await_the_end()
	{
		for (int i = 0; i < number; i++)
			wait_until(
			    "namespace " + std::to_string(i) + " ends",
			    [i] { return !if_nametoindex(device(i).c_str()); }, 300);
		/*
		 * The devices go first. One work ends all namespaces, batch by batch: the second of
		 * these is in a later batch than those before the first.
		 */
		for (int i = 0; i < 2; i++) {
			Netns later;

			later.remove();
			later.await_end();
		}
	}

private:
	static std::string device(int i)
	{
		return "idle" + std::to_string(i);
	}

	std::vector<Fd> all;
};

/* The namespaces end while the service is running. */
void have_idle_namespaces()
{
	IdleNamespaces namespaces;
	int64_t before = kernel_memory();

	for (int i = 0; i < IdleNamespaces::number; i++) {
		namespaces.make_one();
		if (i % 50 == 49) {
			/*
			 * Each has 2 MiB of elements without connections, for a minute or until
			 * memory is short: all together more than net.smc.host_mem_limit.
			 */
			write_file("/proc/sys/vm/drop_caches", "2");
			serve(2);
		}
	}
	namespaces.watch();

	int64_t each = (kernel_memory() - before) / IdleNamespaces::number;

	printf("# %ld KiB for a namespace\n", long(each));
	/* This includes what the kernel uses for a namespace without SMC. */
	EXPECT_LT(each, 512);
	serve(5);
	namespaces.end_all();
	serve(10);
	IdleNamespaces::await_the_end();
	serve(5);
}

} // namespace

TEST(Namespaces, GoTogetherWithTheirIdleGroups)
{
	if (!peer_within())
		GTEST_SKIP() << "run_guest.sh --within netns";
	set_limit(1800);
	allow_files(IdleNamespaces::number);

	SysctlScope rmem("net.smc.smcd_rmem", "16384");

	/* Each uses some 300 KiB, so 8 KiB left of each would show. */
	expect_no_growth(IdleNamespaces::number * 8, kernel_memory, have_idle_namespaces);
}

namespace
{

constexpr int handshakes = 5000, port = 23000;

/* For a single user or address: Documentation/security.rst. */
constexpr int offered_most = 248, begun_most = 504;
/* Of a host: refused handshakes that wait for the PROPOSAL. */
constexpr int refused_most = 128;
/* Of a client's address, for one user as server. */
constexpr int of_an_address = offered_most / 2;
/* Of all who have some, in a namespace. */
constexpr int offered_by_all = 512;

using Shell = std::function<std::string(const std::string &)>;

/* Connections to a listener: how many handshakes its namespace has, and how many are ready. */
struct Reached {
	int under_way, ready;

	int sum() const
	{
		return under_way + ready;
	}
};

Reached handshakes_and_ready(const Shell &shell, int port)
{
	return {.under_way = std::stoi(shell(smc("sock") + " | grep -c connecting || true")),
		.ready = std::stoi(shell("ss -Hltn sport = :" + std::to_string(port) +
					 " | { read -r _ n _; echo $n; }"))};
}

/*
 * Of @begun connections to a listener few are in a handshake, and the others were ready at once.
 * Return: the number of handshakes under way in the namespace of @shell.
 */
int check_shares(const Shell &shell, int port, int begun)
{
	auto [under_way, ready] = handshakes_and_ready(shell, port);

	if (under_way > begun_most + refused_most || ready < begun - begun_most - refused_most)
		throw std::runtime_error("of " + std::to_string(begun) + " connections " +
					 std::to_string(under_way) + " are under way, " +
					 std::to_string(ready) + " ready");
	return under_way;
}

/*
 * Of all tenants: the number of connections, and the most handshakes that one of them saw under
 * way.
 */
struct Begun {
	std::atomic<int> connections, most_under_way;
};

/* In a namespace where the connections' bytes are dropped. */
void begin_handshakes(int n, Begun &begun)
{
	std::vector<Fd> clients;

	allow_files(n);
	must_run("nft -f - <<<'add table ip lossy\n"
		 "add chain ip lossy out { type filter hook output priority 0; }\n"
		 "add rule ip lossy out tcp flags psh tcp dport 23000 drop'");
	set_sysctl("net.smc.smcd", "0");
	set_sysctl("net.core.somaxconn", std::to_string(n));

	Fd listener = must_listen(Flavor(), n, port);
	Address to = loopback(port);

	for (int i = 0; i < n; i++, begun.connections++) {
		clients.push_back(must_socket(Flavor(), SOCK_NONBLOCK));
		if (connect(clients.back(), to.get(), to.len) && errno != EINPROGRESS)
			throw_errno("connect");
		if (i % 250 == 249)
			begun.most_under_way = std::max<int>(begun.most_under_way,
							     check_shares(must_run, port, i + 1));
	}
	pause();
}

} // namespace

/*
 * Five users in namespaces of their own, with a thousand each. Free memory says nothing: most of it
 * is used by kernel threads, one for each handshake, which stay for minutes.
 */
TEST(Handshakes, OfTenants)
{
	constexpr int tenants = 5, each = handshakes / tenants;
	Shared<Begun> begun;
	std::deque<Tenant> all;

	if (!peer_within())
		GTEST_SKIP() << "run_guest.sh --within netns";
	set_limit(900);
	must_run("modprobe nf_tables");
	serve(5);
	for (int i = 0; i < tenants; i++)
		all.emplace_back(60001 + i, Tenant::Where::apart,
				 [&] { begin_handshakes(each, *begun); });
	wait_until(
	    "a part", [&] { return begun->connections >= handshakes / 2; }, 300);
	serve(10);
	wait_until(
	    "all", [&] { return begun->connections == handshakes; }, 300);
	serve(10);
	for (Tenant &one : all)
		EXPECT_FALSE(one.has_ended());
	/* Without unfinished handshakes not even half of the bound would be reached. */
	EXPECT_GE(begun->most_under_way, offered_most / 2);
	for (Tenant &one : all)
		one.kill();
	for (Tenant &one : all) {
		one.finish();
		one.await_netns_end();
	}
	serve(5);
}

namespace
{

Fd begin_as(uid_t user, const Address &to)
{
	Fd fd = must_socket(Flavor(), SOCK_NONBLOCK);

	if (fchown(fd, user, -1))
		throw_errno("fchown");
	if (connect(fd, to.get(), to.len) && errno != EINPROGRESS)
		throw_errno("connect");
	return fd;
}

/* As many as may be offered, by users who have all they may; then more, by users who have none. */
int fill_places(uid_t &user)
{
	constexpr int reserve = 16, others = 40;
	std::vector<Fd> clients;
	Fd silent = offering_socket();

	if (listen(silent, 2 * offered_by_all))
		throw_errno("listen");

	Address to = loopback(local_address(silent).port());
	int own;

	while ((own = (offered_by_all - reserve - int(clients.size())) / 2) > 0) {
		for (; own; own--)
			clients.push_back(begin_as(user, to));
		user++;
	}
	for (int i = 0; i < others; i++)
		clients.push_back(begin_as(user++, to));
	return std::stoi(must_run(smc("sock") + " | grep -c connecting || true"));
}

} // namespace

/*
 * Users who have no handshake get one, whatever others have under way. Users whose hashes are the
 * same have one share together, and the first users may be through when the last ones come. So the
 * test repeats it with other users.
 */
TEST(Handshakes, OfUsersWhoHadNone)
{
	uid_t user = 70000;

	set_limit(300);
	allow_files(2 * offered_by_all);
	wait_until(
	    "more than are offered to those who have some",
	    [&] { return fill_places(user) > offered_by_all; }, 240);
}

/* Clients at one address, who connect and fall silent, don't switch SMC off for all others. */
TEST(Handshakes, OfASilentAddress)
{
	constexpr int clients = offered_most + 50;
	Netns silent(0), honest(1);
	Fd listener = must_listen(Flavor(), clients);
	int port = local_address(listener).port();
	std::vector<Fd> all;

	allow_files(clients);
	silent.enter([&] {
		for (int i = 0; i < clients; i++)
			all.push_back(offering_connection(address_from("10.99.0.1", port)));
	});
	/* Clients beyond the server's limits are TCP, and ready for accept() at once. */
	wait_until("the server has looked at all",
		   [&] { return handshakes_and_ready(must_run, port).sum() == clients; });

	int under_way = handshakes_and_ready(must_run, port).under_way;

	EXPECT_GE(under_way, of_an_address / 2);
	EXPECT_LE(under_way, of_an_address + refused_most);

	Ends ends = honest.connect(Role::server);

	EXPECT_NE(mode_shown(ends.here), "TCP");
}

namespace
{

class HandshakesOfAPeer : public testing::Test
{
protected:
	/* Sends the bytes before the silence: none, half of a PROPOSAL, or all of it. */
	void begin(int number, const Address &to)
	{
		std::string proposal = encode(good_proposal());
		size_t said[] = {0, proposal.size() / 2, proposal.size()};

		rogues.push_back(offering_connection(to));
		send_bytes(rogues.back(), proposal.substr(0, said[number % 3]));
	}
	void check_honest()
	{
		Connection one = make_connection(agent, Flavor());

		check_data(one, 100000, true);
	}
	/* Another client of the same server host, whose bytes go by TCP if the limit is reached. */
	void be_honest()
	{
		constexpr Flow flow = {.seed = 3, .bytes = 20000};
		Connection one = make_connection(agent, Flavor());

		send_flow(one.here, flow);
		one.there.recv_flow(flow);
		one.there.send_flow(flow);
		recv_flow(one.here, flow);
	}
	int64_t memory_there()
	{
		return std::stoll(agent.call({"kernel-memory"}));
	}
	/* A correct peer is served during and after this. */
	void fall_silent()
	{
		RemoteSocket listener = agent.listen(Flavor(), handshakes);
		Address to = address_of(1, AF_INET, listener.port());
		int64_t before = memory_there();

		for (int i = 0; i < handshakes; i++) {
			begin(i, to);
			if (i % 500 == 499) {
				most_under_way =
				    std::max(most_under_way, check_shares(shell, to.port(), i + 1));
				be_honest();
			}
		}

		int64_t grown = memory_there() - before;

		printf("# %ld KiB for %d\n", long(grown), handshakes);
		/*
		 * Buffers for all clients would occupy some 400 MiB; only 64 first contacts of one
		 * address get them. A TCP connection occupies less than 8 KiB.
		 */
		EXPECT_LT(grown, 64 * 512 + handshakes * 8);
		be_honest();
		rogues.clear();
		listener.close();
		be_honest();
	}

	Agent agent;
	const Shell shell = [this](const std::string &command) {
		return agent.must_run(command);
	};
	std::vector<Fd> rogues;
	int most_under_way = 0;
};

} // namespace

TEST_F(HandshakesOfAPeer, StayHalfMade)
{
	NEEDS_ANOTHER_HOST("a peer whose bytes are made by hand");

	SysctlScope no_note("net.smc.blackhole_timeout", "0");
	RemoteSysctlScope no_note_there(agent, "net.smc.blackhole_timeout", "0");
	RemoteSysctlScope backlog(agent, "net.core.somaxconn", std::to_string(handshakes));

	set_limit(1800);
	allow_files(handshakes);
	check_honest();
	expect_no_growth(
	    handshakes / 4, [&] { return memory_there(); }, [&] { fall_silent(); });
	EXPECT_GE(most_under_way, of_an_address / 2);
	/* Their handshakes end on their own. */
	wait_until("an honest peer has SMC again", [&] {
		Connection one = make_connection(agent, Flavor());

		return socket_mode(one.here) == SMC_DIAG_MODE_SMCR;
	});
	check_honest();
}
