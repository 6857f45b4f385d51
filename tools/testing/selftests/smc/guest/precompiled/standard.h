/* SPDX-License-Identifier: GPL-2.0 */
/* The headers that most sources include, for the Makefile to compile once: see there. */
#ifndef PRECOMPILED_STANDARD_H
#define PRECOMPILED_STANDARD_H

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#endif
