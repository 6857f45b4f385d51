// SPDX-License-Identifier: GPL-2.0
/* Connections of a listener that TCP must not give to another listener. */

#include <linux/bpf.h>
#include <linux/filter.h>
#include <net/sock_reuseport.h>
#include <net/tcp.h>

#include "abandon.h"
#include "migrate.h"
#include "tcp.h"

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

static bool smc_request_is_offered(const struct request_sock *req, const void *arg)
{
	return smc_tcp_offers(req->sk);
}

/*
 * Resets the children in the accept queue that were offered SMC. A child may have an SMC state that
 * belongs to another listener, from which TCP has moved the child. That listener frees the state.
 */
static void smc_reset_offered_children(struct sock *sk)
{
	struct request_sock *req;

	do {
		lock_sock(sk);
		req = smc_accept_queue_take(sk, smc_request_is_offered, NULL);
		release_sock(sk);
		if (req) {
			smc_reset_other(req->sk);
			reqsk_put(req);
		}
	} while (req);
}

void smc_migrate_drop_offered(struct sock *sk)
{
	/*
	 * Drop the requests before the children: a request that becomes a child meanwhile is found
	 * as a child.
	 */
	smc_tcp_drop_offered_requests(sk);
	smc_reset_offered_children(sk);
}
