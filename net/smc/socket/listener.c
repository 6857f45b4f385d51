// SPDX-License-Identifier: GPL-2.0
/* From TCP's accept queue through the rendezvous to accept(). */

#include <linux/slab.h>
#include <net/tcp.h>

#include "admin/blackhole.h"
#include "admin/net.h"
#include "children.h"
#include "compat.h"
#include "listener.h"
#include "migrate.h"
#include "ops.h"
#include "smc_sock.h"
#include "wire/clc.h"

static DECLARE_WAIT_QUEUE_HEAD(smc_listener_left);

static void smc_listener_take(struct work_struct *work);

/*
 * TCP asks, for a SYN with the option, whether to leave it out of the SYN-ACK. What may end at
 * another listener is not offered SMC. The mark in the sock says whether anything ever was: it is
 * also that of handshakes under way, so it stays.
 */
static bool smc_listener_congested(const struct sock *sk)
{
	const struct smc_sock *smc = smc_sk(sk);
	const struct smc_listener *l;

	if (!smc)
		return true;
	l = smc->listener;
	if (READ_ONCE(l->tcp_only) || READ_ONCE(l->withdrawn) || smc_migrates(sk) ||
	    READ_ONCE(smc->tcp_holds) || smc_sock_is_congested(smc))
		return true;
	if (!READ_ONCE(tcp_sk(sk)->syn_smc))
		WRITE_ONCE(tcp_sk(smc->sk)->syn_smc, true);
	return false;
}

bool smc_listener_has_withdrawn(const struct sock *sk)
{
	const struct smc_sock *smc = smc_sk(sk);

	return smc && READ_ONCE(smc->listener->withdrawn);
}

int smc_listen_prepare(struct smc_sock *smc)
{
	struct smc_listener *l = kzalloc(sizeof(*l), GFP_KERNEL);

	if (!l)
		return -ENOMEM;
	l->smc = smc;
	INIT_WORK(&l->take, smc_listener_take);
	mutex_init(&l->stopping);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->shaking);
	INIT_LIST_HEAD(&l->ready);

	smc->listener = l;
	smc->role = SMC_SERVER;
	tcp_sk(smc->sk)->smc_hs_congested = smc_listener_congested;
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
		queue_work(smc_sk_net(l->smc->sk)->take_wq, &l->take);
	spin_unlock_bh(&l->lock);
}

bool smc_listener_enter(struct smc_listener *l)
{
	bool may;

	spin_lock_bh(&l->lock);
	may = !l->closed;
	l->visitors += may;
	spin_unlock_bh(&l->lock);
	return may;
}

void smc_listener_leave(struct smc_listener *l)
{
	spin_lock_bh(&l->lock);
	if (!--l->visitors && l->closed)
		wake_up_all(&smc_listener_left);
	spin_unlock_bh(&l->lock);
}

static bool smc_listener_tcp_has_any(const struct smc_listener *l)
{
	return !reqsk_queue_empty(&inet_csk(l->smc->sk)->icsk_accept_queue);
}

bool smc_listener_is_ready(struct smc_listener *l)
{
	if (!list_empty_careful(&l->ready))
		return true;
	if (!smc_listener_tcp_has_any(l))
		return false;
	if (smc_migrates(l->smc->sk))
		return true;
	/* It may be that they do not migrate any more, and nobody was told to take them. */
	smc_listener_kick(l);
	return false;
}

/*
 * When one more than the backlog waits for accept(), as TCP does it, the others wait in TCP's
 * queue. Those in their rendezvous do not count: clients that delay theirs must not keep others
 * from accept(). So there may be more of them than the backlog when they are through.
 */
static bool smc_listener_has_room(struct smc_listener *l)
{
	bool room;

	spin_lock_bh(&l->lock);
	room = !l->closed && l->n_ready <= READ_ONCE(l->smc->sk->sk_max_ack_backlog);
	spin_unlock_bh(&l->lock);
	return room;
}

static void smc_listener_add(struct smc_listener *l, struct smc_sock *child, struct list_head *list,
			     unsigned int *n)
{
	spin_lock_bh(&l->lock);
	list_add_tail(&child->siblings, list);
	++*n;
	spin_unlock_bh(&l->lock);
}

