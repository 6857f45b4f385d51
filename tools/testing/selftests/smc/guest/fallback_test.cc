// SPDX-License-Identifier: GPL-2.0
/* Without SMC the application gets TCP, and the counters tell the reason. */
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/smc.h>
#include <linux/smc_diag.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "agent.h"
#include "full.h"
#include "place.h"
#include "rogue.h"
#include "smc_tool.h"
#include "wire/clc.h"

using namespace guest;

class Fallback : public testing::TestWithParam<Role>
{
protected:
	/* The number of fallbacks of this guest, in the role of the test, for this reason. */
	int64_t count(uint32_t reason)
	{
		return fallbacks(GetParam(), reason);
	}
	/* Expects a connection to become TCP, with one of these reasons at this end. */
	void expect_tcp(std::initializer_list<uint32_t> reasons,
			const Flavor &there = {Kind::smc, AF_INET})
	{
		auto total = [&] {
			int64_t n = 0;

			for (uint32_t reason : reasons)
				n += count(reason);
			return n;
		};
		int64_t before = total();
		Connection connection = make_connection(agent, Flavor(), there, GetParam());

		check_data(connection, 200000, false);
		EXPECT_EQ(total(), before + 1) << must_run("$LAB_BUILD/tools/smc/smc fallbacks");
	}
	void expect_smc()
	{
		Connection connection = make_connection(agent, Flavor(), GetParam());

		check_data(connection, 200000, true);
	}

	Agent agent;
};

INSTANTIATE_TEST_SUITE_P(, Fallback, testing::ValuesIn(both_roles),
			 [](const auto &info) { return to_string(info.param); });

TEST_P(Fallback, PlainSocketAtThePeer)
{
	expect_tcp({SMC_DIAG_PEER_NO_SMC}, {Kind::tcp, AF_INET});
	expect_smc();
}

TEST_P(Fallback, PagesArriveByteForByte)
{
	for (SendBy call : {SendBy::sendfile, SendBy::splice}) {
		Connection connection =
		    make_connection(agent, Flavor(), {Kind::tcp, AF_INET}, GetParam());
		Flow flow = {.seed = 5, .bytes = 5000011, .max_chunk = 200000, .send_by = call};
		Job far = connection.there.start_recv(flow);

		send_flow(connection.here, flow);
		far.join(600);
	}
}

TEST_P(Fallback, NoModuleAtThePeer)
{
	NEEDS_ANOTHER_HOST("a host has one module");
	agent.must_run("lab-smc unload");
	expect_tcp({SMC_DIAG_PEER_NO_SMC}, {Kind::tcp, AF_INET});
	agent.must_run("lab-smc load");
	expect_smc();
}

TEST_P(Fallback, NoCommonEid)
{
	NEEDS_ANOTHER_HOST("a host has one list of EIDs");
	agent.must_run("$LAB_BUILD/tools/smc/smc eid add ANOTHER.EID");
	/* The client receives the DECLINE that the server sends. */
	expect_tcp({GetParam() == Role::client ? SMC_DIAG_PEER_DECLINED : SMC_DIAG_NO_UEID});
	must_run("$LAB_BUILD/tools/smc/smc eid add ANOTHER.EID");
	expect_smc();
	agent.must_run("$LAB_BUILD/tools/smc/smc eid flush");
	must_run("$LAB_BUILD/tools/smc/smc eid flush");
	expect_smc();
}

/* A client without an RDMA device still offers SMC-D, which another host has to decline. */
TEST_P(Fallback, NoDeviceHere)
{
	NEEDS_ANOTHER_HOST("no device is needed within a host");
	must_run("rdma link delete rxe0");
	expect_tcp({GetParam() == Role::client ? SMC_DIAG_PEER_DECLINED : SMC_DIAG_NO_DEVICE_R});
	must_run("lab-rxe eth0");
	expect_smc();
}

