/* SPDX-License-Identifier: GPL-2.0 */
/* Sockets of all kinds that have to behave as TCP's, and the guests' addresses. */
#ifndef GUEST_SOCKET_H
#define GUEST_SOCKET_H

#include <netinet/in.h>
#include <ostream>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace guest
{

/* The ways to create a socket. */
enum class Kind {
	tcp,	 /* plain */
	smc,	 /* IPPROTO_SMC */
	af_smc,	 /* AF_SMC, protocol 0 or 1 */
	tcp2smc, /* plain, with net.smc.tcp2smc=1 */
};

struct Flavor {
	Kind kind = Kind::smc;
	int family = AF_INET;

	bool is_smc() const
	{
		return kind != Kind::tcp;
	}
	bool operator==(const Flavor &) const = default;
};

/* The name of a flavor in the names of tests: "Smc4", "AfSmc6". */
std::string to_string(const Flavor &flavor);
Flavor flavor_of(const std::string &name);
std::ostream &operator<<(std::ostream &out, const Flavor &flavor);

/* All kinds in both families. */
std::vector<Flavor> all_flavors();
/* All kinds but plain TCP. */
std::vector<Flavor> smc_flavors();
/* IPPROTO_SMC and, with both ends in one namespace, TCP, to show differences between the two. */
std::vector<Flavor> main_flavors();

struct Address {
	sockaddr_storage storage = {};
	socklen_t len = sizeof(storage);

	sockaddr *get()
	{
		return reinterpret_cast<sockaddr *>(&storage);
	}
	const sockaddr *get() const
	{
		return reinterpret_cast<const sockaddr *>(&storage);
	}
	int port() const;
	std::string text() const;
	bool operator==(const Address &other) const;
};

/* The address of a guest on a LAN, the wildcard address, and the address in a text like "::1". */
Address address_of(int node, int family, int port, int lan = 0);
Address any_address(int family, int port = 0);
Address address_from(const std::string &text, int port);

/* A file descriptor that is closed along with its owner. */
class Fd
{
public:
	explicit Fd(int fd = -1) : fd(fd)
	{
	}
	Fd(Fd &&other) noexcept : fd(other.release())
	{
	}
	Fd &operator=(Fd &&other) noexcept;
	~Fd();

	operator int() const
	{
		return fd;
	}
	int release();
	/* Returns the result of close(). */
	int close();

private:
	int fd;
};

/* A pipe: bytes written to @in are read from @out. */
struct Pipe {
	Pipe();
	Fd in, out;
};

/* Returns the socket, or -1 with errno. */
int open_socket(const Flavor &flavor, int type_flags = 0);

/* These throw on errors: a test takes their success for granted. */
Fd must_socket(const Flavor &flavor, int type_flags = 0);
Fd must_listen(const Flavor &flavor, int backlog = 16, int port = 0);
Fd must_accept(int listener, int seconds = 60);
Fd must_connect(const Flavor &flavor, const Address &to);
void must_set(int fd, int level, int option, int value);
/* Sets SO_LINGER; with 0 seconds, close() is a reset. */
void must_linger(int fd, int seconds);
int must_get(int fd, int level, int option);
Address local_address(int fd);
Address peer_address(int fd);

/* Waits for one of @events, or an error; returns the events of @fd. Throws after @seconds. */
short await(int fd, short events, int seconds = 60);

} // namespace guest

#endif
