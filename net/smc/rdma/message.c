// SPDX-License-Identifier: GPL-2.0
/* Sending and receiving the messages of a link. */

#include <linux/slab.h>

#include "admin/stats.h"
#include "conn.h"
#include "group.h"
#include "llc.h"
#include "log.h"
#include "message.h"
#include "publish.h"
#include "workqueue.h"

#define SMC_OVERFLOW_LEN	(SMC_LLC_V2_MAX_LEN - SMC_MESSAGE_LEN)
#define SMC_SLOT_WAIT		(2 * HZ)
/* Slots that connections leave free for LLC messages, because the peer waits for answers. */
#define SMC_LLC_SLOTS		4
#define SMC_ALL_SLOTS		GENMASK_ULL(SMC_SEND_SLOTS - 1, 0)
/* Send timeout, for a peer that posts no receives or acknowledges nothing. */
#define SMC_LINK_TX_TIMEOUT	(30 * HZ)
/* Send timeout of a link if another one can take over. */
#define SMC_LINK_MOVE_TIMEOUT	(2 * HZ)
/* How often to look whether a message completes, if another link can take over. */
#define SMC_LINK_TX_LOOK	(HZ / 4)
/*
 * The limit of bulk bytes falls if a message takes longer than this time plus twice the time of a
 * message that has the link to itself.
 */
#define SMC_BULK_DELAY_NS		(100 * NSEC_PER_USEC)
/*
 * Upper bound for the time of a message that has the link to itself. A message that takes longer
 * did not have the network to itself, or was repeated.
 */
#define SMC_BULK_ALONE_MAX_NS		(10 * NSEC_PER_MSEC)
/* The time after which a queue pair repeats what is not acknowledged. */
#define SMC_BULK_REPEATED_NS		(4096ULL << SMC_QP_ACK_TIMEOUT)
/*
 * Limit of bulk bytes on a lossy link. It is low, because soft-RoCE repeats a lost packet and all
 * packets after it.
 */
#define SMC_BULK_LOSSY_LIMIT		SZ_16K
/* A link is lossy until this many messages in succession have completed without a time-out. */
#define SMC_BULK_LOSSY_MESSAGES		256

static void smc_link_on_sent(struct ib_cq *cq, struct ib_wc *wc);
static void smc_link_on_unsignaled_failed(struct ib_cq *cq, struct ib_wc *wc);
static void smc_link_on_marker(struct ib_cq *cq, struct ib_wc *wc);
static void smc_link_on_received(struct ib_cq *cq, struct ib_wc *wc);

static int smc_dma_area_alloc(struct smc_link *link, struct smc_dma_area *area, size_t len,
			      enum dma_data_direction dir)
{
	struct ib_device *ibdev = link->port.dev->ibdev;

	area->len = len;
	area->dir = dir;
	area->mem = kzalloc(len, GFP_KERNEL);
	if (!area->mem)
		return -ENOMEM;
	area->dma = ib_dma_map_single(ibdev, area->mem, len, dir);
	if (!ib_dma_mapping_error(ibdev, area->dma))
		return 0;
	kfree(area->mem);
	area->mem = NULL;
	return -ENOMEM;
}

static void smc_dma_area_free(struct smc_link *link, struct smc_dma_area *area)
{
	if (!area->mem)
		return;
	ib_dma_unmap_single(link->port.dev->ibdev, area->dma, area->len, area->dir);
	kfree(area->mem);
	area->mem = NULL;
}

static void smc_link_check_tx_timeout(struct work_struct *work);

int smc_link_alloc_messages(struct smc_link *link)
{
	int i;

	INIT_DELAYED_WORK(&link->stall, smc_link_check_tx_timeout);
	for (i = 0; i < SMC_SEND_SLOTS; i++) {
		link->send[i].cqe.done = smc_link_on_sent;
		link->send[i].link = link;
	}
	link->unsignaled_cqe.done = smc_link_on_unsignaled_failed;
	link->marker_cqe.done = smc_link_on_marker;
	for (i = 0; i < SMC_RECV_SLOTS; i++) {
		link->recv[i].cqe.done = smc_link_on_received;
		link->recv[i].link = link;
	}
	link->free_slots = SMC_ALL_SLOTS;

	if (smc_dma_area_alloc(link, &link->sent, SMC_SEND_SLOTS * SMC_MESSAGE_ROOM,
			       DMA_TO_DEVICE) ||
	    smc_dma_area_alloc(link, &link->received, SMC_RECV_SLOTS * SMC_MESSAGE_ROOM,
			       DMA_FROM_DEVICE) ||
	    smc_dma_area_alloc(link, &link->overflow, SMC_OVERFLOW_LEN, DMA_FROM_DEVICE)) {
		smc_link_free_messages(link);
		return -ENOMEM;
	}
	return 0;
}

