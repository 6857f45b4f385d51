// SPDX-License-Identifier: GPL-2.0
#include "fuzz/fuzz.h"

using namespace wire;

// A large ADD LINK is built in the peer's order. One length, 0808, reads alike in both.
static void CheckOrder(const Llc& l) {
  Bytes built = Build(l);
  Require(Parse<Llc>(built).value.msg.little_endian == l.msg.little_endian || built[1] == built[2],
          "byte order");
}

static void Check(const Llc& l) {
  const smc_llc_msg& m = l.msg;
  Require(m.type >= SMC_LLC_CONFIRM_LINK && m.type <= SMC_LLC_DELETE_RKEY, "type");
  Require(m.reason <= 15 && !(m.v2 && m.reason), "reason");
  Require(m.v2 || !m.little_endian, "two byte orders only in version 2");
  if (m.type == SMC_LLC_ADD_LINK) {
    Require(m.add_link.mtu <= 15, "MTU");
    Require(m.v2 || !m.add_link.large, "large only in version 2");
    Require(l.tokens.size() == m.add_link.n_rkeys, "count of tokens");
    if (m.add_link.large) CheckOrder(l);
  }
  if (m.type == SMC_LLC_DELETE_RKEY && !m.v2)
    Require(m.delete_rkey.count <= SMC_LLC_DELETE_RKEYS, "count of keys");
}

// A reply to whatever was accepted is accepted too.
static void CheckReply(std::span<const u8> bytes) {
  if (Parse<Llc>(bytes).error) return;
  Bytes reply(bytes.begin(), bytes.begin() + SMC_LLC_LEN);
  smc_llc_reply(reply.data(), 0);
  Require(Parse<Llc>(reply).error == 0 || reply[0] == (0x20 | SMC_LLC_REQUEST_ADD_LINK),
          "a reply is accepted");
}

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  FuzzParser<Llc>({data, size}, Check);
  CheckReply({data, size});
  return 0;
}
