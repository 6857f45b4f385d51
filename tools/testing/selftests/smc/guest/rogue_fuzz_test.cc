// SPDX-License-Identifier: GPL-2.0
/*
 * A randomly hostile peer. Each seed is a walk through an exchange, as client or server, in which
 * messages are damaged, early, missing, duplicated or split, and connections end at any point: CLC,
 * and with SMC-R also LLC, CDC and RDMA. After each walk all victims have ended, and a correct peer
 * is served. The module's resources stay within their bounds and, when the rogue is gone, are the
 * same as before.
 *
 *   ROGUE_FIRST    the first seed, 1 by default
 *   ROGUE_SEEDS    number of seeds; 0: for ROGUE_SECONDS, or without end
 */
#include <climits>
#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <list>
#include <optional>
#include <poll.h>
#include <random>
#include <unistd.h>

#include "../wire/capture.h"
#include "limit.h"
#include "place.h"
#include "roce_v1.h"
#include "rogue.h"
#include "rogue_link.h"
#include "rogue_queue_pair.h"
#include "smc_tool.h"
#include "system.h"
#include "wire/cdc.h"
#include "wire/llc.h"

using namespace guest;

namespace
{

[[maybe_unused]] testing::Environment *const takes_no_note =
    testing::AddGlobalTestEnvironment(new TakesNoNote);
[[maybe_unused]] testing::Environment *const roce_v1 =
    testing::AddGlobalTestEnvironment(new RoceV1);

/* All random decisions of a seed. */
class Dice
{
public:
	explicit Dice(uint64_t seed) : engine(seed)
	{
	}
	/* 0 to n - 1; without a standard distribution, whose results depend on the library */
	uint64_t below(uint64_t n)
	{
		return engine() % n;
	}
	bool one_in(uint64_t n)
	{
		return !below(n);
	}
	uint64_t any()
	{
		return engine();
	}
	std::string bytes(size_t n)
	{
		std::string some(n, '\0');

		for (char &c : some)
			c = char(engine());
		return some;
	}
	/* A number near a boundary, or any number. */
	uint64_t edge(uint64_t around)
	{
		const uint64_t edges[] = {0,	      1,	  around,     around - 1,
					  around + 1, 0x7fffffff, 0x80000000, 0xffffffff,
					  UINT64_MAX, any()};

		return edges[below(std::size(edges))];
	}

private:
	std::mt19937_64 engine;
};

/* Changes a byte, usually one bit of it. */
void spoil_byte(Dice &dice, std::string &m)
{
	size_t at = dice.below(m.size());

	m[at] = dice.one_in(3) ? char(dice.edge(m[at])) : char(m[at] ^ 1 << dice.below(8));
}

void spoil_length(Dice &dice, std::string &m, size_t at)
{
	uint64_t length = dice.edge(m.size());

	if (at + 2 > m.size())
		return;
	m[at] = char(length >> 8);
	m[at + 1] = char(length);
}

/* @length_at: offset of the length in a message of this kind */
std::string spoiled(Dice &dice, std::string m, size_t length_at)
{
	if (m.empty())
		return dice.bytes(dice.below(64));
	switch (dice.below(8)) {
	case 0:
	case 1:
	case 2:
		for (uint64_t n = 1 + dice.below(4); n; n--)
			spoil_byte(dice, m);
		break;
	case 3:
		spoil_length(dice, m, length_at);
		break;
	case 4:
		m.resize(dice.below(m.size()));
		break;
	case 5:
		m.insert(dice.below(m.size() + 1), dice.bytes(1 + dice.below(64)));
		break;
	case 6:
		m = dice.bytes(m.size());
		break;
	case 7:
		m = m.substr(m.size() / 2) + m.substr(0, m.size() / 2);
		break;
	}
	return m;
}

std::string text_of(const char *bytes, size_t n)
{
	return {bytes, n};
}

/* A message of the in-tree module, from another exchange. */
std::string captured(Dice &dice, std::vector<wire::Bytes> wire::Capture::*kind)
{
	static const wire::Capture all = wire::ReadAllCaptures();
	const std::vector<wire::Bytes> &some = all.*kind;
	const wire::Bytes &one = some.at(dice.below(some.size()));

	return {one.begin(), one.end()};
}

/* Thrown when the rogue has nothing more to do on this walk. */
struct Over {
};

/* The walk of one seed. */
class Walk
{
public:
	Walk(Agent &agent, uint64_t seed)
	    : agent(agent), dice(seed), hasty(dice.one_in(2)), version(dice.one_in(3) ? 1 : 2)
	{
	}
	virtual ~Walk() = default;

