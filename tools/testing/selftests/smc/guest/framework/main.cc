// SPDX-License-Identifier: GPL-2.0
/*
 * main() of every test program. It runs each GoogleTest test in a process of
 * its own, so that a test that crashes or hangs fails alone, and reports KTAP.
 * A test also fails if the kernel of a guest logs a defect during it.
 *
 *   PROGRAM [--filter=PATTERN] [--list]
 */
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "agent.h"
#include "kernel_log.h"
#include "limit.h"
#include "system.h"

using namespace guest;

namespace
{

/* Exit statuses of a test's process. */
enum { PASSED, FAILED, SKIPPED };

/* Shared with the test's process. */
std::atomic<int> *limit;

/* Runs in the test's process: prints its failures as KTAP diagnostics. */
class Diagnostics : public testing::EmptyTestEventListener
{
	void OnTestPartResult(const testing::TestPartResult &part) override
	{
		std::string text = part.message();

		if (part.file_name())
			text = std::string(part.file_name()) + ":" +
			       std::to_string(part.line_number()) + ": " + text;
		for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3)
			text.replace(at, 1, "\n# ");
		printf("# %s\n", text.c_str());
		fflush(stdout);
	}
};

std::vector<std::string> test_names()
{
	const testing::UnitTest &all = *testing::UnitTest::GetInstance();
	std::vector<std::string> names;

	for (int i = 0; i < all.total_test_suite_count(); i++) {
		const testing::TestSuite &suite = *all.GetTestSuite(i);

		for (int j = 0; j < suite.total_test_count(); j++)
			names.push_back(std::string(suite.name()) + "." +
					suite.GetTestInfo(j)->name());
	}
	return names;
}

/* GoogleTest's patterns: '*', '?', ':' between alternatives, '-' before excluded ones. */
bool glob(const char *pattern, const char *name)
{
	if (*pattern == '\0' || *pattern == ':')
		return *name == '\0';
	if (*pattern == '*')
		return glob(pattern + 1, name) || (*name && glob(pattern, name + 1));
	return *name && (*pattern == '?' || *pattern == *name) && glob(pattern + 1, name + 1);
}

bool matches(const std::string &patterns, const std::string &name)
{
	for (size_t at = 0; at <= patterns.size();) {
		if (glob(patterns.c_str() + at, name.c_str()))
			return true;
		at = patterns.find(':', at);
		if (at == std::string::npos)
			break;
		at++;
	}
	return false;
}

bool selected(const std::string &filter, const std::string &name)
{
	size_t minus = filter.find('-');
	std::string wanted = filter.substr(0, minus);

	if (!matches(wanted.empty() ? "*" : wanted, name))
		return false;
	return minus == std::string::npos || !matches(filter.substr(minus + 1), name);
}

[[noreturn]] void run_test(const std::string &name)
{
	auto &listeners = testing::UnitTest::GetInstance()->listeners();

	/* Every process that the test starts ends with it. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A broken pipe is told as an error. Programs that the test starts don't inherit this. */
	signal(SIGPIPE, [](int) {});
	delete listeners.Release(listeners.default_result_printer());
	listeners.Append(new Diagnostics);
	testing::GTEST_FLAG(filter) = name;
	testing::GTEST_FLAG(catch_exceptions) = true;

	int failed = RUN_ALL_TESTS();
	bool skipped = testing::UnitTest::GetInstance()->skipped_test_count() > 0;

	fflush(stdout);
	_exit(failed ? FAILED : skipped ? SKIPPED : PASSED);
}

void show_hang(pid_t child)
{
	std::string pid = std::to_string(child);

	printf("# hangs: after %d s still running\n", limit->load());
	printf("%s", run_command("for t in /proc/" + pid +
				 "/task/*; do echo \"# -- $t $(<$t/comm) $(<$t/wchan)\"; "
				 "sed 's/^/# /' $t/stack; done; ss -antp | sed 's/^/# /'")
			 .text.c_str());
}

/* Waits for the test, or kills it; returns the status of wait(). */
int finish(pid_t child)
{
	auto begin = std::chrono::steady_clock::now();
	Fd handle(syscall(SYS_pidfd_open, child, 0));
	pollfd ended = {handle, POLLIN, 0};
	bool killed = false;
	int status;

	while (waitpid(child, &status, WNOHANG) == 0) {
		auto passed = std::chrono::steady_clock::now() - begin;

		if (!killed && passed > std::chrono::seconds(limit->load())) {
			show_hang(child);
			kill(-child, SIGKILL);
			kill(child, SIGKILL);
			killed = true;
		}
		if (passed > std::chrono::seconds(limit->load() + scaled(60))) {
			printf("Bail out! a process can not be killed\n");
			fflush(stdout);
			_exit(1);
		}
		/* Check the limit once a second, because the test may change it. */
		poll(&ended, 1, 1000);
	}
	/* Kill the processes that the test left behind. */
	kill(-child, SIGKILL);
	return status;
}

