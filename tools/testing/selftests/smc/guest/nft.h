/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of nftables. */
#ifndef GUEST_NFT_H
#define GUEST_NFT_H

#include <cstdint>
#include <string>

namespace guest
{

/* Packets that met the first rule with a counter, of what "nft -j list chain" printed. */
int64_t counted_by_rule(const std::string &listing);

} // namespace guest

#endif
