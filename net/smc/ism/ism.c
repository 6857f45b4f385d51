// SPDX-License-Identifier: GPL-2.0
/* Start and end of the SMC-D path. */

#include "admin/net.h"
#include "admin/netlink.h"
#include "conn.h"
#include "group.h"
#include "ism.h"
#include "show.h"

static const struct smc_net_exit smc_ism_net_exit = {
	.begin	= smc_ism_groups_leave_net,
	.finish	= smc_ism_groups_end,
};

void smc_ism_init(void)
{
	smc_ism_shrinker_init();
	smc_net_set_exit(SMC_PATH_D, &smc_ism_net_exit);
	smc_netlink_set_source(SMC_PATH_D, &smc_ism_netlink_source);
}

void smc_ism_exit(void)
{
	smc_netlink_set_source(SMC_PATH_D, NULL);
	smc_ism_shrinker_exit();
	smc_ism_groups_end(NULL);
	/* A namespace that goes meanwhile waits for its groups, too. */
	smc_net_set_exit(SMC_PATH_D, NULL);
}
