// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that offers SMC and then does not keep to the rendezvous. Whatever it says at whatever
 * step, the application at our end (in guest 1) gets a working TCP connection or an error, in
 * bounded time, the case is counted, and the next connection is as good as ever.
 */
#include <arpa/inet.h>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <poll.h>
#include <random>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <thread>

#include "limit.h"
#include "place.h"
#include "rogue.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

[[maybe_unused]] testing::Environment *const takes_no_note =
    testing::AddGlobalTestEnvironment(new TakesNoNote);

/* What the rogue says where a certain message is due, made of the right one. */
struct Case {
	std::string name;
	std::function<void(std::string &message)> spoil;
	bool then_close = false;
	std::optional<uint32_t> answer = {}; /* the diagnosis of the DECLINE due for it */
};

void put16(std::string &message, size_t at, uint16_t value)
{
	message[at] = char(value >> 8);
	message[at + 1] = char(value);
}

/* Another message in its place. */
Case instead(const std::string &name, const std::string &bytes, bool then_close = false)
{
	auto replace = [bytes](std::string &m) {
		m = bytes;
	};

	return {name, replace, then_close};
}

/* A message spoiled in all the ways that any CLC message can be. */
std::vector<Case> spoiled()
{
	std::vector<Case> cases = {
	    instead("Nothing", ""),
	    instead("NothingButAnEnd", "", true),
	    instead("Garbage", std::string(200, 'g')),
	    instead("Zeros", std::string(200, '\0')),
	    instead("Http", "GET / HTTP/1.0\r\n\r\n"),
	};
	auto with = [&](const std::string &name, const std::function<void(std::string &)> &change,
			bool then_close = false) {
		cases.push_back({name, change, then_close});
	};

	with(
	    "OneByte", [](auto &m) { m.resize(1); }, true);
	with("HalfHeader", [](auto &m) { m.resize(5); });
	with("HalfMessage", [](auto &m) { m.resize(m.size() / 2); });
	with(
	    "HalfMessageAndAnEnd", [](auto &m) { m.resize(m.size() / 2); }, true);
	with(
	    "AllButOneByte", [](auto &m) { m.pop_back(); }, true);
	with("WrongEyeCatcher", [](auto &m) { m[0] ^= 1; });
	with("WrongTrailer", [](auto &m) { m.back() ^= 1; });
	with("Type0", [](auto &m) { m[4] = 0; });
	with("Type5", [](auto &m) { m[4] = 5; });
	with("Type255", [](auto &m) { m[4] = char(255); });
	with("Version0", [](auto &m) { m[7] = m[7] & 0x0f; });
	with("Length0", [](auto &m) { put16(m, 5, 0); });
	with("Length8", [](auto &m) { put16(m, 5, 8); });
	with("OneByteTooShort", [](auto &m) { put16(m, 5, m.size() - 1); });
	with("OneByteTooLong", [](auto &m) { put16(m, 5, m.size() + 1); });
	with("Length4097", [](auto &m) { put16(m, 5, 4097); });
	with("Length65535", [](auto &m) { put16(m, 5, 65535); });

	/* Bits flipped at random places. */
	for (int seed = 1; seed <= 6; seed++)
		with("Noise" + std::to_string(seed), [seed](auto &m) {
			std::mt19937 random(seed);

			for (int i = 0; i < seed * 3; i++)
				m[random() % m.size()] ^= char(1 << random() % 8);
		});
	return cases;
}

/* A DECLINE with every diagnosis there is, one of no meaning, and one of version 1. */
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
	std::vector<Case> cases = spoiled();
	auto with = [&](const std::string &name,
			const std::function<void(smc_clc_proposal &)> &change,
			std::optional<uint32_t> answer) {
		auto spoil = [change](std::string &m) {
			smc_clc_proposal proposal = parse_proposal(m);

			change(proposal);
			m = encode(proposal);
		};

		cases.push_back({name, spoil, false, answer});
	};

	with(
	    "OtherEid", [](auto &p) { p.eids[0][0] = 'X'; }, SMC_DIAG_NO_UEID);
	with(
	    "NoEid", [](auto &p) { p.n_eids = 0; }, SMC_DIAG_NO_UEID);
	with("OnlySmcD", [](auto &p) { p.offer_v2 = SMC_OFFER_D; }, {});
	with("NoOffer", [](auto &p) { p.offer_v2 = SMC_OFFER_NONE; }, {});
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
	cases.push_back(instead("Accept", encode(good_agreement(SMC_CLC_ACCEPT))));
	cases.push_back(instead("Confirm", encode(good_agreement(SMC_CLC_CONFIRM))));
	return cases;
}

