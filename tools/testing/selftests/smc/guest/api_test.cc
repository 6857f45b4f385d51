// SPDX-License-Identifier: GPL-2.0
/*
 * The socket interface of SMC behaves as that of TCP. Every test also runs on plain TCP sockets,
 * with the same assertions: TCP's behaviour is the expected one.
 */
#include <atomic>
#include <barrier>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <linux/smc.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <set>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "agent.h"
#include "full.h"
#include "place.h"
#include "smc_tool.h"
#include "tcp_table.h"

using namespace guest;

/* Expects a call to fail with an errno, or to succeed (0). */
#define EXPECT_ERRNO(error, call)                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		long result_ = (call);                                                             \
		int errno_ = errno;                                                                \
		EXPECT_EQ(result_ < 0 ? errno_ : 0, (error))                                       \
		    << #call << " returned " << result_ << ", " << strerror(errno_);               \
	} while (0)

class Api : public testing::TestWithParam<Flavor>
{
protected:
	Flavor flavor = GetParam();
	Agent agent;

	Fd make(int type_flags = 0)
	{
		return must_socket(flavor, type_flags);
	}
	Connection connected(Role role = Role::client)
	{
		return make_connection(agent, flavor, role);
	}
	Address of_agent(int port)
	{
		return address_of(agent.node(), flavor.family, port);
	}
	Address of_self(int port)
	{
		return address_of(0, flavor.family, port);
	}
	/* An address that drops SYNs: connect() gets no answer and no error. */
	Address of_nobody()
	{
		must_run("ip neigh replace " +
			 std::string(flavor.family == AF_INET ? "10.83.0.99" : "fd83::99") +
			 " lladdr 52:54:83:00:00:99 dev eth0 nud permanent");
		return flavor.family == AF_INET ? address_from("10.83.0.99", 5000)
						: address_from("fd83::99", 5000);
	}
	static void wait_for_bytes(int fd, int bytes)
	{
		wait_until("bytes to read", [&] {
			int waiting = 0;

			ioctl(fd, FIONREAD, &waiting);
			return waiting >= bytes;
		});
	}
	/* The events that poll() returns at this moment. */
	static short events(int fd, short wanted = POLLIN | POLLOUT | POLLPRI | POLLRDHUP)
	{
		pollfd waiting = {fd, wanted, 0};

		return poll(&waiting, 1, 0) > 0 ? waiting.revents : 0;
	}
	static void wait_for_events(int fd, short wanted)
	{
		wait_until("events " + std::to_string(wanted),
			   [&] { return (events(fd) & wanted) == wanted; });
	}
	/* Expects a socket whose connect() failed to be unconnected, and able to connect. */
	void expect_usable_again(Fd fd)
	{
		RemoteSocket listener = agent.listen(flavor);
		Address to = of_agent(listener.port());
		char byte;

		EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);
		EXPECT_ERRNO(EPIPE, send(fd, "x", 1, MSG_NOSIGNAL));
		EXPECT_ERRNO(ENOTCONN, recv(fd, &byte, 1, MSG_DONTWAIT));
		ASSERT_EQ(connect(fd, to.get(), to.len), 0) << strerror(errno);

		Connection connection = {std::move(fd), listener.accept()};

		check_data(connection, 10000, flavor.is_smc());
	}
	static void set_timeout(int fd, int option, int ms)
	{
		timeval timeout = {ms / 1000, ms % 1000 * 1000};

		ASSERT_EQ(setsockopt(fd, SOL_SOCKET, option, &timeout, sizeof(timeout)), 0);
	}
};

INSTANTIATE_TEST_SUITE_P(, Api, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

static std::atomic<int> signals;

static void on_signal(int)
{
	signals++;
}

/* Signals this thread repeatedly while it sleeps in a call, until it is stopped. */
class Interrupter
{
public:
	explicit Interrupter(bool restart)
	{
		struct sigaction action = {};

		action.sa_handler = on_signal;
		action.sa_flags = restart ? SA_RESTART : 0;
		sigaction(SIGUSR1, &action, nullptr);
		thread = std::thread([this, target = pthread_self(), task = gettid()] {
			while (!stop) {
				wait_until("it sleeps",
					   [&] { return stop || sleeps_in_any_call(task); });
				pthread_kill(target, SIGUSR1);
			}
		});
	}
	~Interrupter()
	{
		stop = true;
		thread.join();
	}

private:
	std::thread thread;
	std::atomic<bool> stop = false;
};

/* A thread that is started, and then sleeps in a call that waits for data or for space. */
class Sleeper
{
public:
	explicit Sleeper(const std::function<void()> &call)
	    : thread([this, call] {
		      task = gettid();
		      call();
	      })
	{
		wait_until("it sleeps", [this] { return sleeps_in_socket_call(task); });
	}

private:
	std::atomic<pid_t> task = 0;
	std::jthread thread;
};

/* -- connect -- */

TEST_P(Api, ConnectNonBlocking)
{
	RemoteSocket listener = agent.listen(flavor);
	Address to = of_agent(listener.port());
	Fd fd = make(SOCK_NONBLOCK);

	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	await(fd, POLLOUT);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);
	EXPECT_EQ(events(fd), POLLOUT);
	/*
	 * The first connect() after the connection is established reports it, the next one fails.
	 */
	EXPECT_ERRNO(0, connect(fd, to.get(), to.len));
	EXPECT_ERRNO(EISCONN, connect(fd, to.get(), to.len));
	EXPECT_EQ(peer_address(fd), to);

	Connection connection = {std::move(fd), listener.accept()};

	fcntl(connection.here, F_SETFL, 0);
	check_data(connection, 100000, flavor.is_smc());
}

/* However close to the end of TCP's handshake the socket is polled. */
TEST_P(Api, ConnectedOnceWritable)
{
	RemoteSocket listener = agent.listen(flavor);
	Address to = of_agent(listener.port());

	for (int i = 0; i < 20; i++) {
		Fd fd = make(SOCK_NONBLOCK);

		EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
		while (!events(fd))
			;
		ASSERT_EQ(events(fd), POLLOUT);
		EXPECT_ERRNO(0, connect(fd, to.get(), to.len));
		listener.accept();
	}
}

TEST_P(Api, ConnectTwice)
{
	Connection connection = connected();
	Address to = peer_address(connection.here);

	EXPECT_ERRNO(EISCONN, connect(connection.here, to.get(), to.len));
}

TEST_P(Api, ConnectWhileConnecting)
{
	Fd fd = make(SOCK_NONBLOCK);
	Address to = of_nobody();

	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	EXPECT_ERRNO(EALREADY, connect(fd, to.get(), to.len));
	EXPECT_EQ(events(fd), 0);
	EXPECT_ERRNO(ENOTCONN, getpeername(fd, to.get(), &to.len));
	EXPECT_ERRNO(EAGAIN, recv(fd, &to, 1, 0));
	EXPECT_ERRNO(EAGAIN, send(fd, &to, 1, MSG_NOSIGNAL));
}

TEST_P(Api, ConnectRefused)
{
	Fd fd = make();
	Address to = of_agent(1);

	EXPECT_ERRNO(ECONNREFUSED, connect(fd, to.get(), to.len));
	expect_usable_again(std::move(fd));
}

TEST_P(Api, ConnectRefusedNonBlocking)
{
	Fd fd = make(SOCK_NONBLOCK);
	Address to = of_agent(1);

	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	await(fd, POLLOUT);
	EXPECT_EQ(events(fd), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);
}

TEST_P(Api, ShutdownWhileConnecting)
{
	Fd fd = make(SOCK_NONBLOCK);
	Address to = of_nobody();

	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	EXPECT_ERRNO(EINVAL, shutdown(fd, 3));
	EXPECT_ERRNO(EALREADY, connect(fd, to.get(), to.len));
	EXPECT_ERRNO(0, shutdown(fd, SHUT_RDWR));
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), ECONNRESET);
	fcntl(fd, F_SETFL, 0);
	expect_usable_again(std::move(fd));
}

TEST_P(Api, ConnectTimesOut)
{
	Fd fd = make();
	Address to = of_nobody();

	set_timeout(fd, SO_SNDTIMEO, 300);
	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	EXPECT_ERRNO(EALREADY, connect(fd, to.get(), to.len));
}

