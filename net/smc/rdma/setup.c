// SPDX-License-Identifier: GPL-2.0
/* The steps of an SMC-R rendezvous between the CLC messages. */

#include <linux/etherdevice.h>
#include <linux/in.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>

#include "admin/address.h"
#include "admin/blackhole.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "conn.h"
#include "link.h"
#include "setup.h"
#include "wire/size_class.h"

/* A client waits six seconds for the answer, and what follows takes time as well. */
#define SMC_CONTACT_WAIT	(3 * HZ)

/*
 * First contacts under way as server, each of which has a queue pair, an RMB and a mirror before
 * its client has proven anything. The owner of an address has no more of a namespace's than are
 * left for others, nor a namespace of the host's.
 */
#define SMC_CONTACTS_PER_NET	128
#define SMC_CONTACTS_MAX	512

static LIST_HEAD(smc_contacts);
static DEFINE_SPINLOCK(smc_contacts_lock);
static DECLARE_WAIT_QUEUE_HEAD(smc_contact_ended);

void smc_rdma_setup_init(struct smc_rdma_setup *s, struct sock *sk, struct mem_cgroup *memcg)
{
	const struct smc_sysctl *sysctl = &smc_sk_net(sk)->sysctl;
	u32 rmem = READ_ONCE(sysctl->rmem);
	u32 wmem = READ_ONCE(sysctl->wmem);

	/* The kernel doubles what SO_RCVBUF and SO_SNDBUF ask for, see socket(7). */
	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK)
		rmem = READ_ONCE(sk->sk_rcvbuf) / 2;
	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK)
		wmem = READ_ONCE(sk->sk_sndbuf) / 2;

	s->net = sock_net(sk);
	s->sk = sk;
	smc_peer_address(sk, &s->peer.addr);
	s->memcg = memcg;
	s->rmb_class = smc_size_class_of(rmem, SMC_SIZE_CLASS_R_MAX);
	s->mirror_class = smc_size_class_of(wmem, SMC_SIZE_CLASS_R_MAX);
	INIT_LIST_HEAD(&s->contact);
}

static u32 smc_rdma_diagnosis(int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case -ENOMEM:
	case -EBUSY:
		return SMC_DIAG_NO_MEMORY;
	case -ETIMEDOUT:
		return SMC_DIAG_TIMEOUT_CONFIRM_LINK;
	case -EREMOTEIO:
		return SMC_DIAG_INTERNAL_RTOKEN;
	case -EIO:
		return SMC_DIAG_INTERNAL_REGISTER;
	case -ENOLINK:
		return SMC_DIAG_NO_ACTIVE_LINK;
	case -ENOENT:
		return SMC_DIAG_NO_SERVER_LINK;
	case -EHOSTUNREACH:
		return SMC_DIAG_NO_ROUTE;
	case -EUSERS:
		return SMC_DIAG_TOO_MANY_GROUPS;
	case -ECANCELED:
	case -EPROTO:
		return SMC_DIAG_SYNC;
	default:
		return SMC_DIAG_INTERNAL;
	}
}

/* At another address nobody waits for it, whoever it claims to be. */
static bool smc_contact_is_with(const struct smc_rdma_setup *other, const struct smc_rdma_setup *s)
{
	const struct smc_peer *a = &other->peer, *b = &s->peer;

	return other->net == s->net && ipv6_addr_equal(&a->addr, &b->addr) &&
	       !memcmp(a->id, b->id, sizeof(a->id)) && !memcmp(a->gid, b->gid, sizeof(a->gid)) &&
	       !memcmp(a->mac, b->mac, sizeof(a->mac));
}

/* Return: 0; -EAGAIN while another one with the peer is under way; -EUSERS if too many are. */
static int smc_contact_try(struct smc_rdma_setup *s)
{
	unsigned int own = 0, in_net = 0, all = 0;
	struct smc_rdma_setup *other;
	int rc = 0;

	spin_lock(&smc_contacts_lock);
	list_for_each_entry(other, &smc_contacts, contact) {
		all++;
		if (other->net != s->net)
			continue;
		in_net++;
		if (smc_address_is_akin(&other->peer.addr, &s->peer.addr))
			own++;
		if (smc_contact_is_with(other, s))
			rc = -EAGAIN;
	}
	if (!rc && (own + in_net >= SMC_CONTACTS_PER_NET || in_net + all >= SMC_CONTACTS_MAX))
		rc = -EUSERS;
	if (!rc)
		list_add(&s->contact, &smc_contacts);
	spin_unlock(&smc_contacts_lock);
	return rc;
}

