/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What SMC reads and writes in TCP's socks. With compat.h and socket/callbacks.c this is all that
 * depends on how TCP works inside: a new kernel is compared with these.
 *
 * Connections that wait for accept() are in a queue of TCP's. It counts against the backlog, and ss
 * shows it, so those of SMC wait there, too. TCP's accept() looks at the queue twice, with the
 * listener locked: nobody takes anything out of it without that lock. It takes what is first.
 */
#ifndef SMC_TCP_H
#define SMC_TCP_H

#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "compat.h"

/* The option: this end offers SMC in its SYN; or, of a listener, it ever did in a SYN-ACK. */
static inline bool smc_tcp_offers(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

static inline void smc_tcp_set_offer(struct sock *sk, bool offer)
{
	WRITE_ONCE(tcp_sk(sk)->syn_smc, offer);
}

/* The peer's SYN or SYN-ACK had the option. */
static inline bool smc_tcp_is_offered(const struct sock *sk)
{
	return tcp_sk(sk)->rx_opt.smc_ok;
}

/* TCP asks @congested whether to leave the option out of a SYN-ACK. */
static inline void smc_tcp_set_congested(struct sock *sk, bool (*congested)(const struct sock *sk))
{
	tcp_sk(sk)->smc_hs_congested = congested;
}

/* Whether an acknowledgement waits for data to go with. */
static inline void smc_tcp_set_delayed_ack(struct sock *sk, bool is_delayed)
{
	if (is_delayed)
		inet_csk_enter_pingpong_mode(sk);
	else
		inet_csk_exit_pingpong_mode(sk);
}

/* Where the next byte that is written will be. */
static inline u32 smc_tcp_written(const struct sock *sk)
{
	return tcp_sk(sk)->write_seq;
}

static inline bool smc_tcp_has_urgent(const struct sock *sk)
{
	return tcp_sk(sk)->urg_data;
}

static inline u32 smc_tcp_retransmits(const struct sock *sk)
{
	return tcp_sk(sk)->total_retrans;
}

static inline bool smc_tcp_is_unacked(const struct sock *sk)
{
	return tcp_sk(sk)->packets_out;
}

/* Jiffies since the peer sent anything. */
static inline u32 smc_tcp_silence(const struct sock *sk)
{
	return keepalive_time_elapsed(tcp_sk(sk));
}

/* Options that the application has set. */

static inline bool smc_tcp_is_corked(const struct sock *sk)
{
	return tcp_sk(sk)->nonagle & TCP_NAGLE_CORK;
}

static inline bool smc_tcp_is_nodelay(const struct sock *sk)
{
	return tcp_sk(sk)->nonagle & TCP_NAGLE_OFF;
}

static inline u32 smc_tcp_notsent_lowat(const struct sock *sk)
{
	return tcp_notsent_lowat(tcp_sk(sk));
}

/* TCP_INQ */
static inline bool smc_tcp_tells_inq(const struct sock *sk)
{
	return tcp_sk(sk)->recvmsg_inq;
}

/* In milliseconds. */
static inline u32 smc_tcp_user_timeout(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_user_timeout);
}

/* TCP_DEFER_ACCEPT, as a number of SYN-ACKs. */
static inline u8 smc_tcp_defer_accept(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_accept_queue.rskq_defer_accept);
}

/* Something else changes the bytes or the packets; with the socket lock. */
static inline bool smc_tcp_is_altered(const struct sock *sk)
{
	return tcp_sk(sk)->repair || smc_tcp_has_keys(sk) || inet_csk(sk)->icsk_ulp_ops;
}

/* Bytes may leave with the SYN. */
static inline bool smc_tcp_has_fast_open(const struct sock *sk)
{
	return smc_connect_is_deferred(sk) || tcp_sk(sk)->fastopen_connect;
}

/* As if it had never been connected; with the socket lock. */
static inline void smc_tcp_disconnect(struct sock *sk)
{
	sk->sk_prot->disconnect(sk, O_NONBLOCK);
}

/**
 * smc_tcp_reset() - leave TCP's connection as a reset does: closed, with its addresses
 * @sk: socket, locked, whose connection is not closed; sk_err may be ECONNRESET then
 *
 * Context: process.
 */
