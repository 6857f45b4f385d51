/* SPDX-License-Identifier: GPL-2.0 */
/* What goes on in this network namespace beside others who do what they can to the host. */
#ifndef GUEST_SERVICE_H
#define GUEST_SERVICE_H

#include "netns.h"

namespace guest
{

Address loopback(int port);

/* A connection of this namespace, both of whose ends have sent something. */
Ends connect_and_echo(const Flavor &flavor, int listener);

/*
 * What the service here has to do, whatever others do: connections by SMC-D. The namespace's
 * counters have the connections of tenants in it, too, so each of these is asked for itself.
 */
void serve(int rounds);

} // namespace guest

#endif
