// SPDX-License-Identifier: GPL-2.0
/* Connections over SMC-R: the path of their streams, except for publishing. */

#include <linux/random.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "conn.h"
#include "group.h"
#include "link.h"
#include "memory/memcg.h"
#include "publish.h"
#include "trace.h"
#include "wire/cdc.h"
#include "wire/size_class.h"

/*
 * The loss of a silent link is found this long after TEST LINK is due, at the latest, if another
 * link can take over.
 */
#define SMC_LINK_LOSS_FOUND	(6 * HZ)

/* Low bits of an alert token: index of the connection in the group's @conns, from 1. */
#define SMC_TOKEN_INDEX		0x3ff

/* Return: a connection's alert token: its index, and a secret that other users can't guess. */
static u32 smc_rdma_conn_token(const struct smc_rdma_conn *conn)
{
	return conn->secret | conn->index;
}

static bool smc_rdma_describe(struct smc_stream *st, struct smc_path_info *info)
{
	const struct smc_rdma_conn *conn = smc_rdma_conn_of(st);
	struct smc_link *link = conn->link;
	bool up;

	info->role = conn->group->role;
	info->link = link->number;
	info->token = smc_rdma_conn_token(conn);
	info->peer_token = conn->peer_token;
	info->index = conn->rmb.index + 1;
	info->peer_index = conn->peer_index;
	memcpy(info->peer_gid, link->peer.gid, sizeof(info->peer_gid));

	/* The port may be gone as soon as the link is down. */
	spin_lock_bh(&link->lock);
	up = smc_link_is_up(link);
	if (up) {
		info->port = link->port.gid->port_num;
		strscpy(info->device, link->port.dev->ibdev->name, sizeof(info->device));
		memcpy(info->gid, link->port.gid->gid.raw, sizeof(info->gid));
	}
	spin_unlock_bh(&link->lock);
	return up;
}

void smc_rdma_conn_quarantine(struct smc_rdma_conn *conn, bool is_reserved)
{
	long pages = smc_element_quarantine(&conn->rmb);

	/*
	 * If the peer was never known, nothing was posted from the send buffer, so the buffer can
	 * be reused.
	 */
	if (smc_rdma_conn_has_peer(conn))
		pages += smc_element_quarantine(&conn->sndbuf);
	smc_rdma_group_quarantine(conn->group, pages, is_reserved);
}

/*
 * While a lost link is not replaced by a symmetric one, TCP's network may be down. TEST LINK finds
 * the loss of a silent link. Without it, nothing but TCP's probes would find the loss of a silent
 * host.
 */
static unsigned long smc_rdma_tcp_patience(struct smc_stream *st)
{
	const struct smc_rdma_group *group = smc_rdma_conn_of(st)->group;
	const unsigned long test_time = READ_ONCE(st->sn->sysctl.smcr_testlink_time);

	if (!test_time)
		return 0;
	if (smc_rdma_group_lacks_link(group))
		return ULONG_MAX;
	return smc_rdma_group_is_single(group) ? 0 : test_time + SMC_LINK_LOSS_FOUND;
}

static void smc_rdma_orphan(struct smc_stream *st)
{
	struct smc_rdma_conn *conn = smc_rdma_conn_of(st);

	smc_element_orphan(&conn->rmb);
	smc_element_orphan(&conn->sndbuf);
}

/*
 * Quarantine the elements of a connection that is over, unless nobody uses them any more. Unless
 * both ends have sent final flags, the peer may write as long as the link is up. And unless this
 * end's final flags have arrived, the queue pair may still read the send buffer, to send bytes
 * again. A connection without a socket is being set up, and smc_rdma_setup_end() decides whether to
 * quarantine its elements.
 */
static void smc_rdma_conn_abandon(struct smc_rdma_conn *conn, bool is_reserved)
{
	struct smc_stream *st = &conn->stream;

	if (st->sk && !smc_stream_needs_no_path(st) && !conn->rmb.is_quarantined)
		smc_rdma_conn_quarantine(conn, is_reserved);
}

