/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link groups of SMC-R. The connections between two hosts that were set up in the same direction
 * share a link group (RFC 7609 section 2.2), or several groups if there are many connections.
 *
 * A program that speaks CLC itself can pose as the kernel of its own host, or of another. These
 * checks keep such a program from joining a kernel's link group (Documentation/design.rst gives the
 * reasons):
 * - RToken: an ACCEPT or CONFIRM must name an RMB that the group's peer has announced over the link
 *   (rtoken.h). A message that names another RMB counts as a guess. Too many guesses from the
 *   peer's address retire the group. After too many guesses from other addresses, no message from
 *   those is accepted any more (smc_link_is_proven()).
 * - Names: the message must also have the peer id, GID and queue pair of the group's peer.
 * - Element: no other connection may use the element that the message names
 *   (smc_rdma_conn_set_peer()).
 * - First contact: if a confirmed link leads to a queue pair of a peer at another address, a new
 *   link must not lead to the same queue pair (smc_link_may_lead_to()).
 */
#ifndef SMC_RDMA_GROUP_H
#define SMC_RDMA_GROUP_H

#include <linux/completion.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "admin/stats.h"
#include "group/group.h"
#include "link.h"
#include "llc.h"
#include "mr_buffer.h"
#include "path_kind.h"
#include "port.h"
#include "rtoken.h"
#include "wire/clc.h"

struct net;
struct smc_rdma_conn;

/*
 * Identity of a peer, by which a group is found. Only the address is certain: the rest is from CLC
 * messages, which a program may forge. A server chooses a group before the client has proven
 * anything. So the server takes only a group whose peer has the client's address. A client chooses
 * a group by the ACCEPT. The RMB in the ACCEPT proves who the server is. So the client may also
 * take a group whose peer has an address other than the server's.
 */
struct smc_rdma_peer {
	struct in6_addr addr;	/* of the peer's end of the TCP connection, see admin/address.h */
	u8 id[SMC_PEER_ID_LEN];
	u8 gid[SMC_GID_LEN];
	u8 mac[SMC_MAC_LEN];	/* compared in version 1 only */
	struct smc_rdma_gateway gateway;	/* between the ends; version 2 */
};

static inline bool smc_rdma_peer_is_routed(const struct smc_rdma_peer *peer)
{
	return !ipv6_addr_any(&peer->gateway.addr);
}

/**
 * struct smc_link_loss - a loss of a link
 * @number: number of the link, 0 if none was lost; read without a lock, too
 * @since: time of the loss, in seconds of ktime_get_seconds()
 * @why: reason, as in the kernel's log
 */
struct smc_link_loss {
	u8 number;
	time64_t since;
	char why[SMC_LINK_WHY_LEN];
};

