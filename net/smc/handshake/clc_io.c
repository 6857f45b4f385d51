// SPDX-License-Identifier: GPL-2.0
/* Sends and receives CLC messages over the TCP connection. Leaves the applications' bytes there. */

#include <linux/net.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "admin/blackhole.h"
#include "admin/identity.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "clc_io.h"
#include "handshake.h"
#include "tcp.h"
#include "trace.h"

#define SMC_CLC_POLL_INTERVAL	(HZ / 20)

/*
 * Whether @bytes bytes have come, or the handshake was aborted, or the TCP connection has failed.
 * The peer's FIN does not count: see smc_clc_has().
 */
static bool smc_clc_has_or_broke(const struct smc_handshake *hs, int bytes)
{
	struct sock *sk = hs->sk;

	return tcp_inq(sk) >= bytes || READ_ONCE(hs->aborted) || sk->sk_state == TCP_CLOSE;
}

static bool smc_clc_saw_fin(const struct smc_handshake *hs)
{
	return READ_ONCE(hs->sk->sk_shutdown) & RCV_SHUTDOWN;
}

static bool smc_clc_has(const struct smc_handshake *hs, int bytes)
{
	return smc_clc_has_or_broke(hs, bytes) || smc_clc_saw_fin(hs);
}

static long smc_clc_sleep(struct smc_handshake *hs, int bytes)
{
	/* TCP does not call data_ready for fewer bytes than the application's SO_RCVLOWAT: poll. */
	long look = clamp((long)(hs->due - jiffies), 1L, (long)SMC_CLC_POLL_INTERVAL);

	if (hs->interruptible)
		return wait_event_interruptible_timeout(hs->wait, smc_clc_has(hs, bytes), look);
	return wait_event_timeout(hs->wait, smc_clc_has(hs, bytes), look);
}

static int smc_clc_wait(struct smc_handshake *hs, int bytes)
{
	long left;

	do {
		left = smc_clc_sleep(hs, bytes);
	} while (!left && time_before(jiffies, hs->due));
	if (left < 0)
		return left;
	if (READ_ONCE(hs->aborted))
		return -EINTR;
	if (tcp_inq(hs->sk) >= bytes)
		return 0;
	return smc_clc_has(hs, bytes) ? -ECONNRESET : -ETIMEDOUT;
}

/*
 * Locks the socket. A handshake holds things that others wait for: references to ports, a worker,
 * a place among the handshakes under way. So if a user keeps the socket locked, the handshake waits
 * no longer than it would for a peer. This function tries the lock at least once.
 * Return: 0; -EINTR when the handshake was aborted; or -ECONNABORTED when the socket is still
 * locked at the time @due.
 */
static int smc_clc_lock(struct smc_handshake *hs, unsigned long due)
{
	for (;;) {
		if (READ_ONCE(hs->aborted))
			return -EINTR;
		if (smc_tcp_trylock(hs->sk))
			return 0;
		if (time_after_eq(jiffies, due))
			return -ECONNABORTED;
		schedule_timeout_uninterruptible(1);
	}
}

static int smc_clc_read(struct smc_handshake *hs, u8 *buf, size_t len)
{
	int rc;

	rc = smc_clc_lock(hs, hs->due);
	if (rc)
		return rc;
	rc = smc_tcp_peek(hs->sk, buf, len);
	if (!rc)
		smc_tcp_drop(hs->sk, len);
	smc_tcp_unlock(hs->sk);
	return rc;
}

void smc_clc_expect(struct smc_handshake *hs)
{
	hs->due = jiffies + SMC_CLC_WAIT;
}

/*
 * Parses the header of the message that comes next. Return: 0; -EAGAIN if the bytes that have come
 * may be the start of a header; -ENOMSG if they are not, so that an application has sent them; or
 * -EPROTO if the header is malformed.
 */
static int smc_clc_parse_start(struct sock *sk, struct smc_clc_header *hdr)
{
	u8 head[SMC_CLC_HEADER_LEN];
	size_t len = min_t(size_t, tcp_inq(sk), sizeof(head));

	/* TCP counts a FIN as a byte for a moment, and smc_clc_wait() looks without the lock. */
	if (!len)
		return -EAGAIN;
	if (smc_tcp_peek(sk, head, len) || !smc_clc_may_begin(head, len))
		return -ENOMSG;
	return len < sizeof(head) ? -EAGAIN : smc_clc_parse_header(head, hdr);
}

