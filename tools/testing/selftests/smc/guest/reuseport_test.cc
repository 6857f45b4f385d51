// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that TCP moves to another listener of an SO_REUSEPORT group when their listener
 * closes. The application reads the bytes that the client wrote, whether the listeners are SMC's or
 * TCP's, and no connection refers to a module that is unloaded. REUSEPORT_ROUNDS and
 * REUSEPORT_SECONDS limit the rounds and the duration of Reuseport.ManyRounds.
 */
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/smc.h>
#include <memory>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <random>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "agent.h"
#include "late_page.h"
#include "limit.h"
#include "place.h"
#include "rogue.h"
#include "smc_tool.h"
#include "wire/clc.h"

using namespace guest;

namespace
{

constexpr Flavor plain = {Kind::tcp, AF_INET}, smc4 = {Kind::smc, AF_INET};
const std::string greeting = "the server greets", request = "the client wants";

Address local(int family, int port)
{
	return address_from(family == AF_INET ? "127.0.0.1" : "::1", port);
}

/* Adds a listener to the group at @port, or makes a new group. */
Fd join_group(const Flavor &flavor, int backlog = 16, int port = 0)
{
	Fd fd = must_socket(flavor);
	Address address = any_address(flavor.family, port);

	must_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (bind(fd, address.get(), address.len) || listen(fd, backlog))
		throw_errno("listen");
	return fd;
}

/* Drops packets without SYN to the listener, so that its clients' handshakes do not complete. */
void hold_acknowledgements(int listener)
{
	sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TH_SYN, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	sock_fprog program = {std::size(code), code};

	if (setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		throw_errno("SO_ATTACH_FILTER");
}

Fd bpf(bpf_cmd command, bpf_attr &attr)
{
	Fd result(syscall(SYS_bpf, command, &attr, sizeof(attr)));

	if (result < 0)
		throw_errno("bpf(" + std::to_string(command) + ")");
	return result;
}

Fd load_program(const std::vector<bpf_insn> &code, bpf_prog_type type, bpf_attach_type to)
{
	bpf_attr attr = {};

	attr.prog_type = type;
	attr.expected_attach_type = to;
	attr.insns = reinterpret_cast<uintptr_t>(code.data());
	attr.insn_cnt = code.size();
	attr.license = reinterpret_cast<uintptr_t>("GPL");
	return bpf(BPF_PROG_LOAD, attr);
}

void attach_program(int listener, const std::vector<bpf_insn> &code, bpf_attach_type type)
{
	must_set(listener, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF,
		 load_program(code, BPF_PROG_TYPE_SK_REUSEPORT, type));
}

/* A program that selects no socket, so TCP selects one; but its type permits migration. */
void attach_migrating_program(int listener)
{
	attach_program(
	    listener,
	    {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = SK_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	    },
	    BPF_SK_REUSEPORT_SELECT_OR_MIGRATE);
}

/* A program that selects the socket in the map, if there is one. */
void attach_selecting_program(int listener, int map)
{
	constexpr uint8_t map_fd = BPF_PSEUDO_MAP_FD;

	attach_program(
	    listener,
	    {
		{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4, .imm = 0},
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = BPF_REG_2,
		 .src_reg = map_fd,
		 .imm = map},
		{},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_3, .imm = -4},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_4, .imm = 0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_sk_select_reuseport},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = SK_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	    },
	    BPF_SK_REUSEPORT_SELECT);
}

/*
 * Until the descriptor is closed, a program redirects connections to @port to the listener in the
 * map.
 */
Fd lead_to_listener(int port, int map)
{
	constexpr uint8_t map_fd = BPF_PSEUDO_MAP_FD;
	Fd program = load_program(
	    {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_1},
		{.code = BPF_LDX | BPF_MEM | BPF_W,
		 .dst_reg = BPF_REG_2,
		 .src_reg = BPF_REG_1,
		 .off = offsetof(bpf_sk_lookup, local_port)},
		{.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_2, .off = 14, .imm = port},
		{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4, .imm = 0},
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = map_fd,
		 .imm = map},
		{},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 7, .imm = 0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_7, .src_reg = BPF_REG_0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_6},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_sk_assign},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_7},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_sk_release},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = SK_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	    },
	    BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP);
	Fd net(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
	bpf_attr attr = {};

	attr.link_create.prog_fd = program;
	attr.link_create.target_fd = net;
	attr.link_create.attach_type = BPF_SK_LOOKUP;
	return bpf(BPF_LINK_CREATE, attr);
}

