// SPDX-License-Identifier: GPL-2.0
/* SMC's access to the internals of TCP's socks, except their operations and callbacks. */

#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <net/dst.h>
#include <net/inet6_hashtables.h>
#include <net/inet_connection_sock.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "tcp.h"

/*
 * Limit of requests visited with softirqs off: root of a namespace may set any backlog. One walk
 * normally sees the whole queue of a listener with the greatest backlog that somaxconn allows by
 * default: TCP lets one more connection than the backlog wait.
 */
#define SMC_QUEUE_WALK_MAX	(SOMAXCONN + 1)

/*
 * A place in the queue: a request, or NULL at the end, and the request before it. @left is the
 * number of requests that may still be visited before the queue's lock is released.
 */
struct smc_queued {
	struct request_sock *before;
	struct request_sock *req;
	int left;
};

static struct request_sock_queue *smc_queue_of(struct sock *listener)
{
	return &inet_csk(listener)->icsk_accept_queue;
}

/* Called with the queue's lock. */
static struct smc_queued smc_queue_begin(const struct request_sock_queue *queue)
{
	return (struct smc_queued){
		.req  = queue->rskq_accept_head,
		.left = SMC_QUEUE_WALK_MAX,
	};
}

/*
 * Moves @at to the first request that fits, or to the end. Called with the queue's lock. Return:
 * false if neither is among the next at->left requests; another walk goes on from @at.
 */
static bool smc_queue_walk(struct smc_queued *at, smc_accept_queue_fits fits, const void *arg)
{
	while (at->req && at->left) {
		if (fits(at->req, arg))
			return true;
		at->left--;
		at->before = at->req;
		at->req = at->req->dl_next;
	}
	return !at->req;
}

/*
 * Called with the listener locked, and with the queue's lock. A long walk releases the queue's lock
 * now and then. The place stays valid: while the listener is locked, no request leaves the queue,
 * and new requests are added at the end.
 */
static struct smc_queued smc_queue_find(struct request_sock_queue *queue,
					smc_accept_queue_fits fits, const void *arg)
{
	struct smc_queued at = smc_queue_begin(queue);

	lockdep_assert_held(&queue->rskq_lock);
	while (!smc_queue_walk(&at, fits, arg)) {
		spin_unlock_bh(&queue->rskq_lock);
		cond_resched();
		spin_lock_bh(&queue->rskq_lock);
		at.left = SMC_QUEUE_WALK_MAX;
	}
	return at;
}

static void smc_queue_unlink(struct request_sock_queue *queue, const struct smc_queued *at)
{
	if (at->before)
		at->before->dl_next = at->req->dl_next;
	else
		WRITE_ONCE(queue->rskq_accept_head, at->req->dl_next);
	if (queue->rskq_accept_tail == at->req)
		queue->rskq_accept_tail = at->before;
}

bool smc_accept_queue_has(struct sock *listener, smc_accept_queue_fits fits, const void *arg)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	struct smc_queued at;
	bool has;

	if (reqsk_queue_empty(queue))
		return false;
	spin_lock_bh(&queue->rskq_lock);
	at = smc_queue_begin(queue);
	has = smc_queue_walk(&at, fits, arg) && at.req;
	spin_unlock_bh(&queue->rskq_lock);
	return has;
}

/*
 * Takes the request at @at out of the queue, and moves @at to the next one. Called with the queue's
 * lock. Return: the request taken, or NULL if @at is at the end.
 */
static struct request_sock *smc_queue_remove(struct sock *listener, struct smc_queued *at)
{
	struct request_sock *req = at->req;

	if (!req)
		return NULL;
	smc_queue_unlink(smc_queue_of(listener), at);
	sk_acceptq_removed(listener);
	at->req = req->dl_next;
	return req;
}

/*
 * Called with the queue's lock. Return: number of requests in @reqs. @more tells whether there are
 * requests that this function did not look at.
 */
static int smc_queue_take(struct sock *listener, smc_accept_queue_fits fits, const void *arg,
			  struct request_sock **reqs, int max, bool *more)
{
	struct smc_queued at = smc_queue_begin(smc_queue_of(listener));
	int n = 0;

