// SPDX-License-Identifier: GPL-2.0
/* Adding a link to a group. */

#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "add_link.h"
#include "add_link_ends.h"
#include "add_link_rtokens.h"
#include "group.h"
#include "link.h"
#include "links.h"
#include "llc.h"
#include "log.h"
#include "message.h"
#include "workqueue.h"

/* The minimum time between two attempts of this end to add a link. */
#define SMC_ADD_LINK_INTERVAL	(10 * HZ)

/*
 * The longest delay before this end tries again. This end can't rely on a port event: none comes if
 * the peer was merely busy, or if a path between the hosts recovers. But an attempt holds the
 * buffer lock for seconds, so the delay doubles with each attempt.
 */
#define SMC_ADD_LINK_RETRY	(300 * HZ)

/*
 * How long a new group puts off its first attempt after an attempt of another group with the same
 * peer has timed out. If the attempt that timed out was the other group's first one, the other
 * group tries again within this time.
 */
#define SMC_ADD_LINK_PUT_OFF	(20 * HZ)

/* How long this end tries no asymmetric link after one could not be confirmed. */
#define SMC_ADD_LINK_ASYMMETRIC	(600 * HZ)

/* Number of running work items of smc_add_link_wq, including those that may not wait for a peer. */
static atomic_t smc_add_links_waiting = ATOMIC_INIT(0);

bool smc_add_link_enter(bool is_slow)
{
	return atomic_inc_return(&smc_add_links_waiting) <= smc_wq_waiting_max() >> is_slow;
}

void smc_add_link_exit(void)
{
	atomic_dec(&smc_add_links_waiting);
}

/*
 * Whether a group may get one more link. A symmetric link may come in addition to the asymmetric
 * one that it replaces. Under RCU, or with the buffer lock.
 */
static bool smc_add_link_is_wanted(const struct smc_rdma_group *group)
{
	const struct smc_link *link;
	unsigned int n = 0, n_left = 0;

	smc_for_each_link(link, group) {
		n++;
		n_left += READ_ONCE(link->is_left);
	}
	if (!smc_lgr_is_active(&group->lgr) || n == SMC_LINKS)
		return false;
	return n - n_left < group->max_links || smc_rdma_group_shares(group);
}

/* Return: an index at which the group has no link. */
static unsigned int smc_add_link_index(const struct smc_rdma_group *group)
{
	unsigned int i = 0;

	while (group->links[i])
		i++;
	return i;
}

/*
 * Create a link at a port of this end, put it into the group, and map all buffers for it. From now
 * on, a DELETE LINK finds the link by its number. The references that @port holds are dropped.
 */
static struct smc_link *smc_add_link_create(struct smc_rdma_group *group,
					    struct smc_rdma_port *port, u8 number)
{
	struct smc_link *link;
	int rc;

	link = smc_link_create(group, smc_add_link_index(group), port);
	smc_rdma_port_put(port);
	if (IS_ERR(link))
		return link;
	link->number = number;
	smc_rdma_group_insert_link(link);
	rc = smc_mr_buffers_map(link);
	if (!rc)
		return link;
	smc_link_stop(link);
	smc_rdma_group_remove_link(link);
	return ERR_PTR(rc);
}

/* Fill in the ADD LINK for this end of a link, except for its RTokens. */
static void smc_add_link_describe(const struct smc_link *link, u8 flags, struct smc_llc_msg *msg)
{
	*msg = (struct smc_llc_msg) {
		.type	       = SMC_LLC_ADD_LINK,
		.v2	       = link->group->version == SMC_VERSION_2,
		.flags	       = flags,
		.little_endian = READ_ONCE(link->group->llc.little_endian),
		.add_link = {
			.large	= true,
			.direct	= true,
			.qpn	= link->qpn,
			.link	= link->number,
			.mtu	= link->port.mtu,
			.psn	= link->psn,
		},
	};
	memcpy(msg->add_link.mac, link->port.mac, SMC_MAC_LEN);
	memcpy(msg->add_link.gid, link->gid, SMC_GID_LEN);
	memcpy(msg->add_link.target_gid, link->gid, SMC_GID_LEN);
}

