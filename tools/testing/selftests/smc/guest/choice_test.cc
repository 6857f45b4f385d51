// SPDX-License-Identifier: GPL-2.0
/*
 * The choice between SMC-D and SMC-R, and their versions. A rogue in this guest sends what an end
 * with this module never would, because this module offers all that it supports.
 */
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent.h"
#include "place.h"
#include "rogue.h"
#include "smc_tool.h"
#include "wire/size_class.h"

using namespace guest;

class Choice : public testing::Test
{
protected:
	/* Version 1 compares subnets. Loopback addresses share none with other devices. */
	static std::string address(int node)
	{
		return peer_place() == Place::host ? "127.0.0.1"
						   : address_of(node, AF_INET, 0).text();
	}
	Fd propose_to_listener(const smc_clc_proposal &proposal)
	{
		return propose(address_from(address(1), listener.port()), proposal);
	}
	/* The rogue declines, unless it was declined. */
	void expect_tcp(int rogue)
	{
		RemoteSocket victim = listener.accept();

		check_tcp(rogue, victim);
	}
	void decline(int rogue)
	{
		send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
		expect_tcp(rogue);
	}

	Agent agent;
	RemoteSocket listener = agent.listen(Flavor());
};

/* ISM devices that only the client has don't prevent the use of the common one. */
TEST_F(Choice, AmongIsmDevices)
{
	smc_clc_ism device = host_device(agent);
	smc_clc_proposal proposal = good_proposal(device);

	proposal.n_ism = 3;
	proposal.ism[0] = {.gid = 0x0815, .chid = 0x07c1};
	proposal.ism[1] = {.gid = device.gid ^ 1, .gid_ext = device.gid_ext, .chid = device.chid};
	proposal.ism[2] = device;

	Fd rogue = propose_to_listener(proposal);
	smc_clc_agreement accept = receive_agreement(rogue, SMC_CLC_ACCEPT);

	ASSERT_TRUE(accept.is_d);
	EXPECT_EQ(accept.version, SMC_VERSION_2);
	EXPECT_NE(accept.d.gid, device.gid) << "a name for all";
	EXPECT_EQ(accept.d.chid, device.chid);
	decline(rogue);
}

/* A client that gives up meanwhile. The server's application reads nothing of its DECLINE. */
TEST_F(Choice, IsDeclinedByBothEnds)
{
	smc_clc_proposal proposal = good_proposal({.gid = 0x0815, .chid = 0x07c1});

	proposal.offer_v1 = SMC_OFFER_NONE;
	proposal.offer_v2 = SMC_OFFER_D;

	Fd rogue = propose_to_listener(proposal);

	EXPECT_TRUE(diagnosis_of(receive_message(rogue)));
	decline(rogue);
}

/* A client that supports only SMC-D of version 1. */
class SmcdVersion1 : public Choice
{
protected:
	SmcdVersion1()
	{
		auto [client, connecting, rogue] = lure(agent, address(0));

		offered = receive_proposal(rogue);
		proposal = without_version_2(offered);
		send_bytes(rogue, encode_decline(SMC_DIAG_NO_DEVICE));
		connecting.join();
	}
	static smc_clc_proposal without_version_2(smc_clc_proposal p)
	{
		EXPECT_TRUE(smc_offer_has(p.offer_v1, SMC_OFFER_D));
		p.version = SMC_VERSION_1;
		p.offer_v1 = SMC_OFFER_D;
		p.offer_v2 = SMC_OFFER_NONE;
		return p;
	}
	void expect_accepted(const smc_clc_proposal &from)
	{
		Fd rogue = propose_to_listener(from);
		std::string message = receive_message(rogue);
		smc_clc_agreement accept = parse_agreement(message, SMC_CLC_ACCEPT);

		EXPECT_EQ(message.size(), 48u);
		EXPECT_EQ(message, encode(accept)) << "more than version 1 has";
		EXPECT_EQ(accept.version, SMC_VERSION_1);
		ASSERT_TRUE(accept.is_d);
		EXPECT_NE(accept.d.gid, from.ism_gid) << "a name for all";
		EXPECT_NE(accept.d.token, 0u);
		EXPECT_LE(accept.d.dmbe_size_code, SMC_SIZE_CLASS_D_MAX);
		EXPECT_NE(accept.d.link_id, 0u);
		decline(rogue);
	}
	void expect_declined()
	{
		Fd rogue = propose_to_listener(proposal);

		EXPECT_EQ(diagnosis_of(receive_message(rogue)), uint32_t(SMC_DIAG_NO_DEVICE_D));
		expect_tcp(rogue);
	}
	/* The number of handshakes in the agent's guest that ended with this path and version. */
	int64_t agreed(const std::string &role)
	{
		auto stats = parse_json(agent.must_run(smc("-j stats")));

		return stats.at("smcd").at(role + "-v1").get<int64_t>();
	}