void smc_link_free_messages(struct smc_link *link)
{
	smc_dma_area_free(link, &link->large_sent);
	smc_dma_area_free(link, &link->overflow);
	smc_dma_area_free(link, &link->received);
	smc_dma_area_free(link, &link->sent);
}

static u8 *smc_recv_message(const struct smc_recv_slot *slot)
{
	return slot->link->received.mem + (slot - slot->link->recv) * SMC_MESSAGE_ROOM;
}

u8 *smc_send_message(const struct smc_send_slot *slot)
{
	return slot->link->sent.mem + (slot - slot->link->send) * SMC_MESSAGE_ROOM;
}

void smc_link_break(struct smc_link *link, int err, const char *why)
{
	unsigned long flags;

	if (READ_ONCE(link->broken))
		return;
	spin_lock_irqsave(&smc_rdma_lgrs.lock, flags);
	smc_link_mark_broken(link);
	smc_rdma_group_lose_link(link, err, false, why);
	spin_unlock_irqrestore(&smc_rdma_lgrs.lock, flags);
	/* Wake threads that wait for the link's peer, even if the group is dead already. */
	wake_up_all(&link->slot_wait);
	smc_llc_wake(link->group);
}

void smc_link_on_failed(struct smc_link *link, const char *request, enum ib_wc_status status)
{
	char why[SMC_LINK_WHY_LEN];

	/* A failed queue pair flushes hundreds of work requests. */
	if (READ_ONCE(link->broken))
		return;
	scnprintf(why, sizeof(why), "%s: %s", request, ib_wc_status_msg(status));
	smc_link_break(link, smc_rdma_group_error_of(status), why);
}

/* Return: after how many jiffies to check the send timeout. Under link->lock. */
static long smc_link_tx_look(const struct smc_link *link)
{
	return smc_rdma_group_other_link(link) ? SMC_LINK_TX_LOOK : SMC_LINK_TX_TIMEOUT;
}

/*
 * Check the send timeout of a link. The queue pair repeats a message without limit while the peer
 * has no receive posted, because a correct peer may be short of receives at any time. So the link
 * itself limits the time in which no message completes. The limit is SMC_LINK_TX_TIMEOUT, or the
 * shorter SMC_LINK_MOVE_TIMEOUT if another link is known to work. To find out whether another link
 * works, this function tests the other links after half of SMC_LINK_MOVE_TIMEOUT.
 *
 * An unsignaled message has no completion to wait for. If it is lost, the queue pair of an adapter
 * fails, but a queue pair of soft-RoCE repeats it without limit. So if another link could take over
 * from a link over soft-RoCE, a TEST LINK, which is signaled, follows an unsignaled message.
 */
static void smc_link_check_tx_timeout(struct work_struct *work)
{
	struct smc_link *link = container_of(to_delayed_work(work), struct smc_link, stall);
	unsigned long since = jiffies, waited;
	bool has_signaled = true;
	long left;

	spin_lock_bh(&link->lock);
	if (smc_link_is_up(link) && !link->broken &&
	    (link->n_signaled || (link->is_soft && link->unsignaled_slots &&
				  smc_rdma_group_other_link(link)))) {
		has_signaled = link->n_signaled;
		since = has_signaled ? link->last_sent : link->unsignaled_since;
		left = SMC_LINK_TX_TIMEOUT - (long)(jiffies - since);
		queue_delayed_work(smc_wq, &link->stall,
				   clamp(left, SMC_LINK_TX_LOOK, smc_link_tx_look(link)));
	}
	spin_unlock_bh(&link->lock);
	waited = jiffies - since;
	if (!has_signaled) {
		if (waited >= SMC_LINK_TX_LOOK)
			smc_llc_test_link(link);
		return;
	}
	if (waited < SMC_LINK_MOVE_TIMEOUT / 2)
		return;
	if (waited < SMC_LINK_TX_TIMEOUT &&
	    (!smc_llc_may_leave(link, since + SMC_LINK_MOVE_TIMEOUT / 2) ||
	     waited < SMC_LINK_MOVE_TIMEOUT))
		return;
	smc_stat_rdma(smc_net(link->group->lgr.net), SMC_RDMA_LINKS_STALLED, 1);
	smc_link_break(link, ETIMEDOUT, "no message completes");
}

