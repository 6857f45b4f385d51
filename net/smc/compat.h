/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernel versions that this module builds for, written
 * as the newest of them has it.
 */
#ifndef SMC_COMPAT_H
#define SMC_COMPAT_H

#include <linux/version.h>

/* 6.11 made the table constant that a sysctl handler is given. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define SMC_CTL_CONST
#else
#define SMC_CTL_CONST const
#endif

/* Before 6.6 the end of a sysctl table was an empty entry instead of a count. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define register_net_sysctl_sz(net, path, table, size) register_net_sysctl(net, path, table)
#endif

#endif
