/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, /sys/kernel/tracing/events/smc/; see Documentation/debugging.rst. A tracepoint that
 * exists in the kernel's own smc module, too, has the same name and all its fields here, so that
 * scripts work with either module.
 *
 * Pointers tell the events of different objects apart. A socket's pointer is that of TCP's sock, as
 * in the events "tcp" and "sock".
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smc

#if !defined(SMC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SMC_TRACE_H

#include <linux/tracepoint.h>
#include <linux/types.h>

struct smc_cdc;
struct smc_handshake;
struct smc_lgr;
struct smc_link;
struct smc_stream;
struct smc_stream_state;
struct sock;

TRACE_DEFINE_ENUM(SMC_PATH_R);
TRACE_DEFINE_ENUM(SMC_PATH_D);
TRACE_DEFINE_ENUM(SMC_LGR_NEW);
TRACE_DEFINE_ENUM(SMC_LGR_ACTIVE);
TRACE_DEFINE_ENUM(SMC_LGR_DEAD);
TRACE_DEFINE_ENUM(SMC_PATH_STATE_UP);
TRACE_DEFINE_ENUM(SMC_PATH_STATE_LOST);
TRACE_DEFINE_ENUM(SMC_PATH_STATE_OVER);
TRACE_DEFINE_ENUM(SMC_APP_NONE);
TRACE_DEFINE_ENUM(SMC_APP_ATTACHED);
TRACE_DEFINE_ENUM(SMC_APP_ORPHAN);
TRACE_DEFINE_ENUM(SMC_APP_GONE);

/* A connection goes on as TCP. An SMC socket has TCP's sock, so "sk" and "clcsk" are equal. */
TRACE_EVENT(smc_switch_to_fallback,
	TP_PROTO(const struct sock *sk, u32 reason), TP_ARGS(sk, reason),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(const void *, clcsk)
		__field(u64, net_cookie)
		__field(int, fallback_rsn)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->clcsk = sk;
		__entry->net_cookie = sock_net(sk)->net_cookie;
		__entry->fallback_rsn = reason;
	),
	TP_printk("sk=%p clcsk=%p net=%llu fallback_rsn=%d",
		  __entry->sk, __entry->clcsk, __entry->net_cookie, __entry->fallback_rsn)
);

/* A call has moved bytes. A stream has no device, so "dev" is the kind of its path. */
DECLARE_EVENT_CLASS(smc_msg_event,
	TP_PROTO(const struct smc_stream *st, size_t len), TP_ARGS(st, len),
	TP_STRUCT__entry(
		__field(const void *, smc)
		__field(u64, net_cookie)
		__field(size_t, len)
		__dynamic_array(char, name, sizeof("rdma"))
	),
	TP_fast_assign(
		__entry->smc = st->sk;
		__entry->net_cookie = sock_net(st->sk)->net_cookie;
		__entry->len = len;
		strscpy(__get_str(name), st->path->kind == SMC_PATH_R ? "rdma" : "ism",
			sizeof("rdma"));
	),
	TP_printk("smc=%p net=%llu len=%zu dev=%s",
		  __entry->smc, __entry->net_cookie, __entry->len, __get_str(name))
);

DEFINE_EVENT(smc_msg_event, smc_tx_sendmsg,
	TP_PROTO(const struct smc_stream *st, size_t len), TP_ARGS(st, len));
DEFINE_EVENT(smc_msg_event, smc_rx_recvmsg,
	TP_PROTO(const struct smc_stream *st, size_t len), TP_ARGS(st, len));

/*
 * An event of a link. In smcr_link_down "state" is the state of the link group (enum
 * smc_lgr_state); in smcr_link_state it is the new state of the queue pair (enum ib_qp_state). The
 * device may be renamed at any time, so the size of its name is fixed. The in-tree module does not
 * have "why", which is empty if the link has no reason of its own to end.
 */
