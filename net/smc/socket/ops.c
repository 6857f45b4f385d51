// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of an SMC socket. Each operation checks the socket's mode, and calls TCP's
 * operation if the socket is TCP's.
 */

#include <linux/fs.h>
#include <linux/tcp.h>
#include <net/inet_common.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "admin/stats.h"
#include "compat.h"
#include "connect.h"
#include "family.h"
#include "ioctl.h"
#include "listener.h"
#include "ops.h"
#include "options.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "tcp.h"
#include "tcp_close.h"

/* TCP's operations for one IP version, and SMC's. */
struct smc_family_ops {
	const struct proto_ops *tcp;
	struct proto_ops smc;
};

static struct smc_family_ops smc_ipv4_ops, smc_ipv6_ops;

const struct proto_ops *smc_tcp_ops(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? smc_ipv6_ops.tcp : smc_ipv4_ops.tcp;
}

const struct proto_ops *smc_ops_of_family(int family)
{
	const struct smc_family_ops *ops = family == AF_INET6 ? &smc_ipv6_ops : &smc_ipv4_ops;

	return ops->tcp ? &ops->smc : NULL;
}

/*
 * A call that transfers data waits here for the end of the handshakes that a non-blocking connect()
 * began. Return: the stream, NULL if the call is TCP's, or an error pointer.
 */
static struct smc_stream *smc_await_stream(struct sock *sk, long timeo)
{
	struct smc_sock *smc = smc_sk(sk);
	int rc = smc ? smc_wait_connected(smc, timeo) : 0;

	return rc ? ERR_PTR(rc) : smc_stream_of(sk);
}

/*
 * Whether SMC takes part in the socket's connection, or in one that is being made. The answer holds
 * only while the socket is locked: connect() takes the lock before it hooks the socket, and keeps
 * the lock until the SYN has left. A call that looks without the lock may look just before another
 * thread's connect() hooks the socket. So a call that finds the socket not connected looks again
 * under the lock before it is left to TCP. Otherwise TCP's operation would wait for the lock, and
 * then use SMC's connection as if it were TCP's.
 */
static bool smc_is_in_use(const struct sock *sk)
{
	return smc_sk_is_connecting(sk) || smc_stream_of(sk);
}

/*
 * Checks again, now under the lock, whether a call that reads is TCP's. TCP's operations for
 * reading take the lock themselves, and another thread's connect() could take the lock before they
 * do. So if the socket is not connected, and its next connection may use SMC, this function itself
 * returns the error that TCP would.
 * Return: 1 if another thread has begun a connect(), 0 if the call is TCP's, or -errno.
 */
static int smc_begin_tcp_read(struct socket *sock, int flags)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc;
	int rc = 0;

	lock_sock(sk);
	smc = smc_sk(sk);
	if (smc_is_in_use(sk))
		rc = 1;
	else if (sk->sk_state == TCP_CLOSE && sock->state == SS_UNCONNECTED &&
		 !smc_must_be_tcp(sk))
		rc = flags & MSG_OOB ? -EINVAL : sock_error(sk) ? : -ENOTCONN;
	/*
	 * Late CLC messages may still be in TCP's queue, because TCP calls data_ready only for
	 * SO_RCVLOWAT bytes or more.
	 */
	else if (smc && smc->mode == SMC_MODE_TCP)
		smc_sock_drop_late(smc);
	release_sock(sk);
	return rc;
}

/*
 * Does what smc_await_stream() does, for a call that reads with @flags. Also drops CLC messages
 * that come too late, which the call must not read.
 */
static struct smc_stream *smc_await_read_stream(struct socket *sock, long timeo, int flags)
{
	struct sock *sk = sock->sk;
	struct smc_stream *st;
	bool was_closed;
	int rc;

	do {
		/* Read the state first: connect() hooks the socket before TCP leaves TCP_CLOSE. */
		was_closed = smp_load_acquire(&sk->sk_state) == TCP_CLOSE;
		st = smc_await_stream(sk, timeo);
		if (st || (!was_closed && !smc_sk(sk)))
			return st;
		rc = smc_begin_tcp_read(sock, flags);
	} while (rc > 0);
	return ERR_PTR(rc);
}

