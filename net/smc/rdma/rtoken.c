// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>

#include "rtoken.h"

/* Address of an unused entry: no RMB can be there. */
#define SMC_RTOKEN_UNUSED	U64_MAX

void smc_rtokens_init(struct smc_rtokens *rtokens)
{
	unsigned int i;

	spin_lock_init(&rtokens->lock);
	for (i = 0; i < SMC_RTOKENS; i++)
		rtokens->rt[i].addr = SMC_RTOKEN_UNUSED;
}

/* Return: the index of the RMB's entry, or SMC_RTOKENS if there is none. */
static unsigned int smc_rtokens_find(const struct smc_rtokens *rtokens, u32 rkey)
{
	unsigned int i;

	lockdep_assert_held(&rtokens->lock);
	for (i = 0; i < SMC_RTOKENS; i++)
		if (rtokens->rt[i].rkey == rkey && rtokens->rt[i].addr != SMC_RTOKEN_UNUSED)
			break;
	return i;
}

/*
 * Return: the index of an unused entry or else, by the clock algorithm, of one that
 * smc_rtokens_have() has not found since @next last passed it.
 */
static unsigned int smc_rtokens_place(struct smc_rtokens *rtokens)
{
	unsigned int i;

	for (i = 0; i < SMC_RTOKENS; i++)
		if (rtokens->rt[i].addr == SMC_RTOKEN_UNUSED)
			return i;
	for (;;) {
		i = rtokens->next;
		rtokens->next = (i + 1) % SMC_RTOKENS;
		if (!rtokens->rt[i].is_used)
			return i;
		rtokens->rt[i].is_used = false;
	}
}

void smc_rtokens_add(struct smc_rtokens *rtokens, u32 rkey, u64 addr)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&rtokens->lock, flags);
	i = smc_rtokens_find(rtokens, rkey);
	if (i == SMC_RTOKENS) {
		i = smc_rtokens_place(rtokens);
		rtokens->rt[i].is_used = false;
	}
	rtokens->rt[i].rkey = rkey;
	rtokens->rt[i].addr = addr;
	spin_unlock_irqrestore(&rtokens->lock, flags);
}

void smc_rtokens_delete(struct smc_rtokens *rtokens, u32 rkey)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&rtokens->lock, flags);
	i = smc_rtokens_find(rtokens, rkey);
	if (i < SMC_RTOKENS)
		rtokens->rt[i].addr = SMC_RTOKEN_UNUSED;
	spin_unlock_irqrestore(&rtokens->lock, flags);
}

bool smc_rtokens_have(struct smc_rtokens *rtokens, u32 rkey, u64 addr)
{
	unsigned long flags;
	unsigned int i;
	bool found;

	spin_lock_irqsave(&rtokens->lock, flags);
	i = smc_rtokens_find(rtokens, rkey);
	found = i < SMC_RTOKENS && rtokens->rt[i].addr == addr;
	if (found)
		rtokens->rt[i].is_used = true;
	spin_unlock_irqrestore(&rtokens->lock, flags);
	return found;
}
