// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that end because the other end takes no bytes for as long as TCP_USER_TIMEOUT says.
 * Nothing says how long that takes: where one connection is not to end, another that is shows that
 * it would have.
 */
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include "agent.h"

using namespace guest;

namespace
{

constexpr int KiB = 1024;

/* Until it would have to wait for its peer. */
void fill(int fd)
{
	const std::string chunk(64 * KiB, 'x');

	/* TCP takes more once the peer's kernel has some of it. */
	wait_until("the window is closed", [&] {
		while (send(fd, chunk.data(), chunk.size(), MSG_DONTWAIT) > 0)
			;
		usleep(50000);
		return send(fd, chunk.data(), chunk.size(), MSG_DONTWAIT) < 0;
	});
}

/* Sends until that fails. Return: errno. */
int keep_sending(int fd)
{
	const std::string chunk(64 * KiB, 'x');

	while (send(fd, chunk.data(), chunk.size(), MSG_NOSIGNAL) > 0)
		;
	return errno;
}

/* Who waits is told, and finds the error. */
void expect_timed_out(int fd)
{
	EXPECT_NE(await(fd, POLLHUP) & POLLERR, 0);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), ETIMEDOUT);
}

bool has_ended(int fd)
{
	struct pollfd poll = {.fd = fd};

	return ::poll(&poll, 1, 0) > 0;
}

void set_user_timeout(int fd, int milliseconds)
{
	must_set(fd, SOL_TCP, TCP_USER_TIMEOUT, milliseconds);
}

} // namespace

class UserTimeout : public testing::TestWithParam<Flavor>
{
protected:
	Connection connection(int milliseconds = 0, Role role = Role::client)
	{
		return make_connection(agent, GetParam(), role, {.here = [=](int fd) {
					       set_user_timeout(fd, milliseconds);
				       }});
	}

	Agent agent;
};

INSTANTIATE_TEST_SUITE_P(, UserTimeout, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(UserTimeout, PeerReadsNothing)
{
	for (Role role : both_roles) {
		Connection one = connection(500, role);

		EXPECT_EQ(must_get(one.here, SOL_TCP, TCP_USER_TIMEOUT), 500);
		EXPECT_EQ(keep_sending(one.here), ETIMEDOUT);
		EXPECT_EQ(keep_sending(one.here), EPIPE);
		EXPECT_NE(await(one.here, POLLHUP) & POLLHUP, 0);
	}
}

/* What the peer's kernel has it has taken, whether its application reads it or not. */
TEST_P(UserTimeout, NotForTheReader)
{
	Connection unread = connection(500), full = connection(500);

	ASSERT_EQ(send(unread.here, "unread", 6, 0), 6);
	EXPECT_EQ(keep_sending(full.here), ETIMEDOUT);
	EXPECT_FALSE(has_ended(unread.here));
	EXPECT_EQ(unread.there.recv(6, MSG_WAITALL), "unread");
	check_data(unread, 10000, GetParam().is_smc());
}

/* It may be set, and changed, while bytes wait already. */
TEST_P(UserTimeout, WhileBytesWait)
{
	Connection late = connection(), sooner = connection(3600000);

	for (Connection *one : {&late, &sooner}) {
		fill(one->here);
		set_user_timeout(one->here, 500);
		expect_timed_out(one->here);
	}
}

TEST_P(UserTimeout, Revoked)
{
	Connection revoked = connection(5000);

	fill(revoked.here);
	set_user_timeout(revoked.here, 0);

	Connection later = connection(5000);

	EXPECT_EQ(keep_sending(later.here), ETIMEDOUT);
	EXPECT_FALSE(has_ended(revoked.here));
}

/* Each piece that it takes gives the peer as long again. */
TEST_P(UserTimeout, SlowReader)
{
	Connection slow = connection(4000), idle = connection(4000);
	int error = 0;

	{
		std::jthread sender([&] { error = keep_sending(slow.here); });

		fill(idle.here);
		while (!has_ended(idle.here)) {
			EXPECT_EQ(slow.there.recv(64 * KiB, MSG_WAITALL).size(), 64u * KiB);
			usleep(100000);
		}
		EXPECT_FALSE(error);
		slow.there.close();
	}
	/* As TCP has it when bytes come that nobody reads any more. */
	EXPECT_TRUE(error == ECONNRESET || error == EPIPE) << strerror(error);
}
