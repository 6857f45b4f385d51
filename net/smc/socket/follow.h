/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP's connection under a stream ends as one would that carries the same bytes: its states, its
 * TIME_WAIT and what ss shows are then TCP's own.
 *
 * A FIN leaves when the peer's host has the message by which the stream says the same, for a
 * peer may take TCP's word for the end of all. The last bytes may wait for the peer's window, and
 * so does the FIN. A reset leaves bytes out, and waits for nothing.
 */
#ifndef SMC_FOLLOW_H
#define SMC_FOLLOW_H

#include <linux/types.h>

struct smc_sock;
struct smc_stream;
struct sock;

/**
 * smc_follow() - close TCP's side of the connection, if the stream's is
 * @sk: socket, locked; one without a stream is left alone
 *
 * Context: process.
 */
void smc_follow(struct sock *sk);

/**
 * smc_follow_later() - the same of a socket that may be locked
 * @sk: socket, perhaps released already
 *
 * Context: any but hard interrupt.
 */
void smc_follow_later(struct sock *sk);

/**
 * smc_follow_begin() - catch up with a stream that has failed before it could be followed
 * @smc: socket, locked, which has just got its stream, or left its listener
 *
 * Context: process.
 */
void smc_follow_begin(struct smc_sock *smc);

/**
 * smc_follow_by_work() - what smc_follow_later() has begun
 * @smc: socket, locked
 *
 * Context: process.
 */
void smc_follow_by_work(struct smc_sock *smc);

/**
 * smc_follow_failure() - reset TCP's connection, if that has not happened, as the stream has failed
 * @sk: socket, locked, whose stream the caller has seen to have failed
 *
 * A call that has found out does this last, so that the next one, of whatever kind, is as with TCP.
 *
 * Context: process.
 */
void smc_follow_failure(struct sock *sk);

/**
 * smc_follow_close() - close the stream, and TCP's side with it
 * @st: stream
 * @sk: its socket, locked and unhooked
 * @linger: see smc_stream_close()
 *
 * Return: as smc_stream_close().
 */
bool smc_follow_close(struct smc_stream *st, struct sock *sk, long linger);

/**
 * smc_follow_info() - have TCP_INFO say what the stream knows
 * @smc: socket of a stream
 * @optval: TCP's answer, in which the state and the bytes are put right: TCP may not have heard yet
 *	of an end that the program has just read, and its bytes are those of the rendezvous
 * @optlen: its length
 *
 * Context: process.
 * Return: 0 or -EFAULT.
 */
int smc_follow_info(const struct smc_sock *smc, char __user *optval, const int __user *optlen);

#endif
