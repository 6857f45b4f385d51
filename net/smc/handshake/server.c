// SPDX-License-Identifier: GPL-2.0
/* The server's side of the CLC handshake. */

#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "admin/blackhole.h"
#include "admin/eid.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "clc_io.h"
#include "handshake.h"
#include "offer.h"
#include "route.h"
#include "setup.h"
#include "tcp.h"

/* State of a server's handshake. */
struct smc_server {
	struct smc_handshake *hs;
	struct smc_path_setup *setup;	/* setup on the chosen path, or NULL */
	struct smc_clc_proposal proposal;
	struct smc_clc_agreement confirm;
	/*
	 * SMC version for a DECLINE: the newest that both ends know, until they agree on a version.
	 * After that, it is the agreed version, which the CONFIRM must have, too.
	 */
	u8 version;
	u8 buf[SMC_CLC_MAX_LEN];
};

/*
 * Tries to use @version. Version 2 needs a common EID, version 1 a common subnet, and both versions
 * need a device. Return: 0 or a diagnosis.
 */
static u32 smc_server_try_version(struct smc_server *srv, u8 version)
{
	const struct smc_clc_proposal *p = &srv->proposal;
	struct smc_path_setup *s = srv->setup;

	s->version = version;
	memset(s->eid, 0, SMC_EID_LEN);
	if (version == SMC_VERSION_1 && !smc_route_matches(s, p))
		return SMC_DIAG_PREFIX_MISMATCH;
	if (version == SMC_VERSION_2 && !smc_eid_match(p->eids, p->n_eids, s->eid))
		return SMC_DIAG_NO_UEID;
	return smc_setup_diagnosis(s, s->type->reach(s, p));
}

/*
 * Chooses the newest version that works.
 * Return: 0 if a version works. Otherwise the diagnosis that the path's type has for this case. If
 * the type has none, the diagnosis for the newest version that was offered.
 */
static u32 smc_server_try(struct smc_server *srv)
{
	struct smc_path_setup *s = srv->setup;
	u32 reason = 0, rc;
	u8 version;

	for (version = SMC_VERSION_2; version >= SMC_VERSION_1; version--) {
		if (!(s->offered & BIT(version)))
			continue;
		rc = smc_server_try_version(srv, version);
		if (!rc)
			return 0;
		reason = reason ? : rc;
	}
	return s->type->diagnosis ? : reason;
}

/*
 * Chooses the first path that reaches the client. If a later step on this path fails, no other path
 * is tried.
 * Return: 0 if a path reaches the client; SMC_DIAG_NO_MEMORY if memory runs out;
 * SMC_DIAG_NO_DEVICE_D if the client offers no path. If no offered path reaches the client, the
 * diagnosis for the last one that was tried.
 */
static u32 smc_server_choose(struct smc_server *srv)
{
	const struct smc_path_type *type;
	u32 reason = SMC_DIAG_NO_DEVICE_D;
	u8 offered;
	int i;

	for (i = 0; i < SMC_N_PATHS && reason; i++) {
		type = smc_path_types[i];
		offered = smc_offer_versions(&srv->proposal, type->kind);
		if (!offered)
			continue;
		smc_setup_end(srv->setup, false);
		smc_setup_free(srv->setup, 0);
		srv->setup = smc_setup_new(type, srv->hs);
		if (!srv->setup)
			return SMC_DIAG_NO_MEMORY;
		srv->setup->offered = offered;
		smc_route_set(srv->setup, sk_dst_get(srv->hs->sk));
		reason = smc_server_try(srv);
	}
	return reason;
}

static size_t smc_server_build_accept(struct smc_server *srv)
{
	struct smc_clc_agreement accept;

	smc_setup_describe(srv->setup, SMC_CLC_ACCEPT, &accept);
	accept.fc.release = min_t(u8, srv->proposal.release, SMC_RELEASE);
	if (srv->proposal.max_conns)
		accept.fc.max_conns = min(accept.fc.max_conns, srv->proposal.max_conns);
	return smc_clc_build_agreement(srv->buf, &accept);
}

/*
 * Notes a client that sent no PROPOSAL. Return: SMC_DIAG_BLACKHOLE, or @reason if the namespace
 * keeps no blackhole entries.
 */
static u32 smc_server_note_client(struct smc_handshake *hs, u32 reason)
{
	struct smc_net *sn = smc_net(sock_net(hs->sk));

	smc_blackhole_note_client(sn, &hs->blackhole_key, SMC_BLACKHOLE_NO_PROPOSAL);
	return smc_blackhole_is_on(sn) ? SMC_DIAG_BLACKHOLE : reason;
}

