// SPDX-License-Identifier: GPL-2.0
/*
 * Peers that can't be run here: z/OS, AIX, Linux before 5.10, and one of a future version. Their
 * messages are written as bytes, and this module's messages are read as bytes, by RFC 7609 and the
 * documents of version 2. The encoders of net/smc/wire are not used, so that their mistakes are
 * found.
 */
#include <arpa/inet.h>
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <unistd.h>

#include "limit.h"
#include "place.h"
#include "roce_v1.h"
#include "rogue.h"
#include "rogue_queue_pair.h"
#include "smc_tool.h"

using namespace guest;

namespace
{

[[maybe_unused]] testing::Environment *const takes_no_note =
    testing::AddGlobalTestEnvironment(new TakesNoNote);

/* "e2d4 c3d9": two digits for a byte, with blanks for readability. */
std::string hex(const std::string &digits)
{
	std::string bytes, some;

	for (char c : digits) {
		if (c != ' ')
			some += c;
		if (some.size() == 2) {
			bytes += char(std::stoi(some, nullptr, 16));
			some.clear();
		}
	}
	if (!some.empty())
		throw std::runtime_error("half a byte");
	return bytes;
}

/* Big endian: the most significant byte first. */
std::string be(uint64_t value, size_t bytes)
{
	std::string out;

	while (bytes--)
		out += char(value >> 8 * bytes);
	return out;
}

std::string zeros(size_t n)
{
	return std::string(n, '\0');
}

std::string padded(std::string bytes, size_t len, char with)
{
	bytes.resize(len, with);
	return bytes;
}

/* The number at an offset of a message. */
uint64_t number_at(const std::string &message, size_t at, size_t bytes)
{
	uint64_t value = 0;

	for (unsigned char c : message.substr(at, bytes))
		value = value << 8 | c;
	return value;
}

std::string to_hex(const std::string &bytes)
{
	static const char digits[] = "0123456789abcdef";
	std::string text;

	for (unsigned char c : bytes)
		text += {digits[c >> 4], digits[c & 15]};
	return text;
}

void expect_bytes(const std::string &message, size_t at, const std::string &bytes)
{
	ASSERT_GE(message.size(), at + bytes.size()) << to_hex(message);
	EXPECT_EQ(to_hex(message.substr(at, bytes.size())), to_hex(bytes))
	    << "at " << at << " of " << to_hex(message);
}

const std::string eye_catcher = hex("e2d4c3d9");

enum : uint8_t { proposal_type = 1, accept_type = 2, confirm_type = 3, decline_type = 4 };

/*
 * A CLC message: both eye catchers and the length around its body. @last: last byte of the header
 */
std::string clc(uint8_t type, uint8_t last, const std::string &body)
{
	return eye_catcher + be(type, 1) + be(8 + body.size() + 4, 2) + be(last, 1) + body +
	       eye_catcher;
}

/* The properties of a peer's messages. */
struct Dialect {
	const char *name;
	int version;
	/* Its CONFIRM repeats the first contact bit. Version 2 must. */
	bool says_first_contact;
	/* As a server it offers a second link as soon as the first one is confirmed. */
	bool offers_link;
	/* In version 2, the second byte of the first contact extension, and the bytes after it. */
	uint8_t os_and_release = 0;
	std::string host = {};
	uint8_t max_conns = 0, max_links = 0;
};

const Dialect zos_v1 = {"ZosVersion1", 1, true, true};
const Dialect aix = {"Aix", 1, true, true};
const Dialect old_linux = {"LinuxBefore510", 1, false, false};
/* Its name in EBCDIC: ZOSPEER1, padded with blanks. */
const Dialect zos_v2 = {
    "ZosVersion2", 2, true, true, 0x11, padded(hex("e9d6e2d7c5c5d9f1"), 32, 0x40), 16, 2};
/* In release 0 nothing follows the name. */
const Dialect zos_release_0 = {"ZosRelease0", 2,    true,
			       true,	      0x10, padded(hex("e9d6e2d7c5c5d9f1"), 32, 0x40)};

const std::string mac = hex("0200 83aa 0001");
const std::string default_eid = padded("SMC-DEFAULT-EID", 32, ' ');
constexpr uint32_t token = 0x00a15e70, user_id = 0x01020304;
constexpr int psn = 0x00abcdef, size_code = 0, mtu = 3;
constexpr uint32_t element_size = 16384;

/* The address of this guest in LAN 0, mapped to IPv6. */
std::string own_gid()
{
	in_addr ip = {};

	inet_pton(AF_INET, address_of(0, AF_INET, 0).text().c_str(), &ip);
	return zeros(10) + hex("ffff") + std::string(reinterpret_cast<char *>(&ip), 4);
}

/* A different one in each test, as each is a process. */
std::string peer_id()
{
	return be(getpid(), 2) + mac;
}

/* 28 bytes in version 1, 44 in version 2. */
std::string decline(int version, uint32_t diagnosis)
{
	std::string body = peer_id() + be(diagnosis, 4) + hex("10 000000");

	return clc(decline_type, version << 4, version == 1 ? body : body + zeros(16));
}

constexpr uint32_t out_of_sync = 0x04000000;

/* If the link group is to be dropped, the header says so. */
void expect_decline(const std::string &message, int version, uint32_t diagnosis)
{
	ASSERT_EQ(message.size(), version == 1 ? 28u : 44u) << to_hex(message);
	expect_bytes(message, 0,
		     eye_catcher + be(decline_type, 1) + be(message.size(), 2) +
			 be(version << 4 | (diagnosis == out_of_sync ? 0x08 : 0), 1));
	expect_bytes(message, 16, be(diagnosis, 4) + hex("20 000000"));
	expect_bytes(message, message.size() - 4, eye_catcher);
}

[[maybe_unused]] testing::Environment *const roce_v1 =
    testing::AddGlobalTestEnvironment(new RoceV1);

} // namespace

