/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Netlink attributes as JSON: a schema names the attributes of a nest and says what
 * their values mean.
 */
#pragma once

#include <netlink/attr.h>

#include <nlohmann/json.hpp>
#include <span>

using Json = nlohmann::ordered_json;

enum class Kind {
  number,  /* of as many bytes as the attribute has */
  hex,     /* likewise, as a string */
  wire_id, /* the same of a number as it is on the wire */
  boolean,
  text,   /* trailing blanks cut off */
  netdev, /* ifindex, as the device's name */
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

/* The fields that are there, in the schema's order. */
Json decode(Schema schema, const nlattr* attrs, int len);

/* The nest @attr in the attributes of a message, decoded. */
Json decode_nest(Schema schema, int attr, const nlattr* attrs, int len);

namespace schema {
extern const Schema info, group_r, group_d, link, device, stats, fallback, eid, seid, limit, pnet,
    blackhole;
}
