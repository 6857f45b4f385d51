/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An SMC socket is a TCP socket with this module's operations: its struct sock is TCP's. SMC keeps
 * a struct smc_sock for it from connect(), listen() or the first SMC option on, in an array of the
 * namespace that is indexed by struct sock. sk_user_data points to the struct while SMC has
 * anything to do with the socket. A listener's sk_user_data is left to BPF's maps of sockets, so
 * callbacks.c finds the listener by its operations. TCP does every call of a socket that SMC does
 * not know, or that went back to TCP.
 *
 * Locking: the socket lock protects the mode. The struct lives until release, so calls
 * may use it without a reference; TCP's callbacks use it under RCU.
 */
#ifndef SMC_SOCK_H
#define SMC_SOCK_H

#include <linux/err.h>
#include <linux/net.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "path_kind.h"
#include "handshake/handshake.h"
#include "trylock.h"

struct smc_listener;
struct smc_stream;

enum smc_mode {
	SMC_MODE_TCP,		/* by choice or fallback; hooked only for late CLC messages */
	SMC_MODE_CONNECTING,	/* TCP's handshake is under way */
	SMC_MODE_HANDSHAKE,	/* SMC's handshake is under way */
	SMC_MODE_STREAM,	/* the stream carries the data */
	SMC_MODE_LISTEN,
};

/*
 * Value of smc_sock.local_listener: connect() will run SMC's handshake. With a remote peer it stays
 * so; a listener of this namespace that gets the other end replaces it.
 */
#define SMC_LISTENER_UNKNOWN	((struct smc_listener *)ERR_PTR(-ENOENT))

/**
 * struct smc_sock - what SMC knows of a socket
 * @sk: the TCP socket
 * @mode: see enum smc_mode
 * @role: client or server
 * @tcp_only: the socket has listened, and its later connections are TCP's
 * @tcp_holds: number of options being set, during which no connection may begin to use SMC
 * @limit_handshakes: the SMC_LIMIT_HS option: prefer TCP when many handshakes are under way
 * @local_listener: while connect() is under way and will run SMC's handshake: the listener of this
 *	namespace that has the other end, referenced, or SMC_LISTENER_UNKNOWN; otherwise NULL. If
 *	SMC's handshake begins while it is set, no work is queued. So the thread that sets it holds
 *	the socket lock until TCP has begun to connect, and then takes it in
 *	smc_connect_handshake(), unless another connect() has: the one that takes it runs the
 *	handshake that has begun
 * @reason: why the connection is TCP's: a diagnosis code, or 0
 * @peer_reason: the peer's diagnosis, or 0
 * @memcg: control group to charge for buffers, referenced; or NULL. It is the socket's, or, where
 *	TCP charges nobody, that of the thread that created this struct
 * @hs: SMC's handshake
 * @stream: the stream, from SMC_MODE_STREAM until release; else NULL
 * @later: work that callbacks of TCP and of the stream queue, see smc_sock_do_later()
 * @has_later: @later was queued at least once, see smc_sock_queue_later()
 * @syn: timer that detects SYNs without an answer, in SMC_MODE_CONNECTING
 * @option_removed: @syn has removed the SMC option from the SYNs still to come
 * @retrans_with: TCP's count of retransmissions when the option was removed
 * @awaited_end: SMC_CONN_* flags, one of which the peer's end of the stream is to carry after TCP's
 *	FIN or reset; 0 before those
 * @fin: work that aborts the stream if no flag of @awaited_end has come in time
 * @keepalive: timer that finds out whether TCP's connection below the stream still stands
 * @keepalive_probes: number of probes sent since the peer last answered
 * @keepalive_sent: time of the last probe, in tcp_jiffies32
 * @listener: the listener, from SMC_MODE_LISTEN until release; else NULL
 * @parent: listener that this connection came to, until accept()
 * @generation: that of the parent when the connection was taken from TCP
 * @req: TCP's request of this connection. The reference belongs to TCP's accept queue while the
 *	connection waits there
 * @is_deferred: accept() does not return the connection before the peer has sent data (of the
 *	stream); written under the parent's lock
 * @siblings: entry in one of the parent's lists
 * @rcu: frees the struct after TCP's callbacks are done with it
 */
struct smc_sock {
	struct sock *sk;
	enum smc_mode mode;
	enum smc_role role;
	bool tcp_only;
	unsigned int tcp_holds;
	bool limit_handshakes;
	struct smc_listener *local_listener;
	u32 reason;
	u32 peer_reason;
	struct mem_cgroup *memcg;
	struct smc_handshake hs;
	struct smc_stream *stream;
	struct delayed_work later;
	bool has_later;
	struct timer_list syn;
	bool option_removed;
	u32 retrans_with;
	u8 awaited_end;
	struct delayed_work fin;
	struct timer_list keepalive;
	unsigned int keepalive_probes;
	u32 keepalive_sent;
	struct smc_listener *listener;
	struct smc_listener *parent;
	unsigned int generation;
	struct request_sock *req;
	bool is_deferred;
	struct list_head siblings;
	struct rcu_head rcu;
};

