// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "describe.h"
#include "edit.h"
#include "samples.h"

namespace wire {
namespace {

// Offsets in a proposal as its builder lays it out
constexpr size_t kIpOffset = 38;
constexpr size_t kV2Offset = 50;
constexpr size_t kV2OffsetFrom = 52;
constexpr size_t kBlockEnd = 80;
constexpr size_t kPrefix6 = 17;
constexpr size_t kV2Head = 40;
constexpr size_t kDv2OffsetFrom = 8;
constexpr size_t kDv2Head = 48;
constexpr size_t kIsmEntry = 10;

Parsed<smc_clc_proposal> ParseProposal(const Bytes& bytes) {
  return Parse<smc_clc_proposal>(bytes);
}

// Version 1 for SMC-R, the shortest of its kind.
smc_clc_proposal V1() {
  smc_clc_proposal p = {};
  p.version = SMC_VERSION_1;
  p.offer_v1 = SMC_OFFER_R;
  p.offer_v2 = SMC_OFFER_NONE;
  return p;
}

// Version 2 for SMC-R and SMC-D, nothing of version 1; the extension follows the block.
smc_clc_proposal V2() {
  smc_clc_proposal p = {};
  p.version = SMC_VERSION_2;
  p.offer_v1 = SMC_OFFER_NONE;
  p.offer_v2 = SMC_OFFER_BOTH;
  p.release = SMC_RELEASE;
  p.has_dv2 = true;
  return p;
}

TEST(Proposal, Version1IsAsInTheRfc) {
  const char* bytes =
      "e2d4c3d9 01 0045 10"                  // header: 69 bytes
      "0001 525400000002"                    // peer id
      "fe80000000000000505400fffe000002"     // GID
      "525400000002 0000"                    // MAC, IP area at once
      "0a090000 10 0000 01"                  // 10.9.0.0/16, one IPv6 prefix
      "20010db8000000000000000000000000 40"  // 2001:db8::/64
      "e2d4c3d9";
  auto p = ParseProposal(FromHex(bytes));
  ASSERT_EQ(p.error, 0);
  EXPECT_EQ(p.value.version, SMC_VERSION_1);
  EXPECT_EQ(p.value.offer_v1, SMC_OFFER_R);
  EXPECT_EQ(p.value.offer_v2, SMC_OFFER_NONE);
  EXPECT_EQ(Hex(p.value.peer_id), "0001525400000002");
  EXPECT_EQ(Hex(p.value.gid_v1), "fe80000000000000505400fffe000002");
  EXPECT_EQ(Hex(p.value.mac), "525400000002");
  EXPECT_EQ(Hex(p.value.prefix4), "0a090000");
  EXPECT_EQ(p.value.prefix4_len, 16);
  ASSERT_EQ(p.value.n_prefixes6, 1);
  EXPECT_EQ(Hex(p.value.prefixes6[0].addr), "20010db8000000000000000000000000");
  EXPECT_EQ(p.value.prefixes6[0].len, 64);
  EXPECT_EQ(Hex(Build(p.value)), Hex(FromHex(bytes)));
}

TEST(Proposal, Version1WithSmcdHasABlock) {
  const char* bytes =
      "e2d4c3d9 01 005c 13"               // header: 92 bytes, SMC-R and SMC-D
      "0001 525400000002"                 // peer id
      "fe80000000000000505400fffe000002"  // GID
      "525400000002 0028"                 // MAC, IP area 40 bytes on
      "0123456789abcdef 0007 0000"        // ISM GID, CHID, no version 2
      "0000000000000000 0000000000000000000000000000000000000000"
      "0a090000 18 0000 00"  // 10.9.0.0/24
      "e2d4c3d9";
  auto p = ParseProposal(FromHex(bytes));
  ASSERT_EQ(p.error, 0);
  EXPECT_EQ(p.value.offer_v1, SMC_OFFER_BOTH);
  EXPECT_EQ(p.value.ism_gid, 0x0123456789abcdefu);
  EXPECT_EQ(p.value.ism_chid, 7);
  EXPECT_EQ(p.value.prefix4_len, 24);
  EXPECT_EQ(Hex(Build(p.value)), Hex(FromHex(bytes)));
}

TEST(Proposal, Version2FieldsAreWhereTheProtocolSays) {
  const std::string bytes =
      "e2d4c3d9 01 00f2 2f"               // header: 242 bytes, everything
      "0001 525400000002"                 // peer id
      "fe80000000000000505400fffe000002"  // GID
      "525400000002 0028"                 // MAC, IP area 40 bytes on
      "0123456789abcdef 0007 0024"        // ISM GID, CHID, extension 36 bytes on
      "010203 0405060708 0000000000000000000000000000000000000000"  // vendor
      "0a090000 10 0000 00"                                         // 10.9.0.0/16
      "01 03 00 11 0000 0040"                                       // counts, release 1, SEID
      "00000000000000000000ffff0a090002"                            // RoCE v2 GID
      "21 02 2223 000000000000000000000000" +                       // limits, features
      PaddedHex("EID") +
      PaddedHex("SEID") +
      "00000000000000000000000000000000"
      "1111111111111111 0009"  // ISM device
      "2222222222222222 ff01"  // emulated, in two entries
      "3333333333333333 ff01"
      "e2d4c3d9";
  auto parsed = ParseProposal(FromHex(bytes));
  ASSERT_EQ(parsed.error, 0);
  const smc_clc_proposal& p = parsed.value;
  EXPECT_EQ(p.offer_v1, SMC_OFFER_BOTH);
  EXPECT_EQ(p.offer_v2, SMC_OFFER_BOTH);
  EXPECT_EQ(Hex(p.gid_v1), "fe80000000000000505400fffe000002");
  EXPECT_EQ(p.ism_gid, 0x0123456789abcdefu);
  EXPECT_EQ(p.ism_chid, 7);
  EXPECT_EQ(Hex(p.vendor_oui), "010203");
  EXPECT_EQ(Hex(p.vendor_options), "0405060708");
  EXPECT_EQ(Hex(p.prefix4), "0a090000");
  EXPECT_EQ(p.release, 1);
  EXPECT_EQ(Hex(p.gid_v2), "00000000000000000000ffff0a090002");
  EXPECT_EQ(p.max_conns, 0x21);
  EXPECT_EQ(p.max_links, 2);
  EXPECT_EQ(p.features, 0x2223);
  ASSERT_EQ(p.n_eids, 1);
  EXPECT_EQ(Hex(p.eids[0]), PaddedHex("EID"));
  EXPECT_TRUE(p.has_dv2);
  EXPECT_TRUE(p.has_seid);
  EXPECT_EQ(Hex(p.seid), PaddedHex("SEID"));
  ASSERT_EQ(p.n_ism, 2);
  EXPECT_EQ(p.ism[0].gid, 0x1111111111111111u);
  EXPECT_EQ(p.ism[0].chid, 9);
  EXPECT_EQ(p.ism[1].gid, 0x2222222222222222u);
  EXPECT_EQ(p.ism[1].gid_ext, 0x3333333333333333u);
  EXPECT_EQ(p.ism[1].chid, 0xff01);
  EXPECT_EQ(Hex(Build(p)), Hex(FromHex(bytes)));
}

TEST(Proposal, LongestIsAccepted) {
  smc_clc_proposal p = V2();
  p.offer_v1 = SMC_OFFER_BOTH;
  p.n_prefixes6 = SMC_CLC_MAX_PREFIXES6;
  p.n_eids = SMC_CLC_MAX_EIDS;
  p.n_ism = SMC_CLC_MAX_ISM;
  for (smc_clc_ism& ism : p.ism) ism.chid = SMC_CHID_LOOPBACK;
  Bytes bytes = Build(p);
  EXPECT_LE(bytes.size(), size_t{SMC_CLC_MAX_LEN});
  auto parsed = ParseProposal(bytes);
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(Describe(parsed.value), Describe(p));
}

TEST(Proposal, OneIpv6PrefixTooManyIsRejected) {
  smc_clc_proposal p = V1();
  p.n_prefixes6 = SMC_CLC_MAX_PREFIXES6;
  Bytes bytes = Extended(Build(p), kPrefix6);
  ASSERT_EQ(ParseProposal(bytes).error, 0);
  EXPECT_EQ(ParseProposal(With8(bytes, 40 + 7, SMC_CLC_MAX_PREFIXES6 + 1)).error, -EPROTO);
}

TEST(Proposal, PrefixesNeverReachTheTrailer) {
  smc_clc_proposal p = V1();
  p.n_prefixes6 = 2;
  Bytes bytes = Build(p);
  EXPECT_EQ(ParseProposal(With8(bytes, 40 + 7, 3)).error, -EPROTO);
  EXPECT_EQ(ParseProposal(Shortened(bytes, 1)).error, -EPROTO);
  EXPECT_EQ(ParseProposal(Extended(bytes, 1)).error, 0);
}

TEST(Proposal, ImpossiblePrefixLengthsAreRejected) {
  smc_clc_proposal p = V1();
  p.n_prefixes6 = 1;
  p.prefix4_len = 32;
  p.prefixes6[0].len = 128;
  EXPECT_EQ(ParseProposal(Build(p)).error, 0);
  p.prefix4_len = 33;
  EXPECT_EQ(ParseProposal(Build(p)).error, -EPROTO);
  p.prefix4_len = 0;
  p.prefixes6[0].len = 129;
  EXPECT_EQ(ParseProposal(Build(p)).error, -EPROTO);
}

TEST(Proposal, IpAreaIsWhereTheOffsetSays) {
  smc_clc_proposal p = V1();
  p.prefix4_len = 8;
  Bytes bytes = Build(p);
  bytes.insert(bytes.begin() + 40, 100, 0xee);
  auto parsed = ParseProposal(With16(Reframe(bytes), kIpOffset, 100));
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(Describe(parsed.value), Describe(p));
}

TEST(Proposal, IpAreaIsBetweenBlockAndTrailer) {
  smc_clc_proposal p = V1();
  p.offer_v1 = SMC_OFFER_D;
  Bytes bytes = Extended(Build(p), 20);
  // Wherever it is, it says that it has no IPv6 prefixes.
  std::fill(bytes.begin() + kBlockEnd, bytes.end() - kTrailerLen, 0);
  for (int offset = 0; offset <= 0xffff; offset++)
    ASSERT_EQ(ParseProposal(With16(bytes, kIpOffset, static_cast<u16>(offset))).error,
              offset >= 40 && offset <= 60 ? 0 : -EPROTO)
        << offset;
}

TEST(Proposal, Version2ExtensionIsBetweenBlockAndTrailer) {
  smc_clc_proposal p = V2();
  p.offer_v2 = SMC_OFFER_R;
  p.has_dv2 = false;
  Bytes bytes = Extended(Build(p), 60);
  // Wherever it is, it says that it has no EIDs.
  std::fill(bytes.begin() + kBlockEnd, bytes.end() - kTrailerLen, 0);
  size_t first = kBlockEnd - kV2OffsetFrom;
  for (size_t offset = 0; offset <= 0xffff; offset++)
    ASSERT_EQ(ParseProposal(With16(bytes, kV2Offset, static_cast<u16>(offset))).error,
              offset >= first && offset <= first + 60 ? 0 : -EPROTO)
        << offset;
}

TEST(Proposal, OneEidTooManyIsRejected) {
  smc_clc_proposal p = V2();
  p.has_dv2 = false;
  p.n_eids = SMC_CLC_MAX_EIDS;
  Bytes bytes = Extended(Build(p), SMC_EID_LEN);
  ASSERT_EQ(ParseProposal(bytes).error, 0);
  EXPECT_EQ(ParseProposal(With8(bytes, kBlockEnd, SMC_CLC_MAX_EIDS + 1)).error, -EPROTO);
}

TEST(Proposal, EidsNeverReachTheTrailer) {
  smc_clc_proposal p = V2();
  p.has_dv2 = false;
  p.n_eids = 2;
  Bytes bytes = Build(p);
  EXPECT_EQ(ParseProposal(With8(bytes, kBlockEnd, 3)).error, -EPROTO);
  EXPECT_EQ(ParseProposal(Shortened(bytes, 1)).error, -EPROTO);
}

TEST(Proposal, SmcdExtensionIsBetweenEidsAndTrailer) {
  smc_clc_proposal p = V2();
  p.n_eids = 1;
  Bytes bytes = Extended(Build(p), 30);
  size_t at = kBlockEnd + 6;
  size_t first = kV2Head + SMC_EID_LEN - kDv2OffsetFrom;
  for (size_t offset = 1; offset <= 0xffff; offset++)
    ASSERT_EQ(ParseProposal(With16(bytes, at, static_cast<u16>(offset))).error,
              offset >= first && offset <= first + 30 ? 0 : -EPROTO)
        << offset;
}

TEST(Proposal, WithoutSmcdExtensionThereIsNoDevice) {
  smc_clc_proposal p = V2();
  p.n_ism = 1;
  p.has_seid = true;
  auto parsed = ParseProposal(With16(Build(p), kBlockEnd + 6, 0));
  ASSERT_EQ(parsed.error, 0);
  EXPECT_FALSE(parsed.value.has_dv2);
  EXPECT_FALSE(parsed.value.has_seid);
  EXPECT_EQ(parsed.value.n_ism, 0);
}

TEST(Proposal, SmcdExtensionCountsOnlyWithAnSmcdOffer) {
  smc_clc_proposal p = V2();
  p.n_ism = 1;
  Bytes bytes = Build(p);
  auto parsed = ParseProposal(With8(bytes, 7, 0x22));
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(parsed.value.offer_v2, SMC_OFFER_R);
  EXPECT_FALSE(parsed.value.has_dv2);
}

TEST(Proposal, SeidIsReadOnlyWhereItIsSaidToBe) {
  smc_clc_proposal p = V2();
  p.has_seid = true;
  std::fill(std::begin(p.seid), std::end(p.seid), 0x41);
  Bytes bytes = Build(p);
  EXPECT_EQ(Describe(ParseProposal(bytes).value), Describe(p));
  auto parsed = ParseProposal(With8(bytes, kBlockEnd + 3, SMC_RELEASE << 4));
  ASSERT_EQ(parsed.error, 0);
  EXPECT_FALSE(parsed.value.has_seid);
  EXPECT_EQ(Hex(parsed.value.seid), std::string(2 * SMC_EID_LEN, '0'));
}

class ProposalIsm : public testing::Test {
 protected:
  // @n entries with these CHIDs.
  static Parsed<smc_clc_proposal> Entries(const std::vector<u16>& chids) {
    Bytes bytes = Extended(Build(V2()), kIsmEntry * chids.size());
    size_t at = kBlockEnd + kV2Head + kDv2Head;
    for (size_t i = 0; i < chids.size(); i++, at += kIsmEntry) {
      put_be64(&bytes[at], i + 1);
      put_be16(&bytes[at + 8], chids[i]);
    }
    bytes[kBlockEnd + 1] = static_cast<u8>(chids.size());
    return ParseProposal(bytes);
  }
};

TEST_F(ProposalIsm, EmulatedDevicesTakeTwoEntries) {
  auto p = Entries({0x0001, 0xff00, 0xff00, 0xfeff, 0xffff, 0xffff});
  ASSERT_EQ(p.error, 0);
  ASSERT_EQ(p.value.n_ism, 4);
  EXPECT_EQ(p.value.ism[0].gid, 1u);
  EXPECT_EQ(p.value.ism[0].gid_ext, 0u);
  EXPECT_EQ(p.value.ism[1].gid, 2u);
  EXPECT_EQ(p.value.ism[1].gid_ext, 3u);
  EXPECT_EQ(p.value.ism[1].chid, 0xff00);
  EXPECT_EQ(p.value.ism[2].gid, 4u);
  EXPECT_EQ(p.value.ism[2].chid, 0xfeff);
  EXPECT_EQ(p.value.ism[3].gid, 5u);
  EXPECT_EQ(p.value.ism[3].gid_ext, 6u);
}

TEST_F(ProposalIsm, HalfAnEmulatedDeviceIsRejected) {
  EXPECT_EQ(Entries({0xffff}).error, -EPROTO);
  EXPECT_EQ(Entries({0x0001, 0xff00, 0xff00, 0xff01}).error, -EPROTO);
}

TEST_F(ProposalIsm, OneDeviceTooManyIsRejected) {
  EXPECT_EQ(Entries(std::vector<u16>(SMC_CLC_MAX_ISM, 1)).error, 0);
  EXPECT_EQ(Entries(std::vector<u16>(SMC_CLC_MAX_ISM + 1, 1)).error, -EPROTO);
  EXPECT_EQ(Entries(std::vector<u16>(2 * SMC_CLC_MAX_ISM, 0xffff)).error, 0);
  EXPECT_EQ(Entries(std::vector<u16>(2 * SMC_CLC_MAX_ISM + 2, 0xffff)).error, -EPROTO);
  EXPECT_EQ(Entries(std::vector<u16>(255, 1)).error, -EPROTO);
}

TEST_F(ProposalIsm, EntriesNeverReachTheTrailer) {
  smc_clc_proposal p = V2();
  p.n_ism = 1;
  Bytes bytes = Build(p);
  EXPECT_EQ(ParseProposal(With8(bytes, kBlockEnd + 1, 2)).error, -EPROTO);
  EXPECT_EQ(ParseProposal(Shortened(bytes, 1)).error, -EPROTO);
}

TEST(Proposal, UnknownTrailingDataIsTolerated) {
  Random random(4);
  for (const smc_clc_proposal& p : Samples<smc_clc_proposal>(random))
    for (size_t more : {1, 7, 64}) {
      auto parsed = ParseProposal(Extended(Build(p), more));
      ASSERT_EQ(parsed.error, 0);
      EXPECT_EQ(Describe(parsed.value), Describe(p));
    }
}

TEST(Proposal, LongerThanAnyIsRejected) {
  Bytes bytes = Build(V1());
  EXPECT_EQ(ParseProposal(Extended(bytes, SMC_CLC_MAX_LEN - bytes.size())).error, 0);
  EXPECT_EQ(ParseProposal(Extended(bytes, SMC_CLC_MAX_LEN - bytes.size() + 1)).error, -EPROTO);
}

TEST(Proposal, Version1HasNoVersion2Offer) {
  for (u8 bits : {0x00, 0x04, 0x08, 0x0c}) {
    auto p = ParseProposal(With8(Build(V1()), 7, 0x10 | bits));
    ASSERT_EQ(p.error, 0);
    EXPECT_EQ(p.value.offer_v2, SMC_OFFER_NONE);
  }
}

TEST(Proposal, Version2AlwaysHasABlock) {
  smc_clc_proposal p = V2();
  p.offer_v2 = SMC_OFFER_NONE;
  p.release = 0;
  p.has_dv2 = false;
  Bytes bytes = Build(p);
  EXPECT_EQ(bytes.size(), kBlockEnd + kTrailerLen);
  EXPECT_EQ(ParseProposal(bytes).error, 0);
  EXPECT_EQ(ParseProposal(Shortened(bytes, 1)).error, -EPROTO);
}

TEST(Proposal, LaterVersionIsReadAsVersion2) {
  smc_clc_proposal p = V2();
  p.version = 3;
  p.n_eids = 1;
  auto parsed = ParseProposal(Build(p));
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(Describe(parsed.value), Describe(p));
}

TEST(Proposal, OffersAreToldApart) {
  EXPECT_TRUE(smc_offer_has(SMC_OFFER_R, SMC_OFFER_R) && !smc_offer_has(SMC_OFFER_R, SMC_OFFER_D));
  EXPECT_TRUE(!smc_offer_has(SMC_OFFER_D, SMC_OFFER_R) && smc_offer_has(SMC_OFFER_D, SMC_OFFER_D));
  EXPECT_TRUE(!smc_offer_has(SMC_OFFER_NONE, SMC_OFFER_R) &&
              !smc_offer_has(SMC_OFFER_NONE, SMC_OFFER_D));
  EXPECT_TRUE(smc_offer_has(SMC_OFFER_BOTH, SMC_OFFER_R) &&
              smc_offer_has(SMC_OFFER_BOTH, SMC_OFFER_D));
}

}  // namespace
}  // namespace wire
