// SPDX-License-Identifier: GPL-2.0
/* Takes connections from TCP's accept queue, and puts them back after their SMC handshakes. */

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "abandon.h"
#include "admin/blackhole.h"
#include "admin/net.h"
#include "compat.h"
#include "listener.h"
#include "migrate.h"
#include "ops.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "tcp.h"
#include "wire/clc.h"

/*
 * Limit of connections that one run of a listener's work takes or drops. At the limit the work
 * queues itself again, behind the works of other listeners. All listeners of a namespace share the
 * work queue, and the clients of one must not occupy it for as long as they like.
 */
#define SMC_LISTENER_BATCH	16

static void smc_listener_take(struct work_struct *work);

/*
 * Whether TCP is to leave the option out of a SYN-ACK; TCP calls this for each SYN with the option.
 * A connection that TCP may give to another listener is not offered SMC. The mark in the sock,
 * syn_smc, says whether any connection ever was offered SMC. TCP handshakes under way depend on the
 * mark, so it stays set.
 */
static bool smc_listener_congested(const struct sock *sk)
{
	const struct smc_sock *smc = smc_sk(sk);
	const struct smc_listener *l;

	if (!smc)
		return true;
	l = smc->listener;
	if (READ_ONCE(l->tcp_only) || READ_ONCE(l->withdrawn) || smc_migrates(sk) ||
	    READ_ONCE(smc->tcp_setsockopts) ||
	    smc_quota_congested(sock_net(sk), sk->sk_uid, READ_ONCE(smc->limit_handshakes)))
		return true;
	if (!smc_tcp_offers(sk))
		smc_tcp_set_offer(smc->sk, true);
	return false;
}

bool smc_listener_has_revoked(const struct sock *sk)
{
	const struct smc_sock *smc = smc_sk(sk);

	return smc && READ_ONCE(smc->listener->withdrawn);
}

int smc_listen_prepare(struct smc_sock *smc)
{
	struct smc_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	sock_owned_by_me(smc->sk);
	if (!l)
		return -ENOMEM;
	l->smc = smc;
	l->sk = smc->sk;
	sock_hold(l->sk);
	l->memcg = mem_cgroup_tryget(smc->memcg) ? smc->memcg : NULL;
	refcount_set(&l->refs, 1);
	INIT_DELAYED_WORK(&l->take, smc_listener_take);
	mutex_init(&l->stopping);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->handshaking);
	INIT_LIST_HEAD(&l->ready);
	INIT_LIST_HEAD(&l->deferred);

	smc->listener = l;
	smc->role = SMC_SERVER;
	smc_tcp_set_congested(smc->sk, smc_listener_congested);
	smc_children_hook(l);
	smc_sock_hook(smc, SMC_MODE_LISTEN);
	return 0;
}

void smc_listener_stop_offering(struct smc_listener *l)
{
	WRITE_ONCE(l->tcp_only, true);
}

void smc_listener_kick(struct smc_listener *l)
{
	spin_lock_bh(&l->lock);
	if (!l->closed)
		mod_delayed_work(smc_net(sock_net(l->sk))->accept_wq, &l->take, 0);
	spin_unlock_bh(&l->lock);
}

void smc_listener_unref(struct smc_listener *l)
{
	if (!refcount_dec_and_test(&l->refs))
		return;
	mem_cgroup_put(l->memcg);
	sock_put(l->sk);
	/* TCP's callbacks may still use the listener; they find it closed. */
	kfree_rcu(l, rcu);
}

/*
 * A connection in the queue is new if it was offered SMC, and its SMC handshake has not begun. All
 * other connections are ready for accept(). A connection that a listener has put back may keep
 * TCP's mark of an SMC offer. While the connection has the mark, its struct smc_sock is in the
 * namespace's array, which shows that the connection is not new.
 */
bool smc_request_is_new(const struct request_sock *req, const void *arg)
{
	struct sock *sk = req->sk;

	return smc_tcp_offers(sk) && !smc_sock_find(sk);
}

bool smc_request_is_ready(const struct request_sock *req, const void *arg)
{
	return !smc_request_is_new(req, arg);
}

static bool smc_request_is_new_of(const struct request_sock *req, const void *child)
{
	return req->sk == child && smc_request_is_new(req, NULL);
}

static bool smc_request_is_of(const struct request_sock *req, const void *child)
{
	return req->sk == child;
}