std::vector<Case> agreements(smc_clc_type type)
{
	std::vector<Case> cases = spoiled();
	auto with = [&](const std::string &name,
			const std::function<void(smc_clc_agreement &)> &change,
			std::optional<uint32_t> answer = {}) {
		auto spoil = [type, change](std::string &m) {
			smc_clc_agreement agreement = parse_agreement(m, type);

			change(agreement);
			m = encode(agreement);
		};

		cases.push_back({name, spoil, false, answer});
	};

	with("OtherFirstContact", [](auto &a) { a.first_contact = !a.first_contact; });
	with("OtherEid", [](auto &a) { a.eid[0] = 'X'; });
	with("Version1", [](auto &a) { a.version = SMC_VERSION_1; });
	with("TheOther", [type](auto &a) {
		a.type = type == SMC_CLC_ACCEPT ? SMC_CLC_CONFIRM : SMC_CLC_ACCEPT;
	});
	cases.push_back(instead("Proposal", encode(good_proposal())));
	if (type == SMC_CLC_CONFIRM && peer_within()) {
		/* For more of what is wrong with an element see WrongConfirm of smcd_test.cc. */
		with(
		    "NoElementBehindIt", [](auto &) {}, SMC_DIAG_SYNC);
		with(
		    "OfSmcR", [](auto &a) { a = good_agreement(SMC_CLC_CONFIRM); }, SMC_DIAG_SYNC);
		return cases;
	}
	with(
	    "Index0", [](auto &a) { a.r.rmbe_index = 0; }, SMC_DIAG_SYNC);
	with(
	    "AddressWraps",
	    [](auto &a) {
		    a.r.rmb_addr = UINT64_MAX - 1000;
		    a.r.rmbe_index = 255;
	    },
	    SMC_DIAG_SYNC);
	with(
	    "Mtu0", [](auto &a) { a.r.qp_mtu = 0; }, SMC_DIAG_SYNC);
	with(
	    "Mtu6", [](auto &a) { a.r.qp_mtu = 6; }, SMC_DIAG_SYNC);
	with(
	    "Mtu15", [](auto &a) { a.r.qp_mtu = 15; }, SMC_DIAG_SYNC);
	with("Size15", [](auto &a) { a.r.rmbe_size_code = 15; });
	with("Qpn0", [](auto &a) { a.r.qpn = 0; });
	with("Qpn1", [](auto &a) { a.r.qpn = 1; });
	with("NoRkey", [](auto &a) { a.r.rkey = 0; });
	with("GidZero", [](auto &a) { memset(a.r.gid, 0, sizeof(a.r.gid)); });
	with("GidElsewhere", [](auto &a) { a.r.gid[15] = 200; });
	with(
	    "NoLinkBehindIt", [](auto &) {}, SMC_DIAG_TIMEOUT_CONFIRM_LINK);
	return cases;
}

/* Everything that tells of a connection that did not become SMC. */
int64_t failures_counted(Agent &agent)
{
	Counters now = agent.counters();

	return now.sum("violation_") + now["fallbacks"] + now["handshake_errors"];
}

