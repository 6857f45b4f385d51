// SPDX-License-Identifier: GPL-2.0
// Messages of the in-tree module, decoded and encoded again byte for byte.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "capture.h"
#include "describe.h"
#include "edit.h"

namespace wire {
namespace {

constexpr char kFirstContact[] = WIRE_CAPTURES "/smcr-v2-first-contact-data-close.pcap";
constexpr char kTwoLinks[] = WIRE_CAPTURES "/smcr-v2-two-links-rkeys-close.pcap";
constexpr char kAsymmetric[] = WIRE_CAPTURES "/smcr-v2-asymmetric-becomes-symmetric.pcap";
constexpr char kPortDown[] = WIRE_CAPTURES "/smcr-v2-failover-port-down.pcap";
constexpr char kVersion1[] = WIRE_CAPTURES "/smcr-v1-two-links.pcap";
constexpr char kRewrite[] = WIRE_CAPTURES "/smcr-v2-failover-rewrite.pcap";

// GIDs of the hosts in the captures with two links: LAN, then host.
constexpr char kGid02[] = "00000000000000000000ffff0a530002";
constexpr char kGid11[] = "00000000000000000000ffff0a530101";
constexpr char kGid12[] = "00000000000000000000ffff0a530102";

template <typename T>
void ExpectSameBytes(const Bytes& bytes) {
  auto parsed = Parse<T>(bytes);
  ASSERT_EQ(parsed.error, 0) << Hex(bytes);
  EXPECT_EQ(Hex(Build(parsed.value)), Hex(bytes)) << Describe(parsed.value);
}

// In-tree Linux sends the length of version 2 in host order. smc_llc_build() never does.
Bytes InNetworkOrder(Bytes llc) {
  if ((llc[0] & 0x20) && llc[1] == SMC_LLC_LEN) std::swap(llc[1], llc[2]);
  return llc;
}

// A capture's messages of a type, in their order.
std::vector<Bytes> LlcBytes(const char* capture, smc_llc_type type) {
  std::vector<Bytes> found = ReadCapture(capture).llc;
  std::erase_if(found, [type](const Bytes& bytes) { return (bytes.at(0) & 0x0f) != type; });
  return found;
}

std::vector<smc_clc_agreement> Agreements(const char* capture, smc_clc_type type) {
  std::vector<smc_clc_agreement> agreements;
  for (const Bytes& bytes : ReadCapture(capture).clc)
    if (bytes[4] == type) agreements.push_back(Parse<smc_clc_agreement>(bytes).value);
  return agreements;
}

std::vector<Llc> LlcMessages(const char* capture, smc_llc_type type) {
  std::vector<Llc> messages;
  for (const Bytes& bytes : LlcBytes(capture, type)) messages.push_back(Parse<Llc>(bytes).value);
  return messages;
}

std::string Blank(const u8* text, size_t size) {
  std::string s(reinterpret_cast<const char*>(text), size);
  return s.substr(0, s.find_last_not_of(' ') + 1);
}

TEST(Captures, EveryClcMessageIsReencoded) {
  std::map<int, int> found;
  for (const Bytes& bytes : ReadAllCaptures().clc) {
    found[bytes[4]]++;
    switch (bytes[4]) {
      case SMC_CLC_PROPOSAL:
        ExpectSameBytes<smc_clc_proposal>(bytes);
        break;
      case SMC_CLC_ACCEPT:
      case SMC_CLC_CONFIRM:
        ExpectSameBytes<smc_clc_agreement>(bytes);
        break;
      case SMC_CLC_DECLINE:
        ExpectSameBytes<smc_clc_decline>(bytes);
        break;
    }
  }
  EXPECT_EQ(found, (std::map<int, int>{{SMC_CLC_PROPOSAL, 12},
                                       {SMC_CLC_ACCEPT, 11},
                                       {SMC_CLC_CONFIRM, 11},
                                       {SMC_CLC_DECLINE, 1}}));
}

TEST(Captures, EveryCdcMessageIsReencoded) {
  auto messages = ReadAllCaptures().cdc;
  for (const Bytes& bytes : messages) ExpectSameBytes<smc_cdc>(bytes);
  EXPECT_EQ(messages.size(), 64u);
}

TEST(Captures, EveryLlcMessageIsReencoded) {
  std::map<int, int> requests, replies;
  for (const Bytes& bytes : ReadAllCaptures().llc) {
    ExpectSameBytes<Llc>(InNetworkOrder(bytes));
    (bytes[3] & SMC_LLC_REPLY ? replies : requests)[bytes[0]]++;
  }
  EXPECT_EQ(requests, (std::map<int, int>{{1, 1},
                                          {2, 6},
                                          {3, 5},
                                          {4, 8},
                                          {6, 2},
                                          {9, 8},
                                          {0x21, 9},
                                          {0x22, 8},
                                          {0x24, 12},
                                          {0x25, 2},
                                          {0x26, 12},
                                          {0x27, 2},
                                          {0x29, 12}}));
  EXPECT_EQ(replies, (std::map<int, int>{{1, 1},
                                         {2, 6},
                                         {3, 5},
                                         {4, 2},
                                         {6, 2},
                                         {9, 8},
                                         {0x21, 9},
                                         {0x22, 9},
                                         {0x24, 3},
                                         {0x26, 12},
                                         {0x27, 2},
                                         {0x29, 12}}));
}

TEST(Captures, SmcrProposalSaysWhatTsharkSays) {
  auto p = Parse<smc_clc_proposal>(
               ReadCapture(WIRE_CAPTURES "/smcr-v2-no-common-eid-decline.pcap").clc.at(0))
               .value;
  EXPECT_EQ(p.version, SMC_VERSION_2);
  EXPECT_EQ(p.offer_v1, SMC_OFFER_NONE);
  EXPECT_EQ(p.offer_v2, SMC_OFFER_R);
  EXPECT_EQ(p.release, 1);
  EXPECT_EQ(p.n_eids, 1);
  EXPECT_EQ(Blank(p.eids[0], SMC_EID_LEN), "EID1");
  EXPECT_EQ(Hex(p.gid_v2), "00000000000000000000ffff0a090002");
  EXPECT_EQ(p.max_conns, 255);
  EXPECT_EQ(p.max_links, 2);
  EXPECT_EQ(p.features, 1);
  EXPECT_FALSE(p.has_dv2);
}

TEST(Captures, SmcdProposalSaysWhatTsharkSays) {
  auto p =
      Parse<smc_clc_proposal>(ReadCapture(WIRE_CAPTURES "/smcd-v2-loopback-clc.pcap").clc.at(0))
          .value;
  EXPECT_EQ(p.offer_v1, SMC_OFFER_NONE);
  EXPECT_EQ(p.offer_v2, SMC_OFFER_D);
  EXPECT_TRUE(p.has_dv2);
  EXPECT_FALSE(p.has_seid);
  EXPECT_EQ(p.n_ism, 1);
  EXPECT_EQ(p.ism[0].gid, 0xb74135f6f5b8e12eu);
  EXPECT_EQ(p.ism[0].gid_ext, 0x8d6df6efbd15dd8cu);
  EXPECT_EQ(p.ism[0].chid, SMC_CHID_LOOPBACK);
}

TEST(Captures, SmcrConfirmSaysWhatTsharkSays) {
  for (const Bytes& bytes : ReadCapture(kFirstContact).clc) {
    auto a = Parse<smc_clc_agreement>(bytes);
    if (a.error || a.value.type != SMC_CLC_CONFIRM || !a.value.first_contact) continue;
    EXPECT_EQ(Hex(a.value.r.peer_id), "cbe5525400000002");
    EXPECT_EQ(Hex(a.value.r.gid), "00000000000000000000ffff0a090002");
    EXPECT_EQ(Hex(a.value.r.mac), "525400000002");
    EXPECT_EQ(a.value.r.qpn, 0x11u);
    EXPECT_EQ(a.value.r.rkey, 0x34bu);
    EXPECT_EQ(a.value.r.rmbe_index, 1);
    EXPECT_EQ(a.value.r.alert_token, 1u);
    EXPECT_EQ(a.value.r.rmbe_size_code, 2);
    EXPECT_EQ(a.value.r.qp_mtu, 3);
    EXPECT_EQ(a.value.r.rmb_addr, 0xffff8af904280000u);
    EXPECT_EQ(a.value.r.psn, 0x3e59b7u);
    EXPECT_EQ(Blank(a.value.eid, SMC_EID_LEN), "LABEID");
    EXPECT_TRUE(a.value.fc.direct);
    EXPECT_EQ(a.value.fc.os_type, SMC_OS_LINUX);
    EXPECT_EQ(a.value.fc.release, 1);
    EXPECT_EQ(Blank(a.value.fc.hostname, SMC_HOSTNAME_LEN), "node1");
    EXPECT_EQ(a.value.fc.max_conns, 255);
    EXPECT_EQ(a.value.fc.max_links, 2);
    EXPECT_EQ(a.value.n_gids, 1);
    EXPECT_EQ(Hex(a.value.gids[0]), "00000000000000000000ffff0a090002");
    return;
  }
  FAIL() << "no first-contact CONFIRM in the capture";
}

TEST(Captures, SmcdAcceptSaysWhatTsharkSays) {
  for (const Bytes& bytes : ReadCapture(WIRE_CAPTURES "/smcd-v2-loopback-clc.pcap").clc) {
    auto a = Parse<smc_clc_agreement>(bytes);
    if (a.error || a.value.type != SMC_CLC_ACCEPT || !a.value.first_contact) continue;
    EXPECT_TRUE(a.value.is_d);
    EXPECT_EQ(a.value.d.gid, 0xb74135f6f5b8e12eu);
    EXPECT_EQ(a.value.d.gid_ext, 0x8d6df6efbd15dd8cu);
    EXPECT_EQ(a.value.d.token, 0x96a82846ef205d25u);
    EXPECT_EQ(a.value.d.dmbe_index, 0);
    EXPECT_EQ(a.value.d.dmbe_size_code, 2);
    EXPECT_EQ(a.value.d.link_id, 0x00010000u);
    EXPECT_EQ(a.value.d.chid, SMC_CHID_LOOPBACK);
    EXPECT_EQ(Blank(a.value.eid, SMC_EID_LEN), "LABEID");
    EXPECT_EQ(Blank(a.value.fc.hostname, SMC_HOSTNAME_LEN), "node0");
    EXPECT_EQ(a.value.fc.features, 1);
    return;
  }
  FAIL() << "no first-contact ACCEPT in the capture";
}

TEST(Captures, DeclineSaysWhatTsharkSays) {
  auto d = Parse<smc_clc_decline>(
               ReadCapture(WIRE_CAPTURES "/smcr-v2-no-common-eid-decline.pcap").clc.at(1))
               .value;
  EXPECT_EQ(d.version, SMC_VERSION_2);
  EXPECT_FALSE(d.out_of_sync);
  EXPECT_EQ(Hex(d.peer_id), "e13c525400000001");
  EXPECT_EQ(d.diagnosis, SMC_DIAG_NO_DEVICE);
  EXPECT_EQ(d.os_type, SMC_OS_LINUX);
}

TEST(Captures, LargeAddLinkSaysWhatTheBytesSay) {
  Bytes bytes = LlcBytes(kFirstContact, SMC_LLC_ADD_LINK).at(0);
  EXPECT_EQ(bytes.size(), 88u);
  auto l = Parse<Llc>(bytes).value;
  EXPECT_EQ(l.msg.flags, 0);
  EXPECT_TRUE(l.msg.add_link.large);
  EXPECT_TRUE(l.msg.add_link.direct);
  EXPECT_EQ(Hex(l.msg.add_link.mac), "525400000001");
  EXPECT_EQ(Hex(l.msg.add_link.gid), "00000000000000000000ffff0a090001");
  EXPECT_EQ(l.msg.add_link.qpn, 0x12u);
  EXPECT_EQ(l.msg.add_link.link, 2);
  EXPECT_EQ(l.msg.add_link.mtu, 3);
  EXPECT_EQ(l.msg.add_link.psn, 0x286f70u);
  ASSERT_EQ(l.tokens.size(), 1u);
  EXPECT_EQ(l.tokens[0].rkey, 0x3b1u);
  EXPECT_EQ(l.tokens[0].rkey_new, 0x544u);
  EXPECT_EQ(l.tokens[0].addr, 0xffff8e8844480000u);
}

// The in-tree client's refusal is what smc_llc_reply() makes of the request.
TEST(Captures, AddLinkRefusalIsTheInTreeOne) {
  int refused = 0;
  for (const char* capture : {kFirstContact, kPortDown, kRewrite}) {
    std::map<u32, Bytes> requests;  // by their PSN
    for (const Bytes& bytes : LlcBytes(capture, SMC_LLC_ADD_LINK)) {
      auto l = Parse<Llc>(bytes).value;
      Bytes& request = requests[l.msg.add_link.psn];
      if (!(l.msg.flags & SMC_LLC_REPLY)) request = bytes;
      if (!(l.msg.flags & SMC_LLC_ADD_LINK_REJECTED)) continue;
      ASSERT_FALSE(request.empty());
      smc_llc_reply(request.data(), SMC_LLC_ADD_LINK_REJECTED);
      request.resize(SMC_LLC_LEN);
      EXPECT_EQ(Hex(request), Hex(InNetworkOrder(bytes)));
      refused++;
    }
  }
  EXPECT_EQ(refused, 3);
}

// Every reply repeats the link number, a refusal as well as a large one.
TEST(Captures, AddLinkIsAnsweredByItsOwnReplyOnly) {
  std::vector<smc_llc_msg> requests, replies;
  for (const char* capture : {kFirstContact, kTwoLinks, kAsymmetric, kPortDown, kRewrite}) {
    requests.clear();
    for (const Llc& l : LlcMessages(capture, SMC_LLC_ADD_LINK)) {
      if (!(l.msg.flags & SMC_LLC_REPLY)) {
        requests.push_back(l.msg);
        continue;
      }
      replies.push_back(l.msg);
      EXPECT_EQ(std::ranges::count_if(requests,
                                      [&](const smc_llc_msg& request) {
                                        return smc_llc_is_answered(&request, &l.msg);
                                      }),
                1);
    }
  }
  EXPECT_EQ(replies.size(), 9u);
}

// By twos; the number is that of the keys which are left, and one message is sent without any.
TEST(Captures, AddLinkContinuationHasTwoKeysAtMost) {
  auto messages = LlcMessages(kVersion1, SMC_LLC_ADD_LINK_CONT);
  std::vector<std::tuple<int, int, int>> seen;
  for (const Llc& l : messages)
    seen.emplace_back(l.msg.flags, l.msg.add_link_cont.link, l.msg.add_link_cont.count);
  EXPECT_EQ(seen, (std::vector<std::tuple<int, int, int>>{{0, 2, 1},
                                                          {0x80, 2, 1},
                                                          {0, 3, 4},
                                                          {0x80, 3, 4},
                                                          {0, 3, 2},
                                                          {0x80, 3, 2},
                                                          {0, 4, 0},
                                                          {0x80, 4, 0},
                                                          {0, 5, 0},
                                                          {0x80, 5, 0}}));
  const smc_llc_rtoken& first = messages.at(2).msg.add_link_cont.rt[0];
  EXPECT_EQ(first.rkey, 0x6a4u);
  EXPECT_EQ(first.rkey_new, 0x83fu);
  EXPECT_EQ(first.addr, 0xffff888009570000u);
  EXPECT_EQ(messages.at(4).msg.add_link_cont.rt[1].rkey, 0x34eu);
}

TEST(Captures, AddLinkContinuationIsAnsweredByThatOfItsLink) {
  auto messages = LlcMessages(kVersion1, SMC_LLC_ADD_LINK_CONT);
  EXPECT_TRUE(smc_llc_is_answered(&messages.at(2).msg, &messages.at(3).msg));
  EXPECT_FALSE(smc_llc_is_answered(&messages.at(2).msg, &messages.at(1).msg));
}

TEST(Captures, ClientOfVersion1AsksByAnAddLinkWithoutAQueuePair) {
  auto requests = LlcMessages(kVersion1, SMC_LLC_ADD_LINK);
  std::erase_if(requests, [](const Llc& l) { return l.msg.add_link.qpn; });
  ASSERT_EQ(requests.size(), 2u);
  for (const Llc& l : requests) {
    EXPECT_EQ(l.msg.flags, 0);
    EXPECT_EQ(l.msg.add_link.link, 0);
    EXPECT_EQ(Hex(l.msg.add_link.gid), kGid12);
  }
}

TEST(Captures, FirstConfirmListsTheGidInUseAndTheOther) {
  auto a = Agreements(kTwoLinks, SMC_CLC_CONFIRM).at(0);
  EXPECT_EQ(Hex(a.r.gid), kGid02);
  ASSERT_EQ(a.n_gids, 2);
  EXPECT_EQ(Hex(a.gids[0]), kGid02);
  EXPECT_EQ(Hex(a.gids[1]), kGid12);
}

TEST(Captures, LaterConnectionNamesTheLinkThatItUses) {
  auto a = Agreements(kTwoLinks, SMC_CLC_ACCEPT).at(1);
  EXPECT_FALSE(a.first_contact);
  EXPECT_EQ(Hex(a.r.gid), kGid11);
  EXPECT_EQ(Hex(a.r.mac), "525483000101");
  EXPECT_EQ(a.r.qpn, 0x12u);
  EXPECT_EQ(a.r.psn, 0x1c2bu);
  EXPECT_EQ(a.r.rkey, 0x68au);
}

// Each end says its own port and, as the key on the link that exists, that of its CLC message.
TEST(Captures, SecondLinkIsAddedByALargeRequestAndALargeReply) {
  auto links = LlcMessages(kTwoLinks, SMC_LLC_ADD_LINK);
  ASSERT_EQ(links.size(), 2u);

  const auto& request = links[0].msg.add_link;
  EXPECT_EQ(links[0].msg.flags, 0);
  EXPECT_EQ(Hex(request.mac), "525483000101");
  EXPECT_EQ(Hex(request.gid), kGid11);
  EXPECT_EQ(request.qpn, 0x12u);
  EXPECT_EQ(request.psn, 0x1c2bu);
  EXPECT_EQ(links[0].tokens.at(0).rkey, Agreements(kTwoLinks, SMC_CLC_ACCEPT).at(0).r.rkey);
  EXPECT_EQ(links[0].tokens.at(0).rkey_new, 0x553u);
  EXPECT_EQ(links[0].tokens.at(0).addr, 0xffff888008f30000u);

  const auto& reply = links[1].msg.add_link;
  EXPECT_EQ(links[1].msg.flags, SMC_LLC_REPLY);
  EXPECT_EQ(Hex(reply.mac), "525483000102");
  EXPECT_EQ(Hex(reply.gid), kGid12);
  EXPECT_EQ(reply.qpn, 0x12u);
  EXPECT_EQ(reply.psn, 0x113524u);
  EXPECT_EQ(links[1].tokens.at(0).rkey, Agreements(kTwoLinks, SMC_CLC_CONFIRM).at(0).r.rkey);
  EXPECT_EQ(links[1].tokens.at(0).rkey_new, 0x593u);
  EXPECT_EQ(links[1].tokens.at(0).addr, 0xffff888007f40000u);

  for (const Llc& l : links) {
    EXPECT_TRUE(l.msg.add_link.large);
    EXPECT_TRUE(l.msg.add_link.direct);
    EXPECT_EQ(l.msg.add_link.link, 2);
    EXPECT_EQ(l.msg.add_link.mtu, 3);
    EXPECT_EQ(l.tokens.size(), 1u);
    EXPECT_EQ(Hex(l.msg.add_link.target_gid), Hex(l.msg.add_link.gid));  // its sender's own
  }
}

TEST(Captures, SecondLinkIsConfirmedByItsNumberAndUserId) {
  auto links = LlcMessages(kTwoLinks, SMC_LLC_CONFIRM_LINK);
  ASSERT_EQ(links.size(), 4u);
  for (size_t i : {2, 3}) {
    const auto& c = links[i].msg.confirm_link;
    bool is_reply = i == 3;
    EXPECT_EQ(links[i].msg.flags, SMC_LLC_NO_RMBE_EYE_CATCHER | (is_reply ? SMC_LLC_REPLY : 0));
    EXPECT_EQ(Hex(c.gid), is_reply ? kGid12 : kGid11);
    EXPECT_EQ(c.link, 2);
    EXPECT_EQ(c.user_id, 0x102u);
    EXPECT_EQ(c.max_links, 2);
    EXPECT_EQ(c.max_conns, 255);
  }
}

TEST(Captures, AddLinkListsTheKeysOfAllBuffersNewestFirst) {
  auto l = LlcMessages(kPortDown, SMC_LLC_ADD_LINK).at(2);
  EXPECT_EQ(LlcBytes(kPortDown, SMC_LLC_ADD_LINK).at(2).size(), 104u);
  EXPECT_EQ(l.msg.add_link.link, 3);
  ASSERT_EQ(l.tokens.size(), 2u);
  EXPECT_EQ(l.tokens[0].rkey, 0x13d5u);
  EXPECT_EQ(l.tokens[0].rkey_new, 0xf1du);
  EXPECT_EQ(l.tokens[0].addr, 0xffff88800a780000u);
  EXPECT_EQ(l.tokens[1].rkey, 0x1238u);
  EXPECT_EQ(l.tokens[1].rkey_new, 0x10ffu);
  EXPECT_EQ(l.tokens[1].addr, 0xffff88800a660000u);
}

TEST(Captures, AsymmetricLinkEndsAtTheSameGidAsTheFirst) {
  auto reply = LlcMessages(kAsymmetric, SMC_LLC_ADD_LINK).at(1);
  EXPECT_EQ(reply.msg.flags, SMC_LLC_REPLY);
  EXPECT_EQ(Hex(reply.msg.add_link.gid), kGid02);
  EXPECT_EQ(reply.msg.add_link.link, 2);
  auto confirmed = LlcMessages(kAsymmetric, SMC_LLC_CONFIRM_LINK);
  EXPECT_EQ(Hex(confirmed.at(1).msg.confirm_link.gid), kGid02);
  EXPECT_EQ(Hex(confirmed.at(3).msg.confirm_link.gid), kGid02);
}

TEST(Captures, RequestAddLinkListsTheGidInUseAndTheOther) {
  const std::string list = std::string("02000000") + kGid02 + kGid12;
  for (const char* capture : {kAsymmetric, kPortDown}) {
    auto requests = LlcBytes(capture, SMC_LLC_REQUEST_ADD_LINK);
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(Hex(requests[0]), "253c0000" + std::string(2 * 20, '0') + list);
  }
}

void ExpectTwoKeys(const Llc& l, u32 rkey, u8 other_link, u32 other_rkey, u64 addr) {
  const auto& c = l.msg.confirm_rkey;
  EXPECT_EQ(c.count, 1);
  EXPECT_EQ(c.rt[0].rkey, rkey);
  EXPECT_EQ(c.rt[0].addr, addr);
  EXPECT_EQ(c.rt[1].link, other_link);
  EXPECT_EQ(c.rt[1].rkey, other_rkey);
  EXPECT_EQ(c.rt[1].addr, addr);
  EXPECT_EQ(c.rt[2].link, 0);
  EXPECT_EQ(c.rt[2].rkey, 0u);
}

// In the first capture link 2 carries the message, in the second link 1.
TEST(Captures, ConfirmRkeyHasTheKeyOnTheOtherLinkToo) {
  ExpectTwoKeys(LlcMessages(kTwoLinks, SMC_LLC_CONFIRM_RKEY).at(0), 0x68a, 1, 0x6b2,
                0xffff88800aa20000);
  ExpectTwoKeys(LlcMessages(kAsymmetric, SMC_LLC_CONFIRM_RKEY).at(0), 0x41ea, 2, 0x414c,
                0xffff88800a890000);
}

TEST(Captures, ConfirmRkeyReplyRepeatsAllKeys) {
  for (const char* capture : {kTwoLinks, kAsymmetric, kPortDown, kRewrite}) {
    auto messages = LlcBytes(capture, SMC_LLC_CONFIRM_RKEY);
    ASSERT_EQ(messages.size(), 4u);
    for (size_t i : {0, 2}) {
      EXPECT_EQ(messages[i][3], 0);
      EXPECT_EQ(Hex(With8(messages[i], 3, SMC_LLC_REPLY)), Hex(messages[i + 1]));
    }
  }
}

// It goes by link 1, though the connection was on link 2, and has the key on link 1.
TEST(Captures, DeleteRkeyHasTheKeyOnTheLinkThatCarriesIt) {
  auto confirmed = LlcMessages(kTwoLinks, SMC_LLC_CONFIRM_RKEY);
  auto deleted = LlcMessages(kTwoLinks, SMC_LLC_DELETE_RKEY);
  EXPECT_EQ(deleted.at(0).msg.delete_rkey.count, 1);
  EXPECT_EQ(deleted.at(0).msg.delete_rkey.rkey[0], confirmed.at(2).msg.confirm_rkey.rt[1].rkey);
  EXPECT_EQ(deleted.at(1).msg.delete_rkey.rkey[0], confirmed.at(0).msg.confirm_rkey.rt[1].rkey);
}

TEST(Captures, TestLinkHasNoUserData) {
  auto tests = LlcMessages(kPortDown, SMC_LLC_TEST_LINK);
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].msg.flags, 0);
  EXPECT_EQ(tests[1].msg.flags, SMC_LLC_REPLY);
  for (const Llc& l : tests) EXPECT_EQ(Hex(l.msg.test_link.data), std::string(2 * 16, '0'));
}

