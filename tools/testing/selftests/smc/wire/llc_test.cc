// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "describe.h"
#include "edit.h"
#include "samples.h"

namespace wire {
namespace {

int Error(const Bytes& bytes) { return Parse<Llc>(bytes).error; }

Bytes Message(u8 type, u8 length0, u8 length1, size_t size) {
  Bytes bytes(size);
  bytes[0] = type;
  bytes[1] = length0;
  bytes[2] = length1;
  return bytes;
}

// Messages of in-tree Linux: links-in-tree.rst has both.
constexpr char kAddLink[] =
    "22 5800 00 525483000101 0000 00000000000000000000ffff0a530101 000011 02 03 1d8bfd"
    "0000000000000000 80 00 00000000000000000000ffff0a530101 0000000000000000 0100"
    "00000324 000003f6 ffff888009a40000";
constexpr char kRequestAddLink[] =
    "25 3c00 00 0000000000000000000000000000000000000000 02 000000"
    "00000000000000000000ffff0a530002 00000000000000000000ffff0a530102";

// The same message with its 16-bit length, and ADD LINK's count, the other way round.
Bytes Swapped(Bytes bytes) {
  std::swap(bytes[1], bytes[2]);
  if (bytes[0] == (0x20 | SMC_LLC_ADD_LINK) && bytes.size() > SMC_LLC_LEN)
    std::swap(bytes[70], bytes[71]);
  return bytes;
}

TEST(Llc, ConfirmLinkFieldsAreWhereTheRfcSays) {
  auto l =
      Parse<Llc>(FromHex("01 2c 00 83 010203040506 1112131415161718191a1b1c1d1e1f20"
                         "212223 24 25262728 29 2a 0000000000000000"));
  ASSERT_EQ(l.error, 0);
  const smc_llc_msg& m = l.value.msg;
  EXPECT_EQ(m.type, SMC_LLC_CONFIRM_LINK);
  EXPECT_FALSE(m.v2);
  EXPECT_EQ(m.flags, SMC_LLC_REPLY | SMC_LLC_NO_RMBE_EYE_CATCHER);
  EXPECT_EQ(Hex(m.confirm_link.mac), "010203040506");
  EXPECT_EQ(Hex(m.confirm_link.gid), "1112131415161718191a1b1c1d1e1f20");
  EXPECT_EQ(m.confirm_link.qpn, 0x212223u);
  EXPECT_EQ(m.confirm_link.link, 0x24);
  EXPECT_EQ(m.confirm_link.user_id, 0x25262728u);
  EXPECT_EQ(m.confirm_link.max_links, 0x29);
  EXPECT_EQ(m.confirm_link.max_conns, 0x2a);
}

TEST(Llc, AddLinkFieldsAreWhereTheRfcSays) {
  auto l =
      Parse<Llc>(FromHex("02 2c 01 c0 010203040506 0000 1112131415161718191a1b1c1d1e1f20"
                         "212223 24 05 262728 0000000000000000"));
  ASSERT_EQ(l.error, 0);
  const smc_llc_msg& m = l.value.msg;
  EXPECT_EQ(m.type, SMC_LLC_ADD_LINK);
  EXPECT_EQ(m.flags, SMC_LLC_REPLY | SMC_LLC_ADD_LINK_REJECTED);
  EXPECT_EQ(m.reason, SMC_LLC_REJECT_NO_ALT_PATH);
  EXPECT_EQ(Hex(m.add_link.mac), "010203040506");
  EXPECT_EQ(Hex(m.add_link.gid), "1112131415161718191a1b1c1d1e1f20");
  EXPECT_EQ(m.add_link.qpn, 0x212223u);
  EXPECT_EQ(m.add_link.link, 0x24);
  EXPECT_EQ(m.add_link.mtu, 5);
  EXPECT_EQ(m.add_link.psn, 0x262728u);
  EXPECT_FALSE(m.add_link.large);
}

TEST(Llc, LargeAddLinkFieldsAreWhereTheProtocolSays) {
  const std::string bytes =
      "22 68 00 00 010203040506 0000 1112131415161718191a1b1c1d1e1f20"
      "212223 24 05 262728 0000000000000000"
      "80 00 3132333435363738393a3b3c3d3e3f40 0000000000000000 0200"
      "41424344 45464748 494a4b4c4d4e4f50"
      "51525354 55565758 595a5b5c5d5e5f60";
  auto l = Parse<Llc>(FromHex(bytes));
  ASSERT_EQ(l.error, 0);
  EXPECT_TRUE(l.value.msg.add_link.large);
  EXPECT_TRUE(l.value.msg.add_link.direct);
  EXPECT_EQ(Hex(l.value.msg.add_link.target_gid), "3132333435363738393a3b3c3d3e3f40");
  ASSERT_EQ(l.value.tokens.size(), 2u);
  EXPECT_EQ(l.value.tokens[0].rkey, 0x41424344u);
  EXPECT_EQ(l.value.tokens[0].rkey_new, 0x45464748u);
  EXPECT_EQ(l.value.tokens[0].addr, 0x494a4b4c4d4e4f50u);
  EXPECT_EQ(l.value.tokens[1].rkey, 0x51525354u);
  EXPECT_EQ(Hex(Build(l.value)), Hex(FromHex(bytes)));
}

TEST(Llc, LargeAddLinkIsBuiltAsInTreeLinuxSendsIt) {
  constexpr u8 kGid[SMC_GID_LEN] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 83, 1, 1};
  constexpr u8 kMac[SMC_MAC_LEN] = {0x52, 0x54, 0x83, 0, 1, 1};
  constexpr smc_llc_rtoken kToken = {
      .link = 0, .rkey = 0x324, .rkey_new = 0x3f6, .addr = 0xffff888009a40000};
  smc_llc_msg msg = {.type = SMC_LLC_ADD_LINK, .v2 = true};
  std::ranges::copy(kMac, msg.add_link.mac);
  std::ranges::copy(kGid, msg.add_link.gid);
  std::ranges::copy(kGid, msg.add_link.target_gid);
  msg.add_link.qpn = 0x11;
  msg.add_link.link = 2;
  msg.add_link.mtu = 3;
  msg.add_link.psn = 0x1d8bfd;
  msg.add_link.direct = true;
  msg.add_link.n_rkeys = 1;