void smc_link_watch_tx(struct smc_link *link)
{
	mod_delayed_work(smc_wq, &link->stall, SMC_LINK_TX_LOOK);
}

/* Note a message that was posted, and queue the work item that checks the send timeout. */
static void smc_link_note_posted(struct smc_link *link, bool is_unsignaled)
{
	lockdep_assert_held(&link->lock);
	if (!is_unsignaled && !link->n_signaled++)
		link->last_sent = jiffies;
	if (is_unsignaled && (!link->is_soft || !smc_rdma_group_other_link(link)))
		return;
	if (!delayed_work_pending(&link->stall))
		queue_delayed_work(smc_wq, &link->stall, smc_link_tx_look(link));
}

static int smc_link_post_recv(struct smc_recv_slot *slot)
{
	struct smc_link *link = slot->link;
	struct ib_sge sge[SMC_RECV_SGES] = {
		{
			.addr	= link->received.dma + (slot - link->recv) * SMC_MESSAGE_ROOM,
			.length	= SMC_MESSAGE_LEN,
			.lkey	= link->pd->local_dma_lkey,
		}, {
			.addr	= link->overflow.dma,
			.length	= SMC_OVERFLOW_LEN,
			.lkey	= link->pd->local_dma_lkey,
		},
	};
	struct ib_recv_wr wr = {
		.wr_cqe	 = &slot->cqe,
		.sg_list = sge,
		.num_sge = SMC_RECV_SGES,
	};
	int rc = -ENOLINK;

	/* The CPU's caches hold the last message; they must not hide the next one. */
	ib_dma_sync_single_for_device(link->port.dev->ibdev, sge[0].addr, SMC_MESSAGE_LEN,
				      DMA_FROM_DEVICE);
	spin_lock_bh(&link->lock);
	if (smc_link_is_up(link))
		rc = ib_post_recv(link->qp, &wr, NULL);
	spin_unlock_bh(&link->lock);
	return rc;
}

int smc_link_post_recvs(struct smc_link *link)
{
	int i, rc;

	for (i = 0; i < SMC_RECV_SLOTS; i++) {
		rc = smc_link_post_recv(&link->recv[i]);
		if (rc)
			return rc;
	}
	return 0;
}

/*
 * Handle a received message. It is copied once, before it is checked: all receives share the
 * overflow area, and a hostile peer may make the device write to that area again. Only one CPU at a
 * time polls the completion queue, so each link needs memory for one copy. Context: softirq.
 */
static void smc_link_handle_recv(struct smc_link *link, struct smc_recv_slot *slot, u32 len)
{
	struct ib_device *ibdev = link->port.dev->ibdev;
	u8 *message = link->large;
	struct smc_cdc cdc;

	ib_dma_sync_single_for_cpu(ibdev,
				   link->received.dma + (slot - link->recv) * SMC_MESSAGE_ROOM,
				   SMC_MESSAGE_LEN, DMA_FROM_DEVICE);
	memcpy(message, smc_recv_message(slot), SMC_MESSAGE_LEN);
	if (len > SMC_MESSAGE_LEN) {
		ib_dma_sync_single_for_cpu(ibdev, link->overflow.dma, SMC_OVERFLOW_LEN,
					   DMA_FROM_DEVICE);
		memcpy(message + SMC_MESSAGE_LEN, link->overflow.mem, len - SMC_MESSAGE_LEN);
		ib_dma_sync_single_for_device(ibdev, link->overflow.dma, SMC_OVERFLOW_LEN,
					      DMA_FROM_DEVICE);
	}
	smc_stat_rdma(smc_net(link->group->lgr.net), SMC_RDMA_RECVS, 1);

	if (message[0] != SMC_CDC_TYPE) {
		smc_llc_receive(link, message, len);
		return;
	}
	if (smc_cdc_parse(message, len, &cdc)) {
		smc_rdma_group_on_violation(link->group, SMC_VIOLATION_CDC);
		return;
	}
	smc_rdma_conn_receive(link, &cdc);
}