/* End a connection that is over: it has no token any more, and does not count in its group. */
static void smc_rdma_conn_end(struct smc_rdma_conn *conn)
{
	smc_rdma_conn_abandon(conn, true);
	xa_erase_bh(&conn->group->conns, conn->index);
	/*
	 * Wake new connections that wait, in smc_rdma_setup_set_peer(), until this connection no
	 * longer uses an element of the peer.
	 */
	wake_up_var(&conn->group->conns);
	atomic_dec(&conn->link->n_conns);
	smc_lgr_unreserve(&conn->group->lgr);
	smc_stream_put(&conn->stream);
}

static void smc_rdma_over(struct smc_stream *st)
{
	struct smc_rdma_conn *conn = smc_rdma_conn_of(st);
	bool waits;

	spin_lock_bh(st->lock);
	/* If the group is dead, smc_rdma_conn_on_link_end() may have been called already. */
	waits = conn->peer_link == SMC_PEER_LEFT_LINK && !smc_lgr_is_dead(&conn->group->lgr);
	if (waits)
		conn->peer_link = SMC_PEER_LEFT_LINK_OVER;
	spin_unlock_bh(st->lock);
	if (waits)
		smc_link_peer_left(conn->link);
	else
		smc_rdma_conn_end(conn);
}

/*
 * Return: how many bytes at the start of the element the peer may have written. If the stream has
 * failed, the peer may have broken the protocol, and have written more than its cursor says.
 */
static u32 smc_rdma_conn_used(const struct smc_rdma_conn *conn)
{
	const struct smc_stream *st = &conn->stream;

	return smc_stream_has_failed(st) ? st->rx.size : min_t(u64, st->rx.received, st->rx.size);
}

/*
 * Free a connection. An element that is not quarantined can be reused, because the peer no longer
 * writes to it: both ends have sent their final flags, or the peer never learned of the element. A
 * dead group reuses no element.
 */
static void smc_rdma_free(struct smc_stream *st)
{
	struct smc_rdma_conn *conn = smc_rdma_conn_of(st);

	/* The path may have been over before the handshake gave the stream to its socket. */
	smc_rdma_conn_abandon(conn, false);
	conn->rmb.used = smc_rdma_conn_used(conn);
	smc_element_free(&conn->sndbuf);
	smc_element_free(&conn->rmb);
	smc_link_put(conn->link);
	smc_rdma_group_put(conn->group);
	kfree_rcu(conn, rcu);
}

static const struct smc_path_ops smc_rdma_path_ops = {
	.kind	      = SMC_PATH_R,
	.publish      = smc_rdma_publish,
	.describe     = smc_rdma_describe,
	.tcp_patience = smc_rdma_tcp_patience,
	.orphan	      = smc_rdma_orphan,
	.over	      = smc_rdma_over,
	.free	      = smc_rdma_free,
};

/*
 * Return: the error of a setup; -EHOSTUNREACH if the link is lost, but not the group. With -ENOLINK
 * a client's DECLINE would say that the group is lost, and the server would give the group no more
 * connections.
 */
static int smc_rdma_conn_error(const struct smc_rdma_group *group, int rc)
{
	return rc == -ENOLINK && !smc_lgr_is_dead(&group->lgr) ? -EHOSTUNREACH : rc;
}

struct smc_rdma_conn *smc_rdma_conn_create(struct smc_link *link, u8 rmb_class,
					   struct mem_cgroup *memcg)
{
	struct smc_rdma_conn *conn = smc_memcg_zalloc(memcg, sizeof(*conn), SMC_GFP_CONN);
	struct smc_rdma_group *group = link->group;
	struct smc_stream *st;
	int rc;

	if (!conn) {
		smc_link_unreserve(link);
		return ERR_PTR(-ENOMEM);
	}
	conn->group = group;
	conn->link = link;
	conn->secret = get_random_u32() & ~SMC_TOKEN_INDEX;
	INIT_LIST_HEAD(&conn->tx_wait);
	st = &conn->stream;
	spin_lock_init(&conn->lock);
	smc_stream_init(st, &smc_rdma_path_ops, group->lgr.net, &conn->lock);

	rc = smc_mr_buffers_alloc(group, SMC_BUFFER_RMB, rmb_class, memcg, &conn->rmb);
	if (rc)
		goto err_conn;
	st->rx.ring = smc_element_mem(&conn->rmb);
	st->rx.size = smc_buffer_element_bytes(conn->rmb.buffer);

