// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include <chrono>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <thread>

#include "full.h"
#include "names.h"
#include "system.h"
#include "tcp_diag.h"

namespace differ
{

using namespace guest;

namespace
{

/* Seconds. Effects come within microseconds; a kernel that has lost one needs a limit. */
constexpr int patience = 5;

/* Look again and again, hardly ever more than once. Return: whether it holds. */
template <class Condition>
bool comes_true(Condition condition)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(scaled(patience));

	while (!condition()) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(std::chrono::microseconds(200));
	}
	return true;
}

std::string amount(int fd, unsigned long what)
{
	int value = 0;

	return result_name(ioctl(fd, what, &value) ? -1 : value);
}

int unacknowledged(int fd)
{
	int value = 0;

	return ioctl(fd, SIOCOUTQ, &value) ? 0 : value;
}

/* TCP's receiver may hold an acknowledgement back; this has it sent. */
void acknowledge(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

bool is_passing(int state)
{
	return state == TCP_FIN_WAIT1 || state == TCP_CLOSING || state == TCP_LAST_ACK;
}

} // namespace

short events_of(int fd)
{
	pollfd one = {fd, 0x7fff & ~(POLLERR | POLLHUP | POLLNVAL), 0};

	return poll(&one, 1, 0) > 0 ? one.revents : 0;
}

int state_of(int fd)
{
	unsigned char state = 0;
	socklen_t len = sizeof(state);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &len) ? 0 : state;
}

World::~World()
{
	/* Nothing of it is to be left, neither at the other end nor in TIME_WAIT's place. */
	for (Slot &slot : all)
		if (slot.file)
			close(&slot - all.data());
	for (const FilePtr &file : files)
		file->peer = nullptr;
}

FilePtr World::adopt(int slot, int side, int fd)
{
	FilePtr file = std::make_shared<File>(side);

	files.push_back(file);
	all[slot] = {Fd(fd), file};
	return file;
}

int World::fd_of(const File &file) const
{
	for (const Slot &slot : all)
		if (slot.file.get() == &file)
			return slot.fd;
	return -1;
}

void World::join(const FilePtr &client, const FilePtr &server)
{
	server->peer = client;
	server->was_connected = true;
	server->peer_gone = !client->slots || client->peer_gone;
	if (client->slots && !client->peer_gone)
		client->peer = server;
}

void World::leave(File &file)
{
	/* They are reset. */
	for (const FilePtr &client : file.waiting)
		client->peer_gone = true;
	file.waiting.clear();
	file.backlog = -1;
	if (file.peer)
		file.peer->peer_gone = true;
}

int World::close(int slot)
{
	Slot gone = std::move(all[slot]);

	if (!--gone.file->slots)
		leave(*gone.file);
	return gone.fd.close();
}

FilePtr World::listener_at(int side, int wanted)
{
	for (const Slot &slot : all)
		if (slot.file && slot.file->is_listening() && slot.file->side == side &&
		    slot.file->port == wanted)
			return slot.file;
	return nullptr;
}

/* TCP's reset, which is another signal, comes after the stream's. */
static bool has_seen_reset(const File &file)
{
	if (!file.was_connected)
		return true;

	switch (diag_state(file.side, file.local, file.remote)) {
	case TCP_ESTABLISHED:
	case TCP_FIN_WAIT2:
	case TCP_CLOSE_WAIT:
		return false;
	default:
		/* Among them LISTEN, of a listener with that port. */
		return true;
	}
}

/* The other end of a connection that still is one; or -1. */
int World::peer_fd_of(const File &file) const
{
	return file.peer && file.peer->peer.get() == &file ? fd_of(*file.peer) : -1;
}

/* The peer was closed, or has shut its direction, which is acknowledged. */
bool World::is_to_see_end(const File &file) const
{
	return file.peer_gone || state_of(peer_fd_of(file)) == TCP_FIN_WAIT2;
}

/* A stream's end can be seen by TCP_INFO before TCP's FIN has come, and next this end may close. */
bool World::has_seen_end(const File &file)
{
	for (int state : {state_of(fd_of(file)), diag_state(file.side, file.local, file.remote)})
		if (state == TCP_ESTABLISHED || state == TCP_FIN_WAIT2)
			return false;
	return true;
}

/*
 * An acknowledgement by RDMA says that the bytes are in the peer's memory: the peer learns of them
 * next, and may be reset by that, which then comes to @file, too. @file is not closed.
 */
bool World::has_arrived(const File &file) const
{
	int peer = peer_fd_of(file);

	if (peer < 0)
		return true;

	TcpInfo info = tcp_info_of(peer);

	return info.state != TCP_CLOSE && info.received >= file.sent;
}

bool World::is_settled(File &file)
{
	int fd = fd_of(file);

	if (fd < 0 || file.is_full())
		return true;
	if (file.connecting) {
		if (!(events_of(fd) & (POLLOUT | POLLERR | POLLHUP)))
			return false;
		file.connecting = false;
	}
	if (file.is_listening())
		return file.waiting.empty() || (events_of(fd) & POLLIN);

	int state = state_of(fd);

	if (is_passing(state) || (is_to_see_end(file) && !has_seen_end(file)))
		return false;
	/* The stream's end can be seen by TCP_INFO before TCP's reset has come. */
	if (state == TCP_CLOSE)
		return (events_of(fd) & POLLHUP) && has_seen_reset(file);
	if (!unacknowledged(fd))
		return !file.is_refused && has_arrived(file);
	if (file.peer && fd_of(*file.peer) >= 0)
		acknowledge(fd_of(*file.peer));
	return false;
}

std::string World::settle()
{
	std::string late;

	for (const FilePtr &file : files)
		if (!comes_true([&] { return is_settled(*file); })) {
			int fd = fd_of(*file);

			late += " UNSETTLED " + state_name(state_of(fd)) +
				" out=" + std::to_string(unacknowledged(fd));
		}
	return late;
}

std::string World::observe()
{
	std::string seen;

	for (int i = 0; i < slots; i++) {
		int fd = all[i].fd;

		/* Of a connection that is full, timing decides what is where. */
		if (fd < 0 || all[i].file->is_full() || fd_of(*all[i].file) != fd)
			continue;

		int state = state_of(fd);

		seen += "\n\t" + std::to_string(i) + ": " + poll_events_name(events_of(fd)) + " " +
			state_name(state) + " in=" + amount(fd, SIOCINQ) +
			" mark=" + amount(fd, SIOCATMARK);
		/* In a socket that is closed TCP leaves whatever its sequence numbers were. */
		if (state != TCP_CLOSE)
			seen += " out=" + amount(fd, SIOCOUTQ);
	}
	return seen;
}

std::string World::remains()
{
	std::string seen;

	for (const FilePtr &file : files) {
		int state = 0;

		if (!file->was_connected || file->slots)
			continue;
		if (!comes_true([&] {
			    state = diag_state(file->side, file->local, file->remote);
			    /* The FIN of an end that was closed is still to come. */
			    return state == 0 || state == TCP_TIME_WAIT ||
				   (state == TCP_FIN_WAIT2 && !file->peer) || file->is_full();
		    }))
			seen += " UNSETTLED";
		if (!file->is_full())
			seen += " " + state_name(state);
	}
	return seen;
}

} // namespace differ
