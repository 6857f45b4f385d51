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
 * How a row is tried, for the claim that it has. Of something that is as with TCP a program sees
 * the same over both; of what is refused, the name of the errno.
 */
struct Trial {
	/* What a program does on a connection, and sees. */
	Act act = {};
	/* Likewise before it is connected. */
	Look fresh = {};
	/* What is different. */
	Check differs = {};
	/* What makes a socket TCP before it connects; "0" if it can be done. */
	Look before = {};
	/* Of a listener, too. */
	bool listens = false;
	/* What makes a socket TCP, if it takes more than @before. */
	Check makes_tcp = {};
};

using Trials = std::map<std::string, Trial>;

/* Each row of a section by its trial; neither is there without the other, or twice. */
void try_section(const std::string &section, const Trials &trials, int family = AF_INET);

/* What a socket becomes is TCP, and the reason is counted and shown. */
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
	/* What is read is each socket's own. */
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
