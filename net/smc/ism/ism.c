// SPDX-License-Identifier: GPL-2.0
/* Start and end of the SMC-D path. */

#include "admin/net.h"
#include "admin/netlink.h"
#include "conn.h"
#include "device.h"
#include "group.h"
#include "ism.h"
#include "show.h"

void smc_ism_init(void)
{
	smc_loopback_init();
	smc_net_set_exit_hook(SMC_PATH_D, smc_ism_groups_end);
	smc_netlink_set_source(SMC_PATH_D, &smc_ism_netlink_source);
}

void smc_ism_exit(void)
{
	smc_netlink_set_source(SMC_PATH_D, NULL);
	smc_ism_groups_end(NULL);
	/* A namespace that goes meanwhile waits for its groups, too. */
	smc_net_set_exit_hook(SMC_PATH_D, NULL);
}
