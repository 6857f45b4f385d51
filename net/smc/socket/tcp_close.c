// SPDX-License-Identifier: GPL-2.0
/* Closing the TCP connection below a stream, and what its end means for the stream. */

#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/tcp.h>

#include "admin/net.h"
#include "admin/stats.h"
#include "smc_sock.h"
#include "stream/stream.h"
#include "tcp.h"
#include "tcp_close.h"
#include "workqueue.h"

/* Delay of TCP's reset after the stream failed, so that the program can read SO_ERROR first. */
#define SMC_TCP_CLOSE_DELAY	(HZ / 10)

/* Time for the peer to end the stream after TCP's FIN or reset. */
#define SMC_FIN_WAIT		(5 * HZ)

void smc_tcp_close_failed(struct sock *sk)
{
	int err;

	sock_owned_by_me(sk);
	if (sk->sk_state == TCP_CLOSE)
		return;
	/* Pairs with smc_stream_fail(), which sets sk_err before it marks the stream as failed. */
	smp_acquire__after_ctrl_dep();
	err = READ_ONCE(sk->sk_err);
	smc_tcp_reset(sk);
	/*
	 * TCP's reset may have changed sk_err. Restore the stream's error, or 0 if the program has
	 * read the error. getsockopt(SO_ERROR) takes sk_err without the lock. So a call between
	 * these lines may return TCP's error, and a later call the stream's error a second time.
	 */
	WRITE_ONCE(sk->sk_err, err);
}

void smc_tcp_close(struct sock *sk, const struct smc_stream *st)
{
	bool is_ended = smc_stream_end_is_delivered(st) || smc_stream_both_sent_final(st) ||
			smc_stream_is_over(st);

	sock_owned_by_me(sk);
	if (!is_ended || smc_stream_is_reset(st) || !READ_ONCE(st->tx.end_flags) ||
	    (sk->sk_shutdown & SEND_SHUTDOWN))
		return;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	smc_tcp_charge_ahead(sk, 0);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
}

void smc_tcp_close_by_work(struct smc_sock *smc)
{
	sock_owned_by_me(smc->sk);
	if (smc->mode != SMC_MODE_STREAM)
		return;
	if (smc_stream_has_failed(smc->stream))
		smc_tcp_close_failed(smc->sk);
	else
		smc_tcp_close(smc->sk, smc->stream);
}

/*
 * A call that reports the stream's failure also resets the TCP connection. If no such call comes
 * soon, the work resets the connection. Before accept() the work resets nothing: it only ends the
 * deferral of the connection (TCP_DEFER_ACCEPT), so it runs at once.
 */
static unsigned long smc_tcp_close_delay(const struct smc_sock *smc)
{
	return !READ_ONCE(smc->parent) && smc_stream_has_failed(smc->stream) ? SMC_TCP_CLOSE_DELAY :
									       0;
}

void smc_tcp_close_later(struct sock *sk)
{
	struct smc_sock *smc;

	/*
	 * The release of the socket unhooks it under this lock, and then cancels the work. So no
	 * work is queued after the release has cancelled it.
	 */
	read_lock_bh(&sk->sk_callback_lock);
	smc = smc_sk(sk);
	/* Until accept() a connection needs no work, unless it is deferred until it has data. */
	if (smc && READ_ONCE(smc->mode) == SMC_MODE_STREAM &&
	    (!READ_ONCE(smc->parent) || READ_ONCE(smc->is_deferred)))
		smc_sock_queue_later(smc, smc_tcp_close_delay(smc));
	read_unlock_bh(&sk->sk_callback_lock);
}

void smc_tcp_close_begin(struct smc_sock *smc)
{
	sock_owned_by_me(smc->sk);
	if (smc->mode == SMC_MODE_STREAM && smc_stream_has_failed(smc->stream))
		smc_tcp_close_later(smc->sk);
}

