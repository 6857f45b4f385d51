/* SPDX-License-Identifier: GPL-2.0 */
/* A connection over SMC-R: its stream, its elements, and the peer's token, key and address. */
#ifndef SMC_RDMA_CONN_H
#define SMC_RDMA_CONN_H

#include "mr_buffer.h"
#include "stream/stream.h"
#include "wire/clc.h"

struct smc_rdma_group;
struct sk_buff;

/**
 * struct smc_rdma_conn - a connection over SMC-R
 * @stream: byte stream; has the reference count
 * @lock: the stream's lock
 * @rcu: delays the free until look-ups by token are over
 * @group: link group, referenced
 * @rmb: element that the peer writes into
 * @sndbuf: element that this end's writes come from
 * @index: place in the group's table, the low bits of this end's alert token
 * @secret: the other bits of this end's alert token, random
 * @peer_known: what follows is set
 * @peer_token: the peer's alert token
 * @peer_rkey: remote key of the peer's RMB
 * @peer_addr: address of the peer's element
 * @peer_index: index of the peer's element in its RMB, from 1
 * @seq: sequence number of the last CDC message sent; protected by @lock
 * @answered: value of stream.rx.received when that message was sent
 * @tx_wait: node in the link's list of connections that wait for a send slot; under the
 *	link's lock
 */
struct smc_rdma_conn {
	struct smc_stream stream;
	spinlock_t lock;
	struct rcu_head rcu;
	struct smc_rdma_group *group;
	struct smc_element rmb;
	struct smc_element sndbuf;
	u32 index;
	u32 secret;
	bool peer_known;
	u32 peer_token;
	u32 peer_rkey;
	u64 peer_addr;
	u8 peer_index;
	u16 seq;
	u64 answered;
	struct list_head tx_wait;
};

/**
 * smc_rdma_conn_create() - create a connection with its RMB element and alert token
 * @group: group with a reservation and a reference of the caller; both pass to the
 *	connection, even if this fails
 * @rmb_class: wanted size class of the RMB element
 * @memcg: control group to charge, or NULL
 *
 * Context: process, may sleep.
 * Return: the connection, with a reference to its stream, or an ERR_PTR.
 */
struct smc_rdma_conn *smc_rdma_conn_create(struct smc_rdma_group *group, u8 rmb_class,
					   struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_alloc_sndbuf() - allocate the send buffer before the peer is known
 * @conn: connection
 * @size_class: wanted size class; of a larger send buffer than the peer's element, only a part as
 *	large as that element is used
 * @memcg: control group to charge, or NULL
 *
 * Context: process, may sleep.
 * Return: 0, or an error of smc_mr_buffers_alloc().
 */
int smc_rdma_conn_alloc_sndbuf(struct smc_rdma_conn *conn, u8 size_class, struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_set_peer() - store the peer's part of the CLC message
 * @conn: connection
 * @r: the peer's values, checked here
 * @sndbuf_class: wanted size class of the send buffer, if there is none yet
 * @memcg: control group to charge, or NULL
 *
 * If the peer may have sent something before, the answer goes out only with the next
 * smc_stream_on_tx_room().
 *
 * Context: process, may sleep.
 * Return: 0; -EPROTO if the peer's values are impossible; -EADDRINUSE if another connection uses
 * the element, whose end calls wake_up_var() for the group's connections; or an error of the link.
 */
int smc_rdma_conn_set_peer(struct smc_rdma_conn *conn, const struct smc_clc_r *r, u8 sndbuf_class,
			    struct mem_cgroup *memcg);

/**
 * smc_rdma_conn_describe() - fill in this end's part of the CLC message
 * @conn: connection
 * @r: filled
 */
void smc_rdma_conn_describe(const struct smc_rdma_conn *conn, struct smc_clc_r *r);

/**
 * smc_rdma_conn_quarantine() - quarantine the elements: they are not reused until the link ends
 * @conn: connection that is not over yet
 *
 * The group is retired, and ends with its last connection.
 *
 * Context: any but hard interrupt.
 */
void smc_rdma_conn_quarantine(struct smc_rdma_conn *conn);

/**
 * smc_rdma_conn_get() - find a connection by its alert token
 * @group: group of the link
 * @token: alert token of this end
 *
 * Context: any but hard interrupt.
 * Return: the connection with a reference to its stream, or NULL.
 */
struct smc_rdma_conn *smc_rdma_conn_get(struct smc_rdma_group *group, u32 token);

/**
 * smc_rdma_conn_next() - the connections of a group, one after the other
 * @group: group
 * @index: place of the last one in the group's table; 0: the first is wanted
 *
 * Context: any but hard interrupt.
 * Return: the next one with a reference to its stream, or NULL.
 */
struct smc_rdma_conn *smc_rdma_conn_next(struct smc_rdma_group *group, unsigned long *index);

/**
 * smc_rdma_conn_receive() - a CDC message arrived on the group's link
 * @group: group
 * @cdc: message, not checked yet
 *
 * Context: softirq.
 */
void smc_rdma_conn_receive(struct smc_rdma_group *group, const struct smc_cdc *cdc);

#endif
