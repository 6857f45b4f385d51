// SPDX-License-Identifier: GPL-2.0
#include "objects.h"

#include <linux/smc.h>

#include "netlink.h"

namespace {

/* Dumps the objects that have @nest, whose number is also that of the command. */
Json dump(Family& family, int nest, Schema schema) {
  Json out = Json::array();
  family.dump(nest, [&](int, const nlattr* attrs, int len) {
    out.push_back(decode_nest(schema, nest, attrs, len));
  });
  return out;
}

Json first(int nest, Schema schema) {
  Family family(SMC_GENL_FAMILY_NAME);
  Json all = dump(family, nest, schema);
  return all.empty() ? Json::object() : all[0];
}

/* Dumps the objects of both paths. The first field of each object is the name of its path. */
Json both(int nest_r, Schema schema_r, int nest_d, Schema schema_d) {
  Family family(SMC_GENL_FAMILY_NAME);
  Json out = Json::array();
  auto append = [&](const char* path, int nest, Schema schema) {
    for (const Json& object : dump(family, nest, schema)) {
      Json named = {{"path", path}};
      named.update(object);
      out.push_back(named);
    }
  };
  append("SMC-R", nest_r, schema_r);
  append("SMC-D", nest_d, schema_d);
  return out;
}

}  // namespace

Json info() { return first(SMC_GEN_SYS_INFO, schema::info); }

Json groups() { return both(SMC_GEN_LGR_SMCR, schema::group_r, SMC_GEN_LGR_SMCD, schema::group_d); }

/* Returns the links, each with the id of its group. The dump has each group before its links. */
Json links() {
  Json out = Json::array();
  Json group;
  Family(SMC_GENL_FAMILY_NAME)
      .dump(SMC_NETLINK_GET_LINK_SMCR, [&](int cmd, const nlattr* attrs, int len) {
        if (cmd == SMC_NETLINK_GET_LGR_SMCR) {
          group = decode_nest(schema::group_r, SMC_GEN_LGR_SMCR, attrs, len);
          return;
        }
        Json link = {{"group", group.value("id", "")}};
        link.update(decode_nest(schema::link, SMC_GEN_LINK_SMCR, attrs, len));
        out.push_back(link);
      });
  return out;
}

Json devices() { return both(SMC_GEN_DEV_SMCR, schema::device, SMC_GEN_DEV_SMCD, schema::device); }

Json stats() { return first(SMC_GEN_STATS, schema::stats); }

Json fallbacks() {
  Family family(SMC_GENL_FAMILY_NAME);
  Json out = {{"client-total", 0}, {"server-total", 0}, {"reasons", Json::array()}};
  for (Json reason : dump(family, SMC_GEN_FBACK_STATS, schema::fallback)) {
    for (const char* total : {"client-total", "server-total"}) {
      if (!reason.contains(total)) continue;
      out[total] = reason[total];
      reason.erase(total);
    }
    out["reasons"].push_back(reason);
  }
  return out;
}
