/* SPDX-License-Identifier: GPL-2.0 */
/* Who this host is in CLC messages. */
#ifndef SMC_IDENTITY_H
#define SMC_IDENTITY_H

#include "wire/clc.h"

struct net;
struct smc_ism_conn;
struct sock;

/**
 * smc_identity_init() - choose new peer ids, with each load of the module
 */
void smc_identity_init(void);

/**
 * smc_local_peer_id() - a network namespace's peer id: no other has it
 * @net: namespace
 * @id: SMC_PEER_ID_LEN bytes
 */
void smc_local_peer_id(const struct net *net, u8 *id);

/**
 * smc_describe_host() - what a version 2 message says on first contact, but for its release
 * @fc: filled
 * @sk: TCP socket
 * @max_conns: of the link group
 */
void smc_describe_host(struct smc_clc_first_contact *fc, struct sock *sk, u8 max_conns);

/**
 * smc_describe_d() - what an ACCEPT or CONFIRM of SMC-D says of this end
 * @conn: connection
 * @sk: TCP socket
 * @a: its SMC-D part and first contact extension are filled
 */
void smc_describe_d(const struct smc_ism_conn *conn, struct sock *sk, struct smc_clc_agreement *a);

#endif
