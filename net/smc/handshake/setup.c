// SPDX-License-Identifier: GPL-2.0
/* Makes, describes and ends a setup, on any path. */

#include <linux/slab.h>
#include <net/dst.h>
#include <net/sock.h>

#include "admin/identity.h"
#include "admin/net.h"
#include "admin/stats.h"
#include "clc_io.h"
#include "handshake.h"
#include "setup.h"
#include "stream/stream.h"
#include "tcp.h"

struct smc_path_setup *smc_setup_new(const struct smc_path_type *type, struct smc_handshake *hs)
{
	struct smc_path_setup *s = kzalloc(type->setup_size, GFP_KERNEL);
	const struct sock *sk = hs->sk;

	if (!s)
		return NULL;
	s->type = type;
	s->net = sock_net(sk);
	s->saddr = smc_tcp_saddr(sk);
	s->daddr = smc_tcp_daddr(sk);
	s->memcg = hs->memcg;
	s->role = hs->role;
	s->version = SMC_VERSION_2;
	s->cancel = smc_clc_cancel(hs);
	/* The kernel doubles the values of SO_RCVBUF and SO_SNDBUF, see socket(7). */
	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK)
		s->rcvbuf = READ_ONCE(sk->sk_rcvbuf) / 2;
	if (sk->sk_userlocks & SOCK_SNDBUF_LOCK)
		s->sndbuf = READ_ONCE(sk->sk_sndbuf) / 2;
	return s;
}

s64 smc_setup_diagnosis(const struct smc_path_setup *s, int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case -EPIPE:
		return -ECONNRESET;
	case -ENOMEM:
	case -EBUSY:
		return SMC_DIAG_NO_MEMORY;
	case -ETIMEDOUT:
		return SMC_DIAG_TIMEOUT_CONFIRM_LINK;
	case -EREMOTEIO:
		return SMC_DIAG_INTERNAL_RTOKEN;
	case -EIO:
		return SMC_DIAG_INTERNAL_REGISTER;
	case -ENOLINK:
		return SMC_DIAG_NO_ACTIVE_LINK;
	case -ENOENT:
		return SMC_DIAG_NO_SERVER_LINK;
	case -ENODEV:
		return s->type->diagnosis ? : SMC_DIAG_NO_DEVICE_R;
	case -ENETUNREACH:
		return SMC_DIAG_INDIRECT_MISMATCH;
	case -EHOSTUNREACH:
		return SMC_DIAG_NO_ROUTE;
	case -EUSERS:
		return SMC_DIAG_TOO_MANY_GROUPS;
	case -ECANCELED:
	case -EPROTO:
		return SMC_DIAG_SYNC;
	default:
		return SMC_DIAG_INTERNAL;
	}
}

void smc_setup_describe(struct smc_path_setup *s, enum smc_clc_type type,
			struct smc_clc_agreement *a)
{
	*a = (struct smc_clc_agreement) {
		.type	       = type,
		.version       = s->version,
		.first_contact = s->first_contact,
		.fc.direct     = s->is_direct,
	};
	memcpy(a->eid, s->eid, SMC_EID_LEN);
	smc_describe_host(&a->fc, s->net);
	s->type->describe(s, a);
}

struct smc_stream *smc_setup_succeed(const struct smc_path_setup *s)
{
	smc_stat_handshake(smc_net(s->net), s->type->kind, s->role, s->version);
	return s->stream;
}

void smc_setup_end(struct smc_path_setup *s, bool keep)
{
	if (!s)
		return;
	s->type->end(s, keep);
	dst_release(s->dst);
	if (!s->stream || keep)
		return;
	smc_stream_on_lost(s->stream, ECONNABORTED);
	smc_stream_put(s->stream);
}

void smc_setup_free(struct smc_path_setup *s, u32 peer_reason)
{
	if (s && s->type->learn)
		s->type->learn(s, peer_reason);
	kfree(s);
}
