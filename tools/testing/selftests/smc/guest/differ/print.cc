// SPDX-License-Identifier: GPL-2.0
#include "print.h"

#include "names.h"

namespace differ
{

namespace
{

std::string op_name(Op op)
{
	static const char *const names[] = {
	    "pair",	 "socket",     "bind",	    "listen",	  "connect",	"accept",
	    "unspec",	 "shutdown",   "close",	    "dup",	  "pass",	"nonblock",
	    "async",	 "linger",     "set",	    "get",	  "names",	"send",
	    "recv",	 "errqueue",   "sendfile",  "splice_in",  "splice_out", "fork_send",
	    "fork_recv", "fork_close", "fill",	    "drain",	  "wake",	"select",
	    "epoll_add", "epoll_mod",  "epoll_del", "epoll_wait",
	};
	static_assert(std::size(names) == size_t(Op::count));

	return std::string("Op::") + names[int(op)];
}

std::string arguments(const Step &step)
{
	std::string a = std::to_string(step.a), b = std::to_string(step.b),
		    c = std::to_string(step.c);

	switch (step.op) {
	case Op::unspec:
	case Op::close:
	case Op::fork_close:
	case Op::pass:
	case Op::names:
	case Op::errqueue:
	case Op::fill:
	case Op::drain:
	case Op::select:
	case Op::epoll_del:
	case Op::epoll_wait:
		return "";
	case Op::socket:
		return ", " + socket_flags_name(step.a);
	case Op::accept:
		return ", " + a + ", " + socket_flags_name(step.b);
	case Op::shutdown:
		return ", " + how_name(step.a);
	case Op::linger:
		return ", " + a + ", " + b;
	case Op::wake:
		return ", " + a + ", " + b + ", " + waker_name(step.c);
	case Op::set:
	case Op::get:
		return ", " + level_name(step.a) + ", " + option_name(step.a, step.b) + ", " + c;
	case Op::send:
		return ", " + a + ", " + send_flags_name(step.b) + ", " + way_name(step.c);
	case Op::recv:
		return ", " + a + ", " + recv_flags_name(step.b) + ", " + way_name(step.c);
	case Op::fork_recv:
		return ", " + a + ", " + recv_flags_name(step.b);
	case Op::fork_send:
		return ", " + a + ", " + send_flags_name(step.b);
	case Op::splice_in:
	case Op::splice_out:
		return ", " + a + ", " + splice_flags_name(step.b);
	case Op::epoll_add:
	case Op::epoll_mod:
		return ", int(" + epoll_events_name(step.a) + ")";
	default:
		return ", " + a;
	}
}

} // namespace

std::string to_string(const Step &step)
{
	return "{" + op_name(step.op) + ", " + std::to_string(step.slot) + arguments(step) + "},";
}

std::string to_string(const Steps &steps)
{
	std::string text;

	for (const Step &step : steps)
		text += "\t" + to_string(step) + "\n";
	return text;
}

} // namespace differ
