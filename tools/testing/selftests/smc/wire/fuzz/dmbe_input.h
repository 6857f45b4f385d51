// SPDX-License-Identifier: GPL-2.0
// The layout of one case of the control area's fuzzer and its seeds.
#ifndef SMC_WIRE_TESTS_FUZZ_DMBE_INPUT_H_
#define SMC_WIRE_TESTS_FUZZ_DMBE_INPUT_H_

#include "wire/cursor.h"
#include "wire/dmbe.h"
#include "wire/size_class.h"

namespace wire {

struct DmbeInput {
  smc_dmbe_control control;
  u64 consumed;
  u64 size_class;   // to be taken modulo the number of classes
  u64 unread;       // bytes behind consumed, modulo what the ring holds
  u64 acked;        // of this end's own bytes, what the peer had consumed
  u64 outstanding;  // bytes behind that, likewise
};

}  // namespace wire

#endif  // SMC_WIRE_TESTS_FUZZ_DMBE_INPUT_H_
