// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>

#include "rtoken.h"

static void smc_rtoken_clear(struct smc_rtoken *rt)
{
	*rt = (struct smc_rtoken) { .addr = SMC_RTOKEN_UNUSED };
}

static void smc_rtokens_clear(struct smc_rtokens *rtokens, unsigned int i)
{
	unsigned int link;

	for (link = 0; link < SMC_LINKS; link++)
		smc_rtoken_clear(&rtokens->rmb[i].on[link]);
	rtokens->rmb[i].is_used = false;
}

void smc_rtokens_init(struct smc_rtokens *rtokens)
{
	unsigned int i;

	spin_lock_init(&rtokens->lock);
	for (i = 0; i < SMC_RTOKENS; i++)
		smc_rtokens_clear(rtokens, i);
}

/* Return: the index of the RMB that has @rkey on @link, or SMC_RTOKENS if there is none. */
static unsigned int smc_rtokens_find(const struct smc_rtokens *rtokens, unsigned int link, u32 rkey)
{
	unsigned int i;

	lockdep_assert_held(&rtokens->lock);
	for (i = 0; i < SMC_RTOKENS; i++)
		if (rtokens->rmb[i].on[link].rkey == rkey &&
		    smc_rtoken_is_set(&rtokens->rmb[i].on[link]))
			break;
	return i;
}

static bool smc_rtokens_are_set(const struct smc_rtokens *rtokens, unsigned int i)
{
	unsigned int link;

	for (link = 0; link < SMC_LINKS; link++)
		if (smc_rtoken_is_set(&rtokens->rmb[i].on[link]))
			return true;
	return false;
}

/*
 * Return: the index of an unused entry. If there is none, the clock algorithm chooses an entry that
 * smc_rtokens_have() has not found since @next last passed it.
 */
static unsigned int smc_rtokens_place(struct smc_rtokens *rtokens)
{
	unsigned int i;

	for (i = 0; i < SMC_RTOKENS; i++)
		if (!smc_rtokens_are_set(rtokens, i))
			return i;
	for (;;) {
		i = rtokens->next;
		rtokens->next = (i + 1) % SMC_RTOKENS;
		if (!rtokens->rmb[i].is_used)
			return i;
		rtokens->rmb[i].is_used = false;
	}
}

/*
 * Set the RToken of entry @i on a link. Another entry with the same key there belongs to an RMB
 * that the peer has freed without a DELETE RKEY, and must not be found any more.
 */
static void smc_rtokens_set(struct smc_rtokens *rtokens, unsigned int i, unsigned int link,
			    struct smc_rtoken rt)
{
	unsigned int stale = smc_rtokens_find(rtokens, link, rt.rkey);

	if (stale < SMC_RTOKENS)
		smc_rtoken_clear(&rtokens->rmb[stale].on[link]);
	rtokens->rmb[i].on[link] = rt;
}

void smc_rtokens_add(struct smc_rtokens *rtokens, unsigned int link, struct smc_rtoken rt)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&rtokens->lock, flags);
	i = smc_rtokens_find(rtokens, link, rt.rkey);
	if (i == SMC_RTOKENS) {
		i = smc_rtokens_place(rtokens);
		smc_rtokens_clear(rtokens, i);
	}
	rtokens->rmb[i].on[link] = rt;
	spin_unlock_irqrestore(&rtokens->lock, flags);
}

void smc_rtokens_add_on(struct smc_rtokens *rtokens, unsigned int link, u32 rkey,
			unsigned int other, struct smc_rtoken rt)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&rtokens->lock, flags);
	i = smc_rtokens_find(rtokens, link, rkey);
	if (i < SMC_RTOKENS)
		smc_rtokens_set(rtokens, i, other, rt);
	spin_unlock_irqrestore(&rtokens->lock, flags);
}

void smc_rtokens_delete(struct smc_rtokens *rtokens, unsigned int link, u32 rkey)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&rtokens->lock, flags);
	i = smc_rtokens_find(rtokens, link, rkey);
	if (i < SMC_RTOKENS)
		smc_rtokens_clear(rtokens, i);
	spin_unlock_irqrestore(&rtokens->lock, flags);
}

bool smc_rtokens_have(struct smc_rtokens *rtokens, unsigned int link, struct smc_rtoken rt)
{
	unsigned long flags;
	unsigned int i;
	bool found;

	spin_lock_irqsave(&rtokens->lock, flags);
	i = smc_rtokens_find(rtokens, link, rt.rkey);
	found = i < SMC_RTOKENS && rtokens->rmb[i].on[link].addr == rt.addr;
	if (found)
		rtokens->rmb[i].is_used = true;
	spin_unlock_irqrestore(&rtokens->lock, flags);
	return found;
}

void smc_rtokens_get(struct smc_rtokens *rtokens, unsigned int link, u32 rkey,
		     struct smc_rtoken *on)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&rtokens->lock, flags);
	i = smc_rtokens_find(rtokens, link, rkey);
	for (link = 0; link < SMC_LINKS; link++)
		if (i < SMC_RTOKENS)
			on[link] = rtokens->rmb[i].on[link];
		else
			smc_rtoken_clear(&on[link]);
	spin_unlock_irqrestore(&rtokens->lock, flags);
}

void smc_rtokens_forget_link(struct smc_rtokens *rtokens, unsigned int link)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&rtokens->lock, flags);
	for (i = 0; i < SMC_RTOKENS; i++)
		smc_rtoken_clear(&rtokens->rmb[i].on[link]);
	spin_unlock_irqrestore(&rtokens->lock, flags);
}
