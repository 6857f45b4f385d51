/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access to positions that other threads may be moving: READ_ONCE(),
 * smp_load_acquire() and so on. rx.h, tx.h and other headers that include this
 * one are also compiled for user space, by unit tests. The tests define the
 * accesses themselves.
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
