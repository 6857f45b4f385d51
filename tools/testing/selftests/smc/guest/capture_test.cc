// SPDX-License-Identifier: GPL-2.0
/*
 * The exchanges as tshark, the referee, sees them: every kind of handshake, data and close,
 * captured on the wire, decode without a malformed packet. LLC of version 2, which tshark
 * does not know, is left out.
 */
#include <algorithm>
#include <cctype>
#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "place.h"

using namespace guest;

namespace
{

/* tcpdump on the way to the peer, from the constructor to stop(). */
class Capture
{
public:
	Capture()
	{
		Pipe pipe;

		child = fork();
		if (!child) {
			dup2(pipe.in, STDERR_FILENO);
			execlp("tcpdump", "tcpdump", "-U", "-i", device(), "-s", "0", "-Z", "root",
			       "-B", "16384", "-w", file, "tcp or udp port 4791", nullptr);
			_exit(127);
		}
		pipe.in.close();
		words = std::move(pipe.out);
		await_word("listening on");
	}
	~Capture()
	{
		if (child > 0)
			kill(child, SIGKILL);
	}
	/* Once what was sent before is in the file. */
	void stop()
	{
		/* The kernel hands packets over in order: when this is there, all is. */
		Fd mark = must_socket({Kind::tcp, AF_INET});
		Address closed = address_of(1, AF_INET, mark_port);

		connect(mark, closed.get(), closed.len);
		wait_until("the last packet in the capture", [&] {
			return !must_run("tcpdump -n -r " + std::string(file) + " 'tcp src port " +
					 std::to_string(mark_port) + "' 2>/dev/null")
				    .empty();
		});
		kill(child, SIGINT);
		waitpid(child, nullptr, 0);
		child = -1;
	}
	/*
	 * What tshark prints of the packets that match. Any port may be one that it knows
	 * another protocol by.
	 */
	std::string show(const std::string &filter, const std::string &options = "") const
	{
		return must_run("tshark -n -o tcp.try_heuristic_first:TRUE -r " +
				std::string(file) + " -Y '" + filter + "' " + options +
				" 2>/dev/null");
	}
	int count(const std::string &filter) const
	{
		std::string lines = show(filter);

		return std::count(lines.begin(), lines.end(), '\n');
	}

private:
	static constexpr const char *file = "/tmp/capture.pcap";
	static constexpr int mark_port = 9;

	static const char *device()
	{
		return peer_place() == Place::host ? "lo" : "eth0";
	}
	void await_word(const std::string &word)
	{
		std::string text;
		char part[256];

		while (text.find(word) == std::string::npos) {
			await(words, POLLIN, 60);

			ssize_t n = read(words, part, sizeof(part));

			if (n <= 0)
				throw std::runtime_error("tcpdump: " + text);
			text.append(part, n);
		}
	}

	pid_t child = -1;
	Fd words;
};

/* The types of the CLC messages in order: "1 2 3" is PROPOSAL, ACCEPT, CONFIRM. */
std::string clc_types(const Capture &capture)
{
	std::string text = capture.show("smc && tcp", "-T fields -e smc.clc_msg");
	std::string types;

	for (char c : text)
		if (std::isdigit(c))
			types += types.empty() ? std::string(1, c) : std::string(" ") + c;
	return types;
}

/* CDC messages carry type FE; everything malformed, but LLC of version 2, is ours to mend. */
void expect_well_formed(const Capture &capture)
{
	EXPECT_EQ(capture.show("_ws.malformed && !(infiniband && !(smc.llc_msg == 0xfe))"), "");
	EXPECT_EQ(capture.show("tcp && smc && _ws.expert.severity >= 0x800000"), "");
}

} // namespace

class CaptureOf : public testing::TestWithParam<int>
{
protected:
	Flavor flavor = {Kind::smc, GetParam()};
	Agent agent;

	/* So that the next connection is a first contact: end the link groups there are. */
	void forget_groups()
	{
		const std::string anew = "lab-smc unload && lab-smc load";

		if (!peer_within())
			agent.must_run(anew);
		must_run(anew);
	}
	void talk(bool by_smc = true, Role role = Role::client)
	{
		Connection connection = make_connection(agent, flavor, role);

		check_data(connection, 5000, by_smc);
		connection.here.close();
		connection.there.expect_end();
	}
};

TEST_P(CaptureOf, FirstContactAndSubsequent)
{
	forget_groups();

	Capture capture;

	talk();
	talk();
	talk(true, Role::server);
	capture.stop();
	EXPECT_EQ(clc_types(capture), "1 2 3 1 2 3 1 2 3") << capture.show("tcp");
	EXPECT_TRUE(peer_within() || capture.count("smc.llc_msg == 0xfe") > 5)
	    << "no CDC messages decoded";
	expect_well_formed(capture);
}

TEST_P(CaptureOf, Decline)
{
	NEEDS_ANOTHER_HOST("EIDs are the host's");
	agent.must_run("$LAB_BUILD/tools/smc/smc eid add OTHER-THAN-DEFAULT");

	Capture capture;

	talk(false);
	capture.stop();
	agent.must_run("$LAB_BUILD/tools/smc/smc eid flush");
	EXPECT_EQ(clc_types(capture), "1 4") << capture.show("tcp");
	expect_well_formed(capture);
	talk();
}

/* A namespace that is off takes no part, whatever the other one offers. */
TEST_P(CaptureOf, DeclineByANamespace)
{
	if (peer_place() != Place::netns)
		GTEST_SKIP() << "needs a namespace for each end";

	Capture capture;

	{
		RemoteSysctlScope off(agent, "net.smc.smcd", "0");

		talk(false);
	}
	capture.stop();
	EXPECT_EQ(clc_types(capture), "1 4") << capture.show("tcp");
	expect_well_formed(capture);
	talk();
}

TEST_P(CaptureOf, TcpFallback)
{
	Capture capture;
	Connection connection = make_connection(agent, flavor, {Kind::tcp, flavor.family});

	check_data(connection, 5000, false);
	connection.here.close();
	connection.there.expect_end();
	capture.stop();
	EXPECT_EQ(clc_types(capture), "");
	/* Offered in the SYN, not in the answer. */
	EXPECT_EQ(capture.count("tcp.flags.syn == 1 && tcp.flags.ack == 0 && "
				"tcp.options.experimental.exid == 0xe2d4"),
		  1);
	EXPECT_EQ(capture.count("tcp.flags.syn == 1 && tcp.flags.ack == 1 && "
				"tcp.options.experimental.exid == 0xe2d4"),
		  0);
	expect_well_formed(capture);
}

INSTANTIATE_TEST_SUITE_P(, CaptureOf, testing::Values(AF_INET, AF_INET6), [](const auto &info) {
	return info.param == AF_INET ? std::string("Ipv4") : std::string("Ipv6");
});