/* A BPF map with space for one socket. */
class SocketMap
{
public:
	explicit SocketMap(bpf_map_type type)
	{
		bpf_attr attr = {};

		attr.map_type = type;
		attr.key_size = sizeof(key);
		attr.value_size = sizeof(uint64_t);
		attr.max_entries = 1;
		map = bpf(BPF_MAP_CREATE, attr);
	}
	void put(int fd)
	{
		uint64_t value = fd;
		bpf_attr attr = {};

		attr.map_fd = map;
		attr.key = reinterpret_cast<uintptr_t>(&key);
		attr.value = reinterpret_cast<uintptr_t>(&value);
		bpf(BPF_MAP_UPDATE_ELEM, attr).release();
	}
	void remove()
	{
		bpf_attr attr = {};

		attr.map_fd = map;
		attr.key = reinterpret_cast<uintptr_t>(&key);
		bpf(BPF_MAP_DELETE_ELEM, attr).release();
	}
	operator int() const
	{
		return map;
	}

private:
	uint32_t key = 0;
	Fd map;
};

/* The sockets of a port in a state of ss(8), with their columns. */
std::string shown(const std::string &state, int port)
{
	return must_run("ss -Htn state " + state + " 'sport = :" + std::to_string(port) + "'");
}

/* Handshakes whose last acknowledgement is missing. */
void await_requests(int port, int count)
{
	wait_until("requests wait for an acknowledgement", [&] {
		std::string all = shown("syn-recv", port);

		return std::count(all.begin(), all.end(), '\n') >= count;
	});
}

/* Connections in TCP's accept queue. */
void await_children(int port, int count)
{
	wait_until("connections wait in TCP's queue",
		   [&] { return atoi(shown("listening", port).c_str()) >= count; });
}

int64_t migrated()
{
	return std::stoll(must_run("nstat -asz TcpExtTCPMigrateReqSuccess | "
				   "awk '/Success/ { print $2 }'"));
}

/* All bytes until the end of the stream, or an error. */
std::string receive_all(int fd)
{
	std::string all;
	char bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		all.append(bytes, n);
	return n < 0 ? "error " + std::to_string(errno) : all;
}

enum class First { client, server };

/*
 * A program that connects, in its own thread: it writes @request and its end, then reads @greeting,
 * or reads that first. Its outcome is "", or a description of the error.
 */
class Client
{
public:
	Client(const Flavor &flavor, int port, First first)
	    : Client(must_socket(flavor), local(flavor.family, port), first)
	{
	}
	Client(Fd socket, const Address &to, First first)
	    : fd(std::move(socket)),
	      result(std::async(std::launch::async, [this, to, first] { return run(to, first); }))
	{
	}
	/* A test that fails before it serves the client does not wait for it. */
	~Client()
	{
		shutdown(fd, SHUT_RDWR);
	}
	std::string outcome()
	{
		return result.get();
	}

private:
	std::string run(const Address &to, First first)
	{
		std::string got(greeting.size(), '\0');

		/* As with TCP, a listener that closes drops its handshakes silently. */
		must_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
		must_set(fd, SOL_TCP, TCP_KEEPIDLE, 1);
		must_set(fd, SOL_TCP, TCP_KEEPINTVL, 1);
		if (connect(fd, to.get(), to.len))
			return std::string("connect: ") + strerror(errno);
		if (first == First::client)
			speak();
		if (recv(fd, got.data(), got.size(), MSG_WAITALL) != ssize_t(got.size()))
			return std::string("recv: ") + strerror(errno);
		if (first == First::server)
			speak();
		got += receive_all(fd);
		return got == greeting ? "" : "read '" + got + "'";
	}
	void speak()
	{
		send(fd, request.data(), request.size(), MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
	}

	Fd fd;
	std::future<std::string> result;
};

/* Serves a client. The bytes read are those that the client wrote, whatever it got before. */
void serve(int listener)
{
	/*
	 * Clients retry with increasing intervals, so that may take as long as they have waited
	 * already.
	 */
	Fd fd = must_accept(listener, 150);

	EXPECT_EQ(send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL),
		  ssize_t(greeting.size()));
	EXPECT_EQ(receive_all(fd), request);
}

