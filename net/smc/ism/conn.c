// SPDX-License-Identifier: GPL-2.0
/*
 * The SMC-D path of a stream. If the device maps the peer's memory, the
 * application's bytes are copied straight into the peer's element, and a
 * publish is two stores and a signal.
 */

#include <linux/random.h>

#include "admin/stats.h"
#include "conn.h"
#include "device.h"
#include "group.h"
#include "memory/memcg.h"

static void smc_dmbe_free(struct kref *ref)
{
	kfree(container_of(ref, struct smc_dmbe, ref));
}

void smc_dmbe_get(struct smc_dmbe *dmbe)
{
	kref_get(&dmbe->ref);
}

void smc_dmbe_put(struct smc_dmbe *dmbe)
{
	kref_put(&dmbe->ref, smc_dmbe_free);
}

void smc_dmbe_use(struct smc_dmbe *dmbe)
{
	refcount_inc(&dmbe->users);
}

void smc_dmbe_unuse(struct smc_dmbe *dmbe)
{
	if (!dmbe || !refcount_dec_and_test(&dmbe->users))
		return;
	smc_element_free(&dmbe->el);
	smc_dmbe_put(dmbe);
}

/*
 * With @nowait a connecting thread performs the handshakes of both ends, and must not reclaim
 * memory of the other end's control group.
 */
static gfp_t smc_ism_gfp(bool nowait)
{
	return nowait ? SMC_GFP_CONN & ~__GFP_DIRECT_RECLAIM : SMC_GFP_CONN;
}

static struct smc_dmbe *smc_dmbe_create(struct smc_ism_group *group, u8 size_class,
					struct mem_cgroup *memcg, bool nowait)
{
	struct smc_dmbe *dmbe = smc_memcg_zalloc(memcg, sizeof(*dmbe), smc_ism_gfp(nowait));
	int rc;

	if (!dmbe)
		return ERR_PTR(-ENOMEM);
	kref_init(&dmbe->ref);
	refcount_set(&dmbe->users, 1);
	spin_lock_init(&dmbe->lock);
	rc = smc_ism_group_alloc_element(group, size_class, memcg, nowait, &dmbe->el);
	if (rc) {
		kfree(dmbe);
		return ERR_PTR(rc);
	}
	/* The control area still has the cursors of the connection that used the element before. */
	memset(smc_dmbe_control(dmbe), 0, SMC_DMBE_CONTROL_LEN);
	smc_dmbe_control(dmbe)->type = SMC_CDC_TYPE;
	return dmbe;
}

static int smc_ism_publish(struct smc_stream *st, u64 end, struct smc_cdc *cdc)
{
	struct smc_ism_conn *conn = smc_ism_conn_of(st);
	u64 producer = smc_dmbe_pack(cdc->prod, 0, 0);
	u64 consumer = smc_dmbe_pack(cdc->cons, cdc->prod_flags, cdc->conn_flags);
	int rc;

	rc = conn->group->key.dev->ops->publish(conn, end, producer, consumer);
	if (rc < 0)
		return rc;
	smc_stat_ism(st->sn, SMC_ISM_WRITES, 1);
	smc_stat_ism(st->sn, SMC_ISM_WRITE_BYTES, end - st->tx.sent);
	return rc;
}

void smc_ism_conn_receive(struct smc_ism_conn *conn)
{
	const struct smc_dmbe_control *control = smc_dmbe_control(conn->dmbe);
	u64 consumer, producer;
	struct smc_cdc cdc;

	/*
	 * Load the words in the opposite order of the peer's stores, so that
	 * the flags are never newer than the bytes.
	 */
	consumer = smp_load_acquire(&control->consumer);
	/* Pairs with smc_loopback_publish(). */
	producer = smp_load_acquire(&control->producer);
	smc_dmbe_unpack(producer, consumer, &cdc);
	smc_stream_update(&conn->stream, &cdc);
}

static void smc_ism_put_gid(u8 *to, const struct smc_clc_ism *address)
{
	const __be64 halves[] = { cpu_to_be64(address->gid), cpu_to_be64(address->gid_ext) };

	memcpy(to, halves, sizeof(halves));
}

static bool smc_ism_describe(struct smc_stream *st, struct smc_path_info *info)
{
	const struct smc_ism_conn *conn = smc_ism_conn_of(st);
	const struct smc_ism_group *group = conn->group;

	info->role = group->key.role;
	info->link = smc_lgr_id(&group->lgr);
	info->token = conn->token;
	info->peer_token = conn->peer_token;
	info->index = conn->index;
	info->peer_index = conn->peer_index;
	strscpy(info->device, group->key.dev->name, sizeof(info->device));
	smc_ism_put_gid(info->gid, &group->key.dev->address);
	smc_ism_put_gid(info->peer_gid, &group->key.address);
	/* A path that is down is lost, unless both ends have sent their final flags. */
	return !smc_stream_is_down(st) || smc_stream_both_sent_final(st);
}

