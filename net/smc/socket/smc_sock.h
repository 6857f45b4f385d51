/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An SMC socket is a TCP socket whose operations are ours: its struct sock is TCP's.
 * What SMC knows of it exists from connect() or listen() on, in its namespace's array by struct
 * sock, and hangs off sk_user_data while SMC has anything to do with it. That of a listener is left
 * to BPF's maps of sockets; callbacks.c knows the listener. A socket of which SMC knows nothing, or
 * that went back to TCP, has every call done by TCP.
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
	SMC_MODE_TCP,		/* by choice or fallback; hooked only for what comes too late */
	SMC_MODE_CONNECTING,	/* TCP's handshake is under way */
	SMC_MODE_HANDSHAKE,	/* the handshake is under way */
	SMC_MODE_STREAM,	/* data goes by the stream */
	SMC_MODE_LISTEN,
};

/* Of smc_sock.local_listener: none has the other end so far. */
#define SMC_NO_LISTENER		((struct smc_listener *)ERR_PTR(-ENOENT))

/**
 * struct smc_sock - what SMC knows of a socket
 * @sk: the TCP socket
 * @mode: see enum
 * @role: client or server
 * @tcp_only: it listened once, and is TCP's
 * @tcp_holds: options being set, during which no connection may begin to be of SMC
 * @limit_handshakes: the SMC_LIMIT_HS option: prefer TCP when many handshakes are under way
 * @local_listener: while a connect() is under way that will run the handshake, the listener of this
 *	namespace that has the other end, referenced, or SMC_NO_LISTENER; else NULL
 * @reason: why it is TCP: diagnosis code, or 0
 * @peer_reason: the peer's diagnosis, or 0
 * @memcg: control group that its buffers are charged to, referenced; or NULL. That of the socket,
 *	or, where TCP charges nobody, of the thread that made it known
 * @hs: the handshake
 * @stream: in SMC_MODE_STREAM
 * @later: what callbacks of TCP and of the stream leave to a worker, see smc_sock_do_later()
 * @has_later: it was queued, once at least; see smc_sock_do_soon()
 * @syn: looks after SYNs that get no answer, in SMC_MODE_CONNECTING
 * @left_out: the option, of the SYNs since
 * @retrans_with: TCP's count of retransmissions then
 * @awaited_end: flags of the stream, one of which is to follow TCP's FIN or reset; or 0
 * @fin: looks after that whether the stream ended, too
 * @keepalive: finds out whether TCP's connection below the stream still stands
 * @keepalive_probes: sent since the peer last answered
 * @keepalive_sent: when the last of them was, in tcp_jiffies32
 * @listener: in SMC_MODE_LISTEN
 * @parent: listener that this connection came to, until accept()
 * @closings: of the parent's, until it was taken there
 * @req: TCP's request that it came by, whose reference is TCP's queue's while it waits there
 * @is_deferred: it is not for accept() before the peer has said something; under the parent's lock
 * @siblings: in a list of the parent's
 * @rcu: for TCP's callbacks
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
	bool left_out;
	u32 retrans_with;
	u8 awaited_end;
	struct delayed_work fin;
	struct timer_list keepalive;
	unsigned int keepalive_probes;
	u32 keepalive_sent;
	struct smc_listener *listener;
	struct smc_listener *parent;
	unsigned int closings;
	struct request_sock *req;
	bool is_deferred;
	struct list_head siblings;
	struct rcu_head rcu;
};

/**
 * smc_is_connecting() - TCP's handshake or SMC's is under way
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
 * @sk: socket with our callbacks
 *
 * Context: as of smc_sk().
 */
struct smc_sock *smc_sk_listening(const struct sock *sk);

/**
 * smc_sk() - what SMC has to do with a socket now
 * @sk: socket
 *
 * Context: the caller has the socket's file open, is its release, or is under RCU; no checker
 * sees who is not. To compare what is returned, any.
 * Return: NULL if nothing: it is TCP's.
 */
static inline struct smc_sock *smc_sk(const struct sock *sk)
{
	uintptr_t tagged;

	/* Who else uses sk_user_data replaces a callback, or tags the pointer in another way. */
	if (READ_ONCE(sk->sk_state_change) != smc_tcp_state_change ||
	    READ_ONCE(sk->sk_data_ready) != smc_tcp_data_ready)
		return NULL;
	tagged = (uintptr_t)rcu_dereference_raw(__sk_user_data(sk));
	if ((tagged & ~SK_USER_DATA_PTRMASK) != SK_USER_DATA_NOCOPY)
		return smc_sk_listening(sk);
	return (struct smc_sock *)(tagged & SK_USER_DATA_PTRMASK);
}

/**
 * smc_sk_is_connecting() - smc_is_connecting() of a socket that SMC may know nothing of
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
 * smc_mode() - what a socket is now, for a call without its lock
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
 * smc_stream_of() - the socket's stream now, in line for the calls that transfer data
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
 * Return: NULL if it does not listen; another thread may make it TCP's at any time.
 */
static inline struct smc_listener *smc_listener_of(const struct sock *sk)
{
	struct smc_sock *smc = smc_sk(sk);

	return smc && smc_mode(smc) == SMC_MODE_LISTEN ? smc->listener : NULL;
}

/**
 * smc_sock_find() - what SMC knows of a socket, also of one that went back to TCP
 * @sk: socket
 *
 * Context: the caller has the socket's file open, or is its release.
 */
struct smc_sock *smc_sock_find(const struct sock *sk);

