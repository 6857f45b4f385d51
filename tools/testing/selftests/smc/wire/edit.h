// SPDX-License-Identifier: GPL-2.0
// Changes to the bytes of a CLC message that leave its frame whole.
#ifndef SMC_WIRE_TESTS_EDIT_H_
#define SMC_WIRE_TESTS_EDIT_H_

#include <algorithm>

#include "message.h"
#include "wire/bytes.h"

namespace wire {

constexpr size_t kTrailerLen = 4;

// Makes the header say the real length and the trailer repeat the first eye catcher.
inline Bytes Reframe(Bytes bytes) {
  put_be16(&bytes[5], static_cast<u16>(bytes.size()));
  std::copy_n(bytes.begin(), kTrailerLen, bytes.end() - kTrailerLen);
  return bytes;
}

inline Bytes With8(Bytes bytes, size_t at, u8 value) {
  bytes.at(at) = value;
  return bytes;
}

inline Bytes With16(Bytes bytes, size_t at, u16 value) {
  bytes.at(at) = static_cast<u8>(value >> 8);
  bytes.at(at + 1) = static_cast<u8>(value);
  return bytes;
}

// @n unknown bytes more, before the trailer.
inline Bytes Extended(Bytes bytes, size_t n) {
  bytes.insert(bytes.end() - kTrailerLen, n, 0xee);
  return Reframe(std::move(bytes));
}

// @n bytes of the body's end less.
inline Bytes Shortened(Bytes bytes, size_t n) {
  bytes.resize(bytes.size() - n);
  return Reframe(std::move(bytes));
}

}  // namespace wire

#endif  // SMC_WIRE_TESTS_EDIT_H_