TEST_P(Api, SpliceWhileConnecting)
{
	Fd fd = make();
	Address to = of_nobody();
	Pipe pipe;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	EXPECT_ERRNO(EAGAIN, splice(fd, nullptr, pipe.in, nullptr, 1, 0));
}

TEST_P(Api, ConnectInterrupted)
{
	Fd fd = make();
	Address to = of_nobody();
	Interrupter interrupter(false);

	EXPECT_ERRNO(EINTR, connect(fd, to.get(), to.len));
}

TEST_P(Api, ConnectUnreachable)
{
	Fd fd = make();
	Address to = flavor.family == AF_INET ? address_from("192.0.2.1", 1)
					      : address_from("2001:db8::1", 1);

	EXPECT_ERRNO(ENETUNREACH, connect(fd, to.get(), to.len));
	EXPECT_EQ(events(fd), POLLOUT | POLLHUP);
	expect_usable_again(std::move(fd));
}

TEST_P(Api, ConnectBadAddress)
{
	Fd fd = make();
	Address to = of_agent(1);

	EXPECT_ERRNO(EINVAL, connect(fd, to.get(), sizeof(sa_family_t)));
	EXPECT_ERRNO(EINVAL, connect(fd, to.get(), 1));
	EXPECT_ERRNO(EFAULT, connect(fd, reinterpret_cast<sockaddr *>(8), to.len));
	to.get()->sa_family = AF_UNIX;
	EXPECT_ERRNO(EAFNOSUPPORT, connect(fd, to.get(), to.len));
	expect_usable_again(std::move(fd));
}

TEST_P(Api, DisconnectByUnspec)
{
	Connection connection = connected();
	sockaddr unspec = {};
	char byte;

	unspec.sa_family = AF_UNSPEC;
	EXPECT_ERRNO(0, connect(connection.here, &unspec, sizeof(unspec)));
	EXPECT_ERRNO(ENOTCONN, getpeername(connection.here, &unspec,
					   std::array<socklen_t, 1>{sizeof(unspec)}.data()));
	EXPECT_ERRNO(ECONNRESET, send(connection.here, "x", 1, MSG_NOSIGNAL));
	EXPECT_ERRNO(EPIPE, send(connection.here, "x", 1, MSG_NOSIGNAL));
	EXPECT_ERRNO(ENOTCONN, recv(connection.here, &byte, 1, 0));
	/* The peer learns of the reset. */
	connection.there.await(POLLHUP);

	/* The socket can connect again. */
	RemoteSocket listener = agent.listen(flavor);
	Address to = of_agent(listener.port());

	ASSERT_EQ(connect(connection.here, to.get(), to.len), 0) << strerror(errno);

	RemoteSocket there = listener.accept();

	ASSERT_EQ(send(connection.here, "again", 5, 0), 5);
	EXPECT_EQ(there.recv(5, MSG_WAITALL), "again");
}

TEST_P(Api, DisconnectWhileConnecting)
{
	Fd fd = make(SOCK_NONBLOCK);
	Address to = of_nobody();
	sockaddr unspec = {};

	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	EXPECT_ERRNO(0, connect(fd, &unspec, sizeof(unspec)));

	RemoteSocket listener = agent.listen(flavor);

	to = of_agent(listener.port());
	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	await(fd, POLLOUT);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);
}

/* Other threads disconnect the socket at any point of a blocking connect(). Nothing remains. */
TEST_P(Api, DisconnectAgainAndAgain)
{
	std::vector<std::thread> threads;
	std::atomic<bool> stop = false;
	Fd fd = make();

	for (int i = 0; i < 2; i++)
		threads.emplace_back([&] {
			sockaddr unspec = {};

			unspec.sa_family = AF_UNSPEC;
			while (!stop)
				connect(fd, &unspec, sizeof(unspec));
		});
	/* No accept() is called: each time, as many connect as the backlog permits. */
	for (int i = 0; i < 6; i++) {
		RemoteSocket listener = agent.listen(flavor, 64);
		Address to = of_agent(listener.port());

		for (int j = 0; j < 50; j++)
			connect(fd, to.get(), to.len);
	}
	stop = true;
	for (std::thread &thread : threads)
		thread.join();

	/* A socket with SMC_LIMIT_HS is TCP while many handshakes are under way. */
	Fd modest = make();

	if (flavor.is_smc())
		must_set(modest, SOL_SMC, SMC_LIMIT_HS, 1);
	expect_usable_again(std::move(modest));
}

/* Another thread disconnects, beside a nonblocking connect(). poll() agrees with the last call. */
TEST_P(Api, DisconnectAtAnyMoment)
{
	constexpr int rounds = 100;
	RemoteSocket listener = agent.listen(flavor, rounds);
	Address to = of_agent(listener.port());
	sockaddr unspec = {};

	unspec.sa_family = AF_UNSPEC;
	for (int i = 0; i < rounds; i++) {
		Fd fd = make(SOCK_NONBLOCK);
		std::barrier together(2);
		std::jthread ending([&] {
			together.arrive_and_wait();
			EXPECT_ERRNO(0, connect(fd, &unspec, sizeof(unspec)));
		});

		together.arrive_and_wait();
		connect(fd, to.get(), to.len);
		ending.join();
		await(fd, POLLOUT);
	}
}

/*
 * While it lives, this thread runs only if no other thread wants its processor, which is one. Then
 * it is preempted anywhere in the kernel, if the kernel can do that.
 */
class Yielding
{
public:
	Yielding()
	{
		run_command("echo full >/sys/kernel/debug/sched/preempt");

		const sched_param none = {};
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(0, &one);
		if (sched_getaffinity(0, sizeof(before), &before) ||
		    sched_setaffinity(0, sizeof(one), &one) ||
		    sched_setscheduler(0, SCHED_IDLE, &none))
			throw_errno("a yielding thread");
	}
	~Yielding()
	{
		const sched_param none = {};

		sched_setscheduler(0, SCHED_OTHER, &none);
		sched_setaffinity(0, sizeof(before), &before);
		run_command("echo voluntary >/sys/kernel/debug/sched/preempt");
	}

private:
	cpu_set_t before;
};

/* Calls connect(), and by another thread, which interrupts it, MSG_FASTOPEN. */
void connect_twice(int fd, const Address &to, int delay)
{
	std::barrier together(2);
	std::jthread opening([&] {
		const sched_param none = {};

		prctl(PR_SET_TIMERSLACK, 1);
		sched_setscheduler(0, SCHED_OTHER, &none);
		together.arrive_and_wait();
		usleep(delay);
		sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, to.get(), to.len);
	});

	together.arrive_and_wait();
	connect(fd, to.get(), to.len);
}

/*
 * Another thread connects the socket by MSG_FASTOPEN, at any moment of a connect(). The handshake
 * runs whichever of the two threads begins the connection: the socket gets ready, and closes.
 */
TEST_P(Api, FastOpenAtAnyMoment)
{
	constexpr int rounds = 50;
	Yielding yielding;

	/* No accept() is called, so a listener's end frees the memory of its connections. */
	for (int i = 0; i < 12; i++) {
		RemoteSocket listener = agent.listen(flavor, rounds);
		Address to = of_agent(listener.port());

		for (int j = 0; j < rounds; j++) {
			Fd fd = make(SOCK_NONBLOCK);

			connect_twice(fd, to, 10 * j);
			await(fd, POLLOUT);
		}
	}
}

/*
 * A thread tries a call again and again until it succeeds, while another one connects the socket.
 * So the call may begin before connect(), and go on once the socket is connected.
 */
class FromBeforeConnect : public Api
{
protected:
	/* @call returns 1 in the end, and before that -1 with @refusal. */
	void repeat(int refusal, const std::function<int(int fd)> &call,
		    const std::function<void(Connection &)> &check)
	{
		constexpr int rounds = 40;
		RemoteSocket listener = agent.listen(flavor, rounds);
		Address to = of_agent(listener.port());

		for (int i = 0; i < rounds && !HasFailure(); i++) {
			Fd fd = make();
			std::atomic<bool> has_begun = false;

			/* A call that does not notice the connection ends, too. */
			set_timeout(fd, SO_RCVTIMEO, 20000);

			std::jthread calling([&, number = int(fd)] {
				int rc;

				do {
					rc = call(number);
					has_begun = true;
				} while (rc < 0 && errno == refusal);
				EXPECT_EQ(rc, 1) << strerror(errno);
			});

			wait_until("the first call", [&] { return has_begun.load(); });
			EXPECT_ERRNO(0, connect(fd, to.get(), to.len));

			Connection connection = {std::move(fd), listener.accept()};

			check(connection);
			calling.join();
			check_data(connection, 100, flavor.is_smc());
		}
	}
	static void expect_byte_there(Connection &connection)
	{
		EXPECT_EQ(connection.there.recv(1), "x");
	}
	static void send_from_there(Connection &connection)
	{
		EXPECT_EQ(connection.there.send("x"), 1);
	}
};

