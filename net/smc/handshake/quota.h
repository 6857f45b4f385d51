/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quotas of the SMC handshakes under way. Each handshake takes a place, and counts for a user at
 * this end and for a peer at the other end. The free places are those of the network namespace, or
 * those of the host if the host has fewer.
 *
 * A user or peer that already has N handshakes gets another only while more than N places are free,
 * not counting a reserve. So a single user or peer gets half of the places at most. The reserve is
 * for users and peers without a handshake.
 *
 * A server also keeps a single client from using up the quota of the server's user. A client that
 * already has N handshakes gets another only while the user can still get more than N.
 */
#ifndef SMC_QUOTA_H
#define SMC_QUOTA_H

#include <linux/atomic.h>
#include <linux/uidgid.h>

#include "path_kind.h"

struct net;
struct smc_handshake_wq;
struct sock;

/**
 * struct smc_quota - the counts that include a handshake
 * @queue: work queue in which the handshake has a place; NULL if the handshake is not counted
 * @user: number of handshakes of the user
 * @peer: number of handshakes of the peer; NULL for a client whose server is in the same network
 *	namespace
 */
struct smc_quota {
	struct smc_handshake_wq *queue;
	atomic_t *user;
	atomic_t *peer;
};

/**
 * smc_quota_congested() - whether so many handshakes run that a socket must not offer SMC
 * @net: namespace of the socket, which connects or listens
 * @uid: user who owns the socket
 * @limit: prefer TCP when many handshakes are under way (SMC_LIMIT_HS)
 *
 * Context: any.
 */
bool smc_quota_congested(const struct net *net, kuid_t uid, bool limit);

/**
 * smc_quota_take() - count a handshake that begins
 * @quota: set to the counts that include the handshake. If the handshake is not counted,
 *	@quota->queue is NULL
 * @sk: TCP socket, connected
 * @role: role of this end
 *
 * The SYN or SYN-ACK that offered SMC was sent earlier, when fewer handshakes may have been under
 * way. So the limit for a user is usually higher here than for an offer.
 *
 * Context: any.
 * Return: false if there are too many handshakes: this one is not counted, and is refused.
 */
bool smc_quota_take(struct smc_quota *quota, const struct sock *sk, enum smc_role role);

/**
 * smc_quota_return() - stop counting a handshake that is over
 * @quota: counts that include the handshake, as smc_quota_take() has set them; nothing happens if
 *	the handshake was not counted
 *
 * Context: any.
 */
void smc_quota_return(const struct smc_quota *quota);

#endif
