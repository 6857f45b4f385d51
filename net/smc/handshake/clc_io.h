/* SPDX-License-Identifier: GPL-2.0 */
/* Sends and receives CLC messages over the TCP connection. */
#ifndef SMC_CLC_IO_H
#define SMC_CLC_IO_H

#include "path.h"
#include "wire/clc.h"

struct smc_handshake;

/* How long this end waits for a CLC message, in jiffies. */
#define SMC_CLC_WAIT	(6 * HZ)

/**
 * smc_clc_expect() - set the time after which the peer's next message is late
 * @hs: handshake that the calling thread runs
 */
void smc_clc_expect(struct smc_handshake *hs);

/**
 * smc_clc_has_message() - whether the peer's next message has come completely
 * @hs: handshake, which gets the header of the message
 *
 * Context: process, without the socket lock; waits for nobody.
 * Return: true if the message has come; false if not, if the bytes that came are not a CLC message,
 * or if the header can't be read now because the user keeps the socket locked.
 */
bool smc_clc_has_message(struct smc_handshake *hs);

/**
 * smc_clc_may_come() - whether the peer's next message has not come completely, but still may
 * @hs: handshake, which gets the header of the message
 *
 * Context: process, without the socket lock; waits for nobody.
 * Return: false if the message has come or is late, if the bytes that came are not a CLC message,
 * if the peer has closed or the TCP connection has failed, or if the handshake was aborted.
 */
bool smc_clc_may_come(struct smc_handshake *hs);

/**
 * smc_clc_peek() - wait for the peer's next message, and leave it on the connection
 * @hs: handshake, which gets the header of the message
 *
 * Context: process; sleeps until the message has come completely, or is late.
 * Return: 0; -ETIMEDOUT; -ECONNRESET when the peer closed or the TCP connection failed; -ENOMSG
 * when the bytes that came are not the start of a CLC message, or no whole header came after all;
 * -EPROTO when they are a malformed header; -EINTR when the handshake was aborted; -ERESTARTSYS on
 * a signal, if @hs is interruptible; -ECONNABORTED when the user kept the socket locked until the
 * message was late; or another error.
 */
int smc_clc_peek(struct smc_handshake *hs);

/**
 * smc_clc_take() - wait for the peer's next message and take it off the connection
 * @hs: handshake, which gets the header of the message
 * @buf: SMC_CLC_MAX_LEN bytes, for the message
 *
 * A DECLINE also sets @hs->reason. If the bytes that came are not a complete CLC message, the
 * function counts a violation, and leaves the bytes on the connection.
 *
 * Context: process; sleeps until the message has come completely, or is late.
 * Return: 0; SMC_DIAG_SYNC when no byte came in time; -ECONNRESET when the peer closed, the TCP
 * connection failed, or the bytes that came are not a complete CLC message; -EINTR when the
 * handshake was aborted; -ECONNABORTED when the user kept the socket locked; or another error.
 */
s64 smc_clc_take(struct smc_handshake *hs, u8 *buf);

/**
 * smc_clc_take_early_decline() - take a DECLINE that the peer sent before its turn
 * @hs: handshake, whose reason the DECLINE sets
 * @buf: SMC_CLC_MAX_LEN bytes
 *
 * Context: process, without the socket lock; waits for nobody.
 * Return: true if it took a DECLINE; false if no DECLINE has come completely, or if the DECLINE
 * can't be taken now because the user keeps the socket locked.
 */
bool smc_clc_take_early_decline(struct smc_handshake *hs, u8 *buf);

/**
 * smc_clc_send() - send a message
 * @hs: handshake that the calling thread runs
 * @buf: the whole message, as the functions of wire/ build it
 * @len: length of the message
 *
 * Context: process, without the socket lock. If a user has the socket locked, the function waits
 *	for the lock, but no longer than for a CLC message. If the handshake has no place in the
 *	quota, the function does not wait.
 * Return: 0 or -errno. If the user kept the socket locked: -ECONNABORTED, or -EBUSY for a handshake
 *	without a place in the quota.
 */
int smc_clc_send(struct smc_handshake *hs, const u8 *buf, size_t len);

/**
 * smc_clc_ask() - send a message that the peer is to answer
 * @hs: handshake that the calling thread runs
 * @buf: the whole message, as the functions of wire/ build it
 * @len: length of the message
 *
 * Context: as smc_clc_send().
 * Return: as smc_clc_send().
 */
int smc_clc_ask(struct smc_handshake *hs, const u8 *buf, size_t len);

/**
 * smc_clc_defer_decline() - go on with TCP, and decline a PROPOSAL that still comes
 * @hs: handshake of a server that has got no message
 * @reason: SMC_DIAG_* of the fallback, which no message carries
 *
 * No DECLINE is sent before a PROPOSAL comes: if the SMC option of the SYN-ACK has not reached the
 * client, the client's application would read the DECLINE as data.
 */
void smc_clc_defer_decline(struct smc_handshake *hs, u32 reason);

/**
 * smc_clc_cancel() - describe the events that cancel a path's waits in the handshake
 * @hs: handshake, which outlives the waits
 *
 * A path waits, for example, for a link to be confirmed. No CLC message is due during such a wait.
 * Three events cancel the wait: the peer sends bytes, the TCP connection fails, or the application
 * gives up. The peer's bytes can only be a DECLINE. The peer's FIN does not cancel the wait: a
 * link's confirmation may still come over the link.
 *
 * Return: the events.
 */
struct smc_cancel smc_clc_cancel(struct smc_handshake *hs);

/**
 * smc_clc_decline() - decline the handshake, so that both ends go on with TCP
 * @hs: handshake that the calling thread runs; its setups hold nothing any more
 * @version: SMC version of the DECLINE
 * @reason: SMC_DIAG_* of the fallback and of the DECLINE
 * @buf: SMC_CLC_MAX_LEN bytes
 *
 * If the peer's DECLINE has come, the function takes it; otherwise it sends a DECLINE. Once both
 * ends have agreed on SMC, any byte from the peer begins a DECLINE, so the function waits for the
 * rest of that message.
 *
 * Context: process, without the socket lock; sleeps at most as long as for a CLC message.
 * Return: 0; -EBUSY as from smc_clc_send(); or an error that ends the connection.
 */
int smc_clc_decline(struct smc_handshake *hs, u8 version, u32 reason, u8 *buf);

#endif
