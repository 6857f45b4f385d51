// SPDX-License-Identifier: GPL-2.0
// Every access of stream/rx.h, tx.h and publish.h to what others move is seen by a test, which may
// let these others move it. To be included before them.
#ifndef SMC_STREAM_TESTS_MEANWHILE_H_
#define SMC_STREAM_TESTS_MEANWHILE_H_

#include <functional>
#include <utility>

namespace stream {

// Runs before each load, but not before those that it makes itself.
inline std::function<void()> before_load;
// Is told of each store.
inline std::function<void(const void* to)> after_store;

template <typename T>
T Load(const T* from) {
  if (auto what = std::exchange(before_load, nullptr)) {
    what();
    before_load = std::move(what);
  }
  return *from;
}

template <typename T, typename U>
void Store(T* to, U value) {
  *to = static_cast<T>(value);
  if (after_store) after_store(to);
}

}  // namespace stream

#define READ_ONCE(x) stream::Load(&(x))
#define WRITE_ONCE(x, value) stream::Store(&(x), value)
#define smp_load_acquire(p) stream::Load(p)
#define smp_store_release(p, value) stream::Store(p, value)

#endif  // SMC_STREAM_TESTS_MEANWHILE_H_
