// SPDX-License-Identifier: GPL-2.0
/* The steps of an SMC-R handshake between the CLC messages (RFC 7609 section 3.5). */

#include <net/ipv6.h>

#include "admin/address.h"
#include "admin/blackhole.h"
#include "admin/identity.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "conn.h"
#include "device.h"
#include "group.h"
#include "link.h"
#include "llc.h"
#include "path.h"
#include "port.h"
#include "show.h"
#include "wire/size_class.h"

/*
 * How long a server waits for other first contacts with the same peer. The client waits six seconds
 * for the ACCEPT, and the server's other steps before the ACCEPT take time as well.
 */
#define SMC_FIRST_CONTACT_TIMEOUT	(3 * HZ)
/*
 * How long other first contacts with the same peer wait for one whose CONFIRM has not come. Its
 * client may be a program that withholds the CONFIRM, to make other connections of its host use
 * TCP.
 */
#define SMC_FIRST_CONTACT_ALONE		HZ

/* How long a new connection waits until no older connection uses the peer's element any more. */
#define SMC_ELEMENT_TIMEOUT		HZ

/*
 * Limits for the first contacts under way as server. Each first contact has a queue pair, an RMB
 * and a send buffer before its client has proven anything. In a namespace the owner of an address
 * may have at most as many first contacts as remain for other owners. On the host a namespace may
 * have at most as many as remain for other namespaces.
 */
#define SMC_FIRST_CONTACTS_PER_NET	128
#define SMC_FIRST_CONTACTS_MAX	512

static HLIST_HEAD(smc_first_contacts);
static DEFINE_SPINLOCK(smc_first_contacts_lock);
static DECLARE_WAIT_QUEUE_HEAD(smc_first_contact_ended);

/**
 * struct smc_rdma_setup - a connection that is being set up
 * @base: the part that is common to all paths
 * @port: the local port; referenced if @port.dev is set. A client sets it after the ACCEPT
 * @offered_gid: the GID in the PROPOSAL for each version, as client
 * @peer: identity of the peer
 * @cancelled: @base.cancel ended the wait for the link to be confirmed
 * @group: the group created for this connection, referenced; or NULL
 * @conn: the connection; NULL before a step creates it
 * @link: link that the connection uses first, referenced; NULL before a step finds or creates it
 * @offered_links: number of links that this client has offered to a server that runs this module
 * @offered_links_foreign: number of links that this client has offered to any other server
 * @max_links: limit for the links of a new group
 * @has_vendor: the peer has said that it runs this module
 * @contact: entry in the list of first contacts under way, as server
 * @alone_until: time in jiffies until which this first contact keeps others with the peer waiting;
 *	smc_first_contact_try() has the exception
 */
struct smc_rdma_setup {
	struct smc_path_setup base;
	struct smc_rdma_port port;
	union ib_gid offered_gid[SMC_VERSION_2 + 1];
	struct smc_rdma_peer peer;
	bool cancelled;
	struct smc_rdma_group *group;
	struct smc_rdma_conn *conn;
	struct smc_link *link;
	u8 offered_links;
	u8 offered_links_foreign;
	u8 max_links;
	bool has_vendor;
	struct hlist_node contact;
	unsigned long alone_until;
};

static struct smc_rdma_setup *smc_rdma_setup_of(struct smc_path_setup *base)
{
	return container_of(base, struct smc_rdma_setup, base);
}

static u8 smc_rdma_sndbuf_class(const struct smc_path_setup *base)
{
	return smc_size_class_of(base->sndbuf ? : READ_ONCE(smc_net(base->net)->sysctl.wmem),
				 SMC_SIZE_CLASS_R_MAX);
}

/*
 * Return: how many links a new group may have with a peer that runs this module, as far as this end
 * is concerned. A second port need not be there yet. If the route has a router, the group may have
 * only one link, because a second link needs ports that reach each other without a router.
 */
static u8 smc_rdma_setup_max_links(const struct smc_path_setup *base)
{
	return base->is_direct ? READ_ONCE(smc_net(base->net)->sysctl.max_links_per_lgr) : 1;
}

