// SPDX-License-Identifier: GPL-2.0
/* The ISM devices of this host. */

#include <linux/build_bug.h>
#include <linux/kernel.h>

#include "device.h"

static struct smc_ism_device *const smc_ism_devices[] = { &smc_loopback };
/* A PROPOSAL names each of them, see smc_ism_setup_offer(). */
static_assert(ARRAY_SIZE(smc_ism_devices) <= SMC_CLC_MAX_ISM);

struct smc_ism_device *smc_ism_device_at(unsigned int i)
{
	return i < ARRAY_SIZE(smc_ism_devices) ? smc_ism_devices[i] : NULL;
}

struct smc_ism_device *smc_ism_device_to(const struct net *net, struct smc_clc_ism *peer,
					 u8 version)
{
	struct smc_ism_device *dev;
	unsigned int i;

	for (i = 0; (dev = smc_ism_device_at(i)); i++)
		if (dev->ops->reaches(dev, net, peer, version))
			return dev;
	return NULL;
}