static int smc_clc_peek_head(struct smc_handshake *hs, unsigned long due)
{
	int rc;

	if (hs->has_head)
		return 0;
	rc = smc_clc_lock(hs, due);
	if (rc)
		return rc;
	rc = smc_clc_parse_start(hs->sk, &hs->head);
	smc_tcp_unlock(hs->sk);
	hs->has_head = !rc;
	return rc;
}

bool smc_clc_has_message(struct smc_handshake *hs)
{
	return tcp_inq(hs->sk) >= SMC_CLC_HEADER_LEN && !smc_clc_peek_head(hs, jiffies) &&
	       tcp_inq(hs->sk) >= hs->head.length;
}

bool smc_clc_may_come(struct smc_handshake *hs)
{
	int rc;

	if (time_after_eq(jiffies, hs->due) || smc_clc_has(hs, INT_MAX))
		return false;
	if (tcp_inq(hs->sk) <= 0)
		return true;
	rc = smc_clc_peek_head(hs, jiffies);
	if (!rc)
		return tcp_inq(hs->sk) < hs->head.length;
	return rc == -EAGAIN || rc == -ECONNABORTED;
}

/*
 * Waits for the header. Looks at each byte that comes, and does not wait until there are enough for
 * a header: an application without SMC may send fewer, and wait for the answer.
 */
static int smc_clc_await_head(struct smc_handshake *hs)
{
	int seen = 0;
	int rc;

	do {
		rc = smc_clc_wait(hs, seen + 1);
		/* No more came after the start of a header. */
		if (rc == -ETIMEDOUT && seen)
			return -ENOMSG;
		if (rc)
			return rc;
		seen = tcp_inq(hs->sk);
		rc = smc_clc_peek_head(hs, hs->due);
	} while (rc == -EAGAIN);
	return rc;
}

int smc_clc_peek(struct smc_handshake *hs)
{
	int rc = hs->has_head ? 0 : smc_clc_await_head(hs);

	return rc ? : smc_clc_wait(hs, hs->head.length);
}

static void smc_clc_take_decline(struct smc_handshake *hs, const u8 *buf, size_t len)
{
	struct smc_clc_decline decline;

	hs->reason = SMC_DIAG_PEER_DECLINED;
	hs->late = SMC_LATE_NONE;
	if (smc_clc_parse_decline(buf, len, &decline)) {
		smc_stat_violation(smc_net(sock_net(hs->sk)), SMC_VIOLATION_CLC);
		return;
	}
	hs->peer_reason = decline.diagnosis;
	/*
	 * A client that has retired the group sends SMC_DIAG_NO_ACTIVE_LINK. It leaves out the flag
	 * out_of_sync, because the flag would make an in-tree server end the group and all its
	 * connections.
	 */
	hs->out_of_sync = decline.out_of_sync || decline.diagnosis == SMC_DIAG_NO_ACTIVE_LINK;
}

s64 smc_clc_take(struct smc_handshake *hs, u8 *buf)
{
	int rc;

	rc = smc_clc_peek(hs);
	/* An incomplete message violates the protocol. */
	if ((rc == -ETIMEDOUT || rc == -ECONNRESET) && tcp_inq(hs->sk) > 0)
		rc = -EPROTO;
	if (!rc)
		rc = smc_clc_read(hs, buf, hs->head.length);
	if (rc == -ETIMEDOUT) {
		hs->timed_out = true;
		hs->late = SMC_LATE_DROPPED;
		return SMC_DIAG_SYNC;
	}
	if (rc == -EPROTO || rc == -ENOMSG) {
		smc_stat_violation(smc_net(sock_net(hs->sk)), SMC_VIOLATION_CLC);
		return -ECONNRESET;
	}
	if (rc)
		return rc;
	hs->has_head = false;
	trace_smc_clc(hs->sk, false, buf, hs->head.length);
	if (hs->head.type == SMC_CLC_DECLINE)
		smc_clc_take_decline(hs, buf, hs->head.length);
	return 0;
}