/* A peer in this guest, with a queue pair; its victims are at the agent. */
class Peer : public testing::TestWithParam<Dialect>
{
protected:
	void SetUp() override
	{
		NEEDS_ANOTHER_HOST("the peer speaks SMC-R");
		set_limit(120);
		before.emplace(agent.counters());
		qp.emplace(own_gid());
		rkey = qp->rkey();
	}
	const Dialect &dialect() const
	{
		return GetParam();
	}
	bool is_v2() const
	{
		return dialect().version == 2;
	}

	/* --- CLC */

	std::string proposal() const
	{
		return is_v2() ? proposal_v2() : proposal_v1();
	}
	static std::string proposal_v1(const std::string &subnet = hex("0a530000 18"))
	{
		return clc(proposal_type, 0x10,
			   peer_id() + own_gid() + mac + hex("0000") + /* the IP area follows */
			       subnet + hex("0000 00"));
	}
	std::string proposal_v2(const std::string &eid = default_eid) const
	{
		return clc(proposal_type, 0x22, /* version 1 has no bits here */
			   peer_id() + zeros(16) + mac + hex("0000") + zeros(10) +
			       hex("001c") +	 /* 50: 28 bytes on */
			       zeros(28) +	 /* 52 */
			       hex("01 00 00") + /* 80: an EID */
			       be((dialect().os_and_release & 15) << 4, 1) + zeros(4) + own_gid() +
			       hex("10 02 0000") + /* 16 connections, 2 links */
			       zeros(12) + eid);
	}
	/* An ACCEPT or CONFIRM. RFC 7609 does not ask for the initial PSN on later contacts. */
	std::string agreement(uint8_t type, bool first_contact, uint8_t index,
			      const std::string &eid = default_eid, int qp_mtu = mtu) const
	{
		bool says = first_contact && (type == accept_type || dialect().says_first_contact);
		std::string body = peer_id() + own_gid() + mac + be(qp->qpn(), 3) + be(rkey, 4) +
				   be(index, 1) + be(token + index, 4) +
				   be(size_code << 4 | qp_mtu, 1) + zeros(1) +
				   be(qp->address(), 8) + zeros(1) + be(first_contact ? psn : 0, 3);

		if (is_v2())
			body += eid + zeros(8);
		if (is_v2() && first_contact)
			body += first_contact_extension(type);
		return clc(type, dialect().version << 4 | (says ? 0x08 : 0), body);
	}
	std::string first_contact_extension(uint8_t type) const
	{
		std::string extension =
		    hex("80") + be(dialect().os_and_release, 1) + zeros(2) + dialect().host;

		if (dialect().os_and_release & 15)
			extension += be(dialect().max_conns, 1) + be(dialect().max_links, 1) +
				     zeros(2) + vendor + zeros(8);
		if (type == confirm_type)
			extension += hex("01 000000") + own_gid();
		return extension;
	}

