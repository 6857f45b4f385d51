/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An SMC socket is a TCP socket with this module's operations: its struct sock is TCP's. SMC keeps
 * its state of a socket in a struct smc_sock, which connect(), listen(), accept() or an option that
 * concerns SMC creates. An array of the namespace, indexed by the address of the struct sock, has
 * these structs. While SMC takes part in the connection, the socket is hooked: it has this module's
 * callbacks, and its sk_user_data points to the struct smc_sock. A listener's sk_user_data is left
 * to BPF's maps of sockets, so callbacks.c finds the listener by its operations. The calls of a
 * socket that is not hooked are TCP's.
 *
 * Ownership: if @parent is set, that listener owns the struct smc_sock; else the struct socket of
 * the struct sock does. Only the owner frees the struct. A struct socket with this module's
 * operations never has a connection that a listener owns. While such a connection waits for
 * accept(), TCP may move it to any other listener, even one that is plain TCP's. So a sock in TCP's
 * accept queue has only TCP's callbacks and sk_prot (smc_sock_park()). When the owning listener
 * accepts the connection, SMC hooks it again (smc_listener_accept()). Any other SMC socket that
 * accepts the connection resets it (smc_accept_tcp(), smc_listener_classify()). The owning listener
 * unhooks a connection before it takes the struct smc_sock out of the array. So a listener that
 * finds no struct in the array knows that the owner will not touch the connection again.
 *
 * Locking: the socket lock protects the mode. The struct lives until release, so calls may use it
 * without a reference; TCP's callbacks use it under RCU.
 */
#ifndef SMC_SOCK_H
#define SMC_SOCK_H

#include <linux/err.h>
#include <linux/net.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "handshake/handshake.h"
#include "path_kind.h"

struct smc_listener;
struct smc_stream;

enum smc_mode {
	SMC_MODE_TCP,		/* the socket is TCP's; hooked only while CLC messages may come */
	SMC_MODE_CONNECTING,	/* TCP's handshake is under way */
	SMC_MODE_HANDSHAKE,	/* SMC's handshake is under way */
	SMC_MODE_STREAM,	/* the stream carries the data */
	SMC_MODE_LISTEN,
};

/*
 * Value of smc_sock.local_listener during a connect() that will run SMC's handshake, until a
 * listener of this namespace gets the other end.
 */
#define SMC_LISTENER_UNKNOWN	((struct smc_listener *)ERR_PTR(-ENOENT))

/**
 * struct smc_sock - SMC's state of a socket
 * @sk: the TCP socket
 * @mode: see enum smc_mode
 * @role: client or server
 * @tcp_only: the socket has listened, and its later connections are TCP's
 * @tcp_setsockopts: number of setsockopt() calls under way that change the TCP connection;
 *	meanwhile no connection may begin to use SMC
 * @limit_handshakes: the SMC_LIMIT_HS option: prefer TCP when many handshakes are under way
 * @local_listener: NULL, unless a connect() is under way that will run SMC's handshake itself. That
 *	connect() sets the field to SMC_LISTENER_UNKNOWN. If the other end's listener is in this
 *	namespace, a pointer to that listener, with a reference, replaces SMC_LISTENER_UNKNOWN.
 *	While the field is not NULL, no worker is queued to run the handshake.
 *	smc_connect_handshake() sets the field to NULL again. If several threads are in connect(),
 *	the one that sets the field to NULL first gets the old value, and runs the handshake.
 *	From setting the field until TCP has begun to connect, the socket stays locked. Otherwise a
 *	thread that has not prepared SMC could begin TCP's connection in between
 * @reason: why the connection is TCP's: a diagnosis code, or 0
 * @peer_reason: the peer's diagnosis, or 0
 * @memcg: control group to charge for buffers, referenced; or NULL. It is the socket's or, if TCP
 *	charges none, that of the thread that created this struct
 * @hs: SMC's handshake
 * @is_released: the application closed the socket while @hs was under way: @release follows
 * @release: work that releases the socket once @hs is over
 * @stream: the stream, from SMC_MODE_STREAM until release; else NULL
 * @later: work that ends a deferral, declines a late PROPOSAL, or shuts down or resets the TCP
 *	connection; see smc_sock_do_later()
 * @has_later: @later was queued at least once, see smc_sock_queue_later()
 * @syn: timer that detects SYNs without an answer, in SMC_MODE_CONNECTING
 * @option_removed: @syn has removed the SMC option from the SYNs still to come
 * @retrans_with: TCP's count of retransmissions when the option was removed
 * @awaited_end: SMC_CONN_* flags, one of which the peer has to send after TCP's FIN or reset; 0
 *	before that
 * @fin: work that aborts the stream if no flag of @awaited_end has come in time
 * @keepalive: timer that probes the TCP connection below the stream
 * @keepalive_probes: number of probes sent since the peer last answered
 * @keepalive_began: time of the first of these probes, in tcp_jiffies32
 * @keepalive_sent: time of the last probe, in tcp_jiffies32
 * @listener: the listener, from SMC_MODE_LISTEN until release; else NULL
 * @parent: listener that owns this struct, from when it takes the connection from TCP until its
 *	accept() returns the connection; else NULL
 * @generation: generation of @parent when the connection was taken from TCP
 * @req: TCP's request of this connection. The reference belongs to TCP's accept queue while the
 *	connection waits there
 * @is_deferred: accept() does not return the connection before the peer has sent data by the
 *	stream; written under @parent's lock
 * @siblings: entry in one of the parent's lists
 * @rcu: frees the struct after TCP's callbacks are done with it
 */
