// SPDX-License-Identifier: GPL-2.0
/* Steps that set something of a socket, or ask for it. */
#include "performer.h"

#include <algorithm>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "bytes.h"
#include "names.h"
#include "option.h"

namespace differ
{

using namespace guest;

std::string Performer::do_nonblock(const Step &step)
{
	int flags = fcntl(fd(), F_GETFL);

	return result_name(fcntl(fd(), F_SETFL, step.a ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

std::string Performer::do_async(const Step &step)
{
	int flags = fcntl(fd(), F_GETFL);

	/* The signal may interrupt the connect() that causes it. */
	if (!file().was_connected)
		return skipped;
	if (fcntl(fd(), F_SETOWN, getpid()))
		return result_name(-1);
	return result_name(fcntl(fd(), F_SETFL, step.a ? flags | O_ASYNC : flags & ~O_ASYNC));
}

std::string Performer::do_linger(const Step &step)
{
	linger value = {step.a, step.b};

	return result_name(setsockopt(fd(), SOL_SOCKET, SO_LINGER, &value, sizeof(value)));
}

static bool is_stamp_option(int level, int option)
{
	return level == SOL_SOCKET &&
	       (option == SO_TIMESTAMP || option == SO_TIMESTAMPNS || option == SO_TIMESTAMPING);
}

std::string Performer::do_set(const Step &step)
{
	timeval limit = {0, step.c * 1000};
	bool is_time = step.a == SOL_SOCKET && (step.b == SO_RCVTIMEO || step.b == SO_SNDTIMEO);
	int rc;

	/* TCP knows when bytes arrived that were there before, if another socket has asked. */
	if (is_stamp_option(step.a, step.b) && file().peer && file().peer->sent != file().read)
		return skipped;
	if (is_time)
		rc = setsockopt(fd(), step.a, step.b, &limit, sizeof(limit));
	else
		rc = setsockopt(fd(), step.a, step.b, &step.c, sizeof(step.c));
	if (!rc && step.a == SOL_SOCKET) {
		file().sndbuf_set |= step.b == SO_SNDBUF;
		file().rcvbuf_set |= step.b == SO_RCVBUF;
	}
	return result_name(rc);
}

/* TCP changes it as bytes flow. */
bool Performer::is_tuned(const Step &step) const
{
	if (!file().is_tuned)
		return false;
	if (step.a == IPPROTO_TCP)
		return step.b == TCP_MAXSEG;
	return step.a == SOL_SOCKET && ((step.b == SO_SNDBUF && !file().sndbuf_set) ||
					(step.b == SO_RCVBUF && !file().rcvbuf_set));
}

std::string Performer::do_get(const Step &step)
{
	const Option *option = find_option(step.a, step.b);
	std::string value(64, '\0');
	socklen_t len = std::min<size_t>(step.c, value.size());
	int rc = getsockopt(fd(), step.a, step.b, value.data(), &len);
	std::string said = result_name(rc);

	if (rc || !option || option->varies)
		return said;
	if (is_tuned(step))
		return said;
	value.resize(len);
	return said + " " + hex(value);
}

std::string Performer::do_names(const Step &)
{
	Address own, peer;
	std::string said;
	int rc = getsockname(fd(), own.get(), &own.len);

	said = rc ? result_name(rc) : port_name(own);
	rc = getpeername(fd(), peer.get(), &peer.len);
	return said + " " + (rc ? result_name(rc) : port_name(peer));
}

} // namespace differ