/**
 * smc_is_connecting() - whether TCP's handshake or SMC's is under way
 * @smc: socket
 *
 * Context: any.
 */
static inline bool smc_is_connecting(const struct smc_sock *smc)
{
	enum smc_mode mode = READ_ONCE(smc->mode);

	return mode == SMC_MODE_CONNECTING || mode == SMC_MODE_HANDSHAKE;
}

/**
 * smc_tcp_data_ready() - TCP's sk_data_ready, as long as a socket is hooked
 * @sk: socket
 *
 * Context: TCP's: any but hard interrupt; the socket is locked, unless it listens.
 */
void smc_tcp_data_ready(struct sock *sk);

/**
 * smc_tcp_state_change() - TCP's sk_state_change, likewise
 * @sk: socket
 *
 * Context: TCP's: any but hard interrupt; the socket is locked.
 */
void smc_tcp_state_change(struct sock *sk);

/**
 * smc_sk_listening() - smc_sk() of a socket whose sk_user_data is not SMC's
 * @sk: socket with this module's callbacks
 *
 * Context: as smc_sk().
 * Return: NULL unless the socket is a listener of SMC's.
 */
struct smc_sock *smc_sk_listening(const struct sock *sk);

/**
 * smc_sk() - what SMC knows of a socket that it has to do with now
 * @sk: socket
 *
 * Context: the caller has the socket's file open, is its release, or is under RCU. No checker finds
 * a caller that is none of these. A caller that only compares the pointer may have any context.
 * Return: NULL if the socket is TCP's now.
 */
static inline struct smc_sock *smc_sk(const struct sock *sk)
{
	uintptr_t tagged;

	/* Another user of sk_user_data replaces a callback, or tags the pointer differently. */
	if (READ_ONCE(sk->sk_state_change) != smc_tcp_state_change ||
	    READ_ONCE(sk->sk_data_ready) != smc_tcp_data_ready)
		return NULL;
	tagged = (uintptr_t)rcu_dereference_raw(__sk_user_data(sk));
	if ((tagged & ~SK_USER_DATA_PTRMASK) != SK_USER_DATA_NOCOPY)
		return smc_sk_listening(sk);
	return (struct smc_sock *)(tagged & SK_USER_DATA_PTRMASK);
}

/**
 * smc_sk_is_connecting() - smc_is_connecting() of a socket that SMC may not know
 * @sk: socket
 *
 * Context: any.
 */
static inline bool smc_sk_is_connecting(const struct sock *sk)
{
	const struct smc_sock *smc = smc_sk(sk);

	return smc && smc_is_connecting(smc);
}

/**
 * smc_mode() - the mode of a socket, for a call without its lock
 * @smc: socket
 *
 * Context: any.
 */
static inline enum smc_mode smc_mode(const struct smc_sock *smc)
{
	/* Pairs with smc_sock_enter_stream(), which sets the stream before the mode. */
	return smp_load_acquire(&smc->mode);
}

/**
 * smc_stream_of() - the socket's stream now; inline for the calls that transfer data
 * @sk: socket whose release has not begun
 *
 * Context: any.
 * Return: NULL without one.
 */
static __always_inline struct smc_stream *smc_stream_of(const struct sock *sk)
{
	struct smc_sock *smc = smc_sk(sk);

	return smc && smc_mode(smc) == SMC_MODE_STREAM ? smc->stream : NULL;
}

/**
 * smc_listener_of() - the socket's listener now, looked up once
 * @sk: socket whose release has not begun
 *
 * Context: any.
 * Return: NULL if the socket does not listen with SMC; another thread may make it TCP's at any
 * time.
 */
static inline struct smc_listener *smc_listener_of(const struct sock *sk)
{
	struct smc_sock *smc = smc_sk(sk);

	return smc && smc_mode(smc) == SMC_MODE_LISTEN ? smc->listener : NULL;
}

/**
 * smc_sock_find() - what SMC knows of a socket, including one that went back to TCP
 * @sk: socket
 *
 * Context: the caller has the socket's file open, is its release, or is under RCU.
 * Return: NULL if SMC does not know the socket.
 */
struct smc_sock *smc_sock_find(const struct sock *sk);

/**
 * smc_sock_create() - make SMC know a socket, in SMC_MODE_TCP
 * @sk: socket
 * @role: of this end in SMC's handshake
 *
 * The struct and later its buffers are charged to the socket's control group, or else to that of
 * set_active_memcg() or of the caller.
 *
 * Return: NULL without memory.
 */
struct smc_sock *smc_sock_create(struct sock *sk, enum smc_role role);

/**
 * smc_sock_free() - free what SMC knows of a socket, after an RCU grace period
 * @smc: socket that was forgotten, and whose SMC handshake is over
 */
void smc_sock_free(struct smc_sock *smc);

/**
 * smc_sock_forget() - take a socket out of the array because its release begins
 * @smc: socket
 *
 * Each socket in the array has a live struct sock and, in SMC_MODE_STREAM, a live stream.
 */
