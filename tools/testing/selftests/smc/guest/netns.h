/* SPDX-License-Identifier: GPL-2.0 */
/* A network namespace in this guest that goes within a test, with ends of connections in it. */
#ifndef GUEST_NETNS_H
#define GUEST_NETNS_H

#include <functional>
#include <string>

#include "agent.h"
#include "system.h"

namespace guest
{

/* Of a connection: both are this process's. */
struct Ends {
	Fd here, there;
};

/* Joined to that of this process by veth: 10.99.NUMBER.1 is here, 10.99.NUMBER.2 there. */
class Netns
{
public:
	/* The owner of the namespace: this guest's root, or a user namespace of its own. */
	enum class Owner { host, container };

	explicit Netns(int number = 0, Owner owner = Owner::host);
	explicit Netns(Owner owner);
	Netns(const Netns &) = delete;
	~Netns();

	/* A thread in there calls @what. */
	void enter(const std::function<void()> &what) const;
	/* The same, and returns what @what made. */
	Fd make(const std::function<Fd()> &what) const;
	/* A shell's command, by the root of the container. */
	Output run_as_root(const std::string &command) const;
	Counters counters() const;
	/* The end here is in @role; @there, if given, is the other's socket or listener. */
	Ends connect(Role role) const;
	Ends connect(Role role, Fd there) const;
	/* It has no name any more, and goes with its last socket. */
	void remove();
	bool has_ended() const;
	void await_end() const;

	/* Of number 0. */
	static Address address_there(int port)
	{
		return address_from("10.99.0.2", port);
	}
	Address address(int port) const
	{
		return address_from(subnet + "2", port);
	}

private:
	void name_container();

	/* The name of number 0 has none in it, nor has its veth's. */
	const std::string suffix, name, device, subnet;
	std::string container; /* a process that is its root, if it is one */
	bool has_name = true;
};

} // namespace guest

#endif
