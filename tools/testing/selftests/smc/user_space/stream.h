/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stand-ins in user space for the parts of the kernel that the headers of net/smc/stream/
 * need: see stream/platform.h there. A test may define the accesses itself.
 */
#ifndef SMC_TEST_USER_SPACE_STREAM_H
#define SMC_TEST_USER_SPACE_STREAM_H

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