	/* --- LLC */

	/* In version 2 the length has two bytes. @type: without the version */
	std::string llc(uint8_t type, uint8_t flags, const std::string &body, uint8_t reason = 0)
	{
		std::string head = is_v2() ? be(0x20 | type, 1) + hex("00 2c")
					   : be(type, 1) + hex("2c") + be(reason, 1);

		return padded(head + be(flags, 1) + body, 44, 0);
	}
	std::string confirm_link(uint8_t flags)
	{
		return llc(1, flags | 0x03,
			   mac + own_gid() + be(qp->qpn(), 3) + hex("01") + be(user_id, 4) +
			       hex("02 10"));
	}
	/* For a queue pair that does not exist: the link will be rejected before it is tried. */
	std::string add_link()
	{
		std::string small = llc(2, 0,
					mac + zeros(2) + own_gid() + be(qp->qpn() + 1, 3) +
					    hex("02") + be(mtu, 1) + be(psn, 3));

		if (!is_v2())
			return small;
		/* With the keys of both RMBs. */
		small.replace(1, 2, be(72 + 2 * 16, 2));
		return small + hex("80 00") + own_gid() + zeros(8) + be(2, 2) +
		       (be(rkey, 4) + be(rkey, 4) + be(qp->address(), 8)) +
		       (be(rkey + 1, 4) + be(rkey + 1, 4) + be(qp->address(), 8));
	}
	/* The module's next message of this type, which must have the expected header. */
	std::string hear_llc(uint8_t type, uint8_t flags, size_t len = 44)
	{
		std::string message = qp->hear_type(is_v2() ? 0x20 | type : type);

		EXPECT_EQ(message.size(), len);
		message.resize(len);
		expect_bytes(message, 1, be(len, is_v2() ? 2 : 1));
		EXPECT_EQ(number_at(message, 3, 1), flags) << to_hex(message);
		return message;
	}
	/* A request of the peer, which the module answers by repeating it. */
	void expect_echo(const std::string &request)
	{
		ASSERT_TRUE(qp->say(request));
		expect_bytes(hear_llc(request[0] & 15, 0x80), 4, request.substr(4, 40));
	}

	/* --- the first contact */

