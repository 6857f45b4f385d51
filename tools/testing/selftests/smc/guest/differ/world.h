/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sockets of a sequence that runs, and what is known of both ends of their connections: enough
 * to keep a step from waiting for ever, and to wait until a step has had its effect at the other
 * end.
 */
#ifndef DIFFER_WORLD_H
#define DIFFER_WORLD_H

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "socket.h"
#include "step.h"

namespace differ
{

/* An open socket, which several slots may name. */
struct File {
	explicit File(int side) : side(side)
	{
	}

	const int side;
	int slots = 1; /* that name it; none: it was closed */
	bool connecting = false;
	bool was_connected = false;
	bool is_tuned = false;	 /* by TCP, as it has ever been connected */
	bool peer_gone = false;	 /* closed, or disconnected: that can be seen here */
	bool is_refused = false; /* bytes left for a peer that is gone, which resets this end */
	bool full = false;	 /* its sent bytes do not all fit into the peer */
	bool ends_full = false;	 /* likewise, and it has shut a direction */
	bool sent_urgent = false;
	bool sndbuf_set = false, rcvbuf_set = false;
	uint64_t sent = 0, read = 0; /* bytes of this connection */
	std::shared_ptr<File> peer;
	/* Of a listener; else the backlog is -1. */
	int backlog = -1, port = 0;
	std::deque<std::shared_ptr<File>> waiting;
	guest::Address local, remote;

	bool is_listening() const
	{
		return backlog >= 0;
	}
	bool is_full_and_ends() const
	{
		return ends_full || (peer && peer->ends_full);
	}
	bool is_full() const
	{
		return full || (peer && peer->full);
	}
};

using FilePtr = std::shared_ptr<File>;

struct Slot {
	guest::Fd fd;
	FilePtr file;
};

class World
{
public:
	explicit World(int family) : family(family)
	{
	}
	World(const World &) = delete;
	~World();

	Slot &at(int slot)
	{
		return all[slot];
	}
	/* A socket that has just been made on @side belongs to @slot from now on. */
	FilePtr adopt(int slot, int side, int fd);
	/* Both ends know each other. */
	void join(const FilePtr &client, const FilePtr &server);
	/* @file has ended its connection, or has stopped listening. */
	void leave(File &file);
	/* Return: as close(). */
	int close(int slot);
	/* The listener that a connection to @port of @side reaches; null if there is none. */
	FilePtr listener_at(int side, int port);
	/* Of any slot that names @file. */
	int fd_of(const File &file) const;

	/*
	 * Wait until what was done has arrived where it is to have an effect. Return: what has not
	 * after some seconds; "" if all has.
	 */
	std::string settle();
	/* Return: a line for each socket, with what it says of itself. */
	std::string observe();
	/* TCP's states of all connections there have been, of sockets that are closed. */
	std::string remains();

	const int family;
	std::array<int, ports> port = {};

private:
	int peer_fd_of(const File &file) const;
	bool is_to_see_end(const File &file) const;
	bool has_seen_end(const File &file);
	bool has_arrived(const File &file) const;
	bool is_settled(File &file);

	std::array<Slot, slots> all;
	std::vector<FilePtr> files;
};

/* The events that poll() has of @fd now. */
short events_of(int fd);
/* By TCP_INFO. */
int state_of(int fd);

} // namespace differ

#endif
