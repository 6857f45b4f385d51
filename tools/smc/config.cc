// SPDX-License-Identifier: GPL-2.0
#include "config.h"

#include <linux/smc.h>

#include <charconv>
#include <new>

#include "netlink.h"

namespace {

void put_string(nl_msg* msg, int attr, const std::string& value) {
  if (nla_put_string(msg, attr, value.c_str()) < 0) throw std::bad_alloc();
}

/* Sends a request with an EID. The kernel expects the padding that EIDs have in CLC messages. */
void eid_request(int cmd, const std::string& eid) {
  std::string padded = eid;
  if (padded.size() < SMC_MAX_EID_LEN) padded.resize(SMC_MAX_EID_LEN, ' ');
  Family(SMC_GENL_FAMILY_NAME).request(cmd, [&](nl_msg* msg) {
    put_string(msg, SMC_NLA_EID_TABLE_ENTRY, padded);
  });
}

Json dump(const char* family, int cmd, Schema schema) {
  Json out = Json::array();
  Family(family).dump(
      cmd, [&](int, const nlattr* attrs, int len) { out.push_back(decode(schema, attrs, len)); });
  return out;
}

uint8_t parse_port(const std::string& word) {
  uint8_t port;
  const char* end = word.data() + word.size();
  auto [stop, err] = std::from_chars(word.data(), end, port);
  if (err != std::errc() || stop != end)
    throw UsageError("'" + word + "' is not the number of a port");
  return port;
}

/* The kernel's value for an absent part of an entry. */
constexpr const char* NONE = "n/a";

}  // namespace

Json eid_show() { return dump(SMC_GENL_FAMILY_NAME, SMC_NETLINK_DUMP_UEID, schema::eid); }
void eid_add(const std::string& eid) { eid_request(SMC_NETLINK_ADD_UEID, eid); }
void eid_del(const std::string& eid) { eid_request(SMC_NETLINK_REMOVE_UEID, eid); }
void eid_flush() { Family(SMC_GENL_FAMILY_NAME).request(SMC_NETLINK_FLUSH_UEID); }

Json seid_show() { return dump(SMC_GENL_FAMILY_NAME, SMC_NETLINK_DUMP_SEID, schema::seid); }

void seid_set(bool enabled) {
  Family(SMC_GENL_FAMILY_NAME)
      .request(enabled ? SMC_NETLINK_ENABLE_SEID : SMC_NETLINK_DISABLE_SEID);
}

Json pnet_show() {
  Json entries = dump(SMCR_GENL_FAMILY_NAME, SMC_PNETID_GET, schema::pnet);
  for (Json& entry : entries) {
    if (entry.value("ib", NONE) == NONE) {
      entry.erase("ib");
      entry.erase("port");
    }
    if (entry.value("dev", NONE) == NONE) entry.erase("dev");
  }
  return entries;
}

void pnet_add(const std::string& pnetid, const std::vector<std::string>& words) {
  std::string dev, ib, port;

  for (size_t i = 0; i < words.size(); i += 2) {
    std::string* value = words[i] == "dev"    ? &dev
                         : words[i] == "ib"   ? &ib
                         : words[i] == "port" ? &port
                                              : nullptr;
    if (!value) throw UsageError("'" + words[i] + "': want dev, ib or port");
    if (i + 1 == words.size()) throw UsageError("a value is missing after '" + words[i] + "'");
    if (!value->empty()) throw UsageError("'" + words[i] + "' twice");
    *value = words[i + 1];
  }
  if (dev.empty() && ib.empty()) throw UsageError("want dev NAME, ib NAME or both");
  if (ib.empty() && !port.empty()) throw UsageError("port without ib");

  uint8_t number = port.empty() ? 1 : parse_port(port);
  Family(SMCR_GENL_FAMILY_NAME).request(SMC_PNETID_ADD, [&](nl_msg* msg) {
    put_string(msg, SMC_PNETID_NAME, pnetid);
    if (!dev.empty()) put_string(msg, SMC_PNETID_ETHNAME, dev);
    if (ib.empty()) return;
    put_string(msg, SMC_PNETID_IBNAME, ib);
    if (nla_put_u8(msg, SMC_PNETID_IBPORT, number) < 0) throw std::bad_alloc();
  });
}

void pnet_del(const std::string& pnetid) {
  Family(SMCR_GENL_FAMILY_NAME).request(SMC_PNETID_DEL, [&](nl_msg* msg) {
    put_string(msg, SMC_PNETID_NAME, pnetid);
  });
}

void pnet_flush() { Family(SMCR_GENL_FAMILY_NAME).request(SMC_PNETID_FLUSH); }

Json limit_show() {
  Json all = dump(SMC_GENL_FAMILY_NAME, SMC_NETLINK_DUMP_HS_LIMITATION, schema::limit);
  return all.empty() ? Json::object() : all[0];
}

void limit_set(bool enabled) {
  Family(SMC_GENL_FAMILY_NAME)
      .request(enabled ? SMC_NETLINK_ENABLE_HS_LIMITATION : SMC_NETLINK_DISABLE_HS_LIMITATION);
}

Json blackhole_show() {
  Json out = Json::array();
  Family(SMC_GENL_FAMILY_NAME)
      .dump(SMC_NETLINK_GET_BLACKHOLES, [&](int, const nlattr* attrs, int len) {
        out.push_back(decode_nest(schema::blackhole, SMC_GEN_BLACKHOLE, attrs, len));
      });
  return out;
}

void blackhole_flush() { Family(SMC_GENL_FAMILY_NAME).request(SMC_NETLINK_FLUSH_BLACKHOLES); }
