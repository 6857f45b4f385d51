/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of a TCP connection's route that matter for the use of SMC. */
#ifndef SMC_ROUTE_H
#define SMC_ROUTE_H

#include <linux/types.h>

#include "path.h"

struct dst_entry;

/**
 * smc_route_set() - store the TCP connection's current route in a setup
 * @s: setup; smc_setup_end() releases the route
 * @dst: route, with a reference, which the setup gets; or NULL
 *
 * Context: process.
 */
void smc_route_set(struct smc_path_setup *s, struct dst_entry *dst);

/**
 * smc_route_describe() - find the IP subnets of this end, for a version 1 PROPOSAL
 * @s: setup after smc_route_set(); without a route it has no subnets
 * @p: PROPOSAL whose prefixes are filled in
 *
 * Context: process.
 * Return: whether there are any subnets.
 */
bool smc_route_describe(const struct smc_path_setup *s, struct smc_clc_proposal *p);

/**
 * smc_route_matches() - whether this end is in one of the subnets that a PROPOSAL names
 * @s: setup after smc_route_set(); without a route it matches nothing
 * @p: the client's PROPOSAL
 */
bool smc_route_matches(const struct smc_path_setup *s, const struct smc_clc_proposal *p);

#endif
