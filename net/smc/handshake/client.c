// SPDX-License-Identifier: GPL-2.0
/* The client's side of the CLC handshake. */

#include <linux/slab.h>
#include <net/sock.h>

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

/* State of a client's handshake. */
struct smc_client {
	struct smc_handshake *hs;
	s64 rc;			/* result of smc_client_propose() */
	struct smc_path_setup *setups[SMC_N_PATHS];	/* by kind of path */
	struct smc_path_setup *setup;	/* setup on the path that the server chose */
	struct smc_clc_agreement accept;
	u8 buf[SMC_CLC_MAX_LEN];
};

/* Checks that the server has chosen something that was offered. Return: 0 or a diagnosis. */
static u32 smc_client_check(struct smc_client *c)
{
	const struct smc_clc_agreement *accept = &c->accept;
	struct smc_path_setup *s = c->setup;

	if (accept->type != SMC_CLC_ACCEPT)
		return SMC_DIAG_SYNC;
	if (!(s->offered & BIT(accept->version)))
		return SMC_DIAG_VERSION;
	if (accept->version == SMC_VERSION_1)
		return 0;
	if (!smc_eid_match((const u8 (*)[SMC_EID_LEN])accept->eid, 1, s->eid))
		return SMC_DIAG_NO_UEID;
	if (accept->first_contact && accept->fc.release > SMC_RELEASE)
		return SMC_DIAG_RELEASE;
	return 0;
}

static s64 smc_client_join(struct smc_client *c)
{
	struct smc_path_setup *s = c->setup;

	s->version = c->accept.version;
	s->first_contact = c->accept.first_contact;
	/* The route may have changed since the PROPOSAL. */
	smc_route_set(s, sk_dst_get(c->hs->sk));
	return smc_setup_diagnosis(s, s->type->client_join(s, &c->accept));
}

static size_t smc_client_build_confirm(struct smc_client *c)
{
	struct smc_clc_agreement confirm;

	smc_setup_describe(c->setup, SMC_CLC_CONFIRM, &confirm);
	/* This end supports the server's release: smc_client_check() has made sure of it. */
	confirm.fc.release = c->accept.fc.release;
	return smc_clc_build_agreement(c->buf, &confirm);
}

/* Return: 0, a positive diagnosis to decline with, or an error that ends the connection. */
static s64 smc_client_take_accept(struct smc_client *c)
{
	struct smc_handshake *hs = c->hs;
	s64 rc;

	/*
	 * If the bytes that came are not a CLC message, the server's application sent them. Then
	 * smc_clc_take() returns an error, which ends the connection.
	 */
	rc = smc_clc_take(hs, c->buf);
	/*
	 * If no CLC message came, the server may not know SMC. The server or a middlebox may have
	 * echoed the option of the SYN.
	 */
	if (rc == -ECONNRESET || hs->timed_out)
		smc_blackhole_note(smc_net(sock_net(hs->sk)), &hs->blackhole_key,
				   SMC_BLACKHOLE_NO_ANSWER);
	if (rc)
		return rc;
	/* The server speaks SMC: forget its failures, so that the next one counts as the first. */
	smc_blackhole_forget(smc_net(sock_net(hs->sk)), &hs->blackhole_key);
	if (hs->reason)
		return 0;
	if (hs->head.type == SMC_CLC_PROPOSAL) {
		/*
		 * Both ends are clients: each has called connect() with the other's address, or one
		 * socket has called it with its own address.
		 */
		hs->reason = SMC_DIAG_SYNC;
		return 0;
	}
	if (smc_clc_parse_agreement(c->buf, hs->head.length, &c->accept)) {
		/* A DECLINE has the version of the message that it answers. */
		c->accept.version = min_t(u8, hs->head.version, SMC_VERSION_2);
		smc_stat_violation(smc_net(sock_net(hs->sk)), SMC_VIOLATION_CLC);
		return SMC_DIAG_SYNC;
	}
	c->setup = c->setups[smc_clc_agreed_path(&hs->head)];
	return smc_client_check(c);
}

