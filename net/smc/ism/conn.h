/* SPDX-License-Identifier: GPL-2.0 */
/* A connection over SMC-D: a stream, its element, and the peer's element. */
#ifndef SMC_ISM_CONN_H
#define SMC_ISM_CONN_H

#include <linux/rhashtable-types.h>

#include "memory/buffer.h"
#include "stream/stream.h"
#include "wire/clc.h"
#include "wire/dmbe.h"

struct mem_cgroup;
struct smc_ism_group;

/**
 * struct smc_dmbe - an element of a DMB in use
 * @users: connections that use the element's memory: the one that reads it, and the one that writes
 *	to it; the last of them returns the element
 * @el: element in the DMB
 * @rcu: defers the writer's smc_dmbe_unuse() until no copy is in progress
 * @ref: references to this struct, and so to @lock: all @users together hold one, and each stream
 *	that uses @lock holds one
 * @lock: lock of the stream that reads the element. If the streams of both ends share a lock, both
 *	use the lock of the element that the server reads
 */
struct smc_dmbe {
	refcount_t users;
	struct smc_element el;
	struct rcu_head rcu;
	struct kref ref;
	spinlock_t lock;
};

/**
 * struct smc_ism_conn - a connection
 * @stream: byte stream; has the reference count
 * @group: link group, referenced
 * @siblings: entry in the group's list until the stream is over; under smc_ism_lgrs.lock
 * @dmbe: element that the peer writes into; this connection is one of its users
 * @peer_dmbe: element of the peer, which this end writes into; this connection is one of its users.
 *	NULL until it is attached, and after smc_ism_conn_detach()
 * @lock_owner: element, @dmbe or @peer_dmbe, whose lock is the stream's lock; referenced
 * @token: token of this end's element
 * @index: index of this end's element, from 0
 * @peer_token: token of the peer's element
 * @peer_index: index of the peer's element
 * @link_id: id by which messages name the group; the server chooses it
 * @entry: entry in the device's table of elements
 * @rcu: frees the structure after searches of that table are over
 */
struct smc_ism_conn {
	struct smc_stream stream;
	struct smc_ism_group *group;
	struct list_head siblings;
	struct smc_dmbe *dmbe;
	struct smc_dmbe *peer_dmbe;
	struct smc_dmbe *lock_owner;
	u64 token;
	u8 index;
	u64 peer_token;
	u8 peer_index;
	u32 link_id;
	struct rhash_head entry;
	struct rcu_head rcu;
};

static inline struct smc_ism_conn *smc_ism_conn_of(struct smc_stream *st)
{
	return container_of(st, struct smc_ism_conn, stream);
}

/**
 * smc_dmbe_get() - take a reference to an element's lock
 * @dmbe: element that the caller has a reference to, or whose stream's lock it holds
 *
 * Context: any.
 */
void smc_dmbe_get(struct smc_dmbe *dmbe);

/**
 * smc_dmbe_put() - drop a reference to an element's lock
 * @dmbe: element; its struct is freed with the last reference
 *
 * Context: any.
 */
void smc_dmbe_put(struct smc_dmbe *dmbe);

/**
 * smc_dmbe_use() - add a user, which reads or writes the element
 * @dmbe: element with a user that cannot end meanwhile
 *
 * Context: any.
 */
void smc_dmbe_use(struct smc_dmbe *dmbe);

/**
 * smc_dmbe_unuse() - remove a user; the last one returns the element
 * @dmbe: element, or NULL
 *
 * Context: any but hard interrupt.
 */
void smc_dmbe_unuse(struct smc_dmbe *dmbe);

static inline u8 *smc_dmbe_ring(const struct smc_dmbe *dmbe)
{
	return smc_element_mem(&dmbe->el) + SMC_DMBE_CONTROL_LEN;
}

static inline u32 smc_dmbe_ring_bytes(const struct smc_dmbe *dmbe)
{
	return smc_buffer_element_bytes(dmbe->el.buffer) - SMC_DMBE_CONTROL_LEN;
}

static inline struct smc_dmbe_control *smc_dmbe_control(const struct smc_dmbe *dmbe)
{
	return (struct smc_dmbe_control *)smc_element_mem(&dmbe->el);
}

/**
 * smc_ism_conn_create() - create a connection with an element that no peer knows yet
 * @group: link group. The connection takes over one reservation and one reference of the caller; if
 *	no connection is created, this function drops both
 * @size_class: wanted size class of the element
 * @memcg: control group to charge, or NULL
 * @nowait: take an element only if one is free
 *
 * Context: process, may sleep.
 * Return: the connection, with a reference to its stream, or an ERR_PTR.
 */
struct smc_ism_conn *smc_ism_conn_create(struct smc_ism_group *group, u8 size_class,
					 struct mem_cgroup *memcg, bool nowait);

/**
 * smc_ism_conn_open() - let the peer find the connection's element
 * @conn: connection that is not in its group's list yet
 *
 * Context: process.
 * Return: 0, -ENOLINK if the stream or the group has ended, or an error of the device.
 */
int smc_ism_conn_open(struct smc_ism_conn *conn);

/**
 * smc_ism_conn_attach() - attach to the element that the peer's CLC message names
 * @conn: connection that is being set up, and has no element of the peer yet
 * @peer: SMC-D part of the message
 *
 * Context: process.
 * Return: 0, or -EPROTO if there is no such element, or the element is not for this connection.
 */
int smc_ism_conn_attach(struct smc_ism_conn *conn, const struct smc_clc_d *peer);

/**
 * smc_ism_conn_describe() - fill in the SMC-D part of this end's CLC message
 * @conn: connection; at a client, its link id is already that of the ACCEPT
 * @d: filled
 */
void smc_ism_conn_describe(const struct smc_ism_conn *conn, struct smc_clc_d *d);

/**
 * smc_ism_conn_detach() - end this end's use of the peer's element
 * @conn: connection whose stream is over
 *
 * The use ends after a grace period of RCU, because a copy into the element may be in progress. The
 * peer has a use of its own, and may still read bytes that arrived before. Without this call, an
 * application that keeps its socket open would also keep the element in use. If the application has
 * closed the socket in good order, this function does nothing: the stream is freed soon, and that
 * ends the use.
 *
 * Context: softirqs off, the stream's lock held.
 */
void smc_ism_conn_detach(struct smc_ism_conn *conn);

/**
 * smc_ism_conn_receive() - handle a write of the peer to the control area of
 * this end's element
 * @conn: connection whose stream is the local peer of the one that has published
 *
 * Context: softirqs off, the stream's lock held.
 */
void smc_ism_conn_receive(struct smc_ism_conn *conn);

#endif