/**
 * struct smc_rdma_group - a link group
 * @lgr: common part of the groups of both paths
 * @role: role of this end at first contact
 * @version: SMC version
 * @delete_reason: reason of the DELETE LINK that this end sends when the group ends, or 0 if it
 *	sends none; see enum smc_llc_delete_reason
 * @shutdown_deadline: time in jiffies until which a dead group may wait for its peer
 * @is_broken: the peer has broken the protocol, so no link sends anything more
 * @retired: no connection joins any more, and the group ends with its last connection; under
 *	smc_rdma_lgrs.lock
 * @peer: identity of the peer
 * @eid: the agreed EID; version 2
 * @is_foreign: the peer has not said that it runs this module
 * @vlan: VLAN, or 0
 * @max_conns: agreed limit for connections, which the server enforces
 * @max_links: agreed limit for links
 * @awaits_offer: this end is the server, and its client may wait for an ADD LINK after first
 *	contact
 * @last_number: number of the last link that this server has offered
 * @has_offered: this server has sent an ADD LINK
 * @has_tried: this end has tried to add a link to the group, or has put off its first attempt;
 *	only @add_link_work uses this field
 * @is_slow: the last attempt to add a link timed out because of the peer; only @add_link_work sets
 *	this field
 * @gid: this end's GID on the group's first link; stays valid when that link is gone
 * @lost: for each index of @links, the peer's end of the confirmed link that was last removed from
 *	this index; under smc_rdma_lgrs.lock
 * @last_loss: the link that was lost last while another one took over; under smc_rdma_lgrs.lock
 * @peer_gids: GIDs of the client's ports. A client of version 1 names one when it asks for a link.
 *	Under @llc's lock once the group is active
 * @spread_after: time in jiffies before which this server makes no further group for the peer;
 *	under smc_rdma_lgrs.lock
 * @total_conns: number of connections and reservations that the group has ever had; changed under
 *	smc_rdma_lgrs.lock
 * @unknown_tokens: number of CDC messages whose token belongs to no connection of the group
 * @n_guesses: number of CLC messages that named a link of the group, but no RMB that the peer has
 *	announced: [1] from the peer's address, [0] from other addresses; under smc_rdma_lgrs.lock
 * @n_quarantined: number of connections that are over, and whose elements are not reused before the
 *	group ends; under smc_rdma_lgrs.lock
 * @quarantined_pages: number of pages of those buffers of the group that have a quarantined
 *	element. Until the group dies, the host's sums include this number and @n_quarantined
 * @links: the links; an entry without a link is NULL. An entry changes only with both the buffer
 *	lock and smc_rdma_lgrs.lock held. A link that was taken out stays until RCU readers are
 *	done. So a walk of the links needs only one of the two locks, or RCU
 * @last_serial: serial of the last link that was put into @links
 * @conns: connections by the index in their alert tokens; locked with softirqs off
 * @next_index: hint for the index of the next connection
 * @rtokens: RMBs of the peer
 * @buffers: RMBs and send buffers
 * @llc: link layer control
 * @links_work: work item that looks after the links, see links.h
 * @add_link_work: work item that adds a link, see add_link.h
 * @asymmetric_after: time in jiffies before which this end adds no asymmetric link; 0 if there is
 *	no such time
 * @asymmetric_refused: @asymmetric_after is set because the client has refused an asymmetric link;
 *	only @add_link_work uses this field
 * @is_asked: the client has asked for a link since this server's last offer
 * @add_link_after: time in jiffies before which this end does not try to add a link; 0 if there is
 *	no such time
 * @add_link_delay: jiffies between the last attempt to add a link and the next, unless an event
 *	makes this end try earlier
 * @offer_after: time in jiffies before which a client refuses offers of a link; only
 *	@add_link_work uses this field
 * @owes_request: this client has refused an offer without a look at it, and has considered no offer
 *	since; only @add_link_work uses this field
 */
struct smc_rdma_group {
	struct smc_lgr lgr;
	enum smc_role role;
	u8 version;
	u32 delete_reason;
	unsigned long shutdown_deadline;
	bool is_broken;
	bool retired;
	struct smc_rdma_peer peer;
	u8 eid[SMC_EID_LEN];
	bool is_foreign;
	u16 vlan;
	u8 max_conns;
	u8 max_links;
	bool awaits_offer;
	u8 last_number;
	bool has_offered;
	bool has_tried;
	bool is_slow;
	u8 gid[SMC_GID_LEN];
	struct smc_link_peer lost[SMC_LINKS];
	struct smc_link_loss last_loss;
	struct smc_rdma_gids peer_gids;
	unsigned long spread_after;
	unsigned long total_conns;
	atomic64_t unknown_tokens;
	unsigned int n_guesses[2];
	int n_quarantined;
	long quarantined_pages;
	struct smc_link *links[SMC_LINKS];
	u64 last_serial;
	struct xarray conns;
	u32 next_index;
	struct smc_rtokens rtokens;
	struct smc_mr_buffers buffers;
	struct smc_llc llc;
	struct delayed_work links_work;
	struct delayed_work add_link_work;
	unsigned long asymmetric_after;
	bool asymmetric_refused;
	bool is_asked;
	unsigned long add_link_after;
	unsigned long add_link_delay;
	unsigned long offer_after;
	bool owes_request;
};

/*
 * The ends at which two links of a group use the same port: this end, the peer's end, or both. An
 * asymmetric link shares a port with an older link at one end, because that end has only one port
 * (RFC 7609 section 2.2).
 */