/*
 * Sends by TCP. The socket stays locked from the check of its mode until TCP sends, even if TCP is
 * connected. tcp_sendmsg() would take the lock itself, and before that other threads could
 * disconnect the socket with AF_UNSPEC and connect it by SMC. Then the bytes would be sent among
 * the CLC messages.
 * Return: false if another thread has begun a connect() since the caller looked; else @rc is the
 * call's result.
 */
static bool smc_sendmsg_tcp(struct socket *sock, struct msghdr *msg, size_t len, int *rc)
{
	struct sock *sk = sock->sk;
	bool is_tcps;

	/* A BPF map of sockets has a sendmsg function of its own, which must see the bytes. */
	if (READ_ONCE(sk->sk_prot)->sendmsg != tcp_sendmsg) {
		*rc = smc_tcp_ops(sk)->sendmsg(sock, msg, len);
		return true;
	}
	*rc = -EAGAIN;
	if (inet_send_prepare(sk))
		return true;
	lock_sock(sk);
	is_tcps = !smc_is_in_use(sk);
	/* MSG_FASTOPEN connects by TCP. */
	if (is_tcps && (msg->msg_flags & MSG_FASTOPEN)) {
		smc_family_to_tcp(sk);
		smc_connect_forget_listener(sk);
	}
	if (is_tcps)
		*rc = tcp_sendmsg_locked(sk, msg, len);
	release_sock(sk);
	return is_tcps;
}

static bool smc_is_unspec(const struct msghdr *msg)
{
	const struct sockaddr *addr = msg->msg_name;

	return addr && msg->msg_namelen >= sizeof(addr->sa_family) &&
	       addr->sa_family == AF_UNSPEC;
}

/*
 * A call with MSG_FASTOPEN is also a connect(), so TCP refuses it on a connected socket. After a
 * non-blocking connect(), the first such call completes the connection, as a second connect()
 * would, and sends.
 */
static int smc_stream_fast_open(struct socket *sock, const struct msghdr *msg)
{
	if (!(READ_ONCE(sock_net(sock->sk)->ipv4.sysctl_tcp_fastopen) & TFO_CLIENT_ENABLE) ||
	    smc_is_unspec(msg))
		return -EOPNOTSUPP;
	if (sock->state == SS_CONNECTED)
		return -EISCONN;
	/* Change no other state: another thread may have just disconnected the socket. */
	if (sock->state == SS_CONNECTING)
		sock->state = SS_CONNECTED;
	return 0;
}

/* Ends a call that transfers data. If the stream has failed, TCP's connection is reset, too. */
static void smc_end_transfer(struct sock *sk, const struct smc_stream *st)
{
	/* Another thread may have disconnected the socket meanwhile. */
	if (unlikely(smc_stream_has_failed(st)) && smc_stream_of(sk) == st)
		smc_tcp_close_failed(sk);
	release_sock(sk);
}

/* The end of stream/internal.h says why these functions have sections of their own. */
static int smc_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
	__section(".text.smc_sendmsg") __aligned(SZ_1K);
static int smc_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
	__section(".text.smc_recvmsg") __aligned(SZ_1K);

static int smc_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	struct smc_stream *st;
	int rc;

	do {
		st = smc_stream_of(sk) ?:
		     smc_await_stream(sk, sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT));
		if (IS_ERR(st))
			return PTR_ERR(st);
		if (!st && smc_sendmsg_tcp(sock, msg, len, &rc))
			return rc;
	} while (!st);

	lock_sock(sk);
	rc = msg->msg_flags & MSG_FASTOPEN ? smc_stream_fast_open(sock, msg) : 0;
	if (!rc)
		rc = smc_stream_send(st, msg, len);
	smc_end_transfer(sk, st);
	return rc;
}

