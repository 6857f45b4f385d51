/* SPDX-License-Identifier: GPL-2.0 */
/* What a client offers in its PROPOSAL. */
#ifndef SMC_OFFER_H
#define SMC_OFFER_H

#include "path.h"

/* Messages number the paths as this module does. */
static_assert(SMC_OFFER_R == (int)SMC_PATH_R && SMC_OFFER_D == (int)SMC_PATH_D);

/**
 * smc_offer_versions() - the versions that a client offers for a path
 * @p: its PROPOSAL
 * @kind: of path
 *
 * Return: a bit for each.
 */
u8 smc_offer_versions(const struct smc_clc_proposal *p, enum smc_path_kind kind);

/**
 * smc_offer_build() - the PROPOSAL
 * @setups: one of each path, where note is taken of what is offered
 * @buf: SMC_CLC_MAX_LEN bytes
 * @len: set to the length of the message
 *
 * Context: process, may sleep.
 * Return: 0, or the diagnosis why there is none.
 */
u32 smc_offer_build(struct smc_path_setup *const *setups, u8 *buf, size_t *len);

#endif