	smc_clc_proposal offered; /* proposed by the agent's host */
	smc_clc_proposal proposal;
};

TEST_F(SmcdVersion1, IsAccepted)
{
	expect_accepted(proposal);
}

/* The client prefers version 2, but its EIDs don't match the server's. */
TEST_F(SmcdVersion1, InPlaceOfVersion2)
{
	offered.offer_v1 = offered.offer_v2 = SMC_OFFER_D;
	offered.has_seid = false;
	for (int i = 0; i < offered.n_eids; i++)
		offered.eids[i][0] = 'X';
	expect_accepted(offered);
	offered.n_eids = 0;
	expect_accepted(offered);
}

TEST_F(SmcdVersion1, OtherSubnet)
{
	proposal.prefix4[1] ^= 1;
	expect_declined();
}

TEST_F(SmcdVersion1, SmallerSubnet)
{
	proposal.prefix4_len++;
	expect_declined();
}

TEST_F(SmcdVersion1, OtherGid)
{
	proposal.ism_gid ^= 1;
	expect_declined();
}

/* The rogue sits between a client and a server of one host, and hides the client's other offers. */
TEST_F(SmcdVersion1, CarriesData)
{
	Flow out = {.seed = 1, .bytes = 3000000}, in = {.seed = 2, .bytes = 2000000};
	int64_t clients = agreed("client"), servers = agreed("server");
	auto [client, server, to_client, to_server] =
	    relay(agent, listener, address(0), address(1),
		  [](smc_clc_proposal &p) { p = without_version_2(p); });
	Counters before = agent.counters();
	Job far = server.start_exchange(in, out);

	client.start_exchange(out, in).join();
	far.join();
	EXPECT_EQ((agent.counters() - before)["ism_write_bytes"], int64_t(out.bytes + in.bytes));
	EXPECT_EQ(agreed("client"), clients + 1);
	EXPECT_EQ(agreed("server"), servers + 1);
	client.close();
	server.expect_end();
}

/* If a host has a device for SMC-R as well, its clients offer both. */
class BothPaths : public Choice
{
protected:
	void SetUp() override
	{
		NEEDS_ANOTHER_HOST("within a host there is no RDMA device");
	}
	static smc_clc_proposal offering_both(const smc_clc_ism &device)
	{
		smc_clc_proposal proposal = good_proposal(device);

		proposal.offer_v2 = SMC_OFFER_BOTH;
		return proposal;
	}
};

TEST_F(BothPaths, AreOffered)
{
	auto [client, connecting, rogue] = lure(agent);

	EXPECT_EQ(receive_proposal(rogue).offer_v2, SMC_OFFER_BOTH);
	send_bytes(rogue, encode_decline(SMC_DIAG_NO_MEMORY));
	ASSERT_EQ(connecting.join(), "0");
	check_tcp(rogue, client);
}

TEST_F(BothPaths, SmcDOnTheSameHost)
{
	smc_clc_ism device = host_device(agent);
	smc_clc_proposal proposal = offering_both(device);
	Fd rogue = propose_to_listener(proposal);
	smc_clc_agreement accept = receive_agreement(rogue, SMC_CLC_ACCEPT);

	EXPECT_EQ(accept.version, SMC_VERSION_2);
	ASSERT_TRUE(accept.is_d);
	EXPECT_NE(accept.d.gid, device.gid) << "a name for all";
	EXPECT_EQ(memcmp(accept.eid, proposal.eids[0], SMC_EID_LEN), 0);
	decline(rogue);
}

TEST_F(BothPaths, SmcRFromAnother)
{
	smc_clc_ism first_half = host_device(agent), second_half = first_half;

	first_half.gid ^= 1;
	second_half.gid_ext ^= 1;
	for (const smc_clc_ism &device : {first_half, second_half}) {
		smc_clc_proposal proposal = offering_both(device);
		Fd rogue = propose_to_listener(proposal);
		smc_clc_agreement accept = receive_agreement(rogue, SMC_CLC_ACCEPT);

		EXPECT_EQ(accept.version, SMC_VERSION_2);
		EXPECT_FALSE(accept.is_d);
		EXPECT_EQ(memcmp(accept.eid, proposal.eids[0], SMC_EID_LEN), 0);
		decline(rogue);
	}
}
