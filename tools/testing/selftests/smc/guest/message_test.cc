// SPDX-License-Identifier: GPL-2.0
/*
 * What comes beside the bytes: control messages of recvmsg() and sendmsg(), and the error queue's
 * word on what was sent. Plain TCP sockets answer the same, where that is asked (--within host).
 */
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <vector>

#include "agent.h"
#include "full.h"
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

class Connected : public testing::TestWithParam<Flavor>
{
protected:
	Flavor flavor = GetParam();
	Agent agent;
	Connection connection = make_connection(agent, flavor);
};

/* -- MSG_ZEROCOPY -- */

class ZeroCopy : public Connected
{
};

INSTANTIATE_TEST_SUITE_P(, ZeroCopy, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

/* What the error queue says of sends: all ranges of their numbers, once there are @n. */
static std::vector<uint32_t> zerocopy_notices(int fd, size_t n)
{
	std::vector<uint32_t> ids;

	while (ids.size() < n) {
		await(fd, POLLERR);

		Received notice = receive(fd, 0, MSG_ERRQUEUE);

		if (notice.rc < 0)
			continue;
		EXPECT_EQ(notice.rc, 0);
		if (notice.controls.size() != 1)
			throw std::runtime_error("not one control message");

		const Control &control = notice.controls[0];
		sock_extended_err error;

		memcpy(&error, control.data.data(), sizeof(error));
		EXPECT_EQ(error.ee_errno, 0u);
		EXPECT_EQ(error.ee_origin, SO_EE_ORIGIN_ZEROCOPY);
		EXPECT_EQ(error.ee_code, SO_EE_CODE_ZEROCOPY_COPIED);
		for (uint32_t id = error.ee_info; id <= error.ee_data; id++)
			ids.push_back(id);
	}
	return ids;
}

TEST_P(ZeroCopy, SaysThatItCopied)
{
	std::string bytes(20000, 'x');

	must_set(connection.here, SOL_SOCKET, SO_ZEROCOPY, 1);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(send(connection.here, bytes.data(), bytes.size(), MSG_ZEROCOPY), 20000);
		ASSERT_EQ(connection.there.recv(20000, MSG_WAITALL), bytes);
	}
	EXPECT_EQ(zerocopy_notices(connection.here, 3), (std::vector<uint32_t>{0, 1, 2}));
	EXPECT_EQ(receive(connection.here, 0, MSG_ERRQUEUE).error, EAGAIN);
	EXPECT_EQ(await(connection.here, POLLOUT), POLLOUT);

	/* Their numbers go on; one without bytes, or without the flag, has none. */
	ASSERT_EQ(send(connection.here, bytes.data(), 0, MSG_ZEROCOPY), 0);
	ASSERT_EQ(send(connection.here, bytes.data(), 10, 0), 10);
	ASSERT_EQ(send(connection.here, bytes.data(), 10, MSG_ZEROCOPY), 10);
	EXPECT_EQ(zerocopy_notices(connection.here, 1), std::vector<uint32_t>{3});
	connection.there.recv(20, MSG_WAITALL);
	check_data(connection, 100000, flavor.is_smc());
}

/* Those that nobody has read yet are one. */
TEST_P(ZeroCopy, NoticesAreJoined)
{
	must_set(connection.here, SOL_SOCKET, SO_ZEROCOPY, 1);
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(send(connection.here, "x", 1, MSG_ZEROCOPY), 1);
		connection.there.recv(1);
	}
	wait_until("all notices", [&] {
		int waiting = 1;

		ioctl(connection.here, SIOCOUTQ, &waiting);
		return !waiting;
	});

	Received notice = receive(connection.here, 0, MSG_ERRQUEUE);
	sock_extended_err error;

	ASSERT_EQ(notice.controls.size(), 1u);
	memcpy(&error, notice.controls[0].data.data(), sizeof(error));
	EXPECT_EQ(error.ee_info, 0u);
	EXPECT_EQ(error.ee_data, 49u);
	EXPECT_EQ(receive(connection.here, 0, MSG_ERRQUEUE).error, EAGAIN);
}

TEST_P(ZeroCopy, ThatFailsHasNoNumber)
{
	must_set(connection.here, SOL_SOCKET, SO_ZEROCOPY, 1);

	size_t bytes = fill_for_good(connection.here);

	EXPECT_EQ(send(connection.here, "x", 1, MSG_ZEROCOPY | MSG_DONTWAIT), -1);
	EXPECT_EQ(errno, EAGAIN);
	EXPECT_EQ(send(connection.here, nullptr, 1, MSG_ZEROCOPY | MSG_DONTWAIT), -1);
	for (long rc; bytes; bytes -= rc) {
		connection.there.recv(bytes, 0, &rc);
		ASSERT_GT(rc, 0);
	}
	await(connection.here, POLLOUT);
	EXPECT_EQ(send(connection.here, nullptr, 1, MSG_ZEROCOPY | MSG_DONTWAIT), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(send(connection.here, "x", 1, MSG_ZEROCOPY), 1);
	EXPECT_EQ(zerocopy_notices(connection.here, 1), std::vector<uint32_t>{0});
}

TEST_P(ZeroCopy, HasALimit)
{
	must_set(connection.here, SOL_SOCKET, SO_ZEROCOPY, 1);
	{
		SysctlScope scope("net.core.optmem_max", "100");

		EXPECT_EQ(send(connection.here, "x", 1, MSG_ZEROCOPY), -1);
		EXPECT_EQ(errno, ENOBUFS);
	}
	EXPECT_EQ(send(connection.here, "y", 1, MSG_ZEROCOPY), 1);
	EXPECT_EQ(connection.there.recv(10), "y");
	EXPECT_EQ(zerocopy_notices(connection.here, 1), std::vector<uint32_t>{0});
}

/* The flag is of no meaning then. */
TEST_P(ZeroCopy, IsAskedForByAnOption)
{
	EXPECT_EQ(send(connection.here, "x", 1, MSG_ZEROCOPY), 1);
	EXPECT_EQ(connection.there.recv(10), "x");
	EXPECT_EQ(receive(connection.here, 0, MSG_ERRQUEUE).error, EAGAIN);
}

/* The peer has closed: what is sent is in vain, and copied all the same. */
TEST_P(ZeroCopy, InVain)
{
	must_set(connection.here, SOL_SOCKET, SO_ZEROCOPY, 1);
	connection.there.close();
	await(connection.here, POLLRDHUP);
	EXPECT_EQ(send(connection.here, "x", 1, MSG_ZEROCOPY | MSG_NOSIGNAL), 1);
	EXPECT_EQ(zerocopy_notices(connection.here, 1), std::vector<uint32_t>{0});
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
	Preparation preparation;

	/* Which is about the system call only. */
	preparation.here = [](int fd) {
		must_set(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
	};
	check(make_connection(agent, flavor, role));
	check(make_connection(agent, flavor, role, preparation));
}

TEST_P(SendZc, AfterFallback)
{
	check(make_connection(agent, flavor, {Kind::tcp, flavor.family}, role));
}