  for (bool little_endian : {true, false}) {
    msg.little_endian = little_endian;
    Bytes bytes(88, 0xa5), expected = FromHex(kAddLink);
    EXPECT_EQ(smc_llc_build_add_link(bytes.data(), &msg), bytes.size());
    EXPECT_EQ(Hex(std::span(bytes).last(16)), std::string(2 * 16, '0'));
    smc_llc_put_add_link_rtoken(bytes.data(), 0, &kToken);
    EXPECT_EQ(Hex(bytes), Hex(little_endian ? expected : Swapped(expected)));
  }
}

TEST(Llc, AddLinkOfVersion1IsSmall) {
  Bytes expected = FromHex(
      "022c0000 525483000101 0000 00000000000000000000ffff0a530101 000011 02 03 aa0804"
      "0000000000000000");
  auto l = Parse<Llc>(expected);
  ASSERT_EQ(l.error, 0);
  Bytes bytes(SMC_LLC_LEN, 0xa5);
  EXPECT_EQ(smc_llc_build_add_link(bytes.data(), &l.value.msg), bytes.size());
  EXPECT_EQ(Hex(bytes), Hex(expected));
}

TEST(Llc, LargeAddLinkReplyHasItsFlagsAndMayBeIndirect) {
  Random random(18);
  Llc l = SampleLargeAddLink(random, 1);
  l.msg.flags = SMC_LLC_REPLY;
  l.msg.add_link.direct = false;
  Bytes bytes = Build(l);
  EXPECT_EQ(bytes[3], 0x80);
  EXPECT_EQ(bytes[44], 0);
}

TEST(Llc, RequestAddLinkIsBuiltAsInTreeLinuxSendsIt) {
  constexpr u8 kGids[2][SMC_GID_LEN] = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 83, 0, 2},
                                        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 83, 1, 2}};
  for (bool little_endian : {true, false}) {
    Bytes bytes(60, 0xa5), expected = FromHex(kRequestAddLink);
    EXPECT_EQ(smc_llc_build_request_add_link(bytes.data(), kGids, 2, little_endian), bytes.size());
    EXPECT_EQ(Hex(bytes), Hex(little_endian ? expected : Swapped(expected)));
  }
}

