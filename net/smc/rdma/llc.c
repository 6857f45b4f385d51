// SPDX-License-Identifier: GPL-2.0
/* Link layer control: requests of this end, and answers to the peer's requests. */

#include <linux/slab.h>

#include "add_link.h"
#include "admin/stats.h"
#include "group.h"
#include "link.h"
#include "llc.h"
#include "message.h"
#include "path.h"
#include "workqueue.h"

#define SMC_LLC_REPLY_WAIT		(2 * HZ)
#define SMC_LLC_RETRY_INTERVAL		(10 * HZ)	/* after a request about a key timed out */
/* How long a client waits for the server's CONFIRM LINK at first contact. */
#define SMC_LLC_CONFIRM_LINK_WAIT	(4 * HZ)
/*
 * How long a server waits for the answer to the CONFIRM LINK of an added link. Either end waits as
 * long for an ADD LINK CONTINUATION. Each end holds its buffer lock during the wait, so this time
 * is shorter than SMC_BUFFERS_WAIT: a connection that waits for the lock should not have to fall
 * back to TCP.
 */
#define SMC_LLC_ADDED_LINK_WAIT		HZ

static void smc_llc_answer_all(struct work_struct *work);
static void smc_llc_drop(struct smc_llc *llc, unsigned int i);

void smc_llc_init(struct smc_rdma_group *group)
{
	struct smc_llc *llc = &group->llc;

	mutex_init(&llc->request_lock);
	spin_lock_init(&llc->lock);
	init_waitqueue_head(&llc->wait);
	llc->ask_again = jiffies;
	INIT_WORK(&llc->work, smc_llc_answer_all);
}

void smc_llc_finish(struct smc_rdma_group *group)
{
	flush_work(&group->llc.work);
}

void smc_llc_stop(struct smc_rdma_group *group)
{
	smc_llc_wake(group);
	cancel_work_sync(&group->llc.work);
	while (group->llc.n)
		smc_llc_drop(&group->llc, 0);
}

void smc_llc_wake(struct smc_rdma_group *group)
{
	wake_up_all(&group->llc.wait);
}

void smc_llc_resume(struct smc_rdma_group *group)
{
	queue_work(smc_wq, &group->llc.work);
}

static bool smc_llc_is_reply(const struct smc_llc_msg *msg)
{
	return msg->flags & SMC_LLC_REPLY;
}

/* Return: the link to send this end's requests on. It is a link that works, if there is one. */
static struct smc_link *smc_llc_link(const struct smc_rdma_group *group)
{
	struct smc_link *link;

	smc_for_each_link(link, group)
		if (link->is_confirmed && !READ_ONCE(link->broken))
			return link;
	/* During first contact the only link is not confirmed yet. */
	return smc_rdma_group_link_from(group, 0);
}

/* Whether a DELETE LINK request names the only link that works. Under RCU. */
static bool smc_llc_deletes_last(const struct smc_rdma_group *group, const struct smc_llc_msg *msg)
{
	const struct smc_link *link;

	if (msg->flags & SMC_LLC_DELETE_ALL)
		return false;
	link = smc_rdma_group_find_link(group, msg->delete_link.link);
	return link && !smc_rdma_group_other_link(link);
}

/*
 * Whether a DELETE LINK request, which came on the link @by, ends the group. The group ends if the
 * request names all links, or the only link that works at this end. There is one exception: if the
 * request names one link but came on another, the group goes on. The peer then uses @by already,
 * although this end has not confirmed @by yet. Under RCU.
 */
static bool smc_llc_ends_group(const struct smc_link *by, const struct smc_llc_msg *msg)
{
	return (msg->flags & SMC_LLC_DELETE_ALL) ||
	       (smc_llc_deletes_last(by->group, msg) && by->number == msg->delete_link.link);
}

/*
 * Whether a DELETE LINK reply answers smc_llc_delete_all(), which is for dead groups only. If the
 * reply names a link that is gone, or that never existed, it is a late answer to another DELETE
 * LINK.
 */
static bool smc_llc_answers_delete_all(const struct smc_rdma_group *group,
				       const struct smc_llc_msg *msg)
{
	return smc_lgr_is_dead(&group->lgr) &&
	       ((msg->flags & SMC_LLC_DELETE_ALL) || !msg->delete_link.link ||
		smc_rdma_group_find_link(group, msg->delete_link.link));
}

/* Whether a request or reply of the peer says that the peer ends the group. Under RCU. */
static bool smc_llc_is_delete_all(const struct smc_link *by, const struct smc_llc_msg *msg)
{
	if (msg->type != SMC_LLC_DELETE_LINK)
		return false;
	return smc_llc_is_reply(msg) ? smc_llc_answers_delete_all(by->group, msg) :
				       smc_llc_ends_group(by, msg);
}

