/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Definitions that wire/ needs: fixed-width types, memory functions, a 64-bit
 * division and error numbers. The folder is compiled into the module and, for
 * unit tests and fuzzers, for user space. This header is the only difference.
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

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *remainder)
{
	*remainder = (u32)(dividend % divisor);
	return dividend / divisor;
}

#endif
#endif
