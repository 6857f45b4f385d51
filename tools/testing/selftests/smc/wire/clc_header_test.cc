// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "message.h"
#include "wire/bytes.h"

namespace wire {
namespace {

constexpr u32 kEyeCatcherR = 0xe2d4c3d9;
constexpr u32 kEyeCatcherD = 0xe2d4c3c4;

Parsed<smc_clc_header> Header(u32 eye_catcher, u8 type, size_t length, u8 flags) {
  u8 bytes[SMC_CLC_HEADER_LEN];
  put_be32(bytes, eye_catcher);
  bytes[4] = type;
  put_be16(bytes + 5, static_cast<u16>(length));
  bytes[7] = flags;
  return ParseHeader(bytes);
}

TEST(ClcHeader, IsTakenApart) {
  auto h = Header(kEyeCatcherR, SMC_CLC_CONFIRM, 180, 0x28);
  ASSERT_EQ(h.error, 0);
  EXPECT_EQ(h.value.type, SMC_CLC_CONFIRM);
  EXPECT_EQ(h.value.length, 180);
  EXPECT_EQ(h.value.version, SMC_VERSION_2);
  EXPECT_EQ(h.value.flags, 0x08);
}

TEST(ClcHeader, IsKnownByItsFirstBytes) {
  const u8 bytes[] = {0xe2, 0xd4, 0xc3, 0xd9, SMC_CLC_DECLINE, 0, 28, 0x10};
  const u8 others[] = {'r', 'u', 'o', 'k'};
  for (size_t length = 0; length <= sizeof(bytes); length++)
    EXPECT_TRUE(smc_clc_may_begin(bytes, length));
  for (size_t length = 1; length <= sizeof(others); length++)
    EXPECT_FALSE(smc_clc_may_begin(others, length));
}

TEST(ClcHeader, KnowsFourTypes) {
  for (int type = 0; type < 256; type++) {
    // Each length fits the type in version 1.
    size_t length = type == SMC_CLC_DECLINE ? 28 : 68;
    EXPECT_EQ(Header(kEyeCatcherR, static_cast<u8>(type), length, 0x10).error,
              type >= 1 && type <= 4 ? 0 : -EPROTO)
        << type;
  }
}

TEST(ClcHeader, WantsTheEyeCatcherOfThePath) {
  for (u8 type : {SMC_CLC_ACCEPT, SMC_CLC_CONFIRM}) {
    EXPECT_EQ(Header(kEyeCatcherR, type, 68, 0x10).error, 0);
    EXPECT_EQ(Header(kEyeCatcherD, type, 48, 0x11).error, 0);
    EXPECT_EQ(Header(kEyeCatcherD, type, 68, 0x10).error, -EPROTO);
    EXPECT_EQ(Header(kEyeCatcherR, type, 48, 0x11).error, -EPROTO);
  }
  // A proposal or a decline of SMC-D has the eye catcher of SMC-R all the same.
  EXPECT_EQ(Header(kEyeCatcherR, SMC_CLC_PROPOSAL, 224, 0x26).error, 0);
  EXPECT_EQ(Header(kEyeCatcherD, SMC_CLC_PROPOSAL, 224, 0x26).error, -EPROTO);
  EXPECT_EQ(Header(kEyeCatcherD, SMC_CLC_DECLINE, 28, 0x11).error, -EPROTO);
}

TEST(ClcHeader, WantsOnePathInAnAgreement) {
  for (u8 type : {SMC_CLC_ACCEPT, SMC_CLC_CONFIRM})
    for (u8 path : {SMC_OFFER_NONE, SMC_OFFER_BOTH})
      for (u32 eye_catcher : {kEyeCatcherR, kEyeCatcherD})
        EXPECT_EQ(Header(eye_catcher, type, 108, 0x20 | path).error, -EPROTO);
}

TEST(ClcHeader, ToleratesLaterVersionsWhereTheyMayCome) {
  EXPECT_EQ(Header(kEyeCatcherR, SMC_CLC_PROPOSAL, 200, 0x30).error, 0);
  EXPECT_EQ(Header(kEyeCatcherR, SMC_CLC_DECLINE, 44, 0xf0).error, 0);
  EXPECT_EQ(Header(kEyeCatcherR, SMC_CLC_ACCEPT, 108, 0x30).error, -EPROTO);
  EXPECT_EQ(Header(kEyeCatcherR, SMC_CLC_CONFIRM, 108, 0x30).error, -EPROTO);
}

TEST(ClcHeader, HasNoVersionZero) {
  for (u8 type : {SMC_CLC_PROPOSAL, SMC_CLC_ACCEPT, SMC_CLC_CONFIRM, SMC_CLC_DECLINE})
    for (size_t length : {28, 44, 68, 108})
      EXPECT_EQ(Header(kEyeCatcherR, type, length, 0x00).error, -EPROTO);
}

struct Bounds {
  const char* name;
  u32 eye_catcher;
  u8 type;
  u8 flags;
  size_t shortest;
  size_t longest;
};

class ClcHeaderLength : public testing::TestWithParam<Bounds> {};

TEST_P(ClcHeaderLength, IsBounded) {
  const Bounds& b = GetParam();
  for (size_t length = 0; length <= 0xffff; length++)
    ASSERT_EQ(Header(b.eye_catcher, b.type, length, b.flags).error,
              length >= b.shortest && length <= b.longest ? 0 : -EPROTO)
        << length;
}

INSTANTIATE_TEST_SUITE_P(
    All, ClcHeaderLength,
    testing::Values(Bounds{"ProposalV1", kEyeCatcherR, SMC_CLC_PROPOSAL, 0x10, 44, SMC_CLC_MAX_LEN},
                    Bounds{"ProposalV2", kEyeCatcherR, SMC_CLC_PROPOSAL, 0x22, 44, SMC_CLC_MAX_LEN},
                    Bounds{"AcceptRV1", kEyeCatcherR, SMC_CLC_ACCEPT, 0x10, 68, 68},
                    Bounds{"ConfirmRV1", kEyeCatcherR, SMC_CLC_CONFIRM, 0x18, 68, 68},
                    Bounds{"AcceptDV1", kEyeCatcherD, SMC_CLC_ACCEPT, 0x11, 48, 48},
                    Bounds{"AcceptRV2", kEyeCatcherR, SMC_CLC_ACCEPT, 0x20, 108, SMC_CLC_MAX_LEN},
                    Bounds{"ConfirmDV2", kEyeCatcherD, SMC_CLC_CONFIRM, 0x21, 78, SMC_CLC_MAX_LEN},
                    Bounds{"DeclineV1", kEyeCatcherR, SMC_CLC_DECLINE, 0x10, 28, 28},
                    Bounds{"DeclineV2", kEyeCatcherR, SMC_CLC_DECLINE, 0x20, 28, SMC_CLC_MAX_LEN}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wire
