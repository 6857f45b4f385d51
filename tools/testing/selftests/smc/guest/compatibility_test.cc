// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the claims of Documentation/compatibility.rst. Each row of its tables has a trial here,
 * and each trial a row. "as TCP" means that a program does the same over SMC and over TCP, and gets
 * the same results.
 */
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>
#include <linux/smc.h>
#include <linux/sockios.h>
#include <map>
#include <net/if.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

#include "agent.h"
#include "compatibility_table.h"
#include "compatibility_trial.h"
#include "control.h"
#include "full.h"
#include "place.h"
#include "smc_tool.h"

#include <liburing.h>

/* Newer than the headers of the build host. */
#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#define SO_PEERPIDFD 77
#endif
#ifndef SO_DEVMEM_DONTNEED
#define SO_DEVMEM_DONTNEED 80
#define MSG_SOCK_DEVMEM 0x2000000
#endif
#ifndef TCP_AO_ADD_KEY
#define TCP_AO_ADD_KEY 38
#define TCP_AO_DEL_KEY 39
#define TCP_AO_INFO 40
#define TCP_AO_GET_KEYS 41
#define TCP_AO_REPAIR 42
#endif
#ifndef TCP_IS_MPTCP
#define TCP_IS_MPTCP 43
#endif
#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif
#ifndef IP_PROTOCOL
#define IP_PROTOCOL 52
#endif
#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif
#ifndef IORING_RECVSEND_BUNDLE
#define IORING_RECVSEND_BUNDLE (1U << 4)
#endif
#ifndef MSG_PROBE
#define MSG_PROBE 0x10
#endif
#ifndef MSG_BATCH
#define MSG_BATCH 0x40000
#endif

using namespace guest;

