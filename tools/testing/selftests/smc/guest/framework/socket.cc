// SPDX-License-Identifier: GPL-2.0
#include "socket.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <unistd.h>

#include "place.h"
#include "system.h"

#ifndef AF_SMC
#define AF_SMC 43
#endif
#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif

namespace guest
{

namespace
{

struct KindName {
	Kind kind;
	const char *name;
};

constexpr KindName kind_names[] = {
    {Kind::tcp, "Tcp"},
    {Kind::smc, "Smc"},
    {Kind::af_smc, "AfSmc"},
    {Kind::tcp2smc, "Tcp2Smc"},
};

std::vector<Flavor> flavors(const std::vector<Kind> &kinds)
{
	std::vector<Flavor> all;

	for (Kind kind : kinds)
		for (int family : {AF_INET, AF_INET6})
			all.push_back({kind, family});
	return all;
}

} // namespace

std::string to_string(const Flavor &flavor)
{
	std::string name;

	for (const KindName &entry : kind_names)
		if (entry.kind == flavor.kind)
			name = entry.name;
	return name + (flavor.family == AF_INET6 ? "6" : "4");
}

Flavor flavor_of(const std::string &name)
{
	for (const Flavor &flavor : all_flavors())
		if (to_string(flavor) == name)
			return flavor;
	throw std::invalid_argument("no kind of socket: " + name);
}

std::ostream &operator<<(std::ostream &out, const Flavor &flavor)
{
	return out << to_string(flavor);
}

std::vector<Flavor> all_flavors()
{
	return flavors({Kind::tcp, Kind::smc, Kind::af_smc, Kind::tcp2smc});
}

std::vector<Flavor> smc_flavors()
{
	return flavors({Kind::smc, Kind::af_smc, Kind::tcp2smc});
}

std::vector<Flavor> main_flavors()
{
	/* TCP behaves the same wherever the peer is, so it is tested in one place only. */
	if (peer_place() != Place::host)
		return flavors({Kind::smc});
	return flavors({Kind::tcp, Kind::smc});
}

int Address::port() const
{
	/* The port has the same offset in both families. */
	return ntohs(reinterpret_cast<const sockaddr_in *>(&storage)->sin_port);
}

std::string Address::text() const
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (storage.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6 *>(&storage)->sin6_addr,
			  host, sizeof(host));
	else
		inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in *>(&storage)->sin_addr, host,
			  sizeof(host));
	return host;
}

bool Address::operator==(const Address &other) const
{
	return storage.ss_family == other.storage.ss_family && text() == other.text() &&
	       port() == other.port();
}

Address address_from(const std::string &text, int port)
{
	Address address;

	if (text.find(':') != std::string::npos) {
		auto *in6 = reinterpret_cast<sockaddr_in6 *>(&address.storage);

		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		address.len = sizeof(*in6);
		if (inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr) == 1)
			return address;
	} else {
		auto *in = reinterpret_cast<sockaddr_in *>(&address.storage);

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		address.len = sizeof(*in);
		if (inet_pton(AF_INET, text.c_str(), &in->sin_addr) == 1)
			return address;
	}
	throw std::invalid_argument("no address: " + text);
}

Address address_of(int node, int family, int port, int lan)
{
	if (family == AF_INET)
		return address_from("10.83." + std::to_string(lan) + "." + std::to_string(node + 1),
				    port);
	return address_from((lan ? "fd83:" + std::to_string(lan) + "::" : std::string("fd83::")) +
				std::to_string(node + 1),
			    port);
}

Address any_address(int family, int port)
{
	return address_from(family == AF_INET ? "0.0.0.0" : "::", port);
}

Fd &Fd::operator=(Fd &&other) noexcept
{
	if (this != &other) {
		close();
		fd = other.release();
	}
	return *this;
}

Fd::~Fd()
{
	close();
}

int Fd::release()
{
	int released = fd;

	fd = -1;
	return released;
}

int Fd::close()
{
	return fd < 0 ? 0 : ::close(release());
}

int open_socket(const Flavor &flavor, int type_flags)
{
	int type = SOCK_STREAM | type_flags;

	switch (flavor.kind) {
	case Kind::tcp:
		return socket(flavor.family, type, 0);
	case Kind::smc:
		return socket(flavor.family, type, IPPROTO_SMC);
	case Kind::af_smc:
		return socket(AF_SMC, type, flavor.family == AF_INET6);
	case Kind::tcp2smc:
		SysctlScope on("net.smc.tcp2smc", "1");

		return socket(flavor.family, type, 0);
	}
	errno = EINVAL;
	return -1;
}

Pipe::Pipe()
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		throw_errno("pipe");
	out = Fd(ends[0]);
	in = Fd(ends[1]);
}

Fd must_socket(const Flavor &flavor, int type_flags)
{
	int fd = open_socket(flavor, type_flags);

	if (fd < 0)
		throw_errno("socket " + to_string(flavor));
	return Fd(fd);
}

Fd must_listen(const Flavor &flavor, int backlog, int port)
{
	Fd fd = must_socket(flavor);
	Address address = any_address(flavor.family, port);

	must_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(fd, address.get(), address.len))
		throw_errno("bind");
	if (listen(fd, backlog))
		throw_errno("listen");
	return fd;
}

Fd must_accept(int listener, int seconds)
{
	await(listener, POLLIN, seconds);

	/* Most programs ask for the address. A peer that fails must not make that fail. */
	Address peer;
	int fd = accept(listener, peer.get(), &peer.len);

	if (fd < 0)
		throw_errno("accept");
	return Fd(fd);
}

Fd must_connect(const Flavor &flavor, const Address &to)
{
	Fd fd = must_socket(flavor);

	if (connect(fd, to.get(), to.len))
		throw_errno("connect to " + to.text() + " port " + std::to_string(to.port()));
	return fd;
}

void must_set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		throw_errno("setsockopt " + std::to_string(level) + "/" + std::to_string(option));
}

void must_linger(int fd, int seconds)
{
	linger value = {1, seconds};

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, sizeof(value)))
		throw_errno("SO_LINGER");
}

int must_get(int fd, int level, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, level, option, &value, &len))
		throw_errno("getsockopt " + std::to_string(level) + "/" + std::to_string(option));
	return value;
}

Address local_address(int fd)
{
	Address address;

	if (getsockname(fd, address.get(), &address.len))
		throw_errno("getsockname");
	return address;
}

Address peer_address(int fd)
{
	Address address;

	if (getpeername(fd, address.get(), &address.len))
		throw_errno("getpeername");
	return address;
}

short await(int fd, short events, int seconds)
{
	pollfd waiting = {fd, events, 0};
	int n;

	do {
		n = poll(&waiting, 1, scaled(seconds) * 1000);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		throw_errno("poll");
	if (!n)
		throw std::runtime_error("descriptor " + std::to_string(fd) +
					 " came to no event of " + std::to_string(events) + " in " +
					 std::to_string(scaled(seconds)) + " s");
	return waiting.revents;
}

} // namespace guest
