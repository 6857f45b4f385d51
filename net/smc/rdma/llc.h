/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link layer control (LLC): the messages with which the two ends of a group manage its links and
 * the keys of its RMBs (RFC 7609 section 3.3). A work item answers the peer's requests. This end
 * waits for the reply to at most one of its own requests at a time.
 */
#ifndef SMC_RDMA_LLC_H
#define SMC_RDMA_LLC_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "wire/llc.h"

struct smc_cancel;
struct smc_link;
struct smc_mr_buffer;
struct smc_rdma_group;

#define SMC_LLC_QUEUE	16	/* limit of the peer's requests that wait for an answer */

struct smc_llc_queued {
	struct smc_link *link;	/* link of the request and of the answer; referenced */
	u8 message[SMC_LLC_LEN];
	struct smc_llc_msg parsed;
	bool is_done;		/* the keys of the request are noted; only the reply is missing */
};

/**
 * struct smc_llc - link layer control of a group
 * @request_lock: held while a thread of this end sends a request and waits for the reply
 * @lock: protects the fields from @link to @n, except @ask_again; taken with softirqs off
 * @wait: wait queue for the expected message
 * @link: link on which a message is expected, or was last expected
 * @awaited: type of the expected message, or 0
 * @awaited_flags: SMC_LLC_REPLY for a reply, 0 for a request
 * @request: request whose reply is expected; NULL if a request is expected
 * @has_come: the expected message has arrived
 * @came: copy of the message that has arrived
 * @little_endian: the peer has sent a version 2 message, other than ADD LINK, with a little-endian
 *	length
 * @has_offer: the server's ADD LINK waits for an answer
 * @is_answering: the ADD LINK in @offer is being answered
 * @offer: copy of the server's ADD LINK to which @has_offer refers
 * @add_link: the peer's last ADD LINK, request or reply; in version 2 only a large one, which has
 *	RTokens
 * @add_link_by: index of the link that @add_link came on
 * @peer_left: the peer sent a DELETE LINK that ends the group: a request for all links or for the
 *	only link that works, or the reply to this end's DELETE LINK for all links
 * @ask_again: time in jiffies before which this end sends no further request about a key; under the
 *	group's buffer lock
 * @queue: ring of the peer's requests that wait for an answer
 * @head: index of the oldest request in @queue
 * @n: number of requests in @queue
 * @work: answers the peer's requests
 */
struct smc_llc {
	struct mutex request_lock;
	spinlock_t lock;
	wait_queue_head_t wait;
	struct smc_link *link;
	u8 awaited;
	u8 awaited_flags;
	const struct smc_llc_msg *request;
	bool has_come;
	struct smc_llc_msg came;
	bool little_endian;
	bool has_offer;
	bool is_answering;
	struct smc_llc_msg offer;
	u8 add_link[SMC_LLC_ADD_LINK_LEN(SMC_LLC_ADD_LINK_RKEYS)];
	u8 add_link_by;
	bool peer_left;
	unsigned long ask_again;
	struct smc_llc_queued queue[SMC_LLC_QUEUE];
	unsigned int head;
	unsigned int n;
	struct work_struct work;
};

/**
 * smc_llc_init() - initialise the link layer control of a group
 * @group: group whose @llc is zeroed
 */
void smc_llc_init(struct smc_rdma_group *group);

/**
 * smc_llc_finish() - wait until the peer's requests are answered as far as possible
 * @group: group whose links are up
 *
 * Context: process, may sleep.
 */
void smc_llc_finish(struct smc_rdma_group *group);

/**
 * smc_llc_stop() - stop the work item that answers requests
 * @group: group whose links are stopped
 */
void smc_llc_stop(struct smc_rdma_group *group);

/**
 * smc_llc_wake() - wake the threads that wait for the peer, as the group or a link may be over
 * @group: group whose threads wait
 *
 * Context: any.
 */
void smc_llc_wake(struct smc_rdma_group *group);

/**
 * smc_llc_resume() - queue the work item that answers the peer's requests
 * @group: group with requests to answer, or none
 *
 * Context: any.
 */
void smc_llc_resume(struct smc_rdma_group *group);

/**
 * smc_llc_receive() - handle an LLC message from the peer
 * @link: link on which it came
 * @message: the whole message
 * @len: its length
 *
 * Context: softirq.
 */
