// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>

#include "admin/lgr_id.h"

static atomic_long_t last_serial;

unsigned long smc_lgr_next_serial(void)
{
	return atomic_long_inc_return(&last_serial);
}
