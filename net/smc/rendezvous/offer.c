// SPDX-License-Identifier: GPL-2.0
/* Making and building a PROPOSAL. */

#include <linux/slab.h>
#include <net/sock.h>

#include "admin/eid.h"
#include "admin/net.h"
#include "identity.h"
#include "ism/device.h"
#include "offer.h"
#include "route.h"

static void smc_offer_find_ports(struct smc_offer *offer, struct sock *sk)
{
	u8 version;

	for (version = SMC_VERSION_1; version <= SMC_VERSION_2; version++)
		if (!smc_rdma_port_find(sk, version, NULL, &offer->port[version]))
			offer->has[version] = true;
}

u32 smc_offer_make(struct smc_offer *offer, struct sock *sk)
{
	offer->has_d = smc_ism_is_on(smc_sk_net(sk));
	smc_offer_find_ports(offer, sk);
	if (offer->has_d || offer->has[SMC_VERSION_1] || offer->has[SMC_VERSION_2])
		return 0;
	return SMC_DIAG_NO_DEVICE_R;
}

static enum smc_clc_offer smc_offer_kinds(const struct smc_offer *offer, u8 version)
{
	if (offer->has[version])
		return offer->has_d ? SMC_OFFER_BOTH : SMC_OFFER_R;
	return offer->has_d ? SMC_OFFER_D : SMC_OFFER_NONE;
}

static void smc_offer_fill_v1(const struct smc_offer *offer, struct sock *sk,
			      struct smc_clc_proposal *p)
{
	const struct smc_rdma_port *port = &offer->port[SMC_VERSION_1];

	/* Without a subnet to compare, version 1 can't be had. */
	if (!smc_route_describe(sk, p))
		return;
	p->offer_v1 = smc_offer_kinds(offer, SMC_VERSION_1);
	if (!smc_offer_has_r(p->offer_v1))
		return;
	smc_local_peer_id(sock_net(sk), p->peer_id);
	memcpy(p->gid_v1, port->gid->gid.raw, SMC_GID_LEN);
	memcpy(p->mac, port->mac, SMC_MAC_LEN);
}

static void smc_offer_fill_v2(const struct smc_offer *offer, struct sock *sk,
			      struct smc_clc_proposal *p)
{
	const struct smc_rdma_port *port = &offer->port[SMC_VERSION_2];
	struct net *net = sock_net(sk);

	p->offer_v2 = smc_offer_kinds(offer, SMC_VERSION_2);
	p->release = SMC_RELEASE;
	p->n_eids = smc_eid_list(p->eids, SMC_CLC_MAX_EIDS);
	p->max_conns = READ_ONCE(smc_net(net)->sysctl.max_conns_per_lgr);
	p->max_links = 1;
	if (smc_offer_has_r(p->offer_v2))
		memcpy(p->gid_v2, port->gid->gid.raw, SMC_GID_LEN);
}

static void smc_offer_fill_d(struct sock *sk, struct smc_clc_proposal *p)
{
	const struct smc_ism_device *dev;

	for (; (dev = smc_ism_device_at(p->n_ism)); p->n_ism++)
		p->ism[p->n_ism] = dev->ops->name(dev, sock_net(sk));
	p->ism_gid = p->ism[0].gid;
	p->ism_chid = p->ism[0].chid;
	p->features = SMC_FEATURE_EMULATED_ISM;
	p->has_dv2 = true;
}

size_t smc_offer_build(const struct smc_offer *offer, struct sock *sk, u8 *buf)
{
	struct smc_clc_proposal *p = kzalloc(sizeof(*p), GFP_KERNEL);
	size_t len;

	if (!p)
		return 0;
	p->version = SMC_VERSION_2;
	p->offer_v1 = SMC_OFFER_NONE;
	p->offer_v2 = SMC_OFFER_NONE;
	if (offer->has_d)
		smc_offer_fill_d(sk, p);
	if (smc_offer_kinds(offer, SMC_VERSION_1) != SMC_OFFER_NONE)
		smc_offer_fill_v1(offer, sk, p);
	if (smc_offer_kinds(offer, SMC_VERSION_2) != SMC_OFFER_NONE)
		smc_offer_fill_v2(offer, sk, p);
	len = smc_clc_build_proposal(buf, p);
	kfree(p);
	return len;
}

bool smc_offer_has_version(const struct smc_offer *offer, u8 version)
{
	return version <= SMC_VERSION_2 && offer->has[version];
}

void smc_offer_take_port(struct smc_offer *offer, u8 version, struct smc_rdma_port *port)
{
	*port = offer->port[version];
	offer->has[version] = false;
}

void smc_offer_drop(struct smc_offer *offer)
{
	int version;

	for (version = SMC_VERSION_1; version <= SMC_VERSION_2; version++)
		if (offer->has[version])
			smc_rdma_port_put(&offer->port[version]);
}
