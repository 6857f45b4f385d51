// SPDX-License-Identifier: GPL-2.0
/* Steps that send and receive. */
#include "performer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bytes.h"
#include "child.h"
#include "names.h"
#include "option.h"
#include "system.h"
#include "uring.h"

namespace differ
{

using namespace guest;

/* A vector of three pieces. */
static std::array<iovec, 3> pieces_of(char *bytes, size_t len)
{
	size_t first = len / 3, second = std::min<size_t>(len - first, 1);

	return {iovec{bytes, first}, iovec{bytes + first, second},
		iovec{bytes + first + second, len - first - second}};
}

static Uring &the_ring()
{
	static Uring ring;

	return ring;
}

/* Memory that is not there. */
static void *nowhere()
{
	return reinterpret_cast<void *>(8);
}

/* The pieces as two messages. */
static std::array<mmsghdr, 2> messages_of(std::array<iovec, 3> &pieces)
{
	std::array<mmsghdr, 2> messages = {};

	messages[0].msg_hdr.msg_iov = &pieces[0];
	messages[0].msg_hdr.msg_iovlen = 2;
	messages[1].msg_hdr.msg_iov = &pieces[2];
	messages[1].msg_hdr.msg_iovlen = 1;
	return messages;
}

/* As sendmmsg() and recvmmsg() say it. Return: bytes, or -1. */
static long bytes_of(const std::array<mmsghdr, 2> &messages, int count, std::string &said)
{
	long total = 0;

	said = result_name(count);
	for (int i = 0; i < count; i++) {
		said += " " + std::to_string(messages[i].msg_len);
		total += messages[i].msg_len;
	}
	return count < 0 ? -1 : total;
}

std::string Performer::do_send(const Step &step)
{
	std::string bytes = bytes_at(file().sent, step.a);
	auto pieces = pieces_of(bytes.data(), bytes.size());
	auto messages = messages_of(pieces);
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
	msghdr message = {};
	int flags = step.b;
	std::string said;
	long rc = -1;

	if (!has_room(step.a))
		return skipped;
	message.msg_iov = pieces.data();
	message.msg_iovlen = pieces.size();
	switch (step.c) {
	case by_call:
		rc = send(fd(), bytes.data(), bytes.size(), flags);
		break;
	case by_rw:
		flags = 0;
		rc = write(fd(), bytes.data(), bytes.size());
		break;
	case by_vector:
		flags = 0;
		rc = writev(fd(), pieces.data(), pieces.size());
		break;
	case by_msg:
		rc = sendmsg(fd(), &message, flags);
		break;
	case by_uring:
		flags = 0;
		rc = the_ring().send(fd(), bytes.data(), bytes.size());
		break;
	case by_many:
		/* The reset that the first message may bring comes before the second, or after. */
		if (state_of(fd()) == TCP_CLOSE_WAIT)
			return skipped;
		rc = bytes_of(messages, sendmmsg(fd(), messages.data(), 2, flags), said);
		break;
	case by_fault:
		rc = send(fd(), nowhere(), bytes.size(), flags);
		break;
	case by_control:
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		CMSG_FIRSTHDR(&message)->cmsg_len = CMSG_LEN(sizeof(int));
		CMSG_FIRSTHDR(&message)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&message)->cmsg_type = no_such_option;
		rc = sendmsg(fd(), &message, flags);
		break;
	}
	if (said.empty())
		said = result_name(rc);
	note_sent(rc, flags);
	return said;
}

/* The control messages of @message, with what they say where that does not vary. */
static std::string control_name(const msghdr &message)
{
	std::string text;

	for (cmsghdr *one = CMSG_FIRSTHDR(&message); one;
	     one = CMSG_NXTHDR(const_cast<msghdr *>(&message), one)) {
		text += " cmsg " + std::to_string(one->cmsg_level) + "/" +
			std::to_string(one->cmsg_type) + " len " + std::to_string(one->cmsg_len);
		if (one->cmsg_level == SOL_TCP && one->cmsg_type == TCP_CM_INQ) {
			int value;

			memcpy(&value, CMSG_DATA(one), sizeof(value));
			text += " inq " + std::to_string(value);
		}
	}
	return text;
}

std::string Performer::do_recv(const Step &step)
{
	std::string bytes(step.a, '.');
	auto pieces = pieces_of(bytes.data(), bytes.size());
	alignas(cmsghdr) char control[512];
	msghdr message = {};
	auto messages = messages_of(pieces);
	int flags = step.b;
	std::string said;
	long rc = -1;

	message.msg_iov = pieces.data();
	message.msg_iovlen = pieces.size();
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	switch (step.c) {
	case by_call:
		rc = recv(fd(), bytes.data(), bytes.size(), flags);
		break;
	case by_rw:
		flags = 0;
		rc = read(fd(), bytes.data(), bytes.size());
		break;
	case by_vector:
		flags = 0;
		rc = readv(fd(), pieces.data(), pieces.size());
		break;
	case by_msg:
		rc = recvmsg(fd(), &message, flags);
		break;
	case by_uring:
		/* It waits without a limit, unless there is something. */
		if (!(events_of(fd()) & (POLLIN | POLLERR | POLLHUP)) || !step.a)
			return skipped;
		flags = 0;
		rc = the_ring().recv(fd(), bytes.data(), bytes.size());
		break;
	case by_many:
		rc = bytes_of(messages, recvmmsg(fd(), messages.data(), 2, flags, nullptr), said);
		break;
	case by_fault:
		rc = recv(fd(), nowhere(), bytes.size(), flags);
		break;
	case by_control:
		message.msg_controllen = 4;
		rc = recvmsg(fd(), &message, flags);
		break;
	}
	if (said.empty())
		said = result_name(rc);
	if (rc >= 0) {
		said += " " + shown(bytes);
		if (step.c == by_msg || step.c == by_control)
			said += " " + recv_flags_name(message.msg_flags) + control_name(message);
	}
	if (rc > 0 && !(flags & (MSG_PEEK | MSG_OOB)))
		file().read += rc;
	return said;
}

