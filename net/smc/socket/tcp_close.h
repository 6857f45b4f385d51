/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Closing the TCP connection below a stream, and what its end means for the stream. The connection
 * ends as if it had carried the stream's bytes itself: its states, its TIME_WAIT and the output of
 * ss are those of plain TCP.
 *
 * TCP's FIN is sent only after the peer's host has got the message that ends the stream. Otherwise
 * the peer may take the FIN for the end of the whole connection. If the last bytes wait for the
 * peer's window, the FIN waits, too. A reset discards bytes, and waits for nothing.
 */
#ifndef SMC_TCP_CLOSE_H
#define SMC_TCP_CLOSE_H

#include <linux/types.h>

struct smc_sock;
struct smc_stream;
struct sock;
struct work_struct;

/**
 * smc_tcp_close() - shut down the TCP connection, if the stream is shut down, and its end was
 * delivered or both ends have sent their final flags
 * @sk: socket, locked
 * @st: stream that is attached to @sk
 *
 * Context: process.
 */
void smc_tcp_close(struct sock *sk, const struct smc_stream *st);

/**
 * smc_tcp_close_later() - queue a work that calls smc_tcp_close(), or resets TCP if the stream has
 * failed
 * @sk: socket; may be locked by another thread, or released already
 *
 * Context: any but hard interrupt.
 */
void smc_tcp_close_later(struct sock *sk);

/**
 * smc_tcp_close_begin() - call smc_tcp_close_later() if the stream failed before it had a socket
 * @smc: socket, locked, which has just got its stream, or left its listener
 *
 * Context: process.
 */
void smc_tcp_close_begin(struct smc_sock *smc);

/**
 * smc_tcp_close_by_work() - shut down or reset the TCP connection, in the work that
 * smc_tcp_close_later() queued
 * @smc: socket, locked
 *
 * Context: process.
 */
void smc_tcp_close_by_work(struct smc_sock *smc);

/**
 * smc_tcp_close_failed() - reset the TCP connection because the stream has failed
 * @sk: socket, locked; the caller has seen the stream's failure
 *
 * A call that reports the failure calls this function last, so that every later call behaves as
 * with TCP. Nothing happens if the TCP connection is closed already.
 *
 * Context: process.
 */
void smc_tcp_close_failed(struct sock *sk);

/**
 * smc_sock_check_tcp() - abort the stream if bytes arrived by TCP
 * @smc: socket in SMC_MODE_STREAM
 */
void smc_sock_check_tcp(struct smc_sock *smc);

/**
 * smc_sock_tcp_changed() - abort the stream, or wait for its end, if TCP's connection broke or got
 * a FIN
 * @smc: socket in SMC_MODE_STREAM, locked or in one of TCP's callbacks
 */
void smc_sock_tcp_changed(struct smc_sock *smc);

/**
 * smc_sock_check_fin() - abort a stream whose end has not come in time after TCP's FIN or reset
 * @work: work @fin of a struct smc_sock
 *
 * The stream's end travels on another path, so it may come later than TCP's. But a peer that closed
 * TCP and never ends the stream is gone.
 */
void smc_sock_check_fin(struct work_struct *work);

/**
 * smc_tcp_close_orderly() - close the stream and the TCP connection
 * @st: stream that is attached to @sk
 * @sk: socket of @st, locked and unhooked
 * @linger: see smc_stream_close()
 *
 * Context: process; may sleep.
 *
 * Return: as smc_stream_close().
 */
bool smc_tcp_close_orderly(struct smc_stream *st, struct sock *sk, long linger);

/**
 * smc_tcp_close_info() - correct the result of TCP_INFO for a stream
 * @smc: socket with a stream
 * @optval: TCP's result, in which the state and the byte counts are corrected. TCP may not
 *	have received the end that the program has just read, and it counts only the bytes
 *	of the handshake
 * @optlen: length of @optval
 *
 * Context: process.
 * Return: 0 or -EFAULT.
 */
int smc_tcp_close_info(const struct smc_sock *smc, char __user *optval, const int __user *optlen);

#endif
