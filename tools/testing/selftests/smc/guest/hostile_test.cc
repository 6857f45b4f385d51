// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that offers SMC and then violates the handshake protocol. The application at this end (in
 * guest 1) gets a working TCP connection or an error, in bounded time, whatever the peer sends and
 * at whatever step. The case is counted, and the next connection works.
 */
#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <list>
#include <memory>
#include <optional>
#include <poll.h>
#include <random>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <thread>
#include <vector>

#include "limit.h"
#include "place.h"
#include "rogue.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

[[maybe_unused]] testing::Environment *const takes_no_note =
    testing::AddGlobalTestEnvironment(new TakesNoNote);

/* The result: the victim's answer, and whether its application has TCP or an error. */
struct Outcome {
	std::string said;
	bool is_reset = false;

	bool operator==(const Outcome &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Outcome &outcome)
{
	return out << (outcome.is_reset ? "reset" : "TCP") << ", said: " << outcome.said;
}

std::string name_of_decline(uint32_t diagnosis)
{
	char text[32];

	snprintf(text, sizeof(text), "DECLINE %08x", diagnosis);
	return text;
}

Outcome declined(uint32_t diagnosis)
{
	return {name_of_decline(diagnosis)};
}

const Outcome tcp = {""}, reset = {"", true};

/* A wrong message in place of a certain one, made from the correct one. */
struct Case {
	std::string name;
	std::function<void(std::string &message)> spoil;
	Outcome outcome;
	bool then_close = false;
};

void put16(std::string &message, size_t at, uint16_t value)
{
	message[at] = char(value >> 8);
	message[at + 1] = char(value);
}

std::function<void(std::string &)> instead(const std::string &bytes)
{
	return [bytes](std::string &m) {
		m = bytes;
	};
}

/*
 * A message damaged in all ways that any CLC message can be. Bytes that are no message are the
 * application's if it is @first; otherwise the result is an error, because nobody can tell where
 * the application's bytes begin. @one_short: result of a message whose length is one byte too
 * small. @noise: result of random bit flips.
 */
std::vector<Case> spoiled(bool first, const Outcome &one_short, const std::vector<Outcome> &noise)
{
	const Outcome none = first ? tcp : reset, wrong = declined(SMC_DIAG_SYNC);
	std::vector<Case> cases = {
	    {"NothingButAnEnd", instead(""), none, true},
	    {"Garbage", instead(std::string(200, 'g')), none},
	    {"Zeros", instead(std::string(200, '\0')), none},
	    {"Http", instead("GET / HTTP/1.0\r\n\r\n"), none},
	    {"OneByte", [](auto &m) { m.resize(1); }, none, true},
	    {"HalfMessageAndAnEnd", [](auto &m) { m.resize(m.size() / 2); }, none, true},
	    {"AllButOneByte", [](auto &m) { m.pop_back(); }, none, true},
	    {"WrongEyeCatcher", [](auto &m) { m[0] ^= 1; }, none},
	    {"WrongTrailer", [](auto &m) { m.back() ^= 1; }, wrong},
	    {"Type0", [](auto &m) { m[4] = 0; }, none},
	    {"Type5", [](auto &m) { m[4] = 5; }, none},
	    {"Type255", [](auto &m) { m[4] = char(255); }, none},
	    {"Version0", [](auto &m) { m[7] = m[7] & 0x0f; }, none},
	    {"Length0", [](auto &m) { put16(m, 5, 0); }, none},
	    {"Length8", [](auto &m) { put16(m, 5, 8); }, none},
	    {"OneByteTooShort", [](auto &m) { put16(m, 5, m.size() - 1); }, one_short},
	    {"Length4097", [](auto &m) { put16(m, 5, 4097); }, none},
	    {"Length65535", [](auto &m) { put16(m, 5, 65535); }, none},
	};

	for (size_t seed = 1; seed <= noise.size(); seed++) {
		auto flip = [seed](std::string &m) {
			std::mt19937 random(seed);

			for (size_t i = 0; i < seed * 3; i++)
				m[random() % m.size()] ^= char(1 << random() % 8);
		};

		cases.push_back({"Noise" + std::to_string(seed), flip, noise[seed - 1]});
	}
	return cases;
}

/* A DECLINE with every known diagnosis, with an unknown one, and of version 1. */
std::vector<std::string> declines()
{
	std::vector<std::string> all;

	for (uint32_t diagnosis :
	     {0x01010000, 0x02010000, 0x02020000, 0x03000000, 0x03010000, 0x03020000, 0x03030000,
	      0x03030001, 0x03030002, 0x03030003, 0x03030004, 0x03030005, 0x03030006, 0x03030007,
	      0x03030008, 0x03030009, 0x0303000a, 0x0303000b, 0x03040000, 0x03050000, 0x03060000,
	      0x03070000, 0x03080000, 0x030a0000, 0x030b0000, 0x030c0000, 0x030e0000, 0x030f0000,
	      0x04000000, 0x05000000, 0x09990000, 0x09990001, 0x09990002, 0x09990003, 0x12345678})
		all.push_back(encode_decline(diagnosis));
	all.push_back(encode_decline(SMC_DIAG_PEER_NO_SMC, SMC_VERSION_1));
	return all;
}

std::vector<Case> proposals()
{
	const Outcome no_eid = declined(SMC_DIAG_NO_UEID), wrong = declined(SMC_DIAG_SYNC);
	std::vector<Case> cases = spoiled(true, wrong, {tcp, no_eid, tcp, no_eid, tcp, wrong});
	auto with = [&](const std::string &name,
			const std::function<void(smc_clc_proposal &)> &change, uint32_t answer) {
		auto spoil = [change](std::string &m) {
			smc_clc_proposal proposal = parse_proposal(m);

			change(proposal);
			m = encode(proposal);
		};

		cases.push_back({name, spoil, declined(answer)});
	};

	with(
	    "OtherEid", [](auto &p) { p.eids[0][0] = 'X'; }, SMC_DIAG_NO_UEID);
	with(
	    "NoEid", [](auto &p) { p.n_eids = 0; }, SMC_DIAG_NO_UEID);
	with(
	    "OnlySmcD", [](auto &p) { p.offer_v2 = SMC_OFFER_D; }, SMC_DIAG_NO_DEVICE_D);
	with(
	    "NoOffer", [](auto &p) { p.offer_v2 = SMC_OFFER_NONE; }, SMC_DIAG_NO_DEVICE_D);
	with(
	    "OtherSubnetV1",
	    [](auto &p) {
		    p.version = SMC_VERSION_1;
		    p.offer_v1 = SMC_OFFER_R;
		    p.offer_v2 = SMC_OFFER_NONE;
		    p.prefix4[0] = 192;
		    p.prefix4_len = 24;
	    },
	    SMC_DIAG_PREFIX_MISMATCH);
	for (smc_clc_type type : {SMC_CLC_ACCEPT, SMC_CLC_CONFIRM})
		cases.push_back({type == SMC_CLC_ACCEPT ? "Accept" : "Confirm",
				 instead(encode(good_agreement(type))), declined(SMC_DIAG_SYNC)});
	return cases;
}

/* An SMC-R agreement for a link that can't work. */
struct WrongLink {
	const char *name;
	std::function<void(smc_clc_agreement &)> change;
	/* The mistake is visible before the link is tried. */
	bool is_seen;
};

const std::vector<WrongLink> wrong_links = {
    {"Index0", [](auto &a) { a.r.rmbe_index = 0; }, true},
    {"AddressWraps",
     [](auto &a) {
	     a.r.rmb_addr = UINT64_MAX - 1000;
	     a.r.rmbe_index = 255;
     },
     true},
    {"Mtu0", [](auto &a) { a.r.qp_mtu = 0; }, true},
    {"Mtu6", [](auto &a) { a.r.qp_mtu = 6; }, true},
    {"Mtu15", [](auto &a) { a.r.qp_mtu = 15; }, true},
    {"Size15", [](auto &a) { a.r.rmbe_size_code = 15; }, false},
    {"Qpn0", [](auto &a) { a.r.qpn = 0; }, false},
    {"Qpn1", [](auto &a) { a.r.qpn = 1; }, false},
    {"NoRkey", [](auto &a) { a.r.rkey = 0; }, false},
    {"GidZero", [](auto &a) { memset(a.r.gid, 0, sizeof(a.r.gid)); }, true},
    {"GidMulticast", [](auto &a) { a.r.gid[0] = 0xff; }, true},
    {"GidMulticast4", [](auto &a) { a.r.gid[12] = 224; }, true},
    {"GidBroadcast", [](auto &a) { memset(a.r.gid + 12, 0xff, 4); }, true},
    {"MacZero", [](auto &a) { memset(a.r.mac, 0, sizeof(a.r.mac)); }, true},
    {"MacMulticast", [](auto &a) { a.r.mac[0] |= 1; }, true},
    {"GidElsewhere", [](auto &a) { a.r.gid[15] = 200; }, false},
    {"NoLinkBehindIt", [](auto &) {}, false},
};

Case of_agreement(smc_clc_type type, const std::string &name,
		  const std::function<void(smc_clc_agreement &)> &change, const Outcome &outcome)
{
	auto spoil = [type, change](std::string &m) {
		smc_clc_agreement agreement = parse_agreement(m, type);

		change(agreement);
		m = encode(agreement);
	};

	return {name, spoil, outcome};
}

std::vector<Case> confirms()
{
	const Outcome wrong = declined(SMC_DIAG_SYNC),
		      no_link = declined(SMC_DIAG_TIMEOUT_CONFIRM_LINK);
	/* SMC-D messages have one length only. */
	std::vector<Case> cases =
	    peer_within()
		? spoiled(false, reset,
			  {reset, reset, reset, declined(SMC_DIAG_NO_DEVICE_D), reset, reset})
		: spoiled(false, wrong, {no_link, reset, no_link, reset, no_link, reset});
	auto with = [&](const std::string &name,
			const std::function<void(smc_clc_agreement &)> &change,
			const Outcome &outcome) {
		cases.push_back(of_agreement(SMC_CLC_CONFIRM, name, change, outcome));
	};

	with(
	    "OtherFirstContact", [](auto &a) { a.first_contact = !a.first_contact; }, wrong);
	/* Then only the link counts. */
	with(
	    "OtherEid", [](auto &a) { a.eid[0] = 'X'; }, peer_within() ? wrong : no_link);
	with(
	    "Version1", [](auto &a) { a.version = SMC_VERSION_1; }, wrong);
	with(
	    "TheOther", [](auto &a) { a.type = SMC_CLC_ACCEPT; }, wrong);
	cases.push_back({"Proposal", instead(encode(good_proposal())), wrong});
	if (peer_within()) {
		/* WrongConfirm in smcd_test.cc has more mistakes in the element. */
		with(
		    "NoElementBehindIt", [](auto &) {}, wrong);
		with(
		    "OfSmcR", [](auto &a) { a = good_agreement(SMC_CLC_CONFIRM); }, wrong);
		return cases;
	}
	with(
	    "OtherPeerId", [](auto &a) { a.r.peer_id[0] ^= 1; }, wrong);
	for (const WrongLink &link : wrong_links)
		with(link.name, link.change, link.is_seen ? wrong : no_link);
	return cases;
}

std::vector<Case> accepts()
{
	/* Within a host no link was offered, so a mistake in the link does not matter. */
	const Outcome not_offered = declined(SMC_DIAG_VERSION), sync = declined(SMC_DIAG_SYNC),
		      other_eid = peer_within() ? not_offered : declined(SMC_DIAG_NO_UEID),
		      no_group = peer_within() ? not_offered : declined(SMC_DIAG_NO_SERVER_LINK),
		      wrong = peer_within() ? not_offered : sync,
		      no_link = peer_within()
				    ? wrong
				    : Outcome{"CONFIRM " +
					      name_of_decline(SMC_DIAG_TIMEOUT_CONFIRM_LINK)};
	std::vector<Case> cases =
	    spoiled(false, sync, {other_eid, other_eid, other_eid, sync, reset, reset});
	auto with = [&](const std::string &name,
			const std::function<void(smc_clc_agreement &)> &change,
			const Outcome &outcome) {
		cases.push_back(of_agreement(SMC_CLC_ACCEPT, name, change, outcome));
	};

	with(
	    "OtherFirstContact", [](auto &a) { a.first_contact = !a.first_contact; }, no_group);
	with(
	    "OtherEid", [](auto &a) { a.eid[0] = 'X'; }, other_eid);
	with(
	    "Version1", [](auto &a) { a.version = SMC_VERSION_1; }, not_offered);
	with(
	    "TheOther", [](auto &a) { a.type = SMC_CLC_CONFIRM; }, sync);
	cases.push_back({"Proposal", instead(encode(good_proposal())), tcp});
	for (const WrongLink &link : wrong_links)
		with(link.name, link.change, link.is_seen ? wrong : no_link);
	return cases;
}

/* The sum of all counters for connections that did not become SMC. */
int64_t failures_counted(Agent &agent)
{
	Counters now = agent.counters();

	return now.sum("violation_") + now["fallbacks"] + now["handshake_errors"];
}

/* A correct handshake with a server at the agent: SMC-R, or SMC-D within a host. */
smc_clc_proposal right_proposal(Agent &agent)
{
	return peer_within() ? good_proposal(host_device(agent)) : good_proposal();
}

smc_clc_agreement right_confirm(const smc_clc_agreement &accept)
{
	if (!accept.is_d)
		return good_agreement(SMC_CLC_CONFIRM);

	smc_clc_agreement confirm =
	    good_agreement(SMC_CLC_CONFIRM, {accept.d.gid, accept.d.gid_ext, accept.d.chid});

	confirm.first_contact = accept.first_contact;
	return confirm;
}

} // namespace

