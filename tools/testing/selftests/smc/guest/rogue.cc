// SPDX-License-Identifier: GPL-2.0
#include "rogue.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SMC_OFFER _IO('S', 1)

namespace guest
{

namespace
{

constexpr uint8_t own_mac[SMC_MAC_LEN] = {0x52, 0x54, 0x83, 0x00, 0x00, 0x01};
/*
 * Not the id of this guest, which its own module uses, and another one in each test, because an
 * earlier peer with the same id may have left its link group behind.
 */
void fill_id(uint8_t *id)
{
	uint16_t instance = getpid();

	memcpy(id, &instance, sizeof(instance));
	memcpy(id + 2, own_mac, sizeof(own_mac));
}

void fill_gid(uint8_t *gid)
{
	in_addr address = {};

	inet_pton(AF_INET, address_of(0, AF_INET, 0).text().c_str(), &address);
	memset(gid, 0, SMC_GID_LEN);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &address, 4);
}

void fill_eid(uint8_t *eid)
{
	memset(eid, ' ', SMC_EID_LEN);
	memcpy(eid, "SMC-DEFAULT-EID", 15);
}

void load_offer()
{
	utsname name;

	if (!access("/dev/smc_offer", F_OK))
		return;
	uname(&name);
	must_run("insmod $LAB_BUILD/selftests/kmod/" + std::string(name.release) + "/smc_offer.ko");
}

std::string receive_some(int fd, size_t len, int seconds)
{
	std::string bytes;

	while (bytes.size() < len) {
		std::string part(len - bytes.size(), '\0');

		await(fd, POLLIN, seconds);

		ssize_t n = recv(fd, part.data(), part.size(), 0);

		if (n <= 0)
			break;
		bytes.append(part, 0, n);
	}
	return bytes;
}

} // namespace

Fd offering_socket()
{
	load_offer();

	Fd device(open("/dev/smc_offer", O_RDWR | O_CLOEXEC));
	Fd fd = must_socket({Kind::tcp, AF_INET});

	if (device < 0 || ioctl(device, SMC_OFFER, int(fd)))
		throw_errno("/dev/smc_offer");
	return fd;
}

Lured lure(Agent &agent, const std::string &at)
{
	Fd listener = offering_socket();

	if (listen(listener, 1))
		throw_errno("listen");

	RemoteSocket client = agent.socket(Flavor());
	Job connecting = client.start_connect(address_from(at, local_address(listener).port()));

	return {std::move(client), connecting, must_accept(listener)};
}

Relayed relay(Agent &agent, RemoteSocket &listener, const std::string &at,
	      const std::string &server_at, const std::function<void(smc_clc_proposal &)> &change)
{
	auto [client, connecting, to_client] = lure(agent, at);
	smc_clc_proposal proposal = receive_proposal(to_client);

	change(proposal);

	Fd to_server = propose(address_from(server_at, listener.port()), proposal);

	send_bytes(to_client, encode(receive_agreement(to_server, SMC_CLC_ACCEPT)));
	send_bytes(to_server, encode(receive_agreement(to_client, SMC_CLC_CONFIRM)));
	EXPECT_EQ(connecting.join(), "0");
	return {std::move(client), listener.accept(), std::move(to_client), std::move(to_server)};
}

smc_clc_ism host_device(Agent &agent)
{
	auto [client, connecting, rogue] = lure(agent);
	smc_clc_proposal proposal = receive_proposal(rogue);

	send_bytes(rogue, encode_decline(SMC_DIAG_NO_DEVICE));
	connecting.join();
	if (!proposal.has_dv2 || proposal.n_ism != 1)
		throw std::runtime_error("no ISM device is offered");
	return proposal.ism[0];
}

smc_clc_proposal good_proposal()
{
	smc_clc_proposal p = {};

	p.version = SMC_VERSION_2;
	p.offer_v1 = SMC_OFFER_NONE;
	p.offer_v2 = SMC_OFFER_R;
	fill_id(p.peer_id);
	memcpy(p.mac, own_mac, sizeof(own_mac));
	fill_gid(p.gid_v2);
	p.release = 1;
	p.n_eids = 1;
	fill_eid(p.eids[0]);
	p.max_conns = 255;
	p.max_links = 1;
	return p;
}