	while (n < max && smc_queue_walk(&at, fits, arg) && at.req)
		reqs[n++] = smc_queue_remove(listener, &at);
	*more = at.req;
	return n;
}

struct request_sock *smc_accept_queue_take(struct sock *listener, smc_accept_queue_fits fits,
					   const void *arg)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	struct request_sock *req;
	struct smc_queued at;

	lockdep_assert_held(&listener->sk_lock);
	spin_lock_bh(&queue->rskq_lock);
	at = smc_queue_find(queue, fits, arg);
	req = smc_queue_remove(listener, &at);
	spin_unlock_bh(&queue->rskq_lock);
	return req;
}

int smc_accept_queue_try_take(struct sock *listener, smc_accept_queue_fits fits, const void *arg,
			      struct request_sock **reqs, int max, bool *more)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	int n = -EAGAIN;

	spin_lock_bh(&listener->sk_lock.slock);
	if (!sock_owned_by_user(listener)) {
		spin_lock(&queue->rskq_lock);
		n = smc_queue_take(listener, fits, arg, reqs, max, more);
		spin_unlock(&queue->rskq_lock);
	}
	spin_unlock_bh(&listener->sk_lock.slock);
	return n;
}

void smc_accept_queue_put(struct sock *listener, struct request_sock *req)
{
	if (!inet_csk_reqsk_queue_add(listener, req, req->sk))
		reqsk_put(req);
}

bool smc_accept_queue_raise(struct sock *listener, smc_accept_queue_fits fits, const void *arg)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	struct smc_queued at;

	lockdep_assert_held(&listener->sk_lock);
	spin_lock_bh(&queue->rskq_lock);
	at = smc_queue_find(queue, fits, arg);
	if (at.req && at.before) {
		smc_queue_unlink(queue, &at);
		at.req->dl_next = queue->rskq_accept_head;
		WRITE_ONCE(queue->rskq_accept_head, at.req);
	}
	spin_unlock_bh(&queue->rskq_lock);
	return at.req;
}

struct sock *smc_accept_queue_last(struct sock *listener)
{
	struct request_sock_queue *queue = smc_queue_of(listener);
	struct sock *child = NULL;

	spin_lock_bh(&queue->rskq_lock);
	if (queue->rskq_accept_head) {
		child = queue->rskq_accept_tail->sk;
		sock_hold(child);
	}
	spin_unlock_bh(&queue->rskq_lock);
	return child;
}

static u32 smc_tcp_route_cookie(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return inet6_sk(sk)->dst_cookie;
#endif
	return 0;
}

/* Return: the socket's route, with a reference; or NULL if there is none, or it is obsolete. */
static struct dst_entry *smc_tcp_route_if_valid(struct sock *sk)
{
	struct dst_entry *dst = sk_dst_get(sk);

	if (!dst || !dst->obsolete || dst->ops->check(dst, smc_tcp_route_cookie(sk)))
		return dst;
	/* The obsolete route stays in the socket until TCP, under the socket lock, drops it. */
	dst_release(dst);
	return NULL;
}

/*
 * Lets TCP look up the socket's route, as it would for its next packet. If a user holds the socket
 * lock, the function does nothing rather than wait, and the socket stays without a valid route.
 */