/* Called by kernels up to 6.4. */
static ssize_t smc_sendpage(struct socket *sock, struct page *page, int offset, size_t size,
			    int flags)
{
	return smc_compat_sendpage(smc_tcp_ops(sock->sk), sock, page, offset, size, flags,
				   smc_is_in_use);
}

/* Whether the call returns more than bytes: a timestamp, or the number of unread bytes. */
static bool smc_wants_cmsg(const struct sock *sk, const struct msghdr *msg, u64 arrival)
{
	return arrival || smc_tcp_tells_inq(sk) || msg->msg_get_inq;
}

static int smc_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = sock->sk;
	struct smc_stream *st;
	u64 arrival;
	int rc;

	if (flags & MSG_ERRQUEUE)
		return smc_tcp_ops(sk)->recvmsg(sock, msg, len, flags);
	/* TCP, too, does not wait for an urgent byte. */
	if ((flags & MSG_OOB) && smc_sk_is_connecting(sk))
		return -EINVAL;
	st = smc_stream_of(sk) ?:
	     smc_await_read_stream(sock, sock_rcvtimeo(sk, flags & MSG_DONTWAIT), flags);
	if (IS_ERR(st))
		return PTR_ERR(st);
	if (!st)
		return smc_tcp_ops(sk)->recvmsg(sock, msg, len, flags);

	lock_sock(sk);
	rc = smc_stream_recv(st, msg, len, flags, &arrival);
	smc_end_transfer(sk, st);
	if (rc >= 0 && smc_wants_cmsg(sk, msg, arrival))
		smc_stream_put_cmsg(st, msg, arrival);
	return rc;
}

static __poll_t smc_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc = smc_sk(sk);
	__poll_t mask;

	switch (smc ? smc_mode(smc) : SMC_MODE_TCP) {
	case SMC_MODE_STREAM:
		sock_poll_wait(file, sock, wait);
		return smc_stream_poll(smc->stream);
	case SMC_MODE_LISTEN:
		if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
			return smc_tcp_ops(sk)->poll(file, sock, wait);
		sock_poll_wait(file, sock, wait);
		return smc_listener_is_ready(smc->listener) ? EPOLLIN | EPOLLRDNORM : 0;
	case SMC_MODE_CONNECTING:
	case SMC_MODE_HANDSHAKE:
		/* TCP may be connected already, but its poll() must not report that yet. */
		sock_poll_wait(file, sock, wait);
		/* The connection may have been established before the wait began. */
		return smc_is_connecting(smc) ? 0 : smc_poll(file, sock, NULL);
	default:
		mask = smc_tcp_ops(sk)->poll(file, sock, wait);
		/* Another thread may have begun a connect() meanwhile. */
		return smc_sk_is_connecting(sk) ? 0 : mask;
	}
}

/*
 * Shuts down a socket that is connecting: as TCP does in its own handshake, this disconnects the
 * socket, whichever direction is to be shut down.
 */
static int smc_shutdown_connecting(struct smc_sock *smc, struct socket *sock)
{
	struct sock *sk = smc->sk;
	int rc = -EISCONN;

	smc_handshake_stop(&smc->hs);
	/* SMC's handshake may have succeeded before it could be stopped. */
	if (smc->mode == SMC_MODE_CONNECTING || sk->sk_state == TCP_CLOSE) {
		smc_sock_leave_smc(smc);
		smc_tcp_disconnect(sk);
		WRITE_ONCE(sk->sk_err, ECONNRESET);
		sock->state = SS_UNCONNECTED;
		smc_tcp_wake(sk);
		rc = 0;
	}
	release_sock(sk);
	return rc;
}

static int smc_shutdown_tcp(struct socket *sock, int how)
{
	struct smc_listener *listener = how == SHUT_WR ? NULL : smc_listener_of(sock->sk);
	int rc;

	if (listener)
		smc_listener_stop_begin(listener);
	rc = smc_tcp_ops(sock->sk)->shutdown(sock, how);
	if (listener)
		smc_listener_stop_end(listener);
	return rc;
}