void smc_llc_receive(struct smc_link *link, const u8 *message, u32 len);

/**
 * smc_llc_confirm_link_server() - send CONFIRM LINK as server, and wait for the reply
 * @link: link of a server, not confirmed yet
 * @off: condition that cancels the wait, or NULL
 *
 * Context: process, may sleep up to 2 s, or 1 s without @off.
 * Return: 0, with the peer's limits stored; -ETIMEDOUT, -ENOLINK, -ECANCELED; -EPROTO if the reply
 * names a queue pair other than the peer's CLC message or ADD LINK did, or requires eye catchers in
 * elements.
 */
int smc_llc_confirm_link_server(struct smc_link *link, const struct smc_cancel *off);

/**
 * smc_llc_expect_confirm_link() - prepare for the server's CONFIRM LINK
 * @link: link of a client, not confirmed yet
 *
 * Must be called before the server can send CONFIRM LINK. The caller then waits for the message by
 * smc_llc_confirm_link_client().
 */
void smc_llc_expect_confirm_link(struct smc_link *link);

/**
 * smc_llc_confirm_link_client() - wait for the server's CONFIRM LINK
 * @link: link of a client, after smc_llc_expect_confirm_link()
 * @off: condition that cancels the wait, or NULL
 *
 * Context: process, may sleep up to 4 s, or 2 s without @off.
 * Return: 0, with the link's number and the peer's limits stored; -ETIMEDOUT, -ENOLINK, -ECANCELED;
 * -EPROTO if the message names a queue pair other than the peer's CLC message or ADD LINK did, has
 * a link number other than ADD LINK had, or requires eye catchers in elements.
 */
int smc_llc_confirm_link_client(struct smc_link *link, const struct smc_cancel *off);

/**
 * smc_llc_confirm_link_reply() - as client, reply to the server's CONFIRM LINK
 * @link: link in state RTS
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int smc_llc_confirm_link_reply(struct smc_link *link);

/**
 * smc_llc_offer_link() - send ADD LINK as server, and wait for the reply
 * @link: link to send on
 * @message: ADD LINK, large in version 2
 * @len: its length
 * @msg: the fields of @message; after success, those of the reply
 *
 * Context: process, may sleep up to 2 s; with the buffer lock.
 * Return: 0; -ETIMEDOUT, -ENOLINK, or an error of smc_link_send_large().
 */
int smc_llc_offer_link(struct smc_link *link, const u8 *message, size_t len,
		       struct smc_llc_msg *msg);

/**
 * smc_llc_continue_add_link() - send ADD LINK CONTINUATION as server, and wait for the reply
 * @link: link to send on
 * @msg: the message; after success, the reply
 *
 * Context: process, may sleep up to 3 s; with the buffer lock.
 * Return: 0; -ETIMEDOUT or -ENOLINK.
 */
int smc_llc_continue_add_link(struct smc_link *link, struct smc_llc_msg *msg);

/**
 * smc_llc_expect_add_link_cont() - prepare for the server's ADD LINK CONTINUATION
 * @link: link on which the message will come
 *
 * Must be called before the server can send the message.
 */
void smc_llc_expect_add_link_cont(struct smc_link *link);

/**
 * smc_llc_await_add_link_cont() - wait for the server's ADD LINK CONTINUATION
 * @link: link on which the message will come
 * @msg: filled with the message
 *
 * Context: process, may sleep up to 1 s; with the buffer lock.
 * Return: 0; -ETIMEDOUT or -ENOLINK.
 */
int smc_llc_await_add_link_cont(struct smc_link *link, struct smc_llc_msg *msg);

/**
 * smc_llc_reply_add_link_cont() - send ADD LINK CONTINUATION as client
 * @link: link to send on
 * @msg: the message; its reply flag is set here
 *
 * Context: process, may sleep up to 2 s.
 * Return: 0; -ETIMEDOUT or -ENOLINK.
 */
int smc_llc_reply_add_link_cont(struct smc_link *link, struct smc_llc_msg *msg);

/**
 * smc_llc_get_offer() - get the server's ADD LINK that waits for an answer
 * @group: group of a client
 * @offer: filled
 *
 * Return: false if no ADD LINK waits for an answer.
 */
bool smc_llc_get_offer(struct smc_rdma_group *group, struct smc_llc_msg *offer);

