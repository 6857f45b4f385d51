/* SPDX-License-Identifier: GPL-2.0 */
/* Identity of this host in CLC messages. */
#ifndef SMC_IDENTITY_H
#define SMC_IDENTITY_H

#include "wire/clc.h"

struct net;

/**
 * smc_identity_init() - choose new peer ids, with each load of the module
 */
void smc_identity_init(void);

/**
 * smc_own_peer_id() - a network namespace's peer id: no other has it
 * @net: namespace
 * @id: SMC_PEER_ID_LEN bytes
 */
void smc_own_peer_id(const struct net *net, u8 *id);

/**
 * smc_describe_host() - what a version 2 message says of this host on first contact
 * @fc: its system, name and number of links are filled
 * @net: namespace
 */
void smc_describe_host(struct smc_clc_first_contact *fc, const struct net *net);

#endif
