// SPDX-License-Identifier: GPL-2.0
// Well-formed messages of every shape, with arbitrary values in their fields.
#ifndef SMC_WIRE_TESTS_SAMPLES_H_
#define SMC_WIRE_TESTS_SAMPLES_H_

#include <vector>

#include "message.h"
#include "random.h"

namespace wire {

smc_clc_proposal SampleProposal(Random& random, u8 version, smc_clc_offer v1, smc_clc_offer v2);
smc_clc_agreement SampleAgreement(Random& random, smc_clc_type type, u8 version, bool is_d,
                                  bool first_contact);
smc_clc_decline SampleDecline(Random& random, u8 version);
smc_cdc SampleCdc(Random& random);
Llc SampleLlc(Random& random, smc_llc_type type, bool v2, bool reply);
Llc SampleLargeAddLink(Random& random, u8 n_rkeys, bool little_endian = true);
Llc SampleRequestAddLink(Random& random, u8 n_gids, bool little_endian);

// One of every shape.
template <typename T>
std::vector<T> Samples(Random& random);
template <>
std::vector<smc_clc_proposal> Samples(Random& random);
template <>
std::vector<smc_clc_agreement> Samples(Random& random);
template <>
std::vector<smc_clc_decline> Samples(Random& random);
template <>
std::vector<smc_cdc> Samples(Random& random);
template <>
std::vector<Llc> Samples(Random& random);

}  // namespace wire

#endif  // SMC_WIRE_TESTS_SAMPLES_H_
