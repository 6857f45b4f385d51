/* SPDX-License-Identifier: GPL-2.0 */
/* A second RoCE port that needs no LAN of its own. */
#ifndef GUEST_OTHER_PORT_H
#define GUEST_OTHER_PORT_H

#include "agent.h"

namespace guest
{

/* One more RoCE port of an agent's guest, beside eth0. */
class OtherPort
{
public:
	explicit OtherPort(Agent &agent) : agent(agent)
	{
		/*
		 * The answers to ARP requests name the port that has the address. Its MAC address
		 * is always the same, because this guest remembers it.
		 */
		agent.must_run("sysctl -qw net.ipv4.conf.all.arp_ignore=1 && "
			       "ip link add mv0 link eth0 address 52:54:83:00:00:78 "
			       "type macvlan mode bridge && "
			       "ip link set mv0 up && ip addr add 10.83.0.78/24 dev mv0 && "
			       "rdma link add rxe1 type rxe netdev mv0");
	}
	OtherPort(const OtherPort &) = delete;
	~OtherPort()
	{
		agent.run_command("rdma link delete rxe1; ip link delete mv0; "
				  "sysctl -qw net.ipv4.conf.all.arp_ignore=0");
	}

private:
	Agent &agent;
};

} // namespace guest

#endif
