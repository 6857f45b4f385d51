/* SPDX-License-Identifier: GPL-2.0 */
/* Big-endian fields at any alignment, as in all messages of wire/. */
#ifndef SMC_WIRE_BYTES_H
#define SMC_WIRE_BYTES_H

#include "platform.h"

static inline u16 get_be16(const u8 *p)
{
	return (u16)(p[0] << 8 | p[1]);
}

static inline u32 get_be24(const u8 *p)
{
	return (u32)p[0] << 16 | get_be16(p + 1);
}

static inline u32 get_be32(const u8 *p)
{
	return (u32)get_be16(p) << 16 | get_be16(p + 2);
}

static inline u64 get_be64(const u8 *p)
{
	return (u64)get_be32(p) << 32 | get_be32(p + 4);
}

static inline void put_be16(u8 *p, u16 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

static inline void put_be24(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 16);
	put_be16(p + 1, (u16)v);
}

static inline void put_be32(u8 *p, u32 v)
{
	put_be16(p, (u16)(v >> 16));
	put_be16(p + 2, (u16)v);
}

static inline void put_be64(u8 *p, u64 v)
{
	put_be32(p, (u32)(v >> 32));
	put_be32(p + 4, (u32)v);
}

#endif
