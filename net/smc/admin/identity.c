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

/* An instance number[2] and a MAC address[6], of nobody's device: that would name the host. */
void smc_own_peer_id(const struct net *net, u8 *id)
{
	u64 random = siphash_1u64(net->net_cookie, &smc_identity_secret);

	static_assert(sizeof(random) == SMC_PEER_ID_LEN);
	memcpy(id, &random, SMC_PEER_ID_LEN);
	/* An address of one station, locally administered. */
	id[2] = (id[2] & 0xfe) | 0x02;
}

void smc_describe_host(struct smc_clc_first_contact *fc, const struct net *net)
{
	fc->os_type = SMC_OS_LINUX;
	fc->max_links = 1;
	memset(fc->hostname, ' ', SMC_HOSTNAME_LEN);
	/*
	 * A namespace that is not the host's tells nobody the host's name. Modules can't take
	 * the lock of the name; a name torn by a change is informative only.
	 */
	if (net_eq(net, &init_net))
		memcpy(fc->hostname, init_utsname()->nodename, SMC_HOSTNAME_LEN);
}
