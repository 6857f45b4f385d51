/* SPDX-License-Identifier: GPL-2.0 */
/* Names for the kernel's numbers. */
#pragma once

#include <cstdint>
#include <string>

namespace words {
std::string role(uint64_t value);
std::string group_type(uint64_t value);
std::string link_state(uint64_t value);
std::string buffer_type(uint64_t value);
std::string os(uint64_t value);
std::string socket_state(uint64_t value);
std::string socket_mode(uint64_t value);

/* Diagnosis of a CLC DECLINE, as sent to a peer or recorded as the reason of a fallback. */
std::string diagnosis(uint64_t value);

/* The event that made an entry for a peer with which SMC is not used. */
std::string blackhole(uint64_t value);

std::string hex(uint64_t value);
}  // namespace words
