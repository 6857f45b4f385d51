/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface of a test to the other guests. An Agent is a process of its own in
 * a guest, which smc_agent forks for this object. The process ends, with all
 * its sockets, when the object is destroyed. Its verbs are in agent_verbs.cc.
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

/* A request that an agent performs while the test does something else. */
class Job
{
public:
	/* Returns the result; throws the request's exception, or after @seconds. */
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

	/* Performs one request; throws if the agent reports an error, or does not answer. */
	std::string call(const Message &request, int seconds = 60);
	/* Performs an operation on a socket; returns its result, or -errno. */
	long operate(const Message &request, int seconds = 60);
	/* Performs a request in a thread of the agent. */
	Job start(const Message &request);

	int node() const
	{
		return number;
	}
	int pid();
	/* Ends the process and its sockets by SIGKILL. The object is unusable afterwards. */
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
	/* Returns the kernel log since the last call, or since the Agent was created. */
	std::string kernel_log();

private:
	Message exchange(const Message &request, int seconds);

	Fd control;
	int number;
};

/* Sets a sysctl of an agent's guest for the lifetime of the object. */
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

/* A socket of an agent. The calls below return what the system calls do, or -errno. */
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
	/* Receives at most @len bytes; stores the result in *@rc if it is not null. */
	std::string recv(size_t len, int flags = 0, long *rc = nullptr);
	/* These throw on errors. */
	RemoteSocket accept();
	int port();
	int get(int level, int option);
	void send_flow(const Flow &flow);
	void recv_flow(const Flow &flow);
	void expect_end();
	/* Reads until the stream ends; returns 0 or -errno. */
	long ending();
	short await(short events, int seconds = 60);

	Job start_accept();
	Job start_connect(const Address &to);
	Job start_send(const Flow &flow);
	Job start_recv(const Flow &flow);
	Job start_exchange(const Flow &out, const Flow &in);
	/* join() returns the number of bytes, and throws unless they have the pattern of @seed. */
	Job start_echo(uint64_t seed = 0); /* 0: any pattern */
	/* Accepts @connections one after the other, and echoes on each until it ends. */
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

/* Functions to call on the ends' sockets before they connect; for a server, on the listener. */
struct Preparation {
	std::function<void(int fd)> here = [](int) {
	};
	std::function<void(RemoteSocket &socket)> there = [](RemoteSocket &) {
	};
};

/* By SMC over IPv4; @subnet: the first three numbers of the ends' addresses. */
Connection make_connection_in(const std::string &subnet, Agent &agent, Role role);
/* Connects this end, in @role, to the agent; the ends may be of different kinds. */
Connection make_connection(Agent &agent, const Flavor &here, const Flavor &there,
			   Role role = Role::client, const Preparation &preparation = {});
inline Connection make_connection(Agent &agent, const Flavor &both, Role role = Role::client,
				  const Preparation &preparation = {})
{
	return make_connection(agent, both, both, role, preparation);
}

/*
 * Sends and receives in both directions at once, and checks every byte at both
 * ends. The counters have to show that the bytes went by SMC if @by_smc, and
 * otherwise that they did not.
 */
void check_data(Connection &connection, uint64_t bytes, bool by_smc, uint64_t seed = 1);

} // namespace guest

#endif
