/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of a file whose file system, a thread of this process, takes its time. */
#ifndef GUEST_FUSE_PAGE_H
#define GUEST_FUSE_PAGE_H

#include <cstdint>
#include <future>
#include <thread>

#include "socket.h"

namespace guest
{

/* A thread that touches the page sleeps until it is filled, or until the file system is gone. */
class FusePage
{
public:
	static constexpr size_t size = 4096;

	FusePage();
	FusePage(const FusePage &) = delete;
	~FusePage();

	/* Whether the kernel has FUSE. Debian's kernels have it. */
	static bool is_there();

	char *bytes() const
	{
		return static_cast<char *>(page);
	}
	void await_touch();
	void fill(char byte);

private:
	void serve();
	void answer(uint64_t request, const void *body, size_t len, int error = 0);

	Fd device;
	void *page;
	std::promise<uint64_t> touch;
	/* The request to read the page, which fill() answers. */
	std::future<uint64_t> touched = touch.get_future();
	std::thread server;
};

} // namespace guest

#endif
