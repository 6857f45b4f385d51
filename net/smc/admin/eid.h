/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Enterprise IDs: names for the set of hosts that speak SMC version 2 with each
 * other. A host may carry up to four that its administrator chose; while there is
 * none, it uses the default EID, so two such hosts need no configuration.
 *
 * The table is one for the whole host. EIDs are SMC_EID_LEN bytes of ASCII, padded
 * with blanks, without a terminating NUL.
 */
#ifndef SMC_ADMIN_EID_H
#define SMC_ADMIN_EID_H

#include <linux/types.h>

#include "wire/clc.h"

struct netlink_ext_ack;

#define SMC_EID_MAX	4	/* entries in the table: SMC_MAX_UEID */

/**
 * smc_eid_list() - the EIDs to offer to a peer
 * @eids: room for @max of them
 * @max: at least 1; SMC_EID_MAX is enough for all
 *
 * Not hard interrupt. Return: how many were stored, never 0.
 */
unsigned int smc_eid_list(u8 (*eids)[SMC_EID_LEN], unsigned int max);

/**
 * smc_eid_match() - find an EID that a peer offers and this host has
 * @eids: the peer's
 * @n: how many
 * @match: set to the first common one, SMC_EID_LEN bytes
 *
 * Not hard interrupt. Return: whether there is one; @match is untouched if not.
 */
bool smc_eid_match(const u8 (*eids)[SMC_EID_LEN], unsigned int n, u8 *match);

/**
 * smc_eid_add() - configure an EID
 * @name: NUL-terminated, with or without the padding
 * @extack: explains the error
 *
 * Not hard interrupt. Return: 0; -EINVAL, -EEXIST, or -ERANGE where there is no room.
 */
int smc_eid_add(const char *name, struct netlink_ext_ack *extack);

/**
 * smc_eid_remove() - have an EID no more
 * @name: as in smc_eid_add()
 * @extack: explains the error
 *
 * Not hard interrupt. Return: 0; -EINVAL, or -ENOENT where it is not configured.
 */
int smc_eid_remove(const char *name, struct netlink_ext_ack *extack);

/**
 * smc_eid_flush() - have none of those that were configured
 *
 * Not hard interrupt.
 */
void smc_eid_flush(void);

/**
 * smc_eid_next() - the configured EID that was added next
 * @serial: of the one before, or 0 for the first
 * @eid: SMC_EID_LEN bytes
 *
 * Who goes through all of them sees none twice, and misses none, while others come and go.
 *
 * Not hard interrupt.
 * Return: its serial, or 0 if there is none. The default EID is not configured.
 */
unsigned long smc_eid_next(unsigned long serial, u8 *eid);

#endif
