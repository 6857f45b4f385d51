// SPDX-License-Identifier: GPL-2.0
/* Calls that set and read the settings of sockets. */
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "chance.h"

namespace guest
{

namespace
{

int level(Chance &c)
{
	/* SOL_SMC, SOL_TLS, SOL_MPTCP. */
	return c.of(SOL_SOCKET, SOL_SOCKET, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_IP, IPPROTO_IPV6, 286,
		    286, 282, 284, 255, c.one_in(4) ? (int)c.number() : SOL_SOCKET);
}

int option(Chance &c)
{
	return c.one_in(16) ? c.number() : c.below(84);
}

/* Names that an option may want. */
uint8_t *text(Chance &c)
{
	std::string name = c.of("tls", "smc", "espintcp", "cubic", "reno", "lo", "eth0", "bbr", "");
	uint8_t *at = c.room(64);

	memcpy(at, name.c_str(), name.size() + 1);
	return at;
}

uint8_t *value(Chance &c, uint64_t len)
{
	if (c.one_in(12))
		return text(c);
	if (c.one_in(4))
		return c.pointer(len);
	return reinterpret_cast<uint8_t *>(
	    c.filled<uint64_t>(c.one_in(2) ? c.below(2) : c.number()));
}

uint64_t value_length(Chance &c)
{
	return c.one_in(2) ? sizeof(int) : c.length();
}

void set(Chance &c)
{
	uint64_t len = value_length(c);

	call(SYS_setsockopt, c.fd(), level(c), option(c), value(c, len), len);
}

void get(Chance &c)
{
	uint64_t len = value_length(c);
	uint8_t *at = c.one_in(2) ? c.room(len) : value(c, len);

	call(SYS_getsockopt, c.fd(), level(c), option(c), at,
	     c.one_in(16) ? reinterpret_cast<int *>(c.pointer(4)) : c.filled<int>(len));
}

/* So that what is set before connect() or listen() counts. */
void set_buffers(Chance &c)
{
	call(SYS_setsockopt, c.fd(), SOL_SOCKET,
	     c.of(SO_RCVBUF, SO_SNDBUF, SO_RCVBUFFORCE, SO_SNDBUFFORCE, SO_RCVLOWAT),
	     c.filled<int>(c.number()), sizeof(int));
}

void linger(Chance &c)
{
	call(SYS_setsockopt, c.fd(), SOL_SOCKET, SO_LINGER,
	     c.filled(::linger{(int)c.below(2), (int)c.below(2)}), sizeof(::linger));
}

void limit_time(Chance &c)
{
	timeval most = {(long)(c.one_in(8) ? c.number() : 0), (long)c.below(5000)};

	call(SYS_setsockopt, c.fd(), SOL_SOCKET, c.of(SO_RCVTIMEO, SO_SNDTIMEO), c.filled(most),
	     sizeof(most));
}

void control(Chance &c)
{
	/* FIONREAD, SIOCOUTQ, SIOCATMARK, SIOCOUTQNSD, FIOASYNC, FIONBIO, ...; of the ARP table,
	 * of devices, of a protocol, ... */
	static const std::vector<uint64_t> commands = {
	    0x541b, 0x5411, 0x8905, 0x894b, 0x5452, 0x5421, 0x8901, 0x8902, 0x8903, 0x8904,
	    0x8906, 0x8907, 0x8910, 0x8912, 0x8913, 0x8927, 0x8933, 0x8946, 0x8953, 0x89e0,
	};
	uint64_t command = c.one_in(8) ? c.number() : c.among(commands);

	if (c.one_in(8))
		command = 0x8900 + c.below(256);
	call(SYS_ioctl, c.fd(), command, c.one_in(8) ? text(c) : c.pointer(64));
}

void file_control(Chance &c)
{
	switch (c.below(6)) {
	case 0:
		call(SYS_fcntl, c.fd(), F_SETFL,
		     c.flags({O_NONBLOCK, O_ASYNC, O_APPEND, O_DIRECT, O_NOATIME}));
		break;
	case 1:
		/* This process takes any of these signals. */
		call(SYS_fcntl, c.fd(), F_SETOWN, c.of(getpid(), 0, -1, getpid() + 1));
		break;
	case 2:
		call(SYS_fcntl, c.fd(), F_SETSIG, c.of(0, SIGIO, SIGURG, SIGUSR2));
		break;
	case 3:
		call(SYS_fcntl, c.fd(), F_SETFL, O_NONBLOCK);
		break;
	default:
		call(SYS_fcntl, c.fd(), c.below(16) == F_SETSIG ? F_GETSIG : F_GETFL,
		     c.pointer(32));
	}
}

/* Only the namespace's root may write its sysctls, which apply to its own connections. */
void write_sysctl(Chance &c)
{
	static const std::vector<std::string> names = {
	    "smc/rmem",
	    "smc/wmem",
	    "smc/smcd",
	    "smc/smcd_rmem",
	    "smc/tcp_keepalive_time",
	    "smc/blackhole_timeout",
	    "smc/spin_usec",
	    "smc/autocorking_size",
	    "smc/smcr_buf_type",
	    "smc/tcp2smc",
	    "smc/smcr_max_conns_per_lgr",
	    "smc/limit_smc_hs",
	    "smc/max_orphans",
	};
	std::string path = "/proc/sys/net/" + c.among(names);
	char *number = reinterpret_cast<char *>(c.room(24));
	int fd = call(SYS_open, path.c_str(), O_RDWR | O_CLOEXEC);
	int len =
	    snprintf(number, 24, "%lld\n", (long long)(c.one_in(2) ? c.below(2) : c.number()));

	if (fd < 0)
		return;
	call(c.of(SYS_write, SYS_read), fd, c.one_in(8) ? c.pointer(24) : (uint8_t *)number, len);
	call(SYS_close, fd);
}

void read_counters(Chance &c)
{
	size_t len = c.length();
	int fd = call(SYS_open, "/proc/thread-self/net/smc_stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	call(SYS_pread64, fd, c.pointer(len), len, c.one_in(2) ? 0 : c.number());
	call(SYS_close, fd);
}

} // namespace

const std::vector<Call> option_calls = {
    set,	 set,	 set,	  set,	   get,		 get,	       get,	   set_buffers,
    set_buffers, linger, control, control, file_control, write_sysctl, limit_time, read_counters,
};

} // namespace guest
