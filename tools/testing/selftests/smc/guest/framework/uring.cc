// SPDX-License-Identifier: GPL-2.0
#include "uring.h"

#include <cerrno>
#include <liburing.h>
#include <sys/socket.h>

#include "system.h"

namespace guest
{

Uring::Uring() : ring(std::make_unique<io_uring>())
{
	int rc = io_uring_queue_init(4, ring.get(), 0);

	if (!rc)
		return;
	errno = -rc;
	throw_errno("io_uring");
}

Uring::~Uring()
{
	io_uring_queue_exit(ring.get());
}

ssize_t Uring::finish()
{
	io_uring_cqe *cqe;
	int rc = io_uring_submit_and_wait(ring.get(), 1);

	if (rc >= 0)
		rc = io_uring_wait_cqe(ring.get(), &cqe);
	if (rc >= 0) {
		rc = cqe->res;
		last_flags = cqe->flags;
		io_uring_cqe_seen(ring.get(), cqe);
	}
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

ssize_t Uring::send(int fd, const void *bytes, size_t len)
{
	io_uring_prep_send(io_uring_get_sqe(ring.get()), fd, bytes, len, MSG_NOSIGNAL);
	return finish();
}

ssize_t Uring::recv(int fd, void *bytes, size_t len)
{
	io_uring_prep_recv(io_uring_get_sqe(ring.get()), fd, bytes, len, 0);
	return finish();
}

ssize_t Uring::send_zc(int fd, const void *bytes, size_t len)
{
	io_uring_prep_send_zc(io_uring_get_sqe(ring.get()), fd, bytes, len, MSG_NOSIGNAL, 0);

	ssize_t sent = finish();
	int error = errno;

	while (last_flags & IORING_CQE_F_MORE)
		finish();
	errno = error;
	return sent;
}

} // namespace guest
