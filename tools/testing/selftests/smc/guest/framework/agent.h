/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other guests, as a test sees them. An Agent is a process of its own in a guest,
 * made by smc_agent for this object; it ends, with all its sockets, when the object goes.
 * Its verbs are in agent_verbs.cc.
 */
#ifndef GUEST_AGENT_H
#define GUEST_AGENT_H

#include <functional>
#include <initializer_list>
#include <string>

#include "link_groups.h"
#include "rpc.h"
#include "socket.h"
#include "system.h"
#include "traffic.h"

namespace guest
{

class RemoteSocket;

/* Something that goes on in an agent while the test does something else. */
class Job
{
public:
	/* What it returned; throws what it threw, or after @seconds. */
	std::string join(int seconds = 120);
	bool is_done();

private:
	friend class Agent;
	Job(class Agent &agent, std::string id) : agent(agent), id(std::move(id))
	{
	}

	class Agent &agent;
	std::string id;
};

class Agent
{
public:
	explicit Agent(int node = 1);

	/* One request; throws if the agent reports an error, or does not answer. */
	std::string call(const Message &request, int seconds = 60);
	/* The same for the operations on sockets: a result, or -errno. */
	long operate(const Message &request, int seconds = 60);
	/* The same, in a thread of the agent. */
	Job start(const Message &request);

	int node() const
	{
		return number;
	}
	int pid();
	/* The process ends with all its sockets: SIGKILL. The object is of no use after. */
	void kill();

	RemoteSocket socket(const Flavor &flavor);
	RemoteSocket listen(const Flavor &flavor, int backlog = 16, int port = 0);
	RemoteSocket connect(const Flavor &flavor, const Address &to);

	Output run_command(const std::string &command);
	std::string must_run(const std::string &command);
	std::string read_file(const std::string &path);
	std::string sysctl(const std::string &name);
	void set_sysctl(const std::string &name, const std::string &value);
	Counters counters();
	LinkGroups link_groups();
	/* Kernel log since the last call, or since the Agent was made. */
	std::string kernel_log();

private:
	Message exchange(const Message &request, int seconds);

	Fd control;
	int number;
};

/* Sets a sysctl of an agent's guest for as long as it lives. */
class RemoteSysctlScope
{
public:
	RemoteSysctlScope(Agent &agent, std::string name, const std::string &value);
	RemoteSysctlScope(const RemoteSysctlScope &) = delete;
	~RemoteSysctlScope();

private:
	Agent &agent;
	std::string name, before;
};

/* A socket of an agent. Results of the calls below are as system calls': -errno if refused. */
class RemoteSocket
{
public:
	RemoteSocket(Agent &agent, int fd) : agent(&agent), fd(fd)
	{
	}
	RemoteSocket(RemoteSocket &&other) noexcept : agent(other.agent), fd(other.fd)
	{
		other.fd = -1;
	}
	RemoteSocket &operator=(RemoteSocket &&other) noexcept;
	~RemoteSocket();

	int number() const
	{
		return fd;
	}
	long close();
	long shutdown(int how);
	long connect(const Address &to);
	long send(const std::string &bytes, int flags = 0);
	long set(int level, int option, int value);
	/* SO_LINGER */
	long linger(bool on, int seconds);
	/* @len bytes at the most; the result is left in *@rc if it is not null. */
	std::string recv(size_t len, int flags = 0, long *rc = nullptr);
	/* Throwing ones. */
	RemoteSocket accept();
	int port();
	int get(int level, int option);
	void send_flow(const Flow &flow);
	void recv_flow(const Flow &flow);
	void expect_end();
	/* Reads until the stream ends: 0 or -errno. */
	long ending();
	short await(short events, int seconds = 60);

	Job start_accept();
	Job start_connect(const Address &to);
	Job start_send(const Flow &flow);
	Job start_recv(const Flow &flow);
	Job start_exchange(const Flow &out, const Flow &in);
	/* Joins with the number of bytes. */
	Job start_echo();
	/* Accepts @connections one after the other and echoes on each until it ends. */
	Job start_echo_server(int connections);

private:
	Message on_fd(const char *verb, std::initializer_list<std::string> arguments = {}) const;

	Agent *agent;
	int fd;
};

/* A connection between this guest and an agent's. */
struct Connection {
	Fd here;
	RemoteSocket there;
};

enum class Role { client, server };

constexpr Role both_roles[] = {Role::client, Role::server};

inline std::string to_string(Role role)
{
	return role == Role::client ? "Client" : "Server";
}

/* What is to be done to the ends' sockets before they connect or, if servers, to the listener. */
struct Preparation {
	std::function<void(int fd)> here = [](int) {
	};
	std::function<void(RemoteSocket &socket)> there = [](RemoteSocket &) {
	};
};

/* This end in @role; either end may be of any kind. */
Connection make_connection(Agent &agent, const Flavor &here, const Flavor &there,
			   Role role = Role::client, const Preparation &preparation = {});
inline Connection make_connection(Agent &agent, const Flavor &both, Role role = Role::client,
				  const Preparation &preparation = {})
{
	return make_connection(agent, both, both, role, preparation);
}

/*
 * Both directions at once, checked byte by byte at both ends, with the counters' word
 * that it went by SMC (@by_smc) or that it did not.
 */
void check_data(Connection &connection, uint64_t bytes, bool by_smc, uint64_t seed = 1);

} // namespace guest

#endif
