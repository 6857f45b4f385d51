// SPDX-License-Identifier: GPL-2.0
#include "samples.h"

namespace wire {
namespace {

constexpr smc_clc_offer kOffers[] = {SMC_OFFER_R, SMC_OFFER_D, SMC_OFFER_NONE, SMC_OFFER_BOTH};
constexpr bool kBoth[] = {false, true};

void FillIpArea(Random& random, smc_clc_proposal& p) {
  random.Fill(p.prefix4);
  p.prefix4_len = static_cast<u8>(random.UpTo(32));
  p.n_prefixes6 = static_cast<u8>(random.UpTo(SMC_CLC_MAX_PREFIXES6));
  for (u8 i = 0; i < p.n_prefixes6; i++) {
    random.Fill(p.prefixes6[i].addr);
    p.prefixes6[i].len = static_cast<u8>(random.UpTo(128));
  }
}

void FillBlock(Random& random, smc_clc_proposal& p) {
  p.ism_gid = random.U64();
  p.ism_chid = random.U16();
  random.Fill(p.vendor_oui);
  random.Fill(p.vendor_options);
}

void FillDv2(Random& random, smc_clc_proposal& p) {
  p.has_dv2 = true;
  p.has_seid = random.Coin();
  if (p.has_seid) random.Fill(p.seid);
  p.n_ism = static_cast<u8>(random.UpTo(SMC_CLC_MAX_ISM));
  for (u8 i = 0; i < p.n_ism; i++) {
    p.ism[i].gid = random.U64();
    p.ism[i].chid = random.U16();
    if (random.Coin()) p.ism[i].chid |= SMC_CHID_EMULATED;
    if (smc_chid_is_emulated(p.ism[i].chid)) p.ism[i].gid_ext = random.U64();
  }
}

void FillV2(Random& random, smc_clc_proposal& p) {
  p.release = random.Nibble();
  p.n_eids = static_cast<u8>(random.UpTo(SMC_CLC_MAX_EIDS));
  for (u8 i = 0; i < p.n_eids; i++) random.Fill(p.eids[i]);
  random.Fill(p.gid_v2);
  p.max_conns = random.U8();
  p.max_links = random.U8();
  p.features = random.U16();
  if (smc_offer_has(p.offer_v2, SMC_OFFER_D) && random.UpTo(3)) FillDv2(random, p);
}

void FillR(Random& random, smc_clc_r& r) {
  random.Fill(r.peer_id);
  random.Fill(r.gid);
  random.Fill(r.mac);
  r.qpn = random.U24();
  r.psn = random.U24();
  r.rkey = random.U32();
  r.rmb_addr = random.U64();
  r.rmbe_index = random.U8();
  r.rmbe_size_code = random.Nibble();
  r.qp_mtu = random.Nibble();
  r.alert_token = random.U32();
}

void FillD(Random& random, u8 version, smc_clc_d& d) {
  d.gid = random.U64();
  d.token = random.U64();
  d.dmbe_index = random.U8();
  d.dmbe_size_code = random.Nibble();
  d.link_id = random.U32();
  if (version == SMC_VERSION_1) return;
  d.gid_ext = random.U64();
  d.chid = random.U16();
}

void FillFirstContact(Random& random, smc_clc_first_contact& fc) {
  fc.direct = random.Coin();
  fc.os_type = random.Nibble();
  fc.release = static_cast<u8>(random.UpTo(SMC_RELEASE));
  random.Fill(fc.hostname);
  if (!fc.release) return;
  fc.max_conns = random.U8();
  fc.max_links = random.U8();
  fc.features = random.U16();
  random.Fill(fc.vendor);
}

smc_cursor SampleCursor(Random& random) { return {random.U16(), random.U32()}; }

smc_llc_rtoken ConfirmToken(Random& random) {
  return {.link = random.U8(), .rkey = random.U32(), .rkey_new = 0, .addr = random.U64()};
}

smc_llc_rtoken AddToken(Random& random) {
  return {.link = 0, .rkey = random.U32(), .rkey_new = random.U32(), .addr = random.U64()};
}

void FillBody(Random& random, smc_llc_msg& m) {
  switch (m.type) {
    case SMC_LLC_CONFIRM_LINK:
      random.Fill(m.confirm_link.mac);
      random.Fill(m.confirm_link.gid);
      m.confirm_link.qpn = random.U24();
      m.confirm_link.link = random.U8();
      m.confirm_link.user_id = random.U32();
      m.confirm_link.max_links = random.U8();
      m.confirm_link.max_conns = random.U8();
      break;
    case SMC_LLC_ADD_LINK:
      random.Fill(m.add_link.mac);
      random.Fill(m.add_link.gid);
      m.add_link.qpn = random.U24();
      m.add_link.link = random.U8();
      m.add_link.mtu = random.Nibble();
      m.add_link.psn = random.U24();
      break;
    case SMC_LLC_ADD_LINK_CONT:
      m.add_link_cont.link = random.U8();
      m.add_link_cont.count = random.U8();
      for (smc_llc_rtoken& rt : m.add_link_cont.rt) rt = AddToken(random);
      break;
    case SMC_LLC_DELETE_LINK:
      m.delete_link.link = random.U8();
      m.delete_link.reason = random.U32();
      break;
    case SMC_LLC_REQUEST_ADD_LINK:
      break;
    case SMC_LLC_CONFIRM_RKEY:
    case SMC_LLC_CONFIRM_RKEY_CONT:
      m.confirm_rkey.count = random.U8();
      for (smc_llc_rtoken& rt : m.confirm_rkey.rt) rt = ConfirmToken(random);
      if (m.type == SMC_LLC_CONFIRM_RKEY) m.confirm_rkey.rt[0].link = 0;
      break;
    case SMC_LLC_TEST_LINK:
      random.Fill(m.test_link.data);
      break;
    case SMC_LLC_DELETE_RKEY: {
      bool invalid_only = m.v2 && (m.flags & SMC_LLC_REPLY);
      m.delete_rkey.count = static_cast<u8>(random.UpTo(SMC_LLC_DELETE_RKEYS));
      m.delete_rkey.errors =
          invalid_only ? static_cast<u8>(random.UpTo(m.delete_rkey.count)) : random.U8();
      u8 listed = invalid_only ? m.delete_rkey.errors : m.delete_rkey.count;
      for (u8 i = 0; i < listed; i++) m.delete_rkey.rkey[i] = random.U32();
      break;
    }
  }
}

}  // namespace

smc_clc_proposal SampleProposal(Random& random, u8 version, smc_clc_offer v1, smc_clc_offer v2) {
  smc_clc_proposal p = {};
  p.version = version;
  p.offer_v1 = v1;
  p.offer_v2 = v2;
  random.Fill(p.peer_id);
  random.Fill(p.gid_v1);
  random.Fill(p.mac);
  if (v1 != SMC_OFFER_NONE) FillIpArea(random, p);
  if (version != SMC_VERSION_1 || smc_offer_has(v1, SMC_OFFER_D)) FillBlock(random, p);
  if (v2 != SMC_OFFER_NONE) FillV2(random, p);
  return p;
}

smc_clc_agreement SampleAgreement(Random& random, smc_clc_type type, u8 version, bool is_d,
                                  bool first_contact) {
  smc_clc_agreement a = {};
  a.type = type;
  a.version = version;
  a.is_d = is_d;
  a.first_contact = first_contact;
  if (is_d)
    FillD(random, version, a.d);
  else
    FillR(random, a.r);
  if (version == SMC_VERSION_1) return a;

  random.Fill(a.eid);
  if (!first_contact) return a;

  FillFirstContact(random, a.fc);
  if (type != SMC_CLC_CONFIRM || is_d) return a;

  a.n_gids = static_cast<u8>(random.UpTo(SMC_CLC_MAX_GIDS));
  for (u8 i = 0; i < a.n_gids; i++) random.Fill(a.gids[i]);
  return a;
}

smc_clc_decline SampleDecline(Random& random, u8 version) {
  smc_clc_decline d = {};
  d.version = version;
  d.out_of_sync = random.Coin();
  random.Fill(d.peer_id);
  d.diagnosis = random.U32();
  d.os_type = random.Nibble();
  if (version == SMC_VERSION_1) return d;
  for (u32& further : d.further) further = random.U32();
  return d;
}

smc_cdc SampleCdc(Random& random) {
  smc_cdc c = {};
  c.seq = random.U16();
  c.token = random.U32();
  c.prod = SampleCursor(random);
  c.cons = SampleCursor(random);
  c.prod_flags = random.U8();
  c.conn_flags = random.U8();
  return c;
}

Llc SampleLlc(Random& random, smc_llc_type type, bool v2, bool reply) {
  Llc l;
  l.msg.type = type;
  l.msg.v2 = v2;
  l.msg.flags = static_cast<u8>((random.U8() & ~SMC_LLC_REPLY) | (reply ? SMC_LLC_REPLY : 0));
  l.msg.reason = v2 ? 0 : random.Nibble();
  FillBody(random, l.msg);
  return l;
}

Llc SampleLargeAddLink(Random& random, u8 n_rkeys, bool little_endian) {
  Llc l = SampleLlc(random, SMC_LLC_ADD_LINK, true, random.Coin());
  l.msg.little_endian = little_endian;
  l.msg.add_link.large = true;
  l.msg.add_link.direct = random.Coin();
  random.Fill(l.msg.add_link.target_gid);
  l.msg.add_link.n_rkeys = n_rkeys;
  for (u8 i = 0; i < n_rkeys; i++) l.tokens.push_back(AddToken(random));
  return l;
}

Llc SampleRequestAddLink(Random& random, u8 n_gids, bool little_endian) {
  Llc l;
  l.msg.type = SMC_LLC_REQUEST_ADD_LINK;
  l.msg.v2 = true;
  l.msg.little_endian = little_endian;
  for (u8 i = 0; i < n_gids; i++)
    for (u8& byte : l.gids.emplace_back()) byte = random.U8();
  return l;
}

template <>
std::vector<smc_clc_proposal> Samples(Random& random) {
  std::vector<smc_clc_proposal> samples;
  for (smc_clc_offer v1 : kOffers) {
    if (v1 != SMC_OFFER_NONE)
      samples.push_back(SampleProposal(random, SMC_VERSION_1, v1, SMC_OFFER_NONE));
    for (smc_clc_offer v2 : kOffers)
      samples.push_back(SampleProposal(random, SMC_VERSION_2, v1, v2));
  }
  samples.push_back(SampleProposal(random, 15, SMC_OFFER_BOTH, SMC_OFFER_BOTH));
  return samples;
}

template <>
std::vector<smc_clc_agreement> Samples(Random& random) {
  std::vector<smc_clc_agreement> samples;
  for (smc_clc_type type : {SMC_CLC_ACCEPT, SMC_CLC_CONFIRM})
    for (u8 version : {SMC_VERSION_1, SMC_VERSION_2})
      for (bool is_d : kBoth)
        for (bool first_contact : kBoth)
          samples.push_back(SampleAgreement(random, type, version, is_d, first_contact));
  return samples;
}

template <>
std::vector<smc_clc_decline> Samples(Random& random) {
  return {SampleDecline(random, SMC_VERSION_1), SampleDecline(random, SMC_VERSION_2),
          SampleDecline(random, 15)};
}

template <>
std::vector<smc_cdc> Samples(Random& random) {
  return {SampleCdc(random)};
}

template <>
std::vector<Llc> Samples(Random& random) {
  std::vector<Llc> samples;
  for (int type = SMC_LLC_CONFIRM_LINK; type <= SMC_LLC_DELETE_RKEY; type++)
    for (bool v2 : kBoth)
      for (bool reply : kBoth)
        if (v2 || type != SMC_LLC_REQUEST_ADD_LINK)
          samples.push_back(SampleLlc(random, static_cast<smc_llc_type>(type), v2, reply));
  for (bool little_endian : {true, false}) {
    for (u8 n_rkeys : {0, 1, 2, 20})
      samples.push_back(SampleLargeAddLink(random, n_rkeys, little_endian));
    for (u8 n_gids : {1, 2, SMC_LLC_ADD_LINK_GIDS})
      samples.push_back(SampleRequestAddLink(random, n_gids, little_endian));
  }
  return samples;
}

}  // namespace wire