static void smc_contact_end(struct smc_rdma_setup *s)
{
	if (list_empty(&s->contact))
		return;
	spin_lock(&smc_contacts_lock);
	list_del_init(&s->contact);
	spin_unlock(&smc_contacts_lock);
	wake_up_all(&smc_contact_ended);
}

/* The group of a first contact: the setup ends it unless it completes. */
static struct smc_group *smc_rdma_setup_group(struct smc_rdma_setup *s, enum smc_role role)
{
	struct smc_group *group;

	s->first_contact = true;
	group = smc_group_create(s->net, role, s->version, &s->port, &s->peer);
	if (IS_ERR(group))
		return group;
	memcpy(group->eid, s->eid, SMC_EID_LEN);
	smc_group_get(group);
	s->group = group;
	return group;
}

static struct smc_blackhole_key smc_rdma_key(const struct smc_rdma_setup *s)
{
	struct smc_blackhole_key key;

	smc_blackhole_key_gid(&key, s->sk, s->peer.gid);
	return key;
}

/* Whether a link to the peer was tried in vain not long ago: each new attempt takes seconds. */
static bool smc_rdma_is_out_of_reach(const struct smc_rdma_setup *s)
{
	struct smc_blackhole_key key = smc_rdma_key(s);

	return smc_blackhole_has(smc_net(s->net), &key);
}

static void smc_rdma_note_out_of_reach(const struct smc_rdma_setup *s)
{
	struct smc_blackhole_key key = smc_rdma_key(s);

	smc_blackhole_note(smc_net(s->net), &key, SMC_BLACKHOLE_NO_LINK);
}

/*
 * The link was confirmed, or was not: @rc. A peer that takes its leave was reached. A port of this
 * end that went down is not the peer's fault.
 */
static int smc_rdma_note_confirmed(struct smc_rdma_setup *s, int rc)
{
	struct smc_blackhole_key key = smc_rdma_key(s);

	s->called_off = rc == -ECANCELED;
	if (!rc)
		smc_blackhole_forget(smc_net(s->net), &key);
	else if ((rc == -ETIMEDOUT || rc == -ENOLINK) &&
		 !READ_ONCE(s->conn->group->llc.peer_left) &&
		 READ_ONCE(s->conn->group->err) != ENETDOWN)
		smc_rdma_note_out_of_reach(s);
	return rc;
}

void smc_rdma_setup_learn(const struct smc_rdma_setup *s, u32 peer_reason)
{
	if (s->called_off && (peer_reason == SMC_DIAG_TIMEOUT_CONFIRM_LINK ||
			      peer_reason == SMC_DIAG_NO_ACTIVE_LINK))
		smc_rdma_note_out_of_reach(s);
}

static struct smc_group *smc_rdma_server_find(struct smc_rdma_setup *s)
{
	return smc_group_find_for_server(s->net, s->version, &s->port, &s->peer, s->eid);
}

/* A group for the server: one there is, or, after any first contact under way, a new one. */
static struct smc_group *smc_rdma_server_group(struct smc_rdma_setup *s)
{
	struct smc_group *group;
	int rc;

	group = smc_rdma_server_find(s);
	if (group)
		return group;
	/* Others' end soon, as a rule: hosts that come back together are no reason for TCP. */
	wait_event_timeout(smc_contact_ended, !(rc = smc_contact_try(s)), SMC_CONTACT_WAIT);
	if (rc)
		return ERR_PTR(rc == -EAGAIN ? -ETIMEDOUT : rc);
	group = smc_rdma_server_find(s);
	if (!group && smc_rdma_is_out_of_reach(s))
		group = ERR_PTR(-EHOSTUNREACH);
	if (group) {
		smc_contact_end(s);
		return group;
	}
	group = smc_rdma_setup_group(s, SMC_SERVER);
	if (!IS_ERR(group))
		group->link->number = 1;
	return group;
}

static u32 smc_rdma_setup_conn(struct smc_rdma_setup *s, struct smc_group *group)
{
	struct smc_rdma_conn *conn = smc_rdma_conn_create(group, s->rmb_class, s->memcg);

	if (IS_ERR(conn))
		return smc_rdma_diagnosis(PTR_ERR(conn));
	s->conn = conn;
	return 0;
}

