/* SPDX-License-Identifier: GPL-2.0 */
/* The guest that the caller runs in: commands, files, sysctls, counters. */
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

/* This guest has the kernel that looks for mistakes. */
bool on_debug_kernel();

/* A limit in seconds, lengthened on a kernel that is slow by its nature. */
int scaled(int seconds);

/* A large amount of data, a small part of it on such a kernel: it would take hours. */
uint64_t scaled_down(uint64_t bytes);

/* Waits until @condition holds; throws, saying @what, if it does not within @seconds. */
void wait_until(const std::string &what, const std::function<bool()> &condition, int seconds = 60);

struct Output {
	int status;
	std::string text; /* standard output and error */
};

/* By /bin/bash -c. */
Output run_command(const std::string &command);
/* Throws, with the output, if the command fails. */
std::string must_run(const std::string &command);

std::string read_file(const std::string &path);
void write_file(const std::string &path, const std::string &text);

/* @name as sysctl(8) has it: net.smc.wmem */
std::string sysctl(const std::string &name);
void set_sysctl(const std::string &name, const std::string &value);

/* Sets a sysctl for as long as it lives. */
class SysctlScope
{
public:
	SysctlScope(std::string name, const std::string &value);
	SysctlScope(const SysctlScope &) = delete;
	~SysctlScope();

private:
	std::string name, before;
};

/* How often a thread of this process, the calling one, has slept since it began. */
long voluntary_switches(pid_t task = gettid());

/* Whether it sleeps for data or for room. None yet, 0, does not. */
bool sleeps_in_socket_call(pid_t task);

/* Whether it sleeps in the system call of this number, or in any. */
bool sleeps_in_call(pid_t task, long number);
bool sleeps_in_any_call(pid_t task);

/* KiB of kernel memory that does not go by itself: unreclaimable slab, per-CPU, vmalloc. */
int64_t kernel_memory();

/* "name value" lines, as in /proc/net/smc_stat. */
class Counters
{
public:
	explicit Counters(const std::string &text);
	/* Those of this guest's module, now. */
	static Counters now();

	int64_t operator[](const std::string &name) const;
	Counters operator-(const Counters &before) const;
	/* Of all names that begin with @prefix. */
	int64_t sum(const std::string &prefix) const;
	std::string text() const;

private:
	std::map<std::string, int64_t> values;
};

} // namespace guest

#endif
