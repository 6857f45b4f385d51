/* SPDX-License-Identifier: GPL-2.0 */
/* send() and recv() by io_uring. */
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

	/* As the system calls: -1 with errno. */
	ssize_t send(int fd, const void *bytes, size_t len);
	ssize_t recv(int fd, void *bytes, size_t len);

private:
	ssize_t finish();

	std::unique_ptr<io_uring> ring;
};

} // namespace guest

#endif