/* SHUT_RD, SHUT_WR and SHUT_RDWR are 0, 1 and 2: plus 1 they are *_SHUTDOWN bits. */
static u8 smc_shutdown_bits(int how)
{
	return how + 1;
}

/*
 * Looks again, under the lock, at a socket that TCP is to shut down. If the socket is not
 * connected, sets the flags that TCP is about to set, so that the next connection is TCP's
 * (smc_must_be_tcp()).
 * Return: false if another thread has begun a connect() since the caller looked.
 */
static bool smc_begin_tcp_shutdown(struct sock *sk, int how)
{
	bool is_tcps;

	lock_sock(sk);
	is_tcps = !smc_is_in_use(sk);
	if (is_tcps && sk->sk_state == TCP_CLOSE)
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | smc_shutdown_bits(how));
	release_sock(sk);
	return is_tcps;
}

/* Called with the socket locked. */
static int smc_shutdown_stream(struct socket *sock, struct smc_stream *st, int how)
{
	struct sock *sk = sock->sk;
	/* TCP's reset alone does not end a stream whose last message is still on its way. */
	bool is_down = smc_stream_has_failed(st) ||
		       (sk->sk_state == TCP_CLOSE && smc_stream_is_closed(st));

	/* Another thread has disconnected the socket. */
	if (smc_stream_of(sk) != st)
		return -ENOTCONN;
	/* As with TCP, this call completes a non-blocking connect(). */
	if (sock->state == SS_CONNECTING)
		sock->state = is_down ? SS_DISCONNECTING : SS_CONNECTED;
	if (is_down)
		return -ENOTCONN;
	smc_stream_shutdown(st, smc_shutdown_bits(how));
	smc_tcp_close(sk, st);
	return 0;
}

static int smc_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	struct smc_stream *st;
	struct smc_sock *smc;
	int rc;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	do {
		smc = smc_sk(sk);
		if (smc && smc_is_connecting(smc) && !smc_shutdown_connecting(smc, sock))
			return 0;
		st = smc_stream_of(sk);
		if (!st && smc_begin_tcp_shutdown(sk, how))
			return smc_shutdown_tcp(sock, how);
	} while (!st);
	lock_sock(sk);
	rc = smc_shutdown_stream(sock, st, how);
	release_sock(sk);
	return rc;
}

/* If the stream has failed, TCP's connection, which still holds its port, is reset first. */
static int smc_bind(struct socket *sock, struct sockaddr *addr, int len)
{
	struct sock *sk = sock->sk;
	const struct smc_stream *st = smc_stream_of(sk);

	if (st && smc_stream_has_failed(st)) {
		lock_sock(sk);
		smc_end_transfer(sk, st);
	} else if (st && READ_ONCE(sk->sk_state) == TCP_CLOSE && !smc_stream_is_closed(st)) {
		/* TCP was reset, but the last message of the stream is still on its way. */
		return -EINVAL;
	}
	return smc_tcp_ops(sk)->bind(sock, addr, len);
}

/* Called with the socket locked. Return: 0, also if the listener will be TCP's; or -errno. */
static int smc_listen_begin(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc = smc_sock_find(sk);

	if (smc && smc_is_connecting(smc))
		return -EINVAL;
	/*
	 * Answer by TCP's present state: another thread may change the state before TCP itself
	 * looks at it.
	 */
	if (sk->sk_state != TCP_CLOSE || sock->state != SS_UNCONNECTED)
		return sk->sk_state == TCP_LISTEN ? 0 : -EINVAL;
	/* End what is left of an earlier connection: the listener's children would inherit it. */
	if (smc && smc->mode != SMC_MODE_LISTEN)
		smc_sock_leave_smc(smc);
	if ((smc && (smc->tcp_only || smc->tcp_setsockopts || smc->listener)) ||
	    smc_must_be_tcp(sk) || smc_sock_has_other_user(sk) ||
	    !smc_children_are_unhooked(sk))
		return 0;
	smc = smc ?: smc_sock_create(sk, SMC_SERVER);
	return smc ? smc_listen_prepare(smc) : -ENOMEM;
}

