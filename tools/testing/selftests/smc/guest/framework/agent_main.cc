// SPDX-License-Identifier: GPL-2.0
/*
 * smc_agent: the peer of tests that run in another guest. Each control
 * connection has a process of its own, which ends along with the connection,
 * whatever it is doing.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "agent_verbs.h"
#include "rpc.h"
#include "socket.h"
#include "system.h"

using namespace guest;

static void end_with(int control)
{
	pollfd waiting = {control, POLLRDHUP, 0};

	while (poll(&waiting, 1, -1) < 0)
		;
	_exit(0);
}

static Message answer(const Message &request)
{
	Message reply = {"ok"};

	try {
		Message results = perform(request);

		reply.insert(reply.end(), results.begin(), results.end());
	} catch (const std::exception &error) {
		reply = {"error", error.what()};
	}
	return reply;
}

static void serve(int control)
{
	Message request;

	std::thread(end_with, control).detach();
	while (read_message(control, request) && !request.empty())
		if (!write_message(control, answer(request)))
			break;
	_exit(0);
}

int main()
{
	signal(SIGCHLD, SIG_DFL);
	/* As in run_test(). */
	signal(SIGPIPE, [](int) {});
	try {
		Fd listener = must_listen({Kind::tcp, AF_INET}, 64, agent_port);

		for (;;) {
			Fd control = must_accept(listener, 1000000);
			pid_t child = fork();

			if (child < 0)
				throw_errno("fork");
			if (child == 0) {
				/* Fork twice, so that no process has to wait for it. */
				if (fork())
					_exit(0);
				listener.close();
				serve(control);
			}
			control.close();
			waitpid(child, nullptr, 0);
		}
	} catch (const std::exception &error) {
		fprintf(stderr, "smc_agent: %s\n", error.what());
	}
	return 1;
}
