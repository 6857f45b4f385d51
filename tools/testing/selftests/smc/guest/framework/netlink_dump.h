/* SPDX-License-Identifier: GPL-2.0 */
/* Dumps as they come, for comparing what two modules show. */
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
 * One message: the bytes of its attributes in hexadecimal, by the path of their types, as "4/10"
 * for attribute 10 in nest 4.
 */
using Shown = std::map<std::string, std::string>;

/* The answers to a command of a family of generic netlink, as text that shown_in() reads. */
std::string dump_generic(int command, const char *family = SMC_GENL_FAMILY_NAME);
/* The same of AF_SMC sockets from sock_diag, with every extension; "msg" is what all of them have.
 */
std::string dump_sockets();

std::vector<Shown> shown_in(const std::string &text);

/*
 * The attributes of the first of them, a line for each: with its length, but for @texts, whose
 * length is not fixed. "" if there is none.
 */
std::string shape_of(const std::vector<Shown> &shown, const std::set<std::string> &texts = {});

} // namespace guest

#endif
