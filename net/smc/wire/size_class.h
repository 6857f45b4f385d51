/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Size classes of RMB and DMB elements: an element of class c has 16 KiB << c
 * bytes, and CLC messages contain c (RFC 7609 appendix A.2.2).
 */
#ifndef SMC_WIRE_SIZE_CLASS_H
#define SMC_WIRE_SIZE_CLASS_H

#include "platform.h"

#define SMC_SIZE_CLASS_MIN_BYTES	(16u << 10)
#define SMC_SIZE_CLASS_R_MAX		5	/* 512 KiB, the largest in use here for SMC-R */
#define SMC_SIZE_CLASS_D_MAX		6	/* 1 MiB, the largest in use here for SMC-D */
#define SMC_SIZE_CLASS_PEER_MAX		15	/* the largest that a message can contain */

/**
 * smc_size_class_bytes() - size of an element of a class
 * @c: class, at most SMC_SIZE_CLASS_PEER_MAX
 *
 * Return: number of bytes.
 */
static inline u32 smc_size_class_bytes(u8 c)
{
	return SMC_SIZE_CLASS_MIN_BYTES << c;
}

/**
 * smc_size_class_of() - find the class for a number of bytes
 * @bytes: bytes wanted in an element
 * @max: largest class allowed
 *
 * Return: the smallest class with at least @bytes bytes, or @max if that is smaller.
 */
static inline u8 smc_size_class_of(u32 bytes, u8 max)
{
	u8 c = 0;

	while (c < max && smc_size_class_bytes(c) < bytes)
		c++;
	return c;
}

#endif
