/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DIFFER_SHRINK_H
#define DIFFER_SHRINK_H

#include <functional>

#include "step.h"

namespace differ
{

/*
 * A short sequence of which @differs still holds, as it does of @steps: with steps left out, and
 * smaller numbers in those that are left.
 */
Steps shrink(Steps steps, const std::function<bool(const Steps &)> &differs);

} // namespace differ

#endif
