/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GUEST_KERNEL_LOG_H
#define GUEST_KERNEL_LOG_H

#include <string>

#include "socket.h"

namespace guest
{

/* The guest's kernel log from the moment the object was made. */
class KernelLog
{
public:
	KernelLog();
	/* What is new since the last call, a record a line. */
	std::string read();

private:
	Fd fd;
};

/* The lines of a log that speak of a defect; empty if there is none. */
std::string kernel_complaints(const std::string &log);

} // namespace guest

#endif
