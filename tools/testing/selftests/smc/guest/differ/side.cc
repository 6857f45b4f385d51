// SPDX-License-Identifier: GPL-2.0
#include "side.h"

#include <fcntl.h>
#include <sched.h>

#include "place.h"
#include "system.h"

namespace differ
{

using namespace guest;

bool are_apart()
{
	return peer_place() == Place::netns;
}

OnSide::OnSide(int side)
{
	if (!side || !are_apart())
		return;
	before = Fd(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));

	Fd there(open("/run/netns/peer", O_RDONLY | O_CLOEXEC));

	if (before < 0 || there < 0 || setns(there, CLONE_NEWNET))
		throw_errno("the other namespace");
}

OnSide::~OnSide()
{
	if (before >= 0)
		setns(before, CLONE_NEWNET);
}

Address address_on(int side, int family, int port)
{
	if (are_apart())
		return address_of(side, family, port);
	return address_from(family == AF_INET ? "127.0.0.1" : "::1", port);
}

} // namespace differ
