/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Netlink attributes as JSON: a schema names the attributes of a nest and gives
 * the types of their values.
 */
#pragma once

#include <netlink/attr.h>

#include <nlohmann/json.hpp>
#include <span>

using Json = nlohmann::ordered_json;

enum class Kind {
  number,  /* size as that of the attribute */
  hex,     /* such a number, as a string */
  wire_id, /* such a number in network byte order, as a string */
  boolean,
  text,   /* without trailing blanks */
  netdev, /* ifindex, as the name of the device */
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
