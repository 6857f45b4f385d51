// SPDX-License-Identifier: GPL-2.0
/*
 * Captures every kind of handshake, data and close on the wire. The expectations for tshark are
 * written beside the capture. check_captures runs tshark when the guests are gone, because it would
 * take seconds to start in a guest. LLC of version 2 is left out, because tshark does not know it.
 */
#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "place.h"

using namespace guest;

namespace
{

/* A tcpdump of packets to and from the peer, from the constructor to stop(), with expectations. */
class Capture
{
public:
	Capture()
	{
		Pipe pipe;

		std::filesystem::create_directories(directory());

		child = fork();
		if (!child) {
			dup2(pipe.in, STDERR_FILENO);
			execlp("tcpdump", "tcpdump", "-U", "-i", device(), "-s", "0", "-Z", "root",
			       "-B", "16384", "-w", file(".pcap").c_str(), "tcp or udp port 4791",
			       nullptr);
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
	/* Stops after all earlier packets are in the file. */
	void stop()
	{
		/*
		 * The kernel delivers packets in order: when this connection is in the file, all
		 * earlier ones are.
		 */
		Fd mark = must_socket({Kind::tcp, AF_INET});
		Address any = any_address(AF_INET), closed = address_of(1, AF_INET, mark_port);

		ASSERT_EQ(bind(mark, any.get(), any.len), 0);
		connect(mark, closed.get(), closed.len);

		uint16_t ports[] = {htons(mark_port), htons(local_address(mark).port())};
		std::string answer(reinterpret_cast<char *>(ports), sizeof(ports));

		wait_until("the last packet in the capture", [&] {
			return read_file(file(".pcap")).find(answer) != std::string::npos;
		});
		kill(child, SIGINT);
		waitpid(child, nullptr, 0);
		child = -1;
	}
	/* The types of the CLC messages in order: "1 2 3" is PROPOSAL, ACCEPT, CONFIRM. */
	void expect_clc(const std::string &types)
	{
		std::ofstream(file(".expect"), std::ios::app) << "clc " << types << "\n";
	}
	/* Expects @many packets, for instance "1" or ">5", to match tshark's @filter. */
	void expect_packets(const std::string &many, const std::string &filter)
	{
		std::ofstream(file(".expect"), std::ios::app)
		    << "packets " << many << " " << filter << "\n";
	}
	/*
	 * CDC messages have type FE. Any malformed message is a bug of this module, except LLC of
	 * version 2.
	 */
	void expect_well_formed()
	{
		expect_packets("0", "(_ws.malformed && !(infiniband && !(smc.llc_msg == 0xfe))) || "
				    "(tcp && smc && _ws.expert.severity >= 0x800000)");
	}

private:
	static constexpr int mark_port = 9;

	static std::string directory()
	{
		return std::string(getenv("LAB_OUT")) + "/captures";
	}
	/* One with the name of the test. */
	static std::string file(const std::string &ending)
	{
		std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();

		std::replace(name.begin(), name.end(), '/', '-');
		return directory() + "/" + name + ending;
	}
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

} // namespace

class CaptureOf : public testing::TestWithParam<int>
{
protected:
	Flavor flavor = {Kind::smc, GetParam()};
	Agent agent;

	/* Ends all link groups, so that the next connection is a first contact. */
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
	capture.expect_clc("1 2 3 1 2 3 1 2 3");
	if (!peer_within()) {
		capture.expect_packets(">5", "smc.llc_msg == 0xfe");
		/*
		 * Each SEND is solicited, as the peer may have armed its completion queue for
		 * solicited events only.
		 */
		capture.expect_packets(">10", "infiniband.bth.opcode == 4");
		capture.expect_packets("0", "infiniband.bth.opcode == 4 && infiniband.bth.se == 0");
	}
	capture.expect_well_formed();
}

TEST_P(CaptureOf, Decline)
{
	NEEDS_ANOTHER_HOST("EIDs are the host's");
	agent.must_run("$LAB_BUILD/tools/smc/smc eid add OTHER-THAN-DEFAULT");

	Capture capture;

	talk(false);
	capture.stop();
	agent.must_run("$LAB_BUILD/tools/smc/smc eid flush");
	capture.expect_clc("1 4");
	capture.expect_well_formed();
	talk();
}

/* A namespace that has switched SMC off does not take part, whatever the other end offers. */
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
	capture.expect_clc("1 4");
	capture.expect_well_formed();
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
	capture.expect_clc("");
	/* The option is in the SYN, but not in the SYN-ACK. */
	capture.expect_packets("1", "tcp.flags.syn == 1 && tcp.flags.ack == 0 && "
				    "tcp.options.experimental.exid == 0xe2d4");
	capture.expect_packets("0", "tcp.flags.syn == 1 && tcp.flags.ack == 1 && "
				    "tcp.options.experimental.exid == 0xe2d4");
	capture.expect_well_formed();
}

INSTANTIATE_TEST_SUITE_P(, CaptureOf, testing::Values(AF_INET, AF_INET6), [](const auto &info) {
	return info.param == AF_INET ? std::string("Ipv4") : std::string("Ipv6");
});