	/*
	 * The xarray holds one reference until the stream is over, and the caller holds the other.
	 */
	smc_stream_get(st);
	atomic_inc(&link->n_conns);
	rc = xa_alloc_cyclic_bh(&group->conns, &conn->index, conn, XA_LIMIT(1, SMC_TOKEN_INDEX),
				&group->next_index, GFP_KERNEL);
	if (rc >= 0) {
		/* Pairs with smc_link_move_conns(). */
		smp_mb();
		if (!smc_lgr_is_dead(&group->lgr) && !READ_ONCE(link->broken))
			return conn;
		/*
		 * If the group died or the link broke before this connection was in @conns, it is
		 * possible that nothing else ends or moves the connection. So end it here.
		 */
		rc = smc_rdma_conn_error(group, -ENOLINK);
		smc_stream_on_lost(st, ENOLINK);
		smc_stream_put(st);
		return ERR_PTR(rc);
	}
	atomic_dec(&link->n_conns);
	smc_stream_put(st);

err_conn:
	rc = smc_rdma_conn_error(group, rc);
	smc_lgr_unreserve(&group->lgr);
	smc_stream_put(st);
	return ERR_PTR(rc);
}

int smc_rdma_conn_alloc_sndbuf(struct smc_rdma_conn *conn, u8 size_class, struct mem_cgroup *memcg)
{
	int rc = smc_mr_buffers_alloc(conn->group, SMC_BUFFER_SNDBUF, size_class, memcg,
				      &conn->sndbuf);

	return smc_rdma_conn_error(conn->group, rc);
}

static u64 smc_rdma_element_addr(const struct smc_clc_r *r, u64 size)
{
	return r->rmb_addr + (r->rmbe_index - 1) * size;
}

/* Whether the peer has sent anything for the connection. */
static bool smc_rdma_conn_was_heard(const struct smc_stream *st)
{
	return READ_ONCE(st->rx.conn_flags) || READ_ONCE(st->rx.received) ||
	       READ_ONCE(st->tx.acked);
}

/*
 * Whether the peer's element is still in use. It is in use until this end has sent final flags,
 * because this end may write to it. After that, even after a reset, the peer's program may still
 * read bytes that had arrived. So the element is in use until the peer reports all bytes as read.
 * There are three exceptions:
 * - The peer has sent final flags, too. Then only the peer knows whether its program still reads.
 *   So the element counts as free, and may be used once the peer names it again.
 * - This end has reset the connection, and the peer has never sent anything. The peer may have
 *   declined late, and then has freed the element.
 * - The connection has moved. It needs the element until it is over: its link may still have bytes
 *   to repeat, and nothing orders these before the bytes that a new connection sends on another
 *   link.
 */
static bool smc_rdma_conn_needs_element(const struct smc_rdma_conn *conn)
{
	const struct smc_stream *st = &conn->stream;
	/* Pairs with smc_tx_publish(): along with the final flags, the last tx.sent is visible. */
	const u8 said = smp_load_acquire(&st->tx.conn_flags) & SMC_CONN_FINAL;

	if (!said || conn->has_moved)
		return true;
	if (smc_stream_both_sent_final(st) ||
	    (said == SMC_CONN_ABORT && !smc_rdma_conn_was_heard(st)))
		return false;
	return READ_ONCE(st->tx.acked) != READ_ONCE(st->tx.sent);
}

/* Whether a connection uses a part of the @size bytes at @rt. */
static bool smc_rdma_conn_uses(const struct smc_rdma_conn *conn, struct smc_rtoken rt, u64 size)
{
	return smc_rdma_conn_has_peer(conn) && conn->peer_rkey == rt.rkey &&
	       rt.addr < conn->peer_addr + conn->stream.tx.peer_size &&
	       conn->peer_addr < rt.addr + size && smc_rdma_conn_needs_element(conn);
}

/*
 * Whether another connection uses a part of the element that the peer names. Each ACCEPT and
 * CONFIRM has an RToken, so a program that has seen one of these messages can name elements of
 * other connections (RFC 7609 section 3.5.2.2). The other connection may use another link, on which
 * the element has another key. Called under the lock of the group's @conns.
 */