#define SMC_LINKS_SHARE_NOTHING	0
#define SMC_LINKS_SHARE_LOCAL	BIT(0)
#define SMC_LINKS_SHARE_PEER	BIT(1)

/* The groups of SMC-R. */
extern struct smc_lgr_kind smc_rdma_lgrs;

#define smc_rdma_group_of(ptr)	container_of(ptr, struct smc_rdma_group, lgr)

/* Return: the first link of a group at @index or a higher index, or NULL. */
static inline struct smc_link *smc_rdma_group_link_from(const struct smc_rdma_group *group,
							unsigned int index)
{
	struct smc_link *link = NULL;

	for (; index < SMC_LINKS && !link; index++)
		link = READ_ONCE(group->links[index]);
	return link;
}

/* Iterate over the links of a group. */
#define smc_for_each_link(link, group)					\
	for ((link) = smc_rdma_group_link_from(group, 0); (link);	\
	     (link) = smc_rdma_group_link_from(group, (link)->index + 1))

static inline void smc_rdma_group_get(struct smc_rdma_group *group)
{
	smc_lgr_get(&group->lgr);
}

static inline void smc_rdma_group_put(struct smc_rdma_group *group)
{
	smc_lgr_put(&group->lgr);
}

/**
 * smc_rdma_group_create() - create a group for a first contact, with its link in state INIT
 * @net: namespace that the group is listed and counted in
 * @role: role of this end
 * @version: agreed SMC version, the same for all connections of the group
 * @port: port of the first link, which takes references of its own
 * @peer: identity of the peer
 *
 * The group has one reserved connection, the caller's.
 *
 * Context: process, may sleep.
 * Return: the group with a reference for the caller, or an ERR_PTR. -EUSERS means that the owner of
 * the peer's address, the namespace or the host has as many groups as it may have, or that this
 * owner has too many quarantined elements.
 */
struct smc_rdma_group *smc_rdma_group_create(struct net *net, enum smc_role role, u8 version,
					     const struct smc_rdma_port *port,
					     const struct smc_rdma_peer *peer);

/**
 * smc_rdma_group_find_for_server() - find a link that a new connection may use
 * @net: namespace of the listener; groups of other namespaces are not considered
 * @version: SMC version that the group must have
 * @port: port of this end
 * @peer: identity of the client that proposes
 * @eid: agreed EID, in version 2
 * @spread: return NULL if all groups with the peer are crowded, and the peer may have another group
 *
 * One processor handles the messages of a link, so the connections of a busy peer are spread over
 * several groups. Of the groups with room, the one with the fewest connections is taken.
 *
 * Return: the link, or NULL. With the link the caller gets a reference to the link, a reference to
 * its group, and a reserved connection in the group.
 */
struct smc_link *smc_rdma_group_find_for_server(struct net *net, u8 version,
						const struct smc_rdma_port *port,
						const struct smc_rdma_peer *peer, const u8 *eid,
						bool spread);

/**
 * smc_link_unreserve() - drop a reserved connection, and the references to its link and group
 * @link: link that a search for a server or client has returned, and that the connection does not
 *	use
 *
 * Context: any but hard interrupt.
 */
void smc_link_unreserve(struct smc_link *link);

/**
 * smc_rdma_groups_put_off_spread() - make no further group for a peer for a minute
 * @net: namespace of the listener
 * @version: SMC version of the first contact
 * @port: port of this end
 * @peer: identity of a client with which a first contact has failed
 *
 * During this time, the peer's new connections use the groups that exist, however crowded.
 *
 * Context: any but hard interrupt.
 */
void smc_rdma_groups_put_off_spread(struct net *net, u8 version, const struct smc_rdma_port *port,
				    const struct smc_rdma_peer *peer);

/**
 * smc_rdma_group_peer_is_slow() - whether an attempt to add a link to another group with the same
 *	peer has timed out
 * @group: group whose peer is meant. The function looks only at other groups with the same two
 *	ports that are active and not retired
 *
 * Context: any; takes smc_rdma_lgrs.lock.
 * Return: true if the last attempt of one of these other groups timed out, and none of them has two
 * links that work.
 */
