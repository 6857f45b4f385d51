// SPDX-License-Identifier: GPL-2.0
#include "schema.h"

#include <arpa/inet.h>
#include <linux/smc.h>
#include <net/if.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "words.h"

namespace {

template <typename T>
uint64_t load(const nlattr* attr) {
  T value;
  std::memcpy(&value, nla_data(attr), sizeof(value));
  return value;
}

/* A "uint" of the kernel has four or eight bytes, depending on its value. */
uint64_t number(const nlattr* attr) {
  switch (nla_len(attr)) {
    case 1:
      return load<uint8_t>(attr);
    case 2:
      return load<uint16_t>(attr);
    case 4:
      return load<uint32_t>(attr);
    case 8:
      return load<uint64_t>(attr);
    default:
      return 0;
  }
}

/*
 * Returns the text of an attribute. It may come from a peer, so characters that could
 * harm a terminal or are invalid in JSON are replaced.
 */
std::string text(const nlattr* attr) {
  const char* data = static_cast<const char*>(nla_data(attr));
  std::string s(data, strnlen(data, nla_len(attr)));
  s.erase(s.find_last_not_of(' ') + 1);
  std::ranges::replace_if(
      s, [](char c) { return c < ' ' || c > '~'; }, '?');
  return s;
}

std::string netdev(uint64_t ifindex) {
  char name[IF_NAMESIZE];
  if (!ifindex) return "";
  return if_indextoname(ifindex, name) ? name : "if" + std::to_string(ifindex);
}

Json value(const Field& field, const nlattr* attr) {
  switch (field.kind) {
    case Kind::number:
      return number(attr);
    case Kind::hex:
      return words::hex(number(attr));
    case Kind::wire_id:
      return words::hex(ntohl(number(attr)));
    case Kind::boolean:
      return number(attr) != 0;
    case Kind::text:
      return text(attr);
    case Kind::netdev:
      return netdev(number(attr));
    case Kind::role:
      return words::role(number(attr));
    case Kind::group_type:
      return words::group_type(number(attr));
    case Kind::link_state:
      return words::link_state(number(attr));
    case Kind::buffer_type:
      return words::buffer_type(number(attr));
    case Kind::os:
      return words::os(number(attr));
    case Kind::diagnosis:
      return words::diagnosis(number(attr));
    case Kind::blackhole:
      return words::blackhole(number(attr));
    case Kind::nest:
      return decode(field.fields, static_cast<const nlattr*>(nla_data(attr)), nla_len(attr));
  }
  return nullptr;
}

/* Finds an attribute. Unlike nla_find() it finds attribute 0, too, which some nests have. */
const nlattr* find(int type, const nlattr* attrs, int len) {
  for (const nlattr* attr = attrs; nla_ok(attr, len); attr = nla_next(attr, &len))
    if (nla_type(attr) == type) return attr;
  return nullptr;
}

}  // namespace

Json decode(Schema schema, const nlattr* attrs, int len) {
  Json out = Json::object();
  for (const Field& field : schema)
    if (const nlattr* attr = find(field.attr, attrs, len)) out[field.name] = value(field, attr);
  return out;
}

Json decode_nest(Schema schema, int attr, const nlattr* attrs, int len) {
  const nlattr* nest = find(attr, attrs, len);
  if (!nest) return Json::object();
  return decode(schema, static_cast<const nlattr*>(nla_data(nest)), nla_len(nest));
}