static bool smc_rdma_conn_is_used(const struct smc_rdma_conn *conn, const struct smc_clc_r *r,
				  u64 size)
{
	struct smc_rtoken on[SMC_LINKS];
	const struct smc_rdma_conn *other;
	unsigned long index;

	smc_rtokens_get(&conn->group->rtokens, conn->link->index, r->rkey, on);
	/*
	 * If the peer has deleted the RMB by now, the table no longer has its RTokens. So take the
	 * RToken on this link from the message.
	 */
	on[conn->link->index] = (struct smc_rtoken) { .rkey = r->rkey, .addr = r->rmb_addr };
	xa_for_each(&conn->group->conns, index, other) {
		struct smc_rtoken rt = on[other->link->index];

		if (!smc_rtoken_is_set(&rt))
			continue;
		rt.addr += (r->rmbe_index - 1) * size;
		if (smc_rdma_conn_uses(other, rt, size))
			return true;
	}
	return false;
}

static void smc_rdma_conn_note_peer(struct smc_rdma_conn *conn, const struct smc_clc_r *r, u64 size)
{
	struct smc_stream *st = &conn->stream;

	conn->peer_token = r->alert_token;
	conn->peer_rkey = r->rkey;
	conn->peer_addr = smc_rdma_element_addr(r, size);
	conn->peer_index = r->rmbe_index;
	st->tx.peer_size = size;
	st->tx.ring = smc_element_mem(&conn->sndbuf);
	/* The peer's element may be smaller than the send buffer. */
	st->tx.size = min_t(u64, smc_buffer_element_bytes(conn->sndbuf.buffer), size);
	/*
	 * Assume that other connections use the link. A publish lifts this limit once no other
	 * connection has sent on the link for a tenth of a second.
	 */
	st->tx.publish_max = SMC_SHARED_BYTES;
}

int smc_rdma_conn_set_peer(struct smc_rdma_conn *conn, const struct smc_clc_r *r, u8 sndbuf_class,
			    struct mem_cgroup *memcg)
{
	u64 size = smc_size_class_bytes(r->rmbe_size_code);
	struct smc_stream *st = &conn->stream;
	bool is_used = false, is_lost;
	int rc = 0;

	/* The element must not wrap around the end of the address space. */
	if (!r->rmbe_index || r->rmb_addr > U64_MAX - r->rmbe_index * size) {
		smc_stat_violation(st->sn, SMC_VIOLATION_CLC);
		return -EPROTO;
	}
	if (!conn->sndbuf.buffer)
		rc = smc_rdma_conn_alloc_sndbuf(conn, min(sndbuf_class, r->rmbe_size_code), memcg);
	if (rc)
		return rc;

	spin_lock_bh(st->lock);
	xa_lock(&conn->group->conns);
	/*
	 * As long as the peer is not known, smc_rdma_conn_move() leaves the connection on a link
	 * that is lost.
	 */
	is_lost = READ_ONCE(conn->link->broken);
	if (!is_lost)
		is_used = smc_rdma_conn_is_used(conn, r, size);
	if (!is_lost && !is_used)
		smc_rdma_conn_note_peer(conn, r, size);
	xa_unlock(&conn->group->conns);
	spin_unlock_bh(st->lock);
	if (is_lost)
		return smc_rdma_conn_error(conn->group, -ENOLINK);
	return is_used ? -EADDRINUSE : 0;
}

void smc_rdma_conn_describe(const struct smc_rdma_conn *conn, const struct smc_link *link,
			    struct smc_clc_r *r)
{
	const struct smc_mr_buffer *buffer = smc_mr_buffer_of(&conn->rmb);
	const struct smc_region *region = &buffer->regions[link->index];

	memcpy(r->gid, link->gid, SMC_GID_LEN);
	memcpy(r->mac, link->port.mac, SMC_MAC_LEN);
	r->qpn = link->qpn;
	r->psn = link->psn;
	r->rkey = region->rkey;
	r->rmb_addr = region->iova;
	r->rmbe_index = conn->rmb.index + 1;
	r->rmbe_size_code = buffer->buffer.attr.size_class;
	r->qp_mtu = link->mtu ? link->mtu : link->port.mtu;
	r->alert_token = smc_rdma_conn_token(conn);
}

/*
 * Use another link. Under the stream's lock. Return: false if this end does not know the key of the
 * peer's RMB on that link.
 */
