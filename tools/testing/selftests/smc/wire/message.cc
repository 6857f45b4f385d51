// SPDX-License-Identifier: GPL-2.0
#include "message.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "wire/bytes.h"

namespace wire {
namespace {

// Memory that ends where the message ends.
std::unique_ptr<u8[]> Exact(std::span<const u8> bytes) {
  auto copy = std::make_unique_for_overwrite<u8[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

// Fills a value with garbage, as a caller's stack may hold.
template <typename T>
void Soil(T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memset(&value, 0xa5, sizeof(value));
}

template <typename T>
Parsed<T> ParseWith(int (*parse)(const u8*, size_t, T*), std::span<const u8> bytes) {
  Parsed<T> parsed;
  Soil(parsed.value);
  parsed.error = parse(Exact(bytes).get(), bytes.size(), &parsed.value);
  return parsed;
}

template <typename T>
Bytes BuildClc(size_t (*build)(u8*, const T*), const T& message, u8 fill) {
  Bytes bytes(SMC_CLC_MAX_LEN, fill);
  size_t length = build(bytes.data(), &message);
  if (length > bytes.size()) throw std::length_error("a builder said more than it had room for");
  bytes.resize(length);
  return bytes;
}

size_t ListedKeys(const smc_llc_msg& msg) {
  bool invalid_only = msg.v2 && (msg.flags & SMC_LLC_REPLY);
  return invalid_only ? msg.delete_rkey.errors : msg.delete_rkey.count;
}

Bytes BuildLargeAddLink(const Llc& l, u8 fill) {
  Bytes bytes(SMC_LLC_ADD_LINK_LEN(l.tokens.size()), fill);
  if (smc_llc_build_add_link(bytes.data(), &l.msg) != bytes.size())
    throw std::length_error("an ADD LINK of another length than its tokens need");
  for (unsigned i = 0; i < l.tokens.size(); i++)
    smc_llc_put_add_link_rtoken(bytes.data(), i, &l.tokens[i]);
  return bytes;
}

Bytes BuildRequestAddLink(const Llc& l, u8 fill) {
  Bytes bytes(SMC_LLC_REQUEST_ADD_LINK_LEN(l.gids.size()), fill);
  u8 gids[SMC_LLC_ADD_LINK_GIDS][SMC_GID_LEN];
  for (size_t i = 0; i < l.gids.size(); i++) std::ranges::copy(l.gids[i], gids[i]);
  if (smc_llc_build_request_add_link(bytes.data(), gids, static_cast<u8>(l.gids.size()),
                                     l.msg.little_endian) != bytes.size())
    throw std::length_error("a REQUEST ADD LINK of another length than its GIDs need");
  return bytes;
}

}  // namespace

Parsed<smc_clc_header> ParseHeader(std::span<const u8, SMC_CLC_HEADER_LEN> bytes) {
  Parsed<smc_clc_header> parsed;
  Soil(parsed.value);
  parsed.error = smc_clc_parse_header(Exact(bytes).get(), &parsed.value);
  return parsed;
}

template <>
Parsed<smc_clc_proposal> Parse(std::span<const u8> bytes) {
  return ParseWith(smc_clc_parse_proposal, bytes);
}

template <>
Parsed<smc_clc_agreement> Parse(std::span<const u8> bytes) {
  return ParseWith(smc_clc_parse_agreement, bytes);
}

template <>
Parsed<smc_clc_decline> Parse(std::span<const u8> bytes) {
  return ParseWith(smc_clc_parse_decline, bytes);
}

template <>
Parsed<smc_cdc> Parse(std::span<const u8> bytes) {
  return ParseWith(smc_cdc_parse, bytes);
}

// Reads what the parser only sees to be there, too.
template <>
Parsed<Llc> Parse(std::span<const u8> bytes) {
  Parsed<Llc> parsed;
  auto copy = Exact(bytes);
  smc_llc_msg& msg = parsed.value.msg;
  Soil(msg);
  parsed.error = smc_llc_parse(copy.get(), bytes.size(), &msg);
  if (parsed.error) return parsed;

  if (msg.type == SMC_LLC_ADD_LINK)
    for (unsigned i = 0; i < msg.add_link.n_rkeys; i++)
      parsed.value.tokens.push_back(smc_llc_get_add_link_rtoken(copy.get(), i));
  if (msg.type == SMC_LLC_REQUEST_ADD_LINK)
    for (unsigned i = 0; i < copy[24]; i++)
      std::copy_n(&copy[28 + SMC_GID_LEN * i], SMC_GID_LEN,
                  parsed.value.gids.emplace_back().begin());
  if (msg.type == SMC_LLC_DELETE_RKEY)
    for (unsigned i = 0; i < ListedKeys(msg); i++) {
      u32 rkey = get_be32(copy.get() + 8 + 4 * i);
      if (i < SMC_LLC_DELETE_RKEYS && rkey != msg.delete_rkey.rkey[i])
        throw std::logic_error("the parser read another key");
    }
  return parsed;
}

Bytes Build(const smc_clc_proposal& p, u8 fill) {
  return BuildClc(smc_clc_build_proposal, p, fill);
}

Bytes Build(const smc_clc_agreement& a, u8 fill) {
  return BuildClc(smc_clc_build_agreement, a, fill);
}

Bytes Build(const smc_clc_decline& d, u8 fill) { return BuildClc(smc_clc_build_decline, d, fill); }

Bytes Build(const smc_cdc& c, u8 fill) {
  Bytes bytes(SMC_CDC_LEN, fill);
  smc_cdc_build(bytes.data(), &c);
  return bytes;
}

Bytes Build(const Llc& l, u8 fill) {
  if (l.msg.type == SMC_LLC_ADD_LINK && l.msg.add_link.large) return BuildLargeAddLink(l, fill);
  if (!l.gids.empty()) return BuildRequestAddLink(l, fill);
  Bytes bytes(SMC_LLC_LEN, fill);
  smc_llc_build(bytes.data(), &l.msg);
  return bytes;
}

bool IsBuildable(const Llc& l) {
  if (l.msg.type == SMC_LLC_DELETE_RKEY) return ListedKeys(l.msg) <= SMC_LLC_DELETE_RKEYS;
  return l.gids.empty() || (l.gids.size() <= SMC_LLC_ADD_LINK_GIDS && !l.msg.flags);
}

std::string Hex(std::span<const u8> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (u8 byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Bytes FromHex(const std::string& hex) {
  std::string digits;
  std::copy_if(hex.begin(), hex.end(), std::back_inserter(digits),
               [](unsigned char c) { return !std::isspace(c); });
  Bytes bytes;
  for (size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<u8>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string PaddedHex(const std::string& text) {
  Bytes bytes(text.begin(), text.end());
  bytes.resize(SMC_EID_LEN, ' ');
  return Hex(bytes);
}

}  // namespace wire
