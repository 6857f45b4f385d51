/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link: one reliable connection to a peer, with its own protection domain (so
 * that this peer can reach only memory registered for it), completion queue,
 * and buffers for the messages sent and received.
 */
#ifndef SMC_RDMA_LINK_H
#define SMC_RDMA_LINK_H

#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "device.h"
#include "wire/llc.h"

struct smc_group;
struct smc_rdma_conn;

/* Messages under way, one bit of an u64 each; the in-tree module posts as many receives. */
#define SMC_SEND_SLOTS		48
#define SMC_WRS_PER_MESSAGE	3	/* two writes, at the seam of a ring, and the message */
/* Two more for a registration and what it leaves in the queue. */
#define SMC_SEND_WRS		(SMC_SEND_SLOTS * SMC_WRS_PER_MESSAGE + 2)
#define SMC_RECV_SLOTS		256
#define SMC_MESSAGE_LEN		44	/* LLC and CDC alike */
#define SMC_MESSAGE_ROOM	64	/* for one, in the areas below */

/* Memory that the device reads or writes. */
struct smc_dma_area {
	void *mem;
	u64 dma;
	size_t len;
	enum dma_data_direction dir;
};

/*
 * A message being sent. No completion tells of a quiet one: that of the next message
 * which is not quiet gives the slots of both back, since a queue pair completes in order.
 */
struct smc_send_slot {
	struct ib_cqe cqe;
	struct smc_link *link;
	struct smc_rdma_conn *conn;	/* to be told, referenced; or NULL */
	u64 end;			/* of the stream, with this message */
	u64 covers;			/* bits of the slots that its completion gives back */
	bool is_quiet;
};

/* A posted receive. */
struct smc_recv_slot {
	struct ib_cqe cqe;
	struct smc_link *link;
};

/* A memory registration; @done when none is under way. */
struct smc_registration {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

/* What a link needs to know of the peer's end of it. */
struct smc_link_peer {
	u8 gid[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];
	u32 qpn;
	u32 psn;
	enum ib_mtu mtu;
};

/**
 * struct smc_link - see the top of this file
 * @group: that it belongs to
 * @port: local port and address
 * @pd: protection domain
 * @cq: of both directions
 * @qp: queue pair
 * @qpn: number of @qp, which a message may still name when @qp is gone
 * @gid: of @port, likewise
 * @gid_index: its place in the port's table
 * @port_num: of @port
 * @psn: first packet sequence number sent
 * @mtu: path MTU in use
 * @number: link number in the group, given by the server
 * @user_id: this end's name of the link
 * @peer_user_id: the peer's
 * @peer: its addresses
 * @can_inline: messages go inline, without DMA
 * @registration: the last memory registration; under the group's buffer lock
 * @verbs_lock: keeps the queue pair while it is modified
 * @lock: protects what follows, and every post; taken after a stream's lock
 * @up: the queue pair exists
 * @broken: a work request or the queue pair failed: nothing more is sent, and the group is about
 *	to end; set without the lock
 * @free_slots: one bit per free send slot
 * @quiet_slots: one per slot that the next signalled message gives back, too
 * @n_signalled: signalled messages that have not completed
 * @last_sent: jiffies when one of them completed, or the first of them was posted
 * @stall: finds out that none completes; queued while there are any
 * @starved: connections that found no free slot
 * @llc_starved: an LLC sender found none
 * @slot_wait: LLC senders that wait for one
 * @send: the send slots
 * @write_cqe: told of a write that failed; the others are not signalled
 * @recv: the posted receives
 * @sent: messages of the send slots
 * @received: messages of the receives
 * @overflow: tail of a received message longer than a slot; only version 2 LLC
 *	messages are, of which one is outstanding at a time
 * @large: a long message as a whole, while it is looked at
 * @last_rx: jiffies of the last message received
 */
struct smc_link {
	struct smc_group *group;
	struct smc_rdma_port port;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
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
	struct smc_registration registration;
	struct mutex verbs_lock;

	spinlock_t lock;
	bool up;
	bool broken;
	u64 free_slots;
	u64 quiet_slots;
	unsigned int n_signalled;
	unsigned long last_sent;
	struct delayed_work stall;
	struct list_head starved;
	bool llc_starved;
	wait_queue_head_t slot_wait;
	struct smc_send_slot send[SMC_SEND_SLOTS];
	struct ib_cqe write_cqe;
	struct smc_recv_slot recv[SMC_RECV_SLOTS];
	struct smc_dma_area sent;
	struct smc_dma_area received;
	struct smc_dma_area overflow;
	u8 large[SMC_LLC_V2_MAX_LEN];
	unsigned long last_rx;
};

/**
 * smc_link_create() - a link with its queue pair in state INIT, receives posted
 * @group: it will belong to
 * @port: to use; copied
 *
 * Context: process, may sleep.
 * Return: the link or an ERR_PTR.
 */
struct smc_link *smc_link_create(struct smc_group *group, const struct smc_rdma_port *port);

/**
 * smc_link_stop() - destroy the queue pair: nothing is sent or received any more
 * @link: any posts to it fail from now on
 *
 * Destroyed rather than drained: soft-RoCE of Linux 6.1 may never flush a queue pair in
 * error.
 *
 * Context: process, may sleep.
 */
void smc_link_stop(struct smc_link *link);

/**
 * smc_link_release() - give the device's resources back
 * @link: stopped, and all memory regions on it deregistered
 *
 * Context: process, may sleep.
 */
void smc_link_release(struct smc_link *link);

/**
 * smc_link_to_rtr() - ready to receive from @peer
 * @link: in state INIT
 * @peer: what its CLC message said
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_link_to_rtr(struct smc_link *link, const struct smc_link_peer *peer);

/**
 * smc_link_to_rts() - ready to send
 * @link: link
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_link_to_rts(struct smc_link *link);

/**
 * smc_link_register() - make a mapped memory region usable on this link
 * @link: in state RTS
 * @mr: mapped by ib_map_mr_sg()
 * @access: IB_ACCESS_*
 *
 * Context: process, may sleep up to 2 s. Callers on one link exclude each other, and see that
 * none is under way.
 * Return: 0 or -errno. After -ETIMEDOUT the region stays as it is while smc_link_is_registering().
 */
int smc_link_register(struct smc_link *link, struct ib_mr *mr, int access);

/**
 * smc_link_is_registering() - whether a work request may still refer to a region
 * @link: any; for one that has stopped it does not count
 *
 * Context: any, but not while another calls smc_link_register().
 */
bool smc_link_is_registering(struct smc_link *link);

#endif