static int smc_listen(struct socket *sock, int backlog)
{
	struct smc_listener *listener = smc_listener_of(sock->sk);
	struct sock *sk = sock->sk;
	int rc;

	/* After a tcp_abort() of the listener, first reset the connections that waited in it. */
	if (listener && READ_ONCE(sk->sk_state) != TCP_LISTEN) {
		smc_listener_stop_begin(listener);
		smc_listener_stop_end(listener);
	}
	lock_sock(sk);
	smc_family_to_tcp(sk);
	rc = smc_listen_begin(sock);
	release_sock(sk);
	if (rc)
		return rc;

	rc = smc_tcp_ops(sk)->listen(sock, backlog);
	listener = smc_listener_of(sock->sk);
	/* If the backlog has grown, the work may take more connections now. */
	if (!rc && listener)
		smc_listener_kick(listener);
	return rc;
}

/*
 * Accepts by TCP. If the connection has a struct smc_sock, a listener owns both, and will free the
 * struct. @newsock must not get such a connection, because the release of @newsock would free the
 * struct, too. So reset the connection. TCP may have moved such a connection here from another
 * listener. Or SMC's listener of @sock took the connection, and since then another part of the
 * kernel has taken over @sock. A connection without a struct smc_sock never gets one: the
 * connection has left the accept queue, so no listener finds it any more.
 */
static int smc_accept_tcp(struct socket *sock, struct socket *newsock, SMC_ACCEPT_ARGS)
{
	const struct proto_ops *tcp = smc_tcp_ops(sock->sk);
	int rc;

	for (;;) {
		rc = tcp->accept(sock, newsock, SMC_ACCEPT_PASS);
		if (rc || !smc_sock_find(newsock->sk))
			return rc;
		sock_no_linger(newsock->sk);
		tcp->release(newsock);
	}
}

static int smc_accept(struct socket *sock, struct socket *newsock, SMC_ACCEPT_ARGS)
{
	/* Read the state first: listen() hooks the socket before TCP listens. */
	bool listens = smp_load_acquire(&sock->sk->sk_state) == TCP_LISTEN;
	struct smc_listener *listener = smc_listener_of(sock->sk);
	int rc;

	/*
	 * Return TCP's error here. If another thread's listen() came before TCP's accept(), TCP
	 * would take connections that are to go through the new listener.
	 */
	if (!listener && !listens)
		return -EINVAL;
	if (!listener)
		return smc_accept_tcp(sock, newsock, SMC_ACCEPT_PASS);
	rc = smc_listener_accept(listener, newsock, SMC_ACCEPT_FLAGS);
	if (!rc)
		SMC_ACCEPT_REPORT(smc_accept_queue_is_empty(sock->sk));
	return rc;
}

static ssize_t smc_splice_read(struct socket *sock, loff_t *ppos, struct pipe_inode_info *pipe,
			       size_t len, unsigned int flags)
{
	struct sock *sk = sock->sk;
	/* As with TCP, SPLICE_F_NONBLOCK applies to the pipe only. */
	long timeo = sock_rcvtimeo(sk, sock->file->f_flags & O_NONBLOCK);
	struct smc_stream *st;
	ssize_t rc;

	st = smc_stream_of(sk) ?: smc_await_read_stream(sock, timeo, 0);
	if (IS_ERR(st))
		return PTR_ERR(st);
	if (!st)
		return smc_tcp_ops(sk)->splice_read(sock, ppos, pipe, len, flags);
	smc_stat_call(st->stats, SMC_STAT_SPLICE);
	lock_sock(sk);
	rc = smc_stream_splice(st, pipe, len, timeo);
	smc_end_transfer(sk, st);
	return rc;
}

