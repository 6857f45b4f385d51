// SPDX-License-Identifier: GPL-2.0
/* Lifecycle of a link: protection domain, completion queue, queue pair, registrations. */

#include <linux/etherdevice.h>
#include <linux/in.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "admin/stats.h"
#include "group.h"
#include "link.h"
#include "message.h"
#include "trace.h"

/* Attributes of a queue pair: values in common use, see Documentation/design.rst. */
#define SMC_QP_RETRIES		7
#define SMC_QP_RNR_RETRIES	7	/* 7 means no limit */
#define SMC_QP_RNR_TIMER	5	/* 0.06 ms */

#define SMC_REGISTER_WAIT	(2 * HZ)

static void smc_link_qp_event(struct ib_event *event, void *context)
{
	struct smc_link *link = context;

	if (event->event == IB_EVENT_QP_FATAL || event->event == IB_EVENT_QP_ACCESS_ERR ||
	    event->event == IB_EVENT_QP_REQ_ERR)
		smc_link_break(link, ECONNRESET, ib_event_msg(event->event));
}

static int smc_link_create_qp(struct smc_link *link)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= smc_link_qp_event,
		.qp_context	= link,
		.send_cq	= link->cq,
		.recv_cq	= link->cq,
		.cap = {
			.max_send_wr	 = SMC_SEND_WRS,
			.max_recv_wr	 = SMC_RECV_WRS,
			.max_send_sge	 = 1,
			.max_recv_sge	 = SMC_RECV_SGES,
			.max_inline_data = SMC_MESSAGE_LEN,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};

	link->qp = ib_create_qp(link->pd, &attr);
	if (IS_ERR(link->qp)) {
		attr.cap.max_inline_data = 0;
		link->qp = ib_create_qp(link->pd, &attr);
	}
	if (IS_ERR(link->qp))
		return PTR_ERR(link->qp);
	link->qpn = link->qp->qp_num;
	link->can_inline = attr.cap.max_inline_data >= SMC_MESSAGE_LEN;
	return 0;
}

