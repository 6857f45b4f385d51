// SPDX-License-Identifier: GPL-2.0
// Every field of a decoded message as text, to compare messages and to show differences.
#ifndef SMC_WIRE_TESTS_DESCRIBE_H_
#define SMC_WIRE_TESTS_DESCRIBE_H_

#include <string>

#include "message.h"

namespace wire {

std::string Describe(const smc_clc_header& h);
std::string Describe(const smc_clc_proposal& p);
std::string Describe(const smc_clc_agreement& a);
std::string Describe(const smc_clc_decline& d);
std::string Describe(const smc_cdc& c);
std::string Describe(const Llc& l);

}  // namespace wire

#endif  // SMC_WIRE_TESTS_DESCRIBE_H_
