// SPDX-License-Identifier: GPL-2.0
/*
 * The rendezvous of two ends that one thread has both of. Of what messages tell, either knows
 * all of the other but its element.
 */

#include <net/sock.h>

#include "admin/blackhole.h"
#include "admin/eid.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "handshake.h"
#include "ism/conn.h"
#include "ism/setup.h"
#include "route.h"

/* The reasons for which an end would not have SMC-D of version 2. */
static bool smc_pair_may(const struct smc_handshake *hs)
{
	return smc_ism_is_on(smc_sk_net(hs->sk)) && !READ_ONCE(hs->aborted) &&
	       !smc_route_is_secured(hs->sk);
}

static void smc_pair_prepare(struct smc_ism_setup *s, const struct smc_handshake *hs,
			     enum smc_role role)
{
	smc_ism_setup_init(s, hs->sk, hs->memcg);
	/* That of a PROPOSAL's list which is found in a list like it. */
	smc_eid_list(&s->peer.eid, 1);
	smc_ism_setup_reach_host(s, role);
}

static void smc_pair_finish(struct smc_ism_setup *s, struct smc_handshake *hs, bool agreed)
{
	if (agreed) {
		hs->stream = &s->conn->stream;
		smc_blackhole_forget(smc_sk_net(hs->sk), &hs->place);
		smc_stat_handshake(smc_sk_net(hs->sk), SMC_PATH_D, s->peer.role, s->peer.version);
	}
	smc_ism_setup_end(s, agreed);
}

bool smc_handshake_pair(struct smc_handshake *client, struct smc_handshake *server)
{
	struct smc_ism_setup c, s;
	bool agreed;

	if (!smc_pair_may(client) || !smc_pair_may(server))
		return false;
	smc_pair_prepare(&c, client, SMC_CLIENT);
	smc_pair_prepare(&s, server, SMC_SERVER);
	agreed = smc_ism_setup_pair(&c, &s);
	smc_pair_finish(&c, client, agreed);
	smc_pair_finish(&s, server, agreed);
	return agreed;
}