static void smc_tcp_route_anew(struct sock *sk)
{
	spin_lock_bh(&sk->sk_lock.slock);
	if (!sock_owned_by_user(sk))
		inet_csk(sk)->icsk_af_ops->rebuild_header(sk);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/* Return: a valid route, which also respects IPsec policies newer than the SYN; or NULL. */
static struct dst_entry *smc_tcp_route(struct sock *sk)
{
	struct dst_entry *dst = smc_tcp_route_if_valid(sk);

	if (dst)
		return dst;
	smc_tcp_route_anew(sk);
	return smc_tcp_route_if_valid(sk);
}

bool smc_tcp_is_secured(struct sock *sk)
{
	struct dst_entry *dst = smc_tcp_route(sk);
	bool is_secured = !dst || dst_xfrm(dst);

	dst_release(dst);
	return is_secured;
}

static struct inet_hashinfo *smc_tcp_hashinfo(const struct sock *sk)
{
	return sock_net(sk)->ipv4.tcp_death_row.hashinfo;
}

static bool smc_is_offered_request(struct sock *sk, const struct sock *listener)
{
	const struct request_sock *req;

	if (sk->sk_state != TCP_NEW_SYN_RECV)
		return false;
	req = inet_reqsk(sk);
	return req->rsk_listener == listener && inet_rsk(req)->smc_ok;
}

/*
 * Searches a bucket of TCP's hash table. Return: a request of @listener whose SYN-ACK offered SMC,
 * with a reference; or NULL.
 */
static struct request_sock *smc_offered_request(struct inet_hashinfo *table, unsigned int bucket,
						const struct sock *listener)
{
	spinlock_t *lock = inet_ehash_lockp(table, bucket);
	const struct hlist_nulls_node *node;
	struct request_sock *found = NULL;
	struct sock *sk;

	spin_lock_bh(lock);
	sk_nulls_for_each(sk, node, &table->ehash[bucket].chain) {
		if (smc_is_offered_request(sk, listener) && refcount_inc_not_zero(&sk->sk_refcnt)) {
			found = inet_reqsk(sk);
			break;
		}
	}
	spin_unlock_bh(lock);
	return found;
}

void smc_tcp_drop_offered_requests(struct sock *sk)
{
	struct inet_hashinfo *table = smc_tcp_hashinfo(sk);
	struct request_sock *req;
	unsigned int i;

	if (!reqsk_queue_len(&inet_csk(sk)->icsk_accept_queue))
		return;
	for (i = 0; i <= table->ehash_mask; i++) {
		while (!hlist_nulls_empty(&table->ehash[i].chain)) {
			req = smc_offered_request(table, i, sk);
			if (!req)
				break;
			/* TCP takes the lock of the bucket, and expects softirqs off. */
			local_bh_disable();
			inet_csk_reqsk_queue_drop_and_put(sk, req);
			local_bh_enable();
		}
		cond_resched();
	}
}

/* Called under RCU, which keeps the route and its device. Return: NULL if there is no route. */
static struct net_device *smc_local_peer_device(const struct sock *sk)
{
	const struct dst_entry *dst = rcu_dereference(sk->sk_dst_cache);

	return dst ? READ_ONCE(dst->dev) : NULL;
}

bool smc_peer_in_net(const struct sock *sk)
{
	const struct net_device *dev;
	bool is_near;

	rcu_read_lock();
	dev = smc_local_peer_device(sk);
	is_near = dev && (dev->flags & IFF_LOOPBACK);
	rcu_read_unlock();
	return is_near;
}

bool smc_local_peer_is_captured(const struct sock *sk)
{
	struct net_device *dev;
	bool is_watched;

	rcu_read_lock();
	dev = smc_local_peer_device(sk);
	is_watched = !dev || dev_nit_active(dev);
	rcu_read_unlock();
	return is_watched;
}

static struct sock *smc_local_peer_lookup(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct net *net = sock_net(sk);
	struct inet_hashinfo *hashinfo = smc_tcp_hashinfo(sk);
	u16 port = ntohs(inet->inet_dport);

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr))
		return __inet6_lookup_established(net, hashinfo, &sk->sk_v6_rcv_saddr,
						  inet->inet_sport, &sk->sk_v6_daddr, port,
						  LOOPBACK_IFINDEX, 0);
#endif
	return __inet_lookup_established(net, hashinfo, inet->inet_rcv_saddr, inet->inet_sport,
					 inet->inet_daddr, port, LOOPBACK_IFINDEX, 0);
}

struct sock *smc_local_peer_find(const struct sock *sk)
{
	struct sock *peer;

	rcu_read_lock();
	peer = smc_local_peer_lookup(sk);
	rcu_read_unlock();
	if (!peer || sk_fullsock(peer))
		return peer;
	/* Not the peer's socket, but a TIME_WAIT sock of an earlier connection, or a request. */
	sock_gen_put(peer);
	return NULL;
}

