// SPDX-License-Identifier: GPL-2.0
/* connect(): runs TCP's handshake, then SMC's, then returns. */

#include <net/inet_common.h>
#include <net/tcp.h>

#include "admin/blackhole.h"
#include "admin/net.h"
#include "connect.h"
#include "family.h"
#include "listener.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "tcp.h"
#include "tcp_close.h"
#include "wire/clc.h"

/*
 * TCP first retransmits the SYN after TCP_TIMEOUT_INIT, and the timer first expires before that.
 * With net.ipv4.tcp_syn_retries = 1 the retransmitted SYN is the last, so it must not have the
 * option.
 */
#define SMC_SYN_FIRST_TIMER	(3 * TCP_TIMEOUT_INIT / 4)
#define SMC_SYN_TIMER		(TCP_TIMEOUT_INIT / 2)

int smc_wait_connected(struct smc_sock *smc, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = smc->sk;
	int rc = 0;

	if (!smc_is_connecting(smc))
		return 0;
	add_wait_queue(sk_sleep(sk), &wait);
	while (smc_is_connecting(smc)) {
		rc = -EAGAIN;
		if (!timeo)
			break;
		rc = sock_intr_errno(timeo);
		if (signal_pending(current))
			break;
		rc = 0;
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return rc;
}

/* Called under bh_lock_sock(). Return: the jiffies until the next call; 0 for none. */
static unsigned long smc_connect_check_syn(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;

	/*
	 * Look again only in TCP_CLOSE, in which no SYN was sent yet, and in TCP_SYN_SENT. When
	 * TCP_SYN_SENT ends, the timer is no longer needed.
	 */
	if (smc->mode != SMC_MODE_CONNECTING ||
	    !((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_SYN_SENT)))
		return 0;
	if (sock_owned_by_user(sk))
		return HZ / 20;
	if (sk->sk_state == TCP_CLOSE || !smc_tcp_syn_is_lost(sk))
		return SMC_SYN_TIMER;
	/* Remove the option: a middlebox may drop SYNs because of it, without a reply. */
	smc->option_removed = true;
	smc->retrans_with = smc_tcp_retransmits(sk);
	smc_tcp_set_offer(sk, false);
	return 0;
}

void smc_connect_timer(struct timer_list *timer)
{
	smc_sock_timer(container_of(timer, struct smc_sock, syn), timer, smc_connect_check_syn);
}

static void smc_connect_begin_handshake(struct smc_sock *smc)
{
	WRITE_ONCE(smc->mode, SMC_MODE_HANDSHAKE);
	/* TCP delays no acknowledgements after that of the SYN-ACK, whatever TCP_QUICKACK was. */
	smc_handshake_start(&smc->hs, SMC_CLIENT, 0);
	if (!READ_ONCE(smc->local_listener))
		smc_handshake_queue(&smc->hs);
	else if (smc_peer_in_net(smc->sk))
		/*
		 * Acknowledge the SYN-ACK at once: only this ACK creates the server's end, which
		 * connect() is to take from the listener's queue.
		 */
		smc_tcp_set_delayed_ack(smc->sk, false);
}

/*
 * Whether the peer waits for a PROPOSAL. If a server's SYN-ACK has the SMC option, the server got
 * the option in one of the SYNs, even if the last SYN left it out. But if both ends connect to each
 * other, their SYNs may cross. Then the option came in the peer's own SYN, and the peer may have
 * got only SYNs without the option. If the SYN-ACK is the first segment received, no SYNs crossed.
 */
static bool smc_connect_peer_awaits(const struct smc_sock *smc)
{
	const struct sock *sk = smc->sk;

	return smc_tcp_is_offered(sk) &&
	       (smc_tcp_offers(sk) || (smc->option_removed && smc_tcp_segments_in(sk) == 1));
}

/*
 * Whether a SYN without the option was sent. The timer only removes the option; TCP sends the next
 * SYN some time later.
 */
static bool smc_connect_sent_plain_syn(const struct smc_sock *smc)
{
	return smc->option_removed && smc_tcp_retransmits(smc->sk) != smc->retrans_with;
}

/*
 * Falls back, because TCP is connected and the peer does not offer SMC. If the server answered only
 * a SYN without the option, a blackhole entry is made for the server.
 */
static void smc_connect_no_option(struct smc_sock *smc)
{
	if (!smc_connect_sent_plain_syn(smc)) {
		smc_sock_fall_back(smc, SMC_DIAG_PEER_NO_SMC);
		return;
	}
	smc_blackhole_note(smc_net(sock_net(smc->sk)), &smc->hs.blackhole_key,
			   SMC_BLACKHOLE_SYN_LOST);
	smc_sock_fall_back(smc, SMC_DIAG_BLACKHOLE);
}

void smc_connect_tcp_done(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;

	sock_owned_by_me(sk);
	if ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV))
		return;
	timer_delete(&smc->syn);
	if (sk->sk_state == TCP_CLOSE || READ_ONCE(smc->hs.aborted))
		smc_sock_unhook(smc);
	else if (smc_connect_peer_awaits(smc))
		smc_connect_begin_handshake(smc);
	else
		smc_connect_no_option(smc);
}