static void smc_link_note_flushed(struct smc_link *link)
{
	WRITE_ONCE(link->is_flushed, true);
	if (wq_has_sleeper(&link->slot_wait))
		wake_up(&link->slot_wait);
}

static void smc_link_on_marker(struct ib_cq *cq, struct ib_wc *wc)
{
	smc_link_note_flushed(container_of(wc->wr_cqe, struct smc_link, marker_cqe));
}

void smc_link_post_marker(struct smc_link *link)
{
	const struct ib_recv_wr wr = { .wr_cqe = &link->marker_cqe };

	ib_post_recv(link->qp, &wr, NULL);
}

static void smc_link_on_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_recv_slot *slot = container_of(wc->wr_cqe, struct smc_recv_slot, cqe);
	struct smc_link *link = slot->link;

	if (wc->status != IB_WC_SUCCESS) {
		smc_link_note_flushed(link);
		smc_link_on_failed(link, "receive", wc->status);
		return;
	}
	WRITE_ONCE(link->last_rx, jiffies);
	/*
	 * Accept only plain messages. A write with immediate data also consumes a receive, and the
	 * completion then has the length of the write. With soft-RoCE a message may invalidate any
	 * key of the device, and its sender may have aimed at the RMB of another link.
	 */
	if (wc->opcode != IB_WC_RECV || (wc->wc_flags & IB_WC_WITH_INVALIDATE) ||
	    wc->byte_len > SMC_LLC_V2_MAX_LEN) {
		smc_rdma_group_on_violation(link->group, SMC_VIOLATION_LLC);
		return;
	}
	smc_link_handle_recv(link, slot, wc->byte_len);
	/* Post no more receives for a peer that broke the protocol. */
	if (!READ_ONCE(link->broken) && smc_link_post_recv(slot))
		smc_link_break(link, ECONNRESET, "the device takes no receive");
}

static u64 smc_slot_bit(const struct smc_send_slot *slot)
{
	return BIT_ULL(slot - slot->link->send);
}

/* Return: the number of free slots for connections. Under link->lock. */
static int smc_link_free_conn_slots(const struct smc_link *link)
{
	return (int)hweight64(link->free_slots) - SMC_LLC_SLOTS;
}

/*
 * Whether a message of @conn may add bulk bytes. A connection that has the link to itself delays no
 * others, so the limit does not apply to it, unless the link is lossy. Under link->lock.
 */
static bool smc_link_has_bulk_room(const struct smc_link *link, const struct smc_rdma_conn *conn)
{
	if (smc_link_is_lossy(link))
		return link->bulk.bytes < SMC_BULK_LOSSY_LIMIT;
	return link->bulk.bytes < link->bulk.limit ||
	       (link->bulk.sole == conn && !smc_link_is_shared(link));
}

static struct list_head *smc_link_waiters(struct smc_link *link, bool is_bulk)
{
	return is_bulk ? &link->bulk_waiters : &link->slot_waiters;
}

/*
 * Whether a connection may send a message now, before the connections that wait. Under link->lock.
 */
static bool smc_link_is_free_for(struct smc_link *link, const struct smc_rdma_conn *conn,
				 bool is_bulk)
{
	const bool is_next = link->next_sender == conn;
	/* A slot and room for bulk bytes are kept for the connection that may send next. */
	const bool is_kept = link->next_sender && !is_next;

	if (!is_next && !list_empty(smc_link_waiters(link, is_bulk)))
		return false;
	if (smc_link_free_conn_slots(link) <= is_kept)
		return false;
	return !is_bulk || (!is_kept && smc_link_has_bulk_room(link, conn));
}

