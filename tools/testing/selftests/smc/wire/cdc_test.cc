// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "describe.h"
#include "edit.h"
#include "samples.h"

namespace wire {
namespace {

TEST(Cdc, FieldsAreWhereTheRfcSays) {
  const char* bytes =
      "fe 2c 0102 03040506"  // type, length, sequence, token
      "0000 0708 090a0b0c"   // producer
      "0000 0d0e 0f101112"   // consumer
      "f8 e0"                // flags
      "000000000000000000000000000000000000";
  auto c = Parse<smc_cdc>(FromHex(bytes));
  ASSERT_EQ(c.error, 0);
  EXPECT_EQ(c.value.seq, 0x0102);
  EXPECT_EQ(c.value.token, 0x03040506u);
  EXPECT_EQ(c.value.prod.wrap, 0x0708);
  EXPECT_EQ(c.value.prod.offset, 0x090a0b0cu);
  EXPECT_EQ(c.value.cons.wrap, 0x0d0e);
  EXPECT_EQ(c.value.cons.offset, 0x0f101112u);
  EXPECT_EQ(c.value.prod_flags, SMC_PROD_WRITE_BLOCKED | SMC_PROD_URGENT_PENDING |
                                    SMC_PROD_URGENT_PRESENT | SMC_PROD_UPDATE_REQUESTED |
                                    SMC_PROD_FAILOVER);
  EXPECT_EQ(c.value.conn_flags, SMC_CONN_DONE_WRITING | SMC_CONN_CLOSED | SMC_CONN_ABORT);
  EXPECT_EQ(Hex(Build(c.value)), Hex(FromHex(bytes)));
}

TEST(Cdc, TypeAndLengthAreChecked) {
  Bytes bytes = Build(smc_cdc{});
  for (int value = 0; value < 256; value++) {
    EXPECT_EQ(Parse<smc_cdc>(With8(bytes, 0, static_cast<u8>(value))).error,
              value == SMC_CDC_TYPE ? 0 : -EPROTO);
    EXPECT_EQ(Parse<smc_cdc>(With8(bytes, 1, static_cast<u8>(value))).error,
              value == SMC_CDC_LEN ? 0 : -EPROTO);
  }
}

TEST(Cdc, ReservedBytesAreIgnored) {
  Random random(7);
  smc_cdc cdc = SampleCdc(random);
  Bytes bytes = Build(cdc);
  for (size_t at : {8, 9, 16, 17}) bytes[at] = 0xff;
  for (size_t at = 26; at < SMC_CDC_LEN; at++) bytes[at] = 0xff;
  bytes.resize(SMC_CDC_LEN + 20);
  auto parsed = Parse<smc_cdc>(bytes);
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(Describe(parsed.value), Describe(cdc));
}

}  // namespace
}  // namespace wire
