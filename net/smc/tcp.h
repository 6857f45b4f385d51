/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SMC's access to the internals of TCP's socks. Besides tcp.[ch], only compat.h and
 * socket/callbacks.c depend on how TCP works inside. All of them have to be compared with each new
 * kernel.
 *
 * Connections that wait for accept() are in TCP's accept queue. The queue counts against the
 * backlog, and ss shows it, so SMC's connections wait there, too. TCP's accept() locks the
 * listener, looks whether the queue is empty, and if not, takes the first connection without
 * looking again. So no thread may take a connection out of the queue without the listener's lock.
 */
#ifndef SMC_TCP_H
#define SMC_TCP_H

#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat.h"

/*
 * Whether this end offers SMC. A client does so in its SYN. A listener counts as offering SMC once
 * it has sent the SMC option in a SYN-ACK.
 */
static inline bool smc_tcp_offers(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->syn_smc);
}

static inline void smc_tcp_set_offer(struct sock *sk, bool offer)
{
	WRITE_ONCE(tcp_sk(sk)->syn_smc, offer);
}

/* Whether the peer's SYN or SYN-ACK had the SMC option. */
static inline bool smc_tcp_is_offered(const struct sock *sk)
{
	return tcp_sk(sk)->rx_opt.smc_ok;
}

/* TCP calls @congested to find out whether to leave the SMC option out of a SYN-ACK. */
static inline void smc_tcp_set_congested(struct sock *sk, bool (*congested)(const struct sock *sk))
{
	tcp_sk(sk)->smc_hs_congested = congested;
}

/* Sets whether acknowledgements are delayed, so that they can leave with data. */
static inline void smc_tcp_set_delayed_ack(struct sock *sk, bool is_delayed)
{
	if (is_delayed)
		inet_csk_enter_pingpong_mode(sk);
	else
		inet_csk_exit_pingpong_mode(sk);
}

/* TCP's state of whether acknowledgements are delayed, which TCP_QUICKACK sets, too. */
static inline u8 smc_tcp_pingpong(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_ack.pingpong);
}

static inline void smc_tcp_set_pingpong(struct sock *sk, u8 pingpong)
{
	inet_csk(sk)->icsk_ack.pingpong = pingpong;
}

/* Sequence number of the next byte that is written. */
static inline u32 smc_tcp_written(const struct sock *sk)
{
	return tcp_sk(sk)->write_seq;
}

/* Whether the next byte to read is the urgent one. */
static inline bool smc_tcp_is_at_urgent(const struct sock *sk)
{
	return tcp_sk(sk)->urg_data && tcp_sk(sk)->urg_seq == tcp_sk(sk)->copied_seq;
}

/* Whether recv() finds bytes or, with MSG_OOB, the urgent byte. */
static inline bool smc_tcp_is_readable(struct sock *sk)
{
	return tcp_inq(sk) > 0 || (READ_ONCE(tcp_sk(sk)->urg_data) & TCP_URG_VALID);
}

static inline u32 smc_tcp_retransmits(const struct sock *sk)
{
	return tcp_sk(sk)->total_retrans;
}

static inline u32 smc_tcp_segments_in(const struct sock *sk)
{
	return tcp_sk(sk)->segs_in;
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

/* Return: @ipv6 or, if that is NULL, @ipv4 mapped to IPv6. */
static inline struct in6_addr smc_tcp_address(__be32 ipv4, const struct in6_addr *ipv6)
{
	struct in6_addr mapped;

	if (ipv6)
		return *ipv6;
	ipv6_addr_set_v4mapped(ipv4, &mapped);
	return mapped;
}

/* The address of this end. */
static inline struct in6_addr smc_tcp_saddr(const struct sock *sk)
{
	return smc_tcp_address(sk->sk_rcv_saddr, inet6_rcv_saddr(sk));
}

/* The address of the peer. */
static inline struct in6_addr smc_tcp_daddr(const struct sock *sk)
{
	const struct in6_addr *ipv6 = NULL;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		ipv6 = &sk->sk_v6_daddr;
#endif
	return smc_tcp_address(sk->sk_daddr, ipv6);
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

/* Whether recvmsg() is to report the number of unread bytes (TCP_INQ). */
static inline bool smc_tcp_tells_inq(const struct sock *sk)
{
	return tcp_sk(sk)->recvmsg_inq;
}

/* The value of TCP_USER_TIMEOUT, in milliseconds. */
static inline u32 smc_tcp_user_timeout(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_user_timeout);
}

/* The value of TCP_DEFER_ACCEPT, as a number of retransmissions of the SYN-ACK. */
static inline u8 smc_tcp_defer_accept(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_accept_queue.rskq_defer_accept);
}

