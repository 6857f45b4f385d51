// SPDX-License-Identifier: GPL-2.0
#include "agent.h"

#include <cstring>
#include <poll.h>
#include <stdexcept>

#include "place.h"

namespace guest
{

Agent::Agent(int node)
    : control(must_connect(Flavor{Kind::tcp, AF_INET},
			   address_of(node, AF_INET, agent_port, control_lan()))),
      number(node)
{
}

Message Agent::exchange(const Message &request, int seconds)
{
	std::string what = "agent of guest " + std::to_string(number) + ", " + request.at(0);
	Message reply;

	if (!write_message(control, request))
		throw std::runtime_error(what + ": connection lost");
	await(control, POLLIN, seconds);
	if (!read_message(control, reply) || reply.empty())
		throw std::runtime_error(what + ": connection lost");
	if (reply[0] != "ok")
		throw std::runtime_error(what + ": " + (reply.size() > 1 ? reply[1] : "?"));
	return reply;
}

std::string Agent::call(const Message &request, int seconds)
{
	Message reply = exchange(request, seconds);

	return reply.size() > 1 ? reply[1] : "";
}

long Agent::operate(const Message &request, int seconds)
{
	return std::stol(call(request, seconds));
}

Job Agent::start(const Message &request)
{
	Message message = {"start"};

	message.insert(message.end(), request.begin(), request.end());
	return Job(*this, call(message));
}

int Agent::pid()
{
	return operate({"pid"});
}

void Agent::kill()
{
	int victim = pid();

	Agent killer(number);

	killer.must_run("kill -KILL " + std::to_string(victim));
	wait_until("the agent's process is gone", [&] {
		return killer.run_command("test -e /proc/" + std::to_string(victim)).status != 0;
	});
	control.close();
}

static long must(long rc, const std::string &what)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	throw_errno("agent: " + what);
}

RemoteSocket Agent::socket(const Flavor &flavor)
{
	return RemoteSocket(
	    *this, must(operate({"socket", to_string(flavor)}), "socket " + to_string(flavor)));
}

RemoteSocket Agent::listen(const Flavor &flavor, int backlog, int port)
{
	return RemoteSocket(*this, must(operate({"listen", to_string(flavor),
						 std::to_string(backlog), std::to_string(port)}),
					"listen"));
}

RemoteSocket Agent::connect(const Flavor &flavor, const Address &to)
{
	RemoteSocket client = socket(flavor);

	must(client.connect(to), "connect");
	return client;
}

Output Agent::run_command(const std::string &command)
{
	Message reply = exchange({"run", command}, 120);

	return {std::stoi(reply.at(1)), reply.at(2)};
}

std::string Agent::must_run(const std::string &command)
{
	Output output = run_command(command);

	if (output.status)
		throw std::runtime_error("guest " + std::to_string(number) + ": " + command +
					 ": status " + std::to_string(output.status) + ": " +
					 output.text);
	return output.text;
}

std::string Agent::read_file(const std::string &path)
{
	return call({"read-file", path});
}

std::string Agent::sysctl(const std::string &name)
{
	return call({"sysctl", name});
}

void Agent::set_sysctl(const std::string &name, const std::string &value)
{
	call({"set-sysctl", name, value});
}

Counters Agent::counters()
{
	return Counters(read_file("/proc/net/smc_stat"));
}

LinkGroups Agent::link_groups()
{
	Message reply = exchange({"link-groups"}, 60);

	return {std::stoi(reply.at(1)), std::stoi(reply.at(2))};
}

std::string Agent::kernel_log()
{
	return call({"kernel-log"});
}

std::string Job::join(int seconds)
{
	return agent.call({"join", id, std::to_string(scaled(seconds))}, seconds + 10);
}

bool Job::is_done()
{
	return agent.operate({"is-done", id});
}

RemoteSysctlScope::RemoteSysctlScope(Agent &agent, std::string name, const std::string &value)
    : agent(agent), name(std::move(name)), before(agent.sysctl(this->name))
{
	agent.set_sysctl(this->name, value);
}

RemoteSysctlScope::~RemoteSysctlScope()
{
	try {
		agent.set_sysctl(name, before);
	} catch (const std::exception &failure) {
		fprintf(stderr, "%s\n", failure.what());
	}
}

RemoteSocket &RemoteSocket::operator=(RemoteSocket &&other) noexcept
{
	std::swap(agent, other.agent);
	std::swap(fd, other.fd);
	return *this;
}

RemoteSocket::~RemoteSocket()
{
	try {
		close();
	} catch (const std::exception &) {
		/* The process has ended, and its sockets with it. */
	}
}

Message RemoteSocket::on_fd(const char *verb, std::initializer_list<std::string> arguments) const
{
	Message message = {verb, std::to_string(fd)};

	message.insert(message.end(), arguments);
	return message;
}

long RemoteSocket::close()
{
	if (fd < 0)
		return 0;

	Message message = on_fd("close");

	fd = -1;
	return agent->operate(message);
}

long RemoteSocket::shutdown(int how)
{
	return agent->operate(on_fd("shutdown", {std::to_string(how)}));
}

