/* SPDX-License-Identifier: GPL-2.0 */
/* The ids that user tools know link groups by. */
#ifndef SMC_ADMIN_LGR_ID_H
#define SMC_ADMIN_LGR_ID_H

#include <linux/types.h>

/**
 * smc_lgr_next_serial() - number a new link group
 *
 * Any context. Return: more than for any other group of the host, by either path, before.
 */
unsigned long smc_lgr_next_serial(void);

/**
 * smc_lgr_id() - the id of a link group
 * @serial: its number from smc_lgr_next_serial()
 *
 * Existing tools look at the upper 24 bits only, so these have the number.
 */
static inline u32 smc_lgr_id(unsigned long serial)
{
	return serial << 8;
}

#endif