TEST_P(Fallback, NoDeviceThere)
{
	NEEDS_ANOTHER_HOST("no device is needed within a host");
	agent.must_run("rdma link delete rxe0");
	expect_tcp({GetParam() == Role::client ? SMC_DIAG_PEER_DECLINED : SMC_DIAG_NO_DEVICE_D});
	agent.must_run("lab-rxe eth0");
	expect_smc();
}

/* Without SMC-D there is nothing to offer, so no PROPOSAL is sent. */
TEST_P(Fallback, NothingToOffer)
{
	NEEDS_ANOTHER_HOST("see Smcd.OffIsTcp");

	SysctlScope off("net.smc.smcd", "0");

	must_run("rdma link delete rxe0");
	expect_tcp({SMC_DIAG_NO_DEVICE_R});
	must_run("lab-rxe eth0");
	expect_smc();
}

/* A SYN cookie has no space for the option. */
TEST_P(Fallback, SynCookies)
{
	SysctlScope here("net.ipv4.tcp_syncookies", "2");
	RemoteSysctlScope there(agent, "net.ipv4.tcp_syncookies", "2");

	expect_tcp({SMC_DIAG_PEER_NO_SMC});
}

/* Options that only TCP can serve make a socket TCP. */
TEST_P(Fallback, SocketOption)
{
	int64_t before = count(SMC_DIAG_SOCKET_OPTION);
	Preparation preparation = {.here = [](int fd) {
		must_set(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1);
	}};

	if (GetParam() == Role::server)
		GTEST_SKIP() << "an option of clients";

	Connection connection = make_connection(agent, Flavor(), Flavor(), GetParam(), preparation);

	check_data(connection, 100000, false);
	EXPECT_EQ(count(SMC_DIAG_SOCKET_OPTION), before + 1);
	expect_smc();
}

/* Acknowledgements are delayed as over TCP, also if TCP_QUICKACK is 0 before TCP connects. */
class DelayedAck : public testing::Test
{
protected:
	static void delay(int fd)
	{
		must_set(fd, IPPROTO_TCP, TCP_QUICKACK, 0);
	}
	static int quick(int fd)
	{
		return must_get(fd, IPPROTO_TCP, TCP_QUICKACK);
	}
	Connection delayed(Role role, const Flavor &here, const Flavor &there)
	{
		return make_connection(agent, here, there, role, {.here = delay});
	}

	Agent agent;
	const Flavor tcp = {Kind::tcp, AF_INET};
};

/* Unless the machine is slow, connect() returns before the SYN-ACK is acknowledged. */
TEST_F(DelayedAck, OfHealthChecks)
{
	RemoteSocket listener = agent.listen(tcp);
	const Address to = address_of(1, AF_INET, listener.port());

	wait_until("a connection has sent nothing but its SYN", [&] {
		Fd fd = must_socket(Flavor());

		delay(fd);
		if (connect(fd, to.get(), to.len))
			throw_errno("connect");
		return segments_sent(fd) == 1;
	});
}

TEST_F(DelayedAck, WithoutAHandshake)
{
	for (Role role : both_roles) {
		Connection plain = delayed(role, tcp, tcp), one = delayed(role, Flavor(), tcp);

		EXPECT_EQ(quick(one.here), quick(plain.here)) << to_string(role);
	}
}

TEST_F(DelayedAck, AfterTheHandshake)
{
	NEEDS_ANOTHER_HOST("a host has one list of EIDs");
	agent.must_run("$LAB_BUILD/tools/smc/smc eid add ANOTHER.EID");
	for (Role role : both_roles) {
		Connection plain = delayed(role, tcp, tcp), one = delayed(role, Flavor(), Flavor()),
			   usual = make_connection(agent, Flavor(), role);

		EXPECT_EQ(socket_mode(one.here), SMC_DIAG_MODE_FALLBACK_TCP);
		EXPECT_EQ(quick(one.here), quick(plain.here)) << to_string(role);
		EXPECT_EQ(quick(usual.here), 1) << to_string(role);
	}
	agent.must_run("$LAB_BUILD/tools/smc/smc eid flush");
}