static bool smc_rdma_conn_use(struct smc_rdma_conn *conn, struct smc_link *link)
{
	struct smc_rdma_group *group = conn->group;
	struct smc_rtoken on[SMC_LINKS];
	const struct smc_rtoken *rt = &on[link->index];

	smc_rtokens_get(&group->rtokens, conn->link->index, conn->peer_rkey, on);
	if (!smc_rtoken_is_set(rt))
		return false;
	smc_link_get(link);
	atomic_inc(&link->n_conns);
	atomic_dec(&conn->link->n_conns);
	smc_link_put(conn->link);
	/* smc_rdma_conn_is_used() reads these fields under this lock alone. */
	xa_lock(&group->conns);
	conn->link = link;
	conn->peer_link = SMC_PEER_USES_LINK;
	conn->has_moved = true;
	conn->peer_rkey = rt->rkey;
	conn->peer_addr = rt->addr + (u64)(conn->peer_index - 1) * conn->stream.tx.peer_size;
	xa_unlock(&group->conns);
	return true;
}

bool smc_rdma_conn_move(struct smc_rdma_conn *conn, struct smc_link *from, struct smc_link *to)
{
	struct smc_stream *st = &conn->stream;
	bool uses_link, has_moved = false;

	spin_lock_bh(st->lock);
	/*
	 * A stream that is over or lost has nothing to move; smc_rdma_over() may be under way. A
	 * stream whose peer is not known yet has nothing to move either: smc_rdma_conn_set_peer()
	 * finds that the link is lost, and the handshake fails.
	 */
	uses_link = conn->link == from && smc_rdma_conn_has_peer(conn) &&
		    st->state.path == SMC_PATH_STATE_UP;
	if (uses_link)
		has_moved = smc_rdma_conn_use(conn, to);
	if (has_moved) {
		conn->failover = SMC_FAILOVER_ANNOUNCE;
		/*
		 * Don't begin at tx.delivered: unsignaled bytes count as delivered once they are
		 * posted.
		 */
		conn->repeat_from = st->tx.reusable;
		trace_smcr_conn_moved(st, from, to);
		/* The old link's limit may be too large for a lossy link. */
		smc_rdma_conn_limit(conn);
		smc_stream_restart(st);
	}
	smc_stream_unlock(st);
	if (uses_link && !has_moved)
		smc_stream_on_lost(st, ECONNRESET);
	return has_moved;
}

struct smc_rdma_conn *smc_rdma_conn_get(struct smc_rdma_group *group, u32 token)
{
	struct smc_rdma_conn *conn;

	rcu_read_lock();
	conn = xa_load(&group->conns, token & SMC_TOKEN_INDEX);
	if (conn && (smc_rdma_conn_token(conn) != token ||
		     !kref_get_unless_zero(&conn->stream.ref)))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

struct smc_rdma_conn *smc_rdma_conn_next(struct smc_rdma_group *group, unsigned long *index)
{
	struct smc_rdma_conn *conn;

