/* SPDX-License-Identifier: GPL-2.0 */
/* A connection over SMC-R: its stream, its elements, and the peer's token, key and address. */
#ifndef SMC_RDMA_CONN_H
#define SMC_RDMA_CONN_H

#include "mr_buffer.h"
#include "stream/stream.h"
#include "wire/clc.h"

struct smc_link;
struct smc_rdma_group;
struct sk_buff;

/*
 * The failover of this end to another link. In the last two states the bytes sent before the move
 * may be lost, and a publish has to send them again before any new ones. A further move leads from
 * any state back to SMC_FAILOVER_ANNOUNCE.
 */
enum smc_rdma_failover {
	SMC_FAILOVER_DONE,	/* this end has never moved, or has sent all bytes again */
	SMC_FAILOVER_OMITTED,	/* done, but with bytes left out: see @repeat_from */
	SMC_FAILOVER_ANNOUNCE,	/* tell the peer that this end has moved */
	SMC_FAILOVER_REPEAT,	/* the peer has been told; write bytes again */
};

/*
 * The peer's failover to another link. Once the peer has moved, its messages may come on two links,
 * and so out of order. The peer's validation names the last message that, as the peer knows, this
 * host's device has received (@awaited_seq). Until this end has handled that message, it holds
 * later messages, because bytes before theirs may be missing. When the awaited message comes, or
 * this end gives it up, the state is SMC_PEER_MOVED again. The comment of each state from
 * SMC_PEER_MOVED on is also true in all states below it.
 */
enum smc_rdma_peer_failover {
	SMC_PEER_HAS_NOT_MOVED,
	SMC_PEER_MOVED,			/* messages older than the last one handled are dropped */
	SMC_PEER_MOVED_AWAITED,		/* the message with @awaited_seq has not come yet */
	SMC_PEER_MOVED_HELD,		/* @held waits for that message */
	SMC_PEER_MOVED_HELD_URGENT,	/* @held_urgent waits, too, and comes before @held */
};

/*
 * Whether the peer still uses the link that this end uses. If the peer has left the link first, its
 * earlier bytes may still arrive there. So the elements must not be used for another connection
 * before this end has left the link, too, and has destroyed its queue pair.
 */
enum smc_rdma_peer_link {
	SMC_PEER_USES_LINK,
	SMC_PEER_LEFT_LINK,
	SMC_PEER_LEFT_LINK_OVER,	/* the stream is over, and waits for the queue pair's end */
};

/**
 * struct smc_rdma_conn - a connection over SMC-R
 * @stream: byte stream; has the reference count
 * @lock: the stream's lock
 * @rcu: delays the free until look-ups by token are over
 * @group: link group, referenced
 * @link: link of the group that the connection sends on, referenced. It changes only in
 *	smc_rdma_conn_move(), under @lock and the lock of the group's @conns, once the connection
 *	has nothing under way on the old link
 * @rmb: element that the peer writes into
 * @sndbuf: element that this end's RDMA writes read from
 * @index: index in the group's @conns; also the low bits of this end's alert token
 * @secret: the other bits of this end's alert token, random
 * @peer_token: the peer's alert token
 * @peer_rkey: remote key of the peer's RMB on @link
 * @peer_addr: address of the peer's element on @link
 * @peer_index: index of the peer's element in its RMB, from 1; 0 until the peer is known. It is set
 *	together with @peer_token, @peer_rkey, @peer_addr and the sizes of @stream.tx
 * @has_moved: this end has moved to another link at least once; under the lock of the group's
 *	@conns
 * @seq: sequence number of the last CDC message that this end has sent; protected by @lock
 * @done_seq: sequence number of the last CDC message of this end that is known to have arrived
 * @peer_seq: sequence number of the peer's last CDC message. @lock protects this field and the
 *	following ones up to @answered
 * @peer_failover: state of the peer's failover
 * @awaited_seq: sequence number in the peer's last validation. It is the number of the last message
 *	that, as the peer knows, this host's device has received
 * @held: the newest of the messages that are held until the awaited one comes
 * @held_urgent: the newest message before @held that has an urgent byte
 * @peer_link: whether the peer has left @link; under @lock
 * @failover: state of this end's failover
 * @repeat_from: position from which bytes are to be written again. In SMC_FAILOVER_OMITTED, the
 *	bytes from this position on were not written again, because both ends have sent their final
 *	flags, or this end has sent a reset. So this end's messages do not report these bytes either
 * @urgent_end: position after the last urgent byte that this end has published, or 0
 * @answered: value of stream.rx.received at this end's last publish
 * @waits_as_bulk: @tx_wait is in the link's @bulk_waiters, not in its @slot_waiters; under the
 *	link's lock
 * @tx_wait: node in the link's @slot_waiters or @bulk_waiters while the connection waits to send;
 *	under the link's lock
 */
struct smc_rdma_conn {
	struct smc_stream stream;
	spinlock_t lock;
	struct rcu_head rcu;
	struct smc_rdma_group *group;
	struct smc_link *link;
	struct smc_element rmb;
	struct smc_element sndbuf;
	u32 index;
	u32 secret;
	u32 peer_token;
	u32 peer_rkey;
	u64 peer_addr;
	u8 peer_index;
	bool has_moved;
	u16 seq;
	u16 done_seq;
	u16 peer_seq;
	enum smc_rdma_peer_failover peer_failover;
	u16 awaited_seq;
	struct smc_cdc held;
	struct smc_cdc held_urgent;
	enum smc_rdma_peer_link peer_link;
	enum smc_rdma_failover failover;
	u64 repeat_from;
	u64 urgent_end;
	u64 answered;
	bool waits_as_bulk;
	struct list_head tx_wait;
};