DECLARE_EVENT_CLASS(smcr_link_event,
	TP_PROTO(const struct smc_link *link, int state, void *location),
	TP_ARGS(link, state, location),
	TP_STRUCT__entry(
		__field(const void *, lnk)
		__field(const void *, lgr)
		__field(u64, net_cookie)
		__field(int, state)
		__dynamic_array(char, name, IB_DEVICE_NAME_MAX)
		__field(void *, location)
		__dynamic_array(char, why, SMC_LINK_WHY_LEN)
	),
	TP_fast_assign(
		__entry->lnk = link;
		__entry->lgr = &link->group->lgr;
		__entry->net_cookie = link->group->lgr.net->net_cookie;
		__entry->state = state;
		strscpy(__get_str(name), link->port.dev->ibdev->name, IB_DEVICE_NAME_MAX);
		__entry->location = location;
		strscpy(__get_str(why), link->why, SMC_LINK_WHY_LEN);
	),
	TP_printk("lnk=%p lgr=%p net=%llu state=%d dev=%s location=%pS why=%s",
		  __entry->lnk, __entry->lgr, __entry->net_cookie, __entry->state,
		  __get_str(name), __entry->location, __get_str(why))
);

DEFINE_EVENT(smcr_link_event, smcr_link_down,
	TP_PROTO(const struct smc_link *link, int state, void *location),
	TP_ARGS(link, state, location));
DEFINE_EVENT(smcr_link_event, smcr_link_state,
	TP_PROTO(const struct smc_link *link, int state, void *location),
	TP_ARGS(link, state, location));

/* A connection has left a link of its group, and sends on another one from now on. */
TRACE_EVENT(smcr_conn_moved,
	TP_PROTO(const struct smc_stream *st, const struct smc_link *from,
		 const struct smc_link *to),
	TP_ARGS(st, from, to),
	TP_STRUCT__entry(
		__field(const void *, st)
		__field(const void *, sk)
		__field(const void *, lgr)
		__field(u64, net_cookie)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->st = st;
		__entry->sk = READ_ONCE(st->sk);
		__entry->lgr = &to->group->lgr;
		__entry->net_cookie = to->group->lgr.net->net_cookie;
		__entry->from = from->number;
		__entry->to = to->number;
	),
	TP_printk("st=%p sk=%p lgr=%p net=%llu from=%u to=%u",
		  __entry->st, __entry->sk, __entry->lgr, __entry->net_cookie, __entry->from,
		  __entry->to)
);

/*
 * A link group gets another state. "err" is the error that its connections get. The group's
 * namespace still exists: only a dead group can outlive it, and a dead group's state does not
 * change.
 */
TRACE_EVENT(smc_lgr_state,
	TP_PROTO(const struct smc_lgr *lgr, int state), TP_ARGS(lgr, state),
	TP_STRUCT__entry(
		__field(const void *, lgr)
		__field(u64, net_cookie)
		__field(int, path)
		__field(int, state)
		__field(unsigned int, n_conns)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->lgr = lgr;
		__entry->net_cookie = lgr->net->net_cookie;
		__entry->path = lgr->kind->path;
		__entry->state = state;
		__entry->n_conns = lgr->n_conns;
		__entry->err = lgr->err;
	),
	TP_printk("lgr=%p net=%llu path=%s state=%s conns=%u err=%d",
		  __entry->lgr, __entry->net_cookie,
		  __print_symbolic(__entry->path, { SMC_PATH_R, "rdma" }, { SMC_PATH_D, "ism" }),
		  __print_symbolic(__entry->state, { SMC_LGR_NEW, "new" },
				   { SMC_LGR_ACTIVE, "active" }, { SMC_LGR_DEAD, "dead" }),
		  __entry->n_conns, __entry->err)
);

/*
 * An SMC handshake starts or ends. At the end "path" is -1 for a connection that goes on as TCP, or
 * that breaks with the error "err".
 */
DECLARE_EVENT_CLASS(smc_handshake_event,
	TP_PROTO(const struct smc_handshake *hs), TP_ARGS(hs),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, net_cookie)
		__field(int, role)
		__field(int, path)
		__field(int, err)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->sk = hs->sk;
		__entry->net_cookie = sock_net(hs->sk)->net_cookie;
		__entry->role = hs->role;
		__entry->path = hs->stream ? (int)hs->stream->path->kind : -1;
		__entry->err = hs->result;
		__entry->reason = hs->reason;
	),
	TP_printk("sk=%p net=%llu role=%s path=%s err=%d reason=%#x",
		  __entry->sk, __entry->net_cookie, __entry->role ? "server" : "client",
		  __print_symbolic(__entry->path, { -1, "none" }, { SMC_PATH_R, "rdma" },
				   { SMC_PATH_D, "ism" }),
		  __entry->err, __entry->reason)
);