bool smc_rdma_group_peer_is_slow(const struct smc_rdma_group *group);

/**
 * smc_rdma_group_find_for_client() - find the link that a server named
 * @net: namespace of the client; groups of other namespaces are not considered
 * @version: SMC version of the ACCEPT, which the group must have
 * @port: port of this end
 * @peer: identity of the server that accepts
 * @r: description of the link in the server's ACCEPT
 *
 * The RMB that the server names proves that the link is the server's, see the head of this file.
 *
 * Return: as smc_rdma_group_find_for_server(), but instead of NULL an ERR_PTR: -ENOENT if there is
 * no such link; -ENOLINK if its group is retired, or the router to the server has another MAC
 * address; or -EHOSTUNREACH if the link is lost, is at a port other than @port, or is not proven to
 * be the server's.
 */
struct smc_link *smc_rdma_group_find_for_client(struct net *net, u8 version,
						const struct smc_rdma_port *port,
						const struct smc_rdma_peer *peer,
						const struct smc_clc_r *r);

/**
 * smc_rdma_group_retire() - let no new connection join a group; its present connections go on
 * @group: group that the caller has a reference to; if it is idle, it ends now
 *
 * Context: any but hard interrupt.
 */
void smc_rdma_group_retire(struct smc_rdma_group *group);

/**
 * smc_link_confirm() - whether a client's CONFIRM names an RMB that the link's peer has announced
 * @link: link of a server
 * @r: description of the link in the CONFIRM
 *
 * Several wrong CONFIRMs retire the group, because a program at the client's address must not be
 * able to try all RTokens.
 *
 * Context: any but hard interrupt.
 */
bool smc_link_confirm(const struct smc_link *link, const struct smc_clc_r *r);

/**
 * smc_rdma_group_is_spare() - whether a group is idle and may end when memory is short
 * @group: group that is referenced, or in the shrinker's list under its lock
 *
 * A group that has just become idle is not spare: the peer may have chosen it for a new connection.
 *
 * Context: any. The answer stays true only as long as the caller holds smc_rdma_lgrs.lock.
 */
bool smc_rdma_group_is_spare(const struct smc_rdma_group *group);

/**
 * smc_rdma_group_end_spare() - when memory is short, end a group if it is spare
 * @group: group in any state, whose work item calls this
 *
 * Context: process.
 * Return: true if the group was spare, and now ends.
 */
bool smc_rdma_group_end_spare(struct smc_rdma_group *group);

/**
 * smc_rdma_group_quarantine() - count a connection's quarantined elements, and retire the group
 * @group: group of a connection that is over, or whose setup has failed
 * @pages: sum of the results of smc_element_quarantine() for the elements
 * @is_reserved: the connection still has its reservation
 *
 * smc_element_quarantine() keeps the elements from being reused. They stay until the group ends.
 * If the host's limits for quarantined elements are exceeded, one group ends: of the owner with the
 * most quarantined pages in all its groups together, the group with the most quarantined pages.
 *
 * Context: any but hard interrupt.
 */
void smc_rdma_group_quarantine(struct smc_rdma_group *group, long pages, bool is_reserved);

/**
 * smc_link_may_lead_to() - whether a new link may lead to the end that the peer names
 * @link: new link
 * @end: the peer's end of the link, from its message
 *
 * Must be called before the first packet is sent to @end.
 *
 * Context: any.
 * Return: 0; or -EHOSTUNREACH if a confirmed link of a group whose peer has another address already
 * leads to @end.
 */
int smc_link_may_lead_to(const struct smc_link *link, const struct smc_link_peer *end);

/**
 * smc_rdma_group_activate() - complete the first contact: other connections may join
 * @group: group of a first contact, after CONFIRM LINK; the caller holds the link's device
 *
 * Another group is retired if its peer has the same address, and one of its links leads to the same
 * queue pair of that peer.
 *
 * Return: 0; -ENOLINK if the group has died; or an error of smc_link_may_lead_to().
 */