/*
 * Build an ADD LINK that announces a new link. Return: the length of the message, with the message
 * in @buf, which the caller frees; or -ENOMEM.
 */
static int smc_add_link_build(const struct smc_add_link_rtokens *own, struct smc_llc_msg *msg,
			      u8 **buf)
{
	unsigned int i;
	int len;

	if (msg->v2)
		msg->add_link.n_rkeys = own->n;
	*buf = kmalloc(SMC_LLC_ADD_LINK_LEN(msg->add_link.n_rkeys), GFP_KERNEL);
	if (!*buf)
		return -ENOMEM;
	len = smc_llc_build_add_link(*buf, msg);
	for (i = 0; i < msg->add_link.n_rkeys; i++)
		smc_llc_put_add_link_rtoken(*buf, i, &own->rt[i]);
	return len;
}

/* Connect a new link to the end that the peer's ADD LINK names. */
static int smc_add_link_to_peer(struct smc_link *first, struct smc_link *link,
				const struct smc_llc_msg *msg)
{
	struct smc_link_peer peer;
	int rc = smc_add_link_get_peer(msg, &peer);

	if (rc)
		return rc;
	/* A GID of version 1 does not tell which subnet it is in. */
	if (link->group->version == SMC_VERSION_2 &&
	    !smc_rdma_is_on_link(link->port.gid, peer.gid))
		return -EHOSTUNREACH;
	rc = smc_link_may_lead_to(link, &peer) ? : smc_link_to_rtr(link, &peer);
	if (rc)
		return rc;
	if (!smc_add_link_is_of_use(first, link))
		return -EHOSTUNREACH;
	smc_llc_add_link_rtokens(link);
	return 0;
}

/*
 * Offer a link to the client. Return: 0 with the client's answer in @msg, or an error;
 * -ECONNREFUSED if the client rejects the offer.
 */
static int smc_add_link_offer(const struct smc_add_link_rtokens *own, struct smc_llc_msg *msg)
{
	u8 *buf;
	int rc;

	smc_add_link_describe(own->link, 0, msg);
	rc = smc_add_link_build(own, msg, &buf);
	if (rc < 0)
		return rc;
	rc = smc_llc_offer_link(own->by, buf, rc, msg);
	kfree(buf);
	if (!rc || rc == -ETIMEDOUT)
		WRITE_ONCE(own->link->group->has_offered, true);
	if (rc)
		return rc;
	if (msg->flags & SMC_LLC_ADD_LINK_REJECTED || msg->add_link.large != msg->v2)
		return -ECONNREFUSED;
	return 0;
}

/*
 * Offer a link to the client, connect the link to the client's end, and exchange RTokens. Return: 0
 * or an error; -ECONNREFUSED if the client rejects the offer.
 */
static int smc_add_link_negotiate(struct smc_link *first, struct smc_link *link)
{
	struct smc_add_link_rtokens *own = NULL;
	struct smc_llc_msg answer;
	int rc;

	rc = smc_add_link_rtokens_get(first, link, &own) ? :
	     smc_add_link_offer(own, &answer) ? :
	     smc_add_link_to_peer(first, link, &answer) ? :
	     smc_add_link_rtokens_exchange(own);
	kfree(own);
	return rc;
}

/* Accept the server's offer: send the server this client's end of the link. */
static int smc_add_link_accept(const struct smc_add_link_rtokens *own)
{
	struct smc_llc_msg msg;
	u8 *buf;
	int rc;

	smc_add_link_describe(own->link, SMC_LLC_REPLY, &msg);
	rc = smc_add_link_build(own, &msg, &buf);
	if (rc < 0)
		return rc;
	/* Expect the server's next message before the server can send it. */
	smc_add_link_rtokens_expect(own);
	rc = smc_link_send_large(own->by, buf, rc);
	kfree(buf);
	return rc;
}

