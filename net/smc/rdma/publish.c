// SPDX-License-Identifier: GPL-2.0
/* A publish over SMC-R: RDMA writes, then the CDC message that reports them. */

#include "admin/stats.h"
#include "conn.h"
#include "group.h"
#include "link.h"
#include "message.h"
#include "publish.h"
#include "wire/cdc.h"

/* A publish of at most this size is likely a whole request or response. */
#define SMC_SMALL_BYTES		SZ_4K

/*
 * Limit for the messages in a row without a completion. After a failover, this end tells the peer
 * the number of its last message that has completed. The peer compares this number with the numbers
 * of the messages that it has received. These numbers have 16 bits, so the comparison is only right
 * if they are not far apart.
 */
#define SMC_UNSIGNALED_MAX	SZ_16K

/*
 * The RDMA writes of one publish. There are two if the bytes wrap around the end of the ring, and
 * more with soft-RoCE, which limits the size of a write.
 */
struct smc_writes {
	struct ib_rdma_wr wr[SMC_WRITES_MAX];
	struct ib_sge sge[SMC_WRITES_MAX];
	unsigned int n;
};

static void smc_writes_add(struct smc_writes *w, const struct smc_rdma_conn *conn,
			   u64 pos, u32 len)
{
	const struct smc_stream_tx *tx = &conn->stream.tx;
	const struct smc_mr_buffer *buffer = smc_mr_buffer_of(&conn->sndbuf);
	const struct smc_region *region = &buffer->regions[conn->link->index];
	/* The ring occupies the start of the element, which may be larger. */
	u64 sndbuf = region->iova +
		     (u64)conn->sndbuf.index * smc_buffer_element_bytes(&buffer->buffer);
	struct ib_rdma_wr *wr = &w->wr[w->n];
	struct ib_sge *sge = &w->sge[w->n];

	*sge = (struct ib_sge) {
		.addr	= sndbuf + (pos & (tx->size - 1)),
		.length	= len,
		.lkey	= region->lkey,
	};
	*wr = (struct ib_rdma_wr) {
		.wr = {
			.wr_cqe	 = &conn->link->unsignaled_cqe,
			.opcode	 = IB_WR_RDMA_WRITE,
			.sg_list = sge,
			.num_sge = 1,
		},
		.remote_addr = conn->peer_addr + (pos & (tx->peer_size - 1)),
		.rkey	     = conn->peer_rkey,
	};
	if (w->n)
		w->wr[w->n - 1].wr.next = &wr->wr;
	w->n++;
}

/*
 * Split the bytes where they wrap in this end's ring. The writes then don't wrap in the peer's ring
 * either: both sizes are powers of two, and the peer's ring is at least as large. With soft-RoCE a
 * write is no longer than SMC_SOFT_WRITE_BYTES.
 */
static void smc_writes_make(struct smc_writes *w, const struct smc_rdma_conn *conn,
			    u64 pos, u64 end)
{
	u32 write_max = conn->link->is_soft ? SMC_SOFT_WRITE_BYTES : U32_MAX;
	u32 size = conn->stream.tx.size;
	u32 len;

	for (w->n = 0; pos < end; pos += len) {
		len = min3(end - pos, (u64)(size - (pos & (size - 1))), (u64)write_max);
		smc_writes_add(w, conn, pos, len);
	}
}

/*
 * Whether the CDC message may be unsignaled, because nothing waits for its completion. A program
 * that sends several messages in a row needs completions: small writes are held back until the last
 * message completes, and a blocked writer may wait for the completion. A socket with
 * SO_TIMESTAMPING or TCP_USER_TIMEOUT needs completions, too. So does the first publish after a
 * connection has moved: the stream does not count the writes of repeated bytes as under way, so
 * only this completion shows that these bytes have arrived. A response to bytes from the peer needs
 * no completion, and an unsignaled message saves the interrupt.
 */
static bool smc_rdma_may_be_unsignaled(const struct smc_rdma_conn *conn, u64 end, u8 conn_flags)
{
	const struct smc_stream *st = &conn->stream;

	return st->rx.received != conn->answered && end - st->tx.sent <= SMC_SMALL_BYTES &&
	       !st->tx.in_flight && !conn_flags && !smc_tx_has_writer(&st->tx) &&
	       st->tx.update != SMC_UPDATE_AGAIN &&
	       (u16)(conn->seq - READ_ONCE(conn->done_seq)) < SMC_UNSIGNALED_MAX &&
	       !smc_stream_watches_delivery(st);
}