bool smc_tcp_syn_is_lost(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	int retries = READ_ONCE(icsk->icsk_syn_retries) ? :
		      READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_syn_retries);

	sock_owned_by_me(sk);
	return icsk->icsk_retransmits >= 1 || retries <= 1;
}

/* TCP's recvmsg() can't be used: it would lock the socket, and obey options like SO_PEEK_OFF. */
int smc_tcp_peek(const struct sock *sk, u8 *buf, size_t len)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 seq = tp->copied_seq;
	struct sk_buff *skb;
	u32 offset;
	size_t n;

	sock_owned_by_me(sk);
	if (tp->urg_data && tp->urg_seq - seq < len)
		return -EPROTO;
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		offset = seq - TCP_SKB_CB(skb)->seq;
		if (offset >= skb->len)
			continue;
		n = min_t(size_t, len, skb->len - offset);
		if (skb_copy_bits(skb, offset, buf, n))
			return -EPROTO;
		buf += n;
		seq += n;
		len -= n;
		if (!len)
			return 0;
	}
	return -EPROTO;
}

/* Called by tcp_read_sock(). Drops at most desc->count bytes, and subtracts that number from it. */
static int smc_tcp_skip(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset,
			size_t len)
{
	size_t skipped = min(len, desc->count);

	desc->count -= skipped;
	return skipped;
}

size_t smc_tcp_drop(struct sock *sk, size_t len)
{
	read_descriptor_t desc = { .count = len };

	sock_owned_by_me(sk);
	tcp_read_sock(sk, &desc, smc_tcp_skip);
	return len - desc.count;
}

/*
 * When memory is short, TCP sets flags in the struct socket, and uses its wait queue, even with a
 * timeout of 0. A connection that was not accepted yet has no struct socket, so it gets this one
 * while it sends. This struct socket belongs to nobody. It has an inode, because code that looks up
 * the socket of a sock also reads the inode.
 */
static struct socket_alloc smc_tcp_nobody = {
	.socket.wq.wait = __WAIT_QUEUE_HEAD_INITIALIZER(smc_tcp_nobody.socket.wq.wait),
};

static void smc_tcp_set_socket(struct sock *sk, struct socket *sock)
{
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_pointer(sk->sk_wq, sock ? &sock->wq : NULL);
	sk_set_socket(sk, sock);
	write_unlock_bh(&sk->sk_callback_lock);
}

void smc_tcp_charge_ahead(struct sock *sk, size_t len)
{
	/* Until 6.2 an skb's head is from kmalloc(), and the whole object is charged. */
	const int head = kmalloc_size_roundup(SKB_HEAD_ALIGN(MAX_TCP_HEADER));
	/*
	 * TCP charges an skb when it allocates it, and then the bytes that it copies. By a small
	 * MSS a peer can make TCP split the 44 bytes of a DECLINE into segments of eight bytes, and
	 * each segment may take an skb. Only a handshake that has a place in the quota sends a
	 * longer message, and such a handshake may wait until memory is reclaimed.
	 */
	const int need = len + 7 * (head + SKB_DATA_ALIGN(sizeof(struct sk_buff)));
	unsigned int outer;

	sock_owned_by_me(sk);
	if (!(current->flags & PF_WQ_WORKER) || sk->sk_forward_alloc >= need)
		return;
	/*
	 * Nothing may be allocated between these calls: it would come from the host's reserves, and
	 * a receiver on this host drops skbs with such memory.
	 */
	outer = memalloc_noreclaim_save();
	__sk_mem_schedule(sk, need - sk->sk_forward_alloc, SK_MEM_SEND);
	memalloc_noreclaim_restore(outer);
}

void smc_tcp_fin_ahead(struct sock *sk)
{
	lock_sock(sk);
	/* In other cases TCP sends no FIN; it may reset the connection instead. */
	if (((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)) && !tcp_inq(sk) &&
	    !tcp_sk(sk)->repair &&
	    !(sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime)) {
		smc_tcp_charge_ahead(sk, 0);
		sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	}
	smc_tcp_unlock(sk);
}