/*
 * Like smc_rdma_setup_max_links(), but for a peer that does not run this module. Such a peer may
 * send wrong bytes after the loss of a link.
 */
static u8 smc_rdma_setup_max_links_foreign(const struct smc_path_setup *base)
{
	return min_t(u8, smc_rdma_setup_max_links(base),
		     READ_ONCE(smc_net(base->net)->sysctl.max_links_foreign));
}

/* Return: how many links a new group with the client may have. */
static u8 smc_rdma_setup_agree_links(const struct smc_path_setup *base,
				     const struct smc_clc_proposal *p)
{
	const u8 option = smc_clc_links_option(p);

	/* Version 1 and release 0 of version 2 agree on the number by CONFIRM LINK. */
	if (base->version == SMC_VERSION_1 || !p->release)
		return smc_rdma_setup_max_links_foreign(base);
	if (option)
		return min(option, smc_rdma_setup_max_links(base));
	return min(p->max_links, smc_rdma_setup_max_links_foreign(base));
}

/*
 * Offer the port's GID. The removal of a device waits until no thread holds a port of it. A user's
 * thread may get no CPU time for a long time, so it holds the port only within an RCU read-side
 * section, for which the removal waits anyway.
 */
static bool smc_rdma_setup_offer(struct smc_path_setup *base, u8 version,
				 struct smc_clc_proposal *p)
{
	u8 *gid = version == SMC_VERSION_2 ? p->gid_v2 : p->gid_v1;
	struct smc_rdma_setup *s = smc_rdma_setup_of(base);
	struct smc_rdma_port port;

	rcu_read_lock();
	if (smc_rdma_port_find(base, version, NULL, &port)) {
		rcu_read_unlock();
		return false;
	}
	memcpy(gid, port.gid->gid.raw, SMC_GID_LEN);
	s->offered_links = smc_rdma_setup_max_links(base);
	s->offered_links_foreign = smc_rdma_setup_max_links_foreign(base);
	if (version == SMC_VERSION_2) {
		p->max_links = s->offered_links_foreign;
		smc_clc_set_links_option(p, s->offered_links);
	}
	smc_rdma_port_put(&port);
	rcu_read_unlock();

	memcpy(s->offered_gid[version].raw, gid, SMC_GID_LEN);
	if (version == SMC_VERSION_1) {
		smc_own_peer_id(base->net, p->peer_id);
		memcpy(p->mac, port.mac, SMC_MAC_LEN);
	}
	return true;
}

/* Note the identity that the peer claims, and find the router to the peer. */
static int smc_rdma_setup_peer(struct smc_rdma_setup *s, const u8 *id, const u8 *gid,
			       const u8 *mac)
{
	struct smc_rdma_peer *peer = &s->peer;

	*peer = (struct smc_rdma_peer) {};
	peer->addr = s->base.daddr;
	memcpy(peer->id, id, SMC_PEER_ID_LEN);
	memcpy(peer->gid, gid, SMC_GID_LEN);
	memcpy(peer->mac, mac, SMC_MAC_LEN);
	if (s->base.version == SMC_VERSION_1 || s->base.is_direct)
		return 0;
	return smc_rdma_gateway(&s->base, &s->port, gid, &peer->gateway);
}

static void smc_rdma_setup_put_port(struct smc_rdma_setup *s)
{
	if (s->port.dev)
		smc_rdma_port_put(&s->port);
	s->port.dev = NULL;
}

static int smc_rdma_setup_reach(struct smc_path_setup *base, const struct smc_clc_proposal *p)
{
	struct smc_rdma_setup *s = smc_rdma_setup_of(base);
	bool is_v2 = base->version == SMC_VERSION_2;

	/* An attempt for a newer version may have found a port that does not reach the client. */
	smc_rdma_setup_put_port(s);
	if (smc_rdma_port_find(base, base->version, is_v2 ? p->gid_v2 : NULL, &s->port))
		return -ENODEV;
	s->has_vendor = smc_clc_links_option(p);
	s->max_links = smc_rdma_setup_agree_links(base, p);
	return smc_rdma_setup_peer(s, p->peer_id, is_v2 ? p->gid_v2 : p->gid_v1, p->mac);
}