	rcu_read_lock();
	do
		conn = xa_find_after(&group->conns, index, ULONG_MAX, XA_PRESENT);
	while (conn && !kref_get_unless_zero(&conn->stream.ref));
	rcu_read_unlock();
	return conn;
}

/*
 * Handle a CDC message with an unknown token. When this end sends its last message for a
 * connection, messages from the peer for that connection may be in flight. The peer may send fewer
 * than SMC_RECV_SLOTS such messages for each connection or reservation that the group has ever had
 * (@total_conns). More of them violate the protocol, unless the group is retired: the peer may not
 * know that a connection of a retired group was aborted, and so may send more. Context: softirq.
 */
static void smc_rdma_conn_on_unknown_token(struct smc_rdma_group *group)
{
	const u64 n = atomic64_inc_return(&group->unknown_tokens);

	if (n / SMC_RECV_SLOTS >= READ_ONCE(group->total_conns) &&
	    !READ_ONCE(group->retired))
		smc_rdma_group_on_violation(group, SMC_VIOLATION_TOKEN);
	else
		smc_stat_violation(smc_net(group->lgr.net), SMC_VIOLATION_TOKEN);
}

/*
 * After a failover the peer reports the bytes that it writes again, so its producer cursor may go
 * back (Documentation/links-in-tree.rst). If the cursor goes back, no new bytes have come, so keep
 * the last cursor.
 */
static void smc_rdma_conn_hold_producer(const struct smc_rdma_conn *conn, struct smc_cdc *cdc)
{
	const struct smc_stream_rx *rx = &conn->stream.rx;
	u32 behind;

	if (!smc_cursor_distance(rx->received_cursor, cdc->prod, rx->size, rx->size, &behind))
		cdc->prod = rx->received_cursor;
}

/* Whether message @seq is not newer than message @other. */
static bool smc_cdc_is_until(u16 seq, u16 other)
{
	return (s16)(seq - other) <= 0;
}

/* Give a message to the stream, unless a newer one has come. */
static void smc_rdma_conn_update(struct smc_rdma_conn *conn, struct smc_cdc *cdc)
{
	if (unlikely(conn->peer_failover != SMC_PEER_HAS_NOT_MOVED)) {
		if (smc_cdc_is_until(cdc->seq, conn->peer_seq))
			return;
		smc_rdma_conn_hold_producer(conn, cdc);
	}
	conn->peer_seq = cdc->seq;
	smc_stream_update(&conn->stream, cdc);
}

/* Whether this end waits for the message that the peer's validation names. */
static bool smc_rdma_conn_awaits_message(const struct smc_rdma_conn *conn)
{
	return conn->peer_failover >= SMC_PEER_MOVED_AWAITED;
}

/* Stop waiting for the awaited message, and handle the messages that were held. */
static void smc_rdma_conn_take_held(struct smc_rdma_conn *conn)
{
	const enum smc_rdma_peer_failover was = conn->peer_failover;

	conn->peer_failover = SMC_PEER_MOVED;
	if (was == SMC_PEER_MOVED_HELD_URGENT)
		smc_rdma_conn_update(conn, &conn->held_urgent);
	if (was >= SMC_PEER_MOVED_HELD)
		smc_rdma_conn_update(conn, &conn->held);
}

/*
 * Hold a message until the awaited one comes. A newer message has everything that matters in an
 * older one, except that only an urgent message says where the urgent byte is. So keep the newest
 * message, and the newest urgent one before it.
 */
static void smc_rdma_conn_hold(struct smc_rdma_conn *conn, const struct smc_cdc *cdc)
{
	const bool is_first = conn->peer_failover < SMC_PEER_MOVED_HELD;
	const bool is_newest = is_first || !smc_cdc_is_until(cdc->seq, conn->held.seq);
	const struct smc_cdc *older = is_newest ? &conn->held : cdc;

	if (is_first) {
		conn->peer_failover = SMC_PEER_MOVED_HELD;
	} else if ((older->prod_flags & SMC_PROD_URGENT_PRESENT) &&
		   !(conn->peer_failover == SMC_PEER_MOVED_HELD_URGENT &&
		     smc_cdc_is_until(older->seq, conn->held_urgent.seq))) {
		conn->held_urgent = *older;
		conn->peer_failover = SMC_PEER_MOVED_HELD_URGENT;
	}
	if (is_newest)
		conn->held = *cdc;
}

/*
 * Handle the peer's validation. It names the last message that, as the peer knows, this host's
 * device has received. That message may still wait in the completion queue of the link that the
 * peer has left. Until this end has handled it, hold later messages, because earlier bytes may
 * still be missing.
 */
static void smc_rdma_conn_validate(struct smc_rdma_conn *conn, const struct smc_cdc *cdc)
{
	const bool awaits = smc_rdma_conn_awaits_message(conn);

	/*
	 * The validation of an earlier failover may come after the validation of a later failover.
	 */
	if (awaits && smc_cdc_is_until(cdc->seq, conn->awaited_seq))
		return;
	/*
	 * The message that the peer now names has come on the link that the peer has just left. It
	 * is held, or a newer one is held in its place.
	 */
	if (conn->peer_failover >= SMC_PEER_MOVED_HELD &&
	    smc_cdc_is_until(cdc->seq, conn->held.seq))
		return;
	conn->awaited_seq = cdc->seq;
	if (smc_cdc_is_until(cdc->seq, conn->peer_seq))
		smc_rdma_conn_take_held(conn);
	else if (!awaits)
		conn->peer_failover = SMC_PEER_MOVED_AWAITED;
}

/* Handle a message under the stream's lock: two links may deliver messages at the same time. */
static void smc_rdma_conn_take(struct smc_rdma_conn *conn, struct smc_cdc *cdc)
{
	if (unlikely(cdc->prod_flags & SMC_PROD_FAILOVER)) {
		smc_rdma_conn_validate(conn, cdc);
		return;
	}
	if (likely(!smc_rdma_conn_awaits_message(conn))) {
		smc_rdma_conn_update(conn, cdc);
		return;
	}
	if (!smc_cdc_is_until(cdc->seq, conn->awaited_seq)) {
		smc_rdma_conn_hold(conn, cdc);
		return;
	}
	smc_rdma_conn_update(conn, cdc);
	if (cdc->seq == conn->awaited_seq)
		smc_rdma_conn_take_held(conn);
}

/*
 * Reset a connection that has lost a message for good. The stream takes no more bytes, because
 * bytes before them are missing. Under the stream's lock.
 */
static void smc_rdma_conn_give_up_missing(struct smc_rdma_conn *conn)
{
	if (smc_stream_is_down(&conn->stream))
		return;
	smc_stream_break_gap(&conn->stream, ECONNRESET);
	smc_rdma_conn_take_held(conn);
}

void smc_rdma_conn_on_link_end(struct smc_rdma_conn *conn, const struct smc_link *link)
{
	struct smc_stream *st = &conn->stream;
	bool waits = false;

	spin_lock_bh(st->lock);
	if (conn->link == link) {
		waits = conn->peer_link == SMC_PEER_LEFT_LINK_OVER;
		conn->peer_link = SMC_PEER_USES_LINK;
	}
	if (smc_rdma_conn_awaits_message(conn))
		smc_rdma_conn_give_up_missing(conn);
	smc_stream_unlock(st);
	if (waits)
		smc_rdma_conn_end(conn);
}

/*
 * Whether the message that the peer's validation names may still come. It can come only on the old
 * link, which the peer has left. @link is the link that the validation came on. The message may
 * still come in two cases: this end's connection still uses the old link, or this end has left the
 * old link, too, but has not drained the link yet.
 */
static bool smc_rdma_conn_awaited_may_come(const struct smc_rdma_conn *conn,
					   const struct smc_link *link)
{
	const struct smc_link *other;

	if (conn->link != link)
		return true;
	smc_for_each_link(other, link->group)
		if (other != link && other->is_confirmed && READ_ONCE(other->is_left) &&
		    !smc_link_is_destroyed(other))
			return true;
	return false;
}

/*
 * Note that a validation came on @link. If this end has left that link, the validation is late, and
 * is not about the connection's present link.
 */
static void smc_rdma_conn_note_peer_link(struct smc_rdma_conn *conn, const struct smc_link *link)
{
	/* Once the queue pair is destroyed, smc_rdma_conn_on_link_end() is not called again. */
	if (conn->link != link && !READ_ONCE(link->is_left) && !smc_link_is_destroyed(conn->link))
		conn->peer_link = SMC_PEER_LEFT_LINK;
}

void smc_rdma_conn_receive(struct smc_link *link, struct smc_cdc *cdc)
{
	struct smc_rdma_conn *conn = smc_rdma_conn_get(link->group, cdc->token);
	struct smc_stream *st;
	bool is_over;

	if (!conn) {
		smc_rdma_conn_on_unknown_token(link->group);
		return;
	}
	st = &conn->stream;
	spin_lock_bh(st->lock);
	is_over = conn->peer_link == SMC_PEER_LEFT_LINK_OVER;
	if (unlikely(is_over))
		goto unlock;
	if (unlikely(cdc->prod_flags & SMC_PROD_FAILOVER))
		smc_rdma_conn_note_peer_link(conn, link);
	smc_rdma_conn_take(conn, cdc);
	/*
	 * Give up only when the newest validation itself comes, because it comes on the link that
	 * the peer has moved to. Any other message may have come on the old link, and the missing
	 * one may follow there. At the end of the old link, smc_rdma_conn_on_link_end() gives up on
	 * a message that is still missing.
	 */
	if (unlikely(smc_rdma_conn_awaits_message(conn)) && (cdc->prod_flags & SMC_PROD_FAILOVER) &&
	    cdc->seq == conn->awaited_seq && !smc_rdma_conn_awaited_may_come(conn, link))
		smc_rdma_conn_give_up_missing(conn);
unlock:
	smc_stream_unlock(st);
	smc_stream_put(st);
	if (is_over)
		smc_rdma_conn_on_unknown_token(link->group);
}