	/* Throws if an object of the victim does not end. */
	void run()
	{
		try {
			walk();
		} catch (const Over &) {
		}
		leave();
		bury();
	}
	/* A log of the walk, for a report. */
	const std::string &diary() const
	{
		return said;
	}
	/* The walk got as far as a link, or with SMC-D a CONFIRM. */
	bool came_far() const
	{
		return far;
	}

protected:
	virtual void walk() = 0;
	/* The rogue leaves, and nothing of it remains here. */
	virtual void leave()
	{
		close_tcp();
	}

	void note(const std::string &what)
	{
		said += "  " + what + "\n";
	}

	/* --- the victims */

	void expect_client(Job &connecting, RemoteSocket &&client)
	{
		jobs.push_back(connecting);
		sockets.push_back(std::move(client));
	}
	RemoteSocket &listen()
	{
		listeners.push_back(agent.listen(Flavor()));
		accepting.emplace(listeners.back().start_accept());
		return listeners.back();
	}
	/* If the server has accepted by now, it echoes what it receives. */
	void accept_now()
	{
		if (accepting && accepting->is_done())
			take_accepted();
	}
	void take_accepted()
	{
		try {
			sockets.emplace_back(agent, std::stoi(accepting->join()));
			jobs.push_back(sockets.back().start_echo());
		} catch (const std::runtime_error &) {
			/* The listener was shut down before a connection arrived. */
		}
		accepting.reset();
	}
	/* Every victim ends, in a time that does not depend on the rogue. */
	void bury()
	{
		for (RemoteSocket &listener : listeners)
			listener.shutdown(SHUT_RDWR);
		if (accepting) {
			wait_until("accept() ends", [&] { return accepting->is_done(); });
			take_accepted();
		}
		for (Job &job : jobs) {
			wait_until("a call ends", [&] { return job.is_done(); });
			try {
				job.join();
			} catch (const std::runtime_error &) {
				/* Errors are expected. */
			}
		}
		jobs.clear();
		sockets.clear();
		listeners.clear();
	}

	/* --- CLC */

	/* Some walks get far before the first fault. */
	bool is_faulty()
	{
		return hasty && dice.one_in(2);
	}
	void connect_to(RemoteSocket &listener)
	{
		tcp = offering_connection(address_of(1, AF_INET, listener.port()));
	}
	/* Sends the expected message, or something else. */
	void send_clc(int fd, const std::string &message, const char *what)
	{
		if (fd < 0)
			throw Over();
		if (!is_faulty()) {
			note(what);
			send_bytes(fd, message);
			return;
		}
		misuse(fd, message, what);
	}
	void misuse(int fd, const std::string &message, const std::string &what)
	{
		switch (dice.below(9)) {
		case 0:
			note(what + " twice");
			send_bytes(fd, message + message);
			break;
		case 1:
			note(what + " in pieces");
			for (char c : message)
				send_bytes(fd, std::string(1, c));
			break;
		case 2:
			note("no " + what);
			break;
		case 3:
			note(what + " and the end");
			send_bytes(fd, message.substr(0, dice.below(message.size() + 1)));
			shutdown(fd, SHUT_WR);
			break;
		case 4:
			note(what + " and a reset");
			send_bytes(fd, message);
			reset_tcp();
			throw Over();
		case 5:
			note("DECLINE in place of " + what);
			send_bytes(fd, encode_decline(dice.one_in(2) ? 0x03030000 : dice.any(),
						      1 + dice.below(3), dice.one_in(2)));
			break;
		case 6:
			note("captured message in place of " + what);
			send_bytes(fd, captured(dice, &wire::Capture::clc));
			break;
		default:
			note(what + " spoiled");
			send_bytes(fd, spoiled(dice, message, 5));
		}
	}
	/* The bytes that the rogue receives within a moment; no check depends on its length. */
	std::string reply(int fd)
	{
		pollfd wait = {fd, POLLIN, 0};

		if (fd < 0 || poll(&wait, 1, scaled(hasty ? 300 : 3000)) <= 0)
			return "";
		try {
			return receive_message(fd, 3);
		} catch (const std::runtime_error &) {
			return "";
		}
	}
	void reset_tcp()
	{
		if (tcp < 0)
			return;
		must_linger(tcp, 0);
		tcp.close();
	}
	void close_tcp()
	{
		if (dice.one_in(2))
			reset_tcp();
		else
			tcp.close();
	}

