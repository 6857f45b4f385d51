/* SPDX-License-Identifier: GPL-2.0 */
/* The guest of the caller: commands, files, sysctls, counters. */
#ifndef GUEST_SYSTEM_H
#define GUEST_SYSTEM_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unistd.h>

namespace guest
{

/* Throws std::system_error with errno. */
[[noreturn]] void throw_errno(const std::string &what);

/* This guest runs the debug kernel. */
bool on_debug_kernel();

/* Scales a limit in seconds up on a debug kernel, which is slow. */
int scaled(int seconds);

/* Scales a large amount of data down on a debug kernel, where it would take hours. */
uint64_t scaled_down(uint64_t bytes);

/*
 * Waits until @condition is true. If it is not within @seconds, throws an error
 * that names @what.
 */
void wait_until(const std::string &what, const std::function<bool()> &condition, int seconds = 60);

struct Output {
	int status;
	std::string text; /* standard output and error */
};

/* Runs @command by /bin/bash -c. */
Output run_command(const std::string &command);
/* Runs @command; throws, with its output, if it fails. */
std::string must_run(const std::string &command);

std::string read_file(const std::string &path);
void write_file(const std::string &path, const std::string &text);

/* The number in an environment variable, or @otherwise; throws if it is no number. */
long from_environment(const char *name, long otherwise);

/* @name in the form of sysctl(8): net.smc.wmem */
std::string sysctl(const std::string &name);
void set_sysctl(const std::string &name, const std::string &value);

/* Sets a sysctl for the lifetime of the object. */
class SysctlScope
{
public:
	SysctlScope(std::string name, const std::string &value);
	SysctlScope(const SysctlScope &) = delete;
	~SysctlScope();

private:
	std::string name, before;
};

/* Returns how often a thread of this process, by default the calling one, has slept. */
long voluntary_switches(pid_t task = gettid());

/* The thread sleeps for data or for room. A thread that does not exist yet (0) does not sleep. */
bool sleeps_in_socket_call(pid_t task);

/* The thread sleeps in the system call of this number, or in any. */
bool sleeps_in_call(pid_t task, long number);
bool sleeps_in_any_call(pid_t task);

/* Returns the KiB of kernel memory that are not reclaimed: unreclaimable slab, per-CPU, vmalloc. */
int64_t kernel_memory();

/* Counters from "name value" lines, as in /proc/net/smc_stat. */
class Counters
{
public:
	explicit Counters(const std::string &text);
	/* Returns the current counters of this guest's module. */
	static Counters now();

	int64_t operator[](const std::string &name) const;
	Counters operator-(const Counters &before) const;
	/* Returns the sum of all counters whose name begins with @prefix. */
	int64_t sum(const std::string &prefix) const;
	std::string text() const;

private:
	std::map<std::string, int64_t> values;
};

} // namespace guest

#endif