bool smc_tcp_trylock(struct sock *sk)
{
	bool is_free;

	spin_lock_bh(&sk->sk_lock.slock);
	is_free = !sock_owned_by_user(sk);
	if (is_free) {
		sk->sk_lock.owned = 1;
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	return is_free;
}

void smc_tcp_unlock(struct sock *sk)
{
	unsigned int outer;

	if (!(current->flags & PF_WQ_WORKER)) {
		release_sock(sk);
		return;
	}
	outer = memalloc_noreclaim_save();
	release_sock(sk);
	memalloc_noreclaim_restore(outer);
}

int smc_tcp_write(struct sock *sk, const u8 *buf, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)buf, .iov_len = len };
	struct tcp_sock *tp = tcp_sk(sk);
	u32 tsflags = sk->sk_tsflags;
	bool is_nobodys;
	u8 nonagle;
	int rc, err;

	sock_owned_by_me(sk);
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	is_nobodys = !sk->sk_socket;
	if (is_nobodys)
		smc_tcp_set_socket(sk, &smc_tcp_nobody.socket);
	/* TCP_CORK and SO_TIMESTAMPING are meant for the application's bytes only. */
	nonagle = tp->nonagle;
	tp->nonagle = TCP_NAGLE_OFF;
	WRITE_ONCE(sk->sk_tsflags, tsflags & ~SOF_TIMESTAMPING_TX_RECORD_MASK);
	smc_tcp_charge_ahead(sk, len);
	/* Keep an error that does not end the connection (IP_RECVERR) for the application, too. */
	err = xchg(&sk->sk_err, 0);
	rc = tcp_sendmsg_locked(sk, &msg, len);
	if (err)
		WRITE_ONCE(sk->sk_err, err);
	WRITE_ONCE(sk->sk_tsflags, tsflags);
	tp->nonagle = nonagle;
	if (is_nobodys)
		smc_tcp_set_socket(sk, NULL);
	if (rc < 0)
		return rc;
	/* No short write is expected: the bytes fit into TCP's smallest send buffer. */
	return rc == len ? 0 : -EMSGSIZE;
}

void smc_tcp_reset(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct saved_syn *saved_syn = tp->saved_syn;
	struct dst_entry *dst = sk_dst_get(sk);
	__be16 port = inet_sk(sk)->inet_dport;
	u16 user_mss = tp->rx_opt.user_mss;
	u32 window_clamp = tp->window_clamp;
	int peek_off = sk->sk_peek_off;
	int locks = sk->sk_userlocks;

	sock_owned_by_me(sk);
	/* disconnect() would clear the addresses, the route, and the application's options. */
	sk->sk_userlocks |= SOCK_BINDADDR_LOCK;
	tp->saved_syn = NULL;
	smc_tcp_disconnect(sk);
	tp->saved_syn = saved_syn;
	tp->rx_opt.user_mss = user_mss;
	WRITE_ONCE(tp->window_clamp, window_clamp);
	sk->sk_userlocks = locks;
	inet_sk(sk)->inet_dport = port;
	sk_dst_set(sk, dst);
	WRITE_ONCE(sk->sk_peek_off, peek_off);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
}

/*
 * Sends a segment with an old sequence number, which the peer acknowledges. TCP's own function for
 * this is not exported. So this function sends an acknowledgement, whose sequence number TCP takes
 * from snd_nxt, while snd_nxt is set back.
 */
bool smc_tcp_probe(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 snd_nxt = tp->snd_nxt;
	u32 sent = tp->segs_out;

	sock_owned_by_me(sk);
	WRITE_ONCE(tp->snd_nxt, tp->snd_una - 1);
	smc_tcp_send_ack(sk);
	WRITE_ONCE(tp->snd_nxt, snd_nxt);
	return tp->segs_out != sent;
}

void smc_tcp_time_out(struct sock *sk)
{
	sock_owned_by_me(sk);
	WRITE_ONCE(sk->sk_err, READ_ONCE(sk->sk_err_soft) ? : ETIMEDOUT);
	tcp_done(sk);
}
