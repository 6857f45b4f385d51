// SPDX-License-Identifier: GPL-2.0
/* sock_diag for AF_SMC: the sockets that "smc sock" and other tools show. */

#include <linux/module.h>
#include <linux/sock_diag.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/netlink.h>
#include <net/tcp_states.h>

#include "../../../include/uapi/linux/smc_diag.h"
#include "diag.h"
#include "path.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "wire/bytes.h"

/*
 * States, numbered as user-space tools expect: by TCP's number if TCP has the same state, and from
 * 20 on for a connection that is being closed.
 */
enum {
	SMC_STATE_ACTIVE	  = TCP_ESTABLISHED,
	SMC_STATE_INIT		  = TCP_SYN_SENT,
	SMC_STATE_CLOSED	  = TCP_CLOSE,
	SMC_STATE_LISTEN	  = TCP_LISTEN,
	SMC_STATE_PEER_CLOSE_WAIT = 20,	/* this end has shut down writing */
	SMC_STATE_APP_CLOSE_WAIT  = 22,	/* the peer has shut down writing */
	SMC_STATE_APP_CLOSE_WAIT2 = 23,	/* both ends have shut down writing */
	SMC_STATE_APP_FIN_WAIT	  = 24,	/* the peer has closed */
	SMC_STATE_PEER_FIN_WAIT	  = 25,	/* this end has closed */
	SMC_STATE_PEER_ABORT_WAIT = 26,	/* this end has aborted */
	SMC_STATE_ABORTED	  = 27,	/* the peer has aborted, or the path is lost */
};

/**
 * struct smc_diag_dump - arguments of one call of a dump
 * @skb: buffer to fill
 * @cb: state of the dump; args[0] is the index of the next socket
 */
struct smc_diag_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
};

static bool smc_diag_wants(const struct smc_diag_dump *dump, int extension)
{
	const struct smc_diag_req *req = nlmsg_data(dump->cb->nlh);

	return req->diag_ext & BIT(extension - 1);
}

static u8 smc_diag_tcp_state(const struct sock *sk)
{
	static const u8 states[TCP_MAX_STATES] = {
		[TCP_ESTABLISHED] = SMC_STATE_ACTIVE,
		[TCP_SYN_SENT]	  = SMC_STATE_INIT,
		[TCP_SYN_RECV]	  = SMC_STATE_INIT,
		[TCP_LISTEN]	  = SMC_STATE_LISTEN,
		[TCP_FIN_WAIT1]	  = SMC_STATE_PEER_CLOSE_WAIT,
		[TCP_FIN_WAIT2]	  = SMC_STATE_PEER_CLOSE_WAIT,
		[TCP_CLOSE_WAIT]  = SMC_STATE_APP_CLOSE_WAIT,
		[TCP_CLOSING]	  = SMC_STATE_PEER_FIN_WAIT,
		[TCP_LAST_ACK]	  = SMC_STATE_PEER_FIN_WAIT,
	};

	return states[READ_ONCE(sk->sk_state)] ?: SMC_STATE_CLOSED;
}

static u8 smc_diag_stream_state(const struct smc_stream *st)
{
	u8 own = READ_ONCE(st->tx.conn_flags) | READ_ONCE(st->tx.end_flags);
	u8 peer = READ_ONCE(st->rx.conn_flags);

	if (own & SMC_CONN_ABORT)
		return SMC_STATE_PEER_ABORT_WAIT;
	if ((peer & SMC_CONN_ABORT) || READ_ONCE(st->err))
		return SMC_STATE_ABORTED;
	if (peer & SMC_CONN_CLOSED)
		return SMC_STATE_APP_FIN_WAIT;
	if (own & SMC_CONN_CLOSED)
		return SMC_STATE_PEER_FIN_WAIT;
	if (own && peer)
		return SMC_STATE_APP_CLOSE_WAIT2;
	if (peer)
		return SMC_STATE_APP_CLOSE_WAIT;
	return own ? SMC_STATE_PEER_CLOSE_WAIT : SMC_STATE_ACTIVE;
}

static u8 smc_diag_stream_shutdown(const struct smc_stream *st)
{
	u8 shutdown = 0;

	if (READ_ONCE(st->rcv_shutdown) || READ_ONCE(st->rx.conn_flags))
		shutdown |= RCV_SHUTDOWN;
	if (READ_ONCE(st->tx.end_flags))
		shutdown |= SEND_SHUTDOWN;
	return shutdown;
}

static void smc_diag_fill_id(struct sock *sk, struct inet_diag_sockid *id)
{
	const struct inet_sock *inet = inet_sk(sk);

	sock_diag_save_cookie(sk, id->idiag_cookie);
	id->idiag_if = READ_ONCE(sk->sk_bound_dev_if);
	id->idiag_sport = inet->inet_sport;
	id->idiag_dport = inet->inet_dport;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		memcpy(id->idiag_src, &sk->sk_v6_rcv_saddr, sizeof(id->idiag_src));
		memcpy(id->idiag_dst, &sk->sk_v6_daddr, sizeof(id->idiag_dst));
		return;
	}