INSTANTIATE_TEST_SUITE_P(, FromBeforeConnect, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(FromBeforeConnect, Send)
{
	repeat(
	    EPIPE, [](int fd) { return send(fd, "x", 1, MSG_NOSIGNAL); }, expect_byte_there);
}

TEST_P(FromBeforeConnect, Recv)
{
	repeat(
	    ENOTCONN,
	    [](int fd) {
		    char byte;

		    return recv(fd, &byte, 1, 0);
	    },
	    send_from_there);
}

TEST_P(FromBeforeConnect, Splice)
{
	int pipes[2];

	ASSERT_EQ(pipe(pipes), 0);
	repeat(
	    ENOTCONN,
	    [&](int fd) {
		    int rc = splice(fd, nullptr, pipes[1], nullptr, 1, 0);
		    char byte;

		    return rc == 1 ? read(pipes[0], &byte, 1) : rc;
	    },
	    send_from_there);
	close(pipes[0]);
	close(pipes[1]);
}

TEST_P(Api, CloseWhileConnecting)
{
	RemoteSocket listener = agent.listen(flavor, 64);
	Address to = of_agent(listener.port());

	for (int i = 0; i < 20; i++) {
		Fd fd = make(SOCK_NONBLOCK);

		EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
		/* The disconnect comes a little later in each round. */
		for (int calls = 0; calls < 50 * i; calls++)
			events(fd);
	}

	Connection connection = connected();

	check_data(connection, 1000, flavor.is_smc());
}

/* -- before a connection -- */

TEST_P(Api, Unconnected)
{
	Fd fd = make();
	Address address;
	char byte;
	int value;

	EXPECT_EQ(events(fd), POLLOUT | POLLHUP);
	EXPECT_ERRNO(ENOTCONN, recv(fd, &byte, 1, 0));
	EXPECT_ERRNO(EPIPE, send(fd, "x", 1, MSG_NOSIGNAL));
	EXPECT_ERRNO(ENOTCONN, shutdown(fd, SHUT_RDWR));
	EXPECT_ERRNO(ENOTCONN, getpeername(fd, address.get(), &address.len));
	EXPECT_ERRNO(EINVAL, accept(fd, nullptr, nullptr));
	EXPECT_ERRNO(0, ioctl(fd, FIONREAD, &value));
	EXPECT_ERRNO(0, getsockname(fd, address.get(), &address.len));
	EXPECT_EQ(address.port(), 0);
}

TEST_P(Api, UnconnectedSendRaisesSigpipe)
{
	EXPECT_EXIT(
	    {
		    signal(SIGPIPE, SIG_DFL);
		    send(make(), "x", 1, 0);
		    _exit(0);
	    },
	    testing::KilledBySignal(SIGPIPE), "");
}

TEST_P(Api, WhatItIs)
{
	Fd fd = make();

	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_DOMAIN), flavor.family);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);
	ASSERT_EQ(listen(fd, 1), 0);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
}

TEST_P(Api, TypeFlags)
{
	Fd fd = make(SOCK_NONBLOCK | SOCK_CLOEXEC);

	EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

TEST_P(Api, Options)
{
	struct {
		int level, option, value, wanted;
	} options[] = {
	    {SOL_SOCKET, SO_KEEPALIVE, 1, 1},
	    {SOL_SOCKET, SO_REUSEADDR, 1, 1},
	    {SOL_SOCKET, SO_REUSEPORT, 1, 1},
	    {SOL_SOCKET, SO_OOBINLINE, 1, 1},
	    {SOL_SOCKET, SO_SNDBUF, 40000, 80000},
	    {SOL_SOCKET, SO_RCVBUF, 50000, 100000},
	    {SOL_SOCKET, SO_PRIORITY, 4, 4},
	    {SOL_SOCKET, SO_MARK, 7, 7},
	    {SOL_SOCKET, SO_RCVLOWAT, 3, 3},
	    {IPPROTO_TCP, TCP_NODELAY, 1, 1},
	    {IPPROTO_TCP, TCP_CORK, 1, 1},
	    {IPPROTO_TCP, TCP_KEEPIDLE, 60, 60},
	    {IPPROTO_TCP, TCP_KEEPINTVL, 5, 5},
	    {IPPROTO_TCP, TCP_KEEPCNT, 3, 3},
	    {IPPROTO_TCP, TCP_USER_TIMEOUT, 5000, 5000},
	    {IPPROTO_TCP, TCP_DEFER_ACCEPT, 1, 1},
	    {IPPROTO_TCP, TCP_QUICKACK, 1, 1},
	};
	Fd fresh = make();
	Connection connection = connected();

	for (int fd : {int(fresh), int(connection.here)})
		for (auto &o : options) {
			EXPECT_ERRNO(0, setsockopt(fd, o.level, o.option, &o.value, sizeof(int)));
			EXPECT_EQ(must_get(fd, o.level, o.option), o.wanted) << o.option;
		}
	EXPECT_ERRNO(EINVAL, setsockopt(fresh, SOL_SOCKET, SO_KEEPALIVE, options, 1));
	EXPECT_ERRNO(ENOPROTOOPT, setsockopt(fresh, SOL_SOCKET, 9999, options, 4));
	EXPECT_ERRNO(ENOPROTOOPT, setsockopt(fresh, IPPROTO_TCP, 9999, options, 4));
	EXPECT_ERRNO(ENOPROTOOPT, setsockopt(fresh, 9999, 1, options, 4));
	must_set(connection.here, IPPROTO_TCP, TCP_CORK, 0);
	must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, 1);
	must_set(connection.here, SOL_SOCKET, SO_OOBINLINE, 0);
	check_data(connection, 100000, flavor.is_smc());
}

