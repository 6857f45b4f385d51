// SPDX-License-Identifier: GPL-2.0
/* Start and end of the SMC-R path. */

#include "admin/net.h"
#include "admin/netlink.h"
#include "buffer.h"
#include "device.h"
#include "group.h"
#include "rdma.h"
#include "show.h"

static const struct smc_net_exit smc_rdma_net_exit = {
	.begin	= smc_groups_leave_net,
	.finish	= smc_groups_end,
};

int smc_rdma_init(void)
{
	int rc = smc_rdma_device_init();

	if (rc)
		return rc;
	smc_buffers_shrinker_init();
	smc_net_set_exit(SMC_PATH_R, &smc_rdma_net_exit);
	smc_netlink_set_source(SMC_PATH_R, &smc_rdma_netlink_source);
	return 0;
}

void smc_rdma_exit(void)
{
	smc_netlink_set_source(SMC_PATH_R, NULL);
	smc_buffers_shrinker_exit();
	smc_groups_end(NULL);
	/* A namespace that goes meanwhile waits for its groups, too. */
	smc_net_set_exit(SMC_PATH_R, NULL);
	smc_rdma_device_exit();
}
