/* SPDX-License-Identifier: GPL-2.0 */
/* Raw dumps, to compare the output of two modules. */
#ifndef GUEST_NETLINK_DUMP_H
#define GUEST_NETLINK_DUMP_H

#include <linux/smc.h>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace guest
{

/*
 * One message: the bytes of its attributes in hexadecimal. The key is the path
 * of the attribute's types, as "4/10" for attribute 10 in nest 4.
 */
using Shown = std::map<std::string, std::string>;

/* Dumps by a command of a generic netlink family; returns text that shown_in() parses. */
std::string dump_generic(int command, const char *family = SMC_GENL_FAMILY_NAME);
/* Dumps the AF_SMC sockets by sock_diag, with all extensions; "msg" is the fixed header. */
std::string dump_sockets();

std::vector<Shown> shown_in(const std::string &text);

/*
 * Returns one line for each attribute of the first message, with its length.
 * The length of @texts is not fixed, so it is left out. Returns "" if there is
 * no message.
 */
std::string shape_of(const std::vector<Shown> &shown, const std::set<std::string> &texts = {});

} // namespace guest

#endif