TEST_P(Api, TcpInfo)
{
	Connection connection = connected();
	tcp_info info = {};
	socklen_t len = sizeof(info);

	ASSERT_EQ(getsockopt(connection.here, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	EXPECT_EQ(info.tcpi_state, TCP_ESTABLISHED);
}

TEST_P(Api, WrongIoctl)
{
	Fd fd = make();
	int value;

	EXPECT_ERRNO(ENOTTY, ioctl(fd, 0x12345678, &value));
	ASSERT_EQ(listen(fd, 1), 0);
	EXPECT_ERRNO(EINVAL, ioctl(fd, FIONREAD, &value));
	EXPECT_ERRNO(EINVAL, ioctl(fd, SIOCOUTQ, &value));
}

/* -- bind, listen, accept -- */

TEST_P(Api, BindErrors)
{
	Fd fd = make(), other = make();
	Address any = any_address(flavor.family);
	Address foreign = address_of(98, flavor.family, 0);

	EXPECT_ERRNO(EADDRNOTAVAIL, bind(fd, foreign.get(), foreign.len));
	EXPECT_ERRNO(0, bind(fd, any.get(), any.len));
	EXPECT_ERRNO(EINVAL, bind(fd, any.get(), any.len));
	ASSERT_EQ(listen(fd, 1), 0);

	Address taken = local_address(fd);

	EXPECT_NE(taken.port(), 0);
	EXPECT_ERRNO(EADDRINUSE, bind(other, taken.get(), taken.len));
	EXPECT_ERRNO(EINVAL, bind(other, any.get(), 1));
}

/* TCP and SMC share the ports. */
TEST_P(Api, PortsAreTcps)
{
	Fd fd = make();
	Address any = any_address(flavor.family);

	ASSERT_EQ(bind(fd, any.get(), any.len), 0);
	ASSERT_EQ(listen(fd, 1), 0);

	for (Kind kind : {Kind::tcp, Kind::smc, Kind::af_smc}) {
		Fd other = must_socket({kind, flavor.family});
		Address taken = local_address(fd);

		EXPECT_ERRNO(EADDRINUSE, bind(other, taken.get(), taken.len));
	}
}

TEST_P(Api, ReuseAddress)
{
	Connection connection = connected(Role::server);
	int port = local_address(connection.here).port();

	/* The listener is closed. The connection is open, and will be in TIME_WAIT. */
	Fd again = make();
	Address address = any_address(flavor.family, port);

	EXPECT_ERRNO(EADDRINUSE, bind(again, address.get(), address.len));
	must_set(again, SOL_SOCKET, SO_REUSEADDR, 1);
	EXPECT_ERRNO(0, bind(again, address.get(), address.len));
	EXPECT_ERRNO(0, listen(again, 1));
	connection.here.close();
	agent.connect(flavor, of_self(port));
	must_accept(again);
}

TEST_P(Api, ReusePort)
{
	std::vector<Fd> listeners;
	std::set<int> used;
	int port = 0;

	for (int i = 0; i < 4; i++) {
		Fd fd = make();
		must_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
		Address address = any_address(flavor.family, port);
		ASSERT_EQ(bind(fd, address.get(), address.len), 0) << strerror(errno);
		ASSERT_EQ(listen(fd, 16), 0) << strerror(errno);
		port = local_address(fd).port();
		listeners.push_back(std::move(fd));
	}

	for (int i = 0; i < 24; i++) {
		std::vector<pollfd> waiting;
		RemoteSocket client = agent.connect(flavor, of_self(port));

		for (Fd &fd : listeners)
			waiting.push_back({fd, POLLIN, 0});
		ASSERT_GT(poll(waiting.data(), waiting.size(), 60000), 0);
		for (size_t l = 0; l < waiting.size(); l++)
			if (waiting[l].revents) {
				must_accept(waiting[l].fd);
				used.insert(l);
			}
	}
	/* All of them on one listener by chance: 4^-23. */
	EXPECT_GT(used.size(), 1U);
}

TEST_P(Api, AcceptNonBlocking)
{
	Fd listener = must_listen(flavor);
	Address peer;

	fcntl(listener, F_SETFL, O_NONBLOCK);
	EXPECT_ERRNO(EAGAIN, accept(listener, nullptr, nullptr));
	EXPECT_EQ(events(listener), 0);

	RemoteSocket client = agent.connect(flavor, of_self(local_address(listener).port()));

	await(listener, POLLIN);
	EXPECT_EQ(events(listener), POLLIN);

	Fd fd(accept4(listener, peer.get(), &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC));

	ASSERT_GE(fd, 0) << strerror(errno);
	EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	EXPECT_EQ(peer.text(), of_agent(0).text());
	EXPECT_EQ(peer.port(), client.port());
	EXPECT_EQ(peer_address(fd), peer);
	EXPECT_EQ(local_address(fd).port(), local_address(listener).port());
	EXPECT_EQ(local_address(fd).text(), of_self(0).text());
	EXPECT_ERRNO(EAGAIN, accept(listener, nullptr, nullptr));
	EXPECT_ERRNO(EINVAL, accept4(listener, nullptr, nullptr, 0x100));

	/* Flags are not inherited. */
	RemoteSocket other = agent.connect(flavor, of_self(local_address(listener).port()));
	Fd blocking = must_accept(listener);

	EXPECT_FALSE(fcntl(blocking, F_GETFL) & O_NONBLOCK);
}

/* SO_RCVLOWAT applies to the application's bytes, not to the messages of the handshake. */
TEST_P(Api, LowWaterMarkFromTheBeginning)
{
	for (Role role : both_roles) {
		Connection connection =
		    make_connection(agent, flavor, role, {.here = [](int fd) {
					    must_set(fd, SOL_SOCKET, SO_RCVLOWAT, 60000);
				    }});

		EXPECT_EQ(must_get(connection.here, SOL_SOCKET, SO_RCVLOWAT), 60000);
		/* Otherwise nothing would wake the reader for the last bytes. */
		must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, 1);
		check_data(connection, 100000, flavor.is_smc());
	}
}

TEST_P(Api, AcceptInheritsOptions)
{
	Fd listener = must_listen(flavor);

	must_set(listener, SOL_SOCKET, SO_KEEPALIVE, 1);
	must_set(listener, SOL_SOCKET, SO_RCVBUF, 30000);
	must_set(listener, IPPROTO_TCP, TCP_NODELAY, 1);

	RemoteSocket client = agent.connect(flavor, of_self(local_address(listener).port()));
	Fd fd = must_accept(listener);

	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_RCVBUF), 60000);
	EXPECT_EQ(must_get(fd, IPPROTO_TCP, TCP_NODELAY), 1);
}

TEST_P(Api, AcceptTimesOut)
{
	Fd listener = must_listen(flavor);

	set_timeout(listener, SO_RCVTIMEO, 200);
	EXPECT_ERRNO(EAGAIN, accept(listener, nullptr, nullptr));
}

TEST_P(Api, AcceptInterrupted)
{
	Fd listener = must_listen(flavor);
	Interrupter interrupter(false);

	EXPECT_ERRNO(EINTR, accept(listener, nullptr, nullptr));
}

TEST_P(Api, AcceptRestarted)
{
	Fd listener = must_listen(flavor);
	Interrupter interrupter(true);
	int before = signals;
	std::jthread client([&] {
		wait_until("some signals", [&] { return signals > before + 3; });
		agent.connect(flavor, of_self(local_address(listener).port()));
	});

	EXPECT_GE(Fd(accept(listener, nullptr, nullptr)), 0) << strerror(errno);
}

TEST_P(Api, AcceptByManyThreads)
{
	constexpr int connections = 24;
	Fd listener = must_listen(flavor, 64);
	Address address = of_self(local_address(listener).port());
	std::atomic<int> accepted = 0;
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			for (;;) {
				Fd fd(accept(listener, nullptr, nullptr));

				if (fd < 0)
					return;
				send(fd, "hello", 5, 0);
				accepted++;
			}
		});
	for (int i = 0; i < connections; i++)
		EXPECT_EQ(agent.connect(flavor, address).recv(5, MSG_WAITALL), "hello");
	/* shutdown() of a listener wakes blocked accept() calls. */
	EXPECT_EQ(shutdown(listener, SHUT_RD), 0);
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(accepted, connections);
}

TEST_P(Api, AcceptByManyProcesses)
{
	constexpr int connections = 16;
	Fd listener = must_listen(flavor, 64);
	Address address = of_self(local_address(listener).port());

	for (int i = 0; i < 4; i++)
		if (!fork())
			for (;;) {
				Fd fd(accept(listener, nullptr, nullptr));
				char byte;

				while (recv(fd, &byte, 1, 0) == 1)
					send(fd, &byte, 1, 0);
			}
	for (int i = 0; i < connections; i++) {
		RemoteSocket client = agent.connect(flavor, address);

		client.send("x");
		EXPECT_EQ(client.recv(1), "x");
	}
}

TEST_P(Api, Backlog)
{
	Fd listener = must_listen(flavor, 2);
	Address address = of_self(local_address(listener).port());
	std::vector<RemoteSocket> clients;

	/* Without accept(), one more connection than the backlog is established. */
	for (int i = 0; i < 3; i++)
		clients.push_back(agent.connect(flavor, address));
	for (int i = 0; i < 3; i++) {
		Fd fd = must_accept(listener);

		EXPECT_EQ(peer_address(fd).port(), clients[i].port()) << "not in order";
	}

	/* After accept() there is space again. */
	RemoteSocket another = agent.connect(flavor, address);

	must_accept(listener);
}

/* Servers measure their load by TCP_INFO of the listener, or by ss. */
TEST_P(Api, ThoseWaitingAreCounted)
{
	Fd listener = must_listen(flavor, 10);
	Address address = of_self(local_address(listener).port());
	std::vector<RemoteSocket> clients;
	auto expect_waiting = [&](unsigned int waiting) {
		std::string port = std::to_string(address.port());

		wait_until(std::to_string(waiting) + " wait", [&] {
			tcp_info info = {};
			socklen_t len = sizeof(info);

			getsockopt(listener, SOL_TCP, TCP_INFO, &info, &len);
			EXPECT_EQ(info.tcpi_sacked, 10u);
			return info.tcpi_unacked == waiting;
		});
		EXPECT_EQ(must_run("ss -Hltn 'sport = :" + port + "' | awk '{print $2}'"),
			  std::to_string(waiting) + "\n");
	};

	expect_waiting(0);
	for (int i = 0; i < 5; i++)
		clients.push_back(agent.connect(flavor, address));
	expect_waiting(5);

	Fd first = must_accept(listener);

	expect_waiting(4);
	clients.clear();
	/* The clients have closed, but their connections still wait for accept(). */
	expect_waiting(4);
	for (int i = 0; i < 4; i++)
		must_accept(listener);
	expect_waiting(0);
}