int smc_rdma_group_activate(struct smc_rdma_group *group);

/**
 * smc_rdma_group_terminate() - have the group's work item end a group and all its connections
 * @group: group that the caller has a reference to; nothing happens if it is dead
 * @err: positive errno for the connections
 *
 * Context: any.
 */
void smc_rdma_group_terminate(struct smc_rdma_group *group, int err);

/**
 * smc_rdma_group_on_violation() - count and log a violation of the protocol, and end the group
 * @group: group of the link that the peer's message came on; may be dead
 * @what: violation by the peer
 *
 * Context: any but hard interrupt.
 */
void smc_rdma_group_on_violation(struct smc_rdma_group *group, enum smc_violation what);

/**
 * smc_rdma_group_peer_left() - begin the orderly end of a group after the peer's DELETE LINK
 * @group: group of the link that the DELETE LINK came on; if the group is already ending, its
 *	deadline may become earlier
 * @reason: reason that the DELETE LINK gives, for the kernel's log and tracepoints
 *
 * The group's links stay until the peer has got this host's answer to the DELETE LINK, or until the
 * deadline.
 *
 * Context: any.
 */
void smc_rdma_group_peer_left(struct smc_rdma_group *group, u32 reason);

/**
 * smc_rdma_group_time_left() - how long the end of a group may wait before it asks again
 * @group: dead group
 *
 * One deadline applies to all messages of the group's end. While the caller waits, the deadline may
 * move to an earlier time. So the result is a short time, after which the caller must call this
 * function again.
 *
 * Return: jiffies, or 0 after the deadline.
 */
long smc_rdma_group_time_left(const struct smc_rdma_group *group);

/**
 * smc_rdma_group_error_of() - get the errno of TCP that corresponds to a failed work request
 * @status: status of the failed work request
 */
int smc_rdma_group_error_of(enum ib_wc_status status);

/**
 * smc_rdma_group_find_link() - find a link by its number
 * @group: group; links that do not work are found, too
 * @number: number of the link
 *
 * Context: under RCU, or with smc_rdma_lgrs.lock or the buffer lock.
 * Return: the link, or NULL.
 */
struct smc_link *smc_rdma_group_find_link(const struct smc_rdma_group *group, u8 number);

/**
 * smc_rdma_group_next_link() - iterate over the links of a group; the caller need hold no lock
 * @group: group that the caller has a reference to, or whose work item calls this
 * @index: 0 for the first call; afterwards the value that the last call has stored here
 *
 * Context: any.
 * Return: the next link with a reference, or NULL.
 */
struct smc_link *smc_rdma_group_next_link(struct smc_rdma_group *group, unsigned int *index);

/**
 * smc_rdma_group_get_oldest_link() - get the oldest link that works
 * @group: group that the caller has a reference to, or whose work item calls this
 *
 * Context: any.
 * Return: the link with a reference, or NULL.
 */
struct smc_link *smc_rdma_group_get_oldest_link(struct smc_rdma_group *group);

/**
 * smc_links_share() - at which ends two links use the same port
 * @link: link whose peer's end is known
 * @other: another link of the group
 *
 * Context: any.
 * Return: SMC_LINKS_SHARE_NOTHING; or SMC_LINKS_SHARE_LOCAL, SMC_LINKS_SHARE_PEER or both flags.
 */
unsigned int smc_links_share(const struct smc_link *link, const struct smc_link *other);

/**
 * smc_rdma_group_shares() - at which ends two links of a group use the same port
 * @group: group; only links that work count
 *
 * Context: under RCU, or with smc_rdma_lgrs.lock or the buffer lock.
 * Return: as smc_links_share(), for all pairs of links together. If the result is
 * SMC_LINKS_SHARE_NOTHING, no link is asymmetric.
 */
unsigned int smc_rdma_group_shares(const struct smc_rdma_group *group);

/**
 * smc_rdma_group_count_links() - count the links that connections may use
 * @group: group
 *
 * Context: under RCU, or with smc_rdma_lgrs.lock or the buffer lock.
 */