int smc_clc_send(struct smc_handshake *hs, const u8 *buf, size_t len)
{
	/* A connection that waits for accept() has no user who could keep it locked. */
	bool may_wait = hs->quota.queue || !hs->sk->sk_socket;
	int rc;

	rc = smc_clc_lock(hs, jiffies + (may_wait ? SMC_CLC_WAIT : 0));
	if (rc == -ECONNABORTED && !may_wait)
		return -EBUSY;
	if (rc)
		return rc;
	rc = smc_tcp_write(hs->sk, buf, len);
	if (!rc)
		trace_smc_clc(hs->sk, true, buf, len);
	smc_tcp_unlock(hs->sk);
	return rc;
}

int smc_clc_ask(struct smc_handshake *hs, const u8 *buf, size_t len)
{
	int rc = smc_clc_send(hs, buf, len);

	if (rc)
		return rc;
	hs->late = SMC_LATE_DROPPED;
	smc_clc_expect(hs);
	return 0;
}

/* Takes a DECLINE whose first byte has come, and waits for the rest of that message. */
static int smc_clc_await_decline(struct smc_handshake *hs, u8 *buf)
{
	s64 rc;

	smc_clc_expect(hs);
	rc = smc_clc_take(hs, buf);
	if (rc < 0 || (!rc && hs->head.type == SMC_CLC_DECLINE))
		return rc;
	smc_stat_violation(smc_net(sock_net(hs->sk)), SMC_VIOLATION_CLC);
	return -ECONNRESET;
}

bool smc_clc_take_early_decline(struct smc_handshake *hs, u8 *buf)
{
	if (!smc_clc_has_message(hs) || hs->head.type != SMC_CLC_DECLINE)
		return false;
	/* The message has come completely. Do not wait for the socket lock, either. */
	hs->due = jiffies;
	return !smc_clc_take(hs, buf);
}

/*
 * Whether a path is to stop waiting for the peer. The waiting thread may have set its task state to
 * sleep before it calls this function, so the function takes no lock.
 */
static bool smc_clc_is_cancelled(const void *arg)
{
	const struct smc_handshake *hs = arg;

	return smc_clc_has_or_broke(hs, 1);
}

/* Whether the peer has closed. A client may do so after it confirmed the link and sent all data. */
static bool smc_clc_has_left(const void *arg)
{
	const struct smc_handshake *hs = arg;

	return smc_clc_saw_fin(hs);
}

struct smc_cancel smc_clc_cancel(struct smc_handshake *hs)
{
	return (struct smc_cancel) {
		.wait	  = &hs->wait,
		.is_over  = smc_clc_is_cancelled,
		.has_left = smc_clc_has_left,
		.arg	  = hs,
	};
}

void smc_clc_defer_decline(struct smc_handshake *hs, u32 reason)
{
	hs->reason = reason;
	hs->late = SMC_LATE_DECLINED;
	/* The application can't have sent yet: its first data or FIN will change this number. */
	hs->written = smc_tcp_written(hs->sk);
}

void smc_handshake_decline_late(struct smc_handshake *hs)
{
	struct smc_clc_decline decline = {
		.version   = hs->late_version,
		.diagnosis = SMC_DIAG_SYNC,
		.os_type   = SMC_OS_LINUX,
	};
	u8 buf[SMC_CLC_DECLINE_MAX_LEN];
	struct sock *sk = hs->sk;
	size_t len;

	sock_owned_by_me(sk);
	if (!hs->late_version)
		return;
	hs->late_version = 0;
	/* The application's data and its FIN both advance TCP's write_seq. */
	if (smc_tcp_written(sk) != hs->written ||
	    !((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)))
		return;
	smc_own_peer_id(sock_net(hs->sk), decline.peer_id);
	len = smc_clc_build_decline(buf, &decline);
	/*
	 * Ignore an error: if the connection has failed, the application's next call reports that.
	 * After a success, move sk_tskey past the DECLINE. SO_TIMESTAMPING counts bytes from
	 * sk_tskey on, and must count only the application's.
	 */
	if (!smc_tcp_write(hs->sk, buf, len))
		atomic_add(len, &sk->sk_tskey);
}

/*
 * Return: the diagnosis for a DECLINE. The code for too many link groups is this module's own:
 * other implementations do not know it, and strangers need not learn that the limit is reached.
 */
