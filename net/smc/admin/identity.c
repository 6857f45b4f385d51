// SPDX-License-Identifier: GPL-2.0
/* The peer id and the host's description. */

#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "identity.h"

static siphash_key_t smc_identity_secret;

void smc_identity_init(void)
{
	get_random_bytes(&smc_identity_secret, sizeof(smc_identity_secret));
}

/*
 * Makes a peer id: 2 bytes of instance number and a MAC address (RFC 7609 appendix A.2). The
 * address is random, because that of a device would identify the host in all its namespaces.
 */
void smc_own_peer_id(const struct net *net, u8 *id)
{
	u64 random = siphash_1u64(net->net_cookie, &smc_identity_secret);

	static_assert(sizeof(random) == SMC_PEER_ID_LEN);
	memcpy(id, &random, SMC_PEER_ID_LEN);
	/* The MAC address is a unicast address, locally administered. */
	id[2] = (id[2] & 0xfe) | 0x02;
}

void smc_describe_host(struct smc_clc_first_contact *fc, const struct net *net)
{
	fc->os_type = SMC_OS_LINUX;
	fc->max_links = 1;
	memset(fc->hostname, ' ', SMC_HOSTNAME_LEN);
	/*
	 * Only the initial namespace tells peers the host's name. A module can't take the lock
	 * of the name, so a change may garble it. Peers only display it.
	 */
	if (net_eq(net, &init_net))
		memcpy(fc->hostname, init_utsname()->nodename, SMC_HOSTNAME_LEN);
}