/*
 * Whether two first contacts are with the same peer. The addresses must be equal, too: a peer at
 * another address may claim any identity, and must not delay this client.
 */
static bool smc_first_contact_is_with(const struct smc_rdma_setup *other,
				      const struct smc_rdma_setup *s)
{
	const struct smc_rdma_peer *a = &other->peer, *b = &s->peer;

	return other->base.net == s->base.net && ipv6_addr_equal(&a->addr, &b->addr) &&
	       !memcmp(a->id, b->id, sizeof(a->id)) && !memcmp(a->gid, b->gid, sizeof(a->gid)) &&
	       !memcmp(a->mac, b->mac, sizeof(a->mac));
}

/*
 * Begin a first contact. @has_group says that the client has a crowded group. The connection uses
 * that group if any other first contact with the client is under way.
 * Return: 0; -EAGAIN if another first contact with the client has just begun or, with @has_group,
 * if any is under way; -EUSERS if too many are under way.
 */
static int smc_first_contact_try(struct smc_rdma_setup *s, bool has_group)
{
	unsigned int own = 0, in_net = 0, all = 0;
	bool is_alone = false, is_silent = false;
	struct smc_rdma_setup *other;
	int rc = 0;

	spin_lock(&smc_first_contacts_lock);
	hlist_for_each_entry(other, &smc_first_contacts, contact) {
		all++;
		if (other->base.net != s->base.net)
			continue;
		in_net++;
		if (smc_address_same_prefix(&other->peer.addr, &s->peer.addr))
			own++;
		if (!smc_first_contact_is_with(other, s))
			continue;
		if (time_before(jiffies, READ_ONCE(other->alone_until)))
			is_alone = true;
		else
			is_silent = true;
	}
	/*
	 * If a first contact with the peer was silent for too long, don't wait for any other.
	 * Otherwise a program could delay this client with one silent first contact after another.
	 */
	if (has_group ? is_alone || is_silent : is_alone && !is_silent)
		rc = -EAGAIN;
	else if (own + in_net >= SMC_FIRST_CONTACTS_PER_NET ||
		 in_net + all >= SMC_FIRST_CONTACTS_MAX)
		rc = -EUSERS;
	if (!rc) {
		s->alone_until = jiffies + SMC_FIRST_CONTACT_ALONE;
		hlist_add_head(&s->contact, &smc_first_contacts);
	}
	spin_unlock(&smc_first_contacts_lock);
	return rc;
}

static void smc_first_contact_end(struct smc_rdma_setup *s)
{
	if (hlist_unhashed(&s->contact))
		return;
	spin_lock(&smc_first_contacts_lock);
	hlist_del_init(&s->contact);
	spin_unlock(&smc_first_contacts_lock);
	wake_up_all(&smc_first_contact_ended);
}

/* Create the group of a first contact. smc_rdma_setup_end() ends the group if the setup fails. */
static struct smc_link *smc_rdma_setup_group(struct smc_rdma_setup *s)
{
	struct smc_rdma_group *group;
	struct smc_link *link;

	s->base.first_contact = true;
	group = smc_rdma_group_create(s->base.net, s->base.role, s->base.version, &s->port,
				      &s->peer);
	if (IS_ERR(group))
		return ERR_CAST(group);
	memcpy(group->eid, s->base.eid, SMC_EID_LEN);
	group->max_links = max_t(u8, s->max_links, 1);
	smc_rdma_group_get(group);
	s->group = group;
	link = smc_rdma_group_link_from(group, 0);
	smc_link_get(link);
	return link;
}

static struct smc_blackhole_key smc_rdma_key(const struct smc_rdma_setup *s)
{
	return smc_blackhole_key_gid(s->base.daddr, s->peer.gid);
}

/* Whether a link to the peer has failed recently. Each new attempt would take seconds again. */
static bool smc_rdma_is_unreachable(const struct smc_rdma_setup *s)
{
	struct smc_blackhole_key key = smc_rdma_key(s);

	return smc_blackhole_has(smc_net(s->base.net), &key);
}

