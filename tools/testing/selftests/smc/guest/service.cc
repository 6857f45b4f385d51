// SPDX-License-Identifier: GPL-2.0
#include "service.h"

#include <gtest/gtest.h>
#include <linux/smc_diag.h>

namespace guest
{

Address loopback(int port)
{
	return address_from("127.0.0.1", port);
}

Ends connect_and_echo(const Flavor &flavor, int listener)
{
	Flow flow = {.seed = 1, .bytes = 10000};
	Fd client = must_connect(flavor, loopback(local_address(listener).port()));
	Fd server = must_accept(listener);

	send_flow(client, flow);
	recv_flow(server, flow);
	send_flow(server, flow);
	recv_flow(client, flow);
	return {std::move(client), std::move(server)};
}

void serve(int rounds)
{
	Fd listener = must_listen(Flavor());

	for (int i = 0; i < rounds; i++) {
		Ends ends = connect_and_echo(Flavor(), listener);

		EXPECT_EQ(socket_mode(ends.here), SMC_DIAG_MODE_SMCD);
		EXPECT_EQ(socket_mode(ends.there), SMC_DIAG_MODE_SMCD);
	}
}

} // namespace guest
