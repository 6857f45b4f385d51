// SPDX-License-Identifier: GPL-2.0
// wire/ as the tests see it: Parse<T>() and Build() for every message.
//
// Parsers get a copy of their input on the heap, as long as the input and no longer, and
// builders a buffer of just the promised size: AddressSanitizer sees every step beyond.
#ifndef SMC_WIRE_TESTS_MESSAGE_H_
#define SMC_WIRE_TESTS_MESSAGE_H_

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/cdc.h"
#include "wire/clc.h"
#include "wire/llc.h"

namespace wire {

using Bytes = std::vector<u8>;

// An LLC message with what lies outside of struct smc_llc_msg.
struct Llc {
  smc_llc_msg msg = {};
  std::vector<smc_llc_rtoken> tokens;             // of a large ADD LINK
  std::vector<std::array<u8, SMC_GID_LEN>> gids;  // of a REQUEST ADD LINK
};

// The result of the parser, and the message if the result is 0.
template <typename T>
struct Parsed {
  int error = 0;
  T value = {};
};

Parsed<smc_clc_header> ParseHeader(std::span<const u8, SMC_CLC_HEADER_LEN> bytes);

template <typename T>
Parsed<T> Parse(std::span<const u8> bytes);
template <>
Parsed<smc_clc_proposal> Parse(std::span<const u8> bytes);
template <>
Parsed<smc_clc_agreement> Parse(std::span<const u8> bytes);
template <>
Parsed<smc_clc_decline> Parse(std::span<const u8> bytes);
template <>
Parsed<smc_cdc> Parse(std::span<const u8> bytes);
template <>
Parsed<Llc> Parse(std::span<const u8> bytes);

// @fill is what the buffer holds before.
Bytes Build(const smc_clc_proposal& p, u8 fill = 0xa5);
Bytes Build(const smc_clc_agreement& a, u8 fill = 0xa5);
Bytes Build(const smc_clc_decline& d, u8 fill = 0xa5);
Bytes Build(const smc_cdc& c, u8 fill = 0xa5);
Bytes Build(const Llc& l, u8 fill = 0xa5);

// Are the message's lists, and the flags of a REQUEST ADD LINK, within what its builder can say?
inline bool IsBuildable(const auto&) { return true; }
bool IsBuildable(const Llc& l);

std::string Hex(std::span<const u8> bytes);
Bytes FromHex(const std::string& hex);  // blanks and line ends are ignored

// The digits of a text that is padded with blanks to an EID or a host name.
std::string PaddedHex(const std::string& text);

}  // namespace wire

#endif  // SMC_WIRE_TESTS_MESSAGE_H_