/* Store @msg for the thread that waits, if it is the expected message. Under llc.lock. */
static bool smc_llc_take_awaited(struct smc_llc *llc, const struct smc_link *link,
				 const struct smc_llc_msg *msg)
{
	if (llc->has_come || llc->awaited != msg->type ||
	    llc->awaited_flags != (msg->flags & SMC_LLC_REPLY))
		return false;
	/*
	 * Each of these two messages is about the link that carries it: CONFIRM LINK shows that
	 * this link works, and ADD LINK CONTINUATION has RKeys of this link.
	 */
	if ((msg->type == SMC_LLC_CONFIRM_LINK || msg->type == SMC_LLC_ADD_LINK_CONT) &&
	    link != llc->link)
		return false;
	if (llc->request && !smc_llc_is_answered(llc->request, msg))
		return false;
	llc->came = *msg;
	llc->has_come = true;
	return true;
}

/*
 * Queue a request. Under llc.lock. Return: false if the queue is full, because the peer sends too
 * fast.
 */
static bool smc_llc_enqueue(struct smc_link *link, const u8 *message,
			    const struct smc_llc_msg *msg)
{
	struct smc_llc *llc = &link->group->llc;
	struct smc_llc_queued *q;

	if (llc->n == SMC_LLC_QUEUE)
		return false;
	q = &llc->queue[(llc->head + llc->n++) % SMC_LLC_QUEUE];
	smc_link_get(link);
	q->link = link;
	memcpy(q->message, message, SMC_LLC_LEN);
	q->parsed = *msg;
	q->is_done = false;
	return true;
}

/* Keep the RTokens of an ADD LINK for the thread that adds the link. Under llc.lock. */
static void smc_llc_copy_add_link(const struct smc_link *link, const u8 *message,
				  const struct smc_llc_msg *msg)
{
	struct smc_llc *llc = &link->group->llc;

	if (msg->type != SMC_LLC_ADD_LINK || msg->add_link.large != msg->v2)
		return;
	memcpy(llc->add_link, message,
	       msg->v2 ? SMC_LLC_ADD_LINK_LEN(msg->add_link.n_rkeys) : SMC_LLC_LEN);
	llc->add_link_by = link->index;
}

/* Whether a message offers a second link that this end may accept. */
static bool smc_llc_is_offer(const struct smc_rdma_group *group, const struct smc_llc_msg *msg)
{
	return msg->type == SMC_LLC_ADD_LINK && !smc_llc_is_reply(msg) &&
	       msg->add_link.large == msg->v2 && group->role == SMC_CLIENT && group->max_links > 1;
}

/*
 * Keep the offer of a link, and queue the work item that answers it. If the server makes a second
 * offer before it has the answer to the first, the second gets no answer. Under llc.lock.
 */
static void smc_llc_take_offer(const struct smc_link *link, const u8 *message,
			       const struct smc_llc_msg *msg)
{
	struct smc_llc *llc = &link->group->llc;

	if (llc->has_offer)
		return;
	llc->has_offer = true;
	llc->offer = *msg;
	smc_llc_copy_add_link(link, message, msg);
	smc_add_link_queue(link->group);
}

bool smc_llc_get_offer(struct smc_rdma_group *group, struct smc_llc_msg *offer)
{
	struct smc_llc *llc = &group->llc;
	bool has_offer;

	spin_lock_bh(&llc->lock);
	has_offer = llc->has_offer;
	llc->is_answering = has_offer;
	if (has_offer)
		*offer = llc->offer;
	spin_unlock_bh(&llc->lock);
	return has_offer;
}

struct smc_link *smc_llc_link_of_offer(struct smc_rdma_group *group)
{
	struct smc_link *link;

	lockdep_assert_held(&group->buffers.lock);
	spin_lock_bh(&group->llc.lock);
	link = group->links[group->llc.add_link_by];
	spin_unlock_bh(&group->llc.lock);
	return link && smc_link_works(link) ? link : NULL;
}

void smc_llc_drop_offer(struct smc_rdma_group *group)
{
	spin_lock_bh(&group->llc.lock);
	group->llc.has_offer = false;
	group->llc.is_answering = false;
	spin_unlock_bh(&group->llc.lock);
}