TEST(Llc, AddLinkContFieldsAreWhereTheRfcSays) {
  auto l =
      Parse<Llc>(FromHex("03 2c 00 00 01 02 0000"
                         "11121314 15161718 191a1b1c1d1e1f20"
                         "21222324 25262728 292a2b2c2d2e2f30 00000000"));
  ASSERT_EQ(l.error, 0);
  const auto& c = l.value.msg.add_link_cont;
  EXPECT_EQ(c.link, 1);
  EXPECT_EQ(c.count, 2);
  EXPECT_EQ(c.rt[0].rkey, 0x11121314u);
  EXPECT_EQ(c.rt[0].rkey_new, 0x15161718u);
  EXPECT_EQ(c.rt[0].addr, 0x191a1b1c1d1e1f20u);
  EXPECT_EQ(c.rt[1].rkey, 0x21222324u);
  EXPECT_EQ(c.rt[1].rkey_new, 0x25262728u);
  EXPECT_EQ(c.rt[1].addr, 0x292a2b2c2d2e2f30u);
}

TEST(Llc, DeleteLinkFieldsAreWhereTheRfcSays) {
  auto l = Parse<Llc>(FromHex("04 2c 00 60 07 00050000" + std::string(2 * 35, '0')));
  ASSERT_EQ(l.error, 0);
  EXPECT_EQ(l.value.msg.flags, SMC_LLC_DELETE_ALL | SMC_LLC_DELETE_ORDERLY);
  EXPECT_EQ(l.value.msg.delete_link.link, 7);
  EXPECT_EQ(l.value.msg.delete_link.reason, u32{SMC_LLC_DEL_ASYMMETRIC});
}

TEST(Llc, ConfirmRkeyFieldsAreWhereTheRfcSays) {
  auto l =
      Parse<Llc>(FromHex("06 2c 00 30 02"
                         "01020304 05060708090a0b0c"
                         "0d 0e0f1011 1213141516171819"
                         "1a 1b1c1d1e 1f20212223242526 00"));
  ASSERT_EQ(l.error, 0);
  EXPECT_EQ(l.value.msg.flags, SMC_LLC_RKEY_NEGATIVE | SMC_LLC_RKEY_RETRY);
  const auto& c = l.value.msg.confirm_rkey;
  EXPECT_EQ(c.count, 2);
  EXPECT_EQ(c.rt[0].link, 0);
  EXPECT_EQ(c.rt[0].rkey, 0x01020304u);
  EXPECT_EQ(c.rt[0].addr, 0x05060708090a0b0cu);
  EXPECT_EQ(c.rt[1].link, 0x0d);
  EXPECT_EQ(c.rt[1].rkey, 0x0e0f1011u);
  EXPECT_EQ(c.rt[1].addr, 0x1213141516171819u);
  EXPECT_EQ(c.rt[2].link, 0x1a);
  EXPECT_EQ(c.rt[2].rkey, 0x1b1c1d1eu);
  EXPECT_EQ(c.rt[2].addr, 0x1f20212223242526u);
}

TEST(Llc, ConfirmRkeyContFieldsAreWhereTheRfcSays) {
  auto l =
      Parse<Llc>(FromHex("08 2c 00 00 03"
                         "01 02030405 060708090a0b0c0d"
                         "0e 0f101112 131415161718191a"
                         "1b 1c1d1e1f 2021222324252627"));
  ASSERT_EQ(l.error, 0);
  const auto& c = l.value.msg.confirm_rkey;
  EXPECT_EQ(c.count, 3);
  EXPECT_EQ(c.rt[0].link, 0x01);
  EXPECT_EQ(c.rt[0].rkey, 0x02030405u);
  EXPECT_EQ(c.rt[0].addr, 0x060708090a0b0c0du);
  EXPECT_EQ(c.rt[2].link, 0x1b);
  EXPECT_EQ(c.rt[2].rkey, 0x1c1d1e1fu);
  EXPECT_EQ(c.rt[2].addr, 0x2021222324252627u);
}

