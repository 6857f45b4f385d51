/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GUEST_ROCE_V1_H
#define GUEST_ROCE_V1_H

#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "agent.h"

namespace guest
{

/*
 * For programs whose rogues speak SMC-R of version 1: the agent's guest has GIDs of RoCE v1, as
 * hosts with adapters have (kmod/roce_v1.c). They are of an address of their own.
 */
class RoceV1 : public testing::Environment
{
	void SetUp() override;
	void TearDown() override;
	void expect_gid(bool there);

	std::optional<Agent> agent;
};

} // namespace guest

#endif