/* Return: 0, a positive diagnosis to decline with, or an error that ends the connection. */
static s64 smc_server_take_proposal(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	s64 rc;

	/*
	 * The client's application sent the first bytes. The SYN had the SMC option, but the
	 * SYN-ACK may have lost it.
	 */
	rc = smc_clc_peek(hs);
	if (rc == -ENOMSG) {
		hs->reason = smc_server_note_client(hs, SMC_DIAG_PEER_NO_SMC);
		return 0;
	}
	/*
	 * Only a part of a message came. The other segments may be lost, and come late. Then
	 * neither they nor the client's DECLINE are for the application.
	 */
	if ((rc == -ETIMEDOUT || rc == -ECONNRESET) && hs->has_head) {
		smc_stat_violation(smc_net(sock_net(hs->sk)), SMC_VIOLATION_CLC);
		smc_clc_defer_decline(hs, SMC_DIAG_SYNC);
		return 0;
	}
	rc = smc_clc_take(hs, srv->buf);
	if (rc == -ECONNRESET) {
		/*
		 * The client closed, or sent a malformed header. The application gets the bytes
		 * that came.
		 */
		hs->reason = SMC_DIAG_PEER_NO_SMC;
		return 0;
	}
	if (hs->timed_out) {
		smc_clc_defer_decline(hs, smc_server_note_client(hs, SMC_DIAG_SYNC));
		return 0;
	}
	if (rc || hs->reason)
		return rc;
	smc_blackhole_forget(smc_net(sock_net(hs->sk)), &hs->blackhole_key);
	srv->version = min_t(u8, hs->head.version, SMC_VERSION_2);
	if (hs->head.type != SMC_CLC_PROPOSAL ||
	    smc_clc_parse_proposal(srv->buf, hs->head.length, &srv->proposal)) {
		smc_stat_violation(smc_net(sock_net(hs->sk)), SMC_VIOLATION_CLC);
		return SMC_DIAG_SYNC;
	}
	return 0;
}

static s64 smc_server_take_confirm(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	s64 rc;

	/*
	 * If the bytes that came are not a CLC message, the client's application sent them. Then
	 * smc_clc_take() returns an error, which ends the connection.
	 */
	rc = smc_clc_take(hs, srv->buf);
	if (rc || hs->reason)
		return rc;
	if (smc_clc_parse_agreement(srv->buf, hs->head.length, &srv->confirm) ||
	    srv->confirm.type != SMC_CLC_CONFIRM || srv->confirm.version != srv->version ||
	    smc_clc_agreed_path(&hs->head) != (int)srv->setup->type->kind) {
		smc_stat_violation(smc_net(sock_net(hs->sk)), SMC_VIOLATION_CLC);
		return SMC_DIAG_SYNC;
	}
	return 0;
}

static s64 smc_server_handle_proposal(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	s64 rc;

	/* A refused handshake has waited already. */
	if (!hs->refusal)
		smc_clc_expect(hs);
	rc = smc_server_take_proposal(srv);
	if (rc || hs->reason)
		return rc;
	if (hs->refusal)
		return SMC_DIAG_NO_MEMORY;
	if (smc_tcp_is_secured(hs->sk))
		return SMC_DIAG_IPSEC;
	return smc_server_choose(srv);
}

static s64 smc_server_answer(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	struct smc_path_setup *s = srv->setup;
	s64 rc;

	rc = smc_setup_diagnosis(s, s->type->server_reserve(s));
	if (rc)
		return rc;
	srv->version = s->version;
	/*
	 * The client may have stopped waiting for the ACCEPT, and have sent a DECLINE. No ACCEPT
	 * has told the client of a link group, so the DECLINE says nothing about the group.
	 */
	if (smc_clc_take_early_decline(hs, srv->buf)) {
		hs->out_of_sync = false;
		return 0;
	}
	return smc_clc_ask(hs, srv->buf, smc_server_build_accept(srv));
}

static s64 smc_server_complete(struct smc_server *srv)
{
	struct smc_handshake *hs = srv->hs;
	struct smc_path_setup *s = srv->setup;
	s64 rc;

	rc = smc_server_take_confirm(srv);
	/* A client that declines does not write into the element. */
	s->exposed = !hs->reason;
	if (rc || hs->reason)
		return rc;
	hs->agreed = true;
	rc = smc_setup_diagnosis(s, s->type->server_complete(s, &srv->confirm));
	if (!rc)
		hs->stream = smc_setup_succeed(s);
	return rc;
}

static s64 smc_server_run(struct smc_server *srv)
{
	s64 rc;

	rc = smc_server_handle_proposal(srv);
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
	rc = smc_server_run(srv);
	if (srv->setup)
		srv->setup->out_of_sync = hs->out_of_sync;
	smc_setup_end(srv->setup, hs->stream);
	if (rc > 0)
		rc = smc_clc_decline(hs, srv->version, rc, srv->buf);
	smc_setup_free(srv->setup, hs->peer_reason);
	if (rc)
		smc_stat_handshake_error(smc_net(sock_net(hs->sk)), SMC_SERVER);
	kfree(srv);
	return rc;
}