void smc_connect_forget_listener(struct sock *sk)
{
	struct smc_sock *smc = smc_sock_find(sk);

	sock_owned_by_me(sk);
	/* The socket listened, or tried to. Keep the listener: an accept() may still use it. */
	if (smc && smc->mode == SMC_MODE_LISTEN && sk->sk_state == TCP_CLOSE) {
		smc->tcp_only = true;
		smc_listener_unhook(smc->listener);
	}
}

/*
 * Resets @local_listener for a new connect(). If another thread undid an earlier connect(), the
 * field may still have a listener. The other end of the earlier connection is in that listener's
 * queue, so have the listener's work take that end.
 */
static void smc_connect_forget_local(struct smc_sock *smc)
{
	struct smc_listener *l = xchg(&smc->local_listener, SMC_LISTENER_UNKNOWN);

	if (IS_ERR_OR_NULL(l))
		return;
	smc_listener_kick(l);
	smc_listener_unref(l);
}

/*
 * Prepares a socket to offer SMC in its SYN, unless its state, an option, a quota or a blackhole
 * entry forbids that.
 */
static void smc_connect_prepare(struct socket *sock, const struct sockaddr *addr, int len)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc = smc_sock_find(sk);
	u32 reason = 0;

	smc_connect_forget_listener(sk);
	if (sock->state != SS_UNCONNECTED || sk->sk_state != TCP_CLOSE ||
	    (smc && (smc->tcp_only || smc->tcp_setsockopts || smc->stream ||
		     smc->mode != SMC_MODE_TCP)) ||
	    smc_sock_has_other_user(sk))
		return;
	smc = smc ?: smc_sock_create(sk, SMC_CLIENT);
	if (!smc)
		return;
	/* An option or an earlier listen() may have created the state, with the server's role. */
	smc->role = SMC_CLIENT;
	smc_handshake_reset(&smc->hs);
	smc_blackhole_key_server(&smc->hs.blackhole_key, sk->sk_uid, addr, len);
	if (smc_client_must_be_tcp(sk))
		reason = SMC_DIAG_SOCKET_OPTION;
	else if (smc_quota_congested(sock_net(sk), sk->sk_uid, smc->limit_handshakes))
		reason = SMC_DIAG_NO_MEMORY;
	else if (smc_blackhole_has(smc_net(sock_net(sk)), &smc->hs.blackhole_key))
		reason = SMC_DIAG_BLACKHOLE;
	if (reason) {
		smc_sock_fall_back(smc, reason);
		return;
	}
	smc->reason = 0;
	smc->option_removed = false;
	smc_connect_forget_local(smc);
	smc_tcp_set_offer(sk, true);
	smc_sock_hook(smc, SMC_MODE_CONNECTING);
	if (smc_blackhole_is_on(smc_net(sock_net(sk))))
		mod_timer(&smc->syn, jiffies + SMC_SYN_FIRST_TIMER);
}

/* Locks the socket, and ends an SMC handshake that is under way. */
static void smc_connect_lock(struct sock *sk)
{
	struct smc_sock *smc;

	lock_sock(sk);
	smc = smc_sk(sk);
	if (!smc)
		return;
	release_sock(sk);
	smc_handshake_stop(&smc->hs);
}

