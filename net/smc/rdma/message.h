/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The messages of a link, LLC and CDC, sent by RDMA SEND. They are 44 bytes long, except for a few
 * LLC messages of version 2.
 */
#ifndef SMC_RDMA_MESSAGE_H
#define SMC_RDMA_MESSAGE_H

#include "link.h"

/**
 * smc_link_alloc_messages() - allocate a link's message buffers and map them for the device
 * @link: new link, which holds its port
 *
 * Context: process, may sleep.
 * Return: 0, or -ENOMEM with nothing left to free.
 */
int smc_link_alloc_messages(struct smc_link *link);

/**
 * smc_link_free_messages() - free a link's message buffers
 * @link: link whose queue pair is gone, or was never made
 *
 * Context: process.
 */
void smc_link_free_messages(struct smc_link *link);

/**
 * smc_link_post_recvs() - post all receives of a link
 * @link: link whose queue pair is in state INIT
 *
 * Return: 0 or -errno.
 */
int smc_link_post_recvs(struct smc_link *link);

/**
 * smc_link_post_marker() - post a receive that is only flushed
 * @link: link whose queue pair is in the error state, and not destroyed; @verbs_lock is held
 *
 * The peer may have used all other receives, as none is posted again once the link is broken. Then
 * only this one shows, when it is flushed, that the messages before it are handled.
 */
void smc_link_post_marker(struct smc_link *link);

/**
 * smc_link_break() - end a link that has failed, and the group if it has no other link
 * @link: link that can't be freed during the call; nothing happens if it is broken already
 * @err: positive errno for the connections
 * @why: reason of the failure, for the kernel's log and tracepoints
 *
 * Nothing is sent on the link any more. Threads that wait to send, or wait for a message from the
 * peer, give up. If the group is still being created, it ends as soon as it is listed.
 *
 * Context: any.
 */
void smc_link_break(struct smc_link *link, int err, const char *why);

/**
 * smc_link_on_failed() - end a link after one of its work requests has failed
 * @link: link that the work request was posted on
 * @request: kind of the work request, for the kernel's log. If a queue pair fails, all its work
 *	requests are flushed. The kind of the first one may show which end has refused a request
 * @status: status of the work request's completion
 *
 * Context: any.
 */
void smc_link_on_failed(struct smc_link *link, const char *request, enum ib_wc_status status);

/**
 * smc_link_watch_tx() - check the send timeout soon, as another link can take over now
 * @link: link that works; with smc_rdma_lgrs.lock held
 *
 * Context: any.
 */
void smc_link_watch_tx(struct smc_link *link);

/**
 * smc_link_get_slot() - take a free send slot
 * @link: link to send on
 * @conn: connection that sends, or NULL for LLC. After -EAGAIN, smc_stream_on_tx_room() is called
 *	once the connection can send. smc_stream_on_tx_done() is called once the message has
 *	completed, unless the message is unsignaled
 * @bulk_bytes: number of bytes that the message reports, if they count towards the link's limit of
 *	bulk bytes; otherwise 0
 * @may_be_unsignaled: the caller needs no completion of the message. Must be false if @bulk_bytes
 *	is not 0
 *
 * Connections wait in two lists: one for a slot, one for room for bulk bytes. Each list is served
 * in the order in which its connections began to wait. The two lists take turns.
 *
 * Context: softirqs off.
 * Return: the slot; -EAGAIN if the caller has to wait; or -ENOLINK if the link is down.
 */
struct smc_send_slot *smc_link_get_slot(struct smc_link *link, struct smc_rdma_conn *conn,
					u32 bulk_bytes, bool may_be_unsignaled);

/* Whether several connections use a link: the sender changed in the last tenth of a second. */
static inline bool smc_link_is_shared(const struct smc_link *link)
{
	return time_before(jiffies, READ_ONCE(link->shared_at) + HZ / 10);
}

/* Whether a link over soft-RoCE has lately lost packets. */
static inline bool smc_link_is_lossy(const struct smc_link *link)
{
	return READ_ONCE(link->bulk.lossy);
}

/**
 * smc_send_message() - get the buffer for a slot's message
 * @slot: slot that smc_link_get_slot() has returned
 */
u8 *smc_send_message(const struct smc_send_slot *slot);

/**
 * smc_send_slot_drop_conn() - forget a slot's connection, which is then not told of the completion
 * @slot: slot with a connection; the caller has another reference to the connection
 *
 * Context: any.
 */
void smc_send_slot_drop_conn(struct smc_send_slot *slot);

/**
 * smc_link_post() - post the message of a slot, after RDMA writes
 * @slot: slot whose message is filled in. The completion of the message frees the slot. If the
 *	message is unsignaled, the completion of the next signaled message frees the slot
 * @writes: chain of unsignaled work requests to post before the message, or NULL
 * @last: last work request of the chain
 *
 * Context: softirqs off.
 * Return: 0, or -ENOLINK if the link is down or breaks now. After success and after failure, the
 * slot no longer belongs to the caller.
 */
int smc_link_post(struct smc_send_slot *slot, struct ib_send_wr *writes, struct ib_send_wr *last);

/**
 * smc_link_try_send_llc() - send an LLC message if there is a free slot
 * @link: link in state RTS
 * @message: SMC_MESSAGE_LEN bytes
 *
 * Context: process.
 * Return: 0; -ENOLINK; or -EAGAIN if no slot is free. After -EAGAIN, smc_llc_resume() is called
 * once a slot is free.
 */
int smc_link_try_send_llc(struct smc_link *link, const u8 *message);

/**
 * smc_link_send_large() - send an LLC message of any length if there is a free slot
 * @link: link in state RTS
 * @message: message, which is copied
 * @len: length of the message
 *
 * Context: process, may sleep; with the group's buffer lock.
 * Return: 0; -EAGAIN if no slot is free; -EBUSY while another large message is in flight; -ENOMEM;
 * or -ENOLINK.
 */
int smc_link_send_large(struct smc_link *link, const u8 *message, size_t len);

/**
 * smc_link_send_llc() - send an LLC message, waiting for a free slot
 * @link: link in state RTS
 * @message: SMC_MESSAGE_LEN bytes
 *
 * Context: process, may sleep.
 * Return: 0, -ETIMEDOUT or -ENOLINK.
 */
int smc_link_send_llc(struct smc_link *link, const u8 *message);

/**
 * smc_link_flush() - wait until all signaled messages have completed
 * @link: link of a dead group
 *
 * Context: process, may sleep as long as smc_rdma_group_time_left() allows.
 */
void smc_link_flush(struct smc_link *link);

/**
 * smc_link_drop_slots() - free all send slots, and forget the connections that use or await one
 * @link: link that is down
 *
 * Context: process.
 */
void smc_link_drop_slots(struct smc_link *link);

#endif
