/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quotas of the SMC handshakes under way. Each handshake counts for a user at this end and for a
 * peer at the other end. Neither may have more handshakes than remain for others, in the network
 * namespace and on the host. So a single user or peer gets half of the places at most, and the last
 * places are for users and peers without a handshake.
 */
#ifndef SMC_QUOTA_H
#define SMC_QUOTA_H

#include <linux/atomic.h>
#include <linux/uidgid.h>

struct net;
struct smc_handshake;
struct smc_handshake_wq;

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
 * smc_quota_congested() - whether too many handshakes are under way for a socket to offer SMC
 * @net: namespace of the socket, which connects or listens
 * @uid: user who owns the socket
 * @limit: prefer TCP when many are under way (SMC_LIMIT_HS)
 *
 * Context: any.
 */
bool smc_quota_congested(const struct net *net, kuid_t uid, bool limit);

/**
 * smc_quota_take() - count a handshake that begins
 * @hs: handshake of a connected socket, its role set
 *
 * SMC was offered in SYNs that left earlier, when fewer handshakes were under way. So the limit is
 * higher here than for an offer.
 *
 * Context: any.
 * Return: false if there are too many handshakes: @hs is not counted, and to be declined at once.
 */
bool smc_quota_take(struct smc_handshake *hs);

/**
 * smc_quota_return() - discount a handshake that is over
 * @quota: of a handshake for which smc_quota_take() was called
 *
 * Context: any.
 */
void smc_quota_return(const struct smc_quota *quota);

#endif
