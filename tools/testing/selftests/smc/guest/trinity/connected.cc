// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into trinity, for the sockets that it begins with. It gives up all of them if it can't
 * make one, as a raw one, so each is a stream. They would hardly ever find each other at random
 * ports, so every other one is an end of a connection to itself.
 */
#include <cstdlib>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{

/* With AS_SMC in its environment trinity asks for a socket of TCP, and gets one of SMC. */
int make(int domain)
{
	constexpr int af_smc = 43;

	if (getenv("AS_SMC"))
		return syscall(SYS_socket, af_smc, SOCK_STREAM, domain == AF_INET6);
	return syscall(SYS_socket, domain, SOCK_STREAM, 0);
}

/* The client or the server of a new connection; -1: there is none. */
int connected(int domain, bool as_server)
{
	sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	auto *at = domain == AF_INET6 ? reinterpret_cast<sockaddr *>(&to6)
				      : reinterpret_cast<sockaddr *>(&to);
	socklen_t len = domain == AF_INET6 ? sizeof(to6) : sizeof(to);
	int listener = make(domain), client = make(domain), server = -1;

	if (!bind(listener, at, len) && !listen(listener, 1) && !getsockname(listener, at, &len) &&
	    !connect(client, at, len))
		server = accept(listener, nullptr, nullptr);
	close(listener);
	if (server < 0)
		close(client);
	return server < 0 || as_server ? server : client;
}

} // namespace

/* The other end stays open, too. */
extern "C" int socket(int domain, int, int) noexcept
{
	static unsigned int made;
	unsigned int number = made++;
	int fd = number % 2 ? connected(domain, number / 2 % 2) : -1;

	return fd < 0 ? make(domain) : fd;
}
