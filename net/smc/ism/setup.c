// SPDX-License-Identifier: GPL-2.0
/* The steps of an SMC-D handshake between the CLC messages. */

#include "admin/net.h"
#include "conn.h"
#include "device.h"
#include "group.h"
#include "path.h"
#include "show.h"

/**
 * struct smc_ism_setup - a connection that is being set up
 * @base: the part that is common to all paths
 * @key: key of the link group, once a device was found
 * @nowait: fail rather than wait for memory or create a group
 * @is_new: the group was created for this connection
 * @conn: the connection; NULL before a step creates it
 */
struct smc_ism_setup {
	struct smc_path_setup base;
	struct smc_ism_key key;
	bool nowait;
	bool is_new;
	struct smc_ism_conn *conn;
};

static struct smc_ism_setup *smc_ism_setup_of(struct smc_path_setup *base)
{
	return container_of(base, struct smc_ism_setup, base);
}

static bool smc_ism_setup_offer(struct smc_path_setup *base, u8 version, struct smc_clc_proposal *p)
{
	const struct smc_ism_device *dev;

	if (!smc_ism_is_on(smc_net(base->net)))
		return false;
	if (version == SMC_VERSION_1)
		return true;
	for (p->n_ism = 0; (dev = smc_ism_device_at(p->n_ism)); p->n_ism++)
		p->ism[p->n_ism] = dev->ops->name(dev, base->net);
	p->ism_gid = p->ism[0].gid;
	p->ism_chid = p->ism[0].chid;
	p->features = SMC_FEATURE_EMULATED_ISM;
	p->has_dv2 = true;
	return true;
}

static void smc_ism_setup_use(struct smc_ism_setup *s, struct smc_ism_device *dev,
			      const struct smc_clc_ism *address)
{
	s->key = (struct smc_ism_key) {
		.net	 = s->base.net,
		.dev	 = dev,
		.role	 = s->base.role,
		.version = s->base.version,
		.address = *address,
	};
	memcpy(s->key.eid, s->base.eid, SMC_EID_LEN);
}

/* Find the device that shares memory with the device that the peer's messages call @name. */
static int smc_ism_setup_find(struct smc_ism_setup *s, struct smc_clc_ism name)
{
	struct smc_ism_device *dev = smc_ism_device_to(s->base.net, &name, s->base.version);

	if (!dev)
		return -ENODEV;
	smc_ism_setup_use(s, dev, &name);
	return 0;
}

/* Find a device that shares memory with one of the devices that the PROPOSAL names. */
static int smc_ism_setup_find_device(struct smc_path_setup *base, const struct smc_clc_proposal *p)
{
	const struct smc_clc_ism v1 = { .gid = p->ism_gid, .chid = p->ism_chid };
	struct smc_ism_setup *s = smc_ism_setup_of(base);
	int i;

	if (!smc_ism_is_on(smc_net(base->net)))
		return -ENODEV;
	if (base->version == SMC_VERSION_1)
		return smc_ism_setup_find(s, v1);
	for (i = 0; i < p->n_ism; i++)
		if (!smc_ism_setup_find(s, p->ism[i]))
			return 0;
	return -ENODEV;
}

static int smc_ism_setup_conn(struct smc_ism_setup *s)
{
	u32 rmem = s->base.rcvbuf ? : READ_ONCE(smc_net(s->base.net)->sysctl.smcd_rmem);
	struct smc_ism_group *group;
	struct smc_ism_conn *conn;

	s->is_new = false;
	group = smc_ism_group_join(&s->key, s->nowait ? NULL : &s->is_new);
	if (!group)
		return -ENOMEM;
	conn = smc_ism_conn_create(group, smc_size_class_of(rmem, SMC_SIZE_CLASS_D_MAX),
				   s->base.memcg, s->nowait);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	s->conn = conn;
	s->base.stream = &conn->stream;
	return 0;
}

static int smc_ism_server_reserve(struct smc_path_setup *base)
{
	struct smc_ism_setup *s = smc_ism_setup_of(base);
	int rc = smc_ism_setup_conn(s);

	base->first_contact = s->is_new;
	return rc ? : smc_ism_conn_open(s->conn);
}

static void smc_ism_setup_describe(struct smc_path_setup *base, struct smc_clc_agreement *a)
{
	a->is_d = true;
	smc_ism_conn_describe(smc_ism_setup_of(base)->conn, &a->d);
	a->fc.max_conns = SMC_ISM_GROUP_MAX_CONNS;
	a->fc.features = SMC_FEATURE_EMULATED_ISM;
}