/*
 * Undo a link that could not be added. If @tell_peer is true, the peer may already have set up its
 * end, so send it a DELETE LINK.
 */
static void smc_add_link_undo(struct smc_link *first, struct smc_link *link, bool tell_peer)
{
	if (tell_peer)
		smc_llc_delete_link(first, link->number, 0, SMC_LLC_DEL_LOST_PATH);
	smc_link_leave(link);
	/*
	 * The answer to a DELETE LINK of the peer may wait until this link is confirmed or given
	 * up, so resume the answers.
	 */
	smc_llc_resume(first->group);
	smc_link_end_later(link);
}

/*
 * Queue the work item for a try after @delay jiffies. If an offer has just come, mod_delayed_work()
 * has also put off the answer to the offer. In that case, queue the work item at once.
 */
static void smc_add_link_try_after(struct smc_rdma_group *group, unsigned long delay)
{
	mod_delayed_work(smc_add_link_wq, &group->add_link_work, delay);
	/* Pairs with smc_llc_take_offer(), which sets has_offer before it queues the work item. */
	smp_mb();
	if (READ_ONCE(group->llc.has_offer))
		mod_delayed_work(smc_add_link_wq, &group->add_link_work, 0);
}

/* Keep this end from trying again before the minimum time between two attempts is over. */
static void smc_add_link_put_off(struct smc_rdma_group *group)
{
	WRITE_ONCE(group->add_link_after, (jiffies + SMC_ADD_LINK_INTERVAL) | 1);
}

/* Return: the delay in jiffies before the next try. Each call doubles it, within limits. */
static unsigned long smc_add_link_back_off(struct smc_rdma_group *group)
{
	group->add_link_delay = clamp(2 * group->add_link_delay, SMC_ADD_LINK_INTERVAL,
				      SMC_ADD_LINK_RETRY);
	return group->add_link_delay;
}

/*
 * Whether to put off this group's first attempt, because an attempt of another group with the peer
 * has timed out. An attempt that times out holds the buffer lock for a second or more. Later
 * attempts are never put off.
 */
static bool smc_add_link_is_put_off(struct smc_rdma_group *group)
{
	if (group->has_tried)
		return false;
	group->has_tried = true;
	return smc_rdma_group_peer_is_slow(group);
}

/*
 * Note that this end tries to add a link, and queue the next try in case this one fails. Don't
 * queue a try for an asymmetric group: if there is no port for a symmetric link, only an event can
 * bring such a port.
 */
static void smc_add_link_note_attempt(struct smc_rdma_group *group)
{
	smc_add_link_put_off(group);
	if (!smc_rdma_group_shares(group))
		smc_add_link_try_after(group, smc_add_link_back_off(group));
}

/*
 * Note whether a link was added. If an asymmetric link can't be confirmed, its ports may be in
 * different networks that look the same. Each attempt makes an in-tree peer wait for seconds, so
 * this end tries no asymmetric link again before SMC_ADD_LINK_ASYMMETRIC is over.
 */
