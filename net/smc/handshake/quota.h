/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quotas of the SMC handshakes under way. Each handshake counts for a user at this end and for a
 * peer at the other end. A user or peer that has handshakes gets another only while its number of
 * handshakes is below the number of free places, less a reserve. The free places are those of the
 * network namespace, or those of the host if these are fewer. So a single user or peer gets half of
 * the places at most, and the reserve is for users and peers without a handshake. A server also
 * applies this rule to the places that are left to its user: a client with N handshakes gets one
 * more only while the server's user can still get more than N.
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
 * way. So the limit is higher here than for an offer.
 *
 * Context: any.
 * Return: false if there are too many handshakes: this one is not counted, and must decline at
 *	once.
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