void smc_sock_check_tcp(struct smc_sock *smc)
{
	sock_owned_by_me(smc->sk);
	/* Any bytes, perhaps a late DECLINE, show that the peer uses TCP on this connection. */
	if (tcp_inq(smc->sk) <= 0)
		return;
	smc_stat_violation(smc_net(sock_net(smc->sk)), SMC_VIOLATION_CLC);
	smc_stream_abort(smc->stream, ECONNRESET);
}

void smc_sock_check_fin(struct work_struct *work)
{
	struct smc_sock *smc = container_of(to_delayed_work(work), struct smc_sock, fin);
	struct smc_stream *st = smc->stream;

	if (!(READ_ONCE(st->rx.conn_flags) & READ_ONCE(smc->awaited_end)))
		smc_stream_abort(st, ECONNRESET);
}

/*
 * Queues a work that aborts the stream unless the peer sends one of the flags @end (SMC_CONN_*)
 * within the time SMC_FIN_WAIT. The caller passes fewer flags after a reset than after a FIN. If a
 * reset follows a FIN, the time is not extended, and a flag counts only if both calls passed it.
 */
static void smc_sock_await_end(struct smc_sock *smc, u8 end)
{
	if (READ_ONCE(smc->stream->rx.conn_flags) & end)
		return;
	WRITE_ONCE(smc->awaited_end, end & (smc->awaited_end ? : SMC_CONN_FLAGS));
	queue_delayed_work(smc_wq, &smc->fin, SMC_FIN_WAIT);
}

/*
 * Handles the break of TCP's connection. If the peer reset TCP, its last bytes and the end of its
 * stream may still be on their way. If the stream had failed before, TCP's error is dropped: sk_err
 * becomes the stream's error again. But if a call that transfers data has returned this error,
 * sk_err becomes 0. A getsockopt(SO_ERROR) that has returned the error leaves no record, so the
 * error may be reported twice.
 */
static void smc_sock_tcp_failed(struct smc_sock *smc, int err)
{
	struct smc_stream *st = smc->stream;
	struct sock *sk = smc->sk;

	if (smc_stream_has_failed(st)) {
		WRITE_ONCE(sk->sk_err, READ_ONCE(st->is_err_told) ? 0 : st->err);
	} else if (smc_stream_is_closed(st)) {
		/* A plain TCP connection has no errors once both ends have closed it. */
		WRITE_ONCE(sk->sk_err, 0);
	} else if (!READ_ONCE(st->rx.conn_flags) && (err == ECONNRESET || err == EPIPE)) {
		WRITE_ONCE(sk->sk_err, 0);
		/*
		 * A peer that has only shut down writing still needs TCP: wait for a flag other
		 * than SMC_CONN_DONE_WRITING.
		 */
		smc_sock_await_end(smc, SMC_CONN_FINAL);
	} else {
		smc_stream_abort(st, err);
	}
}

/*
 * Whether TCP's connection is closed because both ends closed it. TCP has then seen a FIN, and ends
 * without an error. @err may still be that of an earlier ICMP message (IP_RECVERR) if the
 * application has not read it.
 */
static bool smc_sock_tcp_is_over(const struct smc_sock *smc, int err)
{
	const struct smc_stream *st = smc->stream;

	if (!sock_flag(smc->sk, SOCK_DONE) || err == ECONNRESET || err == EPIPE ||
	    err == ETIMEDOUT)
		return false;
	return !err || (smc_stream_end_is_delivered(st) && READ_ONCE(st->rx.conn_flags));
}

void smc_sock_tcp_changed(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;
	int err = READ_ONCE(sk->sk_err);

	sock_owned_by_me(sk);
	if (sk->sk_state == TCP_CLOSE && !smc_sock_tcp_is_over(smc, err))
		smc_sock_tcp_failed(smc, err ? : ECONNRESET);
	else if (sk->sk_shutdown & RCV_SHUTDOWN)
		smc_sock_await_end(smc, SMC_CONN_FLAGS);
}