static void smc_add_link_note_result(struct smc_link *first, const struct smc_link *link, int rc)
{
	struct smc_rdma_group *group = first->group;
	const bool is_silent = rc == -ETIMEDOUT && link->peer.qpn;
	bool is_refused;

	if (is_silent && !group->is_slow)
		smc_log(pr_warn, group->lgr.net, "%s: link %u with %pI6c not added: %pI6c is silent",
			link->port.dev->ibdev->name, link->number, &group->peer.addr,
			link->peer.gid);
	/*
	 * A server that gets no answer sends DELETE LINK, so this client's wait may end with
	 * -ENOLINK before it times out.
	 */
	WRITE_ONCE(group->is_slow, rc == -ETIMEDOUT || (rc == -ENOLINK && link->is_deleted &&
							group->role == SMC_CLIENT));
	/* If a client has answered an offer, that counts as its first attempt. */
	group->has_tried = true;
	/*
	 * A server of version 1 does not know the client's ports. Only a refusal shows it that an
	 * asymmetric link is not possible.
	 */
	is_refused = rc == -ECONNREFUSED && group->version == SMC_VERSION_1;
	if ((is_silent || is_refused) && smc_links_share(first, link)) {
		group->asymmetric_refused = is_refused;
		WRITE_ONCE(group->asymmetric_after, (jiffies + SMC_ADD_LINK_ASYMMETRIC) | 1);
	}
	/*
	 * Queue the work item in the two cases in which smc_add_link_note_attempt() has not queued
	 * it: this end is a client that has answered an offer, or the group is asymmetric.
	 */
	if (rc && rc != -ECONNREFUSED &&
	    (group->role == SMC_CLIENT || smc_rdma_group_shares(group)))
		mod_delayed_work(smc_add_link_wq, &group->add_link_work,
				 smc_add_link_back_off(group));
}

/* Whether a new link may get @number: it is not 0, and no link has it. */
static bool smc_add_link_is_free(const struct smc_rdma_group *group, u8 number)
{
	return number && !smc_rdma_group_find_link(group, number);
}

/* Return: the next number for a link. */
static u8 smc_add_link_number(const struct smc_rdma_group *group)
{
	u8 number = group->last_number + 1;

	while (!smc_add_link_is_free(group, number))
		number++;
	return number;
}

/* Whether the client may wait for an ADD LINK. The work item alone sets @has_offered. */
static bool smc_add_link_owes_offer(const struct smc_rdma_group *group)
{
	return group->role == SMC_SERVER && group->awaits_offer && !READ_ONCE(group->has_offered);
}

/*
 * Before a server looks for a port, note whether the client has asked for a link since the last
 * offer. A client of version 1 may have refused that offer because its only other port was down. It
 * asks when the port is up again, so its request ends the wait after a refusal.
 */
static void smc_add_link_note_asked(struct smc_rdma_group *group)
{
	if (!READ_ONCE(group->is_asked))
		return;
	WRITE_ONCE(group->is_asked, false);
	if (group->asymmetric_refused)
		WRITE_ONCE(group->asymmetric_after, 0);
}

/*
 * Send an ADD LINK even though there is no link to add, if the client may wait for the message. The
 * ADD LINK names this server's end of the existing link, so a client with one port rejects it. If
 * the client accepts the offer, or may still accept it, DELETE LINK withdraws the offer.
 */
static void smc_add_link_offer_none(struct smc_link *first, bool may_wait)
{
	struct smc_rdma_group *group = first->group;
	u8 message[SMC_LLC_ADD_LINK_LEN(0)];
	struct smc_llc_msg msg;
	int len, rc;

	if (!smc_add_link_owes_offer(group))
		return;
	smc_add_link_describe(first, 0, &msg);
	msg.add_link.link = smc_add_link_number(group);
	group->last_number = msg.add_link.link;
	len = smc_llc_build_add_link(message, &msg);
	if (may_wait)
		rc = smc_llc_offer_link(first, message, len, &msg);
	else
		rc = smc_link_send_large(first, message, len) ? : -ETIMEDOUT;
	WRITE_ONCE(group->has_offered, !rc || rc == -ETIMEDOUT);
	if (rc == -ETIMEDOUT || (!rc && !(msg.flags & SMC_LLC_ADD_LINK_REJECTED)))
		smc_llc_delete_link(first, group->last_number, 0, SMC_LLC_DEL_LOST_PATH);
}

