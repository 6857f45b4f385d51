/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link: a reliable connected queue pair to a peer. It has a completion queue, and buffers for the
 * messages sent and received. It has a protection domain of its own, so that its peer can access
 * only memory that is registered for this link.
 */
#ifndef SMC_RDMA_LINK_H
#define SMC_RDMA_LINK_H

#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "port.h"
#include "wire/llc.h"
#include "wire/size_class.h"

struct smc_rdma_group;
struct smc_rdma_conn;

/*
 * Limit for the links of a group. A group normally has at most two. It has a third link while a new
 * one replaces an asymmetric link that has not ended yet.
 */
#define SMC_LINKS		3

/*
 * Limit for messages in flight. It is 48, because the in-tree module posts 48 receives. It can't
 * exceed 64, because each message in flight has a bit in a u64.
 */
#define SMC_SEND_SLOTS		48
#define SMC_WRS_PER_MESSAGE	3	/* two writes, if the ring wraps, and the message */
/*
 * The largest RDMA write with soft-RoCE: 64 of its usual packets. soft-RoCE asks for an
 * acknowledgement at the end of each write, and after its time-out repeats everything that was not
 * acknowledged.
 */
#define SMC_SOFT_WRITE_BYTES	SZ_64K
/* The largest receive buffer, so also the largest publish. */
#define SMC_RING_MAX		(SMC_SIZE_CLASS_MIN_BYTES << SMC_SIZE_CLASS_R_MAX)
/* Limit for the writes before a message: two parts if the ring wraps, each cut into pieces. */
#define SMC_WRITES_MAX		(SMC_RING_MAX / SMC_SOFT_WRITE_BYTES + 1)
/* Limit for the pieces into which the writes of all messages under way are cut. */
#define SMC_PIECES		((SMC_BULK_LIMIT_MAX + SMC_RING_MAX) / SMC_SOFT_WRITE_BYTES)
/*
 * The sum includes four work requests for two registrations: one in flight, and one whose queue
 * entries aren't freed yet. With soft-RoCE a registration needs two work requests.
 */
#define SMC_SEND_WRS		(SMC_SEND_SLOTS * SMC_WRS_PER_MESSAGE + SMC_PIECES + 4)
#define SMC_RECV_SLOTS		255
#define SMC_RECV_WRS		(SMC_RECV_SLOTS + 1)	/* the last is smc_link_post_marker()'s */
#define SMC_RECV_SGES		2	/* the slot, and the link's overflow area */
#define SMC_MESSAGE_LEN		44	/* length of LLC and CDC messages */
/*
 * The largest publish on a link that several connections use. This limits how long the messages of
 * one connection wait behind those of the others. A connection that has the link to itself
 * publishes all its bytes at once: each message costs a completion and, at the peer, an interrupt.
 */
#define SMC_SHARED_BYTES	SZ_32K
/* The largest limit of bulk bytes under way on a link. */
#define SMC_BULK_LIMIT_MAX	SZ_1M
/*
 * Time after which a queue pair repeats what is not acknowledged: 4.096 us << 15 = 0.13 s. An
 * adapter may wait up to four times as long. It gives up after eight such waits, that is, after one
 * to four seconds.
 */
#define SMC_QP_ACK_TIMEOUT	15
/*
 * A shorter time for an adapter if the group has another link, or is likely to get one: 67 ms. The
 * adapter then gives up after 0.5 to 2.2 s, and the connections move sooner. A still shorter time
 * might end both links when both fall silent for a moment. soft-RoCE gets no shorter time: it does
 * not give up, and would only repeat more.
 */
#define SMC_QP_ACK_TIMEOUT_SHORT	14
#define SMC_MESSAGE_ROOM	64	/* distance between messages in a DMA area */
#define SMC_LINK_WHY_LEN	64	/* room for the reason of a link's end */

/* Memory that the device reads or writes by DMA. */
struct smc_dma_area {
	void *mem;
	u64 dma;
	size_t len;
	enum dma_data_direction dir;
};

/*
 * A slot for a message being sent. An unsignaled message has no completion of its own. A queue pair
 * completes in order, so the completion of the next signaled message also frees the slots of the
 * unsignaled ones before it.
 */
struct smc_send_slot {
	struct ib_cqe cqe;
	struct smc_link *link;
	struct smc_rdma_conn *conn;	/* referenced, gets the completion; or NULL */
	u64 end;			/* position in the stream after this message */
	u16 seq;			/* sequence number of the CDC message of @conn */
	u64 covers;			/* slots that the completion frees, one bit each */
	u32 bulk_bytes;			/* bulk bytes that the message reports, or 0 */
	bool is_bulk_alone;		/* few @bulk_bytes, posted with no others under way */
	u64 posted;			/* time of the post in ns; only with bulk bytes */
	bool is_unsignaled;
	bool is_large;			/* the message is in the link's @large_sent */
};