void smc_llc_receive(struct smc_link *link, const u8 *message, u32 len)
{
	struct smc_rdma_group *group = link->group;
	struct smc_llc *llc = &group->llc;
	struct smc_llc_msg msg;
	bool queued = true;
	int rc;

	rc = smc_llc_parse(message, len, &msg);
	if (rc == -EOPNOTSUPP)
		return;
	if (rc || msg.v2 != (group->version == SMC_VERSION_2))
		goto violation;

	spin_lock_bh(&llc->lock);
	/*
	 * Don't learn the byte order from ADD LINK: its length may be valid in both byte orders.
	 * Never go back to big-endian: an in-tree peer answers DELETE LINK with the bytes of the
	 * request, so the length in the answer is in this end's byte order.
	 */
	if (msg.little_endian && msg.type != SMC_LLC_ADD_LINK)
		WRITE_ONCE(llc->little_endian, true);
	if (smc_llc_is_delete_all(link, &msg))
		WRITE_ONCE(llc->peer_left, true);
	if (smc_llc_is_offer(group, &msg))
		smc_llc_take_offer(link, message, &msg);
	else if (smc_llc_take_awaited(llc, link, &msg))
		smc_llc_copy_add_link(link, message, &msg);
	else if (!smc_llc_is_reply(&msg))
		queued = smc_llc_enqueue(link, message, &msg);
	spin_unlock_bh(&llc->lock);
	wake_up_all(&llc->wait);
	if (!queued)
		goto violation;
	/*
	 * A reply that no thread expects is dropped: its request has timed out, or nothing waits
	 * for the reply, as with TEST LINK and DELETE LINK.
	 */
	if (!smc_llc_is_reply(&msg))
		smc_llc_resume(group);
	return;

violation:
	smc_rdma_group_on_violation(group, SMC_VIOLATION_LLC);
}

/*
 * Expect a message on a link: the reply to @request or, if @request is NULL, the peer's request of
 * type @type.
 */
static void smc_llc_expect(struct smc_link *link, enum smc_llc_type type,
			   const struct smc_llc_msg *request)
{
	struct smc_llc *llc = &link->group->llc;

	spin_lock_bh(&llc->lock);
	llc->link = link;
	llc->awaited = type;
	llc->awaited_flags = request ? SMC_LLC_REPLY : 0;
	llc->request = request;
	llc->has_come = false;
	spin_unlock_bh(&llc->lock);
}

static void smc_llc_expect_nothing(struct smc_llc *llc)
{
	spin_lock_bh(&llc->lock);
	llc->awaited = 0;
	llc->request = NULL;
	spin_unlock_bh(&llc->lock);
}

/*
 * Whether a link that the expected message needs is lost. An ADD LINK CONTINUATION needs two links:
 * the one that carries it, and the new one, which is not confirmed yet. The thread that expects it
 * holds the buffer lock, so the links don't change.
 */
static bool smc_llc_has_lost_link(const struct smc_rdma_group *group)
{
	const struct smc_link *link;

	if (READ_ONCE(group->llc.link->broken))
		return true;
	if (group->llc.awaited != SMC_LLC_ADD_LINK_CONT)
		return false;
	smc_for_each_link(link, group)
		if (!link->is_confirmed && !READ_ONCE(link->is_left) && READ_ONCE(link->broken))
			return true;
	return false;
}

/* Whether the expected message has come, or never will. */
static bool smc_llc_has_ended(const struct smc_rdma_group *group)
{
	return READ_ONCE(group->llc.has_come) || smc_lgr_is_dead(&group->lgr) ||
	       smc_llc_has_lost_link(group);
}

/* Sleep on two wait queues, llc.wait and @off->wait. Return: true if @off cancelled the wait. */
static bool smc_llc_sleep(struct smc_rdma_group *group, long timeo, const struct smc_cancel *off)
{
	DEFINE_WAIT(by_link);
	DEFINE_WAIT(by_other);
	bool is_off;

	for (;;) {
		prepare_to_wait(&group->llc.wait, &by_link, TASK_UNINTERRUPTIBLE);
		prepare_to_wait(off->wait, &by_other, TASK_UNINTERRUPTIBLE);
		is_off = off->is_over(off->arg);
		if (is_off || smc_llc_has_ended(group) || !timeo)
			break;
		timeo = schedule_timeout(timeo);
	}
	finish_wait(off->wait, &by_other);
	finish_wait(&group->llc.wait, &by_link);
	return is_off;
}

/* Wait for the expected message, and copy it to @msg. @off, if not NULL, may cancel the wait. */
static int smc_llc_await(struct smc_rdma_group *group, long timeo, const struct smc_cancel *off,
			 struct smc_llc_msg *msg)
{
	struct smc_llc *llc = &group->llc;
	int rc = -ETIMEDOUT;

	if (!off)
		wait_event_timeout(llc->wait, smc_llc_has_ended(group), timeo);
	else if (smc_llc_sleep(group, timeo, off) || off->has_left(off->arg))
		rc = -ECANCELED;

