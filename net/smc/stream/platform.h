/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rx.h, tx.h and the headers with decisions need this beside wire/platform.h:
 * access to positions that others may move at the same time. These headers are
 * also compiled for user space, for unit tests, which define the accesses.
 */
#ifndef SMC_STREAM_PLATFORM_H
#define SMC_STREAM_PLATFORM_H

#include "wire/platform.h"

#ifdef __KERNEL__

#include <asm/barrier.h>
#include <linux/compiler.h>

#else
#include "user_space/stream.h"
#endif
#endif
