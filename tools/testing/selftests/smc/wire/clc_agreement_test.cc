// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "describe.h"
#include "edit.h"
#include "samples.h"

namespace wire {
namespace {

Parsed<smc_clc_agreement> ParseAgreement(const Bytes& bytes) {
  return Parse<smc_clc_agreement>(bytes);
}

smc_clc_agreement Sample(smc_clc_type type, bool is_d, bool first_contact) {
  Random random(5);
  smc_clc_agreement a = SampleAgreement(random, type, SMC_VERSION_2, is_d, first_contact);
  if (first_contact) a.fc.release = SMC_RELEASE;
  return a;
}

TEST(Agreement, Version1OfSmcrIsAsInTheRfc) {
  const char* bytes =
      "e2d4c3d9 02 0044 18"                   // header: 68 bytes, first contact
      "0001 525400000001"                     // peer id
      "fe80000000000000505400fffe000001"      // GID
      "525400000001"                          // MAC
      "abcdef 11223344 05 55667788 43 00"     // QP, rkey, element 5, token, class 4, MTU 1024
      "ffff8e8844480000 00 db8fda e2d4c3d9";  // RMB address, PSN
  auto a = ParseAgreement(FromHex(bytes));
  ASSERT_EQ(a.error, 0);
  EXPECT_EQ(a.value.type, SMC_CLC_ACCEPT);
  EXPECT_EQ(a.value.version, SMC_VERSION_1);
  EXPECT_FALSE(a.value.is_d);
  EXPECT_TRUE(a.value.first_contact);
  EXPECT_EQ(Hex(a.value.r.peer_id), "0001525400000001");
  EXPECT_EQ(Hex(a.value.r.gid), "fe80000000000000505400fffe000001");
  EXPECT_EQ(Hex(a.value.r.mac), "525400000001");
  EXPECT_EQ(a.value.r.qpn, 0xabcdefu);
  EXPECT_EQ(a.value.r.rkey, 0x11223344u);
  EXPECT_EQ(a.value.r.rmbe_index, 5);
  EXPECT_EQ(a.value.r.alert_token, 0x55667788u);
  EXPECT_EQ(a.value.r.rmbe_size_code, 4);
  EXPECT_EQ(a.value.r.qp_mtu, 3);
  EXPECT_EQ(a.value.r.rmb_addr, 0xffff8e8844480000u);
  EXPECT_EQ(a.value.r.psn, 0xdb8fdau);
  EXPECT_EQ(Hex(Build(a.value)), Hex(FromHex(bytes)));
}

TEST(Agreement, Version1OfSmcdIs48Bytes) {
  const char* bytes =
      "e2d4c3c4 03 0030 11"                // header: 48 bytes, later contact
      "0123456789abcdef fedcba9876543210"  // GID, token
      "07 30 0000 00010002"                // element 7, class 3, link
      "000000000000000000000000 e2d4c3c4";
  auto a = ParseAgreement(FromHex(bytes));
  ASSERT_EQ(a.error, 0);
  EXPECT_EQ(a.value.type, SMC_CLC_CONFIRM);
  EXPECT_TRUE(a.value.is_d);
  EXPECT_FALSE(a.value.first_contact);
  EXPECT_EQ(a.value.d.gid, 0x0123456789abcdefu);
  EXPECT_EQ(a.value.d.token, 0xfedcba9876543210u);
  EXPECT_EQ(a.value.d.dmbe_index, 7);
  EXPECT_EQ(a.value.d.dmbe_size_code, 3);
  EXPECT_EQ(a.value.d.link_id, 0x00010002u);
  EXPECT_EQ(Hex(Build(a.value)), Hex(FromHex(bytes)));
}

TEST(Agreement, FirstContactOfVersion2HasItsExtension) {
  const std::string bytes =
      "e2d4c3d9 03 00c4 28"                // header: 196 bytes, first contact
      "0001 525400000001"                  // peer id
      "00000000000000000000ffff0a090001"   // GID
      "525400000001"                       // MAC
      "abcdef 11223344 05 55667788 23 00"  // QP, rkey, element 5, token, class 2, MTU 1024
      "ffff8e8844480000 00 db8fda" +       // RMB address, PSN
      PaddedHex("EID") +
      "0000000000000000"  // EID
      "80 31 0000" +      // direct, AIX, release 1
      PaddedHex("node1") +
      "11 02 0304 05060708 0000000000000000"  // limits, features, vendor
      "02000000"
      "00000000000000000000ffff0a090002"
      "00000000000000000000ffff0a090003"
      "e2d4c3d9";
  auto a = ParseAgreement(FromHex(bytes));
  ASSERT_EQ(a.error, 0);
  EXPECT_EQ(Hex(a.value.eid), PaddedHex("EID"));
  EXPECT_TRUE(a.value.fc.direct);
  EXPECT_EQ(a.value.fc.os_type, SMC_OS_AIX);
  EXPECT_EQ(a.value.fc.release, 1);
  EXPECT_EQ(Hex(a.value.fc.hostname), PaddedHex("node1"));
  EXPECT_EQ(a.value.fc.max_conns, 0x11);
  EXPECT_EQ(a.value.fc.max_links, 2);
  EXPECT_EQ(a.value.fc.features, 0x0304);
  EXPECT_EQ(Hex(a.value.fc.vendor), "05060708");
  ASSERT_EQ(a.value.n_gids, 2);
  EXPECT_EQ(Hex(a.value.gids[0]), "00000000000000000000ffff0a090002");
  EXPECT_EQ(Hex(a.value.gids[1]), "00000000000000000000ffff0a090003");
  EXPECT_EQ(Hex(Build(a.value)), Hex(FromHex(bytes)));
}

TEST(Agreement, LengthsAreThoseOfTheProtocol) {
  EXPECT_EQ(Build(Sample(SMC_CLC_ACCEPT, false, false)).size(), 108u);
  EXPECT_EQ(Build(Sample(SMC_CLC_CONFIRM, false, false)).size(), 108u);
  EXPECT_EQ(Build(Sample(SMC_CLC_ACCEPT, false, true)).size(), 160u);
  EXPECT_EQ(Build(Sample(SMC_CLC_ACCEPT, true, false)).size(), 78u);
  EXPECT_EQ(Build(Sample(SMC_CLC_ACCEPT, true, true)).size(), 130u);
  EXPECT_EQ(Build(Sample(SMC_CLC_CONFIRM, true, true)).size(), 130u);

  smc_clc_agreement a = Sample(SMC_CLC_CONFIRM, false, true);
  for (u8 n = 0; n <= SMC_CLC_MAX_GIDS; n++) {
    a.n_gids = n;
    EXPECT_EQ(Build(a).size(), 164u + 16 * n);
  }
  a = Sample(SMC_CLC_ACCEPT, false, true);
  a.fc.release = 0;
  EXPECT_EQ(Build(a).size(), 144u);
}

TEST(Agreement, FirstContactExtensionMustBeThere) {
  for (bool is_d : {false, true}) {
    Bytes bytes = Build(Sample(SMC_CLC_ACCEPT, is_d, true));
    for (size_t less = 1; less <= 52; less++)
      EXPECT_EQ(ParseAgreement(Shortened(bytes, less)).error, -EPROTO) << less;
  }
}

TEST(Agreement, Release0ExtensionIsShorter) {
  smc_clc_agreement a = Sample(SMC_CLC_ACCEPT, false, true);
  a.fc.release = 0;
  Bytes bytes = Build(a);
  EXPECT_EQ(ParseAgreement(bytes).error, 0);
  EXPECT_EQ(ParseAgreement(Shortened(bytes, 1)).error, -EPROTO);
  // Release 1 would have 16 bytes more.
  EXPECT_EQ(ParseAgreement(With8(bytes, 105, SMC_OS_LINUX << 4 | 1)).error, -EPROTO);
}

TEST(Agreement, GidsNeverReachTheTrailer) {
  smc_clc_agreement a = Sample(SMC_CLC_CONFIRM, false, true);
  a.n_gids = 2;
  Bytes bytes = Build(a);
  constexpr size_t kCount = 104 + 52;
  EXPECT_EQ(ParseAgreement(bytes).error, 0);
  EXPECT_EQ(ParseAgreement(With8(bytes, kCount, 3)).error, -EPROTO);
  EXPECT_EQ(ParseAgreement(With8(bytes, kCount, 255)).error, -EPROTO);
  EXPECT_EQ(ParseAgreement(Shortened(bytes, 1)).error, -EPROTO);
  EXPECT_EQ(ParseAgreement(With8(bytes, kCount, 1)).value.n_gids, 1);
}

TEST(Agreement, OneGidTooManyIsRejected) {
  smc_clc_agreement a = Sample(SMC_CLC_CONFIRM, false, true);
  a.n_gids = SMC_CLC_MAX_GIDS;
  Bytes bytes = Extended(Build(a), SMC_GID_LEN);
  EXPECT_EQ(ParseAgreement(bytes).error, 0);
  EXPECT_EQ(ParseAgreement(With8(bytes, 104 + 52, SMC_CLC_MAX_GIDS + 1)).error, -EPROTO);
}

TEST(Agreement, GidListMustBeThere) {
  smc_clc_agreement a = Sample(SMC_CLC_CONFIRM, false, true);
  a.n_gids = 0;
  Bytes bytes = Build(a);
  EXPECT_EQ(ParseAgreement(bytes).error, 0);
  for (size_t less = 1; less <= 4; less++)
    EXPECT_EQ(ParseAgreement(Shortened(bytes, less)).error, -EPROTO);
}

TEST(Agreement, UnknownTrailingDataIsToleratedInVersion2Only) {
  Random random(6);
  for (const smc_clc_agreement& a : Samples<smc_clc_agreement>(random))
    for (size_t more : {1, 16, 200}) {
      auto parsed = ParseAgreement(Extended(Build(a), more));
      ASSERT_EQ(parsed.error, a.version == SMC_VERSION_1 ? -EPROTO : 0);
      if (!parsed.error) EXPECT_EQ(Describe(parsed.value), Describe(a));
    }
}

TEST(Agreement, FieldsWiderThanTheWireAreCut) {
  smc_clc_agreement a = Sample(SMC_CLC_ACCEPT, false, true);
  a.r.qpn = 0xff123456;
  a.r.psn = 0xff654321;
  a.r.qp_mtu = 0xf3;
  a.fc.release = 0xff;
  auto parsed = ParseAgreement(Build(a));
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(parsed.value.r.qpn, 0x123456u);
  EXPECT_EQ(parsed.value.r.psn, 0x654321u);
  EXPECT_EQ(parsed.value.r.qp_mtu, 3);
  EXPECT_EQ(parsed.value.r.rmbe_size_code, a.r.rmbe_size_code);
  EXPECT_EQ(parsed.value.fc.release, 15);
  EXPECT_EQ(parsed.value.fc.os_type, a.fc.os_type);
}

// A CONFIRM of version 1 does not say whether it is first contact.
TEST(ClcAgreement, FirstContactIsConfirmedByVersion2Only) {
  for (bool said : {false, true})
    for (bool first : {false, true}) {
      smc_clc_agreement confirm = {};
      confirm.first_contact = said;
      confirm.version = SMC_VERSION_1;
      EXPECT_TRUE(smc_clc_confirms_contact(&confirm, first));
      confirm.version = SMC_VERSION_2;
      EXPECT_EQ(smc_clc_confirms_contact(&confirm, first), said == first);
    }
}

}  // namespace
}  // namespace wire
