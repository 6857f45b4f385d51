/* SPDX-License-Identifier: GPL-2.0 */
/* The headers that most tests include, for the Makefile to compile once: see there. */
#ifndef PRECOMPILED_H
#define PRECOMPILED_H

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#endif