static void smc_add_link_as_server(struct smc_link *first)
{
	struct smc_rdma_group *group = first->group;
	struct smc_rdma_port port;
	struct smc_link *link;
	int rc;

	smc_add_link_note_attempt(group);
	smc_add_link_note_asked(group);
	rc = smc_add_link_find_server_port(first, &port);
	if (rc)
		return;
	group->last_number = smc_add_link_number(group);
	link = smc_add_link_create(group, &port, group->last_number);
	if (IS_ERR(link))
		return;
	rc = smc_add_link_negotiate(first, link) ? :
	     smc_link_to_rts(link) ? :
	     smc_mr_buffers_register(link) ? :
	     smc_llc_confirm_link_server(link, NULL) ? :
	     smc_rdma_group_activate_link(link);
	smc_add_link_note_result(first, link, rc);
	if (rc)
		smc_add_link_undo(first, link, rc != -ECONNREFUSED && group->has_offered);
	else
		smc_rdma_group_replace_link(first, link);
}

/* Confirm and activate a link, after this client has accepted the server's offer. */
static void smc_add_link_confirm(struct smc_link *first, struct smc_add_link_rtokens *own)
{
	struct smc_link *link = own->link;
	int rc = smc_add_link_rtokens_exchange(own) ? :
		 smc_llc_confirm_link_client(link, NULL) ? :
		 smc_link_to_rts(link) ? :
		 smc_mr_buffers_register(link) ? :
		 smc_rdma_group_activate_link(link);

	smc_add_link_note_result(first, link, rc);
	if (rc)
		smc_add_link_undo(own->by, link, true);
	else
		/* If the reply can't be sent, the link is lost like any other. */
		smc_llc_confirm_link_reply(link);
}

/*
 * Accept the server's offer, and answer on the link @by. Return: an error if the caller has to
 * refuse the offer.
 */
static int smc_add_link_as_client(struct smc_link *first, const struct smc_llc_msg *offer,
				  struct smc_link *by)
{
	struct smc_add_link_rtokens *own = NULL;
	struct smc_rdma_port port;
	struct smc_link_peer peer;
	struct smc_link *link;
	int rc;

	rc = smc_add_link_get_peer(offer, &peer);
	if (rc)
		return rc;
	if (!smc_add_link_is_free(first->group, offer->add_link.link))
		return -EEXIST;
	rc = smc_add_link_find_client_port(first, &peer, &port);
	if (rc)
		return rc;
	link = smc_add_link_create(first->group, &port, offer->add_link.link);
	if (IS_ERR(link))
		return PTR_ERR(link);
	rc = smc_add_link_to_peer(first, link, offer) ? :
	     smc_add_link_rtokens_get(by, link, &own) ? :
	     smc_add_link_accept(own);
	if (rc)
		smc_add_link_undo(by, link, false);
	else
		smc_add_link_confirm(first, own);
	kfree(own);
	return rc;
}

/*
 * Whether to consider the server's offer. An offer makes work for the device, so this end considers
 * one, and then none for nearly SMC_ADD_LINK_INTERVAL. If it refuses an offer without a look at it,
 * this end asks the server for a link once the group needs one, even if this end has only one port:
 * only the server knows whether its offer was of use, and an in-tree server does not repeat the
 * offer. This end also refuses an offer without a look if the server already knows of the loss of a
 * link, and this end does not.
 */
static bool smc_add_link_may_accept(struct smc_rdma_group *group, bool may_wait)
{
	const long left = (long)(group->offer_after - jiffies);

	group->owes_request = true;
	if (!smc_add_link_is_wanted(group))
		return false;
	if (left <= 0 && may_wait) {
		group->owes_request = false;
		/*
		 * A server counts from the time before it creates its end, which may take longer
		 * for one offer than for the next. So a second less than its interval is enough.
		 */
		group->offer_after = jiffies + SMC_ADD_LINK_INTERVAL - HZ;
		return true;
	}
	mod_delayed_work(smc_add_link_wq, &group->add_link_work, max_t(long, left, HZ));
	return false;
}