TEST(Llc, TestLinkCarriesUserData) {
  auto l = Parse<Llc>(
      FromHex("07 2c 00 00 000102030405060708090a0b0c0d0e0f" + std::string(2 * 24, '0')));
  ASSERT_EQ(l.error, 0);
  EXPECT_EQ(Hex(l.value.msg.test_link.data), "000102030405060708090a0b0c0d0e0f");
}

TEST(Llc, DeleteRkeyFieldsAreWhereTheRfcSays) {
  auto l = Parse<Llc>(
      FromHex("09 2c 00 a0 03 40 0000 01020304 05060708 090a0b0c" + std::string(2 * 24, '0')));
  ASSERT_EQ(l.error, 0);
  const auto& d = l.value.msg.delete_rkey;
  EXPECT_EQ(d.count, 3);
  EXPECT_EQ(d.errors, 0x40);
  EXPECT_EQ(d.rkey[0], 0x01020304u);
  EXPECT_EQ(d.rkey[1], 0x05060708u);
  EXPECT_EQ(d.rkey[2], 0x090a0b0cu);
  EXPECT_EQ(d.rkey[3], 0u);
}

TEST(Llc, Version1LengthIsOneByte) {
  for (int length = 0; length < 256; length++)
    EXPECT_EQ(Error(Message(SMC_LLC_TEST_LINK, static_cast<u8>(length), 0, SMC_LLC_LEN)),
              length == SMC_LLC_LEN ? 0 : -EPROTO);
  // The byte after it is no part of the length.
  EXPECT_EQ(Error(Message(SMC_LLC_TEST_LINK, SMC_LLC_LEN, 0xff, SMC_LLC_LEN)), 0);
}

TEST(Llc, Version2LengthMayHaveEitherByteOrder) {
  Random random(10);
  for (const Llc& l : Samples<Llc>(random)) {
    if (!l.msg.v2) continue;
    auto parsed = Parse<Llc>(Swapped(Build(l)));
    ASSERT_EQ(parsed.error, 0);
    EXPECT_EQ(Describe(parsed.value), Describe(l));
  }
}

TEST(Llc, Version2LengthIsSentInNetworkOrder) {
  Random random(11);
  Bytes small = Build(SampleLlc(random, SMC_LLC_TEST_LINK, true, false));
  EXPECT_EQ(Hex(std::span(small).first(3)), "27002c");
}

TEST(Llc, Version2OrderIsThatInWhichTheLengthIsPossible) {
  Random random(11);
  for (const Llc& l : Samples<Llc>(random)) {
    Bytes bytes = Build(l);
    if (l.msg.v2) {
      EXPECT_EQ(Parse<Llc>(bytes).value.msg.little_endian, l.msg.little_endian);
      EXPECT_EQ(Parse<Llc>(Swapped(bytes)).value.msg.little_endian, !l.msg.little_endian);
    } else {
      EXPECT_FALSE(Parse<Llc>(bytes).value.msg.little_endian);
    }
  }
}

// 513 and 258 are the same bytes, in either order. ADD LINK of 20 keys has 392 bytes, of 124 keys
// 2056, which is 0808.
TEST(Llc, Version2OrderIsThatOfALengthWithRoomForAllKeys) {
  Random random(11);
  Bytes bytes = Build(SampleLargeAddLink(random, 20));
  bytes.resize(513);
  EXPECT_TRUE(Parse<Llc>(With16(bytes, 1, 0x0102)).value.msg.little_endian);
  EXPECT_FALSE(Parse<Llc>(With16(bytes, 1, 0x0201)).value.msg.little_endian);

  Bytes fewer = Build(SampleLargeAddLink(random, 1));
  fewer.resize(513);
  EXPECT_FALSE(Parse<Llc>(With16(fewer, 1, 0x0102)).value.msg.little_endian);
  EXPECT_FALSE(Parse<Llc>(With16(fewer, 1, 0x0201)).value.msg.little_endian);

  for (bool little_endian : {true, false}) {
    auto parsed = Parse<Llc>(Build(SampleLargeAddLink(random, 124, little_endian)));
    EXPECT_EQ(parsed.value.tokens.size(), 124u);
    EXPECT_FALSE(parsed.value.msg.little_endian);
  }
}

