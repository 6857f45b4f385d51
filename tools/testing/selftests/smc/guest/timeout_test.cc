// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that end because the other end does nothing: it takes no bytes for the time of
 * TCP_USER_TIMEOUT, or its TCP answers no probe. No duration is measured: if one connection must
 * not end, another one that does end shows that enough time has passed.
 */
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <thread>

#include "agent.h"
#include "full.h"
#include "nft.h"
#include "place.h"
#include "tcp_table.h"

using namespace guest;

namespace
{

constexpr int KiB = 1024;

/* Sends until send() fails. Return: errno. */
int keep_sending(int fd)
{
	const std::string chunk(64 * KiB, 'x');

	while (send(fd, chunk.data(), chunk.size(), MSG_NOSIGNAL) > 0)
		;
	return errno;
}

/* A waiting thread is woken, and gets the error. */
void expect_timed_out(int fd)
{
	EXPECT_NE(await(fd, POLLHUP) & POLLERR, 0);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), ETIMEDOUT);
}

/*
 * As with TCP, after a call has returned the error the socket has no peer, and can connect again.
 */
void expect_no_peer(int fd)
{
	sockaddr_storage address;
	socklen_t len = sizeof(address);
	auto *any = reinterpret_cast<sockaddr *>(&address);

	EXPECT_EQ(getpeername(fd, any, &len), -1);
	EXPECT_EQ(errno, ENOTCONN);
	address = {.ss_family = static_cast<sa_family_t>(must_get(fd, SOL_SOCKET, SO_DOMAIN))};
	EXPECT_EQ(bind(fd, any, sizeof(address)), 0) << strerror(errno);
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
		expect_no_peer(one.here);
		EXPECT_EQ(keep_sending(one.here), EPIPE);
		EXPECT_NE(await(one.here, POLLHUP) & POLLHUP, 0);
	}
}

/*
 * Bytes that the peer's kernel has received don't count, whether its application reads them or not.
 */
TEST_P(UserTimeout, NotForTheReader)
{
	Connection unread = connection(500), full = connection(500);

	ASSERT_EQ(send(unread.here, "unread", 6, 0), 6);
	EXPECT_EQ(keep_sending(full.here), ETIMEDOUT);
	EXPECT_FALSE(has_ended(unread.here));
	EXPECT_EQ(unread.there.recv(6, MSG_WAITALL), "unread");
	check_data(unread, 10000, GetParam().is_smc());
}

/* The option may be set, and changed, while bytes wait. */
TEST_P(UserTimeout, WhileBytesWait)
{
	Connection late = connection(), sooner = connection(3600000);

	for (Connection *one : {&late, &sooner}) {
		fill_for_good(one->here);
		set_user_timeout(one->here, 500);
		expect_timed_out(one->here);
	}
}

TEST_P(UserTimeout, Revoked)
{
	Connection revoked = connection(5000);

	fill_for_good(revoked.here);
	set_user_timeout(revoked.here, 0);

	Connection later = connection(5000);

	EXPECT_EQ(keep_sending(later.here), ETIMEDOUT);
	EXPECT_FALSE(has_ended(revoked.here));
}

/* Each piece that the peer takes restarts the timeout. */
TEST_P(UserTimeout, SlowReader)
{
	Connection slow = connection(4000), idle = connection(4000);
	int error = 0;

	{
		std::jthread sender([&] { error = keep_sending(slow.here); });

		fill_for_good(idle.here);
		wait_until("the idle one has ended", [&] {
			EXPECT_EQ(slow.there.recv(64 * KiB, MSG_WAITALL).size(), 64u * KiB);
			return has_ended(idle.here);
		});
		EXPECT_FALSE(error);
		slow.there.close();
	}
	/* As with TCP when bytes arrive after the reader has closed. */
	EXPECT_TRUE(error == ECONNRESET || error == EPIPE) << strerror(error);
}

/* TCP's packets below a connection, matched by nftables in this guest. */
class Packets
{
public:
	/* All packets of @connection get @verdict. */
	Packets(const Connection &connection, const std::string &verdict)
	    : table("ip" + std::to_string(local_address(connection.here).port()))
	{
		std::string here = std::to_string(local_address(connection.here).port());
		std::string there = std::to_string(peer_address(connection.here).port());
		std::string ports = "{ " + here + ", " + there + " }";
		std::string rule =
		    " tcp sport " + ports + " tcp dport " + ports + " counter " + verdict + "; ";

		must_run("nft 'add table inet " + table + "; " + chain("input") + chain("output") +
			 "add rule inet " + table + " input" + rule + "add rule inet " + table +
			 " output" + rule + "'");
	}
	Packets(const Packets &) = delete;
	~Packets()
	{
		run_command("nft delete table inet " + table);
	}
	int64_t received() const
	{
		return count("input");
	}
	int64_t sent() const
	{
		return count("output");
	}

private:
	int64_t count(const std::string &hook) const
	{
		return counted_by_rule(must_run("nft -j list chain inet " + table + " " + hook));
	}
	std::string chain(const std::string &hook) const
	{
		return "add chain inet " + table + " " + hook + " { type filter hook " + hook +
		       " priority 0; }; ";
	}