u32 smc_rdma_server_reserve(struct smc_rdma_setup *s)
{
	struct smc_group *group = smc_rdma_server_group(s);
	u32 diagnosis;

	if (IS_ERR(group))
		return smc_rdma_diagnosis(PTR_ERR(group));
	diagnosis = smc_rdma_setup_conn(s, group);
	if (diagnosis)
		return diagnosis;
	/* After the CONFIRM it would be too late to decline. */
	return smc_rdma_diagnosis(smc_rdma_conn_take_mirror(s->conn, s->mirror_class, s->memcg));
}

static void smc_rdma_link_peer(const struct smc_clc_r *r, struct smc_link_peer *peer)
{
	memcpy(peer->gid, r->gid, SMC_GID_LEN);
	memcpy(peer->mac, r->mac, SMC_MAC_LEN);
	peer->qpn = r->qpn;
	peer->psn = r->psn;
	peer->mtu = r->qp_mtu;
}

/* What a version 2 peer says of itself on first contact. */
static void smc_rdma_note_first_contact(struct smc_group *group, const struct smc_clc_agreement *a)
{
	if (group->version != SMC_VERSION_2)
		return;
	group->release = min_t(u8, a->fc.release, SMC_RELEASE);
	group->peer_os = a->fc.os_type;
	memcpy(group->peer_hostname, a->fc.hostname, SMC_HOSTNAME_LEN);
	/* Fewer than 16 is not allowed, but who asks for it gets it. */
	if (group->release && a->fc.max_conns)
		group->max_conns = min(group->max_conns, a->fc.max_conns);
}

/* What is sent to a link goes to one host, and not to all that listen. */
static bool smc_rdma_is_unicast(const struct smc_clc_r *r)
{
	struct in6_addr gid;
	__be32 ipv4;

	memcpy(&gid, r->gid, sizeof(gid));
	ipv4 = gid.s6_addr32[3];
	if (ipv6_addr_v4mapped(&gid) && (ipv4_is_zeronet(ipv4) || ipv4_is_lbcast(ipv4)))
		return false;
	return !ipv6_addr_any(&gid) && !rdma_is_multicast_addr(&gid) && is_valid_ether_addr(r->mac);
}

static int smc_rdma_link_to_peer(const struct smc_rdma_setup *s, const struct smc_clc_agreement *a)
{
	struct smc_group *group = s->conn->group;
	struct smc_link_peer peer;

	if (a->r.qp_mtu < IB_MTU_256 || a->r.qp_mtu > IB_MTU_4096 || !smc_rdma_is_unicast(&a->r))
		return -EPROTO;
	smc_rdma_link_peer(&a->r, &peer);
	group->is_routed = s->is_routed;
	if (s->is_routed)
		memcpy(peer.mac, s->gateway, SMC_MAC_LEN);
	smc_rdma_note_first_contact(group, a);
	return smc_link_to_rtr(group->link, &peer);
}

static int smc_rdma_server_set_peer(struct smc_rdma_setup *s,
				    const struct smc_clc_agreement *confirm)
{
	int rc = smc_rdma_conn_set_peer(s->conn, &confirm->r, s->mirror_class, s->memcg);

	/* The client's first message may have been faster than its CONFIRM, and want an answer. */
	if (!rc)
		smc_stream_on_tx_room(&s->conn->stream);
	return rc;
}

static int smc_rdma_server_first_contact(struct smc_rdma_setup *s,
					 const struct smc_clc_agreement *confirm)
{
	struct smc_group *group = s->conn->group;
	int rc;

	/* Nobody else is to be offered the link of one that posed as them in its PROPOSAL. */
	memcpy(group->peer.gid, confirm->r.gid, SMC_GID_LEN);
	memcpy(group->peer.mac, confirm->r.mac, SMC_MAC_LEN);
	rc = smc_rdma_link_to_peer(s, confirm);
	if (rc)
		return rc;
	rc = smc_link_to_rts(group->link);
	if (rc)
		return rc;
	rc = smc_rdma_server_set_peer(s, confirm);
	if (rc)
		return rc;
	rc = smc_buffers_register(group);
	if (rc)
		return rc;
	rc = smc_rdma_note_confirmed(s, smc_llc_confirm_link_server(group, &s->call_off));
	if (rc)
		return rc;
	if (!group->release)
		smc_llc_offer_no_second_link(group);
	return smc_group_activate(group);
}

