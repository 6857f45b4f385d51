/* SPDX-License-Identifier: GPL-2.0 */
/* A process of a user without any right on this host, as a container has it. */
#ifndef GUEST_TENANT_H
#define GUEST_TENANT_H

#include <atomic>
#include <functional>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/types.h>

namespace guest
{

/* A T that a process has in common with those that it forks. */
template <typename T>
class Shared
{
public:
	Shared()
	{
		void *at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			throw std::bad_alloc();
		shared = new (at) T();
	}
	Shared(const Shared &) = delete;
	~Shared()
	{
		munmap(shared, sizeof(T));
	}
	T *operator->() const
	{
		return shared;
	}
	T &operator*() const
	{
		return *shared;
	}

private:
	T *shared;
};

class Tenant
{
public:
	/* "apart": as root of a user and a network namespace of its own, with lo up. */
	enum class Where { here, apart };

	/*
	 * The process calls @what, and ends with status 0, or 1 if that throws. It has no signal
	 * handler and no descriptor that the caller does not have.
	 */
	Tenant(uid_t uid, Where where, const std::function<void()> &what);
	Tenant(const Tenant &) = delete;
	~Tenant();

	bool has_ended();
	void kill();
	/* Waits for the process's end. Return: as of waitpid(). */
	int finish();
	/* This namespace's end of the veth, whose other end is up0, has @address: "10.98.0.1/24".
	 */
	void join(const std::string &address) const;
	/* The namespace is gone when its end of a veth is. */
	void await_netns_end() const;

	pid_t pid() const
	{
		return process;
	}

private:
	void release();

	struct Stage {
		std::atomic<int> reached;
	};

	Shared<Stage> stage;
	Where where;
	std::string device;
	pid_t process;
	int status = 0;
	bool ended = false;
};

} // namespace guest

#endif