/*
 * Whether the socket has an option or state that SMC can't serve: the mode TCP_REPAIR; keys for
 * TCP-MD5 or TCP-AO; or a shutdown() without a connection, after which TCP ends the next connection
 * as soon as it begins. The caller holds the socket lock.
 */
static inline bool smc_must_be_tcp(const struct sock *sk)
{
	sock_owned_by_me(sk);
	return tcp_sk(sk)->repair || smc_tcp_has_keys(sk) || READ_ONCE(sk->sk_shutdown);
}

/*
 * Whether a client's socket has an option or state that SMC can't serve (smc_must_be_tcp()), or
 * its bytes may leave with the SYN (TCP Fast Open) and so can't go by SMC. The caller holds the
 * socket lock.
 */
static inline bool smc_client_must_be_tcp(const struct sock *sk)
{
	return smc_must_be_tcp(sk) || smc_connect_is_deferred(sk) ||
	       tcp_sk(sk)->fastopen_connect;
}

/* Disconnects, as if the socket had never been connected. The caller holds the socket lock. */
static inline void smc_tcp_disconnect(struct sock *sk)
{
	sock_owned_by_me(sk);
	sk->sk_prot->disconnect(sk, O_NONBLOCK);
}

/**
 * smc_tcp_reset() - reset TCP's connection, and leave the socket as a reset by the peer would:
 * closed, with its addresses
 * @sk: socket, locked, whose connection is not closed; sk_err may be ECONNRESET afterwards
 *
 * Context: process.
 */
void smc_tcp_reset(struct sock *sk);

/**
 * smc_tcp_syn_is_lost() - whether two SYNs got no answer, or the next SYN is the last
 * @sk: socket in TCP_SYN_SENT, locked
 */
bool smc_tcp_syn_is_lost(const struct sock *sk);

/**
 * smc_tcp_probe() - send a segment with an old sequence number, which the peer acknowledges
 * @sk: connected socket, locked, with nothing in flight
 *
 * Return: whether the segment was sent.
 */
bool smc_tcp_probe(struct sock *sk);

/**
 * smc_tcp_time_out() - end a connection whose peer does not answer any more
 * @sk: socket, locked
 */
void smc_tcp_time_out(struct sock *sk);

/**
 * smc_tcp_peek() - copy the next received bytes without consuming them, regardless of the
 * application's options
 * @sk: socket, locked
 * @buf: buffer of @len bytes
 * @len: number of bytes to copy; at least as many have come
 *
 * Return: 0, or -EPROTO if one of the bytes is urgent.
 */
int smc_tcp_peek(const struct sock *sk, u8 *buf, size_t len);

/**
 * smc_tcp_drop() - consume and drop the next received bytes
 * @sk: socket, locked
 * @len: number of bytes to drop; at least as many have come
 *
 * Return: the number of bytes dropped, which is less than @len if a byte is urgent.
 */
size_t smc_tcp_drop(struct sock *sk, size_t len);

/**
 * smc_tcp_charge_ahead() - charge the socket's control group for a work's next send, beforehand
 * @sk: socket, locked
 * @len: number of bytes to send; 0 for a FIN
 *
 * If the group has no room, TCP's charge for a send by a thread first reclaims the group's memory
 * in many passes, which the group's user can make slow, and then calls the OOM killer. Works of a
 * queue that several users share must not wait for that. So they charge what the send needs
 * beforehand, at once and beyond the limit, as a softirq does. The group's next ordinary allocation
 * has to reclaim. In a thread that runs no work, this function does nothing.
 */
