// SPDX-License-Identifier: GPL-2.0
/* The steps of an SMC-D rendezvous between the CLC messages. */

#include <net/sock.h>

#include "admin/net.h"
#include "conn.h"
#include "setup.h"

void smc_ism_setup_init(struct smc_ism_setup *s, struct sock *sk, struct mem_cgroup *memcg)
{
	u32 rmem = READ_ONCE(smc_sk_net(sk)->sysctl.smcd_rmem);

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
	case -EBUSY:
		return SMC_DIAG_NO_MEMORY;
	case -ENOLINK:
		return SMC_DIAG_NO_ACTIVE_LINK;
	case -EPROTO:
		return SMC_DIAG_SYNC;
	default:
		return SMC_DIAG_INTERNAL;
	}
}

static void smc_ism_setup_use(struct smc_ism_setup *s, enum smc_role role, u8 version,
			      struct smc_ism_device *dev, const struct smc_clc_ism *address)
{
	struct smc_ism_peer *peer = &s->peer;

	peer->dev = dev;
	peer->address = *address;
	peer->role = role;
	peer->version = version;
}

bool smc_ism_setup_reach(struct smc_ism_setup *s, enum smc_role role, u8 version,
			 const struct smc_clc_ism *name)
{
	struct smc_clc_ism peer = *name;
	struct smc_ism_device *dev = smc_ism_device_to(s->peer.net, &peer, version);

	if (dev)
		smc_ism_setup_use(s, role, version, dev, &peer);
	return dev;
}

void smc_ism_setup_reach_host(struct smc_ism_setup *s, enum smc_role role)
{
	smc_ism_setup_use(s, role, SMC_VERSION_2, &smc_loopback, &smc_loopback.address);
}

static int smc_ism_setup_conn(struct smc_ism_setup *s, bool *is_new)
{
	struct smc_ism_group *group;
	struct smc_ism_conn *conn;

	*is_new = false;
	group = smc_ism_group_join(&s->peer, s->in_hurry ? NULL : is_new);
	if (!group)
		return -ENOMEM;
	conn = smc_ism_conn_create(group, s->size_class, s->memcg, s->in_hurry);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	s->conn = conn;
	return 0;
}

static int smc_ism_setup_open(struct smc_ism_setup *s)
{
	return smc_ism_setup_conn(s, &s->first_contact) ? : smc_ism_conn_open(s->conn);
}

u32 smc_ism_server_reserve(struct smc_ism_setup *s)
{
	return smc_ism_diagnosis(smc_ism_setup_open(s));
}

static struct smc_clc_ism smc_ism_setup_sender(const struct smc_clc_d *d)
{
	return (struct smc_clc_ism) { .gid = d->gid, .gid_ext = d->gid_ext, .chid = d->chid };
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
	struct smc_clc_ism sender = smc_ism_setup_sender(&confirm->d);
	const struct smc_ism_peer *peer = &s->peer;

	if (smc_ism_device_to(peer->net, &sender, peer->version) != peer->dev ||
	    !smc_ism_is_address(&sender, &peer->address, peer->version))
		return SMC_DIAG_NO_DEVICE_D;
	if (!smc_clc_confirms_contact(confirm, s->first_contact))
		return SMC_DIAG_SYNC;
	smc_ism_note_first_contact(s->conn->group, confirm);
	return smc_ism_diagnosis(smc_ism_conn_attach(s->conn, &confirm->d));
}

static int smc_ism_setup_join(struct smc_ism_setup *s, const struct smc_clc_d *d)
{
	bool is_new;
	int rc;

	rc = smc_ism_setup_conn(s, &is_new);
	if (rc)
		return rc;
	s->conn->link_id = d->link_id;
	rc = smc_ism_conn_attach(s->conn, d);
	if (!rc)
		rc = smc_ism_conn_open(s->conn);
	return rc;
}

u32 smc_ism_client_join(struct smc_ism_setup *s, const struct smc_clc_agreement *accept)
{
	const struct smc_clc_ism sender = smc_ism_setup_sender(&accept->d);
	int rc;

	if (!smc_ism_setup_reach(s, SMC_CLIENT, accept->version, &sender))
		return SMC_DIAG_NO_DEVICE_D;
	s->first_contact = accept->first_contact;
	rc = smc_ism_setup_join(s, &accept->d);
	if (!rc)
		smc_ism_note_first_contact(s->conn->group, accept);
	return smc_ism_diagnosis(rc);
}

bool smc_ism_setup_pair(struct smc_ism_setup *client, struct smc_ism_setup *server)
{
	struct smc_clc_d d;

	client->in_hurry = true;
	server->in_hurry = true;
	if (smc_ism_setup_open(server))
		return false;
	smc_ism_conn_describe(server->conn, &d);
	if (smc_ism_setup_join(client, &d))
		return false;
	smc_ism_conn_describe(client->conn, &d);
	return !smc_ism_conn_attach(server->conn, &d);
}

void smc_ism_setup_end(struct smc_ism_setup *s, bool keep)
{
	if (!s->conn)
		return;
	if (keep) {
		WRITE_ONCE(s->conn->group->was_used, true);
		return;
	}
	smc_stream_on_lost(&s->conn->stream, ECONNABORTED);
	smc_stream_put(&s->conn->stream);
}