/* TCP, or a program such as ss -K, ends a listener without asking its owner. */
TEST_P(Api, ListenerEndedFromOutside)
{
	Fd listener = must_listen(flavor);
	Address address = of_self(local_address(listener).port());
	RemoteSocket client = agent.connect(flavor, address);
	long rc;

	await(listener, POLLIN);
	must_run("ss -K -ltn 'sport = :" + std::to_string(address.port()) + "'");
	client.await(POLLHUP);
	client.recv(1, 0, &rc);
	EXPECT_EQ(rc, -ECONNRESET);
	EXPECT_ERRNO(EINVAL, accept(listener, nullptr, nullptr));

	/* The listener has lost its port, if bind() did not choose one. */
	ASSERT_EQ(listen(listener, 5), 0) << strerror(errno);
	EXPECT_EQ(events(listener), 0);
}

/* A silent client is accepted after one that connects later and sends data. */
TEST_P(Api, DeferAccept)
{
	auto expect_byte = [](int fd, char byte) {
		char c = 0;

		EXPECT_EQ(recv(fd, &c, 1, 0), 1);
		EXPECT_EQ(c, byte);
	};
	Fd listener = must_listen(flavor);
	Address address = of_self(local_address(listener).port());

	must_set(listener, SOL_TCP, TCP_DEFER_ACCEPT, 60);

	RemoteSocket silent = agent.connect(flavor, address);
	RemoteSocket closes = agent.connect(flavor, address);
	RemoteSocket speaks = agent.connect(flavor, address);

	EXPECT_EQ(speaks.send("x"), 1);

	Fd spoke = must_accept(listener);

	expect_byte(spoke, 'x');
	closes.close();

	Fd closed = must_accept(listener);

	expect_end(closed);
	EXPECT_EQ(silent.send("y"), 1);

	Fd late = must_accept(listener);

	expect_byte(late, 'y');
	EXPECT_EQ(events(listener), 0);

	Connection connection = {std::move(late), std::move(silent)};

	check_data(connection, 10000, flavor.is_smc());
}

TEST_P(Api, DeferAcceptEnds)
{
	Fd listener = must_listen(flavor);

	must_set(listener, SOL_TCP, TCP_DEFER_ACCEPT, 1);

	RemoteSocket silent = agent.connect(flavor, of_self(local_address(listener).port()));
	Fd accepted = must_accept(listener);

	EXPECT_EQ(events(accepted) & POLLIN, 0);
}

TEST_P(Api, DeferAcceptOfAClosedListener)
{
	Fd listener = must_listen(flavor);

	must_set(listener, SOL_TCP, TCP_DEFER_ACCEPT, 60);

	RemoteSocket silent = agent.connect(flavor, of_self(local_address(listener).port()));

	listener.close();
	/* Only a client that sends learns from TCP that its connection is gone. */
	silent.send("x");
	silent.await(POLLHUP);
}

/* A Fast Open client is accepted before its handshake is complete, and wakes accept(). */
TEST_P(Api, AcceptWokenByFastOpen)
{
	Fd listener = must_listen(flavor);
	Address address = of_self(local_address(listener).port());
	RemoteSocket client = agent.socket({Kind::tcp, flavor.family});
	/* Fast Open without cookies at both ends. */
	SysctlScope here("net.ipv4.tcp_fastopen", "519");
	RemoteSysctlScope there(agent, "net.ipv4.tcp_fastopen", "519");

	must_set(listener, SOL_TCP, TCP_FASTOPEN, 5);

	std::future<Fd> accepted =
	    std::async(std::launch::async, [&] { return must_accept(listener); });

	EXPECT_EQ(client.set(SOL_TCP, TCP_FASTOPEN_CONNECT, 1), 0);
	EXPECT_EQ(client.connect(address), 0);
	EXPECT_EQ(client.send("x"), 1);

	Fd server = accepted.get();
	char byte = 0;

	EXPECT_EQ(recv(server, &byte, 1, 0), 1);
	EXPECT_EQ(byte, 'x');
}

TEST_P(Api, ListenerCloseResetsThoseWaiting)
{
	Fd listener = must_listen(flavor);
	RemoteSocket client = agent.connect(flavor, of_self(local_address(listener).port()));
	long rc;

	await(listener, POLLIN);
	listener.close();
	client.await(POLLHUP);
	client.recv(1, 0, &rc);
	EXPECT_EQ(rc, -ECONNRESET);
}

TEST_P(Api, ListenerShutdownResetsThoseWaiting)
{
	Fd listener = must_listen(flavor);
	RemoteSocket client = agent.connect(flavor, of_self(local_address(listener).port()));
	long rc;

	await(listener, POLLIN);
	EXPECT_ERRNO(0, shutdown(listener, SHUT_RD));
	EXPECT_ERRNO(EINVAL, accept(listener, nullptr, nullptr));
	client.await(POLLHUP);
	client.recv(1, 0, &rc);
	EXPECT_EQ(rc, -ECONNRESET);

	EXPECT_ERRNO(0, listen(listener, 5));
	EXPECT_EQ(events(listener), 0);

	RemoteSocket another = agent.connect(flavor, of_self(local_address(listener).port()));
	Connection connection = {must_accept(listener), std::move(another)};

	check_data(connection, 10000, flavor.is_smc());
}

/* accept() returns the connection, although it has been reset. */
TEST_P(Api, AcceptOfReset)
{
	Fd listener = must_listen(flavor);
	RemoteSocket client = agent.connect(flavor, of_self(local_address(listener).port()));
	int to = local_address(listener).port(), port = client.port();
	Address from;

	await(listener, POLLIN);

	int64_t received = Counters::now()["rdma_recvs"];

	client.linger(true, 0);
	client.close();
	wait_until("the reset is here", [&] {
		if (!flavor.is_smc())
			return !tcp_state(read_file(tcp_table(flavor.family)), to, port);
		/* Within a host, close() itself has ended the other end. */
		return peer_within() || Counters::now()["rdma_recvs"] > received;
	});

	Fd fd(accept(listener, from.get(), &from.len));

	ASSERT_GE(fd, 0) << strerror(errno);
	await(fd, POLLHUP);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), ECONNRESET);
}

/* A connection to itself can't be SMC, and no trace of the handshake is left in its data. */
TEST_P(Api, ConnectToItself)
{
	Fd fd = make();
	Address self = of_self(0);
	char buf[16];

	ASSERT_EQ(bind(fd, self.get(), self.len), 0) << strerror(errno);
	self = local_address(fd);
	ASSERT_EQ(connect(fd, self.get(), self.len), 0) << strerror(errno);
	ASSERT_EQ(send(fd, "hello", 5, 0), 5);
	EXPECT_EQ(recv(fd, buf, sizeof(buf), 0), 5);
	EXPECT_EQ(std::string(buf, 5), "hello");
}

/* Options for the application's bytes don't affect the handshake before them. */
TEST_P(Api, OptionsBeforeConnect)
{
	RemoteSocket listener = agent.listen(flavor);
	Address to = of_agent(listener.port());
	Fd fd = make();
	char buf[16];

	must_set(fd, SOL_SOCKET, SO_PEEK_OFF, 3);
	must_set(fd, SOL_SOCKET, SO_RCVLOWAT, 4);
	must_set(fd, SOL_TCP, TCP_CORK, 1);
	ASSERT_EQ(connect(fd, to.get(), to.len), 0) << strerror(errno);

	Connection connection = {std::move(fd), listener.accept()};

	ASSERT_EQ(connection.there.send("0123456789"), 10);
	wait_for_bytes(connection.here, 10);
	EXPECT_EQ(recv(connection.here, buf, 4, MSG_PEEK), 4);
	EXPECT_EQ(std::string(buf, 4), "3456");
	EXPECT_EQ(recv(connection.here, buf, 10, 0), 10);
	must_set(connection.here, SOL_TCP, TCP_CORK, 0);
	/* The last bytes may be fewer than the low-water mark. */
	must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, 1);
	check_data(connection, 10000, flavor.is_smc());
}

