// SPDX-License-Identifier: GPL-2.0
#include "perform.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

#include "performer.h"
#include "system.h"

namespace differ
{

using namespace guest;

namespace
{

/* So many bytes may be unread at one end: neither TCP's window nor an element fills up. */
constexpr uint64_t room = 30000, small_room = 400;

/* Signals since they were last asked for, by their numbers. */
std::atomic<uint64_t> signals;

void on_signal(int number)
{
	signals |= 1ULL << number;
}

void catch_signals()
{
	struct sigaction action = {};

	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	for (int number : {SIGPIPE, SIGURG, SIGIO})
		sigaction(number, &action, nullptr);
	/* One that ends a call which would wait for ever. */
	action.sa_flags = 0;
	sigaction(SIGALRM, &action, nullptr);
	signals = 0;
}

std::string signals_name()
{
	uint64_t raised = signals.exchange(0);
	std::string text;

	for (int number : {SIGPIPE, SIGURG, SIGIO, SIGALRM})
		if (raised & 1ULL << number)
			text += std::string(" SIG") + sigabbrev_np(number);
	return text;
}

} // namespace

void set_time_limit(int fd, int option, int ms)
{
	timeval limit = {ms / 1000, ms % 1000 * 1000};

	setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit));
}

bool Performer::has_room(size_t len) const
{
	const File &one = file();
	uint64_t unread = one.sent - (one.peer ? one.peer->read : 0);
	bool is_small = one.sndbuf_set || one.rcvbuf_set ||
			(one.peer && (one.peer->sndbuf_set || one.peer->rcvbuf_set));

	return unread + len <= (is_small ? small_room : room);
}

void Performer::note_sent(long rc, int flags)
{
	if (rc <= 0)
		return;
	file().sent += rc;
	file().is_refused |= file().peer_gone;
	file().sent_urgent |= flags & MSG_OOB;
}

void Performer::note_addresses(const FilePtr &of, int fd)
{
	of->was_connected = of->is_tuned = true;
	getsockname(fd, of->local.get(), &of->local.len);
	getpeername(fd, of->remote.get(), &of->remote.len);
}

/* The numbers of ports differ; which of them are the same does not. */
std::string Performer::port_name(const Address &address)
{
	int port = address.port();

	if (!port)
		return address.text() + ":0";

	auto found = std::find(ports_seen.begin(), ports_seen.end(), port);

	if (found == ports_seen.end())
		found = ports_seen.insert(found, port);
	return address.text() + ":p" + std::to_string(found - ports_seen.begin());
}

const Performer::Entry Performer::entries[] = {
    {Op::pair, &Performer::do_pair, true},
    {Op::socket, &Performer::do_socket, true},
    {Op::bind, &Performer::do_bind, false},
    {Op::listen, &Performer::do_listen, false},
    {Op::connect, &Performer::do_connect, false},
    {Op::accept, &Performer::do_accept, false},
    {Op::unspec, &Performer::do_unspec, false},
    {Op::shutdown, &Performer::do_shutdown, true},
    {Op::close, &Performer::do_close, true},
    {Op::dup, &Performer::do_dup, true},
    {Op::pass, &Performer::do_pass, true},
    {Op::nonblock, &Performer::do_nonblock, true},
    {Op::async, &Performer::do_async, false},
    {Op::linger, &Performer::do_linger, false},
    {Op::set, &Performer::do_set, false},
    {Op::get, &Performer::do_get, false},
    {Op::names, &Performer::do_names, true},
    {Op::send, &Performer::do_send, false},
    {Op::recv, &Performer::do_recv, false},
    {Op::errqueue, &Performer::do_errqueue, false},
    {Op::sendfile, &Performer::do_sendfile, false},
    {Op::splice_in, &Performer::do_splice_in, false},
    {Op::splice_out, &Performer::do_splice_out, false},
    {Op::fork_send, &Performer::do_fork_send, false},
    {Op::fork_recv, &Performer::do_fork_recv, false},
    {Op::fork_close, &Performer::do_fork_close, true},
    {Op::fill, &Performer::do_fill, false},
    {Op::drain, &Performer::do_drain, true},
    {Op::wake, &Performer::do_wake, false},
    {Op::select, &Performer::do_select, false},
    {Op::epoll_add, &Performer::do_epoll_add, false},
    {Op::epoll_mod, &Performer::do_epoll_mod, false},
    {Op::epoll_del, &Performer::do_epoll_del, false},
    {Op::epoll_wait, &Performer::do_epoll_wait, true},
};

static bool makes_its_slot(Op op)
{
	return op == Op::pair || op == Op::socket || op == Op::epoll_wait;
}

std::string Performer::call(const Step &step)
{
	const Entry &entry = entries[static_cast<int>(step.op)];

	slot = &world.at(step.slot);
	if (!makes_its_slot(step.op) && !slot->file)
		return skipped;
	if (slot->file && slot->file->is_full() && !entry.on_full)
		return skipped;
	return (this->*entry.call)(step);
}

std::string Performer::step(const Step &step)
{
	alarm(scaled(20));

	std::string said = call(step);

	said += world.settle();
	alarm(0);
	return said + signals_name() + world.observe();
}

void Performer::end(Report &report)
{
	for (int i = 0; i < slots; i++)
		if (world.at(i).file)
			report.push_back(step({Op::close, i}));
	report.push_back(world.remains());
}

/*
 * TCP stamps what arrives from a moment after any socket has asked for that. Here one has asked for
 * good, and was answered.
 */
static void have_arrivals_stamped()
{
	static Fd asking;

	if (asking >= 0)
		return;

	Fd listener = must_listen({Kind::tcp, AF_INET}, 1);
	Fd client = must_connect({Kind::tcp, AF_INET},
				 address_from("127.0.0.1", local_address(listener).port()));

	asking = must_accept(listener);
	must_set(asking, SOL_SOCKET, SO_TIMESTAMP, 1);
	wait_until("a time of arrival", [&] {
		alignas(cmsghdr) char control[64];
		char byte = 0;
		iovec piece = {&byte, 1};
		msghdr message = {};

		message.msg_iov = &piece;
		message.msg_iovlen = 1;
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		return send(client, &byte, 1, 0) == 1 && recvmsg(asking, &message, 0) == 1 &&
		       message.msg_controllen;
	});
}

Report perform(const Steps &steps, const Kinds &kinds)
{
	Performer performer(kinds);
	Report report;

	have_arrivals_stamped();
	catch_signals();
	for (const Step &step : steps)
		report.push_back(performer.step(step));
	performer.end(report);
	return report;
}

} // namespace differ