namespace
{

/* A size from the output of "smc -j sock" for a connection. */
int size_shown(int fd, const char *which)
{
	return socket_shown(fd).at("connection").at(which);
}

/* -- SOL_SOCKET -- */

sock_filter no_packet[] = {BPF_STMT(BPF_RET | BPF_K, 0)};

std::string filter(sock_filter &code)
{
	return bytes_of(sock_fprog{.len = 1, .filter = &code});
}

/* A BPF program that drops all packets. */
Fd load_filter()
{
	bpf_insn code[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	bpf_attr attr = {};

	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = reinterpret_cast<uintptr_t>(code);
	attr.insn_cnt = 2;
	attr.license = reinterpret_cast<uintptr_t>("GPL");

	Fd fd(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));

	if (fd < 0)
		throw_errno("BPF_PROG_LOAD");
	return fd;
}

/* A filter that drops everything does not stop the data. */
void check_filter(Bench &bench, int option, const std::string &value)
{
	Connection smc = bench.connect(Kind::smc);

	ASSERT_EQ(setsockopt(smc.here, SOL_SOCKET, option, value.data(), value.size()), 0)
	    << strerror(errno);
	check_alive(smc, true);
	must_set(smc.here, SOL_SOCKET, SO_DETACH_FILTER, 0);
}

/* A size set before the connection is rounded up; later it has no effect. */
void check_size(Bench &bench, int option, int read_by, const char *which)
{
	/* 32 bytes of an SMC-D element are not available for data. */
	const int rounded = peer_within() ? 65536 - 32 : 65536;
	Connection smc = bench.connect(Kind::smc, {.here = [&](int fd) {
					       must_set(fd, SOL_SOCKET, option, 50000);
				       }});
	/* SMC-D has no send buffer. */
	bool has = !peer_within() || !strcmp(which, "rmbe");
	int before = size_shown(smc.here, which);

	if (has) {
		EXPECT_EQ(before, rounded);
	}
	EXPECT_EQ(must_get(smc.here, SOL_SOCKET, read_by), 100000);
	must_set(smc.here, SOL_SOCKET, option, 20000);
	EXPECT_EQ(must_get(smc.here, SOL_SOCKET, read_by), 40000);
	EXPECT_EQ(size_shown(smc.here, which), before);
	check_alive(smc, true);
}

/* The result, and the types and sizes of the control messages. */
std::string text(const Received &received)
{
	std::map<std::pair<int, int>, size_t> sizes;
	std::string all = std::to_string(received.rc);

	for (const Control &control : received.controls)
		sizes[{control.level, control.type}] = control.data.size();
	for (const auto &[type, size] : sizes)
		all += " " + std::to_string(type.first) + "/" + std::to_string(type.second) + ": " +
		       std::to_string(size);
	return all;
}

/*
 * Receives bytes until they have a control message of this type. TCP's first bytes after the option
 * is set may have none.
 */
Received receive_with(Connection &connection, int level, int type)
{
	Received received;

	wait_until("a control message", [&] {
		connection.there.send("x");
		received = receive(connection.here, 1);
		return received.find(level, type);
	});
	return received;
}

/* Software timestamps arrive, but no hardware ones, even if requested. */
void check_timestamping(Bench &bench, int option)
{
	Connection smc = bench.connect(Kind::smc);

	must_set(smc.here, SOL_SOCKET, option,
		 SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
		     SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
		     SOF_TIMESTAMPING_TX_HARDWARE);

	Received received = receive_with(smc, SOL_SOCKET, option);
	auto times = received.find(SOL_SOCKET, option)->as<scm_timestamping>();

	EXPECT_NE(times.ts[0].tv_sec, 0);
	EXPECT_EQ(times.ts[2].tv_sec, 0);

	/* Sent bytes are timestamped without the packet. */
	must_set(smc.here, SOL_SOCKET, option, SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_ACK);
	ASSERT_EQ(send(smc.here, "hello", 5, 0), 5);
	await(smc.here, POLLERR);
	EXPECT_EQ(receive(smc.here, 100, MSG_ERRQUEUE).rc, 0);
	EXPECT_EQ(smc.there.recv(5, MSG_WAITALL), "hello");
	check_alive(smc, true);
}

Trials socket_trials()
{
	const timeval minute = {60, 0};
	const struct {
		int64_t seconds, microseconds;
	} minute_new = {60, 0};
	Trials trials = alike({
	    {AT(SOL_SOCKET, SO_ACCEPTCONN)},
	    {AT(SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF), filter(*no_packet)},
	    {AT(SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF)},
	    {AT(SOL_SOCKET, SO_BINDTODEVICE), "eth0", "", IFNAMSIZ},
	    {AT(SOL_SOCKET, SO_BINDTOIFINDEX), bytes_of(if_nametoindex("eth0")), bytes_of(0)},
	    {AT(SOL_SOCKET, SO_BPF_EXTENSIONS)},
	    {AT(SOL_SOCKET, SO_BROADCAST)},
	    {AT(SOL_SOCKET, SO_BSDCOMPAT)},
	    {AT(SOL_SOCKET, SO_CNX_ADVICE)},
	    {AT(SOL_SOCKET, SO_COOKIE), {}, {}, 8, true},
	    {AT(SOL_SOCKET, SO_DEBUG)},
	    {AT(SOL_SOCKET, SO_DETACH_BPF), bytes_of(0)},
	    {AT(SOL_SOCKET, SO_DETACH_FILTER), bytes_of(0)},
	    {AT(SOL_SOCKET, SO_DETACH_REUSEPORT_BPF), bytes_of(0)},
	    {AT(SOL_SOCKET, SO_DEVMEM_DONTNEED), std::string(8, '\0')},
	    {AT(SOL_SOCKET, SO_DOMAIN)},
	    {AT(SOL_SOCKET, SO_DONTROUTE)},
	    {AT(SOL_SOCKET, SO_ERROR)},
	    {AT(SOL_SOCKET, SO_GET_FILTER), {}},
	    {AT(SOL_SOCKET, SO_KEEPALIVE)},
	    {AT(SOL_SOCKET, SO_LINGER), bytes_of(linger{1, 5}), {}, sizeof(linger)},
	    {AT(SOL_SOCKET, SO_LOCK_FILTER)},
	    {AT(SOL_SOCKET, SO_NETNS_COOKIE), {}, {}, 8},
	    {AT(SOL_SOCKET, SO_NOFCS)},
	    {AT(SOL_SOCKET, SO_NO_CHECK)},
	    {AT(SOL_SOCKET, SO_OOBINLINE)},
	    {AT(SOL_SOCKET, SO_PASSCRED)},
	    {AT(SOL_SOCKET, SO_PASSPIDFD)},
	    {AT(SOL_SOCKET, SO_PASSSEC)},
	    {AT(SOL_SOCKET, SO_PEEK_OFF), bytes_of(2)},
	    {AT(SOL_SOCKET, SO_PEERCRED), {}, {}, sizeof(ucred)},
	    {AT(SOL_SOCKET, SO_PEERGROUPS), {}, {}, 64},
	    {AT(SOL_SOCKET, SO_PEERNAME), {}, {}, sizeof(sockaddr_in), true},
	    {AT(SOL_SOCKET, SO_PEERPIDFD)},
	    {AT(SOL_SOCKET, SO_PEERSEC), {}, {}, 64},
	    {AT(SOL_SOCKET, SO_PROTOCOL)},
	    {AT(SOL_SOCKET, SO_RCVLOWAT), bytes_of(3)},
	    {AT(SOL_SOCKET, SO_RCVMARK)},
	    {AT(SOL_SOCKET, SO_RCVTIMEO), bytes_of(minute), {}, sizeof(minute)},
	    {AT(SOL_SOCKET, SO_RCVTIMEO_NEW), bytes_of(minute_new), {}, sizeof(minute_new)},
	    {AT(SOL_SOCKET, SO_REUSEADDR)},
	    {AT(SOL_SOCKET, SO_REUSEPORT)},
	    {AT(SOL_SOCKET, SO_RXQ_OVFL)},
	    {AT(SOL_SOCKET, SO_SELECT_ERR_QUEUE)},
	    {AT(SOL_SOCKET, SO_SNDLOWAT)},
	    {AT(SOL_SOCKET, SO_SNDTIMEO), bytes_of(minute), {}, sizeof(minute)},
	    {AT(SOL_SOCKET, SO_SNDTIMEO_NEW), bytes_of(minute_new), {}, sizeof(minute_new)},
	    {"SO_TIMESTAMP", SOL_SOCKET, SO_TIMESTAMP_OLD},
	    {AT(SOL_SOCKET, SO_TIMESTAMP_NEW)},
	    {"SO_TIMESTAMPNS", SOL_SOCKET, SO_TIMESTAMPNS_OLD},
	    {AT(SOL_SOCKET, SO_TIMESTAMPNS_NEW)},
	    {AT(SOL_SOCKET, SO_TXREHASH)},
	    {AT(SOL_SOCKET, SO_TXTIME),
	     bytes_of(sock_txtime{CLOCK_MONOTONIC, 0}),
	     {},
	     sizeof(sock_txtime)},
	    {AT(SOL_SOCKET, SO_TYPE)},
	    {AT(SOL_SOCKET, SO_WIFI_STATUS)},
	    {AT(SOL_SOCKET, SO_ZEROCOPY)},
	});

	trials.merge(below({
	    {AT(SOL_SOCKET, SO_BUF_LOCK), bytes_of(3)},
	    {AT(SOL_SOCKET, SO_BUSY_POLL), bytes_of(50)},
	    {AT(SOL_SOCKET, SO_BUSY_POLL_BUDGET), bytes_of(16)},
	    {AT(SOL_SOCKET, SO_INCOMING_CPU), bytes_of(0)},
	    {AT(SOL_SOCKET, SO_INCOMING_NAPI_ID)},
	    {AT(SOL_SOCKET, SO_MARK), bytes_of(7)},
	    {AT(SOL_SOCKET, SO_MEMINFO), {}, {}, 64},
	    {AT(SOL_SOCKET, SO_PREFER_BUSY_POLL)},
	    {AT(SOL_SOCKET, SO_PRIORITY), bytes_of(4)},
	    {AT(SOL_SOCKET, SO_RESERVE_MEM), bytes_of(4096)},
	}));

	trials["SO_ATTACH_FILTER"].differs = [](Bench &bench) {
		check_filter(bench, SO_ATTACH_FILTER, filter(*no_packet));
	};
	trials["SO_ATTACH_BPF"].differs = [](Bench &bench) {
		check_filter(bench, SO_ATTACH_BPF, bytes_of(int(load_filter())));
	};
	/* With TCP this would take a minute or more. */
	trials["SO_MAX_PACING_RATE"].differs = [](Bench &bench) {
		Connection smc = bench.connect(Kind::smc);

		must_set(smc.here, SOL_SOCKET, SO_MAX_PACING_RATE, 1000);
		EXPECT_EQ(must_get(smc.here, SOL_SOCKET, SO_MAX_PACING_RATE), 1000);
		check_data(smc, 100000, true);
	};
	trials["SO_RCVBUF"].differs = [](Bench &bench) {
		check_size(bench, SO_RCVBUF, SO_RCVBUF, "rmbe");
	};
	trials["SO_RCVBUFFORCE"].differs = [](Bench &bench) {
		check_size(bench, SO_RCVBUFFORCE, SO_RCVBUF, "rmbe");
	};
	trials["SO_SNDBUF"].differs = [](Bench &bench) {
		check_size(bench, SO_SNDBUF, SO_SNDBUF, "sndbuf");
	};
	trials["SO_SNDBUFFORCE"].differs = [](Bench &bench) {
		check_size(bench, SO_SNDBUFFORCE, SO_SNDBUF, "sndbuf");
	};
	trials["SO_TIMESTAMPING"].differs = [](Bench &bench) {
		check_timestamping(bench, SO_TIMESTAMPING_OLD);
	};
	trials["SO_TIMESTAMPING_NEW"].differs = [](Bench &bench) {
		check_timestamping(bench, SO_TIMESTAMPING_NEW);
	};
	return trials;
}

TEST(Compatibility, SocketOptions)
{
	try_section("SOL_SOCKET", socket_trials());
}

/* -- SOL_TCP -- */

/* A key for an arbitrary address. */
std::string md5_key()
{
	tcp_md5sig key = {.tcpm_keylen = 3, .tcpm_key = "key"};
	auto *another = reinterpret_cast<sockaddr_in *>(&key.tcpm_addr);

	another->sin_family = AF_INET;
	inet_pton(AF_INET, "192.0.2.1", &another->sin_addr);
	return bytes_of(key);
}

/* struct tcp_ao_add, in the headers since 6.7. */
struct alignas(8) AoKey {
	sockaddr_storage address;
	char algorithm[64];
	int32_t ifindex;
	uint32_t flags;
	uint16_t reserved;
	uint8_t prefix, sndid, rcvid, maclen, keyflags, keylen;
	uint8_t key[80];
};

/* A key for connections with a network. */
std::string ao_key(const char *network, int prefix)
{
	AoKey key = {};
	auto *another = reinterpret_cast<sockaddr_in *>(&key.address);

	another->sin_family = AF_INET;
	inet_pton(AF_INET, network, &another->sin_addr);
	strcpy(key.algorithm, "hmac(sha1)");
	key.prefix = prefix;
	key.sndid = key.rcvid = 1;
	key.keylen = 3;
	memcpy(key.key, "key", 3);
	return bytes_of(key);
}

int ioctl_value(int fd, unsigned long request)
{
	int value = -1;

	if (ioctl(fd, request, &value))
		throw_errno("ioctl");
	return value;
}

/* More than an Ethernet segment is held back until the cork is removed or times out. */
void check_corked(Bench &bench, const std::function<void(int fd, const std::string &)> &corked)
{
	Connection smc = bench.connect(Kind::smc);
	std::string bytes(6000, 'c');

	wait_until("bytes are held back", [&] {
		corked(smc.here, bytes);

		bool held = ioctl_value(smc.here, SIOCOUTQNSD) == int(bytes.size());

		must_set(smc.here, SOL_TCP, TCP_CORK, 0);
		EXPECT_EQ(smc.there.recv(bytes.size(), MSG_WAITALL), bytes);
		return held;
	});
	check_alive(smc, true);
}

/*
 * Sends until nothing more fits, and the peer has received what was sent. The amount has no fixed
 * bound: TCP splits a segment at the end of the window, and may fill up the second part while the
 * first still waits.
 */
void fill_up(int fd)
{
	const std::string bytes(1000, 'f');

	wait_until("what is not sent has reached the limit", [&] {
		bool is_first = true;

		while (send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			is_first = false;

		int unsent = ioctl_value(fd, SIOCOUTQNSD);

		return is_first && unsent && unsent == ioctl_value(fd, SIOCOUTQ);
	});
}

/*
 * With the limit poll() reports no space where the buffer has some; without the limit it does.
 * SMC-D accepts only bytes that it can send at once.
 */
std::string look_at_lowat(Connection &connection, const Option &option)
{
	std::string text = look_at_option(connection.here, option, option.value);
	pollfd writing = {connection.here, POLLOUT, 0};
	std::string bytes(1 << 20, '\0');

	must_set(connection.here, SOL_TCP, TCP_NOTSENT_LOWAT, 1);
	if (peer_within())
		return text + ", room: " + std::to_string(poll(&writing, 1, 0));
	fill_up(connection.here);
	text += ", full: " + std::to_string(poll(&writing, 1, 0));
	must_set(connection.here, SOL_TCP, TCP_NOTSENT_LOWAT, 1 << 30);
	text += ", without: " + std::to_string(poll(&writing, 1, 60000));
	must_set(connection.here, SOL_TCP, TCP_NOTSENT_LOWAT, 1);
	text += ", again: " + std::to_string(poll(&writing, 1, 0));

	/* Now more is queued than the limit for poll(); the wake-up comes when it is sent. */
	Job reading = connection.there.start_echo();

	fcntl(connection.here, F_SETFL, O_NONBLOCK);
	text += ", read: " + std::to_string(poll(&writing, 1, 60000));
	fcntl(connection.here, F_SETFL, 0);
	shutdown(connection.here, SHUT_WR);
	while (recv(connection.here, bytes.data(), bytes.size(), 0) > 0)
		;
	reading.join();
	return text;
}

/* A client that sends is accepted before an earlier one that is silent. */
void check_defer_accept(Bench &bench)
{
	Fd listener = must_listen(bench.flavor(Kind::smc));
	Address address = address_of(0, bench.family, local_address(listener).port());

	must_set(listener, SOL_TCP, TCP_DEFER_ACCEPT, 60);
	EXPECT_GE(must_get(listener, SOL_TCP, TCP_DEFER_ACCEPT), 60);

	RemoteSocket silent = bench.agent.connect(bench.flavor(Kind::smc), address);
	RemoteSocket speaks = bench.agent.connect(bench.flavor(Kind::smc), address);

	EXPECT_EQ(speaks.send("x"), 1);

	Connection connection = {must_accept(listener), std::move(speaks)};
	char byte = 0;

	EXPECT_EQ(recv(connection.here, &byte, 1, 0), 1);
	EXPECT_EQ(byte, 'x');
	check_alive(connection, true);
}

/* Clients without Fast Open are served by SMC; for the others see MSG_FASTOPEN. */
void check_fast_open_listener(Bench &bench)
{
	Connection smc = bench.connect(Kind::smc, {.there = [](RemoteSocket &listener) {
					       EXPECT_EQ(listener.set(SOL_TCP, TCP_FASTOPEN, 5), 0);
				       }});

	check_alive(smc, true);
}

/* Fast Open without cookies at both ends. */
class FastOpen
{
public:
	explicit FastOpen(Bench &bench)
	    : here("net.ipv4.tcp_fastopen", "519"),
	      there(bench.agent, "net.ipv4.tcp_fastopen", "519")
	{
	}

private:
	SysctlScope here;
	RemoteSysctlScope there;
};

void check_fast_open_is_tcp(Bench &bench)
{
	FastOpen fast_open(bench);
	RemoteSocket listener = bench.agent.listen(bench.flavor(Kind::smc));
	Address to = address_of(bench.agent.node(), bench.family, listener.port());
	Fd client = must_socket(bench.flavor(Kind::smc));

	ASSERT_EQ(listener.set(SOL_TCP, TCP_FASTOPEN, 5), 0);
	ASSERT_EQ(sendto(client, "hello", 5, MSG_FASTOPEN, to.get(), to.len), 5) << strerror(errno);

	Connection tcp = {std::move(client), listener.accept()};

	EXPECT_EQ(tcp.there.recv(5, MSG_WAITALL), "hello");
	check_alive(tcp, false);
}

/* A socket in repair mode looks connected, but there is no connection. */
void check_repair_is_tcp(Bench &bench)
{
	expect_made_tcp([&] {
		Fd fd = must_socket(bench.flavor(Kind::smc));
		Address to = address_of(bench.agent.node(), bench.family, 9);

		must_set(fd, SOL_TCP, TCP_REPAIR, 1);
		EXPECT_EQ(::connect(fd, to.get(), to.len), 0) << strerror(errno);
		return fd;
	});
}

/* Both ends need a key. */
void check_ao_is_tcp(Bench &bench)
{
	const Option add = {AT(SOL_TCP, TCP_AO_ADD_KEY)};

	expect_made_tcp([&] {
		Fd listener = must_listen(bench.flavor(Kind::tcp));
		Fd fd = must_socket(bench.flavor(Kind::smc));
		Address to = address_of(0, bench.family, local_address(listener).port());

		for (int end : {int(listener), int(fd)})
			EXPECT_EQ(said_by_set(end, add, ao_key("0.0.0.0", 0)), "0");
		EXPECT_EQ(::connect(fd, to.get(), to.len), 0) << strerror(errno);
		return fd;
	});
}

/* State and byte counts are those of the stream; packet counts are TCP's. */
void check_tcp_info(Bench &bench)
{
	auto story = [&](Kind kind, bool peer_first) {
		Connection connection = bench.connect(kind);
		std::vector<TcpInfo> told;
		/* With all bytes acknowledged; the SYN and perhaps this end's FIN count, too. */
		auto tell = [&](unsigned state, unsigned marks) {
			wait_until("the state, and what is acknowledged", [&] {
				TcpInfo info = tcp_info_of(connection.here);

				if (info.state != state || info.acked != info.sent + marks)
					return false;
				told.push_back(info);
				return true;
			});
		};
		int64_t segments = times_sent(connection.here, false);

		check_alive(connection, kind == Kind::smc);
		EXPECT_EQ(times_sent(connection.here, false) == segments, kind == Kind::smc);
		tell(TCP_ESTABLISHED, 1);
		EXPECT_GT(told.back().received, 0u);
		if (peer_first) {
			connection.there.shutdown(SHUT_WR);
			tell(TCP_CLOSE_WAIT, 1);
		}
		shutdown(connection.here, SHUT_WR);
		tell(peer_first ? TCP_CLOSE : TCP_FIN_WAIT2, 2);
		if (!peer_first) {
			connection.there.shutdown(SHUT_WR);
			tell(TCP_CLOSE, 2);
		}
		return told;
	};

	for (bool peer_first : {false, true})
		EXPECT_EQ(story(Kind::smc, peer_first), story(Kind::tcp, peer_first));
}

/* As many of the peer's bytes arrive as the buffer has space for. */
void check_window_clamp(Bench &bench)
{
	Connection smc = bench.connect(Kind::smc);

	must_set(smc.here, SOL_TCP, TCP_WINDOW_CLAMP, 2000);
	ASSERT_EQ(smc.there.send(std::string(60000, 'w')), 60000);
	await_bytes(smc.here, 60000);
}

/* A listener saves the SYN of a connection, which can be read once. */
std::string look_at_saved_syn(Connection &connection)
{
	Flavor flavor = {find_socket(connection.here).is_null() ? Kind::tcp : Kind::smc, AF_INET};
	Fd listener = must_listen(flavor);
	Agent agent;
	char syn[256];
	std::string text;

	must_set(listener, SOL_TCP, TCP_SAVE_SYN, 1);

	RemoteSocket there =
	    agent.connect(flavor, address_of(0, AF_INET, local_address(listener).port()));
	Fd here = must_accept(listener);

	for (int i = 0; i < 2; i++) {
		socklen_t len = sizeof(syn);

		text += said(getsockopt(here, SOL_TCP, TCP_SAVED_SYN, syn, &len));
		/* Without the length: the SYNs of TCP and SMC have different options. */
		text += len ? ", a SYN" : ", nothing";
	}
	return text;
}

std::string said_by_ulp(int fd, const char *name)
{
	return said(setsockopt(fd, SOL_TCP, TCP_ULP, name, strlen(name)));
}

/* A ULP replaces the operations of a socket, so none is set, whatever the socket has become. */
std::string try_ulp(Connection &connection)
{
	Agent agent;
	const Flavor smc, plain = {Kind::tcp, AF_INET};
	Connection tcp = make_connection(agent, plain);
	Connection fallback = make_connection(agent, smc, plain);
	Fd fresh = must_socket(smc);

	/* Each kernel of Debian's has TLS. */
	if (!on_debug_kernel()) {
		EXPECT_EQ(said_by_ulp(tcp.here, "tls"), "0");
	}
	for (const char *name : {"tls", "espintcp"})
		for (int fd : {int(fallback.here), int(fresh), int(connection.here)})
			EXPECT_EQ(said_by_ulp(fd, name), "ENOENT") << name;
	check_data(fallback, 10000, false);
	return said_by_ulp(connection.here, "tls");
}

std::string said_by_zerocopy(int fd)
{
	tcp_zerocopy_receive request = {};
	socklen_t len = sizeof(request);

	return said(getsockopt(fd, SOL_TCP, TCP_ZEROCOPY_RECEIVE, &request, &len));
}

Trials tcp_trials()
{
	const Option lowat = {AT(SOL_TCP, TCP_NOTSENT_LOWAT), bytes_of(1000)};
	Trials trials = alike({
	    {AT(SOL_TCP, TCP_AO_GET_KEYS)},
	    {AT(SOL_TCP, TCP_FASTOPEN_KEY), std::string(16, 'k'), {}, 32},
	    {AT(SOL_TCP, TCP_FASTOPEN_NO_COOKIE)},
	    {AT(SOL_TCP, TCP_INQ)},
	    {AT(SOL_TCP, TCP_IS_MPTCP)},
	    {AT(SOL_TCP, TCP_KEEPCNT), bytes_of(3)},
	    {AT(SOL_TCP, TCP_KEEPIDLE), bytes_of(60)},
	    {AT(SOL_TCP, TCP_KEEPINTVL), bytes_of(5)},
	    {AT(SOL_TCP, TCP_LINGER2), bytes_of(10)},
	    {AT(SOL_TCP, TCP_NODELAY)},
	    {AT(SOL_TCP, TCP_QUEUE_SEQ)},
	    {AT(SOL_TCP, TCP_REPAIR_OPTIONS)},
	    {AT(SOL_TCP, TCP_REPAIR_QUEUE)},
	    {AT(SOL_TCP, TCP_REPAIR_WINDOW), std::string(20, '\0'), {}, 20},
	    {AT(SOL_TCP, TCP_SAVE_SYN)},
	    {AT(SOL_TCP, TCP_SYNCNT), bytes_of(3)},
	    {AT(SOL_TCP, TCP_THIN_DUPACK)},
	    {AT(SOL_TCP, TCP_TIMESTAMP), bytes_of(1), {}, 4, true},
	    {AT(SOL_TCP, TCP_USER_TIMEOUT), bytes_of(5000)},
	});

	trials.merge(below({
	    {AT(SOL_TCP, TCP_CC_INFO), {}, {}, 64},
	    {AT(SOL_TCP, TCP_CONGESTION), "reno", {}, 16},
	    {AT(SOL_TCP, TCP_MAXSEG), bytes_of(1000)},
	    {AT(SOL_TCP, TCP_QUICKACK)},
	    {AT(SOL_TCP, TCP_THIN_LINEAR_TIMEOUTS)},
	    {AT(SOL_TCP, TCP_TX_DELAY), bytes_of(1000)},
	}));

	trials["TCP_AO_ADD_KEY"] =
	    made_tcp({AT(SOL_TCP, TCP_AO_ADD_KEY), ao_key("192.0.2.1", 32)}, true);
	trials["TCP_AO_ADD_KEY"].makes_tcp = check_ao_is_tcp;
	trials["TCP_AO_DEL_KEY"] = refused({AT(SOL_TCP, TCP_AO_DEL_KEY)});
	trials["TCP_AO_INFO"] = refused({AT(SOL_TCP, TCP_AO_INFO)});
	trials["TCP_AO_REPAIR"] = refused({AT(SOL_TCP, TCP_AO_REPAIR)});
	trials["TCP_FASTOPEN_CONNECT"] = made_tcp({AT(SOL_TCP, TCP_FASTOPEN_CONNECT)}, false);
	trials["TCP_MD5SIG"] = made_tcp({AT(SOL_TCP, TCP_MD5SIG), md5_key()}, true);
	trials["TCP_MD5SIG_EXT"] = made_tcp({AT(SOL_TCP, TCP_MD5SIG_EXT), md5_key()}, true);
	trials["TCP_REPAIR"] = refused({AT(SOL_TCP, TCP_REPAIR)});
	trials["TCP_REPAIR"].makes_tcp = check_repair_is_tcp;
	trials["TCP_NOTSENT_LOWAT"].act = [=](Connection &connection) {
		return look_at_lowat(connection, lowat);
	};
	trials["TCP_SAVED_SYN"].act = look_at_saved_syn;
	trials["TCP_CORK"].differs = [](Bench &bench) {
		check_corked(bench, [](int fd, const std::string &bytes) {
			must_set(fd, SOL_TCP, TCP_CORK, 1);
			EXPECT_EQ(must_get(fd, SOL_TCP, TCP_CORK), 1);
			EXPECT_EQ(send(fd, bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
		});
	};
	trials["TCP_DEFER_ACCEPT"].differs = check_defer_accept;
	trials["TCP_FASTOPEN"].differs = check_fast_open_listener;
	trials["TCP_INFO"].differs = check_tcp_info;
	trials["TCP_WINDOW_CLAMP"].differs = check_window_clamp;
	trials["TCP_ULP"].act = try_ulp;
	trials["TCP_ZEROCOPY_RECEIVE"].act = [](Connection &connection) {
		return said_by_zerocopy(connection.here);
	};
	return trials;
}

TEST(Compatibility, TcpOptions)
{
	try_section("SOL_TCP", tcp_trials());
}

/* -- SOL_IP and SOL_IPV6 -- */

/* All options that are not in the table: each is read, and set to 1. */
Look look_at(int level, const std::vector<int> &numbers)
{
	return [=](int fd) {
		std::string text;

		for (int number : numbers) {
			Option option = {"", level, number, bytes_of(1), {}, 64};

			/* Getting it also reads the port. */
			option.varies = level == SOL_IP && number == IP_PROTOCOL;

			text += std::to_string(number) + ": " +
				look_at_option(fd, option, option.value) + "; ";
		}
		return text;
	};
}

Trial trial_of_others(int level, const std::vector<int> &numbers)
{
	Look look = look_at(level, numbers);

	return {.act = [=](Connection &connection) { return look(connection.here); },
		.fresh = look};
}

Trials ip_trials()
{
	Trials trials = below({
	    {AT(SOL_IP, IP_MINTTL)},
	    {AT(SOL_IP, IP_MTU_DISCOVER), bytes_of(IP_PMTUDISC_DO)},
	    {AT(SOL_IP, IP_OPTIONS), std::string(4, '\1'), {}, 40},
	    {AT(SOL_IP, IP_PKTOPTIONS), {}, {}, 64},
	    {AT(SOL_IP, IP_TOS), bytes_of(0x10)},
	    {AT(SOL_IP, IP_TTL), bytes_of(33)},
	});

	trials["IP_IPSEC_POLICY"] = refused({AT(SOL_IP, IP_IPSEC_POLICY)});
	trials["IP_XFRM_POLICY"] = refused({AT(SOL_IP, IP_XFRM_POLICY)});
	trials["all others"] = trial_of_others(
	    SOL_IP,
	    {IP_HDRINCL,      IP_ROUTER_ALERT,	 IP_RECVOPTS,	      IP_RETOPTS,
	     IP_PKTINFO,      IP_RECVERR,	 IP_RECVTTL,	      IP_MTU,
	     IP_FREEBIND,     IP_PASSSEC,	 IP_TRANSPARENT,      IP_ORIGDSTADDR,
	     IP_NODEFRAG,     IP_CHECKSUM,	 IP_RECVTOS,	      IP_BIND_ADDRESS_NO_PORT,
	     IP_RECVFRAGSIZE, IP_MULTICAST_TTL,	 IP_MULTICAST_LOOP,   IP_MULTICAST_IF,
	     IP_UNICAST_IF,   IP_MULTICAST_ALL,	 IP_LOCAL_PORT_RANGE, IP_PROTOCOL,
	     IP_MSFILTER,     IP_ADD_MEMBERSHIP, MCAST_JOIN_GROUP,    27 /* none */});
	return trials;
}

TEST(Compatibility, IpOptions)
{
	try_section("SOL_IP", ip_trials());
}

Trials ipv6_trials()
{
	Trials trials = below({
	    {"IPV6_2292PKTOPTIONS", SOL_IPV6, 6, {}, {}, 64},
	    {"IPV6_AUTOFLOWLABEL", SOL_IPV6, 70},
	    {"IPV6_DONTFRAG", SOL_IPV6, 62},
	    {"IPV6_DSTOPTS", SOL_IPV6, 59, ""},
	    {"IPV6_FLOWINFO_SEND", SOL_IPV6, 33},
	    {"IPV6_HOPOPTS", SOL_IPV6, 54, ""},
	    {"IPV6_MINHOPCOUNT", SOL_IPV6, 73},
	    {"IPV6_MTU", SOL_IPV6, 24, bytes_of(1400)},
	    {"IPV6_MTU_DISCOVER", SOL_IPV6, 23, bytes_of(IPV6_PMTUDISC_DO)},
	    {"IPV6_RTHDR", SOL_IPV6, 57, ""},
	    {"IPV6_RTHDRDSTOPTS", SOL_IPV6, 55, ""},
	    {"IPV6_TCLASS", SOL_IPV6, 67, bytes_of(0x10)},
	    {"IPV6_UNICAST_HOPS", SOL_IPV6, 16, bytes_of(33)},
	});

	trials["IPV6_ADDRFORM"] = refused({"IPV6_ADDRFORM", SOL_IPV6, 1, bytes_of(AF_INET)});
	trials["IPV6_IPSEC_POLICY"] = refused({"IPV6_IPSEC_POLICY", SOL_IPV6, 34});
	trials["IPV6_XFRM_POLICY"] = refused({"IPV6_XFRM_POLICY", SOL_IPV6, 35});
	trials["all others"] = trial_of_others(
	    SOL_IPV6, {2,  3,  4,  5,  7,  8,  9,  11, 17, 18, 19, 20, 21, 22,
		       25, 26, 27, 28, 29, 30, 31, 32, 36, 42, 45, 49, 50, 51,
		       53, 56, 58, 60, 61, 66, 72, 74, 75, 76, 77, 78, 99 /* none */});
	return trials;
}

TEST(Compatibility, Ipv6Options)
{
	try_section("SOL_IPV6", ipv6_trials(), AF_INET6);
}

/* As with TCP, -EPERM comes before the error that SMC doesn't support the option. */
TEST(Compatibility, OptionsOfAdministrators)
{
	Bench bench(AF_INET);
	Connection smc = bench.connect(Kind::smc), tcp = bench.connect(Kind::tcp);

	ASSERT_EQ(seteuid(65534), 0);
	for (auto [level, option] :
	     {std::pair(SOL_TCP, TCP_REPAIR), {SOL_IP, IP_IPSEC_POLICY}, {SOL_IP, IP_XFRM_POLICY}})
		for (Connection *each : {&smc, &tcp}) {
			int value = 1;

			EXPECT_EQ(
			    said(setsockopt(each->here, level, option, &value, sizeof(value))),
			    "EPERM");
		}
	ASSERT_EQ(seteuid(0), 0);
}

/* -- flags -- */

Trial sending(int flag)
{
	return {.act = [=](Connection &connection) {
		return send_ten(connection, flag);
	}};
}

std::string send_in_vain(Connection &connection)
{
	signal(SIGPIPE, SIG_DFL);
	shutdown(connection.here, SHUT_WR);
	return said(send(connection.here, "x", 1, MSG_NOSIGNAL));
}

std::string send_without_room(Connection &connection)
{
	fill_for_good(connection.here);
	return said(send(connection.here, "x", 1, MSG_DONTWAIT));
}

std::string send_urgent(Connection &connection)
{
	std::string text = said(send(connection.here, "abc!", 4, MSG_OOB));

	connection.there.await(POLLPRI);
	text += ", " + connection.there.recv(1, MSG_OOB);
	return text + ", " + connection.there.recv(10, 0);
}

/* On a connection, with an address and without. */
std::string send_fast_open(Connection &connection)
{
	Address to = peer_address(connection.here);
	std::string text = said(sendto(connection.here, "x", 1, MSG_FASTOPEN, to.get(), to.len));

	EXPECT_EQ(said(send(connection.here, "x", 1, MSG_FASTOPEN)), text);
	return text;
}

/* The notification arrives, and reports that the bytes were copied. */
void check_zerocopy(Bench &bench)
{
	Connection smc = bench.connect(Kind::smc);
	std::string bytes(20000, 'z');

	must_set(smc.here, SOL_SOCKET, SO_ZEROCOPY, 1);
	ASSERT_EQ(send(smc.here, bytes.data(), bytes.size(), MSG_ZEROCOPY), ssize_t(bytes.size()));
	EXPECT_EQ(smc.there.recv(bytes.size(), MSG_WAITALL), bytes);
	await(smc.here, POLLERR);

	Received notice = receive(smc.here, 0, MSG_ERRQUEUE);
	sock_extended_err error = {};

	memcpy(&error, notice.find(SOL_IP, IP_RECVERR)->data.data(), sizeof(error));
	EXPECT_EQ(error.ee_origin, SO_EE_ORIGIN_ZEROCOPY);
	EXPECT_EQ(error.ee_code, SO_EE_CODE_ZEROCOPY_COPIED);
	check_alive(smc, true);
}

TEST(Compatibility, FlagsOfSend)
{
	Trials trials = {
	    {"MSG_BATCH", sending(MSG_BATCH)},
	    {"MSG_CONFIRM", sending(MSG_CONFIRM)},
	    {"MSG_DONTROUTE", sending(MSG_DONTROUTE)},
	    {"MSG_DONTWAIT", {.act = send_without_room}},
	    {"MSG_EOR", sending(MSG_EOR)},
	    {"MSG_FASTOPEN", {.act = send_fast_open, .makes_tcp = check_fast_open_is_tcp}},
	    {"MSG_NOSIGNAL", {.act = send_in_vain}},
	    {"MSG_OOB", {.act = send_urgent}},
	    {"MSG_PROBE", sending(MSG_PROBE)},
	    {"MSG_ZEROCOPY", {.differs = check_zerocopy}},
	};

	trials["MSG_MORE"].differs = [](Bench &bench) {
		check_corked(bench, [](int fd, const std::string &bytes) {
			EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_MORE),
				  ssize_t(bytes.size()));
		});
	};
	try_section("Flags of send()", trials);
}

/* Ten bytes from the peer, received once with the flag and once without. */
Trial receiving(int flag)
{
	return {.act = [=](Connection &connection) {
		std::string text;
		char bytes[11] = "..........";

		connection.there.send("0123456789");
		await_bytes(connection.here, 10);
		text = said(recv(connection.here, bytes, 5, flag)) + ", " + bytes + ", ";
		memset(bytes, '.', 10);
		return text + said(recv(connection.here, bytes, 10, 0)) + ", " + bytes;
	}};
}

/* Nothing has arrived. */
Trial receiving_nothing(int flag)
{
	return {.act = [=](Connection &connection) {
		char bytes[10];

		return said(recv(connection.here, bytes, sizeof(bytes), flag));
	}};
}

std::string receive_urgent(Connection &connection)
{
	char bytes[10] = {};
	std::string text = said(recv(connection.here, bytes, 1, MSG_OOB));

	connection.there.send("abc!", MSG_OOB);
	await(connection.here, POLLPRI);
	text += ", " + said(recv(connection.here, bytes, 1, MSG_OOB)) + ", " + bytes;
	text += ", " + said(recv(connection.here, bytes, 9, 0)) + ", " + bytes;
	return text;
}

/* Receives all ten bytes, though they arrive in two pieces. */
std::string receive_all(Connection &connection)
{
	Job far = connection.there.start_send({.bytes = 10000, .max_chunk = 1000});
	std::string bytes(10000, '\0');
	std::string text = said(recv(connection.here, bytes.data(), bytes.size(), MSG_WAITALL));

	far.join();
	return text;
}

/* Receives two messages, of which only one has arrived. */
std::string receive_one(Connection &connection, int flags)
{
	char bytes[2][10] = {};
	iovec pieces[] = {{bytes[0], 10}, {bytes[1], 10}};
	mmsghdr messages[2] = {};

	for (int i = 0; i < 2; i++) {
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	connection.there.send("hello");
	await_bytes(connection.here, 5);

	std::string text = said(recvmmsg(connection.here, messages, 2, flags, nullptr));

	return text + ", " + std::to_string(messages[0].msg_len) + ", " + bytes[0];
}

TEST(Compatibility, FlagsOfRecv)
{
	Trials trials = {
	    {"MSG_CMSG_CLOEXEC", receiving(MSG_CMSG_CLOEXEC)},
	    {"MSG_DONTWAIT", receiving_nothing(MSG_DONTWAIT)},
	    {"MSG_ERRQUEUE", receiving_nothing(MSG_ERRQUEUE)},
	    {"MSG_OOB", {.act = receive_urgent}},
	    {"MSG_PEEK", receiving(MSG_PEEK)},
	    {"MSG_SOCK_DEVMEM", receiving(MSG_SOCK_DEVMEM)},
	    {"MSG_TRUNC", receiving(MSG_TRUNC)},
	    {"MSG_WAITALL", {.act = receive_all}},
	};

	trials["MSG_WAITFORONE"].act = [](Connection &connection) {
		return receive_one(connection, MSG_WAITFORONE);
	};
	try_section("Flags of recv()", trials);
}

/* -- control messages -- */

/*
 * Sends a byte with a control message of SOL_SOCKET, on a socket with an option that it may need.
 */
Trial sending_with(int type, const std::string &data, const Option &option = {})
{
	return {.act = [=](Connection &connection) {
		alignas(cmsghdr) char control[64] = {};
		char byte = 'x';
		iovec piece = {&byte, 1};
		msghdr message = {};

		if (option.name) {
			EXPECT_EQ(said_by_set(connection.here, option, *option.value), "0");
		}
		message.msg_iov = &piece;
		message.msg_iovlen = 1;
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(data.size());

		cmsghdr *header = CMSG_FIRSTHDR(&message);

		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = type;
		header->cmsg_len = CMSG_LEN(data.size());
		memcpy(CMSG_DATA(header), data.data(), data.size());

		std::string text = said(sendmsg(connection.here, &message, 0));

		return text + ", " + connection.there.recv(1, MSG_WAITALL);
	}};
}

TEST(Compatibility, SentControlMessages)
{
	const Option txtime = {AT(SOL_SOCKET, SO_TXTIME),
			       bytes_of(sock_txtime{CLOCK_MONOTONIC, 0})};

	try_section(
	    "Control messages of sendmsg()",
	    {
		{"SCM_CREDENTIALS", sending_with(SCM_CREDENTIALS, bytes_of(ucred{getpid(), 0, 0}))},
		{"SCM_RIGHTS", sending_with(SCM_RIGHTS, bytes_of(STDIN_FILENO))},
		{"SCM_TXTIME", sending_with(SCM_TXTIME, std::string(8, '\0'), txtime)},
		{"SO_MARK", sending_with(SO_MARK, bytes_of(7))},
		{"SO_TIMESTAMPING",
		 sending_with(SO_TIMESTAMPING_OLD, bytes_of(SOF_TIMESTAMPING_TX_ACK))},
	    });
}

/* The content of the error queue after a send() that requests a notification. */
std::string error_queue(Connection &connection)
{
	must_set(connection.here, SOL_SOCKET, SO_ZEROCOPY, 1);
	if (send(connection.here, "x", 1, MSG_ZEROCOPY) != 1)
		throw_errno("MSG_ZEROCOPY");
	await(connection.here, POLLERR);
	return text(receive(connection.here, 0, MSG_ERRQUEUE));
}

Trial receiving_with(int type)
{
	return {.act = [=](Connection &connection) {
		must_set(connection.here, SOL_SOCKET, type, 1);
		return text(receive_with(connection, SOL_SOCKET, type));
	}};
}

/* The statistics are those of the TCP connection below: no data is counted. */
void check_stats(Bench &bench)
{
	Connection smc = bench.connect(Kind::smc);

	must_set(smc.here, SOL_SOCKET, SO_TIMESTAMPING_OLD,
		 SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_OPT_TSONLY |
		     SOF_TIMESTAMPING_OPT_STATS);
	ASSERT_EQ(send(smc.here, "x", 1, 0), 1);
	await(smc.here, POLLERR);
	EXPECT_TRUE(
	    receive(smc.here, 0, MSG_ERRQUEUE).find(SOL_SOCKET, SCM_TIMESTAMPING_OPT_STATS));
}

std::string receive_inq(Connection &connection)
{
	must_set(connection.here, SOL_TCP, TCP_INQ, 1);
	connection.there.send("0123456789");
	await_bytes(connection.here, 10);

	Received received = receive(connection.here, 4);

	return text(received) + " " + hex(received.find(SOL_TCP, TCP_CM_INQ)->data);
}

TEST(Compatibility, ReceivedControlMessages)
{
	Trials trials = {
	    {"IP_RECVERR", {.act = error_queue}},
	    {"SCM_TIMESTAMP", receiving_with(SO_TIMESTAMP_OLD)},
	    {"SCM_TIMESTAMPNS", receiving_with(SO_TIMESTAMPNS_OLD)},
	    {"SCM_TIMESTAMPING_OPT_STATS", {.differs = check_stats}},
	    {"TCP_CM_INQ", {.act = receive_inq}},
	};

	trials["SCM_TIMESTAMPING"].differs = [](Bench &bench) {
		check_timestamping(bench, SO_TIMESTAMPING_OLD);
	};
	/* The same for IPv6. */
	trials["IPV6_RECVERR"].act = [](Connection &connection) {
		Flavor flavor = {Kind::tcp, AF_INET6};
		Agent agent;

		if (!find_socket(connection.here).is_null())
			flavor.kind = Kind::smc;

		Connection other = make_connection(agent, flavor);

		return error_queue(other);
	};
	try_section("Control messages of recvmsg()", trials);
}

/* -- ioctl() -- */

/* The result while ten bytes wait to be read, and five have been sent and received. */
Trial asking(unsigned long request)
{
	return {.act = [=](Connection &connection) {
		int value = 0;

		connection.there.send("0123456789");
		await_bytes(connection.here, 10);
		if (send(connection.here, "hello", 5, 0) != 5)
			throw_errno("send");
		connection.there.recv(5, MSG_WAITALL);
		/* The acknowledgement of these bytes may still be on its way. */
		wait_until("nothing is on its way",
			   [&] { return !ioctl_value(connection.here, SIOCOUTQ); });

		std::string text = said(ioctl(connection.here, request, &value));

		return text + ", " + std::to_string(value);
	}};
}

/* Sets with one request, and reads with the other. */
Trial owning(unsigned long set, unsigned long get)
{
	return {.act = [=](Connection &connection) {
		int owner = getpid(), value = 0;
		std::string text = said(ioctl(connection.here, set, &owner));

		text += ", " + said(ioctl(connection.here, get, &value));
		return text + (value == owner ? ", own" : ", another");
	}};
}

Trial switching(unsigned long request, int flag)
{
	return {.act = [=](Connection &connection) {
		int on = 1;
		std::string text = said(ioctl(connection.here, request, &on));

		text += fcntl(connection.here, F_GETFL) & flag ? ", on" : ", off";
		on = 0;
		return text + ", " + said(ioctl(connection.here, request, &on));
	}};
}

Trial timing(unsigned long request)
{
	return {.act = [=](Connection &connection) {
		timespec time;

		return said(ioctl(connection.here, request, &time));
	}};
}

/* Tells whether the next byte is urgent. */
std::string look_at_mark(Connection &connection)
{
	std::string text;
	char byte;

	connection.there.send("a");
	connection.there.send("!", MSG_OOB);
	await(connection.here, POLLPRI);
	text += std::to_string(ioctl_value(connection.here, SIOCATMARK));
	text += said(recv(connection.here, &byte, 1, 0));
	return text + std::to_string(ioctl_value(connection.here, SIOCATMARK));
}

std::string other_requests(Connection &connection)
{
	std::string text;

	for (unsigned long request :
	     {0x8912ul /* SIOCGIFCONF */, 0x8913ul /* SIOCGIFFLAGS */, 0x8933ul /* SIOCGIFINDEX */,
	      0x890bul /* SIOCADDRT */, 0x12345678ul, 0x89e0ul}) {
		ifreq of_lo = {};

		strcpy(of_lo.ifr_name, "lo");
		text += said(ioctl(connection.here, request, &of_lo)) + " ";
	}
	return text;
}

TEST(Compatibility, Ioctl)
{
	try_section("ioctl()", {
				   {"FIOASYNC", switching(FIOASYNC, O_ASYNC)},
				   {"FIOGETOWN", owning(FIOSETOWN, FIOGETOWN)},
				   {"FIONBIO", switching(FIONBIO, O_NONBLOCK)},
				   {"FIONREAD", asking(FIONREAD)},
				   {"FIOSETOWN", owning(FIOSETOWN, FIOGETOWN)},
				   {"SIOCATMARK", {.act = look_at_mark}},
				   {"SIOCGPGRP", owning(SIOCSPGRP, SIOCGPGRP)},
				   {"SIOCGSTAMP", timing(SIOCGSTAMP_OLD)},
				   {"SIOCGSTAMPNS", timing(SIOCGSTAMPNS_OLD)},
				   {"SIOCINQ", asking(SIOCINQ)},
				   {"SIOCOUTQ", asking(SIOCOUTQ)},
				   {"SIOCOUTQNSD", asking(SIOCOUTQNSD)},
				   {"SIOCSPGRP", owning(SIOCSPGRP, SIOCGPGRP)},
				   {"TIOCOUTQ", asking(TIOCOUTQ)},
				   {"all others", {.act = other_requests}},
			       });
}

/* -- calls -- */

std::atomic<int> signal_seen;

void on_signal(int number)
{
	signal_seen = number;
}

/* The signal for a byte that arrives. */
std::string signal_of_byte(Connection &connection, int number)
{
	signal_seen = 0;
	signal(number, on_signal);
	connection.there.send("x");
	wait_until("a signal", [] { return signal_seen != 0; });
	return std::to_string(signal_seen);
}

std::string drive_by_signal(Connection &connection)
{
	std::string text = said(fcntl(connection.here, F_SETOWN, getpid()));

	signal(SIGIO, on_signal);
	text += said(fcntl(connection.here, F_SETFL, O_ASYNC));
	return text + ", " + signal_of_byte(connection, SIGIO);
}

volatile sig_atomic_t code_seen;

void on_detailed_signal(int, siginfo_t *info, void *)
{
	code_seen = info->si_code;
}

/* The signal tells the event: a byte has arrived, or both directions have ended. */
std::string drive_by_another_signal(Connection &connection)
{
	std::string text = said(fcntl(connection.here, F_SETSIG, SIGUSR2));
	struct sigaction action = {};
	auto code_of = [](const std::function<void()> &act) {
		code_seen = 0;
		act();
		wait_until("a signal", [] { return code_seen != 0; });
		return ", " + std::to_string(code_seen);
	};

	action.sa_sigaction = on_detailed_signal;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGUSR2, &action, nullptr);
	text += said(fcntl(connection.here, F_SETOWN, getpid()));
	text += said(fcntl(connection.here, F_SETFL, O_ASYNC));
	text += code_of([&] { connection.there.send("x"); });
	shutdown(connection.here, SHUT_WR);
	connection.there.expect_end();
	return text + code_of([&] { connection.there.shutdown(SHUT_WR); });
}

std::string read_without_waiting(Connection &connection)
{
	std::string text = said(fcntl(connection.here, F_SETFL, O_NONBLOCK));
	char byte;

	text += ", " + said(read(connection.here, &byte, 1));
	fcntl(connection.here, F_SETFL, 0);
	return text;
}

std::string accept_one(Connection &connection)
{
	Agent agent;
	bool by_smc = !find_socket(connection.here).is_null();
	Flavor flavor = {by_smc ? Kind::smc : Kind::tcp, AF_INET};
	Fd listener = must_listen(flavor);
	RemoteSocket there =
	    agent.connect(flavor, address_of(0, AF_INET, local_address(listener).port()));
	Address peer;

	await(listener, POLLIN);

	Fd here(accept4(listener, peer.get(), &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC));
	std::string text = std::to_string(fcntl(here, F_GETFL) & O_NONBLOCK) + ", " +
			   std::to_string(fcntl(here, F_GETFD)) + ", " + peer.text() +
			   (peer.port() == there.port() ? "" : ", port of another");
	Connection accepted = {std::move(here), std::move(there)};

	fcntl(accepted.here, F_SETFL, 0);
	check_alive(accepted, by_smc);
	return text + ", " + said(accept4(listener, nullptr, nullptr, 0x100));
}

/* connect() again while connected, then once more. */
std::string connect_again(Connection &connection)
{
	Address to = peer_address(connection.here);
	sockaddr nobody = {.sa_family = AF_UNSPEC, .sa_data = {}};
	std::string text = said(connect(connection.here, to.get(), to.len));

	text += ", " + said(connect(connection.here, &nobody, sizeof(nobody)));
	connection.there.await(POLLHUP);
	return text + ", " + said(getpeername(connection.here, to.get(), &to.len));
}

std::string go_on_by_copy(Connection &connection)
{
	Fd copy(dup(connection.here));

	connection.here.close();
	connection.here = std::move(copy);
	return send_ten(connection, 0);
}

/* Edge-triggered, one-shot, and with the flag for several threads. */
std::string wait_by_epoll(Connection &connection)
{
	std::string text;

	for (uint32_t how : {uint32_t(EPOLLET), uint32_t(EPOLLONESHOT), uint32_t(EPOLLEXCLUSIVE)}) {
		Fd epoll(epoll_create1(0));
		epoll_event event = {.events = EPOLLIN | how, .data = {}};
		char byte;

		text += said(epoll_ctl(epoll, EPOLL_CTL_ADD, connection.here, &event));
		text += said(epoll_wait(epoll, &event, 1, 0));
		connection.there.send("x");
		text += said(epoll_wait(epoll, &event, 1, 60000)) + std::to_string(event.events);
		text += said(epoll_wait(epoll, &event, 1, 0));
		text += said(recv(connection.here, &byte, 1, 0)) + "; ";
	}
	return text;
}

std::string select_it(Connection &connection)
{
	timeval minute = {60, 0};
	fd_set reading, writing;

	connection.there.send("x");
	await_bytes(connection.here, 1);
	FD_ZERO(&reading);
	FD_SET(connection.here, &reading);
	writing = reading;
	return said(select(connection.here + 1, &reading, &writing, nullptr, &minute));
}

std::string poll_it(Connection &connection)
{
	pollfd waiting = {connection.here, POLLIN | POLLOUT | POLLRDHUP | POLLPRI, 0};
	std::string text = said(poll(&waiting, 1, 0)) + "/" + std::to_string(waiting.revents);

	connection.there.send("x");
	await_bytes(connection.here, 1);
	text += ", " + said(poll(&waiting, 1, 0)) + "/" + std::to_string(waiting.revents);
	connection.there.shutdown(SHUT_WR);
	await(connection.here, POLLRDHUP);
	return text + ", " + said(poll(&waiting, 1, 0)) + "/" + std::to_string(waiting.revents);
}

std::string name_ends(Connection &connection, decltype(getpeername) *name)
{
	Address address;
	std::string text = said(name(connection.here, address.get(), &address.len));

	return text + ", " + address.text() + ", " + std::to_string(address.len);
}

std::string map_it(Connection &connection)
{
	void *at = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, connection.here, 0);

	return at == MAP_FAILED ? said(-1) : said(munmap(at, 4096));
}

std::string read_pieces(Connection &connection)
{
	char first[5] = {}, second[10] = {};
	iovec pieces[] = {{first, 4}, {second, 9}};

	connection.there.send("0123456789");
	await_bytes(connection.here, 10);
	return said(readv(connection.here, pieces, 2)) + ", " + first + ", " + second;
}

std::string write_pieces(Connection &connection)
{
	char first[] = "0123", second[] = "456789";
	iovec pieces[] = {{first, 4}, {second, 6}};
	std::string text = said(writev(connection.here, pieces, 2));

	return text + ", " + connection.there.recv(10, MSG_WAITALL);
}

std::string send_messages(Connection &connection)
{
	char bytes[] = "01234";
	iovec piece = {bytes, 5};
	mmsghdr messages[2] = {};

	for (mmsghdr &message : messages) {
		message.msg_hdr.msg_iov = &piece;
		message.msg_hdr.msg_iovlen = 1;
	}

	std::string text = said(sendmmsg(connection.here, messages, 2, 0));

	return text + ", " + connection.there.recv(10, MSG_WAITALL);
}

std::string send_file(Connection &connection)
{
	Fd file(memfd_create("file", 0));
	off_t at = 2;

	if (write(file, "0123456789", 10) != 10)
		throw_errno("write");

	std::string text = said(sendfile(connection.here, file, &at, 100));

	return text + ", " + connection.there.recv(8, MSG_WAITALL);
}

std::string shut_down(Connection &connection)
{
	char byte;
	std::string text = said(shutdown(connection.here, 3));

	text += ", " + said(shutdown(connection.here, SHUT_RDWR));
	text += ", " + said(recv(connection.here, &byte, 1, 0));
	text += ", " + said(send(connection.here, "x", 1, MSG_NOSIGNAL));
	connection.there.expect_end();
	return text;
}

std::string splice_both_ways(Connection &connection)
{
	Pipe pipe;
	char bytes[11] = {};

	connection.there.send("0123456789");
	await_bytes(connection.here, 10);

	std::string text = said(splice(connection.here, nullptr, pipe.in, nullptr, 6, 0));

	text += ", " + said(splice(pipe.out, nullptr, connection.here, nullptr, 4, 0));
	text += ", " + connection.there.recv(4, MSG_WAITALL);
	return text + ", " + said(recv(connection.here, bytes, 10, 0)) + ", " + bytes;
}

/* The same on a connected socket, and on one that is not connected yet. */
Trial looking(const Look &look)
{
	return {.act = [=](Connection &connection) { return look(connection.here); },
		.fresh = look};
}

/* bind(), then again to another port. */
std::string bind_it(int fd)
{
	Address address = address_of(0, AF_INET, 0);
	std::string text = said(bind(fd, address.get(), address.len));

	return text + ", " + said(bind(fd, address.get(), address.len));
}

/* listen(), again with another backlog. */
std::string listen_on_it(int fd)
{
	std::string text = said(listen(fd, 1));

	return text + ", " + said(listen(fd, 2));
}

/* An orderly close; and one with unread bytes, which resets the other end. */
std::string close_it(Connection &connection)
{
	Agent agent;
	Flavor flavor = {find_socket(connection.here).is_null() ? Kind::tcp : Kind::smc, AF_INET};
	Connection another = make_connection(agent, flavor);

	another.there.send("0123456789");
	await_bytes(another.here, 10);
	another.here.close();
	connection.here.close();
	return std::to_string(connection.there.ending()) + ", " +
	       std::to_string(another.there.ending());
}

TEST(Compatibility, Calls)
{
	Trials trials = {
	    {"accept4()", {.act = accept_one}},
	    {"bind()", looking(bind_it)},
	    {"close()", {.act = close_it}},
	    {"connect()", {.act = connect_again}},
	    {"dup()", {.act = go_on_by_copy}},
	    {"epoll_wait()", {.act = wait_by_epoll}},
	    {"fcntl(F_SETOWN)", {.act = drive_by_signal}},
	    {"fcntl(F_SETSIG)", {.act = drive_by_another_signal}},
	    {"fcntl(O_ASYNC)", {.act = drive_by_signal}},
	    {"fcntl(O_NONBLOCK)", {.act = read_without_waiting}},
	    {"listen()", looking(listen_on_it)},
	    {"mmap()", {.act = map_it}},
	    {"poll()", {.act = poll_it}},
	    {"readv()", {.act = read_pieces}},
	    {"select()", {.act = select_it}},
	    {"sendfile()", {.act = send_file}},
	    {"sendmmsg()", {.act = send_messages}},
	    {"shutdown()", {.act = shut_down}},
	    {"splice()", {.act = splice_both_ways}},
	    {"writev()", {.act = write_pieces}},
	};

	trials["getpeername()"].act = [](Connection &connection) {
		return name_ends(connection, getpeername);
	};
	trials["getsockname()"].act = [](Connection &connection) {
		return name_ends(connection, getsockname);
	};
	trials["recvmmsg()"].act = [](Connection &connection) {
		return receive_one(connection, MSG_DONTWAIT);
	};
	try_section("Calls", trials);
}

/* -- io_uring -- */

/* The result of an operation, which may be an errno. */
std::string said_by_uring(int rc)
{
	errno = -rc;
	return said(rc < 0 ? -1 : rc);
}

class Ring
{
public:
	Ring()
	{
		int rc = io_uring_queue_init(8, &ring, 0);

		if (rc) {
			errno = -rc;
			throw_errno("io_uring");
		}
	}
	Ring(const Ring &) = delete;
	~Ring()
	{
		io_uring_queue_exit(&ring);
	}
	/* Performs an operation, and returns all its results. */
	std::string perform(const std::function<void(io_uring_sqe *)> &prepare)
	{
		std::string text;
		int rc;

		prepare(io_uring_get_sqe(&ring));
		do {
			rc = complete();
			text += (text.empty() ? "" : " ") + said_by_uring(rc);
		} while (last_flags & IORING_CQE_F_MORE);
		return text;
	}
	/* The IORING_CQE_F_* of the last result. */
	unsigned int flags() const
	{
		return last_flags;
	}

private:
	int complete()
	{
		io_uring_cqe *completed;

		io_uring_submit_and_wait(&ring, 1);
		if (io_uring_wait_cqe(&ring, &completed))
			throw std::runtime_error("io_uring");

		int rc = completed->res;

		last_flags = completed->flags;
		io_uring_cqe_seen(&ring, completed);
		return rc;
	}