void smc_tcp_charge_ahead(struct sock *sk, size_t len);

/**
 * smc_tcp_fin_ahead() - send a connection's FIN before a work closes the connection
 * @sk: socket without a user
 *
 * tcp_close() gives back what was charged ahead, and then charges for the FIN, for which the work
 * might have to wait. So this function sends the FIN earlier, with a charge of its own.
 *
 * Context: process, may sleep.
 */
void smc_tcp_fin_ahead(struct sock *sk);

/* Jiffies after which a work that found a socket locked tries again. */
#define SMC_SOCK_RETRY		(HZ / 20)

/**
 * smc_tcp_trylock() - lock a socket like lock_sock(), unless another thread has it locked
 * @sk: socket, which its user may keep locked for long
 *
 * A user can keep his socket locked for as long as he likes, for example by a setsockopt() from
 * memory whose page fault never ends. So no work waits for a socket lock: a work that finds the
 * socket locked tries again later.
 *
 * Context: process.
 * Return: whether the socket is locked now.
 */
bool smc_tcp_trylock(struct sock *sk);

/**
 * smc_tcp_unlock() - unlock a socket, perhaps in a work of a queue that several users share
 * @sk: socket, locked
 *
 * The unlock handles the packets that came while the socket was locked. In a work, their memory is
 * charged at once and beyond the limit, see smc_tcp_charge_ahead().
 */
void smc_tcp_unlock(struct sock *sk);

/**
 * smc_tcp_write() - send bytes that are not the application's, at once
 * @sk: socket, locked; accept() need not have returned it yet
 * @buf: bytes to send
 * @len: number of bytes, less than TCP's smallest send buffer
 *
 * Return: 0 or -errno.
 */
int smc_tcp_write(struct sock *sk, const u8 *buf, size_t len);

/**
 * smc_tcp_is_secured() - whether IPsec protects the connection, which rules out SMC
 * @sk: connected TCP socket
 *
 * SMC's bytes would bypass IPsec. The route is looked up anew if it has changed.
 *
 * Context: process, without the socket lock; waits for nobody.
 * Return: true also if the route is not known now, because IPsec may protect the connection.
 */
bool smc_tcp_is_secured(struct sock *sk);

/**
 * smc_tcp_drop_offered_requests() - drop a listener's requests whose SYN-ACK offered SMC
 * @sk: listener that no longer offers SMC, not locked
 *
 * A listener has no list of its requests, so TCP's hash table is searched.
 *
 * Context: process; may sleep.
 */
void smc_tcp_drop_offered_requests(struct sock *sk);

/**
 * smc_peer_in_net() - whether the peer is in this namespace: packets go over the loopback device
 * @sk: connected TCP socket
 *
 * Context: any.
 */
bool smc_peer_in_net(const struct sock *sk);

/**
 * smc_local_peer_find() - find the socket of the local peer
 * @sk: connected TCP socket, for which smc_peer_in_net() holds
 *
 * The peer's socket is not found if addresses are translated between the ends, or if the socket is
 * bound to another device than loopback.
 *
 * Context: any.
 * Return: the peer's socket, with a reference; or NULL.
 */
struct sock *smc_local_peer_find(const struct sock *sk);

/**
 * smc_local_peer_is_captured() - whether a program captures packets on the loopback device
 * @sk: connected TCP socket, for which smc_peer_in_net() holds
 *
 * Context: any.
 */
bool smc_local_peer_is_captured(const struct sock *sk);

/* Whether a connection, req->sk, is one that the caller looks for. Called with the queue's lock. */
typedef bool (*smc_accept_queue_fits)(const struct request_sock *req, const void *arg);