/* Expects a client of the listener to be served, with all bytes by SMC-D, or none if it is TCP. */
void expect_served(int listener, int port, const Flavor &flavor)
{
	int64_t bytes = Counters::now()["ism_write_bytes"];
	Client client(flavor, port, First::client);

	serve(listener);
	EXPECT_EQ(client.outcome(), "");
	if (flavor.is_smc())
		bytes += int64_t(request.size() + greeting.size());
	EXPECT_EQ(Counters::now()["ism_write_bytes"], bytes);
}

void expect_served_by_smc(int listener, int port)
{
	expect_served(listener, port, smc4);
}

enum class By { sysctl, bpf };
enum class Wait { child, request };

struct Case {
	Kind from, to;
	Wait wait;
	By by;
	int family;
};

std::string name_of(const Case &c)
{
	return to_string(Flavor{c.from, c.family}) + "To" + to_string(Flavor{c.to, c.family}) +
	       (c.wait == Wait::child ? "Child" : "Request") +
	       (c.by == By::sysctl ? "BySysctl" : "ByBpf");
}

std::vector<Case> all_cases()
{
	constexpr std::pair<Kind, Kind> ways[] = {
	    {Kind::smc, Kind::tcp}, {Kind::tcp, Kind::smc}, {Kind::smc, Kind::smc}};
	std::vector<Case> all;

	for (auto [from, to] : ways)
		for (Wait wait : {Wait::child, Wait::request})
			for (By by : {By::sysctl, By::bpf})
				for (int family : {AF_INET, AF_INET6})
					all.push_back({from, to, wait, by, family});
	return all;
}

} // namespace

class Migration : public testing::TestWithParam<Case>
{
protected:
	Migration()
	{
		set_limit(300);
	}
};

INSTANTIATE_TEST_SUITE_P(, Migration, testing::ValuesIn(all_cases()),
			 [](const auto &info) { return name_of(info.param); });

/* Clients are in TCP's queue, or in their handshake, when the listener closes. */
TEST_P(Migration, BytesAreTheClients)
{
	const Case &c = GetParam();
	SysctlScope on("net.ipv4.tcp_migrate_req", c.by == By::sysctl ? "1" : "0");
	Fd closing = join_group({c.from, c.family});
	int port = local_address(closing).port();
	/* An SMC listener detects a TCP client by the client's bytes, if not in another way. */
	First first = c.from == Kind::tcp ? First::server : First::client;
	int64_t before = migrated(), tcp = fallbacks(Role::server, SMC_DIAG_SOCKET_OPTION);

	if (c.by == By::bpf)
		attach_migrating_program(closing);
	if (c.wait == Wait::request)
		hold_acknowledgements(closing);

	Client one({Kind::smc, c.family}, port, first), two({Kind::smc, c.family}, port, first);

	if (c.wait == Wait::request)
		await_requests(port, 2);
	else
		await_children(port, 2);

	Fd staying = join_group({c.to, c.family}, 16, port);

	closing.close();
	for (int i = 0; i < 2; i++)
		serve(staying);
	EXPECT_EQ(one.outcome(), "");
	EXPECT_EQ(two.outcome(), "");
	EXPECT_GE(migrated(), before + 2);
	EXPECT_EQ(fallbacks(Role::server, SMC_DIAG_SOCKET_OPTION),
		  c.to == Kind::smc ? tcp + 2 : tcp);
}

/* BPF maps of listeners use sk_user_data of the listener, as they do with TCP's. */
class BpfMap : public testing::TestWithParam<Flavor>
{
protected:
	Flavor flavor = GetParam();
};

INSTANTIATE_TEST_SUITE_P(, BpfMap,
			 testing::Values(plain, Flavor{Kind::tcp, AF_INET6}, smc4,
					 Flavor{Kind::smc, AF_INET6}),
			 testing::PrintToStringParamName());

TEST_P(BpfMap, SelectsAListener)
{
	Fd first = join_group(flavor);
	int port = local_address(first).port();
	Fd selected = join_group(flavor, 16, port);
	SocketMap map(BPF_MAP_TYPE_REUSEPORT_SOCKARRAY);

	map.put(selected);
	attach_selecting_program(first, map);
	for (int i = 0; i < 4; i++)
		expect_served(selected, port, flavor);
	/* A closed listener is removed from the map, so the program selects none. */
	selected.close();
	expect_served(first, port, flavor);
	map.put(first);
	expect_served(first, port, flavor);
	map.remove();
	expect_served(first, port, flavor);
}