/*
 * Have a connection wait. A connection that waits already keeps its place. But if it waits for room
 * for bulk bytes, and now needs only a slot, it moves to the end of @slot_waiters. Under
 * link->lock.
 */
static void smc_link_queue(struct smc_link *link, struct smc_rdma_conn *conn, bool is_bulk)
{
	if (list_empty(&conn->tx_wait))
		smc_stream_get(&conn->stream);
	else if (is_bulk || !conn->waits_as_bulk)
		return;
	list_move_tail(&conn->tx_wait, smc_link_waiters(link, is_bulk));
	conn->waits_as_bulk = is_bulk;
}

/* Count the bulk bytes of a message of @conn as under way. Under link->lock. */
static void smc_link_begin_bulk(struct smc_link *link, struct smc_send_slot *slot,
				const struct smc_rdma_conn *conn, u32 bulk_bytes)
{
	struct smc_link_bulk *bulk = &link->bulk;

	slot->bulk_bytes = bulk_bytes;
	if (!bulk_bytes)
		return;
	slot->posted = ktime_get_ns();
	slot->is_bulk_alone = !bulk->bytes && bulk_bytes <= SMC_SHARED_BYTES;
	if (!bulk->bytes)
		bulk->sole = conn;
	else if (bulk->sole != conn)
		bulk->sole = NULL;
	bulk->bytes += bulk_bytes;
}

/*
 * Note whether a message with bulk bytes was repeated after a time-out, because packets were lost.
 * A message counts as repeated if it took at least the time-out plus a margin. The margin is four
 * times what a message of up to SMC_SHARED_BYTES takes alone, but no more than another time-out.
 * Only links over soft-RoCE become lossy, see smc_rdma_publish_max(). Under link->lock.
 */
static void smc_link_note_loss(struct smc_link *link, u64 took)
{
	struct smc_link_bulk *bulk = &link->bulk;

	if (took >= SMC_BULK_REPEATED_NS + min(4 * bulk->alone, SMC_BULK_REPEATED_NS) &&
	    link->is_soft)
		WRITE_ONCE(bulk->lossy, SMC_BULK_LOSSY_MESSAGES);
	else if (bulk->lossy)
		WRITE_ONCE(bulk->lossy, bulk->lossy - 1);
}

/*
 * Count the bulk bytes of a message that has completed as no longer under way, and adapt the limit.
 * The limit grows only while connections wait for room: nothing else shows that it is too low.
 * Under link->lock.
 */
static void smc_link_end_bulk(struct smc_link *link, const struct smc_send_slot *slot)
{
	struct smc_link_bulk *bulk = &link->bulk;
	u64 took;

	if (!slot->bulk_bytes)
		return;
	bulk->bytes -= slot->bulk_bytes;
	took = ktime_get_ns() - slot->posted;
	smc_link_note_loss(link, took);
	/* @alone falls at once but rises slowly: a slow message may have been repeated. */
	if (slot->is_bulk_alone)
		bulk->alone = bulk->alone ? min(took, bulk->alone + bulk->alone / 8) : took;
	if (took <= 2 * min_t(u64, bulk->alone, SMC_BULK_ALONE_MAX_NS) + SMC_BULK_DELAY_NS) {
		if (!list_empty(&link->bulk_waiters))
			bulk->limit = min_t(u32, bulk->limit + slot->bulk_bytes,
					    SMC_BULK_LIMIT_MAX);
	} else if (slot->posted >= bulk->shrunk_at) {
		/* Shrink the limit once for all messages that were under way together. */
		bulk->limit = max(bulk->limit - bulk->limit / 8, bulk->least);
		bulk->shrunk_at = slot->posted + took;
	}
}