TEST_P(Api, LowerLowWaterMarkWakes)
{
	Connection connection = connected();
	pid_t poller = gettid();

	must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, 1000);
	ASSERT_EQ(connection.there.send(std::string(100, 'l')), 100);
	wait_for_bytes(connection.here, 100);
	EXPECT_EQ(events(connection.here), POLLOUT);

	std::jthread lowering([&] {
		wait_until("it polls", [&] { return sleeps_in_call(poller, SYS_poll); });
		must_set(connection.here, SOL_SOCKET, SO_RCVLOWAT, 50);
	});

	await(connection.here, POLLIN);
}

TEST_P(Api, ListenerUses)
{
	Fd listener = must_listen(flavor);
	Address to = of_agent(1);
	char byte;

	EXPECT_ERRNO(EISCONN, connect(listener, to.get(), to.len));
	EXPECT_ERRNO(EPIPE, send(listener, "x", 1, MSG_NOSIGNAL));
	EXPECT_ERRNO(ENOTCONN, recv(listener, &byte, 1, 0));
	EXPECT_ERRNO(ENOTCONN, getpeername(listener, to.get(), &to.len));
	/* listen() again, with another backlog. */
	EXPECT_ERRNO(0, listen(listener, 5));
	/* After shutdown() the socket does not listen, but may do so again. */
	EXPECT_ERRNO(0, shutdown(listener, SHUT_RD));
	EXPECT_ERRNO(EINVAL, accept(listener, nullptr, nullptr));
	EXPECT_ERRNO(0, listen(listener, 5));

	RemoteSocket client = agent.connect(flavor, of_self(local_address(listener).port()));

	must_accept(listener);
}

TEST_P(Api, ConnectedUses)
{
	Connection connection = connected();
	Address any = any_address(flavor.family);

	EXPECT_ERRNO(EINVAL, listen(connection.here, 1));
	EXPECT_ERRNO(EINVAL, accept(connection.here, nullptr, nullptr));
	EXPECT_ERRNO(EINVAL, bind(connection.here, any.get(), any.len));
	EXPECT_ERRNO(EINVAL, shutdown(connection.here, 3));
	check_data(connection, 1000, flavor.is_smc());
}

TEST_P(Api, Names)
{
	Connection connection = connected();
	Address here = local_address(connection.here), there = peer_address(connection.here);

	EXPECT_EQ(here.text(), of_self(0).text());
	EXPECT_EQ(there.text(), of_agent(0).text());
	EXPECT_EQ(there.port(), connection.there.port());
	EXPECT_EQ(here.get()->sa_family, flavor.family);

	/* A short buffer is filled as far as possible, and the full length is returned. */
	sockaddr_storage storage = {};
	socklen_t len = 4;

	EXPECT_ERRNO(0, getsockname(connection.here, reinterpret_cast<sockaddr *>(&storage), &len));
	EXPECT_EQ(len, here.len);
	EXPECT_ERRNO(EFAULT, getsockname(connection.here, nullptr, &len));
}

/* -- waiting -- */

TEST_P(Api, ReceiveTimesOut)
{
	Connection connection = connected();
	char byte;

	set_timeout(connection.here, SO_RCVTIMEO, 200);
	EXPECT_ERRNO(EAGAIN, recv(connection.here, &byte, 1, 0));
	EXPECT_ERRNO(EAGAIN, recv(connection.here, &byte, 1, MSG_PEEK));
	EXPECT_ERRNO(EAGAIN, recv(connection.here, &byte, 1, MSG_WAITALL));
	connection.there.send("x");
	EXPECT_EQ(recv(connection.here, &byte, 1, 0), 1);
	/* The call returns the bytes that have arrived when the timeout expires. */
	connection.there.send("abc");

	char bytes[10];

	EXPECT_EQ(recv(connection.here, bytes, 10, MSG_WAITALL), 3);
}

TEST_P(Api, SendTimesOut)
{
	Connection connection = connected();
	std::string bytes(16 << 20, 's');

	set_timeout(connection.here, SO_SNDTIMEO, 200);

	ssize_t n = send(connection.here, bytes.data(), bytes.size(), 0);

	EXPECT_GT(n, 0);
	EXPECT_LT(n, ssize_t(bytes.size()));
	fill_for_good(connection.here, n);
	EXPECT_ERRNO(EAGAIN, send(connection.here, bytes.data(), bytes.size(), 0));
}

TEST_P(Api, ReceiveInterrupted)
{
	Connection connection = connected();
	Interrupter interrupter(false);
	char byte;

	EXPECT_ERRNO(EINTR, recv(connection.here, &byte, 1, 0));
}

TEST_P(Api, ReceiveRestarted)
{
	Connection connection = connected();
	Interrupter interrupter(true);
	char byte;
	int before = signals;

	std::thread sender([&] {
		wait_until("some signals", [&] { return signals > before + 3; });
		connection.there.send("x");
	});
	EXPECT_EQ(recv(connection.here, &byte, 1, 0), 1);
	sender.join();
}

TEST_P(Api, SendInterrupted)
{
	Connection connection = connected();
	std::string bytes(16 << 20, 's');

	fill_for_good(connection.here);

	Interrupter interrupter(false);

	EXPECT_ERRNO(EINTR, send(connection.here, bytes.data(), bytes.size(), 0));
}

/* An interrupted send() returns the number of bytes that it has sent. */
TEST_P(Api, SendInterruptedInPart)
{
	Connection connection = connected();
	std::string bytes(16 << 20, 's');
	Interrupter interrupter(false);
	ssize_t n = send(connection.here, bytes.data(), bytes.size(), 0);

	EXPECT_GT(n, 0);
	EXPECT_LT(n, ssize_t(bytes.size()));
}

TEST_P(Api, Poll)
{
	Connection connection = connected();
	char byte;

	EXPECT_EQ(events(connection.here), POLLOUT);
	connection.there.send("x");
	await(connection.here, POLLIN);
	EXPECT_EQ(events(connection.here), POLLIN | POLLOUT);
	EXPECT_EQ(events(connection.here, POLLIN), POLLIN);
	EXPECT_EQ(recv(connection.here, &byte, 1, 0), 1);
	EXPECT_EQ(events(connection.here), POLLOUT);

	fill_for_good(connection.here);
	EXPECT_EQ(events(connection.here), 0);
	while (!(events(connection.here) & POLLOUT))
		connection.there.recv(65536);

	connection.there.shutdown(SHUT_WR);
	wait_for_events(connection.here, POLLRDHUP);
	EXPECT_EQ(events(connection.here), POLLIN | POLLOUT | POLLRDHUP);
	shutdown(connection.here, SHUT_WR);
	wait_for_events(connection.here, POLLHUP);
	EXPECT_EQ(events(connection.here), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
}

TEST_P(Api, Select)
{
	Connection connection = connected();
	timeval minute = {60, 0}, none = {};
	fd_set reading, writing, urgent;

	auto prepare = [&] {
		for (fd_set *set : {&reading, &writing, &urgent}) {
			FD_ZERO(set);
			FD_SET(connection.here, set);
		}
	};

	prepare();
	EXPECT_EQ(select(connection.here + 1, &reading, &writing, &urgent, &none), 1);
	EXPECT_TRUE(FD_ISSET(connection.here, &writing));
	connection.there.send("x");
	connection.there.send("!", MSG_OOB);
	prepare();
	EXPECT_EQ(select(connection.here + 1, nullptr, nullptr, &urgent, &minute), 1);
	prepare();
	EXPECT_EQ(select(connection.here + 1, &reading, nullptr, nullptr, &minute), 1);
	prepare();
	EXPECT_EQ(select(connection.here + 1, &reading, &writing, &urgent, &none), 3);
}

class Epoll : public Api
{
protected:
	Fd epoll = Fd(epoll_create1(0));

	void add(int fd, uint32_t wanted)
	{
		epoll_event event = {wanted, {.fd = fd}};

		ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	}
	void modify(int fd, uint32_t wanted)
	{
		epoll_event event = {wanted, {.fd = fd}};

		ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event), 0);
	}
	uint32_t wait(int ms = 60000)
	{
		epoll_event event = {};

		return epoll_wait(epoll, &event, 1, ms) > 0 ? event.events : 0;
	}
};