/*
 * No SMC handshake begins while backlog + 1 connections, TCP's own limit, are ready for accept().
 * Connections in their SMC handshake do not count: clients that delay their handshakes must not
 * keep others from accept(). So more connections than the backlog may be ready once their
 * handshakes are over.
 *
 * poll() and a waiting accept() look only at the first few thousand connections in the queue. If
 * all of these are new, they are taken in any case, so that a ready one behind them is found.
 */
static bool smc_listener_has_room(struct smc_listener *l)
{
	bool is_open, is_full;

	spin_lock_bh(&l->lock);
	is_open = !l->closed;
	is_full = l->n_ready > READ_ONCE(l->sk->sk_max_ack_backlog);
	spin_unlock_bh(&l->lock);
	return is_open && !(is_full && smc_accept_queue_has(l->sk, smc_request_is_ready, NULL));
}

/*
 * Return: for how many jiffies TCP would wait for the peer's first data (TCP_DEFER_ACCEPT), that
 * is, until TCP had retransmitted the SYN-ACK @retrans times.
 */
static unsigned long smc_listener_deferral(u8 retrans)
{
	unsigned long timeout = TCP_TIMEOUT_INIT, sum = timeout;

	while (--retrans) {
		timeout = min_t(unsigned long, 2 * timeout, TCP_RTO_MAX);
		sum += timeout;
	}
	return sum;
}

static void smc_listener_wake(struct smc_listener *l)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(l->sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLIN | EPOLLRDNORM);
	rcu_read_unlock();
	sk_wake_async(l->sk, SOCK_WAKE_WAITD, POLL_IN);
}

/* Resets a connection that was not accepted. */
static void smc_listener_reset_one(struct smc_sock *child)
{
	struct request_sock *req = child->req;
	struct sock *sk = child->sk;

	smc_reset_tcp(sk);
	reqsk_put(req);
	sock_put(sk);
}

/*
 * Called with l->lock. Defers the child until the first data of its stream, if TCP_DEFER_ACCEPT is
 * set. TCP deferred the child only until the PROPOSAL, which was the first data for TCP. The option
 * limits the time, as a number of SYN-ACKs that TCP would retransmit while no data comes. As with
 * TCP, at most as many connections as the backlog are deferred.
 * Return: whether the child is deferred. If so, no other thread ends the deferral before the caller
 * releases l->lock.
 */
static bool smc_listener_defers(struct smc_listener *l, struct smc_sock *child)
{
	const struct sock *sk = l->sk;
	u8 retrans = smc_tcp_defer_accept(sk);

	if (!retrans || l->closed || child->mode != SMC_MODE_STREAM ||
	    l->n_deferred >= READ_ONCE(sk->sk_max_ack_backlog))
		return false;
	list_move_tail(&child->siblings, &l->deferred);
	l->n_deferred++;
	l->n_handshakes--;
	/*
	 * Queue the work before @is_deferred is set. From then on the peer's first data queues the
	 * work with delay 0, and the delay here must not replace that.
	 */
	smc_sock_queue_later(child, smc_listener_deferral(retrans));
	WRITE_ONCE(child->is_deferred, true);
	/* Ask for data only now: data that came before @is_deferred was set has queued no work. */
	if (!smc_stream_await(child->stream))
		smc_sock_queue_later(child, 0);
	return true;
}

/*
 * Called with the locks of the listener and of the child. Puts the child into TCP's accept queue,
 * and moves it to l->ready from the list whose length is @n. If the listener is being closed, the
 * child stays in its list, and the closing thread resets the child.
 */
static void smc_listener_make_ready(struct smc_listener *l, struct smc_sock *child, unsigned int *n)
{
	lockdep_assert_held(&l->lock);
	if (l->closed)
		return;
	list_move_tail(&child->siblings, &l->ready);
	l->n_ready++;
	--*n;
	smc_sock_park(child);
	smc_accept_queue_put(l->sk, child->req);
}

static void smc_listener_notify(struct smc_listener *l)
{
	smc_listener_wake(l);
	/* If TCP does not listen any more, have the work drop the connection. */
	if (READ_ONCE(l->sk->sk_state) != TCP_LISTEN)
		smc_listener_kick(l);
}

