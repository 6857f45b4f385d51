// SPDX-License-Identifier: GPL-2.0
#include "words.h"

#include <cstdio>
#include <span>
#include <utility>

namespace {

using Word = std::pair<uint32_t, const char*>;

std::string find(std::span<const Word> table, uint64_t value) {
  for (const auto& [number, word] : table)
    if (number == value) return word;
  return "unknown (" + words::hex(value) + ")";
}

const Word roles[] = {{0, "client"}, {1, "server"}};

const Word group_types[] = {
    {0, "none"}, {1, "single"}, {2, "symmetric"}, {3, "asymmetric-peer"}, {4, "asymmetric-local"},
};

const Word link_states[] = {
    {0, "unused"},
    {1, "inactive"},
    {2, "activating"},
    {3, "active"},
};

const Word buffer_types[] = {{0, "physical"}, {1, "virtual"}, {2, "mixed"}};

const Word oses[] = {{1, "z/OS"}, {2, "Linux"}, {3, "AIX"}};

const Word modes[] = {{0, "SMC-R"}, {1, "TCP"}, {2, "SMC-D"}};

/* Names of a socket's states. SMC's states that TCP has, too, have TCP's numbers. */
const Word states[] = {
    {1, "established"}, {2, "connecting"}, {3, "connecting"},   {4, "closing"},
    {5, "closing"},     {6, "closing"},    {7, "closed"},       {8, "peer-closed"},
    {9, "closing"},     {10, "listening"}, {11, "closing"},     {12, "connecting"},
    {20, "closing"},    {21, "closing"},   {22, "peer-closed"}, {23, "closing"},
    {24, "closing"},    {25, "closing"},   {26, "closing"},     {27, "closing"},
};

const Word diagnoses[] = {
    {0x00000000, "none"},
    {0x01010000, "no memory"},
    {0x02010000, "the peer did not confirm the link in time"},
    {0x02020000, "the peer did not add a link in time"},
    {0x03000000, "configuration"},
    {0x03010000, "the peer does not offer SMC"},
    {0x03020000, "the connection uses IPsec"},
    {0x03030000, "no SMC device"},
    {0x03030001, "no SMC-D device"},
    {0x03030002, "no SMC-R device"},
    {0x03030003, "no SMC-D version 2 device"},
    {0x03030004, "the proposal has no version 2 extension"},
    {0x03030005, "the proposal has no SMC-D version 2 extension"},
    {0x03030006, "no common system EID"},
    {0x03030007, "no common SMC-D version 2 device"},
    {0x03030008, "no common user EID"},
    {0x03030009, "no common release"},
    {0x0303000a, "maximum of connections not negotiable"},
    {0x0303000b, "maximum of links not negotiable"},
    {0x03040000, "the peer chose another mode than was proposed"},
    {0x03050000, "the peer uses RMBE eye catchers"},
    {0x03060000, "a socket option that SMC does not support"},
    {0x03070000, "the peer is in another IP subnet"},
    {0x03080000, "VLAN"},
    {0x03090000, "the ISM device does not take the VLAN"},
    {0x030a0000, "no active link"},
    {0x030b0000, "the server's link is not known"},
    {0x030c0000, "no common version"},
    {0x030d0000, "the ISM device has no DMB left"},
    {0x030e0000, "no route to the peer's device"},
    {0x030f0000, "only one end is indirect"},
    {0x04000000, "the ends disagree on the link group"},
    {0x05000000, "declined by the peer"},
    {0x09990000, "internal error"},
    {0x09990001, "internal error: too many memory keys"},
    {0x09990002, "internal error: link not ready"},
    {0x09990003, "internal error: memory not registered"},
    {0x0f010000, "the option is kept from the peer: see smc blackhole"},
    {0x0f020000, "too many link groups"},
};

const Word blackholes[] = {
    {1, "syn-lost"},
    {2, "no-answer"},
    {3, "no-proposal"},
    {4, "no-link"},
};

}  // namespace

namespace words {

std::string role(uint64_t value) { return find(roles, value); }
std::string group_type(uint64_t value) { return find(group_types, value); }
std::string link_state(uint64_t value) { return find(link_states, value); }
std::string buffer_type(uint64_t value) { return find(buffer_types, value); }
std::string os(uint64_t value) { return find(oses, value); }
std::string socket_state(uint64_t value) { return find(states, value); }
std::string socket_mode(uint64_t value) { return find(modes, value); }
std::string diagnosis(uint64_t value) { return find(diagnoses, value); }
std::string blackhole(uint64_t value) { return find(blackholes, value); }

std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof(text), "0x%08llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace words
