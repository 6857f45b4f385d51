// SPDX-License-Identifier: GPL-2.0
/*
 * The ISM device inside a host: the peer's element is memory of this kernel, too. The streams of
 * both ends become local peers and share one lock, the server's. So the signal of a publish is a
 * function call.
 *
 * An end that writes to the peer's element may be in the middle of a copy when the connection ends.
 * So the writing end is a user of the element, and no other connection gets the element before the
 * copy is over.
 */

#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <net/net_namespace.h>

#include "admin/sysctl.h"
#include "conn.h"
#include "device.h"
#include "group.h"

/*
 * Each connection has a token of its own, so the token alone finds the element,
 * without the index.
 */
static const struct rhashtable_params smc_loopback_params = {
	.key_len	     = sizeof_field(struct smc_ism_conn, token),
	.key_offset	     = offsetof(struct smc_ism_conn, token),
	.head_offset	     = offsetof(struct smc_ism_conn, entry),
	/* Do not resize for a few connections that come and go. */
	.min_size	     = 1024,
	.automatic_shrinking = true,
};

/*
 * Connections of all namespaces, by the token of their element. The table grows,
 * so a namespace with many connections does not slow down another's lookups.
 */
static struct rhashtable smc_loopback_elements;
static siphash_key_t smc_loopback_secret;

/* Return: a value that is equal for ends that net.smc.smcd_scope allows to use SMC-D together. */
static u64 smc_loopback_domain(const struct net *net)
{
	switch (READ_ONCE(smc_sysctl_smcd_scope)) {
	case SMC_SCOPE_NET:
		return net->net_cookie;
	case SMC_SCOPE_USER:
		return (uintptr_t)net->user_ns;
	default:
		return 0;
	}
}

/*
 * Build the GID for messages: a random number, and a hash of that number and of the domain of @net.
 * Only this host can compute the hash. So the ends of one domain recognise each other, and other
 * hosts see another GID in each SMC handshake. Version 1 has room for half of the hash.
 */
static struct smc_clc_ism smc_loopback_name_by(const struct net *net, u32 random)
{
	u64 proof = siphash_2u64(random, smc_loopback_domain(net), &smc_loopback_secret);

	return (struct smc_clc_ism) {
		.gid	 = (u64)random << 32 | proof >> 32,
		.gid_ext = proof,
		.chid	 = SMC_CHID_LOOPBACK,
	};
}

static struct smc_clc_ism smc_loopback_name(const struct smc_ism_device *dev,
					    const struct net *net)
{
	return smc_loopback_name_by(net, get_random_u32());
}

static bool smc_loopback_reaches(const struct smc_ism_device *dev, const struct net *net,
				 struct smc_clc_ism *peer, u8 version)
{
	const struct smc_clc_ism own = smc_loopback_name_by(net, peer->gid >> 32);

	if (!smc_ism_is_address(&own, peer, version))
		return false;
	*peer = dev->address;
	return true;
}

static int smc_loopback_open(struct smc_ism_conn *conn)
{
	return rhashtable_lookup_insert_fast(&smc_loopback_elements, &conn->entry,
					     smc_loopback_params);
}

/* Whether a CLC message names the element of @conn. */
static bool smc_loopback_is(const struct smc_ism_conn *conn, const struct smc_clc_d *d)
{
	return conn->token == d->token && conn->index == d->dmbe_index &&
	       conn->dmbe->el.buffer->attr.size_class == d->dmbe_size_code;
}

/* Return: the connection whose element @d names, with a reference to its stream; or NULL. */
static struct smc_ism_conn *smc_loopback_find(const struct smc_clc_d *d)
{
	struct smc_ism_conn *conn;

	rcu_read_lock();
	conn = rhashtable_lookup(&smc_loopback_elements, &d->token, smc_loopback_params);
	/* A connection may have lost its last reference; it is freed only after a grace period. */
	if (conn && !kref_get_unless_zero(&conn->stream.ref))
		conn = NULL;
	rcu_read_unlock();
	if (!conn || smc_loopback_is(conn, d))
		return conn;
	smc_stream_put(&conn->stream);
	return NULL;
}

/* Make the peer's element the sending ring of @conn. Under the lock of @peer's stream. */
static void smc_loopback_map(struct smc_ism_conn *conn, struct smc_ism_conn *peer)
{
	struct smc_stream_tx *tx = &conn->stream.tx;

	smc_dmbe_use(peer->dmbe);
	conn->peer_dmbe = peer->dmbe;
	conn->peer_token = peer->token;
	conn->peer_index = peer->index;
	tx->ring = smc_dmbe_ring(peer->dmbe);
	tx->size = smc_dmbe_ring_bytes(peer->dmbe);
	tx->peer_size = tx->size;
}

/* Replace the lock of the client's stream, which no other thread knows yet, by the server's. */
static void smc_loopback_share_lock(struct smc_ism_conn *client, struct smc_ism_conn *server)
{
	smc_dmbe_get(server->dmbe);
	smc_dmbe_put(client->lock_owner);
	client->lock_owner = server->dmbe;
	client->stream.lock = server->stream.lock;
}

