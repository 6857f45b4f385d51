// SPDX-License-Identifier: GPL-2.0
/* Steps that make, share and end connections. */
#include "performer.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "child.h"
#include "control.h"
#include "names.h"
#include "system.h"

namespace differ
{

using namespace guest;

std::string Performer::do_pair(const Step &step)
{
	if (!is_free(step.slot) || !is_free(step.a) || step.slot == step.a)
		return skipped;

	Fd listener = make_on(step.a, [&](const Flavor &flavor) { return must_listen(flavor, 1); });
	Address to = address_on(side_of(step.a), kinds.family, local_address(listener).port());
	Fd client =
	    make_on(step.slot, [&](const Flavor &flavor) { return must_connect(flavor, to); });
	Fd server = must_accept(listener);

	for (int end : {int(client), int(server)}) {
		set_time_limit(end, SO_RCVTIMEO, wait_ms);
		set_time_limit(end, SO_SNDTIMEO, wait_ms);
	}

	FilePtr here = world.adopt(step.slot, side_of(step.slot), client.release());
	FilePtr there = world.adopt(step.a, side_of(step.a), server.release());

	note_addresses(here, world.at(step.slot).fd);
	note_addresses(there, world.at(step.a).fd);
	world.join(here, there);
	return "ok";
}

std::string Performer::do_socket(const Step &step)
{
	if (!is_free(step.slot))
		return skipped;

	Fd opened = make_on(step.slot,
			    [&](const Flavor &flavor) { return Fd(open_socket(flavor, step.a)); });
	int made = opened.release();

	if (made < 0)
		return result_name(-1);
	world.adopt(step.slot, side_of(step.slot), made);
	set_time_limit(made, SO_RCVTIMEO, wait_ms);
	set_time_limit(made, SO_SNDTIMEO, connect_wait_ms);
	return "ok";
}

std::string Performer::do_bind(const Step &step)
{
	Address to = address_on(file().side, kinds.family, world.port[step.a]);
	int rc = bind(fd(), to.get(), to.len);
	std::string said = result_name(rc);

	if (!rc) {
		file().port = local_address(fd()).port();
		if (!world.port[step.a])
			world.port[step.a] = file().port;
	}
	return said;
}

std::string Performer::do_listen(const Step &step)
{
	int rc = listen(fd(), step.a);
	std::string said = result_name(rc);

	if (!rc) {
		file().backlog = step.a;
		file().port = local_address(fd()).port();
	}
	return said;
}

std::string Performer::do_connect(const Step &step)
{
	int port = world.port[step.a] ?: 1;
	int side = side_beyond(file().side);
	FilePtr listener = world.listener_at(side, port);
	Address to = address_on(side, kinds.family, port);

	/* TCP's queue takes one more than the backlog, but tells of that by a time-out only. */
	if (listener && int(listener->waiting.size()) >= listener->backlog)
		return skipped;

	bool fresh = !file().was_connected && !file().connecting;
	int rc = connect(fd(), to.get(), to.len);
	int error = errno;
	std::string said = result_name(rc);

	if (rc && error != EINPROGRESS)
		return said;
	bool is_own = side == file().side && port == file().port;

	if (fresh && (listener || is_own)) {
		file().sent = file().read = 0;
		file().peer_gone = file().is_refused = false;
		file().connecting = rc;
		if (listener)
			listener->waiting.push_back(slot->file);
		else
			file().peer = slot->file;
	}
	if (rc)
		said += world.settle();
	note_addresses(slot->file, fd());
	set_time_limit(fd(), SO_SNDTIMEO, wait_ms);
	return said;
}

std::string Performer::do_accept(const Step &step)
{
	Address from;

	if (!is_free(step.a))
		return skipped;

	int made = accept4(fd(), from.get(), &from.len, step.b);

	if (made < 0)
		return result_name(made);

	FilePtr listener = slot->file;
	FilePtr child = world.adopt(step.a, listener->side, made);
	std::string said = "from " + port_name(from) + " flags " +
			   socket_flags_name(fcntl(made, F_GETFL) & O_NONBLOCK);

	note_addresses(child, made);
	child->remote = from;
	child->sndbuf_set = listener->sndbuf_set;
	child->rcvbuf_set = listener->rcvbuf_set;
	set_time_limit(made, SO_SNDTIMEO, wait_ms);
	if (!listener->waiting.empty()) {
		world.join(listener->waiting.front(), child);
		listener->waiting.pop_front();
	}
	return said;
}

std::string Performer::disconnect()
{
	sockaddr_storage none = {};
	int rc = connect(fd(), reinterpret_cast<sockaddr *>(&none), sizeof(sockaddr_in6));
	std::string said = result_name(rc);

	if (!rc) {
		world.leave(file());
		file().peer = nullptr;
		file().connecting = false;
		/* The other end tells what has become of the connection. */
		file().was_connected = false;
		set_time_limit(fd(), SO_SNDTIMEO, connect_wait_ms);
	}
	return said;
}

std::string Performer::do_unspec(const Step &)
{
	return disconnect();
}

std::string Performer::do_shutdown(const Step &step)
{
	/* The effect would depend on whether the end that waits for room has arrived. */
	if (file().is_full_and_ends())
		return skipped;

	int rc = shutdown(fd(), step.a);
	std::string said = result_name(rc);

	file().ends_full |= !rc && file().is_full();
	if (!rc && file().is_listening() && step.a != SHUT_WR)
		world.leave(file());
	return said;
}

std::string Performer::do_close(const Step &step)
{
	return result_name(world.close(step.slot));
}

/* Of a process that ends nothing lingers. */
std::string Performer::do_fork_close(const Step &step)
{
	std::string said;

	after_fork([&] { said = result_name(world.close(step.slot)); });
	return said;
}

std::string Performer::do_dup(const Step &step)
{
	if (!is_free(step.a))
		return skipped;

	int copy = dup(fd());

	if (copy < 0)
		return result_name(-1);
	world.at(step.a).fd = Fd(copy);
	world.at(step.a).file = slot->file;
	file().slots++;
	return "ok";
}

std::string Performer::do_pass(const Step &)
{
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
	char byte = 'x';
	iovec piece = {&byte, 1};
	msghdr message = {};
	int pair[2], passed = fd();

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		throw_errno("socketpair");

	Fd from(pair[0]), to(pair[1]);

	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	put_control(message, SCM_RIGHTS, &passed, sizeof(passed));
	if (sendmsg(from, &message, 0) != 1)
		return result_name(-1);
	slot->fd.close();
	if (recvmsg(to, &message, 0) != 1)
		throw_errno("recvmsg of a descriptor");
	memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(passed));
	slot->fd = Fd(passed);
	return "ok";
}

} // namespace differ