using Deleted = std::tuple<int, int, u32>;  // flags, link, reason

std::vector<Deleted> DeletedLinks(const char* capture) {
  std::vector<Deleted> deleted;
  for (const Llc& l : LlcMessages(capture, SMC_LLC_DELETE_LINK))
    deleted.emplace_back(l.msg.flags, l.msg.delete_link.link, l.msg.delete_link.reason);
  return deleted;
}

TEST(Captures, DeleteLinkSaysWhyInItsReason) {
  constexpr int kOrderly = SMC_LLC_DELETE_ORDERLY, kReply = kOrderly | SMC_LLC_REPLY;
  constexpr int kAll = SMC_LLC_DELETE_ALL;

  EXPECT_EQ(DeletedLinks(kTwoLinks),
            (std::vector<Deleted>{{kAll, 0, SMC_LLC_DEL_OPERATOR},
                                  {kAll | kOrderly, 0, SMC_LLC_DEL_OPERATOR}}));
  EXPECT_EQ(DeletedLinks(kAsymmetric),
            (std::vector<Deleted>{{kOrderly, 2, SMC_LLC_DEL_ASYMMETRIC}, {kReply, 2, 0}}));
  // The server answers the client's request by one of its own, for a link that is gone by then.
  EXPECT_EQ(DeletedLinks(kPortDown), (std::vector<Deleted>{{kOrderly, 2, SMC_LLC_DEL_LOST_PATH},
                                                           {kOrderly, 2, SMC_LLC_DEL_LOST_PATH},
                                                           {kReply, 2, SMC_LLC_DEL_NO_SUCH_LINK}}));
  // Both ends give up link 3, which could not be confirmed, and neither answers.
  EXPECT_EQ(DeletedLinks(kRewrite), (std::vector<Deleted>{{kOrderly, 2, SMC_LLC_DEL_LOST_PATH},
                                                          {kReply, 2, 0},
                                                          {0, 3, SMC_LLC_DEL_LOST_PATH},
                                                          {0, 3, SMC_LLC_DEL_LOST_PATH}}));
}

