// SPDX-License-Identifier: GPL-2.0
/* Initialisation and shutdown of SMC-R. */

#include "admin/netlink.h"
#include "device.h"
#include "group.h"
#include "rdma.h"
#include "show.h"

int smc_rdma_init(void)
{
	int rc;

	smc_lgr_kind_init(&smc_rdma_lgrs);
	rc = smc_rdma_device_init();
	if (rc) {
		smc_lgr_kind_exit(&smc_rdma_lgrs);
		return rc;
	}
	smc_netlink_set_source(SMC_PATH_R, &smc_rdma_netlink_source);
	return 0;
}

void smc_rdma_exit(void)
{
	smc_netlink_set_source(SMC_PATH_R, NULL);
	smc_lgr_kind_exit(&smc_rdma_lgrs);
	smc_rdma_device_exit();
}