	/* Checks the module's ACCEPT or CONFIRM. */
	void take_agreement(const std::string &message, uint8_t type, bool first_contact)
	{
		size_t len = !is_v2()	      ? 68
			     : !first_contact ? 108
					      : 104 + 36 + 4 + (type == confirm_type ? 20 : 0) +
						    (dialect().os_and_release & 15 ? 16 : 0);

		theirs = message;
		ASSERT_EQ(message.size(), len) << to_hex(message);
		expect_bytes(message, 0,
			     eye_catcher + be(type, 1) + be(len, 2) +
				 be(dialect().version << 4 | (first_contact ? 0x08 : 0), 1));
		expect_bytes(message, len - 4, eye_catcher);
		EXPECT_GE(number_at(message, 45, 1), 1u);
		if (!is_v2())
			return;
		expect_bytes(message, 64, default_eid);
		if (!first_contact)
			return;
		/* Direct, Linux, the peer's release. */
		expect_bytes(message, 104,
			     hex("80") + be(0x20 | (dialect().os_and_release & 15), 1));
		if (!(dialect().os_and_release & 15))
			return;
		if (type == accept_type) {
			EXPECT_LE(number_at(message, 140, 1), 16u) << "more than was offered";
		}
		/* The peer may have said 2. A vendor's options are for this module only. */
		EXPECT_EQ(number_at(message, 141, 1), 1u);
		expect_bytes(message, 144, zeros(4));
	}
	void connect_queue_pair()
	{
		qp->connect({theirs.substr(16, 16), uint32_t(number_at(theirs, 38, 3)),
			     uint32_t(number_at(theirs, 61, 3)),
			     int(std::min<uint64_t>(number_at(theirs, 50, 1) & 15, mtu))},
			    psn);
	}
	/* CONFIRM LINK names the queue pair that the module's CLC message had. */
	void expect_confirm_link(uint8_t flags)
	{
		std::string message = hear_llc(1, flags | 0x03);

		expect_bytes(message, 4, theirs.substr(32, 6) + theirs.substr(16, 16));
		expect_bytes(message, 26, theirs.substr(38, 3));
	}
	/*
	 * The module's later connection has another RMB, which the peer knows before a CLC message
	 * names it: its key and address.
	 */
	std::string confirm_rmb()
	{
		std::string request = hear_llc(6, 0), rmb = request.substr(5, 12);

		expect_bytes(request, 4, hex("00") + rmb + zeros(27));
		request[3] = char(0x80);
		EXPECT_TRUE(qp->say(request));
		return rmb;
	}
	/* The module's CLC message names the RMB that it has told of. */
	void expect_rmb(const std::string &rmb)
	{
		expect_bytes(theirs, 41, rmb.substr(0, 4));
		expect_bytes(theirs, 52, rmb.substr(4, 8));
	}
	/* With the server at the agent. @index: index of the peer's element */
	RemoteSocket contact_as_client(bool first_contact, uint8_t index)
	{
		if (!listener)
			listener.emplace(agent.listen(Flavor()));

		Job accept = listener->start_accept();

		tcp = offering_connection(address_of(1, AF_INET, listener->port()));
		send_bytes(tcp, proposal());

		std::string rmb = first_contact ? "" : confirm_rmb();

		take_agreement(receive_message(tcp), accept_type, first_contact);
		if (first_contact)
			connect_queue_pair();
		else
			expect_rmb(rmb);
		send_bytes(tcp, agreement(confirm_type, first_contact, index));
		if (first_contact) {
			expect_confirm_link(0);
			EXPECT_TRUE(qp->say(confirm_link(0x80)));
		}
		/* A peer of version 1 or release 0 expects an answer about a second link. */
		if (first_contact && !(dialect().os_and_release & 15))
			answer_second_link();
		return {agent, std::stoi(accept.join())};
	}
	/* The second link from a server with one device: it names the existing one. */
	std::string hear_second_link()
	{
		/* Without a key: no link is to be added. */
		std::string offer = hear_llc(2, 0, is_v2() ? 72 : 44);

		expect_bytes(offer, 12, theirs.substr(16, 16));
		expect_bytes(offer, 28, theirs.substr(38, 3));
		return offer;
	}
	void refuse_second_link()
	{
		std::string offer = hear_second_link();

		offer[3] = char(0xc0);
		offer[2] = is_v2() ? 44 : 1;
		EXPECT_TRUE(qp->say(offer.substr(0, 44)));
	}
	virtual void answer_second_link()
	{
		refuse_second_link();
	}
	/* With the client at the agent. */
	RemoteSocket contact_as_server(bool first_contact, uint8_t index)
	{
		Lured lured = lure(agent);

		tcp = std::move(lured.rogue);
		check_proposal(receive_message(tcp));
		send_bytes(tcp, agreement(accept_type, first_contact, index));

		std::string rmb = first_contact ? "" : confirm_rmb();

		take_agreement(receive_message(tcp), confirm_type, first_contact);
		if (first_contact) {
			connect_queue_pair();
			EXPECT_TRUE(qp->say(confirm_link(0)));
			expect_confirm_link(0x80);
		} else {
			expect_rmb(rmb);
		}
		if (first_contact && dialect().offers_link)
			offer_link();
		EXPECT_EQ(lured.connecting.join(), "0");
		return std::move(lured.client);
	}
	/* Expects an offer of both versions of SMC-R, and of SMC-D. */
	void check_proposal(const std::string &message)
	{
		ASSERT_GE(message.size(), 80u);
		expect_bytes(message, 0,
			     eye_catcher + hex("01") + be(message.size(), 2) + hex("2f"));
		expect_bytes(message, message.size() - 4, eye_catcher);

		size_t ip = 40 + number_at(message, 38, 2), v2 = 52 + number_at(message, 50, 2);

		expect_bytes(message, ip, hex("0a530000 18 0000 00"));
		expect_bytes(message, 16, zeros(10) + hex("ffff 0a530066"));
		expect_bytes(message, v2 + 8, zeros(10) + hex("ffff 0a530002"));
		/* One link with other implementations, two with this module. */
		EXPECT_EQ(number_at(message, v2 + 25, 1), 1u);
		expect_bytes(message, 52, hex("02534d 0200000000"));
		expect_bytes(message, v2 + 40, default_eid);
	}
	/* The link is rejected, as there is no other path, and the group stays. */
	void offer_link()
	{
		ASSERT_TRUE(qp->say(add_link()));

		std::string answer = hear_llc(2, 0xc0);

		if (!is_v2()) {
			EXPECT_EQ(number_at(answer, 2, 1) & 15, 1u);
		}
	}
	RemoteSocket contact(Role role, bool first_contact, uint8_t index)
	{
		sent = received = 0;
		sequence = 0;
		mine = index;
		return role == Role::client ? contact_as_client(first_contact, index)
					    : contact_as_server(first_contact, index);
	}