	io_uring ring;
	unsigned int last_flags = 0;
};

using Prepare = std::function<void(io_uring_sqe *sqe, int fd, void *bytes, size_t len)>;

msghdr message_of(iovec &piece)
{
	msghdr message = {};

	message.msg_iov = &piece;
	message.msg_iovlen = 1;
	return message;
}

/* Sends ten bytes by an operation. */
std::string send_by(Connection &connection, const Prepare &prepare)
{
	char bytes[] = "0123456789";
	Ring ring;
	std::string text =
	    ring.perform([&](io_uring_sqe *sqe) { prepare(sqe, connection.here, bytes, 10); });

	return text + ", " + connection.there.recv(10, MSG_WAITALL);
}

Trial sending_by(const Prepare &prepare)
{
	return {.act = [=](Connection &connection) {
		return send_by(connection, prepare);
	}};
}

/* The second result is the notification. */
Trial sending_by_copy(const Prepare &prepare)
{
	return {.differs = [=](Bench &bench) {
		Connection smc = bench.connect(Kind::smc);

		EXPECT_EQ(send_by(smc, prepare), "10 0, 0123456789");
		check_alive(smc, true);
	}};
}

/* Receives bytes that arrived before the operation, and bytes that arrive during it. */
Trial receiving_by(const Prepare &prepare)
{
	return {.act = [=](Connection &connection) {
		char bytes[11] = {};
		Ring ring;
		auto by = [&](io_uring_sqe *sqe) {
			prepare(sqe, connection.here, bytes, 10);
		};

		connection.there.send("0123456789");
		await_bytes(connection.here, 10);

		std::string text = ring.perform(by) + ", " + bytes;
		Job far = connection.there.start_send({.bytes = 1});

		text += ", " + ring.perform(by);
		far.join();
		return text;
	}};
}

/* Fields of socket commands that the headers have no names for. */
void prepare_command(io_uring_sqe *sqe, int fd, uint32_t operation, int option, int *value)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = operation;
	sqe->addr = uint64_t(SOL_SOCKET) | uint64_t(option) << 32;
	sqe->file_index = sizeof(*value);
	sqe->addr3 = reinterpret_cast<uintptr_t>(value);
}

