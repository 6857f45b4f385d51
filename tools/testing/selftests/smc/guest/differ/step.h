/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sequence of calls on sockets, which the differential tester runs over TCP and over SMC. A step
 * names its socket by a slot, as a program does by a variable. Each step is legal whatever came
 * before: one that makes no sense then (its slot is empty, or timing would decide) is not
 * performed, over neither. So a sequence stays legal if any of its steps is dropped.
 */
#ifndef DIFFER_STEP_H
#define DIFFER_STEP_H

#include <string>
#include <vector>

namespace differ
{

constexpr int slots = 6;
/* Ports by name: the first bind() to one finds a free port. */
constexpr int ports = 3;

/* Behind each name is the meaning of a step's @a, @b and @c. */
enum class Op {
	pair,	    /* slot and a: a new connection, its client and its server */
	socket,	    /* a: SOCK_NONBLOCK or 0 */
	bind,	    /* a: port */
	listen,	    /* a: backlog */
	connect,    /* a: port; one that nobody bound is refused */
	accept,	    /* a: slot of the new socket, b: flags of accept4() */
	unspec,	    /* connect() to AF_UNSPEC */
	shutdown,   /* a: how */
	close,	    /* */
	dup,	    /* a: slot of the copy */
	pass,	    /* by SCM_RIGHTS, to this process */
	nonblock,   /* a: on or off */
	async,	    /* a: whether SIGIO is wanted; SIGURG is from then on */
	linger,	    /* a: on or off, b: seconds */
	set,	    /* a: level, b: option, c: value */
	get,	    /* a: level, b: option, c: length */
	names,	    /* getsockname() and getpeername() */
	send,	    /* a: length, b: flags, c: Way */
	recv,	    /* a: length, b: flags, c: Way */
	errqueue,   /* recvmsg(MSG_ERRQUEUE) */
	sendfile,   /* a: length */
	splice_in,  /* a: length, b: SPLICE_F_*; from a pipe into the socket */
	splice_out, /* a: length, b: SPLICE_F_*; from the socket into a pipe */
	fork_send,  /* a: length, b: flags; by a child, which then ends */
	fork_recv,  /* likewise */
	fork_close, /* by the end of a child that has it, too */
	fill,	    /* send until there is no room */
	drain,	    /* read all that a fill has sent */
	wake,	    /* a: slot, b: length, c: Waker; recv() or, of nothing, poll() sleeps */
	select,	    /* */
	epoll_add,  /* a: events */
	epoll_mod,  /* a: events */
	epoll_del,  /* */
	epoll_wait, /* of all slots */
	count
};

/*
 * The calls that send and receive: send(), write(), writev(), sendmsg(), io_uring, sendmmsg(),
 * send() of memory that is not there, and sendmsg() with a control message that is unknown; or
 * those that receive, the last with too little space for control messages.
 */
enum Way { by_call, by_rw, by_vector, by_msg, by_uring, by_many, by_fault, by_control, ways };

/* The other slot does one of these, or this one by_own_end, and wakes a thread that sleeps. */
enum Waker { by_bytes, by_urgent, by_end, by_own_end, by_reset, wakers };

struct Step {
	Op op;
	int slot = 0;
	int a = 0, b = 0, c = 0;

	bool operator==(const Step &) const = default;
};

using Steps = std::vector<Step>;

} // namespace differ

#endif
