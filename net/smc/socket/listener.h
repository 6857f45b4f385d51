/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The accepting half of a listening socket: takes connections from TCP's queue, holds their
 * handshake side by side, and puts those that are done back there for accept().
 *
 * A connection that was taken is in one of the listener's lists, or in nobody's hands but those of
 * the thread that took it. It enters a list only if the listener was not closed since it was taken,
 * both under the lock: closing ends those in the lists, and who comes too late ends his own. So
 * nobody waits for a thread that takes, which may be another user's.
 */
#ifndef SMC_LISTENER_H
#define SMC_LISTENER_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>

struct mem_cgroup;
struct request_sock;
struct smc_sock;
struct sock;
struct socket;

/**
 * struct smc_listener - see the top of this file
 * @smc: the listening socket; valid until it is closed for good
 * @sk: its struct sock, referenced
 * @refs: of the socket, and of connect() calls that take their other ends from it
 * @af_ops: TCP's for it, but for the creation of children (callbacks.c)
 * @take: takes connections from TCP, and drops those that wait when TCP has ended the listener
 * @stopping: one has it stop, or takes from TCP for accept(), at a time
 * @lock: protects what follows; softirqs off
 * @handshaking: connections in their handshake
 * @ready: connections for accept(), which are in TCP's queue
 * @deferred: connections that wait for the first word of their peers (TCP_DEFER_ACCEPT)
 * @n_handshakes: how many are in their handshake
 * @n_ready: how many are for accept()
 * @n_deferred: how many wait for their peers
 * @closed: no more are taken
 * @closings: how often it was closed
 * @memcg: control group that children are charged to, referenced, or NULL: that of the socket, and
 *	since the first accept() that of the last thread that called it
 * @tcp_only: connections to come are TCP
 * @withdrawn: likewise, and requests that were offered SMC do not become connections: it is about
 *	to stop listening, with @stopping
 * @rcu: for TCP's callbacks
 */
struct smc_listener {
	struct smc_sock *smc;
	struct sock *sk;
	refcount_t refs;
	struct inet_connection_sock_af_ops af_ops;
	struct delayed_work take;
	struct mutex stopping;
	spinlock_t lock;
	struct list_head handshaking;
	struct list_head ready;
	struct list_head deferred;
	unsigned int n_handshakes;
	unsigned int n_ready;
	unsigned int n_deferred;
	bool closed;
	unsigned int closings;
	struct mem_cgroup *memcg;
	bool tcp_only;
	bool withdrawn;
	struct rcu_head rcu;
};

/**
 * smc_listen_prepare() - before TCP listens: offer SMC in its SYN-ACKs
 * @smc: socket, locked
 *
 * Return: 0 or -ENOMEM.
 */
int smc_listen_prepare(struct smc_sock *smc);

/**
 * smc_listener_stop_offering() - connections to come are TCP
 * @l: listener
 */
void smc_listener_stop_offering(struct smc_listener *l);

/**
 * smc_listener_stop_begin() - before TCP is asked to stop listening
 * @l: listener
 *
 * If TCP would give connections to another listener, those that it has and that were offered SMC
 * are reset, and nothing is taken any more. Others who want the listener to stop wait until
 * smc_listener_stop_end().
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_listener_stop_begin(struct smc_listener *l);

/**
 * smc_listener_stop_end() - after that, whether TCP did stop or refused
 * @l: listener
 *
 * Unless TCP goes on as if nothing had been asked, all connections that nobody accepted are reset.
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_listener_stop_end(struct smc_listener *l);

/**
 * smc_listener_has_revoked() - whether requests that were offered SMC do not become connections
 * @sk: socket
 *
 * Context: any, under RCU.
 */
bool smc_listener_has_revoked(const struct sock *sk);

/**
 * smc_listener_unhook() - leave the socket to TCP
 * @l: listener, its socket locked; does not listen
 *
 * Context: process; may sleep.
 */
void smc_listener_unhook(struct smc_listener *l);

/**
 * smc_listen_undo() - stop listening, leave the socket to TCP, and reset all connections that
 * nobody accepted
 * @smc: socket that is released
 * @sock: its socket
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_listen_undo(struct smc_sock *smc, struct socket *sock);

/**
 * smc_listener_kick() - TCP has a connection, or has ended the listener
 * @l: listener
 *
 * Context: any.
 */
void smc_listener_kick(struct smc_listener *l);

/**
 * smc_listener_get() - take a reference
 * @l: listener, under RCU
 *
 * Context: any.
 * Return: false if it is gone; else smc_listener_unref() is to follow.
 */
static inline bool smc_listener_get(struct smc_listener *l)
{
	return refcount_inc_not_zero(&l->refs);
}

/**
 * smc_listener_unref() - done with it
 * @l: listener
 *
 * Context: any.
 */
void smc_listener_unref(struct smc_listener *l);

/**
 * smc_listener_take_this() - take a connection from TCP, as the work does all
 * @l: listener, with a reference of this thread's
 * @child: the connection, with a reference of the caller's
 *
 * If the listener is locked, the work takes it.
 *
 * Context: process, without the socket lock.
 * Return: it: smc_listener_enter() is to follow; or NULL.
 */
struct smc_sock *smc_listener_take_this(struct smc_listener *l, struct sock *child);

/**
 * smc_listener_enter() - a connection that was taken is the listener's
 * @l: listener
 * @child: connection; if its handshake is not over, a worker holds it
 *
 * If the listener was closed since the connection was taken, it is reset.
 *
 * Context: process, without the connection's lock.
 */
void smc_listener_enter(struct smc_listener *l, struct smc_sock *child);

/**
 * smc_listener_handshake_done() - a connection's handshake is over: it waits for accept(), but with
 * TCP_DEFER_ACCEPT for its peer first
 * @l: listener
 * @child: connection that entered it; not the caller's from then on
 *
 * Context: process, without the connection's lock.
 */
void smc_listener_handshake_done(struct smc_listener *l, struct smc_sock *child);

/**
 * smc_listener_end_deferral() - have a connection wait for accept() from now on
 * @child: connection; one that is not deferred, or not the listener's any more, is left alone
 *
 * Context: process, without the connection's lock.
 */
void smc_listener_end_deferral(struct smc_sock *child);

/**
 * smc_request_is_new() - whether a connection is to have a handshake, which has not begun
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
 * smc_listener_name_client() - say whom to spare SMC if a connection brings no PROPOSAL
 * @child: connection, new
 *
 * That is nobody within the namespace. No box on the way there takes out the option, and the
 * address is that of all local users, who are not to lose SMC by what one of them does.
 *
 * Context: any.
 */
void smc_listener_name_client(struct smc_sock *child);

/**
 * smc_listener_is_ready() - whether accept() would find a connection
 * @l: listener
 *
 * If not, who waits is woken when there is one.
 *
 * Context: any.
 */
bool smc_listener_is_ready(struct smc_listener *l);

/**
 * smc_listener_charge_caller() - children to come are the calling thread's control group's
 * @l: listener
 *
 * TCP charges who accepts, but here a worker takes connections from TCP before that. Who made the
 * listener may have done so for another, as one that hands its sockets to services does.
 *
 * Context: process.
 */
void smc_listener_charge_caller(struct smc_listener *l);

/**
 * smc_listener_accept() - accept()
 * @l: listener
 * @newsock: to get the connection
 * @flags: O_NONBLOCK
 *
 * Context: process, without the socket lock.
 * Return: 0, -EAGAIN, -EINVAL when the socket does not listen any more, a signal's errno.
 */
int smc_listener_accept(struct smc_listener *l, struct socket *newsock, int flags);

#endif
