// SPDX-License-Identifier: GPL-2.0
#include "diag.h"

int smc_diag_init(void)
{
	return 0;
}

void smc_diag_exit(void)
{
}