/* Since 6.7. */
enum { URING_SIOCINQ, URING_SIOCOUTQ, URING_GETSOCKOPT, URING_SETSOCKOPT };

std::string command(int fd, uint32_t operation, int *value)
{
	Ring ring;

	return ring.perform(
	    [&](io_uring_sqe *sqe) { prepare_command(sqe, fd, operation, SO_KEEPALIVE, value); });
}

Trial commanding(uint32_t operation)
{
	return {.act = [=](Connection &connection) {
		int value = 1;
		std::string text = command(connection.here, operation, &value);

		return text + ", " + std::to_string(value) + ", " +
		       std::to_string(must_get(connection.here, SOL_SOCKET, SO_KEEPALIVE));
	}};
}

/*
 * Ten bytes wait here, and more than the peer takes were sent. Not all kernels have the commands.
 */
std::string count_by_command(Connection &connection)
{
	int readable = 0, unsent = 0;

	connection.there.send("0123456789");
	await_bytes(connection.here, 10);

	std::string text = command(connection.here, URING_SIOCINQ, &readable);

	fill_for_good(connection.here);

	std::string left = command(connection.here, URING_SIOCOUTQ, &unsent);

	ioctl(connection.here, SIOCOUTQ, &unsent);
	return text + ", " + (left == std::to_string(unsent) ? "as ioctl() says" : left);
}

