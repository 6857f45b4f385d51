/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SMC_WORKQUEUE_H
#define SMC_WORKQUEUE_H

#include <linux/workqueue.h>

/* Runs everything of this module that must sleep; made and flushed by module.c. */
extern struct workqueue_struct *smc_wq;

#endif
