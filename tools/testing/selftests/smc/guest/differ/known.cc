// SPDX-License-Identifier: GPL-2.0
#include "known.h"

#include <algorithm>
#include <cctype>
#include <fcntl.h>
#include <regex>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace differ
{

namespace
{

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

/* Return: whether a step before has set an option of SOL_SOCKET. */
bool was_set(const Moment &moment, int option)
{
	return std::any_of(
	    moment.steps.begin(), moment.steps.begin() + moment.at, [&](const Step &step) {
		    return step.op == Op::set && step.a == SOL_SOCKET && step.b == option;
	    });
}

/* SIGIO, and an edge for epoll, although the bytes that are there do not reach the mark. */
bool is_news_of_mark(const Moment &moment)
{
	Step step = moment.step();

	return step.op == Op::set && step.a == SOL_SOCKET && step.b == SO_RCVLOWAT &&
	       without(moment.other, " SIGPOLL") == moment.tcp;
}

/* SIGIO of an end that was known: of one's own shutdown(), and of close() after the peer's. */
bool is_news_of_end(const Moment &moment)
{
	Op op = moment.step().op;

	return (op == Op::shutdown || op == Op::close) &&
	       without(moment.other, " SIGPOLL") == moment.tcp;
}

/* A waiter for urgent bytes hears of ordinary ones, too, and of what else is ready then. */
bool is_edge_of_urgent(const Moment &moment)
{
	std::string tcp = moment.tcp, other = moment.other;

	/* The number of sockets comes first, and the state of all of them behind the line. */
	return moment.step().op == Op::epoll_wait && tcp[0] > other[0] &&
	       tcp.substr(tcp.find('\n')) == other.substr(other.find('\n')) &&
	       std::any_of(moment.steps.begin(), moment.steps.begin() + moment.at,
			   [](const Step &step) {
				   return (step.op == Op::epoll_add || step.op == Op::epoll_mod) &&
					  (step.a & EPOLLPRI) && (step.a & EPOLLET);
			   });
}

/* A lone urgent byte is news to readers, though there is nothing to read. */
bool is_news_of_urgent(const Moment &moment)
{
	return without(moment.tcp, " SIGPOLL") == moment.other &&
	       has(moment.tcp, " SIGURG SIGPOLL");
}

/* splice() does not move the offset of SO_PEEK_OFF back. */
bool is_peek_after_splice(const Moment &moment)
{
	Step step = moment.step();

	return ((step.op == Op::recv && (step.b & MSG_PEEK)) ||
		(step.op == Op::get && step.b == SO_PEEK_OFF)) &&
	       was_set(moment, SO_PEEK_OFF) &&
	       std::any_of(moment.steps.begin(), moment.steps.begin() + moment.at,
			   [](const Step &step) { return step.op == Op::splice_out; });
}

/* A read of nothing that waits until SO_RCVTIMEO: TCP has read nothing then. */
bool is_read_of_nothing(const Moment &moment)
{
	Step step = moment.step();

	return step.op == Op::recv && !step.a &&
	       begin(moment, step.c == by_msg ? "0 '' 0" : "0 ''", "-EAGAIN");
}

/* TCP sends no reset for unread bytes if both ends have shut down. */
bool is_reset_after_both_ends(const Moment &moment)
{
	Op op = moment.step().op;

	return (op == Op::close || op == Op::unspec) && has(moment.tcp, "POLLHUP.* CLOSE ") &&
	       !has(moment.tcp, "POLLERR") &&
	       without(moment.other, " SIGPOLL|POLLERR \\| ") == moment.tcp;
}

/* splice() does not step over an urgent byte. */
bool is_splice_at_mark(const Moment &moment)
{
	return moment.step().op == Op::splice_out && has(moment.tcp, "mark=1");
}

/* splice(SPLICE_F_NONBLOCK) gives what is there, however little. */
bool is_splice_below_mark(const Moment &moment)
{
	return moment.step().op == Op::splice_out && (moment.step().b & SPLICE_F_NONBLOCK) &&
	       std::isdigit(moment.tcp[0]) && moment.other.starts_with("-EAGAIN") &&
	       was_set(moment, SO_RCVLOWAT);
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

/* The reset that a send in vain is answered by leaves the socket without its port. */
bool is_bind_after_reset(const Moment &moment)
{
	return moment.step().op == Op::bind && !moment.tcp.starts_with("-EINVAL") &&
	       moment.other.starts_with("-EINVAL") && has(moment.tcp, "POLLHUP.* CLOSE ");
}

/* A connect() that did not wait has been told of as done once the socket has been shut down. */
bool is_connect_after_shutdown(const Moment &moment)
{
	Step step = moment.step();

	return step.op == Op::connect && begin(moment, "-EISCONN", "0") &&
	       std::any_of(moment.steps.begin(), moment.steps.begin() + moment.at,
			   [&](const Step &before) { return before.op == Op::shutdown; });
}

/* A control message that is unknown is refused before the end of the connection is told. */
bool is_control_of_ended(const Moment &moment)
{
	return moment.step().op == Op::send && moment.step().c == by_control &&
	       moment.other.starts_with("-EINVAL") &&
	       (moment.tcp.starts_with("-EPIPE") || moment.tcp.starts_with("-ECONNRESET"));
}

/* After a reset the urgent byte is lost. */
bool is_urgent_byte_after_reset(const Moment &moment)
{
	Step step = moment.step();

	return step.op == Op::recv && (step.b & MSG_OOB) && moment.tcp.starts_with("-ENOTCONN") &&
	       !moment.other.starts_with("-") && has(moment.tcp, "POLLHUP.* CLOSE ");
}

} // namespace

const std::vector<Known> &all_known()
{
	static const std::vector<Known> known = {
	    {"NewsOfLowWaterMark",
	     {{Op::pair, 0, 1}, {Op::async, 0, 1}, {Op::set, 0, SOL_SOCKET, SO_RCVLOWAT, 4}},
	     is_news_of_mark},
	    {"NewsOfEnd",
	     {{Op::pair, 0, 1}, {Op::async, 0, 1}, {Op::shutdown, 0, SHUT_RDWR}},
	     is_news_of_end},
	    {"EdgeOfUrgent",
	     {{Op::pair, 0, 1},
	      {Op::epoll_add, 1, int(EPOLLPRI | EPOLLOUT | EPOLLET)},
	      {Op::epoll_wait},
	      {Op::send, 0, 1, 0, by_call},
	      {Op::epoll_wait}},
	     is_edge_of_urgent},
	    {"NewsOfUrgent",
	     {{Op::pair, 0, 1}, {Op::async, 1, 1}, {Op::send, 0, 1, MSG_OOB, by_call}},
	     is_news_of_urgent},
	    {"PeekAfterSplice",
	     {{Op::pair, 0, 1},
	      {Op::set, 0, SOL_SOCKET, SO_PEEK_OFF, 0},
	      {Op::send, 1, 9, 0, by_call},
	      {Op::recv, 0, 1, MSG_PEEK, by_call},
	      {Op::splice_out, 0, 1, 0},
	      {Op::recv, 0, 1, MSG_PEEK, by_call}},
	     is_peek_after_splice,
	     true},
	    {"ReadOfNothing", {{Op::pair, 0, 1}, {Op::recv, 0, 0, 0, by_call}}, is_read_of_nothing},
	    {"ResetAfterBothEnds",
	     {{Op::pair, 0, 1},
	      {Op::send, 1, 1, 0, by_call},
	      {Op::shutdown, 0, SHUT_WR},
	      {Op::shutdown, 1, SHUT_WR},
	      {Op::close, 0}},
	     is_reset_after_both_ends,
	     true},
	    {"SpliceAtMark",
	     {{Op::pair, 0, 1}, {Op::send, 1, 1, MSG_OOB, by_call}, {Op::splice_out, 0, 1, 0}},
	     is_splice_at_mark,
	     true},
	    {"SpliceBelowMark",
	     {{Op::pair, 0, 1},
	      {Op::set, 0, SOL_SOCKET, SO_RCVLOWAT, 2},
	      {Op::send, 1, 1, 0, by_call},
	      {Op::splice_out, 0, 1, SPLICE_F_NONBLOCK}},
	     is_splice_below_mark,
	     true},
	    {"ErrorAfterDisconnect",
	     {{Op::pair, 0, 1}, {Op::unspec, 0}, {Op::unspec, 1}},
	     is_error_after_disconnect,
	     true},
	    {"BindAfterReset",
	     {{Op::pair, 0, 1}, {Op::close, 1}, {Op::send, 0, 1, 0, by_call}, {Op::bind, 0, 0}},
	     is_bind_after_reset,
	     true},
	    {"ConnectAfterShutdown",
	     {{Op::socket, 0, 0},
	      {Op::socket, 1, SOCK_NONBLOCK},
	      {Op::bind, 0, 0},
	      {Op::listen, 0, 3},
	      {Op::connect, 1, 0},
	      {Op::shutdown, 1, SHUT_WR},
	      {Op::connect, 1, 1}},
	     is_connect_after_shutdown},
	    {"ControlOfEnded",
	     {{Op::pair, 0, 1}, {Op::shutdown, 1, SHUT_WR}, {Op::send, 1, 1, 0, by_control}},
	     is_control_of_ended,
	     true},
	    {"UrgentByteAfterReset",
	     {{Op::pair, 0, 1},
	      {Op::send, 0, 1, MSG_OOB, by_call},
	      {Op::unspec, 0},
	      {Op::recv, 1, 1, MSG_OOB, by_call}},
	     is_urgent_byte_after_reset,
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