smc_clc_proposal good_proposal_of_version_1()
{
	smc_clc_proposal p = good_proposal();
	const uint8_t subnet[] = {10, 83, 0, 0};

	p.version = SMC_VERSION_1;
	p.offer_v1 = SMC_OFFER_R;
	p.offer_v2 = SMC_OFFER_NONE;
	memcpy(p.gid_v1, p.gid_v2, sizeof(p.gid_v1));
	memcpy(p.prefix4, subnet, sizeof(subnet));
	p.prefix4_len = 24;
	return p;
}

smc_clc_proposal good_proposal(const smc_clc_ism &device)
{
	smc_clc_proposal p = good_proposal();

	p.offer_v2 = SMC_OFFER_D;
	p.ism_gid = device.gid;
	p.ism_chid = device.chid;
	p.features = SMC_FEATURE_EMULATED_ISM;
	p.has_dv2 = true;
	p.n_ism = 1;
	p.ism[0] = device;
	return p;
}

namespace
{

/* The part that both kinds have in common. */
smc_clc_agreement agreement(smc_clc_type type)
{
	smc_clc_agreement a = {};

	a.type = type;
	a.version = SMC_VERSION_2;
	a.first_contact = true;
	fill_eid(a.eid);
	a.fc.direct = true;
	a.fc.os_type = SMC_OS_LINUX;
	a.fc.release = 1;
	/* A sequence that would change the colours of a terminal. */
	memcpy(a.fc.hostname, "rogue\x1b[31m", 10);
	a.fc.max_conns = 255;
	a.fc.max_links = 1;
	return a;
}

} // namespace

smc_clc_agreement good_agreement(smc_clc_type type, const smc_clc_ism &device)
{
	smc_clc_agreement a = agreement(type);

	a.is_d = true;
	a.d.gid = device.gid;
	a.d.gid_ext = device.gid_ext;
	a.d.chid = device.chid;
	a.d.token = 0x0815081508150815;
	a.d.dmbe_size_code = 4;
	a.d.link_id = 1;
	return a;
}

smc_clc_agreement good_agreement(smc_clc_type type)
{
	smc_clc_agreement a = agreement(type);

	fill_id(a.r.peer_id);
	fill_gid(a.r.gid);
	memcpy(a.r.mac, own_mac, sizeof(own_mac));
	a.r.qpn = 0x123456;
	a.r.psn = 1;
	a.r.rkey = 0x4711;
	a.r.rmb_addr = 0x7f0000000000;
	a.r.rmbe_index = 1;
	a.r.rmbe_size_code = 2;
	a.r.qp_mtu = 3;
	a.r.alert_token = 0x815;
	a.n_gids = 1;
	fill_gid(a.gids[0]);
	return a;
}

std::string encode(const smc_clc_proposal &proposal)
{
	uint8_t buf[SMC_CLC_MAX_LEN];

	return {reinterpret_cast<char *>(buf), smc_clc_build_proposal(buf, &proposal)};
}

std::string encode(const smc_clc_agreement &agreement)
{
	uint8_t buf[SMC_CLC_MAX_LEN];

	return {reinterpret_cast<char *>(buf), smc_clc_build_agreement(buf, &agreement)};
}

std::string encode_decline(uint32_t diagnosis, uint8_t version, bool out_of_sync)
{
	uint8_t buf[SMC_CLC_MAX_LEN];
	smc_clc_decline decline = {};

	decline.version = version;
	decline.diagnosis = diagnosis;
	decline.out_of_sync = out_of_sync;
	decline.os_type = SMC_OS_LINUX;
	fill_id(decline.peer_id);
	return {reinterpret_cast<char *>(buf), smc_clc_build_decline(buf, &decline)};
}

