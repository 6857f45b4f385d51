/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An SMC peer played by hand in this guest: CLC messages as bytes over a plain TCP socket
 * whose SYN or SYN-ACK offers SMC (kmod/smc_offer.c), and if need be a queue pair of its own.
 */
#ifndef GUEST_ROGUE_H
#define GUEST_ROGUE_H

#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "agent.h"
#include "system.h"
#include "wire/clc.h"

namespace guest
{

/* A TCP socket of AF_INET that offers SMC. */
Fd offering_socket();
/* One that is connected to @to, @from an address of this guest or, if that is empty, from any. */
Fd offering_connection(const Address &to, const std::string &from = "");

/* An agent's client that connects to a listener of this kind, and the socket accepted there. */
struct Lured {
	RemoteSocket client;
	Job connecting;
	Fd rogue;
};

/* @at: an address of this guest. */
Lured lure(Agent &agent, const std::string &at = address_of(0, AF_INET, 0).text());

/*
 * A client and a server of an agent's that talk by SMC-D, and the rogue between them, which has
 * the TCP connection of either.
 */
struct Relayed {
	RemoteSocket client, server;
	Fd to_client, to_server;
};

/* @at, @server_at: an address of this guest, and one of the listener's. */
Relayed relay(
    Agent &agent, RemoteSocket &listener, const std::string &at, const std::string &server_at,
    const std::function<void(smc_clc_proposal &)> &change = [](smc_clc_proposal &) {});

/* The ISM device of an agent's host, as its clients offer it. */
smc_clc_ism host_device(Agent &agent);

/* Messages of a well-behaved peer in this guest; tests spoil them. */
smc_clc_proposal good_proposal();
/* Of a made-up link that nothing can be sent over. */
smc_clc_agreement good_agreement(smc_clc_type type);
/* The same for SMC-R of version 1. */
smc_clc_proposal good_proposal_of_version_1();
/* The same for SMC-D, by the ISM device of a host: an offer, and an element that is not there. */
smc_clc_proposal good_proposal(const smc_clc_ism &device);
smc_clc_agreement good_agreement(smc_clc_type type, const smc_clc_ism &device);

std::string encode(const smc_clc_proposal &proposal);
std::string encode(const smc_clc_agreement &agreement);
std::string encode_decline(uint32_t diagnosis, uint8_t version = SMC_VERSION_2,
			   bool out_of_sync = false);

/* A connection to a server that was sent this. @from: an address of this guest, or any. */
Fd propose(const Address &to, const smc_clc_proposal &proposal, const std::string &from = "");

/* Another address of this guest, as a stranger has it, for as long as it lives. */
class OtherAddress
{
public:
	OtherAddress();
	OtherAddress(const OtherAddress &) = delete;
	~OtherAddress();

	static constexpr char text[] = "10.83.0.77";
};

void send_bytes(int fd, const std::string &bytes);
/* The next CLC message; empty at the end of the stream or a reset. */
std::string receive_message(int fd, int seconds = 30);
/* Of a message that must be one of this type. */
smc_clc_proposal parse_proposal(const std::string &message);
smc_clc_agreement parse_agreement(const std::string &message, smc_clc_type type);
smc_clc_proposal receive_proposal(int fd);
smc_clc_agreement receive_agreement(int fd, smc_clc_type type);
/* The diagnosis, if the bytes are a DECLINE. */
std::optional<uint32_t> diagnosis_of(const std::string &message);

/* Both ends work, by TCP. */
void check_tcp(int rogue, RemoteSocket &victim);

/*
 * For programs whose rogues make links that lead nowhere, while the next test is to have one from
 * the same address: neither end takes note of them.
 */
class TakesNoNote : public testing::Environment
{
	void SetUp() override;
	void TearDown() override;

	static constexpr char timeout[] = "net.smc.blackhole_timeout";

	std::optional<Agent> agent;
	std::optional<SysctlScope> here;
	std::optional<RemoteSysctlScope> there;
};

/* SMC has ended the victim's connection by an error. */
void expect_reset(RemoteSocket &victim);

} // namespace guest

#endif