/* What is right in a rendezvous with a server of the agent's: SMC-R, or within a host SMC-D. */
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

	/* What the victim says of the rogue's message. */
	void check_answer(int rogue)
	{
		std::string message;

		/* A DECLINE is the only thing it may say now. */
		for (int messages = 0; messages < 2; messages++) {
			message = receive_message_or_nothing(rogue);
			if (message.empty())
				break;
			ASSERT_TRUE(diagnosis_of(message)) << "not a DECLINE";
			EXPECT_EQ(*diagnosis_of(message),
				  expected.value_or(*diagnosis_of(message)));
			answered = true;
		}
		EXPECT_TRUE(answered || !expected) << "no DECLINE";
	}

	/* After the rogue's last word nothing of the victim's hangs. */
	void check_end(Fd &rogue, RemoteSocket &victim)
	{
		rogue.close();

		std::string rc = agent.call({"drain", std::to_string(victim.number())}, 60);

		SCOPED_TRACE("the victim's last receive: " + rc);
		EXPECT_TRUE(rc == "0" || rc == std::to_string(-ECONNRESET) ||
			    rc == std::to_string(-EPIPE) || rc == std::to_string(-ENOTCONN))
		    << rc;
	}

	void check_aftermath()
	{
		EXPECT_GT(failures_counted(agent), before) << "not counted";

		Connection connection = make_connection(agent, Flavor());

		check_data(connection, 100000, true);
	}

	Agent agent;
	int64_t before;
	bool answered = false;

private:
	/* A CLC message, or nothing if the connection ended or became the application's. */
	std::string receive_message_or_nothing(int rogue)
	{
		bool due = GetParam().answer && !answered;

		/* An answer that is due may be slower than the word of the agent. */
		wait_until(
		    "an answer, or a connection for the application",
		    [&] { return has_input(rogue) || (!due && is_settled()); }, 30);
		if (!has_input(rogue))
			return "";
		return receive_message(rogue);
	}
	static bool has_input(int fd)
	{
		pollfd waiting = {fd, POLLIN | POLLRDHUP, 0};

		return poll(&waiting, 1, 0) > 0;
	}

protected:
	static std::string wrong(std::string right)
	{
		GetParam().spoil(right);
		return right;
	}
	/* The rogue connects; @preface does what is right up to a message, which it returns. */
	void attack_server(const std::function<std::string(int rogue)> &preface)
	{
		RemoteSocket listener = agent.listen(Flavor());
		Job accept = listener.start_accept();
		Fd rogue = offering_socket();
		Address to = address_of(1, AF_INET, listener.port());

		is_settled = [&] {
			return accept.is_done();
		};
		ASSERT_EQ(connect(rogue, to.get(), to.len), 0);
		send_bytes(rogue, wrong(preface(rogue)));
		if (GetParam().then_close)
			shutdown(rogue, SHUT_WR);

		check_answer(rogue);

		RemoteSocket victim(agent, std::stoi(accept.join()));

		check_end(rogue, victim);
		check_aftermath();
	}

	/* Whether the victim's rendezvous is over. */
	std::function<bool()> is_settled;
	/* What it is to answer, if that is known. */
	std::optional<uint32_t> expected = GetParam().answer;
};

/* The victim is the server, and the rogue's first message is wrong. */
class BadProposal : public Hostile
{
};

TEST_P(BadProposal, IsSurvived)
{
	attack_server([](int) { return encode(good_proposal()); });
}

/* The victim is the server, and accepted a good proposal. */
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
	/* Within a host no link was offered: what is wrong with it does not matter. */
	if (peer_within() && expected)
		expected = SMC_DIAG_VERSION;

	auto [victim, connecting, rogue] = lure(agent);

	is_settled = [&] {
		return connecting.is_done();
	};
	receive_proposal(rogue);
	send_bytes(rogue, wrong(encode(good_agreement(SMC_CLC_ACCEPT))));
	if (GetParam().then_close)
		shutdown(rogue, SHUT_WR);
	if (GetParam().name == "NoLinkBehindIt" || GetParam().name == "Qpn0" ||
	    GetParam().name == "Qpn1" || GetParam().name == "NoRkey" ||
	    GetParam().name == "Size15" || GetParam().name.starts_with("Gid") ||
	    GetParam().name.starts_with("Noise")) {
		/* Nothing wrong with these until the link does not work. */
		std::string message = receive_message(rogue);

		if (!message.empty() && message[4] == SMC_CLC_CONFIRM)
			check_answer(rogue);
		else
			EXPECT_TRUE(message.empty() || diagnosis_of(message));
	} else {
		check_answer(rogue);
	}

	std::string rc = connecting.join();

	EXPECT_TRUE(rc == "0" || rc == std::to_string(-ECONNRESET)) << rc;
	if (rc == "0")
		check_end(rogue, victim);
	check_aftermath();
}