/* Flags of IORING_OP_ACCEPT, since 6.10, and operations, since 6.11. */
enum { ACCEPT_DONTWAIT = 1 << 1, ACCEPT_POLL_FIRST = 1 << 2, OP_BIND = 56, OP_LISTEN };

std::string accept_by_ring(Connection &connection, int how)
{
	Flavor flavor = {find_socket(connection.here).is_null() ? Kind::tcp : Kind::smc, AF_INET};
	Agent agent;
	Fd listener = must_listen(flavor);
	RemoteSocket there = agent.socket(flavor);
	Job far = there.start_connect(address_of(0, AF_INET, local_address(listener).port()));
	Ring ring;
	std::string text = ring.perform([&](io_uring_sqe *sqe) {
		io_uring_prep_accept(sqe, listener, nullptr, nullptr, SOCK_CLOEXEC);
		sqe->ioprio = how;
	});

	far.join();
	/* The number of a file descriptor. */
	return isdigit(text[0]) ? "accepted" : text;
}

Trial accepting_by_ring(int how)
{
	return {.act = [=](Connection &connection) {
		return accept_by_ring(connection, how);
	}};
}

/* Accepts without a connection in the queue, and with one. */
std::string accept_without_waiting(Connection &connection)
{
	Flavor flavor = {find_socket(connection.here).is_null() ? Kind::tcp : Kind::smc, AF_INET};
	Agent agent;
	Fd listener = must_listen(flavor);
	Ring ring;
	auto by = [&](io_uring_sqe *sqe) {
		io_uring_prep_accept(sqe, listener, nullptr, nullptr, SOCK_CLOEXEC);
		sqe->ioprio = ACCEPT_DONTWAIT;
	};
	std::string text = ring.perform(by);
	RemoteSocket there =
	    agent.connect(flavor, address_of(0, AF_INET, local_address(listener).port()));

	await(listener, POLLIN);

	std::string later = ring.perform(by);

	return text + ", " + (isdigit(later[0]) ? "accepted" : later);
}

