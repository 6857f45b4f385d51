// SPDX-License-Identifier: GPL-2.0
/* What TCP must not give to another listener. */

#include <linux/bpf.h>
#include <linux/filter.h>
#include <net/inet_hashtables.h>
#include <net/request_sock.h>
#include <net/sock_reuseport.h>
#include <net/tcp.h>

#include "accept_queue.h"
#include "compat.h"
#include "migrate.h"
#include "ops.h"

static bool smc_group_migrates(const struct sock_reuseport *group)
{
	const struct bpf_prog *prog = rcu_dereference(group->prog);

	return prog && prog->expected_attach_type == BPF_SK_REUSEPORT_SELECT_OR_MIGRATE;
}

bool smc_migrates(const struct sock *sk)
{
	const struct sock_reuseport *group;
	bool migrates;

	rcu_read_lock();
	group = rcu_dereference(sk->sk_reuseport_cb);
	migrates = group && (READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_migrate_req) ||
			     smc_group_migrates(group));
	rcu_read_unlock();
	return migrates;
}

static bool smc_is_offered_request(struct sock *sk, const struct sock *listener)
{
	const struct request_sock *req;

	if (sk->sk_state != TCP_NEW_SYN_RECV)
		return false;
	req = inet_reqsk(sk);
	return req->rsk_listener == listener && inet_rsk(req)->smc_ok;
}

/* Return: a request of the bucket, with a reference; or NULL. */
static struct request_sock *smc_offered_request(struct inet_hashinfo *table, unsigned int bucket,
						const struct sock *listener)
{
	spinlock_t *lock = inet_ehash_lockp(table, bucket);
	const struct hlist_nulls_node *node;
	struct request_sock *found = NULL;
	struct sock *sk;

	spin_lock_bh(lock);
	sk_nulls_for_each(sk, node, &table->ehash[bucket].chain) {
		if (smc_is_offered_request(sk, listener) && refcount_inc_not_zero(&sk->sk_refcnt)) {
			found = inet_reqsk(sk);
			break;
		}
	}
	spin_unlock_bh(lock);
	return found;
}

/* A listener has no list of its requests. */
static void smc_drop_offered_requests(struct sock *sk)
{
	struct inet_hashinfo *table = sock_net(sk)->ipv4.tcp_death_row.hashinfo;
	struct request_sock *req;
	unsigned int i;

	if (!reqsk_queue_len(&inet_csk(sk)->icsk_accept_queue))
		return;
	for (i = 0; i <= table->ehash_mask; i++) {
		while (!hlist_nulls_empty(&table->ehash[i].chain)) {
			req = smc_offered_request(table, i, sk);
			if (!req)
				break;
			/* TCP does it in softirqs, under the lock of the bucket. */
			local_bh_disable();
			inet_csk_reqsk_queue_drop_and_put(sk, req);
			local_bh_enable();
		}
		cond_resched();
	}
}

static bool smc_request_is_offered(const struct request_sock *req, const void *arg)
{
	return tcp_sk(req->sk)->syn_smc;
}

/* What SMC knows of them is another listener's, which TCP took them from, and which drops it. */
static void smc_reset_offered_children(struct sock *sk)
{
	struct request_sock *req;

	do {
		lock_sock(sk);
		req = smc_accept_queue_take(sk, smc_request_is_offered, NULL);
		release_sock(sk);
		if (req) {
			smc_reset_foreign(req->sk);
			reqsk_put(req);
		}
	} while (req);
}

void smc_migrate_drop_offered(struct sock *sk)
{
	/* In this order: no request becomes a child after it was looked for. */
	smc_drop_offered_requests(sk);
	smc_reset_offered_children(sk);
}
