// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of the differential tester's sequences, in any state of their sockets: that tester
 * skips those for which timing would decide. All threads of a process have the same slots.
 */
#include <array>
#include <csignal>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "chance.h"
#include "differ/generate.h"
#include "differ/step.h"

namespace guest
{

using namespace differ;

namespace
{

constexpr int IPPROTO_SMC = 256;
/* Descriptors, which other calls find by chance, too. */
constexpr int epoll_slot = fd_end - 1, first_slot = epoll_slot - slots;

int fd_of(int slot)
{
	return first_slot + slot;
}

/* Closes the descriptor that was there. */
void move_to(int at, int fd)
{
	if (fd < 0)
		return;
	call(SYS_dup3, fd, at, O_CLOEXEC);
	call(SYS_close, fd);
}

int make_stream(int flags)
{
	return call(SYS_socket, AF_INET6, SOCK_STREAM | flags, IPPROTO_SMC);
}

sockaddr_in6 *loopback(Chance &c, uint16_t port)
{
	return c.filled(sockaddr_in6{
	    .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback});
}

void pair(Chance &c, const Step &step)
{
	int listener = make_stream(0), client = make_stream(0);
	sockaddr_in6 *at = loopback(c, 0);

	call(SYS_bind, listener, at, sizeof(*at));
	call(SYS_listen, listener, 1);
	call(SYS_getsockname, listener, at, c.filled<socklen_t>(sizeof(*at)));
	call(SYS_connect, client, at, sizeof(*at));
	move_to(fd_of(step.a), call(SYS_accept4, listener, nullptr, nullptr, 0));
	move_to(fd_of(step.slot), client);
	call(SYS_close, listener);
}

/* Sends or receives by io_uring, and not in a child. */
void bytes_by_uring(Chance &c, const Step &step)
{
	io_uring ring;
	io_uring_sqe *sqe;

	if (io_uring_queue_init(2, &ring, 0))
		return;
	sqe = io_uring_get_sqe(&ring);
	if (step.op == Op::send)
		io_uring_prep_send(sqe, fd_of(step.slot), c.room(step.a), step.a, step.b);
	else
		io_uring_prep_recv(sqe, fd_of(step.slot), c.room(step.a), step.a, step.b);
	io_uring_submit(&ring);
	io_uring_queue_exit(&ring);
}

/* Of two messages or one, whose pieces are the arena's; a control message may be of any kind. */
mmsghdr *messages(Chance &c, const Step &step)
{
	auto *pieces =
	    c.filled(std::array<iovec, 2>{iovec{c.room(step.a), (size_t)step.a}, {c.room(8), 8}});
	msghdr one = {.msg_iov = &pieces->front(), .msg_iovlen = 2};

	if (step.c == by_control) {
		one.msg_control = c.filled(std::array<uint64_t, 4>{CMSG_LEN(4), c.number()});
		one.msg_controllen = c.below(33);
	}
	return c.filled(std::array<mmsghdr, 2>{mmsghdr{one, 0}, mmsghdr{one, 0}})->data();
}

void bytes(Chance &c, const Step &step)
{
	bool sends = step.op == Op::send;
	int fd = fd_of(step.slot);

	switch (step.c) {
	case by_rw:
		call(sends ? SYS_write : SYS_read, fd, c.room(step.a), step.a);
		break;
	case by_vector:
		call(sends ? SYS_writev : SYS_readv, fd, messages(c, step)->msg_hdr.msg_iov, 2);
		break;
	case by_msg:
	case by_control:
		call(sends ? SYS_sendmsg : SYS_recvmsg, fd, messages(c, step), step.b);
		break;
	case by_many:
		call(sends ? SYS_sendmmsg : SYS_recvmmsg, fd, messages(c, step), 2, step.b, 0);
		break;
	case by_uring:
		bytes_by_uring(c, step);
		break;
	default:
		call(sends ? SYS_sendto : SYS_recvfrom, fd,
		     step.c == by_fault ? nullptr : c.room(step.a), step.a, step.b, nullptr, 0);
	}
}

/* The whole of what fits. */
void all_bytes(Chance &c, const Step &step)
{
	long number = step.op == Op::fill ? SYS_sendto : SYS_recvfrom;

	for (int i = 0; i < 64; i++)
		if (call(number, fd_of(step.slot), c.room(65536), 65536, MSG_DONTWAIT, nullptr,
			 0) <= 0)
			break;
}

/* The alarm ends a child that waits. Nobody waits for children: see take_signals(). */
void in_child(Chance &c, Step step)
{
	if (call(SYS_fork))
		return;
	signal(SIGALRM, SIG_DFL);
	alarm(2);
	step.op = step.op == Op::fork_send ? Op::send : Op::recv;
	step.c = by_call;
	if (step.op != Op::fork_close)
		bytes(c, step);
	_exit(0);
}

void through_pipe(Chance &c, const Step &step)
{
	int fd = fd_of(step.slot), *ends = c.filled(std::array<int, 2>{-1, -1})->data();
	int in, out;

	if (call(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK))
		return;
	out = ends[0], in = ends[1];
	if (step.op == Op::splice_out) {
		call(SYS_splice, fd, nullptr, in, nullptr, step.a, step.b);
	} else {
		call(SYS_write, in, c.room(step.a), step.a);
		call(SYS_splice, out, nullptr, fd, nullptr, step.a, step.b);
	}
	call(SYS_close, in);
	call(SYS_close, out);
}

void from_file(const Step &step)
{
	int file = call(SYS_memfd_create, "step", 0);

	call(SYS_ftruncate, file, step.a);
	call(SYS_sendfile, fd_of(step.slot), file, nullptr, step.a);
	call(SYS_close, file);
}

/* Through another socket; the descriptor is in nothing but the message for a moment. */
void pass(Chance &c, const Step &step)
{
	int *ends = c.filled(std::array<int, 2>{-1, -1})->data();
	auto *control = c.filled(std::array<uint64_t, 3>{
	    CMSG_LEN(4), SOL_SOCKET | (uint64_t)SCM_RIGHTS << 32, (uint64_t)fd_of(step.slot)});
	msghdr message = {.msg_iov = c.filled(iovec{c.room(1), 1}),
			  .msg_iovlen = 1,
			  .msg_control = control,
			  .msg_controllen = sizeof(*control)};
	int from, to;

	if (call(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends))
		return;
	from = ends[0], to = ends[1];
	call(SYS_sendmsg, from, c.filled(message), MSG_DONTWAIT);
	call(SYS_close, fd_of(step.slot));
	call(SYS_close, from);
	if (call(SYS_recvmsg, to, c.filled(message), MSG_DONTWAIT) == 1)
		move_to(fd_of(step.slot), (int)(*control)[2]);
	call(SYS_close, to);
}

/* One of them sleeps, if another thread does not wake it just now, or it is woken. */
void wake(Chance &c, const Step &step)
{
	pollfd one = {fd_of(step.slot), POLLIN | POLLPRI, 0};

	if (c.one_in(2))
		call(SYS_sendto, fd_of(step.a), c.room(step.b), step.b,
		     step.c == by_urgent ? MSG_OOB : 0, nullptr, 0);
	else if (step.b)
		call(SYS_recvfrom, fd_of(step.slot), c.room(step.b), step.b, 0, nullptr, 0);
	else
		call(SYS_poll, c.filled(one), 1, 100);
}

void select_one(Chance &c, const Step &step)
{
	fd_set *set = c.filled(fd_set{});

	FD_SET(fd_of(step.slot), set);
	call(SYS_select, fd_end, set, set, set, c.filled(timeval{}));
}

void control_epoll(Chance &c, const Step &step)
{
	int operation = step.op == Op::epoll_add   ? EPOLL_CTL_ADD
			: step.op == Op::epoll_mod ? EPOLL_CTL_MOD
						   : EPOLL_CTL_DEL;

	if (call(SYS_fcntl, epoll_slot, F_GETFD) < 0)
		move_to(epoll_slot, call(SYS_epoll_create1, 0));
	call(SYS_epoll_ctl, epoll_slot, operation, fd_of(step.slot),
	     c.filled(epoll_event{.events = (uint32_t)step.a}));
}

void set_flag(const Step &step)
{
	int flag = step.op == Op::async ? O_ASYNC : O_NONBLOCK;
	int flags = call(SYS_fcntl, fd_of(step.slot), F_GETFL);

	call(SYS_fcntl, fd_of(step.slot), F_SETOWN, getpid());
	call(SYS_fcntl, fd_of(step.slot), F_SETFL, step.a ? flags | flag : flags & ~flag);
}

void names(Chance &c, int fd)
{
	call(SYS_getsockname, fd, c.room(128), c.filled<socklen_t>(128));
	call(SYS_getpeername, fd, c.room(128), c.filled<socklen_t>(128));
}

void options(Chance &c, const Step &step)
{
	int fd = fd_of(step.slot);

	switch (step.op) {
	case Op::linger:
		call(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, c.filled(::linger{step.a, step.b}),
		     sizeof(::linger));
		break;
	case Op::set:
		call(SYS_setsockopt, fd, step.a, step.b, c.filled(step.c), sizeof(int));
		break;
	default:
		call(SYS_getsockopt, fd, step.a, step.b, c.room(64), c.filled<int>(step.c));
	}
}

void connect(Chance &c, const Step &step)
{
	sockaddr_in6 *at = loopback(c, c.port());

	if (step.op == Op::unspec)
		at->sin6_family = AF_UNSPEC;
	call(step.op == Op::bind ? SYS_bind : SYS_connect, fd_of(step.slot), at, sizeof(*at));
}

void errors(Chance &c, const Step &step)
{
	Step one = {Op::recv, step.slot, 64, MSG_ERRQUEUE | MSG_DONTWAIT, by_control};

	bytes(c, one);
}

void perform(Chance &c, const Step &step)
{
	int fd = fd_of(step.slot);

	switch (step.op) {
	case Op::pair:
		return pair(c, step);
	case Op::socket:
		return move_to(fd, make_stream(step.a));
	case Op::accept:
		return move_to(fd_of(step.a), call(SYS_accept4, fd, nullptr, nullptr, step.b));
	case Op::bind:
	case Op::connect:
	case Op::unspec:
		return connect(c, step);
	case Op::listen:
		call(SYS_listen, fd, step.a);
		return;
	case Op::shutdown:
		call(SYS_shutdown, fd, step.a);
		return;
	case Op::close:
		call(SYS_close, fd);
		return;
	case Op::dup:
		call(SYS_dup3, fd, fd_of(step.a), 0);
		return;
	case Op::pass:
		return pass(c, step);
	case Op::nonblock:
	case Op::async:
		return set_flag(step);
	case Op::linger:
	case Op::set:
	case Op::get:
		return options(c, step);
	case Op::names:
		return names(c, fd);
	case Op::send:
	case Op::recv:
		return bytes(c, step);
	case Op::errqueue:
		return errors(c, step);
	case Op::sendfile:
		return from_file(step);
	case Op::splice_in:
	case Op::splice_out:
		return through_pipe(c, step);
	case Op::fork_send:
	case Op::fork_recv:
	case Op::fork_close:
		return in_child(c, step);
	case Op::fill:
	case Op::drain:
		return all_bytes(c, step);
	case Op::wake:
		return wake(c, step);
	case Op::select:
		return select_one(c, step);
	case Op::epoll_add:
	case Op::epoll_mod:
	case Op::epoll_del:
		return control_epoll(c, step);
	case Op::epoll_wait:
		call(SYS_epoll_pwait, epoll_slot, c.room(256), 8, 0, nullptr, 8);
		return;
	case Op::count:
		return;
	}
}

/* The next of a sequence, which goes on with other calls of this thread in between. */
void next_step(Chance &c)
{
	static thread_local Steps left;

	if (left.empty())
		left = generate(c.bits());
	perform(c, left.front());
	left.erase(left.begin());
}

} // namespace

const std::vector<Call> step_calls = {next_step};

} // namespace guest
