// SPDX-License-Identifier: GPL-2.0
/*
 * Everything beside the bytes: control messages of recvmsg() and sendmsg(), and the error queue's
 * reports about sent bytes. With --within host plain TCP sockets must give the same results.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <vector>

#include "agent.h"
#include "control.h"
#include "full.h"
#include "place.h"
#include "rogue.h"
#include "uring.h"

#include <liburing.h>

using namespace guest;

/* send() with a control message of SOL_SOCKET. */
static ssize_t send_with(int fd, const std::string &bytes, int type, uint32_t value)
{
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(value))] = {};
	iovec piece = {const_cast<char *>(bytes.data()), bytes.size()};
	msghdr message = {};

	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	put_control(message, type, &value, sizeof(value));
	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static int64_t now()
{
	timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void await_bytes(int fd, int bytes)
{
	wait_until("bytes to read", [&] {
		int waiting = 0;

		ioctl(fd, FIONREAD, &waiting);
		return waiting >= bytes;
	});
}

class Connected : public testing::TestWithParam<Flavor>
{
protected:
	Flavor flavor = GetParam();
	Agent agent;
	Connection connection = make_connection(agent, flavor);

	void send_here(const std::string &bytes)
	{
		ASSERT_EQ(connection.there.send(bytes), static_cast<long>(bytes.size()));
	}
};

/* -- TCP_INQ -- */

class Inq : public Connected
{
};

INSTANTIATE_TEST_SUITE_P(, Inq, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(Inq, SaysWhatIsLeft)
{
	must_set(connection.here, SOL_TCP, TCP_INQ, 1);
	send_here(std::string(100, 'x'));
	await_bytes(connection.here, 100);
	EXPECT_EQ(receive(connection.here, 10).inq(), 90);
	EXPECT_EQ(receive(connection.here, 10, MSG_PEEK).inq(), 90);
	EXPECT_EQ(receive(connection.here, 10, MSG_TRUNC).inq(), 80);
	EXPECT_EQ(receive(connection.here, 0).inq(), 80);
	EXPECT_EQ(receive(connection.here, 1000).inq(), 0);
	/* A failed read has no control message. */
	EXPECT_EQ(receive(connection.here, 1, MSG_DONTWAIT).error, EAGAIN);
	must_set(connection.here, SOL_TCP, TCP_INQ, 0);
	send_here("x");
	EXPECT_EQ(receive(connection.here, 1).inq(), -1);
}

/* The end counts as something to read. */
TEST_P(Inq, CountsTheEnd)
{
	must_set(connection.here, SOL_TCP, TCP_INQ, 1);
	send_here("hello");
	ASSERT_EQ(connection.there.shutdown(SHUT_WR), 0);
	await(connection.here, POLLRDHUP);
	EXPECT_EQ(receive(connection.here, 2).inq(), 4);
	EXPECT_EQ(receive(connection.here, 3).inq(), 1);
	EXPECT_EQ(receive(connection.here, 3).inq(), 1);
	EXPECT_EQ(receive(connection.here, 3).inq(), 1);
}

TEST_P(Inq, CountsTheUrgentByte)
{
	must_set(connection.here, SOL_TCP, TCP_INQ, 1);
	send_here("ab");
	ASSERT_EQ(connection.there.send("!", MSG_OOB), 1);
	await(connection.here, POLLPRI);
	EXPECT_EQ(receive(connection.here, 1).inq(), 2);
	EXPECT_EQ(receive(connection.here, 1, MSG_OOB).inq(), 2);
	EXPECT_EQ(receive(connection.here, 1).inq(), 1);
}

TEST_P(Inq, TellsUringThatThereIsMore)
{
	Uring ring;
	char bytes[10];

	send_here(std::string(10, 'x'));
	await_bytes(connection.here, 10);
	EXPECT_EQ(ring.recv(connection.here, bytes, 4), 4);
	EXPECT_NE(ring.flags() & IORING_CQE_F_SOCK_NONEMPTY, 0u);
	EXPECT_EQ(ring.recv(connection.here, bytes, 10), 6);
	EXPECT_EQ(ring.flags() & IORING_CQE_F_SOCK_NONEMPTY, 0u);
}

/* -- SO_TIMESTAMP -- */

/* An option that requests arrival times, and the control message for it. */
struct Stamping {
	const char *name;
	int option, value;
	int64_t (*time)(const Control &control);
	uint32_t size32; /* of the control message in a 32-bit program */
};

static int64_t of_timeval(const Control &control)
{
	auto time = control.as<timeval>();

	return time.tv_sec * 1000000000LL + time.tv_usec * 1000;
}

static int64_t of_timespec(const Control &control)
{
	auto time = control.as<timespec>();

	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* The first of three times; the others are of devices, which these bytes did not pass. */
static int64_t of_timestamping(const Control &control)
{
	auto times = control.as<scm_timestamping>();

	EXPECT_EQ(times.ts[2].tv_sec, 0);
	EXPECT_EQ(times.ts[2].tv_nsec, 0);
	return times.ts[0].tv_sec * 1000000000LL + times.ts[0].tv_nsec;
}

constexpr int software = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE;

static const Stamping stampings[] = {
    {"Timestamp", SO_TIMESTAMP_OLD, 1, of_timeval, 8},
    {"TimestampNew", SO_TIMESTAMP_NEW, 1, of_timeval, 16},
    {"Timestampns", SO_TIMESTAMPNS_OLD, 1, of_timespec, 8},
    {"TimestampnsNew", SO_TIMESTAMPNS_NEW, 1, of_timespec, 16},
    {"Timestamping", SO_TIMESTAMPING_OLD, software, of_timestamping, 24},
    {"TimestampingNew", SO_TIMESTAMPING_NEW, software, of_timestamping, 48},
};

class Arrival : public testing::TestWithParam<Flavor>
{
protected:
	Flavor flavor = GetParam();
	Stamping stamping = stampings[3];
	Agent agent;
	std::optional<Connection> first;

	/*
	 * TCP has times some time after the first socket of the host requested them, SMC from then
	 * on.
	 */
	void SetUp() override
	{
		if (flavor.is_smc())
			return;
		first.emplace(make_connection(agent, flavor));
		ask(first->here);
		wait_until("a time", [this] {
			first->there.send("x");
			return time(receive(first->here, 1));
		});
	}
	void ask(int fd)
	{
		must_set(fd, SOL_SOCKET, stamping.option, stamping.value);
	}
	/* The arrival time of received bytes; 0 without a control message. */
	int64_t time(const Received &received)
	{
		EXPECT_GE(received.rc, 0) << strerror(received.error);
		if (received.controls.empty())
			return 0;
		EXPECT_EQ(received.controls.size(), 1u);

		const Control *control = received.find(SOL_SOCKET, stamping.option);

		return control ? stamping.time(*control) : 0;
	}
	/* The time may be rounded down to microseconds. */
	static void expect_between(int64_t time, int64_t before, int64_t after)
	{
		EXPECT_GE(time, before - 1000);
		EXPECT_LE(time, after);
	}
	void expect_since(int64_t begin, const Received &received)
	{
		expect_between(time(received), begin, now());
	}
};

INSTANTIATE_TEST_SUITE_P(, Arrival, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(Arrival, AsEachOptionHasIt)
{
	Connection connection = make_connection(agent, flavor);

	for (const Stamping &each : stampings) {
		SCOPED_TRACE(each.name);
		stamping = each;
		ask(connection.here);

		int64_t begin = now();

		connection.there.send("hello");
		expect_since(begin, receive(connection.here, 5, MSG_WAITALL));
		must_set(connection.here, SOL_SOCKET, stamping.option, 0);
		connection.there.send("hello");
		EXPECT_EQ(time(receive(connection.here, 5, MSG_WAITALL)), 0);
	}
}

TEST_P(Arrival, IsThatOfTheLastByte)
{
	Connection connection = make_connection(agent, flavor);

	ask(connection.here);

	int64_t begin = now();

	connection.there.send("first");
	await_bytes(connection.here, 5);

	int64_t middle = now();

	/* The time of arrival, not that of the read. */
	expect_between(time(receive(connection.here, 5, MSG_PEEK)), begin, middle);
	expect_between(time(receive(connection.here, 0)), begin, middle);
	connection.there.send("second");
	await_bytes(connection.here, 11);

	int64_t end = now();

	/* TCP may have merged both packets, and then the later time counts. */
	expect_between(time(receive(connection.here, 3)), begin, flavor.is_smc() ? middle : end);
	expect_between(time(receive(connection.here, 3)), middle, end);
	expect_between(time(receive(connection.here, 100)), middle, end);
}

/* A listener's connections inherit its option, and bytes may arrive before accept(). */
TEST_P(Arrival, OfWhatAcceptReturns)
{
	Fd listener = must_listen(flavor);

	ask(listener);

	int64_t begin = now();
	RemoteSocket there =
	    agent.connect(flavor, address_of(0, flavor.family, local_address(listener).port()));

	there.send("hello");

	Fd here = must_accept(listener);

	await_bytes(here, 5);
	expect_since(begin, receive(here, 5));
}

/* With many pieces, no time is earlier than the arrival, and the order is kept. */
TEST_P(Arrival, OfMany)
{
	Connection connection = make_connection(agent, flavor);
	std::vector<int64_t> sent;
	int64_t last = 0;

	ask(connection.here);
	for (int i = 0; i < 40; i++) {
		sent.push_back(now());
		connection.there.send("x");
		await_bytes(connection.here, i + 1);
	}

	int64_t end = now();

	for (int64_t at : sent) {
		int64_t arrived = time(receive(connection.here, 1));

		expect_between(arrived, std::max(at, last), end);
		last = arrived;
	}
	/* There is space again. */
	int64_t begin = now();

	connection.there.send("x");
	expect_since(begin, receive(connection.here, 1));
}

/* The control messages of a 32-bit program have fields of other sizes. */
struct Compat {
	uint32_t name, namelen, iov, iovlen, control, controllen, flags;
	uint32_t piece, len;
	struct {
		uint32_t len;
		int level, type;
		int32_t data[12];
	} message;
	char bytes[16];
};

static long recvmsg32(int fd, Compat *compat)
{
	auto address = [](void *at) {
		return static_cast<uint32_t>(reinterpret_cast<long>(at));
	};
	long rc;

	*compat = {.iov = address(&compat->piece),
		   .iovlen = 1,
		   .control = address(&compat->message),
		   .controllen = sizeof(compat->message),
		   .piece = address(compat->bytes),
		   .len = sizeof(compat->bytes)};
	/* 372 is recvmsg() there. */
	asm volatile("int $0x80"
		     : "=a"(rc)
		     : "a"(372), "b"(fd), "c"(address(compat)), "d"(0)
		     : "memory", "r8", "r9", "r10", "r11");
	return static_cast<int>(rc);
}

TEST_P(Arrival, Of32BitProgram)
{
	if (on_debug_kernel())
		GTEST_SKIP() << "that kernel is for 64-bit programs only";

	Connection connection = make_connection(agent, flavor);
	auto *compat = static_cast<Compat *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));

	ASSERT_NE(compat, MAP_FAILED);
	for (const Stamping &each : stampings) {
		SCOPED_TRACE(each.name);
		stamping = each;
		ask(connection.here);

		int64_t before = now() / 1000000000;

		connection.there.send("hello");
		await_bytes(connection.here, 5);
		ASSERT_EQ(recvmsg32(connection.here, compat), 5);
		EXPECT_EQ(compat->message.level, SOL_SOCKET);
		EXPECT_EQ(compat->message.type, stamping.option);
		EXPECT_EQ(compat->message.len, 12u + stamping.size32);
		/* The first field, or its lower half. */
		EXPECT_GE(compat->message.data[0], before);
		EXPECT_LE(compat->message.data[0], now() / 1000000000);
		must_set(connection.here, SOL_SOCKET, stamping.option, 0);
	}
}

/*
 * Bytes that arrived before the option have no time, so that others don't pay for it. With TCP they
 * have one if another socket of the host requested times.
 */
TEST_P(Arrival, NotOfWhatCameBefore)
{
	Connection connection = make_connection(agent, flavor);
	int64_t begin = now();

	connection.there.send("x");
	await_bytes(connection.here, 1);

	int64_t end = now();

	ask(connection.here);

	int64_t arrived = time(receive(connection.here, 1));

	if (arrived && !flavor.is_smc())
		expect_between(arrived, begin, end);
	else
		EXPECT_EQ(arrived, 0);
}

/* -- MSG_ZEROCOPY -- */

class ZeroCopy : public Connected
{
};

INSTANTIATE_TEST_SUITE_P(, ZeroCopy, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

/* The error queue's reports about sends: all ranges of their numbers, once there are @n. */
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

	/* The numbers continue; a send without bytes, or without the flag, has no number. */
	ASSERT_EQ(send(connection.here, bytes.data(), 0, MSG_ZEROCOPY), 0);
	ASSERT_EQ(send(connection.here, bytes.data(), 10, 0), 10);
	ASSERT_EQ(send(connection.here, bytes.data(), 10, MSG_ZEROCOPY), 10);
	EXPECT_EQ(zerocopy_notices(connection.here, 1), std::vector<uint32_t>{3});
	connection.there.recv(20, MSG_WAITALL);
	check_data(connection, 100000, flavor.is_smc());
}

/* Unread notifications are merged. */
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

/* Without the option the flag has no effect. */
TEST_P(ZeroCopy, IsAskedForByAnOption)
{
	EXPECT_EQ(send(connection.here, "x", 1, MSG_ZEROCOPY), 1);
	EXPECT_EQ(connection.there.recv(10), "x");
	EXPECT_EQ(receive(connection.here, 0, MSG_ERRQUEUE).error, EAGAIN);
}

/* The peer has closed: the bytes are discarded, but copied nevertheless. */
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
		/* This notification does not go to the error queue. */
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

	/* SO_ZEROCOPY affects only the system call. */
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

/* -- control messages of sendmsg() -- */

class SentControl : public Connected
{
};

INSTANTIATE_TEST_SUITE_P(, SentControl, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(SentControl, BadOne)
{
	EXPECT_EQ(send_with(connection.here, "x", 0x7777, 0), -1);
	EXPECT_EQ(errno, EINVAL);
	/* A control message may only request times, not how they are reported. */
	EXPECT_EQ(send_with(connection.here, "x", SO_TIMESTAMPING_OLD, SOF_TIMESTAMPING_SOFTWARE),
		  -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(send_with(connection.here, "y", SO_MARK, 1), 1);
	EXPECT_EQ(connection.there.recv(10), "y");
}

/* A refused message takes no number either. */
TEST_P(SentControl, BadOneOfZeroCopy)
{
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
	msghdr message = {};
	char byte = 'x';
	iovec piece = {&byte, 1};

	must_set(connection.here, SOL_SOCKET, SO_ZEROCOPY, 1);
	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	CMSG_FIRSTHDR(&message)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&message)->cmsg_type = 0x7777;
	CMSG_FIRSTHDR(&message)->cmsg_len = sizeof(control);
	EXPECT_EQ(sendmsg(connection.here, &message, MSG_ZEROCOPY), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(send(connection.here, "x", 1, MSG_ZEROCOPY), 1);
	EXPECT_EQ(zerocopy_notices(connection.here, 1), std::vector<uint32_t>{0});
}

/* -- SO_TIMESTAMPING of what is sent -- */

/* A timestamp in the error queue: of which byte, for which event, and the time. */
struct Stamp {
	uint32_t kind, id;
	int64_t time;
};

/* Takes a timestamp if there is one; otherwise kind is -1. */
static Stamp take_stamp(int fd)
{
	Received received = receive(fd, 0, MSG_ERRQUEUE);
	Stamp stamp = {UINT32_MAX, 0, 0};

	for (const Control &control : received.controls) {
		if (control.level == SOL_SOCKET && control.type == SO_TIMESTAMPING_OLD) {
			stamp.time = of_timestamping(control);
			continue;
		}
		sock_extended_err error;

		memcpy(&error, control.data.data(), sizeof(error));
		EXPECT_EQ(error.ee_origin, SO_EE_ORIGIN_TIMESTAMPING);
		EXPECT_EQ(error.ee_errno, static_cast<uint32_t>(ENOMSG));
		stamp.kind = error.ee_info;
		stamp.id = error.ee_data;
	}
	return stamp;
}

class Stamps : public Connected
{
protected:
	static constexpr int report =
	    SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
	static constexpr int all =
	    SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_ACK;

	/* TCP counts from the first unacknowledged byte. */
	void ask(int flags)
	{
		wait_until("nothing is on the way", [&] {
			int waiting = 1;

			ioctl(connection.here, SIOCOUTQ, &waiting);
			return !waiting;
		});
		must_set(connection.here, SOL_SOCKET, SO_TIMESTAMPING_OLD, flags);
	}
	void send_out(size_t bytes)
	{
		std::string some(bytes, 'x');

		ASSERT_EQ(send(connection.here, some.data(), bytes, MSG_NOSIGNAL),
			  static_cast<ssize_t>(bytes));
	}
	Stamp take()
	{
		return take_stamp(connection.here);
	}
	Stamp next()
	{
		await(connection.here, POLLERR);
		return take();
	}
	/* Expects all three timestamps of a byte, in order, and not before @begin. */
	void expect_all(uint32_t id, int64_t begin)
	{
		std::vector<uint32_t> kinds;

		for (int i = 0; i < 3; i++) {
			Stamp stamp = next();

			EXPECT_EQ(stamp.id, id);
			EXPECT_GE(stamp.time, begin);
			begin = stamp.time;
			kinds.push_back(stamp.kind);
		}
		EXPECT_EQ(kinds, (std::vector<uint32_t>{SCM_TSTAMP_SCHED, SCM_TSTAMP_SND,
							SCM_TSTAMP_ACK}));
		EXPECT_GE(now(), begin);
	}
};

INSTANTIATE_TEST_SUITE_P(, Stamps, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(Stamps, OfTheLastByte)
{
	ask(report | all);
	for (uint32_t id : {99, 149}) {
		int64_t begin = now();

		send_out(id == 99 ? 100 : 50);
		expect_all(id, begin);
	}
	EXPECT_EQ(take().kind, UINT32_MAX);
}

/* Bytes are counted from when the option is set, also when it is set again. */
TEST_P(Stamps, AreNumberedFromTheOptionOn)
{
	int64_t begin = now();

	send_out(1000);
	ask(report | all);
	send_out(10);
	expect_all(9, begin);
	send_out(10);
	expect_all(19, begin);
	ask(0);
	send_out(100);
	ask(report | all);
	send_out(5);
	expect_all(4, begin);
}

TEST_P(Stamps, OfOneMessage)
{
	ask(report);
	send_out(100);
	ASSERT_EQ(send_with(connection.here, "hello", SO_TIMESTAMPING_OLD, SOF_TIMESTAMPING_TX_ACK),
		  5);

	Stamp stamp = next();

	EXPECT_EQ(stamp.kind, static_cast<uint32_t>(SCM_TSTAMP_ACK));
	EXPECT_EQ(stamp.id, 104u);
	send_out(100);
	connection.there.recv(205, MSG_WAITALL);
	EXPECT_EQ(take().kind, UINT32_MAX);
}

/* Bytes for which the peer has no space have not left. */
TEST_P(Stamps, WaitForTheWindow)
{
	ask(report | all);

	size_t bytes = fill_for_good(connection.here);
	bool has_left = false;

	for (Stamp stamp = take(); stamp.kind != UINT32_MAX; stamp = take())
		has_left |= stamp.id == bytes - 1;
	/* SMC-D writes bytes into the peer's memory, or doesn't take them. */
	EXPECT_EQ(has_left, flavor.is_smc() && peer_within());

	long rc;

	for (size_t left = bytes; left; left -= rc) {
		connection.there.recv(std::min<size_t>(left, 65536), 0, &rc);
		ASSERT_GT(rc, 0);
	}
	if (has_left)
		return;

	Stamp stamp = next();

	while (stamp.kind != SCM_TSTAMP_ACK || stamp.id != bytes - 1)
		stamp = next();
}

/* With more timestamps than are kept, the last one of each kind is reported. */
TEST_P(Stamps, OfMany)
{
	int64_t begin = now();

	ask(report | all);
	must_set(connection.here, SOL_TCP, TCP_CORK, 1);
	for (int i = 0; i < 100; i++)
		send_out(1);
	must_set(connection.here, SOL_TCP, TCP_CORK, 0);

	std::set<uint32_t> kinds;

	while (kinds.size() < 3) {
		Stamp stamp = next();

		EXPECT_LE(stamp.id, 99u);
		EXPECT_GE(stamp.time, begin);
		if (stamp.id == 99)
			kinds.insert(stamp.kind);
	}
}

/* With the bytes of a segment, which SMC does not have; TCP reports some. */
TEST_P(Stamps, WithoutTimestampsOnly)
{
	ask(SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_TX_ACK);
	send_out(10);

	Stamp stamp = next();

	EXPECT_EQ(stamp.kind, static_cast<uint32_t>(SCM_TSTAMP_ACK));
	EXPECT_EQ(stamp.id, 9u);
}

/* A stream that ends reports none for bytes that never left. */
TEST_P(Stamps, OfWhatNeverLeft)
{
	ask(report | all);
	fill_for_good(connection.here);
	connection.there.linger(true, 0);
	connection.there.close();
	await(connection.here, POLLHUP);
	connection.here.close();
}

/* The handshake's bytes are neither timestamped nor counted, as they are not the application's. */
TEST(StampsOfTcp, NotOfTheRendezvous)
{
	constexpr int some =
	    SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_TX_SOFTWARE;
	Fd listener = offering_socket();
	Fd client = must_socket(Flavor(), SOCK_NONBLOCK);

	ASSERT_EQ(listen(listener, 1), 0);
	must_set(client, SOL_SOCKET, SO_TIMESTAMPING_OLD, some);

	Address to = local_address(listener);

	ASSERT_EQ(connect(client, to.get(), to.len), -1);
	ASSERT_EQ(errno, EINPROGRESS);

	Fd rogue = must_accept(listener);

	must_set(client, SOL_SOCKET, SO_TIMESTAMPING_OLD,
		 some | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_TX_ACK);
	receive_proposal(rogue);
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
	await(client, POLLOUT);
	EXPECT_EQ(receive(client, 0, MSG_ERRQUEUE).error, EAGAIN);
	send_bytes(client, "hello");

	for (uint32_t kind : {SCM_TSTAMP_SND, SCM_TSTAMP_ACK}) {
		await(client, POLLERR);

		Stamp stamp = take_stamp(client);

		EXPECT_EQ(stamp.kind, kind);
		EXPECT_EQ(stamp.id, 4u);
	}
}