DEFINE_EVENT(smc_handshake_event, smc_handshake_start,
	TP_PROTO(const struct smc_handshake *hs), TP_ARGS(hs));
DEFINE_EVENT(smc_handshake_event, smc_handshake_end,
	TP_PROTO(const struct smc_handshake *hs), TP_ARGS(hs));

/* A CLC message was read, or handed to TCP. The type follows the eye catcher of four bytes. */
TRACE_EVENT(smc_clc,
	TP_PROTO(const struct sock *sk, bool sent, const u8 *message, size_t len),
	TP_ARGS(sk, sent, message, len),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(bool, sent)
		__field(u8, type)
		__field(size_t, len)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->sent = sent;
		__entry->type = message[4];
		__entry->len = len;
	),
	TP_printk("sk=%p %s %s len=%zu", __entry->sk, __entry->sent ? "sent" : "received",
		  __print_symbolic(__entry->type, { 1, "PROPOSAL" }, { 2, "ACCEPT" },
				   { 3, "CONFIRM" }, { 4, "DECLINE" }),
		  __entry->len)
);

/* One end of a stream tells the other its cursors and flags; the flags are as in CDC messages. */
DECLARE_EVENT_CLASS(smc_cdc_event,
	TP_PROTO(const struct smc_stream *st, const struct smc_cdc *cdc), TP_ARGS(st, cdc),
	TP_STRUCT__entry(
		__field(const void *, st)
		__field(const void *, sk)
		__field(u16, prod_wrap)
		__field(u32, prod_offset)
		__field(u16, cons_wrap)
		__field(u32, cons_offset)
		__field(u8, prod_flags)
		__field(u8, conn_flags)
	),
	TP_fast_assign(
		__entry->st = st;
		__entry->sk = READ_ONCE(st->sk);
		__entry->prod_wrap = cdc->prod.wrap;
		__entry->prod_offset = cdc->prod.offset;
		__entry->cons_wrap = cdc->cons.wrap;
		__entry->cons_offset = cdc->cons.offset;
		__entry->prod_flags = cdc->prod_flags;
		__entry->conn_flags = cdc->conn_flags;
	),
	TP_printk("st=%p sk=%p prod=%u:%u cons=%u:%u prod_flags=%#x conn_flags=%#x",
		  __entry->st, __entry->sk, __entry->prod_wrap, __entry->prod_offset,
		  __entry->cons_wrap, __entry->cons_offset, __entry->prod_flags,
		  __entry->conn_flags)
);

DEFINE_EVENT(smc_cdc_event, smc_publish,
	TP_PROTO(const struct smc_stream *st, const struct smc_cdc *cdc), TP_ARGS(st, cdc));
DEFINE_EVENT(smc_cdc_event, smc_update,
	TP_PROTO(const struct smc_stream *st, const struct smc_cdc *cdc), TP_ARGS(st, cdc));

/* The state of a stream's path or of its application changes. */
TRACE_EVENT(smc_stream_state,
	TP_PROTO(const struct smc_stream_state *state), TP_ARGS(state),
	TP_STRUCT__entry(
		__field(const void *, st)
		__field(const void *, sk)
		__field(int, path)
		__field(int, app)
		__field(int, err)
	),
	TP_fast_assign(
		const struct smc_stream *st = container_of(state, struct smc_stream, state);

		__entry->st = st;
		__entry->sk = st->sk;
		__entry->path = state->path;
		__entry->app = state->app;
		__entry->err = st->err;
	),
	TP_printk("st=%p sk=%p path=%s app=%s err=%d", __entry->st, __entry->sk,
		  __print_symbolic(__entry->path, { SMC_PATH_STATE_UP, "up" },
				   { SMC_PATH_STATE_LOST, "lost" },
				   { SMC_PATH_STATE_OVER, "over" }),
		  __print_symbolic(__entry->app, { SMC_APP_NONE, "none" },
				   { SMC_APP_ATTACHED, "attached" },
				   { SMC_APP_ORPHAN, "orphan" }, { SMC_APP_GONE, "gone" }),
		  __entry->err)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