namespace {

using K = Kind;

const Field info_fields[] = {
    {SMC_NLA_SYS_VER, "version", K::number},         {SMC_NLA_SYS_REL, "release", K::number},
    {SMC_NLA_SYS_LOCAL_HOST, "host", K::text},       {SMC_NLA_SYS_SEID, "seid", K::text},
    {SMC_NLA_SYS_IS_SMCR_V2, "smcr-v2", K::boolean}, {SMC_NLA_SYS_IS_ISM_V2, "smcd-v2", K::boolean},
};

const Field v2_fields[] = {
    {SMC_NLA_LGR_V2_VER, "version", K::number}, {SMC_NLA_LGR_V2_REL, "release", K::number},
    {SMC_NLA_LGR_V2_OS, "peer-os", K::os},      {SMC_NLA_LGR_V2_PEER_HOST, "peer-host", K::text},
    {SMC_NLA_LGR_V2_NEG_EID, "eid", K::text},
};

const Field r_v2_fields[] = {
    {SMC_NLA_LGR_R_V2_DIRECT, "direct", K::boolean},
    {SMC_NLA_LGR_R_V2_MAX_CONNS, "max-conns", K::number},
    {SMC_NLA_LGR_R_V2_MAX_LINKS, "max-links", K::number},
};

const Field group_r_fields[] = {
    {SMC_NLA_LGR_R_ID, "id", K::hex},
    {SMC_NLA_LGR_R_ROLE, "role", K::role},
    {SMC_NLA_LGR_R_TYPE, "type", K::group_type},
    {SMC_NLA_LGR_R_PNETID, "pnetid", K::text},
    {SMC_NLA_LGR_R_VLAN_ID, "vlan", K::number},
    {SMC_NLA_LGR_R_VLAN, "vlan", K::number},  // replaces the above
    {SMC_NLA_LGR_R_CONNS_NUM, "conns", K::number},
    {SMC_NLA_LGR_R_LOST_LINK, "lost-link", K::number},
    {SMC_NLA_LGR_R_LOST_AGE, "lost-age", K::number},
    {SMC_NLA_LGR_R_LOST_REASON, "lost-reason", K::text},
    {SMC_NLA_LGR_R_BUF_TYPE, "buffers", K::buffer_type},
    {SMC_NLA_LGR_R_SNDBUF_ALLOC, "sndbuf-bytes", K::number},
    {SMC_NLA_LGR_R_RMB_ALLOC, "rmb-bytes", K::number},
    {SMC_NLA_LGR_R_NET_COOKIE, "netns", K::number},
    {SMC_NLA_LGR_R_V2_COMMON, "v2", K::nest, v2_fields},
    {SMC_NLA_LGR_R_V2, "v2-smcr", K::nest, r_v2_fields},
};

const Field group_d_fields[] = {
    {SMC_NLA_LGR_D_ID, "id", K::hex},
    {SMC_NLA_LGR_D_GID, "gid", K::hex},
    {SMC_NLA_LGR_D_EXT_GID, "gid-ext", K::hex},
    {SMC_NLA_LGR_D_PEER_GID, "peer-gid", K::hex},
    {SMC_NLA_LGR_D_PEER_EXT_GID, "peer-gid-ext", K::hex},
    {SMC_NLA_LGR_D_CHID, "chid", K::hex},
    {SMC_NLA_LGR_D_PNETID, "pnetid", K::text},
    {SMC_NLA_LGR_D_VLAN_ID, "vlan", K::number},
    {SMC_NLA_LGR_D_CONNS_NUM, "conns", K::number},
    {SMC_NLA_LGR_D_SNDBUF_ALLOC, "sndbuf-bytes", K::number},
    {SMC_NLA_LGR_D_DMB_ALLOC, "dmb-bytes", K::number},
    {SMC_NLA_LGR_D_V2_COMMON, "v2", K::nest, v2_fields},
};

const Field link_fields[] = {
    {SMC_NLA_LINK_ID, "id", K::number},
    {SMC_NLA_LINK_UID, "uid", K::wire_id},
    {SMC_NLA_LINK_PEER_UID, "peer-uid", K::wire_id},
    {SMC_NLA_LINK_STATE, "state", K::link_state},
    {SMC_NLA_LINK_STATE_AGE, "state-age", K::number},
    {SMC_NLA_LINK_CONN_CNT, "conns", K::number},
    {SMC_NLA_LINK_IB_DEV, "device", K::text},
    {SMC_NLA_LINK_IB_PORT, "port", K::number},
    {SMC_NLA_LINK_NET_DEV, "netdev", K::netdev},
    {SMC_NLA_LINK_GID, "gid", K::text},
    {SMC_NLA_LINK_PEER_GID, "peer-gid", K::text},
};

const Field port_fields[] = {
    {SMC_NLA_DEV_PORT_VALID, "valid", K::boolean},
    {SMC_NLA_DEV_PORT_STATE, "active", K::boolean},
    {SMC_NLA_DEV_PORT_NETDEV, "netdev", K::netdev},
    {SMC_NLA_DEV_PORT_PNETID, "pnetid", K::text},
    {SMC_NLA_DEV_PORT_PNET_USR, "pnetid-by-user", K::boolean},
    {SMC_NLA_DEV_PORT_LNK_CNT, "links", K::number},
};

const Field device_fields[] = {
    {SMC_NLA_DEV_IB_NAME, "name", K::text},
    {SMC_NLA_DEV_USE_CNT, "uses", K::number},
    {SMC_NLA_DEV_IS_CRIT, "critical", K::boolean},
    {SMC_NLA_DEV_PCI_FID, "pci-fid", K::hex},
    {SMC_NLA_DEV_PCI_CHID, "pci-chid", K::hex},
    {SMC_NLA_DEV_PCI_VENDOR, "pci-vendor", K::hex},
    {SMC_NLA_DEV_PCI_DEVICE, "pci-device", K::hex},
    {SMC_NLA_DEV_PCI_ID, "pci-id", K::text},
    {SMC_NLA_DEV_PORT, "port1", K::nest, port_fields},
    {SMC_NLA_DEV_PORT2, "port2", K::nest, port_fields},
};

const Field size_fields[] = {
    {SMC_NLA_STATS_PLOAD_8K, "8K", K::number},
    {SMC_NLA_STATS_PLOAD_16K, "16K", K::number},
    {SMC_NLA_STATS_PLOAD_32K, "32K", K::number},
    {SMC_NLA_STATS_PLOAD_64K, "64K", K::number},
    {SMC_NLA_STATS_PLOAD_128K, "128K", K::number},
    {SMC_NLA_STATS_PLOAD_256K, "256K", K::number},
    {SMC_NLA_STATS_PLOAD_512K, "512K", K::number},
    {SMC_NLA_STATS_PLOAD_1024K, "1M", K::number},
    {SMC_NLA_STATS_PLOAD_G_1024K, "above", K::number},
};

const Field buffer_fields[] = {
    {SMC_NLA_STATS_RMB_ALLOC_CNT, "allocated", K::number},
    {SMC_NLA_STATS_RMB_REUSE_CNT, "reused", K::number},
    {SMC_NLA_STATS_RMB_DGRADE_CNT, "downgraded", K::number},
    {SMC_NLA_STATS_RMB_FULL_CNT, "full", K::number},
    {SMC_NLA_STATS_RMB_FULL_PEER_CNT, "full-peer", K::number},
    {SMC_NLA_STATS_RMB_SIZE_SM_CNT, "small", K::number},
    {SMC_NLA_STATS_RMB_SIZE_SM_PEER_CNT, "small-peer", K::number},
};

const Field path_fields[] = {
    {SMC_NLA_STATS_T_CLNT_V1_SUCC, "client-v1", K::number},
    {SMC_NLA_STATS_T_CLNT_V2_SUCC, "client-v2", K::number},
    {SMC_NLA_STATS_T_SRV_V1_SUCC, "server-v1", K::number},
    {SMC_NLA_STATS_T_SRV_V2_SUCC, "server-v2", K::number},
    {SMC_NLA_STATS_T_TX_CNT, "tx", K::number},
    {SMC_NLA_STATS_T_TX_BYTES, "tx-bytes", K::number},
    {SMC_NLA_STATS_T_RX_CNT, "rx", K::number},
    {SMC_NLA_STATS_T_RX_BYTES, "rx-bytes", K::number},
    {SMC_NLA_STATS_T_SENDPAGE_CNT, "sendpage", K::number},
    {SMC_NLA_STATS_T_SPLICE_CNT, "splice", K::number},
    {SMC_NLA_STATS_T_CORK_CNT, "cork", K::number},
    {SMC_NLA_STATS_T_NDLY_CNT, "nodelay", K::number},
    {SMC_NLA_STATS_T_URG_DATA_CNT, "urgent", K::number},
    {SMC_NLA_STATS_T_TX_RMB_USAGE, "tx-buffer-bytes", K::number},
    {SMC_NLA_STATS_T_RX_RMB_USAGE, "rx-buffer-bytes", K::number},
    {SMC_NLA_STATS_T_TXPLOAD_SIZE, "tx-sizes", K::nest, size_fields},
    {SMC_NLA_STATS_T_RXPLOAD_SIZE, "rx-sizes", K::nest, size_fields},
    {SMC_NLA_STATS_T_TX_RMB_SIZE, "tx-buffer-sizes", K::nest, size_fields},
    {SMC_NLA_STATS_T_RX_RMB_SIZE, "rx-buffer-sizes", K::nest, size_fields},
    {SMC_NLA_STATS_T_TX_RMB_STATS, "tx-buffers", K::nest, buffer_fields},
    {SMC_NLA_STATS_T_RX_RMB_STATS, "rx-buffers", K::nest, buffer_fields},
};

const Field link_stats_fields[] = {
    {SMC_NLA_STATS_L_ADDED, "added", K::number},
    {SMC_NLA_STATS_L_LOST, "lost", K::number},
    {SMC_NLA_STATS_L_STALLED, "stalled", K::number},
    {SMC_NLA_STATS_L_CONNS_MOVED, "conns-moved", K::number},
    {SMC_NLA_STATS_L_REPEATED_WRITES, "repeated-writes", K::number},
    {SMC_NLA_STATS_L_REPEATED_BYTES, "repeated-bytes", K::number},
    {SMC_NLA_STATS_L_GROUPS_LOST, "groups-lost", K::number},
};

const Field stats_fields[] = {
    {SMC_NLA_STATS_SMCR_TECH, "smcr", K::nest, path_fields},
    {SMC_NLA_STATS_SMCD_TECH, "smcd", K::nest, path_fields},
    {SMC_NLA_STATS_CLNT_HS_ERR_CNT, "client-errors", K::number},
    {SMC_NLA_STATS_SRV_HS_ERR_CNT, "server-errors", K::number},
    {SMC_NLA_STATS_LINKS, "links", K::nest, link_stats_fields},
};

const Field fallback_fields[] = {
    {SMC_NLA_FBACK_STATS_TYPE, "role", K::role},
    {SMC_NLA_FBACK_STATS_SRV_CNT, "server-total", K::number},
    {SMC_NLA_FBACK_STATS_CLNT_CNT, "client-total", K::number},
    {SMC_NLA_FBACK_STATS_RSN_CODE, "code", K::hex},
    {SMC_NLA_FBACK_STATS_RSN_CODE, "reason", K::diagnosis},
    {SMC_NLA_FBACK_STATS_RSN_CNT, "count", K::number},
};

const Field eid_fields[] = {
    {SMC_NLA_EID_TABLE_ENTRY, "eid", K::text},
};

const Field seid_fields[] = {
    {SMC_NLA_SEID_ENTRY, "seid", K::text},
    {SMC_NLA_SEID_ENABLED, "enabled", K::boolean},
};

const Field limit_fields[] = {
    {SMC_NLA_HS_LIMITATION_ENABLED, "enabled", K::boolean},
};

const Field pnet_fields[] = {
    {SMC_PNETID_NAME, "pnetid", K::text},
    {SMC_PNETID_ETHNAME, "dev", K::text},
    {SMC_PNETID_IBNAME, "ib", K::text},
    {SMC_PNETID_IBPORT, "port", K::number},
};

const Field blackhole_fields[] = {
    {SMC_NLA_BLACKHOLE_EVENT, "what", K::blackhole}, {SMC_NLA_BLACKHOLE_ADDR, "address", K::text},
    {SMC_NLA_BLACKHOLE_PORT, "port", K::number},     {SMC_NLA_BLACKHOLE_GID, "gid", K::text},
    {SMC_NLA_BLACKHOLE_AGE, "age", K::number},       {SMC_NLA_BLACKHOLE_LEFT, "left", K::number},
    {SMC_NLA_BLACKHOLE_UID, "uid", K::number},
};

}  // namespace

namespace schema {
const Schema info = info_fields;
const Schema group_r = group_r_fields;
const Schema group_d = group_d_fields;
const Schema link = link_fields;
const Schema device = device_fields;
const Schema stats = stats_fields;
const Schema fallback = fallback_fields;
const Schema eid = eid_fields;
const Schema seid = seid_fields;
const Schema limit = limit_fields;
const Schema pnet = pnet_fields;
const Schema blackhole = blackhole_fields;
}  // namespace schema
