/* SPDX-License-Identifier: GPL-2.0 */
/* Builds and reads the offer in a client's PROPOSAL. */
#ifndef SMC_OFFER_H
#define SMC_OFFER_H

#include "path.h"

/* CLC messages number the paths as enum smc_path_kind does, and have no number for a third path. */
static_assert((int)SMC_N_PATHS <= (int)SMC_OFFER_NONE);
static_assert(SMC_OFFER_R == (int)SMC_PATH_R && SMC_OFFER_D == (int)SMC_PATH_D);

/**
 * smc_offer_versions() - get the versions that a client offers for a path
 * @p: the client's PROPOSAL
 * @kind: kind of path
 *
 * Return: a bit for each version.
 */
u8 smc_offer_versions(const struct smc_clc_proposal *p, enum smc_path_kind kind);

/**
 * smc_offer_build() - build the PROPOSAL
 * @setups: one setup for each path; the function sets each setup's ->offered
 * @buf: SMC_CLC_MAX_LEN bytes
 * @len: set to the length of the message
 *
 * Context: process, may sleep.
 * Return: 0, or a diagnosis if no PROPOSAL can be sent.
 */
u32 smc_offer_build(struct smc_path_setup *const *setups, u8 *buf, size_t *len);

#endif