/* An option that TCP refuses, or that changes nothing, does not make the socket TCP. */
TEST_P(Fallback, OptionWithoutEffect)
{
	int64_t before = count(SMC_DIAG_SOCKET_OPTION);
	Preparation preparation = {.here = [](int fd) {
		if (GetParam() == Role::client)
			must_set(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 0);
		must_set(fd, IPPROTO_TCP, TCP_FASTOPEN, 5);
		for (int option : {TCP_ULP, TCP_MD5SIG, TCP_REPAIR})
			EXPECT_NE(setsockopt(fd, IPPROTO_TCP, option, "?", 1), 0) << option;
	}};
	Connection connection = make_connection(agent, Flavor(), Flavor(), GetParam(), preparation);

	check_data(connection, 100000, true);
	EXPECT_EQ(count(SMC_DIAG_SOCKET_OPTION), before);
}

/*
 * A client that sends bytes with its SYN is served by TCP, even if it offers SMC; other clients by
 * SMC.
 */
TEST(FallbackListener, FastOpen)
{
	constexpr char bytes[] = "with the SYN";
	Agent agent;
	/* Fast Open without cookies at both ends. */
	SysctlScope here("net.ipv4.tcp_fastopen", "519");
	RemoteSysctlScope there(agent, "net.ipv4.tcp_fastopen", "519");
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	Fd clients[] = {must_socket({Kind::tcp, AF_INET}), offering_socket()};

	ASSERT_EQ(listener.set(IPPROTO_TCP, TCP_FASTOPEN, 5), 0);
	for (Fd &client : clients) {
		ASSERT_EQ(sendto(client, bytes, sizeof(bytes), MSG_FASTOPEN, to.get(), to.len),
			  ssize_t(sizeof(bytes)));

		Connection by_tcp = {std::move(client), listener.accept()};
		tcp_info info;
		socklen_t len = sizeof(info);

		ASSERT_EQ(getsockopt(by_tcp.here, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
		EXPECT_TRUE(info.tcpi_options & TCPI_OPT_SYN_DATA);
		EXPECT_EQ(by_tcp.there.recv(sizeof(bytes), MSG_WAITALL),
			  std::string(bytes, sizeof(bytes)));
		check_data(by_tcp, 10000, false);
	}

	Connection by_smc = {must_connect(Flavor(), to), listener.accept()};

	check_data(by_smc, 10000, true);
}

/* The same option on an existing listener, for new connections. */
TEST(FallbackListener, OptionOfTheListener)
{
	tcp_md5sig key = {.tcpm_keylen = 3, .tcpm_key = "key"};
	auto *another = reinterpret_cast<sockaddr_in *>(&key.tcpm_addr);
	Agent agent;
	Fd listener = must_listen(Flavor());
	int port = local_address(listener).port();

	for (bool by_smc : {true, false}) {
		RemoteSocket there = agent.connect(Flavor(), address_of(0, AF_INET, port));
		Connection connection = {must_accept(listener), std::move(there)};

		check_data(connection, 10000, by_smc);
		another->sin_family = AF_INET;
		ASSERT_EQ(inet_pton(AF_INET, "192.0.2.1", &another->sin_addr), 1);
		if (setsockopt(listener, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof(key)))
			GTEST_SKIP() << "this kernel has no signed segments";
	}
}

/* Within the host no device is necessary. */
TEST(FallbackLoopback, IsSmcD)
{
	for (int family : {AF_INET, AF_INET6}) {
		Flavor flavor = {Kind::smc, family};
		Counters before = Counters::now();
		Fd listener = must_listen(flavor);
		Fd client =
		    must_connect(flavor, address_from(family == AF_INET ? "127.0.0.1" : "::1",
						      local_address(listener).port()));
		Fd server = must_accept(listener);
		char byte;

		ASSERT_EQ(send(client, "x", 1, 0), 1);
		EXPECT_EQ(recv(server, &byte, 1, MSG_WAITALL), 1);
		EXPECT_EQ(byte, 'x');
		EXPECT_EQ((Counters::now() - before)["ism_write_bytes"], 1);
	}
}

struct TcpEnds {
	Fd client, server;
};

static TcpEnds connect_within_host(Kind client, Kind server)
{
	Fd listener = must_listen({server, AF_INET});
	int port = local_address(listener).port();
	Fd end = must_connect({client, AF_INET}, address_from("127.0.0.1", port));

	return {std::move(end), must_accept(listener)};
}

/*
 * TCP sends the very pages of the file, so that the reader sees what is written to the file before
 * it reads. TCP knows which page is the last of a call, and sends them all in one segment.
 */
static void expect_no_copy(int writer, int reader)
{
	const size_t len = 3 * 4096;
	const std::string before(len, 'b'), after(len, 'a');
	Fd file(memfd_create("file", MFD_CLOEXEC));
	std::string arrived(len, 0);
	off_t from = 0;

	ASSERT_EQ(pwrite(file, before.data(), len, 0), ssize_t(len));

	int64_t sent = times_sent(writer, false);

	ASSERT_EQ(sendfile(writer, file, &from, len), ssize_t(len));
	ASSERT_EQ(pwrite(file, after.data(), len, 0), ssize_t(len));
	EXPECT_EQ(times_sent(writer, false), sent + 1);
	ASSERT_EQ(recv(reader, arrived.data(), len, MSG_WAITALL), ssize_t(len));
	EXPECT_TRUE(arrived == after) << "some pages were copied";
}

TEST(FallbackLoopback, SendfileCopiesNothing)
{
	for (Kind kind : {Kind::tcp, Kind::smc, Kind::tcp2smc}) {
		SCOPED_TRACE(to_string(Flavor{kind, AF_INET}));

		TcpEnds to_tcp = connect_within_host(kind, Kind::tcp);
		TcpEnds from_tcp = connect_within_host(Kind::tcp, kind);

		expect_no_copy(to_tcp.client, to_tcp.server);
		expect_no_copy(from_tcp.server, from_tcp.client);
	}
}

/* SMC_LIMIT_HS is for servers, but does not make a socket a server. */
TEST(FallbackLimit, ClientWithTheOptionIsAClient)
{
	Agent agent;
	Connection connection = make_connection(agent, Flavor(), Role::client, {.here = [](int fd) {
							must_set(fd, SOL_SMC, SMC_LIMIT_HS, 1);
						}});

	check_data(connection, 10000, true);
}

/* net.smc.tcp2smc has an effect only when a socket is created. */
TEST(FallbackTcp2Smc, IsOffUnlessAskedFor)
{
	Agent agent;

	EXPECT_EQ(sysctl("net.smc.tcp2smc"), "0");
	Connection connection = make_connection(agent, {Kind::tcp, AF_INET}, {Kind::smc, AF_INET});
	check_data(connection, 10000, false);

	Connection smc = make_connection(agent, {Kind::tcp2smc, AF_INET}, {Kind::smc, AF_INET});
	EXPECT_EQ(sysctl("net.smc.tcp2smc"), "0");
	check_data(smc, 10000, true);
	EXPECT_EQ(must_get(smc.here, SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP);
}

/*
 * The module can't be unloaded between the moment when a new socket gets its operations and that
 * when socket() takes a reference for them: the struct sock holds the module, as for IPPROTO_SMC.
 * Other references may be dropped meanwhile; then the test repeats.
 */
TEST(FallbackTcp2Smc, HoldsTheModuleFromTheFirst)
{
	auto references = [] {
		return std::stol(read_file("/sys/module/smc/refcnt"));
	};

	for (int family : {AF_INET, AF_INET6})
		wait_until("as many as of IPPROTO_SMC", [&] {
			long before = references();
			Fd smc = must_socket({Kind::smc, family});
			long of_smc = references() - before;
			Fd tcp = must_socket({Kind::tcp2smc, family});
			long of_tcp = references() - before - of_smc;

			smc.close();
			tcp.close();
			return of_smc == 2 && of_tcp == of_smc && references() == before;
		});
}