/*
 * Disconnects a locked socket: first SMC's part, then TCP's. The lock is held over both, so no
 * connect() of another thread comes between them. Other calls may still use the stream, so it stays
 * until release. After this function the socket is TCP's, unless it has listened: then it keeps its
 * listener, and SMC_MODE_LISTEN.
 */
static int smc_disconnect(struct socket *sock, struct sockaddr *addr, int len, int flags)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc = smc_sk(sk);
	bool by_reset = true;
	int err = 0;
	int rc;

	if (smc && smc->mode == SMC_MODE_STREAM) {
		/* If a FIN is due, send it before TCP forgets the connection. */
		smc_tcp_close(sk, smc->stream);
		by_reset = smc_stream_disconnect(smc->stream, &err);
	}
	if (smc && smc->mode != SMC_MODE_LISTEN)
		smc_sock_unhook(smc);
	/* As in TCP's own connect(), the socket is locked during this call. */
	rc = __inet_stream_connect(sock, addr, len, flags, 0);
	/*
	 * As with TCP, sk_err keeps an error that no call has reported, unless the stream ends by
	 * a reset.
	 */
	if (!by_reset && !rc)
		WRITE_ONCE(sk->sk_err, err);
	return rc;
}

/* Handles connect() to AF_UNSPEC, which disconnects the socket or makes it stop listening. */
static int smc_connect_unspec(struct socket *sock, struct sockaddr *addr, int len, int flags)
{
	struct sock *sk = sock->sk;
	struct smc_listener *listener = smc_listener_of(sk);
	struct smc_listener *before;
	int rc;

	for (;;) {
		if (listener)
			smc_listener_stop_begin(listener);
		smc_connect_lock(sk);
		before = listener;
		listener = smc_listener_of(sk);
		if (listener == before)
			break;
		/* Another thread has called listen() or connect() meanwhile. */
		release_sock(sk);
		if (before)
			smc_listener_stop_end(before);
	}
	rc = smc_disconnect(sock, addr, len, flags);
	release_sock(sk);
	if (listener)
		smc_listener_stop_end(listener);
	return rc;
}

/*
 * Leaves SMC after a failed connect(), so that the next connect() starts anew. Either TCP refused
 * to begin, which no callback reports, or connect() returned the error of a connection that failed.
 */
static void smc_connect_undo(struct smc_sock *smc, const struct socket *sock)
{
	struct sock *sk = smc->sk;

	lock_sock(sk);
	if (sk->sk_state == TCP_CLOSE && sock->state == SS_UNCONNECTED &&
	    (smc->mode == SMC_MODE_CONNECTING || smc->mode == SMC_MODE_STREAM ||
	     smc->mode == SMC_MODE_TCP)) {
		smc_sock_leave_smc(smc);
		/* Other threads may have begun to wait for the connection. */
		smc_tcp_wake(sk);
	}
	release_sock(sk);
}

/*
 * Return: the result of connect() once SMC's handshake is over. After a failure the socket is in
 * the state in which TCP's connect() leaves it.
 */
static int smc_connect_result(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc;
	int rc = 0;

	lock_sock(sk);
	smc = smc_sk(sk);
	/* A stream reports its end itself, whatever the state of TCP's connection. */
	if (sk->sk_state == TCP_CLOSE && !(smc && smc->mode == SMC_MODE_STREAM)) {
		rc = sock_error(sk) ? : -ECONNABORTED;
		smc_tcp_disconnect(sk);
		sock->state = SS_UNCONNECTED;
	}
	release_sock(sk);
	return rc;
}

/* Marks the socket as still connecting: TCP is connected, but SMC's handshake goes on. */
static void smc_connect_suspend(struct socket *sock)
{
	lock_sock(sock->sk);
	if (sock->state == SS_CONNECTED)
		sock->state = SS_CONNECTING;
	release_sock(sock->sk);
}

static struct smc_sock *smc_connect_take_peer(const struct smc_sock *smc, struct smc_listener *l)
{
	struct sock *sk = smc_local_peer_find(smc->sk);
	struct smc_sock *child;

	if (!sk)
		return NULL;
	child = smc_listener_take_this(l, sk);
	sock_put(sk);
	return child;
}

