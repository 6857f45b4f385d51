// SPDX-License-Identifier: GPL-2.0
// The layout of one case of the cursor fuzzer and its seeds.
#ifndef SMC_WIRE_TESTS_FUZZ_CURSOR_INPUT_H_
#define SMC_WIRE_TESTS_FUZZ_CURSOR_INPUT_H_

#include "wire/cursor.h"

namespace wire {

struct CursorInput {
  u64 from;
  u32 size;
  u32 range;  // to be taken modulo size + 1
  u32 offset;
  u32 wrap;
};

}  // namespace wire

#endif  // SMC_WIRE_TESTS_FUZZ_CURSOR_INPUT_H_