static void smc_rdma_note_unreachable(const struct smc_rdma_setup *s)
{
	struct smc_blackhole_key key = smc_rdma_key(s);

	smc_blackhole_note(smc_net(s->base.net), &key, SMC_BLACKHOLE_NO_LINK);
}

/*
 * Note whether the link was confirmed (@rc). The peer does not count as unreachable if its DELETE
 * LINK has come, or if this end's port went down.
 */
static int smc_rdma_note_confirmed(struct smc_rdma_setup *s, int rc)
{
	struct smc_blackhole_key key = smc_rdma_key(s);

	s->cancelled = rc == -ECANCELED;
	if (!rc)
		smc_blackhole_forget(smc_net(s->base.net), &key);
	else if ((rc == -ETIMEDOUT || rc == -ENOLINK) &&
		 !READ_ONCE(s->conn->group->llc.peer_left) &&
		 READ_ONCE(s->conn->group->lgr.err) != ENETDOWN)
		smc_rdma_note_unreachable(s);
	return rc;
}

/*
 * Note that the peer is unreachable if its DECLINE says that the peer could not confirm the link.
 * Count only a DECLINE that cancelled this end's wait. A wait that was not cancelled had a result
 * of its own, which smc_rdma_note_confirmed() has noted.
 */
static void smc_rdma_setup_note_decline(struct smc_path_setup *base, u32 peer_reason)
{
	const struct smc_rdma_setup *s = smc_rdma_setup_of(base);

	if (s->cancelled && (peer_reason == SMC_DIAG_TIMEOUT_CONFIRM_LINK ||
			     peer_reason == SMC_DIAG_NO_ACTIVE_LINK))
		smc_rdma_note_unreachable(s);
}

/*
 * Whether the setup is cancelled. A cancel does not wake the threads whose waits check this, so
 * they repeat the check every tenth of a second.
 */
static bool smc_rdma_is_cancelled(const struct smc_rdma_setup *s)
{
	return s->base.cancel.is_over(s->base.cancel.arg);
}

static struct smc_link *smc_rdma_server_find(struct smc_rdma_setup *s, bool spread)
{
	return smc_rdma_group_find_for_server(s->base.net, s->base.version, &s->port, &s->peer,
					      s->base.eid, spread);
}

/*
 * Find a link, or begin a first contact. While another first contact is under way, a link of a
 * crowded group will do. Return: 0 with the link, or with NULL if a first contact has begun; or an
 * error of smc_first_contact_try().
 */
static int smc_rdma_server_try(struct smc_rdma_setup *s, struct smc_link **link)
{
	int rc;

	*link = smc_rdma_server_find(s, true);
	if (*link)
		return 0;
	*link = smc_rdma_server_find(s, false);
	rc = smc_first_contact_try(s, *link);
	if (*link && !rc) {
		smc_link_unreserve(*link);
		*link = NULL;
	}
	return *link ? 0 : rc;
}

/*
 * Create a group with a link for the server's connection. If that fails, a link of a crowded group
 * will do.
 */
static struct smc_link *smc_rdma_server_create(struct smc_rdma_setup *s)
{
	struct smc_link *crowded, *link;

	link = smc_rdma_is_unreachable(s) ? ERR_PTR(-EHOSTUNREACH) : smc_rdma_setup_group(s);
	if (!IS_ERR(link)) {
		link->number = 1;
		return link;
	}
	crowded = smc_rdma_server_find(s, false);
	if (!crowded)
		return link;
	s->base.first_contact = false;
	smc_first_contact_end(s);
	return crowded;
}

/*
 * Find a link for the server's connection, or create a group with a link. If another first contact
 * with the peer has just begun, wait for its end: this connection may then join the new group.
 */
static struct smc_link *smc_rdma_server_link(struct smc_rdma_setup *s)
{
	unsigned long until = jiffies + SMC_FIRST_CONTACT_TIMEOUT;
	struct smc_link *link;
	int rc;