// A reply that comes late is none to the next request of its type.
TEST(Llc, RepliesAnswerTheirRequestOnly) {
  smc_llc_msg request = {}, reply = {};
  auto is_answered = [&](smc_llc_type type) {
    request.type = reply.type = type;
    return smc_llc_is_answered(&request, &reply);
  };

  request.add_link.link = 2;
  EXPECT_FALSE(is_answered(SMC_LLC_ADD_LINK));
  reply.add_link.link = 2;
  EXPECT_TRUE(is_answered(SMC_LLC_ADD_LINK));

  request = reply = {};
  EXPECT_TRUE(is_answered(SMC_LLC_CONFIRM_RKEY));
  request.confirm_rkey.rt[0].rkey = 7;
  EXPECT_FALSE(is_answered(SMC_LLC_CONFIRM_RKEY));
  reply.confirm_rkey.rt[0].rkey = 7;
  EXPECT_TRUE(is_answered(SMC_LLC_CONFIRM_RKEY));

  request = reply = {};
  request.delete_rkey.rkey[0] = 7;
  EXPECT_FALSE(is_answered(SMC_LLC_DELETE_RKEY));
  reply.v2 = true;
  EXPECT_TRUE(is_answered(SMC_LLC_DELETE_RKEY));

  request = reply = {};
  request.test_link.data[15] = 1;
  EXPECT_FALSE(is_answered(SMC_LLC_TEST_LINK));
  reply.test_link.data[15] = 1;
  EXPECT_TRUE(is_answered(SMC_LLC_TEST_LINK));
}

TEST(Llc, Version2LengthIsWithinWhatCame) {
  constexpr u8 kType = 0x20 | SMC_LLC_TEST_LINK;
  for (size_t size : {44, 45, 100, 300, 8192, 9000})
    for (unsigned low = 0; low < 256; low++)
      for (unsigned high = 0; high < 256; high++) {
        auto possible = [size](size_t length) {
          return length >= SMC_LLC_LEN && length <= size && length <= SMC_LLC_V2_MAX_LEN;
        };
        bool le = possible(low | high << 8), be = possible(high | low << 8);
        auto parsed = Parse<Llc>(Message(kType, static_cast<u8>(low), static_cast<u8>(high), size));
        ASSERT_EQ(parsed.error, le || be ? 0 : -EPROTO) << low << ", " << high << " of " << size;
        if (!parsed.error)
          ASSERT_EQ(parsed.value.msg.little_endian, !be) << low << ", " << high << " of " << size;
      }
}

TEST(Llc, BytesBeyondTheMessageAreIgnored) {
  Random random(12);
  for (const Llc& l : Samples<Llc>(random)) {
    Bytes bytes = Build(l);
    bytes.resize(bytes.size() + 100, 0xee);
    auto parsed = Parse<Llc>(bytes);
    ASSERT_EQ(parsed.error, 0);
    EXPECT_EQ(Describe(parsed.value), Describe(l));
  }
}

TEST(Llc, UnknownTypesAreToldFromMalformedOnes) {
  for (int type = 0; type < 256; type++) {
    int kind = type & 15;
    bool v1 = type < 0x10 && kind >= 1 && kind <= 9 && kind != SMC_LLC_REQUEST_ADD_LINK;
    bool v2 = type >> 4 == 2 && kind >= 1 && kind <= 9;
    EXPECT_EQ(Error(Message(static_cast<u8>(type), SMC_LLC_LEN, 0, SMC_LLC_LEN)),
              v1 || v2 ? 0 : -EOPNOTSUPP)
        << type;
    EXPECT_EQ(Error(Message(static_cast<u8>(type), SMC_LLC_LEN, 0, SMC_LLC_LEN - 1)), -EPROTO);
  }
}