/* A posted receive. */
struct smc_recv_slot {
	struct ib_cqe cqe;
	struct smc_link *link;
};

/* A memory registration; @done is complete while no registration is in flight. */
struct smc_registration {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

/* The peer's end of a link. */
struct smc_link_peer {
	u8 gid[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];
	u32 qpn;
	u32 psn;
	enum ib_mtu mtu;
};

/*
 * The queue pair sends in the order of posts, so a connection with many bytes under way delays the
 * messages of all others. The bytes of such connections are called bulk bytes. All bulk bytes on a
 * link share one limit, which adapts to the time that a message takes. If a message takes more than
 * about twice the time of one that has the link to itself, bulk bytes are queuing up, and the limit
 * falls.
 */
struct smc_link_bulk {
	u32 bytes;		/* under way */
	const struct smc_rdma_conn *sole;	/* the connection with all these bytes, or NULL */
	u32 limit;		/* no more are posted once @bytes has reached this */
	u32 least;		/* the limit does not fall below this */
	u64 alone;		/* least time of a message with @is_bulk_alone, in ns; 0: unknown */
	u64 shrunk_at;		/* time in ns when the limit last shrank */
	unsigned int lossy;	/* messages that must still be in time; 0: not lossy */
};

/* Stages of the life of a link's queue pair, in their order. */
enum smc_qp_stage {
	SMC_QP_NEW,
	SMC_QP_UP,		/* takes work requests, and completes them */
	SMC_QP_QUIESCED,	/* takes no work request, but may still write what has arrived */
	SMC_QP_DESTROYED,	/* is freed, and no message comes from the link any more */
};

/**
 * struct smc_link - a link to a peer
 * @group: its link group
 * @index: index in the group's @links
 * @ref: reference count. The group's @links holds a reference, and so does each user of the link,
 *	such as a connection
 * @by_gid: node in the hash table of confirmed links, by the peer's GID
 * @n_conns: number of connections that send on the link
 * @is_confirmed: CONFIRM LINK is over, so connections may use the link; under smc_rdma_lgrs.lock
 * @serial: number of the link in the order in which links were added. Both ends add links in the
 *	same order, so they agree on which link is the oldest
 * @state_since: time in seconds at which the link got the state that netlink shows; under
 *	smc_rdma_lgrs.lock
 * @why: first reason to end the link, for the kernel's log and tracepoints; "" if there is none.
 *	Under smc_rdma_lgrs.lock
 * @is_replaced: this asymmetric link ends because a symmetric one has been added; under
 *	smc_rdma_lgrs.lock
 * @is_deleted: the peer has asked for the end of the link; under smc_rdma_lgrs.lock
 * @is_left: smc_link_leave() has begun to quiesce the link. Later @end_work removes the link from
 *	the group. Set under smc_rdma_lgrs.lock
 * @is_flushed: a receive has completed with an error, so the device writes no more bytes of
 *	the peer
 * @end_work: work item that destroys the queue pair, and removes the link from the group; while
 *	queued, it holds a reference to the link and one to the group
 * @port: local port and address
 * @pd: protection domain
 * @cq: completion queue for both directions
 * @qp: queue pair
 * @qp_stage: stage of the life of @qp. SMC_QP_UP begins in smc_link_create(), and ends with
 *	both @lock and @verbs_lock held
 * @qpn: number of @qp; stays valid when @qp is gone, as a message may still name it
 * @gid: GID of @port; stays valid when @port is gone
 * @gid_index: index of @gid in the port's GID table
 * @port_num: number of @port
 * @psn: sequence number of the first packet that this end sends
 * @mtu: path MTU in use
 * @number: link number in the group, assigned by the server
 * @user_id: this end's id for the link
 * @peer_user_id: the peer's id for the link
 * @peer: the peer's end
 * @can_inline: messages are sent inline, without DMA
 * @is_soft: the device is soft-RoCE
 * @registration: the last memory registration; under the group's buffer lock
 * @verbs_lock: keeps the queue pair alive while it is modified
 * @lock: protects the fields from @broken to @llc_starved, and every post to @qp; nests inside a
 *	stream's lock
 * @broken: the link has failed or is to end, so nothing more is sent. If no other link can take
 *	over, the group is about to end. Set under smc_rdma_lgrs.lock, without @lock
 * @free_slots: one bit per free send slot
 * @unsignaled_slots: one bit per slot of an unsignaled message; the completion of the next signaled
 *	message frees these slots, too
 * @n_signaled: number of signaled messages in flight
 * @last_sent: time in jiffies of the last of these events: a signaled message completed, or was
 *	posted while no other signaled message was in flight
 * @unsignaled_since: time in jiffies when the first message of @unsignaled_slots was posted
 * @stall: work item that checks the send timeout. It is queued while signaled messages are in
 *	flight. If another link can take over from a link over soft-RoCE, it is also queued while
 *	only unsignaled messages are in flight
 * @bulk: bulk bytes under way, and their limit
 * @slot_waiters: connections that wait for a free slot
 * @bulk_waiters: connections that wait until fewer bulk bytes are under way
 * @bulk_is_next: the next connection to send is taken from @bulk_waiters, if possible
 * @next_sender: connection that was taken from the waiting connections and may send now. A slot is
 *	kept for this connection, and room for its bulk bytes. NULL if there is none. The pointer is
 *	only compared, because the connection may be gone
 * @last_sender: connection that sent last; the pointer is only compared, like @next_sender
 * @shared_at: time in jiffies when @last_sender last changed
 * @llc_starved: an LLC sender found no free slot
 * @slot_wait: wait queue of LLC senders without a slot, of smc_link_flush() and of smc_link_leave()
 * @send: the send slots
 * @unsignaled_cqe: completion handler for RDMA writes and local invalidations. These are
 *	unsignaled, so they complete only if they fail
 * @marker_cqe: completion handler for the receive of smc_link_post_marker()
 * @recv: the posted receives
 * @sent: DMA area for the messages of the send slots
 * @received: DMA area for the messages of the receives
 * @large_sent: DMA area for a message that does not fit into @sent. For each such message the old
 *	area is freed, and a new one allocated; under the group's buffer lock
 * @large_is_sent: the message in @large_sent is in flight
 * @overflow: DMA area for the part of a received message that does not fit into its slot. Only
 *	version 2 LLC messages are that long, and the peer may have only one of them in flight
 * @large: copy of a received message while it is processed
 * @last_rx: jiffies when the last message was received
 * @probed: jiffies when smc_llc_may_leave() last sent a TEST LINK
 * @n_tests: number of TEST LINK messages in a row after which nothing was received; only the
 *	group's @links_work uses this and the fields below
 * @tested: time in jiffies when the last TEST LINK was sent
 * @port_is_down: the port was down when @links_work last looked at it; @end_work uses this, too
 * @peer_left_at: time in jiffies when a connection began to wait for the end of this link, as the
 *	peer has left it; 0 if none has; changed under smc_rdma_lgrs.lock
 * @port_down_since: time in jiffies when @links_work first found the port down
 */
struct smc_link {
	struct smc_rdma_group *group;
	unsigned int index;
	struct kref ref;
	struct hlist_node by_gid;
	atomic_t n_conns;
	bool is_confirmed;
	u64 serial;
	time64_t state_since;
	char why[SMC_LINK_WHY_LEN];
	bool is_replaced;
	bool is_deleted;
	bool is_left;
	bool is_flushed;
	struct delayed_work end_work;
	struct smc_rdma_port port;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	enum smc_qp_stage qp_stage;
	u32 qpn;
	u8 gid[SMC_GID_LEN];
	u32 gid_index;
	u32 port_num;
	u32 psn;
	enum ib_mtu mtu;
	u8 number;
	u32 user_id;
	u32 peer_user_id;
	struct smc_link_peer peer;
	bool can_inline;
	bool is_soft;
	struct smc_registration registration;
	struct mutex verbs_lock;