	Agent &agent;
	Dice dice;
	bool hasty; /* damages the handshake already */
	int version;
	bool far = false;
	Fd tcp;
	std::string said;
	std::vector<RemoteSocket> listeners, sockets;
	std::list<Job> jobs;
	std::optional<Job> accepting;
};

/* With SMC-R, where a queue pair follows. */
class WalkByRdma : public Walk
{
public:
	using Walk::Walk;

private:
	void walk() override
	{
		bool is_client = dice.one_in(2);

		note(std::string(is_client ? "client" : "server") + " of version " +
		     std::to_string(version));
		qp.emplace(own_gid());
		dice_id();
		if (is_client)
			as_client();
		else
			as_server();
		far = true;
		hasty = true;
		for (uint64_t n = dice.below(12); n; n--) {
			accept_now();
			do_anything();
		}
	}
	void leave() override
	{
		accept_now();
		/* A peer that leaves silently is detected after some seconds. */
		if (linked && !dice.one_in(8))
			say_llc(delete_all());
		qp.reset();
		close_tcp();
	}

	/* --- the handshake */

	static std::string own_gid()
	{
		smc_clc_agreement own = good_agreement(SMC_CLC_CONFIRM);

		return text_of(reinterpret_cast<char *>(own.r.gid), SMC_GID_LEN);
	}
	/* A different peer in each walk, with its own group. */
	void dice_id()
	{
		for (uint8_t &byte : id)
			byte = dice.any();
		id[2] &= 0xfc;
	}
	smc_clc_proposal proposal()
	{
		smc_clc_proposal p =
		    version == SMC_VERSION_2 ? good_proposal() : good_proposal_of_version_1();

		memcpy(p.peer_id, id, sizeof(p.peer_id));
		p.max_conns = dice.one_in(4) ? dice.any() : 255;
		if (version == SMC_VERSION_1)
			p.version = 1 + dice.below(2);
		return p;
	}
	smc_clc_agreement agreement(smc_clc_type type, bool first_contact)
	{
		smc_clc_agreement a = good_agreement(type);

		a.version = version;
		a.first_contact = first_contact;
		memcpy(a.r.peer_id, id, sizeof(a.r.peer_id));
		a.r.qpn = qp->qpn();
		a.r.rkey = qp->rkey();
		a.r.rmb_addr = qp->address();
		a.fc.max_conns = dice.one_in(4) ? dice.any() : 255;
		a.fc.os_type = dice.below(4);
		return a;
	}
	/* Takes the other end's values, if it agrees. */
	void take(const std::string &message)
	{
		if (message.empty() ||
		    smc_clc_parse_agreement(reinterpret_cast<const uint8_t *>(message.data()),
					    message.size(), &other) ||
		    other.is_d)
			throw Over();
	}
	void connect_queue_pair()
	{
		int mtu = std::min<int>(other.r.qp_mtu, 3);

		qp->connect({text_of(reinterpret_cast<char *>(other.r.gid), SMC_GID_LEN),
			     other.r.qpn, other.r.psn, mtu},
			    1);
	}
	void as_client()
	{
		RemoteSocket &listener = listen();

		connect_to(listener);
		send_clc(tcp, encode(proposal()), "PROPOSAL");
		take(reply(tcp));
		connect_queue_pair();
		linked = true;
		if (dice.one_in(8))
			do_anything();
		send_clc(tcp, encode(agreement(SMC_CLC_CONFIRM, other.first_contact)), "CONFIRM");
		await_message();
		say_llc(confirm_link(SMC_LLC_REPLY));
	}
	void as_server()
	{
		Lured lured = lure(agent);

		tcp = std::move(lured.rogue);
		expect_client(lured.connecting, std::move(lured.client));
		reply(tcp);
		send_clc(tcp, encode(agreement(SMC_CLC_ACCEPT, true)), "ACCEPT");
		take(reply(tcp));
		connect_queue_pair();
		linked = true;
		if (dice.one_in(8))
			do_anything();
		say_llc(confirm_link(0));
		await_message();
	}