static u32 smc_clc_diagnosis_to_send(u32 reason)
{
	return reason == SMC_DIAG_TOO_MANY_GROUPS ? SMC_DIAG_NO_MEMORY : reason;
}

int smc_clc_decline(struct smc_handshake *hs, u8 version, u32 reason, u8 *buf)
{
	struct smc_clc_decline decline = {
		.version     = version,
		/*
		 * This flag says that the ends do not agree about the link group, and makes the
		 * peer end the group. A message that did not come in time does not show that they
		 * disagree: the peer may still know the group. So a timeout does not set the flag.
		 */
		.out_of_sync = (reason == SMC_DIAG_SYNC && !hs->timed_out) ||
			       reason == SMC_DIAG_NO_SERVER_LINK,
		.diagnosis   = smc_clc_diagnosis_to_send(reason),
		.os_type     = SMC_OS_LINUX,
	};

	hs->reason = reason;
	if (hs->agreed && tcp_inq(hs->sk) > 0)
		return smc_clc_await_decline(hs, buf);
	if (smc_clc_take_early_decline(hs, buf))
		return 0;
	/*
	 * The peer may have given up the handshake at the same time. Its DECLINE may be on its way,
	 * or has come but was not taken, because the user keeps the socket locked.
	 */
	hs->late = SMC_LATE_DROPPED;
	smc_own_peer_id(sock_net(hs->sk), decline.peer_id);
	return smc_clc_send(hs, buf, smc_clc_build_decline(buf, &decline));
}

int smc_handshake_refuse(struct smc_handshake *hs)
{
	u8 *buf = kmalloc(SMC_CLC_MAX_LEN, GFP_KERNEL);
	u8 version = SMC_VERSION_2;
	int rc;

	if (!buf)
		return -ENOMEM;
	if (smc_clc_has_message(hs))
		version = min_t(u8, hs->head.version, SMC_VERSION_2);
	/*
	 * The peer's PROPOSAL or DECLINE may still come: with too many handshakes under way no
	 * thread waits for that message. The application can't send before this end's DECLINE has
	 * left, so the peer reads the DECLINE before any bytes of the application.
	 */
	rc = smc_clc_decline(hs, version, SMC_DIAG_NO_MEMORY, buf);
	kfree(buf);
	return rc;
}

/* Notes a CLC message that came too late. The peer speaks SMC, so forget its blackhole entry. */
static void smc_clc_note_late(struct smc_handshake *hs, const struct smc_clc_header *hdr)
{
	hs->late_left = hdr->length;
	/* A client that has declined expects no answer any more. */
	if (hdr->type == SMC_CLC_DECLINE)
		hs->late_version = 0;
	smc_blackhole_forget(smc_net(sock_net(hs->sk)), &hs->blackhole_key);
	if (hs->late != SMC_LATE_DECLINED || hdr->type != SMC_CLC_PROPOSAL)
		return;
	hs->late = SMC_LATE_DROPPED;
	hs->late_version = min_t(u8, hdr->version, SMC_VERSION_2);
}

/* Whether the next byte is one of a late CLC message. Finds the header, which may come in parts. */
static bool smc_clc_is_late(struct smc_handshake *hs)
{
	struct smc_clc_header hdr;
	int rc;

	/* No CLC message has an urgent byte. */
	if (smc_tcp_is_at_urgent(hs->sk))
		hs->late = SMC_LATE_NONE;
	if (hs->late == SMC_LATE_NONE || tcp_inq(hs->sk) <= 0)
		return false;
	if (hs->late_left)
		return true;
	rc = smc_clc_parse_start(hs->sk, &hdr);
	if (!rc)
		smc_clc_note_late(hs, &hdr);
	else if (rc != -EAGAIN)
		hs->late = SMC_LATE_NONE;
	return !rc;
}

bool smc_handshake_drop_late(struct smc_handshake *hs)
{
	struct sock *sk = hs->sk;
	size_t dropped = 1;

	sock_owned_by_me(sk);
	while (dropped && smc_clc_is_late(hs)) {
		dropped = smc_tcp_drop(sk, min_t(size_t, tcp_inq(sk), hs->late_left));
		hs->late_left -= dropped;
	}
	return hs->late != SMC_LATE_NONE;
}
