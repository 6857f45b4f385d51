// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of CLC messages for a vendor's own use. By these fields two hosts with this module
 * recognize each other, and agree on the number of links.
 */
#include "bytes.h"
#include "clc.h"

/*
 * The option is the number of links. It follows the vendor's OUI in a PROPOSAL, and is not in an
 * ACCEPT or CONFIRM, which have a field for the agreed number.
 */
enum {
	OPTION_MAX_LINKS	= 0,
};

/* The OUI is locally administered (IEEE 802), so no vendor owns it. */
static const u8 oui[SMC_OUI_LEN] = { 0x02, 'S', 'M' };

void smc_clc_set_links_option(struct smc_clc_proposal *p, u8 max_links)
{
	memcpy(p->vendor_oui, oui, SMC_OUI_LEN);
	p->vendor_options[OPTION_MAX_LINKS] = max_links;
}

u8 smc_clc_links_option(const struct smc_clc_proposal *p)
{
	return memcmp(p->vendor_oui, oui, SMC_OUI_LEN) ? 0 : p->vendor_options[OPTION_MAX_LINKS];
}

void smc_clc_set_vendor(struct smc_clc_first_contact *fc)
{
	memcpy(fc->vendor, oui, SMC_OUI_LEN);
}

bool smc_clc_has_vendor(const struct smc_clc_first_contact *fc)
{
	return !memcmp(fc->vendor, oui, SMC_OUI_LEN);
}
