// SPDX-License-Identifier: GPL-2.0
/* The ends of a link that is to be added: the port here, and what the peer's ADD LINK names. */

#include "add_link_ends.h"
#include "group.h"
#include "link.h"

int smc_add_link_get_peer(const struct smc_llc_msg *msg, struct smc_link_peer *peer)
{
	*peer = (struct smc_link_peer) {
		.qpn = msg->add_link.qpn,
		.psn = msg->add_link.psn,
		.mtu = msg->add_link.mtu,
	};
	memcpy(peer->gid, msg->add_link.gid, SMC_GID_LEN);
	memcpy(peer->mac, msg->add_link.mac, SMC_MAC_LEN);
	return smc_link_peer_is_valid(peer) ? 0 : -EHOSTUNREACH;
}

/* Whether an asymmetric link may be added beside @oldest, the group's oldest link that works. */
static bool smc_add_link_may_share(const struct smc_link *oldest)
{
	const unsigned long after = READ_ONCE(oldest->group->asymmetric_after);

	return !smc_rdma_group_other_link(oldest) && (!after || time_after_eq(jiffies, after));
}

bool smc_add_link_is_of_use(const struct smc_link *oldest, const struct smc_link *link)
{
	switch (smc_links_share(oldest, link)) {
	case SMC_LINKS_SHARE_NOTHING:
		return true;
	case SMC_LINKS_SHARE_LOCAL:
	case SMC_LINKS_SHARE_PEER:
		return smc_add_link_may_share(oldest);
	default:
		return false;
	}
}

/* Add a GID of the peer to @gids, unless @oldest leads to that GID. */
static void smc_add_link_add_gid(const struct smc_link *oldest, const u8 *gid,
				 struct smc_rdma_gids *gids)
{
	if (gids->n < ARRAY_SIZE(gids->gid) && memcmp(gid, oldest->peer.gid, SMC_GID_LEN))
		memcpy(gids->gid[gids->n++], gid, SMC_GID_LEN);
}

/*
 * Copy the client's GIDs to which a new link may lead: all but the one to which @oldest leads. A
 * client of version 1 does not list its GIDs, but another link of the group may lead to one of
 * them.
 */
static void smc_add_link_get_gids(const struct smc_link *oldest, struct smc_rdma_gids *gids)
{
	struct smc_rdma_group *group = oldest->group;
	const struct smc_link *link;
	unsigned int i;

	gids->n = 0;
	spin_lock_bh(&group->llc.lock);
	for (i = 0; i < group->peer_gids.n; i++)
		smc_add_link_add_gid(oldest, group->peer_gids.gid[i], gids);
	spin_unlock_bh(&group->llc.lock);
	if (group->version == SMC_VERSION_1 && !gids->n)
		smc_for_each_link(link, group)
			if (smc_link_works(link))
				smc_add_link_add_gid(oldest, link->peer.gid, gids);
}

int smc_add_link_find_server_port(const struct smc_link *oldest, struct smc_rdma_port *port)
{
	struct smc_rdma_gids others, same = { .n = 1 };
	struct net *net = oldest->group->lgr.net;
	int rc;

	smc_add_link_get_gids(oldest, &others);
	/*
	 * A client of version 1 that has shown no other GID may have only one port. The new link
	 * would then be asymmetric.
	 */
	if (oldest->group->version == SMC_VERSION_1 && !others.n && !smc_add_link_may_share(oldest))
		return -ENODEV;
	rc = smc_rdma_port_find_other(net, &oldest->port, &others, port);
	if (!rc || !smc_add_link_may_share(oldest))
		return rc;
	if (smc_rdma_port_reaches(&oldest->port, &others)) {
		smc_rdma_port_copy(port, &oldest->port);
		return 0;
	}
	memcpy(same.gid[0], oldest->peer.gid, SMC_GID_LEN);
	return smc_rdma_port_find_other(net, &oldest->port, &same, port);
}

int smc_add_link_find_client_port(const struct smc_link *oldest, const struct smc_link_peer *peer,
				  struct smc_rdma_port *port)
{
	const bool is_same = !memcmp(peer->gid, oldest->peer.gid, SMC_GID_LEN) ||
			     !memcmp(peer->mac, oldest->peer.mac, SMC_MAC_LEN);
	const bool may_share = smc_add_link_may_share(oldest);
	struct smc_rdma_gids server = { .n = 1 };
	int rc;

	if (is_same && !may_share)
		return -EHOSTUNREACH;
	memcpy(server.gid[0], peer->gid, SMC_GID_LEN);
	rc = smc_rdma_port_find_other(oldest->group->lgr.net, &oldest->port, &server, port);
	if (!rc || is_same || !may_share || !smc_rdma_port_reaches(&oldest->port, &server))
		return rc;
	smc_rdma_port_copy(port, &oldest->port);
	return 0;
}
