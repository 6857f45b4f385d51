/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cursors: the wire's view of a position in a stream.
 *
 * Inside, a position is a 64-bit count of bytes since the connection began and
 * never wraps. The wire knows only the offset in the element and a 16-bit count
 * of how often it returned to zero.
 */
#ifndef SMC_WIRE_CURSOR_H
#define SMC_WIRE_CURSOR_H

#include "platform.h"

#ifdef __cplusplus
extern "C" {
#endif

struct smc_cursor {
	u16 wrap;
	u32 offset;
};

/**
 * smc_cursor_from_position() - what the wire says for a position
 * @pos: bytes since the connection began
 * @size: bytes in the element, not zero; need not be a power of two
 *
 * Return: the cursor.
 */
struct smc_cursor smc_cursor_from_position(u64 pos, u32 size);

/**
 * smc_cursor_to_position() - the position a peer's cursor stands for
 * @cur: cursor as received
 * @size: bytes in the element
 * @from: lowest position it may stand for: the last one known
 * @to: highest position it may stand for; at most @from + @size
 * @pos: the position, on success
 *
 * Return: 0, or -EPROTO if the cursor is malformed or stands for no position
 * in the range: the peer is broken or hostile.
 */
int smc_cursor_to_position(struct smc_cursor cur, u32 size, u64 from, u64 to, u64 *pos);

#ifdef __cplusplus
}
#endif
#endif