	/* --- the connection */

	/* Positions are small here: no cursor wraps. */
	std::string cdc(uint8_t flags = 0)
	{
		return hex("fe 2c") + be(++sequence, 2) + theirs.substr(46, 4) + zeros(4) +
		       be(sent, 4) + zeros(4) + be(received, 4) + hex("00") + be(flags, 1) +
		       zeros(18);
	}
	uint32_t their_size() const
	{
		return 16384u << (number_at(theirs, 50, 1) >> 4);
	}
	void peer_sends(const std::string &bytes)
	{
		uint64_t at = number_at(theirs, 52, 8) +
			      (number_at(theirs, 45, 1) - 1) * uint64_t(their_size()) + sent;

		ASSERT_EQ(qp->write_to(at, number_at(theirs, 41, 4), bytes), IBV_WC_SUCCESS);
		sent += bytes.size();
		ASSERT_TRUE(qp->say(cdc()));
	}
	/* The next CDC message must be well formed, and for the peer's element. */
	std::string hear_cdc()
	{
		std::string message = qp->hear_type(0xfe);

		if (message.size() != 44)
			throw std::runtime_error("no CDC message");
		expect_bytes(message, 1, hex("2c"));
		expect_bytes(message, 4, be(token + mine, 4));
		expect_bytes(message, 8, zeros(4));
		expect_bytes(message, 26, zeros(18));
		return message;
	}
	void victim_sends(RemoteSocket &victim, const std::string &bytes)
	{
		ASSERT_EQ(victim.send(bytes), long(bytes.size()));

		std::string message;

		do
			message = hear_cdc();
		while (number_at(message, 12, 4) < received + bytes.size());
		expect_bytes(message, 16, zeros(4));
		EXPECT_LE(number_at(message, 20, 4), sent);
		EXPECT_EQ(
		    qp->element(65536).substr((mine - 1) * element_size + received, bytes.size()),
		    bytes);
		received += bytes.size();
	}
	void converse(RemoteSocket &victim)
	{
		peer_sends("from the peer");
		EXPECT_EQ(victim.recv(13, MSG_WAITALL), "from the peer");
		victim_sends(victim, "to the peer");
		peer_sends("and once more");
		EXPECT_EQ(victim.recv(13, MSG_WAITALL), "and once more");
		victim_sends(victim, std::string(5000, 'v'));
	}
	/* Each end sends its final flags, and then TCP closes. */
	void close_in_order(RemoteSocket &victim)
	{
		std::string message;
		char byte;

		ASSERT_TRUE(qp->say(cdc(0xc0)));
		victim.expect_end();
		EXPECT_EQ(victim.close(), 0);
		do
			message = hear_cdc();
		while (!(number_at(message, 25, 1) & 0x40));
		EXPECT_EQ(number_at(message, 25, 1), 0xc0u);
		await(tcp, POLLIN);
		EXPECT_EQ(recv(tcp, &byte, 1, 0), 0);
		tcp.close();
	}
	/* The end that made the group ends it. */
	void leave_group()
	{
		wait_until("no connection is left", [&] { return !connections_at(agent); });
		/* All links, orderly, because the program ends. */
		ASSERT_TRUE(qp->say(llc(4, 0x60, hex("00 00030000"))));
		EXPECT_FALSE(qp->hear_type(is_v2() ? 0x24 : 0x04).empty());
	}
	/* All that a peer does on one link, in order. */
	void live(Role role)
	{
		RemoteSocket first = contact(role, true, 1);
		uint32_t first_rkey = rkey;

		converse(first);
		expect_echo(llc(7, 0, "sixteen bytes .."));

		/* Announces another RMB before its use; the other connection continues. */
		rkey = qp->another_rkey();
		expect_echo(llc(6, 0, hex("00") + be(rkey, 4) + be(qp->address(), 8)));

		Fd first_tcp = std::move(tcp);
		std::string first_theirs = theirs;
		uint64_t first_sent = sent, first_received = received;
		uint16_t first_sequence = sequence;
		RemoteSocket second = contact(role, false, 3);

		EXPECT_EQ(to_hex(theirs.substr(38, 3)), to_hex(first_theirs.substr(38, 3)))
		    << "another link";
		converse(second);
		close_in_order(second);
		wait_until("one connection is left", [&] { return connections_at(agent) == 1; });
		expect_echo(llc(9, 0, hex("01 00 0000") + be(rkey, 4)));

		tcp = std::move(first_tcp);
		theirs = first_theirs;
		rkey = first_rkey;
		sent = first_sent;
		received = first_received;
		sequence = first_sequence;
		mine = 1;
		peer_sends("still there");
		EXPECT_EQ(first.recv(11, MSG_WAITALL), "still there");
		victim_sends(first, "so it is");
		expect_shown();
		close_in_order(first);
		leave_group();
		EXPECT_EQ((agent.counters() - *before).sum("violation_"), 0);
	}
	/* A host name that is not ASCII does not break the tools' output. */
	void expect_shown()
	{
		EXPECT_FALSE(parse_json(agent.must_run(smc("-j group"))).empty());
	}