static void smc_listener_wake(struct smc_listener *l)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(l->smc->sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLIN | EPOLLRDNORM);
	rcu_read_unlock();
	sk_wake_async(l->smc->sk, SOCK_WAKE_WAITD, POLL_IN);
}

/*
 * The peer offered SMC, and was told that this end does. What a crowd gathered before the offers
 * stopped is too much: clients that say nothing must not keep others from accept().
 * Return: false if it is TCP's after all.
 */
static bool smc_listener_shake(struct smc_listener *l, struct smc_sock *child)
{
	smc_sock_hook(child, SMC_MODE_HANDSHAKE);
	if (READ_ONCE(l->n_shaking) >= 2 * SMC_HANDSHAKES_MAX) {
		smc_sock_refuse_handshake(child, SMC_DIAG_NO_MEMORY);
		return false;
	}
	smc_listener_add(l, child, &l->shaking, &l->n_shaking);
	smc_sock_start_handshake(child);
	return true;
}

/* Why a connection whose other end was not offered SMC, or offers none, is TCP. */
static u32 smc_listener_reason(const struct smc_listener *l, const struct smc_sock *child,
			       bool is_taken)
{
	if (is_taken || READ_ONCE(l->tcp_only) || smc_migrates(l->smc->sk))
		return SMC_DIAG_SOCKET_OPTION;
	return smc_blackhole_has(smc_sk_net(child->sk), &child->hs.place) ? SMC_DIAG_BLACKHOLE :
									    SMC_DIAG_PEER_NO_SMC;
}

/*
 * A connection that TCP established. Without memory it is reset.
 * Return: it, if there is a rendezvous for the caller to see to; or NULL.
 */
static struct smc_sock *smc_listener_begin(struct smc_listener *l, struct sock *sk)
{
	struct smc_sock *child = smc_sock_create(sk, SMC_SERVER);
	bool is_taken, is_offered, is_shaking;

	if (!child) {
		smc_reset_tcp(sk);
		return NULL;
	}
	child->parent = l;
	/* TCP would charge who accepts, and that is a worker here. */
	child->hs.memcg = l->smc->sk->sk_memcg;
	smc_blackhole_key_client(&child->hs.place, sk);
	lock_sock(sk);
	is_taken = smc_sock_is_taken(sk);
	is_offered = tcp_sk(sk)->syn_smc && sk->sk_state != TCP_CLOSE;
	is_shaking = is_offered && !is_taken && smc_listener_shake(l, child);
	if (!is_offered || is_taken)
		smc_sock_fall_back(child, smc_listener_reason(l, child, is_taken));
	release_sock(sk);
	if (is_shaking)
		return child;
	if (is_offered && is_taken) {
		/* A BPF program made it its own, and would read the client's PROPOSAL. */
		smc_listener_stop_offering(l);
		smc_reset_tcp(sk);
		return NULL;
	}
	smc_listener_add(l, child, &l->ready, &l->n_ready);
	smc_listener_wake(l);
	return NULL;
}

/* Return: false if TCP has none. */
static bool smc_listener_take_one(struct smc_listener *l)
{
	struct sock *sk = smc_tcp_accept(l->smc->sk);
	struct smc_sock *child;

	if (!sk)
		return false;
	child = smc_listener_begin(l, sk);
	if (child)
		smc_sock_leave_handshake(child);
	return true;
}

/*
 * TCP can't give away what it has no more: what may migrate is left to it until accept(). Who waits
 * there was not told, if migration was switched on after it came.
 */
static void smc_listener_take_all(struct smc_listener *l)
{
	while (smc_listener_tcp_has_any(l) && smc_listener_has_room(l)) {
		if (smc_migrates(l->smc->sk)) {
			smc_listener_wake(l);
			return;
		}
		if (!smc_listener_take_one(l))
			return;
	}
}

/* Take one of those, for accept(). Return: false if there was none. */
static bool smc_listener_take_left(struct smc_listener *l)
{
	bool taken;

	if (!smc_migrates(l->smc->sk) || !smc_listener_tcp_has_any(l))
		return false;
	mutex_lock(&l->stopping);
	taken = smc_listener_take_one(l);
	mutex_unlock(&l->stopping);
	return taken;
}

