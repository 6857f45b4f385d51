/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences that are known and not mended. Each is excluded exactly: @explains() compares what
 * both said with what this one difference makes of it, and nothing else is let through.
 */
#ifndef DIFFER_KNOWN_H
#define DIFFER_KNOWN_H

#include <string>
#include <vector>

#include "step.h"

namespace differ
{

/* A step, what came before it, and what was said of it over TCP and over the other kind. */
struct Moment {
	const Steps &steps;
	size_t at;
	const std::string &tcp, &other;
	/* TCP's answers to all steps. */
	const std::vector<std::string> &before;

	/* The step; closing a socket, if it is the end. */
	Step step() const
	{
		return at < steps.size() ? steps[at] : Step{Op::close};
	}
};

struct Known {
	const char *name;
	/* A short sequence that shows it. */
	Steps steps;
	bool (*explains)(const Moment &moment);
	/* The sockets are in another state from then on, so that comparing on tells nothing. */
	bool is_lasting = false;
};

const std::vector<Known> &all_known();

/* The one that explains all of the difference; null: there is none. */
const Known *find_known(const Moment &moment);

} // namespace differ

#endif
