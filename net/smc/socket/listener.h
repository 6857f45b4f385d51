/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listening sockets. A listener takes connections from TCP's accept queue, has their SMC handshakes
 * run concurrently, and puts each connection back for accept() when its handshake is over.
 *
 * After a thread has taken a connection from the queue, no other thread handles the connection
 * until it is in one of the listener's lists. The thread puts it there only if the listener was not
 * closed meanwhile; the check and the entry are one step under the lock. Closing the listener ends
 * the connections in its lists. A thread that comes too late ends its own connection. So closing
 * waits for no thread that takes connections: such a thread may be another user's.
 *
 * A new connection is never left in TCP's queue without a thread that is to take it. While TCP
 * listens and the listener is open, one of these is still to come:
 *
 * - A run of the listener's work. TCP reports each new connection, and the report queues the work
 *   or hands the listener to a connect() of this namespace (smc_tcp_has_connection()). A run that
 *   has taken a whole batch queues the next one. So do a listen(), which may raise the backlog, and
 *   smc_listener_stop_end().
 * - A connect() that was handed the listener. It takes its own other end, or queues the work. No
 *   two reports hand over the same connection. So if none of the reports since a connection came
 *   has queued the work, one of them has handed over that connection, or else a connection that is
 *   ready already. In the latter case the connect() finds nothing to take, and queues the work.
 *   (TCP may not report a connection that it moves here from another listener. Such a connection
 *   waits for the next run.)
 * - An accept(), if the last run of the work left @left_new set. A run may leave connections in the
 *   queue because too many others are ready, because a thread has the listener locked, or because
 *   one walk does not reach them. An accept() that returns a connection may end any of these, and
 *   queues the work if @left_new is set. A poll() or accept() that finds no ready connection queues
 *   the work in any case.
 *
 * A run first looks, without a lock, whether the queue is empty: a connection that comes later is
 * reported later. Otherwise it sets @left_new before it looks at the number of ready connections,
 * at the owner of the listener, and at the queue. It looks at each under a lock. accept() changes
 * them under the same locks, and reads @left_new afterwards. So either the run sees the change, or
 * accept() sees that @left_new is set.
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
 * struct smc_listener - SMC's state of a listening socket
 * @smc: the listening socket; valid until its release
 * @sk: struct sock of the listening socket, referenced
 * @refs: references of the socket, of connect() calls that take their other ends from the
 *	listener, and of works that end a deferral
 * @af_ops: TCP's operations with another function to create children, see callbacks.c
 * @take: work that takes connections from TCP, and drops the waiting ones when TCP has ended the
 *	listener
 * @stopping: held by the one thread that stops the listener, or takes a connection from TCP for
 *	accept()
 * @lock: protects the fields from @handshaking to @memcg; taken with softirqs off
 * @handshaking: connections in SMC's handshake
 * @ready: connections for accept(), which are in TCP's accept queue
 * @deferred: connections that wait for the first data of their peers (TCP_DEFER_ACCEPT)
 * @n_handshakes: number of connections in @handshaking
 * @n_ready: number of connections in @ready
 * @n_deferred: number of connections in @deferred
 * @closed: no more connections are taken
 * @generation: number of times that the listener was closed
 * @memcg: control group to charge for children, referenced; or NULL. Until the first accept() it is
 *	the socket's, then that of the last thread that called accept()
 * @left_new: the listener's work may have left new connections in TCP's queue; written only by the
 *	work
 * @tcp_only: new connections are TCP's
 * @withdrawn: the listener is about to stop: new connections are TCP's, and requests that were
 *	offered SMC do not become connections; written under @stopping or by the release
 * @rcu: frees the listener after TCP's callbacks are done with it
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
	unsigned int generation;
	struct mem_cgroup *memcg;
	bool left_new;
	bool tcp_only;
	bool withdrawn;
	struct rcu_head rcu;
};

/**
 * smc_listen_prepare() - have TCP offer SMC in its SYN-ACKs, before TCP listens
 * @smc: socket, locked
 *
 * Return: 0 or -ENOMEM.
 */
int smc_listen_prepare(struct smc_sock *smc);

/**
 * smc_listener_stop_offering() - leave all new connections to TCP
 * @l: listener, which never offers SMC again
 */
void smc_listener_stop_offering(struct smc_listener *l);

/**
 * smc_listener_stop_begin() - prepare a listener for a call that may stop it
 * @l: listener of a socket whose file is open
 *
 * If TCP would give the connections to another listener, the connections that were offered SMC are
 * reset, and no more are taken. Other threads that stop the listener wait until
 * smc_listener_stop_end().
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_listener_stop_begin(struct smc_listener *l);

/**
 * smc_listener_stop_end() - finish what smc_listener_stop_begin() began, whether or not TCP has
 * stopped listening
 * @l: listener for which this thread has called smc_listener_stop_begin()
 *
 * Resets all connections that were not accepted, unless TCP still listens and
 * smc_listener_stop_begin() reset nothing.
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_listener_stop_end(struct smc_listener *l);

/**
 * smc_listener_has_revoked() - whether requests that were offered SMC must not become connections
 * @sk: socket that listens, or has just stopped
 *
 * Context: any, under RCU.
 */
