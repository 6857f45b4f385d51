// SPDX-License-Identifier: GPL-2.0
/* The rendezvous as client. */

#include <linux/slab.h>
#include <net/sock.h>

#include "admin/blackhole.h"
#include "admin/eid.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "clc_io.h"
#include "handshake.h"
#include "identity.h"
#include "ism/conn.h"
#include "ism/setup.h"
#include "offer.h"
#include "rdma/conn.h"
#include "rdma/link.h"
#include "rdma/setup.h"
#include "route.h"

/* A client's rendezvous. */
struct smc_client {
	struct smc_handshake *hs;
	s64 rc;			/* of the PROPOSAL */
	struct smc_offer offer;
	struct smc_rdma_setup setup;
	struct smc_ism_setup ism;
	struct smc_clc_agreement accept;
	u8 eid[SMC_EID_LEN];	/* agreed on, version 2 */
	u8 buf[SMC_CLC_MAX_LEN];
};

/* What the server chose must be what was offered. Return: 0 or a diagnosis. */
static u32 smc_client_check(struct smc_client *c)
{
	const struct smc_clc_agreement *accept = &c->accept;

	if (accept->type != SMC_CLC_ACCEPT)
		return SMC_DIAG_SYNC;
	if (accept->is_d && !c->offer.has_d)
		return SMC_DIAG_NO_DEVICE_D;
	if (!accept->is_d && !smc_offer_has_version(&c->offer, accept->version))
		return SMC_DIAG_VERSION;
	if (accept->version == SMC_VERSION_1)
		return 0;
	if (!smc_eid_match((const u8 (*)[SMC_EID_LEN])accept->eid, 1, c->eid))
		return SMC_DIAG_NO_UEID;
	if (accept->first_contact && accept->fc.release > SMC_RELEASE)
		return SMC_DIAG_RELEASE;
	return 0;
}

static u32 smc_client_join_r(struct smc_client *c)
{
	const struct smc_clc_agreement *accept = &c->accept;
	struct smc_rdma_setup *s = &c->setup;
	int routed = 0;

	s->version = accept->version;
	memcpy(s->eid, c->eid, SMC_EID_LEN);
	smc_offer_take_port(&c->offer, s->version, &s->port);
	s->has_port = true;
	if (s->version == SMC_VERSION_2)
		routed = smc_route_gateway(c->hs->sk, &s->port, accept->r.gid, s->gateway);
	if (routed < 0)
		return SMC_DIAG_INDIRECT_MISMATCH;
	s->is_routed = routed;
	memcpy(s->peer.id, accept->r.peer_id, SMC_PEER_ID_LEN);
	memcpy(s->peer.gid, accept->r.gid, SMC_GID_LEN);
	memcpy(s->peer.mac, accept->r.mac, SMC_MAC_LEN);
	return smc_rdma_client_join(s, accept);
}

static u32 smc_client_join(struct smc_client *c)
{
	if (!c->accept.is_d)
		return smc_client_join_r(c);
	memcpy(c->ism.peer.eid, c->eid, SMC_EID_LEN);
	return smc_ism_client_join(&c->ism, &c->accept);
}

static void smc_client_fill_r(const struct smc_client *c, struct smc_clc_agreement *confirm)
{
	const struct smc_rdma_conn *conn = c->setup.conn;

	smc_rdma_conn_describe(conn, &confirm->r);
	smc_local_peer_id(sock_net(c->hs->sk), confirm->r.peer_id);
	smc_describe_host(&confirm->fc, c->hs->sk, conn->group->max_conns);
	/* The address that was proposed is the only one a link may use. */
	confirm->n_gids = 1;
	memcpy(confirm->gids[0], confirm->r.gid, SMC_GID_LEN);
}

static size_t smc_client_build_confirm(struct smc_client *c)
{
	struct smc_clc_agreement confirm = {
		.type	       = SMC_CLC_CONFIRM,
		.version       = c->accept.version,
		.is_d	       = c->accept.is_d,
		.first_contact = c->accept.first_contact,
	};

	memcpy(confirm.eid, c->eid, SMC_EID_LEN);
	if (confirm.is_d)
		smc_describe_d(c->ism.conn, c->hs->sk, &confirm);
	else
		smc_client_fill_r(c, &confirm);
	/* No newer than this end's: see smc_client_check(). */
	confirm.fc.release = c->accept.fc.release;
	return smc_clc_build_agreement(c->buf, &confirm);
}

