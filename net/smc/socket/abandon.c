// SPDX-License-Identifier: GPL-2.0
/* The end of connections that no application has seen. */

#include <net/tcp.h>

#include "abandon.h"
#include "smc_sock.h"
#include "stream/stream.h"

/*
 * Frees SMC's state of a connection that no other thread can find any more. The connection's stream
 * is aborted, and ends as an orphan.
 */
static void smc_discard(struct smc_sock *smc)
{
	smc_sock_cancel(smc);
	if (smc->stream) {
		smc_stream_abort(smc->stream, ECONNABORTED);
		smc_stream_orphan(smc->stream, NULL);
	}
	smc_sock_free(smc);
}

void smc_abandon(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;

	smc_handshake_end(&smc->hs);
	lock_sock(sk);
	smc_sock_unhook(smc);
	release_sock(sk);
	/* Forget the connection only after it is unhooked, see the head of smc_sock.h. */
	smc_sock_forget(smc);
	smc_discard(smc);
}

/*
 * Ends the TCP connection below a stream, and unhooks the socket. Called under bh_lock_sock(),
 * while no thread owns the socket lock.
 */
static void smc_end_queued(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;

	/*
	 * Without a stream the connection is TCP's: leave it to the listener that has it now. With
	 * a stream, end the connection. tcp_done() sends no segment: the peer learns of the end
	 * from the stream. Leave a sock that is closed or dead (SOCK_DEAD) already. Leave a sock
	 * that listens, too: an application has accepted the connection, disconnected the socket,
	 * and called listen().
	 */
	if (smc->mode == SMC_MODE_STREAM && !((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN)) &&
	    !sock_flag(sk, SOCK_DEAD)) {
		WRITE_ONCE(sk->sk_err, ECONNABORTED);
		tcp_done(sk);
	}
	smc_sock_unhook(smc);
}

bool smc_abandon_queued(struct smc_sock *smc)
{
	struct sock *sk = smc->sk;
	bool is_owned;

	spin_lock_bh(&sk->sk_lock.slock);
	is_owned = sock_owned_by_user(sk);
	/*
	 * End the connection before SMC forgets it: otherwise another listener accepts it as TCP's.
	 */
	if (!is_owned)
		smc_end_queued(smc);
	spin_unlock_bh(&sk->sk_lock.slock);
	if (is_owned)
		return false;
	smc_sock_forget(smc);
	flush_delayed_work(&smc->hs.work);
	smc_discard(smc);
	return true;
}

void smc_reset_other(struct sock *sk)
{
	sock_no_linger(sk);
	sk->sk_prot->close(sk, 0);
}

void smc_reset_tcp(struct sock *sk)
{
	struct smc_sock *smc = smc_sock_find(sk);

	if (smc)
		smc_abandon(smc);
	smc_reset_other(sk);
}