	/* --- LLC and CDC */

	smc_llc_msg of_version(smc_llc_msg msg)
	{
		msg.v2 = version == SMC_VERSION_2;
		return msg;
	}
	smc_llc_msg llc(smc_llc_type type)
	{
		return of_version(guest::llc(type));
	}
	smc_llc_msg confirm_link(uint8_t flags)
	{
		smc_llc_msg msg = llc(SMC_LLC_CONFIRM_LINK);
		smc_clc_agreement own = good_agreement(SMC_CLC_CONFIRM);

		msg.flags = flags | SMC_LLC_NO_RMBE_EYE_CATCHER;
		memcpy(msg.confirm_link.gid, own.r.gid, SMC_GID_LEN);
		memcpy(msg.confirm_link.mac, own.r.mac, SMC_MAC_LEN);
		msg.confirm_link.qpn = qp->qpn();
		msg.confirm_link.link = 1;
		msg.confirm_link.max_links = 1;
		msg.confirm_link.max_conns = dice.one_in(4) ? dice.any() : 255;
		return msg;
	}
	smc_llc_msg delete_all()
	{
		return of_version(guest::delete_all());
	}
	/* An LLC message of any type, with random content. */
	smc_llc_msg any_llc()
	{
		smc_llc_msg msg = {};
		std::string noise = dice.bytes(sizeof(msg));

		memcpy(&msg.confirm_link, noise.data(),
		       sizeof(msg) - offsetof(smc_llc_msg, confirm_link));
		msg.type = smc_llc_type(1 + dice.below(9));
		msg.v2 = (version == SMC_VERSION_2) != dice.one_in(8);
		msg.flags = dice.one_in(2) ? 0 : dice.any();
		if (msg.type == SMC_LLC_DELETE_RKEY)
			msg.delete_rkey.count = dice.below(SMC_LLC_DELETE_RKEYS + 1);
		/* Most messages that name a link name this one. */
		if (msg.type == SMC_LLC_DELETE_LINK)
			msg.delete_link.link = dice.below(3);
		return msg;
	}
	void say_llc(const smc_llc_msg &msg)
	{
		uint8_t buf[SMC_LLC_LEN] = {};

		smc_llc_build(buf, &msg);
		say(text_of(reinterpret_cast<char *>(buf), sizeof(buf)),
		    "LLC " + std::to_string(msg.type), 1);
	}
	/* @length_at: offset of the length in this kind of message */
	void say(std::string message, std::string what, size_t length_at)
	{
		int times = 1;

		if (is_faulty() && dice.one_in(2)) {
			what += " spoiled";
			message = spoiled(dice, message, length_at);
		} else if (is_faulty()) {
			times = dice.below(3);
			what += " " + std::to_string(times) + " times";
		}
		note(what);
		message.resize(std::min<size_t>(message.size(), 8192));
		while (linked && times--)
			linked = qp->say(message);
	}
	smc_cdc true_cdc()
	{
		smc_cdc cdc = {};

		cdc.seq = ++sequence;
		cdc.token = other.r.alert_token;
		cdc.prod = smc_cursor_from_position(sent, their_size());
		return cdc;
	}
	smc_cdc false_cdc()
	{
		smc_cdc cdc = true_cdc();

		switch (dice.below(6)) {
		case 0:
			cdc.token = dice.edge(cdc.token);
			break;
		case 1:
			cdc.prod = {uint16_t(dice.below(3)), uint32_t(dice.edge(their_size()))};
			break;
		case 2:
			cdc.cons = {uint16_t(dice.below(3)), uint32_t(dice.edge(65536))};
			break;
		case 3:
			cdc.prod_flags = dice.any();
			break;
		case 4:
			cdc.conn_flags = dice.any();
			break;
		case 5:
			cdc.seq = dice.any();
			cdc.prod.wrap = dice.any();
		}
		return cdc;
	}
	void say_cdc(const smc_cdc &cdc, const char *what)
	{
		uint8_t buf[SMC_CDC_LEN];

		smc_cdc_build(buf, &cdc);
		say(text_of(reinterpret_cast<char *>(buf), sizeof(buf)), what, 1);
	}
	uint32_t their_size() const
	{
		return 16384u << std::min<int>(other.r.rmbe_size_code, 15);
	}
	uint64_t element() const
	{
		return other.r.rmb_addr + (other.r.rmbe_index - 1) * uint64_t(their_size());
	}
	void write(uint64_t address, uint32_t rkey, size_t len, const char *what)
	{
		note(what);
		linked = linked && qp->write_to(address, rkey, dice.bytes(len)) == IBV_WC_SUCCESS;
	}
	/* Waits for the next message of the handshake. */
	void await_message()
	{
		if (linked)
			qp->hear(hasty ? 0 : 3);
	}
	void drain()
	{
		for (int i = 0; i < 20 && linked && !qp->hear(0).empty(); i++)
			;
	}
	/* Performs one of the actions of a peer with a link, correct or not. */
	void do_anything()
	{
		size_t n = 1 + dice.below(500);

		switch (dice.below(22)) {
		case 0:
		case 1:
		case 2:
		case 3:
		case 4:
			if (sent + n > 16384)
				return;
			write(element() + sent, other.r.rkey, n, "bytes");
			sent += n;
			return say_cdc(true_cdc(), "CDC of them");
		case 5:
		case 6:
		case 7:
			return say_cdc(false_cdc(), "a lie");
		case 8:
		case 9:
		case 10:
			return say_llc(any_llc());
		case 11:
			return say(dice.bytes(dice.edge(44) % 8193), "noise", 1);
		case 12:
			return write(element() + dice.edge(their_size()), other.r.rkey, n,
				     "write anywhere");
		case 13:
			return write(element(), other.r.rkey + dice.edge(1), n, "write with a key");
		case 14:
			note("immediate");
			linked = linked && qp->write_with_immediate_to(element(), other.r.rkey,
								       dice.edge(44) % 65536) ==
					       IBV_WC_SUCCESS;
			return;
		case 15:
			note("bytes by TCP");
			return tcp < 0 ? void() : send_bytes(tcp, dice.bytes(n));
		case 16:
			note("end of TCP");
			return dice.one_in(2) ? reset_tcp() : void(shutdown(tcp, SHUT_WR));
		case 17:
			return say_llc(llc(SMC_LLC_TEST_LINK));
		case 18:
			note("deaf");
			return qp->stop_posting();
		case 19:
			return drain();
		case 20:
			return say(captured(dice, &wire::Capture::llc), "captured LLC", 1);
		case 21:
			return say(captured(dice, &wire::Capture::cdc), "captured CDC", 1);
		}
	}

