/* SPDX-License-Identifier: GPL-2.0 */
/* Who this host is in CLC messages. */
#ifndef SMC_IDENTITY_H
#define SMC_IDENTITY_H

#include "wire/clc.h"

struct smc_ism_conn;
struct sock;

/**
 * smc_identity_init() - choose the instance number, new with each load of the module
 */
void smc_identity_init(void);

/**
 * smc_local_peer_id() - this host's peer id
 * @id: SMC_PEER_ID_LEN bytes
 */
void smc_local_peer_id(u8 *id);

/**
 * smc_identity_use_mac() - a MAC address of the host completes the peer id; the first counts
 * @mac: 6 bytes
 */
void smc_identity_use_mac(const u8 *mac);

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
