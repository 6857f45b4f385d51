// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "describe.h"
#include "edit.h"

namespace wire {
namespace {

TEST(Decline, Version1Is28Bytes) {
  const char* bytes =
      "e2d4c3d9 04 001c 18"  // header: 28 bytes, out of sync
      "0001 525400000001 04000000 20000000 e2d4c3d9";
  auto d = Parse<smc_clc_decline>(FromHex(bytes));
  ASSERT_EQ(d.error, 0);
  EXPECT_EQ(d.value.version, SMC_VERSION_1);
  EXPECT_TRUE(d.value.out_of_sync);
  EXPECT_EQ(Hex(d.value.peer_id), "0001525400000001");
  EXPECT_EQ(d.value.diagnosis, u32{SMC_DIAG_SYNC});
  EXPECT_EQ(d.value.os_type, SMC_OS_LINUX);
  EXPECT_EQ(Hex(Build(d.value)), Hex(FromHex(bytes)));
}

TEST(Decline, Version2HasFourMoreDiagnoses) {
  const char* bytes =
      "e2d4c3d9 04 002c 20"  // header: 44 bytes
      "0001 525400000001 03030000 10000000"
      "03030002 03030007 03030008 03030004 e2d4c3d9";
  auto d = Parse<smc_clc_decline>(FromHex(bytes));
  ASSERT_EQ(d.error, 0);
  EXPECT_EQ(d.value.version, SMC_VERSION_2);
  EXPECT_FALSE(d.value.out_of_sync);
  EXPECT_EQ(d.value.os_type, SMC_OS_ZOS);
  EXPECT_EQ(d.value.diagnosis, u32{SMC_DIAG_NO_DEVICE});
  EXPECT_EQ(d.value.further[0], u32{SMC_DIAG_NO_DEVICE_R});
  EXPECT_EQ(d.value.further[1], u32{SMC_DIAG_NO_DV2_DEVICE});
  EXPECT_EQ(d.value.further[2], u32{SMC_DIAG_NO_UEID});
  EXPECT_EQ(d.value.further[3], u32{SMC_DIAG_NO_V2_EXTENSION});
  EXPECT_EQ(Hex(Build(d.value)), Hex(FromHex(bytes)));
}

TEST(Decline, ShortFormIsToleratedInVersion2) {
  smc_clc_decline d = {};
  d.version = SMC_VERSION_2;
  d.diagnosis = SMC_DIAG_NO_UEID;
  d.further[0] = 1;
  for (size_t less = 1; less <= 16; less++) {
    auto parsed = Parse<smc_clc_decline>(Shortened(Build(d), less));
    ASSERT_EQ(parsed.error, 0);
    EXPECT_EQ(parsed.value.diagnosis, u32{SMC_DIAG_NO_UEID});
    EXPECT_EQ(parsed.value.further[0], 0u);
  }
  EXPECT_EQ(Parse<smc_clc_decline>(Shortened(Build(d), 17)).error, -EPROTO);
}

TEST(Decline, LongerFormIsToleratedInVersion2Only) {
  smc_clc_decline d = {};
  d.version = SMC_VERSION_2;
  d.further[3] = 7;
  auto parsed = Parse<smc_clc_decline>(Extended(Build(d), 100));
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(Describe(parsed.value), Describe(d));

  d.version = SMC_VERSION_1;
  EXPECT_EQ(Parse<smc_clc_decline>(Extended(Build(d), 16)).error, -EPROTO);
}

}  // namespace
}  // namespace wire