/*
 * Whether @client may attach. A token that exists is no proof: it may name a connection in a
 * namespace that net.smc.smcd_scope keeps apart from @client's namespace.
 */
static bool smc_loopback_may_join(const struct smc_ism_conn *client,
				  const struct smc_ism_conn *server)
{
	return server->group->key.role == SMC_SERVER && !server->stream.local_peer &&
	       !smc_stream_is_over(&server->stream) &&
	       smc_loopback_domain(client->group->key.net) ==
	       smc_loopback_domain(server->group->key.net);
}

/* Attach the client to the server's connection, which is found by its element. */
static int smc_loopback_attach_client(struct smc_ism_conn *conn, const struct smc_clc_d *d)
{
	struct smc_ism_conn *server = smc_loopback_find(d);
	struct smc_stream *st = &conn->stream;
	int rc = -EPROTO;

	if (!server)
		return rc;
	spin_lock_bh(server->stream.lock);
	if (smc_loopback_may_join(conn, server)) {
		smc_loopback_share_lock(conn, server);
		smc_loopback_map(conn, server);
		smc_stream_get(&server->stream);
		st->local_peer = &server->stream;
		smc_stream_get(st);
		server->stream.local_peer = st;
		rc = 0;
	}
	spin_unlock_bh(server->stream.lock);
	smc_stream_put(&server->stream);
	return rc;
}

/* Attach the server. The CONFIRM must name the element of the client that has attached. */
static int smc_loopback_attach_server(struct smc_ism_conn *conn, const struct smc_clc_d *d)
{
	struct smc_stream *st = &conn->stream;
	struct smc_ism_conn *client;
	int rc = -EPROTO;

	spin_lock_bh(st->lock);
	if (st->local_peer) {
		client = smc_ism_conn_of(st->local_peer);
		if (smc_loopback_is(client, d)) {
			smc_loopback_map(conn, client);
			rc = 0;
		}
	}
	spin_unlock_bh(st->lock);
	/* Publish cursors and flags that waited for the ring, unless the client has ended. */
	if (!rc)
		smc_stream_on_tx_room(st);
	return rc;
}

static int smc_loopback_attach(struct smc_ism_conn *conn, const struct smc_clc_d *d)
{
	if (conn->group->key.role == SMC_CLIENT)
		return smc_loopback_attach_client(conn, d);
	return smc_loopback_attach_server(conn, d);
}

/*
 * Separate the stream from its local peer. Unless both ends have sent their final
 * flags, the local peer loses its path, too.
 */
static void smc_loopback_close(struct smc_ism_conn *conn)
{
	struct smc_stream *st = &conn->stream;
	struct smc_stream *local_peer;
	bool lost;

	/* A connection that was never opened is not in the table. */
	rhashtable_remove_fast(&smc_loopback_elements, &conn->entry, smc_loopback_params);

	spin_lock_bh(st->lock);
	local_peer = st->local_peer;
	st->local_peer = NULL;
	lost = local_peer && !smc_stream_is_over(local_peer);
	smc_ism_conn_detach(conn);
	spin_unlock_bh(st->lock);

	if (lost)
		smc_stream_on_lost(local_peer, ECONNRESET);
	if (local_peer)
		smc_stream_put(local_peer);
}

/*
 * Publish cursors and flags. The bytes are in the peer's element already, because the
 * sending ring is that element. A stream that can publish is not over, so it has its
 * local peer.
 */
static int smc_loopback_publish(struct smc_ism_conn *conn, u64 end, u64 producer, u64 consumer)
{
	struct smc_dmbe_control *control;

	if (!conn->peer_dmbe)
		return -EAGAIN;
	control = smc_dmbe_control(conn->peer_dmbe);
	/* Pairs with smc_ism_conn_receive(): the bytes are visible before the cursor. */
	smp_store_release(&control->producer, producer);
	/* Pairs with smc_ism_conn_receive(), too: bytes and cursor are visible before the flags. */
	smp_store_release(&control->consumer, consumer);
	smc_ism_conn_receive(smc_ism_conn_of(conn->stream.local_peer));
	return SMC_PUBLISH_DONE;
}

static const struct smc_ism_ops smc_loopback_ops = {
	.name	 = smc_loopback_name,
	.reaches = smc_loopback_reaches,
	.open	 = smc_loopback_open,
	.close	 = smc_loopback_close,
	.attach	 = smc_loopback_attach,
	.publish = smc_loopback_publish,
};

struct smc_ism_device smc_loopback = {
	.name	 = "loopback",
	.address = { .chid = SMC_CHID_LOOPBACK },
	.ops	 = &smc_loopback_ops,
};

int smc_loopback_init(void)
{
	get_random_bytes(&smc_loopback_secret, sizeof(smc_loopback_secret));
	smc_loopback.address.gid = get_random_u64();
	smc_loopback.address.gid_ext = get_random_u64();
	return rhashtable_init(&smc_loopback_elements, &smc_loopback_params);
}

void smc_loopback_exit(void)
{
	rhashtable_destroy(&smc_loopback_elements);
}