void smc_sock_forget(struct smc_sock *smc);

/**
 * smc_sock_timer() - body of a socket's timer function
 * @smc: socket
 * @timer: one of its timers, which has expired
 * @look: called under bh_lock_sock(); returns in how many jiffies to call it again, or 0
 *
 * Context: softirq.
 */
void smc_sock_timer(struct smc_sock *smc, struct timer_list *timer,
		    unsigned long (*look)(struct smc_sock *smc));

/**
 * smc_sock_is_taken() - whether another part of the kernel uses a socket, or seems to
 * @sk: socket about to connect or listen, or just taken from TCP
 *
 * Under tcp2smc, parts of the kernel that call sock_create() get an SMC socket. It differs from an
 * application's: it has foreign callbacks or user data, restricted allocations (sk_allocation), or
 * no file although sock_create_kern() did not create it.
 *
 * Context: the socket is locked.
 */
bool smc_sock_is_taken(const struct sock *sk);

/**
 * smc_sock_leave_smc() - leave the socket to TCP, and end its stream if it has one
 * @smc: socket, locked, whose TCP connection is closed or about to be
 *
 * Calls may be under way in the stream, so the stream stays until the release of the socket.
 *
 * Context: process.
 */
void smc_sock_leave_smc(struct smc_sock *smc);

/**
 * smc_sock_hook() - replace the socket's callbacks by this module's
 * @smc: socket, locked
 * @mode: to enter
 */
void smc_sock_hook(struct smc_sock *smc, enum smc_mode mode);

/**
 * smc_sock_unhook() - give the socket back its own callbacks, and leave it to TCP
 * @smc: socket, locked or in one of TCP's callbacks
 */
void smc_sock_unhook(struct smc_sock *smc);

/**
 * smc_sock_fall_back() - leave the connection to TCP, and count why
 * @smc: socket, locked or in one of TCP's callbacks
 * @reason: diagnosis
 *
 * Unhooks the socket, unless a CLC message may still come: then smc_sock_drop_late() unhooks it.
 */
void smc_sock_fall_back(struct smc_sock *smc, u32 reason);

/**
 * smc_sock_drop_late() - drop CLC messages that come too late; unhook once other bytes came
 * @smc: socket, hooked, in SMC_MODE_TCP; locked or in TCP's data_ready callback
 *
 * Return: true while there is no byte for the application.
 */
bool smc_sock_drop_late(struct smc_sock *smc);

/**
 * smc_sock_for_each() - call @fn for every socket of a namespace, until it returns an error
 * @net: namespace
 * @index: index of the array to begin at, 0 for all; after an error, that of the socket of the
 *	error
 * @fn: called for each socket
 * @arg: passed to @fn
 *
 * A caller that goes on from an index meets each lasting socket exactly once, while other sockets
 * come and go.
 *
 * Context: process; @fn runs under the array's lock, with softirqs off.
 * Return: 0 or the error of @fn.
 */
int smc_sock_for_each(const struct net *net, unsigned long *index,
		      int (*fn)(struct smc_sock *smc, void *arg), void *arg);

/**
 * smc_sock_check_tcp() - abort the stream if bytes arrived by TCP
 * @smc: socket in SMC_MODE_STREAM
 */
void smc_sock_check_tcp(struct smc_sock *smc);

/**
 * smc_sock_tcp_changed() - draw conclusions for the stream from TCP's state
 * @smc: socket in SMC_MODE_STREAM, locked or in one of TCP's callbacks
 */
void smc_sock_tcp_changed(struct smc_sock *smc);

/**
 * smc_sock_queue_later() - have a worker do what is due on a socket, see smc_sock_do_later()
 * @smc: socket; the caller holds a lock that makes smc_sock_cancel() come later
 * @delay: in jiffies; replaces the delay of an earlier call
 *
 * Context: any but hard interrupt.
 */
void smc_sock_queue_later(struct smc_sock *smc, unsigned long delay);

/**
 * smc_sock_cancel() - stop the timers and works of a socket
 * @smc: socket that was unhooked, so that no callback of TCP starts them again
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_sock_cancel(struct smc_sock *smc);

/**
 * smc_tcp_wake() - wake all threads that wait for anything on a socket
 * @sk: socket
 */
void smc_tcp_wake(struct sock *sk);

/**
 * smc_children_are_unhooked() - whether TCP creates the children of a socket that is to listen
 * @sk: socket, locked
 *
 * Return: false if another part of the kernel creates them, so that the listener can't use SMC.
 */
bool smc_children_are_unhooked(const struct sock *sk);

/**
 * smc_children_hook() - have each new child of a listener get TCP's callbacks and operations
 * @l: listener, its socket locked and not listening yet
 */
void smc_children_hook(struct smc_listener *l);

/**
 * smc_callbacks_init() - learn TCP's own callbacks and operations from a socket
 * @tcp: socket that only TCP has used; called once for each address family
 */
void smc_callbacks_init(const struct sock *tcp);

#endif