/* sendfile() sends even the end of the file with MSG_MORE: publish what the flag held back. */
static void smc_splice_eof(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct smc_stream *st = smc_stream_of(sk);

	if (!st)
		smc_tcp_splice_eof(smc_tcp_ops(sk), sock);
	else if (!smc_tcp_is_corked(sk))
		smc_stream_uncork(st);
}

/* Applies an option to the socket's stream, after TCP has set the option. */
static void smc_stream_apply_option(struct smc_stream *st, int optname)
{
	switch (optname) {
	case TCP_NODELAY:
	case TCP_CORK:
		/* Send bytes that TCP_CORK or MSG_MORE held back, unless TCP_CORK still holds. */
		if (!smc_tcp_is_corked(st->sk))
			smc_stream_uncork(st);
		break;
	case TCP_NOTSENT_LOWAT:
		smc_stream_notify_writers(st);
		break;
	case TCP_USER_TIMEOUT:
		smc_stream_set_user_timeout(st);
		break;
	}
}

static int smc_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
			  unsigned int optlen)
{
	struct sock *sk = sock->sk;
	struct smc_stream *st;
	int rc;

	if (level == SOL_SMC)
		return smc_setsockopt_smc(sk, optname, optval, optlen);
	rc = smc_option_begin(sk, level, optname);
	if (rc)
		return rc;
	rc = smc_tcp_ops(sk)->setsockopt(sock, level, optname, optval, optlen);
	smc_option_end(sk, level, optname);
	st = smc_stream_of(sk);
	if (!rc && st && level == SOL_TCP)
		smc_stream_apply_option(st, optname);
	return rc;
}

static int smc_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
			  int __user *optlen)
{
	const struct smc_sock *smc;
	int rc;

	if (level == SOL_SMC)
		return smc_getsockopt_smc(sock->sk, optname, optval, optlen);
	if (level == SOL_TCP && optname == TCP_ZEROCOPY_RECEIVE &&
	    (smc_stream_of(sock->sk) || smc_sk_is_connecting(sock->sk)))
		return -EOPNOTSUPP;
	rc = smc_tcp_ops(sock->sk)->getsockopt(sock, level, optname, optval, optlen);
	if (rc || level != SOL_TCP || optname != TCP_INFO)
		return rc;
	/* Look up SMC's state only once: another thread may leave the socket to TCP. */
	smc = smc_sk(sock->sk);
	if (!smc || smc_mode(smc) != SMC_MODE_STREAM)
		return 0;
	return smc_tcp_close_info(smc, optval, optlen);
}

/*
 * Creates a struct socket that is to get the sock of @sock, which the application closes. So
 * close() can return before the connection ends. Return: the struct socket, or NULL if that fails.
 */
static struct socket *smc_create_orphan(const struct socket *sock, const struct proto_ops *ops)
{
	const struct sock *sk = sock->sk;
	struct socket *orphan;

	if (sock_create_lite(sk->sk_family, SOCK_STREAM, IPPROTO_TCP, &orphan))
		return NULL;
	orphan->ops = ops;
	/* The release of the orphan drops the reference that sock_create() would have taken. */
	__module_get(ops->owner);
	orphan->state = sock->state;
	/* Keep the sock's owner: sock_graft() sets the sock's owner to that of the inode. */
	SOCK_INODE(orphan)->i_uid = sk->sk_uid;
	return orphan;
}

/* Lets the stream's close go on without the application's socket. Return: false if that fails. */
static bool smc_orphan_connection(struct smc_stream *st, struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct socket *orphan = smc_create_orphan(sock, smc_tcp_ops(sk));

	if (!orphan)
		return false;
	lock_sock(sk);
	sock_graft(sk, orphan);
	smc_tcp_unlock(sk);
	sock->sk = NULL;
	smc_stream_orphan(st, orphan);
	return true;
}

static void smc_abort_connection(struct smc_stream *st, struct sock *sk)
{
	/* Disconnect TCP before the stream ends, see smc_tcp_close_orderly(). */
	lock_sock(sk);
	smc_tcp_disconnect(sk);
	smc_tcp_unlock(sk);
	smc_stream_abort(st, ECONNABORTED);
}

