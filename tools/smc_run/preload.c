// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the TCP sockets of a program AF_SMC sockets, if it is started with this library
 * in LD_PRELOAD. See smc_run(8).
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_SMC
#define AF_SMC 43
#endif

/* Protocols of AF_SMC */
enum { SMC_IPV4, SMC_IPV6 };

#define TYPE_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

typedef int socket_fn(int domain, int type, int protocol);

static socket_fn *next_socket;
/* The kernel has no AF_SMC. Asking again would make it run modprobe each time. */
static volatile sig_atomic_t is_missing;

/*
 * dlsym() is not async-signal-safe, as socket() has to be, and it clears the
 * error for the program's next dlerror(). Neither matters at the start of the
 * program.
 */
__attribute__((constructor)) static void find_next_socket(void)
{
	next_socket = (socket_fn *)dlsym(RTLD_NEXT, "socket");
}

static int is_tcp(int domain, int type, int protocol)
{
	return (domain == AF_INET || domain == AF_INET6) && (type & ~TYPE_FLAGS) == SOCK_STREAM &&
	       (!protocol || protocol == IPPROTO_TCP);
}

/* -1 with errno EAFNOSUPPORT may mean that AF_SMC is missing, or that IPv6 is. */
static int smc_socket(int domain, int type)
{
	int fd = next_socket(AF_SMC, type, domain == AF_INET6 ? SMC_IPV6 : SMC_IPV4);
	int probe;

	if (fd >= 0 || errno != EAFNOSUPPORT)
		return fd;
	if (domain == AF_INET6) {
		probe = next_socket(AF_SMC, SOCK_STREAM | SOCK_CLOEXEC, SMC_IPV4);
		if (probe >= 0) {
			close(probe);
			return -1;
		}
		if (errno != EAFNOSUPPORT)
			return -1;
	}
	is_missing = 1;
	return -1;
}

/*
 * If the kernel creates no SMC socket for any reason, the program gets a TCP
 * socket, as it asked for.
 */
__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
	int before = errno;
	int fd;

	/* Constructors of other libraries may run first. */
	if (!next_socket)
		find_next_socket();
	if (!next_socket) {
		errno = ENOSYS;
		return -1;
	}
	if (is_missing || !is_tcp(domain, type, protocol))
		return next_socket(domain, type, protocol);

	fd = smc_socket(domain, type);
	if (fd >= 0)
		return fd;
	errno = before;
	return next_socket(domain, type, protocol);
}
