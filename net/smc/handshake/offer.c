// SPDX-License-Identifier: GPL-2.0
/* Builds a PROPOSAL from what the paths can offer. */

#include <linux/slab.h>

#include "admin/eid.h"
#include "admin/net.h"
#include "offer.h"
#include "route.h"

/* Adds the path of @s to the offer @others, if it can be offered in @version. Return: the offer. */
static enum smc_clc_offer smc_offer_add(struct smc_path_setup *s, u8 version,
					struct smc_clc_proposal *p, enum smc_clc_offer others)
{
	if (!s->type->offer(s, version, p))
		return others;
	s->offered |= BIT(version);
	return others == SMC_OFFER_NONE ? (enum smc_clc_offer)s->type->kind : SMC_OFFER_BOTH;
}

static void smc_offer_fill(struct smc_path_setup *const *setups, struct smc_clc_proposal *p)
{
	/* Version 1 compares the ends' subnets, so an end without a subnet can't offer it. */
	bool has_subnet = smc_route_describe(setups[0], p);
	int i;

	/* The offer operation of SMC-R changes this limit if SMC-R can be offered in version 2. */
	p->max_links = 1;
	for (i = 0; i < SMC_N_PATHS; i++) {
		p->offer_v2 = smc_offer_add(setups[i], SMC_VERSION_2, p, p->offer_v2);
		if (has_subnet)
			p->offer_v1 = smc_offer_add(setups[i], SMC_VERSION_1, p, p->offer_v1);
	}
	p->release = SMC_RELEASE;
	p->n_eids = smc_eid_list(p->eids, SMC_CLC_MAX_EIDS);
	p->max_conns = READ_ONCE(smc_net(setups[0]->net)->sysctl.max_conns_per_lgr);
}

u32 smc_offer_build(struct smc_path_setup *const *setups, u8 *buf, size_t *len)
{
	struct smc_clc_proposal *p = kzalloc(sizeof(*p), GFP_KERNEL);
	u32 rc = 0;

	if (!p)
		return SMC_DIAG_NO_MEMORY;
	p->version = SMC_VERSION_2;
	p->offer_v1 = SMC_OFFER_NONE;
	p->offer_v2 = SMC_OFFER_NONE;
	smc_offer_fill(setups, p);
	if (p->offer_v1 == SMC_OFFER_NONE && p->offer_v2 == SMC_OFFER_NONE)
		rc = SMC_DIAG_NO_DEVICE_R;
	else
		*len = smc_clc_build_proposal(buf, p);
	kfree(p);
	return rc;
}

u8 smc_offer_versions(const struct smc_clc_proposal *p, enum smc_path_kind kind)
{
	const enum smc_clc_offer path = (enum smc_clc_offer)kind;

	return smc_offer_has(p->offer_v1, path) * BIT(SMC_VERSION_1) +
	       smc_offer_has(p->offer_v2, path) * BIT(SMC_VERSION_2);
}