TEST_P(BpfMap, HoldsAListener)
{
	Fd listener = join_group(flavor);
	int port = local_address(listener).port();
	sockaddr nobody = {.sa_family = AF_UNSPEC, .sa_data = {}};
	SocketMap map(BPF_MAP_TYPE_SOCKMAP);

	expect_served(listener, port, flavor);
	map.put(listener);
	expect_served(listener, port, flavor);
	map.remove();
	expect_served(listener, port, flavor);
	map.put(listener);
	/* A socket stays in the map when it stops listening, and can be added again. */
	ASSERT_EQ(connect(listener, &nobody, sizeof(nobody)), 0);
	ASSERT_EQ(listen(listener, 16), 0);
	map.put(listener);
	expect_served(listener, local_address(listener).port(), flavor);
	map.remove();
}

TEST_P(BpfMap, LeadsToAListener)
{
	Fd listener = join_group(flavor), other = join_group(flavor);
	int port = local_address(other).port();
	SocketMap map(BPF_MAP_TYPE_SOCKMAP);

	other.close();
	map.put(listener);
	{
		Fd link = lead_to_listener(port, map);

		for (int i = 0; i < 4; i++)
			expect_served(listener, port, flavor);
		expect_served(listener, local_address(listener).port(), flavor);
	}
	EXPECT_EQ(Client(flavor, port, First::client).outcome(),
		  std::string("connect: ") + strerror(ECONNREFUSED));
}

/* The same for a listener that stops, and may listen again. */
class Stopping : public testing::TestWithParam<bool>
{
protected:
	Stopping()
	{
		set_limit(300);
	}
	void stop(int listener) const
	{
		sockaddr nobody = {.sa_family = AF_UNSPEC, .sa_data = {}};

		if (GetParam() ? shutdown(listener, SHUT_RD)
			       : connect(listener, &nobody, sizeof(nobody)))
			throw_errno("stop");
	}
};

INSTANTIATE_TEST_SUITE_P(, Stopping, testing::Bool(), [](const auto &info) {
	return info.param ? "ByShutdown" : "ByDisconnect";
});

TEST_P(Stopping, ListensAgain)
{
	Fd stopping = join_group(smc4);
	int port = local_address(stopping).port();

	for (int i = 0; i < 2; i++) {
		{
			SysctlScope on("net.ipv4.tcp_migrate_req", "1");
			Client client(smc4, port, First::client);

			await_children(port, 1);

			Fd staying = join_group(plain, 16, port);

			stop(stopping);
			serve(staying);
			EXPECT_EQ(client.outcome(), "");
		}
		if (listen(stopping, 16))
			throw_errno("listen");
		/* TCP has released the port, which bind() had chosen. */
		port = local_address(stopping).port();

		/* There is no migration now. */
		expect_served_by_smc(stopping, port);
	}
}

/*
 * Connections that were offered SMC before are reset, or are still in TCP's handshake; new clients
 * are served.
 */
TEST_P(Stopping, SwitchedOnLate)
{
	Fd stopping = join_group(smc4, 0);
	int port = local_address(stopping).port();
	std::vector<std::unique_ptr<Client>> early;

	for (int i = 0; i < 2; i++) {
		early.push_back(std::make_unique<Client>(smc4, port, First::client));
		/*
		 * One connection has completed its handshake and is back in TCP's queue, which is
		 * full.
		 */
		await(stopping, POLLIN);
	}

	SysctlScope on("net.ipv4.tcp_migrate_req", "1");
	Fd staying = join_group(plain, 16, port);

	stop(stopping);

	Client late(smc4, port, First::client);

	/* The late client, and that of the two whose SYN was not answered before. */
	serve(staying);
	serve(staying);
	EXPECT_EQ(late.outcome(), "");

	int served = 0;

	for (auto &client : early)
		served += client->outcome().empty();
	EXPECT_EQ(served, 1);
}