void prepare_bind(io_uring_sqe *sqe, int fd, const Address &address)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = OP_BIND;
	sqe->fd = fd;
	sqe->addr = reinterpret_cast<uintptr_t>(address.get());
	sqe->addr2 = address.len;
}

void prepare_listen(io_uring_sqe *sqe, int fd)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = OP_LISTEN;
	sqe->fd = fd;
	sqe->len = 1;
}

std::string bind_by_ring(int fd)
{
	Address address = address_of(0, AF_INET, 0);
	Ring ring;

	return ring.perform([&](io_uring_sqe *sqe) { prepare_bind(sqe, fd, address); });
}

std::string listen_by_ring(int fd)
{
	Ring ring;

	return ring.perform([&](io_uring_sqe *sqe) { prepare_listen(sqe, fd); });
}

std::string connect_by_ring(Connection &connection)
{
	Flavor flavor = {find_socket(connection.here).is_null() ? Kind::tcp : Kind::smc, AF_INET};
	Agent agent;
	RemoteSocket listener = agent.listen(flavor);
	Address to = address_of(agent.node(), AF_INET, listener.port());
	Fd fd = must_socket(flavor);
	Ring ring;
	auto by = [&](io_uring_sqe *sqe) {
		io_uring_prep_connect(sqe, fd, to.get(), to.len);
	};
	std::string text = ring.perform(by);
	Connection made = {std::move(fd), listener.accept()};

	check_alive(made, flavor.is_smc());
	return text;
}

