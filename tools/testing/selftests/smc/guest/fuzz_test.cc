// SPDX-License-Identifier: GPL-2.0
/*
 * Random calls, valid or not, by unprivileged users: one in this network namespace, and one that is
 * root of its own user and network namespace. Each is a process of three threads that share
 * descriptors and memory. No results are compared. The kernel must not warn; every process must
 * end, even if it is killed in the middle of its calls, and so must the namespace; and connections
 * of others must still work. The lab checks whether the module can be unloaded, and for leaks.
 * Every third process makes only the calls of the differential tester's sequences, in any order.
 *
 *   FUZZ_FIRST     the first seed, 1 by default
 *   FUZZ_SEEDS     number of seeds; 0: for FUZZ_SECONDS, or without end
 *
 * The calls of a seed's threads are always the same, but their order among threads is random.
 */
#include <array>
#include <climits>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <netlink/genl/ctrl.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "agent.h"
#include "fuzz/chance.h"
#include "kernel_log.h"
#include "limit.h"
#include "netlink.h"
#include "smc_tool.h"
#include "system.h"
#include "tenant.h"

using namespace guest;

namespace
{

constexpr int threads = 3, calls_each = 250;

/* The progress of each thread of a process. */
using Progress = std::array<std::atomic<int>, threads>;

int sum(const Progress &progress)
{
	int n = 0;

	for (const auto &one : progress)
		n += one;
	return n;
}

Call any_call(Chance &chance)
{
	switch (chance.below(18)) {
	case 0 ... 4:
		return chance.among(socket_calls);
	case 5 ... 9:
		return chance.among(byte_calls);
	case 10 ... 12:
		return chance.among(option_calls);
	case 13 ... 14:
		return chance.among(file_calls);
	case 15 ... 16:
		return chance.among(step_calls);
	default:
		return chance.among(netlink_calls);
	}
}

/* Depends only on the seed of the process, so that all its threads do the same. */
bool only_steps(uint64_t seed)
{
	return seed % 3 == 0;
}

void make_calls(uint64_t seed, bool steps, Arena &arena, std::atomic<int> &progress)
{
	Chance chance(seed, arena, 21000);

	make_pair(chance);
	while (progress < calls_each) {
		(steps ? step_calls.front() : any_call(chance))(chance);
		progress++;
	}
}

/* Every signal that a socket may send only interrupts. Children leave no zombies. */
void take_signals()
{
	struct sigaction action = {};

	action.sa_handler = [](int) {
	};
	for (int number = 1; number <= SIGRTMAX; number++)
		if (number != SIGSEGV && number != SIGBUS && number != SIGILL && number != SIGFPE)
			sigaction(number, &action, nullptr);
	signal(SIGCHLD, SIG_IGN);
}

/* Random numbers can't reach anything of the test, and memory stays mapped. */
void be_confined()
{
	rlimit files = {fd_end, fd_end}, bytes = {1 << 20, 1 << 20};
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(3, ~0U, 0);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_FSIZE, &bytes);
	take_signals();
}

/* Interrupts a thread that makes no progress, until all are done. */
void drive(std::vector<std::jthread> &all, Progress &progress)
{
	std::array<int, threads> before = {};

	while (sum(progress) < threads * calls_each) {
		usleep(5000);
		for (int i = 0; i < threads; i++) {
			int now = progress[i];

			if (now == before[i] && now < calls_each)
				pthread_kill(all[i].native_handle(), SIGUSR1);
			before[i] = now;
		}
	}
}

/* Runs in the tenant's process. */
void fuzz(uint64_t seed, Progress &progress)
{
	std::vector<std::jthread> all;
	Arena arena;

	be_confined();
	for (int i = 0; i < threads; i++)
		all.emplace_back([&, i] {
			make_calls(seed * threads + i, only_steps(seed), arena, progress[i]);
		});
	drive(all, progress);
	/* The exit closes its sockets at once. */
	_exit(0);
}

/* A tenant, and its progress. */
class Fuzzer
{
public:
	Fuzzer(uint64_t seed, uid_t uid, Tenant::Where where)
	    : tenant(uid, where, [this, seed] { fuzz(seed, *progress); })
	{
	}
	/* Kills the process after this many calls, if it gets there. */
	void kill_after(int calls)
	{
		wait_until(
		    "enough calls", [&] { return tenant.has_ended() || sum(*progress) >= calls; },
		    120);
		tenant.kill();
	}
	void finish()
	{
		int status = tenant.finish();

		EXPECT_TRUE(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		    << "status " << status;
		tenant.await_netns_end();
	}

private:
	Shared<Progress> progress;
	Tenant tenant;
};

void run_seed(uint64_t seed)
{
	std::mt19937_64 random(seed);
	std::vector<std::unique_ptr<Fuzzer>> all;

	/* In the kernel log, where a crash can be seen. */
	write_file("/dev/kmsg", "fuzz: seed " + std::to_string(seed) + "\n");
	set_sysctl("net.smc.tcp2smc", random() % 2 ? "1" : "0");
	all.push_back(std::make_unique<Fuzzer>(random(), 65534, Tenant::Where::here));
	all.push_back(std::make_unique<Fuzzer>(random(), 60001, Tenant::Where::apart));
	if (random() % 2)
		all[random() % 2]->kill_after(random() % (threads * calls_each));
	for (auto &one : all)
		one->finish();
}

class Fuzz : public testing::Test
{
protected:
	void SetUp() override
	{
		NetlinkSocket socket = connected_netlink();

		families.gen = check_netlink(genl_ctrl_resolve(socket.get(), SMC_GENL_FAMILY_NAME));
		families.pnetid =
		    check_netlink(genl_ctrl_resolve(socket.get(), SMCR_GENL_FAMILY_NAME));
	}

	Agent agent;
	SysctlScope tcp2smc{"net.smc.tcp2smc", "0"};
};

} // namespace

TEST_F(Fuzz, Seeds)
{
	constexpr long seeds = 12;
	long first = from_environment("FUZZ_FIRST", 1);
	long count = from_environment("FUZZ_SEEDS", seeds);
	long seconds = from_environment("FUZZ_SECONDS", 0);
	time_t begin = time(nullptr);
	auto go_on = [&](long tried) {
		return count ? tried < count : !seconds || time(nullptr) - begin < seconds;
	};
	Counters before = Counters::now();
	KernelLog log;
	long tried;

	set_limit(count == seeds ? 600 : INT_MAX / 10);
	for (tried = 0; go_on(tried) && !HasFailure(); tried++) {
		run_seed(first + tried);

		std::string complaints = kernel_complaints(log.read());

		EXPECT_EQ(complaints, "") << "seed " << first + tried;
	}
	set_sysctl("net.smc.tcp2smc", "0");
	printf("# %ld seeds from %ld\n", tried, first);
	/* The calls led to SMC connections. */
	EXPECT_GT((Counters::now() - before)["ism_write_bytes"], tried);
	expect_no_connections(agent);

	Connection connection = make_connection(agent, Flavor());

	check_data(connection, 100000, true);
}