/*
 * Return: how many bytes of a publish count for the limit of bulk bytes under way on the link; 0 if
 * the connection has only a request or an answer under way. Such a connection need not wait for the
 * limit, because all connections together have few such bytes.
 */
static u32 smc_rdma_bulk_bytes(const struct smc_stream *st, u64 end)
{
	return end - st->tx.delivered > SMC_SMALL_BYTES ? end - st->tx.sent : 0;
}

/*
 * Return: the limit for the bytes of the next publish. On a lossy link the limit is one packet, so
 * that each packet is acknowledged. When the peer reports a lost packet, soft-RoCE repeats packets,
 * and ignores further reports until a message is acknowledged. If another packet is lost before
 * this acknowledgement, soft-RoCE repeats nothing until its time-out.
 */
static u32 smc_rdma_publish_max(const struct smc_link *link)
{
	if (unlikely(smc_link_is_lossy(link)))
		return ib_mtu_enum_to_int(link->mtu);
	return smc_link_is_shared(link) ? SMC_SHARED_BYTES : U32_MAX;
}

void smc_rdma_conn_limit(struct smc_rdma_conn *conn)
{
	WRITE_ONCE(conn->stream.tx.publish_max, smc_rdma_publish_max(conn->link));
}

/*
 * Fill in the message that follows bytes that are written again. It is a validation: it announces
 * the failover, and names the last message that is known to have arrived, so that the peer finds
 * out whether it has missed a message. A validation reports no bytes. The cursor of an earlier
 * message may be beyond the bytes written again, and the in-tree module would misread a cursor that
 * goes back across the end of its ring.
 *
 * Bytes that end with an urgent byte must be reported, so an urgent message follows them instead.
 * The peer takes the last byte that an urgent message reports as the urgent one.
 */
static void smc_rdma_announce(struct smc_rdma_conn *conn, u64 end, struct smc_cdc *cdc)
{
	const struct smc_stream *st = &conn->stream;

	cdc->token = conn->peer_token;
	if (end == conn->repeat_from || end != conn->urgent_end) {
		cdc->seq = READ_ONCE(conn->done_seq);
		cdc->prod_flags = SMC_PROD_FAILOVER;
		return;
	}
	cdc->seq = ++conn->seq;
	cdc->prod = smc_cursor_from_position(end, st->tx.peer_size);
	/*
	 * Repeat the last consumer cursor that was reported. A newer one would give the peer credit
	 * that the stream has not counted as given. If the peer used this credit, that would look
	 * like a violation.
	 */
	cdc->cons = st->rx.reported_cursor;
	cdc->prod_flags = SMC_PROD_URGENT_PENDING | SMC_PROD_URGENT_PRESENT;
}

/*
 * Write the bytes up to @end once more, because the peer may have missed them. Then send the
 * message of smc_rdma_announce(). The slot has no connection, because the stream does not count
 * this as a publish.
 */
static int smc_rdma_repeat(struct smc_rdma_conn *conn, u64 end)
{
	const u64 from = conn->repeat_from;
	struct smc_cdc cdc = {};
	struct smc_send_slot *slot;
	struct smc_writes w;
	int rc;

	/* On a lossy link each piece is small, so the rest decides whether it has bulk bytes. */
	slot = smc_link_get_slot(conn->link, conn,
				 conn->stream.tx.sent - from > SMC_SMALL_BYTES ? end - from : 0,
				 false);
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	smc_send_slot_drop_conn(slot);
	smc_rdma_announce(conn, end, &cdc);
	smc_cdc_build(smc_send_message(slot), &cdc);
	smc_writes_make(&w, conn, from, end);
	rc = smc_link_post(slot, w.n ? &w.wr[0].wr : NULL, w.n ? &w.wr[w.n - 1].wr : NULL);
	if (rc)
		return rc;
	conn->repeat_from = end;
	smc_stat_rdma(conn->stream.sn, SMC_RDMA_REPEATED_WRITES, w.n);
	smc_stat_rdma(conn->stream.sn, SMC_RDMA_REPEATED_BYTES, end - from);
	return 0;
}