unsigned int smc_rdma_group_count_links(const struct smc_rdma_group *group);

/**
 * smc_rdma_group_is_single() - whether connections may use no more than one link
 * @group: group
 *
 * Context: any.
 */
bool smc_rdma_group_is_single(const struct smc_rdma_group *group);

/**
 * smc_rdma_group_lacks_link() - whether a link was lost, and no symmetric one made in its place
 * @group: group
 *
 * Context: any.
 */
bool smc_rdma_group_lacks_link(const struct smc_rdma_group *group);

/**
 * smc_link_peer_left() - give up a link soon, unless the peer's DELETE LINK comes before
 * @link: link that the peer has left, and whose end a connection waits for
 *
 * Context: any but hard interrupt.
 */
void smc_link_peer_left(struct smc_link *link);

/**
 * smc_rdma_group_oldest_link() - find the oldest link that works
 * @group: group; only links that work count
 *
 * The asymmetric link of a group is never the oldest one.
 *
 * Context: under RCU, or with smc_rdma_lgrs.lock or the buffer lock.
 * Return: the link, or NULL.
 */
struct smc_link *smc_rdma_group_oldest_link(const struct smc_rdma_group *group);

/**
 * smc_rdma_group_insert_link() - put a new link into its group
 * @link: link; the group has no other link at its index
 *
 * Context: process; with the buffer lock.
 */
void smc_rdma_group_insert_link(struct smc_link *link);

/**
 * smc_rdma_group_activate_link() - let connections use a link that was added to an active group
 * @link: link that is confirmed
 *
 * Context: process; with the buffer lock.
 * Return: 0; -ENOLINK if the group has died or the link is broken; or an error of
 * smc_link_may_lead_to().
 */
int smc_rdma_group_activate_link(struct smc_link *link);

/**
 * smc_rdma_group_replace_link() - end the asymmetric link that a symmetric one replaces
 * @oldest: oldest link of a group of this server; it stays
 * @link: the new symmetric link
 *
 * Does nothing if the group has no third link.
 *
 * Context: process.
 */
void smc_rdma_group_replace_link(const struct smc_link *oldest, const struct smc_link *link);

/**
 * smc_rdma_group_remove_link() - take a link out of its group, and release it
 * @link: link that is stopped, and that no connection uses
 *
 * Context: process, may sleep; with the buffer lock.
 */
void smc_rdma_group_remove_link(struct smc_link *link);

/**
 * smc_rdma_group_delete_link() - end a link because the peer asks for its end
 * @group: group that is to go on with another link
 * @number: number of the link
 * @reason: reason that the peer gives
 *
 * Context: any.
 * Return: false if the group has no link with this number.
 */
bool smc_rdma_group_delete_link(struct smc_rdma_group *group, u8 number, u32 reason);

/**
 * smc_rdma_group_other_link() - find a link that can take over from another
 * @link: link in any state
 *
 * Context: under RCU, or with smc_rdma_lgrs.lock or the buffer lock.
 * Return: a confirmed link of the group that is not broken, or NULL.
 */
struct smc_link *smc_rdma_group_other_link(const struct smc_link *link);

/**
 * smc_link_note_inactive() - note the time at which a link becomes inactive, for netlink
 * @link: link that is about to be marked as broken or left
 *
 * Context: with smc_rdma_lgrs.lock.
 */
void smc_link_note_inactive(struct smc_link *link);

/**
 * smc_link_mark_broken() - let nothing more be sent on a link
 * @link: link, in whatever state
 *
 * Context: with smc_rdma_lgrs.lock.
 */
void smc_link_mark_broken(struct smc_link *link);

/**
 * smc_rdma_group_lose_link() - end a link, and its group if no other link can take over
 * @link: link of a group in the list
 * @err: positive errno for the connections if the group ends
 * @in_order: an operator ends the link, which still works, so this end can tell the peer
 * @why: reason, for the kernel's log and tracepoints
 *
 * Context: with smc_rdma_lgrs.lock.
 */
void smc_rdma_group_lose_link(struct smc_link *link, int err, bool in_order, const char *why);

#endif