struct smc_sock {
	struct sock *sk;
	enum smc_mode mode;
	enum smc_role role;
	bool tcp_only;
	unsigned int tcp_setsockopts;
	bool limit_handshakes;
	struct smc_listener *local_listener;
	u32 reason;
	u32 peer_reason;
	struct mem_cgroup *memcg;
	struct smc_handshake hs;
	bool is_released;
	struct work_struct release;
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
	u32 keepalive_began;
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
 * @smc: socket in any mode
 *
 * Context: any.
 */
static inline bool smc_is_connecting(const struct smc_sock *smc)
{
	enum smc_mode mode = READ_ONCE(smc->mode);

	return mode == SMC_MODE_CONNECTING || mode == SMC_MODE_HANDSHAKE;
}

/**
 * smc_tcp_data_ready() - handle TCP's sk_data_ready for a hooked socket
 * @sk: socket that was hooked when TCP read its callback, and may have been unhooked since
 *
 * Context: any but hard interrupt; TCP has locked the socket, unless it listens.
 */
void smc_tcp_data_ready(struct sock *sk);

/**
 * smc_tcp_state_change() - handle TCP's sk_state_change for a hooked socket
 * @sk: socket that was hooked when TCP read its callback, and may have been unhooked since
 *
 * Context: any but hard interrupt; TCP has locked the socket.
 */
void smc_tcp_state_change(struct sock *sk);

/**
 * smc_sk_listening() - find SMC's state of a listener, whose sk_user_data is not SMC's
 * @sk: socket with this module's callbacks
 *
 * Context: as smc_sk().
 * Return: NULL unless the socket is a listener of SMC's.
 */
struct smc_sock *smc_sk_listening(const struct sock *sk);

/**
 * smc_sk() - find SMC's state of a socket that is hooked now
 * @sk: TCP socket, whoever uses it
 *
 * Context: the caller has the socket's file open, releases the socket, or is under RCU. Neither
 * lockdep nor sparse checks that. If the caller only compares the pointer: any.
 * Return: NULL if the socket is not hooked: then it is TCP's.
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
 * @sk: TCP socket, whoever uses it; see smc_sk()
 *
 * Context: any.
 */
static inline bool smc_sk_is_connecting(const struct sock *sk)
{
	const struct smc_sock *smc = smc_sk(sk);

	return smc && smc_is_connecting(smc);
}

/**
 * smc_mode() - read the mode of a socket without its lock
 * @smc: socket, whose mode may change at any time
 *
 * Context: any.
 */
static inline enum smc_mode smc_mode(const struct smc_sock *smc)
{
	/* Pairs with smc_sock_enter_stream(), which sets the stream before the mode. */
	return smp_load_acquire(&smc->mode);
}

/**
 * smc_stream_of() - get the stream that a socket has now
 * @sk: socket whose release has not begun
 *
 * Context: any.
 * Return: the stream, or NULL.
 */
static __always_inline struct smc_stream *smc_stream_of(const struct sock *sk)
{
	struct smc_sock *smc = smc_sk(sk);

	return smc && smc_mode(smc) == SMC_MODE_STREAM ? smc->stream : NULL;
}

/**
 * smc_listener_of() - get the listener of a socket that listens with SMC now
 * @sk: socket whose release has not begun
 *
 * Context: any.
 * Return: the listener, or NULL. Another thread may leave the socket to TCP at any time, so a call
 * looks the listener up only once.
 */
static inline struct smc_listener *smc_listener_of(const struct sock *sk)
{
	struct smc_sock *smc = smc_sk(sk);

	return smc && smc_mode(smc) == SMC_MODE_LISTEN ? smc->listener : NULL;
}

/**
 * smc_sock_find() - find SMC's state of a socket, including one that went back to TCP
 * @sk: TCP socket in any state
 *
 * Context: the caller has the socket's file open, releases the socket, or is under RCU.
 * Return: NULL if SMC keeps no state of the socket.
 */
struct smc_sock *smc_sock_find(const struct sock *sk);

/**
 * smc_sock_create() - create SMC's state of a socket, in SMC_MODE_TCP
 * @sk: socket of which SMC keeps no state: locked, or fresh from TCP's accept()
 * @role: role of this end in SMC's handshake
 *
 * The struct and later its buffers are charged to the socket's control group, or else to that of
 * set_active_memcg() or of the caller.
 *
 * Return: the state, or NULL if there is no memory.
 */
struct smc_sock *smc_sock_create(struct sock *sk, enum smc_role role);

/**
 * smc_sock_create_child() - create SMC's state of a connection that waits in TCP's accept queue
 * @sk: connection that only the caller has, and of which SMC keeps no state
 *
 * The caller is a worker that all listeners share, or a connecting thread. Neither must wait for
 * memory of the listener's control group. So the group may exceed its limit by one struct smc_sock
 * for each connection that waits for accept(). (TCP charges the waiting sock to nobody.) The
 * group's next ordinary allocation then reclaims memory, or fails.
 *
 * Context: process; does not sleep.
 * Return: the state, or NULL if the host has no memory.
 */
struct smc_sock *smc_sock_create_child(struct sock *sk);

/**
 * smc_sock_free() - free SMC's state of a socket, after an RCU grace period
 * @smc: socket after smc_sock_forget(), whose SMC handshake is over
 */
void smc_sock_free(struct smc_sock *smc);

/**
 * smc_sock_forget() - take a socket out of the array because its release begins
 * @smc: socket that is released, or connection that smc_sock_unhook() has left to TCP
 *
 * smc_sock_for_each() relies on this: each socket in the array has a live struct sock and, in
 * SMC_MODE_STREAM, a live stream.
 */
void smc_sock_forget(struct smc_sock *smc);

/**
 * smc_sock_timer() - run a timer function of a socket, and restart the timer on request
 * @smc: socket that @timer belongs to; smc_sock_cancel() waits for this function
 * @timer: one of its timers, which has expired
 * @look: called under bh_lock_sock(); returns the jiffies until its next call; 0 for none
 *
 * Context: softirq.
 */
void smc_sock_timer(struct smc_sock *smc, struct timer_list *timer,
		    unsigned long (*look)(struct smc_sock *smc));

/**
 * smc_sock_has_other_user() - whether another part of the kernel uses a socket, or seems to
 * @sk: socket about to connect or listen, or just taken from TCP
 *
 * Under tcp2smc, parts of the kernel that call sock_create() get an SMC socket. Such a socket
 * differs from an application's: it has callbacks or user data of that part, restricted allocations
 * (sk_allocation), or no file although sock_create_kern() did not create it.
 *
 * Context: the socket is locked.
 */
bool smc_sock_has_other_user(const struct sock *sk);

/**
 * smc_sock_leave_smc() - leave the socket to TCP, and end its stream if it has one
 * @smc: socket, locked, whose TCP connection is closed or about to be
 *
 * Other calls may still use the stream, so it stays until the release of the socket.
 *
 * Context: process.
 */
void smc_sock_leave_smc(struct smc_sock *smc);

/**
 * smc_sock_hook() - replace the socket's callbacks by this module's
 * @smc: socket, locked
 * @mode: mode to enter
 */
void smc_sock_hook(struct smc_sock *smc, enum smc_mode mode);

/**
 * smc_sock_park() - give a connection TCP's callbacks and sk_prot while it is in TCP's accept queue
 * @smc: connection, locked or under bh_lock_sock(); hooked or not
 *
 * TCP may give the connection to another listener. That listener's user may then turn on another
 * part of the kernel, such as kernel TLS, which saves the callbacks and sk_prot that it finds. So
 * these must not be SMC's. Nothing else of the connection changes.
 */
void smc_sock_park(struct smc_sock *smc);

/**
 * smc_sock_unpark() - hook a connection again if it was hooked before smc_sock_park()
 * @smc: connection that leaves its listener, locked
 *
 * Context: process.
 */
void smc_sock_unpark(struct smc_sock *smc);

/**
 * smc_sock_unhook() - give the socket back its own callbacks, and leave it to TCP
 * @smc: socket, locked or in one of TCP's callbacks
 */
void smc_sock_unhook(struct smc_sock *smc);

/**
 * smc_sock_fall_back() - leave the connection to TCP, and count why
 * @smc: socket, locked or in one of TCP's callbacks
 * @reason: SMC_DIAG_*, shown by sock_diag and counted
 *
 * Unhooks the socket, unless a CLC message may still come: then smc_sock_drop_late() unhooks it.
 */
void smc_sock_fall_back(struct smc_sock *smc, u32 reason);

/**
 * smc_sock_drop_late() - drop CLC messages that come too late; unhook the socket once other bytes
 * came
 * @smc: socket, hooked, in SMC_MODE_TCP; locked or in TCP's data_ready callback
 *
 * Return: true while there is no byte for the application, but perhaps the start of a CLC header.
 */
bool smc_sock_drop_late(struct smc_sock *smc);

/**
 * smc_sock_for_each() - call @fn for every socket of a namespace, until it returns an error
 * @net: namespace that cannot end meanwhile
 * @index: index to begin at, 0 for all sockets; after an error of @fn, the index of the socket that
 *	caused it
 * @fn: called for each socket
 * @arg: passed to @fn
 *
 * A caller that continues from @index meets each socket exactly once if the socket exists all the
 * time. Other sockets may come and go between the calls.
 *
 * Context: process; @fn runs under the array's lock, with softirqs off.
 * Return: 0 or the error of @fn.
 */
int smc_sock_for_each(const struct net *net, unsigned long *index,
		      int (*fn)(struct smc_sock *smc, void *arg), void *arg);

/**
 * smc_sock_queue_later() - queue the work of a socket, smc_sock_do_later()
 * @smc: socket; the caller holds a lock that the socket's release takes before smc_sock_cancel()
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
 * smc_tcp_wake() - wake all threads that wait on a socket, whatever they wait for
 * @sk: socket, hooked or not
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
 * smc_children_hook() - hook a listener so that its new children get TCP's callbacks and operations
 * @l: listener, its socket locked and not listening yet
 */
void smc_children_hook(struct smc_listener *l);

/**
 * smc_callbacks_init() - learn TCP's own callbacks and operations from a socket
 * @tcp: socket that only TCP has used; called once for each address family
 */
void smc_callbacks_init(const struct sock *tcp);

#endif