	uint8_t id[SMC_PEER_ID_LEN] = {};
	std::optional<RogueQueuePair> qp;
	smc_clc_agreement other = {};
	bool linked = false;
	uint64_t sent = 0;
	uint16_t sequence = 0;
};

/* With SMC-D only the handshake can be damaged, at one end or between two ends. */
class WalkWithinHost : public Walk
{
public:
	WalkWithinHost(Agent &agent, uint64_t seed, const smc_clc_ism &device)
	    : Walk(agent, seed), device(device)
	{
		hasty = true;
	}

private:
	void walk() override
	{
		switch (dice.below(3)) {
		case 0:
			return as_client();
		case 1:
			return as_server();
		case 2:
			return between();
		}
	}
	void leave() override
	{
		accept_now();
		if (to_client >= 0 && dice.one_in(2))
			must_linger(to_client, 0);
		to_client.close();
		close_tcp();
		/* Victims that are connected to each other, past the rogue, would not end. */
		for (RemoteSocket &socket : sockets)
			socket.shutdown(SHUT_RDWR);
	}
	void as_client()
	{
		note("client");
		connect_to(listen());
		send_clc(tcp, encode(good_proposal(device)), "PROPOSAL");

		std::string accept = reply(tcp);

		if (accept.empty())
			return;
		send_clc(tcp, encode(good_agreement(SMC_CLC_CONFIRM, device)), "CONFIRM");
		reply(tcp);
	}
	void as_server()
	{
		Lured lured = lure(agent);

		note("server");
		tcp = std::move(lured.rogue);
		expect_client(lured.connecting, std::move(lured.client));
		reply(tcp);
		send_clc(tcp, encode(good_agreement(SMC_CLC_ACCEPT, device)), "ACCEPT");
		reply(tcp);
	}
	/* Passes each message of a correct client and server on, or sends something else. */
	void between()
	{
		Lured lured = lure(agent);

		note("between");
		to_client = std::move(lured.rogue);
		expect_client(lured.connecting, std::move(lured.client));
		connect_to(listen());
		pass(to_client, tcp, "PROPOSAL");
		pass(tcp, to_client, "ACCEPT");
		pass(to_client, tcp, "CONFIRM");
		far = true;
		accept_now();
		if (dice.one_in(2))
			send_bytes(dice.one_in(2) ? tcp : to_client, dice.bytes(100));
	}
	void pass(int from, int to, const char *what)
	{
		std::string message = reply(from);

		if (message.empty())
			throw Over();
		/* Mostly unchanged, or no handshake would succeed. */
		if (dice.one_in(2)) {
			note(what);
			send_bytes(to, message);
			return;
		}
		send_clc(to, message, what);
	}

