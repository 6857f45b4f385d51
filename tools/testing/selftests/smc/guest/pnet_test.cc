// SPDX-License-Identifier: GPL-2.0
/* The PNET table: which RDMA ports are on the network of a network device. */
#include <gtest/gtest.h>

#include "agent.h"
#include "smc_tool.h"
#include "system.h"

using namespace guest;

namespace
{

class Pnet : public testing::Test
{
protected:
	Pnet()
	{
		must_run(smc("pnet add NET1 dev eth0"));
	}
	~Pnet() override
	{
		run_command(smc("pnet flush") + "; rmmod rdma_parent");
	}
	void expect_data(bool by_smc)
	{
		Connection connection = make_connection(agent, {Kind::smc, AF_INET});

		check_data(connection, 1000, by_smc);
	}
	/* The PNET ID is shown for the link group and for the device. */
	void expect_shown()
	{
		for (const char *what : {"group", "dev"})
			EXPECT_NE(must_run(smc(std::string("-j ") + what)).find("\"NET1\""),
				  std::string::npos)
			    << what;
	}

	Agent agent;
};

} // namespace

TEST_F(Pnet, PortOfTheNetwork)
{
	expect_data(false);
	must_run(smc("pnet add NET2 ib rxe0"));
	expect_data(false);
	must_run(smc("pnet del NET2"));
	must_run(smc("pnet add NET1 ib rxe0"));
	expect_data(true);
	expect_shown();
}

/* The manuals of other tools name adapters by their PCI function. */
TEST_F(Pnet, PortOfAPciFunction)
{
	std::string function = must_run("basename $(realpath /sys/class/net/eth0/device/..)");

	function.pop_back();
	must_run("insmod $LAB_BUILD/selftests/kmod/$(uname -r)/rdma_parent.ko ibdev=rxe0 pci=" +
		 function);
	expect_data(false);
	must_run(smc("pnet add NET1 ib " + function));
	expect_data(true);
	expect_shown();
}
