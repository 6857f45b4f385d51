// SPDX-License-Identifier: GPL-2.0
/* Calls that make, connect and close sockets. */
#include <netinet/in.h>
#include <sys/syscall.h>

#include "chance.h"

namespace guest
{

namespace
{

constexpr int IPPROTO_SMC = 256;

int make_socket(Chance &c, int family, int type, int protocol)
{
	return call(SYS_socket, family, type | c.of(0, 0, SOCK_NONBLOCK, SOCK_CLOEXEC), protocol);
}

/* Of SMC, one of four of TCP. */
int stream_socket(Chance &c, int family)
{
	switch (c.below(4)) {
	case 0:
		return make_socket(c, AF_SMC, SOCK_STREAM, family == AF_INET6);
	case 1:
		return make_socket(c, family, SOCK_STREAM, 0);
	default:
		return make_socket(c, family, SOCK_STREAM, IPPROTO_SMC);
	}
}

void socket(Chance &c)
{
	int family = c.one_in(12) ? c.number() : c.of(AF_SMC, AF_INET, AF_INET6);
	int type = SOCK_STREAM;
	int protocol = c.one_in(8) ? (int)c.number() : c.of(IPPROTO_SMC, IPPROTO_SMC, 0, 1, 6);

	if (c.one_in(12))
		type = c.number();

	make_socket(c, family, type, protocol);
}

void good_socket(Chance &c)
{
	stream_socket(c, c.of(AF_INET, AF_INET6));
}

void socketpair(Chance &c)
{
	call(SYS_socketpair, c.of(AF_SMC, AF_INET, AF_UNIX, (int)c.number()),
	     c.of(SOCK_STREAM, (int)c.number()), c.of(0, IPPROTO_SMC), c.pointer(8));
}

void reuse(Chance &c, int fd)
{
	int *one = c.filled(1);

	call(SYS_setsockopt, fd, SOL_SOCKET, SO_REUSEADDR, one, sizeof(*one));
	if (c.one_in(2))
		call(SYS_setsockopt, fd, SOL_SOCKET, SO_REUSEPORT, one, sizeof(*one));
}

void bind(Chance &c)
{
	socklen_t len;
	sockaddr *to = c.address(&len);
	int fd = c.fd();

	if (c.one_in(2))
		reuse(c, fd);
	call(SYS_bind, fd, to, len);
}

void connect(Chance &c)
{
	socklen_t len;
	sockaddr *to = c.address(&len);

	call(SYS_connect, c.fd(), to, len);
}

void listen(Chance &c)
{
	call(SYS_listen, c.fd(), c.one_in(3) ? c.number() : c.below(20));
}

void accept(Chance &c)
{
	socklen_t *len = c.filled<socklen_t>(c.length());

	if (c.one_in(2))
		call(SYS_accept, c.fd(), c.pointer(128), c.one_in(8) ? nullptr : len);
	else
		call(SYS_accept4, c.fd(), c.one_in(2) ? nullptr : c.pointer(128), len,
		     c.flags({SOCK_NONBLOCK, SOCK_CLOEXEC}));
}

/* A socket that listens, where clients of this process look for one. */
void server(Chance &c)
{
	sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(c.port())};
	int fd = stream_socket(c, AF_INET6);

	reuse(c, fd);
	call(SYS_bind, fd, c.filled(any), sizeof(any));
	call(SYS_listen, fd, c.below(8));
}

void name(Chance &c)
{
	socklen_t *len = c.filled<socklen_t>(c.length());

	call(c.of(SYS_getsockname, SYS_getpeername), c.fd(), c.pointer(128),
	     c.one_in(8) ? nullptr : len);
}

void shutdown(Chance &c)
{
	call(SYS_shutdown, c.fd(), c.one_in(8) ? c.number() : c.below(3));
}

void close(Chance &c)
{
	call(SYS_close, c.fd());
}

void close_some(Chance &c)
{
	for (int i = c.below(8); i > 0; i--)
		close(c);
}

void duplicate(Chance &c)
{
	switch (c.below(3)) {
	case 0:
		call(SYS_dup, c.fd());
		break;
	case 1:
		call(SYS_dup3, c.fd(), 3 + c.below(fd_end - 3), c.flags({SOCK_CLOEXEC}));
		break;
	default:
		call(SYS_fcntl, c.fd(), c.of(0L, 1030L), c.below(fd_end));
	}
}

} // namespace

void make_pair(Chance &c)
{
	sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	int listener = stream_socket(c, AF_INET6), client = stream_socket(c, AF_INET6);
	sockaddr_in6 *at = c.filled(to);
	socklen_t *len = c.filled<socklen_t>(sizeof(to));

	call(SYS_bind, listener, at, sizeof(to));
	call(SYS_listen, listener, 1);
	call(SYS_getsockname, listener, at, len);
	call(SYS_connect, client, at, sizeof(to));
	call(SYS_accept4, listener, nullptr, nullptr, c.of(0, SOCK_NONBLOCK));
	call(SYS_close, listener);
}

const std::vector<Call> socket_calls = {
    socket,	good_socket, good_socket, socketpair, bind,	 bind,	    connect, connect,
    connect,	listen,	     listen,	  accept,     accept,	 server,    name,    shutdown,
    close_some, duplicate,   close,	  make_pair,  make_pair, make_pair,
};

} // namespace guest