#endif
	id->idiag_src[0] = inet->inet_rcv_saddr;
	id->idiag_dst[0] = inet->inet_daddr;
}

static void smc_diag_fill_stream(const struct smc_stream *st, struct smc_diag_msg *msg)
{
	msg->diag_mode = st->path->kind == SMC_PATH_D ? SMC_DIAG_MODE_SMCD : SMC_DIAG_MODE_SMCR;
	msg->diag_state = smc_diag_stream_state(st);
	msg->diag_shutdown = smc_diag_stream_shutdown(st);
}

static void smc_diag_fill(const struct smc_diag_dump *dump, const struct smc_sock *smc,
			  const struct smc_stream *st, struct smc_diag_msg *msg)
{
	struct sock *sk = smc->sk;

	memset(msg, 0, sizeof(*msg));
	msg->diag_family = AF_SMC;
	msg->diag_uid = from_kuid_munged(sk_user_ns(NETLINK_CB(dump->cb->skb).sk), sock_i_uid(sk));
	msg->diag_inode = sock_i_ino(sk);
	smc_diag_fill_id(sk, &msg->id);
	if (st) {
		smc_diag_fill_stream(st, msg);
		return;
	}
	/* diag_mode has no value for "undecided": a socket that may still use SMC shows SMC-R. */
	msg->diag_mode = READ_ONCE(smc->mode) == SMC_MODE_TCP ? SMC_DIAG_MODE_FALLBACK_TCP :
								SMC_DIAG_MODE_SMCR;
	msg->diag_state = READ_ONCE(smc->mode) == SMC_MODE_HANDSHAKE ? SMC_STATE_INIT :
								       smc_diag_tcp_state(sk);
	msg->diag_shutdown = READ_ONCE(sk->sk_shutdown);
}

static struct smc_diag_cursor smc_diag_cursor(u64 pos, u32 size)
{
	struct smc_cursor cursor = smc_cursor_from_position(pos, size);

	return (struct smc_diag_cursor) { .wrap = cursor.wrap, .count = cursor.offset };
}

static int smc_diag_put_conninfo(struct sk_buff *skb, const struct smc_stream *st, u32 token)
{
	const struct smc_stream_tx *tx = &st->tx;
	const struct smc_stream_rx *rx = &st->rx;
	struct smc_diag_conninfo info = {
		.token		     = token,
		.sndbuf_size	     = tx->size,
		.rmbe_size	     = rx->size,
		.peer_rmbe_size	     = tx->peer_size,
		.rx_prod	     = smc_diag_cursor(rx->received, rx->size),
		.rx_cons	     = smc_diag_cursor(READ_ONCE(rx->consumed), rx->size),
		.tx_prod	     = smc_diag_cursor(tx->sent, tx->peer_size),
		.tx_cons	     = smc_diag_cursor(tx->acked, tx->peer_size),
		.rx_prod_flags	     = rx->prod_flags,
		.rx_conn_state_flags = rx->conn_flags,
		.tx_prod_flags	     = tx->prod_flags,
		.tx_conn_state_flags = tx->conn_flags,
		.tx_prep	     = smc_diag_cursor(READ_ONCE(tx->written), tx->size),
		.tx_sent	     = smc_diag_cursor(tx->sent, tx->size),
		.tx_fin		     = smc_diag_cursor(tx->reusable, tx->size),
	};

	return nla_put(skb, SMC_DIAG_CONNINFO, sizeof(info), &info);
}

static int smc_diag_put_lgrinfo(struct sk_buff *skb, const struct smc_path_info *path)
{
	struct smc_diag_lgrinfo info = { .role = path->role };
	struct smc_diag_linkinfo *link = &info.lnk[0];

	link->link_id = path->link;
	link->ibport = path->port;
	strscpy(link->ibname, path->device, sizeof(link->ibname));
	snprintf(link->gid, sizeof(link->gid), "%pI6", path->gid);
	snprintf(link->peer_gid, sizeof(link->peer_gid), "%pI6", path->peer_gid);
	return nla_put(skb, SMC_DIAG_LGRINFO, sizeof(info), &info);
}

static int smc_diag_put_rmbe(struct sk_buff *skb, const struct smc_path_info *path)
{
	struct smc_diag_rmbe info = {
		.peer_token = path->peer_token,
		.index	    = path->index,
		.peer_index = path->peer_index,
	};

	return nla_put(skb, SMC_DIAG_RMBE, sizeof(info), &info);
}

