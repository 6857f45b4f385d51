// SPDX-License-Identifier: GPL-2.0
#include "kernel_trace.h"

#include <sstream>
#include <unistd.h>

#include "system.h"

namespace guest
{

namespace
{

const std::string root = "/sys/kernel/tracing";

} // namespace

bool KernelTrace::possible()
{
	return access(root.c_str(), F_OK) == 0;
}

KernelTrace::KernelTrace(const std::string &event) : enable("events/" + event + "/enable")
{
	must_run("mountpoint -q " + root + " || mount -t tracefs nodev " + root);
	must_run("cd " + root + " && echo >trace && echo 1 >" + enable + " && echo 1 >tracing_on");
}

KernelTrace::~KernelTrace()
{
	run_command("cd " + root + " && echo 0 >" + enable + " && echo >trace");
}

std::vector<std::string> KernelTrace::lines(const std::string &words) const
{
	std::istringstream text(must_run("grep -wF '" + words + "' " + root + "/trace || true"));
	std::vector<std::string> all;
	std::string line;

	while (std::getline(text, line))
		all.push_back(line);
	return all;
}

} // namespace guest
