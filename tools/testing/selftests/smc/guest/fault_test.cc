// SPDX-License-Identifier: GPL-2.0
/*
 * A copy between an application and the memory of its connection sleeps in a page fault, and
 * meanwhile the peer goes: with SMC-D the element is the peer's, and others may want it.
 */
#include <fcntl.h>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "agent.h"
#include "netns.h"
#include "pattern.h"
#include "place.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

/* Memory that is not there: who touches it sleeps until it is filled. */
class LatePage
{
public:
	static constexpr size_t size = 4096;

	LatePage()
	    : faults(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)),
	      page(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
	{
		uffdio_api api = {.api = UFFD_API};
		uffdio_register late = {.range = {uintptr_t(page), size},
					.mode = UFFDIO_REGISTER_MODE_MISSING};

		if (faults < 0 || page == MAP_FAILED || ioctl(faults, UFFDIO_API, &api) ||
		    ioctl(faults, UFFDIO_REGISTER, &late))
			throw_errno("userfaultfd");
	}
	LatePage(const LatePage &) = delete;
	~LatePage()
	{
		/* Wakes who still sleeps. */
		faults.close();
		munmap(page, size);
	}
	char *bytes() const
	{
		return static_cast<char *>(page);
	}
	void await_touch() const
	{
		uffd_msg message;

		await(faults, POLLIN);
		if (read(faults, &message, sizeof(message)) != sizeof(message))
			throw_errno("read of a userfaultfd");
		EXPECT_EQ(message.event, UFFD_EVENT_PAGEFAULT);
	}
	void fill(char byte) const
	{
		std::string content(size, byte);
		uffdio_copy copy = {
		    .dst = uintptr_t(page), .src = uintptr_t(content.data()), .len = size};

		if (ioctl(faults, UFFDIO_COPY, &copy))
			throw_errno("UFFDIO_COPY");
	}

private:
	Fd faults;
	void *page;
};

/* How the peer goes. */
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

/* The peer's end: in an agent that can be killed, or in a namespace that can go. */
class Peer
{
public:
	/* The end here, that of this process, is in @role. */
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

} // namespace

class Asleep : public testing::TestWithParam<std::tuple<Role, Departure>>
{
protected:
	static constexpr Flow in = {.seed = 11, .bytes = 30000}, out = {.seed = 12, .bytes = 30000};

	void SetUp() override
	{
		ASSERT_TRUE(peer_within()) << "run_guest.sh --within";
		ASSERT_EQ(socket_shown(peer.here()).at("mode"), "SMC-D");
	}
	void TearDown() override
	{
		others.clear();
		peer.close_here();
		expect_no_connections(agent);
	}
	/* Bytes that nobody has read yet are in as many elements as the one might be among. */
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
	/* @call touches the page, sleeps, and goes on when all has changed. Return: its result. */
	ssize_t sleep_in(const std::function<ssize_t()> &call)
	{
		/* Before the page goes, whatever happens here. */
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
	/* Waits for its thread, which the end of the page wakes. */
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

/* Into the peer's element. */
TEST_P(Asleep, InSend)
{
	ssize_t rc =
	    sleep_in([this] { return send(peer.here(), page.bytes(), page.size, MSG_NOSIGNAL); });

	EXPECT_TRUE(rc == page.size || rc == -ECONNRESET || rc == -EPIPE) << rc;
	check_others();
}

/* Out of its own. */
TEST_P(Asleep, InRecv)
{
	Flow flow = {.seed = 1, .bytes = page.size};

	peer.send(flow);

	ssize_t rc = sleep_in([this] { return recv(peer.here(), page.bytes(), page.size, 0); });

	EXPECT_EQ(rc, ssize_t(page.size));
	EXPECT_EQ(pattern_mismatch(flow.seed, 0, page.bytes(), page.size), page.size);
	check_others();
}
