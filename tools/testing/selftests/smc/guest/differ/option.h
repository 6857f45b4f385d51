/* SPDX-License-Identifier: GPL-2.0 */
/* The socket options that sequences set and get. */
#ifndef DIFFER_OPTION_H
#define DIFFER_OPTION_H

#include <vector>

namespace differ
{

struct Option {
	const char *level_name, *name;
	int level, option;
	/* To set it to; none if it is only read. */
	std::vector<int> values;
	/* Its value differs from run to run of TCP: only the result of the call is compared. */
	bool varies = false;
};

const std::vector<Option> &all_options();

/* Null if there is none. */
const Option *find_option(int level, int option);

/* Of a socket with any option that is not in the table. */
constexpr int no_such_option = 9999;

} // namespace differ

#endif
