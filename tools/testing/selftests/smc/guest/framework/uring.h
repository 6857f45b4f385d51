/* SPDX-License-Identifier: GPL-2.0 */
/* send() and recv() with io_uring. */
#ifndef GUEST_URING_H
#define GUEST_URING_H

#include <memory>
#include <sys/types.h>

struct io_uring;

namespace guest
{

class Uring
{
public:
	Uring();
	~Uring();

	/* These return what the system calls do: -1 with errno on errors. */
	ssize_t send(int fd, const void *bytes, size_t len);
	ssize_t recv(int fd, void *bytes, size_t len);
	/* IORING_OP_SEND_ZC; returns once the kernel no longer uses @bytes. */
	ssize_t send_zc(int fd, const void *bytes, size_t len);

	/* Returns the IORING_CQE_F_* of the last call. */
	unsigned int flags() const
	{
		return last_flags;
	}

private:
	ssize_t finish();

	std::unique_ptr<io_uring> ring;
	unsigned int last_flags = 0;
};

} // namespace guest

#endif
