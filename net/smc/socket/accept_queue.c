// SPDX-License-Identifier: GPL-2.0
/* TCP's queue of connections that wait for accept(). */

#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "accept_queue.h"
#include "smc_sock.h"

/*
 * It was offered SMC, and its rendezvous has not begun. All others are ready for accept() as they
 * lie: what the listener put back is hooked as long as its TCP connection is marked, unless BPF
 * has replaced the hooks.
 */
bool smc_request_is_new(const struct request_sock *req, const void *arg)
{
	struct sock *sk = req->sk;

	return tcp_sk(sk)->syn_smc && !smc_sk(sk) && !smc_sock_find(sk);
}

bool smc_request_is_ready(const struct request_sock *req, const void *arg)
{
	return !smc_request_is_new(req, arg);
}

/* A request in the queue, or NULL, and the one before it. */
struct smc_queued {
	struct request_sock *before;
	struct request_sock *req;
};

static struct request_sock_queue *smc_queue_of(struct sock *listener)
{
	return &inet_csk(listener)->icsk_accept_queue;
}

static struct smc_queued smc_queue_find(const struct request_sock_queue *queue,
					smc_accept_queue_fits fits, const void *arg)
{
	struct smc_queued at = { .req = queue->rskq_accept_head };

	lockdep_assert_held(&queue->rskq_lock);
	while (at.req && !fits(at.req, arg)) {
		at.before = at.req;
		at.req = at.req->dl_next;
	}
	return at;
}

static void smc_queue_unlink(struct request_sock_queue *queue, const struct smc_queued *at)
{
	if (at->before)
		at->before->dl_next = at->req->dl_next;
	else
		WRITE_ONCE(queue->rskq_accept_head, at->req->dl_next);
	if (queue->rskq_accept_tail == at->req)
		queue->rskq_accept_tail = at->before;
}

bool smc_accept_queue_has(struct sock *listener, smc_accept_queue_fits fits, const void *arg)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	struct smc_queued at;

	if (reqsk_queue_empty(queue))
		return false;
	spin_lock_bh(&queue->rskq_lock);
	at = smc_queue_find(queue, fits, arg);
	spin_unlock_bh(&queue->rskq_lock);
	return at.req;
}

struct request_sock *smc_accept_queue_take(struct sock *listener, smc_accept_queue_fits fits,
					   const void *arg)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	struct smc_queued at;

	lockdep_assert_held(&listener->sk_lock);
	spin_lock_bh(&queue->rskq_lock);
	at = smc_queue_find(queue, fits, arg);
	if (at.req) {
		smc_queue_unlink(queue, &at);
		sk_acceptq_removed(listener);
	}
	spin_unlock_bh(&queue->rskq_lock);
	return at.req;
}

void smc_accept_queue_put(struct sock *listener, struct request_sock *req)
{
	if (!inet_csk_reqsk_queue_add(listener, req, req->sk))
		reqsk_put(req);
}

bool smc_accept_queue_raise(struct sock *listener, smc_accept_queue_fits fits, const void *arg)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	struct smc_queued at;

	lockdep_assert_held(&listener->sk_lock);
	spin_lock_bh(&queue->rskq_lock);
	at = smc_queue_find(queue, fits, arg);
	if (at.req && at.before) {
		smc_queue_unlink(queue, &at);
		at.req->dl_next = queue->rskq_accept_head;
		WRITE_ONCE(queue->rskq_accept_head, at.req);
	}
	spin_unlock_bh(&queue->rskq_lock);
	return at.req;
}

struct sock *smc_accept_queue_last(struct sock *listener)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	struct sock *child = NULL;

	spin_lock_bh(&queue->rskq_lock);
	if (queue->rskq_accept_head) {
		child = queue->rskq_accept_tail->sk;
		sock_hold(child);
	}
	spin_unlock_bh(&queue->rskq_lock);
	return child;
}
