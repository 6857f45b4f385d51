// SPDX-License-Identifier: GPL-2.0
/* The peer id and the host's description. */

#include <linux/etherdevice.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/utsname.h>

#include "identity.h"
#include "ism/conn.h"
#include "ism/group.h"
#include "route.h"

static DEFINE_SPINLOCK(smc_identity_lock);
static u8 smc_peer_id[SMC_PEER_ID_LEN];	/* instance number[2], MAC[6] */

void smc_identity_init(void)
{
	get_random_bytes(smc_peer_id, 2);
}

void smc_local_peer_id(u8 *id)
{
	spin_lock(&smc_identity_lock);
	memcpy(id, smc_peer_id, SMC_PEER_ID_LEN);
	spin_unlock(&smc_identity_lock);
}

void smc_identity_use_mac(const u8 *mac)
{
	spin_lock(&smc_identity_lock);
	if (is_zero_ether_addr(smc_peer_id + 2))
		memcpy(smc_peer_id + 2, mac, ETH_ALEN);
	spin_unlock(&smc_identity_lock);
}

void smc_describe_host(struct smc_clc_first_contact *fc, struct sock *sk, u8 max_conns)
{
	fc->direct = smc_route_is_direct(sk);
	fc->os_type = SMC_OS_LINUX;
	fc->max_conns = max_conns;
	fc->max_links = 1;
	/* Its lock is not for modules; a name torn by a change is informative only. */
	memcpy(fc->hostname, init_utsname()->nodename, SMC_HOSTNAME_LEN);
}

void smc_describe_d(const struct smc_ism_conn *conn, struct sock *sk, struct smc_clc_agreement *a)
{
	smc_ism_conn_describe(conn, &a->d);
	smc_describe_host(&a->fc, sk, SMC_ISM_GROUP_MAX_CONNS);
	a->fc.features = SMC_FEATURE_EMULATED_ISM;
}