TEST(Llc, AddLinkTokensNeverReachBeyondTheMessage) {
  Random random(13);
  for (u8 n : {0, 1, 2, 254}) {
    Bytes bytes = Build(SampleLargeAddLink(random, n));
    EXPECT_EQ(Error(bytes), 0);
    EXPECT_EQ(Error(With8(bytes, 70, n + 1)), -EPROTO);
    // Bytes that came, but are not said to be of the message
    bytes.resize(bytes.size() + 16);
    EXPECT_EQ(Error(With8(bytes, 70, n + 1)), -EPROTO);
  }
}

TEST(Llc, AddLinkWithAnyNumberOfKeysSurvivesTheRoundTrip) {
  Random random(17);
  for (int n = 0; n <= SMC_LLC_ADD_LINK_RKEYS; n++)
    for (bool little_endian : {true, false}) {
      Llc l = SampleLargeAddLink(random, static_cast<u8>(n), little_endian);
      auto parsed = Parse<Llc>(Build(l));
      ASSERT_EQ(parsed.error, 0);
      EXPECT_EQ(Describe(parsed.value), Describe(l));
    }
}

TEST(Llc, AddLinkCountIsBelow256) {
  Random random(14);
  Bytes bytes = Build(SampleLargeAddLink(random, 1));
  EXPECT_EQ(Error(With16(bytes, 70, 0x0101)), -EPROTO);
  EXPECT_EQ(Error(With16(bytes, 70, 0xffff)), -EPROTO);
}

TEST(Llc, AddLinkOfVersion1IsNeverLarge) {
  Bytes bytes = Message(SMC_LLC_ADD_LINK, SMC_LLC_LEN, 0, 200);
  auto parsed = Parse<Llc>(bytes);
  ASSERT_EQ(parsed.error, 0);
  EXPECT_FALSE(parsed.value.msg.add_link.large);
}

TEST(Llc, AddLinkWhoseLargePartIsCutIsTheSmallOne) {
  for (u8 length = SMC_LLC_LEN; length < 72; length++) {
    auto parsed = Parse<Llc>(Message(0x20 | SMC_LLC_ADD_LINK, length, 0, 200));
    ASSERT_EQ(parsed.error, 0);
    EXPECT_FALSE(parsed.value.msg.add_link.large);
  }
}

TEST(Llc, RequestAddLinkHasRoomForItsGids) {
  constexpr u8 kType = 0x20 | SMC_LLC_REQUEST_ADD_LINK;
  for (u8 n : {0, 1, 2, 8, 12}) {
    size_t need = std::max(28 + 16 * n, SMC_LLC_LEN);
    Bytes bytes = Message(kType, static_cast<u8>(need), 0, need);
    EXPECT_EQ(Error(With8(bytes, 24, n)), 0);
    EXPECT_EQ(Error(With8(bytes, 24, std::max<u8>(n, 1) + 1)), -EPROTO);
  }
}

TEST(Llc, DeleteRkeyListsAtMostEightKeysInVersion1) {
  Bytes bytes = Message(SMC_LLC_DELETE_RKEY, SMC_LLC_LEN, 0, SMC_LLC_LEN);
  for (int n = 0; n < 256; n++)
    EXPECT_EQ(Error(With8(bytes, 4, static_cast<u8>(n))), n <= 8 ? 0 : -EPROTO);
}

TEST(Llc, DeleteRkeyHasRoomForItsKeysInVersion2) {
  constexpr u8 kType = 0x20 | SMC_LLC_DELETE_RKEY;
  for (u8 n = 0; n < 60; n++) {
    size_t need = std::max(8 + 4 * n, SMC_LLC_LEN);
    Bytes bytes = Message(kType, static_cast<u8>(need), 0, need);
    EXPECT_EQ(Error(With8(bytes, 4, n)), 0);
    EXPECT_EQ(Error(With8(bytes, 4, std::max<u8>(n, 9) + 1)), -EPROTO);
  }
}