	Agent agent;
	std::optional<Counters> before;
	std::optional<RogueQueuePair> qp;
	std::optional<RemoteSocket> listener;
	Fd tcp;
	std::string theirs; /* the module's ACCEPT or CONFIRM */
	std::string vendor = zeros(4);
	uint32_t rkey = 0;
	uint64_t sent = 0, received = 0;
	uint16_t sequence = 0;
	uint8_t mine = 1; /* the index of the peer's element */
};

TEST_P(Peer, AsClient)
{
	live(Role::client);
}

TEST_P(Peer, AsServer)
{
	live(Role::server);
}

INSTANTIATE_TEST_SUITE_P(, Peer, testing::Values(zos_v1, aix, old_linux, zos_v2, zos_release_0),
			 [](const auto &info) { return std::string(info.param.name); });

/*
 * A peer with a second adapter, or which accepts the same one, accepts the second link. It then
 * waits for the server's next step, so it is told at once that the link does not exist.
 */
class PeerWithTwoAdapters : public Peer
{
protected:
	void answer_second_link() override
	{
		std::string offer = hear_second_link(), number = offer.substr(31, 1);

		offer[3] = char(0x80);
		EXPECT_TRUE(qp->say(offer));

		/* Only for this link, with the reason that its path is lost. */
		std::string end = hear_llc(4, 0);

		expect_bytes(end, 4, number + hex("00010000"));
		end[3] = char(0x80);
		EXPECT_TRUE(qp->say(end));
	}
};

TEST_P(PeerWithTwoAdapters, GetsNoSecondLink)
{
	live(Role::client);
}

INSTANTIATE_TEST_SUITE_P(, PeerWithTwoAdapters, testing::Values(zos_v1, old_linux, zos_release_0),
			 [](const auto &info) { return std::string(info.param.name); });

/*
 * A DECLINE has the version of the message that it answers: 28 bytes in version 1, 44 in version 2.
 */
class PeerAndDecline : public Peer
{
};

TEST_P(PeerAndDecline, ItsProposalIsDeclined)
{
	RemoteSocket server = agent.listen(Flavor());

	tcp = offering_connection(address_of(1, AF_INET, server.port()));
	if (is_v2())
		send_bytes(tcp, proposal_v2(padded("ANOTHER-EID", 32, ' ')));
	else
		send_bytes(tcp, proposal_v1(hex("0a540000 18")));
	expect_decline(receive_message(tcp), dialect().version, is_v2() ? 0x03030008 : 0x03070000);

	RemoteSocket victim = server.accept();

	check_tcp(tcp, victim);
}

