// SPDX-License-Identifier: GPL-2.0
#include "two_links.h"

#include <linux/smc_diag.h>
#include <poll.h>
#include <sys/socket.h>

#include <stdexcept>

#include "limit.h"
#include "links_shown.h"

namespace guest
{

void TwoLinks::SetUp()
{
	set_limit(240);
	here.set_up();
	there.set_up();
	if (here.is_tree() != there.is_tree())
		(here.is_tree() ? there : here).set_sysctl("net.smc.smcr_max_links_foreign", "2");
	is_set_up = true;
}

void TwoLinks::TearDown()
{
	if (!is_set_up)
		return;
	here.lose_nothing();
	there.lose_nothing();
	wait_until("the module here is unloaded", [&] { return here.unload(); });
	wait_until("the module there is unloaded", [&] { return there.unload(); });
}

std::string TwoLinks::links_shown() const
{
	return "here:\n" + to_string(here.groups()) + "there:\n" + to_string(there.groups());
}

bool TwoLinks::get_links(const std::string &devices_here, const std::string &devices_there,
			 int seconds) const
{
	auto has_links = [](const TwoPorts &end, const std::string &devices) {
		std::vector<ShownGroup> groups = end.groups();

		return groups.size() == 1 && groups[0].devices() == devices;
	};

	try {
		wait_until(
		    "links by " + devices_here,
		    [&] {
			    return has_links(here, devices_here) && has_links(there, devices_there);
		    },
		    seconds);
	} catch (const std::runtime_error &) {
		return false;
	}
	return true;
}

bool TwoLinks::get_links(const std::string &devices, int seconds) const
{
	return get_links(devices, devices, seconds);
}

void TwoLinks::must_get_links(const std::string &devices_here,
			      const std::string &devices_there) const
{
	if (!get_links(devices_here, devices_there, 60))
		throw std::runtime_error("no links by " + devices_here + ", " + devices_there +
					 ":\n" + links_shown());
}

void TwoLinks::expect_one_link() const
{
	for (const TwoPorts &end : {here, there}) {
		std::vector<ShownGroup> groups = end.groups();

		ASSERT_EQ(groups.size(), 1u);
		EXPECT_EQ(groups[0].type, GroupType::single);
		EXPECT_EQ(groups[0].links.size(), 1u);
	}
}

void TwoLinks::use_version_1() const
{
	here.use_version_1();
	there.use_version_1();
}

Connection TwoLinks::connection(Role role, int receive_buffer)
{
	Preparation preparation;

	if (receive_buffer)
		preparation = {
		    [=](int fd) { must_set(fd, SOL_SOCKET, SO_RCVBUF, receive_buffer); },
		    [=](RemoteSocket &socket) {
			    socket.set(SOL_SOCKET, SO_RCVBUF, receive_buffer);
		    },
		};

	Connection one = make_connection(peer, Flavor(), role, preparation);

	EXPECT_EQ(socket_mode(one.here), SMC_DIAG_MODE_SMCR);
	return one;
}

void Streams::TearDown()
{
	streams.clear();
	TwoLinks::TearDown();
}

void Streams::begin_streams(Role role, const std::string &devices_here,
			    const std::string &devices_there)
{
	streams.emplace_back(connection(role), 1);
	must_get_links(devices_here, devices_there);
	for (int i = 2; i <= 4; i++)
		streams.emplace_back(connection(role), i);
	await_progress();
}

void Streams::begin_streams(Role role)
{
	begin_streams(role, "rxe0 rxe1", "rxe0 rxe1");
	for (const TwoPorts &end : {here, there})
		for (const char *device : {"rxe0", "rxe1"})
			EXPECT_GT(end.groups()[0].connections_by(device), 0) << device;
}

void Streams::lose_link(Role victim, const TwoPorts &server, const std::function<void()> &lose)
{
	if (victim == Role::client && server.is_tree()) {
		for (EchoStream &stream : streams)
			stream.pause();
		/* The last bytes may have come, but not yet the acknowledgement of credit. */
		server.await_rest();
	}
	lose();
	for (EchoStream &stream : streams)
		stream.resume();
}

void Streams::await_progress()
{
	for (EchoStream &stream : streams)
		stream.await_progress();
}

void Streams::finish()
{
	for (EchoStream &stream : streams)
		stream.finish();
	streams.clear();
}

void send_urgent_byte(int fd)
{
	ASSERT_EQ(send(fd, "abC", 3, MSG_OOB | MSG_NOSIGNAL), 3);
	ASSERT_EQ(send(fd, "de", 2, MSG_NOSIGNAL), 2);
}

void expect_urgent_byte(RemoteSocket &socket)
{
	EXPECT_TRUE(socket.await(POLLPRI) & POLLPRI);
	EXPECT_EQ(socket.recv(5), "ab");
	EXPECT_EQ(socket.recv(1, MSG_OOB), "C");
	EXPECT_EQ(socket.recv(5), "de");
}

void OwnStreams::SetUp()
{
	Streams::SetUp();
	if (here.is_tree() || there.is_tree())
		GTEST_SKIP() << "the in-tree module may hang";
}

} // namespace guest