static int smc_link_to_init(struct smc_link *link)
{
	struct ib_qp_attr attr = {
		.qp_state	 = IB_QPS_INIT,
		.pkey_index	 = 0,
		.port_num	 = link->port.gid->port_num,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};

	return ib_modify_qp(link->qp, &attr,
			    IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static void smc_link_on_registered(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_registration *reg = container_of(wc->wr_cqe, struct smc_registration, cqe);

	if (wc->status != IB_WC_SUCCESS)
		smc_link_on_failed(container_of(reg, struct smc_link, registration),
				   "registration", wc->status);
	reg->status = wc->status;
	complete_all(&reg->done);
}

/*
 * Lower bound for the limit of bulk bytes. An adapter sends 512 KiB in 0.4 ms at 10 Gb/s, and in
 * 0.04 ms at 100 Gb/s. soft-RoCE may be a thousand times slower, so its bound is smaller.
 */
static u32 smc_link_least_bulk(const struct smc_link *link)
{
	return link->is_soft ? SZ_64K : SZ_512K;
}

static void smc_link_free(struct kref *ref)
{
	kvfree(container_of(ref, struct smc_link, ref));
}

void smc_link_put(struct smc_link *link)
{
	kref_put(&link->ref, smc_link_free);
}

struct smc_link *smc_link_create(struct smc_rdma_group *group, unsigned int index,
				 const struct smc_rdma_port *port)
{
	struct ib_device *ibdev = port->dev->ibdev;
	struct smc_link *link;
	int rc;

	link = kvzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return ERR_PTR(-ENOMEM);
	link->group = group;
	link->index = index;
	kref_init(&link->ref);
	link->last_rx = jiffies;
	link->tested = link->last_rx;
	link->probed = link->last_rx;
	link->state_since = ktime_get_seconds();
	/* Random, because a counter would reveal the number of other links. */
	link->user_id = get_random_u32();
	link->psn = get_random_u32() & 0xffffff;
	mutex_init(&link->verbs_lock);
	spin_lock_init(&link->lock);
	INIT_LIST_HEAD(&link->slot_waiters);
	INIT_LIST_HEAD(&link->bulk_waiters);
	link->is_soft = ibdev->ops.driver_id == RDMA_DRIVER_RXE;
	link->bulk.least = smc_link_least_bulk(link);
	link->bulk.limit = link->bulk.least;
	init_waitqueue_head(&link->slot_wait);
	link->registration.cqe.done = smc_link_on_registered;
	init_completion(&link->registration.done);
	complete_all(&link->registration.done);
	smc_rdma_port_copy(&link->port, port);
	memcpy(link->gid, port->gid->gid.raw, SMC_GID_LEN);
	link->gid_index = port->gid->index;
	link->port_num = port->gid->port_num;

	link->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(link->pd)) {
		rc = PTR_ERR(link->pd);
		goto err_port;
	}
	/* Room for all work requests: a queue pair that fails completes even unsignaled ones. */
	link->cq = ib_alloc_cq_any(ibdev, link, SMC_SEND_WRS + SMC_RECV_WRS, IB_POLL_SOFTIRQ);
	if (IS_ERR(link->cq)) {
		rc = PTR_ERR(link->cq);
		goto err_pd;
	}
	rc = smc_link_create_qp(link);
	if (rc)
		goto err_cq;
	rc = smc_link_alloc_messages(link);
	if (rc)
		goto err_qp;
	rc = smc_link_to_init(link);
	if (rc)
		goto err_messages;
	link->qp_stage = SMC_QP_UP;
	trace_smcr_link_state(link, IB_QPS_INIT, (void *)_RET_IP_);
	rc = smc_link_post_recvs(link);
	if (rc)
		goto err_messages;
	return link;

err_messages:
	smc_link_stop(link);
	smc_link_free_messages(link);
	goto err_pd;
err_qp:
	ib_destroy_qp(link->qp);
err_cq:
	ib_free_cq(link->cq);
err_pd:
	ib_dealloc_pd(link->pd);
err_port:
	smc_rdma_port_put(&link->port);
	kvfree(link);
	return ERR_PTR(rc);
}

void smc_link_quiesce(struct smc_link *link)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	mutex_lock(&link->verbs_lock);
	spin_lock_bh(&link->lock);
	WRITE_ONCE(link->qp_stage, SMC_QP_QUIESCED);
	spin_unlock_bh(&link->lock);
	wake_up(&link->slot_wait);
	cancel_delayed_work_sync(&link->stall);
	/*
	 * Wait for threads that fill send slots, and for completions that found the link up: soon
	 * the slots' memory is freed, and connections move to another link. The threads and the
	 * completions run with softirqs off, so synchronize_rcu() waits for them.
	 */
	synchronize_rcu();

	/*
	 * Stop the queue pair from sending: soft-RoCE destroys a queue pair only once all
	 * references to it are gone, which may never happen while it sends to a peer that is gone.
	 */
	if (!ib_modify_qp(link->qp, &attr, IB_QP_STATE))
		smc_link_post_marker(link);
	trace_smcr_link_state(link, IB_QPS_ERR, (void *)_RET_IP_);
	mutex_unlock(&link->verbs_lock);
	smc_link_drop_slots(link);
}

void smc_link_destroy(struct smc_link *link)
{
	ib_destroy_qp(link->qp);
	/* This waits for a poll in progress. Afterwards no completion is delivered. */
	ib_free_cq(link->cq);
	WRITE_ONCE(link->qp_stage, SMC_QP_DESTROYED);
	/* A registration in flight will not complete any more. */
	link->registration.status = IB_WC_WR_FLUSH_ERR;
	complete_all(&link->registration.done);
}

void smc_link_stop(struct smc_link *link)
{
	smc_link_quiesce(link);
	smc_link_destroy(link);
}

void smc_link_release(struct smc_link *link)
{
	smc_link_free_messages(link);
	ib_dealloc_pd(link->pd);
	smc_rdma_port_put(&link->port);
}

/* Modify the queue pair, unless it is gone: a first contact may still run when the link ends. */
static int smc_link_modify(struct smc_link *link, struct ib_qp_attr *attr, int mask)
{
	int rc = -ENOLINK;

	mutex_lock(&link->verbs_lock);
	if (smc_link_is_up(link))
		rc = ib_modify_qp(link->qp, attr, mask);
	if (!rc)
		trace_smcr_link_state(link, attr->qp_state, (void *)_RET_IP_);
	mutex_unlock(&link->verbs_lock);
	return rc;
}

bool smc_link_peer_is_valid(const struct smc_link_peer *peer)
{
	struct in6_addr gid;
	__be32 ipv4;

	memcpy(&gid, peer->gid, sizeof(gid));
	ipv4 = gid.s6_addr32[3];
	if (ipv6_addr_v4mapped(&gid) && (ipv4_is_zeronet(ipv4) || ipv4_is_lbcast(ipv4)))
		return false;
	return peer->mtu >= IB_MTU_256 && peer->mtu <= IB_MTU_4096 && !ipv6_addr_any(&gid) &&
	       !rdma_is_multicast_addr(&gid) && is_valid_ether_addr(peer->mac);
}

