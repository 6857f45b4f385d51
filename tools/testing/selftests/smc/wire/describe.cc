// SPDX-License-Identifier: GPL-2.0
#include "describe.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace wire {
namespace {

template <typename T>
concept Scalar = std::integral<T> || std::is_enum_v<T>;

class Text {
 public:
  template <Scalar T>
  Text& operator()(const char* name, T value) {
    return Field(name, std::to_string(static_cast<uint64_t>(value)));
  }

  // Arrays of bytes, of any number of dimensions.
  template <typename T, size_t N>
  Text& operator()(const char* name, const T (&array)[N]) {
    static_assert(std::is_same_v<std::remove_all_extents_t<T>, u8>);
    return Field(name, Hex({reinterpret_cast<const u8*>(array), sizeof(array)}));
  }

  template <size_t N>
  Text& operator()(const char* name, const std::array<u8, N>& array) {
    return Field(name, Hex(array));
  }

  std::string Take() { return std::move(text_); }

 private:
  Text& Field(const char* name, const std::string& value) {
    text_.append(name).append("=").append(value).append("\n");
    return *this;
  }

  std::string text_;
};

void Token(Text& t, const smc_llc_rtoken& rt) {
  t("link", rt.link)("rkey", rt.rkey)("rkey_new", rt.rkey_new)("addr", rt.addr);
}

void Cursor(Text& t, const smc_cursor& c) { t("wrap", c.wrap)("offset", c.offset); }

void Body(Text& t, const Llc& l) {
  const smc_llc_msg& m = l.msg;
  switch (m.type) {
    case SMC_LLC_CONFIRM_LINK: {
      const auto& c = m.confirm_link;
      t("mac", c.mac)("gid", c.gid)("qpn", c.qpn)("link", c.link)("user_id", c.user_id);
      t("max_links", c.max_links)("max_conns", c.max_conns);
      break;
    }
    case SMC_LLC_ADD_LINK: {
      const auto& a = m.add_link;
      t("mac", a.mac)("gid", a.gid)("qpn", a.qpn)("link", a.link)("mtu", a.mtu)("psn", a.psn);
      t("large", a.large)("direct", a.direct)("target_gid", a.target_gid)("n_rkeys", a.n_rkeys);
      for (const smc_llc_rtoken& rt : l.tokens) Token(t, rt);
      break;
    }
    case SMC_LLC_ADD_LINK_CONT:
      t("link", m.add_link_cont.link)("count", m.add_link_cont.count);
      for (const smc_llc_rtoken& rt : m.add_link_cont.rt) Token(t, rt);
      break;
    case SMC_LLC_DELETE_LINK:
      t("link", m.delete_link.link)("reason", m.delete_link.reason);
      break;
    case SMC_LLC_REQUEST_ADD_LINK:
      for (const auto& gid : l.gids) t("gid", gid);
      break;
    case SMC_LLC_CONFIRM_RKEY:
    case SMC_LLC_CONFIRM_RKEY_CONT:
      t("count", m.confirm_rkey.count);
      for (const smc_llc_rtoken& rt : m.confirm_rkey.rt) Token(t, rt);
      break;
    case SMC_LLC_TEST_LINK:
      t("data", m.test_link.data);
      break;
    case SMC_LLC_DELETE_RKEY:
      t("count", m.delete_rkey.count)("errors", m.delete_rkey.errors);
      for (u32 rkey : m.delete_rkey.rkey) t("rkey", rkey);
      break;
  }
}

}  // namespace

std::string Describe(const smc_clc_header& h) {
  Text t;
  t("type", h.type)("length", h.length)("version", h.version)("flags", h.flags);
  return t.Take();
}

std::string Describe(const smc_clc_proposal& p) {
  Text t;
  t("version", p.version)("offer_v1", p.offer_v1)("offer_v2", p.offer_v2);
  t("peer_id", p.peer_id)("gid_v1", p.gid_v1)("mac", p.mac);
  t("prefix4", p.prefix4)("prefix4_len", p.prefix4_len)("n_prefixes6", p.n_prefixes6);
  for (const smc_prefix6& prefix : p.prefixes6) t("addr", prefix.addr)("len", prefix.len);
  t("ism_gid", p.ism_gid)("ism_chid", p.ism_chid);
  t("vendor_oui", p.vendor_oui)("vendor_options", p.vendor_options);
  t("release", p.release)("n_eids", p.n_eids)("eids", p.eids)("gid_v2", p.gid_v2);
  t("max_conns", p.max_conns)("max_links", p.max_links)("features", p.features);
  t("has_dv2", p.has_dv2)("has_seid", p.has_seid)("seid", p.seid)("n_ism", p.n_ism);
  for (const smc_clc_ism& ism : p.ism) t("gid", ism.gid)("gid_ext", ism.gid_ext)("chid", ism.chid);
  return t.Take();
}

std::string Describe(const smc_clc_agreement& a) {
  Text t;
  t("type", a.type)("version", a.version)("is_d", a.is_d)("first_contact", a.first_contact);
  if (a.is_d) {
    t("gid", a.d.gid)("gid_ext", a.d.gid_ext)("token", a.d.token)("dmbe_index", a.d.dmbe_index);
    t("dmbe_size_code", a.d.dmbe_size_code)("link_id", a.d.link_id)("chid", a.d.chid);
  } else {
    t("peer_id", a.r.peer_id)("gid", a.r.gid)("mac", a.r.mac)("qpn", a.r.qpn)("psn", a.r.psn);
    t("rkey", a.r.rkey)("rmb_addr", a.r.rmb_addr)("rmbe_index", a.r.rmbe_index);
    t("rmbe_size_code", a.r.rmbe_size_code)("qp_mtu", a.r.qp_mtu);
    t("alert_token", a.r.alert_token);
  }
  t("eid", a.eid)("direct", a.fc.direct)("os_type", a.fc.os_type)("release", a.fc.release);
  t("hostname", a.fc.hostname)("max_conns", a.fc.max_conns)("max_links", a.fc.max_links);
  t("features", a.fc.features)("vendor", a.fc.vendor)("n_gids", a.n_gids)("gids", a.gids);
  return t.Take();
}

std::string Describe(const smc_clc_decline& d) {
  Text t;
  t("version", d.version)("out_of_sync", d.out_of_sync)("peer_id", d.peer_id);
  t("diagnosis", d.diagnosis)("os_type", d.os_type);
  for (u32 further : d.further) t("further", further);
  return t.Take();
}

std::string Describe(const smc_cdc& c) {
  Text t;
  t("seq", c.seq)("token", c.token);
  Cursor(t, c.prod);
  Cursor(t, c.cons);
  t("prod_flags", c.prod_flags)("conn_flags", c.conn_flags);
  return t.Take();
}

std::string Describe(const Llc& l) {
  Text t;
  t("type", l.msg.type)("v2", l.msg.v2)("flags", l.msg.flags)("reason", l.msg.reason);
  Body(t, l);
  return t.Take();
}

}  // namespace wire
