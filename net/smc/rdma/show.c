// SPDX-License-Identifier: GPL-2.0
/* What generic netlink shows of link groups, links and devices. */

#include "admin/netlink.h"
#include "show.h"

const struct smc_netlink_source smc_rdma_netlink_source = {
};