int smc_link_to_rtr(struct smc_link *link, const struct smc_link_peer *peer)
{
	struct ib_qp_attr attr = {
		.qp_state	    = IB_QPS_RTR,
		.path_mtu	    = min(link->port.mtu, peer->mtu),
		.dest_qp_num	    = peer->qpn,
		.rq_psn		    = peer->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer	    = SMC_QP_RNR_TIMER,
	};
	const u8 tos = READ_ONCE(smc_net(link->group->lgr.net)->sysctl.smcr_tos);
	struct rdma_ah_attr *ah = &attr.ah_attr;
	union ib_gid dgid;

	memcpy(dgid.raw, peer->gid, sizeof(dgid.raw));
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, link->port_num);
	/* 64 hops for version 2. A RoCE v1 GID is link-local, so any limit will do in version 1. */
	rdma_ah_set_grh(ah, &dgid, 0, link->gid_index, 64, tos);
	rdma_ah_set_sl(ah, smc_rdma_port_service_level(&link->port, tos));
	/* The RDMA core doesn't resolve the MAC address for kernel users. */
	memcpy(ah->roce.dmac, peer->mac, SMC_MAC_LEN);

	link->peer = *peer;
	link->mtu = attr.path_mtu;
	return smc_link_modify(link, &attr,
			       IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			       IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

/*
 * Whether another link can take over from this one, now or probably later. A second link can be
 * expected later if the group's limit allows two links, and this end or the peer has another port.
 * The limit alone proves nothing, because by default it is two on hosts with one port, too.
 */
static bool smc_link_expects_other(const struct smc_link *link)
{
	const struct smc_rdma_group *group = link->group;
	struct smc_rdma_port port;

	/* If the group is active, this link is added beside another one. */
	if (smc_lgr_is_active(&group->lgr))
		return true;
	/* Without release 1, a server learns the limit for links only later, by CONFIRM LINK. */
	if (group->max_links == 1 || (group->role == SMC_SERVER && !group->lgr.release))
		return false;
	if (group->peer_gids.n > 1)
		return true;
	if (smc_rdma_port_find_other(group->lgr.net, &link->port, NULL, &port))
		return false;
	smc_rdma_port_put(&port);
	return true;
}

static u8 smc_link_ack_timeout(const struct smc_link *link)
{
	return !link->is_soft && smc_link_expects_other(link) ? SMC_QP_ACK_TIMEOUT_SHORT :
								SMC_QP_ACK_TIMEOUT;
}

int smc_link_to_rts(struct smc_link *link)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_RTS,
		.timeout	= smc_link_ack_timeout(link),
		.retry_cnt	= SMC_QP_RETRIES,
		.rnr_retry	= SMC_QP_RNR_RETRIES,
		.sq_psn		= link->psn,
		.max_rd_atomic	= 1,
	};

	return smc_link_modify(link, &attr,
			       IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			       IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

bool smc_link_is_registering(struct smc_link *link)
{
	return !completion_done(&link->registration.done);
}

int smc_link_register(struct smc_link *link, struct ib_mr *mr, int access)
{
	struct smc_registration *reg = &link->registration;
	struct ib_reg_wr reg_wr = {
		.wr.wr_cqe	= &reg->cqe,
		.wr.opcode	= IB_WR_REG_MR,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.mr		= mr,
		.key		= mr->rkey,
		.access		= access,
	};
	struct ib_send_wr fence = {
		.next		    = &reg_wr.wr,
		.wr_cqe		    = &link->unsignaled_cqe,
		.opcode		    = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = mr->rkey,
	};
	int rc = -ENOLINK;

	reinit_completion(&reg->done);
	spin_lock_bh(&link->lock);
	/*
	 * soft-RoCE registers a region without waiting for earlier sends. If soft-RoCE then repeats
	 * one of these sends, it registers the region again. This fails, and the queue pair with
	 * it. A local invalidation, here of a region that is not valid yet, waits for all earlier
	 * sends.
	 */
	if (smc_link_is_up(link))
		rc = ib_post_send(link->qp, link->is_soft ? &fence : &reg_wr.wr, NULL);
	spin_unlock_bh(&link->lock);
	if (rc) {
		complete_all(&reg->done);
		return rc;
	}
	/*
	 * The device processes the registration after all earlier sends. A peer that stalls delays
	 * those sends, but may recover before this wait is over.
	 */
	if (!wait_for_completion_timeout(&reg->done, SMC_REGISTER_WAIT))
		return -ETIMEDOUT;
	return reg->status == IB_WC_SUCCESS ? 0 : -EIO;
}
