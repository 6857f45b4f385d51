// SPDX-License-Identifier: GPL-2.0
/*
 * A copy between an application and the memory of its connection sleeps in a page fault, and
 * meanwhile the peer goes away. With SMC-D the element belongs to the peer, and other connections
 * may want it.
 */
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "agent.h"
#include "by_rdma.h"
#include "fuse_page.h"
#include "kernel_trace.h"
#include "late_page.h"
#include "limit.h"
#include "netns.h"
#include "pattern.h"
#include "place.h"
#include "rogue.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

/* The way in which the peer goes away. */
enum class Departure { close, reset, kill, netns };

std::string name_of(Departure departure)
{
	switch (departure) {
	case Departure::close:
		return "PeerCloses";
	case Departure::reset:
		return "PeerResets";
	case Departure::kill:
		return "PeerIsKilled";
	case Departure::netns:
		return "PeersNamespaceGoes";
	}
	return "";
}

/* The peer's end: in an agent that can be killed, or in a namespace that can be deleted. */
class Peer
{
public:
	/* The end here, in this process, has @role. */
	Peer(Role role, Departure departure) : departure(departure)
	{
		if (departure == Departure::netns) {
			netns.emplace();
			ends = netns->connect(role);
		} else {
			agents.emplace(make_connection(agent, Flavor(), role));
			ends.here = std::move(agents->here);
		}
	}
	int here() const
	{
		return ends.here;
	}
	void close_here()
	{
		ends.here.close();
	}
	void send(const Flow &flow)
	{
		if (departure == Departure::netns)
			send_flow(ends.there, flow);
		else
			agents->there.send_flow(flow);
	}
	void leave()
	{
		switch (departure) {
		case Departure::close:
			agents->there.close();
			break;
		case Departure::reset:
			EXPECT_EQ(agents->there.linger(true, 0), 0);
			agents->there.close();
			break;
		case Departure::kill:
			agent.kill();
			break;
		case Departure::netns:
			netns->remove();
			ends.there.close();
			netns->await_end();
			break;
		}
	}

private:
	const Departure departure;
	Agent agent;
	std::optional<Connection> agents;
	std::optional<Netns> netns;
	Ends ends;
};

/* Keeps a socket locked, by setting an option whose value is not in memory. */
class HeldLock
{
public:
	explicit HeldLock(int fd)
	    : holder(std::async(std::launch::async, [this, fd] {
		      return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
					sizeof(program));
	      }))
	{
		page.await_touch();
	}
	/* The value is invalid, so the option is not set. */
	void let_go()
	{
		page.fill('\0');
		EXPECT_EQ(holder.get(), -1);
	}

private:
	LatePage page;
	sock_fprog program = {.len = 1, .filter = reinterpret_cast<sock_filter *>(page.bytes())};
	std::future<int> holder;
};

/* A client that has proposed to a rogue. Its own thread waits for the answer, or a worker. */
struct Midway {
	explicit Midway(int flags) : client(must_socket(Flavor(), flags))
	{
		Fd listener = offering_socket();

		if (listen(listener, 1))
			throw_errno("listen");

		Address to = address_of(0, AF_INET, local_address(listener).port());

		connecting = std::async(std::launch::async, [this, to] {
			return connect(client, to.get(), to.len) ? errno : 0;
		});
		rogue = must_accept(listener);
		receive_proposal(rogue);
	}
	int outcome()
	{
		int error = connecting.get();

		if (error != EINPROGRESS)
			return error;
		await(client, POLLOUT);
		return must_get(client, SOL_SOCKET, SO_ERROR);
	}

	Fd client;
	Fd rogue;
	std::future<int> connecting;
};

/*
 * The client has proposed a port. Removal of the device waits neither for the answer nor for the
 * user, who keeps the socket locked: the client is not late.
 */