bool smc_listener_has_revoked(const struct sock *sk);

/**
 * smc_listener_unhook() - leave the socket of a listener to TCP
 * @l: listener, its socket locked and not listening
 *
 * Context: process; may sleep.
 */
void smc_listener_unhook(struct smc_listener *l);

/**
 * smc_listen_undo() - stop listening, leave the socket to TCP, and reset all connections that were
 * not accepted
 * @smc: socket that is released, with a listener
 * @sock: struct socket of @smc
 *
 * Context: process, without the socket lock; may sleep.
 */
void smc_listen_undo(struct smc_sock *smc, struct socket *sock);

/**
 * smc_listener_kick() - queue the listener's work, because TCP has a connection or has ended the
 * listener
 * @l: listener that cannot be freed meanwhile; nothing happens if it is closed
 *
 * Context: any.
 */
void smc_listener_kick(struct smc_listener *l);

/**
 * smc_listener_get() - take a reference
 * @l: listener, under RCU
 *
 * Context: any.
 * Return: false if the listener is being freed; else the caller is to call smc_listener_unref().
 */
static inline bool smc_listener_get(struct smc_listener *l)
{
	return refcount_inc_not_zero(&l->refs);
}

/**
 * smc_listener_unref() - drop a reference
 * @l: listener, freed a grace period of RCU after the last reference
 *
 * Context: any.
 */
void smc_listener_unref(struct smc_listener *l);

/**
 * smc_listener_take_this() - take one connection from TCP in place of the listener's work
 * @l: listener, to which the caller has a reference
 * @child: the connection, to which the caller has a reference
 *
 * Context: process, without the socket lock.
 * Return: the connection, which the caller is to pass to smc_listener_enter(); or NULL, for example
 *	if a user has the listener locked. Then the caller is to have the work take the connection.
 */
struct smc_sock *smc_listener_take_this(struct smc_listener *l, struct sock *child);

/**
 * smc_listener_enter() - put a connection in one of the listener's lists after it was taken from
 * TCP
 * @l: listener that @child was taken for, and that cannot be freed meanwhile
 * @child: connection; if its SMC handshake is not over, a worker runs it
 *
 * If the listener was closed since the connection was taken, the connection is reset.
 *
 * Context: process, without the connection's lock.
 */
void smc_listener_enter(struct smc_listener *l, struct smc_sock *child);

/**
 * smc_listener_handshake_done() - make a connection ready for accept() after its SMC handshake, or
 * defer it until its peer sends data (TCP_DEFER_ACCEPT)
 * @l: listener that owns @child
 * @child: connection in the listener's lists; the caller must not use it afterwards
 *
 * Context: process, without the connection's lock.
 */
void smc_listener_handshake_done(struct smc_listener *l, struct smc_sock *child);

/**
 * smc_listener_end_deferral() - have a deferred connection wait for accept() from now on
 * @child: connection; nothing happens if it is not deferred, or no listener has it any more
 *
 * Context: process, without the connection's lock.
 */
void smc_listener_end_deferral(struct smc_sock *child);

/**
 * smc_request_is_new() - whether a connection is yet to begin its SMC handshake
 * @req: request of the connection
 * @arg: unused
 *
 * Context: any, under RCU or with the queue's lock.
 */
bool smc_request_is_new(const struct request_sock *req, const void *arg);

/**
 * smc_request_is_ready() - whether accept() may return a connection
 * @req: request of the connection
 * @arg: unused
 *
 * Context: any, under RCU or with the queue's lock.
 */
bool smc_request_is_ready(const struct request_sock *req, const void *arg);

/**
 * smc_listener_set_blackhole_key() - choose the blackhole entry for a client that sends no PROPOSAL
 * @child: connection, new
 *
 * The PROPOSAL may be missing because a middlebox removed the option from the SYN-ACK. A client in
 * this namespace gets no entry, because no middlebox is on the way from that client. Also, all
 * local users share one address, so one user could use an entry to take SMC from the others.
 *
 * Context: any.
 */
void smc_listener_set_blackhole_key(struct smc_sock *child);

/**
 * smc_listener_is_ready() - whether accept() would find a connection
 * @l: listener of a socket whose file is open
 *
 * If accept() would find no connection, waiting threads are woken as soon as one is ready.
 *
 * Context: any.
 */
bool smc_listener_is_ready(struct smc_listener *l);

/**
 * smc_listener_charge_caller() - charge new children to the calling thread's control group
 * @l: listener of a socket whose file is open
 *
 * TCP charges the thread that calls accept(). SMC needs memory before accept(), in a worker, so it
 * charges the thread that called accept() last. The thread that created the listener may belong to
 * a service manager, whose control group is the wrong one.
 *
 * Context: process.
 */
void smc_listener_charge_caller(struct smc_listener *l);

/**
 * smc_listener_accept() - accept a connection
 * @l: listener of a socket whose file is open; it may stop listening meanwhile
 * @newsock: gets the connection
 * @flags: O_NONBLOCK
 *
 * Context: process, without the socket lock.
 * Return: 0, -EAGAIN, -EINVAL when the socket does not listen any more, or a signal's errno.
 */
int smc_listener_accept(struct smc_listener *l, struct socket *newsock, int flags);

#endif