	spin_lock_bh(&llc->lock);
	if (llc->has_come) {
		*msg = llc->came;
		rc = 0;
	} else if (smc_lgr_is_dead(&group->lgr) || smc_llc_has_lost_link(group)) {
		rc = -ENOLINK;
	}
	llc->awaited = 0;
	llc->request = NULL;
	spin_unlock_bh(&llc->lock);
	return rc;
}

static int smc_llc_send(struct smc_link *link, const struct smc_llc_msg *msg)
{
	u8 message[SMC_LLC_LEN];

	smc_llc_build(message, msg);
	return smc_link_send_llc(link, message);
}

/*
 * Send the request in @msg on a link, wait for the reply, and put the reply into @msg. If @large is
 * not NULL, the @len bytes in @large are sent, which the caller has built. Then @msg only serves to
 * recognise the reply. @off, if not NULL, may cancel the wait. The wait is shorter for ADD LINK
 * CONTINUATION, and for the CONFIRM LINK of an added link, for which @off is NULL.
 */
static int smc_llc_request(struct smc_link *link, const struct smc_cancel *off,
			   struct smc_llc_msg *msg, const u8 *large, size_t len)
{
	const bool is_added = msg->type == SMC_LLC_ADD_LINK_CONT ||
			      (msg->type == SMC_LLC_CONFIRM_LINK && !off);
	struct smc_rdma_group *group = link->group;
	struct smc_llc *llc = &group->llc;
	int rc;

	msg->v2 = group->version == SMC_VERSION_2;

	mutex_lock(&llc->request_lock);
	smc_llc_expect(link, msg->type, msg);
	rc = large ? smc_link_send_large(link, large, len) : smc_llc_send(link, msg);
	if (rc)
		smc_llc_expect_nothing(llc);
	else
		rc = smc_llc_await(group, is_added ? SMC_LLC_ADDED_LINK_WAIT : SMC_LLC_REPLY_WAIT,
				   off, msg);
	mutex_unlock(&llc->request_lock);
	return rc;
}

static int smc_llc_request_until(struct smc_link *link, const struct smc_cancel *off,
				 struct smc_llc_msg *msg)
{
	return smc_llc_request(link, off, msg, NULL, 0);
}

/* Fill in the CONFIRM LINK for this end of the link. */
static void smc_llc_describe_link(const struct smc_link *link, struct smc_llc_msg *msg)
{
	const struct smc_rdma_group *group = link->group;

	msg->type = SMC_LLC_CONFIRM_LINK;
	msg->v2 = group->version == SMC_VERSION_2;
	msg->flags |= SMC_LLC_NO_RMBE_EYE_CATCHER;
	memcpy(msg->confirm_link.mac, link->port.mac, SMC_MAC_LEN);
	memcpy(msg->confirm_link.gid, link->gid, SMC_GID_LEN);
	msg->confirm_link.qpn = link->qpn;
	msg->confirm_link.link = link->number;
	msg->confirm_link.user_id = link->user_id;
	msg->confirm_link.max_links = group->max_links;
	msg->confirm_link.max_conns = group->max_conns;
}

/*
 * Check and store the peer's CONFIRM LINK. It must confirm the queue pair that the peer's CLC
 * message or ADD LINK named. It must also accept that elements of this end don't start with an eye
 * catcher.
 */
static int smc_llc_note_confirmed(struct smc_link *link, const struct smc_llc_msg *msg)
{
	struct smc_rdma_group *group = link->group;

	if (msg->confirm_link.qpn != link->peer.qpn ||
	    (msg->flags & SMC_LLC_NO_RMBE_EYE_CATCHER) != SMC_LLC_NO_RMBE_EYE_CATCHER) {
		smc_rdma_group_on_violation(group, SMC_VIOLATION_LLC);
		return -EPROTO;
	}
	link->peer_user_id = msg->confirm_link.user_id;
	/* z/OS and AIX may accept fewer connections than 255. */
	if (msg->confirm_link.max_conns)
		group->max_conns = min(group->max_conns, msg->confirm_link.max_conns);
	/* From release 1 of version 2 on, the ends agree on the number of links by CLC. */
	if (!group->lgr.release && !smc_lgr_is_active(&group->lgr))
		WRITE_ONCE(group->max_links,
			   clamp_t(u8, msg->confirm_link.max_links, 1, group->max_links));
	return 0;
}

int smc_llc_confirm_link_server(struct smc_link *link, const struct smc_cancel *off)
{
	struct smc_llc_msg msg = {};
	int rc;

	smc_llc_describe_link(link, &msg);
	rc = smc_llc_request_until(link, off, &msg);
	return rc ? rc : smc_llc_note_confirmed(link, &msg);
}