	/*
	 * Wait also if too many first contacts are under way, because they usually end soon.
	 * Otherwise connections would use TCP after many hosts have restarted at the same time.
	 */
	do
		wait_event_timeout(smc_first_contact_ended, !(rc = smc_rdma_server_try(s, &link)),
				   SMC_FIRST_CONTACT_ALONE / 10);
	while (rc && time_before(jiffies, until) && !smc_rdma_is_cancelled(s));
	if (rc)
		return ERR_PTR(rc == -EAGAIN ? -ETIMEDOUT : rc);
	if (link)
		return link;
	/* Search again: another first contact may have ended just before this one began. */
	link = smc_rdma_server_find(s, true);
	if (!link)
		return smc_rdma_server_create(s);
	smc_first_contact_end(s);
	return link;
}

static int smc_rdma_setup_conn(struct smc_rdma_setup *s, struct smc_link *link)
{
	u32 rmem = s->base.rcvbuf ? : READ_ONCE(smc_net(s->base.net)->sysctl.rmem);
	struct smc_rdma_conn *conn;

	if (IS_ERR(link))
		return PTR_ERR(link);
	smc_link_get(link);
	s->link = link;
	conn = smc_rdma_conn_create(link, smc_size_class_of(rmem, SMC_SIZE_CLASS_R_MAX),
				    s->base.memcg);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	s->conn = conn;
	s->base.stream = &conn->stream;
	return 0;
}

static int smc_rdma_server_reserve(struct smc_path_setup *base)
{
	struct smc_rdma_setup *s = smc_rdma_setup_of(base);

	/*
	 * Allocate the send buffer before the ACCEPT, while this server can still decline. After
	 * the CONFIRM it can decline only at first contact.
	 */
	return smc_rdma_setup_conn(s, smc_rdma_server_link(s)) ? :
	       smc_rdma_conn_alloc_sndbuf(s->conn, smc_rdma_sndbuf_class(base), base->memcg);
}

/* List the GIDs that this end's links may have. The GID of the first link comes first. */
static void smc_rdma_setup_list_gids(const struct smc_rdma_setup *s, struct smc_clc_agreement *a)
{
	struct smc_rdma_port other;

	a->n_gids = 1;
	memcpy(a->gids[0], a->r.gid, SMC_GID_LEN);
	if (s->conn->group->max_links == 1 ||
	    smc_rdma_port_find_other(s->base.net, &s->link->port, NULL, &other))
		return;
	memcpy(a->gids[a->n_gids++], other.gid->gid.raw, SMC_GID_LEN);
	smc_rdma_port_put(&other);
}

static void smc_rdma_setup_describe(struct smc_path_setup *base, struct smc_clc_agreement *a)
{
	const struct smc_rdma_setup *s = smc_rdma_setup_of(base);

	smc_rdma_conn_describe(s->conn, s->link, &a->r);
	smc_own_peer_id(base->net, a->r.peer_id);
	a->fc.max_conns = s->conn->group->max_conns;
	a->fc.max_links = s->conn->group->max_links;
	if (s->has_vendor)
		smc_clc_set_vendor(&a->fc);
	if (base->first_contact)
		smc_rdma_setup_list_gids(s, a);
}

/*
 * Note a version 2 peer's release, system, name, limits and GIDs, which it sends on first contact.
 */
static void smc_rdma_note_first_contact(struct smc_rdma_group *group,
					const struct smc_clc_agreement *a)
{
	if (group->version != SMC_VERSION_2)
		return;
	smc_lgr_note_peer(&group->lgr, &a->fc);
	/* The protocol does not allow a limit below 16, but a peer's lower limit is obeyed. */
	if (group->lgr.release && a->fc.max_conns)
		group->max_conns = min(group->max_conns, a->fc.max_conns);
	if (group->lgr.release)
		group->max_links = clamp_t(u8, a->fc.max_links, 1, group->max_links);
	/* A client lists the GIDs of its ports. */
	memcpy(group->peer_gids.gid, a->gids, sizeof(group->peer_gids.gid));
	group->peer_gids.n = a->n_gids;
}