class Hostile : public testing::TestWithParam<Case>
{
protected:
	Hostile() : before(failures_counted(agent))
	{
		set_limit(60);
	}

	/* The rogue sends the wrong message; @right is the correct one. */
	static void say_wrong(int rogue, std::string right)
	{
		GetParam().spoil(right);
		send_bytes(rogue, right);
		if (GetParam().then_close)
			shutdown(rogue, SHUT_WR);
	}
	/*
	 * Expects the end of the handshake: the victim's application has TCP until it ends, or an
	 * error.
	 */
	void expect_outcome(Fd &rogue, RemoteSocket &victim)
	{
		shutdown(rogue, SHUT_WR);

		std::string rc = agent.call({"drain", std::to_string(victim.number())}, 60);

		EXPECT_TRUE(rc == "0" || rc == std::to_string(-ECONNRESET)) << rc;
		victim.close();
		expect_outcome(rogue, rc != "0");
	}
	/* All that the victim sent has arrived, or is on its way. */
	void expect_outcome(Fd &rogue, bool is_reset)
	{
		EXPECT_EQ((Outcome{all_said(rogue), is_reset}), GetParam().outcome);
		rogue.close();
		EXPECT_GT(failures_counted(agent), before) << "not counted";

		Connection connection = make_connection(agent, Flavor());

		check_data(connection, 100000, true);
	}
	/* The rogue connects; @preface does all correctly up to a message, which it returns. */
	void attack_server(const std::function<std::string(int rogue)> &preface)
	{
		RemoteSocket listener = agent.listen(Flavor());
		Fd rogue = offering_socket();
		Address to = address_of(1, AF_INET, listener.port());

		ASSERT_EQ(connect(rogue, to.get(), to.len), 0);
		say_wrong(rogue, preface(rogue));

		RemoteSocket victim = listener.accept();

		expect_outcome(rogue, victim);
	}