/* Called with the listener's lock and the child's. Return: false if the child is deferred. */
static bool smc_listener_requeue(struct smc_listener *l, struct smc_sock *child)
{
	if (smc_listener_defers(l, child))
		return false;
	smc_listener_make_ready(l, child, &l->n_handshakes);
	return true;
}

void smc_listener_handshake_done(struct smc_listener *l, struct smc_sock *child)
{
	struct sock *sk = child->sk;
	bool waits;

	spin_lock_bh(&sk->sk_lock.slock);
	spin_lock(&l->lock);
	waits = smc_listener_requeue(l, child);
	spin_unlock(&l->lock);
	spin_unlock_bh(&sk->sk_lock.slock);
	if (waits)
		smc_listener_notify(l);
}

/* Return: whether the child was deferred, and waits for accept() now. */
static bool smc_listener_undefer(struct smc_listener *l, struct smc_sock *child)
{
	bool ends;

	spin_lock_bh(&child->sk->sk_lock.slock);
	spin_lock(&l->lock);
	ends = child->is_deferred && !list_empty(&child->siblings);
	WRITE_ONCE(child->is_deferred, false);
	if (ends)
		smc_listener_make_ready(l, child, &l->n_deferred);
	spin_unlock(&l->lock);
	spin_unlock_bh(&child->sk->sk_lock.slock);
	return ends;
}

void smc_listener_end_deferral(struct smc_sock *child)
{
	struct smc_listener *l;

	rcu_read_lock();
	l = READ_ONCE(child->parent);
	if (l && !smc_listener_get(l))
		l = NULL;
	rcu_read_unlock();
	if (!l)
		return;
	/*
	 * The reference to @l is needed because, once the child waits for accept(), another thread
	 * may free the child and close the listener.
	 */
	if (smc_listener_undefer(l, child))
		smc_listener_notify(l);
	smc_listener_unref(l);
}

void smc_listener_charge_caller(struct smc_listener *l)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(NULL);

	if (memcg != READ_ONCE(l->memcg)) {
		spin_lock_bh(&l->lock);
		swap(l->memcg, memcg);
		spin_unlock_bh(&l->lock);
	}
	mem_cgroup_put(memcg);
}

static struct mem_cgroup *smc_listener_get_memcg(struct smc_listener *l)
{
	struct mem_cgroup *memcg;

	spin_lock_bh(&l->lock);
	memcg = l->memcg;
	if (!mem_cgroup_tryget(memcg))
		memcg = NULL;
	spin_unlock_bh(&l->lock);
	return memcg;
}

/*
 * Charges the listener's control group: the child has none before TCP's accept(), and this thread
 * may be a worker.
 */
static struct smc_sock *smc_listener_create_child(struct smc_listener *l, struct sock *sk)
{
	struct mem_cgroup *memcg = smc_listener_get_memcg(l);
	struct mem_cgroup *outer = set_active_memcg(memcg);
	struct smc_sock *child = smc_sock_create_child(sk);

	set_active_memcg(outer);
	mem_cgroup_put(memcg);
	return child;
}

void smc_listener_set_blackhole_key(struct smc_sock *child)
{
	if (!smc_peer_in_net(child->sk))
		child->hs.blackhole_key = smc_blackhole_key_client(smc_tcp_daddr(child->sk),
								   child->sk->sk_num);
}

/*
 * Creates SMC's state of a new connection. @generation is the listener's, read before @req was
 * taken from TCP.
 */
static struct smc_sock *smc_listener_classify_new(struct smc_listener *l, struct request_sock *req,
						  unsigned int generation)
{
	struct smc_sock *child = smc_listener_create_child(l, req->sk);

	if (!child)
		return NULL;
	child->parent = l;
	child->req = req;
	/* The sock must stay even if TCP destroys the connection, see smc_listener_drop(). */
	sock_hold(child->sk);
	smc_listener_set_blackhole_key(child);
	child->generation = generation;
	return child;
}

/*
 * Resets a connection that a BPF map has: the program of the map would read the client's PROPOSAL.
 * Later connections would get into the map, too, so they are not offered SMC.
 */
static void smc_listener_refuse(struct smc_listener *l, struct smc_sock *child)
{
	smc_listener_stop_offering(l);
	smc_listener_reset_one(child);
}