static int smc_rdma_link_to_peer(const struct smc_rdma_setup *s, const struct smc_clc_agreement *a)
{
	struct smc_link_peer peer = { .qpn = a->r.qpn, .psn = a->r.psn, .mtu = a->r.qp_mtu };
	struct smc_rdma_group *group = s->conn->group;
	struct smc_link *link = s->link;
	int rc;

	memcpy(peer.gid, a->r.gid, SMC_GID_LEN);
	memcpy(peer.mac, a->r.mac, SMC_MAC_LEN);
	if (!smc_link_peer_is_valid(&peer))
		return -EPROTO;
	if (smc_rdma_peer_is_routed(&s->peer))
		memcpy(peer.mac, s->peer.gateway.mac, SMC_MAC_LEN);
	rc = smc_link_may_lead_to(link, &peer);
	if (rc)
		return rc;
	group->is_foreign = !s->has_vendor;
	smc_rtokens_add(&group->rtokens, link->index,
			(struct smc_rtoken) { .rkey = a->r.rkey, .addr = a->r.rmb_addr });
	smc_rdma_note_first_contact(group, a);
	return smc_link_to_rtr(link, &peer);
}

static int smc_rdma_setup_set_peer(const struct smc_rdma_setup *s, const struct smc_clc_r *r)
{
	const u8 sndbuf_class = smc_rdma_sndbuf_class(&s->base);
	const unsigned long until = jiffies + SMC_ELEMENT_TIMEOUT;
	struct smc_rdma_group *group = s->conn->group;
	int rc;

	/*
	 * The peer may reuse an element before the last message of the element's old connection
	 * arrives here. The end of the old connection wakes this thread. The peer's final flags,
	 * which also free the element, wake nobody, so look every tenth of a second.
	 */
	do
		wait_var_event_timeout(&group->conns,
				       (rc = smc_rdma_conn_set_peer(s->conn, r, sndbuf_class,
								    s->base.memcg)) != -EADDRINUSE,
				       SMC_ELEMENT_TIMEOUT / 10);
	while (rc == -EADDRINUSE && time_before(jiffies, until) && !smc_rdma_is_cancelled(s));
	/*
	 * Fail if the group is dead, even if smc_rdma_conn_set_peer() has succeeded: the end of the
	 * group may just have ended the old connection, which then no longer uses the peer's
	 * element. Fail also if the stream is lost, for example because the link was lost and the
	 * connection could not move. A client can still decline, because it has not sent its
	 * CONFIRM yet.
	 */
	if (smc_lgr_is_dead(&group->lgr))
		return -ENOLINK;
	if (READ_ONCE(s->conn->stream.state.path) != SMC_PATH_STATE_UP)
		return -EHOSTUNREACH;
	/* The client's first CDC message may have come before its CONFIRM, and need an answer. */
	if (!rc && s->base.role == SMC_SERVER)
		smc_stream_on_tx_room(&s->conn->stream);
	if (rc != -EADDRINUSE)
		return rc;
	if (smc_rdma_is_cancelled(s))
		return -ECANCELED;
	/*
	 * A program may have claimed elements in the peer's name, so new connections need another
	 * group.
	 */
	if (s->base.role == SMC_CLIENT && ipv6_addr_equal(&group->peer.addr, &s->peer.addr)) {
		smc_rdma_group_retire(group);
		return -ENOLINK;
	}
	return -EHOSTUNREACH;
}

/* Register the buffers that were made during first contact. */
static int smc_rdma_setup_register(struct smc_link *link)
{
	struct mutex *lock = &link->group->buffers.lock;
	int rc;

	mutex_lock(lock);
	rc = smc_mr_buffers_register(link);
	mutex_unlock(lock);
	return rc;
}

