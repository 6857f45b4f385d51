/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DIFFER_COMPARE_H
#define DIFFER_COMPARE_H

#include <optional>
#include <string>

#include "known.h"
#include "perform.h"
#include "step.h"

namespace differ
{

/* A step of a sequence that TCP and another kind of socket answer differently. */
struct Difference {
	size_t step; /* the number of steps or more: the end */
	std::string tcp, other;
	/* The known one that it is, or null. */
	const Known *known;
};

/*
 * Performs @steps over TCP, and over @kinds. Return: the first difference, or the first that is
 * not known.
 */
std::optional<Difference> first_difference(const Steps &steps, const Kinds &kinds);
std::optional<Difference> first_unknown(const Steps &steps, const Kinds &kinds);

} // namespace differ

#endif
