// SPDX-License-Identifier: GPL-2.0
#include "traffic.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "pattern.h"
#include "socket.h"
#include "system.h"
#include "uring.h"

namespace guest
{

namespace
{

template <typename By>
struct Name {
	By by;
	const char *name;
};

constexpr Name<SendBy> send_names[] = {
    {SendBy::write, "Write"}, {SendBy::writev, "Writev"},     {SendBy::sendmsg, "Sendmsg"},
    {SendBy::more, "More"},   {SendBy::sendfile, "Sendfile"}, {SendBy::splice, "Splice"},
    {SendBy::uring, "Uring"},
};

constexpr Name<RecvBy> recv_names[] = {
    {RecvBy::read, "Read"},	  {RecvBy::readv, "Readv"}, {RecvBy::recvmsg, "Recvmsg"},
    {RecvBy::waitall, "Waitall"}, {RecvBy::peek, "Peek"},   {RecvBy::splice, "Splice"},
    {RecvBy::uring, "Uring"},
};

template <typename By, size_t n>
std::string name_of(const Name<By> (&names)[n], By by)
{
	for (const auto &entry : names)
		if (entry.by == by)
			return entry.name;
	throw std::invalid_argument("no such call");
}

template <typename By, size_t n>
By by_name(const Name<By> (&names)[n], const std::string &name)
{
	for (const auto &entry : names)
		if (entry.name == name)
			return entry.by;
	throw std::invalid_argument("no such call: " + name);
}

/* Divides bytes into pieces of unequal sizes, one of them empty. */
std::vector<iovec> cut(char *bytes, size_t len)
{
	size_t third = len / 3, seventh = len / 7;

	return {{bytes, seventh},
		{bytes + seventh, 0},
		{bytes + seventh, third},
		{bytes + seventh + third, len - seventh - third}};
}

/* Sends one chunk, or a part of it; returns the number of bytes. */
using SendCall = std::function<ssize_t(int fd, char *bytes, size_t len, bool last)>;
using RecvCall = std::function<ssize_t(int fd, char *bytes, size_t len)>;

ssize_t send_by_message(int fd, char *bytes, size_t len, int flags)
{
	std::vector<iovec> pieces = cut(bytes, len);
	msghdr message = {};

	message.msg_iov = pieces.data();
	message.msg_iovlen = pieces.size();
	return sendmsg(fd, &message, flags | MSG_NOSIGNAL);
}

ssize_t recv_by_message(int fd, char *bytes, size_t len, int flags)
{
	std::vector<iovec> pieces = cut(bytes, len);
	msghdr message = {};

	message.msg_iov = pieces.data();
	message.msg_iovlen = pieces.size();
	return recvmsg(fd, &message, flags);
}

SendCall sendfile_caller()
{
	auto file = std::make_shared<Fd>(memfd_create("sendfile", MFD_CLOEXEC));

	if (*file < 0)
		throw_errno("memfd_create");
	/* Use no offset twice: bytes in transit may still be read from the file. */
	return [file, end = off_t(0)](int fd, char *bytes, size_t len, bool) mutable {
		off_t offset = end;

		if (pwrite(*file, bytes, len, offset) != ssize_t(len))
			throw_errno("pwrite to a memfd");
		end += len;
		return sendfile(fd, *file, &offset, len);
	};
}

constexpr size_t pipe_size = 65536;

SendCall splice_sender()
{
	auto pipe = std::make_shared<Pipe>();

	return [pipe](int fd, char *bytes, size_t len, bool last) -> ssize_t {
		ssize_t filled = write(pipe->in, bytes, std::min(len, pipe_size));

		if (filled < 0)
			throw_errno("write to a pipe");
		for (ssize_t done = 0; done < filled;) {
			ssize_t n = splice(pipe->out, nullptr, fd, nullptr, filled - done,
					   last ? 0 : SPLICE_F_MORE);

			/* The bytes in the pipe can't be taken back. */
			if (n < 0 && errno == EAGAIN)
				await(fd, POLLOUT, 120);
			else if (n <= 0)
				return n;
			else
				done += n;
		}
		return filled;
	};
}

RecvCall splice_receiver()
{
	auto pipe = std::make_shared<Pipe>();

	return [pipe](int fd, char *bytes, size_t len) -> ssize_t {
		ssize_t n = splice(fd, nullptr, pipe->in, nullptr, std::min(len, pipe_size), 0);

		for (ssize_t done = 0; done < n;) {
			ssize_t m = read(pipe->out, bytes + done, n - done);

			if (m <= 0)
				throw_errno("read from a pipe");
			done += m;
		}
		return n;
	};
}

/* Checks that the read after a peek returns the bytes that the peek showed. */
ssize_t recv_after_peek(int fd, char *bytes, size_t len)
{
	std::string peeked(len, '\0');
	ssize_t seen = recv(fd, peeked.data(), len, MSG_PEEK);

	if (seen <= 0)
		return seen;

	ssize_t n = recv(fd, bytes, seen, 0);

	if (n != seen)
		throw std::runtime_error("read " + std::to_string(n) + " bytes after a peek at " +
					 std::to_string(seen));
	if (peeked.compare(0, n, bytes, n))
		throw std::runtime_error("a peek showed other bytes than the read");
	return n;
}

ssize_t recv_all(int fd, char *bytes, size_t len)
{
	ssize_t n = recv(fd, bytes, len, MSG_WAITALL);

	if (n > 0 && size_t(n) < len)
		throw std::runtime_error("MSG_WAITALL gave " + std::to_string(n) + " of " +
					 std::to_string(len) + " bytes");
	return n;
}

SendCall sender(SendBy by)
{
	switch (by) {
	case SendBy::write:
		return [](int fd, char *bytes, size_t len, bool) {
			return write(fd, bytes, len);
		};
	case SendBy::writev:
		return [](int fd, char *bytes, size_t len, bool) {
			std::vector<iovec> pieces = cut(bytes, len);

			return writev(fd, pieces.data(), pieces.size());
		};
	case SendBy::sendmsg:
		return [](int fd, char *bytes, size_t len, bool) {
			return send_by_message(fd, bytes, len, 0);
		};
	case SendBy::more:
		return [](int fd, char *bytes, size_t len, bool last) {
			return send_by_message(fd, bytes, len, last ? 0 : MSG_MORE);
		};
	case SendBy::sendfile:
		return sendfile_caller();
	case SendBy::splice:
		return splice_sender();
	case SendBy::uring: {
		auto ring = std::make_shared<Uring>();

		return [ring](int fd, char *bytes, size_t len, bool) {
			return ring->send(fd, bytes, len);
		};
	}
	}
	throw std::invalid_argument("no such call");
}

RecvCall receiver(RecvBy by)
{
	switch (by) {
	case RecvBy::read:
		return [](int fd, char *bytes, size_t len) {
			return read(fd, bytes, len);
		};
	case RecvBy::readv:
		return [](int fd, char *bytes, size_t len) {
			std::vector<iovec> pieces = cut(bytes, len);

			return readv(fd, pieces.data(), pieces.size());
		};
	case RecvBy::recvmsg:
		return [](int fd, char *bytes, size_t len) {
			return recv_by_message(fd, bytes, len, 0);
		};
	case RecvBy::waitall:
		return recv_all;
	case RecvBy::peek:
		return recv_after_peek;
	case RecvBy::splice:
		return splice_receiver();
	case RecvBy::uring: {
		auto ring = std::make_shared<Uring>();

		return [ring](int fd, char *bytes, size_t len) {
			return ring->recv(fd, bytes, len);
		};
	}
	}
	throw std::invalid_argument("no such call");
}

/* Repeats a call; waits if a non-blocking socket is not ready. */
template <typename Call>
ssize_t retried(int fd, short event, const std::string &what, const Call &call)
{
	for (;;) {
		ssize_t n = call();

		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			throw_errno(what);
		await(fd, event, 120);
	}
}

std::string at(const std::string &what, uint64_t done, const Flow &flow)
{
	return what + " after " + std::to_string(done) + " of " + std::to_string(flow.bytes) +
	       " bytes of flow " + std::to_string(flow.seed);
}

} // namespace

std::string to_string(SendBy by)
{
	return name_of(send_names, by);
}

std::string to_string(RecvBy by)
{
	return name_of(recv_names, by);
}

std::string serialize(const Flow &flow)
{
	std::ostringstream text;

	text << flow.seed << ' ' << flow.bytes << ' ' << flow.position << ' ' << flow.max_chunk
	     << ' ' << to_string(flow.send_by) << ' ' << to_string(flow.recv_by);
	return text.str();
}

Flow flow_from(const std::string &text)
{
	std::istringstream words(text);
	std::string send_by, recv_by;
	Flow flow;

	words >> flow.seed >> flow.bytes >> flow.position >> flow.max_chunk >> send_by >> recv_by;
	flow.send_by = by_name(send_names, send_by);
	flow.recv_by = by_name(recv_names, recv_by);
	return flow;
}

void send_flow(int fd, const Flow &flow)
{
	RandomLength length(flow.seed ^ 0x5e4d, flow.max_chunk);
	SendCall call = sender(flow.send_by);
	std::string bytes(flow.max_chunk, '\0');

	for (uint64_t done = 0; done < flow.bytes;) {
		size_t len = std::min<uint64_t>(length(), flow.bytes - done);

		pattern_fill(flow.seed, flow.position + done, bytes.data(), len);
		done += retried(fd, POLLOUT, at("send", done, flow), [&] {
			return call(fd, bytes.data(), len, done + len == flow.bytes);
		});
	}
}

void recv_flow(int fd, const Flow &flow)
{
	RandomLength length(flow.seed ^ 0x4ecf, flow.max_chunk);
	RecvCall call = receiver(flow.recv_by);
	std::string bytes(flow.max_chunk, '\0');

	for (uint64_t done = 0; done < flow.bytes;) {
		size_t len = std::min<uint64_t>(length(), flow.bytes - done);
		size_t n = retried(fd, POLLIN, at("receive", done, flow),
				   [&] { return call(fd, bytes.data(), len); });

		if (!n)
			throw std::runtime_error(at("end of stream", done, flow));
		if (n > len)
			throw std::runtime_error(at("more than asked for", done, flow));

		size_t good = pattern_mismatch(flow.seed, flow.position + done, bytes.data(), n);

		if (good < n)
			throw std::runtime_error(at("wrong byte", done + good, flow));
		done += n;
	}
}

void exchange_flows(int fd, const Flow &out, const Flow &in)
{
	std::string sending, receiving;
	/* If one direction fails, the other one must not wait for ever. */
	auto guarded = [fd](std::string &failure, auto &&transfer) {
		try {
			transfer();
		} catch (const std::exception &error) {
			failure = error.what();
			shutdown(fd, SHUT_RDWR);
		}
	};
	std::thread thread([&] { guarded(sending, [&] { send_flow(fd, out); }); });

	guarded(receiving, [&] { recv_flow(fd, in); });
	thread.join();
	if (!sending.empty() || !receiving.empty())
		throw std::runtime_error("sending: " + sending + "; receiving: " + receiving);
}

void expect_end(int fd)
{
	char byte;

	if (retried(fd, POLLIN, "receive at the end", [&] { return recv(fd, &byte, 1, 0); }))
		throw std::runtime_error("a byte after the last");
}

namespace
{

/* Sends back all bytes, and calls @look with each part of them first. Returns their number. */
uint64_t echo_all(int fd, size_t max_chunk, const std::function<void(const char *, size_t)> &look)
{
	std::string bytes(max_chunk, '\0');
	uint64_t total = 0;
	size_t n;

	while ((n = retried(fd, POLLIN, "receive to echo",
			    [&] { return recv(fd, bytes.data(), bytes.size(), 0); }))) {
		look(bytes.data(), n);
		for (size_t done = 0; done < n;)
			done += retried(fd, POLLOUT, "echo", [&] {
				return send(fd, bytes.data() + done, n - done, MSG_NOSIGNAL);
			});
		total += n;
	}
	shutdown(fd, SHUT_WR);
	return total;
}

} // namespace

uint64_t echo(int fd, size_t max_chunk)
{
	return echo_all(fd, max_chunk, [](const char *, size_t) {});
}

uint64_t echo_pattern(int fd, uint64_t seed)
{
	uint64_t position = 0;
	std::string wrong;

	try {
		echo_all(fd, 65536, [&](const char *bytes, size_t n) {
			if (wrong.empty())
				wrong = pattern_fault(seed, position, bytes, n);
			position += n;
		});
	} catch (const std::exception &error) {
		if (wrong.empty())
			throw;
		throw std::runtime_error(wrong + "; " + error.what());
	}
	if (!wrong.empty())
		throw std::runtime_error(wrong);
	return position;
}

} // namespace guest