static int smc_rdma_server_first_contact(struct smc_rdma_setup *s,
					 const struct smc_clc_agreement *confirm)
{
	struct smc_rdma_group *group = s->conn->group;
	struct smc_link *link = s->link;
	int rc;

	WRITE_ONCE(s->alone_until, jiffies + SMC_FIRST_CONTACT_TIMEOUT);
	/*
	 * Keep the GID and MAC address to which the link leads. The PROPOSAL may have named the
	 * addresses of another host, and that host's connections must not use this link.
	 */
	memcpy(group->peer.gid, confirm->r.gid, SMC_GID_LEN);
	memcpy(group->peer.mac, confirm->r.mac, SMC_MAC_LEN);
	rc = smc_rdma_link_to_peer(s, confirm) ? :
	     smc_link_to_rts(link) ? :
	     smc_rdma_setup_set_peer(s, &confirm->r) ? :
	     smc_rdma_setup_register(link) ? :
	     smc_rdma_note_confirmed(s, smc_llc_confirm_link_server(link, &s->base.cancel));
	if (rc)
		return rc;
	group->awaits_offer = !group->lgr.release || (group->max_links > 1 && !s->has_vendor);
	return smc_rdma_group_activate(group);
}

/*
 * Whether a client claims to be at the other end of the link. If so, the client may really be
 * there, and write into the element, even if its CONFIRM lacks the proof that smc_link_confirm()
 * checks.
 */
static bool smc_rdma_is_at_link(const struct smc_clc_r *r, const struct smc_link *link)
{
	return r->qpn == link->peer.qpn && !memcmp(r->gid, link->peer.gid, SMC_GID_LEN);
}

/* Whether the CONFIRM has the PROPOSAL's peer id. A PROPOSAL for version 2 alone has no peer id. */
static bool smc_rdma_is_proposer(const struct smc_rdma_setup *s, const struct smc_clc_r *r)
{
	if (s->base.version == SMC_VERSION_2 && !memchr_inv(s->peer.id, 0, sizeof(s->peer.id)))
		return true;
	return !memcmp(s->peer.id, r->peer_id, sizeof(s->peer.id));
}

static int smc_rdma_server_confirm(struct smc_rdma_setup *s,
				   const struct smc_clc_agreement *confirm)
{
	const struct smc_link *link = s->link;
	const bool first_contact = s->base.first_contact;

	/*
	 * If the link was lost since the ACCEPT, its RTokens may be forgotten already, and
	 * smc_link_confirm() would count an honest client's CONFIRM as a guess.
	 */
	if (!first_contact && READ_ONCE(link->broken)) {
		s->base.exposed = true;
		return -ENOLINK;
	}
	/* A client at another link can't reach the element, which then needs no quarantine. */
	s->base.exposed = first_contact || smc_rdma_is_at_link(&confirm->r, link);
	if ((!first_contact && !smc_link_confirm(link, &confirm->r)) || !s->base.exposed ||
	    !smc_rdma_is_proposer(s, &confirm->r) ||
	    !smc_clc_confirms_contact(confirm, first_contact)) {
		smc_stat_violation(smc_net(s->base.net), SMC_VIOLATION_CLC);
		return -EPROTO;
	}
	if (first_contact)
		return smc_rdma_server_first_contact(s, confirm);
	return smc_rdma_setup_set_peer(s, &confirm->r);
}

static int smc_rdma_server_complete(struct smc_path_setup *base,
				    const struct smc_clc_agreement *confirm)
{
	int rc = smc_rdma_server_confirm(smc_rdma_setup_of(base), confirm);

	/*
	 * On an existing link the CONFIRM is the client's last step: the client would not read a
	 * DECLINE.
	 */
	return rc && !base->first_contact ? -EPIPE : rc;
}

/* Find the port whose GID the PROPOSAL named. The port may be gone, or have another GID now. */
static int smc_rdma_client_reach(struct smc_rdma_setup *s)
{
	int rc = smc_rdma_port_find(&s->base, s->base.version, NULL, &s->port);

	if (rc)
		return rc;
	if (memcmp(s->port.gid->gid.raw, s->offered_gid[s->base.version].raw, SMC_GID_LEN))
		return -EHOSTUNREACH;
	return 0;
}