/* Called with the listener's lock and the child's. Return: whether the child waits for accept(). */
static bool smc_listener_add(struct smc_listener *l, struct smc_sock *child)
{
	list_add_tail(&child->siblings, &l->handshaking);
	l->n_handshakes++;
	if (child->mode != SMC_MODE_HANDSHAKE)
		return smc_listener_requeue(l, child);
	smc_handshake_queue(&child->hs);
	return false;
}

/* Resets a child that was in no list when the listener was closed. */
static void smc_listener_end_one(struct smc_sock *child)
{
	if (child->mode == SMC_MODE_HANDSHAKE) {
		WRITE_ONCE(child->hs.aborted, true);
		/* An aborted handshake waits for nobody. */
		smc_handshake_run(&child->hs);
	}
	smc_listener_reset_one(child);
}

void smc_listener_enter(struct smc_listener *l, struct smc_sock *child)
{
	struct sock *sk = child->sk;
	bool may, waits;

	spin_lock_bh(&sk->sk_lock.slock);
	spin_lock(&l->lock);
	may = l->generation == child->generation;
	waits = may && smc_listener_add(l, child);
	spin_unlock(&l->lock);
	spin_unlock_bh(&sk->sk_lock.slock);
	if (!may)
		smc_listener_end_one(child);
	else if (waits)
		smc_listener_notify(l);
}

/*
 * Begins the SMC handshake of a connection that was offered SMC. Resets the connection if there is
 * no memory, or if a BPF program has it.
 * Return: the connection, for smc_listener_enter(); or NULL.
 */
static struct smc_sock *smc_listener_begin(struct smc_listener *l, struct request_sock *req,
					   unsigned int generation)
{
	struct smc_sock *child = smc_listener_classify_new(l, req, generation);
	struct sock *sk = req->sk;
	bool has_other_user;

	if (!child) {
		smc_reset_tcp(sk);
		reqsk_put(req);
		return NULL;
	}
	lock_sock(sk);
	has_other_user = smc_sock_has_other_user(sk);
	if (sk->sk_state == TCP_CLOSE) {
		smc_sock_fall_back(child, SMC_DIAG_PEER_NO_SMC);
	} else if (!has_other_user) {
		smc_sock_hook(child, SMC_MODE_HANDSHAKE);
		smc_handshake_start(&child->hs, SMC_SERVER, smc_tcp_pingpong(l->smc->sk));
	}
	release_sock(sk);
	if (has_other_user) {
		smc_listener_refuse(l, child);
		return NULL;
	}
	return child;
}

/*
 * Takes the first child out of @list, whose length is @n. From then on no other thread handles the
 * child.
 */
static struct smc_sock *smc_listener_pop(struct smc_listener *l, struct list_head *list,
					 unsigned int *n)
{
	struct smc_sock *child;

	spin_lock_bh(&l->lock);
	child = list_first_entry_or_null(list, struct smc_sock, siblings);
	if (child) {
		list_del_init(&child->siblings);
		--*n;
	}
	spin_unlock_bh(&l->lock);
	return child;
}

/*
 * Called with the listener locked. Return: a connection that waited for accept() until now, or
 * NULL. If TCP has stopped listening, the connection has no request: TCP has destroyed the
 * connection, or given it to another listener.
 */
static struct smc_sock *smc_listener_pop_ready(struct smc_listener *l)
{
	struct smc_sock *child = smc_listener_pop(l, &l->ready, &l->n_ready);

	if (child)
		child->req = smc_accept_queue_take(l->sk, smc_request_is_of, child->sk);
	return child;
}

/*
 * Ends a connection whose handshake is over. TCP may have given the connection to another listener,
 * and a user of that listener may have the connection locked. If so, waits for the user only if
 * @may_wait. Return: false, with nothing done, if it would have to wait but may not.
 */
static bool smc_listener_drop(struct smc_sock *child, bool may_wait)
{
	struct sock *sk = child->sk;

	if (child->req) {
		smc_listener_reset_one(child);
		return true;
	}
	if (!smc_abandon_queued(child)) {
		if (!may_wait)
			return false;
		/*
		 * Abort the connection before SMC forgets it: otherwise another listener accepts it
		 * as TCP's.
		 */
		tcp_abort(sk, ECONNABORTED);
		smc_abandon(child);
	}
	sock_put(sk);
	return true;
}

