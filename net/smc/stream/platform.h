/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rx.h, tx.h and the headers with decisions need this beside wire/platform.h:
 * access to positions that others may move at the same time. These headers are
 * also compiled for user space, for unit tests, which may define the accesses
 * themselves.
 */
#ifndef SMC_STREAM_PLATFORM_H
#define SMC_STREAM_PLATFORM_H

#include "wire/platform.h"

#ifdef __KERNEL__

#include <asm/barrier.h>
#include <linux/compiler.h>

#else

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#ifndef smp_load_acquire

#define READ_ONCE(x)			__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)		__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
/* As in the kernel. */
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
/* As in the kernel. */
#define smp_store_release(p, value)	__atomic_store_n(p, value, __ATOMIC_RELEASE)

#endif
#endif
#endif
