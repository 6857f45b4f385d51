// SPDX-License-Identifier: GPL-2.0
/* Sockets as files: readiness, io_uring, attributes. */
#include <fcntl.h>
#include <liburing.h>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "chance.h"

namespace guest
{

namespace
{

void poll(Chance &c)
{
	size_t n = c.below(8);
	auto *all = reinterpret_cast<pollfd *>(c.room(n * sizeof(pollfd)));

	for (size_t i = 0; i < n; i++)
		all[i] = {c.fd(), (short)c.bits(), 0};
	if (c.one_in(2))
		call(SYS_poll, all, c.one_in(16) ? c.number() : n, c.below(5));
	else
		call(SYS_ppoll, all, n, c.filled(timespec{0, (long)c.below(2000000)}), nullptr, 8);
}

void select(Chance &c)
{
	auto *sets = reinterpret_cast<fd_set *>(c.room(3 * sizeof(fd_set)));

	for (int i = 0; i < 8; i++)
		FD_SET(3 + c.below(fd_end - 3), &sets[c.below(3)]);
	call(SYS_select, c.one_in(8) ? c.number() : fd_end, &sets[0], &sets[1], &sets[2],
	     c.filled(timeval{0, (long)c.below(2000)}));
}

void epoll(Chance &c)
{
	epoll_event event = {.events = (uint32_t)c.bits()};

	switch (c.below(4)) {
	case 0:
		call(SYS_epoll_create1, c.of(0, EPOLL_CLOEXEC));
		break;
	case 1:
		call(SYS_epoll_pwait, c.fd(), c.pointer(256), c.below(16), c.below(3), nullptr, 8);
		break;
	default:
		if (c.one_in(2))
			event.events &= 0xff | EPOLLET | EPOLLONESHOT;
		call(SYS_epoll_ctl, c.fd(), 1 + c.below(3), c.fd(), c.filled(event));
	}
}

void attributes(Chance &c)
{
	std::string path = "/proc/self/fd/" + std::to_string(c.fd());

	switch (c.below(6)) {
	case 0:
		call(SYS_fstat, c.fd(), c.pointer(sizeof(struct stat)));
		break;
	case 1:
		call(SYS_fsetxattr, c.fd(), c.of("user.fuzz", "security.fuzz", "system.fuzz"),
		     c.pointer(16), c.below(17), 0);
		break;
	case 2:
		call(SYS_fgetxattr, c.fd(), c.of("system.sockprotoname", "user.fuzz"),
		     c.pointer(16), c.below(17));
		break;
	case 3:
		call(SYS_fchown, c.fd(), getuid(), c.number());
		break;
	case 4:
		call(SYS_open, path.c_str(), O_RDWR | O_CLOEXEC);
		break;
	default:
		call(SYS_readlink, path.c_str(), c.pointer(64), c.below(65));
	}
}

void seek(Chance &c)
{
	call(c.of(SYS_lseek, SYS_ftruncate, SYS_fsync), c.fd(), c.number(), c.below(4));
}

/* Of a thread. Other calls may close its file. */
class Ring
{
public:
	Ring() : there(io_uring_queue_init(8, &ring, 0) == 0)
	{
	}
	Ring(const Ring &) = delete;
	~Ring()
	{
		if (there)
			io_uring_queue_exit(&ring);
	}
	io_uring_sqe *next()
	{
		return there ? io_uring_get_sqe(&ring) : nullptr;
	}
	void submit()
	{
		io_uring_cqe *done;

		if (!there)
			return;
		io_uring_submit(&ring);
		while (io_uring_peek_cqe(&ring, &done) == 0)
			io_uring_cqe_seen(&ring, done);
	}

private:
	io_uring ring;
	bool there;
};

void prepare(Chance &c, io_uring_sqe *sqe)
{
	socklen_t len;
	sockaddr *to = c.address(&len);
	size_t bytes = c.length();

	switch (c.below(10)) {
	case 0:
		io_uring_prep_send(sqe, c.fd(), c.pointer(bytes), bytes, c.number());
		break;
	case 1:
		io_uring_prep_recv(sqe, c.fd(), c.pointer(bytes), bytes, c.number());
		break;
	case 2:
		io_uring_prep_accept(sqe, c.fd(), nullptr, nullptr, c.of(0, SOCK_NONBLOCK));
		break;
	case 3:
		io_uring_prep_connect(sqe, c.fd(), to, len);
		break;
	case 4:
		io_uring_prep_poll_add(sqe, c.fd(), c.bits());
		break;
	case 5:
		io_uring_prep_close(sqe, c.fd());
		break;
	case 6:
		io_uring_prep_shutdown(sqe, c.fd(), c.below(4));
		break;
	case 7:
		io_uring_prep_splice(sqe, c.fd(), -1, c.fd(), -1, bytes, 0);
		break;
	case 8:
		io_uring_prep_send(sqe, c.fd(), c.room(bytes), bytes, MSG_DONTWAIT);
		break;
	default:
		/* Any operation, but for one on all memory of this process. */
		io_uring_prep_rw(c.below(64), sqe, c.fd(), c.pointer(bytes), bytes, c.number());
		sqe->rw_flags = c.number();
		if (sqe->opcode == IORING_OP_MADVISE)
			sqe->opcode = IORING_OP_NOP;
	}
	sqe->flags = c.one_in(4) ? c.of(IOSQE_ASYNC, IOSQE_IO_LINK, IOSQE_IO_DRAIN) : 0;
	/* None waits for a buffer or a file that is registered. */
	sqe->user_data = c.below(16);
}

void uring(Chance &c)
{
	static thread_local auto ring = std::make_unique<Ring>();

	for (int i = c.below(4); i >= 0; i--)
		if (io_uring_sqe *sqe = ring->next())
			prepare(c, sqe);
	ring->submit();
	/* There may have been no descriptor for it. */
	if (c.one_in(32))
		ring = std::make_unique<Ring>();
}

} // namespace

const std::vector<Call> file_calls = {
    poll, poll, select, epoll, epoll, epoll, attributes, seek, uring, uring,
};

} // namespace guest
