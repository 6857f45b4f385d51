// SPDX-License-Identifier: GPL-2.0
/* The RTokens of a link that is added. */

#include <linux/jiffies.h>
#include <linux/slab.h>

#include "add_link_rtokens.h"
#include "group.h"
#include "link.h"
#include "llc.h"

/*
 * Time after which this end sends no further message with RTokens. Both ends hold their buffer
 * locks during the exchange, and a peer could make the exchange last for ever.
 */
#define SMC_ADD_LINK_RTOKENS_WAIT	(2 * HZ)

static int smc_add_link_rtokens_add(const struct smc_mr_buffer *rmb, void *arg)
{
	struct smc_add_link_rtokens *own = arg;
	const struct smc_region *region = &rmb->regions[own->link->index];

	if (own->n == ARRAY_SIZE(own->rt))
		return -E2BIG;
	own->rt[own->n++] = (struct smc_llc_rtoken) {
		.rkey	  = rmb->regions[own->by->index].rkey,
		.rkey_new = region->rkey,
		.addr	  = region->iova,
	};
	return 0;
}

int smc_add_link_rtokens_get(struct smc_link *by, struct smc_link *link,
			     struct smc_add_link_rtokens **own)
{
	*own = kzalloc(sizeof(**own), GFP_KERNEL);
	if (!*own)
		return -ENOMEM;
	(*own)->by = by;
	(*own)->link = link;
	return smc_mr_buffers_rmbs(link->group, smc_add_link_rtokens_add, *own);
}

void smc_add_link_rtokens_expect(const struct smc_add_link_rtokens *own)
{
	if (own->link->group->version == SMC_VERSION_1)
		smc_llc_expect_add_link_cont(own->by);
	else
		smc_llc_expect_confirm_link(own->link);
}

/* Fill in an ADD LINK CONTINUATION. Return: whether RTokens are left for another one. */
static bool smc_add_link_rtokens_put(struct smc_add_link_rtokens *own, struct smc_llc_msg *msg)
{
	const unsigned int n_left = own->n - own->n_sent;
	const unsigned int n = min_t(unsigned int, n_left, ARRAY_SIZE(msg->add_link_cont.rt));

	*msg = (struct smc_llc_msg) {
		.type = SMC_LLC_ADD_LINK_CONT,
		.add_link_cont = {
			.link  = own->link->number,
			.count = n_left,
		},
	};
	memcpy(msg->add_link_cont.rt, own->rt + own->n_sent, n * sizeof(own->rt[0]));
	own->n_sent += n;
	return n < n_left;
}

/* Note the peer's RTokens in a message. Return: whether the peer has RTokens left. */
static bool smc_add_link_rtokens_note(const struct smc_add_link_rtokens *own,
				      const struct smc_llc_msg *msg)
{
	const unsigned int n_left = msg->add_link_cont.count;
	const unsigned int n = min_t(unsigned int, n_left, ARRAY_SIZE(msg->add_link_cont.rt));
	const struct smc_llc_rtoken *rt = msg->add_link_cont.rt;
	struct smc_rdma_group *group = own->link->group;
	unsigned int i;

	for (i = 0; i < n; i++)
		smc_rtokens_add_on(&group->rtokens, own->by->index, rt[i].rkey, own->link->index,
				   (struct smc_rtoken) { rt[i].rkey_new, rt[i].addr });
	return n < n_left;
}

/* One step of the server: send the client some RTokens, and get some of the client's. */
static int smc_add_link_rtokens_request(struct smc_add_link_rtokens *own, bool *is_more)
{
	struct smc_llc_msg msg;
	int rc;

	*is_more = smc_add_link_rtokens_put(own, &msg);
	rc = smc_llc_continue_add_link(own->by, &msg);
	if (!rc)
		*is_more |= smc_add_link_rtokens_note(own, &msg);
	return rc;
}

/* One step of the client: get some of the server's RTokens, and send the server some. */
static int smc_add_link_rtokens_reply(struct smc_add_link_rtokens *own, bool *is_more)
{
	struct smc_llc_msg msg;
	int rc;

	rc = smc_llc_await_add_link_cont(own->by, &msg);
	if (rc)
		return rc;
	/* The message may belong to an earlier attempt, which the server has given up. */
	if (msg.add_link_cont.link != own->link->number)
		return -ENOLINK;
	*is_more = smc_add_link_rtokens_note(own, &msg);
	*is_more |= smc_add_link_rtokens_put(own, &msg);
	/* Expect the next message before the server can send it. */
	if (*is_more)
		smc_llc_expect_add_link_cont(own->by);
	else
		smc_llc_expect_confirm_link(own->link);
	return smc_llc_reply_add_link_cont(own->by, &msg);
}

int smc_add_link_rtokens_exchange(struct smc_add_link_rtokens *own)
{
	const unsigned long deadline = jiffies + SMC_ADD_LINK_RTOKENS_WAIT;
	const struct smc_rdma_group *group = own->link->group;
	bool is_more;
	int rc;

	if (group->version == SMC_VERSION_2)
		return 0;
	/* One message goes each way even without an RMB. */
	do {
		rc = group->role == SMC_SERVER ? smc_add_link_rtokens_request(own, &is_more) :
						 smc_add_link_rtokens_reply(own, &is_more);
		if (rc)
			return rc;
	} while (is_more && time_before(jiffies, deadline));
	return is_more ? -ETIMEDOUT : 0;
}