std::string Performer::do_errqueue(const Step &)
{
	alignas(cmsghdr) char control[512];
	msghdr message = {};

	message.msg_control = control;
	message.msg_controllen = sizeof(control);

	long rc = recvmsg(fd(), &message, MSG_ERRQUEUE | MSG_DONTWAIT);

	if (rc < 0)
		return result_name(rc);

	std::string said = result_name(rc) + " " + recv_flags_name(message.msg_flags);

	for (cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
		sock_extended_err error;

		said += " cmsg " + std::to_string(one->cmsg_level) + "/" +
			std::to_string(one->cmsg_type);
		if (one->cmsg_level == SOL_SOCKET)
			continue;
		memcpy(&error, CMSG_DATA(one), sizeof(error));
		said += " errno " + std::to_string(error.ee_errno) + " origin " +
			std::to_string(error.ee_origin) + " type " + std::to_string(error.ee_type) +
			" code " + std::to_string(error.ee_code) + " info " +
			std::to_string(error.ee_info) + " data " + std::to_string(error.ee_data);
	}
	return said;
}

std::string Performer::do_sendfile(const Step &step)
{
	if (!has_room(step.a))
		return skipped;

	Fd of(memfd_create("differ", MFD_CLOEXEC));
	std::string bytes = bytes_at(file().sent, step.a);
	off_t from = 0;

	if (write(of, bytes.data(), bytes.size()) != ssize_t(bytes.size()))
		throw_errno("memfd");

	long rc = sendfile(fd(), of, &from, step.a);
	std::string said = result_name(rc) + " offset " + std::to_string(from);

	note_sent(rc);
	return said;
}

std::string Performer::do_splice_in(const Step &step)
{
	if (!has_room(step.a) || step.a > 60000)
		return skipped;

	Pipe pipe;
	std::string bytes = bytes_at(file().sent, step.a);

	if (write(pipe.in, bytes.data(), bytes.size()) != ssize_t(bytes.size()))
		throw_errno("pipe");

	long rc = splice(pipe.out, nullptr, fd(), nullptr, step.a, step.b);
	std::string said = result_name(rc);

	note_sent(rc);
	return said;
}

/* The bytes of one call depend on TCP's segments, so several calls take all that are there. */
std::string Performer::do_splice_out(const Step &step)
{
	Pipe pipe;
	std::string bytes, part(65536, '\0');
	long rc, error = 0;

	do {
		rc = splice(fd(), nullptr, pipe.in, nullptr, step.a - bytes.size(), step.b);
		error = errno;
		if (rc > 0)
			bytes.append(part.data(), read(pipe.out, part.data(), rc));
	} while (rc > 0 && bytes.size() < size_t(step.a) && (events_of(fd()) & POLLIN));
	file().read += bytes.size();
	errno = error;
	if (bytes.empty())
		return result_name(rc);
	return std::to_string(bytes.size()) + " " + shown(bytes);
}

std::string Performer::do_fork_send(const Step &step)
{
	if (!has_room(step.a))
		return skipped;

	std::string bytes = bytes_at(file().sent, step.a);
	long rc =
	    in_child([&] { return send(fd(), bytes.data(), bytes.size(), step.b | MSG_NOSIGNAL); });
	std::string said = result_name(rc);

	note_sent(rc, step.b);
	return said;
}

std::string Performer::do_fork_recv(const Step &step)
{
	SharedBytes bytes(step.a);
	long rc = in_child([&] { return recv(fd(), bytes.data, step.a, step.b); });

	if (rc < 0)
		return result_name(rc);
	if (!(step.b & (MSG_PEEK | MSG_OOB)))
		file().read += rc;
	return result_name(rc) + " " + shown(std::string(bytes.data, step.a));
}

/* The number of bytes depends on sizes of buffers. All of them arrive in any case. */
std::string Performer::do_fill(const Step &)
{
	constexpr size_t part = 16384;
	long rc;

	if (!file().peer || file().peer == slot->file || file().peer_gone || !file().peer->slots ||
	    file().is_full() || file().sent_urgent || file().peer->sent_urgent || epoll_used ||
	    state_of(fd()) != TCP_ESTABLISHED)
		return skipped;
	do {
		std::string bytes = bytes_at(file().sent, part);

		rc = send(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
		note_sent(rc);
	} while (rc > 0);
	file().full = true;
	return result_name(rc);
}

std::string Performer::do_drain(const Step &)
{
	FilePtr peer = file().peer;
	std::string bytes(65536, '\0'), last;
	int tries = 0;

	if (!peer || !peer->full)
		return skipped;
	/* An end that is still to come ends the wait for bytes; so does that of all patience. */
	while (file().read < peer->sent && tries < 500) {
		size_t left = std::min<uint64_t>(peer->sent - file().read, bytes.size());
		long rc = recv(fd(), bytes.data(), left, 0);

		if (rc < 0 && errno == EAGAIN) {
			tries++;
			poll(nullptr, 0, 1);
			continue;
		}
		last = result_name(rc);
		if (rc <= 0)
			break;
		if (bytes.compare(0, rc, bytes_at(file().read, rc)))
			return "wrong bytes";
		file().read += rc;
		last = "";
	}
	peer->full = false;
	return file().read == peer->sent ? "all" : "some are missing, then " + last;
}

} // namespace differ
