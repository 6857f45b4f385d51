// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs of an agent: one function for each verb of the control connection,
 * with a table of them at the end. Any verb can also be performed in a thread:
 * "start VERB ..." .
 */
#include "agent_verbs.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <future>
#include <map>
#include <mutex>
#include <poll.h>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "kernel_log.h"
#include "link_groups.h"
#include "netlink_dump.h"
#include "socket.h"
#include "system.h"
#include "traffic.h"

namespace guest
{

namespace
{

/* The arguments of a verb. */
class Arguments
{
public:
	explicit Arguments(const Message &request) : request(request)
	{
	}
	const std::string &text(size_t i) const
	{
		if (i + 1 >= request.size())
			throw std::invalid_argument(request[0] + ": too few arguments");
		return request[i + 1];
	}
	long number(size_t i) const
	{
		return std::stol(text(i));
	}
	/* The file descriptor, which is the first argument of most verbs. */
	int fd() const
	{
		return number(0);
	}
	Message tail() const
	{
		return Message(request.begin() + 1, request.end());
	}

private:
	const Message &request;
};

Message result(long rc)
{
	return {std::to_string(rc < 0 ? -errno : rc)};
}

Message do_pid(const Arguments &)
{
	return result(getpid());
}

Message do_socket(const Arguments &args)
{
	return result(open_socket(flavor_of(args.text(0))));
}

Message do_listen(const Arguments &args)
{
	try {
		return result(
		    must_listen(flavor_of(args.text(0)), args.number(1), args.number(2)).release());
	} catch (const std::system_error &error) {
		return {std::to_string(-error.code().value())};
	}
}

Message do_accept(const Arguments &args)
{
	return result(must_accept(args.fd(), 60).release());
}

Message do_connect(const Arguments &args)
{
	Address to = address_from(args.text(1), args.number(2));

	return result(connect(args.fd(), to.get(), to.len));
}

Message do_close(const Arguments &args)
{
	return result(close(args.fd()));
}

Message do_shutdown(const Arguments &args)
{
	return result(shutdown(args.fd(), args.number(1)));
}

Message do_port(const Arguments &args)
{
	return result(local_address(args.fd()).port());
}

Message do_setsockopt(const Arguments &args)
{
	int value = args.number(3);

	return result(setsockopt(args.fd(), args.number(1), args.number(2), &value, sizeof(value)));
}

Message do_getsockopt(const Arguments &args)
{
	return {std::to_string(must_get(args.fd(), args.number(1), args.number(2)))};
}

Message do_linger(const Arguments &args)
{
	linger value = {int(args.number(1)), int(args.number(2))};

	return result(setsockopt(args.fd(), SOL_SOCKET, SO_LINGER, &value, sizeof(value)));
}

Message do_nonblock(const Arguments &args)
{
	int flags = fcntl(args.fd(), F_GETFL);

	return result(
	    fcntl(args.fd(), F_SETFL, args.number(1) ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

Message do_send(const Arguments &args)
{
	return result(send(args.fd(), args.text(1).data(), args.text(1).size(),
			   args.number(2) | MSG_NOSIGNAL));
}

/* "received" fetches the bytes of "recv", whose own result may be an error. */
std::string last_received;

Message do_recv(const Arguments &args)
{
	std::string bytes(args.number(1), '\0');
	ssize_t n = recv(args.fd(), bytes.data(), bytes.size(), args.number(2));

	if (n >= 0)
		last_received = bytes.substr(0, n);
	return result(n);
}

Message do_received(const Arguments &)
{
	return {last_received};
}

Message do_await(const Arguments &args)
{
	return result(await(args.fd(), args.number(1), args.number(2)));
}

Message do_send_flow(const Arguments &args)
{
	send_flow(args.fd(), flow_from(args.text(1)));
	return {};
}

Message do_recv_flow(const Arguments &args)
{
	recv_flow(args.fd(), flow_from(args.text(1)));
	return {};
}

Message do_exchange_flows(const Arguments &args)
{
	exchange_flows(args.fd(), flow_from(args.text(1)), flow_from(args.text(2)));
	return {};
}

Message do_expect_end(const Arguments &args)
{
	expect_end(args.fd());
	return {};
}

/* Receives until the end or an error, and returns the last result. */
Message do_drain(const Arguments &args)
{
	char bytes[4096];
	ssize_t n;

	do {
		await(args.fd(), POLLIN, 60);
		n = recv(args.fd(), bytes, sizeof(bytes), 0);
	} while (n > 0);
	return result(n);
}

Message do_echo(const Arguments &args)
{
	const long seed = args.number(1);

	return result(seed ? echo_pattern(args.fd(), seed) : echo(args.fd()));
}

Message do_echo_server(const Arguments &args)
{
	for (long i = 0; i < args.number(1); i++) {
		Fd connection = must_accept(args.fd(), 120);

		echo(connection);
	}
	return {};
}

/* Accepts that many connections, and echoes on all of them at the same time. */
Message do_echo_many(const Arguments &args)
{
	rlimit files = {4096, 4096};
	std::vector<std::future<uint64_t>> echoes;

	setrlimit(RLIMIT_NOFILE, &files);
	for (long i = 0; i < args.number(1); i++)
		echoes.push_back(
		    std::async(std::launch::async, [fd = must_accept(args.fd(), 120).release()] {
			    Fd connection(fd);

			    return echo(connection, 4096);
		    }));
	/* get() throws if any of them failed. */
	for (auto &one : echoes)
		one.get();
	return {};
}

/* Connects that many times in a row, and has a little data echoed each time. */
Message do_ask_many(const Arguments &args)
{
	Address to = address_from(args.text(1), args.number(2));

	for (long i = 0; i < args.number(3); i++) {
		Fd connection = must_connect(flavor_of(args.text(0)), to);
		Flow flow = {.seed = uint64_t(i), .bytes = uint64_t(1 + i % 5000)};

		send_flow(connection, flow);
		recv_flow(connection, flow);
	}
	return {};
}

Message do_link_groups(const Arguments &)
{
	LinkGroups now = link_groups();

	return {std::to_string(now.groups), std::to_string(now.connections)};
}

Message do_dump_generic(const Arguments &args)
{
	return {dump_generic(args.number(0), args.text(1).c_str())};
}

Message do_dump_sockets(const Arguments &)
{
	return {dump_sockets()};
}

Message do_kernel_memory(const Arguments &)
{
	return {std::to_string(kernel_memory())};
}

Message do_run(const Arguments &args)
{
	Output output = run_command(args.text(0));

	return {std::to_string(output.status), output.text};
}

Message do_read_file(const Arguments &args)
{
	return {read_file(args.text(0))};
}

Message do_sysctl(const Arguments &args)
{
	return {sysctl(args.text(0))};
}

Message do_set_sysctl(const Arguments &args)
{
	set_sysctl(args.text(0), args.text(1));
	return {};
}

Message do_kernel_log(const Arguments &)
{
	static KernelLog log;

	return {log.read()};
}

/* Jobs by number. A job that never returns ends with the process. */
std::mutex jobs_lock;
std::map<std::string, std::shared_future<Message>> jobs;

std::shared_future<Message> job(const std::string &id)
{
	std::lock_guard<std::mutex> guard(jobs_lock);

	return jobs.at(id);
}

Message do_start(const Arguments &args)
{
	std::lock_guard<std::mutex> guard(jobs_lock);
	std::packaged_task<Message()> task([request = args.tail()] { return perform(request); });
	std::string id = std::to_string(jobs.size() + 1);

	jobs[id] = task.get_future().share();
	std::thread(std::move(task)).detach();
	return {id};
}

Message do_join(const Arguments &args)
{
	auto future = job(args.text(0));

	if (future.wait_for(std::chrono::seconds(args.number(1))) != std::future_status::ready)
		throw std::runtime_error("not done after " + args.text(1) + " s");
	return future.get();
}

Message do_is_done(const Arguments &args)
{
	return result(job(args.text(0)).wait_for(std::chrono::seconds(0)) ==
		      std::future_status::ready);
}

using Verb = Message (*)(const Arguments &);

const std::map<std::string, Verb> verbs = {
    {"pid", do_pid},
    {"socket", do_socket},
    {"listen", do_listen},
    {"accept", do_accept},
    {"connect", do_connect},
    {"close", do_close},
    {"shutdown", do_shutdown},
    {"port", do_port},
    {"setsockopt", do_setsockopt},
    {"getsockopt", do_getsockopt},
    {"linger", do_linger},
    {"nonblock", do_nonblock},
    {"send", do_send},
    {"recv", do_recv},
    {"received", do_received},
    {"await", do_await},
    {"send-flow", do_send_flow},
    {"recv-flow", do_recv_flow},
    {"exchange-flows", do_exchange_flows},
    {"expect-end", do_expect_end},
    {"drain", do_drain},
    {"echo", do_echo},
    {"echo-server", do_echo_server},
    {"echo-many", do_echo_many},
    {"ask-many", do_ask_many},
    {"link-groups", do_link_groups},
    {"dump-generic", do_dump_generic},
    {"dump-sockets", do_dump_sockets},
    {"kernel-memory", do_kernel_memory},
    {"run", do_run},
    {"read-file", do_read_file},
    {"sysctl", do_sysctl},
    {"set-sysctl", do_set_sysctl},
    {"kernel-log", do_kernel_log},
    {"start", do_start},
    {"join", do_join},
    {"is-done", do_is_done},
};

} // namespace

Message perform(const Message &request)
{
	auto verb = verbs.find(request.at(0));

	if (verb == verbs.end())
		throw std::invalid_argument("no such verb");
	return verb->second(Arguments(request));
}

} // namespace guest
