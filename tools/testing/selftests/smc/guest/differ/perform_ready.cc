// SPDX-License-Identifier: GPL-2.0
/* Steps that tell what a socket is ready for, and who is woken. */
#include "performer.h"

#include <algorithm>
#include <atomic>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <thread>

#include "bytes.h"
#include "names.h"
#include "system.h"

namespace differ
{

using namespace guest;

static bool is_open(int state, int half_closed)
{
	return state == TCP_ESTABLISHED || state == half_closed;
}

/* Wakes who sleeps at @reader. Return: what that said. */
std::string Performer::rouse(Slot &reader, Slot &writer, const Step &step)
{
	std::string bytes = bytes_at(writer.file->sent, std::max(step.b, 1));
	int flags = step.c == by_urgent ? MSG_OOB : 0;
	std::string said;
	long rc;

	slot = &writer;
	switch (step.c) {
	case by_end:
		said = result_name(shutdown(fd(), SHUT_WR));
		break;
	case by_own_end:
		said = result_name(shutdown(reader.fd, SHUT_RD));
		break;
	case by_reset:
		said = disconnect();
		break;
	default:
		rc = send(fd(), bytes.data(), bytes.size(), flags | MSG_NOSIGNAL);
		said = result_name(rc);
		note_sent(rc, flags);
	}
	slot = &reader;
	return said;
}

/* Sleeps in poll() if @len is 0, else in recv(), whose result is *@got. Return: the answer. */
static std::string sleep_at(int fd, int len, long &got)
{
	std::string bytes(len, '.');

	if (!len) {
		pollfd one = {fd, POLLIN | POLLPRI | POLLRDHUP, 0};
		int n = poll(&one, 1, wake_wait_ms);

		return result_name(n) + " " + poll_events_name(one.revents);
	}
	got = recv(fd, bytes.data(), bytes.size(), MSG_WAITALL);
	return result_name(got) + " " + shown(bytes);
}

std::string Performer::do_wake(const Step &step)
{
	Slot &reader = *slot, &writer = world.at(step.a);

	if (!writer.file || writer.file != file().peer || writer.file == slot->file ||
	    writer.file->is_full() || !is_open(state_of(fd()), TCP_FIN_WAIT2) ||
	    !is_open(state_of(writer.fd), TCP_CLOSE_WAIT))
		return skipped;
	slot = &writer;

	bool fits = has_room(step.b + 1);

	slot = &reader;
	if (!fits)
		return skipped;

	std::atomic<bool> is_awake = false, may_end = false;
	std::atomic<pid_t> task = 0;
	std::string told;
	long got = 0;

	set_time_limit(reader.fd, SO_RCVTIMEO, wake_wait_ms);

	std::thread thread([&] {
		task = gettid();
		told = sleep_at(reader.fd, step.b, got);
		is_awake = true;
		may_end.wait(false);
	});

	while (!is_awake &&
	       !(step.b ? sleeps_in_socket_call(task) : sleeps_in_call(task, SYS_poll)))
		std::this_thread::yield();

	std::string said = rouse(reader, writer, step);

	may_end = true;
	may_end.notify_one();
	thread.join();
	if (got > 0)
		file().read += got;
	set_time_limit(reader.fd, SO_RCVTIMEO, wait_ms);
	return said + ", sleeper " + told;
}

std::string Performer::do_select(const Step &)
{
	fd_set sets[3];
	timeval none = {};

	for (fd_set &set : sets) {
		FD_ZERO(&set);
		FD_SET(fd(), &set);
	}

	int rc = select(fd() + 1, &sets[0], &sets[1], &sets[2], &none);

	if (rc < 0)
		return result_name(rc);
	return result_name(rc) + (FD_ISSET(fd(), &sets[0]) ? " read" : "") +
	       (FD_ISSET(fd(), &sets[1]) ? " write" : "") +
	       (FD_ISSET(fd(), &sets[2]) ? " except" : "");
}

std::string Performer::control_epoll(int operation, const Step &step)
{
	epoll_event event = {uint32_t(step.a), {.u32 = uint32_t(step.slot)}};

	epoll_used = true;
	return result_name(epoll_ctl(epoll, operation, fd(), &event));
}

std::string Performer::do_epoll_add(const Step &step)
{
	return control_epoll(EPOLL_CTL_ADD, step);
}

std::string Performer::do_epoll_mod(const Step &step)
{
	return control_epoll(EPOLL_CTL_MOD, step);
}

std::string Performer::do_epoll_del(const Step &step)
{
	return control_epoll(EPOLL_CTL_DEL, step);
}

std::string Performer::do_epoll_wait(const Step &)
{
	epoll_event events[2 * slots];
	int n = epoll_wait(epoll, events, 2 * slots, 0);
	std::string said = result_name(n);

	std::sort(events, events + std::max(n, 0),
		  [](const auto &one, const auto &other) { return one.data.u32 < other.data.u32; });
	for (int i = 0; i < n; i++)
		said += " " + std::to_string(events[i].data.u32) + ": " +
			epoll_events_name(events[i].events);
	return said;
}

} // namespace differ
