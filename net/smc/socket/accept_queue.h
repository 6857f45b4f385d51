/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue in which TCP keeps the connections of a listener until accept(). It counts against the
 * backlog, and ss shows it, so those of SMC wait there, too.
 *
 * TCP's accept() looks at the queue twice, with the listener locked: nobody takes anything out of
 * it without that lock. It takes what is first.
 */
#ifndef SMC_ACCEPT_QUEUE_H
#define SMC_ACCEPT_QUEUE_H

#include <net/inet_connection_sock.h>

struct request_sock;
struct sock;

/* Whether a connection, req->sk, is meant. Called with the queue's lock. */
typedef bool (*smc_accept_queue_fits)(const struct request_sock *req, const void *arg);

/**
 * smc_request_is_new() - whether a connection is to have a rendezvous, which has not begun
 * @req: request of the connection
 * @arg: nothing
 *
 * Context: any, under RCU or with the queue's lock.
 */
bool smc_request_is_new(const struct request_sock *req, const void *arg);

/**
 * smc_request_is_ready() - whether a connection is for accept()
 * @req: request of the connection
 * @arg: nothing
 *
 * Context: as of smc_request_is_new().
 */
bool smc_request_is_ready(const struct request_sock *req, const void *arg);

/**
 * smc_accept_queue_is_empty() - whether nothing waits
 * @listener: TCP socket
 *
 * Context: any.
 */
static inline bool smc_accept_queue_is_empty(const struct sock *listener)
{
	return reqsk_queue_empty(&inet_csk(listener)->icsk_accept_queue);
}

/**
 * smc_accept_queue_has() - whether a connection waits
 * @listener: TCP socket
 * @fits: which are meant
 * @arg: for @fits
 *
 * Context: any, without the lock of a connection that waits.
 */
bool smc_accept_queue_has(struct sock *listener, smc_accept_queue_fits fits, const void *arg);

/**
 * smc_accept_queue_take() - take the first connection that fits
 * @listener: TCP socket, locked
 * @fits: which are meant; none of which TCP still awaits the acknowledgement (Fast Open)
 * @arg: for @fits
 *
 * Return: TCP's request that it came by, with a reference to it and to the connection, req->sk; or
 *	NULL.
 */
struct request_sock *smc_accept_queue_take(struct sock *listener, smc_accept_queue_fits fits,
					   const void *arg);

/**
 * smc_accept_queue_put() - have a connection wait for accept() again
 * @listener: TCP socket
 * @req: request of the connection; both references are the queue's then
 *
 * If the socket does not listen any more, TCP disconnects the connection and destroys it.
 *
 * Context: softirqs off, the connection is locked by bh_lock_sock().
 */
void smc_accept_queue_put(struct sock *listener, struct request_sock *req);

/**
 * smc_accept_queue_raise() - have TCP's accept() find a connection that fits
 * @listener: TCP socket, locked
 * @fits: which are meant
 * @arg: for @fits
 *
 * Return: false if there is none.
 */
bool smc_accept_queue_raise(struct sock *listener, smc_accept_queue_fits fits, const void *arg);

/**
 * smc_accept_queue_last() - what came last
 * @listener: TCP socket
 *
 * Context: any.
 * Return: the connection, with a reference; or NULL if the queue is empty.
 */
struct sock *smc_accept_queue_last(struct sock *listener);

#endif