/* Return: 0, a positive diagnosis to decline with, or an error that ends the connection. */
static s64 smc_client_take_accept(struct smc_client *c)
{
	struct smc_handshake *hs = c->hs;
	s64 rc;

	/* Bytes that are no message are an error: an application would take them for data. */
	rc = smc_clc_take(hs, c->buf);
	/* The server, or what is on the way to it, returns an option that it does not know. */
	if (rc == -ECONNRESET || hs->timed_out)
		smc_blackhole_note(smc_sk_net(hs->sk), &hs->place, SMC_BLACKHOLE_NO_ANSWER);
	if (rc)
		return rc;
	/* What happened before is over: should it happen again, that counts as the first time. */
	smc_blackhole_forget(smc_sk_net(hs->sk), &hs->place);
	if (hs->reason)
		return 0;
	if (hs->head.type == SMC_CLC_PROPOSAL) {
		/* Both ends connected to each other, or this one to itself: both find it here. */
		hs->reason = SMC_DIAG_SYNC;
		return 0;
	}
	if (smc_clc_parse_agreement(c->buf, hs->head.length, &c->accept)) {
		/* A DECLINE has the version of the message that it answers. */
		c->accept.version = min_t(u8, hs->head.version, SMC_VERSION_2);
		smc_stat_violation(smc_sk_net(hs->sk), SMC_VIOLATION_CLC);
		return SMC_DIAG_SYNC;
	}
	return smc_client_check(c);
}

static s64 smc_client_propose(struct smc_client *c)
{
	struct smc_handshake *hs = c->hs;
	size_t len;
	s64 rc;

	/* A server in a crowd declines before it hears anything: that may cross what this sends. */
	hs->owed = true;
	if (hs->refusal)
		return hs->refusal;
	if (smc_route_is_secured(hs->sk))
		return SMC_DIAG_IPSEC;
	rc = smc_offer_make(&c->offer, hs->sk);
	if (rc)
		return rc;
	len = smc_offer_build(&c->offer, hs->sk, c->buf);
	if (!len)
		return SMC_DIAG_NO_MEMORY;
	return smc_clc_ask(hs, c->buf, len);
}

static s64 smc_client_agree(struct smc_client *c)
{
	struct smc_handshake *hs = c->hs;
	s64 rc;

	rc = smc_client_take_accept(c);
	if (rc || hs->reason)
		return rc;
	rc = smc_client_join(c);
	if (rc)
		return rc;
	rc = smc_clc_send(hs, c->buf, smc_client_build_confirm(c));
	if (rc)
		return rc;
	hs->agreed = true;
	if (c->accept.is_d) {
		hs->stream = &c->ism.conn->stream;
	} else {
		rc = smc_rdma_client_complete(&c->setup);
		if (rc)
			return rc;
		hs->stream = &c->setup.conn->stream;
	}
	smc_stat_handshake(smc_sk_net(hs->sk), hs->stream->path->kind, SMC_CLIENT,
			   c->accept.version);
	return 0;
}

void smc_handshake_propose(struct smc_handshake *hs)
{
	struct smc_client *c;

	if (hs->client)
		return;
	c = kmalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return;
	memset(c, 0, offsetof(struct smc_client, buf));
	c->hs = hs;
	smc_rdma_setup_init(&c->setup, hs->sk, hs->memcg);
	c->setup.call_off = smc_clc_call_off(hs);
	smc_ism_setup_init(&c->ism, hs->sk, hs->memcg);
	hs->client = c;
	c->rc = smc_client_propose(c);
}

bool smc_handshake_await(struct smc_handshake *hs, long timeo)
{
	unsigned long due = hs->due;
	int rc;

	/* There was no memory, and it begins anew. */
	if (!hs->client)
		return false;
	if (hs->client->rc)
		return true;
	if (!timeo && !smc_clc_has_message(hs))
		return false;
	hs->interruptible = true;
	if (timeo < (long)(hs->due - jiffies))
		hs->due = jiffies + timeo;
	rc = smc_clc_peek(hs);
	hs->due = due;
	hs->interruptible = false;
	if (rc == -ERESTARTSYS ||
	    ((rc == -ETIMEDOUT || rc == -ECONNABORTED) && time_before(jiffies, due)))
		return false;
	/* With SMC-R the peer may have a link or memory to confirm; no signal ends that wait. */
	return rc || smc_clc_agreed_path(&hs->head) != SMC_OFFER_R;
}

int smc_handshake_client(struct smc_handshake *hs)
{
	struct smc_client *c;
	s64 rc;

	smc_handshake_propose(hs);
	c = hs->client;
	if (!c)
		return -ENOMEM;
	rc = c->rc ? : smc_client_agree(c);
	smc_ism_setup_end(&c->ism, hs->stream);
	smc_rdma_setup_end(&c->setup, hs->stream);
	/* In the version of the ACCEPT, if there was one. */
	if (rc > 0)
		rc = smc_clc_agree_on_tcp(hs, c->accept.version ? : SMC_VERSION_2, rc, c->buf);
	smc_rdma_setup_learn(&c->setup, hs->peer_reason);
	if (rc)
		smc_stat_handshake_error(smc_sk_net(hs->sk), SMC_CLIENT);
	smc_offer_drop(&c->offer);
	hs->client = NULL;
	kfree(c);
	return rc;
}