void smc_llc_expect_confirm_link(struct smc_link *link)
{
	smc_llc_expect(link, SMC_LLC_CONFIRM_LINK, NULL);
}

int smc_llc_confirm_link_client(struct smc_link *link, const struct smc_cancel *off)
{
	struct smc_llc_msg msg;
	int rc = smc_llc_await(link->group, off ? SMC_LLC_CONFIRM_LINK_WAIT : SMC_LLC_REPLY_WAIT,
			       off, &msg);

	if (rc)
		return rc;
	/* An added link has its number from ADD LINK, and CONFIRM LINK must have the same. */
	if (link->number && link->number != msg.confirm_link.link) {
		smc_rdma_group_on_violation(link->group, SMC_VIOLATION_LLC);
		return -EPROTO;
	}
	link->number = msg.confirm_link.link;
	return smc_llc_note_confirmed(link, &msg);
}

int smc_llc_confirm_link_reply(struct smc_link *link)
{
	struct smc_llc_msg msg = { .flags = SMC_LLC_REPLY };

	smc_llc_describe_link(link, &msg);
	return smc_llc_send(link, &msg);
}

void smc_llc_delete_link(struct smc_link *link, u8 number, u8 flags,
			 enum smc_llc_delete_reason reason)
{
	const struct smc_llc_msg msg = {
		.type  = SMC_LLC_DELETE_LINK,
		.v2    = link->group->version == SMC_VERSION_2,
		.flags = flags,
		.delete_link = {
			.link	= number,
			.reason	= reason,
		},
	};
	u8 message[SMC_LLC_LEN];

	smc_llc_build(message, &msg);
	/* The reply carries no information, so nothing waits for it. */
	smc_link_try_send_llc(link, message);
}

int smc_llc_offer_link(struct smc_link *link, const u8 *message, size_t len,
		       struct smc_llc_msg *msg)
{
	return smc_llc_request(link, NULL, msg, message, len);
}

int smc_llc_continue_add_link(struct smc_link *link, struct smc_llc_msg *msg)
{
	return smc_llc_request_until(link, NULL, msg);
}

void smc_llc_expect_add_link_cont(struct smc_link *link)
{
	smc_llc_expect(link, SMC_LLC_ADD_LINK_CONT, NULL);
}

int smc_llc_await_add_link_cont(struct smc_link *link, struct smc_llc_msg *msg)
{
	return smc_llc_await(link->group, SMC_LLC_ADDED_LINK_WAIT, NULL, msg);
}

int smc_llc_reply_add_link_cont(struct smc_link *link, struct smc_llc_msg *msg)
{
	msg->flags = SMC_LLC_REPLY;
	return smc_llc_send(link, msg);
}

void smc_llc_refuse_link(struct smc_link *link)
{
	struct smc_llc *llc = &link->group->llc;
	u8 message[SMC_LLC_LEN];

	/* The refusal is only the first SMC_LLC_LEN bytes of the offer, without its RTokens. */
	spin_lock_bh(&llc->lock);
	memcpy(message, llc->add_link, SMC_LLC_LEN);
	spin_unlock_bh(&llc->lock);
	smc_llc_reply(message, SMC_LLC_ADD_LINK_REJECTED);
	smc_link_try_send_llc(link, message);
}

void smc_llc_add_link_rtokens(const struct smc_link *link)
{
	struct smc_rdma_group *group = link->group;
	struct smc_llc *llc = &group->llc;
	struct smc_llc_msg msg;
	struct smc_llc_rtoken rt;
	unsigned int i;

	spin_lock_bh(&llc->lock);
	if (!smc_llc_parse(llc->add_link, sizeof(llc->add_link), &msg)) {
		for (i = 0; i < msg.add_link.n_rkeys; i++) {
			rt = smc_llc_get_add_link_rtoken(llc->add_link, i);
			smc_rtokens_add_on(&group->rtokens, llc->add_link_by, rt.rkey, link->index,
					   (struct smc_rtoken) { rt.rkey_new, rt.addr });
		}
	}
	spin_unlock_bh(&llc->lock);
}

bool smc_llc_may_request(const struct smc_rdma_group *group)
{
	lockdep_assert_held(&group->buffers.lock);
	return !time_before(jiffies, group->llc.ask_again);
}

/*
 * Send a request about a key, unless one has timed out lately: until a request is over, all
 * handshakes that need a new buffer of the group wait.
 */
static int smc_llc_request_rkey(struct smc_link *link, struct smc_llc_msg *msg)
{
	struct smc_rdma_group *group = link->group;
	int rc;

	if (!smc_llc_may_request(group))
		return -ETIMEDOUT;
	rc = smc_llc_request_until(link, NULL, msg);
	if (rc == -ETIMEDOUT)
		group->llc.ask_again = jiffies + SMC_LLC_RETRY_INTERVAL;
	return rc;
}