/**
 * smc_llc_refuse_link() - refuse the server's ADD LINK
 * @link: link to send on
 *
 * Context: process.
 */
void smc_llc_refuse_link(struct smc_link *link);

/**
 * smc_llc_link_of_offer() - find the link that the server's ADD LINK came on
 * @group: group of a client
 *
 * Context: process; with the buffer lock.
 * Return: the link, or NULL if it does not work any more.
 */
struct smc_link *smc_llc_link_of_offer(struct smc_rdma_group *group);

/**
 * smc_llc_drop_offer() - note that the server's ADD LINK has its answer
 * @group: group of a client
 */
void smc_llc_drop_offer(struct smc_rdma_group *group);

/**
 * smc_llc_add_link_rtokens() - note the peer's RTokens on a new link, from the peer's last ADD LINK
 * @link: new link
 */
void smc_llc_add_link_rtokens(const struct smc_link *link);

/**
 * smc_llc_delete_link() - tell the peer that one link of several ends
 * @link: another link, to send on
 * @number: number of the link that ends
 * @flags: SMC_LLC_DELETE_ORDERLY if the link that ends was in use, else 0
 * @reason: reason of the end
 *
 * Context: process. Nothing is sent if @link has no free slot.
 */
void smc_llc_delete_link(struct smc_link *link, u8 number, u8 flags,
			 enum smc_llc_delete_reason reason);

/**
 * smc_llc_may_request() - whether this end may send a request about a key
 * @group: group whose peer would get it
 *
 * Context: the group's buffer lock is held.
 * Return: false for 10 s after such a request has timed out.
 */
bool smc_llc_may_request(const struct smc_rdma_group *group);

/**
 * smc_llc_confirm_rkey() - announce a new RMB to the peer
 * @group: group with the buffer lock held
 * @rmb: RMB that is mapped on all links of the group
 *
 * Context: process, may sleep up to 2 s for a free slot, and up to 2 s for the reply.
 * Return: 0; -EREMOTEIO if the peer refuses the RMB; -EAGAIN if the peer asks this end to try
 * again, which the peer may do while it adds a link, and this end must then release the buffer lock
 * in between; -ENOLINK; or -ETIMEDOUT, at once if smc_llc_may_request() returns false.
 */
int smc_llc_confirm_rkey(struct smc_rdma_group *group, const struct smc_mr_buffer *rmb);

/**
 * smc_llc_delete_rkeys() - have the peer forget the keys of RMBs, and wait for its reply
 * @group: group with the buffer lock held
 * @rmbs: the RMBs
 * @n: number of RMBs, at most SMC_LLC_DELETE_RKEYS
 *
 * Nothing is sent if smc_llc_may_request() returns false.
 *
 * Context: process, may sleep up to 2 s for a free slot, and up to 2 s for the reply.
 */
void smc_llc_delete_rkeys(struct smc_rdma_group *group, const struct smc_mr_buffer *const *rmbs,
			  unsigned int n);

/**
 * smc_llc_may_leave() - whether another link of the group can take over, and is known to work
 * @link: link from which nothing comes
 * @since: time in jiffies
 *
 * The other link is known to work if something has come from it since @since. Without this check,
 * this end would leave @link even when both links have fallen silent at the same time. If nothing
 * has come, one TEST LINK is sent on the other link, so that a later call may have another result.
 *
 * Context: process, without the lock of a link.
 */
bool smc_llc_may_leave(const struct smc_link *link, unsigned long since);

/**
 * smc_llc_test_link() - send TEST LINK on a silent link
 * @link: link on which nothing was received for a while
 *
 * Nothing waits for the reply: any message that is received shows that the link works. Most callers
 * ignore errors: a peer that acknowledges nothing leaves no free slot, and would not answer either.
 *
 * Context: process.
 * Return: 0; -EAGAIN if no slot is free; or -ENOLINK.
 */
int smc_llc_test_link(struct smc_link *link);

/**
 * smc_llc_delete_all() - tell the peer that the group ends, and wait for its DELETE LINK
 * @group: dead group; nothing is sent if the peer has sent DELETE LINK already
 *
 * Context: process, may sleep as long as smc_rdma_group_time_left() allows.
 */
void smc_llc_delete_all(struct smc_rdma_group *group);

#endif
