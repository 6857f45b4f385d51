// SPDX-License-Identifier: GPL-2.0
#include "system.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "socket.h"

namespace guest
{

void throw_errno(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

bool on_debug_kernel()
{
	const char *kernel = getenv("LAB_KERNEL");

	return kernel && std::string(kernel) == "debug";
}

int scaled(int seconds)
{
	return on_debug_kernel() ? seconds * 5 : seconds;
}

uint64_t scaled_down(uint64_t bytes)
{
	return on_debug_kernel() ? bytes / 32 : bytes;
}

void wait_until(const std::string &what, const std::function<bool()> &condition, int seconds)
{
	using Clock = std::chrono::steady_clock;
	using std::chrono::milliseconds;
	auto begin = Clock::now(), end = begin + std::chrono::seconds(scaled(seconds));

	while (!condition()) {
		auto now = Clock::now();

		if (now > end)
			throw std::runtime_error("after " + std::to_string(scaled(seconds)) +
						 " s still not: " + what);
		/*
		 * Each check takes processor time from the awaited work, so
		 * check less often the longer it takes.
		 */
		std::this_thread::sleep_for(std::clamp<Clock::duration>(
		    (now - begin) / 8, milliseconds(10), milliseconds(250)));
	}
}

Output run_command(const std::string &command)
{
	const char *argv[] = {"bash", "-c", command.c_str(), nullptr};
	posix_spawn_file_actions_t actions;
	Output output = {};
	Pipe pipe;
	char part[4096];
	pid_t child;
	ssize_t n;
	int error;

	/* popen() would start a second shell. */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, pipe.in, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, pipe.in, STDERR_FILENO);
	error =
	    posix_spawn(&child, "/bin/bash", &actions, nullptr, const_cast<char **>(argv), environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		throw std::system_error(error, std::generic_category(), "bash");
	pipe.in.close();
	while ((n = TEMP_FAILURE_RETRY(read(pipe.out, part, sizeof(part)))) > 0)
		output.text.append(part, n);
	if (n < 0 || TEMP_FAILURE_RETRY(waitpid(child, &output.status, 0)) != child)
		throw_errno(command);
	output.status =
	    WIFEXITED(output.status) ? WEXITSTATUS(output.status) : 128 + WTERMSIG(output.status);
	return output;
}

std::string must_run(const std::string &command)
{
	Output output = run_command(command);

	if (output.status)
		throw std::runtime_error(command + ": status " + std::to_string(output.status) +
					 ": " + output.text);
	return output.text;
}

long from_environment(const char *name, long otherwise)
{
	const char *value = getenv(name);

	return value ? std::stol(value) : otherwise;
}

std::string read_file(const std::string &path)
{
	Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
	std::string text;
	char part[16384];
	ssize_t n;

	if (fd < 0)
		throw_errno(path);
	while ((n = read(fd, part, sizeof(part))) > 0)
		text.append(part, n);
	if (n < 0)
		throw_errno(path);
	return text;
}

void write_file(const std::string &path, const std::string &text)
{
	Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));

	if (fd < 0 || write(fd, text.data(), text.size()) < 0)
		throw_errno(path);
}

static std::string sysctl_path(const std::string &name)
{
	std::string path = name;

	std::replace(path.begin(), path.end(), '.', '/');
	return "/proc/sys/" + path;
}

std::string sysctl(const std::string &name)
{
	std::string value = read_file(sysctl_path(name));

	while (!value.empty() && value.back() == '\n')
		value.pop_back();
	return value;
}

void set_sysctl(const std::string &name, const std::string &value)
{
	write_file(sysctl_path(name), value);
}

SysctlScope::SysctlScope(std::string name, const std::string &value)
    : name(std::move(name)), before(sysctl(this->name))
{
	set_sysctl(this->name, value);
}

SysctlScope::~SysctlScope()
{
	int error = errno;

	try {
		set_sysctl(name, before);
	} catch (const std::exception &failure) {
		fprintf(stderr, "%s\n", failure.what());
	}
	errno = error;
}

/* Returns the number in the line "NAME: NUMBER ..." of a file. */
static int64_t number_in(const std::string &path, const std::string &name)
{
	std::istringstream lines(read_file(path));
	std::string line;

	while (std::getline(lines, line))
		if (line.starts_with(name + ":"))
			return std::stoll(line.substr(name.size() + 1));
	throw std::runtime_error("no " + name + " in " + path);
}

static int64_t meminfo(const std::string &name)
{
	return number_in("/proc/meminfo", name);
}

static std::string of_task(pid_t task, const std::string &file)
{
	return "/proc/self/task/" + std::to_string(task) + "/" + file;
}

long voluntary_switches(pid_t task)
{
	return number_in(of_task(task, "status"), "voluntary_ctxt_switches");
}

bool sleeps_in_socket_call(pid_t task)
{
	return task && read_file(of_task(task, "wchan")) == "wait_woken";
}

/* Returns the system call that a task sleeps in, or -1. */
static long call_slept_in(pid_t task)
{
	std::istringstream text(read_file(of_task(task, "syscall")));
	long number;

	/* If the task does not sleep, the file contains "running". */
	return text >> number ? number : -1;
}

bool sleeps_in_call(pid_t task, long number)
{
	return task && call_slept_in(task) == number;
}

bool sleeps_in_any_call(pid_t task)
{
	return call_slept_in(task) >= 0;
}

int64_t kernel_memory()
{
	write_file("/proc/sys/vm/drop_caches", "3");
	return meminfo("SUnreclaim") + meminfo("Percpu") + meminfo("VmallocUsed");
}

Counters::Counters(const std::string &text)
{
	std::istringstream lines(text);
	std::string name;
	int64_t value;

	while (lines >> name >> value)
		values[name] = value;
}

Counters Counters::now()
{
	return Counters(read_file("/proc/net/smc_stat"));
}

int64_t Counters::operator[](const std::string &name) const
{
	auto found = values.find(name);

	if (found == values.end())
		throw std::out_of_range("no counter " + name);
	return found->second;
}

Counters Counters::operator-(const Counters &before) const
{
	Counters difference = *this;

	for (auto &[name, value] : difference.values)
		value -= before[name];
	return difference;
}

int64_t Counters::sum(const std::string &prefix) const
{
	int64_t total = 0;

	for (const auto &[name, value] : values)
		if (name.starts_with(prefix))
			total += value;
	return total;
}

std::string Counters::text() const
{
	std::string text;

	for (const auto &[name, value] : values)
		if (value)
			text += name + "=" + std::to_string(value) + " ";
	return text;
}

} // namespace guest