/* Only this end's element counts as memory of the orphan; the peer's element is the peer's. */
static void smc_ism_orphan(struct smc_stream *st)
{
	smc_element_orphan(&smc_ism_conn_of(st)->dmbe->el);
}

static void smc_ism_over(struct smc_stream *st)
{
	struct smc_ism_conn *conn = smc_ism_conn_of(st);

	conn->group->key.dev->ops->close(conn);
	smc_ism_group_del_conn(conn);
	smc_stream_put(st);
}

static void smc_dmbe_unuse_late(struct rcu_head *rcu)
{
	smc_dmbe_unuse(container_of(rcu, struct smc_dmbe, rcu));
}

void smc_ism_conn_detach(struct smc_ism_conn *conn)
{
	struct smc_stream *st = &conn->stream;
	struct smc_dmbe *dmbe = conn->peer_dmbe;

	lockdep_assert_held(st->lock);
	/*
	 * Keep the element if the application has closed: no thread sends any more, and
	 * smc_ism_free() will return it soon. But after smc_stream_disconnect(), which sets
	 * st->err, the socket may stay and keep the stream, so return the element now.
	 */
	if (!dmbe || ((st->tx.end_flags & SMC_CONN_CLOSED) && !st->err))
		return;
	conn->peer_dmbe = NULL;
	/* A copy may be in progress, in a read-side section of RCU: see smc_ring_fill(). */
	call_rcu(&dmbe->rcu, smc_dmbe_unuse_late);
}

static void smc_ism_free(struct smc_stream *st)
{
	struct smc_ism_conn *conn = smc_ism_conn_of(st);

	smc_dmbe_unuse(conn->peer_dmbe);
	smc_dmbe_put(conn->lock_owner);
	smc_dmbe_unuse(conn->dmbe);
	smc_lgr_put(&conn->group->lgr);
	kfree_rcu(conn, rcu);
}

static const struct smc_path_ops smc_ism_path_ops = {
	.kind	  = SMC_PATH_D,
	.publish  = smc_ism_publish,
	.describe = smc_ism_describe,
	.orphan	  = smc_ism_orphan,
	.over	  = smc_ism_over,
	.free	  = smc_ism_free,
};

struct smc_ism_conn *smc_ism_conn_create(struct smc_ism_group *group, u8 size_class,
					 struct mem_cgroup *memcg, bool nowait)
{
	struct smc_ism_conn *conn;
	struct smc_dmbe *dmbe;
	struct smc_stream *st;
	int rc = -ENOMEM;

	conn = smc_memcg_zalloc(memcg, sizeof(*conn), smc_ism_gfp(nowait));
	if (!conn)
		goto err_group;
	dmbe = smc_dmbe_create(group, size_class, memcg, nowait);
	if (IS_ERR(dmbe)) {
		rc = PTR_ERR(dmbe);
		goto err_conn;
	}

	conn->group = group;
	conn->dmbe = dmbe;
	conn->token = get_random_u64();
	conn->index = dmbe->el.index;
	conn->link_id = group->link_id;	/* a client later sets the server's id, from the ACCEPT */
	conn->lock_owner = dmbe;
	smc_dmbe_get(dmbe);
	INIT_LIST_HEAD(&conn->siblings);

	st = &conn->stream;
	smc_stream_init(st, &smc_ism_path_ops, group->key.net, &dmbe->lock);
	st->rx.ring = smc_dmbe_ring(dmbe);
	st->rx.size = smc_dmbe_ring_bytes(dmbe);
	/* The path holds one reference until the stream is over, and the caller holds the other. */
	smc_stream_get(st);
	return conn;

err_conn:
	kfree(conn);
err_group:
	smc_lgr_unreserve(&group->lgr);
	smc_lgr_put(&group->lgr);
	return ERR_PTR(rc);
}

int smc_ism_conn_open(struct smc_ism_conn *conn)
{
	struct smc_stream *st = &conn->stream;
	int rc = -ENOLINK;

	/*
	 * If the local peer has already ended the stream, the connection must not be added to the
	 * group's list, because nothing would remove it.
	 */
	spin_lock_bh(st->lock);
	if (!smc_stream_is_over(st))
		rc = smc_ism_group_add_conn(conn->group, conn);
	if (!rc)
		rc = conn->group->key.dev->ops->open(conn);
	spin_unlock_bh(st->lock);
	return rc;
}

int smc_ism_conn_attach(struct smc_ism_conn *conn, const struct smc_clc_d *peer)
{
	return conn->group->key.dev->ops->attach(conn, peer);
}

void smc_ism_conn_describe(const struct smc_ism_conn *conn, struct smc_clc_d *d)
{
	const struct smc_ism_group *group = conn->group;
	const struct smc_ism_device *dev = group->key.dev;
	const struct smc_clc_ism name = dev->ops->name(dev, group->key.net);

	d->gid = name.gid;
	d->gid_ext = name.gid_ext;
	d->chid = name.chid;
	d->token = conn->token;
	d->dmbe_index = conn->index;
	d->dmbe_size_code = conn->dmbe->el.buffer->attr.size_class;
	d->link_id = conn->link_id;
}