/**
 * smc_accept_queue_is_empty() - whether no connection waits for accept()
 * @listener: socket that listens, or has stopped; not necessarily locked
 *
 * Context: any.
 */
static inline bool smc_accept_queue_is_empty(const struct sock *listener)
{
	return reqsk_queue_empty(&inet_csk(listener)->icsk_accept_queue);
}

/**
 * smc_accept_queue_is_half_full() - whether more than half of the accept queue is in use
 * @listener: socket that listens, or has stopped; not necessarily locked
 *
 * TCP lets one more connection than the backlog wait for accept().
 *
 * Context: any.
 */
static inline bool smc_accept_queue_is_half_full(const struct sock *listener)
{
	unsigned int size = READ_ONCE(listener->sk_max_ack_backlog) + 1;

	return READ_ONCE(listener->sk_ack_backlog) > size / 2;
}

/**
 * smc_accept_queue_has() - whether a connection that fits waits for accept()
 * @listener: socket that listens, or has stopped; not necessarily locked
 * @fits: tells which connections fit
 * @arg: passed to @fits
 *
 * Looks only at the first few thousand connections. A connection behind them is found later, when
 * the listener's work has taken new connections out of the queue, or accept() has taken ready ones.
 *
 * Context: any, without the lock of a connection that waits.
 */
bool smc_accept_queue_has(struct sock *listener, smc_accept_queue_fits fits, const void *arg);

/**
 * smc_accept_queue_take() - take the first connection that fits
 * @listener: TCP socket, locked
 * @fits: tells which connections fit; must refuse a connection whose SYN-ACK is not acknowledged
 *	yet (Fast Open)
 * @arg: passed to @fits
 *
 * Return: TCP's request of the connection, with a reference to the request and to the connection,
 *	req->sk; or NULL.
 */
struct request_sock *smc_accept_queue_take(struct sock *listener, smc_accept_queue_fits fits,
					   const void *arg);

/**
 * smc_accept_queue_try_take() - take the first connections that fit, in a worker or in a thread of
 * another user
 * @listener: TCP socket, not locked
 * @fits: tells which connections fit
 * @arg: passed to @fits
 * @reqs: gets TCP's requests of the connections, as smc_accept_queue_take() returns them
 * @max: number of places in @reqs
 * @more: set, unless -EAGAIN is returned, to whether the queue still has connections that the
 *	function did not look at
 *
 * The function holds only the listener's spinlock. If it owned the socket lock, and its thread then
 * got no processor time, the listener's user would have to wait for that thread. The function looks
 * only at the first few thousand connections, as smc_accept_queue_has() does.
 *
 * Context: process.
 * Return: number of connections that were taken, or -EAGAIN if a user has the listener locked.
 */
int smc_accept_queue_try_take(struct sock *listener, smc_accept_queue_fits fits, const void *arg,
			      struct request_sock **reqs, int max, bool *more);

/**
 * smc_accept_queue_put() - have a connection wait for accept() again
 * @listener: socket that listens, or has stopped; not locked
 * @req: request of the connection; the queue gets the caller's references to @req and to the
 *	connection
 *
 * If the socket does not listen any more, TCP disconnects the connection and destroys it.
 *
 * Context: softirqs off, the connection is locked by bh_lock_sock().
 */
void smc_accept_queue_put(struct sock *listener, struct request_sock *req);

/**
 * smc_accept_queue_raise() - move the first connection that fits to the head of the queue, where
 * TCP's accept() takes it
 * @listener: TCP socket, locked
 * @fits: tells which connections fit
 * @arg: passed to @fits
 *
 * Return: false if no connection fits.
 */
bool smc_accept_queue_raise(struct sock *listener, smc_accept_queue_fits fits, const void *arg);

/**
 * smc_accept_queue_last() - get the last connection in the queue
 * @listener: socket that listens, or has stopped; not necessarily locked
 *
 * Context: any.
 * Return: the connection, with a reference; or NULL if the queue is empty.
 */
struct sock *smc_accept_queue_last(struct sock *listener);

#endif