TEST(HeldClient, HoldsUpNoDevice)
{
	ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
	set_limit(120);

	ByRdma by_rdma;
	int64_t declined = fallbacks(Role::client, SMC_DIAG_PEER_DECLINED);
	Midway midway(SOCK_NONBLOCK);
	HeldLock held(midway.client);

	must_run("rdma link delete rxe0");
	held.let_go();
	send_bytes(midway.rogue, encode_decline(SMC_DIAG_NO_MEMORY));
	EXPECT_EQ(midway.outcome(), 0);
	EXPECT_EQ(mode_shown(midway.client), "TCP");
	EXPECT_EQ(fallbacks(Role::client, SMC_DIAG_PEER_DECLINED), declined + 1);
}

/* The same in connect(), whose thread may get no processor time. An ACCEPT finds no device then. */
TEST(WaitingClient, HoldsUpNoDevice)
{
	ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
	set_limit(120);

	std::optional<uint32_t> diagnosis;

	/* On a busy machine the client may give up before the device is gone. */
	do {
		ByRdma by_rdma;
		Midway midway(0);

		must_run("rdma link delete rxe0");
		send_bytes(midway.rogue, encode(good_agreement(SMC_CLC_ACCEPT)));
		diagnosis = diagnosis_of(receive_message(midway.rogue));
		EXPECT_EQ(midway.outcome(), 0);
		EXPECT_EQ(mode_shown(midway.client), "TCP");
	} while (diagnosis == SMC_DIAG_SYNC);
	EXPECT_EQ(diagnosis, SMC_DIAG_NO_DEVICE_R);
}

/* Messages that arrive meanwhile are not lost, unless the lock is held for too long. */
TEST(HeldClient, GoesOnWhenFree)
{
	Midway midway(SOCK_NONBLOCK);
	HeldLock held(midway.client);

	send_bytes(midway.rogue, encode_decline(SMC_DIAG_NO_MEMORY) + "data");
	held.let_go();
	EXPECT_EQ(midway.outcome(), 0);

	char data[4];

	await(midway.client, POLLIN);
	EXPECT_EQ(recv(midway.client, data, sizeof(data), 0), ssize_t(sizeof(data)));
	EXPECT_EQ(mode_shown(midway.client), "TCP");
}

} // namespace

class Asleep : public testing::TestWithParam<std::tuple<Role, Departure>>
{
protected:
	static constexpr Flow in = {.seed = 11, .bytes = 30000}, out = {.seed = 12, .bytes = 30000};

	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
		ASSERT_EQ(mode_shown(peer.here()), "SMC-D");
	}
	void TearDown() override
	{
		others.clear();
		peer.close_here();
		expect_no_connections(agent);
	}
	/* Other connections, with unread bytes in elements next to the one that faults. */
	void make_others()
	{
		for (Role role : both_roles)
			for (int i = 0; i < 4; i++)
				others.push_back(make_connection(agent, Flavor(), role));
		for (Connection &one : others) {
			one.there.send_flow(in);
			send_flow(one.here, out);
		}
	}
	void check_others()
	{
		for (Connection &one : others) {
			recv_flow(one.here, in);
			one.there.recv_flow(out);
			check_data(one, 100000, true);
		}
	}
	/*
	 * Starts @call, which touches the page and sleeps, and fills the page after all has
	 * changed. Return: the result of @call.
	 */
	ssize_t sleep_in(const std::function<ssize_t()> &call)
	{
		/* The thread ends before the page is removed, even if the test fails. */
		result = std::async(std::launch::async, [call] {
			ssize_t rc = call();

			return rc < 0 ? -errno : rc;
		});
		page.await_touch();
		peer.leave();
		make_others();
		EXPECT_EQ(result.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
		page.fill('!');
		return result.get();
	}

	Agent agent;
	std::vector<Connection> others;
	Peer peer{std::get<Role>(GetParam()), std::get<Departure>(GetParam())};
	/* The destructor waits for the thread, which the end of the page wakes. */
	std::future<ssize_t> result;
	LatePage page;
};