struct smc_send_slot *smc_link_get_slot(struct smc_link *link, struct smc_rdma_conn *conn,
					u32 bulk_bytes, bool may_be_unsignaled)
{
	struct smc_send_slot *slot = ERR_PTR(-ENOLINK);

	spin_lock(&link->lock);
	if (!smc_link_is_up(link) || link->broken)
		goto out;
	if (conn ? !smc_link_is_free_for(link, conn, bulk_bytes) : !link->free_slots) {
		if (conn)
			smc_link_queue(link, conn, bulk_bytes);
		else
			link->llc_starved = true;
		slot = ERR_PTR(-EAGAIN);
		goto out;
	}
	/* Only this message goes first: the next one of @conn waits behind other connections. */
	if (link->next_sender == conn)
		link->next_sender = NULL;
	slot = &link->send[__ffs64(link->free_slots)];
	link->free_slots &= ~smc_slot_bit(slot);
	smc_link_begin_bulk(link, slot, conn, bulk_bytes);
	if (conn && link->last_sender != conn) {
		link->last_sender = conn;
		WRITE_ONCE(link->shared_at, jiffies);
	}
	/*
	 * Keep slots for signaled messages: only their completions free the slots of unsignaled
	 * messages.
	 */
	slot->is_large = false;
	slot->is_unsignaled = may_be_unsignaled &&
			      hweight64(link->free_slots) >= SMC_SEND_SLOTS / 2;
	slot->conn = slot->is_unsignaled ? NULL : conn;
	if (slot->conn)
		smc_stream_get(&conn->stream);
out:
	spin_unlock(&link->lock);
	return slot;
}

void smc_send_slot_drop_conn(struct smc_send_slot *slot)
{
	smc_stream_put(&slot->conn->stream);
	slot->conn = NULL;
}

/*
 * Free the slot of a signaled message that has completed, and the slots of the unsignaled messages
 * before it.
 */
static void smc_link_free_slots(struct smc_link *link, const struct smc_send_slot *slot)
{
	bool llc_starved;

	spin_lock_bh(&link->lock);
	link->free_slots |= slot->covers;
	if (slot->is_large)
		link->large_is_sent = false;
	smc_link_end_bulk(link, slot);
	link->n_signaled--;
	link->last_sent = jiffies;
	llc_starved = link->llc_starved;
	link->llc_starved = false;
	spin_unlock_bh(&link->lock);
	if (unlikely(llc_starved))
		smc_llc_resume(link->group);
}

/* Return: the first connection that waits for room for bulk bytes, if there is room; or NULL. */
static struct smc_rdma_conn *smc_link_first_bulk_waiter(struct smc_link *link)
{
	struct smc_rdma_conn *conn;

	conn = list_first_entry_or_null(&link->bulk_waiters, struct smc_rdma_conn, tx_wait);
	return conn && smc_link_has_bulk_room(link, conn) ? conn : NULL;
}

/*
 * Return: the next connection to serve, with a reference; NULL if none waits or can be served now.
 * The two lists take turns, so that the connections in one need not wait until the other is empty.
 * Only the poller of the completion queue calls this function, and repeats the call until the
 * result is NULL.
 */
static struct smc_rdma_conn *smc_link_pop_tx_waiter(struct smc_link *link)
{
	struct smc_rdma_conn *conn = NULL;

	spin_lock_bh(&link->lock);
	if (smc_link_free_conn_slots(link) > 0) {
		if (link->bulk_is_next || list_empty(&link->slot_waiters))
			conn = smc_link_first_bulk_waiter(link);
		if (!conn)
			conn = list_first_entry_or_null(&link->slot_waiters, struct smc_rdma_conn,
							tx_wait);
		link->bulk_is_next = conn && !conn->waits_as_bulk;
	}
	if (conn)
		list_del_init(&conn->tx_wait);
	link->next_sender = conn;
	spin_unlock_bh(&link->lock);
	return conn;
}

