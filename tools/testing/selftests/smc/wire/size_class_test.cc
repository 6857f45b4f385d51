// SPDX-License-Identifier: GPL-2.0
#include "wire/size_class.h"

#include <gtest/gtest.h>

namespace {

TEST(SizeClass, BytesAreThoseOfTheProtocol) {
  EXPECT_EQ(smc_size_class_bytes(0), 16384u);
  EXPECT_EQ(smc_size_class_bytes(SMC_SIZE_CLASS_R_MAX), 512u << 10);
  EXPECT_EQ(smc_size_class_bytes(SMC_SIZE_CLASS_D_MAX), 1u << 20);
  EXPECT_EQ(smc_size_class_bytes(SMC_SIZE_CLASS_PEER_MAX), 512u << 20);
}

TEST(SizeClass, IsTheSmallestThatHolds) {
  for (u8 max = 0; max <= SMC_SIZE_CLASS_PEER_MAX; max++)
    for (u8 c = 0; c <= SMC_SIZE_CLASS_PEER_MAX; c++) {
      u32 bytes = smc_size_class_bytes(c);
      EXPECT_EQ(smc_size_class_of(bytes, max), std::min(c, max));
      EXPECT_EQ(smc_size_class_of(bytes - 1, max), std::min(c, max));
      EXPECT_EQ(smc_size_class_of(bytes + 1, max), std::min<u8>(c + 1, max));
    }
}

TEST(SizeClass, ExtremesAreBounded) {
  EXPECT_EQ(smc_size_class_of(0, SMC_SIZE_CLASS_R_MAX), 0);
  EXPECT_EQ(smc_size_class_of(1, SMC_SIZE_CLASS_R_MAX), 0);
  EXPECT_EQ(smc_size_class_of(UINT32_MAX, SMC_SIZE_CLASS_R_MAX), SMC_SIZE_CLASS_R_MAX);
  EXPECT_EQ(smc_size_class_of(UINT32_MAX, SMC_SIZE_CLASS_PEER_MAX), SMC_SIZE_CLASS_PEER_MAX);
}

}  // namespace