/* Resets all connections whose SMC handshake is over. */
static void smc_listener_drop_all(struct smc_listener *l)
{
	struct smc_sock *child;

	while ((child = smc_listener_pop(l, &l->deferred, &l->n_deferred)))
		smc_listener_reset_one(child);
	do {
		lock_sock(l->sk);
		child = smc_listener_pop_ready(l);
		release_sock(l->sk);
		if (child)
			smc_listener_drop(child, true);
	} while (child);
}

static void smc_listener_take_later(struct smc_listener *l)
{
	queue_delayed_work(smc_net(sock_net(l->sk))->accept_wq, &l->take, SMC_SOCK_RETRY);
}

static void smc_listener_put_back(struct smc_listener *l, struct smc_sock *child)
{
	spin_lock_bh(&l->lock);
	/* Put the child behind the others, so that the work's next run begins with the others. */
	list_add_tail(&child->siblings, &l->ready);
	l->n_ready++;
	spin_unlock_bh(&l->lock);
}

/*
 * Resets a connection whose SMC handshake is over, without waiting for a user who has the listener
 * locked. Return: whether there may be another connection to reset now.
 */
static bool smc_listener_drop_one(struct smc_listener *l)
{
	struct smc_sock *child = smc_listener_pop(l, &l->deferred, &l->n_deferred);

	if (child) {
		smc_listener_reset_one(child);
		return true;
	}
	if (!READ_ONCE(l->n_ready))
		return false;
	if (!smc_tcp_trylock(l->sk)) {
		smc_listener_take_later(l);
		return false;
	}
	child = smc_listener_pop_ready(l);
	release_sock(l->sk);
	if (child && !smc_listener_drop(child, false)) {
		smc_listener_put_back(l, child);
		smc_listener_take_later(l);
		return false;
	}
	return child;
}

/* Does what smc_listener_drop_all() does, in several runs of the work. */
static void smc_listener_drop_by_work(struct smc_listener *l)
{
	int i;

	for (i = 0; i < SMC_LISTENER_BATCH; i++)
		if (!smc_listener_drop_one(l))
			return;
	smc_listener_kick(l);
}

/*
 * Takes new connections from TCP, and begins their SMC handshakes. If the listener's user keeps the
 * listener locked, the work queues itself again, so that it delays no other work. If tcp_abort()
 * ended the listener, TCP has reset the connections in its accept queue. The work then ends their
 * streams, and resets the deferred connections, so that the peers learn of the end soon.
 */
static void smc_listener_take(struct work_struct *work)
{
	struct smc_listener *l = container_of(to_delayed_work(work), struct smc_listener, take);
	struct sock *sk = l->sk;
	unsigned int generation = READ_ONCE(l->generation);
	struct request_sock *reqs[SMC_LISTENER_BATCH];
	struct smc_sock *child;
	bool more;
	int i, n;

	if (READ_ONCE(sk->sk_state) != TCP_LISTEN) {
		smc_listener_drop_by_work(l);
		return;
	}
	more = !smc_accept_queue_is_empty(sk);
	WRITE_ONCE(l->left_new, more);
	if (!more || !smc_listener_has_room(l))
		return;
	n = smc_accept_queue_try_take(sk, smc_request_is_new, NULL, reqs, ARRAY_SIZE(reqs), &more);
	if (n < 0) {
		smc_listener_take_later(l);
		return;
	}
	WRITE_ONCE(l->left_new, more);
	for (i = 0; i < n; i++) {
		child = smc_listener_begin(l, reqs[i], generation);
		if (child)
			smc_listener_enter(l, child);
	}
	if (n == ARRAY_SIZE(reqs))
		smc_listener_kick(l);
}

struct smc_sock *smc_listener_take_this(struct smc_listener *l, struct sock *child)
{
	/*
	 * Read the generation before smc_listener_has_room() checks that the listener is open: a
	 * later close changes the generation.
	 */
	unsigned int generation = READ_ONCE(l->generation);
	struct request_sock *req;
	bool more;

	if (!smc_listener_has_room(l) ||
	    smc_accept_queue_try_take(l->sk, smc_request_is_new_of, child, &req, 1, &more) != 1)
		return NULL;
	return smc_listener_begin(l, req, generation);
}

/*
 * Aborts all handshakes at once, so that closing the listener takes only as long as the slowest
 * handshake.
 */