static void smc_link_on_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_send_slot *slot = container_of(wc->wr_cqe, struct smc_send_slot, cqe);
	struct smc_link *link = slot->link;
	struct smc_rdma_conn *conn = slot->conn;
	struct smc_rdma_conn *waiter;
	const u16 seq = slot->seq;
	u64 end = slot->end;

	/*
	 * After a failure, or once the link is down, leave the rest to smc_link_drop_slots(), as
	 * the connection may move to another link. Free no slot here: the failed message may be an
	 * unsignaled one. The @covers of an unsignaled message is not valid, and its slot is in the
	 * @covers of the next signaled message.
	 */
	if (wc->status != IB_WC_SUCCESS)
		smc_link_on_failed(link, "send", wc->status);
	if (wc->status != IB_WC_SUCCESS || !smc_link_is_up(link))
		return;
	slot->conn = NULL;
	smc_link_free_slots(link, slot);
	/*
	 * Serve waiting connections before the connection of this message. If a waiting connection
	 * has nothing more to send, it leaves the free slot to the next one.
	 */
	while ((waiter = smc_link_pop_tx_waiter(link))) {
		smc_stream_on_tx_room(&waiter->stream);
		smc_stream_put(&waiter->stream);
	}
	if (conn) {
		if (unlikely(smc_link_is_lossy(link)))
			smc_rdma_conn_limit(conn);
		WRITE_ONCE(conn->done_seq, seq);
		smc_stream_on_tx_done(&conn->stream, end);
		smc_stream_put(&conn->stream);
	}
	if (wq_has_sleeper(&link->slot_wait))
		wake_up(&link->slot_wait);
}

static void smc_link_on_unsignaled_failed(struct ib_cq *cq, struct ib_wc *wc)
{
	struct smc_link *link = container_of(wc->wr_cqe, struct smc_link, unsignaled_cqe);

	smc_link_on_failed(link, "send", wc->status);
}

void smc_link_drop_slots(struct smc_link *link)
{
	struct smc_rdma_conn *conn, *next;
	LIST_HEAD(waiters);
	int i;

	for (i = 0; i < SMC_SEND_SLOTS; i++) {
		conn = link->send[i].conn;
		link->send[i].conn = NULL;
		if (conn)
			smc_stream_put(&conn->stream);
	}
	/* The link is down, so no connection begins to wait any more. */
	spin_lock_bh(&link->lock);
	link->free_slots = SMC_ALL_SLOTS;
	list_splice_init(&link->slot_waiters, &waiters);
	list_splice_tail_init(&link->bulk_waiters, &waiters);
	spin_unlock_bh(&link->lock);
	list_for_each_entry_safe(conn, next, &waiters, tx_wait) {
		list_del_init(&conn->tx_wait);
		smc_stream_put(&conn->stream);
	}
}

/* Describe where the message of a slot is. Return: send flags. */
static int smc_send_sge(const struct smc_send_slot *slot, struct ib_sge *sge)
{
	const struct smc_link *link = slot->link;

	sge->lkey = link->pd->local_dma_lkey;
	if (slot->is_large) {
		sge->addr = link->large_sent.dma;
		sge->length = link->large_sent.len;
		return 0;
	}
	sge->length = SMC_MESSAGE_LEN;
	if (link->can_inline) {
		sge->addr = (uintptr_t)smc_send_message(slot);
		return IB_SEND_INLINE;
	}
	sge->addr = link->sent.dma + (slot - link->send) * SMC_MESSAGE_ROOM;
	ib_dma_sync_single_for_device(link->port.dev->ibdev, sge->addr, SMC_MESSAGE_LEN,
				      DMA_TO_DEVICE);
	return 0;
}

int smc_link_post(struct smc_send_slot *slot, struct ib_send_wr *writes, struct ib_send_wr *last)
{
	struct smc_link *link = slot->link;
	/* Copied, because the slot may be reused as soon as the message is posted. */
	bool is_unsignaled = slot->is_unsignaled;
	struct ib_sge sge;
	struct ib_send_wr send = {
		.wr_cqe	    = &slot->cqe,
		.sg_list    = &sge,
		.num_sge    = 1,
		.opcode	    = IB_WR_SEND,
		/* The peer may have armed its completion queue for solicited events only. */
		.send_flags = IB_SEND_SOLICITED | (is_unsignaled ? 0 : IB_SEND_SIGNALED) |
			      smc_send_sge(slot, &sge),
	};
	int rc = -ENOLINK;

	if (last)
		last->next = &send;
	spin_lock(&link->lock);
	if (is_unsignaled) {
		if (!link->unsignaled_slots)
			link->unsignaled_since = jiffies;
		WRITE_ONCE(link->unsignaled_slots, link->unsignaled_slots | smc_slot_bit(slot));
	} else {
		slot->covers = link->unsignaled_slots | smc_slot_bit(slot);
		WRITE_ONCE(link->unsignaled_slots, 0);
	}
	if (smc_link_is_up(link))
		rc = ib_post_send(link->qp, writes ? writes : &send, NULL);
	if (!rc)
		smc_link_note_posted(link, is_unsignaled);
	spin_unlock(&link->lock);
	if (!rc) {
		smc_stat_rdma(smc_net(link->group->lgr.net), SMC_RDMA_SENDS, 1);
		/*
		 * smc_link_flush() does not wait for unsignaled messages, so the post of one may
		 * end the wait.
		 */
		if (is_unsignaled && wq_has_sleeper(&link->slot_wait))
			wake_up(&link->slot_wait);
		return 0;
	}
	/* Part of the chain may have been posted, so the slot stays taken. */
	smc_link_break(link, ECONNRESET, "the device takes no message");
	return -ENOLINK;
}

