// SPDX-License-Identifier: GPL-2.0
// Functions of all fuzzers. A fuzzer traps where an invariant breaks; libFuzzer keeps the input.
#ifndef SMC_WIRE_TESTS_FUZZ_FUZZ_H_
#define SMC_WIRE_TESTS_FUZZ_FUZZ_H_

#include <cstdio>
#include <cstdlib>

#include "describe.h"
#include "edit.h"

namespace wire {

inline void Require(bool holds, const char* invariant) {
  if (holds) return;
  std::fprintf(stderr, "invariant broken: %s\n", invariant);
  std::abort();
}

// Parses; what is accepted is within @check's bounds and means the same after encoding it.
template <typename T>
void FuzzParser(std::span<const u8> bytes, void (*check)(const T&)) {
  auto parsed = Parse<T>(bytes);
  if (parsed.error) {
    Require(parsed.error == -EPROTO || parsed.error == -EOPNOTSUPP, "known error");
    return;
  }
  check(parsed.value);
  if (!IsBuildable(parsed.value)) return;

  auto again = Parse<T>(Build(parsed.value));
  Require(again.error == 0, "what was built is accepted");
  Require(Describe(again.value) == Describe(parsed.value), "what was built means the same");
}

// Also tries the input with its frame made whole, so that changes reach the body.
template <typename T>
void FuzzClcParser(std::span<const u8> bytes, void (*check)(const T&)) {
  FuzzParser(bytes, check);
  if (bytes.size() >= SMC_CLC_HEADER_LEN + kTrailerLen && bytes.size() <= SMC_CLC_MAX_LEN)
    FuzzParser<T>(Reframe({bytes.begin(), bytes.end()}), check);
}

}  // namespace wire

#endif  // SMC_WIRE_TESTS_FUZZ_FUZZ_H_
