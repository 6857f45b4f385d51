/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GUEST_KERNEL_LOG_H
#define GUEST_KERNEL_LOG_H

#include <string>

#include "socket.h"

namespace guest
{

/* The guest's kernel log since the object was created. */
class KernelLog
{
public:
	KernelLog();
	/* Returns the records since the last call, one per line. */
	std::string read();

private:
	Fd fd;
};

/* Returns the lines of a log in which a regular expression matches. */
std::string kernel_lines(const std::string &log, const std::string &pattern);

/* Returns the lines of a log that report a defect; empty if there are none. */
std::string kernel_complaints(const std::string &log);

} // namespace guest

#endif