std::string make_by_ring(Connection &connection)
{
	bool by_smc = !find_socket(connection.here).is_null();
	Ring ring;
	std::string text = ring.perform([&](io_uring_sqe *sqe) {
		io_uring_prep_socket(sqe, AF_INET, SOCK_STREAM, by_smc ? IPPROTO_SMC : 0, 0);
	});

	if (!isdigit(text[0]))
		return text;

	Fd fd(std::stoi(text));

	return std::to_string(must_get(fd, SOL_SOCKET, SO_PROTOCOL));
}

std::string close_by_ring(Connection &connection)
{
	Ring ring;
	int fd = connection.here.release();
	std::string text = ring.perform([&](io_uring_sqe *sqe) { io_uring_prep_close(sqe, fd); });

	connection.there.expect_end();
	return text;
}

std::string shut_down_by_ring(Connection &connection)
{
	Ring ring;
	std::string text = ring.perform(
	    [&](io_uring_sqe *sqe) { io_uring_prep_shutdown(sqe, connection.here, SHUT_WR); });

	connection.there.expect_end();
	return text;
}

std::string poll_by_ring(Connection &connection)
{
	Ring ring;
	auto by = [&](io_uring_sqe *sqe) {
		io_uring_prep_poll_add(sqe, connection.here, POLLIN);
	};
	Job far = connection.there.start_send({.bytes = 1});
	std::string text = ring.perform(by);

	far.join();
	return text;
}

/* Receives ten bytes and the end, into buffers of four bytes from a buffer group. */
Trial receiving_into_group(uint16_t how)
{
	return {.act = [=](Connection &connection) {
		char bytes[8][4];
		Ring ring;

		connection.there.send("0123456789");
		await_bytes(connection.here, 10);
		connection.there.shutdown(SHUT_WR);
		await(connection.here, POLLRDHUP);

		std::string text = ring.perform([&](io_uring_sqe *sqe) {
			io_uring_prep_provide_buffers(sqe, bytes, 4, 8, 1, 0);
		});

		return text + ", " + ring.perform([&](io_uring_sqe *sqe) {
			io_uring_prep_recv(sqe, connection.here, nullptr, 0, 0);
			sqe->ioprio = how;
			sqe->buf_group = 1;
			sqe->flags |= IOSQE_BUFFER_SELECT;
		});
	}};
}

/* Clients whose connections wait for accept(). All sockets are of the kind of @connection. */
struct TwoClients {
	explicit TwoClients(const Connection &connection)
	    : flavor{find_socket(connection.here).is_null() ? Kind::tcp : Kind::smc, AF_INET},
	      listener(must_listen(flavor)),
	      to(address_of(0, AF_INET, local_address(listener).port())),
	      first(agent.connect(flavor, to)), second(agent.connect(flavor, to))
	{
	}

	Agent agent;
	const Flavor flavor;
	Fd listener;
	const Address to;
	RemoteSocket first, second;
};

/* A multishot accept() returns all connections until the listener is shut down. */
std::string accept_many_by_ring(Connection &connection)
{
	TwoClients two(connection);
	Ring ring;
	std::string text;
	auto descriptors = [] {
		std::filesystem::directory_iterator all("/proc/self/fd");

		return std::distance(begin(all), end(all));
	};
	auto before = descriptors();
	std::jthread ending([&] {
		wait_until("both are accepted", [&] { return descriptors() >= before + 2; });
		shutdown(two.listener, SHUT_RD);
	});

	text = ring.perform([&](io_uring_sqe *sqe) {
		io_uring_prep_multishot_accept(sqe, two.listener, nullptr, nullptr, SOCK_CLOEXEC);
	});
	ending.join();
	/* Both results are file descriptors. */
	return std::to_string(std::count(text.begin(), text.end(), ' ')) +
	       text.substr(text.rfind(' '));
}