/*
 * Takes the other end from TCP's queue in place of @l's work. If the caller is to run @smc's
 * handshake (@is_own), this function tries to let both ends agree on a stream without a message. If
 * they agree, this function also concludes the handshake of the other end. Closing the listener
 * does not wait for this thread: if the listener is closed meanwhile, the thread resets the other
 * end.
 * Return: whether the ends have agreed on a stream; if so, the caller concludes @smc's handshake.
 */
static bool smc_connect_pair(struct smc_sock *smc, struct smc_listener *l, bool is_own)
{
	struct smc_sock *child = smc_connect_take_peer(smc, l);
	bool agreed = false;

	if (child) {
		/* If a program captures packets, send the CLC messages, which it must see. */
		agreed = is_own && child->mode == SMC_MODE_HANDSHAKE &&
			 !smc_local_peer_is_captured(smc->sk) &&
			 smc_handshake_local(&smc->hs, &child->hs);
		if (agreed)
			smc_handshake_run(&child->hs);
		smc_listener_enter(l, child);
	} else {
		smc_listener_kick(l);
	}
	smc_listener_unref(l);
	return agreed;
}

/*
 * Runs SMC's handshake, if TCP is connected. A worker runs the rest of it after a signal, after
 * @timeo, or if the peer has a link or memory to confirm.
 */
static void smc_connect_handshake(struct smc_sock *smc, long timeo)
{
	struct smc_listener *l;
	bool is_own;

	lock_sock(smc->sk);
	l = xchg(&smc->local_listener, NULL);
	is_own = l && smc->mode == SMC_MODE_HANDSHAKE;
	release_sock(smc->sk);
	if (!IS_ERR_OR_NULL(l) && smc_connect_pair(smc, l, is_own))
		smc_handshake_run(&smc->hs);
	else if (is_own)
		smc_handshake_run_for(&smc->hs, timeo);
}

/* Return: how much is left of the time @timeo, which began at @began. Both are in jiffies. */
static long smc_time_left(long timeo, unsigned long began)
{
	return timeo == MAX_SCHEDULE_TIMEOUT ? timeo : max(timeo - (long)(jiffies - began), 0L);
}

/*
 * Prepares the socket for connect(). First waits for the end of an SMC handshake that is under way,
 * because TCP's connect() would return EISCONN. Return: 0 with the socket locked, or -errno.
 */
static int smc_connect_begin(struct socket *sock, const struct sockaddr *addr, int len, long timeo,
			     unsigned long began)
{
	struct sock *sk = sock->sk;
	struct smc_sock *smc;
	int rc;

	for (;;) {
		lock_sock(sk);
		smc_family_to_tcp(sk);
		smc_connect_prepare(sock, addr, len);
		smc = smc_sk(sk);
		if (!smc || smc->mode != SMC_MODE_HANDSHAKE)
			return 0;
		release_sock(sk);
		rc = smc_wait_connected(smc, smc_time_left(timeo, began));
		if (rc)
			return rc == -EAGAIN ? -EALREADY : rc;
	}
}

int smc_connect(struct socket *sock, struct sockaddr *addr, int len, int flags)
{
	struct sock *sk = sock->sk;
	long timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);
	unsigned long began = jiffies;
	struct smc_sock *smc;
	bool already;
	int rc;

	if (len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC)
		return smc_connect_unspec(sock, addr, len, flags);

	rc = smc_connect_begin(sock, addr, len, timeo, began);
	if (rc)
		return rc;
	already = sock->state == SS_CONNECTING;
	smc = smc_sk(sk);
	/*
	 * The socket stays locked after smc_connect_begin(). Otherwise another thread, which has
	 * not prepared SMC, could begin TCP's connection. See smc_sock.local_listener.
	 */
	rc = __inet_stream_connect(sock, addr, len, flags, 0);
	release_sock(sk);
	if (!smc)
		return rc;
	smc_connect_handshake(smc, rc ? 0 : smc_time_left(timeo, began));
	if (rc)
		goto out;

	rc = smc_wait_connected(smc, smc_time_left(timeo, began));
	if (rc) {
		smc_connect_suspend(sock);
		if (rc != -EAGAIN)
			return rc;
		return already ? -EALREADY : -EINPROGRESS;
	}
	rc = smc_connect_result(sock);
out:
	if (rc)
		smc_connect_undo(smc, sock);
	return rc;
}