/**
 * smc_sock_create() - begin to know a socket, in SMC_MODE_TCP
 * @sk: socket
 * @role: of this end in the handshake
 *
 * Charged, as its buffers will be, to the socket's control group, or else to set_active_memcg()'s
 * or the caller's.
 *
 * Return: NULL without memory.
 */
struct smc_sock *smc_sock_create(struct sock *sk, enum smc_role role);

/**
 * smc_sock_free() - after a grace period
 * @smc: socket that has been forgotten, and whose handshake is over
 */
void smc_sock_free(struct smc_sock *smc);

/**
 * smc_sock_forget() - take a socket out of the array: its release begins
 * @smc: socket
 *
 * Whatever is in the array has a live struct sock and, in SMC_MODE_STREAM, a live stream.
 */
void smc_sock_forget(struct smc_sock *smc);

/**
 * smc_sock_timer() - what a timer of a socket does
 * @smc: socket
 * @timer: one of its timers, which has expired
 * @look: called with bh_lock_sock(), in softirqs; says in how many jiffies to call it again, or 0
 */
void smc_sock_timer(struct smc_sock *smc, struct timer_list *timer,
		    unsigned long (*look)(struct smc_sock *smc));

/**
 * smc_sock_is_taken() - whether a socket is, or looks like, one of another part of the kernel
 * @sk: about to connect or listen, or just taken from TCP
 *
 * Under tcp2smc, parts of the kernel that call sock_create() get a socket of SMC. What tells it
 * from an application's: callbacks or user data of others, no file, or allocations that may not
 * sleep.
 *
 * Context: the socket is locked.
 */
bool smc_sock_is_taken(const struct sock *sk);

/**
 * smc_sock_leave_smc() - leave the socket to TCP, and end a stream that it has
 * @smc: socket, locked, whose TCP connection is closed or about to be
 *
 * Calls may be under way in the stream, which stays until the release of the socket.
 *
 * Context: process.
 */
void smc_sock_leave_smc(struct smc_sock *smc);

/**
 * smc_sock_hook() - take over TCP's callbacks
 * @smc: socket, locked
 * @mode: to enter
 */
void smc_sock_hook(struct smc_sock *smc, enum smc_mode mode);

/**
 * smc_sock_unhook() - leave the socket to TCP
 * @smc: socket, locked or in one of TCP's callbacks
 */
void smc_sock_unhook(struct smc_sock *smc);

/**
 * smc_sock_fall_back() - the connection is TCP's; count why
 * @smc: socket, locked or in one of TCP's callbacks
 * @reason: diagnosis
 *
 * Unhooks it, unless a message of the handshake may still come: then smc_sock_drop_late() does.
 */
void smc_sock_fall_back(struct smc_sock *smc, u32 reason);

/**
 * smc_sock_drop_late() - drop what is left of the handshake; unhook once other bytes came
 * @smc: hooked, in SMC_MODE_TCP; locked or in TCP's data_ready callback
 *
 * Return: true while there is nothing for the application.
 */
bool smc_sock_drop_late(struct smc_sock *smc);

/**
 * smc_sock_for_each() - call @fn for every socket of a namespace, until it returns an error
 * @net: namespace
 * @index: of the array, where to begin, 0 for all; on an error, where that was
 * @fn: called
 * @arg: for @fn
 *
 * A caller who goes on from an index meets each socket once that stays, while others come and go.
 *
 * Context: process; @fn runs under the array's lock, with softirqs off.
 * Return: 0 or the error of @fn.
 */
int smc_sock_for_each(const struct net *net, unsigned long *index,
		      int (*fn)(struct smc_sock *smc, void *arg), void *arg);

/**
 * smc_sock_check_tcp() - end a stream under which bytes arrived by TCP
 * @smc: socket
 */
void smc_sock_check_tcp(struct smc_sock *smc);

/**
 * smc_sock_tcp_changed() - look what TCP's state says of the stream
 * @smc: socket in SMC_MODE_STREAM, locked or in one of TCP's callbacks
 */
void smc_sock_tcp_changed(struct smc_sock *smc);

/**
 * smc_sock_do_soon() - have a worker do what is due of a socket, see smc_sock_do_later()
 * @smc: socket; the caller has a lock by which smc_sock_cancel() comes later
 * @delay: in jiffies, instead of that of an earlier call
 *
 * Context: any but hard interrupt.
 */
void smc_sock_do_soon(struct smc_sock *smc, unsigned long delay);

/**
 * smc_sock_cancel() - nothing happens to a socket later
 * @smc: unhooked since, so that TCP does not tell of anything
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_sock_cancel(struct smc_sock *smc);

/**
 * smc_tcp_wake() - wake everybody who waits for anything on a socket
 * @sk: socket
 */
void smc_tcp_wake(struct sock *sk);

/**
 * smc_children_are_unhooked() - whether TCP creates the children of a socket that is to listen
 * @sk: socket, locked
 *
 * Return: false if another part of the kernel does, and the listener can't be ours.
 */
bool smc_children_are_unhooked(const struct sock *sk);

/**
 * smc_children_hook() - have children given TCP's callbacks and operations when they are created
 * @l: listener, its socket locked; does not listen yet
 */
void smc_children_hook(struct smc_listener *l);

/**
 * smc_callbacks_init() - learn TCP's own callbacks and operations from a socket of its
 * @tcp: socket that only TCP has used; one of each family
 */
void smc_callbacks_init(const struct sock *tcp);

#endif
