// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "describe.h"
#include "edit.h"

namespace wire {
namespace {

TEST(Vendor, LinksOptionIsRead) {
  smc_clc_proposal p = {};
  EXPECT_EQ(smc_clc_links_option(&p), 0);
  smc_clc_set_links_option(&p, 2);
  EXPECT_EQ(Hex(p.vendor_oui), "02534d");
  EXPECT_EQ(Hex(p.vendor_options), "0200000000");
  EXPECT_EQ(smc_clc_links_option(&p), 2);
}

TEST(Vendor, OptionsOfOthersAreNot) {
  for (int i = 0; i < 3; i++) {
    smc_clc_proposal p = {};
    smc_clc_set_links_option(&p, 2);
    p.vendor_oui[i] ^= 1;
    EXPECT_EQ(smc_clc_links_option(&p), 0) << i;
  }
}

TEST(Vendor, IsNamed) {
  smc_clc_first_contact fc = {};
  EXPECT_FALSE(smc_clc_has_vendor(&fc));
  smc_clc_set_vendor(&fc);
  EXPECT_EQ(Hex(fc.vendor), "02534d00");
  EXPECT_TRUE(smc_clc_has_vendor(&fc));
  fc.vendor[2] ^= 1;
  EXPECT_FALSE(smc_clc_has_vendor(&fc));
}

}  // namespace
}  // namespace wire
