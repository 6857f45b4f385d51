// SPDX-License-Identifier: GPL-2.0
// Two streams over a path by hand, and what their applications know of the bytes.
#ifndef STREAM_BOTH_H
#define STREAM_BOTH_H

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel/pair.h"

namespace stream {

// As the kernel's shutdown() has them.
constexpr int kReceiveShutdown = 1;
constexpr int kSendShutdown = 2;

// An end and its application, which writes and expects bytes that tell their position.
class Side {
 public:
  Side(end* self, int which) : end_(self), which_(which) {}

  end* get() const { return end_; }
  uint64_t written() const { return written_; }
  uint64_t read() const { return read_; }

  // Return: bytes, or -errno. It waits only if it may.
  ssize_t Send(size_t len, int flags = 0, bool may_wait = false) {
    std::vector<uint8_t> bytes(len);
    for (size_t i = 0; i < len; i++) bytes[i] = Byte(which_, written_ + i);
    ssize_t rc = end_send(end_, bytes.data(), len, flags | (may_wait ? 0 : MSG_DONTWAIT));
    written_ += std::max<ssize_t>(rc, 0);
    return rc;
  }

  ssize_t Recv(size_t len, int flags = 0, bool may_wait = false) {
    std::vector<uint8_t> bytes(len + 1);
    ssize_t rc = end_recv(end_, bytes.data(), len, flags | (may_wait ? 0 : MSG_DONTWAIT));
    if (flags & (MSG_OOB | MSG_TRUNC)) return rc;
    Expect(bytes, rc);
    if (!(flags & MSG_PEEK)) read_ += std::max<ssize_t>(rc, 0);
    return rc;
  }

  ssize_t Splice(size_t len) {
    std::vector<uint8_t> bytes(len);
    ssize_t rc = end_splice(end_, bytes.data(), len, false);
    Expect(bytes, rc);
    read_ += std::max<ssize_t>(rc, 0);
    return rc;
  }

  // The next bytes were read otherwise, or are not to be read.
  void Skip(uint64_t n) { read_ += n; }
  uint8_t NextByte() const { return Byte(!which_, read_); }

 private:
  static uint8_t Byte(int which, uint64_t pos) {
    return static_cast<uint8_t>(pos * 167 + (pos >> 8) * 13 + which * 89);
  }

  void Expect(const std::vector<uint8_t>& bytes, ssize_t n) const {
    for (ssize_t i = 0; i < n; i++)
      ASSERT_EQ(bytes[i], Byte(!which_, read_ + i)) << "at " << read_ + i;
  }

  end* end_;
  int which_;
  uint64_t written_ = 0;
  uint64_t read_ = 0;
};

class Both {
 public:
  explicit Both(const pair_setup& setup)
      : pair_(pair_make(&setup)), a(pair_end(pair_, 0), 0), b(pair_end(pair_, 1), 1) {}
  ~Both() { pair_free(pair_); }
  Both(const Both&) = delete;
  Both& operator=(const Both&) = delete;

  // All that is under way arrives, and what has to hold does.
  void Run() {
    pair_run(pair_);
    Check();
  }

  void Check() const {
    const char* broken = pair_broken(pair_);
    ASSERT_EQ(broken, nullptr) << broken;
  }

  pair* get() const { return pair_; }
  unsigned int violations() const { return pair_violations(pair_); }

 private:
  pair* pair_;

 public:
  Side a, b;
};

// Both kinds, with elements and rings of @size bytes.
inline pair_setup SetupOf(pair_kind kind, uint32_t size) {
  return {kind, {size, size}, {size, size}, false};
}

inline std::string KindName(pair_kind kind) { return kind == PAIR_WIRE ? "Wire" : "Local"; }

}  // namespace stream

#endif
