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
			.wr_cqe	 = &conn->link->write_cqe,
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
 * write has at most SMC_SOFT_WRITE_BYTES.
 */
static void smc_writes_make(struct smc_writes *w, const struct smc_rdma_conn *conn,
			    u64 pos, u64 end)
{
	u32 most = conn->link->is_soft ? SMC_SOFT_WRITE_BYTES : U32_MAX;
	u32 size = conn->stream.tx.size;
	u32 len;

	for (w->n = 0; pos < end; pos += len) {
		len = min3(end - pos, (u64)(size - (pos & (size - 1))), (u64)most);
		smc_writes_add(w, conn, pos, len);
	}
}

/*
 * Whether the CDC message may be unsignaled, because nothing waits for its completion. A program
 * that sends several messages in a row needs completions: small writes are held back until the last
 * message completes, and a blocked writer may wait for the completion. A socket with
 * SO_TIMESTAMPING or TCP_USER_TIMEOUT needs completions, too. A response to bytes from the peer
 * needs no completion, and an unsignaled message saves the interrupt.
 */
static bool smc_rdma_may_be_unsignaled(const struct smc_rdma_conn *conn, u64 end, u8 conn_flags)
{
	const struct smc_stream *st = &conn->stream;

	return st->rx.received != conn->answered && end - st->tx.sent <= SMC_SMALL_BYTES &&
	       !st->tx.in_flight && !conn_flags && !st->tx.waiting &&
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
 * Return: the limit for the bytes of the next publish. On a lossy link it is one packet. When the
 * peer reports that it missed a packet, soft-RoCE repeats packets. Until a message is acknowledged,
 * soft-RoCE then ignores further such reports, so after another loss it repeats nothing before its
 * time-out.
 */
static u32 smc_rdma_most(const struct smc_link *link)
{
	const u32 packet = ib_mtu_enum_to_int(link->mtu);

	if (unlikely(smc_link_is_lossy(link)))
		return packet;
	/*
	 * soft-RoCE counts packets: if they are smaller, a write must have fewer bytes, so that no
	 * acknowledgement is due within it (see SMC_SOFT_WRITE_BYTES).
	 */
	if (unlikely(link->is_soft && link->mtu < IB_MTU_1024))
		return SMC_SOFT_WRITE_BYTES / 1024 * packet;
	return smc_link_is_shared(link) ? SMC_SHARED_BYTES : U32_MAX;
}

void smc_rdma_conn_limit(struct smc_rdma_conn *conn)
{
	WRITE_ONCE(conn->stream.tx.most, smc_rdma_most(conn->link));
}

int smc_rdma_publish(struct smc_stream *st, u64 end, struct smc_cdc *cdc)
{
	struct smc_rdma_conn *conn = smc_rdma_conn_of(st);
	struct smc_send_slot *slot;
	struct smc_writes w;
	bool is_unsignaled;
	int rc;

	if (!conn->peer_known)
		return -EAGAIN;
	slot = smc_link_get_slot(conn->link, conn, smc_rdma_bulk_bytes(st, end),
				 smc_rdma_may_be_unsignaled(conn, end, cdc->conn_flags));
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	is_unsignaled = slot->is_unsignaled;
	conn->answered = st->rx.received;
	smc_rdma_conn_limit(conn);

	smc_writes_make(&w, conn, st->tx.sent, end);
	slot->end = end;
	cdc->seq = ++conn->seq;
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
