// SPDX-License-Identifier: GPL-2.0
#include "names.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <vector>

#include "option.h"
#include "step.h"

namespace differ
{

namespace
{

struct Name {
	unsigned int bits;
	const char *name;
};

#define NAME(what)                                                                                 \
	{                                                                                          \
		what, #what                                                                        \
	}

const std::vector<Name> message_flags = {
    NAME(MSG_OOB),	NAME(MSG_PEEK),	    NAME(MSG_DONTROUTE),    NAME(MSG_CTRUNC),
    NAME(MSG_TRUNC),	NAME(MSG_DONTWAIT), NAME(MSG_EOR),	    NAME(MSG_WAITALL),
    NAME(MSG_CONFIRM),	NAME(MSG_ERRQUEUE), NAME(MSG_NOSIGNAL),	    NAME(MSG_MORE),
    NAME(MSG_ZEROCOPY), NAME(MSG_FASTOPEN), NAME(MSG_CMSG_CLOEXEC),
};

const std::vector<Name> splice_flags = {
    NAME(SPLICE_F_MOVE),
    NAME(SPLICE_F_NONBLOCK),
    NAME(SPLICE_F_MORE),
};

const std::vector<Name> socket_flags = {NAME(SOCK_NONBLOCK), NAME(SOCK_CLOEXEC)};

const std::vector<Name> poll_events = {
    NAME(POLLIN),     NAME(POLLPRI),	NAME(POLLOUT),	  NAME(POLLERR),
    NAME(POLLHUP),    NAME(POLLNVAL),	NAME(POLLRDNORM), NAME(POLLRDBAND),
    NAME(POLLWRNORM), NAME(POLLWRBAND), NAME(POLLRDHUP),
};

const std::vector<Name> epoll_events = {
    NAME(EPOLLIN),     NAME(EPOLLPRI),	  NAME(EPOLLOUT),     NAME(EPOLLERR),
    NAME(EPOLLHUP),    NAME(EPOLLRDNORM), NAME(EPOLLRDBAND),  NAME(EPOLLWRNORM),
    NAME(EPOLLWRBAND), NAME(EPOLLRDHUP),  NAME(EPOLLONESHOT), NAME(EPOLLET),
};

std::string names_of(unsigned int bits, const std::vector<Name> &names)
{
	std::string text;

	for (const Name &one : names)
		if (bits & one.bits) {
			text += (text.empty() ? "" : " | ") + std::string(one.name);
			bits &= ~one.bits;
		}
	if (bits)
		text += (text.empty() ? "" : " | ") + std::to_string(bits);
	return text.empty() ? "0" : text;
}

} // namespace

std::string send_flags_name(int flags)
{
	return names_of(flags, message_flags);
}

std::string recv_flags_name(int flags)
{
	return names_of(flags, message_flags);
}

std::string splice_flags_name(int flags)
{
	return names_of(flags, splice_flags);
}

std::string socket_flags_name(int flags)
{
	return names_of(flags, socket_flags);
}

std::string poll_events_name(int events)
{
	return names_of(events, poll_events);
}

std::string epoll_events_name(unsigned int events)
{
	return names_of(events, epoll_events);
}

std::string how_name(int how)
{
	switch (how) {
	case SHUT_RD:
		return "SHUT_RD";
	case SHUT_WR:
		return "SHUT_WR";
	case SHUT_RDWR:
		return "SHUT_RDWR";
	}
	return std::to_string(how);
}

std::string way_name(int way)
{
	static const char *const names[ways] = {"by_call",  "by_rw",   "by_vector", "by_msg",
						"by_uring", "by_many", "by_fault",  "by_control"};

	return names[way];
}

std::string waker_name(int waker)
{
	static const char *const names[wakers] = {"by_bytes", "by_urgent", "by_end", "by_own_end",
						  "by_reset"};

	return names[waker];
}

std::string level_name(int level)
{
	for (const Option &one : all_options())
		if (one.level == level)
			return one.level_name;
	return std::to_string(level);
}

std::string option_name(int level, int option)
{
	const Option *found = find_option(level, option);

	return found ? found->name : std::to_string(option);
}

std::string state_name(int state)
{
	static const char *const names[] = {
	    "none",	 "ESTABLISHED", "SYN_SENT",   "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",
	    "TIME_WAIT", "CLOSE",	"CLOSE_WAIT", "LAST_ACK", "LISTEN",    "CLOSING",
	};

	return state >= 0 && state <= TCP_CLOSING ? names[state] : std::to_string(state);
}

std::string result_name(long rc)
{
	const char *name = rc < 0 ? strerrorname_np(errno) : nullptr;

	return rc >= 0 ? std::to_string(rc) : "-" + (name ? name : std::to_string(errno));
}

} // namespace differ
