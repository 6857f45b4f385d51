/* SPDX-License-Identifier: GPL-2.0 */
/* Dumps as they come, for comparing what two modules show. */
#ifndef GUEST_NETLINK_DUMP_H
#define GUEST_NETLINK_DUMP_H

#include <map>
#include <string>
#include <vector>

namespace guest
{

/*
 * One message: the bytes of its attributes in hexadecimal, by the path of their types, as "4/10"
 * for attribute 10 in nest 4.
 */
using Shown = std::map<std::string, std::string>;

/* The answers to a command of SMC_GEN_NETLINK, as text that shown_in() reads. */
std::string dump_generic(int command);
/* The same of AF_SMC sockets from sock_diag, with every extension; "msg" is what all of them have.
 */
std::string dump_sockets();

std::vector<Shown> shown_in(const std::string &text);

} // namespace guest

#endif