	Agent agent;
	int64_t before;

private:
	static std::string all_said(int rogue)
	{
		std::string said, message;

		while (!(message = receive_message(rogue)).empty()) {
			auto diagnosis = diagnosis_of(message);

			said += said.empty() ? "" : " ";
			said += diagnosis			? name_of_decline(*diagnosis)
				: message[4] == SMC_CLC_CONFIRM ? "CONFIRM"
								: "something else";
		}
		return said;
	}
};

/* The victim is the server, and the rogue's first message is wrong. */
class BadProposal : public Hostile
{
};

TEST_P(BadProposal, IsSurvived)
{
	attack_server([](int) { return encode(good_proposal()); });
}

/* The victim is the server, and accepted a correct proposal. */
class BadConfirm : public Hostile
{
protected:
	BadConfirm() : proposal(right_proposal(agent))
	{
		before = failures_counted(agent);
	}

	smc_clc_proposal proposal;
};

TEST_P(BadConfirm, IsSurvived)
{
	attack_server([this](int rogue) {
		send_bytes(rogue, encode(proposal));

		smc_clc_agreement accept = receive_agreement(rogue, SMC_CLC_ACCEPT);

		EXPECT_EQ(accept.is_d, peer_within());
		EXPECT_TRUE(accept.is_d || accept.first_contact);
		return encode(right_confirm(accept));
	});
}

/* The victim is the client. */
class BadAccept : public Hostile
{
};

TEST_P(BadAccept, IsSurvived)
{
	auto [victim, connecting, rogue] = lure(agent);

	receive_proposal(rogue);
	say_wrong(rogue, encode(good_agreement(SMC_CLC_ACCEPT)));

	std::string rc = connecting.join();

	EXPECT_TRUE(rc == "0" || rc == std::to_string(-ECONNRESET)) << rc;
	if (rc == "0") {
		expect_outcome(rogue, victim);
	} else {
		victim.close();
		expect_outcome(rogue, true);
	}
}

/* A server with an older release gets answers of that release. */
TEST(OlderServer, GetsItsOwnRelease)
{
	NEEDS_ANOTHER_HOST("the rogue speaks SMC-R");
	Agent agent;
	auto [victim, connecting, rogue] = lure(agent);
	smc_clc_agreement accept = good_agreement(SMC_CLC_ACCEPT);

	receive_proposal(rogue);
	accept.fc.release = 0;
	send_bytes(rogue, encode(accept));
	EXPECT_EQ(receive_agreement(rogue, SMC_CLC_CONFIRM).fc.release, 0);
	rogue.close();
	connecting.join();
}

/* A packet has addresses of one family. */
TEST(ClientWithIpv6Gid, GetsOneForAnAnswer)
{
	NEEDS_ANOTHER_HOST("the rogue speaks SMC-R");
	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	Fd rogue = offering_socket();
	smc_clc_proposal proposal = good_proposal();
	in6_addr gid;

	ASSERT_EQ(inet_pton(AF_INET6, "fe80::815", &proposal.gid_v2), 1);
	ASSERT_EQ(connect(rogue, to.get(), to.len), 0);
	send_bytes(rogue, encode(proposal));
	memcpy(&gid, receive_agreement(rogue, SMC_CLC_ACCEPT).r.gid, sizeof(gid));
	EXPECT_FALSE(IN6_IS_ADDR_V4MAPPED(&gid));
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
	listener.accept();
}