TEST_P(PeerAndDecline, ItsConfirmIsDeclined)
{
	RemoteSocket server = agent.listen(Flavor());

	tcp = offering_connection(address_of(1, AF_INET, server.port()));
	send_bytes(tcp, proposal());
	take_agreement(receive_message(tcp), accept_type, true);
	send_bytes(tcp, agreement(confirm_type, true, 1, default_eid, 0));
	expect_decline(receive_message(tcp), dialect().version, out_of_sync);

	RemoteSocket victim = server.accept();

	check_tcp(tcp, victim);
}

TEST_P(PeerAndDecline, ItsAcceptIsDeclined)
{
	auto [victim, connecting, rogue] = lure(agent);

	check_proposal(receive_message(rogue));
	send_bytes(rogue, agreement(accept_type, true, 1, default_eid, 0));
	expect_decline(receive_message(rogue), dialect().version, out_of_sync);
	EXPECT_EQ(connecting.join(), "0");
	check_tcp(rogue, victim);
}

TEST_P(PeerAndDecline, DeclinesTheProposal)
{
	auto [victim, connecting, rogue] = lure(agent);

	check_proposal(receive_message(rogue));
	send_bytes(rogue, decline(dialect().version, 0x03030000));
	EXPECT_EQ(connecting.join(), "0");
	check_tcp(rogue, victim);
}

TEST_P(PeerAndDecline, DeclinesTheAccept)
{
	RemoteSocket server = agent.listen(Flavor());

	tcp = offering_connection(address_of(1, AF_INET, server.port()));
	send_bytes(tcp, proposal());
	take_agreement(receive_message(tcp), accept_type, true);
	send_bytes(tcp, decline(dialect().version, 0x03030000));

	RemoteSocket victim = server.accept();

	check_tcp(tcp, victim);
	EXPECT_EQ((agent.counters() - *before).sum("violation_"), 0);
}

/* A client whose CONFIRM LINK does not arrive declines in version 1 or 2. */
TEST_P(PeerAndDecline, LinkIsNotConfirmed)
{
	auto [victim, connecting, rogue] = lure(agent);

	check_proposal(receive_message(rogue));
	send_bytes(rogue, agreement(accept_type, true, 1));
	take_agreement(receive_message(rogue), confirm_type, true);
	expect_decline(receive_message(rogue), dialect().version, 0x02010000);
	EXPECT_EQ(connecting.join(), "0");
	check_tcp(rogue, victim);
}

INSTANTIATE_TEST_SUITE_P(, PeerAndDecline, testing::Values(aix, zos_v2),
			 [](const auto &info) { return std::string(info.param.name); });

/* The number of links that a client and the server agree on. The client declines then. */
class AgreedLinks : public Peer
{
protected:
	std::string accept_for(const std::string &vendor_options)
	{
		RemoteSocket server = agent.listen(Flavor());
		std::string message;

		tcp = offering_connection(address_of(1, AF_INET, server.port()));
		message = proposal();
		message.replace(52, vendor_options.size(), vendor_options);
		send_bytes(tcp, message);
		message = receive_message(tcp);
		send_bytes(tcp, decline(dialect().version, 0x03030000));

		RemoteSocket victim = server.accept();

		check_tcp(tcp, victim);
		return message;
	}
	/* The peer accepts two links. */
	std::string confirm()
	{
		auto [victim, connecting, rogue] = lure(agent);
		std::string message;

		receive_message(rogue);
		send_bytes(rogue, agreement(accept_type, true, 1));
		message = receive_message(rogue);
		send_bytes(rogue, decline(dialect().version, 0x03030000));
		EXPECT_EQ(connecting.join(), "0");
		check_tcp(rogue, victim);
		return message;
	}
	/* Of an ACCEPT or CONFIRM. */
	void expect_links(const std::string &message, int links, const std::string &named)
	{
		EXPECT_EQ(number_at(message, 141, 1), unsigned(links));
		expect_bytes(message, 144, named);
	}

	const std::string this_module = hex("02534d 00");
};

TEST_P(AgreedLinks, WithOthersAreOne)
{
	expect_links(accept_for(""), 1, zeros(4));
	expect_links(accept_for(hex("010203 02")), 1, zeros(4));
}