struct sock *smc_listener_last(struct smc_listener *l)
{
	struct request_sock_queue *queue = &inet_csk(l->smc->sk)->icsk_accept_queue;
	struct sock *child = NULL;

	spin_lock_bh(&queue->rskq_lock);
	if (queue->rskq_accept_head) {
		child = queue->rskq_accept_tail->sk;
		sock_hold(child);
	}
	spin_unlock_bh(&queue->rskq_lock);
	return child;
}

/*
 * Like accept() of TCP. But that charges the connection to the memory cgroup of who calls it, waits
 * for the lock, and takes whatever is first. With data in its SYN there is more to be done.
 */
static bool smc_listener_take_from_tcp(struct smc_listener *l, const struct sock *child)
{
	struct sock *sk = l->smc->sk;
	struct request_sock_queue *queue = &inet_csk(sk)->icsk_accept_queue;
	struct request_sock *req = NULL;

	spin_lock_bh(&sk->sk_lock.slock);
	/* With this lock nobody else takes the first. */
	if (!sock_owned_by_user(sk) && sk->sk_state == TCP_LISTEN)
		req = READ_ONCE(queue->rskq_accept_head);
	if (req && !tcp_rsk(req)->tfo_listener && req->sk == child)
		reqsk_queue_remove(queue, sk);
	else
		req = NULL;
	spin_unlock_bh(&sk->sk_lock.slock);
	if (!req)
		return false;
	inet_init_csk_locks(req->sk);
	reqsk_put(req);
	return true;
}

struct smc_sock *smc_listener_take_first(struct smc_listener *l, struct sock *child)
{
	bool is_taken = smc_listener_has_room(l) && smc_listener_take_from_tcp(l, child);

	if (smc_listener_tcp_has_any(l))
		smc_listener_kick(l);
	return is_taken ? smc_listener_begin(l, child) : NULL;
}

static void smc_listener_take(struct work_struct *work)
{
	smc_listener_take_all(container_of(work, struct smc_listener, take));
}

/* The same for who does not wait, neither for a connection nor for the work. */
static void smc_listener_take_now(struct smc_listener *l)
{
	mutex_lock(&l->stopping);
	smc_listener_take_all(l);
	mutex_unlock(&l->stopping);
}

void smc_listener_shaken(struct smc_listener *l, struct smc_sock *child)
{
	spin_lock_bh(&l->lock);
	/* A listener being closed holds on to it. */
	if (!l->closed) {
		list_move_tail(&child->siblings, &l->ready);
		l->n_ready++;
		l->n_shaking--;
	}
	spin_unlock_bh(&l->lock);
	smc_listener_wake(l);
}

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

static struct smc_sock *smc_listener_pop_ready(struct smc_listener *l)
{
	return READ_ONCE(l->smc->sk->sk_state) == TCP_LISTEN ?
		smc_listener_pop(l, &l->ready, &l->n_ready) : NULL;
}

/* Return: 0 to look again, or an error. */
static int smc_listener_wait(struct smc_listener *l, long *timeo)
{
	struct sock *sk = l->smc->sk;
	DEFINE_WAIT(wait);

	if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
		return -EINVAL;
	/* Before whatever ends the wait: this thread may be the only one that was woken. */
	if (smc_listener_is_ready(l))
		return 0;
	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);

	/* One connection wakes one of those who accept. */
	prepare_to_wait_exclusive(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
	if (!smc_listener_is_ready(l) && READ_ONCE(sk->sk_state) == TCP_LISTEN)
		*timeo = schedule_timeout(*timeo);
	finish_wait(sk_sleep(sk), &wait);
	return 0;
}

