/* SPDX-License-Identifier: GPL-2.0 */
/* A connection over SMC-R: a stream, its elements, and what the peer calls it. */
#ifndef SMC_RDMA_CONN_H
#define SMC_RDMA_CONN_H

#include "buffer.h"
#include "stream/stream.h"
#include "wire/clc.h"

struct smc_group;
struct sk_buff;

/**
 * struct smc_rdma_conn - a connection
 * @stream: its byte stream; holds the reference count
 * @lock: the stream's
 * @rcu: lookups by token run without a lock
 * @group: link group, referenced
 * @rmb: element that the peer writes into
 * @mirror: element that this end's writes come from
 * @index: place in the group's table, the low bits of this end's alert token
 * @secret: its other bits, random
 * @peer_known: what follows is set
 * @peer_token: the peer's alert token
 * @peer_rkey: key of the peer's RMB
 * @peer_addr: address of the peer's element
 * @peer_index: its index in the peer's RMB, from 1
 * @seq: of the last CDC message; protected by @lock
 * @answered: stream.rx.received when that message was made
 * @starved: in the link's list, under its lock, when no send slot was free
 */
struct smc_rdma_conn {
	struct smc_stream stream;
	spinlock_t lock;
	struct rcu_head rcu;
	struct smc_group *group;
	struct smc_element rmb;
	struct smc_element mirror;
	u32 index;
	u32 secret;
	bool peer_known;
	u32 peer_token;
	u32 peer_rkey;
	u64 peer_addr;
	u8 peer_index;
	u16 seq;
	u64 answered;
	struct list_head starved;
};

/**
 * smc_rdma_conn_create() - a connection that the peer can be told of
 * @group: with one reservation and one reference of the caller's, which go over to the
 *	connection, also in the case of an error
 * @rmb_class: size class wanted for the RMB element
 * @memcg: control group to charge, or NULL
 *
 * Context: process, may sleep.
 * Return: the connection, with a reference to its stream, or an ERR_PTR.
 */
struct smc_rdma_conn *smc_rdma_conn_create(struct smc_group *group, u8 rmb_class,
					   struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_take_mirror() - take the mirror before the peer is known
 * @conn: connection
 * @size_class: wanted for it; no more of it is used than the peer's element has
 * @memcg: control group to charge, or NULL
 *
 * Context: process, may sleep.
 * Return: 0, or an error of smc_buffers_take().
 */
int smc_rdma_conn_take_mirror(struct smc_rdma_conn *conn, u8 size_class, struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_set_peer() - note what the peer's CLC message says; take a mirror if need be
 * @conn: connection
 * @r: what it says, checked here
 * @mirror_class: size class wanted for the mirror
 * @memcg: control group to charge, or NULL
 *
 * A peer that may have sent something before is answered only after smc_stream_on_tx_room().
 *
 * Context: process, may sleep.
 * Return: 0; -EPROTO if the peer's values are impossible; an error of the link.
 */
int smc_rdma_conn_set_peer(struct smc_rdma_conn *conn, const struct smc_clc_r *r, u8 mirror_class,
			    struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_describe() - fill in what this end's CLC message says
 * @conn: connection
 * @r: filled
 */
void smc_rdma_conn_describe(const struct smc_rdma_conn *conn, struct smc_clc_r *r);

/**
 * smc_rdma_conn_spend() - give the elements to nobody else: they are in use until the link ends
 * @conn: not over yet
 *
 * Its group ends with the connections that it has.
 *
 * Context: any but hard interrupt.
 */
void smc_rdma_conn_spend(struct smc_rdma_conn *conn);

/**
 * smc_rdma_conn_get() - the connection with an alert token
 * @group: the link's group
 * @token: alert token of this end
 *
 * Context: any but hard interrupt.
 * Return: the connection with a reference to its stream, or NULL.
 */
struct smc_rdma_conn *smc_rdma_conn_get(struct smc_group *group, u32 token);

/**
 * smc_rdma_conn_next() - the connections of a group, one after the other
 * @group: group
 * @index: place of the last one in the group's table; 0: the first is wanted
 *
 * Context: any but hard interrupt.
 * Return: the next one with a reference to its stream, or NULL.
 */
struct smc_rdma_conn *smc_rdma_conn_next(struct smc_group *group, unsigned long *index);

/**
 * smc_rdma_conn_receive() - a CDC message arrived on the group's link
 * @group: group
 * @cdc: message, not yet checked
 *
 * Context: softirq.
 */
void smc_rdma_conn_receive(struct smc_group *group, const struct smc_cdc *cdc);

#endif