long RemoteSocket::connect(const Address &to)
{
	return agent->operate(on_fd("connect", {to.text(), std::to_string(to.port())}));
}

long RemoteSocket::send(const std::string &bytes, int flags)
{
	return agent->operate(on_fd("send", {bytes, std::to_string(flags)}));
}

long RemoteSocket::set(int level, int option, int value)
{
	return agent->operate(on_fd(
	    "setsockopt", {std::to_string(level), std::to_string(option), std::to_string(value)}));
}

long RemoteSocket::linger(bool on, int seconds)
{
	return agent->operate(on_fd("linger", {std::to_string(on), std::to_string(seconds)}));
}

std::string RemoteSocket::recv(size_t len, int flags, long *rc)
{
	long result = agent->operate(on_fd("recv", {std::to_string(len), std::to_string(flags)}));

	if (rc)
		*rc = result;
	else
		must(result, "recv");
	return result > 0 ? agent->call({"received"}) : "";
}

RemoteSocket RemoteSocket::accept()
{
	return RemoteSocket(*agent, must(agent->operate(on_fd("accept")), "accept"));
}

int RemoteSocket::port()
{
	return must(agent->operate(on_fd("port")), "getsockname");
}

int RemoteSocket::get(int level, int option)
{
	return agent->operate(on_fd("getsockopt", {std::to_string(level), std::to_string(option)}));
}

void RemoteSocket::send_flow(const Flow &flow)
{
	start_send(flow).join();
}

void RemoteSocket::recv_flow(const Flow &flow)
{
	start_recv(flow).join();
}

void RemoteSocket::expect_end()
{
	agent->call(on_fd("expect-end"));
}

long RemoteSocket::ending()
{
	long rc = 1;

	wait_until("the stream ends there", [&] {
		recv(65536, 0, &rc);
		return rc <= 0;
	});
	return rc;
}

short RemoteSocket::await(short events, int seconds)
{
	return agent->operate(on_fd("await", {std::to_string(events), std::to_string(seconds)}),
			      seconds + 10);
}

Job RemoteSocket::start_accept()
{
	return agent->start(on_fd("accept"));
}

Job RemoteSocket::start_connect(const Address &to)
{
	return agent->start(on_fd("connect", {to.text(), std::to_string(to.port())}));
}

Job RemoteSocket::start_send(const Flow &flow)
{
	return agent->start(on_fd("send-flow", {serialize(flow)}));
}

Job RemoteSocket::start_recv(const Flow &flow)
{
	return agent->start(on_fd("recv-flow", {serialize(flow)}));
}

Job RemoteSocket::start_exchange(const Flow &out, const Flow &in)
{
	return agent->start(on_fd("exchange-flows", {serialize(out), serialize(in)}));
}

Job RemoteSocket::start_echo(uint64_t seed)
{
	return agent->start(on_fd("echo", {std::to_string(seed)}));
}

Job RemoteSocket::start_echo_server(int connections)
{
	return agent->start(on_fd("echo-server", {std::to_string(connections)}));
}

Connection make_connection_in(const std::string &subnet, Agent &agent, Role role)
{
	if (role == Role::server) {
		Fd listener = must_listen(Flavor());
		const Address to = address_from(subnet + "1", local_address(listener).port());
		RemoteSocket client = agent.connect(Flavor(), to);

		return {must_accept(listener), std::move(client)};
	}

	RemoteSocket listener = agent.listen(Flavor());
	Fd client = must_connect(Flavor(), address_from(subnet + "2", listener.port()));

	return {std::move(client), listener.accept()};
}

Connection make_connection(Agent &agent, const Flavor &here, const Flavor &there, Role role,
			   const Preparation &preparation)
{
	if (role == Role::server) {
		Fd listener = must_listen(here);
		RemoteSocket client = agent.socket(there);

		preparation.here(listener);
		preparation.there(client);
		must(client.connect(address_of(0, here.family, local_address(listener).port())),
		     "connect");
		return {must_accept(listener), std::move(client)};
	}

	RemoteSocket listener = agent.listen(there);
	Fd client = must_socket(here);
	Address to = address_of(agent.node(), here.family, listener.port());

	preparation.there(listener);
	preparation.here(client);
	if (connect(client, to.get(), to.len))
		throw_errno("connect");
	return {std::move(client), listener.accept()};
}

void check_data(Connection &connection, uint64_t bytes, bool by_smc, uint64_t seed)
{
	Flow out = {.seed = seed, .bytes = bytes};
	Flow in = {.seed = seed + 1, .bytes = bytes};
	Counters before = Counters::now();
	Job far = connection.there.start_exchange(in, out);

	exchange_flows(connection.here, out, in);
	far.join();

	int64_t written = (Counters::now() - before)[by_path("write_bytes")];

	if (by_smc && written < counted(bytes, bytes))
		throw std::runtime_error("only " + std::to_string(written) +
					 " bytes went by SMC, not " + std::to_string(bytes) + "\n" +
					 must_run("$LAB_BUILD/tools/smc/smc fallbacks"));
	if (!by_smc && written)
		throw std::runtime_error(std::to_string(written) + " bytes went by SMC");
}

} // namespace guest