bool smc_tcp_close_orderly(struct smc_stream *st, struct sock *sk, long linger)
{
	bool by_reset = smc_stream_closes_by_reset(st);
	bool done;

	sock_owned_by_me(sk);
	/*
	 * Disconnect TCP before the stream closes: otherwise TCP would report its reset as another
	 * error.
	 */
	if (by_reset || smc_stream_has_failed(st))
		smc_tcp_disconnect(sk);
	done = smc_stream_close(st, by_reset, linger);
	/* The stream may also fail while it lingers. */
	if (smc_stream_has_failed(st) && sk->sk_state != TCP_CLOSE)
		smc_tcp_disconnect(sk);
	smc_tcp_close(sk, st);
	/* TCP need not linger, because the stream has. */
	sock_reset_flag(sk, SOCK_LINGER);
	return done;
}

/*
 * Return: the state that TCP_INFO shows for a stream. A TCP connection would be in this state if it
 * had carried the stream's bytes itself. @state is that of the TCP connection below the stream.
 */
static u8 smc_tcp_close_state(const struct smc_stream *st, u8 state)
{
	/* SMC_CONN_ABORT may be the kernel's own answer, not an end by the application. */
	bool is_sent = READ_ONCE(st->tx.end_flags) & ~SMC_CONN_ABORT;
	bool is_received = READ_ONCE(st->rx.conn_flags);

	if (smc_stream_has_failed(st))
		return TCP_CLOSE;
	switch (state) {
	case TCP_ESTABLISHED:
		if (is_received)
			return is_sent ? TCP_CLOSING : TCP_CLOSE_WAIT;
		return is_sent ? TCP_FIN_WAIT1 : TCP_ESTABLISHED;
	case TCP_CLOSE_WAIT:
		return is_sent ? TCP_LAST_ACK : TCP_CLOSE_WAIT;
	case TCP_FIN_WAIT1:
		return is_received ? TCP_CLOSING : TCP_FIN_WAIT1;
	case TCP_FIN_WAIT2:
		/* TCP reports a socket as closed while its connection is in TIME_WAIT. */
		return is_received ? TCP_CLOSE : TCP_FIN_WAIT2;
	case TCP_CLOSE:
		/*
		 * If both ends have shut down the stream, it is closed. If not, TCP was reset, and
		 * the stream's end is still on its way. No call reports the reset yet, so show the
		 * state that follows from the stream's flags.
		 */
		if (is_received)
			return is_sent ? TCP_CLOSE : TCP_CLOSE_WAIT;
		return is_sent ? TCP_FIN_WAIT2 : TCP_ESTABLISHED;
	default:
		return state;
	}
}

/* Counts bytes as TCP does: a client's acknowledged SYN and each FIN count as a byte. */
static void smc_tcp_close_count(const struct smc_sock *smc, struct tcp_info *info)
{
	const struct smc_stream *st = smc->stream;

	info->tcpi_bytes_acked = READ_ONCE(st->tx.delivered);
	info->tcpi_bytes_sent = READ_ONCE(st->tx.sent);
	info->tcpi_notsent_bytes = smc_tx_unsent(&st->tx);
	info->tcpi_bytes_received = READ_ONCE(st->rx.received);

	info->tcpi_bytes_acked += smc->role == SMC_CLIENT;
	if ((READ_ONCE(st->tx.end_flags) & ~SMC_CONN_ABORT) && smc_stream_end_is_delivered(st))
		info->tcpi_bytes_acked++;
	if (smc_stream_peer_has_ended(st))
		info->tcpi_bytes_received++;
}

int smc_tcp_close_info(const struct smc_sock *smc, char __user *optval, const int __user *optlen)
{
	struct tcp_info info = {};
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	len = min_t(int, len, sizeof(info));
	if (len <= 0)
		return 0;
	if (copy_from_user(&info, optval, len))
		return -EFAULT;
	info.tcpi_state = smc_tcp_close_state(smc->stream, info.tcpi_state);
	smc_tcp_close_count(smc, &info);
	return copy_to_user(optval, &info, len) ? -EFAULT : 0;
}