/* Whether this end knows the peer's element and token, see smc_rdma_conn_set_peer(). */
static inline bool smc_rdma_conn_has_peer(const struct smc_rdma_conn *conn)
{
	return conn->peer_index;
}

static inline struct smc_rdma_conn *smc_rdma_conn_of(struct smc_stream *st)
{
	return container_of(st, struct smc_rdma_conn, stream);
}

/**
 * smc_rdma_conn_create() - create a connection with its RMB element and alert token
 * @link: link to use. The caller has a reference to the link, a reference to its group, and a
 *	reservation in the group. The connection takes over all three; a failure drops them
 * @rmb_class: wanted size class of the RMB element
 * @memcg: control group to charge, or NULL
 *
 * Context: process, may sleep.
 * Return: the connection, with a reference to its stream, or an ERR_PTR.
 */
struct smc_rdma_conn *smc_rdma_conn_create(struct smc_link *link, u8 rmb_class,
					   struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_alloc_sndbuf() - allocate the send buffer before the peer is known
 * @conn: connection that has no send buffer yet
 * @size_class: wanted size class. If the peer's element turns out smaller than the send buffer, the
 *	connection uses only that many bytes of the send buffer
 * @memcg: control group to charge, or NULL
 *
 * Context: process, may sleep.
 * Return: 0; -EHOSTUNREACH if only the link is lost, not the group; or another error of
 * smc_mr_buffers_alloc().
 */
int smc_rdma_conn_alloc_sndbuf(struct smc_rdma_conn *conn, u8 size_class, struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_set_peer() - store the element and token that the peer's CLC message names
 * @conn: connection that is being set up, and whose peer is not known yet
 * @r: the values in the peer's CLC message, checked here
 * @sndbuf_class: wanted size class of the send buffer, if there is none yet
 * @memcg: control group to charge, or NULL
 *
 * At a server, the client's first CDC message may have come before this call, when this end could
 * not answer the message yet. So a server calls smc_stream_on_tx_room() after this function, to
 * send the answer.
 *
 * Context: process, may sleep.
 * Return: 0; -EPROTO if the peer's values are impossible; an error of smc_rdma_conn_alloc_sndbuf();
 * -EHOSTUNREACH if only the link is lost; -ENOLINK if the group is lost; or -EADDRINUSE if another
 * connection uses a part of the peer's element. The caller can wait for the end of that connection:
 * when any connection of the group is over, wake_up_var() is called on the group's @conns.
 */
int smc_rdma_conn_set_peer(struct smc_rdma_conn *conn, const struct smc_clc_r *r, u8 sndbuf_class,
			    struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_describe() - describe the link and this end's element for a CLC message
 * @conn: connection whose RMB is mapped on @link
 * @link: link that the connection uses
 * @r: filled
 */
void smc_rdma_conn_describe(const struct smc_rdma_conn *conn, const struct smc_link *link,
			    struct smc_clc_r *r);

/**
 * smc_rdma_conn_move() - move a connection to another link of its group
 * @conn: connection that the caller has a reference to, in any state
 * @from: link that is quiesced; nothing happens if the connection uses another link
 * @to: link to use. The stream is lost if the peer has not announced its RMB on this link
 *
 * If this end does not know the peer's element yet, the connection stays on @from, and
 * smc_rdma_conn_set_peer() fails later.
 *
 * The connection sends again all bytes that may be lost, as far as @to has room for them now.
 *
 * Context: process.
 * Return: whether the connection has moved.
 */
bool smc_rdma_conn_move(struct smc_rdma_conn *conn, struct smc_link *from, struct smc_link *to);

/**
 * smc_rdma_conn_quarantine() - quarantine the elements: they are not reused until the group ends
 * @conn: connection that is over, or whose setup has failed
 * @is_reserved: @conn still has its reservation in the group
 *
 * This retires the group, which then ends with its last connection.
 *
 * Context: any but hard interrupt.
 */
void smc_rdma_conn_quarantine(struct smc_rdma_conn *conn, bool is_reserved);

/**
 * smc_rdma_conn_on_link_end() - end what a connection waits for until a link brings nothing more
 * @conn: connection that the caller has a reference to
 * @link: link whose queue pair is destroyed
 *
 * When the peer announced its failover, the peer named the last message that this host's device had
 * acknowledged. If this end has not handled that message by now, the message is lost for good, and
 * the connection is reset.
 *
 * If the peer has left @link before this end, and the stream was over before this end left @link,
 * too, the connection ends now. Until now, bytes of the peer could arrive on @link.
 *
 * Context: process.
 */
void smc_rdma_conn_on_link_end(struct smc_rdma_conn *conn, const struct smc_link *link);

/**
 * smc_rdma_conn_get() - find a connection by its alert token
 * @group: group of the link that the message with the token came on
 * @token: alert token of this end
 *
 * Context: any but hard interrupt.
 * Return: the connection with a reference to its stream, or NULL.
 */
struct smc_rdma_conn *smc_rdma_conn_get(struct smc_rdma_group *group, u32 token);

/**
 * smc_rdma_conn_next() - iterate over the connections of a group
 * @group: group that the caller has a reference to, or whose work item calls this
 * @index: index of the previous connection in the group's @conns, or 0 to begin; updated
 *
 * Context: any but hard interrupt.
 * Return: the next connection with a reference to its stream, or NULL.
 */
struct smc_rdma_conn *smc_rdma_conn_next(struct smc_rdma_group *group, unsigned long *index);

/**
 * smc_rdma_conn_receive() - handle a CDC message
 * @link: link that the message came on
 * @cdc: message, not checked yet; may be modified
 *
 * Context: softirq.
 */
void smc_rdma_conn_receive(struct smc_link *link, struct smc_cdc *cdc);

#endif