/* Answer the server's offer. Refuse it if the group needs no link, or if no port fits. */
static void smc_add_link_answer(struct smc_link *first, const struct smc_llc_msg *offer,
				bool may_wait)
{
	struct smc_rdma_group *group = first->group;
	struct smc_link *by = smc_llc_link_of_offer(group) ? : first;

	if (!smc_add_link_may_accept(group, may_wait) || smc_add_link_as_client(first, offer, by))
		smc_llc_refuse_link(by);
	smc_llc_drop_offer(group);
}

/*
 * Version 2: ask the server for a link, by a REQUEST ADD LINK that lists one or two GIDs of this
 * client's ports.
 */
static void smc_add_link_request(struct smc_link *first, const struct smc_rdma_port *port)
{
	u8 message[SMC_LLC_REQUEST_ADD_LINK_LEN(2)], gids[2][SMC_GID_LEN];
	const struct smc_llc *llc = &first->group->llc;
	unsigned int n = 1;

	memcpy(gids[0], first->gid, SMC_GID_LEN);
	if (memcmp(gids[0], port->gid->gid.raw, SMC_GID_LEN))
		memcpy(gids[n++], port->gid->gid.raw, SMC_GID_LEN);
	smc_llc_build_request_add_link(message, gids, n, READ_ONCE(llc->little_endian));
	smc_link_send_large(first, message, SMC_LLC_REQUEST_ADD_LINK_LEN(n));
}

/*
 * Version 1: ask the server for a link, by an ADD LINK that names a port but neither a queue pair
 * nor a link number, as the in-tree module does.
 */
static void smc_add_link_invite(struct smc_link *first, const struct smc_rdma_port *port)
{
	struct smc_llc_msg msg = { .type = SMC_LLC_ADD_LINK };
	u8 message[SMC_LLC_LEN];

	memcpy(msg.add_link.mac, port->mac, SMC_MAC_LEN);
	memcpy(msg.add_link.gid, port->gid->gid.raw, SMC_GID_LEN);
	smc_llc_build(message, &msg);
	smc_link_try_send_llc(first, message);
}

/*
 * Ask the server for a link if this client has another port. Ask also if this client has refused an
 * offer without a look at it, because the server may have another port. The request may be lost, so
 * this client repeats it until it considers an offer. Don't ask before this client would consider
 * the server's answer.
 */
static void smc_add_link_ask(struct smc_link *first)
{
	struct smc_rdma_group *group = first->group;
	const long left = (long)(group->offer_after - jiffies);
	struct smc_rdma_port port;

	if (left > 0) {
		smc_add_link_try_after(group, left);
		return;
	}
	if (smc_rdma_port_find_other(group->lgr.net, &first->port, NULL, &port)) {
		if (!group->owes_request)
			return;
		smc_rdma_port_copy(&port, &first->port);
	}
	smc_add_link_note_attempt(group);
	if (group->version == SMC_VERSION_1)
		smc_add_link_invite(first, &port);
	else
		smc_add_link_request(first, &port);
	smc_rdma_port_put(&port);
}

/* Add a link if this end is the server, or ask the server for one. */
static void smc_add_link_try(struct smc_link *first, bool may_wait)
{
	struct smc_rdma_group *group = first->group;
	const unsigned long after = READ_ONCE(group->add_link_after);

	if (!smc_add_link_is_wanted(group))
		return;
	/*
	 * The work item may run too early: it is queued at once for an offer, and the server may
	 * have withdrawn the offer since.
	 */
	if (after && time_before(jiffies, after)) {
		smc_add_link_try_after(group, after - jiffies);
		return;
	}
	if (smc_add_link_is_put_off(group)) {
		/* This has no effect if a port event has just queued the work item. */
		queue_delayed_work(smc_add_link_wq, &group->add_link_work, SMC_ADD_LINK_PUT_OFF);
	} else if (!may_wait) {
		smc_add_link_try_after(group, SMC_ADD_LINK_INTERVAL);
	} else if (group->role == SMC_SERVER) {
		smc_add_link_as_server(first);
	} else {
		smc_add_link_ask(first);
	}
}

