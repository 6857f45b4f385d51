/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link layer control: how the two ends of a group manage its link and the keys of
 * its RMBs (RFC 7609 section 3.3). Requests of the peer are answered in a work; of
 * ours one is outstanding at a time.
 */
#ifndef SMC_RDMA_LLC_H
#define SMC_RDMA_LLC_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "wire/llc.h"

struct smc_call_off;
struct smc_group;

#define SMC_LLC_QUEUE	16	/* requests of a peer waiting for their answer */

struct smc_llc_queued {
	u8 message[SMC_LLC_LEN];
	struct smc_llc_msg parsed;
};

/**
 * struct smc_llc - link layer control of a group
 * @request_lock: one request of ours at a time
 * @lock: protects what follows; softirqs off
 * @wait: for what is awaited
 * @awaited: type that is waited for, or 0
 * @awaited_flags: SMC_LLC_REPLY for a reply, 0 for a request
 * @request: of ours that a reply is waited for; NULL: a request of the peer's is
 * @has_come: whether it came
 * @came: what was waited for
 * @peer_left: the peer sent DELETE LINK of the link, of its own accord or as a reply
 * @ask_again: jiffies when the peer may be asked about a key again; under the group's buffer lock
 * @queue: requests to answer
 * @head: position of the next one
 * @n: how many
 * @tests: how many TEST LINK were sent
 * @work: answers them
 */
struct smc_llc {
	struct mutex request_lock;
	spinlock_t lock;
	wait_queue_head_t wait;
	u8 awaited;
	u8 awaited_flags;
	const struct smc_llc_msg *request;
	bool has_come;
	struct smc_llc_msg came;
	bool peer_left;
	unsigned long ask_again;
	struct smc_llc_queued queue[SMC_LLC_QUEUE];
	unsigned int head;
	unsigned int n;
	atomic_t tests;
	struct work_struct work;
};

/**
 * smc_llc_init() - nothing is awaited and nothing to be answered
 * @group: zeroed in this part
 */
void smc_llc_init(struct smc_group *group);

/**
 * smc_llc_finish() - have the peer's requests answered, if the link takes answers
 * @group: group
 *
 * Context: may sleep. The link is up.
 */
void smc_llc_finish(struct smc_group *group);

/**
 * smc_llc_stop() - wait until no answer is under way; the link is stopped
 * @group: group
 */
void smc_llc_stop(struct smc_group *group);

/**
 * smc_llc_wake() - let whoever waits for the peer see that the group is dead
 * @group: group
 *
 * Context: any.
 */
void smc_llc_wake(struct smc_group *group);

/**
 * smc_llc_go_on() - answer the peer's requests, if there are any
 * @group: group
 *
 * Context: any; a work of the group's answers them.
 */
void smc_llc_go_on(struct smc_group *group);

/**
 * smc_llc_receive() - an LLC message arrived
 * @group: group
 * @message: its first SMC_LLC_LEN bytes
 * @len: bytes received
 *
 * Context: softirq.
 */
void smc_llc_receive(struct smc_group *group, const u8 *message, u32 len);

/**
 * smc_llc_confirm_link_server() - CONFIRM LINK as server, and its reply
 * @group: group
 * @off: ends the wait for that
 *
 * Context: process, may sleep up to 2 s.
 * Return: 0, -ETIMEDOUT, -ENOLINK, -ECANCELED.
 */
int smc_llc_confirm_link_server(struct smc_group *group, const struct smc_call_off *off);

/**
 * smc_llc_expect_confirm_link() - be ready for the server's CONFIRM LINK
 * @group: group
 *
 * To be called before the server can send it; smc_llc_confirm_link_client() follows.
 */
void smc_llc_expect_confirm_link(struct smc_group *group);

/**
 * smc_llc_confirm_link_client() - wait for the server's CONFIRM LINK
 * @group: group
 * @off: ends the wait
 *
 * Context: process, may sleep up to 4 s.
 * Return: 0 with the link's number and the peer's limits noted; -ETIMEDOUT, -ENOLINK, -ECANCELED.
 */
int smc_llc_confirm_link_client(struct smc_group *group, const struct smc_call_off *off);

/**
 * smc_llc_confirm_link_reply() - answer it, once the link can send
 * @group: group
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_llc_confirm_link_reply(struct smc_group *group);

/**
 * smc_llc_offer_no_second_link() - what a version 1 client waits for after first contact
 * @group: group
 *
 * The ADD LINK names the link there is already. A client with one adapter rejects it, and what
 * another one accepts is taken back by DELETE LINK.
 *
 * Context: process, may sleep up to 2 s for the answer, and as long for each message's slot.
 */
void smc_llc_offer_no_second_link(struct smc_group *group);

/**
 * smc_llc_may_ask() - whether the peer has not just left a request about a key unanswered
 * @group: group
 *
 * Context: the group's buffer lock is held.
 */
bool smc_llc_may_ask(const struct smc_group *group);

/**
 * smc_llc_confirm_rkey() - tell the peer of a new RMB
 * @group: group
 * @rkey: key of the RMB
 * @addr: where it begins, as the peer is to write to it
 *
 * Context: process, may sleep up to 2 s.
 * Return: 0, -EREMOTEIO if the peer refuses, -ETIMEDOUT, also without waiting where it has just
 * not answered, -ENOLINK.
 */
int smc_llc_confirm_rkey(struct smc_group *group, u32 rkey, u64 addr);

/**
 * smc_llc_forget_rkeys() - tell the peer of RMBs that go, and let it answer
 * @group: group
 * @rkeys: keys of the RMBs
 * @n: how many, SMC_LLC_DELETE_RKEYS at the most
 *
 * Context: process, may sleep up to 2 s.
 */
void smc_llc_forget_rkeys(struct smc_group *group, const u32 *rkeys, unsigned int n);

/**
 * smc_llc_test_link() - probe a silent link
 * @group: group
 *
 * Context: process, may sleep up to 2 s.
 * Return: 0, -ETIMEDOUT, -ENOLINK.
 */
int smc_llc_test_link(struct smc_group *group);

/**
 * smc_llc_delete_all() - tell the peer that the group ends, and let it say so, too
 * @group: dead; one whose peer has left is told nothing
 *
 * Context: process, may sleep until there is no smc_group_time_left().
 */
void smc_llc_delete_all(struct smc_group *group);

#endif
