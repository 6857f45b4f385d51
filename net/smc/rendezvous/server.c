// SPDX-License-Identifier: GPL-2.0
/* The rendezvous as server. */

#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "admin/blackhole.h"
#include "admin/eid.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "clc_io.h"
#include "handshake.h"
#include "identity.h"
#include "ism/conn.h"
#include "ism/setup.h"
#include "rdma/conn.h"
#include "rdma/setup.h"
#include "route.h"

/* A server's rendezvous. */
struct smc_server {
	struct smc_handshake *hs;
	bool is_d;
	u32 reason_d;		/* why not */
	struct smc_rdma_setup setup;
	struct smc_ism_setup ism;
	struct smc_clc_proposal proposal;
	struct smc_clc_agreement confirm;
	u8 version;		/* for a DECLINE: agreed on, or what the client speaks */
	u8 buf[SMC_CLC_MAX_LEN];
};

static void smc_server_use(struct smc_server *srv, u8 version, const u8 *gid)
{
	struct smc_rdma_setup *s = &srv->setup;

	s->has_port = true;
	s->version = version;
	memcpy(s->peer.id, srv->proposal.peer_id, SMC_PEER_ID_LEN);
	memcpy(s->peer.mac, srv->proposal.mac, SMC_MAC_LEN);
	memcpy(s->peer.gid, gid, SMC_GID_LEN);
}

/* The client shares memory with this host if it names a device that does. */
static bool smc_server_try_d_v2(struct smc_server *srv)
{
	const struct smc_clc_proposal *p = &srv->proposal;
	int i;

	if (!smc_offer_has_d(p->offer_v2))
		return false;
	for (i = 0; i < p->n_ism; i++)
		if (smc_ism_setup_reach(&srv->ism, SMC_SERVER, SMC_VERSION_2, &p->ism[i]))
			return smc_eid_match(p->eids, p->n_eids, srv->ism.peer.eid);
	return false;
}

static bool smc_server_try_d_v1(struct smc_server *srv)
{
	const struct smc_clc_proposal *p = &srv->proposal;
	const struct smc_clc_ism client = { .gid = p->ism_gid, .chid = p->ism_chid };

	return smc_offer_has_d(p->offer_v1) && smc_route_matches(srv->hs->sk, p) &&
	       smc_ism_setup_reach(&srv->ism, SMC_SERVER, SMC_VERSION_1, &client);
}

/* SMC-D, in the newest version that works. Return: 0 or a diagnosis. */
static u32 smc_server_try_d(struct smc_server *srv)
{
	srv->is_d = smc_ism_is_on(smc_sk_net(srv->hs->sk)) &&
		    (smc_server_try_d_v2(srv) || smc_server_try_d_v1(srv));
	return srv->is_d ? 0 : SMC_DIAG_NO_DEVICE_D;
}

/* Version 2: a common EID and a device. Return: 0 or a diagnosis. */
static u32 smc_server_try_v2(struct smc_server *srv)
{
	const struct smc_clc_proposal *p = &srv->proposal;
	struct smc_rdma_setup *s = &srv->setup;
	int routed;

	if (p->version < SMC_VERSION_2 || !smc_offer_has_r(p->offer_v2))
		return SMC_DIAG_NO_V2_EXTENSION;
	if (!smc_eid_match(p->eids, p->n_eids, s->eid))
		return SMC_DIAG_NO_UEID;
	if (smc_rdma_port_find(srv->hs->sk, SMC_VERSION_2, p->gid_v2, &s->port))
		return SMC_DIAG_NO_DEVICE_R;
	routed = smc_route_gateway(srv->hs->sk, &s->port, p->gid_v2, s->gateway);
	if (routed < 0) {
		smc_rdma_port_put(&s->port);
		return SMC_DIAG_INDIRECT_MISMATCH;
	}
	s->is_routed = routed;
	smc_server_use(srv, SMC_VERSION_2, p->gid_v2);
	return 0;
}

/* Version 1: a common subnet and a device. */
static u32 smc_server_try_v1(struct smc_server *srv)
{
	const struct smc_clc_proposal *p = &srv->proposal;

	if (!smc_offer_has_r(p->offer_v1))
		return SMC_DIAG_MODE_MISMATCH;
	if (!smc_route_matches(srv->hs->sk, p))
		return SMC_DIAG_PREFIX_MISMATCH;
	if (smc_rdma_port_find(srv->hs->sk, SMC_VERSION_1, NULL, &srv->setup.port))
		return SMC_DIAG_NO_DEVICE_R;
	smc_server_use(srv, SMC_VERSION_1, p->gid_v1);
	return 0;
}

