/* SPDX-License-Identifier: GPL-2.0 */
/* Generic netlink dumps of SMC-D link groups and devices. */
#ifndef SMC_ISM_SHOW_H
#define SMC_ISM_SHOW_H

struct smc_netlink_source;

extern const struct smc_netlink_source smc_ism_netlink_source;

#endif