static int smc_diag_put_dmbinfo(struct sk_buff *skb, const struct smc_path_info *path)
{
	struct smcd_diag_dmbinfo info;

	/* Clear also the padding, which goes to user space. */
	memset(&info, 0, sizeof(info));
	info.linkid = path->link;
	info.token = path->token;
	info.peer_token = path->peer_token;
	info.my_gid = get_be64(path->gid);
	info.my_gid_ext = get_be64(path->gid + 8);
	info.peer_gid = get_be64(path->peer_gid);
	info.peer_gid_ext = get_be64(path->peer_gid + 8);

	return nla_put(skb, SMC_DIAG_DMBINFO, sizeof(info), &info);
}

/* Context: st->lock held. */
static int smc_diag_put_stream(const struct smc_diag_dump *dump, struct smc_stream *st)
{
	struct smc_path_info path = {};
	bool lost = !st->path->describe(st, &path);
	int rc = 0;

	if (smc_diag_wants(dump, SMC_DIAG_CONNINFO))
		rc = smc_diag_put_conninfo(dump->skb, st, path.token) ?:
		     (lost ? 0 : smc_diag_put_rmbe(dump->skb, &path));
	if (rc || lost)
		return rc;
	if (st->path->kind == SMC_PATH_D && smc_diag_wants(dump, SMC_DIAG_DMBINFO))
		rc = smc_diag_put_dmbinfo(dump->skb, &path);
	if (st->path->kind == SMC_PATH_R && smc_diag_wants(dump, SMC_DIAG_LGRINFO))
		rc = smc_diag_put_lgrinfo(dump->skb, &path);
	return rc;
}

static int smc_diag_put_fallback(const struct smc_diag_dump *dump, const struct smc_sock *smc)
{
	struct smc_diag_fallback info = {
		.reason		= READ_ONCE(smc->reason),
		.peer_diagnosis = READ_ONCE(smc->peer_reason),
	};

	return nla_put(dump->skb, SMC_DIAG_FALLBACK, sizeof(info), &info);
}

static int smc_diag_put_extensions(const struct smc_diag_dump *dump, const struct smc_sock *smc,
				   struct smc_stream *st, const struct smc_diag_msg *msg)
{
	int rc;

	/* Tools expect these two attributes even if they have not asked for them. */
	rc = nla_put_u8(dump->skb, SMC_DIAG_SHUTDOWN, msg->diag_shutdown) ?:
	     smc_diag_put_fallback(dump, smc);
	if (rc || !st)
		return rc;
	spin_lock_bh(st->lock);
	rc = smc_diag_put_stream(dump, st);
	spin_unlock_bh(st->lock);
	return rc;
}

/* Called with the namespace's array of sockets locked, so the socket and its stream stay. */
static int smc_diag_put(struct smc_sock *smc, void *arg)
{
	const struct smc_diag_dump *dump = arg;
	struct netlink_callback *cb = dump->cb;
	struct smc_stream *st = NULL;
	struct nlmsghdr *nlh;

	/* Pairs with smc_sock_enter_stream(), which sets the stream before the mode. */
	if (smp_load_acquire(&smc->mode) == SMC_MODE_STREAM)
		st = smc->stream;
	nlh = nlmsg_put(dump->skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			SOCK_DIAG_BY_FAMILY, sizeof(struct smc_diag_msg), NLM_F_MULTI);
	if (!nlh)
		return -EMSGSIZE;
	smc_diag_fill(dump, smc, st, nlmsg_data(nlh));
	if (smc_diag_put_extensions(dump, smc, st, nlmsg_data(nlh))) {
		nlmsg_cancel(dump->skb, nlh);
		return -EMSGSIZE;
	}
	nlmsg_end(dump->skb, nlh);
	return 0;
}

static int smc_diag_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct smc_diag_dump dump = { .skb = skb, .cb = cb };
	unsigned long index = cb->args[0];
	int rc = smc_sock_for_each(sock_net(skb->sk), &index, smc_diag_put, &dump);

	cb->args[0] = index;
	/* A message with sockets is sent, and the dump goes on. An empty message ends the dump. */
	return skb->len ?: rc;
}

static int smc_diag_request(struct sk_buff *skb, struct nlmsghdr *nlh)
{
	struct netlink_dump_control control = { .dump = smc_diag_dump };

	if (nlmsg_len(nlh) < sizeof(struct smc_diag_req))
		return -EINVAL;
	if (!(nlh->nlmsg_flags & NLM_F_DUMP))
		return -EOPNOTSUPP;
	return netlink_dump_start(sock_net(skb->sk)->diag_nlsk, skb, nlh, &control);
}

static const struct sock_diag_handler smc_diag_handler = {
	.owner	= THIS_MODULE,
	.family = AF_SMC,
	.dump	= smc_diag_request,
};

int smc_diag_init(void)
{
	return sock_diag_register(&smc_diag_handler);
}

void smc_diag_exit(void)
{
	sock_diag_unregister(&smc_diag_handler);
}

MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_NETLINK, NETLINK_SOCK_DIAG, 43 /* AF_SMC */);