	const smc_clc_ism device;
	Fd to_client;
};

} // namespace

/* Resources that a host keeps for its peers. */
class RogueSeeds : public testing::Test
{
protected:
	static constexpr long in_check = 40, between_looks = 20;
	/* From "Values in use" of design.rst, plus those for the correct peer. */
	static constexpr int most_groups = 128 + 2;

	RogueSeeds()
	{
		if (peer_within())
			device = host_device(agent);
		expect_service();
		groups = groups_at(agent);
	}
	void try_seed(long seed)
	{
		std::unique_ptr<Walk> walk;

		if (device)
			walk = std::make_unique<WalkWithinHost>(agent, seed, *device);
		else
			walk = std::make_unique<WalkByRdma>(agent, seed);
		try {
			walk->run();
			expect_service();
		} catch (const std::exception &error) {
			ADD_FAILURE() << error.what();
		}
		far += walk->came_far();
		if (HasFailure())
			ADD_FAILURE() << "seed " << seed << "\n" << walk->diary();
	}
	/* Expects a correct peer to be served by SMC. */
	void expect_service()
	{
		Connection connection = make_connection(agent, Flavor());

		check_data(connection, 10000, true);
	}
	void expect_bounds()
	{
		EXPECT_LE(groups_at(agent), most_groups);
	}
	int queue_pairs()
	{
		return std::stoi(agent.must_run("rdma resource show qp | grep -c 'type RC' || :"));
	}
	/* The rogue is gone, and so are all resources kept for it. */
	void expect_nothing_left()
	{
		wait_until(
		    "no connection is left", [&] { return !connections_at(agent); }, 180);
		wait_until(
		    "no group of the rogue is left", [&] { return groups_at(agent) <= groups; },
		    180);
		EXPECT_EQ(agent.counters()["orphans"], 0);
		if (!device) {
			EXPECT_LE(queue_pairs(), groups);
		}
	}

	Agent agent;
	std::optional<smc_clc_ism> device;
	int groups;
	long far = 0; /* walks that completed a handshake */
};

TEST_F(RogueSeeds, LeaveNothingBehind)
{
	long first = from_environment("ROGUE_FIRST", 1);
	long count = from_environment("ROGUE_SEEDS", in_check);
	long seconds = from_environment("ROGUE_SECONDS", 0);
	time_t begin = time(nullptr);
	Counters before = agent.counters();
	std::optional<RemoteSysctlScope> test_links;
	long tried;

	set_limit(count == in_check ? 600 : INT_MAX / 10);
	/* Links whose peer is gone are detected soon. */
	if (!device)
		test_links.emplace(agent, "net.smc.smcr_testlink_time", "5");
	for (tried = 0; !HasFailure(); tried++) {
		if (count ? tried >= count : seconds && time(nullptr) - begin >= seconds)
			break;
		try_seed(first + tried);
		if (tried % between_looks == 0)
			expect_bounds();
	}
	expect_nothing_left();
	if (tried < in_check)
		return;
	EXPECT_GE(far, tried / 10);
	EXPECT_GE((agent.counters() - before).sum("violation_"), tried / 10);
}