TEST_P(Stopping, SwitchedOnLateInHandshake)
{
	Fd stopping = join_group(smc4);
	int port = local_address(stopping).port();

	hold_acknowledgements(stopping);

	Client early(smc4, port, First::client);

	await_requests(port, 1);

	SysctlScope on("net.ipv4.tcp_migrate_req", "1");
	Fd staying = join_group(plain, 16, port);

	stop(stopping);
	/* The client was reset, and nothing of it is left. */
	EXPECT_NE(early.outcome(), "");

	Client late(smc4, port, First::client);

	serve(staying);
	EXPECT_EQ(late.outcome(), "");
}

/* Threads that sleep because another one has a socket locked. */
static int waiting_for_a_socket()
{
	return stoi(run_command("grep -ls lock_sock /proc/[0-9]*/task/*/wchan | wc -l").text);
}

static int tcp_state(int fd)
{
	tcp_info info = {};
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_TCP, TCP_INFO, &info, &len))
		throw_errno("TCP_INFO");
	return info.tcpi_state;
}

/* The calling thread does not wait for a processor, as workers of the kernel do. */
static void run_at_once()
{
	sched_param first = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		throw_errno("SCHED_FIFO");
}

/* A thread that locks a socket, by an option whose value is not there, until the end of its life.
 */
class Locker
{
public:
	explicit Locker(int fd)
	    : done(std::async(std::launch::async, [this, fd] {
		      run_at_once();

		      sock_fprog program = {1, reinterpret_cast<sock_filter *>(page.bytes())};

		      setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	      }))
	{
	}
	~Locker()
	{
		page.fill(0);
	}
	void await_lock() const
	{
		page.await_touch();
	}

private:
	LatePage page;
	std::future<void> done;
};

/*
 * A connection that its SMC listener has made a stream of, and that TCP gave to another listener,
 * because "ss -K" ended the first one when migration had just been switched on. The first listener
 * still owns the stream: its user keeps it locked, so that its work can't end the stream.
 */
class GivenAway : public testing::Test
{
protected:
	GivenAway() : closing(join_group(smc4)), port(local_address(closing).port())
	{
		client = must_connect(smc4, local(AF_INET, port));
		await(closing, POLLIN);
	}
	/* Another listener of the group, which does not block. */
	Fd another(const Flavor &flavor, bool by_tcp) const
	{
		tcp_md5sig key = {.tcpm_keylen = 3, .tcpm_key = "key"};
		auto *nobody = reinterpret_cast<sockaddr_in *>(&key.tcpm_addr);
		Address address = any_address(AF_INET, port);
		Fd fd = must_socket(flavor);

		nobody->sin_family = AF_INET;
		nobody->sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1 */
		if (by_tcp && setsockopt(fd, SOL_TCP, TCP_MD5SIG, &key, sizeof(key)))
			throw_errno("TCP_MD5SIG");
		must_set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
		if (bind(fd, address.get(), address.len) || listen(fd, 16))
			throw_errno("listen");
		fcntl(fd, F_SETFL, O_NONBLOCK);
		return fd;
	}
	/*
	 * Ends the first listener from outside, and gives its connection to the one that is
	 * returned. @locked then has the first one locked.
	 */
	Fd end_first(std::optional<Locker> &locked, const Flavor &flavor, bool by_tcp)
	{
		std::optional<Locker> before(std::in_place, closing);
		int64_t moved = migrated();

		before->await_lock();
		/* Only two threads wait for a lock, and get it in this order. */
		std::future<void> killer = std::async(std::launch::async, [this] {
			run_at_once();
			must_run("ss -K -ltn 'sport = :" + std::to_string(port) + "'");
		});

		wait_until("ss -K waits", [] { return waiting_for_a_socket() == 1; });
		locked.emplace(closing);
		wait_until("another waits", [] { return waiting_for_a_socket() == 2; });

		/* Not before: ss -K ends all listeners at the port that it finds. */
		Fd other = another(flavor, by_tcp);
		SysctlScope on("net.ipv4.tcp_migrate_req", "1");

		before.reset();
		locked->await_lock();
		killer.get();
		EXPECT_EQ(migrated(), moved + 1);
		return other;
	}

	Fd closing, client;
	int port;
};

/* TCP accepts there, for a socket with SMC's operations: the connection is reset instead. */
TEST_F(GivenAway, ToAnSmcSocketThatIsTcps)
{
	if (on_debug_kernel())
		GTEST_SKIP() << "no TCP_MD5SIG, which makes a listener TCP's";

	std::optional<Locker> locked;
	Fd other = end_first(locked, smc4, true);
	char byte;

	{
		Fd given(accept(other, nullptr, nullptr));

		/* If the work of the first listener was faster after all, this is what is left. */
		EXPECT_TRUE(given < 0 || tcp_state(given) == TCP_CLOSE);
	}
	locked.reset();
	closing.close();
	EXPECT_EQ(recv(client, &byte, 1, 0), -1);
	EXPECT_EQ(errno, ECONNRESET);
	expect_served(other, port, plain);
}