TEST(Llc, DeleteRkeyMayListMoreThanEightKeysInVersion2) {
  Bytes bytes = Message(0x20 | SMC_LLC_DELETE_RKEY, 208, 0, 208);
  bytes[4] = 50;
  for (u32 i = 0; i < 50; i++) put_be32(&bytes[8 + 4 * i], 0x1000 + i);
  auto parsed = Parse<Llc>(bytes);
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(parsed.value.msg.delete_rkey.count, 50);
  EXPECT_EQ(parsed.value.msg.delete_rkey.rkey[7], 0x1007u);
}

// A peer that could not use two of 50 keys answers in 44 bytes.
TEST(Llc, DeleteRkeyReplyOfVersion2ListsTheInvalidKeysOnly) {
  Bytes bytes = Message(0x20 | SMC_LLC_DELETE_RKEY, SMC_LLC_LEN, 0, SMC_LLC_LEN);
  std::swap(bytes[1], bytes[2]);
  bytes[3] = SMC_LLC_REPLY | SMC_LLC_RKEY_NEGATIVE;
  bytes[4] = 50;
  bytes[5] = 2;
  put_be32(&bytes[8], 0x1234);
  put_be32(&bytes[12], 0x5678);
  auto parsed = Parse<Llc>(bytes);
  ASSERT_EQ(parsed.error, 0);
  EXPECT_EQ(parsed.value.msg.delete_rkey.count, 50);
  EXPECT_EQ(parsed.value.msg.delete_rkey.errors, 2);
  EXPECT_EQ(parsed.value.msg.delete_rkey.rkey[1], 0x5678u);
  EXPECT_EQ(Hex(Build(parsed.value)), Hex(bytes));
  EXPECT_EQ(Error(With8(bytes, 5, 10)), -EPROTO);
}

TEST(Llc, ReplyRepeatsTheRequest) {
  Random random(15);
  for (const Llc& l : Samples<Llc>(random)) {
    if (l.msg.type == SMC_LLC_REQUEST_ADD_LINK) continue;  // ADD LINK answers it
    Bytes request = Build(l);
    Bytes reply = request;
    smc_llc_reply(reply.data(), SMC_LLC_RKEY_RETRY);
    EXPECT_EQ(reply[0], request[0]);
    EXPECT_EQ(reply[l.msg.v2 ? 1 : 2], 0);
    EXPECT_EQ(reply[l.msg.v2 ? 2 : 1], SMC_LLC_LEN);
    EXPECT_EQ(reply[3], request[3] | SMC_LLC_REPLY | SMC_LLC_RKEY_RETRY);
    if (l.msg.type == SMC_LLC_DELETE_RKEY) request[5] = 0;  // no key was invalid
    EXPECT_TRUE(std::equal(reply.begin() + 4, reply.end(), request.begin() + 4));
    reply.resize(SMC_LLC_LEN);
    EXPECT_EQ(Error(reply), 0);
  }
}

TEST(Llc, RefusingAnAddLinkGivesTheReasonInVersion1) {
  Random random(16);
  for (bool v2 : {false, true}) {
    Bytes bytes = Build(SampleLlc(random, SMC_LLC_ADD_LINK, v2, false));
    smc_llc_reply(bytes.data(), SMC_LLC_ADD_LINK_REJECTED);
    auto parsed = Parse<Llc>(bytes);
    ASSERT_EQ(parsed.error, 0);
    EXPECT_TRUE(parsed.value.msg.flags & SMC_LLC_ADD_LINK_REJECTED);
    EXPECT_EQ(parsed.value.msg.reason, v2 ? 0 : SMC_LLC_REJECT_NO_ALT_PATH);
  }
  // 0x40 means something else in a DELETE LINK.
  Bytes bytes = Build(SampleLlc(random, SMC_LLC_DELETE_LINK, false, false));
  smc_llc_reply(bytes.data(), SMC_LLC_DELETE_ALL);
  EXPECT_EQ(Parse<Llc>(bytes).value.msg.reason, 0);
}

}  // namespace
}  // namespace wire
