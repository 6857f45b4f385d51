// SPDX-License-Identifier: GPL-2.0
/* Size classes of RMB and DMB elements. */
#include "size_class.h"

u8 smc_size_class_of(u32 bytes, u8 max)
{
	u8 c = 0;

	while (c < max && smc_size_class_bytes(c) < bytes)
		c++;
	return c;
}
