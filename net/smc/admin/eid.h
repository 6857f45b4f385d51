/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Enterprise IDs (EIDs): each names a set of hosts that use SMC version 2 with each
 * other. The administrator of a host may configure up to four. A host without any
 * uses the default EID, so two such hosts need no configuration.
 *
 * All namespaces of the host share one table. An EID is SMC_EID_LEN bytes of ASCII,
 * padded with blanks, without a terminating NUL.
 */
#ifndef SMC_ADMIN_EID_H
#define SMC_ADMIN_EID_H

#include <linux/types.h>

#include "wire/clc.h"

struct netlink_ext_ack;

#define SMC_EID_MAX	4	/* entries in the table: SMC_MAX_UEID */

/**
 * smc_eid_list() - get the EIDs to offer to a peer
 * @eids: array of @max EIDs to fill
 * @max: at least 1; SMC_EID_MAX is enough for all
 *
 * Context: not hard interrupt. Return: number of EIDs stored, never 0.
 */
unsigned int smc_eid_list(u8 (*eids)[SMC_EID_LEN], unsigned int max);

/**
 * smc_eid_match() - find an EID that a peer offers and this host has
 * @eids: EIDs that the peer offers
 * @n: number of these EIDs
 * @match: set to the first common EID, SMC_EID_LEN bytes
 *
 * Context: not hard interrupt. Return: true if there is one; otherwise @match is untouched.
 */
bool smc_eid_match(const u8 (*eids)[SMC_EID_LEN], unsigned int n, u8 *match);

/**
 * smc_eid_add() - configure an EID
 * @name: EID, NUL-terminated, with or without the padding
 * @extack: explains the error
 *
 * Context: not hard interrupt. Return: 0; -EINVAL, -EEXIST, or -ERANGE if the table is full.
 */
int smc_eid_add(const char *name, struct netlink_ext_ack *extack);

/**
 * smc_eid_remove() - remove a configured EID
 * @name: EID, as in smc_eid_add()
 * @extack: explains the error
 *
 * Context: not hard interrupt. Return: 0; -EINVAL, or -ENOENT if the EID is not configured.
 */
int smc_eid_remove(const char *name, struct netlink_ext_ack *extack);

/**
 * smc_eid_flush() - remove all configured EIDs
 *
 * Context: not hard interrupt.
 */
void smc_eid_flush(void);

/**
 * smc_eid_next() - get the configured EID that was added next
 * @serial: serial number of the previous EID, or 0 to get the first
 * @eid: filled, SMC_EID_LEN bytes
 *
 * A caller that walks the table sees each EID once, even if others are added or
 * removed meanwhile. The default EID is not part of the table.
 *
 * Context: not hard interrupt. Return: serial number of the EID, or 0 if no EID is left.
 */
unsigned long smc_eid_next(unsigned long serial, u8 *eid);

#endif
