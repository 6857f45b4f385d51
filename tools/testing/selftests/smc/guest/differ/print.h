/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DIFFER_PRINT_H
#define DIFFER_PRINT_H

#include <string>

#include "step.h"

namespace differ
{

/* As C++, for the table of sequences in differ_test.cc. */
std::string to_string(const Step &step);
std::string to_string(const Steps &steps);

} // namespace differ

#endif