/*
 * Return: the position up to which bytes are to be written again. If both ends have sent their
 * final flags, no byte is written again, because the peer may have freed its element. A peer that
 * has received this end's reset may have freed it, too. In that case the next message reports fewer
 * bytes than the one before, which an in-tree peer may misread just before the reset. That is less
 * harm than a write into an element that another connection may use.
 */
static u64 smc_rdma_repeat_until(const struct smc_rdma_conn *conn)
{
	const struct smc_stream *st = &conn->stream;

	if (smc_stream_both_sent_final(st) || (st->tx.conn_flags & SMC_CONN_ABORT))
		return conn->repeat_from;
	return st->tx.sent;
}

/*
 * Return: the position up to which to write bytes again before the next message. The first message,
 * which announces the failover, has no bytes before it.
 */
static u64 smc_rdma_repeat_end(const struct smc_rdma_conn *conn, u64 until)
{
	const u64 from = conn->repeat_from;
	u64 end;

	if (conn->failover == SMC_FAILOVER_ANNOUNCE)
		return from;
	end = min(until, from + smc_rdma_publish_max(conn->link));
	return conn->urgent_end > from ? min(end, conn->urgent_end) : end;
}

/*
 * Continue on another link (RFC 7609 section 4.6.1): announce the failover, then write again the
 * bytes that the peer may have missed. Leave out bytes that the peer has consumed, because newer
 * bytes may have taken their place. Return: 0 if all is posted.
 */
static int smc_rdma_resume(struct smc_rdma_conn *conn)
{
	u64 until, end;
	int rc;

	do {
		conn->repeat_from = max(conn->repeat_from, conn->stream.tx.acked);
		until = smc_rdma_repeat_until(conn);
		end = smc_rdma_repeat_end(conn, until);
		rc = smc_rdma_repeat(conn, end);
		if (rc)
			return rc;
		conn->failover = SMC_FAILOVER_REPEAT;
	} while (end < until);
	conn->failover = until < conn->stream.tx.sent ? SMC_FAILOVER_OMITTED : SMC_FAILOVER_DONE;
	return 0;
}

int smc_rdma_publish(struct smc_stream *st, u64 end, struct smc_cdc *cdc)
{
	struct smc_rdma_conn *conn = smc_rdma_conn_of(st);
	struct smc_send_slot *slot;
	struct smc_writes w;
	bool is_unsignaled;
	int rc;

	if (!smc_rdma_conn_has_peer(conn))
		return -EAGAIN;
	if (unlikely(conn->failover >= SMC_FAILOVER_ANNOUNCE)) {
		rc = smc_rdma_resume(conn);
		if (rc)
			return rc;
	}
	slot = smc_link_get_slot(conn->link, conn, smc_rdma_bulk_bytes(st, end),
				 smc_rdma_may_be_unsignaled(conn, end, cdc->conn_flags));
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	is_unsignaled = slot->is_unsignaled;
	conn->answered = st->rx.received;
	smc_rdma_conn_limit(conn);

	smc_writes_make(&w, conn, st->tx.sent, end);
	slot->end = end;
	if (unlikely(cdc->prod_flags & SMC_PROD_URGENT_PRESENT))
		conn->urgent_end = end;
	/*
	 * Don't report bytes that were not written again: the peer's program may still read all
	 * that is reported before a reset.
	 */
	if (unlikely(conn->failover == SMC_FAILOVER_OMITTED))
		cdc->prod = smc_cursor_from_position(conn->repeat_from, st->tx.peer_size);
	cdc->seq = ++conn->seq;
	slot->seq = cdc->seq;
	cdc->token = conn->peer_token;
	smc_cdc_build(smc_send_message(slot), cdc);
	rc = smc_link_post(slot, w.n ? &w.wr[0].wr : NULL, w.n ? &w.wr[w.n - 1].wr : NULL);
	if (rc)
		return rc;
	smc_stat_rdma(st->sn, SMC_RDMA_WRITES, w.n);
	smc_stat_rdma(st->sn, SMC_RDMA_WRITE_BYTES, end - st->tx.sent);
	if (unlikely(smc_link_is_lossy(conn->link)))
		smc_stat_rdma(st->sn, SMC_RDMA_LOSSY_PUBLISHES, 1);
	return is_unsignaled ? SMC_PUBLISH_DONE : SMC_PUBLISH_BEGUN;
}