/* Releases TCP's part of a socket, for close() or in a work (smc_release_work()). */
static void smc_tcp_release(const struct smc_sock *smc, struct socket *sock)
{
	const struct proto_ops *tcp = smc_tcp_ops(smc->sk);

	if (smc->is_released)
		smc_tcp_fin_ahead(sock->sk);
	tcp->release(sock);
}

static void smc_orphan_stream(const struct smc_sock *smc, struct socket *sock)
{
	struct smc_stream *st = smc->stream;

	if (!smc_stream_may_be_orphan(st))
		smc_abort_connection(st, sock->sk);
	/* TCP's connection ends only when the peer's host knows of the end of the stream. */
	if (!smc_stream_end_is_delivered(st) && !smc_stream_is_reset(st)) {
		if (smc_orphan_connection(st, sock))
			return;
		smc_abort_connection(st, sock->sk);
	}
	smc_tcp_release(smc, sock);
	smc_stream_orphan(st, NULL);
}

static void smc_close_stream(struct smc_sock *smc, struct socket *sock)
{
	struct smc_stream *st = smc->stream;
	struct sock *sk = smc->sk;
	bool done;

	lock_sock(sk);
	smc_sock_unhook(smc);
	done = smc_tcp_close_orderly(st, sk, sock_flag(sk, SOCK_LINGER) &&
				     !(current->flags & PF_EXITING) ? sk->sk_lingertime : 0);
	smc_tcp_unlock(sk);
	smc_sock_cancel(smc);
	if (!done) {
		smc_orphan_stream(smc, sock);
		return;
	}
	smc_tcp_release(smc, sock);
	smc_stream_put(st);
}

/* Closes a stream whose socket went back to TCP: the stream stayed until this release. */
static void smc_close_old_stream(struct smc_stream *st)
{
	bool is_closed = READ_ONCE(st->tx.end_flags) & SMC_CONN_CLOSED;

	if (smc_stream_close(st, !is_closed, 0)) {
		smc_stream_put(st);
		return;
	}
	if (!smc_stream_may_be_orphan(st))
		smc_stream_abort(st, ECONNABORTED);
	smc_stream_orphan(st, NULL);
}

static void smc_release_work(struct work_struct *work)
{
	sock_release(container_of(work, struct smc_sock, release)->sk->sk_socket);
}

/*
 * Aborts the handshake. If it can't end at once, close() returns, and a work releases the socket
 * after the end of the handshake: a step of the path may wait for the peer for seconds, and the
 * thread that closes may serve others.
 *
 * In three cases close() waits instead:
 * - The handshake has no place in the quota. It then waits for no peer, and the quota would not
 *   limit the number of works.
 * - The socket is the kernel's. It does not hold its namespace, so its close must be complete.
 * - There is no memory for the work.
 *
 * Return: whether the work releases the socket.
 */
static bool smc_postpone_release(struct smc_sock *smc, struct socket *sock)
{
	struct socket *orphan = NULL;
	struct sock *sk = smc->sk;

	lock_sock(sk);
	if (smc_handshake_abort(&smc->hs) && smc->hs.quota.queue && sk->sk_net_refcnt)
		orphan = smc_create_orphan(sock, sock->ops);
	if (orphan) {
		sock_graft(sk, orphan);
		INIT_WORK(&smc->release, smc_release_work);
		smc->is_released = true;
		/* A worker need not linger, because the application has sent nothing. */
		if (sk->sk_lingertime)
			sock_reset_flag(sk, SOCK_LINGER);
		/*
		 * Reset the connection now, as TCP's close() would, and free its port. An aborted
		 * handshake sends and reads nothing more.
		 */
		if (sock_flag(sk, SOCK_LINGER)) {
			sk->sk_userlocks &= ~SOCK_BINDPORT_LOCK;
			smc_tcp_disconnect(sk);
		}
		sock->sk = NULL;
	}
	smc_tcp_unlock(sk);
	return orphan;
}