Fd offering_connection(const Address &to, const std::string &from)
{
	Fd fd = offering_socket();

	if (!from.empty()) {
		Address local = address_from(from, 0);

		if (bind(fd, local.get(), local.len))
			throw_errno("bind");
	}
	if (connect(fd, to.get(), to.len))
		throw_errno("connect");
	return fd;
}

Fd propose(const Address &to, const smc_clc_proposal &proposal, const std::string &from)
{
	Fd fd = offering_connection(to, from);

	send_bytes(fd, encode(proposal));
	return fd;
}

OtherAddress::OtherAddress()
{
	must_run(std::string("ip addr add ") + text + "/24 dev eth0");
}

OtherAddress::~OtherAddress()
{
	run_command(std::string("ip addr del ") + text + "/24 dev eth0");
}

void send_bytes(int fd, const std::string &bytes)
{
	/* The victim may have closed before the last bytes. */
	if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE &&
	    errno != ECONNRESET)
		throw_errno("send");
}

std::string receive_message(int fd, int seconds)
{
	std::string message = receive_some(fd, SMC_CLC_HEADER_LEN, seconds);

	if (message.size() < SMC_CLC_HEADER_LEN)
		return "";

	size_t len = uint8_t(message[5]) << 8 | uint8_t(message[6]);

	if (len < SMC_CLC_HEADER_LEN)
		throw std::runtime_error("a CLC message of length " + std::to_string(len));
	message += receive_some(fd, len - SMC_CLC_HEADER_LEN, seconds);
	if (message.size() < len)
		throw std::runtime_error("half a CLC message");
	return message;
}

smc_clc_proposal parse_proposal(const std::string &message)
{
	smc_clc_proposal p = {};

	if (smc_clc_parse_proposal(reinterpret_cast<const uint8_t *>(message.data()),
				   message.size(), &p))
		throw std::runtime_error("no PROPOSAL");
	return p;
}

smc_clc_agreement parse_agreement(const std::string &message, smc_clc_type type)
{
	smc_clc_agreement a = {};

	if (smc_clc_parse_agreement(reinterpret_cast<const uint8_t *>(message.data()),
				    message.size(), &a) ||
	    a.type != type) {
		auto diagnosis = diagnosis_of(message);
		char text[32] = "";

		if (diagnosis)
			snprintf(text, sizeof(text), " but DECLINE %08x", *diagnosis);
		throw std::runtime_error("neither ACCEPT nor CONFIRM" + std::string(text));
	}
	return a;
}

smc_clc_proposal receive_proposal(int fd)
{
	return parse_proposal(receive_message(fd));
}

smc_clc_agreement receive_agreement(int fd, smc_clc_type type)
{
	return parse_agreement(receive_message(fd), type);
}

std::optional<uint32_t> diagnosis_of(const std::string &message)
{
	smc_clc_decline decline = {};

	if (message.size() < SMC_CLC_HEADER_LEN || message[4] != SMC_CLC_DECLINE ||
	    smc_clc_parse_decline(reinterpret_cast<const uint8_t *>(message.data()), message.size(),
				  &decline))
		return {};
	return decline.diagnosis;
}

void check_tcp(int rogue, RemoteSocket &victim)
{
	send_bytes(rogue, "by TCP");
	EXPECT_EQ(victim.recv(6, MSG_WAITALL), "by TCP");
	EXPECT_EQ(victim.send("so it is"), 8);

	char bytes[8];

	EXPECT_EQ(recv(rogue, bytes, 8, MSG_WAITALL), 8);
	EXPECT_EQ(std::string(bytes, 8), "so it is");
}

void expect_reset(RemoteSocket &victim)
{
	long rc;

	victim.await(POLLHUP);
	victim.recv(1, 0, &rc);
	EXPECT_EQ(rc, -ECONNRESET);
	/* An error is reported once. */
	EXPECT_EQ(victim.send("x"), -EPIPE);
}

void TakesNoNote::SetUp()
{
	agent.emplace();
	here.emplace(timeout, "0");
	there.emplace(*agent, timeout, "0");
}

void TakesNoNote::TearDown()
{
	there.reset();
	here.reset();
	agent.reset();
}

} // namespace guest
