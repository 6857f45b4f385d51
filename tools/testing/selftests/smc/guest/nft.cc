// SPDX-License-Identifier: GPL-2.0
#include "nft.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "smc_tool.h"

namespace guest
{

int64_t counted_by_rule(const std::string &listing)
{
	auto parsed = parse_json(listing);

	for (const auto &object : parsed.at("nftables"))
		if (object.contains("rule"))
			for (const auto &part : object.at("rule").at("expr"))
				if (part.contains("counter"))
					return part.at("counter").at("packets");
	throw std::runtime_error("no rule: " + parsed.dump());
}

} // namespace guest