int smc_listener_accept(struct smc_listener *l, struct socket *newsock, int flags)
{
	struct sock *sk = l->smc->sk;
	long timeo = sock_rcvtimeo(sk, flags & O_NONBLOCK);
	struct smc_sock *child;
	int rc;

	if (!timeo && !smc_listener_is_ready(l))
		smc_listener_take_now(l);
	for (;;) {
		child = smc_listener_pop_ready(l);
		if (child)
			break;
		if (smc_listener_take_left(l))
			continue;
		rc = smc_listener_wait(l, &timeo);
		if (rc)
			return rc;
	}
	/* TCP holds connections back for want of room here. */
	if (smc_listener_tcp_has_any(l))
		smc_listener_kick(l);

	/* The work that handed it over is done with it. */
	flush_work(&child->shake);
	child->parent = NULL;
	lock_sock(child->sk);
	/* What TCP says of the listener, its accept() says of the child. */
	if (test_bit(SOCK_SUPPORT_ZC, &sk->sk_socket->flags))
		set_bit(SOCK_SUPPORT_ZC, &newsock->flags);
	sock_graft(child->sk, newsock);
	newsock->state = SS_CONNECTED;
	release_sock(child->sk);
	return 0;
}

static void smc_listener_reset(struct smc_listener *l, struct list_head *list, unsigned int *n)
{
	struct smc_sock *child;

	while ((child = smc_listener_pop(l, list, n))) {
		smc_sock_end_handshake(child);
		child->parent = NULL;
		smc_reset_tcp(child->sk);
	}
}

static void smc_listener_set_closed(struct smc_listener *l, bool closed)
{
	spin_lock_bh(&l->lock);
	l->closed = closed;
	spin_unlock_bh(&l->lock);
}

/* From then on nothing is taken, and nothing moves from one list to the other. */
static void smc_listener_halt(struct smc_listener *l)
{
	smc_listener_set_closed(l, true);
	cancel_work_sync(&l->take);
	wait_event(smc_listener_left, !READ_ONCE(l->visitors));
}

static void smc_listener_close(struct smc_listener *l)
{
	smc_listener_halt(l);
	smc_listener_reset(l, &l->shaking, &l->n_shaking);
	smc_listener_reset(l, &l->ready, &l->n_ready);
}

/* Nobody accepts meanwhile. */
static void smc_listener_withdraw(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk;

	if (READ_ONCE(sk->sk_state) != TCP_LISTEN || !READ_ONCE(tcp_sk(sk)->syn_smc) ||
	    !smc_migrates(sk))
		return;
	WRITE_ONCE(l->withdrawn, true);
	/* What TCP was handling has been offered SMC, and is where it is looked for. */
	synchronize_net();
	smc_listener_halt(l);
	smc_migrate_drop_offered(sk);
}

void smc_listener_stop_begin(struct smc_listener *l)
{
	mutex_lock(&l->stopping);
	smc_listener_withdraw(l);
}

void smc_listener_stop_end(struct smc_listener *l)
{
	if (l->withdrawn || READ_ONCE(l->smc->sk->sk_state) != TCP_LISTEN)
		smc_listener_close(l);
	smc_listener_set_closed(l, false);
	WRITE_ONCE(l->withdrawn, false);
	mutex_unlock(&l->stopping);
	/* Another thread may have made it listen again, and TCP's word been missed. */
	if (READ_ONCE(l->smc->sk->sk_state) == TCP_LISTEN)
		smc_listener_kick(l);
}

void smc_listener_unhook(struct smc_listener *l)
{
	struct sock *sk = l->smc->sk;

	/* TCP may be about to ask about a SYN that came just before. */
	synchronize_net();
	tcp_sk(sk)->smc_hs_congested = NULL;
	smc_sock_unhook(l->smc);
}

void smc_listen_undo(struct smc_sock *smc, struct socket *sock)
{
	struct smc_listener *l = smc->listener;
	struct sock *sk = smc->sk;

	smc_listener_withdraw(l);
	/* As long as it listens, its children are copies of it, to be settled by the hook. */
	if (READ_ONCE(sk->sk_state) == TCP_LISTEN)
		smc_tcp_ops(sk)->shutdown(sock, SHUT_RDWR);
	lock_sock(sk);
	smc_sock_unhook(smc);
	release_sock(sk);
	smc_listener_close(l);
	/* TCP's callbacks may have seen it just before; they find it closed. */
	kfree_rcu(l, rcu);
}
