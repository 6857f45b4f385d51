/* SPDX-License-Identifier: GPL-2.0 */
/* A service in this network namespace, beside others who do what they can to the host. */
#ifndef GUEST_SERVICE_H
#define GUEST_SERVICE_H

#include "netns.h"

namespace guest
{

Address loopback(int port);

/* A connection of this namespace, both of whose ends have sent something. */
Ends connect_and_echo(const Flavor &flavor, int listener);

/*
 * Expects @rounds connections of the service to be SMC-D, whatever others do. Each of them is asked
 * for itself, because the namespace's counters include the connections of tenants in it.
 */
void serve(int rounds);

} // namespace guest

#endif