TEST(Captures, FailoverIsValidatedByCdcWithoutCursors) {
  std::vector<int> seqs;
  for (const char* capture : {kPortDown, kRewrite})
    for (const Bytes& bytes : ReadCapture(capture).cdc) {
      auto c = Parse<smc_cdc>(bytes).value;
      EXPECT_EQ(c.token, 2u);
      if (!(c.prod_flags & SMC_PROD_FAILOVER)) continue;
      seqs.push_back(c.seq);
      EXPECT_EQ(c.prod_flags, SMC_PROD_FAILOVER);
      EXPECT_EQ(c.conn_flags, 0);
      Bytes rest = With8(bytes, 24, 0);  // without the flag
      EXPECT_EQ(Hex(std::span(rest).subspan(8)), std::string(2 * (SMC_CDC_LEN - 8), '0'));
    }
  // In the first capture both ends had sent 24, in the second the server 49, of which 48 and 49
  // were not acknowledged.
  EXPECT_EQ(seqs, (std::vector<int>{23, 23, 46, 47}));
}

TEST(Captures, CdcCursorsAreWithinTheElement) {
  u32 distance;
  for (const Bytes& bytes : ReadCapture(kFirstContact).cdc) {
    auto c = Parse<smc_cdc>(bytes).value;
    EXPECT_EQ(smc_cursor_distance(c.prod, {0, 0}, 65536, 65536, &distance), 0);
    EXPECT_EQ(smc_cursor_distance(c.cons, {0, 0}, 65536, 65536, &distance), 0);
  }
}

}  // namespace
}  // namespace wire