INSTANTIATE_TEST_SUITE_P(, Epoll, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(Epoll, Level)
{
	Connection connection = connected();
	char byte;

	add(connection.here, EPOLLIN);
	EXPECT_EQ(wait(0), 0U);
	connection.there.send("xy");
	EXPECT_EQ(wait(), uint32_t(EPOLLIN));
	EXPECT_EQ(wait(0), uint32_t(EPOLLIN));
	wait_for_bytes(connection.here, 2);
	recv(connection.here, &byte, 1, 0);
	EXPECT_EQ(wait(0), uint32_t(EPOLLIN));
	recv(connection.here, &byte, 1, 0);
	EXPECT_EQ(wait(0), 0U);
}

TEST_P(Epoll, Edge)
{
	Connection connection = connected();
	char byte;

	add(connection.here, EPOLLIN | EPOLLET);
	connection.there.send("x");
	EXPECT_EQ(wait(), uint32_t(EPOLLIN));
	EXPECT_EQ(wait(0), 0U);
	/* More data is a new edge, although the earlier data was not read. */
	connection.there.send("y");
	EXPECT_EQ(wait(), uint32_t(EPOLLIN));
	EXPECT_EQ(wait(0), 0U);
	wait_for_bytes(connection.here, 2);
	recv(connection.here, &byte, 1, 0);
	EXPECT_EQ(wait(0), 0U);
}

TEST_P(Epoll, EdgeOfWriting)
{
	Connection connection = connected();

	add(connection.here, EPOLLOUT | EPOLLET);
	EXPECT_EQ(wait(), uint32_t(EPOLLOUT));
	fill_for_good(connection.here);
	/* While the buffer filled up, space may have become free in between. */
	wait(0);
	EXPECT_EQ(wait(0), 0U);
	while (wait(0) != EPOLLOUT)
		connection.there.recv(65536);
}

TEST_P(Epoll, OneShot)
{
	Connection connection = connected();

	add(connection.here, EPOLLIN | EPOLLONESHOT);
	connection.there.send("x");
	EXPECT_EQ(wait(), uint32_t(EPOLLIN));
	EXPECT_EQ(wait(0), 0U);
	modify(connection.here, EPOLLIN | EPOLLONESHOT);
	EXPECT_EQ(wait(), uint32_t(EPOLLIN));
}

TEST_P(Epoll, EndOfStream)
{
	Connection connection = connected();

	add(connection.here, EPOLLIN | EPOLLRDHUP | EPOLLET);
	connection.there.shutdown(SHUT_WR);
	EXPECT_EQ(wait(), uint32_t(EPOLLIN | EPOLLRDHUP));
	connection.there.close();
}

TEST_P(Epoll, Listener)
{
	Fd listener = must_listen(flavor);

	add(listener, EPOLLIN);
	EXPECT_EQ(wait(0), 0U);

	RemoteSocket client = agent.connect(flavor, of_self(local_address(listener).port()));

	EXPECT_EQ(wait(), uint32_t(EPOLLIN));
	must_accept(listener);
	EXPECT_EQ(wait(0), 0U);
}

/* The socket is added before it connects, and gets the events of the connection. */
TEST_P(Epoll, Connecting)
{
	RemoteSocket listener = agent.listen(flavor);
	Address to = of_agent(listener.port());
	Fd fd = make(SOCK_NONBLOCK);

	add(fd, EPOLLIN | EPOLLOUT | EPOLLET);
	EXPECT_EQ(wait(), uint32_t(EPOLLOUT | EPOLLHUP));
	EXPECT_ERRNO(EINPROGRESS, connect(fd, to.get(), to.len));
	EXPECT_EQ(wait(), uint32_t(EPOLLOUT));
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);

	RemoteSocket there = listener.accept();

	there.send("x");
	EXPECT_EQ(wait(), uint32_t(EPOLLIN | EPOLLOUT));
}

/* -- ends -- */

TEST_P(Api, HalfClose)
{
	Connection connection = connected();

	ASSERT_EQ(send(connection.here, "last", 4, 0), 4);
	EXPECT_ERRNO(0, shutdown(connection.here, SHUT_WR));
	EXPECT_ERRNO(EPIPE, send(connection.here, "x", 1, MSG_NOSIGNAL));
	EXPECT_EQ(connection.there.recv(10, MSG_WAITALL), "last");
	connection.there.expect_end();

	/* The other direction goes on. */
	Flow flow = {.seed = 11, .bytes = 1 << 20};
	Job far = connection.there.start_send(flow);

	recv_flow(connection.here, flow);
	far.join();
	connection.there.close();
	expect_end(connection.here);
	/* Repeated calls return the end each time. */
	expect_end(connection.here);
}