/*
 * The newest version that works. If none does, the diagnosis of the newest that was offered,
 * or that of SMC-D.
 */
static u32 smc_server_try_r(struct smc_server *srv)
{
	u32 reason_v2, reason_v1;

	reason_v2 = smc_server_try_v2(srv);
	if (!reason_v2)
		return 0;
	reason_v1 = smc_server_try_v1(srv);
	if (!reason_v1)
		return 0;
	if (smc_offer_has_r(srv->proposal.offer_v2))
		return reason_v2;
	return smc_offer_has_r(srv->proposal.offer_v1) ? reason_v1 : srv->reason_d;
}

static void smc_server_fill_r(const struct smc_server *srv, struct smc_clc_agreement *accept)
{
	const struct smc_rdma_setup *s = &srv->setup;

	accept->version = s->version;
	accept->first_contact = s->first_contact;
	smc_rdma_conn_describe(s->conn, &accept->r);
	smc_local_peer_id(sock_net(srv->hs->sk), accept->r.peer_id);
	memcpy(accept->eid, s->eid, SMC_EID_LEN);
	smc_describe_host(&accept->fc, srv->hs->sk, s->conn->group->max_conns);
}

static void smc_server_fill_d(const struct smc_server *srv, struct smc_clc_agreement *accept)
{
	const struct smc_ism_setup *s = &srv->ism;

	accept->version = s->peer.version;
	accept->first_contact = s->first_contact;
	memcpy(accept->eid, s->peer.eid, SMC_EID_LEN);
	smc_describe_d(s->conn, srv->hs->sk, accept);
}

static size_t smc_server_build_accept(struct smc_server *srv)
{
	struct smc_clc_agreement accept = {
		.type = SMC_CLC_ACCEPT,
		.is_d = srv->is_d,
	};

	if (srv->is_d)
		smc_server_fill_d(srv, &accept);
	else
		smc_server_fill_r(srv, &accept);
	accept.fc.release = min_t(u8, srv->proposal.release, SMC_RELEASE);
	if (srv->proposal.max_conns)
		accept.fc.max_conns = min(accept.fc.max_conns, srv->proposal.max_conns);
	return smc_clc_build_agreement(srv->buf, &accept);
}

/* Return: 0, a positive diagnosis to decline with, or an error that ends the connection. */
static s64 smc_server_take_proposal(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	s64 rc;

	rc = smc_clc_take(hs, srv->buf);
	if (rc == -ECONNRESET) {
		/* Not a client of SMC, whatever its SYN said: the bytes are the application's. */
		hs->reason = SMC_DIAG_PEER_NO_SMC;
		return 0;
	}
	if (hs->timed_out) {
		smc_blackhole_note_client(smc_sk_net(hs->sk), &hs->place,
					  SMC_BLACKHOLE_NO_PROPOSAL);
		smc_clc_put_off_decline(hs, smc_blackhole_is_on(smc_sk_net(hs->sk)) ?
					    SMC_DIAG_BLACKHOLE : SMC_DIAG_SYNC);
		return 0;
	}
	if (rc || hs->reason)
		return rc;
	smc_blackhole_forget(smc_sk_net(hs->sk), &hs->place);
	srv->version = min_t(u8, hs->head.version, SMC_VERSION_2);
	if (hs->head.type != SMC_CLC_PROPOSAL ||
	    smc_clc_parse_proposal(srv->buf, hs->head.length, &srv->proposal)) {
		smc_stat_violation(smc_sk_net(hs->sk), SMC_VIOLATION_CLC);
		return SMC_DIAG_SYNC;
	}
	return 0;
}

static s64 smc_server_take_confirm(struct smc_server *srv)
{
	u8 version = srv->is_d ? srv->ism.peer.version : srv->setup.version;
	struct smc_handshake *hs = srv->hs;
	s64 rc;

	/* Bytes that are no message are an error: an application would take them for data. */
	rc = smc_clc_take(hs, srv->buf);
	if (rc || hs->reason)
		return rc;
	if (smc_clc_parse_agreement(srv->buf, hs->head.length, &srv->confirm) ||
	    srv->confirm.type != SMC_CLC_CONFIRM || srv->confirm.is_d != srv->is_d ||
	    srv->confirm.version != version) {
		smc_stat_violation(smc_sk_net(hs->sk), SMC_VIOLATION_CLC);
		return SMC_DIAG_SYNC;
	}
	return 0;
}

