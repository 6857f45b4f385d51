/* SPDX-License-Identifier: GPL-2.0 */
/* Identity of this host in CLC messages. */
#ifndef SMC_IDENTITY_H
#define SMC_IDENTITY_H

#include "wire/clc.h"

struct net;

/**
 * smc_identity_init() - choose the secret from which peer ids are made until the module is unloaded
 */
void smc_identity_init(void);

/**
 * smc_own_peer_id() - get the peer id of a network namespace
 * @net: namespace, whose cookie decides the id
 * @id: SMC_PEER_ID_LEN bytes, to be filled in; no other namespace or host has this id
 */
void smc_own_peer_id(const struct net *net, u8 *id);

/**
 * smc_describe_host() - describe this host for a version 2 message on first contact
 * @fc: operating system, host name and maximum number of links are filled in
 * @net: namespace; only the initial one tells the host's name
 */
void smc_describe_host(struct smc_clc_first_contact *fc, const struct net *net);

#endif
