/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DIFFER_GENERATE_H
#define DIFFER_GENERATE_H

#include <cstdint>

#include "step.h"

namespace differ
{

/* The sequence of a seed. */
Steps generate(uint64_t seed);

} // namespace differ

#endif