/* Who names another's group in its PROPOSAL does not know the other end of its link. */
static bool smc_rdma_is_at_link(const struct smc_clc_r *r, const struct smc_link *link)
{
	return r->qpn == link->peer.qpn && !memcmp(r->gid, link->peer.gid, SMC_GID_LEN);
}

/* A PROPOSAL of version 2 alone has no peer id. */
static bool smc_rdma_is_proposer(const struct smc_rdma_setup *s, const struct smc_clc_r *r)
{
	if (s->version == SMC_VERSION_2 && !memchr_inv(s->peer.id, 0, sizeof(s->peer.id)))
		return true;
	return !memcmp(s->peer.id, r->peer_id, sizeof(s->peer.id));
}

u32 smc_rdma_server_complete(struct smc_rdma_setup *s, const struct smc_clc_agreement *confirm)
{
	int rc;

	/* It is out of reach of one at another link: nothing is spent, nor the group retired. */
	s->exposed = s->first_contact || smc_rdma_is_at_link(&confirm->r, s->conn->group->link);
	if (!s->exposed || !smc_rdma_is_proposer(s, &confirm->r) ||
	    !smc_clc_confirms_contact(confirm, s->first_contact)) {
		smc_stat_violation(smc_net(s->net), SMC_VIOLATION_CLC);
		return SMC_DIAG_SYNC;
	}
	if (s->first_contact)
		rc = smc_rdma_server_first_contact(s, confirm);
	else
		rc = smc_rdma_server_set_peer(s, confirm);
	return smc_rdma_diagnosis(rc);
}

u32 smc_rdma_client_join(struct smc_rdma_setup *s, const struct smc_clc_agreement *accept)
{
	struct smc_group *group;
	u32 diagnosis;
	int rc;

	if (accept->first_contact && smc_rdma_is_out_of_reach(s))
		return SMC_DIAG_NO_ROUTE;
	if (accept->first_contact)
		group = smc_rdma_setup_group(s, SMC_CLIENT);
	else
		group = smc_group_find_for_client(s->net, s->version, &s->peer, accept->r.qpn);
	if (IS_ERR(group))
		return smc_rdma_diagnosis(PTR_ERR(group));
	diagnosis = smc_rdma_setup_conn(s, group);
	if (diagnosis)
		return diagnosis;

	if (s->first_contact) {
		smc_llc_expect_confirm_link(group);
		rc = smc_rdma_link_to_peer(s, accept);
		if (rc)
			return smc_rdma_diagnosis(rc);
	}
	return smc_rdma_diagnosis(smc_rdma_conn_set_peer(s->conn, &accept->r, s->mirror_class,
							 s->memcg));
}

static int smc_rdma_client_first_contact(struct smc_rdma_setup *s)
{
	struct smc_group *group = s->conn->group;
	int rc;

	rc = smc_rdma_note_confirmed(s, smc_llc_confirm_link_client(group, &s->call_off));
	if (rc)
		return rc;
	rc = smc_link_to_rts(group->link);
	if (rc)
		return rc;
	rc = smc_buffers_register(group);
	if (rc)
		return rc;
	/* The server may offer the group as soon as it has the reply. */
	rc = smc_group_activate(group);
	if (rc)
		return rc;
	return smc_llc_confirm_link_reply(group);
}

u32 smc_rdma_client_complete(struct smc_rdma_setup *s)
{
	if (!s->first_contact)
		return 0;
	return smc_rdma_diagnosis(smc_rdma_client_first_contact(s));
}

void smc_rdma_setup_end(struct smc_rdma_setup *s, bool keep)
{
	/* A group without its first contact is of no use to anybody. */
	if (s->group && !keep)
		smc_group_kill(s->group, ECONNABORTED);
	if (s->group)
		smc_group_put(s->group);
	if (s->conn && !keep) {
		/* A CONFIRM may be on its way, and its sender write. That ends with the link. */
		if (s->exposed && !s->first_contact)
			smc_rdma_conn_spend(s->conn);
		smc_stream_on_lost(&s->conn->stream, ECONNABORTED);
		smc_stream_put(&s->conn->stream);
	}
	smc_contact_end(s);
	if (s->has_port)
		smc_rdma_port_put(&s->port);
}