INSTANTIATE_TEST_SUITE_P(, Asleep,
			 testing::Combine(testing::ValuesIn(both_roles),
					  testing::Values(Departure::close, Departure::reset,
							  Departure::kill, Departure::netns)),
			 [](const auto &info) {
				 return to_string(std::get<Role>(info.param)) +
					name_of(std::get<Departure>(info.param));
			 });

/* send() copies into the peer's element. */
TEST_P(Asleep, InSend)
{
	ssize_t rc =
	    sleep_in([this] { return send(peer.here(), page.bytes(), page.size, MSG_NOSIGNAL); });

	EXPECT_TRUE(rc == page.size || rc == -ECONNRESET || rc == -EPIPE) << rc;
	check_others();
}

/* recv() copies out of the element of this end. */
TEST_P(Asleep, InRecv)
{
	Flow flow = {.seed = 1, .bytes = page.size};

	peer.send(flow);

	ssize_t rc = sleep_in([this] { return recv(peer.here(), page.bytes(), page.size, 0); });

	EXPECT_EQ(rc, ssize_t(page.size));
	EXPECT_EQ(pattern_mismatch(flow.seed, 0, page.bytes(), page.size), page.size);
	check_others();
}

/*
 * A thread sleeps in send(), with bytes from memory that is not present, and the server goes away:
 * the server's memory is given to other connections, though the thread still sleeps.
 */
class GivenBack : public testing::TestWithParam<Departure>
{
protected:
	static constexpr int MiB = 1024 * 1024;

	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
		/* Each element occupies a whole DMB. */
		must_set(listener, SOL_SOCKET, SO_RCVBUFFORCE, MiB);
	}
	Ends connect()
	{
		Fd client =
		    must_connect(Flavor(), Netns::address_there(local_address(listener).port()));

		return {std::move(client), must_accept(listener)};
	}
	/* The number of DMBs of the server. */
	int64_t dmbs() const
	{
		return netns.counters()["ism_dmbs"];
	}
	void leave(Fd &server)
	{
		if (GetParam() == Departure::reset)
			must_linger(server, 0);
		else
			/* The stream then ends although the client does not close. */
			must_set(server, IPPROTO_TCP, TCP_LINGER2, 1);
		server.close();
	}
	bool is_asleep()
	{
		return result.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
	}
	/* Other connections need only the memory that was given back. */
	void expect_given_back()
	{
		std::vector<Ends> others;

		wait_until("the element is given back", [&] {
			int64_t before = dmbs();

			others.push_back(connect());
			return dmbs() == before;
		});
		EXPECT_TRUE(is_asleep());
		for (Ends &one : others) {
			send_flow(one.here, {.seed = 5, .bytes = 100000});
			recv_flow(one.there, {.seed = 5, .bytes = 100000});
		}
	}

	template <typename Page>
	void expect_given_back_while_it_sleeps(Page &page)
	{
		ends = connect();
		ASSERT_EQ(mode_shown(ends.here), "SMC-D");
		ASSERT_EQ(dmbs(), 1);
		result = std::async(std::launch::async, [this, &page] {
			ssize_t rc = send(ends.here, page.bytes(), page.size, MSG_NOSIGNAL);

			return rc < 0 ? -errno : rc;
		});
		page.await_touch();
		leave(ends.there);
		expect_given_back();
		page.fill('!');
		/*
		 * As with TCP, the first send() after an orderly close succeeds, and its bytes are
		 * discarded.
		 */
		EXPECT_EQ(result.get(),
			  GetParam() == Departure::reset ? -ECONNRESET : ssize_t(page.size));
	}

	Netns netns;
	Fd listener = netns.make([] { return must_listen(Flavor()); });
	Ends ends;
	/* The destructor waits for the thread, which the end of the page wakes. */
	std::future<ssize_t> result;
};

INSTANTIATE_TEST_SUITE_P(, GivenBack, testing::Values(Departure::close, Departure::reset),
			 [](const auto &info) { return name_of(info.param); });

