/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Definitions that wire/ needs: fixed-width types, memory functions, a 64-bit
 * division and error numbers. The folder is compiled into the module and, for
 * unit tests and fuzzers, for user space. This header is the only difference;
 * the tests have the definitions for user space.
 */
#ifndef SMC_WIRE_PLATFORM_H
#define SMC_WIRE_PLATFORM_H

#ifdef __KERNEL__

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/types.h>

#else
#include "user_space/wire.h"
#endif
#endif
