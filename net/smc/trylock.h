/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SMC_TRYLOCK_H
#define SMC_TRYLOCK_H

#include <net/sock.h>

/*
 * A user can keep his socket locked for as long as he likes, for example by a setsockopt() from
 * memory whose page fault never ends. So no work waits for a socket lock: a work that finds the
 * socket locked tries again later.
 */

/* Jiffies after which a work that found a socket locked tries again. */
#define SMC_SOCK_RETRY		(HZ / 20)

/**
 * smc_sock_trylock() - lock a socket like lock_sock(), unless another thread has it locked
 * @sk: socket, which its user may keep locked for long
 *
 * Context: process.
 * Return: whether the socket is locked now.
 */
static inline bool smc_sock_trylock(struct sock *sk)
{
	bool is_free;

	spin_lock_bh(&sk->sk_lock.slock);
	is_free = !sock_owned_by_user(sk);
	if (is_free) {
		sk->sk_lock.owned = 1;
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	return is_free;
}

#endif
