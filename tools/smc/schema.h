/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decodes netlink attributes to JSON. A schema lists the attributes of a nest, with their
 * names in JSON and the kinds of their values.
 */
#pragma once

#include <netlink/attr.h>

#include <nlohmann/json.hpp>
#include <span>

using Json = nlohmann::ordered_json;

enum class Kind {
  number,  /* of 1, 2, 4 or 8 bytes, like the attribute */
  hex,     /* number, shown as a hexadecimal string */
  wire_id, /* number in network byte order, shown as a hexadecimal string */
  boolean,
  text,   /* shown without trailing blanks */
  netdev, /* ifindex, shown as the name of the device */
  role,
  group_type,
  link_state,
  buffer_type,
  os,
  diagnosis,
  blackhole,
  nest,
};

struct Field {
  int attr;
  const char* name;
  Kind kind;
  std::span<const Field> fields = {};
};
using Schema = std::span<const Field>;

/* Decodes the fields that are present, in the order of the schema. */
Json decode(Schema schema, const nlattr* attrs, int len);

/* Decodes the nest @attr of a message's attributes. */
Json decode_nest(Schema schema, int attr, const nlattr* attrs, int len);

namespace schema {
extern const Schema info, group_r, group_d, link, device, stats, fallback, eid, seid, limit, pnet,
    blackhole;
}