	spinlock_t lock;
	bool broken;
	u64 free_slots;
	u64 unsignaled_slots;
	unsigned int n_signaled;
	unsigned long last_sent;
	unsigned long unsignaled_since;
	struct delayed_work stall;
	struct smc_link_bulk bulk;
	struct list_head slot_waiters;
	struct list_head bulk_waiters;
	bool bulk_is_next;
	const struct smc_rdma_conn *next_sender;
	const struct smc_rdma_conn *last_sender;
	unsigned long shared_at;
	bool llc_starved;
	wait_queue_head_t slot_wait;
	struct smc_send_slot send[SMC_SEND_SLOTS];
	struct ib_cqe unsignaled_cqe;
	struct ib_cqe marker_cqe;
	struct smc_recv_slot recv[SMC_RECV_SLOTS];
	struct smc_dma_area sent;
	struct smc_dma_area received;
	struct smc_dma_area large_sent;
	bool large_is_sent;
	struct smc_dma_area overflow;
	u8 large[SMC_LLC_V2_MAX_LEN];
	unsigned long last_rx;
	unsigned long probed;
	unsigned int n_tests;
	unsigned long tested;
	bool port_is_down;
	unsigned long peer_left_at;
	unsigned long port_down_since;
};

/**
 * smc_link_create() - create a link, with its queue pair in state INIT and receives posted
 * @group: its link group
 * @index: index in the group's @links. The caller puts the link there
 * @port: local port; copied
 *
 * Context: process, may sleep.
 * Return: the link or an ERR_PTR.
 */
struct smc_link *smc_link_create(struct smc_rdma_group *group, unsigned int index,
				 const struct smc_rdma_port *port);

static inline void smc_link_get(struct smc_link *link)
{
	kref_get(&link->ref);
}

/* Whether the queue pair takes work requests. @lock keeps it so, and so does @verbs_lock. */
static inline bool smc_link_is_up(const struct smc_link *link)
{
	return READ_ONCE(link->qp_stage) == SMC_QP_UP;
}

/* Whether no message comes from a link any more. */
static inline bool smc_link_is_destroyed(const struct smc_link *link)
{
	return READ_ONCE(link->qp_stage) == SMC_QP_DESTROYED;
}

/* Whether connections may use a link. */
static inline bool smc_link_works(const struct smc_link *link)
{
	return READ_ONCE(link->is_confirmed) && !READ_ONCE(link->broken);
}

/* Whether a link has ended, or is to end. */
static inline bool smc_link_is_inactive(const struct smc_link *link)
{
	return READ_ONCE(link->broken) || READ_ONCE(link->is_left);
}

/**
 * smc_link_put() - drop a reference; the last one frees the structure
 * @link: link; smc_link_release() has to be called before the last reference is dropped
 *
 * Context: any but hard interrupt.
 */
void smc_link_put(struct smc_link *link);

/**
 * smc_link_quiesce() - put the queue pair into the error state, and forget what is under way
 * @link: link; posts to it fail from now on
 *
 * Afterwards no connection learns of a completion any more. The queue pair isn't drained, because
 * soft-RoCE in Linux 6.1 may never flush a queue pair in error.
 *
 * Context: process, may sleep.
 */
void smc_link_quiesce(struct smc_link *link);

/**
 * smc_link_destroy() - destroy the queue pair and the completion queue
 * @link: link that is quiesced
 *
 * soft-RoCE waits, for up to a minute, while the network device holds packets of the queue pair. A
 * network device that is down may hold such packets.
 *
 * Context: process, may sleep.
 */
void smc_link_destroy(struct smc_link *link);

/**
 * smc_link_stop() - quiesce a link, and destroy its queue pair
 * @link: link whose queue pair was not destroyed yet
 *
 * Context: process, may sleep.
 */
void smc_link_stop(struct smc_link *link);

/**
 * smc_link_release() - release the device's resources
 * @link: link that is stopped, and whose memory regions are all deregistered
 *
 * Context: process, may sleep.
 */
void smc_link_release(struct smc_link *link);

/**
 * smc_link_peer_is_valid() - whether the peer's end of a link can exist
 * @peer: the peer's end, as its message describes it
 *
 * The GID and the MAC address must each be the address of a single host: neither zero nor multicast
 * nor broadcast. The MTU must be one of enum ib_mtu.
 */
bool smc_link_peer_is_valid(const struct smc_link_peer *peer);

/**
 * smc_link_to_rtr() - move the queue pair to state RTR (ready to receive)
 * @link: link in state INIT
 * @peer: the peer's end, from its CLC message or ADD LINK
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_link_to_rtr(struct smc_link *link, const struct smc_link_peer *peer);

/**
 * smc_link_to_rts() - move the queue pair to state RTS (ready to send)
 * @link: link in state RTR
 *
 * The queue pair's time-out for acknowledgements can't change afterwards. With an adapter this
 * time-out is shorter if the group has another link, or is likely to get one because this end or
 * the peer has another port.
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_link_to_rts(struct smc_link *link);

/**
 * smc_link_register() - register a mapped memory region on a link
 * @link: link in state RTS
 * @mr: region mapped by ib_map_mr_sg() that has not been registered before; with soft-RoCE it still
 *	has the key that ib_alloc_mr() gave it
 * @access: IB_ACCESS_*
 *
 * The caller holds the group's buffer lock, and has checked that no registration is in flight.
 *
 * Context: process, may sleep up to 2 s.
 * Return: 0 or -errno. After -ETIMEDOUT the region must not be freed as long as
 * smc_link_is_registering() returns true.
 */
int smc_link_register(struct smc_link *link, struct ib_mr *mr, int access);

/**
 * smc_link_is_registering() - whether a registration in flight may still refer to a region
 * @link: link that has not stopped
 *
 * Context: any, but not concurrently with smc_link_register().
 */
bool smc_link_is_registering(struct smc_link *link);

#endif