TEST_P(AgreedLinks, WithOthersMayBeTwo)
{
	RemoteSysctlScope foreign(agent, "net.smc.smcr_max_links_foreign", "2");

	expect_links(accept_for(""), 2, zeros(4));
	expect_links(confirm(), 2, zeros(4));
}

TEST_P(AgreedLinks, WithThisModuleAreTwo)
{
	expect_links(accept_for(hex("02534d 02")), 2, this_module);
	expect_links(accept_for(hex("02534d ff")), 2, this_module);
	expect_links(accept_for(hex("02534d 01")), 1, this_module);
	/* No client has the option with 0. */
	expect_links(accept_for(hex("02534d 00")), 1, zeros(4));
	vendor = this_module;
	expect_links(confirm(), 2, this_module);
}

TEST_P(AgreedLinks, WithThisModuleMayBeOne)
{
	RemoteSysctlScope limit(agent, "net.smc.smcr_max_links_per_lgr", "1");

	expect_links(accept_for(hex("02534d 02")), 1, this_module);
	vendor = this_module;
	expect_links(confirm(), 1, this_module);
}

INSTANTIATE_TEST_SUITE_P(, AgreedLinks, testing::Values(zos_v2),
			 [](const auto &info) { return std::string(info.param.name); });

/*
 * A peer of a future version: its number is 3, reserved fields are not zero, unknown areas lie
 * between the known ones, and another one follows the last. The answer has the newest known
 * version.
 */
class Newcomer : public Peer
{
protected:
	/* @v1, @v2: the offer in these versions, 0 for SMC-R and 2 for nothing */
	std::string proposal_v3(uint8_t v1, uint8_t v2) const
	{
		const std::string unknown(16, '\xee');
		std::string ip = hex("0a530000 18 eeee 00");

		return clc(proposal_type, 0x30 | v2 << 2 | v1,
			   peer_id() + own_gid() + mac + be(40 + 16, 2) + /* IP area at 96 */
			       zeros(10) + be(28 + 16 + 8, 2) +		  /* extension at 104 */
			       std::string(28, '\xee') +		  /* vendor's, reserved */
			       unknown + ip +				  /* 80, 96 */
			       hex("02 00 ee 52 eeee 0000") +		  /* 104: release 5 */
			       own_gid() + hex("10 02 fffe") + std::string(12, '\xee') +
			       padded("AN-EID-TO-COME", 32, ' ') + default_eid + unknown);
	}
	void propose(const std::string &message)
	{
		tcp = offering_connection(address_of(1, AF_INET, server->port()));
		send_bytes(tcp, message);
	}
	/* The handshake continues in the version of the answer. */
	void go_on()
	{
		Job accept = server->start_accept();

		take_agreement(receive_message(tcp), accept_type, true);
		connect_queue_pair();
		send_bytes(tcp, agreement(confirm_type, true, 1));
		expect_confirm_link(0);
		ASSERT_TRUE(qp->say(confirm_link(0x80)));
		if (!is_v2())
			refuse_second_link();

		RemoteSocket victim(agent, std::stoi(accept.join()));

		converse(victim);
		close_in_order(victim);
		leave_group();
		EXPECT_EQ((agent.counters() - *before).sum("violation_"), 0);
	}

	std::optional<RemoteSocket> server;
};

TEST_P(Newcomer, IsAnsweredInTheNewestThatIsKnown)
{
	server.emplace(agent.listen(Flavor()));
	propose(proposal_v3(0, is_v2() ? 0 : 2));
	go_on();
}

/* Version 2 is the newest that a DECLINE can have. */
TEST_P(Newcomer, IsDeclined)
{
	server.emplace(agent.listen(Flavor()));
	propose(proposal_v3(2, 2));

	std::string message = receive_message(tcp);

	ASSERT_EQ(message.size(), 44u) << to_hex(message);
	expect_decline(message, 2, number_at(message, 16, 4));

	RemoteSocket victim = server->accept();

	check_tcp(tcp, victim);
}

INSTANTIATE_TEST_SUITE_P(, Newcomer, testing::Values(zos_v1, zos_v2), [](const auto &info) {
	return info.param.version == 1 ? "Version1" : "Version2";
});
