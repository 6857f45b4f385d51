/* SPDX-License-Identifier: GPL-2.0 */
/* Both ends of connections are on one side, or on two sides that are network namespaces. */
#ifndef DIFFER_SIDE_H
#define DIFFER_SIDE_H

#include "socket.h"

namespace differ
{

/* Sockets that this thread makes belong to a side, for as long as this lives. */
class OnSide
{
public:
	explicit OnSide(int side);
	OnSide(const OnSide &) = delete;
	~OnSide();

private:
	guest::Fd before;
};

/* An address of a side, as the other one sees it. */
guest::Address address_on(int side, int family, int port);

/* Return: whether there are two sides, by run_guest.sh --within netns. */
bool are_apart();

} // namespace differ

#endif