static void smc_add_link(struct smc_link *first, bool may_wait)
{
	struct smc_rdma_group *group = first->group;
	struct smc_llc_msg offer;

	if (group->role == SMC_CLIENT && smc_llc_get_offer(group, &offer)) {
		smc_add_link_answer(first, &offer, may_wait);
		return;
	}
	smc_add_link_try(first, may_wait);
	smc_add_link_offer_none(first, may_wait);
}

void smc_add_link_on_request(struct smc_rdma_group *group, const u8 (*gids)[SMC_GID_LEN],
			     unsigned int n)
{
	struct smc_rdma_gids *known = &group->peer_gids;

	static_assert(SMC_LLC_ADD_LINK_GIDS <= ARRAY_SIZE(known->gid));
	if (group->role == SMC_CLIENT)
		return;
	spin_lock_bh(&group->llc.lock);
	if (known->n != n || memcmp(known->gid, gids, n * SMC_GID_LEN))
		WRITE_ONCE(group->asymmetric_after, 0);
	WRITE_ONCE(group->is_asked, true);
	known->n = n;
	memcpy(known->gid, gids, n * SMC_GID_LEN);
	spin_unlock_bh(&group->llc.lock);
	smc_add_link_queue(group);
}

/* After an event, forget the attempts that failed before it. */
static void smc_add_link_begin_anew(struct smc_rdma_group *group)
{
	lockdep_assert_held(&smc_rdma_lgrs.lock);
	WRITE_ONCE(group->asymmetric_after, 0);
	group->add_link_delay = 0;
}

void smc_add_link_on_port(struct smc_rdma_group *group)
{
	smc_add_link_begin_anew(group);
	smc_add_link_queue(group);
}

void smc_add_link_after_loss(struct smc_rdma_group *group)
{
	lockdep_assert_held(&smc_rdma_lgrs.lock);
	/* Queue nothing for a dead group: its end may have stopped the work item for good. */
	if (!smc_lgr_is_active(&group->lgr))
		return;
	smc_add_link_begin_anew(group);
	smc_add_link_put_off(group);
	smc_add_link_try_after(group, smc_add_link_back_off(group));
}

static void smc_add_link_work(struct work_struct *work)
{
	struct smc_rdma_group *group = container_of(work, struct smc_rdma_group,
						    add_link_work.work);
	const bool may_wait = smc_add_link_enter(group->is_slow);
	struct smc_link *first;

	if (!may_wait && !mutex_trylock(&group->buffers.lock)) {
		queue_delayed_work(smc_add_link_wq, &group->add_link_work, HZ);
		goto out;
	}
	if (may_wait)
		mutex_lock(&group->buffers.lock);
	first = smc_rdma_group_oldest_link(group);
	if (first && smc_lgr_is_active(&group->lgr))
		smc_add_link(first, may_wait);
	mutex_unlock(&group->buffers.lock);
out:
	smc_add_link_exit();
}

void smc_add_link_init(struct smc_rdma_group *group)
{
	INIT_DELAYED_WORK(&group->add_link_work, smc_add_link_work);
	group->offer_after = jiffies;
}

void smc_add_link_queue(struct smc_rdma_group *group)
{
	const unsigned long after = READ_ONCE(group->add_link_after);
	const long left = after ? (long)(after - jiffies) : 0;

	if (!smc_lgr_is_active(&group->lgr) ||
	    (group->max_links == 1 && !smc_add_link_owes_offer(group)))
		return;
	smc_add_link_try_after(group, max(left, 0L));
}

void smc_add_link_stop(struct smc_rdma_group *group)
{
	cancel_delayed_work_sync(&group->add_link_work);
}
