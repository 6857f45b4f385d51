/* SPDX-License-Identifier: GPL-2.0 */
/* CLC messages over the TCP connection. */
#ifndef SMC_CLC_IO_H
#define SMC_CLC_IO_H

#include "path.h"
#include "wire/clc.h"

struct smc_handshake;

/**
 * smc_clc_expect() - the peer's next message has the time of one from now on
 * @hs: handshake
 */
void smc_clc_expect(struct smc_handshake *hs);

/**
 * smc_clc_has_message() - whether the peer's next message has come whole
 * @hs: handshake, in which its header is noted
 *
 * Context: process, without the socket lock; waits for nobody.
 * Return: false also while the user keeps the socket locked.
 */
bool smc_clc_has_message(struct smc_handshake *hs);

/**
 * smc_clc_peek() - wait for the peer's next message, which stays where it is
 * @hs: handshake, in which its header is noted
 *
 * Context: process; sleeps up to the time of a CLC message.
 * Return: 0; -ETIMEDOUT; -ECONNRESET when the peer closed; -EPROTO when it sent something else;
 * -EINTR when the handshake was aborted; -ERESTARTSYS on a signal, if those are heard;
 * -ECONNABORTED when the user kept the socket locked until the message was late; or another error.
 */
int smc_clc_peek(struct smc_handshake *hs);

/**
 * smc_clc_take() - wait for the peer's next message and take it off the connection
 * @hs: handshake, in which its header is noted
 * @buf: SMC_CLC_MAX_LEN bytes, for the message
 *
 * Of a DECLINE note is taken in @hs, too. What is not a CLC message is left there, and counted.
 *
 * Context: process; sleeps up to the time of a CLC message.
 * Return: 0; SMC_DIAG_SYNC when none came in time; -ECONNRESET when the peer closed, or sent
 * something else; -EINTR when the handshake was aborted; -ECONNABORTED when the user kept the
 * socket locked; or another error.
 */
s64 smc_clc_take(struct smc_handshake *hs, u8 *buf);

/**
 * smc_clc_take_early_decline() - take the DECLINE that the peer sent before it was this end's turn
 * @hs: handshake, in which note is taken of it
 * @buf: SMC_CLC_MAX_LEN bytes
 *
 * Return: whether there was one.
 */
bool smc_clc_take_early_decline(struct smc_handshake *hs, u8 *buf);

/**
 * smc_clc_send() - send a message
 * @hs: handshake
 * @buf: the message
 * @len: its length
 *
 * Context: process, without the socket lock; waits for that as long as for a message.
 * Return: 0 or -errno; -ECONNABORTED when the user kept the socket locked.
 */
int smc_clc_send(struct smc_handshake *hs, const u8 *buf, size_t len);

/**
 * smc_clc_ask() - send a message that the peer is to answer
 * @hs: handshake
 * @buf: the message
 * @len: its length
 *
 * Context: as of smc_clc_send().
 * Return: likewise.
 */
int smc_clc_ask(struct smc_handshake *hs, const u8 *buf, size_t len);

/**
 * smc_clc_defer_decline() - go on with TCP, and decline the PROPOSAL only once it comes
 * @hs: handshake, as server, before any message
 * @reason: diagnosis
 *
 * The client may never have seen the option, and its application would read a DECLINE as data.
 */
void smc_clc_defer_decline(struct smc_handshake *hs, u32 reason);

/**
 * smc_clc_cancel() - what ends the wait for a link to be confirmed, when no CLC message is due
 * @hs: handshake, which outlives the wait
 *
 * The peer says something, which can only be a DECLINE, or resets its TCP connection, or the
 * application has gone. Its FIN ends nothing: the link may be about to say that it was confirmed.
 */
struct smc_cancel smc_clc_cancel(struct smc_handshake *hs);

/**
 * smc_clc_fall_back() - both ends go on with TCP
 * @hs: handshake
 * @version: of the DECLINE
 * @reason: diagnosis
 * @buf: SMC_CLC_MAX_LEN bytes
 *
 * Takes the DECLINE that the peer has already sent, if it has, and sends one otherwise. Once both
 * have agreed on SMC, any byte of the peer's is the begin of a DECLINE, whose end is waited for.
 *
 * Context: process; sleeps up to the time of a CLC message.
 * Return: 0, or an error that ends the connection.
 */
int smc_clc_fall_back(struct smc_handshake *hs, u8 version, u32 reason, u8 *buf);

#endif
