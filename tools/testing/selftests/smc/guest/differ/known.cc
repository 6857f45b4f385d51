// SPDX-License-Identifier: GPL-2.0
#include "known.h"

#include <regex>
#include <sys/socket.h>

namespace differ
{

namespace
{

/* @text with @with for what @pattern matches. */
std::string replaced(const std::string &text, const char *pattern, const char *with)
{
	return std::regex_replace(text, std::regex(pattern), with);
}

/* @text without what @pattern matches. */
std::string without(const std::string &text, const char *pattern)
{
	return std::regex_replace(text, std::regex(pattern), "");
}

bool has(const std::string &text, const char *pattern)
{
	return std::regex_search(text, std::regex(pattern));
}

/* Both begin as they are to, and what follows is the same. */
bool begin(const Moment &moment, const std::string &tcp, const std::string &other)
{
	return moment.tcp.starts_with(tcp) && moment.other.starts_with(other) &&
	       moment.tcp.substr(tcp.size()) == moment.other.substr(other.size());
}

/* The reset that a send in vain is answered by leaves the socket without its port. */
bool is_bind_after_reset(const Moment &moment)
{
	return moment.step().op == Op::bind && !moment.tcp.starts_with("-EINVAL") &&
	       moment.other.starts_with("-EINVAL") && has(moment.tcp, "POLLHUP.* CLOSE ");
}

/* An urgent byte that a read has stepped over can still be read. */
bool is_urgent_byte_stepped_over(const Moment &moment)
{
	Step step = moment.step();

	return step.op == Op::recv && (step.b & MSG_OOB) && moment.tcp.starts_with("-EINVAL") &&
	       !moment.other.starts_with("-") &&
	       moment.tcp.substr(moment.tcp.find('\n')) ==
		   moment.other.substr(moment.other.find('\n'));
}

/* TCP notes an urgent byte before it resets the connection, because nobody is to read it. */
bool is_urgent_byte_for_shut_end(const Moment &moment)
{
	Step step = moment.step();
	std::string unnoted = replaced(moment.tcp, "POLLPRI \\| ", "");

	return step.op == Op::send && (step.b & MSG_OOB) &&
	       has(moment.tcp, "POLLPRI .*POLLERR .*CLOSE ") &&
	       replaced(unnoted, "mark=1", "mark=0") == replaced(moment.other, "mark=1", "mark=0");
}

/* TCP's error outlives connect() to AF_UNSPEC. */
bool is_error_after_disconnect(const Moment &moment)
{
	bool disconnected = moment.step().op == Op::unspec;

	for (size_t i = 0; i < moment.at && !disconnected; i++)
		disconnected = moment.steps[i].op == Op::unspec;
	return disconnected &&
	       (begin(moment, "-EPIPE", "-ECONNRESET") ||
		begin(moment, "-EPIPE SIGPIPE", "-ECONNRESET") ||
		begin(moment, "0 20000000", "0 68000000") ||
		without(moment.tcp, "POLLERR \\| ") == without(moment.other, "POLLERR \\| "));
}

} // namespace

const std::vector<Known> &all_known()
{
	static const std::vector<Known> known = {
	    {"UrgentByteSteppedOver",
	     {{Op::pair, 0, 1},
	      {Op::send, 1, 1, MSG_OOB, by_call},
	      {Op::recv, 0, 1, 0, by_call},
	      {Op::recv, 0, 1, MSG_OOB, by_call}},
	     is_urgent_byte_stepped_over},
	    {"UrgentByteForShutEnd",
	     {{Op::pair, 0, 1}, {Op::shutdown, 0, SHUT_RDWR}, {Op::send, 1, 1, MSG_OOB, by_call}},
	     is_urgent_byte_for_shut_end,
	     true},
	    {"ErrorAfterDisconnect",
	     {{Op::pair, 0, 1}, {Op::unspec, 0}, {Op::unspec, 1}},
	     is_error_after_disconnect,
	     true},
	    {"BindAfterReset",
	     {{Op::pair, 0, 1}, {Op::close, 1}, {Op::send, 0, 1, 0, by_call}, {Op::bind, 0, 0}},
	     is_bind_after_reset,
	     true},
	};

	return known;
}

const Known *find_known(const Moment &moment)
{
	for (const Known &one : all_known())
		if (one.explains(moment))
			return &one;
	return nullptr;
}

} // namespace differ
