/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-ins in user space for the kernel's parts that net/smc/wire/ needs: see platform.h there. */
#ifndef SMC_TEST_USER_SPACE_WIRE_H
#define SMC_TEST_USER_SPACE_WIRE_H

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
