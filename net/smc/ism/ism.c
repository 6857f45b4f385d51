// SPDX-License-Identifier: GPL-2.0
/* Initialisation and exit of the SMC-D path. */

#include "admin/netlink.h"
#include "group.h"
#include "ism.h"
#include "show.h"

void smc_ism_init(void)
{
	smc_lgr_kind_init(&smc_ism_lgrs);
	smc_netlink_set_source(SMC_PATH_D, &smc_ism_netlink_source);
}

void smc_ism_exit(void)
{
	smc_netlink_set_source(SMC_PATH_D, NULL);
	smc_lgr_kind_exit(&smc_ism_lgrs);
}