/* Kernel TLS saves what it finds in the connection, which outlives this module. */
TEST_F(GivenAway, ToATcpSocketWithTls)
{
	std::optional<Locker> locked;
	Fd other = end_first(locked, plain, false);
	Fd given = must_accept(other);
	int bytes = -1;

	/* Each kernel of Debian's has TLS. */
	if (!on_debug_kernel() && tcp_state(given) == TCP_ESTABLISHED &&
	    setsockopt(given, SOL_TCP, TCP_ULP, "tls", 3))
		throw_errno("TCP_ULP");
	locked.reset();
	closing.close();
	client.close();
	wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });
	EXPECT_EQ(ioctl(given, FIONREAD, &bytes), 0);
	EXPECT_EQ(bytes, 0);
	given.close();
	must_run("lab-smc load");
}

/*
 * Threads that wait for a connection are woken for one that stays in TCP's queue, and when
 * migration is switched.
 */
TEST(Reuseport, IsSwitchedOnAndOff)
{
	Fd listener = join_group(smc4);
	int port = local_address(listener).port();

	for (const char *state : {"1", "0", "1", "0"}) {
		SysctlScope scope("net.ipv4.tcp_migrate_req", state);
		int64_t bytes = Counters::now()["ism_write_bytes"];
		std::future<void> server = std::async(std::launch::async, [&] {
			/* accept() itself waits. */
			Fd fd(accept(listener, nullptr, nullptr));

			ASSERT_GE(fd, 0);
			EXPECT_EQ(send(fd, greeting.data(), greeting.size(), 0),
				  ssize_t(greeting.size()));
			EXPECT_EQ(receive_all(fd), request);
		});
		Client client(smc4, port, First::client);

		EXPECT_EQ(client.outcome(), "");
		server.get();
		EXPECT_EQ(Counters::now()["ism_write_bytes"] == bytes, *state == '1');
	}

	/* A connection that arrived while migration was on. */
	Client client(smc4, port, First::client);
	{
		SysctlScope on("net.ipv4.tcp_migrate_req", "1");
		Client another(smc4, port, First::client);

		await(listener, POLLIN);
		serve(listener);
		await(listener, POLLIN);
		set_sysctl("net.ipv4.tcp_migrate_req", "0");
		serve(listener);
		EXPECT_EQ(another.outcome(), "");
	}
	EXPECT_EQ(client.outcome(), "");
}

/* Without migration a group is like any other listener. */
TEST(Reuseport, IsSmcWithoutMigration)
{
	Fd one = join_group(smc4);

	expect_served_by_smc(one, local_address(one).port());
}

/* Listeners of either family, with IPv4 clients. */
class Leftover : public testing::TestWithParam<int>
{
protected:
	Leftover()
	{
		set_limit(300);
	}
};

INSTANTIATE_TEST_SUITE_P(, Leftover, testing::Values(AF_INET, AF_INET6), [](const auto &info) {
	return info.param == AF_INET ? "Ipv4" : "Mapped";
});

/* Connections that TCP moved from an SMC listener don't refer to the unloaded module. */
TEST_P(Leftover, OutlivesTheModule)
{
	SysctlScope on("net.ipv4.tcp_migrate_req", "1");
	Fd closing = join_group({Kind::smc, GetParam()}, 0);
	int port = local_address(closing).port();
	/* The clients offer SMC, and don't depend on the module either. */
	Client one(offering_socket(), local(AF_INET, port), First::client);

	await(closing, POLLIN);

	Client two(offering_socket(), local(AF_INET, port), First::client);

	await_children(port, 1);

	int64_t before = migrated();
	Fd staying = join_group({Kind::tcp, GetParam()}, 16, port);

	closing.close();
	EXPECT_GT(migrated(), before);
	wait_until("unloaded", [] { return run_command("lab-smc unload").status == 0; });

	/* The clients' FINs change TCP's states. */
	Fd server = must_accept(staying);

	EXPECT_EQ(send(server, greeting.data(), greeting.size(), 0), ssize_t(greeting.size()));
	EXPECT_EQ(receive_all(server), request);
	ASSERT_EQ(shutdown(server, SHUT_WR), 0);
	EXPECT_EQ(one.outcome(), "");
	serve(staying);

	/* The operations of the connection are used when it listens, and a client offers SMC. */
	for (const char *command : {"true", "lab-smc load"}) {
		sockaddr nobody = {.sa_family = AF_UNSPEC, .sa_data = {}};

		must_run(command);
		if (connect(server, &nobody, sizeof(nobody)) || listen(server, 16))
			throw_errno("listen");

		Client client(offering_socket(), local(AF_INET, local_address(server).port()),
			      First::client);

		serve(server);
		EXPECT_EQ(client.outcome(), "");
	}
	EXPECT_EQ(two.outcome(), "");
}

