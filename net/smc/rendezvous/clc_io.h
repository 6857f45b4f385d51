/* SPDX-License-Identifier: GPL-2.0 */
/* CLC messages over the TCP connection. */
#ifndef SMC_CLC_IO_H
#define SMC_CLC_IO_H

#include "wire/clc.h"

struct smc_handshake;

/**
 * smc_clc_peek() - wait for the peer's next message and look at its header
 * @hs: rendezvous
 * @hdr: filled on success; the whole message has arrived and not been consumed
 *
 * Context: process; sleeps up to the time of a CLC message.
 * Return: 0; -EPROTO if what arrived is not a CLC message; -ETIMEDOUT; -ECONNRESET when
 * the peer closed; -EINTR when the rendezvous was aborted.
 */
int smc_clc_peek(struct smc_handshake *hs, struct smc_clc_header *hdr);

/**
 * smc_clc_consume() - take the message that was peeked at off the connection
 * @hs: rendezvous
 * @hdr: its header
 * @buf: SMC_CLC_MAX_LEN bytes
 *
 * Return: 0 or -errno.
 */
int smc_clc_consume(struct smc_handshake *hs, const struct smc_clc_header *hdr, u8 *buf);

/**
 * smc_clc_send() - send a message
 *
 * Return: 0 or -errno.
 */
int smc_clc_send(struct smc_handshake *hs, const u8 *buf, size_t len);

/**
 * smc_clc_agree_on_tcp() - both ends go on with TCP
 * @hs: rendezvous
 * @version: of the DECLINE
 * @reason: diagnosis
 * @buf: SMC_CLC_MAX_LEN bytes
 *
 * Takes the DECLINE that the peer has already sent, if it has, and sends one otherwise.
 *
 * Return: 0, or an error that ends the connection.
 */
int smc_clc_agree_on_tcp(struct smc_handshake *hs, u8 version, u32 reason, u8 *buf);

/**
 * smc_clc_take_decline() - note the peer's DECLINE
 * @buf: message
 * @len: its length
 */
void smc_clc_take_decline(struct smc_handshake *hs, const u8 *buf, size_t len);

#endif
