// SPDX-License-Identifier: GPL-2.0
#include "tcp_table.h"

#include <cstdio>
#include <sstream>
#include <sys/socket.h>

namespace guest
{

std::string tcp_table(int family)
{
	return family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6";
}

int tcp_state(const std::string &table, int local_port, int remote_port)
{
	std::istringstream lines(table);
	std::string line;

	while (std::getline(lines, line)) {
		unsigned int local, remote, state;

		/* "3: ADDRESS:PORT ADDRESS:PORT STATE ...", all in hexadecimal. */
		if (sscanf(line.c_str(), " %*d: %*[^:]:%x %*[^:]:%x %x", &local, &remote, &state) ==
			3 &&
		    int(local) == local_port && int(remote) == remote_port)
			return state;
	}
	return 0;
}

} // namespace guest