static struct smc_rtoken smc_rtoken_of(const struct smc_llc_rtoken *rt)
{
	return (struct smc_rtoken) { .rkey = rt->rkey, .addr = rt->addr };
}

static struct smc_llc_rtoken smc_llc_rtoken_of(const struct smc_mr_buffer *rmb,
					       const struct smc_link *link)
{
	const struct smc_region *region = &rmb->regions[link->index];

	return (struct smc_llc_rtoken) {
		.link = link->number,
		.rkey = region->rkey,
		.addr = region->iova,
	};
}

int smc_llc_confirm_rkey(struct smc_rdma_group *group, const struct smc_mr_buffer *rmb)
{
	struct smc_link *other, *link = smc_llc_link(group);
	struct smc_llc_msg msg = {
		.type = SMC_LLC_CONFIRM_RKEY,
		.confirm_rkey.rt[0] = smc_llc_rtoken_of(rmb, link),
	};
	int rc;

	smc_for_each_link(other, group)
		if (other != link && !READ_ONCE(other->is_left))
			msg.confirm_rkey.rt[++msg.confirm_rkey.count] =
				smc_llc_rtoken_of(rmb, other);
	rc = smc_llc_request_rkey(link, &msg);
	if (rc || !(msg.flags & SMC_LLC_RKEY_NEGATIVE))
		return rc;
	return msg.flags & SMC_LLC_RKEY_RETRY ? -EAGAIN : -EREMOTEIO;
}

void smc_llc_delete_rkeys(struct smc_rdma_group *group, const struct smc_mr_buffer *const *rmbs,
			  unsigned int n)
{
	struct smc_link *link;
	unsigned int i;
	int rc;

	/* If the link is lost before the reply has come, ask again on another link. */
	do {
		struct smc_llc_msg msg = {
			.type = SMC_LLC_DELETE_RKEY,
			.delete_rkey.count = n,
		};

		link = smc_llc_link(group);
		for (i = 0; i < n; i++)
			msg.delete_rkey.rkey[i] = rmbs[i]->regions[link->index].rkey;
		rc = smc_llc_request_rkey(link, &msg);
	} while (rc == -ENOLINK && smc_llc_link(group) != link);
}

int smc_llc_test_link(struct smc_link *link)
{
	const struct smc_llc_msg msg = {
		.type = SMC_LLC_TEST_LINK,
		.v2   = link->group->version == SMC_VERSION_2,
	};
	u8 message[SMC_LLC_LEN];

	smc_llc_build(message, &msg);
	return smc_link_try_send_llc(link, message);
}

/*
 * Send a TEST LINK, but no second one until something is received. A queue pair loses no message.
 * Once packets reach the peer again, it would get all TEST LINKs at once, maybe more than it has to
 * accept.
 */
static void smc_llc_probe(struct smc_link *link)
{
	/* The reply may come before @probed is written, and must not look older than the probe. */
	const unsigned long now = jiffies;

	if (time_before(READ_ONCE(link->last_rx), READ_ONCE(link->probed)))
		return;
	if (!smc_llc_test_link(link))
		WRITE_ONCE(link->probed, now);
}

bool smc_llc_may_leave(const struct smc_link *link, unsigned long since)
{
	bool may_leave = false;
	struct smc_link *other;

	rcu_read_lock();
	smc_for_each_link(other, link->group) {
		if (other == link || !smc_link_works(other))
			continue;
		if (time_after_eq(READ_ONCE(other->last_rx), since))
			may_leave = true;
		else
			smc_llc_probe(other);
	}
	rcu_read_unlock();
	return may_leave;
}

static bool smc_llc_has_deleted_link(const struct smc_rdma_group *group)
{
	return READ_ONCE(group->llc.peer_left) || READ_ONCE(smc_llc_link(group)->broken) ||
	       !smc_rdma_group_time_left(group);
}

void smc_llc_delete_all(struct smc_rdma_group *group)
{
	struct smc_llc_msg msg = {
		.type = SMC_LLC_DELETE_LINK,
		.v2 = group->version == SMC_VERSION_2,
		.flags = SMC_LLC_DELETE_ALL | SMC_LLC_DELETE_ORDERLY,
		.delete_link.reason = group->delete_reason,
	};

	if (READ_ONCE(group->llc.peer_left) || smc_llc_send(smc_llc_link(group), &msg))
		return;
	/*
	 * Wait: a server answers with a DELETE LINK of its own. If this end's queue pair were gone
	 * by then, that message could not arrive. The server would keep offering the group to new
	 * connections until the retries of that message are over.
	 */
	while (!smc_llc_has_deleted_link(group))
		wait_event_timeout(group->llc.wait, smc_llc_has_deleted_link(group),
				   smc_rdma_group_time_left(group));
}

