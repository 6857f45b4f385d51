// SPDX-License-Identifier: GPL-2.0
/*
 * What comes beside the bytes: control messages of recvmsg() and sendmsg(), and the error queue's
 * word on what was sent. Plain TCP sockets answer the same, where that is asked (--within host).
 */
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "agent.h"
#include "place.h"
#include "uring.h"

#include <liburing.h>

using namespace guest;

struct Control {
	int level, type;
	std::string data;
};

struct Received {
	ssize_t rc;
	int error;
	std::vector<Control> controls;
};

static Received receive(int fd, size_t len, int flags = 0)
{
	alignas(cmsghdr) char control[512];
	std::string bytes(len, '\0');
	iovec piece = {bytes.data(), len};
	msghdr message = {};
	Received received;

	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	received.rc = recvmsg(fd, &message, flags);
	received.error = received.rc < 0 ? errno : 0;
	if (received.rc < 0)
		return received;
	for (cmsghdr *header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header)) {
		auto *data = reinterpret_cast<const char *>(CMSG_DATA(header));

		received.controls.push_back({header->cmsg_level, header->cmsg_type,
					     std::string(data, header->cmsg_len - CMSG_LEN(0))});
	}
	return received;
}

/* -- io_uring's own -- */

class SendZc : public testing::TestWithParam<std::tuple<Flavor, Role>>
{
protected:
	Flavor flavor = std::get<0>(GetParam());
	Role role = std::get<1>(GetParam());
	Agent agent;

	static void check(Connection connection)
	{
		std::string bytes(20000, 'x');
		Uring ring;

		ASSERT_EQ(ring.send_zc(connection.here, bytes.data(), bytes.size()), 20000)
		    << strerror(errno);
		EXPECT_NE(ring.flags() & IORING_CQE_F_NOTIF, 0u);
		EXPECT_EQ(connection.there.recv(20000, MSG_WAITALL), bytes);
		/* This notification is not for the error queue. */
		EXPECT_EQ(receive(connection.here, 0, MSG_ERRQUEUE).error, EAGAIN);
	}
};

INSTANTIATE_TEST_SUITE_P(
    , SendZc,
    testing::Combine(testing::ValuesIn(peer_place() == Place::host ? all_flavors() : smc_flavors()),
		     testing::ValuesIn(both_roles)),
    [](const auto &info) {
	    return to_string(std::get<0>(info.param)) + to_string(std::get<1>(info.param));
    });

TEST_P(SendZc, IsCompleted)
{
	check(make_connection(agent, flavor, role));
}

TEST_P(SendZc, AfterFallback)
{
	check(make_connection(agent, flavor, {Kind::tcp, flavor.family}, role));
}
