/* SPDX-License-Identifier: GPL-2.0 */
/* Trials of what the rows of Documentation/compatibility.rst say. */
#ifndef GUEST_COMPATIBILITY_TRIAL_H
#define GUEST_COMPATIBILITY_TRIAL_H

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent.h"

namespace guest
{

/* Of a call: its result, or the name of its errno. */
std::string said(long rc);

template <typename T>
std::string bytes_of(const T &value)
{
	return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

std::string hex(const std::string &bytes);

/* The places of a trial: this end is the client. */
class Bench
{
public:
	explicit Bench(int family) : family(family)
	{
	}
	Flavor flavor(Kind kind) const
	{
		return {kind, family};
	}
	Connection connect(Kind kind, const Preparation &preparation = {})
	{
		return make_connection(agent, flavor(kind), Role::client, preparation);
	}

	int family;
	Agent agent;
};

using Act = std::function<std::string(Connection &connection)>;
using Look = std::function<std::string(int fd)>;
using Check = std::function<void(Bench &bench)>;

/*
 * The trial of a row, by the row's claim. If something is as with TCP, a program has to see the
 * same over SMC and over TCP. If it is refused, the program has to see the name of the errno.
 */
struct Trial {
	/* Calls of a program on a connection. Returns what it sees. */
	Act act = {};
	/* Likewise on a socket that is not connected. */
	Look fresh = {};
	/* Checks the difference. */
	Check differs = {};
	/* The call that makes a socket TCP before it connects. Returns "0" if it succeeds. */
	Look before = {};
	/* @before makes the connections of a listener TCP, too. */
	bool listens = false;
	/* Checks that a socket becomes TCP, if that takes more than @before. */
	Check makes_tcp = {};
};

using Trials = std::map<std::string, Trial>;

/* Each row of a section by its trial; neither is there without the other, or twice. */
void try_section(const std::string &section, const Trials &trials, int family = AF_INET);

/* Expects the socket that @made returns to be TCP, and the reason to be counted and shown. */
void expect_made_tcp(const std::function<Fd()> &made);

/* It goes on, by SMC or by TCP. */
void check_alive(Connection &connection, bool by_smc);

void await_bytes(int fd, int bytes);

/* Ten bytes with the flag, and what the peer reads. */
std::string send_ten(Connection &connection, int flag);

struct Option {
	const char *name;
	int level, number;
	/* To set, if it is; and on a connection, if something else. */
	std::optional<std::string> value = bytes_of(1);
	std::optional<std::string> later = {};
	/* So much is read. */
	socklen_t len = sizeof(int);
	/* Each socket reads a value of its own. */
	bool varies = false;
};

/* The first members of an Option. */
#define AT(level, option) #option, level, option

std::string said_by_set(int fd, const Option &option, const std::string &value);

/* Read, set and read, and what is seen meanwhile; then it is as before, if that can be. */
std::string look_at_option(int fd, const Option &option, const std::optional<std::string> &value,
			   const std::function<std::string()> &meanwhile = {});

/* Options that are as with TCP. */
Trials alike(const std::vector<Option> &options);
/* Those that are set as with TCP, but are about TCP's packets, which don't have the data. */
Trials below(const std::vector<Option> &options);
/* One that is refused when it is set, and one that makes a socket TCP besides. */
Trial refused(const Option &option);
Trial made_tcp(const Option &option, bool listens);

} // namespace guest

#endif