	std::string table;
};

/* With SMC, which would not notice that TCP's packets are lost. */
class Keepalive : public testing::TestWithParam<int>
{
protected:
	static constexpr char time[] = "net.smc.tcp_keepalive_time";

	Connection connection()
	{
		Connection made = make_connection(agent, {.family = GetParam()});

		check_data(made, 1000, true);
		return made;
	}
	/* Waits until the peer's FIN is acknowledged. */
	void await_fin_wait_2(const Connection &one)
	{
		int here = local_address(one.here).port(), there = peer_address(one.here).port();

		wait_until("FIN_WAIT2", [&] {
			std::string table = agent.read_file(tcp_table(GetParam()));

			return tcp_state(table, there, here) == TCP_FIN_WAIT2;
		});
	}
	/*
	 * Waits for the end of a connection whose packets are dropped: others might have ended by
	 * then, too.
	 */
	void await_the_end_of_another()
	{
		Connection other = connection();
		Packets lost(other, "drop");

		EXPECT_NE(await(other.here, POLLHUP) & POLLERR, 0);
	}

	Agent agent;
};

INSTANTIATE_TEST_SUITE_P(, Keepalive, testing::Values(AF_INET, AF_INET6), [](const auto &info) {
	return std::string(info.param == AF_INET ? "IPv4" : "IPv6");
});

/*
 * The end that detects the loss tells the other by the stream. Within one namespace it may be
 * either.
 */
TEST_P(Keepalive, PacketsAreLost)
{
	SysctlScope soon(time, "1");
	Connection one = connection();
	Packets lost(one, "drop");

	EXPECT_NE(await(one.here, POLLHUP) & POLLERR, 0);

	long here = must_get(one.here, SOL_SOCKET, SO_ERROR), there = -one.there.ending();

	if (peer_place() == Place::host && here == ECONNRESET)
		std::swap(here, there);
	EXPECT_EQ(here, ETIMEDOUT);
	EXPECT_EQ(there, ECONNRESET);
}

/* Firewalls see the probes, the application does not. */
TEST_P(Keepalive, SilentConnectionStays)
{
	SysctlScope soon(time, "1");
	Connection one = connection();
	Packets seen(one, "accept");

	/* More probes than would end the connection, if they were not answered. */
	wait_until("many probes are answered", [&] { return seen.received() >= 14; });
	EXPECT_FALSE(has_ended(one.here));
	EXPECT_EQ(must_get(one.here, SOL_SOCKET, SO_KEEPALIVE), 0);
	EXPECT_EQ(std::to_string(must_get(one.here, SOL_TCP, TCP_KEEPIDLE)),
		  sysctl("net.ipv4.tcp_keepalive_time"));
	check_data(one, 10000, true);
}

TEST_P(Keepalive, Off)
{
	SysctlScope off(time, "0");
	RemoteSysctlScope off_there(agent, time, "0");
	Connection one = connection();
	Packets lost(one, "drop");
	SysctlScope soon(time, "1");

	await_the_end_of_another();
	check_data(one, 10000, true);
}

/*
 * The peer's socket is gone when TCP has waited long enough for a FIN, and would answer with a
 * reset. The test doesn't wait for that, because TCP may reset the connection on its own then.
 */
TEST_P(Keepalive, NotWhenThePeerHasClosed)
{
	SysctlScope soon(time, "1");
	Connection one = connection();
	char bytes[16];

	ASSERT_EQ(one.there.send("unread"), 6);
	one.there.close();
	EXPECT_NE(await(one.here, POLLRDHUP) & POLLRDHUP, 0);
	await_fin_wait_2(one);

	Packets seen(one, "accept");

	await_the_end_of_another();
	EXPECT_EQ(seen.sent(), 0);
	EXPECT_EQ(must_get(one.here, SOL_SOCKET, SO_ERROR), 0);
	EXPECT_EQ(recv(one.here, bytes, sizeof(bytes), 0), 6);
	expect_end(one.here);
}

/* The application's own keepalive is TCP's, and may be faster. */
class OwnKeepalive : public testing::TestWithParam<Flavor>
{
protected:
	Agent agent;
};

INSTANTIATE_TEST_SUITE_P(, OwnKeepalive, testing::ValuesIn(main_flavors()),
			 testing::PrintToStringParamName());

TEST_P(OwnKeepalive, PacketsAreLost)
{
	Connection one = make_connection(agent, GetParam());

	for (int option : {TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT}) {
		must_set(one.here, SOL_TCP, option, 1);
		EXPECT_EQ(must_get(one.here, SOL_TCP, option), 1);
	}
	must_set(one.here, SOL_SOCKET, SO_KEEPALIVE, 1);

	Packets lost(one, "drop");

	expect_timed_out(one.here);
}
