// SPDX-License-Identifier: GPL-2.0
// The large ADD LINK of version 2: the module only checks that all of it is there, and refuses it.
#ifndef SMC_WIRE_TESTS_LARGE_ADD_LINK_H_
#define SMC_WIRE_TESTS_LARGE_ADD_LINK_H_

#include <algorithm>
#include <span>
#include <vector>

#include "wire/bytes.h"
#include "wire/llc.h"

namespace wire {

constexpr size_t LargeAddLinkLen(size_t n_rkeys) { return 72 + 16 * n_rkeys; }

// Length and count are little-endian, as in-tree Linux on x86 has them.
inline std::vector<u8> BuildLargeAddLink(const smc_llc_msg& msg,
                                         std::span<const smc_llc_rtoken> tokens) {
  std::vector<u8> bytes(LargeAddLinkLen(tokens.size()));
  smc_llc_build(bytes.data(), &msg);
  bytes[1] = static_cast<u8>(bytes.size());
  bytes[2] = static_cast<u8>(bytes.size() >> 8);
  bytes[44] = msg.add_link.direct ? 0x80 : 0;
  std::ranges::copy(msg.add_link.target_gid, &bytes[46]);
  bytes[70] = static_cast<u8>(tokens.size());
  u8* at = bytes.data() + LargeAddLinkLen(0);
  for (const smc_llc_rtoken& rt : tokens) {
    put_be32(at, rt.rkey);
    put_be32(at + 4, rt.rkey_new);
    put_be64(at + 8, rt.addr);
    at += 16;
  }
  return bytes;
}

inline smc_llc_rtoken LargeAddLinkToken(const u8* message, size_t i) {
  const u8* at = message + LargeAddLinkLen(i);
  return {.link = 0, .rkey = get_be32(at), .rkey_new = get_be32(at + 4), .addr = get_be64(at + 8)};
}

}  // namespace wire

#endif  // SMC_WIRE_TESTS_LARGE_ADD_LINK_H_