TEST_P(GivenBack, WhileTheWriterSleeps)
{
	LatePage page;

	expect_given_back_while_it_sleeps(page);
}

TEST_P(GivenBack, WhileAFileSystemSleeps)
{
	if (!FusePage::is_there())
		GTEST_SKIP() << "this kernel has no FUSE";

	FusePage page;

	expect_given_back_while_it_sleeps(page);
}

/* A client, and its server in the same namespace. */
static Ends within_host()
{
	Fd listener = must_listen(Flavor());
	Fd client =
	    must_connect(Flavor(), address_from("127.0.0.1", local_address(listener).port()));

	return {std::move(client), must_accept(listener)};
}

/*
 * As with TCP, concurrent send() calls don't mix their bytes, though part of one's memory may not
 * be present. But no other thread waits for that memory without need.
 */
TEST(PartlyLate, IsSentWhole)
{
	ASSERT_TRUE(peer_within()) << "run_guest.sh --within";

	Ends ends = within_host();
	Fd &client = ends.here, &server = ends.there;
	constexpr size_t there = 100, late = 50;
	std::string other(20, 'b'), got(other.size() + there + late, '?');
	LatePage page;

	ASSERT_EQ(mode_shown(client), "SMC-D");
	std::fill_n(page.bytes() - there, there, 'a');

	std::future<ssize_t> partly = std::async(std::launch::async, [&] {
		return send(client, page.bytes() - there, there + late, 0);
	});

	page.await_touch();
	/* This call has to return before the page is present. */
	std::future<ssize_t> whole = std::async(
	    std::launch::async, [&] { return send(client, other.data(), other.size(), 0); });

	EXPECT_EQ(whole.wait_for(std::chrono::seconds(scaled(30))), std::future_status::ready);
	page.fill('a');
	EXPECT_EQ(whole.get(), ssize_t(other.size()));
	EXPECT_EQ(partly.get(), ssize_t(there + late));
	EXPECT_EQ(recv(server, got.data(), got.size(), MSG_WAITALL), ssize_t(got.size()));
	EXPECT_EQ(got, other + std::string(there + late, 'a'));
}

/* If memory ends within a send(), the part before that is sent; if none is readable, nothing. */
TEST(PartlyThere, IsSentInPart)
{
	ASSERT_TRUE(peer_within()) << "run_guest.sh --within";

	Ends ends = within_host();
	Fd &client = ends.here, &server = ends.there;
	constexpr size_t there = 100;
	std::string got(there, '?');
	LatePage page;

	ASSERT_EQ(mprotect(page.bytes(), page.size, PROT_NONE), 0);
	std::fill_n(page.bytes() - there, there, 'a');
	EXPECT_EQ(send(client, page.bytes() - there, 2 * there, 0), ssize_t(there));
	EXPECT_EQ(send(client, page.bytes(), there, 0), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(recv(server, got.data(), got.size(), MSG_WAITALL), ssize_t(got.size()));
	EXPECT_EQ(got, std::string(there, 'a'));
}

/*
 * Listeners that their user keeps locked, each with a client: more than the number of workers of a
 * processor that may sleep at a time. The client of another listener is still served.
 */
TEST(HeldListeners, DoNotHoldUpOthers)
{
	constexpr int most = 520;
	const rlimit files = {.rlim_cur = 4 * most, .rlim_max = 4 * most};
	LatePage page;
	const sock_fprog program = {.len = 1,
				    .filter = reinterpret_cast<sock_filter *>(page.bytes())};
	std::vector<Fd> listeners, clients;
	std::vector<int> ports;
	std::vector<std::future<int>> holders;
	cpu_set_t before, one;

	set_limit(300);
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (int i = 0; i < most; i++) {
		int listener = listeners.emplace_back(must_listen(Flavor()));

		ports.push_back(local_address(listener).port());
		holders.push_back(std::async(std::launch::async, [listener, &program] {
			return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program,
					  sizeof(program));
		}));
	}
	wait_until("all listeners are held", [] {
		return std::stoi(must_run("cat /proc/$PPID/task/*/syscall | grep -c '^" +
					  std::to_string(SYS_setsockopt) + " '")) == most;
	});

	/* Works are queued on the processor where packets arrive. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	for (int port : ports) {
		Address to = address_of(0, AF_INET, port);

		/* TCP sockets with the option: so many handshakes would exceed the limit. */
		clients.push_back(offering_socket());
		EXPECT_EQ(connect(clients.back(), to.get(), to.len), 0);
	}

	/* Not an SMC socket, or this thread would do the handshake for its own listener. */
	Fd listener = must_listen(Flavor());
	Fd served =
	    propose(address_of(0, AF_INET, local_address(listener).port()), good_proposal());

	EXPECT_FALSE(receive_message(served).empty());
	EXPECT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
	page.fill('\0');
	for (std::future<int> &holder : holders)
		holder.wait();
}