static int smc_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc;

	if (!sk)
		return 0;
	smc = smc_sock_find(sk);
	/* A connection that a listener owns is released by the listener, see smc_accept_tcp(). */
	if (!smc || WARN_ON_ONCE(READ_ONCE(smc->parent)))
		return smc_tcp_ops(sk)->release(sock);
	if (smc_postpone_release(smc, sock))
		return 0;

	smc_sock_forget(smc);
	if (smc->listener)
		smc_listen_undo(smc, sock);
	smc_handshake_end(&smc->hs);
	if (smc->mode == SMC_MODE_STREAM) {
		smc_close_stream(smc, sock);
	} else {
		lock_sock(sk);
		/*
		 * TCP resets a connection with unread bytes. Late CLC messages must not cause that.
		 */
		if (smc_sk(sk) == smc && smc->mode == SMC_MODE_TCP && !smc->listener)
			smc_sock_drop_late(smc);
		smc_sock_unhook(smc);
		smc_tcp_unlock(sk);
		smc_sock_cancel(smc);
		smc_tcp_release(smc, sock);
		if (smc->stream)
			smc_close_old_stream(smc->stream);
	}
	smc_sock_free(smc);
	return 0;
}

static int smc_set_rcvlowat(struct sock *sk, int value)
{
	int rc = smc_tcp_ops(sk)->set_rcvlowat(sk, value);
	struct smc_stream *st = smc_stream_of(sk);

	/* The stream may have enough bytes now, and TCP looks at its own queue only. */
	if (!rc && st)
		smc_stream_notify_readers(st);
	return rc;
}

/* Whether there is a peer depends on the stream: TCP's connection may end before or after it. */
static int smc_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct smc_stream *st = smc_stream_of(sock->sk);

	if (peer == 1 && (st ? smc_stream_has_failed(st) : smc_sk_is_connecting(sock->sk)))
		return -ENOTCONN;
	/*
	 * Let TCP look up the address with @peer 2, as for accept(): then TCP gives the address in
	 * every state.
	 */
	if (peer == 1 && st && !smc_stream_is_closed(st))
		peer = 2;
	return smc_tcp_ops(sock->sk)->getname(sock, addr, peer);
}

static void smc_ops_derive(struct smc_family_ops *ops, const struct proto_ops *tcp)
{
	ops->smc = *tcp;
	ops->smc.owner = THIS_MODULE;
	ops->smc.release = smc_release;
	ops->smc.bind = smc_bind;
	ops->smc.connect = smc_connect;
	ops->smc.accept = smc_accept;
	ops->smc.poll = smc_poll;
	ops->smc.getname = smc_getname;
	ops->smc.ioctl = smc_ioctl;
	ops->smc.listen = smc_listen;
	ops->smc.shutdown = smc_shutdown;
	ops->smc.setsockopt = smc_setsockopt;
	ops->smc.getsockopt = smc_getsockopt;
	ops->smc.sendmsg = smc_sendmsg;
	ops->smc.recvmsg = smc_recvmsg;
	ops->smc.set_rcvlowat = smc_set_rcvlowat;
	ops->smc.splice_read = smc_splice_read;
	smc_compat_ops(&ops->smc, smc_sendpage, smc_splice_eof);
	ops->tcp = tcp;
}

/* The operations of TCP over IPv6 are not exported, so they are read from a socket. */
static int smc_ops_derive_family(int family, struct smc_family_ops *ops)
{
	struct socket *sock;
	int rc;

	rc = sock_create_kern(&init_net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (rc)
		return rc;
	smc_ops_derive(ops, sock->ops);
	smc_callbacks_init(sock->sk);
	sock_release(sock);
	return 0;
}

int smc_ops_init(void)
{
	int rc = smc_ops_derive_family(AF_INET, &smc_ipv4_ops);

	if (rc)
		return rc;
	rc = smc_ops_derive_family(AF_INET6, &smc_ipv6_ops);
	return rc == -EAFNOSUPPORT ? 0 : rc;
}
