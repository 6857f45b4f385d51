/* SPDX-License-Identifier: GPL-2.0 */
/* What a client offers in its PROPOSAL. */
#ifndef SMC_OFFER_H
#define SMC_OFFER_H

#include "rdma/device.h"
#include "wire/clc.h"

struct sock;

/**
 * struct smc_offer - the ways a client could talk SMC on one connection
 * @has_d: SMC-D is offered, in either version
 * @has: by version, whether SMC-R of that version is offered
 * @port: the RDMA port for it, referenced
 */
struct smc_offer {
	bool has_d;
	bool has[SMC_VERSION_2 + 1];
	struct smc_rdma_port port[SMC_VERSION_2 + 1];
};

/**
 * smc_offer_make() - find out what can be offered
 * @offer: zeroed; release with smc_offer_drop()
 * @sk: connected TCP socket
 *
 * Context: process, may sleep.
 * Return: 0, or the diagnosis why nothing can.
 */
u32 smc_offer_make(struct smc_offer *offer, struct sock *sk);

/**
 * smc_offer_build() - the PROPOSAL
 * @offer: what this end offers
 * @sk: TCP connection that it goes over
 * @buf: SMC_CLC_MAX_LEN bytes
 *
 * Return: its length, or 0 without memory.
 */
size_t smc_offer_build(const struct smc_offer *offer, struct sock *sk, u8 *buf);

/**
 * smc_offer_has_version() - whether SMC-R of the version that the server chose was offered
 * @offer: what this end offers
 * @version: of SMC
 */
bool smc_offer_has_version(const struct smc_offer *offer, u8 version);

/**
 * smc_offer_take_port() - the port of a version, with its reference
 * @offer: what this end offers
 * @version: of SMC
 * @port: filled
 */
void smc_offer_take_port(struct smc_offer *offer, u8 version, struct smc_rdma_port *port);

/**
 * smc_offer_drop() - drop the references to the ports that were not taken
 * @offer: what this end offers; zeroed will do
 *
 * Context: process.
 */
void smc_offer_drop(struct smc_offer *offer);

#endif