static bool smc_link_may_send(struct smc_link *link)
{
	return !smc_link_is_up(link) || READ_ONCE(link->broken) || READ_ONCE(link->free_slots);
}

int smc_link_try_send_llc(struct smc_link *link, const u8 *message)
{
	struct smc_send_slot *slot;
	int rc;

	local_bh_disable();
	slot = smc_link_get_slot(link, NULL, 0, false);
	rc = PTR_ERR_OR_ZERO(slot);
	if (!rc) {
		memcpy(smc_send_message(slot), message, SMC_MESSAGE_LEN);
		rc = smc_link_post(slot, NULL, NULL);
	}
	local_bh_enable();
	return rc;
}

/* Return: where to build a large message of @len bytes, or an ERR_PTR. */
static u8 *smc_link_alloc_large(struct smc_link *link, size_t len)
{
	lockdep_assert_held(&link->group->buffers.lock);
	if (READ_ONCE(link->large_is_sent))
		return ERR_PTR(-EBUSY);
	smc_dma_area_free(link, &link->large_sent);
	if (smc_dma_area_alloc(link, &link->large_sent, len, DMA_TO_DEVICE))
		return ERR_PTR(-ENOMEM);
	return link->large_sent.mem;
}

int smc_link_send_large(struct smc_link *link, const u8 *message, size_t len)
{
	u8 *mem = smc_link_alloc_large(link, len);
	struct smc_send_slot *slot;
	int rc;

	if (IS_ERR(mem))
		return PTR_ERR(mem);
	memcpy(mem, message, len);
	ib_dma_sync_single_for_device(link->port.dev->ibdev, link->large_sent.dma, len,
				      DMA_TO_DEVICE);
	local_bh_disable();
	slot = smc_link_get_slot(link, NULL, 0, false);
	rc = PTR_ERR_OR_ZERO(slot);
	if (!rc) {
		slot->is_large = true;
		WRITE_ONCE(link->large_is_sent, true);
		rc = smc_link_post(slot, NULL, NULL);
	}
	local_bh_enable();
	return rc;
}

static bool smc_link_times_out(const struct smc_link *link, unsigned long deadline)
{
	if (smc_lgr_is_dead(&link->group->lgr) && !smc_rdma_group_time_left(link->group))
		return true;
	return time_after(jiffies, deadline);
}

int smc_link_send_llc(struct smc_link *link, const u8 *message)
{
	unsigned long deadline = jiffies + SMC_SLOT_WAIT;
	int rc;

	while ((rc = smc_link_try_send_llc(link, message)) == -EAGAIN) {
		if (smc_link_times_out(link, deadline))
			return -ETIMEDOUT;
		wait_event_timeout(link->slot_wait, smc_link_may_send(link) ||
						    smc_link_times_out(link, deadline), HZ / 10);
	}
	return rc;
}

static bool smc_link_is_flushed(struct smc_link *link)
{
	return !smc_link_is_up(link) || READ_ONCE(link->broken) ||
	       (READ_ONCE(link->free_slots) | READ_ONCE(link->unsignaled_slots)) == SMC_ALL_SLOTS ||
	       !smc_rdma_group_time_left(link->group);
}

void smc_link_flush(struct smc_link *link)
{
	while (!smc_link_is_flushed(link))
		wait_event_timeout(link->slot_wait, smc_link_is_flushed(link),
				   smc_rdma_group_time_left(link->group));
}
