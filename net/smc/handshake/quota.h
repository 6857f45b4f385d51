/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many handshake are under way, and whose. Each has a user at this end and a peer at the
 * other: neither may have more of them than what he leaves to others, in his network namespace and
 * on the host. So one alone gets half, and the last places are for those who have none.
 */
#ifndef SMC_QUOTA_H
#define SMC_QUOTA_H

#include <linux/atomic.h>

struct smc_handshake;
struct smc_handshake_wq;
struct sock;

/**
 * struct smc_quota - what counts a handshake
 * @queue: where it has a place; NULL if it is not counted
 * @user: those of its user
 * @peer: those of its peer; NULL for a client whose server is in its network namespace
 */
struct smc_quota {
	struct smc_handshake_wq *queue;
	atomic_t *user;
	atomic_t *peer;
};

/**
 * smc_quota_congested() - whether a socket is to offer SMC to nobody now
 * @sk: socket that connects or listens
 * @limit: prefer TCP when many are under way (SMC_LIMIT_HS)
 *
 * Context: any.
 */
bool smc_quota_congested(const struct sock *sk, bool limit);

/**
 * smc_quota_take() - a handshake begins
 * @hs: handshake of a connected socket, its role set
 *
 * More may begin than there were when their SYNs left, but not any number.
 *
 * Context: any.
 * Return: false if there are too many: it is not counted, and to be declined at once.
 */
bool smc_quota_take(struct smc_handshake *hs);

/**
 * smc_quota_return() - a handshake is over
 * @hs: handshake, for which smc_quota_take() was called
 *
 * Context: any.
 */
void smc_quota_return(struct smc_handshake *hs);

#endif