/* Two connections wait. Since 6.10 the result of accept() tells whether another one waits. */
std::string accept_two_by_ring(Connection &connection)
{
	TwoClients two(connection);
	Ring ring;
	std::string text;

	wait_until("both wait", [&] {
		tcp_info info = {};
		socklen_t len = sizeof(info);

		getsockopt(two.listener, SOL_TCP, TCP_INFO, &info, &len);
		return info.tcpi_unacked == 2;
	});
	for (int i = 0; i < 2; i++) {
		ring.perform([&](io_uring_sqe *sqe) {
			io_uring_prep_accept(sqe, two.listener, nullptr, nullptr, SOCK_CLOEXEC);
		});
		text += ring.flags() & IORING_CQE_F_SOCK_NONEMPTY ? " another" : " none";
	}
	return text;
}

std::string splice_by_ring(Connection &connection)
{
	Pipe pipe;
	Ring ring;
	char bytes[11] = {};

	connection.there.send("0123456789");
	await_bytes(connection.here, 10);

	std::string text = ring.perform([&](io_uring_sqe *sqe) {
		io_uring_prep_splice(sqe, connection.here, -1, pipe.in, -1, 10, 0);
	});

	return text + ", " + said(read(pipe.out, bytes, 10)) + ", " + bytes;
}

TEST(Compatibility, Uring)
{
	iovec piece;
	msghdr message = message_of(piece);
	auto use = [&](void *bytes, size_t len) {
		piece = {bytes, len};
		return &piece;
	};
	Trials trials = {
	    {"IORING_ACCEPT_DONTWAIT", {.act = accept_without_waiting}},
	    {"IORING_ACCEPT_MULTISHOT", {.act = accept_many_by_ring}},
	    {"IORING_ACCEPT_POLL_FIRST", accepting_by_ring(ACCEPT_POLL_FIRST)},
	    {"IORING_CQE_F_SOCK_NONEMPTY", {.act = accept_two_by_ring}},
	    {"IORING_OP_ACCEPT", accepting_by_ring(0)},
	    {"IORING_OP_BIND", looking(bind_by_ring)},
	    {"IORING_OP_CLOSE", {.act = close_by_ring}},
	    {"IORING_OP_CONNECT", {.act = connect_by_ring}},
	    {"IORING_OP_LISTEN", looking(listen_by_ring)},
	    {"IORING_OP_POLL_ADD", {.act = poll_by_ring}},
	    {"IORING_OP_SHUTDOWN", {.act = shut_down_by_ring}},
	    {"IORING_OP_SOCKET", {.act = make_by_ring}},
	    {"IORING_OP_SPLICE", {.act = splice_by_ring}},
	    {"IORING_RECVSEND_BUNDLE", receiving_into_group(IORING_RECVSEND_BUNDLE)},
	    {"IORING_RECVSEND_POLL_FIRST", receiving_into_group(IORING_RECVSEND_POLL_FIRST)},
	    {"IORING_RECV_MULTISHOT", receiving_into_group(IORING_RECV_MULTISHOT)},
	    {"SOCKET_URING_OP_GETSOCKOPT", commanding(URING_GETSOCKOPT)},
	    {"SOCKET_URING_OP_SETSOCKOPT", commanding(URING_SETSOCKOPT)},
	    {"SOCKET_URING_OP_SIOCINQ", {.act = count_by_command}},
	    {"SOCKET_URING_OP_SIOCOUTQ", {.act = count_by_command}},
	};

	trials["IORING_OP_READ"] = receiving_by([](auto *sqe, int fd, void *bytes, size_t len) {
		io_uring_prep_read(sqe, fd, bytes, len, 0);
	});
	trials["IORING_OP_READV"] = receiving_by([&](auto *sqe, int fd, void *bytes, size_t len) {
		io_uring_prep_readv(sqe, fd, use(bytes, len), 1, 0);
	});
	trials["IORING_OP_RECV"] = receiving_by([](auto *sqe, int fd, void *bytes, size_t len) {
		io_uring_prep_recv(sqe, fd, bytes, len, 0);
	});
	trials["IORING_OP_RECVMSG"] = receiving_by([&](auto *sqe, int fd, void *bytes, size_t len) {
		use(bytes, len);
		io_uring_prep_recvmsg(sqe, fd, &message, 0);
	});
	trials["IORING_OP_SEND"] = sending_by([](auto *sqe, int fd, void *bytes, size_t len) {
		io_uring_prep_send(sqe, fd, bytes, len, 0);
	});
	trials["IORING_OP_SENDMSG"] = sending_by([&](auto *sqe, int fd, void *bytes, size_t len) {
		use(bytes, len);
		io_uring_prep_sendmsg(sqe, fd, &message, 0);
	});
	trials["IORING_OP_SENDMSG_ZC"] =
	    sending_by_copy([&](auto *sqe, int fd, void *bytes, size_t len) {
		    use(bytes, len);
		    io_uring_prep_sendmsg(sqe, fd, &message, 0);
		    sqe->opcode = IORING_OP_SENDMSG_ZC;
	    });
	trials["IORING_OP_SEND_ZC"] =
	    sending_by_copy([](auto *sqe, int fd, void *bytes, size_t len) {
		    io_uring_prep_send_zc(sqe, fd, bytes, len, 0, 0);
	    });
	trials["IORING_OP_WRITE"] = sending_by([](auto *sqe, int fd, void *bytes, size_t len) {
		io_uring_prep_write(sqe, fd, bytes, len, 0);
	});
	trials["IORING_OP_WRITEV"] = sending_by([&](auto *sqe, int fd, void *bytes, size_t len) {
		io_uring_prep_writev(sqe, fd, use(bytes, len), 1, 0);
	});
	try_section("io_uring", trials);
}

/* -- BPF maps -- */

/* The result of adding a socket to a sockmap: nothing, or the error. */
std::string said_by_map(bpf_map_type type, int fd)
{
	uint64_t value = fd;
	uint32_t key = 0;
	bpf_attr attr = {};

	attr.map_type = type;
	attr.key_size = sizeof(key);
	attr.value_size = sizeof(value);
	attr.max_entries = 1;

	Fd map(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));

	if (map < 0)
		throw_errno("BPF_MAP_CREATE");
	attr = {};
	attr.map_fd = map;
	attr.key = reinterpret_cast<uintptr_t>(&key);
	attr.value = reinterpret_cast<uintptr_t>(&value);
	return said(syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)));
}

/* A listener is accepted, whatever the result for a connection. */
Trial mapping(bpf_map_type type)
{
	return {.act = [=](Connection &connection) {
		EXPECT_EQ(said_by_map(type, must_listen(Flavor())), "0");
		return said_by_map(type, connection.here);
	}};
}

/* For listeners that share a port. */
std::string said_by_group(Connection &connection)
{
	Flavor flavor = {find_socket(connection.here).is_null() ? Kind::tcp : Kind::smc, AF_INET};
	Fd listener = must_socket(flavor);

	must_set(listener, SOL_SOCKET, SO_REUSEPORT, 1);
	if (listen(listener, 1))
		throw_errno("listen");
	return said_by_map(BPF_MAP_TYPE_REUSEPORT_SOCKARRAY, listener) + ", " +
	       said_by_map(BPF_MAP_TYPE_REUSEPORT_SOCKARRAY, connection.here);
}

TEST(Compatibility, BpfMaps)
{
	try_section("BPF maps", {
				    {"BPF_MAP_TYPE_REUSEPORT_SOCKARRAY", {.act = said_by_group}},
				    {"BPF_MAP_TYPE_SOCKHASH", mapping(BPF_MAP_TYPE_SOCKHASH)},
				    {"BPF_MAP_TYPE_SOCKMAP", mapping(BPF_MAP_TYPE_SOCKMAP)},
				});
}

/* -- ss -- */

/* A column of ss(8) in the line of a socket. */
std::string column_of(const Fd &fd, int number)
{
	return must_run("ss -Htan 'sport = :" + std::to_string(local_address(fd).port()) +
			" and dport = :" + std::to_string(peer_address(fd).port()) +
			"' | awk '{print $" + std::to_string(number) + "}'");
}

/* After the queue has stopped to change. */
void check_queue(Bench &bench, int column)
{
	Connection smc = bench.connect(Kind::smc), tcp = bench.connect(Kind::tcp);

	for (Connection *one : {&smc, &tcp}) {
		one->there.send("0123456789");
		await_bytes(one->here, 10);
		fill_for_good(one->here);
	}
	EXPECT_EQ(column_of(smc.here, column), "0\n");
	EXPECT_NE(column_of(tcp.here, column), "0\n");
}

TEST(Compatibility, Ss)
{
	Trials trials;

	trials["State"].act = [](Connection &connection) {
		std::string text = column_of(connection.here, 1);

		connection.there.shutdown(SHUT_WR);
		wait_until("the peer's end", [&] { return column_of(connection.here, 1) != text; });
		return text + column_of(connection.here, 1);
	};
	trials["Recv-Q"].differs = [](Bench &bench) {
		check_queue(bench, 2);
	};
	trials["Send-Q"].differs = [](Bench &bench) {
		check_queue(bench, 3);
	};
	trials["Local Address:Port"].act = [](Connection &connection) {
		return std::to_string(column_of(connection.here, 4) ==
				      local_address(connection.here).text() + ":" +
					  std::to_string(local_address(connection.here).port()) +
					  "\n");
	};
	trials["Peer Address:Port"].act = [](Connection &connection) {
		Address peer = peer_address(connection.here);

		return std::to_string(column_of(connection.here, 5) ==
				      peer.text() + ":" + std::to_string(peer.port()) + "\n");
	};
	try_section("Columns of ss", trials);
}

/* None of the tables is left out here. */
TEST(Compatibility, AllSections)
{
	EXPECT_EQ(compatibility_sections(),
		  (std::vector<std::string>{"SOL_SOCKET", "SOL_TCP", "SOL_IP", "SOL_IPV6",
					    "Flags of send()", "Flags of recv()",
					    "Control messages of sendmsg()",
					    "Control messages of recvmsg()", "ioctl()", "Calls",
					    "io_uring", "BPF maps", "Columns of ss"}));
}

} // namespace