static bool smc_client_prepare(struct smc_client *c)
{
	const struct smc_path_type *type;
	int i;

	for (i = 0; i < SMC_N_PATHS; i++) {
		type = smc_path_types[i];
		c->setups[type->kind] = smc_setup_new(type, c->hs);
		if (!c->setups[type->kind])
			return false;
		smc_route_set(c->setups[type->kind], sk_dst_get(c->hs->sk));
	}
	return true;
}

static s64 smc_client_propose(struct smc_client *c)
{
	struct smc_handshake *hs = c->hs;
	size_t len;
	s64 rc;

	/* From now on a DECLINE may come: a server with too many handshakes may not await this. */
	hs->late = SMC_LATE_DROPPED;
	if (smc_tcp_is_secured(hs->sk))
		return SMC_DIAG_IPSEC;
	if (!smc_client_prepare(c))
		return SMC_DIAG_NO_MEMORY;
	rc = smc_offer_build(c->setups, c->buf, &len);
	if (rc)
		return rc;
	return smc_clc_ask(hs, c->buf, len);
}

static s64 smc_client_agree(struct smc_client *c)
{
	struct smc_handshake *hs = c->hs;
	struct smc_path_setup *s;
	s64 rc;

	rc = smc_client_take_accept(c);
	if (rc || hs->reason)
		return rc;
	s = c->setup;
	rc = smc_client_join(c);
	if (rc)
		return rc;
	rc = smc_clc_send(hs, c->buf, smc_client_build_confirm(c));
	if (rc)
		return rc;
	hs->agreed = true;
	if (s->type->client_complete)
		rc = smc_setup_diagnosis(s, s->type->client_complete(s));
	if (!rc)
		hs->stream = smc_setup_succeed(s);
	return rc;
}

void smc_handshake_propose(struct smc_handshake *hs)
{
	struct smc_client *c;

	if (hs->client || hs->refusal)
		return;
	c = kmalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return;
	memset(c, 0, offsetof(struct smc_client, buf));
	c->hs = hs;
	hs->client = c;
	c->rc = smc_client_propose(c);
}

/*
 * Whether the client's next steps may have to wait until the server confirms a link, or confirms
 * that it has the key of new memory. No signal ends such a wait, so a worker runs these steps.
 */
static bool smc_client_waits(const struct smc_client *c)
{
	enum smc_clc_offer path = smc_clc_agreed_path(&c->hs->head);

	return path != SMC_OFFER_NONE && c->setups[path]->type->waits;
}

bool smc_handshake_await(struct smc_handshake *hs, long timeo)
{
	unsigned long due = hs->due;
	int rc;

	/*
	 * If the client has no state, the PROPOSAL was not sent. Either memory was short, and
	 * smc_handshake_client() will try again; or the handshake is refused.
	 */
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
	/*
	 * After an error, leave the rest to a worker: the answer may still come, and may require
	 * steps that only a worker runs.
	 */
	return !rc && !smc_client_waits(hs->client);
}

int smc_handshake_client(struct smc_handshake *hs)
{
	struct smc_client *c;
	s64 rc;
	int i;

	smc_handshake_propose(hs);
	c = hs->client;
	if (!c)
		return -ENOMEM;
	rc = c->rc ? : smc_client_agree(c);
	for (i = 0; i < SMC_N_PATHS; i++)
		smc_setup_end(c->setups[i], hs->stream);
	/* Decline in the version of the server's answer, if an answer came. */
	if (rc > 0)
		rc = smc_clc_decline(hs, c->accept.version ? : SMC_VERSION_2, rc, c->buf);
	for (i = 0; i < SMC_N_PATHS; i++)
		smc_setup_free(c->setups[i], hs->peer_reason);
	if (rc)
		smc_stat_handshake_error(smc_net(sock_net(hs->sk)), SMC_CLIENT);
	hs->client = NULL;
	kfree(c);
	return rc;
}
