/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of this process that userfaultfd(2) keeps away from those who touch it. */
#ifndef GUEST_LATE_PAGE_H
#define GUEST_LATE_PAGE_H

#include <cstdint>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "socket.h"
#include "system.h"

namespace guest
{

/*
 * Memory that is not present: a thread that touches it sleeps until it is filled. The same amount
 * before it is present.
 */
class LatePage
{
public:
	static constexpr size_t size = 4096;

	LatePage()
	    : faults(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)),
	      pages(mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0))
	{
		uffdio_api api = {.api = UFFD_API};
		uffdio_register late = {.range = {uintptr_t(bytes()), size},
					.mode = UFFDIO_REGISTER_MODE_MISSING};

		if (faults < 0 || pages == MAP_FAILED || ioctl(faults, UFFDIO_API, &api) ||
		    ioctl(faults, UFFDIO_REGISTER, &late))
			throw_errno("userfaultfd");
	}
	LatePage(const LatePage &) = delete;
	~LatePage()
	{
		/* Wakes threads that still sleep. */
		faults.close();
		munmap(pages, 2 * size);
	}
	char *bytes() const
	{
		return static_cast<char *>(pages) + size;
	}
	void await_touch() const
	{
		uffd_msg message;

		await(faults, POLLIN);
		if (read(faults, &message, sizeof(message)) != sizeof(message))
			throw_errno("read of a userfaultfd");
		EXPECT_EQ(message.event, UFFD_EVENT_PAGEFAULT);
	}
	void fill(char byte) const
	{
		std::string content(size, byte);
		uffdio_copy copy = {
		    .dst = uintptr_t(bytes()), .src = uintptr_t(content.data()), .len = size};

		if (ioctl(faults, UFFDIO_COPY, &copy))
			throw_errno("UFFDIO_COPY");
	}

private:
	Fd faults;
	void *pages;
};

} // namespace guest

#endif