/* Returns the status of wait(). */
int run_in_child(const std::string &name)
{
	guest::set_limit(90);

	pid_t child = fork();

	if (child < 0)
		throw_errno("fork");
	if (!child)
		run_test(name);
	return finish(child);
}

/* The lines that the kernels of both guests logged during a test. */
struct Logged {
	std::string complaints;
	std::string of_smc;
	/*
	 * A queue pair of the in-tree module failed at the peer, by an error of soft-RoCE that this
	 * module has no part in: see Documentation/testing.rst.
	 */
	bool in_tree_link_failed;
};

class Watch
{
public:
	Watch() : peer_is_tree(peer.run_command("echo $LAB_SMC").text == "tree\n")
	{
		peer.kernel_log();
	}
	Logged during_test()
	{
		std::string here = own.read(), there = peer.kernel_log();

		return {kernel_complaints(here) + kernel_complaints(there),
			kernel_lines(here, "^smc: ") + "(the peer's:)\n" +
			    kernel_lines(there, "^smc: "),
			peer_is_tree && kernel_lines(here, refused).empty() &&
			    !kernel_lines(there, refused).empty()};
	}

private:
	/* Logged where the other end has refused a request, IB_WC_REM_INV_REQ_ERR. */
	static constexpr char refused[] = "make_send_cqe: non-flush error status = 9";

	KernelLog own;
	Agent peer;
	const bool peer_is_tree;
};

void print_log(const std::string &lines)
{
	for (size_t at = 0, end; at < lines.size(); at = end + 1) {
		end = lines.find('\n', at);
		printf("# kernel: %s\n", lines.substr(at, end - at).c_str());
	}
}

bool is_good(int status, const Logged &logged)
{
	return WIFEXITED(status) &&
	       (WEXITSTATUS(status) == PASSED || WEXITSTATUS(status) == SKIPPED) &&
	       logged.complaints.empty();
}

bool report(int number, const std::string &name, int status, const Logged &logged, double seconds)
{
	bool good = is_good(status, logged);

	if (WIFSIGNALED(status))
		printf("# ended by signal %d (%s)\n", WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
	if (!good)
		print_log(logged.of_smc);
	print_log(logged.complaints);
	printf("%sok %d %s # %s%.1f s\n", good ? "" : "not ", number, name.c_str(),
	       good && WEXITSTATUS(status) == SKIPPED ? "SKIP " : "", seconds);
	fflush(stdout);
	return good;
}

} // namespace

void guest::set_limit(int seconds)
{
	*limit = scaled(seconds);
}

int main(int argc, char **argv)
{
	std::string filter = "*";
	std::vector<std::string> names;
	int failed = 0;

	testing::InitGoogleTest(&argc, argv);
	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--filter=", 9))
			filter = argv[i] + 9;
		else if (strcmp(argv[i], "--list") != 0)
			return fprintf(stderr, "usage: %s [--filter=PATTERN] [--list]\n", argv[0]),
			       2;
	}
	for (const std::string &name : test_names())
		if (selected(filter, name))
			names.push_back(name);
	if (argc > 1 && !strcmp(argv[argc - 1], "--list")) {
		for (const std::string &name : names)
			puts(name.c_str());
		return 0;
	}

	void *shared = mmap(nullptr, sizeof(*limit), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	limit = new (shared) std::atomic<int>;
	printf("KTAP version 1\n1..%zu\n", names.size());
	fflush(stdout);

	Watch watch;

	for (size_t i = 0; i < names.size(); i++) {
		auto begin = std::chrono::steady_clock::now();

		int status = run_in_child(names[i]);
		Logged logged = watch.during_test();

		if (!is_good(status, logged) && logged.complaints.empty() &&
		    logged.in_tree_link_failed) {
			printf("# soft-RoCE broke a link of the in-tree module: once more\n");
			/* Lest the child prints it again. */
			fflush(stdout);
			status = run_in_child(names[i]);
			logged = watch.during_test();
		}

		std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;

		failed += !report(i + 1, names[i], status, logged, passed.count());
	}
	return failed ? 1 : 0;
}
