/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Size classes of RMB and DMB elements: class c holds 16 KiB << c bytes, and c is
 * what the CLC messages carry (RFC 7609 appendix A.2.2).
 */
#ifndef SMC_WIRE_SIZE_CLASS_H
#define SMC_WIRE_SIZE_CLASS_H

#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SMC_SIZE_CLASS_MIN_BYTES	(16u << 10)
#define SMC_SIZE_CLASS_R_MAX		5	/* 512 KiB, the largest of ours for SMC-R */
#define SMC_SIZE_CLASS_D_MAX		6	/* 1 MiB, the largest of ours for SMC-D */
#define SMC_SIZE_CLASS_PEER_MAX		15	/* largest the wire can say */

/**
 * smc_size_class_bytes() - how large an element of a class is
 * @c: class, at most SMC_SIZE_CLASS_PEER_MAX
 *
 * Return: its bytes.
 */
static inline u32 smc_size_class_bytes(u8 c)
{
	return SMC_SIZE_CLASS_MIN_BYTES << c;
}

/**
 * smc_size_class_of() - the class for a wanted number of bytes
 * @bytes: bytes wanted in an element
 * @max: largest class allowed
 *
 * Return: the smallest class with at least @bytes bytes, or @max if that is smaller.
 */
u8 smc_size_class_of(u32 bytes, u8 max);

#ifdef __cplusplus
}
#endif
#endif