TEST_P(Api, ShutdownTwice)
{
	Connection connection = connected();

	EXPECT_ERRNO(0, shutdown(connection.here, SHUT_WR));
	EXPECT_ERRNO(0, shutdown(connection.here, SHUT_WR));
	EXPECT_ERRNO(0, shutdown(connection.here, SHUT_RD));
	EXPECT_ERRNO(0, shutdown(connection.here, SHUT_RDWR));
	EXPECT_EQ(events(connection.here), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
}

TEST_P(Api, ShutdownOfReading)
{
	Connection connection = connected();
	char bytes[10];

	EXPECT_ERRNO(0, shutdown(connection.here, SHUT_RD));
	EXPECT_EQ(recv(connection.here, bytes, 10, 0), 0);
	EXPECT_EQ(events(connection.here), POLLIN | POLLOUT | POLLRDHUP);
	/* The peer still sends, and what arrives is delivered. */
	ASSERT_EQ(send(connection.here, "x", 1, 0), 1);
	EXPECT_EQ(connection.there.recv(1, MSG_WAITALL), "x");
	EXPECT_EQ(connection.there.send("late"), 4);
	wait_for_bytes(connection.here, 4);
	EXPECT_EQ(recv(connection.here, bytes, 10, 0), 4);
}

TEST_P(Api, ShutdownWakesReader)
{
	Connection connection = connected();
	Sleeper reader([&] {
		char byte;

		EXPECT_EQ(recv(connection.here, &byte, 1, 0), 0);
	});

	EXPECT_ERRNO(0, shutdown(connection.here, SHUT_RD));
}

TEST_P(Api, PeersShutdownWakesReader)
{
	Connection connection = connected();
	Sleeper reader([&] {
		char byte;

		EXPECT_EQ(recv(connection.here, &byte, 1, 0), 0);
	});

	EXPECT_EQ(connection.there.shutdown(SHUT_WR), 0);
}

TEST_P(Api, ShutdownWakesWriter)
{
	Connection connection = connected();

	fill_for_good(connection.here);

	Sleeper writer([&] {
		std::string bytes(16 << 20, 'w');

		/* TCP may still have a little space. */
		while (send(connection.here, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0)
			;
		EXPECT_EQ(errno, EPIPE);
	});

	EXPECT_ERRNO(0, shutdown(connection.here, SHUT_WR));
}

TEST_P(Api, DataThenClose)
{
	Connection connection = connected();
	Flow flow = {.seed = 13, .bytes = 300000};
	Job far = connection.there.start_recv(flow);

	send_flow(connection.here, flow);
	connection.here.close();
	far.join();
	connection.there.expect_end();
}

/* All bytes sent before close() arrive, even if the peer reads them late. */
TEST_P(Api, CloseWithFullWindow)
{
	Connection connection = connected();
	std::string bytes = "";
	size_t total = 0;
	ssize_t n;

	bytes.assign(4096, 'c');
	while ((n = send(connection.here, bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0)
		total += n;
	connection.here.close();

	size_t got = 0;

	for (std::string part; !(part = connection.there.recv(65536)).empty();)
		got += part.size();
	EXPECT_EQ(got, total);
}

TEST_P(Api, WriteToClosedPeer)
{
	Connection connection = connected();

	connection.there.close();
	await(connection.here, POLLIN);
	expect_end(connection.here);
	EXPECT_EQ(send(connection.here, "", 0, MSG_NOSIGNAL), 0);
	/* The first send() succeeds, but then the peer's reset arrives. */
	EXPECT_EQ(send(connection.here, "x", 1, MSG_NOSIGNAL), 1);
	wait_until("EPIPE", [&] {
		return send(connection.here, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE;
	});
}

/*
 * With a peek offset behind the last byte there is nothing to return, and no reason to busy poll.
 */
TEST_P(Api, PeekOffsetBehindTheEnd)
{
	Connection connection = connected();
	char byte;

	connection.there.send("ab");
	wait_for_bytes(connection.here, 2);
	must_set(connection.here, SOL_SOCKET, SO_PEEK_OFF, 3);
	EXPECT_ERRNO(EAGAIN, recv(connection.here, &byte, 1, MSG_PEEK | MSG_DONTWAIT));
	shutdown(connection.here, SHUT_RD);
	EXPECT_EQ(recv(connection.here, &byte, 1, MSG_PEEK), 0);
}

TEST_P(Api, WriteToClosedPeerRaisesSigpipe)
{
	Connection connection = connected();

	connection.there.close();
	await(connection.here, POLLIN);
	EXPECT_EXIT(
	    {
		    signal(SIGPIPE, SIG_DFL);
		    for (;;) {
			    send(connection.here, "x", 1, 0);
			    await(connection.here, POLLHUP);
		    }
	    },
	    testing::KilledBySignal(SIGPIPE), "");
}

TEST_P(Api, CloseWithUnreadData)
{
	Connection connection = connected();
	char byte;

	connection.there.send("unread");
	wait_for_bytes(connection.here, 6);
	connection.here.close();

	long rc;

	connection.there.await(POLLHUP);
	connection.there.recv(1, 0, &rc);
	EXPECT_EQ(rc, -ECONNRESET);
	connection.there.recv(1, 0, &rc);
	EXPECT_EQ(rc, 0);
	EXPECT_EQ(connection.there.send("x"), -EPIPE);
	(void)byte;
}

TEST_P(Api, ResetByPeer)
{
	Connection connection = connected();
	char byte;

	EXPECT_EQ(connection.there.linger(true, 0), 0);
	connection.there.close();
	await(connection.here, POLLHUP);
	EXPECT_EQ(events(connection.here), POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP);
	sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	EXPECT_ERRNO(ENOTCONN,
		     getpeername(connection.here, reinterpret_cast<sockaddr *>(&peer), &len));
	EXPECT_ERRNO(ECONNRESET, recv(connection.here, &byte, 1, 0));
	/* The error is reported once. */
	EXPECT_ERRNO(0, recv(connection.here, &byte, 1, 0));
	EXPECT_ERRNO(EPIPE, send(connection.here, "x", 1, MSG_NOSIGNAL));
	EXPECT_EQ(must_get(connection.here, SOL_SOCKET, SO_ERROR), 0);
}

TEST_P(Api, ResetIsSoError)
{
	Connection connection = connected();

	connection.there.linger(true, 0);
	connection.there.close();
	await(connection.here, POLLHUP);
	EXPECT_EQ(must_get(connection.here, SOL_SOCKET, SO_ERROR), ECONNRESET);
	EXPECT_EQ(must_get(connection.here, SOL_SOCKET, SO_ERROR), 0);
}

TEST_P(Api, ResetIsToldToWriter)
{
	Connection connection = connected();

	connection.there.linger(true, 0);
	connection.there.close();
	await(connection.here, POLLHUP);
	EXPECT_ERRNO(ECONNRESET, send(connection.here, "x", 1, MSG_NOSIGNAL));
	EXPECT_ERRNO(EPIPE, send(connection.here, "x", 1, MSG_NOSIGNAL));
}

/* One thread gets the error. After that the other finds a connection that has ended. */
TEST_P(Api, ResetWakesReaderAndWriter)
{
	Connection connection = connected();
	int read_error = -1, write_error = -1;

	fill_for_good(connection.here);
	{
		Sleeper reader([&] {
			char byte;

			read_error = recv(connection.here, &byte, 1, 0) ? errno : 0;
		});
		Sleeper writer([&] {
			write_error = send(connection.here, "x", 1, MSG_NOSIGNAL) < 0 ? errno : 0;
		});

		connection.there.linger(true, 0);
		connection.there.close();
	}
	EXPECT_TRUE((read_error == ECONNRESET && write_error == EPIPE) ||
		    (read_error == 0 && write_error == ECONNRESET))
	    << "reader: " << strerror(read_error) << ", writer: " << strerror(write_error);
}

/* The peer's process is killed, and so calls neither shutdown() nor close(). */
TEST_P(Api, PeerKilled)
{
	Connection connection = connected();

	agent.kill();
	expect_end(connection.here);
}

TEST_P(Api, LingerWaits)
{
	Connection connection = connected();
	Flow flow = {.seed = 14, .bytes = 100000};

	must_linger(connection.here, 30);

	Job far = connection.there.start_recv(flow);

	send_flow(connection.here, flow);
	EXPECT_EQ(connection.here.close(), 0);
	far.join();
	connection.there.expect_end();
}

/* Neither end has an error, and nothing is left but TCP's TIME_WAIT. */
TEST_P(Api, SimultaneousClose)
{
	auto is_gone = [&](const std::string &table, int local, int remote) {
		int state = tcp_state(table, local, remote);

		return !state || state == TCP_TIME_WAIT;
	};

	for (int i = 0; i < 10; i++) {
		Connection connection = connected(i % 2 ? Role::client : Role::server);
		Job far = agent.start({"close", std::to_string(connection.there.number())});
		std::string file = tcp_table(flavor.family);
		int here = local_address(connection.here).port();
		int there = peer_address(connection.here).port();

		EXPECT_EQ(connection.here.close(), 0);
		EXPECT_EQ(far.join(), "0");
		wait_until("this end is gone",
			   [&] { return is_gone(read_file(file), here, there); });
		wait_until("the other end is gone",
			   [&] { return is_gone(agent.read_file(file), there, here); });
	}
	if (flavor.is_smc())
		expect_no_connections(agent);
}

/* -- sharing -- */

TEST_P(Api, Dup)
{
	Connection connection = connected();
	Fd copy(dup(connection.here));

	connection.here.close();
	ASSERT_EQ(send(copy, "still", 5, 0), 5);
	EXPECT_EQ(connection.there.recv(5, MSG_WAITALL), "still");
	copy.close();
	connection.there.expect_end();
}

TEST_P(Api, Fork)
{
	Connection connection = connected();
	pid_t child = fork();

	if (!child) {
		bool good = send(connection.here, "child", 5, 0) == 5;

		_exit(!good);
	}

	int status;

	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(connection.there.recv(5, MSG_WAITALL), "child");
	/* The child's exit did not end the connection. */
	check_data(connection, 100000, flavor.is_smc());
}

TEST_P(Api, PassedToAnotherProcess)
{
	Connection connection = connected();
	int pair[2];
	char control[CMSG_SPACE(sizeof(int))] = {}, byte = 'x';
	iovec piece = {&byte, 1};
	msghdr message = {};

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);

	cmsghdr *header = CMSG_FIRSTHDR(&message);
	int fd = connection.here;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	ASSERT_EQ(sendmsg(pair[0], &message, 0), 1);
	connection.here.close();
	ASSERT_EQ(recvmsg(pair[1], &message, 0), 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	connection.here = Fd(fd);
	close(pair[0]);
	close(pair[1]);
	check_data(connection, 100000, flavor.is_smc());
}

/* close() in one thread does not end another's call, shutdown() does. */
TEST_P(Api, CloseUnderReader)
{
	Connection connection = connected();
	int fd = connection.here;
	Sleeper reader([fd] {
		char byte;

		EXPECT_EQ(recv(fd, &byte, 1, 0), 1);
	});

	connection.here.close();
	connection.there.send("x");
}

TEST_P(Api, SignalDrivenIo)
{
	Connection connection = connected();
	struct sigaction action = {};

	action.sa_handler = on_signal;
	sigaction(SIGIO, &action, nullptr);
	signals = 0;
	ASSERT_EQ(fcntl(connection.here, F_SETOWN, getpid()), 0);
	ASSERT_EQ(fcntl(connection.here, F_SETFL, O_ASYNC), 0);
	connection.there.send("x");
	wait_until("SIGIO", [&] { return signals > 0; });
}

TEST_P(Api, SignalDrivenWriting)
{
	Connection connection = connected();
	struct sigaction action = {};

	fill_for_good(connection.here);
	action.sa_handler = on_signal;
	sigaction(SIGIO, &action, nullptr);
	signals = 0;
	ASSERT_EQ(fcntl(connection.here, F_SETOWN, getpid()), 0);
	ASSERT_EQ(fcntl(connection.here, F_SETFL, O_ASYNC | O_NONBLOCK), 0);
	EXPECT_ERRNO(EAGAIN, send(connection.here, "x", 1, 0));
	wait_until("SIGIO", [&] {
		connection.there.recv(65536, MSG_DONTWAIT);
		return signals > 0;
	});
}
