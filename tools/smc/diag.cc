// SPDX-License-Identifier: GPL-2.0
#include "diag.h"

#include <arpa/inet.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "netlink.h"
#include "words.h"

#ifndef AF_SMC
#define AF_SMC 43
#endif

namespace {

/* Whether addresses are IPv6: the kernel reports AF_SMC for both, but IPv4 fills only one word. */
bool is_ipv6(const smc_diag_msg& msg) {
  auto used = [](const __be32* addr) {
    return std::any_of(addr + 1, addr + 4, [](__be32 word) { return word != 0; });
  };
  return msg.diag_family == AF_INET6 || used(msg.id.idiag_src) || used(msg.id.idiag_dst);
}

std::string address(bool ipv6, const __be32* addr, __be16 port) {
  /* The wildcard address is the same in both families. */
  if (std::all_of(addr, addr + 4, [](__be32 word) { return word == 0; }))
    return "*:" + std::to_string(ntohs(port));
  char text[INET6_ADDRSTRLEN];
  inet_ntop(ipv6 ? AF_INET6 : AF_INET, addr, text, sizeof(text));
  std::string host = ipv6 ? "[" + std::string(text) + "]" : text;
  return host + ":" + std::to_string(ntohs(port));
}

/*
 * Copies an extension that is present and complete. Fields that an older kernel
 * does not have are zero.
 */
template <typename T>
bool extension(nlattr* const* attrs, int type, T& out, size_t least) {
  if (!attrs[type] || static_cast<size_t>(nla_len(attrs[type])) < least) return false;
  std::memset(&out, 0, sizeof(out));
  nla_memcpy(&out, attrs[type], sizeof(out));
  return true;
}

Json cursor(const smc_diag_cursor& c) { return {{"wrap", c.wrap}, {"count", c.count}}; }

/* Returns the number of bytes from a cursor to a later cursor in a ring. */
uint64_t distance(const smc_diag_cursor& from, const smc_diag_cursor& to, uint64_t size) {
  return static_cast<uint16_t>(to.wrap - from.wrap) * size + to.count - from.count;
}

Json flags(uint8_t prod, uint8_t state) {
  return {{"producer", words::hex(prod)}, {"state", words::hex(state)}};
}

Json connection(const smc_diag_conninfo& info) {
  return {
      {"token", words::hex(info.token)},
      {"sndbuf", info.sndbuf_size},
      {"rmbe", info.rmbe_size},
      {"peer-rmbe", info.peer_rmbe_size},
      {"recv-queue", distance(info.rx_cons, info.rx_prod, info.rmbe_size)},
      {"send-queue", distance(info.tx_fin, info.tx_prep, info.sndbuf_size)},
      {"rx-prod", cursor(info.rx_prod)},
      {"rx-cons", cursor(info.rx_cons)},
      {"tx-prod", cursor(info.tx_prod)},
      {"tx-cons", cursor(info.tx_cons)},
      {"tx-prep", cursor(info.tx_prep)},
      {"tx-sent", cursor(info.tx_sent)},
      {"tx-fin", cursor(info.tx_fin)},
      {"rx-flags", flags(info.rx_prod_flags, info.rx_conn_state_flags)},
      {"tx-flags", flags(info.tx_prod_flags, info.tx_conn_state_flags)},
  };
}

template <size_t N>
std::string text(const __u8 (&bytes)[N]) {
  const char* chars = reinterpret_cast<const char*>(bytes);
  return {chars, strnlen(chars, N)};
}

Json group(const smc_diag_lgrinfo& info) {
  const smc_diag_linkinfo& link = info.lnk[0];
  return {
      {"role", words::role(info.role)}, {"link", link.link_id},
      {"device", text(link.ibname)},    {"port", link.ibport},
      {"gid", text(link.gid)},          {"peer-gid", text(link.peer_gid)},
  };
}

Json element(const smc_diag_rmbe& info) {
  return {
      {"index", info.index},
      {"peer-index", info.peer_index},
      {"peer-token", words::hex(info.peer_token)},
  };
}

Json dmb(const smcd_diag_dmbinfo& info) {
  return {
      {"link", words::hex(info.linkid)},
      {"gid", words::hex(info.my_gid)},
      {"gid-ext", words::hex(info.my_gid_ext)},
      {"peer-gid", words::hex(info.peer_gid)},
      {"peer-gid-ext", words::hex(info.peer_gid_ext)},
      {"token", words::hex(info.token)},
      {"peer-token", words::hex(info.peer_token)},
  };
}

/* Whether diag_mode is known: the kernel also reports SMC-R for sockets that may not become SMC. */
bool has_mode(const smc_diag_msg& msg) {
  if (msg.diag_mode != SMC_DIAG_MODE_SMCR) return true;
  return msg.diag_state != TCP_LISTEN && msg.diag_state != TCP_SYN_SENT &&
         msg.diag_state != TCP_CLOSE;
}

Json decode_socket(nlmsghdr* hdr) {
  nlattr* attrs[SMC_DIAG_RMBE + 1];
  smc_diag_msg msg;
  if (nlmsg_datalen(hdr) < static_cast<int>(sizeof(msg)) ||
      nlmsg_parse(hdr, sizeof(msg), attrs, SMC_DIAG_RMBE, nullptr) < 0)
    throw KernelError("the kernel's answer about a socket is malformed");
  std::memcpy(&msg, nlmsg_data(hdr), sizeof(msg));

  bool ipv6 = is_ipv6(msg);
  Json out = {
      {"state", words::socket_state(msg.diag_state)},
      {"state-number", msg.diag_state},
      {"local", address(ipv6, msg.id.idiag_src, msg.id.idiag_sport)},
      {"peer", address(ipv6, msg.id.idiag_dst, msg.id.idiag_dport)},
      {"shutdown", msg.diag_shutdown},
      {"uid", msg.diag_uid},
      {"inode", msg.diag_inode},
  };
  if (has_mode(msg)) out["mode"] = words::socket_mode(msg.diag_mode);

  smc_diag_fallback fallback;
  if (extension(attrs, SMC_DIAG_FALLBACK, fallback, sizeof(fallback)) &&
      msg.diag_mode == SMC_DIAG_MODE_FALLBACK_TCP)
    out["fallback"] = {
        {"code", words::hex(fallback.reason)},
        {"reason", words::diagnosis(fallback.reason)},
        {"peer-code", words::hex(fallback.peer_diagnosis)},
        {"peer-reason", words::diagnosis(fallback.peer_diagnosis)},
    };
  smc_diag_conninfo info;
  if (extension(attrs, SMC_DIAG_CONNINFO, info, sizeof(info))) out["connection"] = connection(info);
  smc_diag_lgrinfo lgr;
  if (extension(attrs, SMC_DIAG_LGRINFO, lgr, sizeof(lgr))) out["group"] = group(lgr);
  smc_diag_rmbe rmbe;
  if (extension(attrs, SMC_DIAG_RMBE, rmbe, sizeof(rmbe))) out["element"] = element(rmbe);
  smcd_diag_dmbinfo dmbs;
  if (extension(attrs, SMC_DIAG_DMBINFO, dmbs, offsetof(smcd_diag_dmbinfo, peer_gid_ext)))
    out["dmb"] = dmb(dmbs);
  return out;
}

constexpr uint8_t ask(int extension) { return 1 << (extension - 1); }

}  // namespace

Json dump_sockets() {
  smc_diag_req req = {};
  req.diag_family = AF_SMC;
  req.diag_ext = ask(SMC_DIAG_CONNINFO) | ask(SMC_DIAG_LGRINFO) | ask(SMC_DIAG_DMBINFO) |
                 ask(SMC_DIAG_FALLBACK);

  Message msg(nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP));
  if (!msg || nlmsg_append(msg.get(), &req, sizeof(req), NLMSG_ALIGNTO) < 0) throw std::bad_alloc();

  Json out = Json::array();
  NetlinkSocket socket(NETLINK_SOCK_DIAG);
  try {
    socket.exchange(std::move(msg), [&](nlmsghdr* hdr) { out.push_back(decode_socket(hdr)); });
  } catch (const KernelError& e) {
    if (e.number != ENOENT) throw;
    throw NotThere("the kernel does not show AF_SMC sockets: is the smc module loaded?");
  }
  return out;
}