/*
 * With SMC-R the CONFIRM is a client's last step, unless a link is to be confirmed: it looks for
 * nothing more. With SMC-D it learns from the end of its mate.
 */
static bool smc_server_may_decline(const struct smc_server *srv)
{
	return srv->is_d || srv->setup.first_contact;
}

static s64 smc_server_consider(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	s64 rc;

	smc_clc_expect(hs);
	rc = smc_server_take_proposal(srv);
	if (rc || hs->reason)
		return rc;
	if (smc_route_is_secured(hs->sk))
		return SMC_DIAG_IPSEC;
	srv->reason_d = smc_server_try_d(srv);
	return 0;
}

static s64 smc_server_answer(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	s64 rc;

	rc = srv->is_d ? 0 : smc_server_try_r(srv);
	if (rc)
		return rc;
	rc = srv->is_d ? smc_ism_server_reserve(&srv->ism) : smc_rdma_server_reserve(&srv->setup);
	if (rc)
		return rc;
	srv->version = srv->is_d ? srv->ism.peer.version : srv->setup.version;
	/* That may take longer than the client waits. It knows no group that this could mean. */
	if (smc_clc_take_early_decline(hs, srv->buf)) {
		hs->out_of_sync = false;
		return 0;
	}
	return smc_clc_ask(hs, srv->buf, smc_server_build_accept(srv));
}

static s64 smc_server_complete(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	s64 rc;

	rc = smc_server_take_confirm(srv);
	/* Who declines does not write. */
	srv->setup.exposed = !hs->reason;
	if (rc || hs->reason)
		return rc;
	hs->agreed = true;
	rc = srv->is_d ? smc_ism_server_complete(&srv->ism, &srv->confirm) :
			 smc_rdma_server_complete(&srv->setup, &srv->confirm);
	if (rc)
		return smc_server_may_decline(srv) ? rc : -ECONNRESET;
	hs->stream = srv->is_d ? &srv->ism.conn->stream : &srv->setup.conn->stream;
	smc_stat_handshake(smc_sk_net(hs->sk), hs->stream->path->kind, SMC_SERVER,
			   srv->confirm.version);
	return 0;
}

static s64 smc_server_shake(struct smc_server *srv)
{
	s64 rc;

	rc = smc_server_consider(srv);
	if (!rc && !srv->hs->reason)
		rc = smc_server_answer(srv);
	if (!rc && !srv->hs->reason)
		rc = smc_server_complete(srv);
	return rc;
}

int smc_handshake_server(struct smc_handshake *hs)
{
	struct smc_server *srv = kmalloc(sizeof(*srv), GFP_KERNEL);
	s64 rc;

	if (!srv)
		return -ENOMEM;
	memset(srv, 0, offsetof(struct smc_server, buf));
	srv->hs = hs;
	srv->version = SMC_VERSION_2;
	smc_rdma_setup_init(&srv->setup, hs->sk, hs->memcg);
	srv->setup.call_off = smc_clc_call_off(hs);
	smc_ism_setup_init(&srv->ism, hs->sk, hs->memcg);
	rc = smc_server_shake(srv);
	/*
	 * The client, at the address that the group was made from, says that it does not know it:
	 * its host has booted anew, or it is another program there. So only new connections keep
	 * away; if the group is lost, TEST LINK ends the others.
	 */
	if (hs->out_of_sync && srv->setup.conn)
		smc_group_retire(srv->setup.conn->group);
	smc_ism_setup_end(&srv->ism, hs->stream);
	smc_rdma_setup_end(&srv->setup, hs->stream);
	if (rc > 0)
		rc = smc_clc_agree_on_tcp(hs, srv->version, rc, srv->buf);
	smc_rdma_setup_learn(&srv->setup, hs->peer_reason);
	if (rc)
		smc_stat_handshake_error(smc_sk_net(hs->sk), SMC_SERVER);
	kfree(srv);
	return rc;
}

int smc_handshake_refuse(struct smc_handshake *hs, u32 reason)
{
	u8 *buf = kmalloc(SMC_CLC_MAX_LEN, GFP_KERNEL);
	u8 version = SMC_VERSION_2;
	int rc;

	if (!buf)
		return -ENOMEM;
	if (smc_clc_has_message(hs))
		version = min_t(u8, hs->head.version, SMC_VERSION_2);
	/*
	 * The PROPOSAL, which may not have come yet. In a crowd nobody waits for it: its sender
	 * reads the DECLINE before what the application may say at once.
	 */
	hs->owed = true;
	rc = smc_clc_agree_on_tcp(hs, version, reason, buf);
	kfree(buf);
	return rc;
}