static struct smc_clc_ism smc_ism_setup_sender(const struct smc_clc_d *d)
{
	return (struct smc_clc_ism) { .gid = d->gid, .gid_ext = d->gid_ext, .chid = d->chid };
}

/*
 * Note the release that both ends use, and the peer's operating system and host name, in the group.
 * Only the connection that created the group does so, because all connections of the group share
 * these values. If a server calls a later connection a first contact, nothing changes.
 */
static void smc_ism_note_first_contact(const struct smc_ism_setup *s,
				       const struct smc_clc_agreement *a)
{
	if (s->is_new && a->first_contact && a->version == SMC_VERSION_2)
		smc_lgr_note_peer(&s->conn->group->lgr, &a->fc);
}

static int smc_ism_server_complete(struct smc_path_setup *base,
				   const struct smc_clc_agreement *confirm)
{
	struct smc_clc_ism sender = smc_ism_setup_sender(&confirm->d);
	struct smc_ism_setup *s = smc_ism_setup_of(base);
	const struct smc_ism_key *key = &s->key;

	if (smc_ism_device_to(key->net, &sender, key->version) != key->dev ||
	    !smc_ism_is_address(&sender, &key->address, key->version))
		return -ENODEV;
	if (!smc_clc_confirms_contact(confirm, base->first_contact))
		return -EPROTO;
	smc_ism_note_first_contact(s, confirm);
	return smc_ism_conn_attach(s->conn, &confirm->d);
}

static int smc_ism_setup_join(struct smc_ism_setup *s, const struct smc_clc_d *d)
{
	int rc;

	rc = smc_ism_setup_conn(s);
	if (rc)
		return rc;
	s->conn->link_id = d->link_id;
	rc = smc_ism_conn_attach(s->conn, d);
	if (!rc)
		rc = smc_ism_conn_open(s->conn);
	return rc;
}

static int smc_ism_client_join(struct smc_path_setup *base, const struct smc_clc_agreement *accept)
{
	struct smc_ism_setup *s = smc_ism_setup_of(base);
	int rc;

	rc = smc_ism_setup_find(s, smc_ism_setup_sender(&accept->d)) ? :
	     smc_ism_setup_join(s, &accept->d);
	if (!rc)
		smc_ism_note_first_contact(s, accept);
	return rc;
}

/* Prepare the setup of one end: both ends are in this kernel, so they use the loopback device. */
static void smc_ism_pair_prepare(struct smc_ism_setup *s)
{
	smc_ism_setup_use(s, &smc_loopback, &smc_loopback.address);
	s->nowait = true;
}

static bool smc_ism_setup_pair(struct smc_path_setup *client, struct smc_path_setup *server)
{
	struct smc_ism_setup *c = smc_ism_setup_of(client), *s = smc_ism_setup_of(server);
	struct smc_clc_d d;

	if (!smc_ism_is_on(smc_net(client->net)))
		return false;
	smc_ism_pair_prepare(c);
	smc_ism_pair_prepare(s);
	if (smc_ism_server_reserve(server))
		return false;
	smc_ism_conn_describe(s->conn, &d);
	if (smc_ism_setup_join(c, &d))
		return false;
	smc_ism_conn_describe(c->conn, &d);
	return !smc_ism_conn_attach(s->conn, &d);
}

static void smc_ism_setup_end(struct smc_path_setup *base, bool keep)
{
	const struct smc_ism_conn *conn = smc_ism_setup_of(base)->conn;

	if (conn && keep)
		WRITE_ONCE(conn->group->was_used, true);
}

const struct smc_path_type smc_ism_path = {
	.kind		 = SMC_PATH_D,
	.lgrs		 = &smc_ism_lgrs,
	.source		 = &smc_ism_netlink_source,
	.diagnosis	 = SMC_DIAG_NO_DEVICE_D,
	.setup_size	 = sizeof(struct smc_ism_setup),
	.offer		 = smc_ism_setup_offer,
	.reach		 = smc_ism_setup_find_device,
	.server_reserve	 = smc_ism_server_reserve,
	.describe	 = smc_ism_setup_describe,
	.client_join	 = smc_ism_client_join,
	.server_complete = smc_ism_server_complete,
	.pair		 = smc_ism_setup_pair,
	.end		 = smc_ism_setup_end,
};
