// SPDX-License-Identifier: GPL-2.0
#include "by_rdma.h"

#include "smc_tool.h"

namespace guest
{

/* An RDMA device belongs to eth0, but packets to this guest use lo: both get the same PNET ID. */
ByRdma::ByRdma()
{
	must_run("lab-rxe eth0");
	must_run(smc("pnet add LOCAL dev lo") + " && " + smc("pnet add LOCAL ib rxe0"));
}

ByRdma::~ByRdma()
{
	run_command(smc("pnet del LOCAL") + "; rdma link delete rxe0");
}

} // namespace guest