/* After a failed handshake the client's socket can connect again. */
class Broken : public testing::Test
{
protected:
	Broken() : lured(lure(agent))
	{
		receive_proposal(lured.rogue);
	}
	void expect_reset_and_usable()
	{
		EXPECT_EQ(lured.connecting.join(), std::to_string(-ECONNRESET));

		Fd listener = must_listen(Flavor());
		Address to = address_of(0, AF_INET, local_address(listener).port());

		ASSERT_EQ(lured.client.connect(to), 0);

		Connection connection = {must_accept(listener), std::move(lured.client)};

		check_data(connection, 100000, true);
	}

	Agent agent;
	Lured lured;
};

TEST_F(Broken, ByGarbage)
{
	send_bytes(lured.rogue, std::string(100, 'g'));
	expect_reset_and_usable();
}

TEST_F(Broken, ByReset)
{
	must_linger(lured.rogue, 0);
	lured.rogue.close();
	expect_reset_and_usable();
}

/* A connection in the middle of its handshake can't be half closed. */
TEST_F(Broken, ByShutdown)
{
	EXPECT_EQ(lured.client.shutdown(SHUT_WR), 0);
	expect_reset_and_usable();
}

/*
 * A blocking connect() that returns before its handshake is over. The handshake goes on, unless it
 * was cancelled, and its result is that of the socket.
 */
class Undecided : public testing::Test
{
protected:
	Undecided()
	{
		if (listen(listener, 1))
			throw std::runtime_error("listen");
		to = local_address(listener);
	}
	/* Runs connect() in a thread; returns once the rogue has the proposal. */
	void begin()
	{
		connecting = std::thread([this] {
			errnos = connect(fd, to.get(), to.len) ? errno : 0;
			over = true;
		});
		rogue = must_accept(listener);
		receive_proposal(rogue);
	}
	void expect_end(int error)
	{
		connecting.join();
		EXPECT_EQ(errnos, error) << strerror(errnos);
	}
	/* The rogue declines: the socket is connected by TCP. */
	void decide()
	{
		char bytes[3];

		EXPECT_EQ(connect(fd, to.get(), to.len), -1);
		EXPECT_EQ(errno, EALREADY);
		send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
		EXPECT_EQ(await(fd, POLLOUT), POLLOUT);
		EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);
		send_bytes(rogue, "tcp");
		await(fd, POLLIN);
		EXPECT_EQ(recv(fd, bytes, sizeof(bytes), MSG_WAITALL), 3);
	}

	Fd listener = offering_socket();
	Fd fd = must_socket(Flavor());
	Fd rogue;
	Address to;
	std::thread connecting;
	std::atomic<bool> over = false;
	int errnos = -1;
};

/* A program that waits for signals hears of bytes that came during the handshake. */
TEST(SignalDriven, HearsOfEarlyBytes)
{
	const int signal = SIGRTMIN;
	f_owner_ex owner = {.type = F_OWNER_TID, .pid = gettid()};
	Fd listener = offering_socket(), client = must_socket(Flavor(), SOCK_NONBLOCK);
	siginfo_t info = {};
	sigset_t set;

	ASSERT_EQ(listen(listener, 1), 0);
	sigemptyset(&set);
	sigaddset(&set, signal);
	ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
	ASSERT_EQ(fcntl(client, F_SETOWN_EX, &owner), 0);
	ASSERT_EQ(fcntl(client, F_SETSIG, signal), 0);
	ASSERT_EQ(fcntl(client, F_SETFL, O_ASYNC | O_NONBLOCK), 0);

	Address to = address_of(0, AF_INET, local_address(listener).port());

	EXPECT_EQ(connect(client, to.get(), to.len), -1);
	EXPECT_EQ(errno, EINPROGRESS);

	Fd rogue = must_accept(listener);

	receive_proposal(rogue);
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY) + "x");
	while (!(info.si_band & POLLIN))
		ASSERT_EQ(sigwaitinfo(&set, &info), signal);
}

TEST_F(Undecided, Interrupted)
{
	struct sigaction action = {};

	action.sa_handler = [](int) {
	};
	sigaction(SIGUSR1, &action, nullptr);
	begin();
	wait_until("the end of connect()", [this] {
		pthread_kill(connecting.native_handle(), SIGUSR1);
		return over.load();
	});
	expect_end(EINTR);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	decide();
}

TEST_F(Undecided, TimedOut)
{
	timeval timeout = {.tv_sec = 0, .tv_usec = 300000};

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	begin();
	/* Half a message is no answer. */
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY).substr(0, 10));
	expect_end(EINPROGRESS);
	EXPECT_EQ(connect(fd, to.get(), to.len), -1);
	EXPECT_EQ(errno, EALREADY);
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY).substr(10));
	EXPECT_EQ(await(fd, POLLOUT), POLLOUT);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);
}

/* TCP's connection ends after the handshake, for which nobody lingers. */
TEST_F(Undecided, Closed)
{
	timeval timeout = {.tv_sec = 0, .tv_usec = 300000};

	must_linger(fd, 60);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	begin();
	expect_end(EINPROGRESS);
	EXPECT_EQ(fd.close(), 0);
	EXPECT_EQ(receive_message(rogue), "");
}

TEST_F(Undecided, Disconnected)
{
	sockaddr unspec = {};

	unspec.sa_family = AF_UNSPEC;
	begin();
	EXPECT_EQ(connect(fd, &unspec, sizeof(unspec)), 0) << strerror(errno);
	connecting.join();
	EXPECT_NE(errnos, 0);
	rogue.close();

	/* The socket can connect again. */
	begin();
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
	expect_end(0);
}