namespace
{

int under_way()
{
	return std::stoi(must_run(smc("sock") + " | grep -c connecting || true"));
}

} // namespace

/*
 * A listener with many new connections does not keep its worker until it has taken all: the works
 * of other listeners have their turns in between.
 */
TEST(ManyNewConnections, AreTakenInTurns)
{
	constexpr int clients = 96, at_a_time = 16;

	if (!KernelTrace::possible())
		GTEST_SKIP() << "this kernel traces no events";

	LatePage page;
	const sock_fprog program = {.len = 1,
				    .filter = reinterpret_cast<sock_filter *>(page.bytes())};
	Fd listener = must_listen(Flavor(), clients);
	Address to = address_from("127.0.0.1", local_address(listener).port());
	std::vector<Fd> silent;

	/* While the listener is held, no work takes anything. */
	std::future<int> holder = std::async(std::launch::async, [&] {
		return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program,
				  sizeof(program));
	});

	page.await_touch();
	for (int i = 0; i < clients; i++)
		silent.push_back(offering_connection(to));

	int before = under_way();
	KernelTrace trace("workqueue/workqueue_execute_start");

	page.fill('\0');
	holder.wait();
	wait_until("all are taken", [&] { return under_way() == before + clients; });
	EXPECT_GE(trace.lines("function smc_listener_take").size(), size_t(clients / at_a_time));
}

/*
 * A connection that stayed in TCP's queue because more than the backlog were ready: its handshake
 * begins once accept() has taken another. No thread finds the queue without a ready connection, and
 * no connection comes.
 */
TEST(LeftConnection, IsTakenAfterAnAccept)
{
	constexpr int backlog = 1, ready = backlog + 1;
	LatePage page;
	const sock_fprog program = {.len = 1,
				    .filter = reinterpret_cast<sock_filter *>(page.bytes())};
	Fd listener = must_listen(Flavor(), backlog);
	Address to = address_from("127.0.0.1", local_address(listener).port());
	int before = under_way();
	std::vector<Fd> silent;

	for (int i = 0; i < ready; i++)
		silent.push_back(offering_connection(to));
	wait_until("their handshakes began", [&] { return under_way() == before + ready; });

	/* While the listener is held, the work takes nothing, and the two become ready. */
	std::future<int> holder = std::async(std::launch::async, [&] {
		return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program,
				  sizeof(program));
	});

	page.await_touch();

	Fd left = offering_connection(to);

	for (const Fd &fd : silent)
		send_bytes(fd, "not a CLC message");
	wait_until("their handshakes ended", [&] { return under_way() == before; });
	page.fill('\0');
	holder.wait();
	/* The work, which tries again every 50 ms, finds too many ready connections. */
	std::this_thread::sleep_for(std::chrono::milliseconds(200));
	EXPECT_EQ(under_way(), before);
	must_accept(listener);
	wait_until("a handshake began", [&] { return under_way() == before + 1; });
}
