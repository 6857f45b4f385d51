// SPDX-License-Identifier: GPL-2.0
// A repeatable source of values for fields.
#ifndef SMC_WIRE_TESTS_RANDOM_H_
#define SMC_WIRE_TESTS_RANDOM_H_

#include <random>

#include "wire/platform.h"

namespace wire {

class Random {
 public:
  explicit Random(u64 seed) : engine_(seed) {}

  u64 U64() { return engine_(); }
  u32 U32() { return static_cast<u32>(U64()); }
  u32 U24() { return U32() & 0xffffff; }
  u16 U16() { return static_cast<u16>(U64()); }
  u8 U8() { return static_cast<u8>(U64()); }
  u8 Nibble() { return U8() & 15; }
  bool Coin() { return U64() & 1; }
  u64 UpTo(u64 max) { return std::uniform_int_distribution<u64>(0, max)(engine_); }

  template <size_t N>
  void Fill(u8 (&array)[N]) {
    for (u8& byte : array) byte = U8();
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace wire

#endif  // SMC_WIRE_TESTS_RANDOM_H_