/* A call that reads an urgent byte never waits, as with TCP; so not for the handshake, either. */
TEST_F(Undecided, HasNoUrgentByte)
{
	char byte;

	begin();
	EXPECT_EQ(recv(fd, &byte, 1, MSG_OOB), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_FALSE(over);
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
	expect_end(0);
}

/* An answer with an urgent byte in it, for an application that reads urgent bytes in line. */
TEST_F(Undecided, UrgentByteInTheAnswer)
{
	std::string decline = encode_decline(SMC_DIAG_NO_MEMORY);
	Counters before = Counters::now();

	must_set(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	begin();
	send_bytes(rogue, decline.substr(0, decline.size() - 1));
	ASSERT_EQ(send(rogue, &decline.back(), 1, MSG_OOB), 1);
	expect_end(ECONNRESET);
	EXPECT_EQ((Counters::now() - before)["violation_clc"], 1);
}

/* A client that has declined and is TCP, while the server may still send CLC messages. */
class Declined : public Undecided
{
protected:
	void SetUp() override
	{
		begin();
		send_bytes(rogue, encode(good_agreement(SMC_CLC_CONFIRM)));
		EXPECT_EQ(diagnosis_of(receive_message(rogue)), SMC_DIAG_SYNC);
		expect_end(0);
	}
	/* Sends bytes in a segment of their own. */
	void send_segment(const std::string &bytes)
	{
		send_bytes(rogue, bytes);
		wait_until("the segment is there", [this] {
			int left = 0;

			return !ioctl(rogue, SIOCOUTQ, &left) && !left;
		});
	}
	void expect_data(const std::string &expected)
	{
		std::string bytes(expected.size() + 1, '\0');

		await(fd, POLLIN);
		bytes.resize(std::max<ssize_t>(recv(fd, bytes.data(), bytes.size(), 0), 0));
		EXPECT_EQ(bytes, expected);
	}
};

/* The header of a late message comes in parts, and is none of the application's business. */
TEST_F(Declined, ThenDeclinedInParts)
{
	std::string decline = encode_decline(SMC_DIAG_NO_MEMORY);

	send_segment(decline.substr(0, 1));
	send_segment(decline.substr(1, 4));
	send_segment(decline.substr(5));
	send_segment("x");
	expect_data("x");
}

/* A byte that could be the first of a message, but is all that the server's application sends. */
TEST_F(Declined, ThenHearsOfAByteLikeThoseOfAMessage)
{
	Fd epoll(epoll_create1(EPOLL_CLOEXEC));
	epoll_event event = {};

	event.events = EPOLLIN;
	ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	ASSERT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	send_bytes(rogue, "\xe2");
	EXPECT_EQ(epoll_wait(epoll, &event, 1, 30000), 1);
	expect_data("\xe2");
	send_bytes(rogue, "more");
	expect_data("more");
}

/*
 * A client that delays its own handshake does not keep others from accept(), be they clients whose
 * SYN did not offer SMC, or whose SYN-ACK did not. The wait is limited, and a slow guest may reach
 * the limit before the other client has connected; then the test repeats.
 */
class SilentClients : public testing::TestWithParam<bool>
{
};

INSTANTIATE_TEST_SUITE_P(, SilentClients, testing::Bool(), [](const auto &info) {
	return info.param ? "ByOneThatOffersSmc" : "ByTcp";
});

TEST_P(SilentClients, AreOvertaken)
{
	Agent agent;
	RemoteSysctlScope no_entries(agent, "net.smc.blackhole_timeout", "0");
	RemoteSocket listener = agent.listen(Flavor(), 1);
	Address to = address_of(1, AF_INET, listener.port());
	auto given_up = [&] {
		return fallbacks(agent, Role::server, SMC_DIAG_SYNC);
	};

	wait_until("one that overtakes", [&] {
		const int64_t before = given_up();
		Fd silent[3];

		for (Fd &fd : silent) {
			fd = offering_socket();
			if (connect(fd, to.get(), to.len))
				throw std::runtime_error("a silent client does not connect");
		}

		Fd here = GetParam() ? offering_socket() : must_socket({Kind::tcp, AF_INET});

		if (connect(here, to.get(), to.len) || send(here, "first", 5, 0) != 5)
			throw std::runtime_error("another client does not connect");

		RemoteSocket first = listener.accept();
		const bool is_early = given_up() == before;

		for (Fd &fd : silent)
			fd.close();
		if (is_early)
			return first.recv(5, MSG_WAITALL) == "first";
		for (int i = 0; i < 3; i++)
			listener.accept();
		return false;
	});
}

/* A socket of another user of this guest. */
static Fd socket_of(uid_t user)
{
	setfsuid(user);

	Fd fd = must_socket(Flavor(), SOCK_NONBLOCK);

	setfsuid(0);
	return fd;
}

/*
 * A user connects to a silent server until the namespace would have its maximum of handshakes. He
 * gets half of them, and the next user still gets SMC.
 */
TEST(SilentServer, LeavesSmcToOtherUsers)
{
	/* As SMC_HANDSHAKES_LIMITED and SMC_QUOTA_RESERVE. */
	constexpr int most = 64, reserve = 16;
	constexpr uid_t other = 1000;
	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	SysctlScope limited("net.smc.limit_smc_hs", "1");
	Fd silent = offering_socket();
	std::vector<Fd> waiting;

	ASSERT_EQ(listen(silent, 2 * most), 0);

	Address to = address_of(0, AF_INET, local_address(silent).port());
	int64_t before = fallbacks(Role::client, SMC_DIAG_NO_MEMORY);

	for (int i = 0; i < most; i++) {
		waiting.push_back(socket_of(other));
		EXPECT_EQ(connect(waiting.back(), to.get(), to.len), -1);
		EXPECT_EQ(errno, EINPROGRESS);
	}

	Fd here = must_connect(Flavor(), address_of(1, AF_INET, listener.port()));
	RemoteSocket there = listener.accept();

	EXPECT_NE(mode_shown(here), "TCP");
	EXPECT_EQ(fallbacks(Role::client, SMC_DIAG_NO_MEMORY) - before, (most + reserve) / 2);
}

/*
 * Peers that fall silent, until the handshake's timeout. All of them do so at the same time, and
 * then the result for each victim is checked.
 */
class Silence : public testing::Test
{
protected:
	/* A function that begins before the silence, and returns the checks for afterwards. */
	using Rest = std::function<void()>;

	/* The victim is a server at an agent. */
	struct Attack {
		explicit Attack(Agent &agent) : listener(agent.listen(Flavor()))
		{
			Address to = address_of(1, AF_INET, listener.port());

			if (connect(rogue, to.get(), to.len))
				throw_errno("connect");
		}

		RemoteSocket listener;
		Fd rogue = offering_socket();
	};

	Silence() : proposal(right_proposal(agent))
	{
		set_limit(180);
	}
	/*
	 * The victim has accepted a correct proposal; @confirm is the message that should follow.
	 */
	std::shared_ptr<Attack> after_accept(std::string &confirm)
	{
		auto attack = std::make_shared<Attack>(agent);

		/* First contacts of one peer would wait for one another. */
		proposal.peer_id[0]++;
		send_bytes(attack->rogue, encode(proposal));
		confirm = encode(right_confirm(receive_agreement(attack->rogue, SMC_CLC_ACCEPT)));
		return attack;
	}
	/* The victim is a client at an agent, and has sent its proposal. */
	std::shared_ptr<Lured> after_proposal()
	{
		auto lured = std::make_shared<Lured>(lure(agent));

		receive_proposal(lured->rogue);
		return lured;
	}

	/*
	 * A part of the first message, and the rest of it once the application has accepted. A part
	 * that has not even the head belongs to the application.
	 */
	Rest half_a_proposal(const std::string &half, const std::string &rest);
	Rest half_a_confirm(const std::function<void(std::string &)> &halve);
	Rest half_an_accept(const std::string &half);
	/*
	 * Messages that arrive after the handshake's timeout are dropped; bytes after them are
	 * data.
	 */
	Rest late_proposal_and_decline();
	Rest late_proposal_behind_data();
	Rest late_confirm();
	Rest late_accept();
	Rest late_urgent_byte();
	Rest below_the_low_water_mark();
	Rest data_only();

	void expect_only_data(int rogue, RemoteSocket &victim)
	{
		send_bytes(rogue, "from the rogue");
		EXPECT_EQ(victim.recv(14, MSG_WAITALL), "from the rogue");
		check_tcp(rogue, victim);
	}
	/* A late message that is still answered. */
	static void expect_decline(int rogue)
	{
		EXPECT_EQ(diagnosis_of(receive_message(rogue)), SMC_DIAG_SYNC);
	}
	/* Sends @message in two parts. */
	static void send_slowly(int rogue, const std::string &message)
	{
		send_bytes(rogue, message.substr(0, 12));
		send_bytes(rogue, message.substr(12));
	}
	static void expect_nothing_said(int rogue)
	{
		char byte;

		EXPECT_EQ(recv(rogue, &byte, 1, MSG_DONTWAIT), -1);
		EXPECT_EQ(errno, EAGAIN);
	}

	Agent agent;
	smc_clc_proposal proposal;
};

Silence::Rest Silence::half_a_proposal(const std::string &half, const std::string &rest)
{
	auto attack = std::make_shared<Attack>(agent);

	send_bytes(attack->rogue, half);
	return [=, this] {
		RemoteSocket victim = attack->listener.accept();

		if (rest.empty()) {
			EXPECT_EQ(victim.recv(half.size(), MSG_WAITALL), half);
			expect_nothing_said(attack->rogue);
			check_tcp(attack->rogue, victim);
			return;
		}
		send_bytes(attack->rogue, rest);
		expect_decline(attack->rogue);
		send_bytes(attack->rogue, encode_decline(SMC_DIAG_SYNC));
		expect_only_data(attack->rogue, victim);
	};
}

Silence::Rest Silence::half_a_confirm(const std::function<void(std::string &)> &halve)
{
	std::string confirm;
	auto attack = after_accept(confirm);

	halve(confirm);
	send_bytes(attack->rogue, confirm);
	return [=] {
		RemoteSocket victim = attack->listener.accept();
		long rc;

		victim.recv(1, 0, &rc);
		EXPECT_EQ(rc, -ECONNRESET);
		EXPECT_EQ(receive_message(attack->rogue), "");
	};
}

Silence::Rest Silence::half_an_accept(const std::string &half)
{
	auto lured = after_proposal();

	send_bytes(lured->rogue, half);
	return [=] {
		EXPECT_EQ(lured->connecting.join(), std::to_string(-ECONNRESET));
		EXPECT_EQ(receive_message(lured->rogue), "");
	};
}

Silence::Rest Silence::late_proposal_and_decline()
{
	auto attack = std::make_shared<Attack>(agent);

	return [=, this] {
		RemoteSocket victim = attack->listener.accept();

		send_slowly(attack->rogue, encode(good_proposal()));
		expect_decline(attack->rogue);
		send_bytes(attack->rogue, encode_decline(SMC_DIAG_SYNC));
		expect_only_data(attack->rogue, victim);
	};
}

/* An application that has begun to send gets no DECLINE in between its bytes. */
Silence::Rest Silence::late_proposal_behind_data()
{
	auto attack = std::make_shared<Attack>(agent);

	return [=, this] {
		RemoteSocket victim = attack->listener.accept();
		char bytes[6];

		ASSERT_EQ(victim.send("banner"), 6);
		send_slowly(attack->rogue, encode(good_proposal()));
		ASSERT_EQ(recv(attack->rogue, bytes, sizeof(bytes), MSG_WAITALL), 6);
		EXPECT_EQ(std::string(bytes, 6), "banner");
		expect_only_data(attack->rogue, victim);
	};
}

Silence::Rest Silence::late_confirm()
{
	std::string confirm;
	auto attack = after_accept(confirm);

	return [=, this] {
		RemoteSocket victim = attack->listener.accept();

		send_slowly(attack->rogue, confirm);
		expect_decline(attack->rogue);
		expect_only_data(attack->rogue, victim);
	};
}

Silence::Rest Silence::late_accept()
{
	auto lured = after_proposal();

	return [=, this] {
		ASSERT_EQ(lured->connecting.join(), "0");
		send_slowly(lured->rogue, encode(good_agreement(SMC_CLC_ACCEPT)));
		expect_decline(lured->rogue);
		expect_only_data(lured->rogue, lured->client);
	};
}

/* No handshake message begins with an urgent byte, at which TCP stops. */
Silence::Rest Silence::late_urgent_byte()
{
	auto attack = std::make_shared<Attack>(agent);

	return [=, this] {
		RemoteSocket victim = attack->listener.accept();

		ASSERT_EQ(send(attack->rogue, "!", 1, MSG_OOB), 1);
		EXPECT_NE(victim.await(POLLPRI) & POLLPRI, 0);
		expect_only_data(attack->rogue, victim);
	};
}

/* With fewer bytes than the low-water mark TCP wakes nobody. */
Silence::Rest Silence::below_the_low_water_mark()
{
	auto attack = std::make_shared<Attack>(agent);

	return [=, this] {
		RemoteSocket victim = attack->listener.accept();
		Fd &rogue = attack->rogue;

		ASSERT_EQ(victim.set(SOL_SOCKET, SO_RCVLOWAT, 10000), 0);
		send_bytes(rogue, encode(good_proposal()));
		send_bytes(rogue, "from the rogue");
		wait_until("all is there", [&] {
			int left = 0;

			return !ioctl(rogue, SIOCOUTQ, &left) && !left;
		});
		EXPECT_EQ(victim.recv(100, MSG_DONTWAIT), "from the rogue");
		ASSERT_EQ(victim.set(SOL_SOCKET, SO_RCVLOWAT, 1), 0);
		expect_decline(rogue);
		expect_only_data(rogue, victim);
	};
}

/* Bytes of the application, even if they look like a message. */
Silence::Rest Silence::data_only()
{
	auto attack = std::make_shared<Attack>(agent);

	return [=] {
		const std::string message = encode(good_proposal());
		RemoteSocket victim = attack->listener.accept();

		expect_nothing_said(attack->rogue);
		send_bytes(attack->rogue, "x");
		EXPECT_EQ(victim.recv(1), "x");
		/* A peer that has sent data can't go back to the handshake. */
		send_bytes(attack->rogue, message);
		EXPECT_EQ(victim.recv(message.size(), MSG_WAITALL), message);
		check_tcp(attack->rogue, victim);
	};
}

TEST_F(Silence, IsSurvived)
{
	struct Half {
		const char *what;
		std::function<void(std::string &)> halve;
		size_t missing; /* bytes of a PROPOSAL; 0 without a head */
	};
	const size_t size = encode(good_proposal()).size();
	const std::vector<Half> halves = {
	    {"a part of the head", [](auto &m) { m.resize(5); }, 0},
	    {"half of it", [](auto &m) { m.resize(m.size() / 2); }, size - size / 2},
	    {"all but a byte", [](auto &m) { put16(m, 5, m.size() + 1); }, 1},
	};
	std::vector<std::pair<std::string, Rest>> silent = {
	    {"late PROPOSAL and DECLINE", late_proposal_and_decline()},
	    {"late PROPOSAL behind data", late_proposal_behind_data()},
	    {"late CONFIRM", late_confirm()},
	    {"late ACCEPT", late_accept()},
	    {"late urgent byte", late_urgent_byte()},
	    {"below the low-water mark", below_the_low_water_mark()},
	    {"data only", data_only()},
	};
	int64_t before = failures_counted(agent);

	for (auto &[what, halve, missing] : halves) {
		std::string first = encode(good_proposal()),
			    accept = encode(good_agreement(SMC_CLC_ACCEPT));

		halve(first);
		halve(accept);
		silent.emplace_back(what + std::string(" of a PROPOSAL"),
				    half_a_proposal(first, std::string(missing, 'r')));
		silent.emplace_back(what + std::string(" of a CONFIRM"), half_a_confirm(halve));
		silent.emplace_back(what + std::string(" of an ACCEPT"), half_an_accept(accept));
	}
	for (auto &[what, rest] : silent) {
		SCOPED_TRACE(what);
		rest();
	}
	EXPECT_GE(failures_counted(agent) - before, int64_t(silent.size()));

	Connection connection = make_connection(agent, Flavor());

	check_data(connection, 100000, true);
}

/* A DECLINE is accepted at every step, with any diagnosis: the connection continues as TCP. */
class Decline : public testing::Test
{
protected:
	void TearDown() override
	{
		if (IsSkipped())
			return;

		Connection connection = make_connection(agent, Flavor());

		check_data(connection, 100000, true);
		EXPECT_GE(failures_counted(agent) - before, int64_t(declines().size()));
	}

	Agent agent;
	int64_t before = failures_counted(agent);
};

TEST_F(Decline, InsteadOfProposal)
{
	RemoteSocket listener = agent.listen(Flavor());

	for (const std::string &decline : declines()) {
		Fd rogue = offering_socket();
		Address to = address_of(1, AF_INET, listener.port());

		ASSERT_EQ(connect(rogue, to.get(), to.len), 0);
		send_bytes(rogue, decline);

		RemoteSocket victim = listener.accept();

		check_tcp(rogue, victim);
	}
}

TEST_F(Decline, InsteadOfConfirm)
{
	RemoteSocket listener = agent.listen(Flavor());
	smc_clc_proposal proposal = right_proposal(agent);

	/* Without the failures counted before. */
	before = failures_counted(agent);
	for (const std::string &decline : declines()) {
		Fd rogue = propose(address_of(1, AF_INET, listener.port()), proposal);

		receive_agreement(rogue, SMC_CLC_ACCEPT);
		send_bytes(rogue, decline);

		RemoteSocket victim = listener.accept();

		check_tcp(rogue, victim);
	}
}

/* A rogue that pretends to be this guest, whose kernel has a connection with the agent. */
class Impostor : public testing::Test
{
protected:
	void SetUp() override
	{
		NEEDS_ANOTHER_HOST("the rogue speaks SMC-R");
		agent.emplace();
		connection.emplace(make_connection(*agent, Flavor()));
		check_data(*connection, 1000, true);
		listener.emplace(agent->listen(Flavor()));
		groups = agent->counters()["rdma_groups_created"];
	}
	/* As the proposals of a kernel that offers version 2 only. */
	static smc_clc_proposal proposal_of_this_guest()
	{
		smc_clc_proposal proposal = good_proposal();

		memset(proposal.peer_id, 0, sizeof(proposal.peer_id));
		memset(proposal.mac, 0, sizeof(proposal.mac));
		return proposal;
	}
	Fd pose(const std::string &from = "")
	{
		return propose(address_of(1, AF_INET, listener->port()), proposal_of_this_guest(),
			       from);
	}
	/*
	 * Expects the group of this guest's kernel to have all its connections, and to accept
	 * another one.
	 */
	void expect_group(int64_t others = 0)
	{
		check_data(*connection, 100000, true);

		Connection next = make_connection(*agent, Flavor());

		check_data(next, 1000, true);
		EXPECT_EQ(agent->counters()["rdma_groups_created"], groups + others);
	}

	std::optional<Agent> agent;
	std::optional<Connection> connection;
	std::optional<RemoteSocket> listener;
	int64_t groups = 0;
};

/*
 * The impostor is offered the group. Its request to drop the group ends no connection of this
 * guest.
 */
TEST_F(Impostor, EndsNoOthersConnection)
{
	Fd rogue = pose();

	EXPECT_FALSE(receive_agreement(rogue, SMC_CLC_ACCEPT).first_contact)
	    << "no group of this guest";
	send_bytes(rogue, encode_decline(SMC_DIAG_SYNC, SMC_VERSION_2, true));

	RemoteSocket victim = listener->accept();

	check_tcp(rogue, victim);
	check_data(*connection, 100000, true);
}

/* The CONFIRM shows that it has another link, so it can't reach the group's elements. */
TEST_F(Impostor, WithoutTheLinkHarmsNoGroup)
{
	Fd rogue = pose();

	ASSERT_FALSE(receive_agreement(rogue, SMC_CLC_ACCEPT).first_contact);

	smc_clc_agreement confirm = good_agreement(SMC_CLC_CONFIRM);

	confirm.first_contact = false;
	send_bytes(rogue, encode(confirm));
	EXPECT_EQ(receive_message(rogue), "");
	expect_group();
}

/* One that tries link after link gets no further: the group is not offered any more, and stands. */
TEST_F(Impostor, GuessesFewLinks)
{
	smc_clc_agreement confirm = good_agreement(SMC_CLC_CONFIRM);

	confirm.first_contact = false;
	for (int guesses = 0;; guesses++) {
		Fd rogue = pose();

		if (receive_agreement(rogue, SMC_CLC_ACCEPT).first_contact) {
			send_bytes(rogue, encode_decline(SMC_DIAG_SYNC, SMC_VERSION_2, true));
			break;
		}
		/* As SMC_GROUP_GUESSES; tests before may have made some. */
		ASSERT_LT(guesses, 16);
		confirm.r.qpn++;
		send_bytes(rogue, encode(confirm));
		EXPECT_EQ(receive_message(rogue), "");
	}
	check_data(*connection, 100000, true);
}

/*
 * Each one that stays silent after the ACCEPT leaves an element that can't be used again, and the
 * next connection makes another group. After some groups the next connection is TCP instead, while
 * all earlier connections still work.
 */
TEST_F(Impostor, StaysSilentInManyGroups)
{
	RemoteSysctlScope max(*agent, "net.smc.max_orphans", "128");
	std::list<Connection> kept;
	bool is_smc = true;

	for (int silent = 0; is_smc; silent++) {
		ASSERT_LT(silent, 32) << "a quarter of what may be quarantined";
		EXPECT_FALSE(receive_agreement(pose(), SMC_CLC_ACCEPT).first_contact);
		wait_until("the group is retired", [&] {
			Counters before = agent->counters();

			kept.push_back(make_connection(*agent, Flavor()));

			Counters passed = agent->counters() - before;

			is_smc = !passed["fallbacks"];
			return !is_smc || passed["rdma_groups_created"];
		});
	}
	check_data(kept.back(), 1000, false);
	kept.pop_back();
	EXPECT_FALSE(kept.empty());
	for (Connection &one : kept)
		check_data(one, 1000, true);
	check_data(*connection, 1000, true);
}

/* At another address it is a stranger, who is not offered the group in the first place. */
TEST_F(Impostor, ElsewhereIsAStranger)
{
	OtherAddress stranger;
	Fd rogue = pose(stranger.text);

	EXPECT_TRUE(receive_agreement(rogue, SMC_CLC_ACCEPT).first_contact)
	    << "offered a group of this guest";
	send_bytes(rogue, encode_decline(SMC_DIAG_SYNC, SMC_VERSION_2, true));

	RemoteSocket victim = listener->accept();

	check_tcp(rogue, victim);
	expect_group(1);
}

/*
 * Only clients with the same address wait for a first contact, whatever peer ids others claim. They
 * do not wait for a silent one until they are TCP.
 */
TEST(FirstContacts, WaitForNoStranger)
{
	NEEDS_ANOTHER_HOST("the rogue speaks SMC-R");
	Agent agent;
	OtherAddress stranger;
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	smc_clc_proposal proposal = good_proposal();
	Fd first = propose(to, proposal, stranger.text);

	EXPECT_TRUE(receive_agreement(first, SMC_CLC_ACCEPT).first_contact);

	Fd same = propose(to, proposal, stranger.text);
	Fd other = propose(to, proposal);

	EXPECT_TRUE(receive_agreement(other, SMC_CLC_ACCEPT).first_contact);
	EXPECT_TRUE(receive_agreement(same, SMC_CLC_ACCEPT).first_contact);
}

/*
 * A peer that claims to be many hosts is limited in the server's link groups; others get the rest.
 */
TEST(FirstContacts, AreBounded)
{
	NEEDS_ANOTHER_HOST("the rogue speaks SMC-R");
	constexpr int claimed = 90;
	Agent agent;
	OtherAddress stranger;
	RemoteSocket listener = agent.listen(Flavor(), claimed);
	Address to = address_of(1, AF_INET, listener.port());
	smc_clc_proposal proposal = good_proposal();
	std::vector<Fd> rogues;
	int accepted = 0, refused = 0;
	int64_t before = fallbacks(agent, Role::server, SMC_DIAG_TOO_MANY_GROUPS);

	for (int i = 0; i < claimed; i++) {
		proposal.gid_v2[15] = 100 + i;
		rogues.push_back(propose(to, proposal, stranger.text));
	}
	for (Fd &rogue : rogues) {
		std::string message = receive_message(rogue);

		/* A stranger is not told that it is the limit. */
		if (diagnosis_of(message) == SMC_DIAG_NO_MEMORY)
			refused++;
		else
			accepted += parse_agreement(message, SMC_CLC_ACCEPT).first_contact;
	}
	EXPECT_GE(accepted, 64);
	EXPECT_EQ(accepted + refused, claimed);
	EXPECT_GT(refused, 0);
	wait_until("each refusal is counted", [&] {
		return fallbacks(agent, Role::server, SMC_DIAG_TOO_MANY_GROUPS) - before == refused;
	});

	Connection connection = make_connection(agent, Flavor());

	check_data(connection, 100000, true);
}

TEST_F(Decline, InsteadOfAccept)
{
	for (const std::string &decline : declines()) {
		auto [victim, connecting, rogue] = lure(agent);

		receive_proposal(rogue);
		send_bytes(rogue, decline);
		ASSERT_EQ(connecting.join(), "0");
		check_tcp(rogue, victim);
	}
}

static std::string name_of_case(const testing::TestParamInfo<Case> &info)
{
	return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(, BadProposal, testing::ValuesIn(proposals()), name_of_case);
INSTANTIATE_TEST_SUITE_P(, BadConfirm, testing::ValuesIn(confirms()), name_of_case);
INSTANTIATE_TEST_SUITE_P(, BadAccept, testing::ValuesIn(accepts()), name_of_case);
