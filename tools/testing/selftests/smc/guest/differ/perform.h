/* SPDX-License-Identifier: GPL-2.0 */
/* Performs a sequence on sockets of one kind. */
#ifndef DIFFER_PERFORM_H
#define DIFFER_PERFORM_H

#include <string>
#include <vector>

#include "socket.h"
#include "step.h"

namespace differ
{

/* The sockets that a sequence is performed on: those of even slots, and of odd ones. */
struct Kinds {
	guest::Kind even, odd;
	int family;
};

/*
 * The answers that a program got, a text for each step. Then all sockets are closed, in the order
 * of their slots and with a text for each, and the last says what TCP keeps of connections. Nothing
 * in it depends on timing, on the numbers of ports or on the sizes of buffers.
 */
using Report = std::vector<std::string>;

Report perform(const Steps &steps, const Kinds &kinds);

} // namespace differ

#endif