/*
 * Answer a DELETE LINK for a link that does not exist. This client may have rejected the ADD LINK
 * that offered the link. If this client has not begun to answer the ADD LINK, the DELETE LINK
 * withdraws the offer.
 */
static int smc_llc_answer_no_link(struct smc_link *link, const struct smc_llc_msg *request)
{
	struct smc_llc *llc = &link->group->llc;
	struct smc_llc_msg msg = *request;
	u8 message[SMC_LLC_LEN];

	spin_lock_bh(&llc->lock);
	if (!llc->is_answering && llc->offer.add_link.link == request->delete_link.link)
		llc->has_offer = false;
	spin_unlock_bh(&llc->lock);
	msg.flags |= SMC_LLC_REPLY;
	msg.delete_link.reason = SMC_LLC_DEL_NO_SUCH_LINK;
	smc_llc_build(message, &msg);
	return smc_link_try_send_llc(link, message);
}

/* Note an RMB that the peer announces on a link, with its RTokens on the other links. */
static void smc_llc_add_rtokens(const struct smc_link *link, const struct smc_llc_msg *msg)
{
	const struct smc_llc_rtoken *rt = msg->confirm_rkey.rt;
	unsigned int i, n = min_t(unsigned int, msg->confirm_rkey.count,
				  ARRAY_SIZE(msg->confirm_rkey.rt) - 1);
	struct smc_rtokens *rtokens = &link->group->rtokens;
	const struct smc_link *other;

	/* Once a link is taken out of the group, another one may get its index. */
	rcu_read_lock();
	if (READ_ONCE(link->group->links[link->index]) != link)
		goto out;
	smc_rtokens_add(rtokens, link->index, smc_rtoken_of(&rt[0]));
	for (i = 1; i <= n; i++)
		smc_for_each_link(other, link->group)
			if (other != link && other->number == rt[i].link)
				smc_rtokens_add_on(rtokens, link->index, rt[0].rkey, other->index,
						   smc_rtoken_of(&rt[i]));
out:
	rcu_read_unlock();
}

/* Forget the RMBs that the peer deletes: as many of them as smc_llc_parse() decodes. */
static void smc_llc_delete_rtokens(const struct smc_link *link, const struct smc_llc_msg *msg)
{
	unsigned int i, n = min_t(unsigned int, msg->delete_rkey.count, SMC_LLC_DELETE_RKEYS);

	rcu_read_lock();
	if (READ_ONCE(link->group->links[link->index]) == link)
		for (i = 0; i < n; i++)
			smc_rtokens_delete(&link->group->rtokens, link->index,
					   msg->delete_rkey.rkey[i]);
	rcu_read_unlock();
}

/*
 * Answer a DELETE LINK. If the group goes on without the link, a server answers with a DELETE LINK
 * of its own, once its connections have left the link. Return: as smc_llc_answer(); also -EAGAIN if
 * the link that is to take over is not confirmed yet.
 */
static int smc_llc_answer_delete_link(struct smc_llc_queued *q)
{
	struct smc_rdma_group *group = q->link->group;
	bool ends_group, is_early;

	rcu_read_lock();
	ends_group = smc_llc_ends_group(q->link, &q->parsed);
	is_early = !ends_group && !READ_ONCE(q->link->is_confirmed) &&
		   smc_llc_deletes_last(group, &q->parsed);
	rcu_read_unlock();
	/* The work item runs again when the link that is to take over is confirmed or given up. */
	if (is_early)
		return READ_ONCE(q->link->is_left) ? -ENOLINK : -EAGAIN;
	if (!ends_group && !smc_rdma_group_delete_link(group, q->parsed.delete_link.link,
						       q->parsed.delete_link.reason))
		return smc_llc_answer_no_link(q->link, &q->parsed);
	if (!ends_group && group->role == SMC_SERVER)
		return 0;
	smc_llc_reply(q->message, 0);
	/* A peer that acknowledges nothing leaves no free slot, and gets no answer. */
	smc_link_try_send_llc(q->link, q->message);
	if (!ends_group)
		return 0;
	/* The work item that ends the group waits until the answer is sent. */
	smc_rdma_group_peer_left(group, q->parsed.delete_link.reason);
	return -ECONNRESET;
}

/*
 * Answer a request. Return: 0; -EAGAIN if no slot is free; -ENOLINK if the link is lost; or an
 * error that ends the group.
 */
