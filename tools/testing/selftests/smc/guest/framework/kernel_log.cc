// SPDX-License-Identifier: GPL-2.0
#include "kernel_log.h"

#include <cerrno>
#include <fcntl.h>
#include <regex>
#include <sstream>
#include <unistd.h>

namespace guest
{

KernelLog::KernelLog() : fd(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC))
{
	lseek(fd, 0, SEEK_END);
}

std::string KernelLog::read()
{
	std::string log;
	char record[8192];
	ssize_t n;

	/* EPIPE: records were overwritten; the next call continues with the oldest one. */
	while ((n = ::read(fd, record, sizeof(record))) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;

		std::string text(record, n);
		size_t start = text.find(';');

		log += text.substr(start + 1, text.find('\n') - start);
	}
	return log;
}

std::string kernel_lines(const std::string &log, const std::string &pattern)
{
	const std::regex wanted(pattern);
	std::istringstream lines(log);
	std::string line, found;

	while (std::getline(lines, line))
		if (std::regex_search(line, wanted))
			found += line + "\n";
	return found;
}

/* The lab checks the whole log for a longer list. This function serves to name the test. */
std::string kernel_complaints(const std::string &log)
{
	return kernel_lines(log, "WARNING|BUG|Oops|KASAN|UBSAN|general protection|"
				 "possible .*(locking|dependency|deadlock)|"
				 "inconsistent lock state|suspicious RCU|"
				 "invalid opcode|blocked for more than|refcount_t|"
				 "ODEBUG|held lock freed|sleeping function called");
}

} // namespace guest
