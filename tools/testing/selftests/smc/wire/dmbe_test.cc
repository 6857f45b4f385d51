// SPDX-License-Identifier: GPL-2.0
#include "wire/dmbe.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "random.h"
#include "wire/size_class.h"

namespace wire {
namespace {

// In memory as it is, so in this host's byte order.
u64 Word(u16 wrap, u32 offset, u8 prod_flags, u8 conn_flags) {
  u8 bytes[8];
  std::memcpy(bytes, &wrap, 2);
  std::memcpy(bytes + 2, &offset, 4);
  bytes[6] = prod_flags;
  bytes[7] = conn_flags;
  u64 word;
  std::memcpy(&word, bytes, 8);
  return word;
}

TEST(Dmbe, ControlAreaIsLaidOutAsThePeersIs) {
  EXPECT_EQ(sizeof(smc_dmbe_control), size_t{SMC_DMBE_CONTROL_LEN});
  EXPECT_EQ(offsetof(smc_dmbe_control, type), 0u);
  EXPECT_EQ(offsetof(smc_dmbe_control, producer), 8u);
  EXPECT_EQ(offsetof(smc_dmbe_control, consumer), 16u);
}

TEST(Dmbe, WordHasItsFieldsInOrder) {
  EXPECT_EQ(smc_dmbe_pack({0x0102, 0x03040506}, 0x80, 0x20), Word(0x0102, 0x03040506, 0x80, 0x20));
}

TEST(Dmbe, EmptyControlAreaIsTheBeginningOfAConnection) {
  smc_cdc cdc = {};
  smc_dmbe_unpack(0, 0, &cdc);
  EXPECT_EQ(cdc.prod.wrap, 0);
  EXPECT_EQ(cdc.prod.offset, 0u);
  EXPECT_EQ(cdc.cons.wrap, 0);
  EXPECT_EQ(cdc.cons.offset, 0u);
  EXPECT_EQ(cdc.prod_flags, 0);
  EXPECT_EQ(cdc.conn_flags, 0);
}

TEST(Dmbe, FlagsAreTheConsumerWords) {
  smc_cdc cdc = {};
  smc_dmbe_unpack(Word(1, 2, 0xff, 0xff), Word(3, 4, SMC_PROD_WRITE_BLOCKED, SMC_CONN_CLOSED),
                  &cdc);
  EXPECT_EQ(cdc.prod.wrap, 1);
  EXPECT_EQ(cdc.prod.offset, 2u);
  EXPECT_EQ(cdc.cons.wrap, 3);
  EXPECT_EQ(cdc.cons.offset, 4u);
  EXPECT_EQ(cdc.prod_flags, SMC_PROD_WRITE_BLOCKED);
  EXPECT_EQ(cdc.conn_flags, SMC_CONN_CLOSED);
}

TEST(Dmbe, EveryWordSurvivesTheRoundTrip) {
  Random random(9);
  for (int round = 0; round < 10000; round++) {
    u64 producer = random.U64(), consumer = random.U64();
    smc_cdc cdc = {};
    smc_dmbe_unpack(producer, consumer, &cdc);
    ASSERT_EQ(smc_dmbe_pack(cdc.cons, cdc.prod_flags, cdc.conn_flags), consumer);
    smc_cdc again = {};
    smc_dmbe_unpack(smc_dmbe_pack(cdc.prod, 0, 0), consumer, &again);
    ASSERT_EQ(again.prod.wrap, cdc.prod.wrap);
    ASSERT_EQ(again.prod.offset, cdc.prod.offset);
  }
}

}  // namespace
}  // namespace wire