static struct smc_link *smc_rdma_client_link(struct smc_rdma_setup *s, const struct smc_clc_r *r)
{
	if (!s->base.first_contact)
		return smc_rdma_group_find_for_client(s->base.net, s->base.version, &s->port,
						      &s->peer, r);
	if (smc_rdma_is_unreachable(s))
		return ERR_PTR(-EHOSTUNREACH);
	return smc_rdma_setup_group(s);
}

static int smc_rdma_client_join(struct smc_path_setup *base, const struct smc_clc_agreement *accept)
{
	struct smc_rdma_setup *s = smc_rdma_setup_of(base);
	const struct smc_clc_r *r = &accept->r;
	int rc;

	s->has_vendor = smc_clc_has_vendor(&accept->fc);
	s->max_links = s->has_vendor ? s->offered_links : s->offered_links_foreign;
	rc = smc_rdma_client_reach(s) ? :
	     smc_rdma_setup_peer(s, r->peer_id, r->gid, r->mac) ? :
	     smc_rdma_setup_conn(s, smc_rdma_client_link(s, r));
	if (rc)
		return rc;
	if (base->first_contact) {
		smc_llc_expect_confirm_link(s->link);
		rc = smc_rdma_link_to_peer(s, accept);
	}
	return rc ? : smc_rdma_setup_set_peer(s, r);
}

static int smc_rdma_client_complete(struct smc_path_setup *base)
{
	struct smc_rdma_setup *s = smc_rdma_setup_of(base);
	struct smc_link *link = s->link;

	if (!base->first_contact)
		return 0;
	/* The reply comes last: a server that has it may offer the group to other connections. */
	return smc_rdma_note_confirmed(s, smc_llc_confirm_link_client(link, &s->base.cancel)) ? :
	       smc_link_to_rts(link) ? :
	       smc_rdma_setup_register(link) ? :
	       smc_rdma_group_activate(s->conn->group) ? :
	       smc_llc_confirm_link_reply(link);
}

static void smc_rdma_setup_end(struct smc_path_setup *base, bool keep)
{
	struct smc_rdma_setup *s = smc_rdma_setup_of(base);

	/*
	 * A client at the address of the group's peer does not know the group, or has retired it.
	 * Either its host has rebooted, or another program uses the address. So the group takes no
	 * new connection. If the links of the group are lost, TEST LINK fails and ends the group.
	 */
	if (base->out_of_sync && s->conn)
		smc_rdma_group_retire(s->conn->group);
	/* A group whose first contact failed is of no use. */
	if (s->group && !keep)
		smc_rdma_group_terminate(s->group, ECONNABORTED);
	/*
	 * Let the client's next connections use the client's existing groups. Those groups work,
	 * and another first contact may fail, too.
	 */
	if (s->group && !keep && base->role == SMC_SERVER)
		smc_rdma_groups_put_off_spread(base->net, base->version, &s->port, &s->peer);
	if (s->link)
		smc_link_put(s->link);
	if (s->group)
		smc_rdma_group_put(s->group);
	/* A client that has sent the CONFIRM may write into the element until the link ends. */
	if (s->conn && !keep && base->exposed && !base->first_contact)
		smc_rdma_conn_quarantine(s->conn, true);
	smc_first_contact_end(s);
	smc_rdma_setup_put_port(s);
}

const struct smc_path_type smc_rdma_path = {
	.kind		 = SMC_PATH_R,
	.lgrs		 = &smc_rdma_lgrs,
	.source		 = &smc_rdma_netlink_source,
	.init		 = smc_rdma_device_init,
	.exit		 = smc_rdma_device_exit,
	.waits		 = true,
	.setup_size	 = sizeof(struct smc_rdma_setup),
	.offer		 = smc_rdma_setup_offer,
	.reach		 = smc_rdma_setup_reach,
	.server_reserve	 = smc_rdma_server_reserve,
	.describe	 = smc_rdma_setup_describe,
	.client_join	 = smc_rdma_client_join,
	.server_complete = smc_rdma_server_complete,
	.client_complete = smc_rdma_client_complete,
	.end		 = smc_rdma_setup_end,
	.learn		 = smc_rdma_setup_note_decline,
};
