// SPDX-License-Identifier: GPL-2.0
#include "child.h"

#include <cerrno>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket.h"
#include "system.h"

namespace differ
{

using namespace guest;

namespace
{

pid_t must_fork()
{
	pid_t child = fork();

	if (child < 0)
		throw_errno("fork");
	return child;
}

void await_end(pid_t child)
{
	if (TEMP_FAILURE_RETRY(waitpid(child, nullptr, 0)) != child)
		throw_errno("child");
}

} // namespace

SharedBytes::SharedBytes(size_t len) : size(len + 1)
{
	void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		throw_errno("mmap");
	data = static_cast<char *>(at);
}

SharedBytes::~SharedBytes()
{
	munmap(data, size);
}

long in_child(const std::function<long()> &call)
{
	struct Result {
		long rc;
		int error;
	};
	SharedBytes shared(sizeof(Result));
	auto *result = reinterpret_cast<Result *>(shared.data);
	pid_t child = must_fork();

	if (!child) {
		result->rc = call();
		result->error = errno;
		_exit(0);
	}
	await_end(child);
	errno = result->error;
	return result->rc;
}

void after_fork(const std::function<void()> &act)
{
	Pipe pipe;
	pid_t child = must_fork();
	char byte;

	if (!child) {
		pipe.in.close();
		/* Until this end of the pipe is closed there. */
		_exit(read(pipe.out, &byte, 1) != 0);
	}
	act();
	pipe.in.close();
	await_end(child);
}

} // namespace differ