/* A server that speaks an older release is answered in it. */
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

/* A rendezvous that comes to nothing leaves the client a socket that can connect again. */
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

/* In the middle there is nothing to be half closed. */
TEST_F(Broken, ByShutdown)
{
	EXPECT_EQ(lured.client.shutdown(SHUT_WR), 0);
	expect_reset_and_usable();
}

/*
 * A blocking connect() that ends before its rendezvous does. That goes on, unless it was given
 * up, and its end is the socket's.
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
	/* connect(), in a thread of its own; returns once the rogue has the proposal. */
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
	/* The rogue wants TCP: the socket is connected by it. */
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
	/* Half an answer is none. */
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY).substr(0, 10));
	expect_end(EINPROGRESS);
	EXPECT_EQ(connect(fd, to.get(), to.len), -1);
	EXPECT_EQ(errno, EALREADY);
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY).substr(10));
	EXPECT_EQ(await(fd, POLLOUT), POLLOUT);
	EXPECT_EQ(must_get(fd, SOL_SOCKET, SO_ERROR), 0);
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

	/* And it can connect again. */
	begin();
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
	expect_end(0);
}

/*
 * Who keeps its own rendezvous waiting does not keep others from accept(). The wait has its limit,
 * which a slow guest may reach before the other has connected: then again.
 */
TEST(SilentClients, AreOvertaken)
{
	Agent agent;
	RemoteSocket listener = agent.listen(Flavor(), 1);
	Address to = address_of(1, AF_INET, listener.port());

	wait_until("one that overtakes", [&] {
		Fd silent[3];

		for (Fd &fd : silent) {
			fd = offering_socket();
			if (connect(fd, to.get(), to.len))
				throw std::runtime_error("a silent client does not connect");
		}

		Fd here = must_connect({Kind::tcp, AF_INET}, to);
		RemoteSocket first = listener.accept();

		for (Fd &fd : silent)
			fd.close();
		if (send(here, "first", 5, 0) != 5)
			throw std::runtime_error("send");
		if (first.recv(5, MSG_WAITALL) == "first")
			return true;
		/* Those that did not overtake are waiting, too. */
		for (int i = 0; i < 3; i++)
			listener.accept();
		return false;
	});
}

/* Messages that come after the rendezvous was given up are dropped; what follows them is data. */
class Late : public testing::Test
{
protected:
	void expect_only_data(int rogue, RemoteSocket &victim)
	{
		EXPECT_TRUE(diagnosis_of(receive_message(rogue))) << "not a DECLINE";
		send_bytes(rogue, "from the rogue");
		EXPECT_EQ(victim.recv(14, MSG_WAITALL), "from the rogue");
		check_tcp(rogue, victim);
	}
	/* Sends @message in two parts. */
	void send_slowly(int rogue, const std::string &message)
	{
		send_bytes(rogue, message.substr(0, 12));
		send_bytes(rogue, message.substr(12));
	}

	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	Fd rogue = offering_socket();
};

TEST_F(Late, ProposalAndDecline)
{
	ASSERT_EQ(connect(rogue, to.get(), to.len), 0);

	RemoteSocket victim = listener.accept();

	send_slowly(rogue, encode(good_proposal()));
	send_bytes(rogue, encode_decline(SMC_DIAG_SYNC));
	expect_only_data(rogue, victim);
}

TEST_F(Late, Confirm)
{
	rogue = propose(to, right_proposal(agent));

	smc_clc_agreement accept = receive_agreement(rogue, SMC_CLC_ACCEPT);
	RemoteSocket victim = listener.accept();

	send_slowly(rogue, encode(right_confirm(accept)));
	expect_only_data(rogue, victim);
}

TEST_F(Late, Accept)
{
	auto [victim, connecting, server] = lure(agent);

	receive_proposal(server);
	ASSERT_EQ(connecting.join(), "0");
	send_slowly(server, encode(good_agreement(SMC_CLC_ACCEPT)));
	expect_only_data(server, victim);
}

