// SPDX-License-Identifier: GPL-2.0
// What the in-tree module sent, decoded and encoded again byte for byte.
#include <gtest/gtest.h>

#include <map>

#include "capture.h"
#include "describe.h"
#include "large_add_link.h"

namespace wire {
namespace {

template <typename T>
void ExpectSameBytes(const Bytes& bytes) {
  auto parsed = Parse<T>(bytes);
  ASSERT_EQ(parsed.error, 0) << Hex(bytes);
  EXPECT_EQ(Hex(Build(parsed.value)), Hex(bytes)) << Describe(parsed.value);
}

// In-tree Linux sends the length of version 2 in host order; a large ADD LINK is built here alike.
Bytes InNetworkOrder(Bytes llc) {
  if ((llc[0] & 0x20) && llc[1] == SMC_LLC_LEN) std::swap(llc[1], llc[2]);
  return llc;
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
  EXPECT_EQ(
      found,
      (std::map<int, int>{
          {SMC_CLC_PROPOSAL, 6}, {SMC_CLC_ACCEPT, 5}, {SMC_CLC_CONFIRM, 5}, {SMC_CLC_DECLINE, 1}}));
}

TEST(Captures, EveryCdcMessageIsReencoded) {
  auto messages = ReadAllCaptures().cdc;
  for (const Bytes& bytes : messages) ExpectSameBytes<smc_cdc>(bytes);
  EXPECT_EQ(messages.size(), 26u);
}

TEST(Captures, EveryLlcMessageIsReencoded) {
  std::map<int, int> requests, replies;
  for (const Bytes& bytes : ReadAllCaptures().llc) {
    ExpectSameBytes<Llc>(InNetworkOrder(bytes));
    (bytes[3] & SMC_LLC_REPLY ? replies : requests)[bytes[0]]++;
  }
  EXPECT_EQ(requests, (std::map<int, int>{{0x21, 1}, {0x22, 1}, {0x24, 4}, {0x26, 4}, {0x29, 6}}));
  EXPECT_EQ(replies, (std::map<int, int>{{0x21, 1}, {0x22, 1}, {0x26, 4}, {0x29, 6}}));
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
  for (const Bytes& bytes :
       ReadCapture(WIRE_CAPTURES "/smcr-v2-first-contact-data-close.pcap").clc) {
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
  for (const Bytes& bytes : ReadAllCaptures().llc) {
    auto l = Parse<Llc>(bytes).value;
    if (l.msg.type != SMC_LLC_ADD_LINK || (l.msg.flags & SMC_LLC_REPLY)) continue;
    EXPECT_EQ(bytes.size(), LargeAddLinkLen(1));
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
    return;
  }
  FAIL() << "no ADD LINK request in the capture";
}

// The in-tree client's refusal is what smc_llc_reply() makes of the request.
TEST(Captures, AddLinkRefusalIsTheInTreeOne) {
  Bytes request, refusal;
  for (const Bytes& bytes : ReadAllCaptures().llc)
    if (bytes[0] == (0x20 | SMC_LLC_ADD_LINK))
      (bytes[3] & SMC_LLC_REPLY ? refusal : request) = bytes;
  ASSERT_FALSE(request.empty());
  smc_llc_reply(request.data(), SMC_LLC_ADD_LINK_REJECTED);
  request.resize(SMC_LLC_LEN);
  EXPECT_EQ(Hex(request), Hex(InNetworkOrder(refusal)));
}

TEST(Captures, CdcCursorsAreWithinTheElement) {
  u32 distance;
  for (const Bytes& bytes : ReadAllCaptures().cdc) {
    auto c = Parse<smc_cdc>(bytes).value;
    EXPECT_EQ(smc_cursor_distance(c.prod, {0, 0}, 65536, 65536, &distance), 0);
    EXPECT_EQ(smc_cursor_distance(c.cons, {0, 0}, 65536, 65536, &distance), 0);
  }
}

}  // namespace
}  // namespace wire
