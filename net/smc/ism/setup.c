// SPDX-License-Identifier: GPL-2.0
/* The steps of an SMC-D rendezvous between the CLC messages. */

#include <net/sock.h>

#include "admin/net.h"
#include "conn.h"
#include "setup.h"

void smc_ism_setup_init(struct smc_ism_setup *s, struct sock *sk, struct mem_cgroup *memcg)
{
	u32 rmem = READ_ONCE(smc_net(sock_net(sk))->sysctl.smcd_rmem);

	/* The kernel doubles what SO_RCVBUF asks for, see socket(7). */
	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK)
		rmem = READ_ONCE(sk->sk_rcvbuf) / 2;

	*s = (struct smc_ism_setup) {
		.peer	    = { .net = sock_net(sk) },
		.memcg	    = memcg,
		.size_class = smc_size_class_of(rmem, SMC_SIZE_CLASS_D_MAX),
	};
}

static u32 smc_ism_diagnosis(int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case -ENOMEM:
		return SMC_DIAG_NO_MEMORY;
	case -ENOLINK:
		return SMC_DIAG_NO_ACTIVE_LINK;
	case -ENOENT:
		return SMC_DIAG_SYNC;
	default:
		return SMC_DIAG_INTERNAL;
	}
}

static int smc_ism_setup_conn(struct smc_ism_setup *s, bool *is_new)
{
	struct smc_ism_group *group = smc_ism_group_join(&s->peer, is_new);
	struct smc_ism_conn *conn;

	if (!group)
		return -ENOMEM;
	conn = smc_ism_conn_create(group, s->size_class, s->memcg);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	s->conn = conn;
	return 0;
}

bool smc_ism_server_is_quick(struct smc_ism_setup *s)
{
	s->peer.role = SMC_SERVER;
	return smc_ism_group_has_element(&s->peer, s->size_class, s->memcg);
}

u32 smc_ism_server_reserve(struct smc_ism_setup *s)
{
	int rc;

	s->peer.role = SMC_SERVER;
	rc = smc_ism_setup_conn(s, &s->first_contact);
	if (!rc)
		rc = smc_ism_conn_open(s->conn);
	return smc_ism_diagnosis(rc);
}

/* Whether a CLC message is from the peer. One of version 1 has half of a GID, and no channel. */
static bool smc_ism_setup_is_with(const struct smc_ism_setup *s, const struct smc_clc_d *d)
{
	const struct smc_ism_peer *peer = &s->peer;

	if (d->gid != peer->gid.gid)
		return false;
	return peer->version == SMC_VERSION_1 ||
	       (d->chid == peer->dev->chid && d->gid_ext == peer->gid.ext);
}

static void smc_ism_note_first_contact(struct smc_ism_group *group,
				       const struct smc_clc_agreement *a)
{
	if (!a->first_contact || a->version != SMC_VERSION_2)
		return;
	group->release = min_t(u8, a->fc.release, SMC_RELEASE);
	group->peer_os = a->fc.os_type;
	memcpy(group->peer_hostname, a->fc.hostname, SMC_HOSTNAME_LEN);
}

u32 smc_ism_server_complete(struct smc_ism_setup *s, const struct smc_clc_agreement *confirm)
{
	if (!smc_ism_setup_is_with(s, &confirm->d))
		return SMC_DIAG_NO_DEVICE_D;
	if (confirm->first_contact != s->first_contact)
		return SMC_DIAG_SYNC;
	smc_ism_note_first_contact(s->conn->group, confirm);
	return smc_ism_diagnosis(smc_ism_conn_attach(s->conn, &confirm->d));
}

static void smc_ism_client_name_group(struct smc_ism_setup *s,
				      const struct smc_clc_agreement *accept)
{
	s->peer.role = SMC_CLIENT;
	s->peer.link_id = accept->d.link_id;
}

bool smc_ism_client_is_quick(struct smc_ism_setup *s, const struct smc_clc_agreement *accept)
{
	smc_ism_client_name_group(s, accept);
	return smc_ism_group_has_element(&s->peer, s->size_class, s->memcg);
}

u32 smc_ism_client_join(struct smc_ism_setup *s, const struct smc_clc_agreement *accept)
{
	bool is_new;
	int rc;

	if (!smc_ism_setup_is_with(s, &accept->d))
		return SMC_DIAG_NO_DEVICE_D;
	smc_ism_client_name_group(s, accept);
	s->first_contact = accept->first_contact;
	rc = smc_ism_setup_conn(s, &is_new);
	if (!rc)
		rc = smc_ism_conn_attach(s->conn, &accept->d);
	if (!rc)
		rc = smc_ism_conn_open(s->conn);
	if (!rc)
		smc_ism_note_first_contact(s->conn->group, accept);
	return smc_ism_diagnosis(rc);
}

void smc_ism_setup_end(struct smc_ism_setup *s, bool keep)
{
	if (!s->conn || keep)
		return;
	smc_stream_on_lost(&s->conn->stream, ECONNABORTED);
	smc_stream_put(&s->conn->stream);
}
