// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the TCP sockets of a program AF_SMC sockets, if it is started with this library
 * in LD_PRELOAD. See smc_run(8).
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#ifndef AF_SMC
#define AF_SMC 43
#endif

/* Protocols of AF_SMC */
enum { SMC_IPV4, SMC_IPV6 };

#define TYPE_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

typedef int socket_fn(int domain, int type, int protocol);

static int next_socket(int domain, int type, int protocol)
{
	socket_fn *fn = (socket_fn *)dlsym(RTLD_NEXT, "socket");

	if (!fn) {
		errno = ENOSYS;
		return -1;
	}
	return fn(domain, type, protocol);
}

static int is_tcp(int domain, int type, int protocol)
{
	return (domain == AF_INET || domain == AF_INET6) && (type & ~TYPE_FLAGS) == SOCK_STREAM &&
	       (!protocol || protocol == IPPROTO_TCP);
}

/* Whatever keeps the kernel from making an SMC socket, TCP is what was asked for. */
__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
	/* Where the family is not there, the kernel would run modprobe each time. */
	static volatile int is_missing;
	int before = errno;
	int fd;

	if (is_missing || !is_tcp(domain, type, protocol))
		return next_socket(domain, type, protocol);

	fd = next_socket(AF_SMC, type, domain == AF_INET6 ? SMC_IPV6 : SMC_IPV4);
	if (fd >= 0)
		return fd;
	/* For IPv6 it may be IPv6 that is missing. */
	if (errno == EAFNOSUPPORT && domain == AF_INET)
		is_missing = 1;
	errno = before;
	return next_socket(domain, type, protocol);
}
