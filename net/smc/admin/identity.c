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
void smc_local_peer_id(const struct net *net, u8 *id)
{
	u64 random = siphash_1u64(net->net_cookie, &smc_identity_secret);

	static_assert(sizeof(random) == SMC_PEER_ID_LEN);
	memcpy(id, &random, SMC_PEER_ID_LEN);
	/* An address of one station, locally administered. */
	id[2] = (id[2] & 0xfe) | 0x02;
}

/* Whose network namespace is not the host's does not tell the host's name to anybody. */
static void smc_describe_name(u8 *name, const struct net *net)
{
	memset(name, ' ', SMC_HOSTNAME_LEN);
	/* Its lock is not for modules; a name torn by a change is informative only. */
	if (net_eq(net, &init_net))
		memcpy(name, init_utsname()->nodename, SMC_HOSTNAME_LEN);
}

void smc_describe_host(struct smc_clc_first_contact *fc, const struct net *net)
{
	fc->os_type = SMC_OS_LINUX;
	fc->max_links = 1;
	smc_describe_name(fc->hostname, net);
}
