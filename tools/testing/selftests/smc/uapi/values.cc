// SPDX-License-Identifier: GPL-2.0
/*
 * Compiled once for each pair of headers: VALUES names the function, NAMES the file with
 * an X() for each name of theirs.
 */
#include "values.h"

#include <linux/smc.h>
#include <linux/smc_diag.h>

#include <cstddef>

/* Both compilations have types of the same names; nothing of them may leave the unit. */
namespace {

std::string text(long long value) { return std::to_string(value); }
std::string text(const char* value) { return value; }

template <typename T>
struct Struct {
  const char* name;
  Values& values;

  Struct(const char* name, Values& values) : name(name), values(values) {
    values[name] = std::to_string(sizeof(T)) + "/" + std::to_string(alignof(T));
  }

  void add(const char* field, size_t offset, size_t size) {
    values[std::string(name) + "." + field] = std::to_string(offset) + "+" + std::to_string(size);
  }
};

/* A field that these headers don't have yet is left out. */
#define FIELD(name)                                                                              \
  []<typename U>(Struct<U>& s) {                                                                 \
    if constexpr (requires(U & u) { u.name; }) s.add(#name, offsetof(U, name), sizeof(U::name)); \
  }

template <typename T, typename... Fields>
void add_struct(const char* name, Values& values, Fields... fields) {
  Struct<T> s(name, values);
  (fields(s), ...);
}

#define STRUCT(type, ...) add_struct<type>(#type, values, __VA_ARGS__)

}  // namespace

Values VALUES() {
  Values values;

#define X(name) values[#name] = text(name);
#include NAMES
#undef X

  STRUCT(smc_diag_req, FIELD(diag_family), FIELD(pad), FIELD(diag_ext), FIELD(id));
  STRUCT(smc_diag_msg, FIELD(diag_family), FIELD(diag_state), FIELD(diag_mode),
         FIELD(diag_fallback), FIELD(diag_shutdown), FIELD(id), FIELD(diag_uid), FIELD(diag_inode));
  STRUCT(smc_diag_cursor, FIELD(reserved), FIELD(wrap), FIELD(count));
  STRUCT(smc_diag_conninfo, FIELD(token), FIELD(sndbuf_size), FIELD(rmbe_size),
         FIELD(peer_rmbe_size), FIELD(rx_prod), FIELD(rx_cons), FIELD(tx_prod), FIELD(tx_cons),
         FIELD(rx_prod_flags), FIELD(rx_conn_state_flags), FIELD(tx_prod_flags),
         FIELD(tx_conn_state_flags), FIELD(tx_prep), FIELD(tx_sent), FIELD(tx_fin));
  STRUCT(smc_diag_linkinfo, FIELD(link_id), FIELD(ibname), FIELD(ibport), FIELD(gid),
         FIELD(peer_gid));
  STRUCT(smc_diag_lgrinfo, FIELD(lnk), FIELD(role));
  STRUCT(smc_diag_fallback, FIELD(reason), FIELD(peer_diagnosis));
  STRUCT(smcd_diag_dmbinfo, FIELD(linkid), FIELD(peer_gid), FIELD(my_gid), FIELD(token),
         FIELD(peer_token), FIELD(peer_gid_ext), FIELD(my_gid_ext));
  return values;
}