/* No message of a rendezvous begins with an urgent byte, before which TCP stops. */
TEST_F(Late, UrgentByte)
{
	ASSERT_EQ(connect(rogue, to.get(), to.len), 0);

	RemoteSocket victim = listener.accept();

	ASSERT_EQ(send(rogue, "!", 1, MSG_OOB), 1);
	EXPECT_NE(victim.await(POLLPRI) & POLLPRI, 0);
	expect_only_data(rogue, victim);
}

/* TCP tells nobody of fewer bytes than these. */
TEST_F(Late, BelowTheLowWaterMark)
{
	ASSERT_EQ(connect(rogue, to.get(), to.len), 0);

	RemoteSocket victim = listener.accept();

	ASSERT_EQ(victim.set(SOL_SOCKET, SO_RCVLOWAT, 10000), 0);
	send_bytes(rogue, encode(good_proposal()));
	send_bytes(rogue, "from the rogue");
	wait_until("all is there", [&] {
		int left = 0;

		return !ioctl(rogue, SIOCOUTQ, &left) && !left;
	});
	EXPECT_EQ(victim.recv(100, MSG_DONTWAIT), "from the rogue");
	ASSERT_EQ(victim.set(SOL_SOCKET, SO_RCVLOWAT, 1), 0);
	expect_only_data(rogue, victim);
}

/* Bytes that are the application's, whatever they begin with. */
TEST_F(Late, DataOnly)
{
	ASSERT_EQ(connect(rogue, to.get(), to.len), 0);

	RemoteSocket victim = listener.accept();

	EXPECT_TRUE(diagnosis_of(receive_message(rogue))) << "not a DECLINE";
	send_bytes(rogue, "x");
	EXPECT_EQ(victim.recv(1), "x");
	/* Who has begun to speak as an application does not go back to the rendezvous. */
	send_bytes(rogue, encode(good_proposal()));
	EXPECT_EQ(victim.recv(encode(good_proposal()).size(), MSG_WAITALL),
		  encode(good_proposal()));
	check_tcp(rogue, victim);
}

/* A DECLINE is obeyed at every step, whatever its diagnosis: the connection goes on as TCP. */
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

	/* Not what that took. */
	before = failures_counted(agent);
	for (const std::string &decline : declines()) {
		Fd rogue = propose(address_of(1, AF_INET, listener.port()), proposal);

		receive_agreement(rogue, SMC_CLC_ACCEPT);
		send_bytes(rogue, decline);

		RemoteSocket victim = listener.accept();

		check_tcp(rogue, victim);
	}
}

/*
 * One who speaks for this guest is offered its link group. That it wants it dropped ends no
 * connection of this guest's.
 */
TEST(Impostor, EndsNoOthersConnection)
{
	NEEDS_ANOTHER_HOST("the rogue speaks SMC-R");
	Agent agent;
	Connection connection = make_connection(agent, Flavor());
	RemoteSocket listener = agent.listen(Flavor());
	Address to = address_of(1, AF_INET, listener.port());
	Fd rogue = offering_socket();
	smc_clc_proposal proposal = good_proposal();

	/* As the proposals of a kernel that offers version 2 only. */
	memset(proposal.peer_id, 0, sizeof(proposal.peer_id));
	check_data(connection, 1000, true);
	ASSERT_EQ(connect(rogue, to.get(), to.len), 0);
	send_bytes(rogue, encode(proposal));
	EXPECT_FALSE(receive_agreement(rogue, SMC_CLC_ACCEPT).first_contact)
	    << "no group of this guest";
	send_bytes(rogue, encode_decline(SMC_DIAG_SYNC, SMC_VERSION_2, true));

	RemoteSocket victim = listener.accept();

	check_tcp(rogue, victim);
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
INSTANTIATE_TEST_SUITE_P(, BadConfirm, testing::ValuesIn(agreements(SMC_CLC_CONFIRM)),
			 name_of_case);
INSTANTIATE_TEST_SUITE_P(, BadAccept, testing::ValuesIn(agreements(SMC_CLC_ACCEPT)), name_of_case);
