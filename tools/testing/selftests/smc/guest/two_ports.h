/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two RoCE ports of a guest, which make a second link possible: rxe0 on eth0 in LAN 0, where
 * TCP's packets go, too, and rxe1 on eth1 in LAN 1. run_guest.sh needs "--lans 3".
 */
#ifndef GUEST_TWO_PORTS_H
#define GUEST_TWO_PORTS_H

#include <cstdint>
#include <string>
#include <vector>

#include "agent.h"

namespace guest
{

/* LAN 0 has a subnet within that of LAN 1, or both have one subnet. */
enum class Subnets { nested, one };

class TwoPorts
{
public:
	/* A way to lose a port, and to get it back. */
	struct Loss {
		const char *name;
		int port;
		void (TwoPorts::*lose)(int port) const;
		void (TwoPorts::*find)(int port) const;
	};

	/* Of this guest, or of an agent's. */
	explicit TwoPorts(Subnets subnets);
	TwoPorts(Agent &agent, Subnets subnets);

	/* Loads the module, with an EID and one PNET ID for all; both ports are up afterwards. */
	void set_up() const;
	/*
	 * After set_up(): this guest has no EID in common with any other, and both devices have
	 * GIDs of RoCE v1, so SMC-R is of version 1. The devices can't be removed until unload().
	 */
	void use_version_1() const;
	/* Returns whether the module is not loaded any more: it is kept while it has sockets. */
	bool unload() const;
	/* The guest has the in-tree module. */
	bool is_tree() const;

	/* Waits until fifty looks in a row have seen no RoCE packet come or go. */
	void await_rest() const;

	/* Whether the kernel has a module, which is loaded then. */
	bool has_module(const std::string &name) const;
	/*
	 * A VLAN device on eth0 or eth1, "vlan0" or "vlan1", of the same PNET ID as that. It stays
	 * until the next set_up().
	 */
	void add_vlan(int port, int id) const;
	void remove_vlan(int port) const;
	/*
	 * Makes eth1 one end of a veth pair, whose other end is bridged to the network adapter. It
	 * stays so until the next set_up(). Needs the modules that has_cables() looks for.
	 */
	void add_cable() const;
	bool has_cables() const
	{
		return has_module("veth") && has_module("bridge");
	}
	/* After add_cable(), port 1 loses its carrier, and gets it back. All addresses stay. */
	void pull_cable(int port) const;
	void plug_cable(int port) const;
	/* Put eth1 into a VRF, of the kernel's module "vrf", and take it out again. */
	void enter_vrf() const;
	void leave_vrf() const;
	/* The PNET table has port 1 in another network than port 0, both in one, or nothing. */
	void part_networks() const;
	void join_networks() const;
	void forget_networks() const;

	void set_sysctl(const std::string &name, const std::string &value) const;

	void take_down(int port) const;
	void take_up(int port) const;
	void remove_device(int port) const;
	void add_device(int port) const;
	/* take_up() adds them again. */
	void remove_addresses(int port) const;
	/* RoCE packets of that LAN are dropped when they arrive here, without an event. */
	void lose(int port) const;
	/* The same for TCP's packets. */
	void lose_tcp(int port) const;
	/* How many packets were dropped by what was called first: lose_tcp() or lose(). */
	int64_t packets_lost() const;
	/* Nothing is dropped any more. */
	void lose_nothing() const;
	/* As lose_nothing(), for a table of ways to lose a port. */
	void find(int port) const;

	std::vector<struct ShownGroup> groups() const;
	/* Those of this module, which starts with zeros in set_up(). */
	Counters counters() const;

private:
	std::string must_run(const std::string &command) const;
	void drop(const std::string &match) const;
	std::string with_addresses(int port) const;
	std::string up(int port) const;

	Agent *agent = nullptr;
	const Subnets subnets;
};

} // namespace guest

#endif
