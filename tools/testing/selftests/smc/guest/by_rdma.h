/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GUEST_BY_RDMA_H
#define GUEST_BY_RDMA_H

#include "system.h"

namespace guest
{

/* Connections of this guest to itself go by SMC-R for as long as it lives. */
class ByRdma
{
public:
	ByRdma();
	ByRdma(const ByRdma &) = delete;
	~ByRdma();

private:
	SysctlScope no_ism{"net.smc.smcd", "0"};
};

} // namespace guest

#endif
