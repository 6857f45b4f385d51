/* SPDX-License-Identifier: GPL-2.0 */
/* The messages of a link: 44 bytes by RDMA SEND, LLC and CDC alike. */
#ifndef SMC_RDMA_MESSAGE_H
#define SMC_RDMA_MESSAGE_H

#include "link.h"

/**
 * smc_link_alloc_messages() - memory for the messages of a link, mapped for its device
 * @link: link
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM; nothing is left to free then.
 */
int smc_link_alloc_messages(struct smc_link *link);

/**
 * smc_link_free_messages() - undo it; the queue pair is gone, or was never made
 * @link: link
 *
 * Context: process.
 */
void smc_link_free_messages(struct smc_link *link);

/**
 * smc_link_post_recvs() - post all receives of a link whose queue pair is in INIT
 * @link: link
 *
 * Return: 0 or -errno.
 */
int smc_link_post_recvs(struct smc_link *link);

/**
 * smc_link_break() - end the group of a link that has failed
 * @link: link
 * @err: positive errno for the connections
 *
 * Nothing is sent any more. Those who wait to send, or for a message of the peer, give up. A group
 * that is only being made ends when it is listed.
 *
 * Context: any.
 */
void smc_link_break(struct smc_link *link, int err);

/**
 * smc_link_get_slot() - take a free send slot
 * @link: to send on
 * @conn: to be told, by smc_stream_on_tx_room(), when there is one again, and by
 *	smc_stream_on_tx_done() of the message unless that is quiet; NULL for LLC
 * @may_be_quiet: nothing waits for the message's completion
 *
 * Context: softirqs off.
 * Return: the slot, -EAGAIN, or -ENOLINK when the link is down.
 */
struct smc_send_slot *smc_link_get_slot(struct smc_link *link, struct smc_rdma_conn *conn,
					bool may_be_quiet);

/**
 * smc_send_message() - where to put the message of a slot
 * @slot: slot
 */
u8 *smc_send_message(const struct smc_send_slot *slot);

/**
 * smc_link_post() - send the message in a slot, after some writes
 * @slot: filled; its completion gives it back, or another's if it is quiet
 * @writes: chain of unsignalled work requests to go before it, or NULL
 * @last: last of them
 *
 * Context: softirqs off.
 * Return: 0, or -ENOLINK when the link is or goes down. The slot is taken either way, and not to
 * be looked at any more.
 */
int smc_link_post(struct smc_send_slot *slot, struct ib_send_wr *writes, struct ib_send_wr *last);

/**
 * smc_link_try_send_llc() - send an LLC message if there is a slot
 * @link: in state RTS
 * @message: SMC_MESSAGE_LEN bytes
 *
 * Context: process.
 * Return: 0; -ENOLINK; or -EAGAIN, and smc_llc_go_on() is called when there is one.
 */
int smc_link_try_send_llc(struct smc_link *link, const u8 *message);

/**
 * smc_link_send_llc() - send an LLC message, waiting for a slot
 * @link: in state RTS
 * @message: SMC_MESSAGE_LEN bytes
 *
 * Context: process, may sleep.
 * Return: 0, -ETIMEDOUT or -ENOLINK.
 */
int smc_link_send_llc(struct smc_link *link, const u8 *message);

/**
 * smc_link_flush() - wait for the completions asked for so far
 * @link: of a dead group
 *
 * Context: process, may sleep until there is no smc_group_time_left().
 */
void smc_link_flush(struct smc_link *link);

/**
 * smc_link_drop_slots() - forget what was under way on a stopped link
 * @link: link
 *
 * Context: process; the completion queue is gone.
 */
void smc_link_drop_slots(struct smc_link *link);

#endif
