/* SPDX-License-Identifier: GPL-2.0 */
/* Netlink dumps of link groups, links and devices. */
#ifndef SMC_RDMA_SHOW_H
#define SMC_RDMA_SHOW_H

struct smc_netlink_source;

extern const struct smc_netlink_source smc_rdma_netlink_source;

#endif