static void smc_listener_abort_handshakes(struct smc_listener *l)
{
	struct smc_sock *child;

	spin_lock_bh(&l->lock);
	list_for_each_entry(child, &l->handshaking, siblings) {
		WRITE_ONCE(child->hs.aborted, true);
		wake_up(&child->hs.wait);
	}
	spin_unlock_bh(&l->lock);
}

static void smc_listener_reset(struct smc_listener *l)
{
	struct smc_sock *child;

	smc_listener_abort_handshakes(l);
	while ((child = smc_listener_pop(l, &l->handshaking, &l->n_handshakes))) {
		smc_handshake_end(&child->hs);
		smc_listener_reset_one(child);
	}
	smc_listener_drop_all(l);
}

/*
 * After this call no connection enters a list, or moves from one list to another. A connecting
 * thread that found the listener open may still take a connection from TCP: smc_listener_enter()
 * then resets the connection.
 */
static void smc_listener_halt(struct smc_listener *l)
{
	spin_lock_bh(&l->lock);
	l->closed = true;
	WRITE_ONCE(l->generation, l->generation + 1);
	spin_unlock_bh(&l->lock);
	cancel_delayed_work_sync(&l->take);
}

static void smc_listener_open(struct smc_listener *l)
{
	spin_lock_bh(&l->lock);
	l->closed = false;
	spin_unlock_bh(&l->lock);
}

static void smc_listener_close(struct smc_listener *l)
{
	smc_listener_halt(l);
	smc_listener_reset(l);
}

/*
 * Resets all connections that were offered SMC, if TCP may give them to another listener. Called
 * while no thread accepts: under @stopping, or in the release of the socket.
 */
static void smc_listener_revoke_offer(struct smc_listener *l)
{
	struct sock *sk = l->sk;

	if (READ_ONCE(sk->sk_state) != TCP_LISTEN || !smc_tcp_offers(sk) ||
	    !smc_migrates(sk))
		return;
	WRITE_ONCE(l->withdrawn, true);
	/*
	 * Softirqs that have not seen @withdrawn may still be creating connections: wait until
	 * smc_migrate_drop_offered() can find these.
	 */
	synchronize_net();
	smc_listener_close(l);
	smc_migrate_drop_offered(sk);
}

void smc_listener_stop_begin(struct smc_listener *l)
{
	mutex_lock(&l->stopping);
	smc_listener_revoke_offer(l);
}

void smc_listener_stop_end(struct smc_listener *l)
{
	if (l->withdrawn || READ_ONCE(l->sk->sk_state) != TCP_LISTEN)
		smc_listener_close(l);
	smc_listener_open(l);
	WRITE_ONCE(l->withdrawn, false);
	mutex_unlock(&l->stopping);
	/*
	 * Queue the work: smc_listener_kick() did nothing while the listener was closed. Even if
	 * TCP had stopped listening, the socket may listen: another thread may have called listen()
	 * again.
	 */
	if (READ_ONCE(l->sk->sk_state) == TCP_LISTEN)
		smc_listener_kick(l);
}

void smc_listener_unhook(struct smc_listener *l)
{
	struct sock *sk = l->sk;

	sock_owned_by_me(sk);
	/*
	 * Wait for softirqs: TCP may be about to call smc_listener_congested() for an earlier SYN.
	 */
	synchronize_net();
	smc_tcp_set_congested(sk, NULL);
	smc_sock_unhook(l->smc);
}

void smc_listen_undo(struct smc_sock *smc, struct socket *sock)
{
	struct smc_listener *l = smc->listener;
	struct sock *sk = smc->sk;

	smc_listener_revoke_offer(l);
	/*
	 * Before TCP stops listening, reset the connections that wait for accept(): if migration
	 * was switched on a moment ago, TCP would give them to another listener. End the handshakes
	 * after TCP has stopped, because a peer can delay their end.
	 */
	smc_listener_halt(l);
	smc_listener_drop_all(l);
	/*
	 * Stop TCP before the listener is unhooked: a new child is a hooked copy of the listener,
	 * and only the listener's hook unhooks the child.
	 */
	if (READ_ONCE(sk->sk_state) == TCP_LISTEN)
		smc_tcp_ops(sk)->shutdown(sock, SHUT_RDWR);
	lock_sock(sk);
	smc_sock_unhook(smc);
	release_sock(sk);
	smc_listener_close(l);
	smc_listener_unref(l);
}