static int smc_llc_answer(struct smc_llc_queued *q)
{
	struct smc_rdma_group *group = q->link->group;
	u8 flags = 0;

	switch (q->parsed.type) {
	case SMC_LLC_TEST_LINK:
	case SMC_LLC_CONFIRM_RKEY_CONT:
		break;
	case SMC_LLC_CONFIRM_RKEY:
		if (!q->is_done)
			smc_llc_add_rtokens(q->link, &q->parsed);
		break;
	case SMC_LLC_DELETE_RKEY:
		if (!q->is_done)
			smc_llc_delete_rtokens(q->link, &q->parsed);
		break;
	case SMC_LLC_ADD_LINK:
		/* A client of version 1 asks for a link by ADD LINK. */
		if (group->role == SMC_SERVER && group->version == SMC_VERSION_1 &&
		    group->max_links > 1) {
			smc_add_link_on_request(group, &q->parsed.add_link.gid, 1);
			return 0;
		}
		flags = SMC_LLC_ADD_LINK_REJECTED;
		break;
	case SMC_LLC_REQUEST_ADD_LINK:
		smc_add_link_on_request(group, q->parsed.request_add_link.gids,
					q->parsed.request_add_link.n_gids);
		return 0;
	case SMC_LLC_ADD_LINK_CONT:
		return 0;
	case SMC_LLC_DELETE_LINK:
		return smc_llc_answer_delete_link(q);
	case SMC_LLC_CONFIRM_LINK:
		/* The message is late: this client waits no more for the link, and leaves it. */
		if (group->role == SMC_CLIENT && !READ_ONCE(q->link->is_confirmed))
			return 0;
		fallthrough;
	default:
		smc_rdma_group_on_violation(group, SMC_VIOLATION_LLC);
		return -EPROTO;
	}
	smc_llc_reply(q->message, flags);
	return smc_link_try_send_llc(q->link, q->message);
}

static unsigned int smc_llc_count(struct smc_llc *llc)
{
	unsigned int n;

	spin_lock_bh(&llc->lock);
	n = llc->n;
	spin_unlock_bh(&llc->lock);
	return n;
}

/* Copy the request that has @i others before it, and leave it in the queue. */
static void smc_llc_peek(struct smc_llc *llc, unsigned int i, struct smc_llc_queued *q)
{
	spin_lock_bh(&llc->lock);
	*q = llc->queue[(llc->head + i) % SMC_LLC_QUEUE];
	spin_unlock_bh(&llc->lock);
}

/*
 * Leave the request that has @i others before it in the queue, to be answered later. If it is about
 * keys, this end has carried it out already.
 */
static void smc_llc_keep(struct smc_llc *llc, unsigned int i)
{
	spin_lock_bh(&llc->lock);
	llc->queue[(llc->head + i) % SMC_LLC_QUEUE].is_done = true;
	spin_unlock_bh(&llc->lock);
}

/* Remove the request that has @i others before it. The others keep their order. */
static void smc_llc_drop(struct smc_llc *llc, unsigned int i)
{
	struct smc_llc_queued *queue = llc->queue;
	struct smc_link *link;

	spin_lock_bh(&llc->lock);
	link = queue[(llc->head + i) % SMC_LLC_QUEUE].link;
	for (; i; i--)
		queue[(llc->head + i) % SMC_LLC_QUEUE] = queue[(llc->head + i - 1) % SMC_LLC_QUEUE];
	llc->head = (llc->head + 1) % SMC_LLC_QUEUE;
	llc->n--;
	spin_unlock_bh(&llc->lock);
	smc_link_put(link);
}

/*
 * Answer the peer's requests without blocking. While the peer acknowledges no message on a link,
 * the requests of that link stay in the queue, in their order. Requests of other links may
 * overtake them. smc_llc_resume() is called when a slot is free, and for each request that comes.
 */
static void smc_llc_answer_all(struct work_struct *work)
{
	struct smc_llc *llc = container_of(work, struct smc_llc, work);
	struct smc_rdma_group *group = container_of(llc, struct smc_rdma_group, llc);
	unsigned int n, n_kept = 0;
	unsigned long starved = 0;
	struct smc_llc_queued q;
	int rc;

	for (n = smc_llc_count(llc); n; n--) {
		smc_llc_peek(llc, n_kept, &q);
		if (test_bit(q.link->index, &starved)) {
			n_kept++;
			continue;
		}
		rc = smc_llc_answer(&q);
		if (rc == -EAGAIN) {
			smc_llc_keep(llc, n_kept++);
			__set_bit(q.link->index, &starved);
			continue;
		}
		smc_llc_drop(llc, n_kept);
		/* A request that came on a lost link gets no answer. */
		if (rc && rc != -ENOLINK) {
			smc_rdma_group_terminate(group, ECONNRESET);
			return;
		}
	}
}
