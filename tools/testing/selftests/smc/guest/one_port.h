/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest with one RoCE port, rxe0, which reaches both LANs: it is on br0, a bridge of eth0 and
 * eth1. A second port, rxe1, may come later.
 */
#ifndef GUEST_ONE_PORT_H
#define GUEST_ONE_PORT_H

#include "agent.h"

namespace guest
{

/* While an object lives, the agent's guest has one port. TwoPorts has set up the guest before. */
class OnePort
{
public:
	explicit OnePort(Agent &agent);
	~OnePort();
	OnePort(const OnePort &) = delete;

	/* Make rxe1, on a macvlan of br0 that has an address of LAN 1. */
	void add_second() const;

private:
	Agent &agent;
};

} // namespace guest

#endif