void smc_tcp_reset(struct sock *sk);

/**
 * smc_tcp_syn_is_lost() - whether two SYNs were lost, or the next one is the last
 * @sk: socket in TCP_SYN_SENT, locked
 */
bool smc_tcp_syn_is_lost(const struct sock *sk);

/**
 * smc_tcp_probe() - send what the peer acknowledges, for it has no new sequence number
 * @sk: connected socket, locked, with nothing in flight
 *
 * Return: whether it left.
 */
bool smc_tcp_probe(struct sock *sk);

/**
 * smc_tcp_time_out() - end a connection whose peer is not there any more
 * @sk: socket, locked
 */
void smc_tcp_time_out(struct sock *sk);

/**
 * smc_tcp_peek() - copy the next bytes, whatever the application has set
 * @sk: socket, locked
 * @buf: for @len bytes
 * @len: how many, which have come
 *
 * Return: 0, or -EPROTO if one of them is urgent.
 */
int smc_tcp_peek(const struct sock *sk, u8 *buf, size_t len);

/**
 * smc_tcp_drop() - read and drop the next bytes
 * @sk: socket, locked
 * @len: how many, which have come
 */
void smc_tcp_drop(struct sock *sk, size_t len);

/**
 * smc_tcp_write() - send bytes that are not the application's, at once
 * @sk: socket, locked; may wait for accept()
 * @buf: bytes
 * @len: how many; fewer than the smallest send buffer
 *
 * Return: 0 or -errno.
 */
int smc_tcp_write(struct sock *sk, const u8 *buf, size_t len);

/**
 * smc_tcp_drop_offered_requests() - drop a listener's requests whose SYN-ACK offered SMC
 * @sk: listener
 *
 * A listener has no list of them: TCP's table is searched.
 *
 * Context: process; may sleep.
 */
void smc_tcp_drop_offered_requests(struct sock *sk);

/**
 * smc_local_peer() - whether packets go no further than this namespace
 * @sk: connected TCP socket
 *
 * Context: any.
 */
bool smc_local_peer(const struct sock *sk);

/**
 * smc_local_peer_find() - the socket that packets go to
 * @sk: connected TCP socket, for which smc_local_peer() holds
 *
 * Addresses that are translated between the ends hide it, and so does a socket bound to a device.
 *
 * Context: any.
 * Return: it, with a reference; or NULL.
 */
struct sock *smc_local_peer_find(const struct sock *sk);

/**
 * smc_local_peer_is_captured() - whether somebody captures all packets where they go
 * @sk: connected TCP socket, for which smc_local_peer() holds
 *
 * Context: any.
 */
bool smc_local_peer_is_captured(const struct sock *sk);

/* Whether a connection, req->sk, is meant. Called with the queue's lock. */
typedef bool (*smc_accept_queue_fits)(const struct request_sock *req, const void *arg);

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
 * smc_accept_queue_is_half_full() - whether more than half of the backlog waits
 * @listener: TCP socket
 *
 * Context: any.
 */
static inline bool smc_accept_queue_is_half_full(const struct sock *listener)
{
	return READ_ONCE(listener->sk_ack_backlog) > READ_ONCE(listener->sk_max_ack_backlog) / 2;
}

/**
 * smc_accept_queue_has() - whether a connection waits
 * @listener: TCP socket
 * @fits: which are meant
 * @arg: for @fits
 *
 * Beyond the first few thousand it is not looked for: it is found when these have gone. New ones
 * there go when the listener's work takes them, each of which is told of later, and others by
 * accept(), which asks again each time.
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
 * smc_accept_queue_try_take() - the same, for a thread that is not the listener's user's
 * @listener: TCP socket, not locked
 * @fits: which are meant
 * @arg: for @fits
 *
 * It holds the listener's spinlock and never owns the socket: a thread that did could be kept from
 * the processor, and the listener's user would wait for it.
 *
 * Context: process.
 * Return: as smc_accept_queue_take(); NULL also if a user has the listener locked, or if the first
 *	few thousand do not fit.
 */
struct request_sock *smc_accept_queue_try_take(struct sock *listener, smc_accept_queue_fits fits,
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