/* A number from the environment, or the default. */
static int wanted(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text ? atoi(text) : otherwise;
}

/* One listener replaces another while clients connect. */
class Round
{
public:
	explicit Round(std::mt19937 &random) : random(random)
	{
	}
	void run()
	{
		SysctlScope state("net.ipv4.tcp_migrate_req", draw(4) ? "1" : "0");

		family = draw(2) ? AF_INET : AF_INET6;

		Fd first = join_group({draw(3) ? Kind::smc : Kind::tcp, family}, draw(4));
		int port = local_address(first).port();

		for (int n = 1 + draw(6); n; n--)
			clients.push_back(std::make_unique<Client>(
			    Flavor{draw(4) ? Kind::smc : Kind::tcp, family}, port,
			    draw(2) ? First::client : First::server));
		for (int n = draw(2000); n; n--)
			sched_yield();
		if (!draw(4))
			set_sysctl("net.ipv4.tcp_migrate_req", draw(2) ? "1" : "0");

		Fd second = join_group({draw(2) ? Kind::smc : Kind::tcp, family}, 16, port);

		fcntl(second, F_SETFL, O_NONBLOCK);

		std::future<void> server =
		    std::async(std::launch::async, [&] { serve_all(second); });

		first.close();
		/* Clients are reset or served, and never read anything but the greeting. */
		std::string outcomes;

		for (auto &client : clients) {
			std::string outcome = client->outcome();

			outcomes += outcome + "\n";
			EXPECT_EQ(outcome.find("read"), std::string::npos) << outcome;
		}
		done = true;
		server.get();
		if (testing::Test::HasFailure())
			ADD_FAILURE() << "the clients':\n" << outcomes;
	}

private:
	int draw(int n)
	{
		return int(random() % n);
	}
	void serve_all(int listener)
	{
		pollfd waiting = {listener, POLLIN, 0};

		while (!done) {
			if (poll(&waiting, 1, 20) <= 0)
				continue;

			Fd fd(accept(listener, nullptr, nullptr));

			if (fd < 0)
				continue;
			/* A client that does not end is reported, and not waited for. */
			timeval limit = {.tv_sec = 60, .tv_usec = 0};

			if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
				throw_errno("SO_RCVTIMEO");
			send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL);

			std::string got = receive_all(fd);

			EXPECT_NE(got, "error " + std::to_string(EAGAIN))
			    << must_run("ss -tnoie state all 'sport = :" +
					std::to_string(local_address(fd).port()) + " or dport = :" +
					std::to_string(local_address(fd).port()) + "'");
			/* A client that was reset has written nothing, or reports the reset. */
			EXPECT_TRUE(request.starts_with(got) || got.starts_with("error")) << got;
		}
	}

	std::mt19937 &random;
	int family;
	std::vector<std::unique_ptr<Client>> clients;
	std::atomic<bool> done = false;
};

/* Clients at any step, with migration on and off; sometimes the module is unloaded. */
TEST(Reuseport, ManyRounds)
{
	int seconds = wanted("REUSEPORT_SECONDS", 0), rounds = wanted("REUSEPORT_ROUNDS", 20);
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
	std::mt19937 random(20261125);

	set_limit(300 + seconds);
	for (int i = 1; i <= rounds || std::chrono::steady_clock::now() < end; i++) {
		Round(random).run();
		if (i % 10 == 0)
			wait_until("reloaded", [] {
				return run_command("lab-smc unload && lab-smc load").status == 0;
			});
	}
}
