/* SPDX-License-Identifier: GPL-2.0 */
/* Performs steps, one after the other. Each kind of step is a function, in perform_*.cc. */
#ifndef DIFFER_PERFORMER_H
#define DIFFER_PERFORMER_H

#include <functional>
#include <string>
#include <sys/epoll.h>
#include <vector>

#include "perform.h"
#include "side.h"
#include "world.h"

namespace differ
{

/* Said of a step that is not performed: timing, or what was there before, would decide. */
constexpr const char *skipped = "skipped";

/* A call that waits for something returns after that. Nothing is under way any more then. */
constexpr int wait_ms = 4, connect_wait_ms = 3000, wake_wait_ms = 1000;

/* SO_RCVTIMEO or SO_SNDTIMEO */
void set_time_limit(int fd, int option, int ms);

class Performer
{
public:
	explicit Performer(const Kinds &kinds) : kinds(kinds), world(kinds.family)
	{
	}

	std::string step(const Step &step);
	void end(Report &report);

private:
	using Call = std::string (Performer::*)(const Step &);
	struct Entry {
		Op op;
		Call call;
		bool on_full; /* it may be performed on a connection that is full */
	};
	static const Entry entries[];

	std::string call(const Step &step);

	int fd() const
	{
		return slot->fd;
	}
	File &file() const
	{
		return *slot->file;
	}
	/* Of sockets that are made in a slot. */
	static int side_of(int slot_number)
	{
		return are_apart() ? slot_number % 2 : 0;
	}
	guest::Flavor flavor_of(int slot_number) const
	{
		return {slot_number % 2 ? kinds.odd : kinds.even, kinds.family};
	}
	/* The side that a socket of @side connects to. */
	static int side_beyond(int side)
	{
		return are_apart() ? !side : 0;
	}
	/* As sockets of a slot are made. */
	guest::Fd make_on(int slot_number,
			  const std::function<guest::Fd(const guest::Flavor &flavor)> &make) const
	{
		OnSide on(side_of(slot_number));

		return make(flavor_of(slot_number));
	}
	bool is_free(int number)
	{
		return number >= 0 && number < slots && !world.at(number).file;
	}
	bool has_room(size_t len) const;
	bool is_tuned(const Step &step) const;
	void note_sent(long rc, int flags = 0);
	void note_addresses(const FilePtr &of, int fd);
	std::string port_name(const guest::Address &address);

	std::string do_pair(const Step &step);
	std::string do_socket(const Step &step);
	std::string do_bind(const Step &step);
	std::string do_listen(const Step &step);
	std::string do_connect(const Step &step);
	std::string do_accept(const Step &step);
	std::string do_unspec(const Step &step);
	std::string do_shutdown(const Step &step);
	std::string do_close(const Step &step);
	std::string do_dup(const Step &step);
	std::string do_pass(const Step &step);
	std::string do_nonblock(const Step &step);
	std::string do_async(const Step &step);
	std::string do_linger(const Step &step);
	std::string do_set(const Step &step);
	std::string do_get(const Step &step);
	std::string do_names(const Step &step);
	std::string do_send(const Step &step);
	std::string do_recv(const Step &step);
	std::string do_errqueue(const Step &step);
	std::string do_sendfile(const Step &step);
	std::string do_splice_in(const Step &step);
	std::string do_splice_out(const Step &step);
	std::string do_fork_send(const Step &step);
	std::string do_fork_recv(const Step &step);
	std::string do_fork_close(const Step &step);
	std::string do_fill(const Step &step);
	std::string do_drain(const Step &step);
	std::string do_wake(const Step &step);
	std::string do_select(const Step &step);
	std::string do_epoll_add(const Step &step);
	std::string do_epoll_mod(const Step &step);
	std::string do_epoll_del(const Step &step);
	std::string do_epoll_wait(const Step &step);

	std::string control_epoll(int operation, const Step &step);
	std::string disconnect();
	std::string rouse(Slot &reader, Slot &writer, const Step &step);

	const Kinds kinds;
	World world;
	Slot *slot = nullptr;
	guest::Fd epoll = guest::Fd(epoll_create1(EPOLL_CLOEXEC));
	bool epoll_used = false;
	std::vector<int> ports_seen;
};

} // namespace differ

#endif
